/* Words and pieces against sacremoses and subword-nmt on the same texts (make_words.py); invalid codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "import/bpe.h"
#include "import/moses.h"
#include "import/words.h"

static json_t *load(void)
{
    json_error_t problem;
    json_t *const all = json_load_file(TR_FIXTURES "/words.json", 0, &problem);
    if (!all)
        fail_msg("%s", problem.text);
    return all;
}

static const char *string_of(const json_t *line, const char *key)
{
    return json_string_value(json_object_get(line, key));
}

static void check_text(const json_t *line, const char *from, const char *expected, const tr_buffer *found)
{
    if (strcmp(expected, found->data ? found->data : "") != 0)
        fail_msg("%s: %s\nmust be %s\nis      %s", string_of(line, "language"), from, expected, found->data);
}

static void test_cut(void **state)
{
    (void)state;
    json_t *const all = load(), *line;
    const json_t *const lines = json_object_get(all, "cuts");
    size_t i;
    assert_true(json_array_size(lines) > 300);
    json_array_foreach(lines, i, line)
    {
        const char *const text = string_of(line, "text"), *const language = string_of(line, "language");
        tr_rewriting r = {0};
        tr_buffer words = {0};
        assert_true(tr_characters_read(&r.text, text, strlen(text)) && tr_moses_normalise(&r, language) &&
                    tr_moses_split(&r, language, &words));
        check_text(line, text, string_of(line, "words"), &words);
        tr_rewriting_free(&r);
        tr_buffer_free(&words);
    }
    json_decref(all);
}

static void test_joined(void **state)
{
    (void)state;
    json_t *const all = load(), *line;
    const json_t *const lines = json_object_get(all, "joined");
    size_t i;
    assert_true(json_array_size(lines) > 300);
    json_array_foreach(lines, i, line)
    {
        const char *const words = string_of(line, "words");
        tr_rewriting r = {0};
        tr_buffer text = {0};
        assert_true(tr_characters_read(&r.text, words, strlen(words)) && tr_moses_join(&r, string_of(line, "language")) &&
                    tr_characters_write(r.text.data, r.text.size, &text));
        check_text(line, words, string_of(line, "text"), &text);
        tr_rewriting_free(&r);
        tr_buffer_free(&text);
    }
    json_decref(all);
}

static void join_piece(tr_buffer *pieces, const char *piece, size_t size, bool last)
{
    assert_true(tr_buffer_append(pieces, piece, size) && (last || tr_buffer_string(pieces, "@@ ")));
}

static void test_pieces(void **state)
{
    (void)state;
    json_t *const all = load(), *line;
    size_t i;
    json_array_foreach(json_object_get(all, "pieces"), i, line)
    {
        const char *const codes = string_of(json_object_get(all, "codes"), string_of(line, "codes")), *const word =
                                                                                                          string_of(line,
                                                                                                                    "word");
        tr_error error;
        tr_bpe *bpe;
        tr_ids ends = {0};
        tr_buffer pieces = {0};
        if (tr_bpe_create(codes, strlen(codes), &bpe, &error) || tr_bpe_check(codes, strlen(codes), &error))
            fail_msg("%s", error.message);
        assert_true(tr_bpe_cut(bpe, word, strlen(word), &ends));
        for (size_t k = 0, from = 0; k < ends.size; from = (size_t)ends.data[k++])
            join_piece(&pieces, word + from, (size_t)ends.data[k] - from, k + 1 == ends.size);
        if (strcmp(pieces.data, string_of(line, "pieces")) != 0)
            fail_msg("%s: %s must be %s, is %s", string_of(line, "codes"), word, string_of(line, "pieces"), pieces.data);
        tr_buffer_free(&pieces);
        tr_ids_free(&ends);
        tr_bpe_destroy(bpe);
    }
    json_decref(all);
}

/* The time for a word of a million characters is not quadratic. */
static void test_long_word(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    static const char codes[] = "#version: 0.2\na b\nab ab\nabab abab\n";
    tr_bpe *bpe;
    tr_ids ends = {0};
    char *const word = malloc(SIZE);
    assert_non_null(word);
    for (size_t i = 0; i < SIZE; i++)
        word[i] = i % 2 ? 'b' : 'a';
    assert_int_equal(tr_bpe_create(codes, sizeof codes - 1, &bpe, NULL), TR_OK);
    assert_true(tr_bpe_cut(bpe, word, SIZE, &ends));
    assert_int_equal(ends.size, SIZE / 8 + 3); /* the last b is "b</w>": abababab ... abab ab a b */
    tr_ids_free(&ends);
    tr_bpe_destroy(bpe);
    free(word);
}

static void test_bad_codes(void **state)
{
    (void)state;
    static const struct {
        const char *codes;
        tr_status status;
        const char *needle;
    } bad[] = {
        {"", TR_ERROR_FORMAT, "hold no pairs"},
        {"\n\n\r\n", TR_ERROR_FORMAT, "hold no pairs"},
        {"#version: 0.2", TR_ERROR_FORMAT, "hold no pairs"},
        {"#version: 0.2\n\n", TR_ERROR_FORMAT, "hold no pairs"},
        {"#version:", TR_ERROR_UNSUPPORTED, "line 1: #version:: is not a known version"},
        {"#version: 1.0\na b\n", TR_ERROR_UNSUPPORTED, "line 1: #version: 1.0: is not a known version"},
        {"#version: 0.22\na b\n", TR_ERROR_UNSUPPORTED, "line 1"},
        {"ab\n", TR_ERROR_FORMAT, "line 1: must be two symbols"},
        {"a b\na b c\n", TR_ERROR_FORMAT, "line 2: must be two symbols"},
        {"a b\na  b\n", TR_ERROR_FORMAT, "line 2: must be two symbols"},
        {"a b\n \nc d", TR_ERROR_FORMAT, "line 2: must be two symbols"},
        {"#version: 0.2\r\na b\r\n\r\nc d", TR_ERROR_FORMAT, "line 3: must be two symbols"},
        {"a \xff\n", TR_ERROR_FORMAT, "are not UTF-8 text"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tr_error error = {0};
        tr_bpe *bpe;
        assert_int_equal(tr_bpe_create(bad[i].codes, strlen(bad[i].codes), &bpe, &error), bad[i].status);
        assert_null(bpe);
        if (strncmp(error.message, "BPE codes: ", 11) != 0 || !strstr(error.message, bad[i].needle))
            fail_msg("must say \"%s\": %s", bad[i].needle, error.message);
        assert_int_equal(tr_bpe_check(bad[i].codes, strlen(bad[i].codes), &error), bad[i].status);
    }
}

/* A piece that the vocabulary does not have, without an unknown token. */
static void test_unknown(void **state)
{
    (void)state;
    static const char codes[] = "a b\n", text[] = "one two three";
    const tr_vocabulary none = {0};
    tr_words *words;
    tr_ids ids = {0};
    tr_error error;
    assert_int_equal(
        tr_words_create((tr_bytes){codes, sizeof codes - 1}, "en", "a code that is too long for one", &words, NULL), TR_OK);
    assert_int_equal(words->encode(words, text, sizeof text - 1, &none, -1, &ids, NULL, &error), TR_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "neither the piece \"o@@\" nor an unknown token"));
    assert_int_equal(words->encode(words, text, sizeof text - 1, &none, 7, &ids, NULL, &error), TR_OK);
    assert_true(ids.size > 3 && ids.data[0] == 7 && ids.data[ids.size - 1] == 7);
    tr_ids_free(&ids);
    words->destroy(words);
}

/* Spans of pieces refer to the text before Moses's normalisation. */
static void test_finder(void **state)
{
    (void)state;
    static const char text[] = " It's \u201cwell-known\u201d \u2013 or &amp; [3 < 4]\u200b, na\u00efve\u2026 now it now";
    static const char *const pieces[][2] = {
        {"It", "It"},     {"&apos;s", "'s"},  {"&quot;", ""}, {"we@@", "we"}, {"ll@@", "ll"},
        {"-@@", "-"},     {"known", "known"}, {"&quot;", ""}, {"-", ""},      {"or", "or"},
        {"&amp;@@", "&"}, {"amp@@", "amp"},   {";", ";"},     {"&#91;", "["}, {"3", "3"},
        {"&lt;", "<"},    {"4", "4"},         {"&#93;", "]"}, {",", ""},      {"na\u00ef@@", "na\u00ef"},
        {"ve", "ve"},     {"...", ""},        {"now", "now"}, {"it", "it"},   {"now", "now"},
        {"now", ""},
    };
    tr_piece_finder finder = {.text = text, .size = sizeof text - 1};
    size_t end = 0;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        const tr_span span = tr_piece_finder_next(&finder, pieces[i][0], strlen(pieces[i][0]));
        const size_t size = strlen(pieces[i][1]);
        assert_true(span.begin >= end && span.end <= finder.size);
        if (span.end - span.begin != size || memcmp(text + span.begin, pieces[i][1], size) != 0)
            fail_msg("piece %zu, %s: bytes %zu to %zu", i, pieces[i][0], span.begin, span.end);
        end = span.end > end ? span.end : end;
    }
    finder = (tr_piece_finder){.text = "", .size = 0};
    assert_int_equal(tr_piece_finder_next(&finder, "@@", 2).end, 0);
    assert_int_equal(tr_piece_finder_next(&finder, "a", 1).end, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),       cmocka_unit_test(test_joined),    cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_long_word), cmocka_unit_test(test_bad_codes), cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_finder),
    };
    return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
