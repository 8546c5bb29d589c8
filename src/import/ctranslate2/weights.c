/* The variables of a CTranslate2 model as tensors under our names. Floats stay where they lie, aligned or not; int8 matrices
 * go into panels, their whole numbers as they are, and int16 becomes f32, both when they are read (tr_origin). */
#include "import/ctranslate2/ctranslate2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/int8.h"
#include "formats/int8.h"

enum { NAME = 192, TENSORS = 3 };

static const float old_int16_scale = 1000; /* scale of int16 matrices that have none, in the first models */

/* Rows [first, first + rows) of a variable; of a vector, elements. */
typedef struct slice {
    int64_t first, rows;
} slice;

/* A slice that was added. */
typedef struct part {
    slice slice;
    const tr_tensor *tensors[TENSORS]; /* the matrix, or its panels, scale and sums */
    int count;
    int32_t next; /* part of the same variable, -1: none */
} part;

typedef struct builder {
    tr_ct2_model *model;
    const tr_config *config;
    tr_weights *weights;
    part *parts;
    int32_t count, capacity;
    tr_status status;
    tr_error *error;
} builder;

static void fail(builder *b, tr_status status, const char *name, const char *why)
{
    if (b->status == TR_OK)
        b->status = tr_fail(b->error, status, "variable %.100s: %s", name, why);
}

/* ------------------------------------------------------------------------------------------------------------- tensors */

static int64_t columns_of(const tr_ct2_variable *v)
{
    return v->rank == 2 ? v->shape[1] : 1;
}

static tr_tensor describe(const tr_ct2_variable *v, const slice *s, tr_type type)
{
    tr_tensor t = {.type = type, .rank = v->rank, .shape = {s->rows, v->rank == 2 ? v->shape[1] : 0}};
    t.bytes = (size_t)s->rows * (size_t)columns_of(v) * tr_type_size(type);
    return t;
}

/* Adds t under name + suffix. */
static const tr_tensor *add(builder *b, tr_tensor *t, const char *name, const char *suffix)
{
    memset(t->name, 0, sizeof t->name);
    if (b->status == TR_OK && !tr_packed_name(t->name, name, suffix))
        fail(b, TR_ERROR_FORMAT, name, "its name is too long");
    if (b->status == TR_OK)
        b->status = tr_weights_add(b->weights, t, b->error);
    if (b->status == TR_OK)
        return b->weights->tensors[b->weights->count - 1];
    return NULL;
}

/* Zeroed. */
static void *allocate(builder *b, const char *name, size_t count, size_t size)
{
    void *memory = b->status == TR_OK ? calloc(count ? count : 1, size) : NULL;
    if (!memory)
        fail(b, TR_ERROR_MEMORY, name, "out of memory");
    return memory;
}

/* ------------------------------------------------------------------------------------------------------ made when read */

/* Rows of a variable. */
typedef struct origin_rows {
    tr_origin origin;
    int64_t rows;
    size_t columns;
    const float *factors; /* of whole numbers, one each row */
} origin_rows;

static const origin_rows *source_of(const tr_tensor *t)
{
    return (const origin_rows *)t->origin;
}

static void make_from_int16(const tr_tensor *t, size_t first, size_t count, void *out)
{
    const origin_rows *s = source_of(t);
    const unsigned char *from = s->origin.data;
    float *floats = out;
    size_t row = first / s->columns, column = first % s->columns;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *p = from + 2 * (first + i);
        floats[i] = row < (size_t)s->rows ? (float)(int16_t)(p[0] | p[1] << 8) * s->factors[row] : 0;
        if (++column == s->columns)
            column = 0, row++;
    }
}

/* A description of the slice for the function that reads it, owned by the table of weights. NULL: out of memory. */
static origin_rows *add_source(builder *b, const tr_ct2_variable *v, const slice *s, size_t element)
{
    origin_rows *made = allocate(b, v->name, 1, sizeof *made);
    const size_t row = (size_t)columns_of(v) * element;
    if (!made)
        return NULL;
    *made =
        (origin_rows){.origin = {.data = v->data + (size_t)s->first * row, .bytes = (size_t)s->rows * row, .in_order = true},
                      .rows = s->rows,
                      .columns = (size_t)columns_of(v)};
    b->status = tr_weights_keep(b->weights, made, b->error);
    return b->status == TR_OK ? made : NULL;
}

static void add_floats(builder *b, const tr_ct2_variable *v, const slice *s, const char *name, part *p)
{
    const tr_type type = v->type == TR_CT2_F16 ? TR_TYPE_F16 : v->type == TR_CT2_BF16 ? TR_TYPE_BF16 : TR_TYPE_F32;
    const size_t row = (size_t)columns_of(v) * tr_type_size(type);
    tr_tensor t = describe(v, s, type);
    t.data = v->data + (size_t)s->first * row;
    p->tensors[p->count++] = add(b, &t, name, "");
}

/* --------------------------------------------------------------------------------------------------------- whole numbers */

static float read_float(const unsigned char *data)
{
    float value;
    memcpy(&value, data, sizeof value);
    return value;
}

/* The factor of row o's whole numbers: 1 / scale, which is one for all, or one each. */
static float factor_of(builder *b, const tr_ct2_variable *v, const tr_ct2_variable *scale, int64_t o)
{
    if (!scale && v->type == TR_CT2_I16)
        return 1 / old_int16_scale;
    if (!scale || scale->type != TR_CT2_F32 || scale->rank > 1 || (scale->rank == 1 && scale->shape[0] != v->shape[0])) {
        fail(b, TR_ERROR_FORMAT, v->name, "has no scale in f32, one for all or one each row");
        return 1;
    }
    const float factor = 1 / read_float(scale->data + (scale->rank ? (size_t)o * sizeof factor : 0));
    if (!(factor > 0 && factor - factor == 0))
        fail(b, TR_ERROR_FORMAT, v->name, "has a scale that is not a positive number");
    return factor;
}

/* Factors of all rows of the slice, [rows], owned by the table of weights. NULL: b->status and b->error are set. */
static const float *add_factors(builder *b, const tr_ct2_variable *v, const tr_ct2_variable *scale, const slice *s)
{
    float *factors = allocate(b, v->name, (size_t)s->rows, sizeof *factors);
    if (!factors)
        return NULL;
    b->status = tr_weights_keep(b->weights, factors, b->error);
    for (int64_t o = 0; b->status == TR_OK && o < s->rows; o++)
        factors[o] = factor_of(b, v, scale, s->first + o);
    return b->status == TR_OK ? factors : NULL;
}

static void add_int16(builder *b, const tr_ct2_variable *v, const tr_ct2_variable *scale, const slice *s, const char *name,
                      part *p)
{
    tr_tensor t = describe(v, s, TR_TYPE_F32);
    const float *factors = add_factors(b, v, scale, s);
    origin_rows *from = factors ? add_source(b, v, s, sizeof(int16_t)) : NULL;
    if (!from)
        return;
    from->factors = factors;
    from->origin.make = make_from_int16;
    t.origin = &from->origin;
    p->tensors[p->count++] = add(b, &t, name, "");
}

static void add_int8(builder *b, const tr_ct2_variable *v, const tr_ct2_variable *scale, const slice *s, const char *name,
                     part *p)
{
    if (v->rank != 2 || v->shape[1] > TR_I8_INPUTS || s->rows > INT32_MAX - TR_PANEL) {
        fail(b, TR_ERROR_UNSUPPORTED, v->name, "is int8, but not a matrix, or too large");
        return;
    }
    const float *factors = add_factors(b, v, scale, s);
    const tr_int8_rows integers = {(const int8_t *)v->data + (size_t)s->first * (size_t)v->shape[1], s->rows, v->shape[1],
                                   factors, NULL};
    if (factors)
        b->status = tr_int8_rows_add(b->weights, name, &integers, b->error);
    for (p->count = 0; b->status == TR_OK && p->count < TENSORS; p->count++)
        p->tensors[p->count] = b->weights->tensors[b->weights->count - TENSORS + (size_t)p->count];
}

/* -------------------------------------------------------------------------------------------------------------- slices */

static const part *find_part(const builder *b, const tr_ct2_variable *v, const slice *s)
{
    for (int32_t i = v->parts; i >= 0; i = b->parts[i].next)
        if (b->parts[i].slice.first == s->first && b->parts[i].slice.rows == s->rows)
            return &b->parts[i];
    return NULL;
}

/* Adds the same tensors once more, under another name. */
static void add_again(builder *b, const part *p, const char *name)
{
    static const char *const suffixes[] = {TR_PACKED_PANELS, TR_PACKED_SCALE, TR_PACKED_COLSUM};
    for (int i = 0; i < p->count && b->status == TR_OK; i++) {
        tr_tensor t = *p->tensors[i];
        add(b, &t, name, p->count == 1 ? "" : suffixes[i]);
    }
}

static void keep_part(builder *b, tr_ct2_variable *v, part p)
{
    if (b->count == b->capacity) {
        const int32_t capacity = b->capacity ? 2 * b->capacity : 256;
        part *parts = realloc(b->parts, (size_t)capacity * sizeof *parts);
        if (!parts) {
            fail(b, TR_ERROR_MEMORY, v->name, "out of memory");
            return;
        }
        b->parts = parts;
        b->capacity = capacity;
    }
    p.next = v->parts;
    b->parts[b->count] = p;
    v->parts = b->count++;
}

static void add_slice(builder *b, tr_ct2_variable *v, const tr_ct2_variable *scale, slice s, const char *name)
{
    const part *made = b->status == TR_OK ? find_part(b, v, &s) : NULL;
    part p = {.slice = s};
    if (b->status != TR_OK)
        return;
    if (made) {
        add_again(b, made, name);
        return;
    }
    if (v->rank < 1 || v->rank > 2 || s.rows < 1 || columns_of(v) < 1)
        fail(b, TR_ERROR_FORMAT, v->name, "is neither a vector nor a matrix");
    else if (tr_ct2_is_floating(v->type))
        add_floats(b, v, &s, name, &p);
    else if (v->type == TR_CT2_I16)
        add_int16(b, v, scale, &s, name, &p);
    else if (v->type == TR_CT2_I8)
        add_int8(b, v, scale, &s, name, &p);
    else
        fail(b, TR_ERROR_FORMAT, v->name, "is of type int32, which no weight has");
    if (b->status == TR_OK)
        keep_part(b, v, p);
}

/* -------------------------------------------------------------------------------------------------------------- layers */

static tr_ct2_variable *find(builder *b, const char *name, bool required)
{
    tr_ct2_variable *v = b->status == TR_OK ? tr_ct2_find(b->model, name) : NULL;
    if (!v && required)
        fail(b, TR_ERROR_FORMAT, name, "is missing");
    return v;
}

static const tr_ct2_variable *find_scale(builder *b, const char *name)
{
    char scale[NAME + 8];
    snprintf(scale, sizeof scale, "%s_scale", name);
    return find(b, scale, false);
}

/* Divides the variable theirs into count parts of equally many rows: PREFIX.ours[i].SUFFIX. */
static void add_stacked(builder *b, const char *theirs, bool required, const char *prefix, const char *const *ours,
                        int count, const char *suffix)
{
    char name[NAME];
    tr_ct2_variable *v = find(b, theirs, required);
    const tr_ct2_variable *scale = find_scale(b, theirs);
    if (v && (v->rank < 1 || v->shape[0] % count))
        fail(b, TR_ERROR_FORMAT, theirs, "cannot be divided into its parts");
    for (int i = 0; v && i < count && b->status == TR_OK; i++) {
        const int64_t rows = v->shape[0] / count;
        snprintf(name, sizeof name, "%s.%s.%s", prefix, ours[i], suffix);
        add_slice(b, v, scale, (slice){i * rows, rows}, name);
    }
}

static void add_norm(builder *b, const char *theirs, const char *prefix, const char *ours)
{
    char name[NAME + 8];
    snprintf(name, sizeof name, "%s/gamma", theirs);
    add_stacked(b, name, true, prefix, &ours, 1, "weight");
    if (b->config->norm == TR_NORM_RMS)
        return;
    snprintf(name, sizeof name, "%s/beta", theirs);
    add_stacked(b, name, true, prefix, &ours, 1, "bias");
}

/* Names of variables after "encoder/layer_N/" and "decoder/layer_N/". */
static const struct {
    const char *theirs;
    const char *ours[3]; /* the parts that are stacked, ended by NULL */
    bool norm, decoder;  /* a norm, not a matrix; only in the decoder */
    enum { ALWAYS, GATED, PLAIN } when;
} layer_names[] = {
    {"self_attention/linear_0", {"attn_q", "attn_k", "attn_v"}, false, false, ALWAYS},
    {"self_attention/linear_1", {"attn_o"}, false, false, ALWAYS},
    {"self_attention/layer_norm", {"attn_norm"}, true, false, ALWAYS},
    {"attention/linear_0", {"cross_attn_q"}, false, true, ALWAYS},
    {"attention/linear_1", {"cross_attn_k", "cross_attn_v"}, false, true, ALWAYS},
    {"attention/linear_2", {"cross_attn_o"}, false, true, ALWAYS},
    {"attention/layer_norm", {"cross_attn_norm"}, true, true, ALWAYS},
    {"ffn/linear_0", {"ffn_up"}, false, false, PLAIN},
    {"ffn/linear_0", {"ffn_gate"}, false, false, GATED}, /* input of the activation */
    {"ffn/linear_0_noact", {"ffn_up"}, false, false, GATED},
    {"ffn/linear_1", {"ffn_down"}, false, false, ALWAYS},
    {"ffn/layer_norm", {"ffn_norm"}, true, false, ALWAYS},
};

static void add_layer(builder *b, bool decoder, int number)
{
    char prefix[NAME], theirs[NAME], name[NAME + 16];
    snprintf(prefix, sizeof prefix, "%s.blk.%d", decoder ? "dec" : "enc", number);
    for (size_t i = 0; i < sizeof layer_names / sizeof *layer_names; i++) {
        const char *const *ours = layer_names[i].ours;
        const int count = ours[1] == NULL ? 1 : ours[2] == NULL ? 2 : 3;
        if ((layer_names[i].decoder && !decoder) || layer_names[i].when == (b->config->gated ? PLAIN : GATED))
            continue;
        snprintf(theirs, sizeof theirs, "%s/layer_%d/%s", decoder ? "decoder" : "encoder", number, layer_names[i].theirs);
        if (layer_names[i].norm) {
            add_norm(b, theirs, prefix, *ours);
            continue;
        }
        snprintf(name, sizeof name, "%s/weight", theirs);
        add_stacked(b, name, true, prefix, ours, count, "weight");
        snprintf(name, sizeof name, "%s/bias", theirs);
        add_stacked(b, name, false, prefix, ours, count, "bias");
    }
}

/* ---------------------------------------------------------------------------------------------------------- embeddings */

static bool same_data(const tr_ct2_variable *a, const tr_ct2_variable *b)
{
    return a == b ||
           (a && b && a->type == b->type && a->rank == b->rank && memcmp(a->shape, b->shape, sizeof a->shape) == 0 &&
            tr_pages_equal(a->data, b->data, a->bytes, a->mapped && b->mapped));
}

/* Whether two matrices are one: by alias or, before there were aliases, by content. */
static bool same(tr_ct2_model *model, const char *a, const char *b)
{
    char a_scale[NAME + 8], b_scale[NAME + 8];
    snprintf(a_scale, sizeof a_scale, "%s_scale", a);
    snprintf(b_scale, sizeof b_scale, "%s_scale", b);
    const tr_ct2_variable *first = tr_ct2_find(model, a), *second = tr_ct2_find(model, b);
    return first && same_data(first, second) && same_data(tr_ct2_find(model, a_scale), tr_ct2_find(model, b_scale));
}

static const char target_embedding[] = "decoder/embeddings/weight", projection[] = "decoder/projection/weight";

/* The two embeddings are one matrix. */
static bool is_shared(tr_ct2_model *model)
{
    return same(model, tr_ct2_source_embedding(model), target_embedding);
}

/* All rows of a variable, which must be so many. */
static void add_rows(builder *b, const char *theirs, bool required, int64_t total, const char *ours)
{
    tr_ct2_variable *v = find(b, theirs, required);
    const tr_ct2_variable *scale = find_scale(b, theirs);
    if (v && (v->rank < 1 || v->shape[0] != total))
        fail(b, TR_ERROR_FORMAT, theirs, "has another number of rows than the embedding");
    else if (v)
        add_slice(b, v, scale, (slice){0, total}, ours);
}

static void add_embeddings(builder *b)
{
    const tr_config *c = b->config;
    const char *source = tr_ct2_source_embedding(b->model);
    if (is_shared(b->model)) {
        add_rows(b, target_embedding, true, c->target_vocabulary, "token_embd.weight");
    } else {
        add_rows(b, source, true, c->source_vocabulary, "enc.token_embd.weight");
        add_rows(b, target_embedding, true, c->target_vocabulary, "dec.token_embd.weight");
    }
    if (!same(b->model, projection, target_embedding))
        add_rows(b, projection, true, c->target_vocabulary, "output.weight");
    add_rows(b, "decoder/projection/bias", false, c->target_vocabulary, "output.bias");
}

/* ----------------------------------------------------------------------------------------------------------- positions */

static void add_stored_positions(builder *b, const char *side, const char *ours)
{
    char theirs[NAME];
    snprintf(theirs, sizeof theirs, "%s/position_encodings/encodings", side);
    tr_ct2_variable *v = find(b, theirs, true);
    const int64_t rows = b->config->max_positions;
    if (v)
        add_slice(b, v, NULL, (slice){0, rows}, ours);
}

/* The bias of each layer must be that of the first. */
static void add_relative(builder *b, const char *side, int layers, const char *ours)
{
    char theirs[NAME];
    tr_ct2_variable *first = NULL;
    for (int i = 0; i < layers; i++) {
        snprintf(theirs, sizeof theirs, "%s/layer_%d/self_attention/relative_attention_max_distance", side, i);
        find(b, theirs, false);
        snprintf(theirs, sizeof theirs, "%s/layer_%d/self_attention/relative_attention_bias", side, i);
        tr_ct2_variable *v = find(b, theirs, true);
        first = i ? first : v;
        if (v != first && v && !same_data(v, first))
            fail(b, TR_ERROR_UNSUPPORTED, theirs, "is another than that of the first layer, which is not supported");
    }
    if (first)
        add_slice(b, first, NULL, (slice){0, b->config->relative_buckets}, ours);
}

static void add_positions(builder *b)
{
    const tr_config *c = b->config;
    if (c->positions == TR_POSITIONS_LEARNED) {
        add_stored_positions(b, "encoder", "enc.position_embd.weight");
        add_stored_positions(b, "decoder", "dec.position_embd.weight");
    } else if (c->positions == TR_POSITIONS_RELATIVE) {
        add_relative(b, "encoder", c->encoder_layers, "enc.blk.0.attn_rel_b.weight");
        add_relative(b, "decoder", c->decoder_layers, "dec.blk.0.attn_rel_b.weight");
    }
}

/* ----------------------------------------------------------------------------------------------------------------- all */

static void add_sides(builder *b)
{
    static const char *const embedding = "embd_norm", *const final = "output_norm";
    if (b->config->embedding_norm) {
        add_norm(b, "encoder/layernorm_embedding", "enc", embedding);
        add_norm(b, "decoder/layernorm_embedding", "dec", embedding);
    }
    if (b->config->final_norm) {
        add_norm(b, "encoder/layer_norm", "enc", final);
        add_norm(b, "decoder/layer_norm", "dec", final);
    }
}

/* Fails if a variable was not read, as it may change the model's results. */
static void check_rest(builder *b)
{
    for (uint32_t i = 0; b->status == TR_OK && i < b->model->name_count; i++)
        if (!b->model->names[i].used && !b->model->names[i].implied)
            fail(b, TR_ERROR_UNSUPPORTED, b->model->names[i].text, "is not known here");
}

tr_status tr_ct2_weights(tr_ct2_model *model, const tr_config *config, tr_weights *weights, tr_error *error)
{
    builder b = {.model = model, .config = config, .weights = weights, .error = error};
    add_embeddings(&b);
    add_positions(&b);
    add_sides(&b);
    for (int i = 0; i < config->encoder_layers; i++)
        add_layer(&b, false, i);
    for (int i = 0; i < config->decoder_layers; i++)
        add_layer(&b, true, i);
    check_rest(&b);
    free(b.parts);
    return b.status;
}
