/* Which keys a query sees by the kind alone, and how the random blocks of block-sparse attention are chosen. */
#include <stdlib.h>
#include <string.h>

#include "kinds.h"
#include "reference.h"

static const tr_attention_shape shape = {.batch = 1, .heads = 4, .queries = 203, .keys = 310, .d_k = 1, .d_v = 1};
enum { HEADS = 4, QUERIES = 203, KEYS = 310, ELEMENTS = QUERIES * KEYS };

static bool *pattern_of(const tr_attention_options *options, int64_t position, int64_t head)
{
    bool *pattern = reserve(ELEMENTS, sizeof *pattern);
    tr_error error;
    if (tr_attention_pattern(&shape, options, position, head, pattern, &error))
        fail_msg("%s", error.message);
    return pattern;
}

/* Kinds without randomness: by the formulas, for every head. */
static void by_the_formulas(void **state)
{
    (void)state;
    for (int n = 0; n < SOME_KINDS; n++)
        for (int64_t position = 0; position < 400; position += 133) {
            if (some_of_each_kind[n].random_blocks)
                continue;
            trial t = {.shape = shape, .options = some_of_each_kind[n], .mask.position = position};
            if (t.options.rank)
                t.options.key_projection = t.options.value_projection = numbers(1, STREAM_KEY_PROJECTION, 9 * KEYS, 1);
            bool *wanted = reference_pattern(&t);
            for (int64_t head = 0; head < HEADS; head++) {
                bool *got = pattern_of(&t.options, position, head);
                assert_memory_equal(got, wanted + head * ELEMENTS, ELEMENTS);
                free(got);
            }
            free(wanted);
            free((void *)t.options.key_projection);
        }
}

static void without_options_all_keys_are_seen(void **state)
{
    (void)state;
    bool *pattern = pattern_of(NULL, 0, 0);
    for (int i = 0; i < ELEMENTS; i++)
        assert_true(pattern[i]);
    free(pattern);
}

/* --------------------------------------------------------------------------------------------------------- random blocks */

static int64_t key_blocks(const tr_attention_options *o)
{
    return (KEYS + o->block - 1) / o->block;
}

static bool is_local(const tr_attention_options *o, int64_t a, int64_t c)
{
    return (a < c ? c - a : a - c) <= o->local_blocks;
}

/* Whether every query sees all keys of the block without chance. */
static bool is_global(const tr_attention_options *o, int64_t c)
{
    const int64_t end = (c + 1) * o->block;
    return (end < KEYS ? end : KEYS) <= o->global_tokens;
}

/* Whether a row sees key block c: it must see all of the block, or nothing but global tokens. */
static bool sees_block(const tr_attention_options *o, const bool *row, int64_t c)
{
    const int64_t begin = c * o->block < o->global_tokens ? o->global_tokens : c * o->block, end = (c + 1) * o->block;
    for (int64_t j = begin; j < end && j < KEYS; j++)
        assert_true(row[j] == row[begin]);
    return row[begin];
}

/* Checks a row that is not a global token's; drawn[key blocks] receives the blocks that were chosen at random. */
static void check_row(const tr_attention_options *o, int64_t at, const bool *row, bool *drawn)
{
    const int64_t a = at / o->block;
    int64_t count = 0, candidates = 0;
    for (int64_t j = 0; j < o->global_tokens && j < KEYS; j++)
        assert_true(row[j]);
    for (int64_t c = 0; c < key_blocks(o); c++) {
        drawn[c] = false;
        if (is_global(o, c))
            continue;
        const bool seen = sees_block(o, row, c);
        if (is_local(o, a, c)) {
            assert_true(seen);
            continue;
        }
        drawn[c] = seen;
        count += seen;
        candidates++;
    }
    assert_int_equal(count, o->random_blocks < candidates ? o->random_blocks : candidates);
}

/* The random blocks of each query block: [query blocks from position on, key blocks], for free(). All rows of a block must
 * agree. */
static bool *drawn_blocks(const tr_attention_options *o, int64_t position, const bool *pattern)
{
    const int64_t first = position / o->block, count = key_blocks(o);
    bool *drawn = reserve((size_t)(((position + QUERIES - 1) / o->block - first + 1) * count), sizeof *drawn), now[KEYS];
    int64_t filled = 0;
    for (int64_t i = 0; i < QUERIES; i++) {
        const int64_t at = position + i, index = at / o->block - first;
        const bool *row = pattern + i * KEYS;
        if (at < o->global_tokens) {
            for (int64_t j = 0; j < KEYS; j++)
                assert_true(row[j]);
            memset(drawn, false, (size_t)((index + 1) * count));
            continue;
        }
        check_row(o, at, row, now);
        if (index < filled)
            assert_memory_equal(drawn + index * count, now, (size_t)count);
        memcpy(drawn + index * count, now, (size_t)count);
        filled = index + 1;
    }
    return drawn;
}

static const tr_attention_options sparse[] = {
    {.kind = TR_ATTENTION_BLOCK_SPARSE, .block = 16, .local_blocks = 1, .random_blocks = 3, .global_tokens = 0, .seed = 1},
    {.kind = TR_ATTENTION_BLOCK_SPARSE, .block = 16, .local_blocks = 1, .random_blocks = 3, .global_tokens = 32, .seed = 2},
    {.kind = TR_ATTENTION_BLOCK_SPARSE, .block = 7, .local_blocks = 0, .random_blocks = 5, .global_tokens = 14, .seed = 3},
    {.kind = TR_ATTENTION_BLOCK_SPARSE, .block = 32, .local_blocks = 2, .random_blocks = 1, .global_tokens = 5, .seed = 4},
    {.kind = TR_ATTENTION_BLOCK_SPARSE,
     .block = 1,
     .local_blocks = 0,
     .random_blocks = 20,
     .global_tokens = 1,
     .seed = UINT64_MAX},
    {.kind = TR_ATTENTION_BLOCK_SPARSE, .block = 64, .local_blocks = 0, .random_blocks = 100, .global_tokens = 0},
    {.kind = TR_ATTENTION_BLOCK_SPARSE, .block = 1000, .local_blocks = 0, .random_blocks = 1, .global_tokens = 0},
};
enum { SPARSE = sizeof sparse / sizeof *sparse };

static void random_blocks(void **state)
{
    (void)state;
    for (int n = 0; n < SPARSE; n++)
        for (int64_t position = 0; position < 300; position += 53)
            for (int64_t head = 0; head < HEADS; head++) {
                bool *pattern = pattern_of(&sparse[n], position, head), *again = pattern_of(&sparse[n], position, head);
                free(drawn_blocks(&sparse[n], position, pattern));
                assert_memory_equal(pattern, again, ELEMENTS);
                free(pattern), free(again);
            }
}

/* The random blocks of a query block depend on its position, not on where the queries begin. */
static void positions_count_on(void **state)
{
    (void)state;
    for (int n = 0; n < SPARSE; n++) {
        bool *from_start = pattern_of(&sparse[n], 0, 1), *later = pattern_of(&sparse[n], 50, 1);
        assert_memory_equal(from_start + 50 * KEYS, later, (QUERIES - 50) * KEYS);
        free(from_start), free(later);
    }
}

static void seeds_and_heads_differ(void **state)
{
    (void)state;
    bool *patterns[8];
    for (int64_t n = 0; n < 8; n++) {
        tr_attention_options options = sparse[0];
        options.seed = (uint64_t)n / 4;
        patterns[n] = pattern_of(&options, 0, n % 4);
    }
    for (int a = 0; a < 8; a++)
        for (int b = 0; b < a; b++)
            assert_memory_not_equal(patterns[a], patterns[b], ELEMENTS);
    for (int n = 0; n < 8; n++)
        free(patterns[n]);
}

/* Each block that can be chosen is chosen, about equally often. */
static void chance_is_fair(void **state)
{
    (void)state;
    tr_attention_options o = sparse[0];
    const int64_t count = key_blocks(&o), a = 5;
    int64_t drawn_of[KEYS] = {0}, drawings = 0;
    for (o.seed = 0; o.seed < 500; o.seed++)
        for (int64_t head = 0; head < HEADS; head++, drawings++) {
            bool *pattern = pattern_of(&o, 0, head), now[KEYS];
            check_row(&o, a * o.block, pattern + a * o.block * KEYS, now);
            for (int64_t c = 0; c < count; c++)
                drawn_of[c] += now[c];
            free(pattern);
        }
    const double expected = (double)(drawings * o.random_blocks) / (double)(count - 3);
    for (int64_t c = 0; c < count; c++)
        if (!is_local(&o, a, c) && !((double)drawn_of[c] > 0.8 * expected && (double)drawn_of[c] < 1.2 * expected))
            fail_msg("block %d was drawn %d times, not about %.0f", (int)c, (int)drawn_of[c], expected);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    static bool pattern[ELEMENTS];
    static const struct {
        int64_t position, head;
        const char *field;
    } bad[] = {{-1, 0, "position"}, {0, -1, "head"}, {0, HEADS, "head"}, {INT64_MAX, 0, "position"}};
    tr_error error;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(tr_attention_pattern(&shape, &sparse[0], bad[i].position, bad[i].head, pattern, &error),
                         TR_ERROR_ARGUMENT);
        assert_non_null(strstr(error.message, bad[i].field));
    }
    assert_int_equal(tr_attention_pattern(&shape, &sparse[0], 0, 0, NULL, &error), TR_ERROR_ARGUMENT);
    assert_int_equal(tr_attention_pattern(NULL, &sparse[0], 0, 0, pattern, &error), TR_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_the_formulas),        cmocka_unit_test(without_options_all_keys_are_seen),
        cmocka_unit_test(random_blocks),          cmocka_unit_test(positions_count_on),
        cmocka_unit_test(seeds_and_heads_differ), cmocka_unit_test(chance_is_fair),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
