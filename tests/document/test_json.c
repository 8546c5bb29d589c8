#include "check.h"
#include "document/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_units(const char *document, const char *keys, const char *units)
{
    char *found = check_units(document, strlen(document), &(tr_document_settings){.format = "json", .keys = keys});
    assert_string_equal(found, units);
    free(found);
}

static void assert_written(const char *document, const char *source, const char *target, const char *expected)
{
    const tr_document_settings settings = {.format = "json", .source_language = source, .target_language = target};
    char *written = check_written(document, strlen(document), &settings, check_upper, NULL);
    assert_string_equal(written, expected);
    free(written);
}

static void assert_fails(const char *document, const char *message)
{
    assert_string_equal(check_failure(document, strlen(document), &(tr_document_settings){.format = "json"}), message);
}

static void values_are_units_and_keys_are_not(void **state)
{
    (void)state;
    check_document("json", "{\"Some title\": \"A title\", \"list\": [\"一\", 1, null, true, {\"b\": \" two words \"}]}",
                   "A title\n一\ntwo words\n",
                   "{\"Some title\": \"A TITLE\", \"list\": [\"一\", 1, null, true, {\"b\": \" TWO WORDS \"}]}");
    check_document("json", " \"Only this\" ", "Only this\n", " \"ONLY THIS\" ");
    check_document("json", "\xEF\xBB\xBF{\"a\": \"Hello\", \"a\": \"again and again\"}", "Hello\nagain and again\n",
                   "\xEF\xBB\xBF{\"a\": \"HELLO\", \"a\": \"AGAIN AND AGAIN\"}");
    check_document("json", "{}", "", "{}");
    check_document("json", "[[], {}, -1.5e+10, 0, \"\"]", "", "[[], {}, -1.5e+10, 0, \"\"]");
}

static void lines_are_values(void **state)
{
    (void)state;
    check_document("json", "{\"t\": \"Hello\"}\n{\"t\": \"你\"}\r\n\n[\"One two\"]\n", "Hello\n你\nOne two\n",
                   "{\"t\": \"HELLO\"}\n{\"t\": \"你\"}\r\n\n[\"ONE TWO\"]\n");
}

static void escapes_are_decoded(void **state)
{
    (void)state;
    check_document("json", "[\"a \\\"b\\\" \\\\ \\/ \\n\\t é\"]", "a \"b\" \\\\ / \\n\t é\n",
                   "[\"A \\\"B\\\" \\\\ / \\n\\t é\"]");
    /* A document of escapes stays one, whatever the translation; half a pair is no character. */
    check_document("json", "[\"\\u4f60 is \\ud83d\\ude00\", \"\\ud83d x \\udE00\"]",
                   "你 is 😀\n\xEF\xBF\xBD x \xEF\xBF\xBD\n", "[\"\\u4f60 IS \\ud83d\\ude00\", \"\\ufffd X \\ufffd\"]");
    check_document("json", "[\"\\u4f60 is\", \"你\"]", "你 is\n你\n", "[\"你 IS\", \"你\"]");
    /* Escaped white space stays around the words as well. */
    check_document("json", "[\"\\n\\u0020 a b\\\\n\\t\\u000A \", \"\\u4f60\\u0020 \"]", "a b\\\\n\n你\n",
                   "[\"\\n\\u0020 A B\\\\N\\t\\u000A \", \"\\u4f60\\u0020 \"]");
    check_document("json", "[\"a b \\u0001\\u007f\"]", "a b \x01\x7f\n", "[\"A B \\u0001\x7f\"]");
}

static void what_is_no_text_stays(void **state)
{
    (void)state;
    static const char *const others[] = {"primary_button",
                                         "en",
                                         "zh-CN",
                                         "camelCase",
                                         "GET",
                                         "#ff8800",
                                         "2024-05-01T08:00:00Z",
                                         "10 000",
                                         "text/html",
                                         "https://example.com/文档",
                                         "mailto:a@example.com",
                                         "images/猫.png",
                                         "./图片",
                                         "550e8400-e29b-41d4-a716-446655440000",
                                         "{name}",
                                         "%s: %1$d",
                                         "<br>",
                                         "v1.2.3",
                                         "YYYY-MM-DD HH:mm",
                                         "*/5 * * * *",
                                         " ",
                                         ""};
    static const char *const texts[] = {"Save",     "loading...", "two words", "<b>Save</b>", "{n} files",      "Sign-in",
                                        "don't do", "你好",       "größe",     "a < Bcd",     "访问example.com"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (tr_looks_like_text(others[i], strlen(others[i])))
            fail_msg("%s looks like text", others[i]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!tr_looks_like_text(texts[i], strlen(texts[i])))
            fail_msg("%s does not look like text", texts[i]);
}

static void keys_select_values(void **state)
{
    (void)state;
    static const char document[] = "{\"title\": \"t\", \"items\": [{\"text\": \"a\", \"id\": \"b\"}, {\"text\": \"c\"}],"
                                   " \"x\": {\"text\": \"d\", \"title\": [\"e\", {\"f\": \"g\"}]}, \"x.text\": \"h\"}";
    assert_units(document, "title", "t\ne\ng\n");
    assert_units(document, " items.*.text , x.title", "a\nc\ne\ng\n");
    assert_units(document, "items.text", "");
    assert_units(document, "x.text", "d\nh\n");
    assert_units(document, "text", "a\nc\nd\n");
    assert_units(document, "*.text", "d\n");
    assert_units(document, "x.*", "d\ne\ng\n");
    assert_units(document, "*", "t\na\nb\nc\nd\ne\ng\nh\n");
    assert_units(document, "none,,x.", "");
    assert_units("{\"\\u4f60\": \"x\"}", "你", "x\n");
    assert_units("{\"a\": \"one two\", \"b\": \"c\"}", " ", "one two\n");
}

static void too_many_patterns_fail(void **state)
{
    (void)state;
    char keys[65 * 2 + 1];
    for (int i = 0; i < 65; i++)
        memcpy(keys + 2 * i, "a,", 3);
    assert_string_equal(check_failure("{}", 2, &(tr_document_settings){.format = "json", .keys = keys}),
                        "keys: more than 64 patterns");
    keys[64 * 2] = 0;
    assert_units("{\"a\": \"b\"}", keys, "b\n");
}

static void languages_are_renamed(void **state)
{
    (void)state;
    assert_written("{\"@@locale\": \"zh\", \"a\": \"中 x\", \"x\": {\"lang\": \"zh\"}}", "zh", "en",
                   "{\"@@locale\": \"en\", \"a\": \"中 X\", \"x\": {\"lang\": \"zh\"}}");
    assert_written("{\"lang\": \"zh-Hans-CN\", \"locale\": \"zh_CN\"}", "zh", "en-GB",
                   "{\"lang\": \"en-GB\", \"locale\": \"en_GB\"}");
    assert_written("{\"lang\": \"zho\"}\n{\"lang\": \"zh 中 x\"}\n{\"lang\": \"en\"}", "zh", "en",
                   "{\"lang\": \"zho\"}\n{\"lang\": \"ZH 中 X\"}\n{\"lang\": \"en\"}");
    assert_written("{\"zh-CN\": {\"lang\": \"中 x\"}}", "zh-Hans", "en", "{\"en\": {\"lang\": \"中 X\"}}");
    assert_written("{\"zh\": {\"a\": \"b\"}, \"en\": {}}", "zh", "en", "{\"zh\": {\"a\": \"b\"}, \"en\": {}}");
    assert_written("{\"zh\": \"中 x\"}", "zh", "en", "{\"zh\": \"中 X\"}");
    assert_written("{\"lang\": \"zh\"}", NULL, "en", "{\"lang\": \"zh\"}");
    assert_written("{\"lang\": \"zh\"}", "zh", "a\"b", "{\"lang\": \"a\\\"b\"}");
    assert_written("{\"zh\": {}}", "zh", "en-x-aaaaaaaa-bbbbbbbb-cccccccc-dddddddd-eeeeeeee-ffffffff-gggggggg",
                   "{\"en-x-aaaaaaaa-bbbbbbbb-cccccccc-dddddddd-eeeeeeee-ffffffff-gggggggg\": {}}");
}

static void patterns_of_dates_stay(void **state)
{
    (void)state;
    static const char dates[] = "{\"a\": \"%Y年%m月%d日\", \"b\": \"%-d. %b um\", \"c\": \"%A, the %d of %B\"}";
    static const char others[] = "[\"%d 个，共 %d 个\", \"%s 是 %ld\", \"50%Y 到 60%Y\", \"%m月\", \"满 100%\", \"Save %\"]";
    assert_units(dates, NULL, "");
    assert_units(dates, "a", "");
    assert_units(others, NULL, "%d 个，共 %d 个\n%s 是 %ld\n50%Y 到 60%Y\n%m月\n满 100%\nSave %\n");
}

static void metadata_of_arb_stays(void **state)
{
    (void)state;
    check_document("json",
                   "{\"@@comment\": \"Left as it is\", \"a\": \"A b\", \"@a\": {\"description\": \"Not this\"},"
                   " \"@graph\": [{\"@x\": \"But this\"}]}",
                   "A b\nBut this\n", NULL);
    assert_units("{\"@a\": {\"description\": \"d\", \"type\": \"t\"}}", "description", "d\n");
}

static void messages_inside_arguments_are_units(void **state)
{
    (void)state;
    check_document("json", "[\"{n, plural, =0 {no file} one {# file} other {{n} of # files}}\"]",
                   "no file\n{x1} file\n{n} of {x2} files\n",
                   "[\"{n, plural, =0 {NO FILE} one {# FILE} other {{N} OF # FILES}}\"]");
    check_document("json",
                   "[\"You, {g, select, male {he} other {they {n,plural,offset:1 other{have #}}}}: on {d, date} #\"]",
                   "You,\nhe\nthey\nhave {x2}\n: on {x2} #\n",
                   "[\"YOU, {g, select, male {HE} other {THEY {n,plural,offset:1 other{HAVE #}}}}: ON {d, date} #\"]");
    /* Escaped, it is the same message. */
    check_document("json", "[\"\\u007bn, plural,\\nother \\u007b\\u0023 files\\u007D}\"]", "{x1} files\n",
                   "[\"\\u007bn, plural,\\nother \\u007b\\u0023 FILES\\u007D}\"]");
    check_document("json", "[\"{n, plural, other {it's '{n}' '#'}} x\"]", "it's '{n}' '#'\nx\n",
                   "[\"{n, plural, other {IT'S '{N}' '#'}} X\"]");
    /* No messages: texts. */
    check_document("json", "[\"{n, plural, other {a b\", \"{n, plural}} c d\", \"Hello {name}, {{x}}\"]",
                   "{n, plural, other {a b\n{n, plural}} c d\nHello {name}, {{x}}\n", NULL);
}

static void what_is_no_json_fails(void **state)
{
    (void)state;
    assert_fails("", "test: line 1, column 1: the document ends here; expected a value");
    assert_fails("{\"a\": 1", "test: line 1, column 8: the document ends here; expected ',' or '}'");
    assert_fails("{\n\"a\": \"中 b", "test: line 2, column 10: the document ends here; a string has no end");
    assert_fails("{\"a\": \"b\\", "test: line 1, column 10: the document ends here; no escape sequence of JSON");
    assert_fails("[\"b\\x41\"]", "test: line 1, column 5: no escape sequence of JSON");
    assert_fails("[\"b\\u12g4\"]", "test: line 1, column 8: expected four hexadecimal digits after \\u");
    assert_fails("[\"a\nb\"]", "test: line 1, column 4: a control character or line break in a string");
    assert_fails("[\"a\xFF\"]", "test: line 1, column 4: is not UTF-8");
    assert_fails("{'a': 1}", "test: line 1, column 2: expected a key in double quotes");
    assert_fails("[NaN]", "test: line 1, column 2: expected a value");
    assert_fails("[1,]", "test: line 1, column 4: expected a value");
    assert_fails("[1 2]", "test: line 1, column 4: expected ',' or ']'");
    assert_fails("{\"a\" 1}", "test: line 1, column 6: expected ':'");
    assert_fails("{\"a\": 1,}", "test: line 1, column 9: expected a key in double quotes");
    assert_fails("[1] // x", "test: line 1, column 5: the value has ended, but the document goes on");
    assert_fails("[1]\n/* x */", "test: line 2, column 1: expected a value");
    assert_fails("[-]", "test: line 1, column 3: expected a digit");
    assert_fails("[1.]", "test: line 1, column 4: expected a digit");
    assert_fails("[1e+]", "test: line 1, column 5: expected a digit");
    assert_fails("[01]", "test: line 1, column 3: expected ',' or ']'");
    assert_fails("[nul", "test: line 1, column 2: expected a value");
    assert_string_equal(check_failure("[\"a\0\"]", 6, &(tr_document_settings){.format = "json"}),
                        "test: line 1, column 4: a control character or line break in a string");
    char deep[10002];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    assert_fails(deep, "test: line 1, column 10001: objects and arrays are nested too deeply");
}

/* A random value with at most `depth` levels. */
static void append_value(tr_buffer *out, uint32_t *random, int depth)
{
    static const char *const values[] = {"1",
                                         "null",
                                         "\"\"",
                                         "\"a b\"",
                                         "\"天\\n\"",
                                         "\" \\u5929 x \\ud83d\\ude00 \"",
                                         "\"{n, plural, one {a} other {# b, {b} '{'}} c\"",
                                         "\"x {a, select, b {\\u0023 {c,plural,d{#}}}}\\u007d\"",
                                         "\"\\u0000 \\\"a\\\" <x1> {x2}\"",
                                         "\"zh\"",
                                         "\"\\\\ \\/ x\"",
                                         "true",
                                         "\"A\\ud800\""};
    static const char *const keys[] = {"a", "title", "@a", "lang", "zh", "@@locale", "\\u4f60"};
    *random = *random * 1664525 + 1013904223;
    const uint32_t draw = *random >> 16;
    if (!depth || draw % 4 == 0) {
        assert_true(tr_buffer_string(out, values[draw / 4 % (sizeof values / sizeof *values)]));
        return;
    }
    const bool object = draw & 16;
    assert_true(tr_buffer_string(out, object ? "{ " : "[\n"));
    for (uint32_t i = 0, count = draw / 32 % 4; i < count; i++) {
        *random = *random * 1664525 + 1013904223;
        if (object)
            assert_true(tr_buffer_string(out, "\"") && tr_buffer_string(out, keys[(*random >> 16) % 7]) &&
                        tr_buffer_string(out, "\" : "));
        append_value(out, random, depth - 1);
        assert_true(tr_buffer_string(out, i + 1 < count ? "," : ""));
    }
    assert_true(tr_buffer_string(out, object ? " }" : "\n]"));
}

static void properties_hold(void **state)
{
    (void)state;
    static const char *const keys[] = {NULL, "title", "*.a,title.*.zh"};
    tr_buffer text = {0};
    for (unsigned seed = 0; seed < 3000; seed++) {
        uint32_t random = seed * 2654435761U;
        tr_buffer_clear(&text);
        append_value(&text, &random, 4);
        check_properties(text.data, text.size, &(tr_document_settings){.format = "json", .keys = keys[seed % 3]},
                         check_upper);
    }
    tr_buffer_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_units_and_keys_are_not),
        cmocka_unit_test(lines_are_values),
        cmocka_unit_test(escapes_are_decoded),
        cmocka_unit_test(what_is_no_text_stays),
        cmocka_unit_test(keys_select_values),
        cmocka_unit_test(too_many_patterns_fail),
        cmocka_unit_test(languages_are_renamed),
        cmocka_unit_test(patterns_of_dates_stay),
        cmocka_unit_test(metadata_of_arb_stays),
        cmocka_unit_test(messages_inside_arguments_are_units),
        cmocka_unit_test(what_is_no_json_fails),
        cmocka_unit_test(properties_hold),
    };
    return cmocka_run_group_tests_name("JSON documents", tests, NULL, NULL);
}
