/* Language detection with CLD2: with and without candidates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "detect/detect.h"

/* expected: a code, "?" after it if it is a guess; "" if no language is found. candidates: separated by spaces. */
static void check(const char *text, const char *candidates, const char *expected)
{
    enum { MOST = 8 };
    char codes[MOST][16], found[40] = "";
    const char *list[MOST];
    size_t count = 0;
    tr_detected detected;
    tr_error error;
    for (int used; sscanf(candidates, "%15s%n", codes[count], &used) == 1; candidates += used, count++)
        list[count] = codes[count];
    if (tr_detect(text, strlen(text), list, count, &detected, &error))
        fail_msg("%s", error.message);
    if (detected.code)
        snprintf(found, sizeof found, "%s%s", detected.code, detected.reliable ? "" : "?");
    if (strcmp(found, expected) != 0)
        fail_msg("%s: %s, must be %s", text, found, expected);
}

static void test_sentences(void **state)
{
    static const char *const sentences[][2] = {
        {"今天天气很好，我们去散步吧。", "zh"},
        {"今天天氣很好，我們去散步吧。", "zh-Hant"},
        {"今日はいい天気ですね。", "ja"},
        {"오늘은 날씨가 좋습니다.", "ko"},
        {"วันนี้อากาศดี", "th"},
        {"Ο καιρός είναι ωραίος σήμερα.", "el"},
        {"The weather is fine today.", "en"},
        {"Il fait beau aujourd'hui, allons nous promener.", "fr"},
        {"Das Wetter ist heute schön.", "de"},
        {"Hoy hace buen tiempo, vamos a pasear.", "es"},
        {"Сегодня хорошая погода, пойдём гулять.", "ru"},
        {"Сьогодні гарна погода, ходімо гуляти.", "uk"},
        {"الطقس جميل اليوم، هيا نتمشى.", "ar"},
        {"מזג האוויר יפה היום.", "iw"},
        {"Bugün hava çok güzel.", "tr"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
        check(sentences[i][0], "", sentences[i][1]);
}

static void test_candidates(void **state)
{
    (void)state;
    check("Il fait beau aujourd'hui.", "eng_Latn fra_Latn", "fra_Latn");
    check("מזג האוויר יפה היום.", "he en", "he");
    check("今天天氣很好，我們去散步吧。", "zho_Hans zho_Hant", "zho_Hant");
    check("今天天氣很好，我們去散步吧。", "zho_Hans en", "zho_Hans"); /* the nearest candidate */
    check("Bonjour", "en fr", "fr?");
    check("Hello", "en fr", "en?");
    check("Il fait beau aujourd'hui, allons nous promener.", "en de", "fr"); /* clear, though not among the candidates */
}

static void test_scripts(void **state)
{
    (void)state;
    check("你好", "", "zh?");
    check("你好", "zh en ru", "zh"); /* the only candidate with this script */
    check("你好", "zh ja", "zh?");
    check("今天天气很好", "zh ja", "zh"); /* six ideographs */
    check("네", "", "ko");
    check("네", "ja zh", "ko"); /* not among the candidates, but the only language with this script */
    check("你好", "zh ko", "zh");
    check("東京", "zh ja", "ja?");
    check("東京", "ja en", "ja");
    check("東京", "zh en", "zh?");
    check("Γειά", "en fr", "el");
    check("Привет", "ru en zh", "ru");
    check("Привет", "ru uk", "ru?");
    check("مرحبا", "fa en", "fa?");
    check("مرحبا", "en zh", "ar?");
}

static void test_without_letters(void **state)
{
    (void)state;
    check("", "", "");
    check(" \n\t", "en fr", "");
    check("123 456 +++", "en fr", "");
    check("\xff\xfe\x80", "en", "");
}

static void test_any_bytes(void **state)
{
    char text[600];
    tr_detected detected;
    unsigned seed = 1;
    (void)state;
    check("Il fait beau \xff\xc3 aujourd'hui, allons nous promener.", "", "fr");
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < sizeof text; i++)
            text[i] = (char)((seed = seed * 1103515245 + 12345) >> 16);
        assert_int_equal(tr_detect(text, sizeof text, NULL, 0, &detected, NULL), TR_OK);
    }
    memset(text, 0, sizeof text);
    assert_int_equal(tr_detect(text, sizeof text, NULL, 0, &detected, NULL), TR_OK);
    assert_null(detected.code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences),       cmocka_unit_test(test_candidates), cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_without_letters), cmocka_unit_test(test_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
