/* Glossaries: what is parsed and refused, which term counts where, plurals; and translations that have them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../linear.h"
#include "../opening.h"
#include "text/terms.h"

static tr_terms *parse(const char *data)
{
    tr_terms *terms;
    tr_error error;
    if (tr_terms_parse("g.tsv", data, strlen(data), &terms, &error) != TR_OK)
        fail_msg("%s", error.message);
    return terms;
}

static void expect_refused(const char *data, size_t size, const char *part)
{
    tr_terms *terms;
    tr_error error;
    assert_int_equal(tr_terms_parse("g.tsv", data, size, &terms, &error), TR_ERROR_FORMAT);
    assert_null(terms);
    if (!strstr(error.message, part))
        fail_msg("\"%s\" does not say \"%s\"", error.message, part);
}

static void bad_lines_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"one\n", "g.tsv:1: one field"},
        {"a\tb\nc\td\tcase\tmore\n", "g.tsv:2: more than three fields"},
        {"a,b,c,d,e\n", "g.tsv:1: more than three fields"},
        {"\tb\n", "g.tsv:1: the source is empty"},
        {"a\t \n", "g.tsv:1: the target is empty"},
        {"a\tb\tbig\n", "g.tsv:1: a flag is none of"},
        {"a\tb\n\n# c\na\tc\n", "g.tsv:4: 'a' has another target in line 1"},
        {"Apple\tb\tnocase\napple\tc\n", "has another target"},
        {"\"a,b\n", "g.tsv:1: a quote does not close"},
        {"\"a\"x,b\n", "g.tsv:1: text follows a closing quote"},
        {"a\t\xff\n", "g.tsv:1: is not UTF-8 (iconv -f GB18030 -t UTF-8 FILE converts it)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refused(cases[i][0], strlen(cases[i][0]), cases[i][1]);
    expect_refused("a\tb\0c\n", 6, "is not UTF-8");
    char *large = calloc(1, TR_MAX_GLOSSARY + 1);
    assert_non_null(large);
    expect_refused(large, TR_MAX_GLOSSARY + 1, "more than 16 MiB");
    free(large);
}

/* The targets of all matches in a text, separated by |. */
static void expect_matches(const char *glossary, const char *text, const char *expected)
{
    tr_terms *terms = parse(glossary);
    tr_term_match match;
    char found[256] = "";
    for (size_t at = 0; tr_terms_next(terms, text, strlen(text), at, &match); at = match.end)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%.*s", *found ? "|" : "", (int)match.target_size,
                 match.target);
    assert_string_equal(found, expected);
    tr_terms_free(terms);
}

static void the_longest_term_counts(void **state)
{
    (void)state;
    expect_matches("北京\tA\n北京大学\tB\n大学\tC\n", "北京大学在北京，大学", "B|A|C");
    expect_matches("\xef\xbb\xbf北京,A\r\n上海,B\r\n", "上海和北京", "B|A");
    expect_matches("\"a, b\",\"say \"\"x\"\"\"\n", "A, B", "say \"x\"");
    expect_matches("cat\tX\n", "a cat, concatenate, Cat.", "X|X");
    expect_matches("cat\tX\tpart\n", "concatenate", "X");
    expect_matches("USB\tX\niPhone\tY\n", "usb USB iphone iPhone", "X|Y");
    expect_matches("USB\tX\tnocase\n", "usb USB", "X|X");
    expect_matches("Apple\tX\tcase\napple\tY\tcase\n", "Apple apple APPLE", "X|Y");
    expect_matches("US\tX\nus\tY\n", "US us", "X|Y");
    expect_matches("", "北京", "");
    expect_matches("a\tb\na\tb\n", "a", "b");
}

static void plurals_follow_plain_rules(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"model", "models"},
                                           {"box", "boxes"},
                                           {"city", "cities"},
                                           {"day", "days"},
                                           {"USB", "USB"},
                                           {"aircraft", "aircraft"},
                                           {"Japanese word", "Japanese word"},
                                           {"quiz", "quizzes"},
                                           {"large language model", "large language models"},
                                           {"business woman", "business women"},
                                           {"dish", "dishes"},
                                           {"Q7", "Q7"},
                                           {"bus", "bus"},
                                           {"glass", "glasses"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tr_buffer out = {0};
        assert_true(tr_append_plural(cases[i][0], strlen(cases[i][0]), &out));
        assert_string_equal(out.data, cases[i][1]);
        tr_buffer_free(&out);
    }
    static const char *const counted[] = {"three Q7", "these Q7", "12 Q7", "12 Q7 are here", "two Q7, one", "ten Q7."},
                             *const others[] = {"1 Q7", "the Q7", "5% Q7", "Q7", "three Q7 platforms"};
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        const size_t at = (size_t)(strstr(counted[i], "Q7") - counted[i]);
        assert_true(tr_wants_plural(counted[i], strlen(counted[i]), at, at + 2));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const size_t at = (size_t)(strstr(others[i], "Q7") - others[i]);
        assert_false(tr_wants_plural(others[i], strlen(others[i]), at, at + 2));
    }
}

/* Seconds to search a text of which every character begins every term. */
static double search_seconds(const tr_terms *terms, size_t size)
{
    char *text = malloc(size);
    tr_term_match match;
    assert_non_null(text);
    memset(text, 'x', size);
    for (size_t i = 0; i + 3 < size - 12; i += 3)
        memcpy(text + i, "词", 3);
    memcpy(text + size - 12, "词19999号", 11);
    const double begin = seconds_now();
    assert_true(tr_terms_next(terms, text, size, 0, &match));
    const double took = seconds_now() - begin;
    assert_int_equal(match.begin, size - 12);
    free(text);
    return took;
}

static void large_glossaries_are_fast(void **state)
{
    (void)state;
    enum { TERMS = 20000, TEXT = 1 << 18 };
    tr_buffer glossary = {0};
    for (int i = 0; i < TERMS; i++) {
        char line[64];
        snprintf(line, sizeof line, "词%d号\tterm %d\n", i, i);
        assert_true(tr_buffer_string(&glossary, line));
    }
    tr_terms *terms = parse(glossary.data);
    expect_linear(search_seconds(terms, TEXT), search_seconds(terms, 8 * TEXT), 8);
    tr_terms_free(terms);
    tr_buffer_free(&glossary);
}

static void translations_have_the_terms(void **state)
{
    (void)state;
    static const char *const texts[] = {"小助手今天不在。", "我们训练了三个大模型。", "宫保鸡丁 38元",
                                        "比亚迪",           "小助手和小助手。",       "请看https://a.b/小助手。"};
    static const char *const wanted[] = {"Buddy", "large language models", "kung pao chicken", "BYD",
                                         "Buddy", "https://a.b/"};
    tr_model *model = open_model(TR_DEFAULT_MODEL);
    tr_context *context = open_context(model, 2, 8);
    tr_translate_options o = tr_translate_default_options();
    tr_result *results;
    tr_error error;
    tr_glossary *glossary;
    const char data[] = "小助手\tBuddy\n大模型\tlarge language model\n宫保鸡丁\tkung pao chicken\n比亚迪\tBYD\n";
    assert_int_equal(tr_glossary_parse("g", data, sizeof data - 1, &glossary, &error), TR_OK);
    for (int beam = 1; beam <= 4; beam += 3) {
        o.glossary = glossary;
        o.search.beam = beam;
        assert_int_equal(tr_translate_texts(context, texts, NULL, 6, &o, &results, &error), TR_OK);
        for (size_t i = 0; i < 6; i++)
            if (!strstr(results[i].text, wanted[i]))
                fail_msg("%s -> %s", texts[i], results[i].text);
        tr_result_array_free(results, 6);
        o.glossary = NULL; /* what the cache has of calls with it is not used */
        assert_int_equal(tr_translate_texts(context, texts, NULL, 1, &o, &results, &error), TR_OK);
        assert_null(strstr(results[0].text, "Buddy"));
        tr_result_array_free(results, 1);
    }
    tr_glossary_free(glossary); /* no call is running: the cache does not read it any more */
    const char other[] = "小助手\tPal\n苹果\tapple\nCOVID-19\tcoronavirus disease\n　词\tword\n，\t,\n";
    assert_int_equal(tr_glossary_parse("g", other, sizeof other - 1, &glossary, &error), TR_OK);
    static const char *const odd[] = {"小助手今天不在。", "苹果한很好。", "COVID-19很危险。", "😀　词很好。", "😀，今天很好"};
    static const char *const kept[] = {"Pal", "한", "coronavirus disease", "word", "😀"};
    o.glossary = glossary;
    assert_int_equal(tr_translate_texts(context, odd, NULL, 5, &o, &results, &error), TR_OK);
    for (size_t i = 0; i < 5; i++)
        if (!strstr(results[i].text, kept[i]))
            fail_msg("%s -> %s", odd[i], results[i].text);
    tr_result_array_free(results, 5);
    o.protect = false;
    assert_int_equal(tr_translate_texts(context, texts, NULL, 1, &o, &results, &error), TR_ERROR_ARGUMENT);
    tr_glossary_free(glossary);
    tr_context_destroy(context);
    tr_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_lines_are_refused),       cmocka_unit_test(the_longest_term_counts),
        cmocka_unit_test(plurals_follow_plain_rules),  cmocka_unit_test(large_glossaries_are_fast),
        cmocka_unit_test(translations_have_the_terms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
