#include <math.h>
#include <string.h>

#include "formats/json.h"
#include "formats/marian_hf.h"

/* Checks that the directory holds what this program runs, before its settings are taken for Marian's. */
static void read_kind(tr_json_fields *settings)
{
    const char *type = tr_json_string(settings, "model_type", NULL);
    if (!type)
        tr_json_fail(settings, TR_ERROR_UNSUPPORTED, "model_type", "is missing: not a Hugging Face model directory");
    else if (strcmp(type, "marian") != 0 && settings->status == TR_OK)
        settings->status = tr_fail(settings->error, TR_ERROR_UNSUPPORTED,
                                   "%s: model_type %.60s is not supported, only marian", settings->name, type);
    const json_t *architectures = tr_json_get(settings, "architectures");
    const char *class = json_string_value(json_array_get(architectures, 0));
    if (architectures && (!class || strcmp(class, "MarianMTModel") != 0) && settings->status == TR_OK)
        settings->status =
            tr_fail(settings->error, TR_ERROR_UNSUPPORTED, "%s: architecture %.60s is not supported, only MarianMTModel",
                    settings->name, class ? class : "(none)");
}

static tr_activation read_activation(tr_json_fields *settings)
{
    const char *name = tr_json_string(settings, "activation_function", "gelu");
    tr_activation activation = TR_ACTIVATION_NONE;
    if (!tr_activation_parse(name, &activation) && settings->status == TR_OK)
        settings->status = tr_fail(settings->error, TR_ERROR_UNSUPPORTED, "%s: activation_function %.60s is not supported",
                                   settings->name, name);
    return activation;
}

/* The defaults are those of MarianConfig. Keys that transformers' Marian network never looks at are not looked at here
 * either, whatever they say: static_position_embeddings (always sinusoidal), normalize_before (always post-norm),
 * normalize_embedding, add_final_layer_norm (no such norms), add_bias_logits (final_logits_bias is always added). */
static void read_shape(tr_json_fields *s, tr_config *c, tr_marian_ties *ties)
{
    c->d_model = tr_json_int(s, "d_model", 1024);
    c->encoder_layers = tr_json_int(s, "encoder_layers", 12);
    c->decoder_layers = tr_json_int(s, "decoder_layers", 12);
    c->encoder_heads = tr_json_int(s, "encoder_attention_heads", 16);
    c->decoder_heads = tr_json_int(s, "decoder_attention_heads", 16);
    c->encoder_ffn = tr_json_int(s, "encoder_ffn_dim", 4096);
    c->decoder_ffn = tr_json_int(s, "decoder_ffn_dim", 4096);
    c->max_positions = tr_json_int(s, "max_position_embeddings", 1024);
    c->positions = TR_POSITIONS_SINUSOIDAL;
    c->activation = read_activation(s);
    c->embedding_scale = tr_json_bool(s, "scale_embedding", false) ? sqrtf((float)c->d_model) : 1;
    c->layer_norm_epsilon = 1e-5f; /* torch.nn.LayerNorm's default: Marian sets none */
    c->source_vocabulary = tr_json_int(s, "vocab_size", 58101);
    ties->share_embeddings = tr_json_bool(s, "share_encoder_decoder_embeddings", true);
    ties->tie_output = tr_json_bool(s, "tie_word_embeddings", true);
    const int decoder_vocabulary = tr_json_int(s, "decoder_vocab_size", 0);
    c->target_vocabulary = ties->share_embeddings || decoder_vocabulary == 0 ? c->source_vocabulary : decoder_vocabulary;
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
    if (value == c->end_id)
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

/* As transformers does: where there is a generation_config.json, it alone says what is forced and forbidden; token ids
 * that it lacks come from config.json. */
static void read_tokens(tr_json_fields *settings, tr_json_fields *generation, tr_config *c)
{
    tr_json_fields *rules = generation->object ? generation : settings;
    c->start_id = read_id(generation, "decoder_start_token_id", read_id(settings, "decoder_start_token_id", 58100));
    c->end_id = read_id(generation, "eos_token_id", read_id(settings, "eos_token_id", 0));
    c->pad_id = read_id(generation, "pad_token_id", read_id(settings, "pad_token_id", -1));
    c->forced_first_id = read_id(rules, "forced_bos_token_id", -1);
    c->forced_last_id = read_id(rules, "forced_eos_token_id", -1);
    read_forbidden(rules, c);
}

tr_status tr_marian_config(const json_t *settings, const json_t *generation, tr_config *config, tr_marian_ties *ties,
                           tr_error *error)
{
    tr_json_fields fields = {settings, "config.json", TR_OK, error};
    tr_json_fields overrides = {generation, "generation_config.json", TR_OK, error};
    *config = tr_config_default();
    *ties = (tr_marian_ties){0};
    read_kind(&fields);
    read_shape(&fields, config, ties);
    if (fields.status == TR_OK)
        read_tokens(&fields, &overrides, config);
    return fields.status != TR_OK ? fields.status : overrides.status;
}
