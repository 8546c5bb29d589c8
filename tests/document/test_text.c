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

static void properties_hold(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a",  "b c", "  ",   "\n",   "\n\n", "\r\n", "> ",
                                         "- ", "天",  "<x1>", "{x2}", "1. ",  "\t"};
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
        cmocka_unit_test(paragraphs_are_joined),
        cmocka_unit_test(properties_hold),
    };
    return cmocka_run_group_tests_name("text documents", tests, NULL, NULL);
}
