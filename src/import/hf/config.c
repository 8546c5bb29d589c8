#include <math.h>
#include <stdio.h>
#include <string.h>

#include "import/hf/hf.h"

static tr_activation read_activation(tr_json_fields *settings, const char *key, const char *name)
{
    tr_activation activation = TR_ACTIVATION_NONE;
    if (!tr_activation_parse(name, &activation) && settings->status == TR_OK)
        settings->status =
            tr_fail(settings->error, TR_ERROR_UNSUPPORTED, "%s: %s %.60s is not supported", settings->name, key, name);
    return activation;
}

/* Common settings of BART and of the families derived from it. */
typedef struct bart_defaults {
    int d_model, layers, heads, ffn, max_positions, vocabulary;
    const char *activation;
} bart_defaults;

static void bart_shape(tr_json_fields *s, const bart_defaults *d, tr_config *c, tr_hf_ties *ties)
{
    c->d_model = tr_json_int(s, "d_model", d->d_model);
    c->encoder_layers = tr_json_int(s, "encoder_layers", d->layers);
    c->decoder_layers = tr_json_int(s, "decoder_layers", d->layers);
    c->encoder_heads = tr_json_int(s, "encoder_attention_heads", d->heads);
    c->decoder_heads = tr_json_int(s, "decoder_attention_heads", d->heads);
    c->encoder_ffn = tr_json_int(s, "encoder_ffn_dim", d->ffn);
    c->decoder_ffn = tr_json_int(s, "decoder_ffn_dim", d->ffn);
    c->max_positions = tr_json_int(s, "max_position_embeddings", d->max_positions);
    c->activation = read_activation(s, "activation_function", tr_json_string(s, "activation_function", d->activation));
    c->embedding_scale = tr_json_bool(s, "scale_embedding", false) ? sqrtf((float)c->d_model) : 1;
    c->layer_norm_epsilon = 1e-5f; /* torch.nn.LayerNorm's default: none of them sets another */
    c->source_vocabulary = c->target_vocabulary = tr_json_int(s, "vocab_size", d->vocabulary);
    ties->share_embeddings = true;
    ties->tie_output = tr_json_bool(s, "tie_word_embeddings", true);
}

/* The defaults are those of MarianConfig. Keys that transformers' Marian network ignores are ignored here
 * either, whatever they say: static_position_embeddings (always sinusoidal), normalize_before (always post-norm),
 * normalize_embedding, add_final_layer_norm (no such norms), add_bias_logits (final_logits_bias is always added). */
static void marian_shape(tr_json_fields *s, tr_config *c, tr_hf_ties *ties)
{
    bart_shape(s, &(bart_defaults){1024, 12, 16, 4096, 1024, 58101, "gelu"}, c, ties);
    c->positions = TR_POSITIONS_SINUSOIDAL;
    ties->share_embeddings = tr_json_bool(s, "share_encoder_decoder_embeddings", true);
    const int decoder_vocabulary = tr_json_int(s, "decoder_vocab_size", 0);
    if (!ties->share_embeddings && decoder_vocabulary != 0)
        c->target_vocabulary = decoder_vocabulary;
}

/* Post-norm; positions from row 2 of their tables on. */
static void learned_shape(tr_json_fields *s, tr_config *c, tr_hf_ties *ties)
{
    bart_shape(s, &(bart_defaults){1024, 12, 16, 4096, 1024, 50265, "gelu"}, c, ties);
    c->positions = TR_POSITIONS_LEARNED;
    c->position_offset = 2;
    c->embedding_norm = true;
}

static void plbart_shape(tr_json_fields *s, tr_config *c, tr_hf_ties *ties)
{
    learned_shape(s, c, ties);
    c->embedding_scale = tr_json_bool(s, "scale_embedding", true) ? sqrtf((float)c->d_model) : 1;
}

static void mbart_shape(tr_json_fields *s, tr_config *c, tr_hf_ties *ties)
{
    learned_shape(s, c, ties);
    c->pre_norm = c->final_norm = true;
}

/* M2M100, NLLB-200, SMaLL-100. Positions begin at 2, the row after that of padding. */
static void m2m100_shape(tr_json_fields *s, tr_config *c, tr_hf_ties *ties)
{
    bart_shape(s, &(bart_defaults){1024, 12, 16, 4096, 1024, 128112, "relu"}, c, ties);
    c->embedding_scale = tr_json_bool(s, "scale_embedding", true) ? sqrtf((float)c->d_model) : 1;
    c->positions = TR_POSITIONS_STRETCHED;
    c->position_offset = 2;
    c->pre_norm = c->final_norm = true;
}

/* "relu", or "gated-gelu", by which T5 means the variant by tanh. */
static void t5_feedforward(tr_json_fields *s, tr_config *c)
{
    static const char gated[] = "gated-";
    const char *name = tr_json_string(s, "feed_forward_proj", "relu");
    c->gated = strncmp(name, gated, sizeof gated - 1) == 0;
    if (c->gated)
        name += sizeof gated - 1;
    c->activation = read_activation(s, "feed_forward_proj", c->gated && strcmp(name, "gelu") == 0 ? "gelu_new" : name);
}

static void t5_shape(tr_json_fields *s, tr_config *c, tr_hf_ties *ties)
{
    c->d_model = tr_json_int(s, "d_model", 512);
    c->encoder_layers = tr_json_int(s, "num_layers", 6);
    c->decoder_layers = tr_json_int(s, "num_decoder_layers", c->encoder_layers);
    c->encoder_heads = c->decoder_heads = tr_json_int(s, "num_heads", 8);
    c->head_size = tr_json_int(s, "d_kv", 64);
    c->encoder_ffn = c->decoder_ffn = tr_json_int(s, "d_ff", 2048);
    c->max_positions = TR_RELATIVE_POSITIONS;
    c->positions = TR_POSITIONS_RELATIVE;
    c->relative_buckets = tr_json_int(s, "relative_attention_num_buckets", 32);
    c->relative_distance = tr_json_int(s, "relative_attention_max_distance", TR_RELATIVE_DISTANCE);
    t5_feedforward(s, c);
    c->norm = TR_NORM_RMS;
    c->pre_norm = c->final_norm = true;
    c->layer_norm_epsilon = tr_json_real(s, "layer_norm_epsilon", 1e-6f);
    c->attention_scale = 1;
    c->source_vocabulary = c->target_vocabulary = tr_json_int(s, "vocab_size", 32128);
    ties->share_embeddings = true;
    ties->tie_output = true; /* unless the file has another one */
    /* transformers 5 writes the first, older ones mean it by the second */
    const bool scaled = tr_json_bool(s, "scale_decoder_outputs", tr_json_bool(s, "tie_word_embeddings", true));
    c->logits_scale = scaled && c->d_model > 0 ? 1 / sqrtf((float)c->d_model) : 1;
}

/* Never scaled, whatever tie_word_embeddings says. */
static void mt5_shape(tr_json_fields *s, tr_config *c, tr_hf_ties *ties)
{
    t5_shape(s, c, ties);
    c->logits_scale = 1;
}

/* ------------------------------------------------------------------------------------------------------------- families */

static const tr_hf_family families[] = {
    {"marian", "MarianMTModel", "Hugging Face Marian directory", marian_shape, tr_hf_rename_marian, 58100, 0, -1,
     TR_HF_MARIAN},
    {"bart", "BartForConditionalGeneration", "Hugging Face BART directory", learned_shape, tr_hf_rename_bart, 2, 2, 1,
     TR_HF_WORDS},
    {"plbart", "PLBartForConditionalGeneration", "Hugging Face PLBART directory", plbart_shape, tr_hf_rename_bart, 2, 2, 1,
     TR_HF_FAIRSEQ},
    {"mbart", "MBartForConditionalGeneration", "Hugging Face mBART directory", mbart_shape, tr_hf_rename_bart, 2, 2, 1,
     TR_HF_FAIRSEQ},
    {"m2m_100", "M2M100ForConditionalGeneration", "Hugging Face M2M100 directory", m2m100_shape, tr_hf_rename_bart, 2, 2, 1,
     TR_HF_FAIRSEQ},
    {"t5", "T5ForConditionalGeneration", "Hugging Face T5 directory", t5_shape, tr_hf_rename_t5, 0, 1, 0, TR_HF_PIECES},
    {"mt5", "MT5ForConditionalGeneration", "Hugging Face mT5 directory", mt5_shape, tr_hf_rename_t5, 0, 1, 0, TR_HF_PIECES},
};

/* "marian, bart" */
static const char *list_families(char list[160])
{
    *list = 0;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        snprintf(list + strlen(list), 160 - strlen(list), "%s%s", i ? ", " : "", families[i].type);
    return list;
}

/* Checks that the directory holds what this program runs, before its settings are taken for a family's. */
static const tr_hf_family *find_family(tr_json_fields *settings)
{
    const char *type = tr_json_string(settings, "model_type", NULL);
    const tr_hf_family *family = NULL;
    char list[160];
    for (size_t i = 0; type && i < sizeof families / sizeof *families; i++)
        if (strcmp(families[i].type, type) == 0)
            family = &families[i];
    if (!type)
        tr_json_fail(settings, TR_ERROR_UNSUPPORTED, "model_type", "is missing: not a Hugging Face model directory");
    else if (!family && settings->status == TR_OK)
        settings->status = tr_fail(settings->error, TR_ERROR_UNSUPPORTED, "%s: model_type %.60s is not supported, only %s",
                                   settings->name, type, list_families(list));
    const json_t *architectures = tr_json_get(settings, "architectures");
    const char *class = json_string_value(json_array_get(architectures, 0));
    if (family && architectures && (!class || strcmp(class, family->architecture) != 0) && settings->status == TR_OK)
        settings->status = tr_fail(settings->error, TR_ERROR_UNSUPPORTED, "%s: architecture %.60s is not supported, only %s",
                                   settings->name, class ? class : "(none)", family->architecture);
    return settings->status == TR_OK ? family : NULL;
}

/* A token id that may also be written as a list of one. */
static int read_id(tr_json_fields *fields, const char *key, int fallback)
{
    const json_t *value = tr_json_get(fields, key);
    if (!json_is_array(value))
        return tr_json_int(fields, key, fallback);
    if (json_array_size(value) != 1)
        tr_json_fail(fields, TR_ERROR_UNSUPPORTED, key, "lists several tokens, which is not supported");
    const json_t *id = json_array_get(value, 0);
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > TR_MAX_VOCABULARY) {
        tr_json_fail(fields, TR_ERROR_FORMAT, key, "is not a token id");
        return fallback;
    }
    return (int)json_integer_value(id);
}

static void forbid(tr_json_fields *fields, const char *key, const json_t *id, tr_config *c)
{
    const json_int_t value = json_integer_value(id);
    if (!json_is_integer(id) || value < 0 || value >= c->target_vocabulary) {
        tr_json_fail(fields, TR_ERROR_FORMAT, key, "holds something else than ids of the target vocabulary");
        return;
    }
    if (value == c->eos_id)
        return; /* transformers leaves it out, too: sentences must be able to end */
    for (int i = 0; i < c->forbidden_count; i++)
        if (c->forbidden[i] == value)
            return;
    if (c->forbidden_count == TR_MAX_FORBIDDEN)
        tr_json_fail(fields, TR_ERROR_UNSUPPORTED, key, "forbids too many tokens");
    else
        c->forbidden[c->forbidden_count++] = (int)value;
}

/* bad_words_ids: [[id], ...]; suppress_tokens: [id, ...]. */
static void read_forbidden(tr_json_fields *fields, tr_config *c)
{
    const json_t *words = tr_json_get(fields, "bad_words_ids"), *tokens = tr_json_get(fields, "suppress_tokens");
    if ((words && !json_is_array(words)) || (tokens && !json_is_array(tokens)))
        tr_json_fail(fields, TR_ERROR_FORMAT, words && !json_is_array(words) ? "bad_words_ids" : "suppress_tokens",
                     "is not a list");
    for (size_t i = 0; fields->status == TR_OK && i < json_array_size(words); i++) {
        const json_t *word = json_array_get(words, i);
        if (json_array_size(word) != 1)
            tr_json_fail(fields, json_array_size(word) ? TR_ERROR_UNSUPPORTED : TR_ERROR_FORMAT, "bad_words_ids",
                         json_array_size(word) ? "holds a sequence of several tokens, which is not supported"
                                               : "must be a list of lists of token ids");
        else
            forbid(fields, "bad_words_ids", json_array_get(word, 0), c);
    }
    for (size_t i = 0; fields->status == TR_OK && i < json_array_size(tokens); i++)
        forbid(fields, "suppress_tokens", json_array_get(tokens, i), c);
}

/* As transformers does: where there is a generation_config.json, it alone lists forced and forbidden tokens; token ids
 * that it lacks come from config.json. */
static void read_tokens(tr_json_fields *settings, tr_json_fields *generation, const tr_hf_family *family, tr_config *c)
{
    tr_json_fields *rules = generation->object ? generation : settings;
    c->start_id =
        read_id(generation, "decoder_start_token_id", read_id(settings, "decoder_start_token_id", family->start_id));
    c->eos_id = read_id(generation, "eos_token_id", read_id(settings, "eos_token_id", family->eos_id));
    c->pad_id = read_id(generation, "pad_token_id", read_id(settings, "pad_token_id", family->pad_id));
    c->forced_first_id = read_id(rules, "forced_bos_token_id", -1);
    c->forced_last_id = read_id(rules, "forced_eos_token_id", -1);
    read_forbidden(rules, c);
}

/* copy_symbols: [id, ...], of models that were trained with such symbols; transformers ignores it. */
static void read_copy_symbols(tr_json_fields *settings, int vocabulary, tr_ids *symbols)
{
    const char key[] = "copy_symbols";
    const json_t *list = tr_json_get(settings, key);
    if (list && !json_is_array(list))
        tr_json_fail(settings, TR_ERROR_FORMAT, key, "is not a list");
    if (json_array_size(list) > (size_t)vocabulary)
        tr_json_fail(settings, TR_ERROR_FORMAT, key, "holds more ids than there are");
    for (size_t i = 0; settings->status == TR_OK && i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);
        const int32_t id = (int32_t)json_integer_value(value);
        if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) >= vocabulary)
            tr_json_fail(settings, TR_ERROR_FORMAT, key, "holds something else than ids of the source vocabulary");
        else if (!tr_ids_append(symbols, &id, 1))
            tr_json_fail(settings, TR_ERROR_MEMORY, key, "out of memory");
    }
}

tr_status tr_hf_config(const json_t *settings, const json_t *generation, tr_config *config, tr_ids *copy_symbols,
                       tr_hf_ties *ties, const tr_hf_family **family, tr_error *error)
{
    tr_json_fields fields = {settings, "config.json", TR_OK, error};
    tr_json_fields overrides = {generation, "generation_config.json", TR_OK, error};
    *config = tr_config_default();
    *copy_symbols = (tr_ids){0};
    *ties = (tr_hf_ties){0};
    *family = find_family(&fields);
    if (*family)
        (*family)->shape(&fields, config, ties);
    if (fields.status == TR_OK)
        read_tokens(&fields, &overrides, *family, config);
    if (fields.status == TR_OK && config->source_vocabulary > 0)
        read_copy_symbols(&fields, config->source_vocabulary, copy_symbols);
    return fields.status != TR_OK ? fields.status : overrides.status;
}
