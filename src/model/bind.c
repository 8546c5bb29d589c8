#include "model/bind.h"

#include "model/pack.h"
#include "util/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HUGE_PAGE = 2 << 20, SLAB = 8 << 20 };

void tr_bind_fail(tr_binder *b, tr_status status, const char *format, const char *name)
{
    if (b->status == TR_OK)
        b->status = tr_fail(b->error, status, format, name);
}

void tr_bind_wrong_shape(tr_binder *b, const tr_tensor *t, int64_t rows, int64_t columns)
{
    char shape[128] = "", wanted[64];
    for (int i = 0; i < t->rank; i++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%lld", i ? ", " : "", (long long)t->shape[i]);
    if (rows)
        snprintf(wanted, sizeof wanted, "%lld, %lld", (long long)rows, (long long)columns);
    else
        snprintf(wanted, sizeof wanted, "%lld", (long long)columns);
    if (b->status == TR_OK)
        b->status = tr_fail(b->error, TR_ERROR_FORMAT, "tensor %s: its shape is [%s], the configuration asks for [%s]",
                            t->name, shape, wanted);
}

const char *tr_bind_name(char name[TR_TENSOR_NAME], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, TR_TENSOR_NAME, format, arguments);
    va_end(arguments);
    return name;
}

/* ------------------------------------------------------------------------------------------------------------- memory */

void *tr_bind_memory(tr_binder *b, size_t bytes)
{
    tr_network *n = b->network;
    if (n->owned_count % 64 == 0) {
        void **owned = realloc(n->owned, (n->owned_count + 64) * sizeof *owned);
        if (!owned) {
            tr_bind_fail(b, TR_ERROR_MEMORY, "%s: out of memory", "network");
            return NULL;
        }
        n->owned = owned;
    }
    const size_t alignment = bytes < HUGE_PAGE ? 64 : HUGE_PAGE;
    void *memory = aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
    if (!memory) {
        tr_bind_fail(b, TR_ERROR_MEMORY, "%s: out of memory", "network");
        return NULL;
    }
    if (bytes >= HUGE_PAGE)
        tr_huge_pages(memory, bytes);
    return n->owned[n->owned_count++] = memory;
}

/* Memory for a matrix. Small matrices share large blocks, which huge pages back. */
static void *matrix_memory(tr_binder *b, size_t bytes)
{
    bytes = (bytes + 63) & ~(size_t)63;
    if (bytes >= HUGE_PAGE)
        return tr_bind_memory(b, bytes);
    if (bytes > b->slab_left) {
        b->slab = tr_bind_memory(b, SLAB);
        b->slab_left = b->slab ? SLAB : 0;
    }
    if (!b->slab)
        return NULL;
    void *memory = b->slab;
    b->slab += bytes;
    b->slab_left -= bytes;
    return memory;
}

bool tr_bind_may_make_table(tr_binder *b, uint64_t bytes)
{
    enum { ALWAYS_ALLOWED_BYTES = 16 << 20 };
    const bool may = bytes <= ALWAYS_ALLOWED_BYTES || bytes / 4 <= b->network->parameters;
    if (!may)
        tr_bind_fail(b, TR_ERROR_UNSUPPORTED, "%s: their table would be larger than the model's weights", "max_positions");
    return may;
}

/* ------------------------------------------------------------------------------------------------------------ vectors */

const tr_tensor *tr_bind_find(tr_binder *b, const char *name, bool required)
{
    if (b->status != TR_OK)
        return NULL;
    const tr_tensor *t = tr_weights_find(b->weights, name);
    if (!t && required)
        tr_bind_fail(b, TR_ERROR_FORMAT, "tensor %s: is missing", name);
    if (t && !tr_type_is_real(t->type)) {
        tr_bind_fail(b, TR_ERROR_FORMAT, "tensor %s: is not of a floating type", name);
        return NULL;
    }
    return t;
}

/* Adds weights that are used in place to the network's spans; neighbours in the file become one span. */
static void add_span(tr_binder *b, const tr_tensor *t)
{
    enum { GAP = 4096 };
    tr_network *n = b->network;
    const unsigned char *data = t->data;
    if (!t->mapped)
        return;
    tr_mapped_span *last = n->span_count ? &n->spans[n->span_count - 1] : NULL;
    if (last && data >= last->data + last->size && data - (last->data + last->size) < GAP) {
        last->size = (size_t)(data - last->data) + t->bytes;
        return;
    }
    if (n->span_count % 64 == 0) {
        tr_mapped_span *spans = realloc(n->spans, (n->span_count + 64) * sizeof *spans);
        if (!spans) {
            tr_bind_fail(b, TR_ERROR_MEMORY, "%s: out of memory", "network");
            return;
        }
        n->spans = spans;
    }
    n->spans[n->span_count++] = (tr_mapped_span){data, t->bytes};
}

const void *tr_bind_data(tr_binder *b, const tr_tensor *t)
{
    if (!t->origin) {
        add_span(b, t);
        return t->data;
    }
    void *data = matrix_memory(b, t->bytes);
    const size_t elements = (size_t)tr_tensor_elements(t);
    const size_t part = t->rank == 3 ? (size_t)(t->shape[1] * t->shape[2]) : elements;
    for (size_t i = 0; data && i < elements; i += part) {
        tr_tensor_copy(t, i, part, (unsigned char *)data + i * tr_type_size(t->type));
        tr_tensor_passed(t, i, i + part);
    }
    return data;
}

/* Whether floats can be used in place. */
static bool is_usable_in_place(const tr_tensor *t, tr_type type)
{
    return t->type == type && !t->origin && !t->transposed && (uintptr_t)t->data % tr_type_size(type) == 0;
}

const float *tr_bind_vector(tr_binder *b, const char *name, int n, bool required)
{
    const tr_tensor *t = tr_bind_find(b, name, required);
    if (!t)
        return NULL;
    if (!((t->rank == 1 && t->shape[0] == n) || (t->rank == 2 && t->shape[0] == 1 && t->shape[1] == n))) {
        tr_bind_wrong_shape(b, t, 0, n);
        return NULL;
    }
    b->network->parameters += (uint64_t)n;
    if (is_usable_in_place(t, TR_TYPE_F32))
        return tr_bind_data(b, t);
    float *f = tr_bind_memory(b, (size_t)n * sizeof *f);
    if (f)
        tr_tensor_to_f32(t, 0, (size_t)n, f);
    return f;
}

/* ----------------------------------------------------------------------------------------------------------- matrices */

/* The type in which a stored matrix is computed with: floats are never widened in memory, integers become f32 if f32 is
 * asked for. Blocks (llama.cpp) become int8 by default: most are no smaller, and no kernel computes with blocks. */
static tr_type used_type(tr_compute compute, tr_type stored)
{
    const bool integers = stored == TR_TYPE_I8 || stored == TR_TYPE_BLOCKS;
    switch (compute) {
    case TR_COMPUTE_AUTO: return integers ? TR_TYPE_I8 : stored;
    case TR_COMPUTE_INT8: return TR_TYPE_I8;
    case TR_COMPUTE_F32: return integers ? TR_TYPE_F32 : stored; /* floats are widened as they are read: exact */
    case TR_COMPUTE_F16: return TR_TYPE_F16;
    case TR_COMPUTE_BF16: return TR_TYPE_BF16;
    }
    return stored;
}

const tr_tensor *tr_bind_part(tr_binder *b, const char *name, const char *suffix, tr_type type)
{
    char full[2 * TR_TENSOR_NAME];
    snprintf(full, sizeof full, "%s%s", name, suffix);
    const tr_tensor *t = tr_weights_part(b->weights, name, suffix);
    if (!t)
        tr_bind_fail(b, TR_ERROR_FORMAT, "tensor %s: is missing", full);
    else if (t->type != type || (uintptr_t)t->data % tr_type_size(type))
        tr_bind_fail(b, TR_ERROR_FORMAT, "tensor %s: is of another type or badly aligned", full);
    return b->status == TR_OK ? t : NULL;
}

/* NAME.alpha, the factor that rows are quantised with; 0: it is absent. */
static float bind_act_scale(tr_binder *b, const char *name)
{
    const tr_tensor *t =
        tr_weights_part(b->weights, name, TR_PACKED_ALPHA) ? tr_bind_part(b, name, TR_PACKED_ALPHA, TR_TYPE_F32) : NULL;
    if (!t)
        return 0;
    const float act_scale = t->rank == 1 && t->shape[0] == 1 ? *(const float *)t->data : 0;
    if (!(act_scale >= 0x1p-64f && act_scale <= 0x1p64f))
        tr_bind_fail(b, TR_ERROR_FORMAT, "tensor %s.alpha: must be one number above 0", name);
    return act_scale;
}

/* A matrix that is stored packed. */
static tr_matrix bind_packed_matrix(tr_binder *b, const char *name, int outputs, int inputs)
{
    tr_matrix m = {.type = TR_TYPE_I8, .outputs = outputs, .inputs = inputs};
    const tr_tensor *data = tr_bind_part(b, name, TR_PACKED_PANELS, TR_TYPE_I8);
    const tr_tensor *scale = tr_bind_part(b, name, TR_PACKED_SCALE, TR_TYPE_F32);
    const tr_tensor *colsum = tr_bind_part(b, name, TR_PACKED_COLSUM, TR_TYPE_I32);
    if (!data || !scale || !colsum)
        return m;
    if (scale->rank != 1 || scale->shape[0] != outputs)
        tr_bind_wrong_shape(b, scale, 0, outputs);
    if (colsum->rank != 1 || colsum->shape[0] != outputs)
        tr_bind_wrong_shape(b, colsum, 0, outputs);
    if (data->rank != 3 || data->shape[0] != tr_pad16(outputs) / TR_PANEL || data->shape[1] != (inputs + 3) / 4 ||
        data->shape[2] != TR_LINE)
        tr_bind_wrong_shape(b, data, (int64_t)(tr_pad16(outputs) / TR_PANEL) * ((inputs + 3) / 4), TR_LINE);
    m.data = tr_bind_data(b, data);
    m.scale = tr_bind_data(b, scale);
    m.colsum = tr_bind_data(b, colsum);
    m.act_scale = bind_act_scale(b, name);
    m.marian_u8_compat = b->network->config.marian_int8;
    return m;
}

/* Reads n rows of a tensor or, if t is NULL, of a packed matrix as f32 [n, inputs]. */
static void read_rows(const tr_tensor *t, const tr_matrix *packed, int first, int n, int inputs, float *rows)
{
    if (t)
        tr_tensor_to_f32(t, (size_t)first * (size_t)inputs, (size_t)n * (size_t)inputs, rows);
    for (int o = 0; !t && o < n; o++)
        tr_unpack_output(packed, first + o, rows + (size_t)o * (size_t)inputs);
}

/* Converts a tensor, or a packed matrix, to m->type: F32, F16 or BF16. */
static void round_matrix(tr_binder *b, const tr_tensor *t, const tr_matrix *packed, tr_matrix *m)
{
    const size_t row_bytes = (size_t)m->inputs * tr_type_size(m->type);
    unsigned char *data = matrix_memory(b, (size_t)m->outputs * row_bytes);
    float *rows = malloc(TR_PANEL * (size_t)m->inputs * sizeof *rows);
    if (!rows)
        tr_bind_fail(b, TR_ERROR_MEMORY, "%s: out of memory", "network");
    for (int o = 0; data && rows && o < m->outputs; o += TR_PANEL) {
        const int n = m->outputs - o < TR_PANEL ? m->outputs - o : TR_PANEL;
        read_rows(t, packed, o, n, m->inputs, rows);
        if (t)
            tr_tensor_passed(t, (size_t)o * (size_t)m->inputs, (size_t)(o + n) * (size_t)m->inputs);
        tr_from_f32(m->type, rows, (size_t)n * (size_t)m->inputs, data + (size_t)o * row_bytes);
    }
    free(rows);
    m->data = data;
}

/* Quantises a tensor to int8. */
static void pack_matrix(tr_binder *b, const tr_tensor *t, tr_matrix *m)
{
    const size_t inputs = (size_t)m->inputs, outputs = (size_t)m->outputs;
    unsigned char *data = matrix_memory(b, tr_i8_bytes(m->outputs, m->inputs));
    float *scale = matrix_memory(b, outputs * sizeof *scale), *rows = malloc(TR_PANEL * inputs * sizeof *rows);
    int32_t *colsum = matrix_memory(b, outputs * sizeof *colsum);
    if (!rows)
        tr_bind_fail(b, TR_ERROR_MEMORY, "%s: out of memory", "network");
    for (int o = 0; b->status == TR_OK && o < m->outputs; o += TR_PANEL) {
        const int n = m->outputs - o < TR_PANEL ? m->outputs - o : TR_PANEL;
        tr_tensor_to_f32(t, (size_t)o * inputs, (size_t)n * inputs, rows);
        tr_tensor_passed(t, (size_t)o * inputs, (size_t)(o + n) * inputs);
        if (!tr_pack_panel(rows, n, m->inputs, data + (size_t)(o / TR_PANEL) * tr_panel_bytes(m->inputs), scale + o,
                           colsum + o))
            tr_bind_fail(b, TR_ERROR_NUMERIC, "tensor %s: holds a weight that is not a finite number", t->name);
    }
    free(rows);
    m->data = data;
    m->scale = scale;
    m->colsum = colsum;
}

tr_matrix tr_bind_matrix(tr_binder *b, const char *name, int outputs, int inputs)
{
    tr_matrix m = {.type = TR_TYPE_F32, .outputs = outputs, .inputs = inputs}, packed = m;
    const tr_tensor *t = NULL;
    if (tr_weights_part(b->weights, name, TR_PACKED_PANELS))
        packed = bind_packed_matrix(b, name, outputs, inputs);
    else if ((t = tr_bind_find(b, name, true)) && (t->rank != 2 || t->shape[0] != outputs || t->shape[1] != inputs))
        tr_bind_wrong_shape(b, t, outputs, inputs);
    if (b->status != TR_OK)
        return m;
    b->network->parameters += (uint64_t)outputs * (uint64_t)inputs;
    const tr_type stored = t ? t->type : TR_TYPE_I8;
    m.type = used_type(b->compute, stored);
    m.bf16_activations = m.type == TR_TYPE_BF16 && b->compute != TR_COMPUTE_F32;
    if (m.type == TR_TYPE_I8 && inputs > TR_I8_INPUTS)
        tr_bind_fail(b, TR_ERROR_UNSUPPORTED, "tensor %s: has too many inputs for int8", name);
    b->network->int8 = b->network->int8 || m.type == TR_TYPE_I8;
    if (m.type == stored && !t)
        m = packed;
    else if (t && is_usable_in_place(t, m.type))
        m.data = tr_bind_data(b, t);
    else if (m.type == TR_TYPE_I8)
        pack_matrix(b, t, &m);
    else
        round_matrix(b, t, &packed, &m);
    return m;
}

/* --------------------------------------------------------------------------------------------------- parts of a layer */

tr_linear tr_bind_linear(tr_binder *b, const char *prefix, const char *part, int outputs, int inputs)
{
    char name[TR_TENSOR_NAME];
    tr_linear l;
    l.weight = tr_bind_matrix(b, tr_bind_name(name, "%s.%s.weight", prefix, part), outputs, inputs);
    l.bias = tr_bind_vector(b, tr_bind_name(name, "%s.%s.bias", prefix, part), outputs, false);
    return l;
}

tr_norm tr_bind_norm(tr_binder *b, const char *prefix, const char *part)
{
    const tr_config *c = &b->network->config;
    char name[TR_TENSOR_NAME];
    tr_norm n = {0};
    n.gamma = tr_bind_vector(b, tr_bind_name(name, "%s.%s.weight", prefix, part), c->d_model, true);
    if (c->norm == TR_NORM_LAYER)
        n.beta = tr_bind_vector(b, tr_bind_name(name, "%s.%s.bias", prefix, part), c->d_model, true);
    return n;
}

tr_norms tr_bind_norms(tr_binder *b, const char *prefix, const char *kind)
{
    const tr_config *c = &b->network->config;
    tr_norms norms = {.place = !c->pre_norm ? TR_NORM_AFTER : !c->post_norm ? TR_NORM_BEFORE : TR_NORM_BEFORE_AND_AFTER};
    char first[32], second[32];
    snprintf(first, sizeof first, "%s_norm", kind);
    snprintf(second, sizeof second, "%s_post_norm", kind);
    if (norms.place & TR_NORM_BEFORE)
        norms.before = tr_bind_norm(b, prefix, first);
    if (norms.place & TR_NORM_AFTER)
        norms.after = tr_bind_norm(b, prefix, norms.place == TR_NORM_AFTER ? first : second);
    return norms;
}
