/* Units, batches, the memory of texts, and the tally: all that surrounds decoding and needs no model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pipeline/memory.h"
#include "pipeline/scheduler.h"
#include "pipeline/tally.h"

/* -------------------------------------------------------------------------------------------------------------- units */

static void equal_chunks_share_a_unit(void **state)
{
    (void)state;
    static const int32_t first[] = {5, 6, 0, 0, 5, 6, 0}, second[] = {5, 0, 5, 6, 0};
    tr_chunk a = {.ids = 0, .length = 3}, empty = {.ids = 3, .length = 1}, b = {.ids = 4, .length = 3};
    tr_chunk c = {.ids = 0, .length = 2}, d = {.ids = 2, .length = 3};
    tr_chunk *chunks[] = {&a, &empty, &b, &c, &d};
    const int32_t *bases[] = {first, first, first, second, second};
    tr_unit *units;
    size_t count;
    assert_int_equal(tr_units_make(chunks, bases, 5, true, &units, &count, NULL), TR_OK);
    assert_int_equal(count, 2);
    assert_int_equal(a.unit, 0);
    assert_int_equal(b.unit, 0);
    assert_int_equal(d.unit, 0);
    assert_int_equal(c.unit, 1);
    assert_true(empty.unit == SIZE_MAX);
    assert_ptr_equal(units[1].source, second);
    assert_int_equal(units[1].source_length, 2);
    free(units);
    assert_int_equal(tr_units_make(chunks, bases, 5, false, &units, &count, NULL), TR_OK);
    assert_int_equal(count, 4);
    assert_int_equal(d.unit, 3);
    free(units);
    d.piece = true; /* its translation is bounded otherwise: a unit of its own */
    assert_int_equal(tr_units_make(chunks, bases, 5, true, &units, &count, NULL), TR_OK);
    assert_int_equal(count, 3);
    assert_int_equal(d.unit, 2);
    assert_true(units[2].piece && !units[0].piece);
    free(units);
    assert_int_equal(tr_units_make(NULL, NULL, 0, true, &units, &count, NULL), TR_OK);
    assert_int_equal(count, 0);
    free(units);
}

/* ------------------------------------------------------------------------------------------------------------- batches */

/* Each unit once, longest first and stable, within the limits. */
static void check_batches(const tr_unit *units, size_t count, int batch_size, int groups)
{
    tr_batches batches;
    assert_int_equal(tr_batches_make(units, count, batch_size, groups, &batches, NULL), TR_OK);
    size_t at = 0;
    for (size_t b = 0; b < batches.count; b++) {
        size_t tokens = 0;
        assert_int_equal(batches.batches[b].first, at);
        assert_in_range(batches.batches[b].count, 1, batch_size);
        for (int i = 0; i < batches.batches[b].count; i++, at++)
            tokens += (size_t)units[batches.order[at]].source_length;
        assert_true(tokens <= (size_t)batch_size * TR_BATCH_TOKENS || batches.batches[b].count == 1);
    }
    assert_int_equal(at, count);
    for (size_t b = 0; b < batches.count; b++)
        for (int i = 0; i < batches.batches[b].count; i++)
            assert_int_equal(units[batches.order[batches.batches[b].first + (size_t)i]].piece, batches.batches[b].piece);
    for (size_t i = 1; i < count; i++) {
        const size_t before = batches.order[i - 1], here = batches.order[i];
        assert_true(units[before].piece <= units[here].piece);
        assert_true(units[before].piece < units[here].piece || units[before].source_length > units[here].source_length ||
                    (units[before].source_length == units[here].source_length && before < here));
    }
    if (count >= (size_t)groups) /* rounding up leaves at most half of the groups without a batch */
        assert_true(2 * batches.count >= (size_t)groups);
    tr_batches_free(&batches);
}

static void batches_hold_all_units_in_order(void **state)
{
    (void)state;
    tr_unit units[300] = {0};
    uint32_t random = 7;
    for (size_t i = 0; i < 300; i++) {
        random = random * 1664525 + 1013904223;
        units[i].source_length = 1 + (int)(random >> 16) % (i % 10 ? 40 : 511);
        units[i].piece = random >> 30 == 3;
    }
    static const size_t counts[] = {0, 1, 2, 3, 31, 32, 33, 64, 65, 299, 300};
    static const int sizes[] = {1, 2, 32, 1000}, groups[] = {1, 2, 7, 64};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
                if (counts[c] == 0 || counts[c] >= (size_t)groups[g] || groups[g] == 1)
                    check_batches(units, counts[c], sizes[s], groups[g]);
}

static void threads_share_or_divide_the_work(void **state)
{
    (void)state;
    assert_int_equal(tr_scheduler_shape(4, 32, 3).groups, 1);
    assert_int_equal(tr_scheduler_shape(4, 32, 3).members, 4);
    assert_int_equal(tr_scheduler_shape(4, 32, 4).groups, 4);
    assert_int_equal(tr_scheduler_shape(4, 32, 4).members, 1);
    assert_int_equal(tr_scheduler_shape(4, 1, 400).groups, 1);
    assert_int_equal(tr_scheduler_shape(1, 32, 400).members, 1);
}

/* -------------------------------------------------------------------------------------------------------------- memory */

static void add(tr_memory *memory, const char *text, const char *translation)
{
    const tr_result result = {
        .text = (char *)(uintptr_t)translation, .size = strlen(translation), .sentences = 2, .flags = 1};
    tr_memory_add(memory, text, strlen(text), &result);
}

static bool has(tr_memory *memory, const char *text, const char *translation)
{
    bool found;
    tr_result result;
    assert_int_equal(tr_memory_find(memory, text, strlen(text), &found, &result, NULL), TR_OK);
    if (!found)
        return false;
    const bool same = !strcmp(result.text, translation) && result.sentences == 2 && result.flags == 1;
    assert_int_equal(result.size, strlen(result.text));
    free(result.text);
    return same;
}

static void memory_returns_what_it_was_given(void **state)
{
    (void)state;
    tr_memory memory = {0};
    tr_translate_options options = tr_translate_default_options();
    tr_memory_prepare(&memory, &options);
    assert_false(has(&memory, "a", ""));
    add(&memory, "a", "A");
    add(&memory, "ab", "");
    add(&memory, "a", "B"); /* the first one stays */
    assert_true(has(&memory, "a", "A"));
    assert_true(has(&memory, "ab", ""));
    assert_false(has(&memory, "b", ""));
    tr_memory_prepare(&memory, &options);
    assert_true(has(&memory, "a", "A"));
    options.min_length = 3;
    tr_memory_prepare(&memory, &options);
    assert_false(has(&memory, "a", "A"));
    tr_memory_free(&memory);
}

/* It stays within its limit, and keeps what is asked for again and again. */
static void memory_is_bounded(void **state)
{
    (void)state;
    tr_memory memory = {.limit = 100000};
    add(&memory, "often", "used");
    char text[32], large[60000];
    for (int i = 0; i < 20000; i++) {
        snprintf(text, sizeof text, "text %d", i);
        add(&memory, text, "translation");
        assert_true(has(&memory, text, "translation"));
        assert_true(has(&memory, "often", "used"));
        assert_true(memory.young.bytes + memory.old.bytes <= memory.limit);
    }
    assert_false(has(&memory, "text 0", "translation"));
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = 0;
    add(&memory, large, "too large for one half");
    assert_false(has(&memory, large, "too large for one half"));
    assert_true(has(&memory, "often", "used"));
    tr_memory_free(&memory);
}

/* --------------------------------------------------------------------------------------------------------------- tally */

static int note_progress(void *argument, const tr_progress *progress)
{
    *(tr_progress *)argument = *progress;
    return progress->texts_done == progress->texts;
}

static void tally_counts_texts_when_all_their_units_are_done(void **state)
{
    (void)state;
    tr_progress seen = {0};
    tr_translate_options options = tr_translate_default_options();
    options.progress = note_progress;
    options.progress_argument = &seen;
    tr_tally tally;
    /* text 0 waits for units 0 and 1, text 1 twice for unit 1, text 2 is blank, text 3 repeats text 0 */
    assert_int_equal(tr_tally_init(&tally, &options, 2, 4, 4, NULL), TR_OK);
    tr_tally_repeat(&tally, 0);
    tr_tally_wait(&tally, 0, 0);
    tr_tally_wait(&tally, 0, 1);
    tr_tally_wait(&tally, 1, 1);
    tr_tally_wait(&tally, 1, 1);
    tr_tally_finish(&tally, 2);
    const tr_unit units[] = {{.source_length = 4, .target_length = 2}, {.source_length = 3, .target_length = 5}};
    assert_true(tr_tally_done(&tally, units, (const size_t[]){1}, 1));
    assert_int_equal(seen.texts, 4);
    assert_int_equal(seen.texts_done, 2);
    assert_int_equal(seen.source_tokens, 2);
    assert_int_equal(seen.target_tokens, 5);
    assert_false(tr_tally_done(&tally, units, (const size_t[]){0}, 1));
    assert_int_equal(seen.texts_done, 4);
    assert_int_equal(seen.source_tokens, 5);
    assert_int_equal(seen.target_tokens, 7);
    tr_tally_free(&tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_chunks_share_a_unit),
        cmocka_unit_test(batches_hold_all_units_in_order),
        cmocka_unit_test(threads_share_or_divide_the_work),
        cmocka_unit_test(memory_returns_what_it_was_given),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(tally_counts_texts_when_all_their_units_are_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
