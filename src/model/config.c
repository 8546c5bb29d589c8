#include "model/config.h"

#include <math.h>
#include <string.h>

tr_config tr_config_default(void)
{
    return (tr_config){
        .encoder_ffn_depth = 2,
        .decoder_ffn_depth = 2,
        .embedding_scale = 1,
        .layer_norm_epsilon = 1e-5f,
        .logits_scale = 1,
        .start_id = -1,
        .eos_id = -1,
        .source_start_id = -1,
        .pad_id = -1,
        .unk_id = -1,
        .target_unk_id = -1,
        .forced_first_id = -1,
        .forced_last_id = -1,
    };
}

/* An integer of the config and the range that it must lie in. */
typedef struct field_range {
    const char *name;
    int value, low, high;
} field_range;

static tr_status check_ranges(const field_range *fields, size_t count, tr_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (fields[i].value < fields[i].low || fields[i].value > fields[i].high)
            return tr_fail(error, TR_ERROR_FORMAT, "%s is %d, must be %d to %d", fields[i].name, fields[i].value,
                           fields[i].low, fields[i].high);
    return TR_OK;
}

static tr_status check_sizes(const tr_config *c, tr_error *error)
{
    const field_range fields[] = {
        {"d_model", c->d_model, 1, TR_MAX_D_MODEL},
        {"encoder_layers", c->encoder_layers, 1, TR_MAX_LAYERS},
        {"decoder_layers", c->decoder_layers, 1, TR_MAX_LAYERS},
        {"encoder_heads", c->encoder_heads, 1, TR_MAX_D_MODEL},
        {"decoder_heads", c->decoder_heads, 1, TR_MAX_D_MODEL},
        {"encoder_ffn", c->encoder_ffn, 1, TR_MAX_FFN},
        {"decoder_ffn", c->decoder_ffn, 1, TR_MAX_FFN},
        {"encoder_ffn_depth", c->encoder_ffn_depth, c->gated ? 2 : 1, c->gated ? 2 : TR_MAX_FFN_DEPTH},
        {"decoder_ffn_depth", c->decoder_ffn_depth, c->gated ? 2 : 1, c->gated ? 2 : TR_MAX_FFN_DEPTH},
        {"source_vocabulary", c->source_vocabulary, 1, TR_MAX_VOCABULARY},
        {"target_vocabulary", c->target_vocabulary, 1, TR_MAX_VOCABULARY},
        {"max_positions", c->max_positions, 1, TR_MAX_POSITIONS},
        {"position_offset", c->position_offset, 0, TR_MAX_POSITIONS},
        {"head_size", c->head_size, 0, TR_MAX_HEAD},
    };
    const tr_status status = check_ranges(fields, sizeof fields / sizeof *fields, error);
    if (status != TR_OK)
        return status;
    const field_range heads[] = {{"encoder_heads", c->encoder_heads, 0, 0}, {"decoder_heads", c->decoder_heads, 0, 0}};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        if (!c->head_size && c->d_model % heads[i].value)
            return tr_fail(error, TR_ERROR_FORMAT, "d_model %d is not divisible by %s %d", c->d_model, heads[i].name,
                           heads[i].value);
        if (tr_config_head_size(c, heads[i].value) > TR_MAX_HEAD)
            return tr_fail(error, TR_ERROR_UNSUPPORTED, "%s is %d: heads are larger than %d", heads[i].name, heads[i].value,
                           TR_MAX_HEAD);
        if (c->head_size && heads[i].value > TR_MAX_D_MODEL / c->head_size)
            return tr_fail(error, TR_ERROR_FORMAT, "%s %d times head_size %d is more than %d", heads[i].name, heads[i].value,
                           c->head_size, TR_MAX_D_MODEL);
    }
    return TR_OK;
}

static tr_status check_positions(const tr_config *c, tr_error *error)
{
    if (c->positions < TR_POSITIONS_SINUSOIDAL || c->positions > TR_POSITIONS_NONE)
        return tr_fail(error, TR_ERROR_FORMAT, "positions is %d, an unknown kind", (int)c->positions);
    if (c->positions == TR_POSITIONS_STRETCHED && c->d_model < 4)
        return tr_fail(error, TR_ERROR_FORMAT, "d_model is %d, stretched positions need 4", c->d_model);
    if (c->positions != TR_POSITIONS_RELATIVE)
        return TR_OK;
    const field_range fields[] = {
        {"relative_buckets", c->relative_buckets, 4, 1 << 16},
        {"relative_distance", c->relative_distance, c->relative_buckets / 2 + 1, 1 << 24},
    };
    return check_ranges(fields, sizeof fields / sizeof *fields, error);
}

/* Comparisons are negated so that NaN fails them. */
static tr_status check_reals(const tr_config *c, tr_error *error)
{
    const struct {
        const char *name;
        float value;
        bool may_be_zero;
    } scales[] = {
        {"embedding_scale", c->embedding_scale, false},
        {"attention_scale", c->attention_scale, true},
        {"logits_scale", c->logits_scale, false},
        {"length_factor", c->length_factor, true},
    };
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        if (!(fabsf(scales[i].value) <= 1e6f) || (scales[i].value == 0 && !scales[i].may_be_zero))
            return tr_fail(error, TR_ERROR_FORMAT, "%s is %g, must be a finite number%s", scales[i].name,
                           (double)scales[i].value, scales[i].may_be_zero ? "" : " other than 0");
    if (!(c->doubtful_below <= 0 && c->doubtful_below >= -100))
        return tr_fail(error, TR_ERROR_FORMAT, "doubtful_below is %g, must be -100 to 0", (double)c->doubtful_below);
    if (!(c->layer_norm_epsilon >= 0 && c->layer_norm_epsilon <= 1))
        return tr_fail(error, TR_ERROR_FORMAT, "layer_norm_epsilon is %g, must be 0 to 1", (double)c->layer_norm_epsilon);
    if (c->logits_scale != 1 && !c->final_norm)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "logits_scale is %g, which needs final_norm", (double)c->logits_scale);
    return TR_OK;
}

static tr_status check_ids(const tr_config *c, tr_error *error)
{
    const int source = c->source_vocabulary - 1, target = c->target_vocabulary - 1;
    const field_range fields[] = {
        {"start_id", c->start_id, c->start_zeros ? -1 : 0, c->start_zeros ? -1 : target},
        {"eos_id", c->eos_id, 0, source < target ? source : target}, /* it ends sources and targets */
        {"pad_id", c->pad_id, -1, target},
        {"unk_id", c->unk_id, -1, source},
        {"source_start_id", c->source_start_id, -1, source},
        {"forced_first_id", c->forced_first_id, -1, target},
        {"forced_last_id", c->forced_last_id, -1, target},
        {"forbidden_count", c->forbidden_count, 0, TR_MAX_FORBIDDEN},
        {"alignment_layer", c->alignment_layer, 0, c->decoder_layers},
        {"alignment_head", c->alignment_head, 0, c->decoder_heads},
    };
    tr_status status = check_ranges(fields, sizeof fields / sizeof *fields, error);
    for (int i = 0; status == TR_OK && i < c->forbidden_count; i++)
        status = check_ranges(&(field_range){"forbidden", c->forbidden[i], 0, target}, 1, error);
    return status;
}

static bool is_activation(tr_activation activation)
{
    return activation > TR_ACTIVATION_NONE && activation < TR_ACTIVATION_SIGMOID;
}

static tr_status check_mixer(const tr_config *c, tr_error *error)
{
    if (c->mixer < TR_MIXER_SELF_ATTENTION || c->mixer > TR_MIXER_AAN)
        return tr_fail(error, TR_ERROR_FORMAT, "mixer is %d, an unknown kind", (int)c->mixer);
    if (c->mixer != TR_MIXER_AAN)
        return TR_OK;
    if (!is_activation(c->aan_activation))
        return tr_fail(error, TR_ERROR_FORMAT, "aan_activation is %d, an unknown kind", (int)c->aan_activation);
    const field_range fields[] = {
        {"aan_ffn", c->aan_ffn, 1, TR_MAX_FFN},
        {"aan_depth", c->aan_depth, 1, TR_MAX_FFN_DEPTH},
    };
    return check_ranges(fields, sizeof fields / sizeof *fields, error);
}

/* Settings that need each other. */
static tr_status check_combinations(const tr_config *c, tr_error *error)
{
    if (c->post_norm && !c->pre_norm)
        return tr_fail(error, TR_ERROR_FORMAT, "post_norm is set without pre_norm");
    if (c->unnormalised_kv && !c->pre_norm)
        return tr_fail(error, TR_ERROR_FORMAT, "unnormalised_kv is set without pre_norm");
    if (c->no_output_projection && (tr_config_heads_width(c, c->encoder_heads) != c->d_model ||
                                    tr_config_heads_width(c, c->decoder_heads) != c->d_model))
        return tr_fail(error, TR_ERROR_FORMAT, "no_output_projection is set, but the heads together are not d_model %d wide",
                       c->d_model);
    if (c->positions == TR_POSITIONS_RELATIVE && c->mixer != TR_MIXER_SELF_ATTENTION)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "positions are relative, and the decoder has no self-attention");
    return TR_OK;
}

static tr_status check_allowed(const tr_config *c, tr_error *error)
{
    bool has_eos = false;
    for (int i = 0; c->allowed && i < c->allowed_count; i++) {
        const int32_t id = c->allowed[i];
        if (id < 0 || id >= c->target_vocabulary)
            return tr_fail(error, TR_ERROR_FORMAT, "allowed tokens: %d is not one of the %d tokens", id,
                           c->target_vocabulary);
        if (i && id <= c->allowed[i - 1])
            return tr_fail(error, TR_ERROR_FORMAT, "allowed tokens: they are not ascending at %d", id);
        has_eos |= id == c->eos_id;
    }
    if (c->allowed && !has_eos)
        return tr_fail(error, TR_ERROR_FORMAT, "allowed tokens: EOS %d is not among them", c->eos_id);
    return TR_OK;
}

tr_status tr_config_check(const tr_config *c, tr_error *error)
{
    tr_status status = check_sizes(c, error);
    if (status == TR_OK)
        status = check_ids(c, error);
    if (status == TR_OK)
        status = check_positions(c, error);
    if (status == TR_OK)
        status = check_mixer(c, error);
    if (status == TR_OK)
        status = check_combinations(c, error);
    if (status == TR_OK)
        status = check_allowed(c, error);
    if (status != TR_OK)
        return status;
    if (c->norm != TR_NORM_LAYER && c->norm != TR_NORM_RMS)
        return tr_fail(error, TR_ERROR_FORMAT, "norm is %d, an unknown kind", (int)c->norm);
    if (!is_activation(c->activation))
        return tr_fail(error, TR_ERROR_FORMAT, "activation is %d, an unknown kind", (int)c->activation);
    return check_reals(c, error);
}

/* Names of Hugging Face's activations.py; the first of each kind is the one that is written. */
static const struct {
    const char *name;
    tr_activation activation;
} activation_names[] = {
    {"relu", TR_ACTIVATION_RELU},
    {"gelu", TR_ACTIVATION_GELU},
    {"gelu_python", TR_ACTIVATION_GELU},
    {"gelu_new", TR_ACTIVATION_GELU_TANH},
    {"gelu_pytorch_tanh", TR_ACTIVATION_GELU_TANH},
    {"gelu_python_tanh", TR_ACTIVATION_GELU_TANH},
    {"gelu_fast", TR_ACTIVATION_GELU_TANH},
    {"gelu_accurate", TR_ACTIVATION_GELU_TANH},
    {"swish", TR_ACTIVATION_SWISH},
    {"silu", TR_ACTIVATION_SWISH},
};

enum { ACTIVATION_NAMES = sizeof activation_names / sizeof *activation_names };

const char *tr_activation_name(tr_activation activation)
{
    for (size_t i = 0; i < ACTIVATION_NAMES; i++)
        if (activation_names[i].activation == activation)
            return activation_names[i].name;
    return "none";
}

bool tr_activation_parse(const char *name, tr_activation *activation)
{
    for (size_t i = 0; i < ACTIVATION_NAMES; i++)
        if (strcmp(activation_names[i].name, name) == 0) {
            *activation = activation_names[i].activation;
            return true;
        }
    return false;
}

static const char *const positions_names[] = {"sinusoidal", "stretched", "learned", "relative",
                                              "none"};                     /* by tr_positions */
static const char *const norm_names[] = {"layer", "rms"};                  /* by tr_norm_kind */
static const char *const mixer_names[] = {"attention", "ssru", "average"}; /* by tr_decoder_mixer */

static bool parse_name(const char *name, const char *const *names, size_t count, int *index)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0) {
            *index = (int)i;
            return true;
        }
    return false;
}

const char *tr_positions_name(tr_positions positions)
{
    return positions_names[positions];
}

bool tr_positions_parse(const char *name, tr_positions *positions)
{
    int index;
    const bool known = parse_name(name, positions_names, sizeof positions_names / sizeof *positions_names, &index);
    if (known)
        *positions = (tr_positions)index;
    return known;
}

const char *tr_norm_name(tr_norm_kind norm)
{
    return norm_names[norm];
}

bool tr_norm_parse(const char *name, tr_norm_kind *norm)
{
    int index;
    const bool known = parse_name(name, norm_names, sizeof norm_names / sizeof *norm_names, &index);
    if (known)
        *norm = (tr_norm_kind)index;
    return known;
}

const char *tr_decoder_mixer_name(tr_decoder_mixer mixer)
{
    return mixer_names[mixer];
}

bool tr_decoder_mixer_parse(const char *name, tr_decoder_mixer *mixer)
{
    int index;
    const bool known = parse_name(name, mixer_names, sizeof mixer_names / sizeof *mixer_names, &index);
    if (known)
        *mixer = (tr_decoder_mixer)index;
    return known;
}

/* ------------------------------------------------------------------------------------------------- attention windows */

enum { MAX_WINDOW = 1 << 20 };

/* Reads a number from min to max at *at, which moves after it. -1: there is none. */
static int parse_number(const char **at, int min, int max)
{
    const char *s = *at;
    int n = 0;
    if (*s < '0' || *s > '9')
        return -1;
    for (; *s >= '0' && *s <= '9'; s++) {
        n = 10 * n + (*s - '0');
        if (n > max)
            return -1;
    }
    *at = s;
    return n < min ? -1 : n;
}

/* Moves *at after word if word stands there. */
static bool skip_word(const char **at, const char *word)
{
    const size_t n = strlen(word);
    if (strncmp(*at, word, n) != 0)
        return false;
    *at += n;
    return true;
}

tr_status tr_windows_parse(const char *text, int heads, int *windows, tr_error *error)
{
    const char *at = text;
    for (int h = 0; h < heads; h++)
        windows[h] = -1;
    do {
        int window = -1, first = 1, last = heads;
        if (!skip_word(&at, "exact")) {
            if (!skip_word(&at, "local:") || (window = parse_number(&at, 0, MAX_WINDOW)) < 0)
                return tr_fail(error, TR_ERROR_ARGUMENT,
                               "attention \"%s\": is neither exact nor local:W, W tokens to either side (0 to %d)", text,
                               MAX_WINDOW);
        }
        if (skip_word(&at, "@")) {
            first = last = parse_number(&at, 1, heads);
            if (first > 0 && skip_word(&at, "-"))
                last = parse_number(&at, first, heads);
            if (first < 0 || last < 0)
                return tr_fail(error, TR_ERROR_ARGUMENT,
                               "attention \"%s\": @ must be followed by a head or FIRST-LAST, from 1 to %d", text, heads);
        }
        for (int h = first - 1; h < last; h++)
            windows[h] = window;
    } while (skip_word(&at, ","));
    if (*at)
        return tr_fail(error, TR_ERROR_ARGUMENT, "attention \"%s\": \"%s\" in it is unexpected", text, at);
    return TR_OK;
}

/* ------------------------------------------------------------------------------------------------------------- sizes */

void tr_config_alignment_head(const tr_config *config, int *layer, int *head)
{
    *layer = (config->alignment_layer ? config->alignment_layer : config->decoder_layers) - 1;
    *head = config->alignment_layer ? config->alignment_head - 1 : -1;
}

int tr_config_head_size(const tr_config *config, int heads)
{
    return config->head_size ? config->head_size : config->d_model / heads;
}

int tr_config_heads_width(const tr_config *config, int heads)
{
    return heads * tr_config_head_size(config, heads);
}
