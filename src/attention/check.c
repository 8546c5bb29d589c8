#include "attention/check.h"
#include "kernels/dispatch.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "util/numbers.h"
#include "util/team.h"

tr_status tr_check_range(const char *name, int64_t value, int64_t min, int64_t max, tr_error *error)
{
    if (value >= min && value <= max)
        return TR_OK;
    return tr_fail(error, TR_ERROR_ARGUMENT, "%s: %" PRId64 " is not between %" PRId64 " and %" PRId64, name, value, min,
                   max);
}

tr_status tr_check_sizes(const tr_size *sizes, int count, tr_error *error)
{
    tr_status status = TR_OK;
    for (int i = 0; status == TR_OK && i < count; i++)
        status = tr_check_range(sizes[i].name, sizes[i].value, 1, sizes[i].max, error);
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
        {"batch", s->batch, TR_LENGTH_MAX}, {"heads", s->heads, TR_LENGTH_MAX}, {"queries", s->queries, TR_LENGTH_MAX},
        {"keys", s->keys, TR_LENGTH_MAX},   {"d_k", s->d_k, TR_HEAD_MAX},       {"d_v", s->d_v, TR_HEAD_MAX},
    };
    tr_status status = tr_check_sizes(sizes, sizeof sizes / sizeof *sizes, error);
    if (status != TR_OK)
        return status;
    const int64_t length = s->queries > s->keys ? s->queries : s->keys, size = s->d_k > s->d_v ? s->d_k : s->d_v;
    status = tr_check_product("batch, heads, queries, keys, d_k, d_v", (const int64_t[]){s->batch, s->heads, length, size},
                              4, sizeof(float), error);
    call->pairs = s->batch * s->heads;
    call->heads = (int)s->heads;
    call->queries = (int)s->queries;
    call->keys = call->columns = (int)s->keys;
    call->d_k = (int)s->d_k;
    call->d_v = (int)s->d_v;
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
    status = tr_check_range("rank", o->rank, 1, TR_LENGTH_MAX, error);
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
    return tr_fail(error, TR_ERROR_ARGUMENT, "kind: %d is not a tr_attention_kind", (int)o->kind);
}

/* Clips numbers of positions, so that sums of them fit; above the number of keys they all mean the same. */
static void trim_options(tr_call *call)
{
    tr_attention_options *o = &call->options;
    const int64_t keys = call->keys;
    o->window = tr_min_int64(o->window, TR_LENGTH_MAX);
    o->block = tr_min_int64(o->block, TR_LENGTH_MAX);
    o->local_blocks = tr_min_int64(o->local_blocks, TR_LENGTH_MAX);
    o->random_blocks = tr_min_int64(o->random_blocks, keys);
    o->global_tokens = tr_min_int64(o->global_tokens, TR_LENGTH_MAX);
    o->pool = tr_min_int64(o->pool, keys);
}

/* Fields of a later version, which this one does not know. */
static tr_status check_reserved(const char *name, const uint64_t *reserved, size_t count, tr_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (reserved[i])
            return tr_fail(error, TR_ERROR_ARGUMENT, "%s: reserved is not zero", name);
    return TR_OK;
}

static tr_status check_backend(tr_call *call, const char *backend, tr_error *error)
{
    const bool posix = backend && strcmp(backend, "posix") == 0;
    call->backend = posix ? TR_THREADS_POSIX : TR_THREADS_OPENMP;
    if (!backend || posix || strcmp(backend, "openmp") == 0)
        return TR_OK;
    return tr_fail(error, TR_ERROR_ARGUMENT, "backend: '%.32s' is neither openmp nor posix", backend);
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
    if (status == TR_OK)
        status = check_backend(call, o->backend, error);
    if (status == TR_OK)
        status = check_reserved("options", o->reserved, sizeof o->reserved / sizeof *o->reserved, error);
    call->options = *o;
    if (o->scale == 0)
        call->options.scale = 1 / sqrtf((float)call->d_k);
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

/* LINEAR and LOW_RANK combine the keys before queries use them: the mask must be the same for all queries, without biases.
 */
static tr_status check_shared_mask(const tr_call *call, const tr_attention_mask *m, tr_error *error)
{
    const bool linear = call->options.kind == TR_ATTENTION_LINEAR;
    const char *kind = linear ? "linear" : "low-rank";
    if (!linear && call->options.kind != TR_ATTENTION_LOW_RANK)
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
    tr_status status = tr_check_range("position", m->position, 0, TR_LENGTH_MAX - call->queries, error);
    if (status == TR_OK)
        status = check_strides(call, "allowed", m->allowed, m->allowed_stride, sizeof *m->allowed, error);
    if (status == TR_OK)
        status = check_strides(call, "additive", m->additive, m->additive_stride, sizeof *m->additive, error);
    if (status == TR_OK)
        status = check_strides(call, "prior", m->prior, m->prior_stride, sizeof *m->prior, error);
    if (status == TR_OK)
        status = check_reserved("mask", m->reserved, sizeof m->reserved / sizeof *m->reserved, error);
    call->mask = *m;
    return status == TR_OK ? check_shared_mask(call, m, error) : status;
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

/* ------------------------------------------------------------------------------------------------------------ overlap */

void tr_tensors_add(tr_tensors *tensors, const char *name, const void *at, uint64_t count, size_t size, bool written)
{
    tensors->list[tensors->count++] = (struct tr_tensor){name, at, count * size, written};
}

static void add_mask(tr_tensors *tensors, const tr_call *call, const char *name, const void *at, const int64_t stride[3],
                     size_t size)
{
    const int64_t batch = call->pairs / call->heads;
    const int64_t extent =
        at ? (batch - 1) * stride[0] + (call->heads - 1) * stride[1] + (call->queries - 1) * stride[2] + call->keys : 0;
    tr_tensors_add(tensors, name, at, (uint64_t)extent, size, false);
}

void tr_tensors_add_call(tr_tensors *tensors, const tr_call *call)
{
    const tr_attention_mask *m = &call->mask;
    const tr_attention_options *o = &call->options;
    const uint64_t batch = (uint64_t)(call->pairs / call->heads), keys = (uint64_t)call->keys;
    add_mask(tensors, call, "allowed", m->allowed, m->allowed_stride, sizeof *m->allowed);
    add_mask(tensors, call, "additive", m->additive, m->additive_stride, sizeof *m->additive);
    add_mask(tensors, call, "prior", m->prior, m->prior_stride, sizeof *m->prior);
    tr_tensors_add(tensors, "lengths", m->lengths, batch * (m->lengths_by_query ? (uint64_t)call->queries : 1),
                   sizeof *m->lengths, false);
    const bool projected = o->kind == TR_ATTENTION_LOW_RANK && o->rank;
    tr_tensors_add(tensors, "key_projection", projected ? o->key_projection : NULL, (uint64_t)o->rank * keys, sizeof(float),
                   false);
    tr_tensors_add(tensors, "value_projection", projected ? o->value_projection : NULL, (uint64_t)o->rank * keys,
                   sizeof(float), false);
}

static bool tensors_overlap(const struct tr_tensor *a, const struct tr_tensor *b)
{
    const uintptr_t first = (uintptr_t)a->at, second = (uintptr_t)b->at;
    return a->at && b->at && (first < second ? second - first < a->bytes : first - second < b->bytes);
}

tr_status tr_tensors_check(const tr_tensors *tensors, tr_error *error)
{
    for (int i = 0; i < tensors->count; i++)
        for (int j = 0; tensors->list[i].written && j < tensors->count; j++)
            if (i != j && tensors_overlap(&tensors->list[i], &tensors->list[j]))
                return tr_fail(error, TR_ERROR_ARGUMENT, "%s: overlaps %s", tensors->list[i].name, tensors->list[j].name);
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
