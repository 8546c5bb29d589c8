/* The parameters of a Marian model as tensors under our names. They stay where they lie. */
#include "import/marian/marian.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 128 };

typedef struct builder {
    const tr_marian_items *items;
    const tr_config *config;
    tr_weights *weights;
    bool *used; /* [items] */
    tr_status status;
    tr_error *error;
} builder;

/* How a parameter lies. */
typedef enum shape {
    VECTOR, /* [1, n] or [n] */
    MATRIX, /* [inputs, outputs] */
    ROWS,   /* [outputs, inputs], as we have it: embeddings */
} shape;

static void fail(builder *b, tr_status status, const char *name, const char *why)
{
    if (b->status == TR_OK)
        b->status = tr_fail(b->error, status, "item %.100s: %s", name, why);
}

/* ------------------------------------------------------------------------------------------------------------- tensors */

static void refuse_type(builder *b, const tr_marian_item *item)
{
    if (item->type >> 16)
        fail(b, TR_ERROR_UNSUPPORTED, item->name, "is stored for one kind of CPU (intgemm of marian-nmt), not supported");
    else if (item->type >> 14)
        fail(b, TR_ERROR_UNSUPPORTED, item->name, "is stored as intgemm integers of 16 bits, which is not supported");
    else if (item->type >> 11)
        fail(b, TR_ERROR_UNSUPPORTED, item->name, "is packed for FBGEMM, which is not supported: convert to float32");
    else if (b->status == TR_OK)
        b->status = tr_fail(b->error, TR_ERROR_UNSUPPORTED, "item %.100s: is of type %#llx, which no weight has", item->name,
                            (unsigned long long)item->type);
}

static void add_floats(builder *b, const tr_marian_item *item, shape kind, tr_type type, const char *name)
{
    tr_tensor t = {.type = type, .rank = kind == VECTOR ? 1 : 2, .data = item->data, .bytes = tr_type_size(type)};
    for (int i = 0; i < item->rank; i++)
        t.bytes *= (size_t)item->shape[i]; /* checked with the item */
    if (strlen(name) >= sizeof t.name) {
        fail(b, TR_ERROR_FORMAT, item->name, "has a layer number that is too large");
        return;
    }
    memcpy(t.name, name, strlen(name) + 1);
    t.shape[0] = kind == VECTOR ? (int64_t)(t.bytes / tr_type_size(type)) : item->shape[kind == MATRIX];
    t.shape[1] = kind == VECTOR ? 0 : item->shape[kind == ROWS];
    t.transposed = kind == MATRIX;
    b->status = tr_weights_add(b->weights, &t, b->error);
}

/* NAME_QuantMultA, measured before the model was converted; 0 if absent. That of a shared embedding, as an
 * output matrix, is there twice: other engines look for none_QuantMultA. */
static float alpha_of(builder *b, const tr_marian_item *matrix)
{
    const char *const names[] = {matrix->name, strcmp(matrix->name, "Wemb") == 0 ? "none" : NULL};
    float alpha = 0;
    for (size_t i = 0; i < 2 && names[i]; i++) {
        char name[2 * NAME];
        snprintf(name, sizeof name, "%.200s_QuantMultA", names[i]);
        const tr_marian_item *item = tr_marian_find(b->items, name);
        float number = 0;
        if (!item || b->status != TR_OK)
            continue;
        b->used[item - b->items->items] = true;
        b->status = tr_marian_alpha(item, &number, b->error);
        alpha = alpha != 0 ? alpha : number;
    }
    return alpha;
}

static void add_int8(builder *b, const tr_marian_item *item, bool embedding, const char *name)
{
    const float alpha = alpha_of(b, item);
    if (b->status == TR_OK)
        b->status = tr_marian_int8(item, embedding, alpha, name, b->weights, b->error);
}

/* The one place where an item becomes a tensor. */
static void add_item(builder *b, const tr_marian_item *item, shape kind, const char *name)
{
    const bool vector = item->rank == 1 || (item->rank == 2 && item->shape[0] == 1);
    if (kind == VECTOR ? !vector : item->rank != 2)
        fail(b, TR_ERROR_FORMAT, item->name, kind == VECTOR ? "is not a vector" : "is not a matrix");
    else if (item->type == TR_MARIAN_F32)
        add_floats(b, item, kind, TR_TYPE_F32, name);
    else if (item->type == TR_MARIAN_F16)
        add_floats(b, item, kind, TR_TYPE_F16, name);
    else if (item->type == TR_MARIAN_INTGEMM8 && kind != VECTOR)
        add_int8(b, item, kind == ROWS, name);
    else
        refuse_type(b, item);
}

static void add(builder *b, const char *theirs, shape kind, const char *ours)
{
    const tr_marian_item *item = tr_marian_find(b->items, theirs);
    if (b->status != TR_OK)
        return;
    if (!item) {
        fail(b, TR_ERROR_FORMAT, theirs, "is missing");
        return;
    }
    b->used[item - b->items->items] = true;
    add_item(b, item, kind, ours);
}

/* -------------------------------------------------------------------------------------------------------------- layers */

/* A layer, or a part of one: the prefixes of Marian's names and of ours, without the separators. */
typedef struct place {
    char theirs[NAME / 2], ours[NAME / 2];
} place;

static void add_norm(builder *b, const char *theirs, const char *suffix, const char *ours)
{
    char from[NAME], to[NAME];
    const bool rms = b->config->norm == TR_NORM_RMS;
    snprintf(from, sizeof from, "%s_%s_scale%s", theirs, rms ? "rms" : "ln", suffix);
    snprintf(to, sizeof to, "%s.weight", ours);
    add(b, from, VECTOR, to);
    snprintf(from, sizeof from, "%s_ln_bias%s", theirs, suffix);
    snprintf(to, sizeof to, "%s.bias", ours);
    if (!rms)
        add(b, from, VECTOR, to);
}

/* The norms around a sublayer: names under before get the suffix _pre. */
static void add_norms(builder *b, const place *at, const char *before, const char *after, const char *kind)
{
    char from[NAME], to[NAME];
    const tr_config *c = b->config;
    snprintf(from, sizeof from, "%s%s", at->theirs, before);
    snprintf(to, sizeof to, "%s.%s_norm", at->ours, kind);
    if (c->pre_norm)
        add_norm(b, from, "_pre", to);
    snprintf(from, sizeof from, "%s%s", at->theirs, after);
    snprintf(to, sizeof to, "%s.%s%s_norm", at->ours, kind, c->post_norm ? "_post" : "");
    if (!c->pre_norm || c->post_norm)
        add_norm(b, from, "", to);
}

/* PREFIX_W and PREFIX_b followed by letter */
static void add_linear(builder *b, const place *at, const char *letter, const char *kind, const char *part)
{
    char from[NAME], to[NAME];
    snprintf(from, sizeof from, "%s_W%s", at->theirs, letter);
    snprintf(to, sizeof to, "%s.%s_%s.weight", at->ours, kind, part);
    add(b, from, MATRIX, to);
    snprintf(from, sizeof from, "%s_b%s", at->theirs, letter);
    snprintf(to, sizeof to, "%s.%s_%s.bias", at->ours, kind, part);
    add(b, from, VECTOR, to);
}

static void add_attention(builder *b, const place *at, const char *kind)
{
    static const char *const parts[] = {"q", "k", "v", "o"};
    const size_t count = sizeof parts / sizeof *parts - b->config->no_output_projection;
    for (size_t i = 0; i < count; i++)
        add_linear(b, at, parts[i], kind, parts[i]);
    add_norms(b, at, "_Wo", "_Wo", kind);
}

/* The products of a feed-forward network, W1 .. Wdepth; the last one is not always there. */
static void add_stack(builder *b, const place *at, int depth, bool last, const char *kind)
{
    char letter[16], part[16];
    for (int i = 1; i <= depth && b->status == TR_OK; i++) {
        snprintf(letter, sizeof letter, "%d", i);
        snprintf(part, sizeof part, "mid_%d", i);
        if (i < depth || last)
            add_linear(b, at, letter, kind, i == depth ? "down" : i == 1 ? "up" : part);
    }
}

static void add_feedforward(builder *b, const place *at, int depth)
{
    add_stack(b, at, depth, true, "ffn");
    add_norms(b, at, "_ffn", "_ffn", "ffn");
}

static void add_average(builder *b, const place *at)
{
    const tr_config *c = b->config;
    add_stack(b, at, c->aan_depth, c->aan_depth > 1 && c->aan_ffn != c->d_model, "avg");
    if (!c->aan_ungated) {
        add_linear(b, at, "i", "avg", "gate_x");
        add_linear(b, at, "f", "avg", "gate_y");
    }
    add_norms(b, at, "_ffn", "_ffn", "avg");
}

static void add_ssru(builder *b, const place *at)
{
    char from[NAME], to[NAME];
    snprintf(from, sizeof from, "%s_W", at->theirs);
    snprintf(to, sizeof to, "%s.ssru_x.weight", at->ours);
    add(b, from, MATRIX, to);
    add_linear(b, at, "f", "ssru", "f");
    if (b->config->ssru_projection)
        add_linear(b, at, "o", "ssru", "o");
    add_norms(b, at, "", "_ffn", "ssru");
}

/* Marian's layer theirs, from 1 on, becomes layer ours, from 0 on; what follows the layer in the name. */
static place place_of(const char *side, int theirs, const char *what, int ours)
{
    place p;
    snprintf(p.theirs, sizeof p.theirs, "%s_l%d%s", side, theirs, what);
    snprintf(p.ours, sizeof p.ours, "%.3s.blk.%d", side, ours);
    return p;
}

static void add_encoder_layer(builder *b, int number)
{
    const place self = place_of("encoder", number + 1, "_self", number),
                ffn = place_of("encoder", number + 1, "_ffn", number);
    add_attention(b, &self, "attn");
    add_feedforward(b, &ffn, b->config->encoder_ffn_depth);
}

static void add_decoder_layer(builder *b, int theirs, int number)
{
    const place self = place_of("decoder", theirs, "_self", number), rnn = place_of("decoder", theirs, "_rnn", number),
                aan = place_of("decoder", theirs, "_aan", number), cross = place_of("decoder", theirs, "_context", number),
                ffn = place_of("decoder", theirs, "_ffn", number);
    switch (b->config->mixer) {
    case TR_MIXER_SELF_ATTENTION: add_attention(b, &self, "attn"); break;
    case TR_MIXER_SSRU: add_ssru(b, &rnn); break;
    case TR_MIXER_AAN: add_average(b, &aan); break;
    }
    add_attention(b, &cross, "cross_attn");
    add_feedforward(b, &ffn, b->config->decoder_ffn_depth);
}

/* ----------------------------------------------------------------------------------------------------------- the rest */

/* Older models have the output projection's matrix the other way round. */
static void add_output(builder *b, const tr_marian_layout *layout)
{
    static const char old[] = "decoder_ff_logit_out_W";
    if (!layout->tied_output && tr_marian_find(b->items, old))
        add(b, old, MATRIX, "output.weight");
    else if (!layout->tied_output)
        add(b, "decoder_ff_logit_out_Wt", ROWS, "output.weight");
    if (!layout->no_output_bias)
        add(b, "decoder_ff_logit_out_b", VECTOR, "output.bias");
}

static void add_embeddings(builder *b, const tr_marian_layout *layout)
{
    if (layout->shared_source) {
        add(b, "Wemb", ROWS, "token_embd.weight");
    } else {
        add(b, "encoder_Wemb", ROWS, "enc.token_embd.weight");
        add(b, "decoder_Wemb", ROWS, "dec.token_embd.weight");
    }
}

static void add_sides(builder *b)
{
    if (b->config->embedding_norm) {
        add_norm(b, "encoder_emb", "_pre", "enc.embd_norm");
        add_norm(b, "decoder_emb", "_pre", "dec.embd_norm");
    }
    if (b->config->final_norm) {
        add_norm(b, "encoder_top", "", "enc.output_norm");
        add_norm(b, "decoder_top", "", "dec.output_norm");
    }
}

/* Fails if an item was not read, as it may change the model's results. */
static void check_rest(builder *b)
{
    for (size_t i = 0; i < b->items->count; i++)
        if (!b->used[i] && strncmp(b->items->items[i].name, "special:", 8) != 0)
            fail(b, TR_ERROR_UNSUPPORTED, b->items->items[i].name, "is not known here");
}

tr_status tr_marian_weights(const tr_marian_items *items, const tr_config *config, const tr_marian_layout *layout,
                            tr_weights *weights, tr_error *error)
{
    builder b = {.items = items, .config = config, .weights = weights, .error = error};
    b.used = calloc(items->count + 1, sizeof *b.used);
    if (!b.used)
        return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    add_embeddings(&b, layout);
    add_sides(&b);
    for (int i = 0; i < config->encoder_layers && b.status == TR_OK; i++)
        add_encoder_layer(&b, i);
    for (int i = 0; i < config->decoder_layers && b.status == TR_OK; i++)
        add_decoder_layer(&b, layout->decoder_layer[i], i);
    add_output(&b, layout);
    check_rest(&b);
    free(b.used);
    return b.status;
}
