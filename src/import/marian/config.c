/* What the options in a Marian model (config_parser.cpp has all, with defaults) mean for its network. */
#include "import/marian/marian.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/json.h"

enum { COMPUTED_POSITIONS = 1024 };

/* One model's options being read; fields keeps the first failure. */
typedef struct config_reader {
    tr_json_fields fields;
    const tr_marian_items *items;
    tr_config *config;
    tr_marian_layout *layout;
    bool norms; /* config->norm is set: all other norms must be of that kind */
} config_reader;

static void unsupported(config_reader *t, const char *key, const char *why)
{
    tr_json_fail(&t->fields, TR_ERROR_UNSUPPORTED, key, why);
}

static bool flag(config_reader *t, const char *key)
{
    return tr_json_bool(&t->fields, key, false);
}

/* ------------------------------------------------------------------------------------------------------------ refusals */

static void refuse_others(config_reader *t)
{
    static const char *const flags[] = {"ulr", "transformer-pool", "right-left", "transformer-train-positions"};
    const char *type = tr_json_string(&t->fields, "type", "");
    const char *mask = tr_json_string(&t->fields, "transformer-attention-mask", "default");
    if (t->fields.status == TR_OK && strcmp(type, "transformer") != 0)
        t->fields.status =
            tr_fail(t->fields.error, TR_ERROR_UNSUPPORTED, "%s: type %.50s is not supported, only transformer",
                    t->fields.name, *type ? type : "is missing:");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flag(t, flags[i]))
            unsupported(t, flags[i], "is set, which is not supported");
    if (*mask && strcmp(mask, "default") != 0)
        unsupported(t, "transformer-attention-mask", "is not the default, which is not supported");
    if (tr_json_int(&t->fields, "lemma-dim-emb", 0) != 0)
        unsupported(t, "lemma-dim-emb", "is set (factored vocabularies), which is not supported");
    const json_t *type_of_input;
    size_t i;
    json_array_foreach(tr_json_get(&t->fields, "input-types"), i, type_of_input)
    {
        if (!json_is_string(type_of_input) || strcmp(json_string_value(type_of_input), "sequence") != 0)
            unsupported(t, "input-types", "holds something else than sequence, which is not supported");
    }
}

/* --------------------------------------------------------------------------------------------------------------- norms */

/* The meaning of a string of operations. */
typedef struct operations {
    bool add, norm;
} operations;

static void note_norm(config_reader *t, const char *key, char operation)
{
    const tr_norm_kind kind = operation == 'r' ? TR_NORM_RMS : TR_NORM_LAYER;
    if (t->norms && t->config->norm != kind)
        unsupported(t, key, "mixes LayerNorm and RMSNorm, which is not supported");
    t->config->norm = kind;
    t->norms = true;
}

/* d, dropout, has no effect in inference; a adds the sublayer's input, n and r normalise. */
static operations read_operations(config_reader *t, const char *key, const char *fallback)
{
    operations o = {false, false};
    for (const char *p = tr_json_string(&t->fields, key, fallback); *p; p++)
        if (*p == 'a') {
            if (o.add || o.norm)
                unsupported(t, key, "adds twice, or after a norm, which is not supported");
            o.add = true;
        } else if (*p == 'n' || *p == 'r') {
            if (o.norm)
                unsupported(t, key, "normalises twice, which is not supported");
            o.norm = true;
            note_norm(t, key, *p);
        } else if (*p == 'h') {
            unsupported(t, key, "asks for a highway connection, which is not supported");
        } else if (*p != 'd') {
            unsupported(t, key, "holds an operation that is not known");
        }
    return o;
}

static void read_norms(config_reader *t)
{
    tr_config *c = t->config;
    const operations before = read_operations(t, "transformer-preprocess", ""),
                     after = read_operations(t, "transformer-postprocess", "dan"),
                     embedding = read_operations(t, "transformer-postprocess-emb", "d"),
                     top = read_operations(t, "transformer-postprocess-top", "");
    if (before.add || embedding.add)
        unsupported(t, before.add ? "transformer-preprocess" : "transformer-postprocess-emb",
                    "adds, where there is nothing to add");
    if (!after.add)
        unsupported(t, "transformer-postprocess", "adds no residual, which is not supported");
    if (top.add)
        unsupported(t, "transformer-postprocess-top", "adds the embeddings, which is not supported");
    if (!before.norm && !after.norm)
        unsupported(t, "transformer-postprocess", "and transformer-preprocess have no norm, which is not supported");
    c->pre_norm = before.norm;
    c->post_norm = before.norm && after.norm;
    c->embedding_norm = embedding.norm;
    c->final_norm = top.norm;
    c->layer_norm_epsilon = 1e-6f;
}

/* ------------------------------------------------------------------------------------------------------------- network */

static tr_activation read_activation(config_reader *t, const char *key, const char *fallback)
{
    const char *name = tr_json_string(&t->fields, key, fallback);
    static const struct {
        const char *name;
        tr_activation activation;
    } known[] = {{"relu", TR_ACTIVATION_RELU}, {"swish", TR_ACTIVATION_SWISH}, {"gelu", TR_ACTIVATION_GELU}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].activation;
    unsupported(t, key, "is neither relu, swish nor gelu");
    return TR_ACTIVATION_RELU;
}

/* The value of KEY, or the encoder's if it is 0. */
static int decoders(config_reader *t, const char *key, int encoders)
{
    const int own = tr_json_int(&t->fields, key, 0);
    return own ? own : encoders;
}

static void read_sizes(config_reader *t)
{
    tr_json_fields *f = &t->fields;
    tr_config *c = t->config;
    c->d_model = tr_json_int(f, "dim-emb", 512);
    c->encoder_layers = tr_json_int(f, "enc-depth", 1);
    c->decoder_layers = tr_json_int(f, "dec-depth", 1);
    c->encoder_heads = c->decoder_heads = tr_json_int(f, "transformer-heads", 8);
    c->encoder_ffn = tr_json_int(f, "transformer-dim-ffn", 2048);
    c->decoder_ffn = decoders(t, "transformer-decoder-dim-ffn", c->encoder_ffn);
    c->encoder_ffn_depth = tr_json_int(f, "transformer-ffn-depth", 2);
    c->decoder_ffn_depth = decoders(t, "transformer-decoder-ffn-depth", c->encoder_ffn_depth);
    c->activation = read_activation(t, "transformer-ffn-activation", "swish");
    c->no_output_projection = flag(t, "transformer-no-projection");
}

static void read_history(config_reader *t)
{
    tr_json_fields *f = &t->fields;
    tr_config *c = t->config;
    const char *kind = tr_json_string(f, "transformer-decoder-autoreg", "self-attention");
    if (strcmp(kind, "average-attention") == 0) {
        c->mixer = TR_MIXER_AAN;
        c->aan_ffn = tr_json_int(f, "transformer-dim-aan", 2048);
        c->aan_depth = tr_json_int(f, "transformer-aan-depth", 2);
        c->aan_activation = read_activation(t, "transformer-aan-activation", "swish");
        c->aan_ungated = flag(t, "transformer-aan-nogate");
    } else if (strcmp(kind, "rnn") == 0) {
        c->mixer = TR_MIXER_SSRU;
        c->ssru_projection = flag(t, "transformer-rnn-projection");
        if (strcmp(tr_json_string(f, "dec-cell", "gru"), "ssru") != 0)
            unsupported(t, "dec-cell", "is not ssru, which alone is supported");
        if (flag(t, "layer-normalization"))
            unsupported(t, "layer-normalization", "is set for a recurrent decoder, which is not supported");
    } else if (strcmp(kind, "self-attention") == 0) {
        c->unnormalised_kv =
            c->pre_norm; /* DecoderLayerSelfAttention's values are no longer LayerAttention's input from step 1 on */
    } else {
        unsupported(t, "transformer-decoder-autoreg", "is neither self-attention, average-attention nor rnn");
    }
}

/* Marian's --alignment uses the first head of this layer. No value is an error, as nothing else depends on it. */
static void read_alignment(config_reader *t)
{
    tr_config *c = t->config;
    const json_t *layer = tr_json_get(&t->fields, "transformer-guided-alignment-layer");
    const json_int_t number = json_is_string(layer) ? strtol(json_string_value(layer), NULL, 10) : json_integer_value(layer);
    c->alignment_layer = number >= 1 && number <= c->decoder_layers ? (int)number : c->decoder_layers; /* "last" */
    c->alignment_head = 1;
}

/* Layer n of the decoder has the parameters of layer tied[n]. */
static void read_ties(config_reader *t)
{
    const json_t *tied = tr_json_get(&t->fields, "transformer-tied-layers");
    const size_t count = json_array_size(tied);
    for (int i = 0; i < TR_MAX_LAYERS; i++)
        t->layout->decoder_layer[i] = i + 1;
    if (tied && !json_is_array(tied))
        tr_json_fail(&t->fields, TR_ERROR_FORMAT, "transformer-tied-layers", "is not a list");
    if (count && count != (size_t)t->config->decoder_layers)
        tr_json_fail(&t->fields, TR_ERROR_FORMAT, "transformer-tied-layers", "does not name as many layers as there are");
    for (size_t i = 0; t->fields.status == TR_OK && i < count && i < TR_MAX_LAYERS; i++) {
        const json_int_t number = json_integer_value(json_array_get(tied, i));
        if (number < 1 || number > TR_MAX_LAYERS)
            tr_json_fail(&t->fields, TR_ERROR_FORMAT, "transformer-tied-layers", "holds something else than layers");
        else
            t->layout->decoder_layer[i] = (int)number;
    }
}

/* --------------------------------------------------------------------------------------------- embeddings and positions */

/* Marian computes positions; its documented option transformer-train-position-embeddings is for other types of models, and
 * an undocumented one, for this type, stops Marian 1.12. */
static void read_positions(config_reader *t)
{
    tr_config *c = t->config;
    c->max_positions = COMPUTED_POSITIONS;
    c->positions = TR_POSITIONS_STRETCHED;
    if (flag(t, "transformer-disable-position-embeddings"))
        c->positions = TR_POSITIONS_NONE;
    else if (c->d_model > 0)
        c->embedding_scale = sqrtf((float)c->d_model);
}

/* Rows of an embedding: those of dim-vocabs or, if that is 0, those of the file. */
static int vocabulary_size(config_reader *t, const json_t *sizes, size_t side, const char *embedding)
{
    const json_t *size = json_array_get(sizes, side);
    const tr_marian_item *item = tr_marian_find(t->items, embedding);
    if (size && (!json_is_integer(size) || json_integer_value(size) < 0 || json_integer_value(size) > TR_MAX_VOCABULARY))
        tr_json_fail(&t->fields, TR_ERROR_FORMAT, "dim-vocabs", "holds something else than sizes of vocabularies");
    else if (json_integer_value(size) > 0)
        return (int)json_integer_value(size);
    return item && item->shape[0] <= TR_MAX_VOCABULARY ? (int)item->shape[0] : 0;
}

static void read_embeddings(config_reader *t)
{
    const json_t *sizes = tr_json_get(&t->fields, "dim-vocabs");
    const bool all = flag(t, "tied-embeddings-all");
    tr_marian_layout *l = t->layout;
    l->shared_source = all || flag(t, "tied-embeddings-src");
    l->tied_output = all || flag(t, "tied-embeddings");
    l->no_output_bias = flag(t, "output-omit-bias");
    if (sizes && (!json_is_array(sizes) || json_array_size(sizes) != 2))
        unsupported(t, "dim-vocabs", "is not a list of two sizes: models with one source are supported");
    t->config->source_vocabulary = vocabulary_size(t, sizes, 0, l->shared_source ? "Wemb" : "encoder_Wemb");
    t->config->target_vocabulary = vocabulary_size(t, sizes, 1, l->shared_source ? "Wemb" : "decoder_Wemb");
}

tr_status tr_marian_config(const json_t *yml, const tr_marian_items *items, tr_config *config, tr_marian_layout *layout,
                           tr_error *error)
{
    config_reader t = {
        .fields = {yml, TR_MARIAN_SETTINGS, TR_OK, error}, .items = items, .config = config, .layout = layout};
    *config = tr_config_default();
    *layout = (tr_marian_layout){0};
    config->start_zeros = true;
    refuse_others(&t);
    read_sizes(&t);
    read_norms(&t);
    read_history(&t);
    read_alignment(&t);
    read_ties(&t);
    read_positions(&t);
    read_embeddings(&t);
    return t.fields.status;
}
