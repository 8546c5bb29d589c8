/* Rules for Chinese in traditional characters. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tokenizer/traditional.h"

/* In the order of their bytes. Of a character with several forms, phrases choose. */
static const char text[] = "\u4e00\u5929\t\u4e00\u5929\n"                         /* a phrase that stays */
                           "\u53d1\t\u767c\n"                                     /* 发 發 */
                           "\u53d1\u5c55\t\u767c\u5c55\n"                         /* 发展 發展 */
                           "\u540e\t\u5f8c\n"                                     /* 后 後 */
                           "\u5934\t\u982d\n"                                     /* 头 頭 */
                           "\u5934\u53d1\t\u982d\u9aee\n"                         /* 头发 頭髮 */
                           "\u5934\u53d1\u5c55\u89c8\t\u982d\u9aee\u5c55\u89bd\n" /* 头发展览 頭髮展覽 */
                           "\u7687\u540e\t\u7687\u540e\n"                         /* 皇后 */
                           "\U00020000\u53d1\t\U00020001\u9aee\n";                /* four bytes, then three */
static const tr_bytes rules = {text, sizeof text - 1};

static void expect(const char *simplified, const char *traditional)
{
    char *const written = strdup(simplified);
    assert_non_null(written);
    tr_traditional_write(rules, written, strlen(written));
    assert_string_equal(written, traditional);
    free(written);
}

static void longest_rule_counts(void **state)
{
    (void)state;
    assert_int_equal(tr_traditional_check(rules, NULL), TR_OK);
    expect("", "");
    expect("a \u53d1.", "a \u767c.");
    expect("\u5934\u53d1", "\u982d\u9aee");
    expect("\u5934\u53d1\u5c55", "\u982d\u9aee\u5c55"); /* from left to right */
    expect("\u5934\u53d1\u5c55\u89c8", "\u982d\u9aee\u5c55\u89bd");
    expect("\u53d1\u5c55\u5934", "\u767c\u5c55\u982d");
    expect("\u7687\u540e\u540e\u7687", "\u7687\u540e\u5f8c\u7687");
    expect("\U00020000\u53d1\U00020000", "\U00020001\u9aee\U00020000");
    expect("\u4e00\u5929\u4e00\uff0c\u00e9\U0001f600", "\u4e00\u5929\u4e00\uff0c\u00e9\U0001f600");
    char none[] = "\u53d1";
    tr_traditional_write((tr_bytes){NULL, 0}, none, strlen(none));
    assert_string_equal(none, "\u53d1");
}

/* Written as it comes, a text becomes what it becomes as a whole. */
static void settled_text_does_not_change(void **state)
{
    (void)state;
    static const char *const characters[] = {"\u53d1",     "\u5c55", "\u5934", "\u540e", "\u7687", "\u89c8",
                                             "\U00020000", "\u4e00", "\u5929", "a",      "\u00e9", "\u53d1"};
    srand(5);
    for (int round = 0; round < 20000; round++) {
        char whole[64] = "", pieces[64];
        size_t begins[13] = {0}, count = 0, done = 0;
        while (count < 12) {
            strcat(whole, characters[rand() % 12]);
            begins[++count] = strlen(whole);
            if (rand() % 8 == 0)
                break;
        }
        const size_t size = strlen(whole);
        strcpy(pieces, whole);
        for (size_t i = 1; i <= count; i++) {
            const size_t settled =
                i == count ? begins[i] : done + tr_traditional_settled(rules, pieces + done, begins[i] - done);
            assert_true(settled >= done && settled <= begins[i]);
            tr_traditional_write(rules, pieces + done, settled - done);
            done = settled;
        }
        tr_traditional_write(rules, whole, size);
        assert_string_equal(pieces, whole);
    }
}

static void bad_rules_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *rules, *message;
    } bad[] = {
        {"\u53d1\t\u767c", "line 1 is not two"},
        {"\u53d1 \u767c\n", "line 1 is not two"},
        {"\t\n", "line 1 is not two"},
        {"\n", "line 1 is not two"},
        {"\u53d1\t\u767c\u767c\n", "line 1 is not two"},
        {"\u53d1\u53d1\t\u767c\n", "line 1 is not two"},
        {"\u53d1\t\u767c\t\n", "line 1 is not two"},
        {"\u53d1\tabc\n", "line 1 is not two"},
        {"abc\t\u767c\n", "line 1 is not two"},
        {"a\tb\n", "line 1 is not two"},
        {"\u53d1\t\xe7\x99\n", "line 1 is not two"},
        {"\u53d1\t\xe7\x99\xff\n", "line 1 is not two"},
        {"\U00020000\u53d1\t\u53d1\U00020000\n", "line 1 is not two"}, /* as many bytes, other characters */
        {"\u53d1\t\u767c\n\u53d1\t\u9aee\n", "line 2 does not come after"},
        {"\u53d1\u5c55\t\u767c\u5c55\n\u53d1\t\u767c\n", "line 2 does not come after"},
    };
    tr_error error;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const tr_bytes b = {bad[i].rules, strlen(bad[i].rules)};
        assert_int_equal(tr_traditional_check(b, &error), TR_ERROR_FORMAT);
        assert_memory_equal(error.message, bad[i].message, strlen(bad[i].message));
    }
    char nul[] = "\u53d1\t\u767c\n";
    nul[5] = 0;
    assert_int_equal(tr_traditional_check((tr_bytes){nul, 8}, &error), TR_ERROR_FORMAT);
    char side[2 * 66 + 3] = "";
    for (int i = 0; i < 22; i++)
        memcpy(side + 3 * i, "\u53d1", 3), memcpy(side + 67 + 3 * i, "\u53d1", 3);
    side[66] = '\t';
    side[133] = '\n';
    assert_int_equal(tr_traditional_check((tr_bytes){side, 134}, &error), TR_ERROR_FORMAT);
    for (size_t cut = 1; cut < rules.size; cut++)
        if (text[cut - 1] != '\n')
            assert_int_equal(tr_traditional_check((tr_bytes){text, cut}, &error), TR_ERROR_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longest_rule_counts),
        cmocka_unit_test(settled_text_does_not_change),
        cmocka_unit_test(bad_rules_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
