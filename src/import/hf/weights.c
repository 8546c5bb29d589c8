#include <stdio.h>
#include <string.h>

#include "import/hf/hf.h"
#include "import/pytorch/pytorch.h"
#include "import/safetensors.h"
#include "util/utf8.h"

typedef struct name_pair {
    const char *theirs, *ours;
} name_pair;

/* In both names, @ is "encoder" (ours: "enc") or "decoder" ("dec"), # a layer's number, * "weight" or "bias". */
static const name_pair marian_names[] = {
    {"model.shared.weight", "token_embd.weight"},
    {"model.@.embed_tokens.weight", "@.token_embd.weight"},
    {"lm_head.weight", "output.weight"},
    {"final_logits_bias", "output.bias"},
    {"model.@.layers.#.self_attn.q_proj.*", "@.blk.#.attn_q.*"},
    {"model.@.layers.#.self_attn.k_proj.*", "@.blk.#.attn_k.*"},
    {"model.@.layers.#.self_attn.v_proj.*", "@.blk.#.attn_v.*"},
    {"model.@.layers.#.self_attn.out_proj.*", "@.blk.#.attn_o.*"},
    {"model.@.layers.#.self_attn_layer_norm.*", "@.blk.#.attn_norm.*"},
    {"model.@.layers.#.fc1.*", "@.blk.#.ffn_up.*"},
    {"model.@.layers.#.fc2.*", "@.blk.#.ffn_down.*"},
    {"model.@.layers.#.final_layer_norm.*", "@.blk.#.ffn_norm.*"},
    {"model.@.layers.#.encoder_attn.q_proj.*", "@.blk.#.cross_attn_q.*"},
    {"model.@.layers.#.encoder_attn.k_proj.*", "@.blk.#.cross_attn_k.*"},
    {"model.@.layers.#.encoder_attn.v_proj.*", "@.blk.#.cross_attn_v.*"},
    {"model.@.layers.#.encoder_attn.out_proj.*", "@.blk.#.cross_attn_o.*"},
    {"model.@.layers.#.encoder_attn_layer_norm.*", "@.blk.#.cross_attn_norm.*"},
};

/* Besides those. M2M100's embed_positions.weights are computed. */
static const name_pair bart_names[] = {
    {"model.@.embed_positions.weight", "@.position_embd.weight"},
    {"model.@.layernorm_embedding.*", "@.embd_norm.*"},
    {"model.@.layer_norm.*", "@.output_norm.*"},
};

static const name_pair t5_names[] = {
    {"shared.weight", "token_embd.weight"},
    {"@.embed_tokens.weight", "@.token_embd.weight"},
    {"lm_head.weight", "output.weight"},
    {"@.final_layer_norm.weight", "@.output_norm.weight"},
    {"@.block.0.layer.0.SelfAttention.relative_attention_bias.weight", "@.blk.0.attn_rel_b.weight"},
    {"@.block.#.layer.0.SelfAttention.q.weight", "@.blk.#.attn_q.weight"},
    {"@.block.#.layer.0.SelfAttention.k.weight", "@.blk.#.attn_k.weight"},
    {"@.block.#.layer.0.SelfAttention.v.weight", "@.blk.#.attn_v.weight"},
    {"@.block.#.layer.0.SelfAttention.o.weight", "@.blk.#.attn_o.weight"},
    {"@.block.#.layer.0.layer_norm.weight", "@.blk.#.attn_norm.weight"},
    {"decoder.block.#.layer.1.EncDecAttention.q.weight", "dec.blk.#.cross_attn_q.weight"},
    {"decoder.block.#.layer.1.EncDecAttention.k.weight", "dec.blk.#.cross_attn_k.weight"},
    {"decoder.block.#.layer.1.EncDecAttention.v.weight", "dec.blk.#.cross_attn_v.weight"},
    {"decoder.block.#.layer.1.EncDecAttention.o.weight", "dec.blk.#.cross_attn_o.weight"},
    {"decoder.block.#.layer.1.layer_norm.weight", "dec.blk.#.cross_attn_norm.weight"},
    {"encoder.block.#.layer.1.DenseReluDense.wi.weight", "enc.blk.#.ffn_up.weight"},
    {"encoder.block.#.layer.1.DenseReluDense.wi_0.weight", "enc.blk.#.ffn_gate.weight"},
    {"encoder.block.#.layer.1.DenseReluDense.wi_1.weight", "enc.blk.#.ffn_up.weight"},
    {"encoder.block.#.layer.1.DenseReluDense.wo.weight", "enc.blk.#.ffn_down.weight"},
    {"encoder.block.#.layer.1.layer_norm.weight", "enc.blk.#.ffn_norm.weight"},
    {"decoder.block.#.layer.2.DenseReluDense.wi.weight", "dec.blk.#.ffn_up.weight"},
    {"decoder.block.#.layer.2.DenseReluDense.wi_0.weight", "dec.blk.#.ffn_gate.weight"},
    {"decoder.block.#.layer.2.DenseReluDense.wi_1.weight", "dec.blk.#.ffn_up.weight"},
    {"decoder.block.#.layer.2.DenseReluDense.wo.weight", "dec.blk.#.ffn_down.weight"},
    {"decoder.block.#.layer.2.layer_norm.weight", "dec.blk.#.ffn_norm.weight"},
};

/* What the name has in place of the pattern's @, # and *. */
typedef struct match {
    const char *side, *number, *kind;
    size_t number_size;
} match;

/* Returns the one of two words that *name begins with and moves *name past it; NULL: neither. */
static const char *take_word(const char **name, const char *first, const char *second)
{
    const char *const words[] = {first, second};
    for (int i = 0; i < 2; i++)
        if (strncmp(*name, words[i], strlen(words[i])) == 0) {
            *name += strlen(words[i]);
            return words[i];
        }
    return NULL;
}

static bool matches(const char *name, const char *pattern, match *m)
{
    for (; *pattern; pattern++)
        if (*pattern == '@') {
            if (!(m->side = take_word(&name, "encoder", "decoder")))
                return false;
        } else if (*pattern == '*') {
            if (!(m->kind = take_word(&name, "weight", "bias")))
                return false;
        } else if (*pattern == '#') {
            m->number = name;
            m->number_size = strspn(name, "0123456789");
            if (m->number_size < 1 || m->number_size > 4 || (m->number_size > 1 && *name == '0'))
                return false;
            name += m->number_size;
        } else if (*name++ != *pattern) {
            return false;
        }
    return !*name;
}

static void put(char out[TR_TENSOR_NAME], size_t *size, const char *text, size_t count)
{
    for (size_t i = 0; i < count && *size < TR_TENSOR_NAME - 1; i++)
        out[(*size)++] = text[i];
    out[*size] = 0;
}

static bool rename_by(const name_pair *pairs, size_t count, const char *name, char out[TR_TENSOR_NAME])
{
    for (size_t i = 0; i < count; i++) {
        match m = {0};
        size_t size = 0;
        if (!matches(name, pairs[i].theirs, &m))
            continue;
        for (const char *p = pairs[i].ours; *p; p++)
            if (*p == '@')
                put(out, &size, m.side, 3);
            else if (*p == '#')
                put(out, &size, m.number, m.number_size);
            else if (*p == '*')
                put(out, &size, m.kind, strlen(m.kind));
            else
                put(out, &size, p, 1);
        return true;
    }
    return false;
}

#define RENAME_BY(pairs) rename_by(pairs, sizeof pairs / sizeof *pairs, name, out)

/* All leave our name empty if the tensor is in no table: transformers ignores unknown tensors, and computes Marian's
 * positions. */
void tr_hf_rename_marian(const char *name, char out[TR_TENSOR_NAME])
{
    RENAME_BY(marian_names);
}

void tr_hf_rename_bart(const char *name, char out[TR_TENSOR_NAME])
{
    if (!RENAME_BY(bart_names))
        RENAME_BY(marian_names);
}

void tr_hf_rename_t5(const char *name, char out[TR_TENSOR_NAME])
{
    RENAME_BY(t5_names);
}

/* --------------------------------------------------------------------------------------------------------------- ties */

static bool same(const tr_tensor *a, const tr_tensor *b)
{
    return a == b || (a->type == b->type && a->rank == b->rank && memcmp(a->shape, b->shape, sizeof a->shape) == 0 &&
                      a->bytes == b->bytes &&
                      (a->data == b->data || tr_pages_equal(a->data, b->data, a->bytes, a->mapped && b->mapped)));
}

static tr_tensor *find(const tr_weights *raw, const char *name)
{
    const int32_t i = tr_strmap_find(&raw->index, name, strlen(name));
    return i < 0 ? NULL : raw->tensors[i];
}

static tr_tensor *either(tr_tensor *a, tr_tensor *b)
{
    return a ? a : b;
}

/* The three matrices that may be one. */
typedef struct embeddings {
    tr_tensor *source, *target, *output;
} embeddings;

/* Follows tie_weights of transformers' modeling_utils.py: a tied matrix is taken from whichever name the file has, but
 * names that are there with different content stay apart. */
static tr_status resolve_ties(const tr_weights *raw, tr_hf_ties ties, embeddings *e, tr_error *error)
{
    tr_tensor *shared = ties.share_embeddings ? find(raw, "token_embd.weight") : NULL;
    tr_tensor *source = find(raw, "enc.token_embd.weight");
    tr_tensor *target = find(raw, "dec.token_embd.weight");
    tr_tensor *output = find(raw, "output.weight");
    tr_tensor *tied = ties.tie_output ? either(shared, either(target, output)) : NULL;
    e->target = either(target, either(shared, tied));
    e->source = either(source, ties.share_embeddings ? either(shared, e->target) : NULL);
    e->output = either(output, tied);
    if (!e->target && ties.share_embeddings)
        e->target = e->source;
    if (!e->output && ties.tie_output)
        e->output = e->target;
    if (!e->source || !e->target)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: is missing",
                       ties.share_embeddings ? "model.shared.weight"
                       : e->source           ? "model.decoder.embed_tokens.weight"
                                             : "model.encoder.embed_tokens.weight");
    if (!e->output)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor lm_head.weight: is missing");
    return TR_OK;
}

/* Adds a tensor of the raw table under a name; an owned copy of data moves along. */
static tr_status add_as(tr_weights *weights, tr_tensor *tensor, const char *name, tr_error *error)
{
    tr_tensor renamed = *tensor;
    memset(renamed.name, 0, sizeof renamed.name);
    snprintf(renamed.name, sizeof renamed.name, "%s", name);
    const tr_status status = tr_weights_add(weights, &renamed, error);
    if (status == TR_OK)
        tensor->owned = false;
    return status;
}

static tr_status add_embeddings(const embeddings *e, tr_weights *weights, tr_error *error)
{
    tr_status status;
    if (same(e->source, e->target)) {
        status = add_as(weights, e->source, "token_embd.weight", error);
    } else {
        status = add_as(weights, e->source, "enc.token_embd.weight", error);
        if (status == TR_OK)
            status = add_as(weights, e->target, "dec.token_embd.weight", error);
    }
    if (status == TR_OK && !same(e->output, e->target))
        status = add_as(weights, e->output, "output.weight", error);
    return status;
}

static bool is_embedding(const char *name)
{
    return strcmp(name, "output.weight") == 0 || tr_ends_with(name, "token_embd.weight");
}

static tr_status add_others(const tr_weights *raw, tr_weights *weights, tr_error *error)
{
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < raw->count; i++) {
        tr_tensor *tensor = raw->tensors[i];
        if (is_embedding(tensor->name))
            continue;
        if (strcmp(tensor->name, "output.bias") == 0 && tensor->rank == 2 && tensor->shape[0] == 1) {
            tensor->rank = 1; /* [1, vocabulary] */
            tensor->shape[0] = tensor->shape[1];
            tensor->shape[1] = 0;
        }
        status = add_as(weights, tensor, tensor->name, error);
    }
    return status;
}

/* Chooses the reader by content, for a damaged file by its name. */
static tr_status read_file(const tr_weight_file *file, tr_tensor_rename *renaming, tr_weights *raw, tr_error *error)
{
    enum { HEADER = 8 }; /* bytes before a safetensors header, which is JSON */
    const tr_bytes *b = &file->bytes;
    const bool safetensors = b->size > HEADER && ((const char *)b->data)[HEADER] == '{';
    const bool torch = tr_is_pytorch(b->data, b->size) || (tr_ends_with(file->name, ".bin") && !safetensors);
    return tr_fail_in(error,
                      torch ? tr_pytorch_read(b->data, b->size, renaming, raw, error)
                            : tr_safetensors_read(b->data, b->size, renaming, raw, error),
                      file->name);
}

tr_status tr_hf_weights(const tr_weight_file *files, size_t count, tr_tensor_rename *renaming, tr_hf_ties ties,
                        tr_weights *weights, tr_error *error)
{
    tr_weights raw = {0};
    embeddings e;
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < count; i++) {
        const size_t known = raw.count;
        status = read_file(&files[i], renaming, &raw, error);
        if (files[i].mapped)
            tr_mark_mapped(&raw, known, files[i].bytes);
    }
    if (status == TR_OK && raw.count == 0)
        status = tr_fail(error, TR_ERROR_FORMAT, "%s: holds no tensor of such a network: weights of another kind of model",
                         files[0].name);
    if (status == TR_OK)
        status = resolve_ties(&raw, ties, &e, error);
    if (status == TR_OK)
        status = add_embeddings(&e, weights, error);
    if (status == TR_OK)
        status = add_others(&raw, weights, error);
    if (status == TR_OK)
        status = tr_weights_move_blocks(weights, &raw, error);
    tr_weights_free(&raw);
    return status;
}
