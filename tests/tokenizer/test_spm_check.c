/* SentencePiece model files that are damaged or hostile: each is refused with one line, or loads and encodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/spm.h"
#include "tokenizer/spm_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NORMAL = 1, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE }; /* piece types */

/* ------------------------------------------------------------------------------------------------- writing a protobuf */

static void put(tr_buffer *b, const void *data, size_t size)
{
    assert_true(tr_buffer_append(b, data, size));
}

static void put_varint(tr_buffer *b, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put(b, &(unsigned char){(unsigned char)(value | 0x80)}, 1);
    put(b, &(unsigned char){(unsigned char)value}, 1);
}

static void put_number(tr_buffer *b, unsigned number, uint64_t value)
{
    put_varint(b, number << 3);
    put_varint(b, value);
}

static void put_bytes(tr_buffer *b, unsigned number, const void *data, size_t size)
{
    put_varint(b, number << 3 | 2);
    put_varint(b, size);
    put(b, data, size);
}

static void put_piece_of(tr_buffer *b, const char *text, size_t size, float score, unsigned type)
{
    tr_buffer piece = {0};
    put_bytes(&piece, 1, text, size);
    put_varint(&piece, 2 << 3 | 5);
    put(&piece, &score, 4);
    put_number(&piece, 3, type);
    put_bytes(b, 1, piece.data, piece.size);
    tr_buffer_free(&piece);
}

static void put_piece(tr_buffer *b, const char *text, float score, unsigned type)
{
    put_piece_of(b, text, strlen(text), score, type);
}

/* A small valid model, to which each test adds damage. */
static tr_buffer base_model(void)
{
    tr_buffer b = {0};
    put_piece(&b, "<unk>", 0, UNKNOWN);
    put_piece(&b, "a", -1, NORMAL);
    put_piece(&b, "b", -2, NORMAL);
    put_piece(&b, "\xe2\x96\x81", -3, NORMAL);
    return b;
}

/* ------------------------------------------------------------------------------------------------- checking and loading */

static tr_status check_and_use(const void *data, size_t size, tr_error *error)
{
    static const char *const texts[] = {"",
                                        "a b  ",
                                        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                        "今天天气\xef\xbc\xa1",
                                        "e\xcc\x81\xef\xb7\xba",
                                        "\xf0\x9f\x98\x80\xf0\x93\x80\x80",
                                        "http://C++",
                                        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"};
    tr_sentencepiece *model;
    tr_status status = tr_spm_check(data, size, error);
    if (status == TR_OK)
        status = tr_sentencepiece_create(data, size, &model, error);
    if (status != TR_OK)
        return status;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const tr_vocabulary none = {0};
        tr_ids ids = {0};
        tr_buffer spans = {0};
        (void)!tr_sentencepiece_encode(model, texts[i], strlen(texts[i]), &none, 0, &ids, &spans, error);
        assert_int_equal(spans.size, ids.size * sizeof(tr_span));
        tr_ids_free(&ids);
        tr_buffer_free(&spans);
    }
    tr_sentencepiece_destroy(model);
    return TR_OK;
}

/* Checks the model and frees it. message NULL: it must load. */
static void expect(tr_buffer *b, const char *message)
{
    tr_error error = {0};
    const tr_status status = check_and_use(b->data, b->size, &error);
    if (message ? status == TR_OK || !strstr(error.message, message) : status != TR_OK)
        fail_msg("expected \"%s\", got \"%s\"", message ? message : "", error.message);
    assert_null(strchr(error.message, '\n'));
    tr_buffer_free(b);
}

static void pieces(void **state)
{
    (void)state;
    char longest[1025];
    memset(longest, 'x', sizeof longest);
    tr_buffer b = base_model();
    expect(&b, NULL);
    b = base_model(), put_piece(&b, "c", NAN, NORMAL), expect(&b, "piece 4: its score is not finite");
    b = base_model(), put_piece(&b, "c", -INFINITY, NORMAL), expect(&b, "piece 4: its score is not finite");
    b = base_model(), put_piece(&b, "c", -3e38f, NORMAL), put_piece(&b, "d", 3e38f, USER_DEFINED), expect(&b, NULL);
    b = base_model(), put_piece(&b, "", 0, NORMAL), expect(&b, "piece 4: empty");
    b = base_model(), put_piece_of(&b, "c\0d", 3, 0, NORMAL), expect(&b, "piece 4: not valid UTF-8, or with a NUL");
    b = base_model(), put_piece_of(&b, "\0", 1, 0, USER_DEFINED), expect(&b, "piece 4: not valid UTF-8, or with a NUL");
    b = base_model(), put_piece(&b, "\xe4\xbd", 0, NORMAL), expect(&b, "piece 4: not valid UTF-8, or with a NUL");
    b = base_model(), put_piece_of(&b, longest, 1025, 0, NORMAL), expect(&b, "piece 4: longer than 1024 bytes");
    b = base_model(), put_piece_of(&b, longest, 1024, 0, NORMAL), expect(&b, NULL);
    b = base_model(), put_piece(&b, "c", 0, 7), expect(&b, "piece 4: unknown type");
    b = base_model(), put_piece(&b, "c", 0, 0), expect(&b, "piece 4: unknown type");
    b = base_model(), put_piece(&b, "c", 0, UNKNOWN), expect(&b, "piece 4: a second unknown piece");
    b = base_model(), put_piece(&b, "c", 0, UNUSED), put_piece(&b, "d", 0, CONTROL), expect(&b, NULL);
    b = base_model(), put_piece(&b, "a", 0, NORMAL), expect(&b, "already defined");
    b = (tr_buffer){0}, put_piece(&b, "a", 0, NORMAL), expect(&b, "no unknown piece among 1");
    b = (tr_buffer){0}, put_piece(&b, "a", 0, UNKNOWN), expect(&b, "no pieces are loaded");
}

static tr_buffer byte_model(int missing, bool fallback)
{
    tr_buffer b = base_model(), trainer = {0};
    for (int byte = 0; byte < 256; byte++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", (unsigned)byte);
        if (byte != missing)
            put_piece(&b, text, 0, BYTE);
    }
    put_number(&trainer, 35, fallback);
    put_bytes(&b, 2, trainer.data, trainer.size);
    tr_buffer_free(&trainer);
    return b;
}

static void byte_pieces(void **state)
{
    (void)state;
    tr_buffer b = byte_model(-1, true);
    expect(&b, NULL);
    b = byte_model(255, true), expect(&b, "255 byte pieces where byte fallback is on");
    b = byte_model(-1, false), expect(&b, "256 byte pieces where byte fallback is off");
    b = byte_model(-1, true), put_piece(&b, "<0x41>", 0, BYTE), expect(&b, "a byte piece for the second time");
    b = byte_model(255, true), put_piece(&b, "<0xff>", 0, BYTE), expect(&b, "no byte piece by its text");
    b = byte_model(255, true), put_piece(&b, "<0xFF>", 0, NORMAL), expect(&b, "255 byte pieces");
}

static void wire_format(void **state)
{
    (void)state;
    tr_buffer b = {0};
    expect(&b, "a file of 0 bytes");
    b = base_model(), put(&b, "\x0a\xff\xff\xff\xff\x7f", 6), expect(&b, "damaged or cut short"); /* a huge length */
    b = base_model(), put(&b, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11), expect(&b, "damaged or cut short");
    b = base_model(), put(&b, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12), expect(&b, "damaged or cut short");
    b = base_model(), put(&b, "\0", 1), expect(&b, "damaged or cut short");               /* field 0 */
    b = base_model(), put(&b, "\xc3\x0c\xc4\x0c", 4), expect(&b, "damaged or cut short"); /* a group */
    b = base_model(),
    put(&b,
        "\xc5\x0c"
        "1234",
        6),
    put(&b,
        "\xc1\x0c"
        "12345678",
        10),
    expect(&b, NULL);                                                           /* unknown fields */
    b = base_model(), put_number(&b, 1, 1), expect(&b, "damaged or cut short"); /* a piece that is a number */
    b = base_model(),
    put_bytes(&b, 1,
              "\x0a\x01"
              "c\x0a\x01"
              "d",
              6),
    expect(&b, "piece 4: a field that occurs twice");
    b = base_model(), put_bytes(&b, 1, "\x08\x01", 2), expect(&b, "piece 4: a field of a wrong type");
    b = base_model(),
    put_bytes(&b, 1,
              "\x0a\x05"
              "c",
              3),
    expect(&b, "piece 4: damaged");
    b = base_model(), put_bytes(&b, 2, "", 0), put_bytes(&b, 2, "", 0), expect(&b, "field 2 occurs twice");
    b = base_model(), put_bytes(&b, 2, "\x18\x05", 2), expect(&b, "unknown model type 5");
    b = base_model(), put_bytes(&b, 2, "\x18\x02", 2), expect(&b, NULL); /* BPE */
    b = base_model(), put_bytes(&b, 2, "\x18\x03", 2), expect(&b, NULL); /* words */
    b = base_model(), put_bytes(&b, 2, "\x18\x04", 2), expect(&b, NULL); /* characters */
    const char bpe[] = "\x18\x02"; /* looks pieces up by their text, where a control piece is found first */
    b = base_model(), put_piece(&b, "\xe4\xb8\xad", 0, CONTROL), expect(&b, NULL);
    b = base_model(), put_piece(&b, "<c>", 0, CONTROL), put_bytes(&b, 2, bpe, 2), expect(&b, NULL);
    b = base_model(), put_piece(&b, "\xe4\xb8\xad", 0, CONTROL), put_bytes(&b, 2, bpe, 2),
    expect(&b, "piece 4: a control piece that text can be");
    b = base_model(), put_piece(&b, "<c>", 0, CONTROL), put_piece(&b, "<c>", 0, NORMAL), put_bytes(&b, 2, bpe, 2),
    expect(&b, "piece 4: a control piece that text can be");
    b = base_model(), put_bytes(&b, 2, "\x1a\x01x", 3), expect(&b, "trainer_spec: damaged");
    b = base_model(), put_bytes(&b, 3, "\x12\x7f", 2), expect(&b, "normalizer_spec: damaged");
}

/* n user-defined pieces x, xx, xxx, ... and others between them. */
static tr_buffer nested_model(size_t n)
{
    tr_buffer b = base_model();
    char text[100];
    memset(text, 'x', sizeof text);
    for (size_t i = n; i > 0; i--) {
        put_piece_of(&b, text, i, 0, USER_DEFINED);
        text[i - 1] = 'y';
        put_piece_of(&b, text, i, 0, USER_DEFINED);
        text[i - 1] = 'x';
    }
    return b;
}

static void nested_user_defined_pieces(void **state)
{
    (void)state;
    tr_buffer b = nested_model(63); /* 63 x and, after 62 of them, the y */
    expect(&b, NULL);
    b = nested_model(64), expect(&b, NULL);
    b = nested_model(65), expect(&b, "more than 64 user-defined pieces begin alike");
}

/* The library would run the self-test and print its failure to stderr. */
static void self_test_is_cut_out(void **state)
{
    (void)state;
    tr_buffer b = base_model();
    put_bytes(&b, 4,
              "\x0a\x06\x0a\x01"
              "a\x12\x01"
              "b",
              8);
    put_piece(&b, "c", -1, NORMAL);
    tr_vocabulary vocabulary;
    tr_piece *const piece = malloc(sizeof *piece);
    assert_non_null(piece);
    *piece = (tr_piece){"c", 1};
    assert_int_equal(tr_vocabulary_init(&vocabulary, piece, 1, NULL, NULL), TR_OK);
    tr_spm *spm;
    tr_ids ids = {0};
    tr_error error = {0};
    FILE *const said = tmpfile();
    assert_non_null(said);
    const int kept = dup(STDERR_FILENO);
    dup2(fileno(said), STDERR_FILENO);
    assert_int_equal(tr_spm_create(b.data, b.size, &spm, &error), TR_OK);
    assert_int_equal(tr_spm_encode(spm, "c", 1, &vocabulary, 0, &ids, NULL, &error), TR_OK);
    assert_int_equal(tr_spm_expect(spm, SIZE_MAX, &error), TR_OK);
    assert_int_equal(tr_spm_encode(spm, "c", 1, &vocabulary, 0, &ids, NULL, &error), TR_OK);
    dup2(kept, STDERR_FILENO);
    close(kept);
    assert_int_equal(lseek(fileno(said), 0, SEEK_END), 0);
    fclose(said);
    tr_spm_destroy(spm);
    tr_ids_free(&ids);
    tr_vocabulary_free(&vocabulary);
    tr_buffer_free(&b);
}

/* --------------------------------------------------------------------------------------------------- parts of models */

/* Pieces of every type, some of them in each other; text of a control piece that merges make part of an ordinary one. */
static tr_buffer model_of_type(unsigned model_type)
{
    static const struct {
        const char *text;
        float score;
        unsigned type;
    } pieces[] = {{"<unk>", 0, UNKNOWN},
                  {"<s>", 0, CONTROL},
                  {"<c>", 0, CONTROL},
                  {"a", -3, NORMAL},
                  {"b", -4, NORMAL},
                  {"c", -4, NORMAL},
                  {"ab", -1, NORMAL},
                  {"abc", -2, NORMAL},
                  {"\xe2\x96\x81", -5, NORMAL},
                  {"\xe2\x96\x81"
                   "ab",
                   -1, NORMAL},
                  {"bc", -1, UNUSED},
                  {"x_", -6, NORMAL},
                  {"x", -7, NORMAL},
                  {"C++", 0, USER_DEFINED},
                  {"天", -9, NORMAL},
                  {"天气", -2, NORMAL},
                  {"zz", -20, NORMAL},
                  {"z", 3, NORMAL}};
    tr_buffer b = {0}, trainer = {0};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        put_piece(&b, pieces[i].text, pieces[i].score, pieces[i].type);
    put_number(&trainer, 3, model_type);
    put_bytes(&b, 2, trainer.data, trainer.size);
    tr_buffer_free(&trainer);
    return b;
}

/* All pieces of a text with their spans, as a text. */
static char *pieces_of(tr_spm *spm, const char *text)
{
    static const char *const names[] = {"a",  "b", "c",   "ab", "abc",  "▁",  "▁ab", "bc",
                                        "x_", "x", "C++", "天", "天气", "zz", "z",   "_"};
    enum { NAMES = sizeof names / sizeof *names };
    tr_vocabulary vocabulary;
    tr_piece *const list = calloc(NAMES, sizeof *list);
    tr_ids ids = {0};
    tr_buffer spans = {0}, out = {0};
    tr_error error = {0};
    assert_non_null(list);
    for (size_t i = 0; i < NAMES; i++)
        list[i] = (tr_piece){names[i], (uint32_t)strlen(names[i])};
    assert_int_equal(tr_vocabulary_init(&vocabulary, list, NAMES, NULL, NULL), TR_OK);
    const tr_status status = tr_spm_encode(spm, text, strlen(text), &vocabulary, 0, &ids, &spans, &error);
    char line[64];
    for (size_t i = 0; i < ids.size; i++) {
        const tr_span span = ((tr_span *)(void *)spans.data)[i];
        snprintf(line, sizeof line, "%d:%zu-%zu ", ids.data[i], span.begin, span.end);
        assert_true(tr_buffer_string(&out, line));
    }
    assert_true(tr_buffer_string(&out, status == TR_OK ? "" : error.message));
    tr_vocabulary_free(&vocabulary);
    tr_ids_free(&ids);
    tr_buffer_free(&spans);
    return out.data;
}

/* A text encoded with a part of the model, with the pieces of a text that it is a part of, and with the whole, of each type:
 * unigram, BPE, word, char. */
static void parts_give_the_same(void **state)
{
    (void)state;
    static const char *const texts[] = {"",          "a",          "abc",  "ab abc cab", "x_bc x_ <c>",
                                        "C++ abC++", "天天气 zzz", "zz z", "é _x_"};
    static const char all[] = "a abc ab abc cab x_bc x_ <c> C++ abC++ 天天气 zzz zz z é _x_";
    for (unsigned type = 1; type <= 4; type++) {
        tr_buffer b = model_of_type(type);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            tr_spm *spm;
            tr_error error = {0};
            if (tr_spm_create(b.data, b.size, &spm, &error))
                fail_msg("%s", error.message);
            char *part = pieces_of(spm, texts[i]);
            tr_spm_share(spm, all, strlen(all));
            char *shared = pieces_of(spm, texts[i]);
            for (int again = 0; again < 20; again++) { /* more texts than are encoded with parts of their own */
                free(shared);
                shared = pieces_of(spm, texts[i]);
            }
            assert_true(!texts[i][0] || !tr_spm_is_whole(spm));
            assert_int_equal(tr_spm_expect(spm, SIZE_MAX, &error), TR_OK);
            char *whole = pieces_of(spm, texts[i]);
            assert_string_equal(part ? part : "", whole ? whole : "");
            assert_string_equal(shared ? shared : "", whole ? whole : "");
            free(part);
            free(shared);
            free(whole);
            tr_spm_destroy(spm);
        }
        tr_buffer_free(&b);
    }
}

/* Where most pieces are special, parts would be nearly as large as the whole. */
static void the_whole_is_loaded_at_once(void **state)
{
    (void)state;
    tr_buffer b = base_model();
    char text[16];
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof text, "user%d", i);
        put_piece(&b, text, 0, UNUSED);
    }
    tr_spm *spm;
    tr_error error = {0};
    assert_int_equal(tr_spm_create(b.data, b.size, &spm, &error), TR_OK);
    assert_true(tr_spm_is_whole(spm));
    tr_spm_destroy(spm);
    tr_buffer_free(&b);
}

/* ------------------------------------------------------------------------------------------------- normalisation rules */

enum { BLOCK = 256, MOST_UNITS = BLOCK * 40 };

typedef struct charsmap {
    uint32_t units[MOST_UNITS];
    uint32_t count;
    const char *texts;
    size_t texts_size;
} charsmap;

static uint32_t unit(uint32_t position, char label, bool ends_key, uint32_t base)
{
    return (uint32_t)(unsigned char)label | (uint32_t)ends_key << 8 | (position ^ base) << 10;
}

/* Rules a, aa, aaa, ... (depth of them) to "b": block k holds the children of the k-th a. */
static charsmap *chain(uint32_t depth)
{
    charsmap *const c = calloc(1, sizeof *c);
    assert_non_null(c);
    assert_in_range(depth, 1, 38);
    c->units[0] = unit(0, 0, false, BLOCK);
    c->units[BLOCK] = 0x80000000; /* no child under byte 0 */
    for (uint32_t k = 1; k <= depth; k++) {
        c->units[BLOCK * k + 'a'] = unit(BLOCK * k + 'a', 'a', true, BLOCK * (k + 1));
        c->units[BLOCK * (k + 1)] = 0x80000000;
    }
    c->count = BLOCK * (depth + 2);
    c->texts = "b";
    c->texts_size = 2;
    return c;
}

static void expect_charsmap(charsmap *c, const char *message)
{
    tr_buffer map = {0}, normalizer = {0}, b = base_model();
    const uint32_t size = 4 * c->count;
    put(&map, &size, 4);
    put(&map, c->units, size);
    put(&map, c->texts, c->texts_size);
    put_bytes(&normalizer, 2, map.data, map.size);
    put_bytes(&b, 3, normalizer.data, normalizer.size);
    expect(&b, message);
    tr_buffer_free(&map);
    tr_buffer_free(&normalizer);
    free(c);
}

static void sound_charsmap(void **state)
{
    (void)state;
    charsmap *c = chain(3);
    expect_charsmap(c, NULL);
    c = chain(32); /* the longest chain that the library can load */
    expect_charsmap(c, NULL);
    c = chain(2);
    c->texts = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz  \0b"; /* 54 bytes, 58 with wide spaces */
    c->texts_size = 57;
    expect_charsmap(c, NULL);
}

static void hostile_trie(void **state)
{
    (void)state;
    charsmap *c = chain(33);
    expect_charsmap(c, "charsmap: more than 32 rules begin alike");
    c = chain(1);
    c->units[BLOCK + 'a'] = unit(BLOCK + 'a', 'a', true, BLOCK); /* a leads to itself */
    expect_charsmap(c, "charsmap: the trie has a cycle");
    c = chain(1);
    c->units[BLOCK + 'a'] = unit(BLOCK + 'a', 'a', false, BLOCK * 3); /* just after the last unit */
    expect_charsmap(c, "leads outside");
    c = chain(1);
    c->units[0] = 0xfffffe00; /* a root that looks like a value, with the farthest offset */
    expect_charsmap(c, "charsmap: trie unit 0 leads outside");
    c = chain(1);
    c->units[BLOCK * 2] = 0x80000002; /* an offset after the end of the replacements */
    expect_charsmap(c, "charsmap: a replacement lies at byte 2 of 2");
    c = chain(1);
    c->units[BLOCK * 2] = 0x7fffffff;
    expect_charsmap(c, "charsmap: a replacement lies at byte 2147483647");
}

static void hostile_charsmap_sizes(void **state)
{
    (void)state;
    static char longest[122];
    charsmap *c = chain(1);
    c->texts_size = 1; /* no NUL */
    expect_charsmap(c, "charsmap: the replacements do not end with a NUL");
    c = chain(1);
    c->texts_size = 0;
    expect_charsmap(c, "charsmap: the replacements do not end with a NUL");
    c = chain(1);
    c->count = BLOCK + 1;
    expect_charsmap(c, "charsmap: a trie cannot have 1028 bytes");
    c = chain(1);
    c->count = 0;
    expect_charsmap(c, "charsmap: a trie cannot have 0 bytes");
    memset(longest, 'x', 121);
    c = chain(1);
    c->texts = longest;
    c->texts_size = 122;
    expect_charsmap(c, "charsmap: the replacement at byte 0 is longer than 120 bytes");
    tr_buffer b = base_model();
    put_bytes(&b, 3, "\x12\x03\xff\xff\xff", 5), expect(&b, "charsmap: a trie of 0 bytes in a field of 3");
    b = base_model(), put_bytes(&b, 3, "\x12\x05\xff\xff\xff\xff\0", 7),
    expect(&b, "a trie of 4294967295 bytes in a field of 5");
    b = base_model(), put_bytes(&b, 5, "\x12\x05\xff\xff\xff\xff\0", 7),
    expect(&b, "a trie of 4294967295 bytes in a field of 5");
}

/* ---------------------------------------------------------------------------------------------- real models, damaged */

static tr_file model_file(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", TR_FIXTURES, name);
    return fixture_file(path);
}

static const char *const names[] = {"bytes.spm", "plain.spm", "bpe.spm"};

static void truncated_anywhere(void **state)
{
    (void)state;
    for (int m = 0; m < 3; m++) {
        tr_file file = model_file(names[m]);
        tr_error error = {0};
        assert_int_equal(check_and_use(file.data, file.size, &error), TR_OK);
        for (size_t size = 0; size < file.size; size++) {
            unsigned char *const copy =
                malloc(size ? size : 1); /* memory of its own: a sanitizer sees reads beyond the end */
            assert_non_null(copy);
            memcpy(copy, file.data, size);
            if (check_and_use(copy, size, &error) != TR_OK)
                assert_non_null(strstr(error.message, ": "));
            free(copy);
        }
        tr_file_close(&file);
    }
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void flipped_bits(void **state)
{
    (void)state;
    uint64_t random = 0x9e3779b97f4a7c15u;
    size_t loaded = 0, refused = 0;
    for (int m = 0; m < 3; m++) {
        tr_file file = model_file(names[m]);
        unsigned char *const copy = malloc(file.size);
        assert_non_null(copy);
        for (int round = 0; round < 1500; round++) {
            tr_error error = {0};
            memcpy(copy, file.data, file.size);
            for (uint64_t flips = 1 + next_random(&random) % 4; flips > 0; flips--) {
                const uint64_t bit = next_random(&random) % (8 * file.size);
                copy[bit / 8] ^= (unsigned char)(1 << bit % 8);
            }
            const bool good = check_and_use(copy, file.size, &error) == TR_OK;
            loaded += good;
            refused += !good;
        }
        free(copy);
        tr_file_close(&file);
    }
    assert_true(loaded > 100 && refused > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces),
        cmocka_unit_test(byte_pieces),
        cmocka_unit_test(wire_format),
        cmocka_unit_test(nested_user_defined_pieces),
        cmocka_unit_test(self_test_is_cut_out),
        cmocka_unit_test(parts_give_the_same),
        cmocka_unit_test(the_whole_is_loaded_at_once),
        cmocka_unit_test(sound_charsmap),
        cmocka_unit_test(hostile_trie),
        cmocka_unit_test(hostile_charsmap_sizes),
        cmocka_unit_test(truncated_anywhere),
        cmocka_unit_test(flipped_bits),
    };
    return cmocka_run_group_tests_name("spm_check", tests, NULL, NULL);
}
