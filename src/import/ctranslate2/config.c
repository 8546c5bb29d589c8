/* Reads the settings of the network from the variables of a CTranslate2 model. */
#include "import/ctranslate2/ctranslate2.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "import/json.h"

enum { NAME = 192, COMPUTED_POSITIONS = 1024, COMPUTED_BYTES = 16 << 20 };

/* The first failure sticks. */
typedef struct config_reader {
    tr_ct2_model *model;
    tr_config *config;
    tr_status status;
    tr_error *error;
} config_reader;

static void fail(config_reader *t, tr_status status, const char *name, const char *why)
{
    if (t->status == TR_OK)
        t->status = tr_fail(t->error, status, "variable %.100s: %s", name, why);
}

/* ------------------------------------------------------------------------------------------------------------ scalars */

static double scalar(config_reader *t, const char *name, double fallback)
{
    double value = fallback;
    const tr_ct2_variable *v = tr_ct2_find(t->model, name);
    if (v && !tr_ct2_scalar(v, &value))
        fail(t, TR_ERROR_FORMAT, name, "must be one number");
    return value;
}

/* SIDE/key or, before revision 5, key. */
static double setting(config_reader *t, const char *side, const char *key, double fallback)
{
    char name[NAME];
    snprintf(name, sizeof name, "%s/%s", side, key);
    const bool outer = t->model->revision < 5 && !tr_ct2_has(t->model, name);
    const double value = scalar(t, outer ? key : name, fallback);
    if (value == floor(value) && fabs(value) <= INT32_MAX)
        return value;
    fail(t, TR_ERROR_FORMAT, name, "must be a whole number");
    return fallback;
}

/* ------------------------------------------------------------------------------------------------------------ features */

/* Values that a variable must have to be supported. To add a feature: read its variable below and remove its line. */
typedef enum rule {
    ANY,    /* the variable has no effect here */
    ABSENT, /* the file must not have it */
    ZERO,   /* from here on: the variable, if the file has it, must have this value */
    ONE,
    HEADS,       /* the number of heads */
    HEAD_SIZE,   /* that of layer 0 */
    QUERY_SCALE, /* that of layer 0 of the decoder */
} rule;

static const struct {
    const char *component; /* part of a variable's name, between slashes */
    rule rule;
    const char *what;
} rules[] = {
    {"alignment_layer", ANY, ""}, /* of results, see read_alignment */
    {"alignment_heads", ANY, ""},
    {"embeddings_merge", ANY, ""}, /* of several source embeddings */
    {"alibi_use_positive_positions", ANY, ""},
    {"scale_alibi", ANY, ""},
    {"alibi", ZERO, "ALiBi positions"},
    {"rotary_dim", ABSENT, "rotary positions"},
    {"relative_position_keys", ABSENT, "relative positions"},
    {"relative_position_values", ABSENT, "relative positions"},
    {"relative_asymmetric_position_keys", ABSENT, "relative positions"},
    {"multi_query", ZERO, "multi-query attention"},
    {"multi_query_attention", ZERO, "multi-query attention"},
    {"num_heads_kv", HEADS, "attention with fewer key heads"},
    {"head_dim", HEAD_SIZE, "heads of several sizes"},
    {"queries_scale", QUERY_SCALE, "scales of the queries that differ"},
    {"sliding_window", ZERO, "attention in a sliding window"},
    {"q_norm", ABSENT, "norms of queries and keys"},
    {"k_norm", ABSENT, "norms of queries and keys"},
    {"v_norm", ABSENT, "norms of values"},
    {"merged_encoder_attention", ZERO, "self- and cross-attention in one"},
    {"memory_kv", ABSENT, "self- and cross-attention in one"},
    {"layer_norm_use_residual", ZERO, "RMSNorm with a gain of 1 + weight"},
    {"input_layer_norm", ABSENT, "norms on both sides of a sublayer"},
    {"post_attention_layer_norm", ABSENT, "norms on both sides of a sublayer"},
    {"pre_feedforward_layer_norm", ABSENT, "norms on both sides of a sublayer"},
    {"post_feedforward_layer_norm", ABSENT, "norms on both sides of a sublayer"},
    {"external_pre_encoder_attention_layer_norm", ABSENT, "norms on both sides of a sublayer"},
    {"external_post_encoder_attention_layer_norm", ABSENT, "norms on both sides of a sublayer"},
    {"shared_layer_norm", ABSENT, "attention beside the feed-forward layer"},
    {"layer_scalar", ONE, "layers with a factor"},
    {"project_in", ABSENT, "embeddings of another width than d_model"},
    {"project_out", ABSENT, "embeddings of another width than d_model"},
    {"final_logit_softcapping", ZERO, "capped logits"},
    {"embeddings_1", ABSENT, "several source features"},
    {"weight_zero", ABSENT, "AWQ weights"},
};

static bool has_component(const char *name, const char *component)
{
    const size_t size = strlen(component);
    for (const char *at = name; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
        if (strncmp(at, component, size) == 0 && (at[size] == 0 || at[size] == '/'))
            return true;
    return false;
}

static bool is_met(const config_reader *t, rule wanted, const tr_ct2_name *name)
{
    const tr_config *c = t->config;
    const int heads = strncmp(name->text, "encoder/", 8) == 0 ? c->encoder_heads : c->decoder_heads;
    const int size = tr_config_head_size(c, heads);
    const double attention = c->attention_scale != 0 ? (double)c->attention_scale : 1 / sqrt(size);
    double value;
    if (wanted == ANY)
        return true;
    if (wanted == ABSENT || !tr_ct2_scalar(&t->model->variables[name->variable], &value))
        return false;
    switch (wanted) {
    case ANY:
    case ABSENT: break;
    case ZERO: return value == 0;
    case ONE: return value == 1;
    case HEADS: return value == heads;
    case HEAD_SIZE: return value == size;
    case QUERY_SCALE: return fabs(value / attention - 1) < 1e-3;
    }
    return false;
}

static void check_feature(config_reader *t, tr_ct2_name *name)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!has_component(name->text, rules[i].component))
            continue;
        name->used = true;
        if (!is_met(t, rules[i].rule, name) && t->status == TR_OK)
            t->status =
                tr_fail(t->error, TR_ERROR_UNSUPPORTED, "variable %.100s: %s: not supported", name->text, rules[i].what);
        return;
    }
}

static void check_features(config_reader *t)
{
    tr_ct2_model *m = t->model;
    for (uint32_t i = 0; t->status == TR_OK && i < m->name_count; i++)
        check_feature(t, &m->names[i]);
}

/* --------------------------------------------------------------------------------------------------------------- shape */

/* The rows and columns of a matrix. */
static void matrix_shape(config_reader *t, const char *name, int *rows, int *columns)
{
    const tr_ct2_variable *v = tr_ct2_find(t->model, name);
    *rows = *columns = 1;
    if (!v)
        fail(t, TR_ERROR_FORMAT, name, "is missing");
    else if (v->rank != 2)
        fail(t, TR_ERROR_FORMAT, name, "must be a matrix");
    else if (v->shape[0] < 1 || v->shape[1] < 1 || v->shape[0] >= TR_MAX_VOCABULARY || v->shape[1] >= TR_MAX_VOCABULARY)
        fail(t, TR_ERROR_FORMAT, name, "is empty or too large");
    else
        *rows = (int)v->shape[0], *columns = (int)v->shape[1];
}

static int count_layers(const config_reader *t, const char *side)
{
    char name[NAME];
    int layers = 0;
    do {
        snprintf(name, sizeof name, "%s/layer_%d/self_attention/linear_0/weight", side, layers);
    } while (tr_ct2_has(t->model, name) && ++layers < TR_MAX_LAYERS);
    return layers;
}

static int feedforward_width(config_reader *t, const char *side)
{
    char name[NAME];
    int rows, columns;
    snprintf(name, sizeof name, "%s/layer_0/ffn/linear_0/weight", side);
    matrix_shape(t, name, &rows, &columns);
    return rows;
}

static int count_heads(config_reader *t, const char *side)
{
    const bool big = strcmp(t->model->spec, "TransformerBig") == 0 && t->model->revision < 3;
    const double heads = setting(t, side, "num_heads", big ? 16 : 8);
    if (heads < 1)
        fail(t, TR_ERROR_FORMAT, side, "num_heads is less than 1");
    return heads < 1 ? 1 : (int)heads;
}

/* Checks the number of rows of stacked queries, keys and values. */
static int head_size(config_reader *t, const char *side, int heads)
{
    char name[NAME];
    int rows, columns;
    snprintf(name, sizeof name, "%s/layer_0/self_attention/linear_0/weight", side);
    matrix_shape(t, name, &rows, &columns);
    if (rows % (3 * heads))
        fail(t, TR_ERROR_UNSUPPORTED, name, "is not of as many keys and values as queries for each head: not supported");
    return rows / (3 * heads);
}

static void read_heads(config_reader *t)
{
    tr_config *c = t->config;
    c->encoder_heads = count_heads(t, "encoder");
    c->decoder_heads = count_heads(t, "decoder");
    const int encoder = head_size(t, "encoder", c->encoder_heads), decoder = head_size(t, "decoder", c->decoder_heads);
    const bool usual = encoder * c->encoder_heads == c->d_model && decoder * c->decoder_heads == c->d_model;
    if (!usual && encoder != decoder)
        fail(t, TR_ERROR_UNSUPPORTED, "decoder/layer_0/self_attention/linear_0/weight",
             "has heads of another size than the encoder's: not supported");
    c->head_size = usual ? 0 : decoder;
    c->attention_scale = (float)scalar(t, "decoder/layer_0/self_attention/queries_scale", 0);
}

static void read_shape(config_reader *t)
{
    tr_config *c = t->config;
    int width;
    matrix_shape(t, tr_ct2_source_embedding(t->model), &c->source_vocabulary, &width);
    matrix_shape(t, "decoder/embeddings/weight", &c->target_vocabulary, &c->d_model);
    if (width != c->d_model)
        fail(t, TR_ERROR_FORMAT, "decoder/embeddings/weight", "has other columns than the encoder's");
    c->encoder_layers = count_layers(t, "encoder");
    c->decoder_layers = count_layers(t, "decoder");
    read_heads(t);
    c->encoder_ffn = feedforward_width(t, "encoder");
    c->decoder_ffn = feedforward_width(t, "decoder");
}

/* ------------------------------------------------------------------------------------------------------------ settings */

/* A setting that tr_config has once for both sides. */
static double common(config_reader *t, const char *key, double fallback)
{
    const double encoder = setting(t, "encoder", key, fallback), decoder = setting(t, "decoder", key, fallback);
    if (encoder != decoder)
        fail(t, TR_ERROR_UNSUPPORTED, key, "encoder and decoder differ, which is not supported");
    return decoder;
}

/* Whether both sides have a variable SIDE/key. */
static bool both_have(config_reader *t, const char *key)
{
    char encoder[NAME], decoder[NAME];
    snprintf(encoder, sizeof encoder, "encoder/%s", key);
    snprintf(decoder, sizeof decoder, "decoder/%s", key);
    const bool has = tr_ct2_has(t->model, decoder);
    if (tr_ct2_has(t->model, encoder) != has)
        fail(t, TR_ERROR_UNSUPPORTED, has ? decoder : encoder, "the other side has none, which is not supported");
    return has;
}

/* A flag, or the factor itself; sqrt(d_model) where there is neither. */
static float embedding_scale(config_reader *t, const char *side, const char *embedding)
{
    const float root = sqrtf((float)t->config->d_model);
    char name[NAME], older[NAME];
    snprintf(name, sizeof name, "%s/scale_embeddings", side);
    snprintf(older, sizeof older, "%.*smultiply_by_sqrt_depth", (int)(strrchr(embedding, '/') + 1 - embedding), embedding);
    const char *from = tr_ct2_has(t->model, name) ? name : older;
    const tr_ct2_variable *v = tr_ct2_find(t->model, from);
    if (!v)
        return root;
    const double value = scalar(t, from, 0);
    if (v->type == TR_CT2_I8)
        return value != 0 ? root : 1;
    return (float)value;
}

static void read_scale(config_reader *t)
{
    const float encoder = embedding_scale(t, "encoder", tr_ct2_source_embedding(t->model));
    t->config->embedding_scale = embedding_scale(t, "decoder", "decoder/embeddings/weight");
    if (encoder != t->config->embedding_scale)
        fail(t, TR_ERROR_UNSUPPORTED, "decoder/scale_embeddings", "is another than the encoder's, which is not supported");
}

static void read_activation(config_reader *t)
{
    static const tr_activation known[] = {TR_ACTIVATION_RELU, TR_ACTIVATION_GELU_TANH, TR_ACTIVATION_SWISH,
                                          TR_ACTIVATION_GELU};
    static const char *const others[] = {"x sigmoid(1.702 x), an approximation of gelu", "tanh", "sigmoid"};
    enum { KNOWN = sizeof known / sizeof *known, ALL = KNOWN + sizeof others / sizeof *others };
    const double code = common(t, "activation", 0);
    if (code >= 0 && code < KNOWN)
        t->config->activation = known[(int)code];
    else if (t->status == TR_OK)
        t->status = tr_fail(t->error, TR_ERROR_UNSUPPORTED, "variable decoder/activation: %s is not supported",
                            code >= 0 && code < ALL ? others[(int)code - KNOWN] : "an unknown activation");
}

static void read_norms(config_reader *t)
{
    tr_config *c = t->config;
    c->pre_norm = common(t, "pre_norm", 1) != 0;
    c->final_norm = both_have(t, "layer_norm/gamma");
    c->embedding_norm = both_have(t, "layernorm_embedding/gamma");
    c->norm = both_have(t, "layer_0/self_attention/layer_norm/beta") ? TR_NORM_LAYER : TR_NORM_RMS;
    c->gated = both_have(t, "layer_0/ffn/linear_0_noact/weight");
    c->logits_scale = (float)scalar(t, "decoder/scale_outputs", 1);
}

/* T5's, in every layer those of the first. */
static void read_relative(config_reader *t)
{
    tr_config *c = t->config;
    int heads;
    c->positions = TR_POSITIONS_RELATIVE;
    matrix_shape(t, "decoder/layer_0/self_attention/relative_attention_bias", &c->relative_buckets, &heads);
    c->relative_distance = (int)common(t, "layer_0/self_attention/relative_attention_max_distance", 128);
}

/* A table, taken as a learned one; without it CTranslate2 computes one, from position 1 on, which it makes longer as
 * sentences need it. */
static void read_positions(config_reader *t)
{
    const int fitting = COMPUTED_BYTES / 4 / t->config->d_model;
    int encoder, decoder, width;
    t->config->max_positions = fitting < COMPUTED_POSITIONS ? fitting : COMPUTED_POSITIONS;
    if (both_have(t, "layer_0/self_attention/relative_attention_bias")) {
        read_relative(t);
        return;
    }
    t->config->positions = TR_POSITIONS_STRETCHED;
    t->config->position_offset = 1;
    if (!both_have(t, "position_encodings/encodings"))
        return;
    matrix_shape(t, "encoder/position_encodings/encodings", &encoder, &width);
    matrix_shape(t, "decoder/position_encodings/encodings", &decoder, &width);
    t->config->positions = TR_POSITIONS_LEARNED;
    t->config->position_offset = 0;
    t->config->max_positions = encoder < decoder ? encoder : decoder;
}

/* Alignment uses the first heads of a layer; -1 counts from the end, 0 heads are all. The last layer's first head is the
 * converter's default and therefore ignored. No value is an error, as nothing else depends on it. */
static void read_alignment(config_reader *t)
{
    tr_config *c = t->config;
    double layer = -1, heads = 1;
    const tr_ct2_variable *l = tr_ct2_find(t->model, "decoder/alignment_layer"),
                          *h = tr_ct2_find(t->model, "decoder/alignment_heads");
    if (!l || !tr_ct2_scalar(l, &layer) || (h && !tr_ct2_scalar(h, &heads)) || (layer == -1 && heads == 1))
        return;
    const double number = layer < 0 ? c->decoder_layers + layer + 1 : layer + 1;
    if (!(number >= 1 && number <= c->decoder_layers))
        return;
    c->alignment_layer = (int)number;
    c->alignment_head = heads == 1; /* of several: the mean */
}

static void check_spec(config_reader *t)
{
    static const char *const specs[] = {"", "TransformerBase", "TransformerBig", "TransformerSpec"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        if (strcmp(t->model->spec, specs[i]) == 0)
            return;
    t->status = tr_fail(t->error, TR_ERROR_UNSUPPORTED, "%.60s is not supported, only encoder-decoders for translation",
                        t->model->spec);
}

tr_status tr_ct2_config(tr_ct2_model *model, const tr_ct2_settings *settings, tr_config *config, tr_error *error)
{
    config_reader t = {.model = model, .config = config, .error = error};
    *config = tr_config_default();
    config->layer_norm_epsilon = settings->epsilon;
    check_spec(&t);
    if (t.status == TR_OK)
        read_shape(&t);
    check_features(&t);
    if (t.status == TR_OK) {
        read_scale(&t);
        read_activation(&t);
        read_norms(&t);
        if (settings->epsilon < 0)
            config->layer_norm_epsilon = config->norm == TR_NORM_RMS ? 1e-6f : 1e-5f;
        read_positions(&t);
        read_alignment(&t);
    }
    return t.status;
}

/* ------------------------------------------------------------------------------------------------------ where it starts */

const char *tr_ct2_source_embedding(const tr_ct2_model *model)
{
    static const char listed[] = "encoder/embeddings_0/weight";
    return tr_ct2_has(model, listed) ? listed : "encoder/embeddings/weight";
}

bool tr_ct2_starts_from_zero(tr_ct2_model *model)
{
    double value = 0;
    const tr_ct2_variable *v = tr_ct2_find(model, "decoder/start_from_zero_embedding");
    return v && tr_ct2_scalar(v, &value) && value != 0;
}

/* ------------------------------------------------------------------------------------------------------- tokens, as text */

static tr_piece json_piece(tr_json_fields *fields, const char *key, const char *fallback)
{
    const char *text = tr_json_string(fields, key, fallback);
    return (tr_piece){text, text ? (uint32_t)strlen(text) : 0};
}

static void read_json_settings(tr_json_fields *fields, tr_ct2_settings *s)
{
    s->unk = json_piece(fields, "unk_token", "<unk>");
    s->bos = json_piece(fields, "bos_token", "<s>");
    s->eos = json_piece(fields, "eos_token", "</s>");
    s->start = json_piece(fields, "decoder_start_token",
                          json_is_null(json_object_get(fields->object, "decoder_start_token")) ? NULL : "<s>");
    s->source_bos = tr_json_bool(fields, "add_source_bos", false);
    s->source_eos = tr_json_bool(fields, "add_source_eos", false);
}

/* Before version 6 strings are variables, without a NUL. */
static tr_piece stored_piece(config_reader *t, const char *name, const char *fallback)
{
    const tr_ct2_variable *v = tr_ct2_find(t->model, name);
    if (v && (v->rank != 1 || v->type != TR_CT2_I8))
        fail(t, TR_ERROR_FORMAT, name, "must be a string");
    return v ? (tr_piece){(const char *)v->data, (uint32_t)v->bytes} : (tr_piece){fallback, (uint32_t)strlen(fallback)};
}

static void read_stored_settings(config_reader *t, tr_ct2_settings *s)
{
    s->unk = stored_piece(t, "unk_token", "<unk>");
    s->bos = stored_piece(t, "bos_token", "<s>");
    s->eos = stored_piece(t, "eos_token", "</s>");
    s->source_bos = scalar(t, "with_source_bos", 0) != 0;
    s->source_eos = scalar(t, "with_source_eos", 0) != 0;
    const bool with_bos = scalar(t, "with_target_bos", 1) != 0, own = scalar(t, "user_decoder_start_tokens", 0) != 0;
    s->start = own ? (tr_piece){NULL, 0} : with_bos ? s->bos : s->eos;
}

static float read_epsilon(tr_json_fields *fields)
{
    const json_t *value = tr_json_get(fields, "layer_norm_epsilon");
    if (value && !json_is_number(value))
        tr_json_fail(fields, TR_ERROR_FORMAT, "layer_norm_epsilon", "is not a number");
    return value ? (float)json_number_value(value) : -1;
}

tr_status tr_ct2_settings_read(tr_ct2_model *model, const json_t *json, tr_ct2_settings *settings, tr_error *error)
{
    config_reader t = {.model = model, .error = error};
    tr_json_fields fields = {json, "config.json", TR_OK, error};
    *settings = (tr_ct2_settings){.epsilon = read_epsilon(&fields)};
    if (model->version < 6)
        read_stored_settings(&t, settings);
    else
        read_json_settings(&fields, settings);
    return t.status != TR_OK ? t.status : fields.status;
}
