#include "check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_written(const char *document, const tr_document_settings *settings, const char *expected)
{
    char *written = check_written(document, strlen(document), settings, check_upper, NULL);
    assert_string_equal(written, expected);
    free(written);
}

static void only_empty_entries_are_filled(void **state)
{
    (void)state;
    check_document("po", "", "", "");
    check_document("po",
                   "# Kommentar\n#. note\n#: a.c:1\n#, c-format\nmsgid \"open %s\"\nmsgstr \"\"\n\n"
                   "msgid \"done\"\nmsgstr \"fertig\"\n\n#, fuzzy\nmsgid \"almost\"\nmsgstr \"fast\"\n\n"
                   "#~ msgid \"old\"\n#~ msgstr \"\"\n",
                   "open %s\n",
                   "# Kommentar\n#. note\n#: a.c:1\n#, c-format\nmsgid \"open %s\"\nmsgstr \"OPEN %S\"\n\n"
                   "msgid \"done\"\nmsgstr \"fertig\"\n\n#, fuzzy\nmsgid \"almost\"\nmsgstr \"fast\"\n\n"
                   "#~ msgid \"old\"\n#~ msgstr \"\"\n");
    check_document("po", "msgctxt \"menu\"\nmsgid \"open\"\nmsgstr \"\"\nmsgid \"open\"\nmsgstr\"\"", "open\nopen\n",
                   "msgctxt \"menu\"\nmsgid \"open\"\nmsgstr \"OPEN\"\nmsgid \"open\"\nmsgstr\"OPEN\"");
}

static void strings_have_escapes_and_lines(void **state)
{
    (void)state;
    check_document("po", "msgid \"\"\n\"a\\tb \"\n\"\\\"c\\\" \\\\d \\303\\251 \\xe5\\x9b\\xbd \\q\"\nmsgstr \"\"\n",
                   "a\tb \"c\" \\\\d é 国 \\\\q\n",
                   "msgid \"\"\n\"a\\tb \"\n\"\\\"c\\\" \\\\d \\303\\251 \\xe5\\x9b\\xbd \\q\"\n"
                   "msgstr \"A\\tB \\\"C\\\" \\\\D é 国 \\\\Q\"\n");
    check_document("po", "msgid \"a\\nb\\n\"\r\nmsgstr \"\"\r\n", "a\\nb\\n\n",
                   "msgid \"a\\nb\\n\"\r\nmsgstr \"\"\r\n\"A\\n\"\r\n\"B\\n\"\r\n");
    check_document("po", "msgid \"\\001\\x7f\"\nmsgstr \"\"\n", NULL, "msgid \"\\001\\x7f\"\nmsgstr \"\\001\\177\"\n");
}

/* The translator puts line breaks, or none, at both ends. */
static void break_ends(const char *text, size_t size, tr_buffer *out)
{
    const bool lines = *text == '\n';
    check_same(lines ? "x" : "\nx\n", lines ? 1 : 3, out);
    (void)size;
}

static void line_breaks_at_both_ends_agree(void **state)
{
    (void)state;
    static const char document[] = "msgid \"\\na\\n\"\nmsgstr \"\"\n\nmsgid \"b\"\nmsgstr \"\"\n";
    char *written = check_written(document, strlen(document), &(tr_document_settings){.format = "po"}, break_ends, NULL);
    assert_string_equal(written, "msgid \"\\na\\n\"\nmsgstr \"\"\n\"\\n\"\n\"x\\n\"\n\nmsgid \"b\"\nmsgstr \"x\"\n");
    free(written);
}

#define PLURAL "msgid \"one\"\nmsgid_plural \"many\"\n"

static void plural_forms_are_those_of_the_language(void **state)
{
    (void)state;
    const tr_document_settings german = {.format = "po", .target_language = "de"};
    const tr_document_settings chinese = {.format = "po", .target_language = "zh-Hant-TW"};
    const tr_document_settings russian = {.format = "po", .target_language = "ru"};
    assert_written(PLURAL "msgstr[0] \"\"\nmsgstr[1] \"\"\n", &(tr_document_settings){.format = "po"},
                   PLURAL "msgstr[0] \"ONE\"\nmsgstr[1] \"MANY\"\n");
    assert_written(PLURAL "msgstr[0] \"\"\nmsgstr[1] \"x\"\n", &german, PLURAL "msgstr[0] \"\"\nmsgstr[1] \"x\"\n");
#define HEADER(language, forms)                                                                                             \
    "msgid \"\"\nmsgstr \"\"\n\"Team: x\\n\"\n\"Language: " language "\\n\"\n"                                              \
    "\"Content-Type: text/plain; charset=UTF-8\\n\"\n\"Plural-Forms: " forms "\\n\"\n\n"
    assert_written(HEADER("", "nplurals=INTEGER; plural=EXPRESSION;") PLURAL "msgstr[0] \"\"\nmsgstr[1] \"\"\n", &chinese,
                   HEADER("zh_Hant_TW", "nplurals=1; plural=0;") PLURAL "msgstr[0] \"MANY\"\n");
    assert_written(HEADER("en", "nplurals=2; plural=(n != 1);") PLURAL "msgstr[0] \"\"\nmsgstr[1] \"\"\n", &russian,
                   HEADER("ru", "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || "
                                "n%100>14) ? 1 : 2);") PLURAL "msgstr[0] \"ONE\"\nmsgstr[1] \"MANY\"\nmsgstr[2] \"MANY\"\n");
    /* The header knows better: it has the language already. */
    assert_written(HEADER("ru", "nplurals=4; plural=(n%4);") PLURAL "msgstr[0] \"\"\nmsgstr[1] \"\"\n", &russian,
                   HEADER("ru", "nplurals=4; plural=(n%4);") PLURAL
                   "msgstr[0] \"ONE\"\nmsgstr[1] \"MANY\"\nmsgstr[2] \"MANY\"\nmsgstr[3] \"MANY\"\n");
    /* A language that the table does not have. */
    assert_written(HEADER("", "x") PLURAL "msgstr[0] \"\"\n",
                   &(tr_document_settings){.format = "po", .target_language = "tlh"},
                   HEADER("tlh", "x") PLURAL "msgstr[0] \"MANY\"\n");
}

static void headers_get_the_language(void **state)
{
    (void)state;
    const tr_document_settings settings = {.format = "po", .target_language = "pt-BR"};
    assert_written("msgid \"\"\nmsgstr \"Language: x\\nTeam: y\"\n", &settings,
                   "msgid \"\"\nmsgstr \"\"\n\"Language: pt_BR\\n\"\n\"Team: y\\n\"\n"
                   "\"Content-Type: text/plain; charset=UTF-8\\n\"\n\"Plural-Forms: nplurals=2; plural=(n > 1);\\n\"\n");
    assert_written("msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=GBK\\n\"\n",
                   &(tr_document_settings){.format = "po"},
                   "msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=UTF-8\\n\"\n");
}

/* Gives "t", doubtful for each unit in `doubtful`. */
static tr_status next_doubtful(void *argument, size_t unit, tr_document_translation *translation, tr_error *error)
{
    (void)error;
    *translation = (tr_document_translation){"t", 1, *(const unsigned *)argument >> unit & 1 ? TR_FLAG_DOUBTFUL : 0};
    return TR_OK;
}

static tr_status keep(void *argument, const void *data, size_t size, tr_error *error)
{
    (void)error;
    check_same(data, size, argument);
    return TR_OK;
}

static void assert_doubtful(const char *document, unsigned doubtful, const char *expected)
{
    tr_document *d = check_read(document, strlen(document), &(tr_document_settings){.format = "po"});
    tr_buffer out = {0};
    assert_int_equal(
        tr_document_write(d, &(tr_document_source){next_doubtful, &doubtful}, &(tr_document_sink){keep, &out}, NULL), TR_OK);
    assert_string_equal(out.data, expected);
    tr_buffer_free(&out);
    tr_document_close(d);
}

static void doubtful_translations_are_fuzzy(void **state)
{
    (void)state;
    assert_doubtful("#: a\nmsgctxt \"c\"\nmsgid \"a\"\nmsgstr \"\"\n\nmsgid \"b\"\nmsgstr \"\"\n", 1,
                    "#: a\n#, fuzzy\nmsgctxt \"c\"\nmsgid \"a\"\nmsgstr \"t\"\n\nmsgid \"b\"\nmsgstr \"t\"\n");
    assert_doubtful("#| msgid \"b\"\n#| msgctxt \"c\"\nmsgid \"a\"\nmsgstr \"\"\n", 1,
                    "#, fuzzy\n#| msgid \"b\"\n#| msgctxt \"c\"\nmsgid \"a\"\nmsgstr \"t\"\n");
    assert_doubtful("#, c-format\r\nmsgid \"a\"\r\nmsgstr \"\"\r\n", 1,
                    "#, c-format, fuzzy\r\nmsgid \"a\"\r\nmsgstr \"t\"\r\n");
    assert_doubtful("#, fuzzy\nmsgid \"a\"\nmsgstr \"\"\n", 1, "#, fuzzy\nmsgid \"a\"\nmsgstr \"t\"\n");
    assert_doubtful("#, fuzzy\n#~ msgid \"a\"\n#~ msgstr \"\"\nmsgid \"a\"\nmsgstr \"\"\n", 1,
                    "#, fuzzy\n#~ msgid \"a\"\n#~ msgstr \"\"\n#, fuzzy\nmsgid \"a\"\nmsgstr \"t\"\n");
    for (unsigned doubtful = 1; doubtful < 4; doubtful++)
        assert_doubtful(PLURAL "msgstr[0] \"\"\nmsgstr[1] \"\"\n", doubtful,
                        "#, fuzzy\n" PLURAL "msgstr[0] \"t\"\nmsgstr[1] \"t\"\n");
}

static void errors_have_places(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"msgid \"a\n\"\n", "test: line 1, column 7: the string is not closed"},
        {"msgid \"a\\\n\"\n", "test: line 1, column 7: the string is not closed"},
        {"msgid \"a\"\n", "test: line 1, column 1: msgid has no msgstr"},
        {"msgctxt \"a\"\n", "test: line 1, column 1: msgctxt has no msgid"},
        {"msgid a\n", "test: line 1, column 7: a string in quotes is expected"},
        {"\n中文\n", "test: line 2, column 1: msgid, msgstr or a comment is expected"},
        {"msgstr \"a\"\n", "test: line 1, column 1: msgstr has no msgid"},
        {"msgid \"a\"\nmsgstr[0] \"a\"\n", "test: line 2, column 1: msgstr[] has no msgid_plural"},
        {PLURAL "msgstr \"a\"\n", "test: line 3, column 1: msgid_plural wants msgstr[0]"},
        {PLURAL "msgstr[0] \"a\"\nmsgstr[2] \"a\"\n", "test: line 4, column 1: msgstr[1] is expected"},
        {"msgid \"a\"\nmsgstr \"\"\nmsgstr \"\"\n", "test: line 3, column 1: msgid has two msgstr"},
        {"msgid_plural \"a\"\n", "test: line 1, column 1: msgid_plural does not follow msgid"},
        {"msgid \"ab\"\nmsgstr \"\"\nmsgid \"c\"\nmsgstr \"\"\n msgid \"\\141\"\n\"b\"\nmsgstr \"x\"\n",
         "test: line 5, column 2: an entry before this one has the same msgid"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(check_failure(cases[i][0], strlen(cases[i][0]), &(tr_document_settings){.format = "po"}),
                            cases[i][1]);
}

/* Entries of random parts. Written anew they have the same units; once filled, they have no more. */
static void properties_hold(void **state)
{
    (void)state;
    static const char *const before[] = {"",         "#, fuzzy\n",    "#, c-format\r\n", "#~ msgid \"x\"\n",
                                         "# 注\n\n", "msgctxt \"c\" "};
    static const char *const strings[] = {"\"a\"",           "\"天 \"\n",      "\"\\n\" ",
                                          "\"\\\"\\t\\\\\"", "\"%d\"\r\n\"\"", "\"\\351\""};
    static const char *const after[] = {"msgstr \"\"", "msgstr \"x\"\n",
                                        "msgid_plural \"b\"\nmsgstr[0] \"\"\n\"\"\nmsgstr[1]  \"\"",
                                        "msgid_plural \"\\n\"\nmsgstr[0] \"\"\n"};
    for (unsigned seed = 0; seed < 4000; seed++) {
        char text[1024] = "msgid \"\"\nmsgstr \"Plural-Forms: nplurals=1;\\n\"\n";
        uint32_t random = seed * 2654435761U;
        if (seed & 1)
            *text = 0;
        for (char id = '0'; id < '4'; id++) {
            random = random * 1664525 + 1013904223;
            strcat(text, before[(random >> 16) % 6]);
            strcat(text, (char[]){'m', 's', 'g', 'i', 'd', ' ', '"', id, '"', ' ', 0});
            for (unsigned k = 0; k < (random >> 12) % 4; k++)
                strcat(text, strings[((random >> 20) + k * 5) % 6]);
            strcat(strcat(strcat(text, " "), after[(random >> 28) % 4]), "\n");
        }
        const tr_document_settings plain = {.format = "po", .target_language = seed & 2 ? "pl" : NULL};
        tr_document_settings anew = plain;
        anew.rewrite = true;
        size_t same_size, filled_size;
        char *units = check_units(text, strlen(text), &anew);
        char *same = check_written(text, strlen(text), &anew, check_same, &same_size);
        char *same_units = check_units(same, same_size, &anew);
        char *filled = check_written(text, strlen(text), &plain, check_quoted, &filled_size);
        char *filled_units = check_units(filled, filled_size, &anew), *left = check_units(filled, filled_size, &plain);
        assert_string_equal(units, same_units);
        assert_string_equal(units, filled_units);
        assert_string_equal(left, "");
        free(units);
        free(same);
        free(same_units);
        free(filled);
        free(filled_units);
        free(left);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_empty_entries_are_filled),
        cmocka_unit_test(strings_have_escapes_and_lines),
        cmocka_unit_test(line_breaks_at_both_ends_agree),
        cmocka_unit_test(plural_forms_are_those_of_the_language),
        cmocka_unit_test(headers_get_the_language),
        cmocka_unit_test(doubtful_translations_are_fuzzy),
        cmocka_unit_test(errors_have_places),
        cmocka_unit_test(properties_hold),
    };
    return cmocka_run_group_tests_name("PO documents", tests, NULL, NULL);
}
