#include "check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_written(const char *document, const char *columns, const char *expected)
{
    const tr_document_settings settings = {.format = "csv", .columns = columns};
    char *written = check_written(document, strlen(document), &settings, check_upper, NULL);
    assert_string_equal(written, expected);
    free(written);
}

static void cells_are_units(void **state)
{
    (void)state;
    check_document("csv", "", "", "");
    check_document("csv", "name,名称\r\n \"a\" , b c ,\r\n\"one, \"\"two\"\"\n三\",4,\"\"\r\n\r\nlast",
                   "name\n名称\n\"a\"\nb c\none, \"two\"\\n三\nlast\n",
                   "NAME,名称\r\n\" \"\"A\"\" \", B C ,\r\n\"ONE, \"\"TWO\"\"\n三\",4,\"\"\r\n\r\nLAST");
    check_document("csv",
                   "\xEF\xBB\xBF"
                   "a;b, c\rd",
                   "a\nb, c\nd\n",
                   "\xEF\xBB\xBF"
                   "A;\"B, C\"\rD");
    check_document("csv", "sep=;\r\na,b,c;d\r\n", "a,b,c\nd\n", "sep=;\r\n\"A,B,C\";D\r\n");
}

static void what_is_no_text_stays(void **state)
{
    (void)state;
    check_document("csv",
                   "12,3.5,2024-01-05,10:30,A-12,user_name,a@b.org,https://a.cn/x,/usr/bin,image.png,true,NULL,--,①。", "",
                   NULL);
    check_document("csv", "ok,12 km,见 https://a.cn,3 月,Ärger,yes/no", "ok\n12 km\n见 https://a.cn\n3 月\nÄrger\nyes/no\n",
                   NULL);
}

static void columns_are_chosen(void **state)
{
    (void)state;
    assert_written("a,b,c,d\ne_1,f,g,h,i\nj\n", "1,3-4", "A,b,C,D\nE_1,f,G,H,i\nJ\n");
    assert_written("id,\"the, text\",b,b\na,c,d,e,f\ng", "b", "id,\"the, text\",b,b\na,c,D,E,f\ng");
    assert_written("id;note\na;c\n", " note , 1", "id;note\nA;C\n");
    assert_string_equal(check_failure("a,b\n", 4, &(tr_document_settings){.format = "csv", .columns = "c"}),
                        "test: line 1, column 1: no column has the name c");
    assert_string_equal(check_failure("a,b\n", 4, &(tr_document_settings){.format = "csv", .columns = "0"}),
                        "test: line 1, column 1: no column has the name 0");
}

static void errors_have_places(void **state)
{
    (void)state;
    const tr_document_settings settings = {.format = "csv"};
    assert_string_equal(check_failure("a\n天,\"b\nc", 11, &settings), "test: line 2, column 3: the quote is not closed");
    assert_string_equal(check_failure("\"a\"b,c", 6, &settings), "test: line 1, column 4: text follows the closing quote; "
                                                                 "quotes in quoted text are doubled");
}

static void hostile(const char *text, size_t size, tr_buffer *out)
{
    check_same("\"", 1, out);
    check_same(text, size, out);
    check_same("\r\n;,\t\"\"", 7, out);
}

/* The cells as they are, without the quotes around them: outside the units quotes may be new. */
static void properties_hold(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a",  "b c", "  ", "\n",   "\r\n", "\"x\"", ",",   ",",
                                         "\"", ";",   "天", "\"\"", "1",    "\t",    "<x1>"};
    char text[512];
    unsigned read = 0;
    for (unsigned seed = 0; seed < 20000; seed++) {
        uint32_t random = seed * 2654435761U;
        size_t size = 0;
        for (int i = 0; i < 16; i++) {
            random = random * 1664525 + 1013904223;
            const char *piece = pieces[(random >> 16) % (sizeof pieces / sizeof *pieces)];
            memcpy(text + size, piece, strlen(piece));
            size += strlen(piece);
        }
        const tr_document_settings settings = {.format = "csv", .rewrite = true};
        if (*check_failure(text, size, &settings))
            continue;
        read++;
        size_t same_size, changed_size;
        char *same = check_written(text, size, &settings, check_same, &same_size);
        char *changed = check_written(text, size, &settings, hostile, &changed_size);
        char *units = check_units(text, size, &settings), *same_units = check_units(same, same_size, &settings);
        char *changed_units = check_units(changed, changed_size, &settings);
        assert_string_equal(units, same_units);
        size_t count = 0, changed_count = 0;
        for (const char *c = units; *c; c++)
            count += *c == '\n';
        for (const char *c = changed_units; *c; c++)
            changed_count += *c == '\n';
        assert_int_equal(count, changed_count);
        free(same);
        free(changed);
        free(units);
        free(same_units);
        free(changed_units);
    }
    assert_true(read > 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_units),    cmocka_unit_test(what_is_no_text_stays), cmocka_unit_test(columns_are_chosen),
        cmocka_unit_test(errors_have_places), cmocka_unit_test(properties_hold),
    };
    return cmocka_run_group_tests_name("CSV documents", tests, NULL, NULL);
}
