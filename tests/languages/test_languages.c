/* Models of several languages against Hugging Face Transformers: which tokens choose a language, where they go, and what
 * people may call it. fixtures/ is made by make_models.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <translate/translate.h>

#include "../json_ids.h"
#include "formats/gguf/gguf.h"
#include "tokenizer/language_codes.h"

static const char *const names[] = {"nllb",         "nllb-legacy",  "mbart50",     "mbart25", "m2m100",
                                    "small100",     "plbart",       "marian-many", "madlad",  "nllb-json",
                                    "mbart50-json", "mbart25-json", "madlad-json"};

enum { FIXTURES = sizeof names / sizeof *names, PATH = 1024 };

typedef struct fixture {
    const char *name;
    char path[PATH];
    json_t *json;
    tr_model *model;
    tr_context *context;
} fixture;

static void open_path(fixture *f, const char *path)
{
    tr_error error;
    tr_context_options options = tr_context_default_options();
    options.threads = 2;
    if (tr_model_open(path, NULL, &f->model, &error) || tr_context_create(f->model, &options, &f->context, &error))
        fail_msg("%s", error.message);
}

static void open_fixture(fixture *f, const char *name)
{
    char path[PATH];
    json_error_t problem;
    f->name = name;
    snprintf(path, sizeof path, "%s/%s/expected.json", TR_FIXTURES, name);
    f->json = json_load_file(path, 0, &problem);
    if (!f->json)
        fail_msg("%s: %s", path, problem.text);
    snprintf(f->path, sizeof f->path, "%s/%s/model", TR_FIXTURES, name);
    open_path(f, f->path);
}

static void close_model(fixture *f)
{
    tr_context_destroy(f->context);
    tr_model_close(f->model);
}

static void close_fixture(fixture *f)
{
    close_model(f);
    json_decref(f->json);
}

static tr_translate_options options_of(const fixture *f, const json_t *line)
{
    tr_translate_options o = tr_translate_default_options();
    o.split = TR_SPLIT_NEVER;
    o.max_length = (int)json_integer_value(json_object_get(f->json, "max_length"));
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
    if (tr_translate(f->context, &text, NULL, 1, &o, &results, &error))
        fail_msg("%s: %s", f->name, error.message);
    assert_string_equal(results[0].text, json_string_value(json_object_get(line, "translation")));
    tr_results_free(results, 1);
}

static void check_ids(const fixture *f, const tr_tokens *has, const tr_tokens *wanted)
{
    for (size_t i = 0; i < has->count && i < wanted->count; i++)
        if (has->ids[i] != wanted->ids[i])
            fail_msg("%s: token %zu is %d, transformers' is %d", f->name, i, has->ids[i], wanted->ids[i]);
    assert_int_equal(has->count, wanted->count);
}

/* The same from tokens: the languages' are put around them where options name them, and not where the caller gives all. */
static void check_tokens(const fixture *f, const json_t *line)
{
    tr_translate_options o = options_of(f, line);
    const char *text = json_string_value(json_object_get(line, "text"));
    tr_tokens source = {0}, *outputs = NULL, wanted = read_ids(line, "tokens");
    tr_error error;
    if (tr_tokenize(f->model, text, strlen(text), &source, &error) ||
        tr_translate_tokens(f->context, &source, 1, &o, &outputs, &error))
        fail_msg("%s: %s", f->name, error.message);
    check_ids(f, &outputs[0], &wanted);
    tr_tokens_array_free(outputs, 1);
    tr_tokens_free(&source);
    tr_tokens_free(&wanted);
}

static void check_lines(const fixture *f)
{
    const json_t *lines = json_object_get(f->json, "lines");
    assert_true(json_array_size(lines) >= 6);
    for (size_t i = 0; i < json_array_size(lines); i++) {
        check_text(f, json_array_get(lines, i));
        check_tokens(f, json_array_get(lines, i));
    }
}

static void as_transformers(void **state)
{
    fixture f;
    open_fixture(&f, *state);
    check_lines(&f);
    close_fixture(&f);
}

/* All languages of a call's lines together, and a second call with others: nothing is remembered across languages. */
static void as_transformers_from_a_file_of_ours(void **state)
{
    fixture f;
    tr_package package;
    tr_error error;
    char path[PATH];
    open_fixture(&f, *state);
    close_model(&f);
    snprintf(path, sizeof path, "languages-%s.gguf", f.name);
    if (tr_package_open(f.path, TR_LOAD_MAP, &package, &error) ||
        tr_gguf_write(&package, path, TR_TYPE_F32, NULL, NULL, &error))
        fail_msg("%s", error.message);
    tr_package_close(&package);
    open_path(&f, path);
    check_lines(&f);
    close_fixture(&f);
    remove(path);
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
    open_fixture(&f, "nllb");
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
    open_fixture(&f, "marian-many"); /* from English, as its tokenizer_config.json says */
    refuse(&f, "fr", "de", "source language fr: this model translates en to ROMANCE");
    refuse(&f, "en", "ja", "target language ja: the model does not have it, but fra, deu, cmn_Hans, cmn_Hant");
    assert_int_equal(tr_model_check_languages(f.model, "eng", "zh-TW", NULL), TR_OK);
    close_fixture(&f);
}

/* A token in front of a text counts for all its sentences, and goes before the option. */
static void check_typed(const char *name, const char *token, const char *target)
{
    fixture f;
    char typed[200];
    open_fixture(&f, name);
    tr_translate_options o = tr_translate_default_options();
    o.max_length = 20;
    const char *plain = "Bada kelo mari. To sule.", *texts[] = {typed};
    tr_result *by_option = NULL, *by_token = NULL;
    tr_error error;
    snprintf(typed, sizeof typed, "%s %s", token, plain);
    o.target_language = target;
    if (tr_translate(f.context, &plain, NULL, 1, &o, &by_option, &error))
        fail_msg("%s", error.message);
    o.target_language = NULL;
    if (tr_translate(f.context, texts, NULL, 1, &o, &by_token, &error))
        fail_msg("%s", error.message);
    assert_int_equal(by_token[0].sentences, 2);
    assert_int_equal(by_token[0].source_tokens, by_option[0].source_tokens);
    assert_string_equal(by_token[0].text, by_option[0].text);
    tr_results_free(by_option, 1);
    tr_results_free(by_token, 1);
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
    struct CMUnitTest tests[2 * FIXTURES + 8];
    char titles[2 * FIXTURES][80];
    size_t count = 0;
    for (size_t i = 0; i < FIXTURES; i++)
        for (int file = 0; file < 2; file++) {
            snprintf(titles[count], sizeof titles[0], "%s%s", names[i], file ? ", converted" : "");
            tests[count] = (struct CMUnitTest){titles[count], file ? as_transformers_from_a_file_of_ours : as_transformers,
                                               NULL, NULL, (void *)(uintptr_t)names[i]};
            count++;
        }
    const struct CMUnitTest others[] = {
        cmocka_unit_test(languages_have_to_be_named),
        cmocka_unit_test(a_pair_is_checked),
        cmocka_unit_test(texts_may_name_their_language),
        cmocka_unit_test(codes_are_understood),
    };
    memcpy(tests + count, others, sizeof others);
    count += sizeof others / sizeof *others;
    return _cmocka_run_group_tests("languages", tests, count, NULL, NULL);
}
