/* GGUF files as llama.cpp's converter makes them of T5, mT5, Flan-T5 and MADLAD-400: its keys, and its tensors, which have
 * our names. Facts: ggml-org/llama.cpp, conversion of T5Model (convert_hf_to_gguf.py), src/models/t5.cpp, and the unigram
 * tokenizer of src/llama-vocab.cpp. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf/keys.h"
#include "import/readers.h"
#include "tokenizer/spm_check.h"
#include "tokenizer/spm_fields.h"
#include "tokenizer/spm_write.h"

static const char key_head_count[] = "t5.attention.head_count", key_groups[] = "t5.attention.head_count_kv",
                  key_key_length[] = "t5.attention.key_length", key_value_length[] = "t5.attention.value_length",
                  key_decoder_layers[] = "t5.decoder_block_count", key_start[] = "t5.decoder_start_token_id",
                  key_tokenizer[] = "tokenizer.ggml.model", key_scores[] = "tokenizer.ggml.scores",
                  key_types[] = "tokenizer.ggml.token_type", key_charsmap[] = "tokenizer.ggml.precompiled_charsmap",
                  key_prefix[] = "tokenizer.ggml.add_space_prefix", key_spaces[] = "tokenizer.ggml.remove_extra_whitespaces";

static tr_status check_architecture(const tr_package *package, tr_error *error)
{
    if (strcmp(package->architecture, "t5") == 0)
        return TR_OK;
    return tr_fail(error, TR_ERROR_UNSUPPORTED,
                   "key " TR_KEY_VERSION ": is missing: not made by translate convert, nor a t5 (architecture %s)",
                   *package->architecture ? package->architecture : "unknown");
}

/* ----------------------------------------------------------------------------------------------------------- settings */

/* clang-format off */
#define FIELD(key, kind, required, name) {key, kind, required, offsetof(tr_config, name), false}
static const tr_gguf_field fields[] = {
    FIELD("t5.embedding_length",                     TR_GGUF_SIZE,  true,  d_model),
    FIELD("t5.block_count",                          TR_GGUF_SIZE,  true,  encoder_layers),
    FIELD(key_decoder_layers,                        TR_GGUF_SIZE,  false, decoder_layers),
    FIELD("t5.feed_forward_length",                  TR_GGUF_SIZE,  true,  encoder_ffn),
    FIELD(key_head_count,                            TR_GGUF_SIZE,  true,  encoder_heads),
    FIELD(key_key_length,                            TR_GGUF_SIZE,  false, head_size),
    FIELD("t5.attention.layer_norm_rms_epsilon",     TR_GGUF_REAL,  true,  layer_norm_epsilon),
    FIELD("t5.attention.relative_buckets_count",     TR_GGUF_SIZE,  true,  relative_buckets),
    FIELD("tokenizer.ggml.eos_token_id",             TR_GGUF_TOKEN, false, eos_id),
    FIELD("tokenizer.ggml.padding_token_id",         TR_GGUF_TOKEN, false, pad_id),
    FIELD(key_start,                                 TR_GGUF_TOKEN, false, start_id),
};
/* clang-format on */

/* Both keys, or the first alone, must say the same. */
static tr_status check_same(const tr_gguf *gguf, const char *key, const char *other, tr_error *error)
{
    const tr_gguf_entry *first = tr_gguf_find(gguf, key), *second = tr_gguf_find(gguf, other);
    int64_t a = 0, b = 0;
    if (!second || (first && tr_gguf_integer(first, &a) && tr_gguf_integer(second, &b) && a == b))
        return TR_OK;
    return tr_fail(error, TR_ERROR_UNSUPPORTED, "key %s: is not the same as %s, which is not supported", other, key);
}

/* Settings that llama.cpp fixes in src/models/t5.cpp, whatever the file says. */
static void fix_settings(const tr_gguf *gguf, tr_config *c)
{
    c->decoder_heads = c->encoder_heads;
    c->decoder_ffn = c->encoder_ffn;
    if (!tr_gguf_find(gguf, key_decoder_layers))
        c->decoder_layers = c->encoder_layers;
    if (!tr_gguf_find(gguf, key_start))
        c->start_id = c->pad_id;
    c->positions = TR_POSITIONS_RELATIVE;
    c->max_positions = TR_RELATIVE_POSITIONS;
    c->relative_distance = TR_RELATIVE_DISTANCE;
    c->norm = TR_NORM_RMS;
    c->pre_norm = c->final_norm = true;
    c->attention_scale = 1;
}

static tr_status read_settings(const tr_gguf *gguf, tr_config *c, tr_error *error)
{
    *c = tr_config_default();
    c->eos_id = 1; /* T5's, as in llama.cpp */
    c->pad_id = 0;
    tr_status status = tr_gguf_read_fields(gguf, fields, sizeof fields / sizeof *fields, c, error);
    if (status == TR_OK)
        status = check_same(gguf, key_head_count, key_groups, error);
    if (status == TR_OK)
        status = check_same(gguf, key_key_length, key_value_length, error);
    if (status == TR_OK)
        fix_settings(gguf, c);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- tensors */

static const char name_embedding[] = "token_embd.weight", name_output[] = "output.weight";

/* Properties of the network that are read from its tensors. */
typedef struct survey {
    tr_tensor embedding, output; /* name "": there is none */
    bool gated;
    char layered[TR_TENSOR_NAME]; /* relative positions of another layer than the first */
} survey;

/* Whether a tensor is PART of some layer of a side; *layer is its number. */
static bool is_part(const char *name, const char *part, long *layer)
{
    char *end;
    if (strncmp(name, "enc.blk.", 8) != 0 && strncmp(name, "dec.blk.", 8) != 0)
        return false;
    *layer = strtol(name + 8, &end, 10);
    return strcmp(end, part) == 0;
}

static void survey_tensor(survey *s, const tr_tensor *tensor)
{
    long layer;
    if (strcmp(tensor->name, name_embedding) == 0)
        s->embedding = *tensor;
    if (strcmp(tensor->name, name_output) == 0)
        s->output = *tensor;
    if (is_part(tensor->name, ".ffn_gate.weight", &layer))
        s->gated = true;
    if (is_part(tensor->name, ".attn_rel_b.weight", &layer) && layer != 0)
        memcpy(s->layered, tensor->name, sizeof s->layered);
}

static tr_status survey_tensors(const tr_gguf *gguf, survey *s, tr_error *error)
{
    tr_gguf_tensors tensors;
    tr_tensor tensor;
    tr_status status = tr_gguf_tensors_begin(gguf, &tensors, error);
    while (tr_gguf_tensors_next(&tensors, &tensor, &status, error))
        survey_tensor(s, &tensor);
    return status;
}

/* A file may hold the embedding once more as its output matrix. */
static bool is_tied(const survey *s)
{
    const tr_tensor *a = &s->embedding, *b = &s->output;
    return !*b->name ||
           (a->type == b->type && a->blocks == b->blocks && a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0);
}

/* Adds all tensors, without the output matrix if it is tied. */
static tr_status add_tensors(const tr_gguf *gguf, bool tied, tr_weights *weights, tr_error *error)
{
    tr_gguf_tensors tensors;
    tr_tensor tensor;
    tr_status status = tr_gguf_tensors_begin(gguf, &tensors, error);
    while (tr_gguf_tensors_next(&tensors, &tensor, &status, error))
        if (!tied || strcmp(tensor.name, name_output) != 0)
            status = tr_weights_add(weights, &tensor, error);
    return status;
}

/* T5's first version: a tied output is scaled by d_model^-0.5 (Raffel et al., 2020; Transformers). llama.cpp leaves that
 * out, which changes no best token, but all probabilities. */
static tr_status read_tensors(const tr_gguf *gguf, tr_package *package, tr_error *error)
{
    tr_config *c = &package->config;
    survey s = {.gated = false};
    tr_status status = survey_tensors(gguf, &s, error);
    if (status != TR_OK)
        return status;
    if (!*s.embedding.name || s.embedding.rank != 2 || s.embedding.shape[0] > TR_MAX_VOCABULARY)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: is missing or not a matrix", name_embedding);
    if (*s.layered)
        return tr_fail(error, TR_ERROR_UNSUPPORTED,
                       "tensor %s: relative positions of each layer's own (UMT5) are not supported", s.layered);
    const bool tied = is_tied(&s);
    c->gated = s.gated;
    c->activation = s.gated ? TR_ACTIVATION_GELU_TANH : TR_ACTIVATION_RELU;
    c->logits_scale = tied && c->d_model > 0 ? 1 / sqrtf((float)c->d_model) : 1;
    c->source_vocabulary = c->target_vocabulary = (int)s.embedding.shape[0];
    status = tr_config_check(c, error);
    return status == TR_OK ? add_tensors(gguf, tied, &package->weights, error) : status;
}

/* ----------------------------------------------------------------------------------------------------------- tokenizer */

typedef struct token_lists {
    const tr_gguf_entry *tokens, *scores, *types;
} token_lists;

static tr_status find_list(const tr_gguf *gguf, const char *key, tr_gguf_type type, const tr_gguf_entry **list,
                           tr_error *error)
{
    const tr_gguf_entry *entry = *list = tr_gguf_find(gguf, key);
    if (!entry)
        return tr_gguf_fail_key(error, key, "is missing");
    return entry->array && entry->type == type ? TR_OK : tr_gguf_fail_key(error, key, "is not an array of the right type");
}

static tr_status find_lists(const tr_gguf *gguf, int rows, token_lists *lists, tr_error *error)
{
    char kind[32] = "";
    tr_status status = tr_gguf_read_string(gguf, key_tokenizer, kind, sizeof kind, error);
    if (status == TR_OK && strcmp(kind, "t5") != 0)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "key %s: %s is not supported, only t5", key_tokenizer,
                       *kind ? kind : "none");
    if (status == TR_OK)
        status = find_list(gguf, TR_KEY_TOKENS, TR_GGUF_STRING, &lists->tokens, error);
    if (status == TR_OK)
        status = find_list(gguf, key_scores, TR_GGUF_F32, &lists->scores, error);
    if (status == TR_OK)
        status = find_list(gguf, key_types, TR_GGUF_I32, &lists->types, error);
    if (status != TR_OK)
        return status;
    const uint64_t count = lists->tokens->count;
    if (lists->scores->count != count || lists->types->count != count)
        return tr_fail(error, TR_ERROR_FORMAT, "key %s: there are %llu tokens, %llu scores and %llu types", TR_KEY_TOKENS,
                       (unsigned long long)count, (unsigned long long)lists->scores->count,
                       (unsigned long long)lists->types->count);
    if (count > (uint64_t)rows)
        return tr_fail(error, TR_ERROR_FORMAT, "key %s: has %llu tokens, but the embedding has %d rows", TR_KEY_TOKENS,
                       (unsigned long long)count, rows);
    return TR_OK;
}

/* The converter's name for embedding rows beyond the tokenizer's pieces. */
static bool is_filler(const char *text, size_t size, int type)
{
    static const char filler[] = "[PAD";
    return type == TR_SPM_TYPE_UNUSED && size >= sizeof filler - 1 && memcmp(text, filler, sizeof filler - 1) == 0;
}

/* The pieces by their ids, and the SentencePiece model that they were. The converter lists user-defined pieces as normal
 * ones; their score, 0, gives them away: a normal piece's is the logarithm of its probability. */
static tr_status read_tokens(const token_lists *lists, tr_config *c, tr_piece *pieces, tr_buffer *spm,
                             tr_spm_settings *settings, tr_error *error)
{
    const unsigned char *at = lists->tokens->data;
    for (uint64_t i = 0; i < lists->tokens->count; i++) {
        size_t size;
        const char *text = tr_gguf_string(&at, &size);
        const float score = tr_gguf_float_element(lists->scores, i);
        const int64_t given = tr_gguf_element(lists->types, i);
        if (given < TR_SPM_TYPE_NORMAL || given > TR_SPM_TYPE_BYTE || size == 0 || size > TR_SPM_MAX_PIECE)
            return tr_fail(error, TR_ERROR_FORMAT, "key %s: token %llu is empty, too long or of an unknown type",
                           TR_KEY_TOKENS, (unsigned long long)i);
        const int type = given == TR_SPM_TYPE_NORMAL && score == 0 ? TR_SPM_TYPE_USER_DEFINED : (int)given;
        if (!tr_spm_write_piece(spm, text, size, score, type))
            return tr_fail(error, TR_ERROR_MEMORY, "key %s: out of memory", TR_KEY_TOKENS);
        if (!is_filler(text, size, type))
            pieces[i] = (tr_piece){text, (uint32_t)size};
        if (type == TR_SPM_TYPE_UNKNOWN)
            c->unk_id = (int)i;
        settings->byte_fallback = settings->byte_fallback || type == TR_SPM_TYPE_BYTE;
    }
    return TR_OK;
}

static tr_status read_normalizer(const tr_gguf *gguf, tr_spm_settings *s, tr_error *error)
{
    static const tr_gguf_field flags[] = {
        {key_prefix, TR_GGUF_FLAG, false, offsetof(tr_spm_settings, add_dummy_prefix), false},
        {key_spaces, TR_GGUF_FLAG, false, offsetof(tr_spm_settings, remove_extra_whitespaces), false}};
    const tr_gguf_entry *charsmap = tr_gguf_find(gguf, key_charsmap);
    if (charsmap && (!charsmap->array || (charsmap->type != TR_GGUF_U8 && charsmap->type != TR_GGUF_I8)))
        return tr_gguf_fail_key(error, key_charsmap, "is not an array of bytes");
    if (charsmap && charsmap->count) {
        s->charsmap = charsmap->data;
        s->charsmap_size = (size_t)charsmap->count;
    }
    return tr_gguf_read_fields(gguf, flags, 2, s, error);
}

/* How the languages' tokens of MADLAD-400 begin. */
static const char madlad[] = "<2";

static tr_status read_tokenizer(const tr_gguf *gguf, tr_package *package, tr_error *error)
{
    tr_config *c = &package->config;
    token_lists lists = {NULL, NULL, NULL};
    tr_buffer spm = {0};
    tr_spm_settings settings = {.model_type = TR_SPM_UNIGRAM, .add_dummy_prefix = true, .remove_extra_whitespaces = true};
    tr_status status = find_lists(gguf, c->source_vocabulary, &lists, error);
    if (status == TR_OK)
        status = read_normalizer(gguf, &settings, error);
    if (status != TR_OK)
        return status;
    tr_piece *pieces = calloc((size_t)c->source_vocabulary, sizeof *pieces); /* rows are in the file: tr_package_check */
    status = pieces ? read_tokens(&lists, c, pieces, &spm, &settings, error)
                    : tr_fail(error, TR_ERROR_MEMORY, "key %s: out of memory", TR_KEY_TOKENS);
    if (status == TR_OK && !tr_spm_write_settings(&spm, &settings))
        status = tr_fail(error, TR_ERROR_MEMORY, "key %s: out of memory", TR_KEY_TOKENS);
    if (status == TR_OK)
        status = tr_fail_in(error, tr_package_keep_spm(package, &spm, error), "the keys tokenizer.ggml");
    tr_buffer_free(&spm);
    if (status != TR_OK) {
        free(pieces);
        return status;
    }
    package->target = &package->source;
    status = tr_vocabulary_init(&package->source, pieces, (size_t)c->source_vocabulary, NULL, error);
    if (status == TR_OK)
        status = tr_languages_collect(&package->source, madlad, &package->languages, error);
    return tr_fail_in(error, status, TR_KEY_TOKENS);
}

static const char format[] = "GGUF of llama.cpp";

tr_status tr_llama_read(const tr_gguf *gguf, tr_package *package, tr_error *error)
{
    package->format = format;
    tr_status status = check_architecture(package, error);
    if (status == TR_OK)
        status = read_settings(gguf, &package->config, error);
    if (status == TR_OK)
        status = tr_gguf_read_string(gguf, TR_KEY_NAME, package->name, sizeof package->name, error);
    if (status == TR_OK)
        status = read_tensors(gguf, package, error);
    if (status == TR_OK)
        status = tr_package_check(package, error);
    return status == TR_OK ? read_tokenizer(gguf, package, error) : status;
}

tr_status tr_llama_peek(const tr_gguf *gguf, tr_package *package, tr_error *error)
{
    const tr_gguf_entry *tokens;
    package->format = format;
    tr_status status = check_architecture(package, error);
    if (status == TR_OK)
        status = find_list(gguf, TR_KEY_TOKENS, TR_GGUF_STRING, &tokens, error);
    const unsigned char *at = status == TR_OK ? tokens->data : NULL;
    for (uint64_t i = 0; status == TR_OK && i < tokens->count; i++) {
        size_t size;
        const char *text = tr_gguf_string(&at, &size);
        status = tr_languages_add_target(&package->languages, madlad, text, size, 0, error);
    }
    return status;
}
