#include "check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../linear.h"

#define ONE  "1\n00:00:01,000 --> 00:00:02,000\n"
#define TWO  "2\n00:00:02,500 --> 00:00:04,000\n"
#define LATE "2\n00:00:03,001 --> 00:00:04,000\n"

static void assert_written(const char *document, const tr_document_settings *settings, check_translator translate,
                           const char *expected)
{
    char *written = check_written(document, strlen(document), settings, translate, NULL);
    assert_string_equal(written, expected);
    free(written);
}

static void sentences_are_units(void **state)
{
    (void)state;
    check_document("srt", "", "", "");
    check_document("srt", ONE "one\ntwo.\n\n" TWO "three.", "one two.\nthree.\n", ONE "ONE TWO.\n\n" TWO "THREE.");
    check_document("srt", ONE "one two,\n\n" TWO "three.\n", "one two, three.\n", ONE "ONE TWO,\n\n" TWO "THREE.\n");
    check_document("srt", ONE "今天天气\n\n" TWO "很好。\n", "今天天气很好。\n", NULL);
    check_document("srt", ONE "one\n\n" LATE "two.\n", "one\ntwo.\n", NULL);
    check_document("srt", ONE "one\n\n" TWO "[two]\n\n" TWO "♪ three ♪\n", "one\n[two]\n♪ three ♪\n", NULL);
    check_document("srt", ONE "one\n\n" TWO "\n\n" TWO "three.\n", "one\nthree.\n", ONE "ONE\n\n" TWO "\n\n" TWO "THREE.\n");
    /* A document without full stops: each cue is a unit. */
    check_document("srt", ONE "今天\n\n" TWO "很好\n", "今天\n很好\n", NULL);
}

static void dialogue_lines_are_units(void **state)
{
    (void)state;
    check_document("srt", ONE "- one\ntwo\n- three\n\n" TWO "four", "one two\nthree\nfour\n",
                   ONE "- ONE TWO\n- THREE\n\n" TWO "FOUR");
    check_document("srt", ONE "<i>-one</i>\n— 二\n", "one\n二\n", ONE "<i>-ONE</i>\n— 二\n");
    check_document("srt", ONE "<i>- one\n- two</i>\n", "one\ntwo\n", ONE "<i>- ONE\n- TWO</i>\n");
    check_document("srt", ONE "-5 one\n--two\n", "-5 one --two\n", ONE "-5 ONE --TWO\n");
}

static void marks_stay(void **state)
{
    (void)state;
    check_document("srt", ONE "{\\an8}<i>one</i>\n\n" TWO "{\\an8}<i>two <b>three</b></i>.\n",
                   "one <x2>two <x4>three</x4></x2>.\n",
                   ONE "{\\an8}<i>ONE</i>\n\n" TWO "{\\an8}<i>TWO <b>THREE</b></i>.\n");
    check_document("srt", ONE "a <i>b\n\n" TWO "c</i> d <font color=\"x\">1 < 2</font>.\n",
                   "a <x2></x2>b c<x4></x4> d <x6>1 < 2</x6>.\n", NULL);
    check_document("srt", ONE "天<i>气</i>\n<i>很</i>好\n", "天<x2>气</x2><x5>很</x5>好\n", NULL);
}

static void other_programs_files_are_read(void **state)
{
    (void)state;
    check_document(
        "srt",
        "\xEF\xBB\xBF\r\n00:00:01.5 --> 0:00:02,000 X1:1\r\nOne.\r\n\r\n\r\n7\r\n\r\n00:00:03,000-->00:00:04,000\r\n"
        "a\r\n \r\nb",
        "One.\na b\n",
        "\xEF\xBB\xBF\r\n00:00:01.5 --> 0:00:02,000 X1:1\r\nONE.\r\n\r\n\r\n7\r\n\r\n00:00:03,000-->00:00:04,000\r\n"
        "A B");
}

static void errors_have_places(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"1\n00:00:01,000 -> 00:00:02,000\na\n", "test: line 2, column 1: a line of times is expected, such as "
                                                 "00:01:02.345 --> 00:01:04.500"},
        {"00:00:01,000\na\n", "test: line 1, column 1: a line of times is expected, such as 00:01:02.345 --> 00:01:04.500"},
        {"text\n", "test: line 1, column 1: a line of times is expected, such as 00:01:02.345 --> 00:01:04.500"},
        {"1\n00:00:61,000 --> 00:00:02,000\na\n",
         "test: line 2, column 13: the times are wrong; 00:01:02.345 --> 00:01:04.500 is expected"},
        {ONE "a\n2\n00:00:02,500 --> 00:00:04,000\nb\n",
         "test: line 5, column 1: --> in the text of a cue: a blank line is missing before it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(check_failure(cases[i][0], strlen(cases[i][0]), &(tr_document_settings){.format = "srt"}),
                            cases[i][1]);
}

static const char *translated; /* what give() gives */

static void give(const char *text, size_t size, tr_buffer *out)
{
    (void)text;
    (void)size;
    check_same(translated, strlen(translated), out);
}

static void assert_given(const char *document, int width, const char *text, const char *expected)
{
    translated = text;
    assert_written(document, &(tr_document_settings){.format = "srt", .line_width = width}, give, expected);
}

static void lines_have_a_width(void **state)
{
    (void)state;
    assert_given(ONE "a\n", 0, "the quick brown fox jumps over the lazy dog and sleeps.",
                 ONE "the quick brown fox jumps\nover the lazy dog and sleeps.\n");
    assert_given(ONE "a\n", 0, "今天天气很好，我们一起去公园里散步，然后回家吃饭。",
                 ONE "今天天气很好，我们一起去公\n园里散步，然后回家吃饭。\n");
    assert_given(ONE "a\n", 8, "天天天天，天天", ONE "天天天\n天，天天\n");
    assert_given(ONE "a\n", 5, "a - b\n\n  cc-->", ONE "a - b\ncc-- >\n");
    assert_given(ONE "a\n", 3, "abcdef g h", ONE "abcdef\ng h\n");
}

static void sentences_are_divided_over_cues(void **state)
{
    (void)state;
    static const char two[] = ONE "one two three,\n\n" TWO "four.\n";
    assert_given(two, 0, "eins zwei, drei vier.", ONE "eins zwei,\n\n" TWO "drei vier.\n");
    assert_given(two, 0, "vier eins zwei drei, und.", ONE "vier eins zwei drei,\n\n" TWO "und.\n");
    assert_given(two, 0, "wort", ONE "wort\n\n" TWO "wort\n");
    assert_given(two, 0, "一二三四，五", ONE "一二三四，\n\n" TWO "五\n");
    assert_given(two, 0, " \n", two);
    static const char marked[] = ONE "one <i>two</i>\n\n" TWO "three four.\n";
    assert_given(marked, 0, "<x2>eins zwei drei vier</x2>.", ONE "<i>eins</i>\n\n" TWO "<i>zwei drei vier</i>.\n");
    assert_given(marked, 0, "<x2>wort</x2>", ONE "<i>wort</i>\n\n" TWO "<i>wort</i>\n");
}

static void both_languages_stand_in_a_cue(void **state)
{
    (void)state;
    assert_written(ONE "<i>a\nb,</i>\n\n" TWO "c.\n\n" TWO "- d\n- e\n",
                   &(tr_document_settings){.format = "srt", .bilingual = true}, check_upper,
                   ONE "<i>a\nb,\nA B,</i>\n\n" TWO "c.\nC.\n\n" TWO "- d\n- D\n- e\n- E\n");
    /* Above a translation, a number after a blank line would be that of a cue. */
    assert_written(ONE "a\n \n2\n\n- b\n\n" TWO "c\n3\n", &(tr_document_settings){.format = "srt", .bilingual = true},
                   check_upper, ONE "a\n \n2\n\n- b\n- B\n\n" TWO "c\n3\nC 3\n");
}

/* ----------------------------------------------------------------------------------------------------------- properties */

static void longer(const char *text, size_t size, tr_buffer *out)
{
    check_same(text, size, out);
    check_same(" und noch mehr, 还有更多。", strlen(" und noch mehr, 还有更多。"), out);
    check_upper(text, size, out);
}

static void shorter(const char *text, size_t size, tr_buffer *out)
{
    check_same(text, size < 3 ? size : 3, out);
    check_same("x", 1, out);
}

static void one_word(const char *text, size_t size, tr_buffer *out)
{
    check_same("w", 1, out);
    (void)text;
    (void)size;
}

/* Both have the same lines of times, and below them text or none. */
static void assert_same_cues(const char *a, const char *b)
{
    for (;;) {
        const char *x = strstr(a, "-->"), *y = strstr(b, "-->");
        assert_true(!x == !y);
        if (!x)
            return;
        while (x > a && x[-1] != '\n')
            x--;
        while (y > b && y[-1] != '\n')
            y--;
        const size_t size = strcspn(x, "\n") + 1;
        assert_memory_equal(x, y, size);
        assert_int_equal(strspn(x + size, "\r\n") > 0, strspn(y + size, "\r\n") > 0);
        a = x + size;
        b = y + size;
    }
}

static void properties_hold(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a",  "b. ", ", ",      "\n",   " ",    "<i>", "</i>",
                                         "天", "。",  "{\\an8}", "\n- ", "word", "气"};
    static const check_translator translators[] = {longer, shorter, one_word, check_same};
    for (unsigned seed = 0; seed < 3000; seed++) {
        char text[2048] = "";
        uint32_t random = seed * 2654435761U;
        for (int cue = 0; cue < 5; cue++) {
            strcat(text, cue & 1 ? ONE : TWO);
            strcat(text, seed % 5 ? "w" : "天");
            for (unsigned i = 0; i < (random >> 28); i++) {
                random = random * 1664525 + 1013904223;
                const char *piece = pieces[(random >> 16) % 13];
                if (*piece != '\n' || text[strlen(text) - 1] != '\n')
                    strcat(text, piece);
            }
            random = random * 1664525 + 1013904223;
            strcat(text, text[strlen(text) - 1] == '\n' ? "\n" : "\n\n");
        }
        const tr_document_settings settings = {
            .format = "srt", .rewrite = true, .bilingual = seed & 8, .line_width = seed & 31};
        for (size_t i = 0; i < sizeof translators / sizeof *translators; i++) {
            char *written = check_written(text, strlen(text), &settings, translators[i], NULL);
            assert_same_cues(text, written);
            free(written);
        }
        const tr_document_settings plain = {.format = "srt", .rewrite = true, .line_width = seed & 31};
        char *units = check_units(text, strlen(text), &plain);
        char *same = check_written(text, strlen(text), &plain, check_same, NULL);
        char *same_units = check_units(same, strlen(same), &plain);
        assert_string_equal(units, same_units);
        free(units);
        free(same);
        free(same_units);
    }
}

static double time_of_pairs(size_t count)
{
    static const char pair[] = "<b></b>", times[] = ONE, words[] = "word", spaces[] = "                ";
    tr_buffer text = {0};
    assert_true(tr_buffer_string(&text, times));
    for (size_t i = 0; i < count; i++)
        assert_true(tr_buffer_string(&text, pair));
    for (size_t i = 0; i < count / 4; i++)
        assert_true(tr_buffer_string(&text, spaces));
    assert_true(tr_buffer_string(&text, words));
    for (size_t i = 0; i < count / 4; i++)
        assert_true(tr_buffer_string(&text, spaces));
    for (size_t i = 0; i < count; i++)
        assert_true(tr_buffer_string(&text, pair));
    const double before = seconds_now();
    char *units = check_units(text.data, text.size, &(tr_document_settings){.format = "srt"});
    const double after = seconds_now();
    assert_string_equal(units, "word\n");
    free(units);
    tr_buffer_free(&text);
    return after - before;
}

static void empty_marks_take_linear_time(void **state)
{
    (void)state;
    expect_linear(time_of_pairs(5000), time_of_pairs(40000), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_are_units),
        cmocka_unit_test(dialogue_lines_are_units),
        cmocka_unit_test(marks_stay),
        cmocka_unit_test(other_programs_files_are_read),
        cmocka_unit_test(errors_have_places),
        cmocka_unit_test(lines_have_a_width),
        cmocka_unit_test(sentences_are_divided_over_cues),
        cmocka_unit_test(both_languages_stand_in_a_cue),
        cmocka_unit_test(empty_marks_take_linear_time),
        cmocka_unit_test(properties_hold),
    };
    return cmocka_run_group_tests_name("SRT documents", tests, NULL, NULL);
}
