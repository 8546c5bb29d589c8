/* Models of several languages against Hugging Face Transformers: which tokens choose a language, where they are put, and by
 * which names a caller may choose it. fixtures/ is made by make_models.py. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../engine_fixture.h"
#include "tokenizer/language_codes.h"

static const char *const names[] = {"nllb",         "nllb-legacy",  "mbart50",     "mbart25", "m2m100",
                                    "small100",     "plbart",       "marian-many", "madlad",  "nllb-json",
                                    "mbart50-json", "mbart25-json", "madlad-json"};

enum { LEAST_LINES = 6, MOST_LINES = 1000 };

typedef struct fixture {
    const char *name;
    expectation expected;
    tr_model *model;
    tr_context *context;
} fixture;

static const char *model_of(const char *name)
{
    return fixture_path(name, "/model");
}

static void open_fixture(fixture *f, const char *name, const char *path)
{
    f->name = name;
    f->expected = read_expectation(fixture_path(name, "/expected.json"), LEAST_LINES, MOST_LINES);
    f->context = open_way(path, (way){.threads = 2}, &f->model);
}

static void close_fixture(fixture *f)
{
    tr_context_destroy(f->context);
    tr_model_close(f->model);
    free_expectation(&f->expected);
}

static tr_translate_options options_of(const fixture *f, const json_t *line)
{
    tr_translate_options o = tr_translate_default_options();
    o.split = TR_SPLIT_NEVER;
    o.loop_guard = false;
    o.protect = false;
    o.max_length = f->expected.max_length;
    o.source_language = json_string_value(json_object_get(line, "source"));
    o.target_language = json_string_value(json_object_get(line, "target"));
    return o;
}

/* ---------------------------------------------------------------------------------------------- against transformers */

static void check_text(const fixture *f, const json_t *line)
{
    const tr_translate_options o = options_of(f, line);
    const char *text = json_string_value(json_object_get(line, "text"));
    tr_result *results = NULL;
    tr_error error;
    if (tr_translate_texts(f->context, &text, NULL, 1, &o, &results, &error))
        fail_msg("%s: %s", f->name, error.message);
    assert_string_equal(results[0].text, json_string_value(json_object_get(line, "translation")));
    tr_result_array_free(results, 1);
}

/* The same with token ids: language tokens are added if the options name languages, and not if the caller gives all
 * tokens. */
static void check_tokens(const fixture *f, size_t i, const json_t *line)
{
    tr_translate_options o = options_of(f, line);
    const char *text = json_string_value(json_object_get(line, "text"));
    tr_tokens source = {0}, *outputs = NULL, wanted = read_ids(line, "tokens");
    tr_error error;
    if (tr_source_tokens(f->model, text, strlen(text), &source, &error) ||
        tr_translate_ids(f->context, &source, 1, &o, &outputs, &error))
        fail_msg("%s: %s", f->name, error.message);
    expect_ids(f->name, i, &outputs[0], &wanted);
    tr_tokens_array_free(outputs, 1);
    tr_tokens_free(&source);
    tr_tokens_free(&wanted);
}

static void check_lines(const char *name, const char *path)
{
    fixture f;
    open_fixture(&f, name, path);
    for (size_t i = 0; i < f.expected.count; i++) {
        const json_t *line = json_array_get(f.expected.lines, i);
        check_text(&f, line);
        check_tokens(&f, i, line);
    }
    close_fixture(&f);
}

static void as_transformers(void **state)
{
    const char *const *name = *state;
    check_lines(*name, model_of(*name));
}

static void as_transformers_from_a_file_of_ours(void **state)
{
    const char *const *name = *state;
    char path[] = TEMPORARY_FILE;
    convert_to_temporary(model_of(*name), TR_TYPE_F32, path);
    check_lines(*name, path);
    unlink(path);
}

/* ------------------------------------------------------------------------------------------------------------ choosing */

static void refuse(const fixture *f, const char *source, const char *target, const char *says)
{
    tr_error error;
    assert_int_equal(tr_model_check_languages(f->model, source, target, &error), TR_ERROR_ARGUMENT);
    if (!strstr(error.message, says))
        fail_msg("\"%s\" does not say \"%s\"", error.message, says);
}

static void languages_have_to_be_named(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, "nllb", model_of("nllb"));
    refuse(&f, NULL, "fr", "source language: the model has 202, name one (-s LANG");
    refuse(&f, "en", NULL, "target language: the model has 202, name one (-t LANG");
    refuse(&f, "en", "tlh", "target language tlh: the model does not have it, but ace_Arab, ace_Latn");
    refuse(&f, "en", "", "target language");
    assert_int_equal(tr_model_check_languages(f.model, "en", "fr", NULL), TR_OK);
    tr_model_info info;
    tr_model_get_info(f.model, &info);
    assert_int_equal(info.languages, 202);
    assert_string_equal(tr_model_language(f.model, 0), "ace_Arab");
    assert_string_equal(tr_model_language(f.model, 201), "zul_Latn");
    assert_null(tr_model_language(f.model, 202));
    assert_null(tr_model_language(f.model, -1));
    close_fixture(&f);
}

static void a_pair_is_checked(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, "marian-many", model_of("marian-many")); /* from English, as its tokenizer_config.json says */
    refuse(&f, "fr", "de", "source language fr: this model translates en to ROMANCE");
    refuse(&f, "en", "ja", "target language ja: the model does not have it, but fra, deu, cmn_Hans, cmn_Hant");
    assert_int_equal(tr_model_check_languages(f.model, "eng", "zh-TW", NULL), TR_OK);
    close_fixture(&f);
}

/* A language token at the beginning of a text applies to all its sentences, and has precedence over the option. */
static void check_typed(const char *name, const char *token, const char *target)
{
    fixture f;
    char typed[200];
    open_fixture(&f, name, model_of(name));
    tr_translate_options o = tr_translate_default_options();
    o.max_length = 20;
    const char *plain = "Bada kelo mari. To sule.", *texts[] = {typed};
    tr_result *by_option = NULL, *by_token = NULL;
    tr_error error;
    snprintf(typed, sizeof typed, "%s %s", token, plain);
    o.target_language = target;
    if (tr_translate_texts(f.context, &plain, NULL, 1, &o, &by_option, &error))
        fail_msg("%s", error.message);
    o.target_language = NULL;
    if (tr_translate_texts(f.context, texts, NULL, 1, &o, &by_token, &error))
        fail_msg("%s", error.message);
    assert_int_equal(by_token[0].sentences, 2);
    assert_int_equal(by_token[0].source_tokens, by_option[0].source_tokens);
    assert_string_equal(by_token[0].text, by_option[0].text);
    tr_result_array_free(by_option, 1);
    tr_result_array_free(by_token, 1);
    close_fixture(&f);
}

static void texts_may_name_their_language(void **state)
{
    (void)state;
    check_typed("marian-many", ">>deu<<", "de");
    check_typed("madlad", "<2zh_Hant>", "zh-HK");
}

/* -------------------------------------------------------------------------------------------------------------- codes */

static void codes_are_understood(void **state)
{
    (void)state;
    static const char *const same[][2] = {
        {"zh", "zho_Hans"}, {"zh-CN", "cmn_Hans"}, {"chi", "zh"},       {"ZH", "zh_CN"},     {"zh-TW", "zho_Hant"},
        {"en", "eng_Latn"}, {"en-US", "en_XX"},    {"ger", "deu"},      {"iw", "heb_Hebr"},  {"fa", "pes_Arab"},
        {"no", "nob_Latn"}, {"nb", "no"},          {"nor", "nob_Latn"}, {"pt-BR", "pt_XX"},  {"sr-Cyrl", "srp_Cyrl"},
        {"zt", "zho_Hant"}, {"pt-BR", "pb"},       {"az", "azj_Latn"},  {"fil", "tgl_Latn"}, {"ceb", "ceb_Latn"},
        {"java", "java"},   {"zh_Hans", "zh"},
    };
    static const char *const others[][2] = {
        {"zh-TW", "zho_Hans"},   {"fr", "fry"},     {"yue", "zho_Hant"},
        {"nn", "nob_Latn"},      {"", "en"},        {"en", ""},
        {"sr-Latn", "srp_Cyrl"}, {"english", "en"}, {"e", "en"},
        {"az", "azb_Arab"},      {"ROMANCE", "ro"}, {"r2", "r2d"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (!tr_language_match(same[i][0], same[i][1]))
            fail_msg("%s is not taken for %s", same[i][0], same[i][1]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (tr_language_match(others[i][0], others[i][1]))
            fail_msg("%s is taken for %s", others[i][0], others[i][1]);
    assert_true(tr_language_match("zh", "zho_Hans") > tr_language_match("zh", "zho_Hant"));
    assert_true(tr_language_match("zh-TW", "zho_Hant") > tr_language_match("zh-TW", "zh"));
    assert_true(tr_language_match("pt-BR", "pt_BR") > tr_language_match("pt-BR", "pt"));
    char base[4];
    assert_true(tr_language_base("cmn-Hant-TW", base));
    assert_string_equal(base, "zh");
    assert_false(tr_language_base("ROMANCE", base));
    assert_string_equal(base, "");
    assert_true(tr_language_is_unspaced("jpn_Jpan") && tr_language_is_unspaced("yue_Hant") &&
                !tr_language_is_unspaced("ko"));
}

int main(void)
{
    static const fixture_test kinds[] = {{"as transformers", as_transformers},
                                         {"converted", as_transformers_from_a_file_of_ours}};
    const struct CMUnitTest others[] = {
        cmocka_unit_test(languages_have_to_be_named),
        cmocka_unit_test(a_pair_is_checked),
        cmocka_unit_test(texts_may_name_their_language),
        cmocka_unit_test(codes_are_understood),
    };
    return run_fixture_suite(&(fixture_suite){"languages", names, sizeof names / sizeof *names, sizeof *names, kinds,
                                              sizeof kinds / sizeof *kinds, others, sizeof others / sizeof *others});
}
