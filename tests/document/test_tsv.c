#include "check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void tabs_divide_cells(void **state)
{
    (void)state;
    check_document("tsv", "id\ta, b; c\n1\t\"天\" x\r\n\t y ", "id\na, b; c\n\"天\" x\ny\n",
                   "ID\tA, B; C\n1\t\"天\" X\r\n\t Y ");
}

static void break_cells(const char *text, size_t size, tr_buffer *out)
{
    check_same(text, size, out);
    check_same("\tx\ny", 4, out);
}

static void translations_have_no_tabs(void **state)
{
    (void)state;
    const tr_document_settings settings = {.format = "tsv", .columns = "text"};
    char *written = check_written("id\ttext\na\tb\n", 12, &settings, break_cells, NULL);
    assert_string_equal(written, "id\ttext\na\tb x y\n");
    free(written);
}

static void properties_hold(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a", "b c", "  ", "\n", "\r\n", "\"", "\t", "天", "<x1>", "1", "\\t", ","};
    char text[512];
    for (unsigned seed = 0; seed < 10000; seed++) {
        uint32_t random = seed * 2654435761U;
        size_t size = 0;
        for (int i = 0; i < 24; i++) {
            random = random * 1664525 + 1013904223;
            const char *piece = pieces[(random >> 16) % (sizeof pieces / sizeof *pieces)];
            memcpy(text + size, piece, strlen(piece));
            size += strlen(piece);
        }
        check_properties(text, size, &(tr_document_settings){.format = "tsv"}, check_upper);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tabs_divide_cells),
        cmocka_unit_test(translations_have_no_tabs),
        cmocka_unit_test(properties_hold),
    };
    return cmocka_run_group_tests_name("TSV documents", tests, NULL, NULL);
}
