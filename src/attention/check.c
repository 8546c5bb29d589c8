#include "attention/check.h"
#include "kernels/dispatch.h"

#include <inttypes.h>
#include <math.h>

#include "util/team.h"

tr_status tr_check_range(const char *name, int64_t value, int64_t least, int64_t most, tr_error *error)
{
    if (value >= least && value <= most)
        return TR_OK;
    return tr_fail(error, TR_ERROR_ARGUMENT, "%s: %" PRId64 " is not between %" PRId64 " and %" PRId64, name, value, least,
                   most);
}

tr_status tr_check_sizes(const tr_size *sizes, int count, tr_error *error)
{
    tr_status status = TR_OK;
    for (int i = 0; status == TR_OK && i < count; i++)
        status = tr_check_range(sizes[i].name, sizes[i].value, 1, sizes[i].most, error);
    return status;
}

tr_status tr_check_pointer(const char *name, const void *pointer, tr_error *error)
{
    return pointer ? TR_OK : tr_fail(error, TR_ERROR_ARGUMENT, "%s: is NULL", name);
}

tr_status tr_check_element(tr_element element, tr_error *error)
{
    if (element == TR_ELEMENT_F32 || element == TR_ELEMENT_BF16)
        return TR_OK;
    return tr_fail(error, TR_ERROR_ARGUMENT, "element: %d is neither TR_ELEMENT_F32 nor TR_ELEMENT_BF16", (int)element);
}

tr_status tr_check_product(const char *name, const int64_t *sizes, int count, size_t bytes, tr_error *error)
{
    int64_t product = (int64_t)bytes;
    bool fits = true;
    for (int i = 0; i < count; i++)
        fits = fits && !__builtin_mul_overflow(product, sizes[i], &product);
    if (fits && (uint64_t)product <= PTRDIFF_MAX)
        return TR_OK;
    return tr_fail(error, TR_ERROR_ARGUMENT, "%s: the product of its sizes is more than memory can hold", name);
}

/* -------------------------------------------------------------------------------------------------------------- sizes */

static tr_status check_shape(tr_call *call, const tr_attention_shape *s, tr_error *error)
{
    const tr_size sizes[] = {
        {"batch", s->batch, TR_LENGTH_MOST}, {"heads", s->heads, TR_LENGTH_MOST}, {"queries", s->queries, TR_LENGTH_MOST},
        {"keys", s->keys, TR_LENGTH_MOST},   {"key_size", s->d_k, TR_HEAD_MOST},  {"value_size", s->d_v, TR_HEAD_MOST},
    };
    tr_status status = tr_check_sizes(sizes, sizeof sizes / sizeof *sizes, error);
    if (status != TR_OK)
        return status;
    const int64_t length = s->queries > s->keys ? s->queries : s->keys, size = s->d_k > s->d_v ? s->d_k : s->d_v;
    status = tr_check_product("batch, heads, queries, keys, key_size, value_size",
                              (const int64_t[]){s->batch, s->heads, length, size}, 4, sizeof(float), error);
    call->pairs = s->batch * s->heads;
    call->heads = (int)s->heads;
    call->queries = (int)s->queries;
    call->keys = call->columns = (int)s->keys;
    call->key_size = (int)s->d_k;
    call->value_size = (int)s->d_v;
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ options */

static tr_status check_block_sparse(const tr_attention_options *o, tr_error *error)
{
    tr_status status = tr_check_range("block", o->block, 1, INT64_MAX, error);
    if (status == TR_OK)
        status = tr_check_range("local_blocks", o->local_blocks, 0, INT64_MAX, error);
    if (status == TR_OK)
        status = tr_check_range("random_blocks", o->random_blocks, 0, INT64_MAX, error);
    return status == TR_OK ? tr_check_range("global_tokens", o->global_tokens, 0, INT64_MAX, error) : status;
}

static tr_status check_low_rank(tr_call *call, const tr_attention_options *o, tr_error *error)
{
    if (o->rank && o->pool)
        return tr_fail(error, TR_ERROR_ARGUMENT,
                       "rank: %" PRId64 " and pool %" PRId64 " exclude each other: one of them is 0", o->rank, o->pool);
    tr_status status;
    if (o->pool) {
        status = tr_check_range("pool", o->pool, 1, INT64_MAX, error);
        if (status == TR_OK)
            call->columns = o->pool >= call->keys ? 1 : (int)((call->keys + o->pool - 1) / o->pool);
        return status;
    }
    status = tr_check_range("rank", o->rank, 1, TR_LENGTH_MOST, error);
    if (status == TR_OK)
        status = tr_check_product("rank, keys", (const int64_t[]){o->rank, call->keys}, 2, sizeof(float), error);
    call->columns = (int)o->rank;
    return status;
}

static tr_status check_kind(tr_call *call, const tr_attention_options *o, tr_error *error)
{
    switch (o->kind) {
    case TR_ATTENTION_EXACT:
    case TR_ATTENTION_LINEAR: return TR_OK;
    case TR_ATTENTION_LOCAL: return tr_check_range("window", o->window, 0, INT64_MAX, error);
    case TR_ATTENTION_BLOCK_SPARSE: return check_block_sparse(o, error);
    case TR_ATTENTION_LOW_RANK: return check_low_rank(call, o, error);
    }
    return tr_fail(error, TR_ERROR_ARGUMENT, "kind: %d is no tr_attention_kind", (int)o->kind);
}

static int64_t at_most(int64_t value, int64_t most)
{
    return value < most ? value : most;
}

/* Numbers of positions above all that there are say the same as that many. */
static void trim_options(tr_call *call)
{
    tr_attention_options *o = &call->asked;
    const int64_t most = call->keys;
    o->window = at_most(o->window, TR_LENGTH_MOST);
    o->block = at_most(o->block, TR_LENGTH_MOST);
    o->local_blocks = at_most(o->local_blocks, TR_LENGTH_MOST);
    o->random_blocks = at_most(o->random_blocks, most);
    o->global_tokens = at_most(o->global_tokens, TR_LENGTH_MOST);
    o->pool = at_most(o->pool, most);
}

static tr_status check_options(tr_call *call, const tr_attention_options *o, tr_error *error)
{
    tr_status status = check_kind(call, o, error);
    if (status == TR_OK && !isfinite(o->scale))
        status = tr_fail(error, TR_ERROR_ARGUMENT, "scale: %g is not a finite number", (double)o->scale);
    if (status == TR_OK)
        status = tr_check_range("threads", o->threads, 0, TR_TEAM_MAX, error);
    if (status == TR_OK)
        status = tr_check_range("tile", o->tile, 0, INT64_MAX, error);
    if (status == TR_OK)
        status = tr_kernels_select(o->cpu, &call->kernels, error);
    call->asked = *o;
    if (o->scale == 0)
        call->asked.scale = 1 / sqrtf((float)call->key_size);
    trim_options(call);
    return status;
}

/* --------------------------------------------------------------------------------------------------------------- mask */

static tr_status check_strides(const tr_call *call, const char *name, const void *data, const int64_t stride[3],
                               size_t bytes, tr_error *error)
{
    const int64_t counts[3] = {call->pairs / call->heads, call->heads, call->queries};
    int64_t extent = call->keys;
    bool fits = true;
    for (int i = 0; data && i < 3; i++) {
        int64_t far;
        if (stride[i] < 0)
            return tr_fail(error, TR_ERROR_ARGUMENT, "%s_stride[%d]: %" PRId64 " is negative", name, i, stride[i]);
        fits =
            fits && !__builtin_mul_overflow(counts[i] - 1, stride[i], &far) && !__builtin_add_overflow(extent, far, &extent);
    }
    fits = fits && !__builtin_mul_overflow(extent, (int64_t)bytes, &extent) && (uint64_t)extent <= PTRDIFF_MAX;
    return fits ? TR_OK : tr_fail(error, TR_ERROR_ARGUMENT, "%s_stride: reaches farther than memory can", name);
}

/* Kinds whose keys are put together before a query sees them take one mask for all queries, and add nothing to scores. */
static tr_status check_one_for_all(const tr_call *call, const tr_attention_mask *m, tr_error *error)
{
    const bool linear = call->asked.kind == TR_ATTENTION_LINEAR;
    const char *kind = linear ? "linear" : "low-rank";
    if (!linear && call->asked.kind != TR_ATTENTION_LOW_RANK)
        return TR_OK;
    if (m->additive || m->prior)
        return tr_fail(error, TR_ERROR_ARGUMENT, "%s: %s attention has no scores of keys to add it to",
                       m->additive ? "additive" : "prior", kind);
    if (m->allowed && m->allowed_stride[2])
        return tr_fail(error, TR_ERROR_ARGUMENT,
                       "allowed_stride[2]: %" PRId64 " is not 0: %s attention takes one mask for all queries",
                       m->allowed_stride[2], kind);
    if (m->lengths && m->lengths_by_query)
        return tr_fail(error, TR_ERROR_ARGUMENT, "lengths_by_query: %s attention takes one mask for all queries", kind);
    if (m->causal && !linear)
        return tr_fail(error, TR_ERROR_ARGUMENT, "causal: low-rank attention mixes all keys, later ones too");
    return TR_OK;
}

static tr_status check_mask(tr_call *call, const tr_attention_mask *m, tr_error *error)
{
    tr_status status = tr_check_range("position", m->position, 0, TR_LENGTH_MOST - call->queries, error);
    if (status == TR_OK)
        status = check_strides(call, "allowed", m->allowed, m->allowed_stride, sizeof *m->allowed, error);
    if (status == TR_OK)
        status = check_strides(call, "additive", m->additive, m->additive_stride, sizeof *m->additive, error);
    if (status == TR_OK)
        status = check_strides(call, "prior", m->prior, m->prior_stride, sizeof *m->prior, error);
    call->mask = *m;
    return status == TR_OK ? check_one_for_all(call, m, error) : status;
}

tr_status tr_check_lengths(const tr_call *call, tr_error *error)
{
    const tr_attention_mask *m = &call->mask;
    const int64_t count = call->pairs / call->heads * (m->lengths_by_query ? call->queries : 1);
    for (int64_t i = 0; m->lengths && i < count; i++) {
        if (m->lengths[i] < 0)
            return tr_fail(error, TR_ERROR_ARGUMENT, "lengths[%" PRId64 "]: %" PRId64 " is negative", i, m->lengths[i]);
        if (m->lengths[i] > call->keys)
            return tr_fail(error, TR_ERROR_ARGUMENT, "lengths[%" PRId64 "]: %" PRId64 " is more than the %d keys", i,
                           m->lengths[i], call->keys);
    }
    return TR_OK;
}

/* ---------------------------------------------------------------------------------------------------------------- all */

tr_status tr_check_call(tr_call *call, const tr_attention_shape *shape, const tr_attention_options *options,
                        const tr_attention_mask *mask, tr_error *error)
{
    static const tr_attention_options exact = {.kind = TR_ATTENTION_EXACT};
    static const tr_attention_mask none = {0};
    *call = (tr_call){0};
    tr_status status = tr_check_pointer("shape", shape, error);
    if (status == TR_OK)
        status = check_shape(call, shape, error);
    if (status == TR_OK)
        status = check_options(call, options ? options : &exact, error);
    return status == TR_OK ? check_mask(call, mask ? mask : &none, error) : status;
}
