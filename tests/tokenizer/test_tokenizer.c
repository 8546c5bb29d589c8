/* The tokenizer against recorded output of MarianTokenizer (see make_fixtures.py), and cases beyond the recording. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture.h"
#include "tokenizer/spm.h"
#include "util/utf8.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const models[] = {"bytes", "plain", "bpe"};
enum { MODELS = 3, THREADS = 8 };

static void open_model(const char *name, fixture *f)
{
    char spm[512], vocabulary[512];
    snprintf(spm, sizeof spm, "%s/%s.spm", TR_FIXTURES, name);
    snprintf(vocabulary, sizeof vocabulary, "%s/%s.json", TR_FIXTURES, name);
    fixture_open(spm, vocabulary, f);
}

static FILE *open_cases(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s.jsonl", TR_FIXTURES, name);
    FILE *const file = fopen(path, "r");
    assert_non_null(file);
    return file;
}

static tr_ids ids_of(const json_t *array)
{
    tr_ids ids = {0};
    for (size_t i = 0; i < json_array_size(array); i++)
        assert_true(tr_ids_append(&ids, &(int32_t){(int32_t)json_integer_value(json_array_get(array, i))}, 1));
    return ids;
}

static bool same_ids(const tr_ids *a, const tr_ids *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size * sizeof *a->data) == 0);
}

/* Returns whether the case gives the recorded result. Runs on threads, so it asserts nothing. */
static bool case_holds(const tr_tokenizer *tokenizer, const json_t *line)
{
    const json_t *const text = json_object_get(line, "text"), *const decoded = json_object_get(line, "decoded");
    tr_ids expected = ids_of(json_object_get(line, "ids")), ids = {0};
    tr_buffer out = {0};
    bool good = true;
    if (text)
        good = tr_tokenizer_encode(tokenizer, json_string_value(text), json_string_length(text), &ids, NULL) == TR_OK &&
               same_ids(&ids, &expected);
    if (good && decoded)
        good = tr_tokenizer_decode(tokenizer, expected.data, expected.size, &out, NULL) == TR_OK &&
               out.size == json_string_length(decoded) &&
               (out.size == 0 || memcmp(out.data, json_string_value(decoded), out.size) == 0);
    if (!good) {
        char *const shown = json_dumps(line, JSON_COMPACT);
        fprintf(stderr, "differs: %s\n  got %zu ids:", shown, ids.size);
        for (size_t i = 0; i < ids.size; i++)
            fprintf(stderr, " %d", ids.data[i]);
        fprintf(stderr, "\n  got text: \"%s\"\n", out.data ? out.data : "");
        free(shown);
    }
    tr_ids_free(&expected);
    tr_ids_free(&ids);
    tr_buffer_free(&out);
    return good;
}

/* Runs all cases of a model; returns how many differ. */
static size_t run_cases(const char *name, const tr_tokenizer *tokenizer, size_t *count)
{
    FILE *const file = open_cases(name);
    size_t bad = 0;
    json_t *line;
    *count = 0;
    while ((line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL)) != NULL) {
        bad += !case_holds(tokenizer, line);
        json_decref(line);
        ++*count;
    }
    fclose(file);
    return bad;
}

static void same_as_marian(void **state)
{
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        fixture f;
        size_t count;
        open_model(models[i], &f);
        assert_int_equal(run_cases(models[i], f.tokenizer, &count), 0);
        assert_true(count > 250);
        fixture_close(&f);
    }
}

/* The first text of a tokenizer is encoded with the pieces that occur in it. */
static void first_texts_are_the_same(void **state)
{
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        fixture all, one;
        size_t texts = 0;
        json_t *line;
        open_model(models[i], &all);
        assert_int_equal(tr_tokenizer_expect(all.tokenizer, SIZE_MAX, NULL), TR_OK);
        FILE *const file = open_cases(models[i]);
        for (; (line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL)) != NULL; json_decref(line)) {
            const json_t *const text = json_object_get(line, "text");
            tr_ids ids[2] = {{0}};
            tr_span *spans[2];
            if (!text)
                continue;
            open_model(models[i], &one);
            for (int k = 0; k < 2; k++)
                assert_int_equal(tr_tokenizer_encode_spans(k ? all.tokenizer : one.tokenizer, json_string_value(text),
                                                           json_string_length(text), &ids[k], &spans[k], NULL),
                                 TR_OK);
            assert_true(same_ids(&ids[0], &ids[1]));
            assert_true(!ids[0].size || memcmp(spans[0], spans[1], ids[0].size * sizeof **spans) == 0);
            for (int k = 0; k < 2; k++) {
                tr_ids_free(&ids[k]);
                free(spans[k]);
            }
            fixture_close(&one);
            texts++;
        }
        fclose(file);
        assert_true(texts > 100);
        fixture_close(&all);
    }
}

/* Returns after how many texts the whole model is loaded. */
static int small_texts(const fixture *f, const char *text, size_t size)
{
    tr_spm *spm;
    tr_ids ids = {0};
    int texts = 0;
    assert_int_equal(tr_spm_create(f->spm.data, f->spm.size, &spm, NULL), TR_OK);
    assert_false(tr_spm_is_whole(spm));
    for (; !tr_spm_is_whole(spm) && texts < 100; texts++)
        assert_int_equal(tr_spm_encode(spm, text, size, &f->vocabulary, 0, &ids, NULL, NULL), TR_OK);
    tr_ids_free(&ids);
    tr_spm_destroy(spm);
    return texts;
}

static void the_whole_is_loaded_when_it_pays(void **state)
{
    (void)state;
    fixture f;
    tr_spm *spm;
    char text[513], ligatures[513];
    memset(text, 'a', sizeof text);
    for (size_t i = 0; i + 3 <= sizeof ligatures; i += 3)
        memcpy(ligatures + i, "\xef\xb7\xba", 3); /* each becomes 18 characters */
    open_model("bytes", &f);
    assert_int_equal(small_texts(&f, "a", 1), 9);
    assert_int_equal(small_texts(&f, text, 512), 9);
    assert_int_equal(small_texts(&f, text, 513), 1);
    assert_int_equal(small_texts(&f, ligatures, 510), 1);
    assert_int_equal(tr_spm_create(f.spm.data, f.spm.size, &spm, NULL), TR_OK);
    assert_int_equal(tr_spm_expect(spm, 512, NULL), TR_OK);
    assert_false(tr_spm_is_whole(spm));
    assert_int_equal(tr_spm_expect(spm, 513, NULL), TR_OK);
    assert_true(tr_spm_is_whole(spm));
    tr_spm_destroy(spm);
    fixture_close(&f);
}

static void *run_in_thread(void *argument)
{
    size_t count;
    return run_cases("bytes", argument, &count) || count < 250 ? argument : NULL;
}

static void shared_by_threads(void **state)
{
    (void)state;
    fixture f;
    pthread_t threads[THREADS];
    open_model("bytes", &f);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_in_thread, f.tokenizer), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    fixture_close(&f);
}

static tr_ids encode(const fixture *f, const char *text, size_t size)
{
    tr_ids ids = {0};
    tr_error error;
    assert_int_equal(tr_tokenizer_encode(f->tokenizer, text, size, &ids, &error), TR_OK);
    return ids;
}

/* Output is appended: what the buffer had before stays, and has no effect. */
static void appends(void **state)
{
    (void)state;
    fixture f;
    tr_buffer text = {0};
    tr_error error;
    open_model("bytes", &f);
    tr_ids ids = encode(&f, "the park", 8), more = encode(&f, "the park", 8);
    assert_int_equal(tr_tokenizer_encode(f.tokenizer, "the park", 8, &more, &error), TR_OK);
    assert_int_equal(more.size, 2 * ids.size);
    assert_memory_equal(more.data + ids.size, ids.data, ids.size * sizeof *ids.data);
    assert_true(tr_buffer_string(&text, "before \xe2\x80\x83"));
    assert_int_equal(tr_tokenizer_decode(f.tokenizer, ids.data, ids.size, &text, &error), TR_OK);
    assert_true(strncmp(text.data, "before \xe2\x80\x83the p", 15) == 0);
    const size_t size = text.size;
    assert_int_equal(tr_tokenizer_decode(f.tokenizer, NULL, 0, &text, &error), TR_OK);
    assert_int_equal(text.size, size);
    tr_ids_free(&ids);
    tr_ids_free(&more);
    tr_buffer_free(&text);
    fixture_close(&f);
}

static void byte_nul_becomes_u_fffd(void **state)
{
    (void)state;
    fixture f;
    tr_buffer text = {0};
    open_model("bytes", &f);
    const int32_t id = tr_vocabulary_find(&f.vocabulary, "<0x00>", 6);
    assert_true(id > 0);
    assert_int_equal(tr_tokenizer_decode(f.tokenizer, &id, 1, &text, NULL), TR_OK);
    assert_string_equal(text.data, "\xef\xbf\xbd");
    tr_buffer_free(&text);
    fixture_close(&f);
}

/* Text that is decoded token by token is the text of all tokens, in complete characters; a later token does not change
 * it. */
static void check_growing(const tr_tokenizer *tokenizer, const tr_ids *ids)
{
    tr_incremental_text growing = {0};
    tr_buffer whole = {0}, told = {0};
    for (size_t i = 0; i <= ids->size; i++) {
        const bool end = i == ids->size; /* EOS, half of the time */
        if (end && ids->size % 2)
            break;
        const bool last = end || (i + 1 == ids->size && ids->size % 2);
        assert_int_equal(tr_tokenizer_decode_next(tokenizer, &growing, end ? -1 : ids->data[i], last, NULL), TR_OK);
        const char *const bytes = growing.text.data + growing.emitted.begin;
        const size_t size = growing.emitted.end - growing.emitted.begin;
        assert_true(size == 0 || tr_utf8_valid(bytes, size));
        assert_true(tr_buffer_append(&told, size ? bytes : "", size));
    }
    assert_int_equal(tr_tokenizer_decode(tokenizer, ids->data, ids->size, &whole, NULL), TR_OK);
    assert_int_equal(told.size, whole.size);
    assert_true(!whole.size || memcmp(told.data, whole.data, whole.size) == 0);
    tr_buffer_free(&whole);
    tr_buffer_free(&told);
    tr_incremental_text_free(&growing);
}

static void grows_as_it_is_decoded(void **state)
{
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        fixture f;
        open_model(models[m], &f);
        const bool bytes = tr_vocabulary_find(&f.vocabulary, "<0xE4>", 6) >= 0;
        const int32_t space = tr_vocabulary_find(&f.vocabulary, "\xe2\x96\x81", 3);
        uint32_t chance = 5;
        for (int n = 0; n < 4000; n++) {
            tr_ids ids = {0};
            for (int i = 0; i < n % 24; i++) {
                chance = chance * 1664525 + 1013904223;
                char piece[8];
                /* bytes that often begin or continue characters of two to four */
                snprintf(piece, sizeof piece, "<0x%02X>",
                         (chance >> 27) % 2 ? 0x80 + (chance >> 12) % 0x40 : 0xc0 + (chance >> 12) % 0x40);
                int32_t id = bytes && (chance >> 29) % 4             ? tr_vocabulary_find(&f.vocabulary, piece, 6)
                             : (chance >> 26) % 3 == 0 && space >= 0 ? space
                                                                     : (int32_t)((chance >> 9) % f.vocabulary.size);
                assert_true(id >= 0 && tr_ids_append(&ids, &id, 1));
            }
            check_growing(f.tokenizer, &ids);
            tr_ids_free(&ids);
        }
        fixture_close(&f);
    }
}

static void ids_out_of_range(void **state)
{
    (void)state;
    fixture f;
    tr_error error;
    open_model("plain", &f);
    const int32_t wrong[] = {-1, (int32_t)f.vocabulary.size, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < 4; i++) {
        tr_buffer text = {0};
        assert_int_equal(tr_tokenizer_decode(f.tokenizer, &wrong[i], 1, &text, &error), TR_ERROR_ARGUMENT);
        assert_non_null(strstr(error.message, "tokenizer: the id "));
        assert_int_equal(text.size, 0);
        tr_buffer_free(&text);
    }
    fixture_close(&f);
}

/* A long text is encoded in parts, divided before spaces: the ids are those of the single words, in linear time. */
static void long_texts(void **state)
{
    (void)state;
    fixture f;
    tr_buffer text = {0};
    open_model("plain", &f);
    tr_ids word = encode(&f, "the weather", 11);
    while (text.size < 1000000)
        assert_true(tr_buffer_string(&text, "the weather  "));
    tr_ids ids = encode(&f, text.data, text.size);
    assert_int_equal(ids.size, text.size / 13 * word.size);
    for (size_t i = 0; i < ids.size; i += word.size)
        assert_memory_equal(ids.data + i, word.data, word.size * sizeof *word.data);
    tr_ids_free(&ids);
    memset(text.data, ' ', text.size);
    ids = encode(&f, text.data, text.size);
    assert_int_equal(ids.size, 0);
    tr_ids_free(&ids);
    tr_buffer_clear(&text);
    while (text.size < 300000) /* unknown characters of 4 bytes: parts end between them */
        assert_true(tr_buffer_string(&text, "\xf0\x93\x80\x80"));
    ids = encode(&f, text.data + 1, 0);
    assert_int_equal(ids.size, 0);
    ids = encode(&f, text.data, text.size);
    assert_in_range(ids.size, 1, 20);
    tr_ids_free(&ids);
    tr_ids_free(&word);
    tr_buffer_free(&text);
    fixture_close(&f);
}

static tr_tokenizer_parts parts_of(const fixture *f)
{
    return (tr_tokenizer_parts){.source_spm = f->spm.data,
                                .source_spm_size = f->spm.size,
                                .source = &f->vocabulary,
                                .target = &f->vocabulary,
                                .unk_id = -1};
}

static void without_an_unknown_token(void **state)
{
    (void)state;
    fixture f;
    tr_tokenizer *tokenizer;
    tr_error error;
    tr_ids ids = {0};
    open_model("plain", &f);
    const tr_tokenizer_parts parts = parts_of(&f);
    assert_int_equal(tr_tokenizer_create(&parts, &tokenizer, &error), TR_OK);
    assert_int_equal(tr_tokenizer_encode(tokenizer, "the \xf0\x93\x80\x80", 8, &ids, &error), TR_ERROR_FORMAT);
    assert_string_equal(error.message,
                        "tokenizer: the vocabulary has neither the piece \"\xf0\x93\x80\x80\" nor an unknown token");
    assert_int_equal(ids.size, 0);
    tr_ids_free(&ids);
    tr_tokenizer_destroy(tokenizer);
    tr_tokenizer_destroy(NULL);
    fixture_close(&f);
}

/* Two vocabularies: the unknown token is found in the other one by its piece; special ids are target ids. */
static void separate_vocabularies(void **state)
{
    (void)state;
    static char names[] = "<pad></s>\xe2\x96\x81hi<unk>there";
    fixture f;
    tr_vocabulary target;
    tr_tokenizer *tokenizer;
    tr_buffer text = {0};
    open_model("plain", &f);
    tr_piece *const pieces = calloc(6, sizeof *pieces);
    assert_non_null(pieces);
    pieces[0] = (tr_piece){names, 5};
    pieces[1] = (tr_piece){names + 5, 4};
    pieces[2] = (tr_piece){names + 9, 5};
    pieces[3] = (tr_piece){names + 14, 5};
    pieces[5] = (tr_piece){names + 19, 5}; /* 4 has no piece */
    assert_int_equal(tr_vocabulary_init(&target, pieces, 6, NULL, NULL), TR_OK);
    tr_tokenizer_parts parts = parts_of(&f);
    parts.unk_id = tr_vocabulary_find(&f.vocabulary, "<unk>", 5);
    parts.target = &target;
    parts.special = (const int32_t[]){1, -1};
    parts.special_count = 2;
    assert_int_equal(tr_tokenizer_create(&parts, &tokenizer, NULL), TR_OK);
    const int32_t ids[] = {2, 3, 4, 2, 5, 0, 1};
    assert_int_equal(tr_tokenizer_decode(tokenizer, ids, 7, &text, NULL), TR_OK);
    assert_string_equal(text.data, "hi hithere<pad>");
    tr_buffer_free(&text);
    tr_tokenizer_destroy(tokenizer);
    tr_vocabulary_free(&target);
    fixture_close(&f);
}

static void wrong_parts(void **state)
{
    (void)state;
    fixture f;
    tr_tokenizer *tokenizer;
    tr_error error;
    open_model("plain", &f);
    tr_tokenizer_parts parts = parts_of(&f);
    parts.unk_id = (int)f.vocabulary.size;
    assert_int_equal(tr_tokenizer_create(&parts, &tokenizer, &error), TR_ERROR_ARGUMENT);
    assert_null(tokenizer);
    parts.unk_id = -2;
    assert_int_equal(tr_tokenizer_create(&parts, &tokenizer, &error), TR_ERROR_ARGUMENT);
    parts = parts_of(&f);
    parts.source_spm_size /= 2;
    assert_int_equal(tr_tokenizer_create(&parts, &tokenizer, &error), TR_ERROR_FORMAT);
    assert_null(tokenizer);
    fixture_close(&f);
}

static tr_status vocabulary_of(const char *first, const char *second, tr_vocabulary *vocabulary, tr_error *error)
{
    tr_piece *const pieces = calloc(3, sizeof *pieces);
    assert_non_null(pieces);
    pieces[0] = (tr_piece){first, (uint32_t)strlen(first)};
    pieces[2] = (tr_piece){second, (uint32_t)strlen(second)};
    return tr_vocabulary_init(vocabulary, pieces, 3, NULL, error);
}

static void vocabularies(void **state)
{
    (void)state;
    tr_vocabulary v;
    tr_error error;
    assert_int_equal(vocabulary_of("a", "ab", &v, &error), TR_OK);
    assert_int_equal(tr_vocabulary_find(&v, "abc", 2), 2);
    assert_int_equal(tr_vocabulary_find(&v, "abc", 1), 0);
    assert_int_equal(tr_vocabulary_find(&v, "abc", 3), -1);
    assert_int_equal(tr_vocabulary_find(&v, "", 0), -1);
    tr_vocabulary_free(&v);
    assert_int_equal(vocabulary_of("x\n", "x\n", &v, &error), TR_ERROR_FORMAT);
    assert_string_equal(error.message, "vocabulary: the ids 0 and 2 have the same piece \"x?\"");
    assert_null(v.pieces);
    assert_int_equal(vocabulary_of("a", "\xe4\xbd", &v, &error), TR_ERROR_FORMAT);
    assert_string_equal(error.message, "vocabulary: the piece of id 2 is not valid UTF-8, or has a NUL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_marian),
        cmocka_unit_test(first_texts_are_the_same),
        cmocka_unit_test(the_whole_is_loaded_when_it_pays),
        cmocka_unit_test(shared_by_threads),
        cmocka_unit_test(appends),
        cmocka_unit_test(byte_nul_becomes_u_fffd),
        cmocka_unit_test(grows_as_it_is_decoded),
        cmocka_unit_test(ids_out_of_range),
        cmocka_unit_test(long_texts),
        cmocka_unit_test(without_an_unknown_token),
        cmocka_unit_test(separate_vocabularies),
        cmocka_unit_test(wrong_parts),
        cmocka_unit_test(vocabularies),
    };
    return cmocka_run_group_tests_name("tokenizer", tests, NULL, NULL);
}
