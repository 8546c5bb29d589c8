/* Codes and names of languages, and the detection of a text's language. Built twice: with CLD2 (SERVE_DETECT), and without.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "serve/languages.h"
#include "serve/models.h"

/* ------------------------------------------------------------------------------------------------------------- the server
 */

/* Stands for the models: their sources, and those that lead to the only target. */
struct models {
    json_t *sources, *leading;
    const char *target;
};

const json_t *models_sources(const models *m)
{
    return m->sources;
}

const json_t *models_sources_of(const models *m, const char *target)
{
    return strcmp(target, m->target) == 0 ? m->leading : NULL;
}

/* ----------------------------------------------------------------------------------------------------------------- codes */

static void any_spelling_gives_the_own_one(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"zh", "zh-Hans"},
        {"ZH", "zh-Hans"},
        {"zh-CN", "zh-Hans"},
        {"zh_cn", "zh-Hans"},
        {"zh-SG", "zh-Hans"},
        {"zho", "zh-Hans"},
        {"chi", "zh-Hans"},
        {"cmn", "zh-Hans"},
        {"cmn_Hans", "zh-Hans"},
        {"zho_Hans", "zh-Hans"},
        {"zh-Hans-CN", "zh-Hans"},
        {"zh-Hans", "zh-Hans"},
        {"zh-TW", "zh-Hant"},
        {"zh-HK", "zh-Hant"},
        {"zh_MO", "zh-Hant"},
        {"zt", "zh-Hant"},
        {"ZT-TW", "zh-Hant"},
        {"cmn_Hant", "zh-Hant"},
        {"ZH-HANT", "zh-Hant"},
        {"zh-Latn", "zh-Latn"},
        {"yue", "yue"},
        {"yue_Hant", "yue"},
        {"en", "en"},
        {"EN-US", "en"},
        {"en-GB", "en"},
        {"eng", "en"},
        {"eng_Latn", "en"},
        {"en_XX", "en"},
        {"pt", "pt"},
        {"pt-PT", "pt"},
        {"PT-BR", "pt-BR"},
        {"pt_br", "pt-BR"},
        {"pt-BR", "pt-BR"},
        {"pb", "pt-BR"},
        {"por_Latn_BR", "pt-BR"},
        {"no", "nb"},
        {"nb", "nb"},
        {"nob_Latn", "nb"},
        {"nn", "nn"},
        {"nno", "nn"},
        {"iw", "he"},
        {"fil", "tl"},
        {"kmr_Latn", "ku"},
        {"ckb_Arab", "ckb"},
        {"srp_Cyrl", "sr"},
        {"sr-Latn", "sr-Latn"},
        {"ace_Latn", "ace"},
        {"ace_Arab", "ace-Arab"},
        {"qqq", "qqq"}, /* a model may have it */
        {"中文(简体)", "zh-Hans"},
        {"中文（简体）", "zh-Hans"},
        {"中文(繁体)", "zh-Hant"},
        {"英语", "en"},
        {"韩语", "ko"},
        {"印尼语", "id"},
        {"粤语", "yue"},
    };
    char code[LANGUAGE];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!language_of(rows[i][0], code))
            fail_msg("%s is no language", rows[i][0]);
        assert_string_equal(code, rows[i][1]);
        assert_true(language_of(code, code));
        assert_string_equal(code, rows[i][1]);
    }
}

static void other_words_are_no_languages(void **state)
{
    (void)state;
    static const char *const words[] = {"",    "auto", "e",  "-",     "en glish", "English", "ROMANCE",
                                        "mul", "e1",   "中", "英语 ", "\xff",     "../en",   "\n"};
    char code[LANGUAGE];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (language_of(words[i], code))
            fail_msg("%s is %s", words[i], code);
    assert_false(language_of(NULL, code));
    assert_string_equal(code, "");
}

static void long_codes_are_harmless(void **state)
{
    (void)state;
    char any[1000], code[LANGUAGE];
    memset(any, 'a', sizeof any);
    any[sizeof any - 1] = 0;
    assert_false(language_of(any, code));
    any[2] = '-';
    assert_true(language_of(any, code));
    assert_string_equal(code, "aa");
}

static void scripts_tell_languages_apart(void **state)
{
    (void)state;
    assert_true(language_same("en", "en"));
    assert_true(language_same("pt", "pt-BR"));
    assert_true(language_same("sr", "sr-Latn"));
    assert_false(language_same("zh-Hans", "zh-Hant"));
    assert_false(language_same("en", "fr"));
    assert_false(language_same("yue", "zh-Hant"));
}

/* ----------------------------------------------------------------------------------------------------------------- names */

static void languages_have_names(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"en", "English", "英语"},
        {"zh-Hans", "Chinese (Simplified)", "中文(简体)"},
        {"zh-Hant", "Chinese (Traditional)", "中文(繁体)"},
        {"ja", "Japanese", "日语"},
        {"ko", "Korean", "韩语"},
        {"de", "German", "德语"},
        {"pt-BR", "Portuguese (Brazil)", "葡萄牙语(巴西)"},
        {"aa", "Afar", "阿法尔语"},
        {"zu", "Zulu", "祖鲁语"},
        {"qqq", "qqq", "qqq"},
        {"zh", "zh", "zh"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(language_name(rows[i][0]), rows[i][1]);
        assert_string_equal(language_chinese_name(rows[i][0]), rows[i][2]);
    }
}

/* All two-letter languages that M2M100, NLLB, Firefox and LibreTranslate have. A code out of order is not found. */
static void the_languages_of_models_have_names(void **state)
{
    (void)state;
    static const char codes[] =
        "af ak am ar as ast awa ay az azb ba ban be bg bho bm bn bo br bs bug ca ceb ckb crh cs cv cy da de dv dz ee el en "
        "eo es et eu fa ff fi fj fo fr fur fy ga gd gl gn gu gv ha haw he hi hr ht hu hy id ig ilo is it ja jv ka kab kg ki "
        "kk km kn ko kr ks ku ky la lb lg li lij lmo ln lo lt lv mai mg mi min mk ml mn mr ms mt my nb ne nl nn nso ny oc "
        "om or pa pap pl ps pt pt-BR rn ro ru rw sa sat sc scn sd sg shn si sk sl sm sn so sq sr sr-Latn ss st su sv sw szl "
        "ta te tg th ti tk tl tn tpi tr ts tt tum tw tzm ug uk ur uz vec vi war wo xh yi yo yue zh-Hans zh-Hant zu";
    char code[LANGUAGE], again[LANGUAGE];
    int used;
    for (const char *at = codes; sscanf(at, "%15s%n", code, &used) == 1; at += used) {
        if (strcmp(language_name(code), code) == 0)
            fail_msg("%s has no name", code);
        assert_true(language_of(code, again));
        assert_string_equal(again, code);
        assert_true(language_of(language_chinese_name(code), again));
        assert_string_equal(again, code);
    }
}

/* ------------------------------------------------------------------------------------------------------------- detection */

/* sources, leading: of codes, separated by spaces; leading NULL: to no target. */
static detected detect(const char *sources, const char *leading, const char *target, const char *text)
{
    struct models m = {json_array(), json_array(), target ? target : ""};
    server s = {.models = &m};
    char code[LANGUAGE];
    detected found;
    int used;
    for (const char *at = sources; sscanf(at, "%15s%n", code, &used) == 1; at += used)
        json_array_append_new(m.sources, json_string(code));
    for (const char *at = leading; at && sscanf(at, "%15s%n", code, &used) == 1; at += used)
        json_array_append_new(m.leading, json_string(code));
    language_detect(&s, text, strlen(text), target, &found);
    json_decref(m.sources);
    json_decref(m.leading);
    return found;
}

static void scripts_tell_languages(void **state)
{
    (void)state;
    static const char all[] = "de el en fr ja ko ru th zh-Hans";
    static const char *const rows[][2] = {
        {"今天的天气很好，我们去公园散步吧。", "zh-Hans"},
        {"今日は天気がいいので公園を散歩しましょう。", "ja"},
        {"오늘은 날씨가 좋으니 공원을 산책합시다.", "ko"},
        {"วันนี้อากาศดี เราไปเดินเล่นกันเถอะ", "th"},
        {"Ο καιρός σήμερα είναι πολύ καλός.", "el"},
        {"The weather is nice today, let us go for a walk in the park.", "en"},
        {"Сегодня хорошая погода, пойдём гулять в парк.", "ru"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const detected found = detect(all, NULL, NULL, rows[i][0]);
        assert_string_equal(found.code, rows[i][1]);
        assert_in_range(found.confidence, 50, 100);
    }
    assert_in_range(detect(all, NULL, NULL, rows[1][0]).confidence, 90, 100);
    assert_in_range(detect(all, NULL, NULL, rows[3][0]).confidence, 90, 100);
}

static void text_without_letters_has_the_likeliest_language(void **state)
{
    (void)state;
    static const char *const texts[] = {"", " \n", "12345 + 6 = ?!", "\xf0\x9f\x98\x80 \xf0\x9f\x8e\x89", "\xff\xfe\x80"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        detected found = detect("ace de en zh-Hans", NULL, NULL, texts[i]);
        assert_string_equal(found.code, "en");
        assert_int_equal(found.confidence, 0);
        found = detect("ace zh-Hans", NULL, NULL, texts[i]);
        assert_string_equal(found.code, "zh-Hans");
        found = detect("fr", NULL, NULL, texts[i]);
        assert_string_equal(found.code, "fr");
    }
}

static void one_word_is_a_guess(void **state)
{
    (void)state;
    const detected found = detect("en zh-Hans", NULL, NULL, "OK");
    assert_string_equal(found.code, "en");
    assert_in_range(found.confidence, 0, 50);
}

static void only_sources_that_lead_to_the_target_count(void **state)
{
    (void)state;
    static const char han[] = "今天的天气很好，我们去公园散步吧。";
    assert_string_equal(detect("ja zh-Hans", "ja", "en", "天气").code, "ja");
    assert_string_equal(detect("en ja zh-Hans", "zh-Hans", "en-US", han).code, "zh-Hans");
    assert_string_equal(detect("en zh-Hans", NULL, "no language", han).code, "zh-Hans");
}

static void traditional_characters_are_read_by_the_model_that_there_is(void **state)
{
    (void)state;
    static const char text[] = "這個軟體會將網頁翻譯成中文，請選擇語言。";
    assert_string_equal(detect("en zh-Hans", NULL, NULL, text).code, "zh-Hans");
    assert_string_equal(detect("en zh-Hant", NULL, NULL, text).code, "zh-Hant");
#ifdef SERVE_DETECT
    assert_string_equal(detect("en zh-Hans zh-Hant", NULL, NULL, text).code, "zh-Hant");
#endif
}

/* A text may be in the target language already. */
static void the_target_is_detected(void **state)
{
    (void)state;
    static const char han[] = "今天的天气很好，我们去公园散步吧。";
    static const char english[] = "The weather is nice today, let us go for a walk in the park.";
    assert_string_equal(detect("en zh-Hans", "en", "zh-Hans", han).code, "zh-Hans");
    assert_string_equal(detect("en zh-Hans", "en", "zh-CN", english).code, "en");
#ifdef SERVE_DETECT
    assert_string_equal(detect("de fr", "de fr", "en", english).code, "en");
    assert_string_equal(detect("de fr", "de fr", "en", "Das Wetter ist heute schön, gehen wir spazieren.").code, "de");
#else /* Latin letters alone do not tell */
    assert_string_equal(detect("de fr", "de fr", "en", english).code, "de");
#endif
}

/* A guess must not stop a page: what no source may be stays as it is, since it has no letters of the source. */
static void guesses_are_sources(void **state)
{
    (void)state;
    static const char *const rows[][4] = {
        /* sources that lead to the target, target, text, language */
        {"zh-Hans", "en", "Привет", "zh-Hans"},
        {"zh-Hans", "en", "Bonjour", "en"},
        {"zh-Hans", "en", "这个 README.md 文件 is good", "zh-Hans"},
        {"zh-Hans", "en", "iPhone 15 价格", "zh-Hans"},
        {"en", "zh-Hans", "iPhone 15 价格", "zh-Hans"},
        {"en ja ko zh-Hans", "fr", "好", "zh-Hans"},
        {"en ja", "fr", "好", "ja"},
        {"en ja zh-Hans", "fr", "カメラ", "ja"},
        {"en", "zh-Hans", "2024 © Company", "en"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(detect("en ja ko zh-Hans", rows[i][0], rows[i][1], rows[i][2]).code, rows[i][3]);
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    static char text[1 << 20];
    for (size_t i = 0; i + 3 < sizeof text; i += 3)
        memcpy(text + i, i % 2 ? "天" : "气", 3);
    assert_string_equal(detect("en zh-Hans", NULL, NULL, text).code, "zh-Hans");
}

#ifdef SERVE_DETECT
static void words_tell_languages(void **state)
{
    (void)state;
    const detected found = detect("de en es fr zh-Hans", NULL, NULL, "Demain, nous irons nous promener dans la forêt.");
    assert_string_equal(found.code, "fr");
    assert_in_range(found.confidence, 90, 100);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_spelling_gives_the_own_one),
        cmocka_unit_test(other_words_are_no_languages),
        cmocka_unit_test(long_codes_are_harmless),
        cmocka_unit_test(scripts_tell_languages_apart),
        cmocka_unit_test(languages_have_names),
        cmocka_unit_test(the_languages_of_models_have_names),
        cmocka_unit_test(scripts_tell_languages),
        cmocka_unit_test(text_without_letters_has_the_likeliest_language),
        cmocka_unit_test(one_word_is_a_guess),
        cmocka_unit_test(only_sources_that_lead_to_the_target_count),
        cmocka_unit_test(traditional_characters_are_read_by_the_model_that_there_is),
        cmocka_unit_test(the_target_is_detected),
        cmocka_unit_test(guesses_are_sources),
        cmocka_unit_test(long_texts_are_cut),
#ifdef SERVE_DETECT
        cmocka_unit_test(words_tell_languages),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
