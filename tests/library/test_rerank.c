/* A model that translates back chooses among hypotheses: through the public interface, with the two default models.
 *     test_rerank MODEL REVERSE */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <translate/translate.h>

enum { BEAM = 8 };

static const char *const texts[] = {"试验区的麦子长得比去年好得多。", "会议推迟到下周三举行。",
                                    "政府计划在五年内把公共交通的碳排放减少一半。",
                                    "你好。这条路长3.5公里，请看 https://a.org/b！", "这座桥连接着河两岸的两个村庄。"};
enum { TEXTS = sizeof texts / sizeof *texts };

static tr_model *model, *reverse;
static tr_error error;

static void good(tr_status status)
{
    if (status != TR_OK)
        fail_msg("%s", error.message);
}

static tr_options *create_options(float weight, int n_best)
{
    tr_options *options;
    good(tr_options_create(&options, &error));
    tr_options_set_reverse_model(options, reverse);
    good(tr_options_set_float(options, "rerank_weight", (double)weight, &error));
    good(tr_options_set_int(options, "beam", BEAM, &error));
    good(tr_options_set_int(options, "n_best", n_best, &error));
    good(tr_options_set_int(options, "threads", 2, &error));
    return options;
}

static tr_results *translate(tr_context *context, const tr_options *options)
{
    tr_results *results;
    good(tr_translate(context, texts, NULL, TEXTS, options, &results, &error));
    return results;
}

/* How likely the source is, given a translation: the mean log-probability of its tokens. */
static double way_back(tr_context *context, const char *translation, const char *source)
{
    tr_scores *scores;
    good(tr_score_texts(context, &translation, NULL, &source, NULL, 1, NULL, &scores, &error));
    const double mean = tr_scores_float(scores, 0, "mean_log_probability");
    tr_scores_free(scores);
    return mean;
}

/* Of the texts of one sentence without spans; the ranks are those of the definition in translate.h. */
static void ranks_are_as_defined(void **state)
{
    tr_options *plain = create_options(0, BEAM), *ranked = create_options(0.3F, 1);
    tr_context *context, *back;
    size_t changed = 0;
    (void)state;
    good(tr_context_create(model, ranked, &context, &error));
    good(tr_context_create(reverse, NULL, &back, &error));
    tr_results *all = translate(context, plain), *best = translate(context, ranked);
    for (size_t i = 0; i < TEXTS; i++) {
        double highest = -1e9;
        size_t chosen = 0;
        if (i == 3)
            continue;
        const size_t count = (size_t)tr_results_int(all, i, "hypotheses"); /* fewer where numbers must stay */
        assert_true(count == BEAM || (i == 2 && count));
        assert_int_equal(tr_results_int(best, i, "hypotheses"), 1);
        for (size_t h = 0; h < count; h++) {
            const double rank = tr_results_hypothesis_float(all, i, h, "score") +
                                0.3 * way_back(back, tr_results_hypothesis_text(all, i, h, NULL), texts[i]);
            chosen = rank > highest ? h : chosen;
            highest = rank > highest ? rank : highest;
        }
        assert_string_equal(tr_results_text(best, i, NULL), tr_results_hypothesis_text(all, i, chosen, NULL));
        changed += chosen > 0;
    }
    assert_true(changed > 0);
    tr_results_free(all);
    tr_results_free(best);
    tr_context_destroy(back);
    tr_context_destroy(context);
    tr_options_free(plain);
    tr_options_free(ranked);
}

/* Without a weight, and with one again: what was translated before does not come in place of it. */
static void cache_knows_the_weight(void **state)
{
    tr_options *plain = create_options(0, 1), *ranked = create_options(1, 1), *without = create_options(1, 1);
    tr_context *context, *single;
    size_t differ = 0;
    (void)state;
    tr_options_set_reverse_model(without, NULL);
    good(tr_context_create(model, ranked, &context, &error));
    good(tr_context_create(model, without, &single, &error));
    tr_results *a = translate(context, plain), *b = translate(context, ranked), *c = translate(context, plain);
    tr_results *d = translate(single, without);
    for (size_t i = 0; i < TEXTS; i++) {
        assert_string_equal(tr_results_text(a, i, NULL), tr_results_text(c, i, NULL));
        assert_string_equal(tr_results_text(a, i, NULL), tr_results_text(d, i, NULL));
        differ += strcmp(tr_results_text(a, i, NULL), tr_results_text(b, i, NULL)) != 0;
    }
    assert_true(differ > 0);
    tr_results_free(a);
    tr_results_free(b);
    tr_results_free(c);
    tr_results_free(d);
    tr_context_destroy(context);
    tr_context_destroy(single);
    tr_options_free(plain);
    tr_options_free(ranked);
    tr_options_free(without);
}

static void spans_and_alignments_stay(void **state)
{
    tr_options *options = create_options(0.3F, 3);
    tr_context *context;
    (void)state;
    good(tr_options_set_int(options, "align", 1, &error));
    good(tr_context_create(model, options, &context, &error));
    tr_results *results = translate(context, options);
    assert_int_equal(tr_results_int(results, 0, "hypotheses"), 3);
    assert_string_equal(tr_results_text(results, 0, NULL), tr_results_hypothesis_text(results, 0, 0, NULL));
    assert_non_null(strstr(tr_results_text(results, 3, NULL), "https://a.org/b"));
    assert_non_null(strstr(tr_results_text(results, 3, NULL), "3.5"));
    tr_results_free(results);
    tr_context_destroy(context);
    tr_options_free(options);
}

static int calls, stop_at;

static int stop(void *argument, const tr_progress *progress)
{
    (void)argument;
    (void)progress;
    return ++calls == stop_at;
}

/* Wherever it is stopped, while it searches or ranks, the context can be used again. */
static void can_be_cancelled(void **state)
{
    tr_options *options = create_options(0.3F, 1), *quiet = create_options(0.3F, 1);
    tr_context *context;
    tr_results *results;
    (void)state;
    good(tr_options_set_int(options, "use_cache", 0, &error));
    good(tr_options_set_int(quiet, "use_cache", 0, &error));
    tr_options_on_progress(options, stop, NULL);
    good(tr_context_create(model, options, &context, &error));
    calls = stop_at = 0;
    tr_results *expected = translate(context, options);
    assert_true(calls > 2 * TEXTS); /* those of ranking among them */
    /* How many calls there are depends on how the threads share the batches: stop later and later, until nothing is. */
    tr_status status = TR_ERROR_CANCELLED;
    for (stop_at = 1; status != TR_OK; stop_at += 3) {
        calls = 0;
        status = tr_translate(context, texts, NULL, TEXTS, options, &results, &error);
        assert_true(status == TR_OK || status == TR_ERROR_CANCELLED);
    }
    tr_results_free(results);
    assert_true(calls < stop_at - 3 && stop_at > TEXTS); /* nothing was to stop the last one */
    results = translate(context, quiet);
    for (size_t i = 0; i < TEXTS; i++)
        assert_string_equal(tr_results_text(results, i, NULL), tr_results_text(expected, i, NULL));
    tr_results_free(expected);
    tr_results_free(results);
    tr_context_destroy(context);
    tr_options_free(options);
    tr_options_free(quiet);
}

/* The hypotheses of text i are those of text k. */
static void expect_same(const tr_results *results, size_t i, const tr_results *expected, size_t k)
{
    const int64_t count = tr_results_int(expected, k, "hypotheses");
    assert_int_equal(tr_results_int(results, i, "hypotheses"), count);
    for (size_t h = 0; h < (size_t)count; h++)
        assert_string_equal(tr_results_hypothesis_text(results, i, h, NULL),
                            tr_results_hypothesis_text(expected, k, h, NULL));
}

/* A queue's threads rank what several submissions have at the same time, beside some that are not ranked; one is cancelled.
 */
static void queue_ranks_as_translate(void **state)
{
    enum { KINDS = 3, ROUNDS = 6 };
    tr_options *ranked = create_options(0.3F, 2), *plain = create_options(0, 2), *urgent = create_options(0.3F, 2), *greedy;
    tr_options *const kinds[] = {ranked, plain, urgent};
    tr_context *context;
    tr_queue *queue;
    tr_ticket tickets[KINDS * ROUNDS], given_up;
    (void)state;
    good(tr_options_set_string(urgent, "priority", "high", &error));
    good(tr_options_set_int(urgent, "align", 1, &error));
    good(tr_options_create(&greedy, &error));
    good(tr_context_create(model, ranked, &context, &error));
    good(tr_queue_create(model, ranked, &queue, &error));
    tr_results *expected[KINDS] = {translate(context, ranked), translate(context, plain), translate(context, ranked)};
    assert_string_not_equal(tr_results_text(expected[0], 0, NULL), tr_results_text(expected[1], 0, NULL));
    for (size_t k = 0; k < KINDS * ROUNDS; k++) {
        tr_ticket other;
        good(tr_queue_submit(queue, texts, NULL, TEXTS, kinds[k % KINDS], &tickets[k], &error));
        if (k % 2 == 0)
            good(tr_queue_submit(queue, texts, NULL, TEXTS, greedy, &other, &error));
    }
    good(tr_options_set_string(ranked, "priority", "low", &error)); /* so that it is not done before it is given up */
    good(tr_queue_submit(queue, texts, NULL, TEXTS, ranked, &given_up, &error));
    assert_true(tr_queue_cancel(queue, given_up));
    tr_event *last = tr_queue_wait(queue, given_up, -1);
    assert_int_equal(tr_event_status(last), TR_ERROR_CANCELLED);
    tr_event_free(last);
    for (size_t k = 0; k < KINDS * ROUNDS; k++)
        for (size_t got = 0; got < TEXTS; got++) {
            tr_event *event = tr_queue_wait(queue, tickets[k], -1);
            assert_non_null(event);
            if (tr_event_status(event) != TR_OK)
                fail_msg("%s", tr_event_message(event));
            expect_same(tr_event_results(event), 0, expected[k % KINDS], tr_event_text(event));
            tr_event_free(event);
        }
    tr_queue_destroy(queue); /* with what is not done */
    for (size_t k = 0; k < KINDS; k++) {
        tr_results_free(expected[k]);
        tr_options_free(kinds[k]);
    }
    tr_context_destroy(context);
    tr_options_free(greedy);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_as_defined),      cmocka_unit_test(cache_knows_the_weight),
        cmocka_unit_test(spans_and_alignments_stay), cmocka_unit_test(can_be_cancelled),
        cmocka_unit_test(queue_ranks_as_translate),
    };
    if (count != 3 || tr_model_open(arguments[1], NULL, &model, &error) != TR_OK ||
        tr_model_open(arguments[2], NULL, &reverse, &error) != TR_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    tr_model_close(reverse);
    tr_model_close(model);
    return failures;
}
