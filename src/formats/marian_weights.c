#include <stdio.h>
#include <string.h>

#include "formats/marian_hf.h"
#include "formats/pytorch.h"
#include "formats/safetensors.h"

typedef struct name_pair {
    const char *theirs, *ours;
} name_pair;

static const name_pair outer_names[] = {
    {"model.shared.weight", "token_embd.weight"},
    {"model.encoder.embed_tokens.weight", "enc.token_embd.weight"},
    {"model.decoder.embed_tokens.weight", "dec.token_embd.weight"},
    {"lm_head.weight", "output.weight"},
    {"final_logits_bias", "output.bias"},
};

/* Behind "model.encoder.layers.N." and "model.decoder.layers.N.", without ".weight" or ".bias". */
static const name_pair layer_names[] = {
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.out_proj", "attn_o"},
    {"self_attn_layer_norm", "attn_norm"},
    {"fc1", "ffn_up"},
    {"fc2", "ffn_down"},
    {"final_layer_norm", "ffn_norm"},
    {"encoder_attn.q_proj", "cross_attn_q"},
    {"encoder_attn.k_proj", "cross_attn_k"},
    {"encoder_attn.v_proj", "cross_attn_v"},
    {"encoder_attn.out_proj", "cross_attn_o"},
    {"encoder_attn_layer_norm", "cross_attn_norm"},
};

enum {
    OUTER_NAMES = sizeof outer_names / sizeof *outer_names,
    LAYER_NAMES = sizeof layer_names / sizeof *layer_names,
};

/* Leaves out empty for all else: transformers ignores tensors that it does not know, and computes the positions. */
static void rename_tensor(const char *name, char out[TR_TENSOR_NAME])
{
    static const char prefix[] = "model.encoder.layers.";
    enum { PREFIX = sizeof prefix - 1, SIDE = sizeof "model." - 1, SIDE_END = sizeof "model.encoder" - 1 };
    for (size_t i = 0; i < OUTER_NAMES; i++)
        if (strcmp(name, outer_names[i].theirs) == 0)
            snprintf(out, TR_TENSOR_NAME, "%s", outer_names[i].ours);
    const bool decoder = strncmp(name, "model.decoder", SIDE_END) == 0;
    if (strlen(name) < PREFIX || strncmp(name, prefix, SIDE) != 0 || (!decoder && strncmp(name, prefix, SIDE_END) != 0) ||
        strncmp(name + SIDE_END, prefix + SIDE_END, PREFIX - SIDE_END) != 0)
        return;
    const char *number = name + PREFIX, *rest = number + strspn(number, "0123456789"), *dot = strrchr(name, '.');
    const int digits = (int)(rest - number);
    if (digits < 1 || digits > 4 || (digits > 1 && *number == '0') || *rest++ != '.' || dot < rest ||
        (strcmp(dot, ".weight") != 0 && strcmp(dot, ".bias") != 0))
        return;
    for (size_t i = 0; i < LAYER_NAMES; i++)
        if (strlen(layer_names[i].theirs) == (size_t)(dot - rest) && strncmp(rest, layer_names[i].theirs, dot - rest) == 0)
            snprintf(out, TR_TENSOR_NAME, "%s.blk.%.*s.%s%s", decoder ? "dec" : "enc", digits, number, layer_names[i].ours,
                     dot);
}

/* --------------------------------------------------------------------------------------------------------------- ties */

static bool same(const tr_tensor *a, const tr_tensor *b)
{
    return a == b || (a->type == b->type && a->rank == b->rank && memcmp(a->shape, b->shape, sizeof a->shape) == 0 &&
                      a->bytes == b->bytes && (a->data == b->data || memcmp(a->data, b->data, a->bytes) == 0));
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
static tr_status resolve_ties(const tr_weights *raw, tr_marian_ties ties, embeddings *e, tr_error *error)
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
    const size_t length = strlen(name);
    static const char suffix[] = "token_embd.weight";
    return strcmp(name, "output.weight") == 0 ||
           (length >= sizeof suffix - 1 && strcmp(name + length - (sizeof suffix - 1), suffix) == 0);
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

static bool ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), n = strlen(end);
    return size >= n && strcmp(text + size - n, end) == 0;
}

/* By content; the name says what a damaged file was meant to be. */
static tr_status read_file(const tr_weight_file *file, tr_weights *raw, tr_error *error)
{
    static const char pointer[] = "version https://git-lfs";
    enum { HEADER = 8 }; /* bytes before a safetensors header, which is JSON */
    const tr_bytes *b = &file->bytes;
    const bool safetensors = b->size > HEADER && ((const char *)b->data)[HEADER] == '{';
    if (b->size >= sizeof pointer && memcmp(b->data, pointer, sizeof pointer - 1) == 0)
        return tr_fail(error, TR_ERROR_FORMAT, "%s: is a Git LFS pointer, not the weights themselves: run git lfs pull",
                       file->name);
    const bool torch = tr_is_pytorch(b->data, b->size) || (ends_with(file->name, ".bin") && !safetensors);
    return tr_fail_in(error,
                      torch ? tr_pytorch_read(b->data, b->size, rename_tensor, raw, error)
                            : tr_safetensors_read(b->data, b->size, rename_tensor, raw, error),
                      file->name);
}

tr_status tr_marian_weights(const tr_weight_file *files, size_t count, tr_marian_ties ties, tr_weights *weights,
                            tr_error *error)
{
    tr_weights raw = {0};
    embeddings e;
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < count; i++)
        status = read_file(&files[i], &raw, error);
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
