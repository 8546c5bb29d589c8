/* Numbers in texts: read, written by rule, compared; and 300 sentences whose translations say them right, or are flagged. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../opening.h"
#include "text/figures.h"

enum { MOST_LINES = 512 };

static char *texts[MOST_LINES], *expected[MOST_LINES];
static size_t line_count;

static int read_lines(void **state)
{
    (void)state;
    FILE *file = fopen(TR_LINES "/figures.tsv", "r");
    char *line = NULL;
    size_t capacity = 0;
    assert_non_null(file);
    while (getline(&line, &capacity, file) > 0 && line_count < MOST_LINES) {
        char *tab = strchr(line, '\t');
        if (!tab)
            continue;
        line[strcspn(line, "\n")] = 0;
        *tab = 0;
        texts[line_count] = strdup(line);
        expected[line_count++] = strdup(tab + 1);
    }
    free(line);
    fclose(file);
    return 0;
}

static int free_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < line_count; i++) {
        free(texts[i]);
        free(expected[i]);
    }
    return 0;
}

static bool agree(tr_figure_language from, const char *source, tr_figure_language to, const char *target)
{
    tr_figures a = {0}, b = {0};
    tr_error error;
    assert_int_equal(tr_figures_find(from, source, strlen(source), &a, &error), TR_OK);
    assert_int_equal(tr_figures_find(to, target, strlen(target), &b, &error), TR_OK);
    const bool same = tr_figures_agree(source, &a, target, &b);
    tr_figures_free(&a);
    tr_figures_free(&b);
    return same;
}

static bool chinese_agrees(const char *chinese, const char *english)
{
    return agree(TR_FIGURES_CHINESE, chinese, TR_FIGURES_ENGLISH, english);
}

/* False: one of them may be left out. */
static bool write_figures(const char *text, tr_buffer *out)
{
    bool all = true;
    tr_figures found = {0};
    tr_error error;
    tr_buffer_clear(out);
    assert_int_equal(tr_figures_find(TR_FIGURES_CHINESE, text, strlen(text), &found, &error), TR_OK);
    for (size_t i = 0; i < found.count; i++) {
        bool known;
        all = all && !found.items[i].optional;
        assert_true(tr_buffer_string(out, out->size ? " | " : ""));
        assert_true(tr_figure_write(text, &found.items[i], TR_FIGURES_CHINESE, TR_FIGURES_ENGLISH, out, &known));
        assert_true(known);
    }
    tr_figures_free(&found);
    return all;
}

/* What the rules read and write is what people wrote. */
static void figures_are_read_and_written(void **state)
{
    (void)state;
    tr_buffer written = {0};
    size_t wrong = 0;
    assert_true(line_count >= 300);
    for (size_t i = 0; i < line_count; i++) {
        const bool all = write_figures(texts[i], &written);
        const char *ours = written.data ? written.data : "";
        if (!chinese_agrees(texts[i], expected[i]) ||
            (all && !agree(TR_FIGURES_ENGLISH, expected[i], TR_FIGURES_ENGLISH, ours))) {
            print_message("%s: %s, not %s\n", texts[i], ours, expected[i]);
            wrong++;
        }
    }
    tr_buffer_free(&written);
    assert_int_equal(wrong, 0);
}

/* Other numbers are noticed: a digit more, one less, another one. */
static void other_figures_disagree(void **state)
{
    (void)state;
    size_t tried = 0, noticed = 0;
    for (size_t i = 0; i < line_count; i++) {
        const size_t size = strlen(expected[i]);
        for (size_t at = 0; at < size; at++) {
            char changed[256];
            if (expected[i][at] < '0' || expected[i][at] > '9' || size > 200)
                continue;
            strcpy(changed, expected[i]);
            changed[at] = (char)('0' + (expected[i][at] - '0' + 3) % 10);
            tried++;
            noticed += !chinese_agrees(texts[i], changed);
            snprintf(changed, sizeof changed, "%.*s%c%s", (int)at, expected[i], expected[i][at], expected[i] + at);
            tried++;
            noticed += !chinese_agrees(texts[i], changed);
        }
    }
    print_message("%zu of %zu changed numbers noticed\n", noticed, tried);
    assert_true(noticed * 1000 >= tried * 995);
}

static void known_mistakes_are_noticed(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"增长了12.5%", "increased by 125%"},
        {"身高1米85", "1 85 tall"},
        {"总投资15.6亿元", "total investment is 156 million yuan"},
        {"可以给您九五折", "I can give you 95 percent off"},
        {"八五折", "twenty-five percent off"},
        {"人口14.1亿", "a population of 141 million"},
        {"两千零八", "2,08"},
        {"14:35起飞", "it takes off"},
        {"456万元", "456 million yuan"},
        {"下午三点", "3 a.m."},
        {"2024年5月1日", "June 1, 2024"},
        {"三天", "five days"},
        {"三四十个人", "three forty people"},
        {"60万亿亿吨", "60 billion tons"},
        {"9亿亿亿", "900 billion"},
        {"晚上12点半", "12:30 p.m."},
        {"一千二百三十四元五角", "1,234 yuan"},
    };
    static const char *const right[][2] = {
        {"总投资15.6亿元", "a total investment of 1,560 million yuan"},
        {"三分之一的人", "a third of the people"},
        {"一半的人", "half of them"},
        {"两个人一起去", "the two went together"},
        {"百分之二十", "one fifth"},
        {"下午两点半", "half past two in the afternoon"},
        {"三成", "thirty percent"},
        {"二十世纪九十年代", "the 1990s"},
        {"十分高兴", "very happy"},
        {"星期三见", "See you on Wednesday"},
        {"第一次", "for the first time"},
        {"万一下雨", "in case it rains"},
        {"一百二十个人", "a hundred and twenty people"},
        {"14:35", "2:35 p.m."},
        {"5月3日", "3 May"},
        {"三四十个人", "thirty to forty people"},
        {"两三百块", "two or three hundred yuan"},
        {"每斤12块5", "12.5 yuan a jin"},
        {"三块五一斤", "3.5 yuan a jin"},
        {"一千二百三十四元五角", "1,234.5 yuan"},
        {"晚上12点半", "12:30 a.m."},
        {"夜里3点", "3 a.m."},
        {"利率0.5%", "a rate of .5%"},
        {"伍佰陆拾元", "560 yuan"},
        {"陆万伍仟肆佰叁拾贰元", "65,432 yuan"},
        {"苹果一斤2块5", "a jin of apples is 2.5 yuan"},
        {"身高1米85，体重70公斤", "1.85 meters tall, weighs 70 kilograms"},
        {"烧到38度5", "a fever of 38.5 degrees"},
        {"100米10秒8", "100 meters in 10 seconds, 8"},
        {"3米5个人", "3 meters, 5 people"},
        {"每隔5米2盏路灯", "2 street lamps every 5 meters"},
        {"加热到80度5至10分钟", "heat to 80 degrees for 5 to 10 minutes"},
        {"他跑完5000米15圈", "he ran 5,000 meters in 15 laps"},
        {"北纬39度26，东经116度", "39 degrees 26 north, 116 degrees east"},
        {"房间长4米5、宽3米2的", "4.5 meters long and 3.2 meters wide"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (chinese_agrees(wrong[i][0], wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], wrong[i][1]);
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        if (!chinese_agrees(right[i][0], right[i][1]))
            fail_msg("%s: %s", right[i][0], right[i][1]);
}

static void english_becomes_chinese(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"1.56 billion", "15.6亿"}, {"35,000", "35,000"},    {"5% off", "9.5折"},
                                           {"3:30 p.m.", "下午3:30"},  {"one third", "3分之1"}, {"4.5 million", "450万"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tr_figures found = {0};
        tr_buffer out = {0};
        tr_error error;
        bool known;
        assert_int_equal(tr_figures_find(TR_FIGURES_ENGLISH, cases[i][0], strlen(cases[i][0]), &found, &error), TR_OK);
        assert_int_equal(found.count, 1);
        assert_true(tr_figure_write(cases[i][0], &found.items[0], TR_FIGURES_ENGLISH, TR_FIGURES_CHINESE, &out, &known));
        assert_string_equal(out.data, cases[i][1]);
        assert_true(agree(TR_FIGURES_ENGLISH, cases[i][0], TR_FIGURES_CHINESE, out.data));
        tr_figures_free(&found);
        tr_buffer_free(&out);
    }
    assert_true(agree(TR_FIGURES_DIGITS, "1,234.5 Stück am 3.5.", TR_FIGURES_DIGITS, "1.234,5 pièces le 3.5"));
    assert_false(agree(TR_FIGURES_DIGITS, "1,234.5 Stück", TR_FIGURES_DIGITS, "1.235,4 pièces"));
}

/* The caller frees them with tr_result_array_free. */
static tr_result *translate(const char *path, const char *const *lines)
{
    tr_model *model = open_model(path);
    tr_context *context = open_context(model, 2, 32);
    tr_result *results;
    tr_error error;
    if (tr_translate_texts(context, lines, NULL, line_count, NULL, &results, &error))
        fail_msg("%s", error.message);
    tr_context_destroy(context);
    tr_model_close(model);
    return results;
}

static void translations_say_them_or_are_flagged(void **state)
{
    (void)state;
    tr_result *results = translate(TR_DEFAULT_MODEL, (const char *const *)texts);
    size_t right = 0, silent = 0;
    for (size_t i = 0; i < line_count; i++) {
        const bool same = agree(TR_FIGURES_ENGLISH, expected[i], TR_FIGURES_ENGLISH, results[i].text);
        const bool flagged = results[i].flags & TR_FLAG_NUMBER;
        right += same && !flagged;
        silent += !same && !flagged;
        if (!same || flagged)
            print_message("%s -> %s%s\n", texts[i], results[i].text, flagged ? " (flagged)" : "");
    }
    print_message("%zu of %zu right\n", right, line_count);
    tr_result_array_free(results, line_count);
    assert_true(right * 100 >= line_count * 98);
    assert_int_equal(silent, 0);
}

/* To English and back. English words such as "a tenth" need not be said. */
static void the_way_back_says_them_or_is_flagged(void **state)
{
    (void)state;
    tr_result *there = translate(TR_DEFAULT_MODEL, (const char *const *)texts);
    const char *english[MOST_LINES];
    for (size_t i = 0; i < line_count; i++)
        english[i] = there[i].text;
    tr_result *back = translate(TR_INTO_CHINESE_MODEL, english);
    size_t right = 0, silent = 0;
    for (size_t i = 0; i < line_count; i++) {
        const bool same = agree(TR_FIGURES_CHINESE, texts[i], TR_FIGURES_CHINESE, back[i].text);
        const bool flagged = (there[i].flags | back[i].flags) & TR_FLAG_NUMBER;
        right += same;
        silent += !same && !flagged;
        if (!same)
            print_message("%s -> %s -> %s%s\n", texts[i], english[i], back[i].text, flagged ? " (flagged)" : "");
    }
    print_message("%zu of %zu come back right, %zu wrong ones are not flagged\n", right, line_count, silent);
    tr_result_array_free(there, line_count);
    tr_result_array_free(back, line_count);
    assert_true(right * 100 >= line_count * 97);
    assert_true(silent * 100 <= line_count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_read_and_written),         cmocka_unit_test(other_figures_disagree),
        cmocka_unit_test(known_mistakes_are_noticed),           cmocka_unit_test(english_becomes_chinese),
        cmocka_unit_test(translations_say_them_or_are_flagged), cmocka_unit_test(the_way_back_says_them_or_is_flagged),
    };
    return cmocka_run_group_tests(tests, read_lines, free_lines);
}
