#include <math.h>
#include <string.h>

#include "attention/check.h"
#include "attention/mask.h"
#include "attention/phases.h"

/* Unit: a query of a pair. */
static void softmax_row(const void *work, int thread, int64_t unit)
{
    const tr_call *call = work;
    const tr_attention_mask *m = &call->mask;
    const int64_t pair = unit / call->queries;
    const int query = (int)(unit % call->queries);
    float *row = tr_row_weights(call, pair, query);
    const float *scores = (const float *)call->q.data + (row - call->weights);
    const bool own = m->lengths && m->lengths_by_query;
    int n = tr_mask_span(call, pair, query, 1).end;
    (void)thread;
    if (own) {
        const int64_t length = m->lengths[pair / call->heads * call->queries + query];
        n = length < n ? (int)length : n;
    }
    if (row != scores)
        memcpy(row, scores, (size_t)n * sizeof *row);
    tr_mask_apply(call, pair, query, (tr_key_span){0, n}, row);
    call->kernels->softmax(row, row, n);
    memset(row + n, 0, (size_t)(call->keys - n) * sizeof *row);
}

static tr_status check_tensors(const tr_call *call, const float *scores, tr_error *error)
{
    const uint64_t count = (uint64_t)call->pairs * (uint64_t)call->queries * (uint64_t)call->keys;
    tr_tensors tensors = {0};
    tr_tensors_add(&tensors, "weights", call->weights, count, sizeof(float), true);
    if (scores != call->weights)
        tr_tensors_add(&tensors, "scores", scores, count, sizeof(float), false);
    tr_tensors_add_call(&tensors, call);
    return tr_tensors_check(&tensors, error);
}

tr_status tr_attention_masked_softmax(const tr_attention_shape *shape, const tr_attention_mask *mask, const float *scores,
                                      float *weights, tr_error *error)
{
    tr_call call;
    tr_status status = tr_check_pointer("shape", shape, error);
    if (status != TR_OK)
        return status;
    tr_attention_shape sizes = *shape;
    sizes.d_k = sizes.d_v = 1;
    status = tr_check_call(&call, &sizes, NULL, mask, error);
    if (status == TR_OK)
        status =
            tr_check_product("weights", (const int64_t[]){call.pairs, call.queries, call.keys}, 3, sizeof(float), error);
    if (status == TR_OK)
        status = tr_check_pointer("scores", scores, error);
    if (status == TR_OK)
        status = tr_check_pointer("weights", weights, error);
    if (status != TR_OK)
        return status;
    call.weights = weights;
    call.q.data = scores;
    status = check_tensors(&call, scores, error);
    if (status == TR_OK)
        status = tr_check_lengths(&call, error);
    if (status != TR_OK)
        return status;
    tr_phases phases = {0};
    const int64_t units = call.pairs * call.queries;
    tr_phases_add(&phases, units, softmax_row, &call);
    return tr_phases_run(&phases, tr_phases_threads(0, (double)units * (double)call.keys, units), TR_THREADS_OPENMP, error);
}
