/* The shape and the settings of an encoder-decoder Transformer: what a format reads besides the weights. */
#ifndef TR_MODEL_CONFIG_H
#define TR_MODEL_CONFIG_H

#include <stdint.h>

#include "kernels/types.h"
#include "util/error.h"

typedef enum tr_positions {
    TR_POSITIONS_SINUSOIDAL, /* d/2 sines, then d/2 cosines of p 10000^(-i / (d/2)): Vaswani et al., 2017, section 3.5, in
                                the order of Marian in Hugging Face's Transformers */
    TR_POSITIONS_STRETCHED,  /* the same of p 10000^(-i / (d/2 - 1)): tensor2tensor, fairseq (M2M100), Marian's own */
    TR_POSITIONS_LEARNED,    /* a table [max_positions + position_offset, d_model] per side */
    TR_POSITIONS_RELATIVE,   /* nothing is added to embeddings, but relative_buckets numbers a head to the scores of
                                self-attention, by distance: Raffel et al., 2020, section 2.1 (T5) */
    TR_POSITIONS_NONE,       /* nothing is added to anything */
} tr_positions;

typedef enum tr_norm_kind {
    TR_NORM_LAYER, /* Ba et al., 2016 */
    TR_NORM_RMS,   /* Zhang and Sennrich, 2019: no mean, no beta */
} tr_norm_kind;

/* How a decoder layer sees the tokens before. The last two keep d_model numbers a layer, however many tokens there were. */
typedef enum tr_decoder_mixer {
    TR_MIXER_SELF_ATTENTION, /* self-attention over keys and values of all of them */
    TR_MIXER_SSRU,           /* a recurrent unit: Kim et al., 2019, section 3.3 */
    TR_MIXER_AAN,            /* their mean, a feed-forward network and a gate: Zhang et al., 2018 */
} tr_decoder_mixer;

enum { TR_MAX_FORBIDDEN = 64, TR_MAX_FFN_DEPTH = 64 };

/* Bounds that keep every product of sizes inside 64 bits and refuse nonsense early. */
enum {
    TR_MAX_D_MODEL = 1 << 16,
    TR_MAX_HEAD = 1024, /* the attention kernels' working memory */
    TR_MAX_FFN = 1 << 20,
    TR_MAX_LAYERS = 1024,
    TR_MAX_VOCABULARY = 1 << 24,
    TR_MAX_POSITIONS = 1 << 20
};

/* Where a T5 does not say: relative positions have no end of their own. */
enum { TR_RELATIVE_POSITIONS = 4096, TR_RELATIVE_DISTANCE = 128 };

typedef struct tr_config {
    int d_model;
    int encoder_layers, decoder_layers;
    int encoder_heads, decoder_heads;
    int head_size; /* 0: d_model / heads */
    int encoder_ffn, decoder_ffn;
    int encoder_ffn_depth, decoder_ffn_depth; /* products of a feed-forward network: 2; 1: a single one, not activated */
    int source_vocabulary, target_vocabulary; /* rows of the two embeddings */
    int max_positions;   /* tokens that either side can take; sinusoidal: a table of this length is made */
    int position_offset; /* learned tables: row of position 0 (BART: 2); stretched: the p of position 0 (M2M100: 2) */
    tr_positions positions;
    int relative_buckets, relative_distance; /* relative: from relative_distance on all is one bucket */
    tr_activation activation;
    bool gated; /* W2 (activation(Wg x) W1 x) in place of W2 activation(W1 x): Shazeer, 2020 */
    tr_norm_kind norm;
    bool pre_norm;            /* x + f(LN(x)); else LN(x + f(x)) */
    bool post_norm;           /* with pre_norm: LN(x + f(LN(x))) */
    bool final_norm;          /* a LayerNorm behind the last encoder layer and the last decoder layer */
    bool embedding_norm;      /* a LayerNorm behind the embeddings of each side */
    float embedding_scale;    /* factor on token embeddings: 1 or sqrt(d_model) */
    float layer_norm_epsilon; /* added to the variance */
    float attention_scale;    /* factor on q·k; 0: 1/sqrt(head size) */
    float logits_scale;       /* factor on what the output projection reads; needs final_norm if it is not 1 */
    bool unnormalised_kv; /* with pre_norm: keys and values of the decoder's self-attention are of x, not of LN(x), but for
                      the first token, which reads its own of LN(x): so Marian decodes what it trains otherwise */
    bool no_output_projection; /* the heads' results, side by side, are what attention yields */
    bool marian_int8;    /* int8 as Marian computes it: rows of a sentence share a scale where the matrix that they meet
                            has none for them (tr_matrix.alpha), and keys and values are kept in f32 */
    int alignment_layer; /* of the decoder, from 1 on, whose cross-attention was trained to align; 0: nobody says */
    int alignment_head;  /* of it, from 1 on; 0: the mean of all */
    float length_factor; /* a sentence ends at that many times its source's tokens, the end mark counted; 0: no such end */

    tr_decoder_mixer mixer;
    bool ssru_projection;         /* SSRU: a product behind it */
    int aan_ffn, aan_depth;       /* average: of its feed-forward network, whose last product is there only
                                             if average_ffn is not d_model; depth 1: there is no such network */
    tr_activation aan_activation; /* between its products */
    bool aan_ungated;

    int start_id;     /* first decoder input */
    bool start_zeros; /* zeros in the place of its embedding: start_id is -1 */
    int eos_id;
    bool no_source_eos;  /* no end mark behind a source */
    int pad_id, unk_id;  /* -1 if there is none */
    int forced_first_id; /* must be the first token, -1 if none */
    int forced_last_id;  /* must be the token at max_length, -1 if none: bookkeeping, such a sentence ends there anyway */
    int forbidden[TR_MAX_FORBIDDEN], forbidden_count; /* target ids that are never emitted */
    const int32_t *allowed; /* [allowed_count], ascending, the end mark among them: no other target id can come; NULL: any
                               can. Somebody else's memory */
    int allowed_count;
} tr_config;

/* A config with nothing but defaults: ids -1, epsilon 1e-5, scales 1. */
tr_config tr_config_default(void);

/* Checks every field against the bounds above and against the others (d_model divisible by heads, ids inside their
 * vocabulary). The message names the field by its name here. */
tr_status tr_config_check(const tr_config *config, tr_error *error);

const char *tr_activation_name(tr_activation activation);              /* "relu" */
bool tr_activation_parse(const char *name, tr_activation *activation); /* Hugging Face's names: gelu, gelu_new, silu, … */
const char *tr_positions_name(tr_positions positions);                 /* "sinusoidal" */
bool tr_positions_parse(const char *name, tr_positions *positions);
const char *tr_norm_name(tr_norm_kind norm); /* "layer" */
bool tr_norm_parse(const char *name, tr_norm_kind *norm);
const char *tr_decoder_mixer_name(tr_decoder_mixer history); /* "attention" */
bool tr_decoder_mixer_parse(const char *name, tr_decoder_mixer *history);

/* Whose cross-attention tells what a target token is a translation of: what was trained to align, or else the last layer.
 * layer counts from 0; head, too, -1: the mean of all. */
static inline void tr_config_alignment_head(const tr_config *config, int *layer, int *head)
{
    *layer = (config->alignment_layer ? config->alignment_layer : config->decoder_layers) - 1;
    *head = config->alignment_layer ? config->alignment_head - 1 : -1;
}

/* Of attention heads, of which there are so many. */
static inline int tr_config_head_size(const tr_config *config, int heads)
{
    return config->head_size ? config->head_size : config->d_model / heads;
}

/* Of queries, keys and values of all heads together. */
static inline int tr_config_heads_width(const tr_config *config, int heads)
{
    return heads * tr_config_head_size(config, heads);
}

#endif
