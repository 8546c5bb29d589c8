/* Requests, batches, the translation cache, and completion of texts: what surrounds decoding and needs no model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "api/results.h"
#include "run/layout.h"
#include "run/requests.h"
#include "text/language_pair.h"

/* -------------------------------------------------------------------------------------------------------------- requests */

static void equal_chunks_share_a_request(void **state)
{
    (void)state;
    static const int32_t first[] = {5, 6, 0, 0, 5, 6, 0}, second[] = {5, 0, 5, 6, 0};
    tr_text_chunk a = {.ids = 0, .length = 3, .tokens = 2}, empty = {.ids = 3, .length = 1},
                  b = {.ids = 4, .length = 3, .tokens = 2};
    tr_text_chunk c = {.ids = 0, .length = 2, .tokens = 1}, d = {.ids = 2, .length = 3, .tokens = 2};
    tr_text_chunk *chunks[] = {&a, &empty, &b, &c, &d};
    const int32_t *bases[] = {first, first, first, second, second};
    tr_request *requests;
    size_t count;
    assert_int_equal(tr_requests_make(chunks, bases, 5, true, &requests, &count, NULL), TR_OK);
    assert_int_equal(count, 2);
    assert_ptr_equal(a.request, &requests[0]);
    assert_ptr_equal(b.request, &requests[0]);
    assert_ptr_equal(d.request, &requests[0]);
    assert_ptr_equal(c.request, &requests[1]);
    assert_null(empty.request);
    assert_ptr_equal(requests[1].source, second);
    assert_int_equal(requests[1].source_length, 2);
    free(requests);
    assert_int_equal(tr_requests_make(chunks, bases, 5, false, &requests, &count, NULL), TR_OK);
    assert_int_equal(count, 4);
    assert_ptr_equal(d.request, &requests[3]);
    free(requests);
    d.piece = true; /* a piece has another length limit, so it is a request of its own */
    assert_int_equal(tr_requests_make(chunks, bases, 5, true, &requests, &count, NULL), TR_OK);
    assert_int_equal(count, 3);
    assert_ptr_equal(d.request, &requests[2]);
    assert_true(requests[2].piece && !requests[0].piece);
    free(requests);
    assert_int_equal(tr_requests_make(NULL, NULL, 0, true, &requests, &count, NULL), TR_OK);
    assert_int_equal(count, 0);
    free(requests);
}

/* ------------------------------------------------------------------------------------------------------------- batches */

/* The order has each request once, window by window, the longest first; the sort is stable. */
static void check_order(const tr_request *requests, size_t count)
{
    size_t *order = calloc(count + 1, sizeof *order);
    assert_non_null(order);
    assert_int_equal(tr_requests_order(requests, count, order, NULL), TR_OK);
    size_t window = TR_FIRST_WINDOW;
    for (size_t first = 0, last; first < count; first = last) {
        last = first + window;
        if (count - first < window + window / 2)
            last = count;
        window = window < TR_LARGEST_WINDOW ? 2 * window : window;
        assert_true(last - first <= TR_LARGEST_WINDOW + TR_LARGEST_WINDOW / 2);
        for (size_t i = first; i < last; i++) {
            assert_true(order[i] >= first && order[i] < last);
            if (i > first) {
                const int before = requests[order[i - 1]].source_length, here = requests[order[i]].source_length;
                assert_true(before > here || (before == here && order[i - 1] < order[i])); /* so each occurs once */
            }
        }
    }
    free(order);
}

static void requests_are_sorted_in_windows(void **state)
{
    (void)state;
    enum { MOST = 5000 };
    static tr_request requests[MOST];
    uint32_t random = 7;
    for (size_t i = 0; i < MOST; i++) {
        random = random * 1664525 + 1013904223;
        requests[i].source_length = 1 + (int)(random >> 16) % (i % 10 ? 40 : 511);
    }
    static const size_t counts[] = {0, 1, 2, 63, 64, 65, 95, 96, 97, 300, 1000, 1984, 1985, 4999, MOST};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        check_order(requests, counts[c]);
}

/* ------------------------------------------------------------------------------------------------------------- threads */

static void threads_divide_by_what_there_is_to_do(void **state)
{
    (void)state;
    static const struct {
        int threads, batch_size;
        int lengths[8]; /* lengths of the requests, repeated in turn; ended by 0 */
        size_t count;   /* requests */
        int workers, each;
    } cases[] = {
        {1, 32, {10}, 1, 1, 1},
        {1, 1, {10}, 100, 1, 1},
        {4, 1, {10}, 100, 1, 4}, /* one sentence in flight */
        {4, 32, {10}, 1, 1, 4},  /* one sentence: all threads share it */
        {4, 32, {500}, 1, 1, 4},
        {2, 32, {10}, 2, 1, 2}, /* few sentences: the threads share them, as reading the weights takes most of the time */
        {2, 32, {10}, 8, 1, 2},
        {2, 32, {10}, 16, 2, 1},
        {2, 32, {10}, 63, 2, 1},
        {2, 32, {10}, 64, 2, 1},
        {8, 32, {10}, 3, 1, 8},
        {8, 32, {10}, 4, 2, 4},
        {8, 32, {10}, 16, 4, 2},
        {7, 32, {10}, 14, 2, 3}, /* 4 + 3 threads */
        {16, 32, {10}, 8, 4, 4},
        {8, 32, {10}, 64, 8, 1}, /* eight batches of eight rows, not two full ones */
        {8, 8, {10}, 30, 4, 2},
        {8, 32, {10}, 10000, 8, 1},
        {7, 32, {10}, 1000, 7, 1},
        {8, 32, {200, 5, 5, 5, 5, 5, 5, 5}, 8, 1, 8}, /* the long sentence determines the time */
        {8, 32, {200, 5, 5, 5, 5, 5, 5, 5}, 32, 2, 4},
        {4, 32, {100, 100, 4, 4}, 4, 1, 4},
        {1000, 32, {10}, 999, 250, 4},
    };
    static tr_request requests[10000];
    static size_t order[10000];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (size_t i = 0, k = 0; i < cases[c].count; i++) {
            requests[i].source_length = cases[c].lengths[k];
            k = k < 7 && cases[c].lengths[k + 1] ? k + 1 : 0;
        }
        assert_int_equal(tr_requests_order(requests, cases[c].count, order, NULL), TR_OK);
        const tr_worker_layout layout =
            tr_worker_layout_choose(cases[c].threads, cases[c].batch_size, requests, order, cases[c].count);
        if (layout.workers != cases[c].workers || layout.threads != cases[c].each ||
            layout.larger != cases[c].threads % cases[c].workers)
            fail_msg("case %zu: %d workers of %d threads, not %d of %d", c, layout.workers, layout.threads, cases[c].workers,
                     cases[c].each);
    }
}

/* --------------------------------------------------------------------------------------------------------------- cache */

static void add(tr_translation_cache *cache, const char *text, const char *translation)
{
    const tr_result result = {
        .text = (char *)(uintptr_t)translation, .size = strlen(translation), .sentences = 2, .flags = 1};
    tr_translation_cache_add(cache, text, strlen(text), &result);
}

static bool has(tr_translation_cache *cache, const char *text, const char *translation)
{
    bool found;
    tr_result result;
    assert_int_equal(tr_translation_cache_find(cache, text, strlen(text), &found, &result, NULL), TR_OK);
    if (!found)
        return false;
    const bool same = !strcmp(result.text, translation) && result.sentences == 2 && result.flags == 1;
    assert_int_equal(result.size, strlen(result.text));
    free(result.text);
    return same;
}

static void cache_returns_what_it_was_given(void **state)
{
    (void)state;
    tr_translation_cache cache = {.limit = TR_TRANSLATION_CACHE_BYTES};
    tr_translate_options options = tr_translate_default_options();
    tr_language_pair pair = {.source = -1, .target = -1};
    tr_translation_cache_prepare(&cache, &options, &pair);
    assert_false(has(&cache, "a", ""));
    add(&cache, "a", "A");
    add(&cache, "ab", "");
    add(&cache, "a", "B"); /* the first one is kept */
    assert_true(has(&cache, "a", "A"));
    assert_true(has(&cache, "ab", ""));
    assert_false(has(&cache, "b", ""));
    tr_translation_cache_prepare(&cache, &options, &pair);
    assert_true(has(&cache, "a", "A"));
    options.min_length = 3;
    tr_translation_cache_prepare(&cache, &options, &pair);
    assert_false(has(&cache, "a", "A"));
    add(&cache, "a", "A");
    pair.traditional = (tr_bytes){"rules", 5};
    tr_translation_cache_prepare(&cache, &options, &pair);
    assert_false(has(&cache, "a", "A"));
    tr_translation_cache_free(&cache);
}

/* The cache stays within its limit, and keeps entries that are often used. */
static void cache_is_bounded(void **state)
{
    (void)state;
    tr_translation_cache cache = {.limit = 100000};
    add(&cache, "often", "used");
    char text[32], large[60000];
    for (int i = 0; i < 20000; i++) {
        snprintf(text, sizeof text, "text %d", i);
        add(&cache, text, "translation");
        assert_true(has(&cache, text, "translation"));
        assert_true(has(&cache, "often", "used"));
        assert_true(cache.young.bytes + cache.old.bytes <= cache.limit);
    }
    assert_false(has(&cache, "text 0", "translation"));
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = 0;
    add(&cache, large, "too large for one half");
    assert_false(has(&cache, large, "too large for one half"));
    assert_true(has(&cache, "often", "used"));
    tr_translation_cache_free(&cache);
}

/* ------------------------------------------------------------------------------------------------------------ completion */

static void texts_are_complete_with_the_last_of_their_requests(void **state)
{
    (void)state;
    const size_t *texts;
    tr_completion completion;
    /* text 0 waits for requests 0 and 1, text 1 twice for request 1, text 2 is blank, text 3 repeats text 0 */
    assert_int_equal(tr_completion_init(&completion, 2, 4, 4, NULL), TR_OK);
    tr_completion_repeat(&completion, 0);
    tr_completion_wait_for(&completion, 0, 0);
    tr_completion_wait_for(&completion, 0, 1);
    tr_completion_wait_for(&completion, 1, 1);
    tr_completion_wait_for(&completion, 1, 1);
    tr_completion_text(&completion, 2);
    const tr_request requests[] = {{.source_tokens = 3, .target_length = 2}, {.source_tokens = 2, .target_length = 5}};
    assert_int_equal(tr_completion_request(&completion, &requests[1], 1, &texts), 1);
    assert_int_equal(texts[0], 1);
    assert_int_equal(completion.counts.texts, 4);
    assert_int_equal(completion.counts.texts_done, 2);
    assert_int_equal(completion.counts.source_tokens, 2);
    assert_int_equal(completion.counts.target_tokens, 5);
    assert_int_equal(tr_completion_request(&completion, &requests[0], 0, &texts), 1);
    assert_int_equal(texts[0], 0);
    assert_int_equal(completion.counts.texts_done, 4);
    assert_int_equal(completion.counts.source_tokens, 5);
    assert_int_equal(completion.counts.target_tokens, 7);
    tr_completion_free(&completion);
}

static int note_progress(void *argument, const tr_progress *progress)
{
    *(tr_progress *)argument = *progress;
    return progress->texts_done == progress->texts;
}

static void progress_may_cancel(void **state)
{
    (void)state;
    tr_progress seen = {0}, counts = {.texts = 2};
    tr_error error;
    const tr_request request = {.source_tokens = 3, .target_length = 2};
    assert_int_equal(tr_progress_report(&counts, NULL, NULL, &error), TR_OK);
    tr_progress_add(&counts, &request, 1);
    assert_int_equal(tr_progress_report(&counts, note_progress, &seen, &error), TR_OK);
    assert_memory_equal(&seen, &counts, sizeof seen);
    tr_progress_add(&counts, &request, 1);
    assert_int_equal(tr_progress_report(&counts, note_progress, &seen, &error), TR_ERROR_CANCELLED);
    assert_int_equal(seen.target_tokens, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_chunks_share_a_request),
        cmocka_unit_test(requests_are_sorted_in_windows),
        cmocka_unit_test(threads_divide_by_what_there_is_to_do),
        cmocka_unit_test(cache_returns_what_it_was_given),
        cmocka_unit_test(cache_is_bounded),
        cmocka_unit_test(texts_are_complete_with_the_last_of_their_requests),
        cmocka_unit_test(progress_may_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
