/* Languages in names of models, and the route from one language to another over models that are given by their languages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include "api/engine.h"

#include "api/model_index.h"
#include "tokenizer/language_codes.h"
#include "tokenizer/language_names.h"

int run_folder_tests(void);

/* --------------------------------------------------------------------------------------------------------------- names */

static void test_names(void **state)
{
    static const char *const names[][3] = {
        {"opus-mt-zh-en", "zh", "en"},
        {"opus-mt-ceb-en", "ceb", "en"},
        {"opus-mt-en-ceb", "en", "ceb"}, /* mt is not Maltese */
        {"opus-mt-mt-en", "mt", "en"},
        {"opus-mt-tc-big-en-pt", "en", "pt"},
        {"opus-mt-tc-big-cat_oci_spa-en", "spa", "en"},
        {"opus-mt-en-ROMANCE", "en", "ROMANCE"},
        {"opus-mt-en-de-big-int8", "en", "de"},
        {"opus-mt-mul-en", "mul", "en"},
        {"Helsinki-NLP_opus-mt-fr-de.gguf", "fr", "de"},
        {"translate-zh_en-1_9", "zh", "en"},
        {"translate-en_zt-1_9", "en", "zt"}, /* traditional Chinese, as Argos calls it */
        {"translate-en_xq-1_9", "", ""},     /* no code of ISO 639 */
        {"zh-en.gguf", "zh", "en"},
        {"zh-en.q8_0.gguf", "zh", "en"},
        {"ZH-EN.gguf", "ZH", "EN"},
        {"enzh", "en", "zh"},
        {"zhen", "zh", "en"},
        {"model.enzh.intgemm.alphas.bin", "en", "zh"},
        {"wmt-en2de", "en", "de"},
        {"wmt19-en-de", "en", "de"},
        {"en-to-de.bin", "en", "de"},
        {"zho_Hans-eng_Latn", "zho-Hans", "eng-Latn"},
        {"pt_BR-en_US", "pt-BR", "en-US"},
        {"eng_Latn-to-deu_Latn", "eng-Latn", "deu-Latn"},
        {"opus-mt-to-en", "to", "en"}, /* Tongan */
        {"nllb-200-distilled-600M", "", ""},
        {"m2m100_418M", "", ""},
        {"tiny", "", ""}, /* Tigrinya and Nyanja */
        {"demo-base-best", "", ""},
        {"model", "", ""},
        {"en", "", ""},
        {"en-en", "", ""},
        {"2", "", ""},
        {"en2", "", ""},
        {"", "", ""},
        {"---", "", ""},
        {"opus-mt-", "", ""},
        {"A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A.A."
         "A.A.A.A.A."
         "A.A.A.A.en-fr",
         "", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char source[TR_LANGUAGE], target[TR_LANGUAGE];
        const bool found = tr_languages_of_name(names[i][0], source, target);
        if (strcmp(source, names[i][1]) != 0 || strcmp(target, names[i][2]) != 0 || found != (*names[i][1] != 0))
            fail_msg("%s: %s to %s", names[i][0], source, target);
    }
}

/* Any name gives two valid codes, or none. */
static void test_any_name(void **state)
{
    static const char *const parts[] = {"en",
                                        "fra",
                                        "de",
                                        "zho",
                                        "Hans",
                                        "BR",
                                        "to",
                                        "2",
                                        "-",
                                        "_",
                                        ".",
                                        "ROMANCE",
                                        "opus-mt",
                                        "translate-",
                                        "mul",
                                        "\xff",
                                        "abcdefghijklmnopqr",
                                        " "};
    unsigned seed = 1;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        char name[256] = "", source[TR_LANGUAGE], target[TR_LANGUAGE];
        for (unsigned i = 0; i < 8; i++) {
            seed = seed * 1103515245 + 12345;
            strcat(name, parts[(seed >> 16) % (sizeof parts / sizeof *parts)]);
        }
        const bool found = tr_languages_of_name(name, source, target);
        assert_int_equal(found, *source != 0);
        assert_int_equal(found, *target != 0);
        assert_true(!found || strcmp(source, target) != 0);
        assert_true(strlen(source) < TR_LANGUAGE && strlen(target) < TR_LANGUAGE);
    }
}

static void test_groups(void **state)
{
    static const char *const groups[] = {"mul", "roa", "sla", "gmq", "ine"}, *const languages[] = {"en", "zho", "ceb",
                                                                                                   "fra"};
    (void)state;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        assert_true(tr_language_is_group(groups[i]));
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
        assert_false(tr_language_is_group(languages[i]));
    assert_true(tr_language_is_known("zho_Hans"));
    assert_true(tr_language_is_known("EN"));
    assert_false(tr_language_is_known("ceb"));
    assert_false(tr_language_is_known("gguf"));
}

/* -------------------------------------------------------------------------------------------------------------- routes */

typedef struct made {
    const char *name;
    uint64_t size;
    const char *sources, *targets; /* separated by spaces */
} made;

static void add_codes(tr_languages *side, const char *codes)
{
    while (*codes) {
        const size_t size = strcspn(codes, " ");
        assert_int_equal(tr_languages_add(side, codes, size, 0, NULL), TR_OK);
        codes += size + (codes[size] != 0);
    }
}

static char *copy(const char *text)
{
    char *copied = malloc(strlen(text) + 1);
    assert_non_null(copied);
    return strcpy(copied, text);
}

static tr_model_index *make(const made *list, size_t count)
{
    tr_model_index *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->items = calloc(count, sizeof *m->items);
    assert_non_null(m->items);
    m->folder = copy("folder");
    for (m->count = 0; m->count < count; m->count++) {
        tr_indexed *item = &m->items[m->count];
        item->path = copy(list[m->count].name);
        item->name = item->path;
        item->peek.file_size = list[m->count].size;
        add_codes(&item->sources, list[m->count].sources);
        add_codes(&item->targets, list[m->count].targets);
    }
    return m;
}

/* expected: the route, "a(fr:en)", "a(fr:en) b(en:zh)"; if it begins with "!", the error message. */
static void check_route(const tr_model_index *m, const char *source, const char *target, const char *expected)
{
    char found[600] = "";
    tr_route route;
    tr_error error;
    if (tr_find_route(m, source, target, &route, &error)) {
        assert_int_equal(error.status, TR_ERROR_ARGUMENT);
        snprintf(found, sizeof found, "!%s", error.message);
    }
    for (int i = 0; i < route.count; i++) {
        const tr_route_step *hop = &route.steps[i];
        const size_t used = strlen(found);
        snprintf(found + used, sizeof found - used, "%s%s(%s:%s)", i ? " " : "", hop->path, hop->source, hop->target);
    }
    if (strcmp(found, expected) != 0)
        fail_msg("%s to %s: %s, must be %s", source, target, found, expected);
}

typedef struct wanted {
    const char *source, *target, *route;
} wanted;

static void check_routes(const made *list, size_t count, const wanted *cases, size_t case_count)
{
    tr_model_index *m = make(list, count);
    for (size_t i = 0; i < case_count; i++)
        check_route(m, cases[i].source, cases[i].target, cases[i].route);
    tr_model_index_close(m);
}

#define CHECK_ROUTES(list, cases) check_routes(list, sizeof(list) / sizeof *(list), cases, sizeof(cases) / sizeof *(cases))

static void test_direct(void **state)
{
    static const made list[] = {{"a", 1, "zho", "eng"}, {"b", 1, "fr", "en"}, {"c", 1, "en", "de fr cmn_Hans cmn_Hant"}};
    static const wanted cases[] = {
        {"zh", "en", "a(zho:eng)"},     {"zh-CN", "en-US", "a(zho:eng)"},  {"fra", "eng_Latn", "b(fr:en)"},
        {"en", "zh", "c(en:cmn_Hans)"}, {"en", "zh-TW", "c(en:cmn_Hant)"},
    };
    (void)state;
    CHECK_ROUTES(list, cases);
}

/* The nearest languages have precedence, then a model of one pair, then the largest file, then the name. */
static void test_preference(void **state)
{
    static const made list[] = {
        {"a-large", 9, "en de", "zh fr"}, {"b-small", 1, "en", "fr"},      {"c-medium", 2, "en", "fr"},
        {"d-medium", 2, "en", "fr"},      {"e-hant", 1, "en", "zh_Hant"},  {"f-pt", 9, "en", "pt"},
        {"g-brazil", 1, "en", "pt_BR"},   {"h-many", 1, "en de", "pt_PT"},
    };
    static const wanted cases[] = {
        {"en", "fr", "c-medium(en:fr)"},       {"de", "fr", "a-large(de:fr)"},        {"en", "zh", "a-large(en:zh)"},
        {"en", "zh-CN", "a-large(en:zh)"},     {"en", "zh-TW", "e-hant(en:zh_Hant)"}, {"en", "pt", "f-pt(en:pt)"},
        {"en", "pt-BR", "g-brazil(en:pt_BR)"}, {"en", "pt-PT", "h-many(en:pt_PT)"},   {"en", "pt-AO", "f-pt(en:pt)"},
    };
    (void)state;
    CHECK_ROUTES(list, cases);
}

static void test_over_english(void **state)
{
    static const made list[] = {
        {"de-fr", 1, "de", "fr"}, {"en-zh", 1, "eng", "zho"}, {"fr-en", 1, "fr", "en"}, {"fr-en-2", 2, "fra", "eng"},
        {"fr-ru", 9, "fr", "ru"}, {"ru-zh", 9, "ru", "zh"},   {"zh-de", 1, "zh", "de"},
    };
    static const wanted cases[] = {
        {"fr", "zh", "fr-en-2(fra:eng) en-zh(eng:zho)"},
        {"en", "de", "en-zh(eng:zho) zh-de(zh:de)"}, /* English is no pivot for English */
        {"zh", "fr", "zh-de(zh:de) de-fr(de:fr)"},
        {"de", "en", "de-fr(de:fr) fr-en-2(fra:eng)"},
        {"ru", "fr", /* would need three models */
         "!ru to fr: no model of folder has it, nor do two together; from ru to: zh; to fr from: de"},
        {"zh-Hans", "zh-Hant",
         "!zh-Hans to zh-Hant: no model of folder has it, nor do two together; from zh-Hans to: de; "
         "to zh-Hant from: eng, ru"},
        {"xx", "fr", "!xx to fr: no model of folder has it, nor do two together; from xx to: none; to fr from: de"},
        {"fr", "fra", "!fr to fra: they are one language"},
    };
    (void)state;
    CHECK_ROUTES(list, cases);
}

/* The script that the first model produces must be one that the second accepts. */
static void test_scripts_in_between(void **state)
{
    static const made list[] = {{"ja-zh", 1, "ja", "zh_Hant"}, {"zh-ko", 1, "zh_Hans", "ko"}, {"zh-vi", 1, "zh", "vi"}};
    static const wanted cases[] = {
        {"ja", "vi", "ja-zh(ja:zh_Hant) zh-vi(zh:vi)"},
        {"ja", "ko", "!ja to ko: no model of folder has it, nor do two together; from ja to: zh_Hant; to ko from: zh_Hans"},
    };
    (void)state;
    CHECK_ROUTES(list, cases);
}

/* A pivot with one file has precedence over two, then the smallest files together, then the code. */
static void test_over_another(void **state)
{
    static const made files[] = {{"ja-ko", 1, "ja", "ko"}, {"many", 90, "ja zh", "zh ru"}, {"ko-vi", 1, "ko", "vi"}};
    static const made sizes[] = {
        {"ja-ko", 5, "ja", "ko"}, {"ja-ru", 2, "ja", "ru"}, {"ko-vi", 5, "ko", "vi"}, {"ru-vi", 3, "ru", "vi"}};
    static const made codes[] = {
        {"ja-ru", 5, "ja", "ru"}, {"ja-ko", 5, "ja", "ko"}, {"ru-vi", 5, "ru", "vi"}, {"ko-vi", 5, "ko", "vi"}};
    static const made self[] = {
        {"a-b", 1, "ja", "ko"}, {"b-c", 1, "ko", "vi"}, {"half", 90, "ja fr", "fr"}, {"rest", 90, "fr", "de vi"}};
    static const wanted over_files[] = {{"ja", "vi", "ja-ko(ja:ko) ko-vi(ko:vi)"}, {"ja", "ru", "many(ja:ru)"}};
    static const wanted over_sizes[] = {{"ja", "vi", "ja-ru(ja:ru) ru-vi(ru:vi)"}};
    static const wanted over_codes[] = {{"ja", "vi", "ja-ko(ja:ko) ko-vi(ko:vi)"}};
    static const wanted over_self[] = {{"ja", "vi", "a-b(ja:ko) b-c(ko:vi)"}, {"ja", "de", "half(ja:fr) rest(fr:de)"}};
    (void)state;
    CHECK_ROUTES(files, over_files);
    CHECK_ROUTES(sizes, over_sizes);
    CHECK_ROUTES(codes, over_codes);
    CHECK_ROUTES(self, over_self);
}

static void test_long_lists(void **state)
{
    char codes[4000] = "";
    for (int i = 0; i < 600; i++)
        snprintf(codes + strlen(codes), sizeof codes - strlen(codes), "%s%c%c%c", i ? " " : "", 'b' + i / 100,
                 'b' + i / 10 % 10, 'b' + i % 10);
    const made list[] = {{"a", 1, "en", codes}};
    tr_model_index *m = make(list, 1);
    tr_route route;
    tr_error error;
    (void)state;
    assert_int_equal(tr_find_route(m, "en", "xx", &route, &error), TR_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "bbb, bbc, "));
    assert_non_null(strstr(error.message, ", ...; to xx from: none"));
    tr_model_index_close(m);
}

static void test_arguments(void **state)
{
    tr_model_index *m = make(NULL, 0);
    tr_route route;
    tr_error error;
    (void)state;
    check_route(m, "fr", "en", "!folder: there is no model in it");
    assert_int_equal(tr_find_route(m, NULL, "en", &route, &error), TR_ERROR_ARGUMENT);
    assert_int_equal(tr_find_route(NULL, "fr", "en", &route, &error), TR_ERROR_ARGUMENT);
    assert_int_equal(tr_find_route(m, "fr", "en", NULL, NULL), TR_ERROR_ARGUMENT);
    tr_model_index_close(m);
    tr_model_index_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_any_name),
        cmocka_unit_test(test_direct),
        cmocka_unit_test(test_preference),
        cmocka_unit_test(test_over_english),
        cmocka_unit_test(test_scripts_in_between),
        cmocka_unit_test(test_over_another),
        cmocka_unit_test(test_long_lists),
        cmocka_unit_test(test_arguments),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + run_folder_tests();
}
