/* Rules of a search that once went wrong: which token is the unknown one, limits that are shorter than a prefix, equal texts
 * that are streamed, working memory that could not be made, and symbols of protected spans that a source does not have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "../opening.h"
#include "api/model.h"

static tr_model *model;

static tr_context *create_context(const tr_model *of, int batch_size)
{
    tr_context *context;
    tr_error error;
    tr_context_options options = tr_context_default_options();
    options.threads = 1;
    options.batch_size = batch_size;
    if (tr_make_context(of, &options, &context, &error) != TR_OK)
        fail_msg("%s", error.message);
    return context;
}

/* The unknown token of a target is that of its own vocabulary. */
static void test_unknown(void **state)
{
    tr_model *separate;
    tr_result *results;
    tr_error error;
    const char *const texts[] = {"今天天气很好。", "黼黻 ☃ 你好"};
    (void)state;
    if (tr_open_model(TR_SEPARATE, NULL, &separate, &error) != TR_OK)
        fail_msg("%s", error.message);
    const tr_vocabulary *target = separate->package.target;
    assert_ptr_not_equal(target, &separate->package.source);
    const int32_t unknown = separate->network->config.target_unk_id;
    assert_int_equal(unknown, tr_vocabulary_find(target, "<unk>", 5));
    assert_true(unknown >= 0 && (size_t)unknown < target->size);
    tr_context *context = create_context(separate, 4);
    tr_translate_options options = tr_translate_default_options();
    options.search.forbid_unknown = options.align = true;
    assert_int_equal(tr_translate_texts(context, texts, NULL, 2, &options, &results, &error), TR_OK);
    for (int i = 0; i < 2; i++)
        for (size_t t = 0; t < results[i].target.count; t++)
            assert_int_not_equal(results[i].target.ids[t], unknown);
    tr_result_array_free(results, 2);
    tr_context_destroy(context);
    tr_model_close(separate);
}

/* No limit is shorter than what is given. */
static void test_prefix_limit(void **state)
{
    tr_context *context = create_context(model, 4);
    tr_translate_options options = tr_translate_default_options();
    tr_hypotheses *found;
    tr_error error;
    int32_t source[] = {20, 21}, prefix[] = {30, 31, 32, 33, 34, 35, 36, 37};
    const tr_tokens sources = {source, 2}, prefixes = {prefix, 8};
    (void)state;
    options.search.max_length_factor = 1;
    for (int beam = 1; beam <= 4; beam += 3) {
        options.search.beam = beam;
        assert_int_equal(tr_search_tokens(context, &sources, &prefixes, 1, &options, &found, &error), TR_OK);
        assert_int_equal(found->items[0].count, 8);
        assert_memory_equal(found->items[0].ids, prefix, sizeof prefix);
        tr_hypotheses_free(found, 1);
    }
    tr_context_destroy(context);
}

static bool holds(tr_tokens tokens, int32_t id)
{
    for (size_t t = 0; t < tokens.count; t++)
        if (tokens.ids[t] == id)
            return true;
    return false;
}

enum { STRAY_TEXTS = 3 };

/* The tokens of their translations become such symbols, one after the other. Returns of how many the source has one. */
static int check_strays(const tr_translate_options *options, const char *text, const tr_result *plain, bool same)
{
    tr_config *config = (tr_config *)(uintptr_t)&model->network->config;
    int shared = 0;
    for (size_t t = 0; t < plain->target.count; t++) {
        tr_context *context = create_context(model, 4); /* a new one, as contexts remember what they have translated */
        tr_result *results;
        tr_error error;
        config->copy_symbols[0] = plain->target.ids[t];
        config->copy_symbol_count = 1;
        assert_int_equal(tr_translate_texts(context, &text, NULL, 1, options, &results, &error), TR_OK);
        assert_int_equal(results->flags & TR_FLAG_LOOP, 0);
        if (!holds(plain->source, config->copy_symbols[0]))
            assert_false(holds(results->target, config->copy_symbols[0]));
        else if (same)
            assert_string_equal(results->text, plain->text);
        shared += holds(plain->source, config->copy_symbols[0]);
        config->copy_symbol_count = 0;
        tr_result_array_free(results, 1);
        tr_context_destroy(context);
    }
    return shared;
}

/* A translation has a symbol for a protected span only where its source has it. */
static void test_stray_symbols(void **state)
{
    tr_context *context = create_context(model, 4);
    tr_translate_options options = tr_translate_default_options();
    const char *const texts[STRAY_TEXTS] = {"今天天气很好", "他在2019年去了北京。", "我有3本书。"};
    tr_result *plain;
    tr_error error;
    int shared = 0;
    (void)state;
    options.align = true; /* then results have their tokens */
    assert_int_equal(tr_translate_texts(context, texts, NULL, STRAY_TEXTS, &options, &plain, &error), TR_OK);
    for (int i = 0; i < STRAY_TEXTS; i++) {
        tr_translate_options scores = options, beam = options, sample = options, alternatives = options;
        scores.scores = true;
        beam.search.beam = beam.search.n_best = 4;
        sample.search.sample = true;
        alternatives.search.alternatives = true;
        shared += check_strays(&options, texts[i], &plain[i], true);
        check_strays(&scores, texts[i], &plain[i], true);
        check_strays(&beam, texts[i], &plain[i], false);
        check_strays(&sample, texts[i], &plain[i], false);
        check_strays(&alternatives, texts[i], &plain[i], false);
    }
    assert_true(shared > 0);
    tr_result_array_free(plain, STRAY_TEXTS);
    tr_context_destroy(context);
}

typedef struct heard {
    int tokens[3];
} heard;

static int stop_first(void *argument, const tr_token_event *step)
{
    heard *h = argument;
    h->tokens[step->text]++;
    return step->text == 0;
}

/* Each of several equal texts has tokens of its own, and is ended by itself. */
static void test_equal_streams(void **state)
{
    tr_context *context = create_context(model, 4);
    tr_translate_options options = tr_translate_default_options();
    const char *const texts[] = {"今天天气很好", "今天天气很好", "今天天气很好"};
    heard h = {0};
    tr_result *results;
    tr_error error;
    (void)state;
    options.on_token = stop_first;
    options.on_token_argument = &h;
    assert_int_equal(tr_translate_texts(context, texts, NULL, 3, &options, &results, &error), TR_OK);
    assert_int_equal(h.tokens[0], 1);
    assert_true(h.tokens[1] > 1 && h.tokens[1] == h.tokens[2]);
    assert_string_equal(results[1].text, results[2].text);
    assert_true(results[0].size < results[1].size);
    tr_result_array_free(results, 3);
    tr_context_destroy(context);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* A search fails for want of memory; then forced decoding, and another search, work. */
static void test_memory(void **state)
{
    tr_context *context = create_context(model, 64);
    tr_translate_options options = tr_translate_default_options();
    struct rlimit before, low;
    int32_t ids[] = {20, 21, 22};
    const tr_tokens tokens = {ids, 3};
    tr_hypotheses *found;
    tr_score *scores;
    tr_error error;
    (void)state;
    assert_int_equal(tr_search_tokens(context, &tokens, NULL, 1, NULL, &found, &error), TR_OK);
    tr_hypotheses_free(found, 1);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    low = before;
    low.rlim_cur = 1 << 20;
    assert_int_equal(setrlimit(RLIMIT_AS, &low), 0);
    options.search.beam = TR_MAX_BEAM;
    const tr_status status = tr_search_tokens(context, &tokens, NULL, 1, &options, &found, &error);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(status, TR_ERROR_MEMORY);
    assert_int_equal(tr_score_ids(context, &tokens, &tokens, 1, NULL, &scores, &error), TR_OK);
    tr_score_array_free(scores, 1);
    options.search.beam = 4;
    assert_int_equal(tr_search_tokens(context, &tokens, NULL, 1, &options, &found, &error), TR_OK);
    tr_hypotheses_free(found, 1);
    tr_context_destroy(context);
}
#endif

/* A search for which nothing but tokens of bytes, EOS and a few words is left. */
static tr_result *search_bytes(tr_context *context, const int32_t *forbidden, size_t count, int kind, bool protect)
{
    static const char *const texts[] = {"今天天气很好", "我们明天见", "他说：“你好！”", "北京", "谢谢大家的帮助"};
    tr_translate_options o = tr_translate_default_options();
    tr_result *results;
    tr_error error;
    o.max_length = 23;
    o.loop_guard = false;
    o.protect = protect;
    o.search.forbidden = forbidden;
    o.search.forbidden_count = count;
    o.search.beam = kind == 1 ? 4 : 1;
    o.search.n_best = kind == 1 ? 4 : kind > 1 ? 3 : 1;
    o.search.sample = kind == 2;
    o.search.temperature = kind == 2 ? 2 : 1;
    o.search.alternatives = kind == 3;
    o.search.no_repeat_ngram = kind == 4 ? 2 : 0;
    if (kind == 4)
        o.search.n_best = 1;
    if (tr_translate_texts(context, texts, NULL, 5, &o, &results, &error) != TR_OK)
        fail_msg("%s", error.message);
    return results;
}

static size_t count_broken(const tr_result *results)
{
    size_t broken = 0;
    for (size_t i = 0; i < 5; i++) {
        broken += strstr(results[i].text, "\xef\xbf\xbd") != NULL;
        for (size_t h = 0; h < results[i].hypothesis_count; h++)
            broken += strstr(results[i].hypotheses[h].text, "\xef\xbf\xbd") != NULL;
    }
    return broken;
}

/* With protect, tokens of bytes come in sequences that are UTF-8, whatever the search. */
static void test_utf8(void **state)
{
    (void)state;
    const tr_config *config = &model->package.config;
    int32_t *forbidden = malloc((size_t)config->target_vocabulary * sizeof *forbidden);
    size_t count = 0, broken = 0;
    assert_non_null(forbidden);
    assert_true(config->has_bytes);
    for (int32_t id = 0; id < config->target_vocabulary; id++) {
        const bool byte = id >= config->byte_ids[0] && id <= config->byte_ids[255];
        if (!byte && id != config->eos_id)
            forbidden[count++] = id;
    }
    const tr_model *const same[] = {model};
    tr_context_options options = tr_context_default_options();
    options.threads = 2;
    for (int models = 1; models <= 2; models++) {
        tr_context *context, *one = open_context(model, 1, 1);
        tr_error error;
        options.ensemble = same;
        options.ensemble_count = models - 1;
        assert_int_equal(tr_make_context(model, &options, &context, &error), TR_OK);
        for (int kind = 0; kind < 5; kind++) {
            tr_result *valid = search_bytes(context, forbidden, count, kind, true);
            tr_result *any = search_bytes(context, forbidden, count, kind, false);
            tr_result *alone = search_bytes(one, forbidden, count, kind, true);
            if (count_broken(valid))
                fail_msg("search %d of %d models: %s", kind, models, valid[0].text);
            broken += count_broken(any);
            for (size_t i = 0; i < 5 && models == 1; i++)
                assert_string_equal(valid[i].text, alone[i].text);
            tr_result_array_free(valid, 5);
            tr_result_array_free(any, 5);
            tr_result_array_free(alone, 5);
        }
        tr_context_destroy(context);
        tr_context_destroy(one);
    }
    free(forbidden);
    assert_true(broken > 20); /* without it, they do not */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_prefix_limit),
        cmocka_unit_test(test_stray_symbols),
        cmocka_unit_test(test_equal_streams),
        cmocka_unit_test(test_utf8),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(test_memory),
#endif
    };
    tr_error error;
    if (tr_open_model(TR_MODEL, NULL, &model, &error) != TR_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    tr_model_close(model);
    return failures;
}
