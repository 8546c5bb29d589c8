/* NaN and infinity reach the rows that see them, and no other: all other rows are the same bits as with finite numbers. What
 * is masked, outside the window or in no block that a query sees has no effect. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/numbers.h"
#include "kinds.h"
#include "reference.h"

static const tr_attention_shape shape = {.batch = 2, .heads = 2, .queries = 39, .keys = 75, .d_k = 20, .d_v = 18};

static void set(const trial *t, void *x, int64_t index, float value)
{
    if (t->element == TR_ELEMENT_F32)
        ((float *)x)[index] = value;
    else
        ((uint16_t *)x)[index] = tr_bf16_from_f32(value);
}

/* A trial, which keys its queries see, and its result before a value in it was replaced. */
typedef struct setting {
    trial t;
    bool *pattern;
    float *before, *after;
} setting;

static setting make_setting(int n, bool masked, tr_element element)
{
    setting s = {.t = make_trial(shape, some_of_each_kind[n], element, 300 + (uint64_t)n, 1)};
    if (masked)
        give_all_masks(&s.t);
    s.t.options.threads = 1; /* one thread: the same bits as several, and faster */
    s.pattern = reference_pattern(&s.t);
    s.before = attended(&s.t);
    s.after = attended(&s.t);
    for (size_t i = 0; i < out_size(&s.t); i++)
        assert_true(isfinite(s.before[i]));
    return s;
}

static void free_setting(setting *s)
{
    free(s->pattern), free(s->before), free(s->after);
    free_trial(&s->t);
}

static bool sees_anything(const setting *s, int64_t b, int64_t h, int64_t i)
{
    for (int64_t j = 0; j < shape.keys; j++)
        if (reference_allows(&s->t, s->pattern, b, h, i, j))
            return true;
    return false;
}

/* What a row must become. */
enum verdict { SAME, ALL_NAN, COLUMN_NAN, COLUMN_NOT_FINITE };

static void expect_row(const setting *s, const char *what, int64_t row, enum verdict verdict, int64_t column)
{
    const float *after = s->after + row * shape.d_v, *before = s->before + row * shape.d_v;
    const bool good = verdict == SAME                ? memcmp(after, before, (size_t)shape.d_v * sizeof *after) == 0
                      : verdict == COLUMN_NAN        ? isnan(after[column])
                      : verdict == COLUMN_NOT_FINITE ? !isfinite(after[column])
                                                     : true;
    for (int64_t c = 0; verdict == ALL_NAN && c < shape.d_v; c++)
        if (!isnan(after[c]))
            fail_msg("%s: %s: row %d has %g in column %d", describe_trial(&s->t), what, (int)row, (double)after[c], (int)c);
    if (!good)
        fail_msg("%s: %s: row %d, %g before, is %g", describe_trial(&s->t), what, (int)row, (double)before[column],
                 (double)after[column]);
}

/* ----------------------------------------------------------------------------------------------- in a query, key, value */

static void check_query(setting *s, int64_t b, int64_t h, int64_t i)
{
    const int64_t pair = b * shape.heads + h, at = (pair * shape.queries + i) * shape.d_k + i % shape.d_k;
    const float kept = (float)widened(s->t.element, s->t.q, at);
    set(&s->t, s->t.q, at, NAN);
    attend(&s->t, s->after, NULL);
    for (int64_t row = 0; row < shape.batch * shape.heads * shape.queries; row++)
        expect_row(s, "NaN in a query", row, row == pair * shape.queries + i && sees_anything(s, b, h, i) ? ALL_NAN : SAME,
                   0);
    set(&s->t, s->t.q, at, kept);
}

/* Replaces number e of key or value j; the rows that may attend to j must become verdict. */
static void check_key(setting *s, const char *what, void *x, int64_t width, int64_t pair, int64_t j, int64_t e, float value,
                      enum verdict verdict)
{
    const int64_t at = (pair * shape.keys + j) * width + e;
    const float kept = (float)widened(s->t.element, x, at);
    set(&s->t, x, at, value);
    attend(&s->t, s->after, NULL);
    for (int64_t row = 0; row < shape.batch * shape.heads * shape.queries; row++) {
        const bool sees = row / shape.queries == pair && reference_allows(&s->t, s->pattern, pair / shape.heads,
                                                                          pair % shape.heads, row % shape.queries, j);
        expect_row(s, what, row, sees ? verdict : SAME, e < shape.d_v ? e : 0);
    }
    set(&s->t, x, at, kept);
}

static void check_setting(setting *s)
{
    for (int64_t i = 0; i < shape.queries; i += 19)
        check_query(s, i % 2, 1 - i % 2, i);
    for (int64_t j = 0; j < shape.keys; j += 7) {
        const int64_t pair = j % 4, e = j % shape.d_v;
        check_key(s, "NaN in a key", s->t.k, shape.d_k, pair, j, e, NAN, ALL_NAN);
        check_key(s, "NaN in a value", s->t.v, shape.d_v, pair, j, e, NAN, COLUMN_NAN);
        check_key(s, "infinity in a value", s->t.v, shape.d_v, pair, j, e, j % 2 ? INFINITY : -INFINITY, COLUMN_NOT_FINITE);
    }
}

static void rows_that_saw_it(void **state)
{
    (void)state;
    for (int n = 0; n < SOME_KINDS; n++)
        for (int ways = 0; ways < 4; ways++) {
            setting s = make_setting(n, ways & 1, ways & 2 ? TR_ELEMENT_BF16 : TR_ELEMENT_F32);
            check_setting(&s);
            free_setting(&s);
        }
}

/* --------------------------------------------------------------------------------------------------- where it is masked */

/* Everything that no query of a pair may see becomes NaN or infinite at once. */
static void spoil_unseen(setting *s, float value)
{
    for (int64_t pair = 0; pair < shape.batch * shape.heads; pair++)
        for (int64_t j = 0; j < shape.keys; j++) {
            bool seen = false;
            for (int64_t i = 0; i < shape.queries; i++)
                seen = seen || reference_allows(&s->t, s->pattern, pair / shape.heads, pair % shape.heads, i, j);
            for (int64_t e = 0; !seen && e < shape.d_k; e++)
                set(&s->t, s->t.k, (pair * shape.keys + j) * shape.d_k + e, value);
            for (int64_t e = 0; !seen && e < shape.d_v; e++)
                set(&s->t, s->t.v, (pair * shape.keys + j) * shape.d_v + e, value);
        }
}

static void unseen_has_no_influence(void **state)
{
    (void)state;
    static const float values[] = {NAN, INFINITY, -INFINITY, 3e38f};
    for (int n = 0; n < SOME_KINDS; n++)
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            setting s = make_setting(n, true, n % 2 ? TR_ELEMENT_BF16 : TR_ELEMENT_F32);
            float *weights = reserve(weights_size(&s.t), sizeof *weights),
                  *later = reserve(weights_size(&s.t), sizeof *later);
            attend(&s.t, s.after, weights);
            spoil_unseen(&s, values[i]);
            attend(&s.t, s.after, later);
            expect_bits(describe_trial(&s.t), s.after, s.before, out_size(&s.t));
            expect_bits(describe_trial(&s.t), later, weights, weights_size(&s.t));
            free(weights), free(later);
            free_setting(&s);
        }
}

/* Rows that may attend to nothing are zero, whatever the operands are. */
static void nothing_allowed(void **state)
{
    (void)state;
    for (int n = 0; n < SOME_KINDS; n++)
        for (int spoilt = 0; spoilt < 2; spoilt++) {
            trial t = make_trial(shape, some_of_each_kind[n], TR_ELEMENT_F32, 400, 1);
            limit(&t, (const int64_t[]){0, 0}, false);
            for (int64_t i = 0; spoilt && i < shape.batch * shape.heads * shape.keys; i++) {
                set(&t, t.k, i * shape.d_k, NAN);
                set(&t, t.v, i * shape.d_v, INFINITY);
                set(&t, t.q, i % (shape.batch * shape.heads * shape.queries) * shape.d_k, NAN);
            }
            float *out = reserve(out_size(&t), sizeof *out), *weights = reserve(weights_size(&t), sizeof *weights);
            attend(&t, out, weights);
            for (size_t i = 0; i < out_size(&t); i++)
                if (out[i] != 0)
                    fail_msg("%s: element %zu is %g", describe_trial(&t), i, (double)out[i]);
            for (size_t i = 0; i < weights_size(&t); i++)
                if (weights[i] != 0)
                    fail_msg("%s: weight %zu is %g", describe_trial(&t), i, (double)weights[i]);
            free(out), free(weights);
            free_trial(&t);
        }
}

/* A NaN in an additive mask reaches its query, unless the key is forbidden otherwise. */
static void added_nan(void **state)
{
    (void)state;
    for (int prior = 0; prior < 2; prior++) {
        setting s = make_setting(0, true, TR_ELEMENT_F32);
        const int64_t i = 5, h = 1, j = 40, *stride = prior ? s.t.mask.prior_stride : s.t.mask.additive_stride;
        float *added = (float *)(prior ? s.t.mask.prior : s.t.mask.additive) + h * stride[1] + i * stride[2] + j;
        bool allowed[2 * 2 * 39] = {false};
        for (int64_t row = 0; row < shape.batch * shape.heads * shape.queries; row++)
            allowed[row] = reference_allows(&s.t, s.pattern, row / (shape.heads * shape.queries),
                                            row / shape.queries % shape.heads, row % shape.queries, j);
        assert_true(*added != -INFINITY); /* it would show nothing */
        *added = NAN;
        attend(&s.t, s.after, NULL);
        for (int64_t row = 0; row < shape.batch * shape.heads * shape.queries; row++) {
            const bool has_it = row / shape.queries % shape.heads == h && (prior || row % shape.queries == i);
            expect_row(&s, "NaN added to a score", row, has_it && allowed[row] ? ALL_NAN : SAME, 0);
        }
        free_setting(&s);
    }
}

/* Scores near the greatest and least floats. */
static void extreme_scores(void **state)
{
    (void)state;
    static const float all[] = {-1e30f, -3e38f, 1e30f, 3e38f, -1e9f, 0};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        trial t = make_trial(shape, some_of_each_kind[0], TR_ELEMENT_F32, 500, 1);
        float *added = reserve((size_t)shape.keys, sizeof *added);
        for (int64_t j = 0; j < shape.keys; j++)
            added[j] = all[i];
        t.mask.additive = added;
        float *out = attended(&t), *weights = reserve(weights_size(&t), sizeof *weights);
        attend(&t, out, weights);
        for (int64_t row = 0; row < shape.batch * shape.heads * shape.queries; row++) {
            double sum = 0;
            for (int64_t j = 0; j < shape.keys; j++) {
                sum += (double)weights[row * shape.keys + j];
                if (fabsf(all[i]) >= 1e30f) /* the other scores are negligible: all weights are equal */
                    assert_float_equal(weights[row * shape.keys + j], 1 / (float)shape.keys, 1e-6);
            }
            assert_true(fabs(sum - 1) < 1e-5);
        }
        for (size_t e = 0; e < out_size(&t); e++)
            assert_true(fabsf(out[e]) <= 1);
        free(out), free(weights);
        free_trial(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_saw_it), cmocka_unit_test(unseen_has_no_influence), cmocka_unit_test(nothing_allowed),
        cmocka_unit_test(added_nan),        cmocka_unit_test(extreme_scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
