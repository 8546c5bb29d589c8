#include "check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void lines_are_units(void **state)
{
    (void)state;
    check_document("text", "", "", "");
    check_document("text", "one\n\n  two  words \r\n三", "one\ntwo  words\n三\n", "ONE\n\n  TWO  WORDS \r\n三");
}

static void byte_order_mark_is_no_text(void **state)
{
    (void)state;
    check_document("text", "\xEF\xBB\xBFone\ntwo", "one\ntwo\n", "\xEF\xBB\xBFONE\nTWO");
    check_document("text", "\xEF\xBB\xBF", "", "\xEF\xBB\xBF");
}

static void translation_has_the_line_break_of_its_line(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"one\r\ntwo", "one\r\nONE\r\ntwo\r\nTWO"}, /* the last line's is that of the line before it */
        {"one\ntwo \r\n", "one\nONE\ntwo\r\nTWO \r\n"},
        {"one", "one\nONE"},
    };
    const tr_document_settings settings = {.format = "text", .bilingual = true};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *written = check_written(cases[i][0], strlen(cases[i][0]), &settings, check_upper, NULL);
        assert_string_equal(written, cases[i][1]);
        free(written);
    }
}

static void paragraphs_are_joined(void **state)
{
    (void)state;
    static const char mail[] = "> 今天天气\n> 很好。\n>\n> - one\n>   two\n> - three\n\nlast\nline";
    const tr_document_settings settings = {.format = "text", .paragraphs = true};
    char *units = check_units(mail, strlen(mail), &settings);
    assert_string_equal(units, "今天天气很好。\n- one\ntwo\n- three\nlast line\n");
    free(units);
    char *written = check_written(mail, strlen(mail), &settings, check_upper, NULL);
    assert_string_equal(written, "> 今天天气\n> 很好。\n>\n> - ONE\n>   TWO\n> - THREE\n\nLAST LINE");
    free(written);
}

static void much_text_is_refused(void **state)
{
    (void)state;
    tr_document_settings settings = {.format = "text", .max_text = 4};
    assert_string_equal(check_failure("a\n\n天\n", 7, &settings), "");
    settings.max_text = 3;
    assert_string_equal(check_failure("a\n\n天\n", 7, &settings), "test: more than 3 bytes of text");
}

static void properties_hold(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a",  "b c", "  ",   "\n",   "\n\n", "\r\n", "> ",
                                         "- ", "天",  "<x1>", "{x2}", "1. ",  "\t",   "\v"};
    char text[512];
    for (unsigned seed = 0; seed < 20000; seed++) {
        uint32_t random = seed * 2654435761U;
        size_t size = 0;
        for (int i = 0; i < 24; i++) {
            random = random * 1664525 + 1013904223;
            const char *piece = pieces[(random >> 16) % (sizeof pieces / sizeof *pieces)];
            memcpy(text + size, piece, strlen(piece));
            size += strlen(piece);
        }
        check_properties(text, size, &(tr_document_settings){.format = "text", .paragraphs = seed & 1}, check_upper);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_units),
        cmocka_unit_test(byte_order_mark_is_no_text),
        cmocka_unit_test(translation_has_the_line_break_of_its_line),
        cmocka_unit_test(paragraphs_are_joined),
        cmocka_unit_test(much_text_is_refused),
        cmocka_unit_test(properties_hold),
    };
    return cmocka_run_group_tests_name("text documents", tests, NULL, NULL);
}
