#include "check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char translation[256]; /* what every unit becomes */

static void translate(const char *text, size_t size, tr_buffer *out)
{
    (void)text;
    (void)size;
    assert_true(tr_buffer_string(out, translation));
}

/* Expects that the document becomes `expected` if its only unit becomes `text`, and that the unit is this text then. */
static void assert_becomes(const char *document, const char *text, const char *expected)
{
    const tr_document_settings settings = {.format = "yaml"};
    strcpy(translation, text);
    char *written = check_written(document, strlen(document), &settings, translate, NULL);
    assert_string_equal(written, expected);
    tr_document *again = check_read(written, strlen(written), &settings);
    tr_buffer found = {0};
    assert_int_equal(tr_document_count(again), 1);
    assert_int_equal(tr_document_text(again, 0, &found, NULL), TR_OK);
    assert_string_equal(found.data, text);
    tr_buffer_free(&found);
    tr_document_close(again);
    free(written);
}

static void assert_written(const char *document, const char *target, const char *expected)
{
    const tr_document_settings settings = {.format = "yaml", .source_language = "zh", .target_language = target};
    char *written = check_written(document, strlen(document), &settings, check_upper, NULL);
    assert_string_equal(written, expected);
    free(written);
}

static void assert_fails(const char *document, const char *message)
{
    assert_string_equal(check_failure(document, strlen(document), &(tr_document_settings){.format = "yaml"}), message);
}

static void values_are_units_and_keys_are_not(void **state)
{
    (void)state;
    check_document("yaml", "", "", "");
    check_document("yaml", "# Not this\nSome key: A text # nor this\nlist:\n- 一 b\n- {x: 'it''s c', \"y\": [\"d e\", F]}\n",
                   "A text\n一 b\nit's c\nd e\n",
                   "# Not this\nSome key: A TEXT # nor this\nlist:\n- 一 B\n- {x: 'IT''S C', \"y\": [\"D E\", F]}\n");
    check_document("yaml", "One text\n", "One text\n", "ONE TEXT\n");
    check_document("yaml", "? [A key, {B key: C key}]\n: Some value\n? D key\n: E f\n", "Some value\nE f\n",
                   "? [A key, {B key: C key}]\n: SOME VALUE\n? D key\n: E F\n");
    check_document("yaml", "---\na: One two\n...\n---\n- Three four\n", "One two\nThree four\n",
                   "---\na: ONE TWO\n...\n---\n- THREE FOUR\n");
    check_document("yaml", "\xEF\xBB\xBF天: 地 a\r\nb: \" c d \"\r\n", "地 a\nc d\n",
                   "\xEF\xBB\xBF天: 地 A\r\nb: \" C D \"\r\n");
}

static void what_is_no_text_stays(void **state)
{
    (void)state;
    check_document("yaml",
                   "a: Yes\nb: ~\nc: 1_000\nd: 0x1F\ne: .NaN\nf: 2001-12-14 21:59:43.10 -5\ng: null\nh:\ni: main\nj: 'Yes'\n"
                   "k: !!binary QSBi\nl: !ruby/object A b\nm: !!str A b\nn: ! C d\n<<: *x\n",
                   "Yes\nA b\nC d\n", NULL);
    check_document("yaml", "formats:\n  default: \"%Y年%m月%d日\"\n  short: ! '%m月%-d日 %H时'\n  month: 本月\n", "本月\n",
                   NULL);
}

static void anchors_tags_and_aliases_stay(void **state)
{
    (void)state;
    check_document("yaml",
                   "a: &x A b\nb: *x\nc: &y !!str # why\n  \"C d\"\nd: !!str &z |\n  E f\ne: &w\n  g: H i\nf: {<<: *w}\n",
                   "A b\nC d\nE f\nH i\n",
                   "a: &x A B\nb: *x\nc: &y !!str # why\n  \"C D\"\nd: !!str &z |\n  E F\ne: &w\n  g: H I\nf: {<<: *w}\n");
}

static void keys_select_values(void **state)
{
    (void)state;
    static const char document[] = "title: t\nitems:\n- text: a\n  id: b\n- text: yes\nx: {text: d, y: !tag e}\n";
    static const char *const cases[][2] = {{"title", "t\n"}, {"items.*.text", "a\n"}, {"text", "a\nd\n"},
                                           {"x", "d\ne\n"},  {"*.text", "d\n"},       {"x.y, title", "t\ne\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tr_document_settings settings = {.format = "yaml", .keys = cases[i][0]};
        char *units = check_units(document, strlen(document), &settings);
        assert_string_equal(units, cases[i][1]);
        free(units);
    }
}

static void plain_scalars_become_quoted_if_they_must(void **state)
{
    (void)state;
    assert_becomes("a: 你\n", "You and I", "a: You and I\n");
    assert_becomes("a: 你\n", "You: I am", "a: 'You: I am'\n");
    assert_becomes("a: 你\n", "You:I am http://x", "a: You:I am http://x\n");
    assert_becomes("a: 你\n", "You are:", "a: 'You are:'\n");
    assert_becomes("a: 你\n", "You #1", "a: 'You #1'\n");
    assert_becomes("a: 你 # 1\n", "You#1 b", "a: You#1 b # 1\n");
    assert_becomes("a: 你\n", "It's: so", "a: \"It's: so\"\n");
    assert_becomes("a: 你\n", "\"Yes\" \\ 'no': 1", "a: \"\\\"Yes\\\" \\\\ 'no': 1\"\n");
    assert_becomes("- 你\n", "- a b", "- '- a b'\n");
    assert_becomes("- 你\n", "'a b", "- \"'a b\"\n");
    assert_becomes("- 你\n", "%d a b", "- '%d a b'\n");
    assert_becomes("你", "... and so", "'... and so'");
    assert_becomes("你", "A\nb c", "\"A\\nb c\"");
    assert_becomes("a: 你\n  好\nb: 1", "A b\xE2\x80\xA8\x7F\tc", "a: \"A b\\u2028\\x7F\\tc\"\nb: 1");
    assert_becomes("[你]\n", "One, two", "['One, two']\n");
    assert_becomes("{a: 你}\n", "A? b", "{a: 'A? b'}\n");
    assert_becomes("- 你\n", "A? [b], {c}", "- A? [b], {c}\n");
}

static void what_would_be_no_string_becomes_quoted(void **state)
{
    (void)state;
    static const char *const texts[] = {"Yes", "no",         "ON",   "true", "~",    "null", "12", "-1.5e+3",
                                        "0x1", "2001-01-01", ".inf", "=",    "1:30", "y",    "<<", ""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char expected[64] = "'";
        strcpy(translation, texts[i]);
        strcat(strcat(expected, texts[i]), "'");
        char *written = check_written("你", 3, &(tr_document_settings){.format = "yaml"}, translate, NULL);
        assert_string_equal(written, expected);
        free(written);
    }
    assert_becomes("你", "12 b c", "12 b c");
}

/* Scalars that cannot be written anew, whatever their translation is, are no units. */
static void what_cannot_become_quoted_stays(void **state)
{
    (void)state;
    check_document("yaml", "A b\n\t\n", "", NULL); /* after quotes, no line may begin with a tab */
    check_document("yaml", "&a:b c d", "", NULL);
    check_document("yaml", "&a #b\xE2\x80\xA8 A b\n C d", "", NULL);
    check_document("yaml", "|\n A b\xE2\x80\xA8 C d\n", "", NULL);
    check_document("yaml", "\"{n,plural,other{A\xE2\x80\xA8 b}}\"", "", NULL);
}

static void quoted_scalars_stay_quoted(void **state)
{
    (void)state;
    assert_becomes("a: '你'\n", "It's: so", "a: 'It''s: so'\n");
    assert_becomes("a: '你\n\n  好'\n", "A\nb c", "a: \"A\\nb c\"\n");
    assert_becomes("a: \"你\\n\"\n", "A \"b\" \\\nc\x01", "a: \"A \\\"b\\\" \\\\\\nc\\x01\\n\"\n");
    assert_becomes("a: \" \\u4f60 \"\n", "A 你😀é", "a: \" A \\u4F60\\U0001F600\\xE9 \"\n");
    assert_becomes("a: ' 你  '", "A b", "a: ' A b  '");
}

static void literal_blocks_keep_lines(void **state)
{
    (void)state;
    check_document("yaml", "a: |\n   A b\n\n     c\n   d\n\nb: 1\n", "A b\\n\\n  c\\nd\n",
                   "a: |\n   A B\n\n     C\n   D\n\nb: 1\n");
    check_document("yaml", "a: |2-  # c\n\n    A b\n   \n  d\n# e", "A b\\n \\nd\n",
                   "a: |2-  # c\n\n    A B\n   \n  D\n# e");
    check_document("yaml", "--- |+\n A b\n\n...\n", "A b\n", "--- |+\n A B\n\n...\n");
    check_document("yaml", "a: |\r\n  A b\r\n  c\r\n", "A b\\nc\n", "a: |\r\n  A B\r\n  C\r\n");
    assert_becomes("a:\n- |\n  你\nb: 1", "# A: b\n\n\n- c", "a:\n- |\n  # A: b\n\n\n  - c\nb: 1");
    assert_becomes("|\r\n 你", "A b\nc", "|\r\n A b\r\n c");
    strcpy(translation, "\n A\x01 b\xC2\x85 c \n");
    char *written = check_written("|\n 你\n", 7, &(tr_document_settings){.format = "yaml"}, translate, NULL);
    assert_string_equal(written, "|\n A  b  c\n");
    free(written);
}

static void folded_blocks_keep_paragraphs(void **state)
{
    (void)state;
    check_document("yaml", "a: >\n  A b\n  c\n\n  D\n   e\n  f\nb: 1", "A b c\\nD\\n e\\nf\n",
                   "a: >\n  A B C\n\n  D\n   E\n  F\nb: 1");
    assert_becomes("a: >-\n  你\n", "A b\nc\n\nd\n  e\n\n  f\n\ng", "a: >-\n  A b\n\n  c\n\n\n  d\n    e\n\n    f\n\n  g\n");
    assert_becomes("a: >1\n   你", "A b\nc", "a: >1\n   A b\n c");
}

static void languages_are_renamed(void **state)
{
    (void)state;
    assert_written("# x\nzh-CN: # y\n  a: 中 b\n", "en-GB", "# x\nen-GB: # y\n  a: 中 B\n");
    assert_written("'zh_CN':\n  a: 中 b\n", "en-GB", "'en_GB':\n  a: 中 B\n");
    assert_written("zh:\n  a: 1\n", "no", "'no':\n  a: 1\n");
    assert_written("\"zh\":\n  a: 1\n", "a\"b", "\"a\\\"b\":\n  a: 1\n");
    assert_written("{zh: {a: 1}}", "a,b", "{'a,b': {a: 1}}");
    assert_written("lang: 'zh'\n", "en-x-aaaaaaaa-bbbbbbbb-cccccccc-dddddddd-eeeeeeee-ffffffff-gggggggg",
                   "lang: 'en-x-aaaaaaaa-bbbbbbbb-cccccccc-dddddddd-eeeeeeee-ffffffff-gggggggg'\n");
    assert_written("zh:\n  zh:\n    a: 1\n", "en", "en:\n  zh:\n    a: 1\n");
    assert_written("zh:\n  a: 1\nb: 2\n", "en", "zh:\n  a: 1\nb: 2\n");
    assert_written("zh: 中 b\n", "en", "zh: 中 B\n");
    assert_written("lang: zh\ntitle: 中 a\nlocale: \"zh-Hans\"\nx: {lang: zh}\n", "en",
                   "lang: en\ntitle: 中 A\nlocale: \"en\"\nx: {lang: zh}\n");
    assert_written("zh: {a: 1}\n---\nzh: &a\n- b\n", "en", "en: {a: 1}\n---\nzh: &a\n- b\n");
}

static void messages_inside_arguments_are_units(void **state)
{
    (void)state;
    check_document("yaml",
                   "a: \"{n, plural, one {a file} other {# files}}\"\nb: 'on {d, date} x {a,select,b{it ''s c}} d'\n",
                   "a file\n{x1} files\n", NULL);
    check_document("yaml", "a: '{n, plural, other {# files}} of it'\nb: Some text\n", "{x1} files\nof it\nSome text\n",
                   "a: '{n, plural, other {# FILES}} OF IT'\nb: SOME TEXT\n");
    check_document(
        "yaml", "a: >-\n  {g, select,\n    male   {He says\n      it}\n    other  {They}}\nb: C {n,plural,a{D e}}\n",
        "He says it\nThey\n", "a: >-\n  {g, select,\n    male   {HE SAYS IT}\n    other  {THEY}}\nb: C {n,plural,a{D e}}\n");
    strcpy(translation, "a\n\"\\'b");
    char *written = check_written("- \"{n,plural,other{你}}\"\n- '{n,plural,other{你}}'", 51,
                                  &(tr_document_settings){.format = "yaml"}, translate, NULL);
    assert_string_equal(written, "- \"{n,plural,other{a\\n\\\"\\\\'b}}\"\n- '{n,plural,other{a \"\\''b}}'");
    free(written);
}

static void what_is_no_yaml_fails(void **state)
{
    (void)state;
    assert_fails("a: b: c", "test: line 1, column 5: mapping values are not allowed in this context");
    assert_fails("天: \"a", "test: line 1, column 6: found unexpected end of stream while scanning a quoted scalar");
    assert_fails("地: [a\n天: b", "test: line 2, column 2: did not find expected ',' or ']' while parsing a flow sequence");
    assert_fails("a: 天\n\tb: c",
                 "test: line 2, column 1: found a tab character that violates indentation while scanning a plain scalar");
    assert_fails("a\x01", "test: line 1, column 2: control characters are not allowed");
    assert_fails("a\nb\xFF", "test: line 2, column 2: is not UTF-8");
    assert_string_equal(check_failure("a\0", 2, &(tr_document_settings){.format = "yaml"}),
                        "test: line 1, column 2: has a NUL byte");
    assert_string_equal(check_failure("abcd", 4, &(tr_document_settings){.format = "yaml", .max_content = 3}),
                        "test: 4 bytes of content; at most 3, unless max_content is larger");
    char deep[2000];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    assert_fails(deep, "test: line 1, column 129: is nested too deeply");
}

static uint32_t draw(uint32_t *random, uint32_t below)
{
    *random = *random * 1664525 + 1013904223;
    return (*random >> 16) % below;
}

static void append(tr_buffer *out, const char *text)
{
    assert_true(tr_buffer_string(out, text));
}

static void append_indentation(tr_buffer *out, size_t indentation)
{
    for (size_t i = 0; i < indentation; i++)
        append(out, " ");
}

static void append_flow(tr_buffer *out, uint32_t *random, int depth)
{
    static const char *const scalars[] = {"a b", "天",        "'it''s a'",  "\"\\u5929 \\n x\"", "yes",      "1",
                                          "''",  "\" a b \"", "&a \"c d\"", "!!str e",           "\"a: b\"", "x:y z"};
    const bool mapping = draw(random, 2);
    if (!depth || draw(random, 3)) {
        append(out, scalars[draw(random, sizeof scalars / sizeof *scalars)]);
        return;
    }
    append(out, mapping ? "{" : "[");
    for (uint32_t i = draw(random, 4); i; i--) {
        append(out, mapping ? "k: " : "");
        append_flow(out, random, depth - 1);
        append(out, i > 1 ? ", " : "");
    }
    append(out, mapping ? "}" : "]");
}

static void append_block_scalar(tr_buffer *out, uint32_t *random, size_t indentation)
{
    static const char *const headers[] = {"|\n", "|-\n", "|+ # c\n", ">\n", ">-\n", "&b >+\n"};
    static const char *const lines[] = {"a b", "天气", "", "  c", "# d", "- e: f", "g ", "  "};
    append(out, headers[draw(random, 6)]);
    append_indentation(out, indentation);
    append(out, "First line\n");
    for (uint32_t i = draw(random, 6); i; i--) {
        append_indentation(out, indentation);
        append(out, lines[draw(random, sizeof lines / sizeof *lines)]);
        append(out, "\n");
    }
}

static void append_node(tr_buffer *out, uint32_t *random, size_t indentation, int depth)
{
    const uint32_t kind = draw(random, depth ? 5 : 3);
    if (kind == 0) {
        append_flow(out, random, 2);
        append(out, "\n");
    } else if (kind == 1) {
        append_block_scalar(out, random, indentation);
    } else if (kind == 2) {
        append(out, "two\n");
        append_indentation(out, indentation);
        append(out, "lines # c\n");
    } else {
        append(out, "# c\n");
        for (uint32_t i = 1 + draw(random, 3); i; i--) {
            append_indentation(out, indentation);
            append(out, kind == 3 ? "- " : draw(random, 2) ? "key: " : "天: ");
            append_node(out, random, indentation + 1 + draw(random, 3), depth - 1);
        }
    }
}

/* "text" becomes "[: text #]", which is no plain scalar. */
static void make_nasty(const char *text, size_t size, tr_buffer *out)
{
    append(out, "[: ");
    assert_true(tr_buffer_append(out, text, size));
    append(out, " #]");
}

static void properties_hold(void **state)
{
    (void)state;
    tr_buffer text = {0};
    for (unsigned seed = 0; seed < 3000; seed++) {
        uint32_t random = seed * 2654435761U;
        tr_buffer_clear(&text);
        append(&text, seed & 1 ? "key: " : "--- ");
        append_node(&text, &random, 1, 3);
        check_properties(text.data, text.size, &(tr_document_settings){.format = "yaml"},
                         seed & 2 ? make_nasty : check_upper);
    }
    tr_buffer_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_units_and_keys_are_not),
        cmocka_unit_test(what_is_no_text_stays),
        cmocka_unit_test(anchors_tags_and_aliases_stay),
        cmocka_unit_test(keys_select_values),
        cmocka_unit_test(plain_scalars_become_quoted_if_they_must),
        cmocka_unit_test(what_would_be_no_string_becomes_quoted),
        cmocka_unit_test(what_cannot_become_quoted_stays),
        cmocka_unit_test(quoted_scalars_stay_quoted),
        cmocka_unit_test(literal_blocks_keep_lines),
        cmocka_unit_test(folded_blocks_keep_paragraphs),
        cmocka_unit_test(languages_are_renamed),
        cmocka_unit_test(messages_inside_arguments_are_units),
        cmocka_unit_test(what_is_no_yaml_fails),
        cmocka_unit_test(properties_hold),
    };
    return cmocka_run_group_tests_name("YAML documents", tests, NULL, NULL);
}
