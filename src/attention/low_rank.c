#include "attention/low_rank.h"

#include <math.h>
#include <string.h>

#include "attention/mask.h"
#include "util/numbers.h"

enum { WIDENED_ROWS = 128 }; /* rows that are widened at a time */

void tr_low_rank_add_buffers(tr_low_rank_buffers *buffers, const tr_call *call, int threads, tr_layout *layout)
{
    const uint64_t keys = (uint64_t)call->d_k, values = (uint64_t)call->d_v;
    buffers->keys = tr_layout_add_per_thread(layout, threads, TR_BLOCK * keys, sizeof(float));
    buffers->values = tr_layout_add_per_thread(layout, threads, TR_BLOCK * values, sizeof(float));
    buffers->widened =
        tr_layout_add_per_thread(layout, threads, WIDENED_ROWS * (uint64_t)tr_max_int(call->d_k, call->d_v), sizeof(float));
}

/* --------------------------------------------------------------------------------------------------------- projections */

/* y[count, width] += sum over the keys of a run of projection[first + r, key] row[key]. */
static void add_projected(const tr_call *call, float *widened, const tr_rows *rows, int width, const float *projection,
                          tr_key_span run, int64_t pair, int first, int count, float *y)
{
    for (int key = run.begin, n; key < run.end; key += n) {
        n = run.end - key < WIDENED_ROWS ? run.end - key : WIDENED_ROWS;
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

static void compress_by_projection(const tr_call *call, const tr_low_rank_buffers *buffers, int thread, int64_t pair,
                                   int first, int count, float *bias)
{
    float *keys = tr_thread_buffer(&buffers->keys, thread), *values = tr_thread_buffer(&buffers->values, thread);
    float *widened = tr_thread_buffer(&buffers->widened, thread);
    bool any = false;
    memset(keys, 0, (size_t)count * (size_t)call->d_k * sizeof *keys);
    memset(values, 0, (size_t)count * (size_t)call->d_v * sizeof *values);
    for (tr_key_span run = {0, 0}; tr_mask_run(call, pair, call->keys, &run); run.begin = run.end) {
        add_projected(call, widened, &call->k, call->d_k, call->options.key_projection, run, pair, first, count, keys);
        add_projected(call, widened, &call->v, call->d_v, call->options.value_projection, run, pair, first, count, values);
        any = true;
    }
    for (int i = 0; i < count; i++)
        bias[i] = any ? 0 : -INFINITY;
}

/* --------------------------------------------------------------------------------------------------------------- means */

/* mean [width] += the rows of a run. */
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

/* Writes the means of keys and values number pool .. (number + 1) pool - 1. Returns false if all are masked: the means are
 * 0. */
static bool pool_one(const tr_call *call, float *widened, int64_t pair, int number, float *key, float *value)
{
    const int64_t first = number * call->options.pool, end = first + call->options.pool;
    const int last = end < call->keys ? (int)end : call->keys;
    int count = 0;
    memset(key, 0, (size_t)call->d_k * sizeof *key);
    memset(value, 0, (size_t)call->d_v * sizeof *value);
    for (tr_key_span run = {(int)first, (int)first}; tr_mask_run(call, pair, last, &run); run.begin = run.end) {
        add_rows(call, widened, &call->k, call->d_k, run, pair, key);
        add_rows(call, widened, &call->v, call->d_v, run, pair, value);
        count += run.end - run.begin;
    }
    if (count) {
        divide(key, call->d_k, count);
        divide(value, call->d_v, count);
    }
    return count > 0;
}

static void compress_by_means(const tr_call *call, const tr_low_rank_buffers *buffers, int thread, int64_t pair, int first,
                              int count, float *bias)
{
    float *keys = tr_thread_buffer(&buffers->keys, thread), *values = tr_thread_buffer(&buffers->values, thread);
    for (int i = 0; i < count; i++) {
        const bool any = pool_one(call, tr_thread_buffer(&buffers->widened, thread), pair, first + i,
                                  keys + (size_t)i * (size_t)call->d_k, values + (size_t)i * (size_t)call->d_v);
        bias[i] = any ? 0 : -INFINITY;
    }
}

void tr_low_rank_compress(const tr_call *call, const tr_low_rank_buffers *buffers, int thread, int64_t pair, int first,
                          int count, float *bias)
{
    if (call->options.pool)
        compress_by_means(call, buffers, thread, pair, first, count, bias);
    else
        compress_by_projection(call, buffers, thread, pair, first, count, bias);
}
