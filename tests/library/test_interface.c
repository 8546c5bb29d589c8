/* The public interface as a program sees it, through the shared library: options by name, and what the accessors give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <translate/translate.h>

static tr_model *model;
static tr_context *context;
static tr_error error;

static const char *const texts[] = {"今天天气很好。你好。", "谢谢你"};

static tr_options *create_options(void)
{
    tr_options *options;
    assert_int_equal(tr_options_create(&options, &error), TR_OK);
    return options;
}

static tr_results *translate(const tr_options *options)
{
    tr_results *results;
    if (tr_translate(context, texts, NULL, 2, options, &results, &error) != TR_OK)
        fail_msg("%s", error.message);
    return results;
}

/* Every name can be listed and set by a function of its type, and by no other. */
static void test_names(void **state)
{
    const int32_t ids[] = {5};
    const char *const strings[] = {NULL, "Hello"}, *type, *name;
    tr_options *options = create_options();
    size_t count = 0;
    (void)state;
    for (; (name = tr_options_name(count, &type)); count++) {
        assert_true(!strcmp(type, "int") == (tr_options_set_int(options, name, 1, &error) == TR_OK));
        assert_true(!strcmp(type, "float") ==
                    (tr_options_set_float(options, name, strcmp(name, "doubtful_below") == 0 ? -1 : 1, &error) == TR_OK));
        assert_true(!strcmp(type, "string") == (tr_options_set_string(options, name, NULL, &error) == TR_OK));
        assert_true(!strcmp(type, "ids") == (tr_options_set_ids(options, name, ids, 1, &error) == TR_OK));
        assert_true(!strcmp(type, "strings") == (tr_options_set_strings(options, name, strings, 2, &error) == TR_OK));
        for (size_t i = 0; i < count; i++)
            assert_string_not_equal(name, tr_options_name(i, NULL));
    }
    assert_true(count > 50 && !type);
    assert_int_equal(tr_options_set_ids(options, "forbidden", ids, 0, &error), TR_OK);
    assert_int_equal(tr_options_set_strings(options, "prefixes", strings, 0, &error), TR_OK);
    tr_options_free(options);
    tr_options_free(NULL);
}

static void refuse(tr_status status, const char *message)
{
    assert_int_equal(status, TR_ERROR_ARGUMENT);
    if (!strstr(error.message, message))
        fail_msg("'%s' is not in '%s'", message, error.message);
}

static void test_refused(void **state)
{
    tr_options *options = create_options();
    tr_results *results;
    tr_context *none;
    tr_queue *queue;
    const char *const one[] = {"Hello"};
    (void)state;
    refuse(tr_options_set_int(options, "beams", 1, &error), "there is no option beams");
    refuse(tr_options_set_int(options, "beam", 0, &error), "beam: 0 is not between 1 and 64");
    refuse(tr_options_set_int(options, "length_penalty", 1, &error), "length_penalty: is float, not int");
    refuse(tr_options_set_float(options, "top_p", 1.5, &error), "top_p: 1.5 is not between");
    refuse(tr_options_set_string(options, "stopping", "soon", &error), "'soon' is not one of: heuristic early never");
    refuse(tr_options_set_string(options, NULL, "soon", &error), "name is NULL");
    refuse(tr_options_set_int(NULL, "beam", 1, &error), "options is NULL");
    refuse(tr_options_add_model(options, model, 0, &error), "weight 0");
    tr_options_set_reverse_model(options, model);
    refuse(tr_context_create(model, options, &none, &error), "translates zh to en, not en back to zh");
    refuse(tr_queue_create(model, options, &queue, &error), "translates zh to en, not en back to zh");
    tr_options_set_reverse_model(options, NULL);
    assert_int_equal(tr_options_set_strings(options, "prefixes", one, 1, &error), TR_OK);
    refuse(tr_translate(context, texts, NULL, 2, options, &results, &error), "there are 1 for 2 texts");
    assert_null(results);
    tr_options_free(options);
}

/* Prefixes that no translation has room for; very long ones are not even tokenised. */
static void test_long_prefixes(void **state)
{
    enum { LONG = 6000, ENDLESS = 8 << 20 };
    tr_options *options = create_options();
    tr_results *results;
    char *const prefix = malloc(ENDLESS + 1);
    const char *const prefixes[] = {"Hello", prefix};
    (void)state;
    assert_non_null(prefix);
    for (size_t i = 0; i < ENDLESS; i++)
        prefix[i] = "Today "[i % 6];
    prefix[ENDLESS] = 0;
    assert_int_equal(tr_options_set_strings(options, "prefixes", prefixes, 2, &error), TR_OK);
    refuse(tr_translate(context, texts, NULL, 2, options, &results, &error), "has 8388608 bytes");
    prefix[LONG] = 0;
    assert_int_equal(tr_options_set_strings(options, "prefixes", prefixes, 2, &error), TR_OK);
    refuse(tr_translate(context, texts, NULL, 2, options, &results, &error), "has 3000 tokens");
    free(prefix);
    tr_options_free(options);
}

static void test_texts(void **state)
{
    tr_options *options = create_options();
    size_t size, count;
    (void)state;
    assert_int_equal(tr_options_set_int(options, "beam", 4, &error), TR_OK);
    assert_int_equal(tr_options_set_int(options, "n_best", 2, &error), TR_OK);
    assert_int_equal(tr_options_set_int(options, "align", 1, &error), TR_OK);
    assert_int_equal(tr_options_set_int(options, "scores", 1, &error), TR_OK);
    tr_results *results = translate(options), *plain = translate(NULL);
    assert_int_equal(tr_results_count(results), 2);
    assert_int_equal(tr_results_int(results, 0, "sentences"), 2);
    assert_int_equal(tr_results_int(results, 0, "hypotheses"), 2);
    assert_int_equal(tr_results_int(plain, 0, "hypotheses"), 1);
    assert_int_equal(tr_results_int(plain, 0, "nothing"), -1);
    assert_int_equal(tr_results_int(plain, 2, "sentences"), -1);
    assert_string_equal(tr_results_text(results, 0, &size), tr_results_hypothesis_text(results, 0, 0, NULL));
    assert_int_equal(size, strlen(tr_results_text(results, 0, NULL)));
    assert_string_not_equal(tr_results_hypothesis_text(results, 0, 1, NULL), tr_results_text(results, 0, NULL));
    assert_null(tr_results_hypothesis_text(results, 0, 2, NULL));
    assert_null(tr_results_text(results, 2, &size));
    assert_int_equal(size, 0);
    assert_true(tr_results_hypothesis_float(results, 0, 0, "score") >= tr_results_hypothesis_float(results, 0, 1, "score"));
    assert_true(tr_results_float(results, 0, "score") < 0 && tr_results_float(plain, 0, "score") == 0);
    const int32_t *ids = tr_results_target_ids(results, 0, 0, &count);
    assert_true(ids && (int64_t)count == tr_results_hypothesis_int(results, 0, 0, "tokens"));
    const tr_span *spans = tr_results_target_spans(results, 0, 0, &count);
    assert_true(spans && spans[count - 1].end == size + strlen(tr_results_text(results, 0, NULL)));
    const tr_link *links = tr_results_links(results, 0, 1, &count);
    assert_true(links && count > 0 && links[0].weight > 0);
    assert_non_null(tr_results_scored_tokens(results, 0, &count));
    assert_true((int64_t)count == tr_results_int(results, 0, "target_tokens") + 2); /* an EOS of each sentence */
    assert_null(tr_results_links(plain, 0, 0, &count));
    assert_int_equal(count, 0);
    tr_results_free(results);
    tr_results_free(plain);
    tr_options_free(options);
}

/* What lies between the sentences is white space, on both sides, also when one is translated again (numbers), stays as it is
 * (ASCII), is cut, or comes from the cache. */
static void test_sentences(void **state)
{
    static const char text[] =
        "  今天天气很好。你好。\n\n12:30\n  他在2019年买了37本书，花了1250元。请发邮件到a@example.org。";
    static const char *const sources[] = {"今天天气很好。", "你好。", "12:30", "他在2019年买了37本书，花了1250元。",
                                          "请发邮件到a@example.org。"};
    char many[8192] = "", *const given[] = {(char *)text, many};
    tr_options *const options = create_options();
    (void)state;
    for (int i = 0; i < 60; i++)
        strcat(many, "我们昨天晚上一起去看了一场电影，");
    assert_int_equal(tr_options_set_int(options, "doubtful", 1, &error), TR_OK);
    assert_int_equal(tr_options_set_float(options, "doubtful_below", -1e-6, &error), TR_OK);
    for (int again = 0; again < 2; again++) {
        tr_results *results;
        size_t count, size, sources_count, at = 0;
        assert_int_equal(tr_translate(context, (const char *const *)given, NULL, 2, options, &results, &error), TR_OK);
        const tr_span *const from = tr_results_source_sentences(results, 0, &sources_count);
        const tr_span *const to = tr_results_target_sentences(results, 0, &count);
        const char *const translation = tr_results_text(results, 0, &size);
        assert_true(count == 5 && sources_count == 5);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(from[i].end - from[i].begin, strlen(sources[i]));
            assert_memory_equal(text + from[i].begin, sources[i], strlen(sources[i]));
            assert_int_equal(strspn(translation + at, " \n"), to[i].begin - at);
            assert_true(to[i].begin < to[i].end && !strchr(" \n", translation[to[i].end - 1]));
            at = to[i].end;
            const int64_t flags = tr_results_sentence_int(results, 0, i, "flags");
            assert_int_equal(flags & TR_FLAG_PASSED_THROUGH, i == 2 ? TR_FLAG_PASSED_THROUGH : 0);
            assert_int_equal(flags & TR_FLAG_DOUBTFUL, i == 2 ? 0 : TR_FLAG_DOUBTFUL);
        }
        assert_int_equal(at, size);
        assert_memory_equal(translation + to[2].begin, "12:30", 5);
        assert_int_equal(tr_results_sentence_int(results, 0, 5, "flags"), -1);
        assert_int_equal(tr_results_sentence_int(results, 0, 0, "tokens"), -1);
        assert_int_equal(tr_results_sentence_int(results, 1, 0, "flags") & TR_FLAG_CUT, TR_FLAG_CUT);
        assert_int_equal(tr_results_source_sentences(results, 1, &count)->end, strlen(many));
        assert_int_equal(count, 1);
        assert_null(tr_results_source_sentences(results, 2, &count));
        assert_int_equal(count, 0);
        tr_results_free(results);
    }
    tr_options_free(options);
}

static int count_results(void *argument, size_t first, const tr_results *results, size_t count)
{
    size_t *seen = argument;
    if (first != *seen || tr_results_count(results) != count || !tr_results_text(results, 0, NULL))
        return 1;
    *seen += count;
    return 0;
}

static void test_callback(void **state)
{
    tr_options *options = create_options();
    size_t seen = 0;
    (void)state;
    tr_options_on_result(options, count_results, &seen);
    tr_results_free(translate(options));
    assert_int_equal(seen, 2);
    tr_options_free(options);
}

/* Tokens, their scores, and back to text. */
static void test_tokens(void **state)
{
    int32_t *source, *target;
    size_t source_count, target_count, count, size;
    tr_span *spans;
    tr_results *results;
    tr_scores *scores;
    tr_options *options = create_options();
    char *text;
    int64_t sizes[4];
    (void)state;
    assert_int_equal(tr_options_set_int(options, "cross_attention", 1, &error), TR_OK);
    assert_int_equal(tr_options_set_int(options, "scores", 1, &error), TR_OK);
    assert_int_equal(tr_tokenize(model, TR_SOURCE, texts[1], strlen(texts[1]), &source, &source_count, &spans, &error),
                     TR_OK);
    assert_int_equal(spans[source_count - 1].end, strlen(texts[1]));
    const int32_t *sources[] = {source};
    assert_int_equal(tr_translate_tokens(context, sources, &source_count, NULL, NULL, 1, options, &results, &error), TR_OK);
    const int32_t *ids = tr_results_target_ids(results, 0, 0, &count);
    assert_int_equal(tr_results_hypothesis_int(results, 0, 0, "finished"), 1);
    assert_int_equal(tr_detokenize(model, ids, count, &text, &size, NULL, &error), TR_OK);
    assert_int_equal(tr_tokenize(model, TR_TARGET, text, size, &target, &target_count, NULL, &error), TR_OK);
    assert_int_equal(target_count, count);
    assert_int_equal(tr_score_tokens(context, sources, &source_count, &ids, &count, 1, options, &scores, &error), TR_OK);
    size_t searched_count, scored_count;
    const float *searched = tr_results_log_probabilities(results, 0, 0, &searched_count);
    const float *scored = tr_scores_log_probabilities(scores, 0, &scored_count);
    assert_int_equal(searched_count, scored_count);
    assert_memory_equal(searched, scored, scored_count * sizeof *scored);
    assert_int_equal(tr_scores_int(scores, 0, "tokens"), count + 1);
    assert_non_null(tr_scores_attention(scores, 0, "cross", sizes));
    assert_int_equal(sizes[2], count + 1);
    assert_null(tr_scores_attention(scores, 0, "encoder", sizes));
    assert_null(tr_scores_ids(scores, 0, TR_SOURCE, &count));
    tr_scores_free(scores);
    const char *const target_text = text;
    assert_int_equal(tr_score_texts(context, &texts[1], NULL, &target_text, NULL, 1, options, &scores, &error), TR_OK);
    assert_non_null(tr_scores_ids(scores, 0, TR_TARGET, &count));
    assert_int_equal(count, target_count);
    assert_non_null(tr_scores_spans(scores, 0, TR_SOURCE, &count));
    assert_int_equal(count, source_count);
    tr_scores_free(scores);
    tr_results_free(results);
    tr_free(source);
    tr_free(target);
    tr_free(spans);
    tr_free(text);
    tr_options_free(options);
}

static void test_model(void **state)
{
    (void)state;
    assert_string_equal(tr_model_string(model, "format"), "GGUF");
    assert_string_equal(tr_model_string(model, "source_language"), "zh");
    assert_null(tr_model_string(model, "d_model"));
    assert_null(tr_model_string(model, "nothing"));
    assert_true(tr_model_int(model, "d_model") > 0 && tr_model_int(model, "parameters") > 1000000);
    assert_int_equal(tr_model_int(model, "has_tokenizer"), 1);
    assert_int_equal(tr_model_int(model, "format"), -1);
    assert_int_equal(tr_model_int(NULL, "d_model"), -1);
    tr_error *heap = tr_error_create();
    tr_model *none;
    assert_int_equal(tr_model_open("/nothing", NULL, &none, heap), TR_ERROR_IO);
    assert_int_equal(tr_error_status(heap), TR_ERROR_IO);
    assert_non_null(strstr(tr_error_message(heap), "/nothing"));
    tr_free(heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),  cmocka_unit_test(test_refused),   cmocka_unit_test(test_long_prefixes),
        cmocka_unit_test(test_texts),  cmocka_unit_test(test_sentences), cmocka_unit_test(test_callback),
        cmocka_unit_test(test_tokens), cmocka_unit_test(test_model),
    };
    if (tr_model_open(TR_MODEL, NULL, &model, &error) != TR_OK ||
        tr_context_create(model, NULL, &context, &error) != TR_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    tr_context_destroy(context);
    tr_model_close(model);
    return failures;
}
