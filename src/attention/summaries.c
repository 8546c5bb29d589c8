#include "attention/summaries.h"

#include <math.h>
#include <string.h>

#include "attention/mask.h"

enum { SUMMED = 128 }; /* rows that are widened at a time */

static int larger(int a, int b)
{
    return a > b ? a : b;
}

void tr_summaries_lay_out(tr_summary_rooms *rooms, const tr_call *call, int threads, tr_room *room)
{
    const uint64_t keys = (uint64_t)call->key_size, values = (uint64_t)call->value_size;
    rooms->keys = tr_rooms_take(room, threads, TR_BLOCK * keys, sizeof(float));
    rooms->values = tr_rooms_take(room, threads, TR_BLOCK * values, sizeof(float));
    rooms->widened =
        tr_rooms_take(room, threads, SUMMED * (uint64_t)larger(call->key_size, call->value_size), sizeof(float));
}

/* --------------------------------------------------------------------------------------------------------- projections */

/* y[r] += sum over keys of a run of projection[r, key] row of key, for rows of the projection from first on. */
static void add_projected(const tr_call *call, float *widened, const tr_rows *rows, int width, const float *projection,
                          tr_key_span run, int64_t pair, int first, int count, float *y)
{
    for (int key = run.begin, n; key < run.end; key += n) {
        n = run.end - key < SUMMED ? run.end - key : SUMMED;
        const void *from = tr_row(call, rows, pair, key);
        const bool in_place = rows->element == TR_ELEMENT_F32;
        if (!in_place)
            tr_widen(call->kernels, rows, from, n, width, widened, (size_t)width);
        call->kernels->gemm_nn(&(tr_gemm_nn){.rows = count,
                                             .n = n,
                                             .width = width,
                                             .a = projection + (size_t)first * (size_t)call->keys + key,
                                             .a_stride = (size_t)call->keys,
                                             .b = in_place ? from : widened,
                                             .b_stride = in_place ? rows->strides.row : (size_t)width,
                                             .add = true,
                                             .y = y,
                                             .y_stride = (size_t)width});
    }
}

static void project(const tr_call *call, const tr_summary_rooms *rooms, int thread, int64_t pair, int first, int count,
                    float *bias)
{
    float *keys = tr_rooms_at(&rooms->keys, thread), *values = tr_rooms_at(&rooms->values, thread);
    float *widened = tr_rooms_at(&rooms->widened, thread);
    bool any = false;
    memset(keys, 0, (size_t)count * (size_t)call->key_size * sizeof *keys);
    memset(values, 0, (size_t)count * (size_t)call->value_size * sizeof *values);
    for (tr_key_span run = {0, 0}; tr_mask_run(call, pair, call->keys, &run); run.begin = run.end) {
        add_projected(call, widened, &call->k, call->key_size, call->asked.key_projection, run, pair, first, count, keys);
        add_projected(call, widened, &call->v, call->value_size, call->asked.value_projection, run, pair, first, count,
                      values);
        any = true;
    }
    for (int i = 0; i < count; i++)
        bias[i] = any ? 0 : -INFINITY;
}

/* --------------------------------------------------------------------------------------------------------------- means */

/* mean += rows of a run. */
static void add_rows(const tr_call *call, float *widened, const tr_rows *rows, int width, tr_key_span run, int64_t pair,
                     float *mean)
{
    for (int key = run.begin; key < run.end; key++) {
        tr_widen(call->kernels, rows, tr_row(call, rows, pair, key), 1, width, widened, 0);
        call->kernels->add(mean, mean, widened, width);
    }
}

static void divide(float *mean, int width, int count)
{
    for (int d = 0; d < width; d++)
        mean[d] /= (float)count;
}

/* Summary number, of keys [number pool, ...); false: the mean of nothing, zero. */
static bool pool_one(const tr_call *call, float *widened, int64_t pair, int number, float *key, float *value)
{
    const int64_t first = number * call->asked.pool, end = first + call->asked.pool;
    const int last = end < call->keys ? (int)end : call->keys;
    int count = 0;
    memset(key, 0, (size_t)call->key_size * sizeof *key);
    memset(value, 0, (size_t)call->value_size * sizeof *value);
    for (tr_key_span run = {(int)first, (int)first}; tr_mask_run(call, pair, last, &run); run.begin = run.end) {
        add_rows(call, widened, &call->k, call->key_size, run, pair, key);
        add_rows(call, widened, &call->v, call->value_size, run, pair, value);
        count += run.end - run.begin;
    }
    if (count) {
        divide(key, call->key_size, count);
        divide(value, call->value_size, count);
    }
    return count > 0;
}

static void pool(const tr_call *call, const tr_summary_rooms *rooms, int thread, int64_t pair, int first, int count,
                 float *bias)
{
    float *keys = tr_rooms_at(&rooms->keys, thread), *values = tr_rooms_at(&rooms->values, thread);
    for (int i = 0; i < count; i++) {
        const bool any = pool_one(call, tr_rooms_at(&rooms->widened, thread), pair, first + i,
                                  keys + (size_t)i * (size_t)call->key_size, values + (size_t)i * (size_t)call->value_size);
        bias[i] = any ? 0 : -INFINITY;
    }
}

void tr_summaries_make(const tr_call *call, const tr_summary_rooms *rooms, int thread, int64_t pair, int first, int count,
                       float *bias)
{
    if (call->asked.pool)
        pool(call, rooms, thread, pair, first, count, bias);
    else
        project(call, rooms, thread, pair, first, count, bias);
}
