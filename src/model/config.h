/* The shape and the settings of an encoder-decoder Transformer: what a format's reader provides besides the weights. */
#ifndef TR_MODEL_CONFIG_H
#define TR_MODEL_CONFIG_H

#include <stdint.h>

#include "util/numbers.h"
#include "util/error.h"

/* How positions enter the network. p: position from 0, d: d_model. */
typedef enum tr_positions {
    TR_POSITIONS_SINUSOIDAL, /* added to embeddings: d/2 sines, then d/2 cosines of p 10000^(-i / (d/2)) (Vaswani et al.,
                                2017, section 3.5, in the order of Marian in Hugging Face's Transformers) */
    TR_POSITIONS_STRETCHED,  /* the same of p 10000^(-i / (d/2 - 1)): tensor2tensor, fairseq (M2M100), Marian itself */
    TR_POSITIONS_LEARNED,    /* added to embeddings: a table [max_positions + position_offset, d] for each side */
    TR_POSITIONS_RELATIVE,   /* added to the scores of self-attention: a number for each head and bucket of distances (Raffel
                                et al., 2020, section 2.1: T5) */
    TR_POSITIONS_NONE,
} tr_positions;

typedef enum tr_norm_kind {
    TR_NORM_LAYER, /* Ba et al., 2016 */
    TR_NORM_RMS,   /* Zhang and Sennrich, 2019: without mean and beta */
} tr_norm_kind;

/* How a decoder layer reads the tokens before the current one. SSRU and AAN keep d_model numbers for each layer and
 * sequence, whatever its length. */
typedef enum tr_decoder_mixer {
    TR_MIXER_SELF_ATTENTION, /* self-attention over cached keys and values */
    TR_MIXER_SSRU,           /* simpler simple recurrent unit: Kim et al., 2019, section 3.3 */
    TR_MIXER_AAN,            /* average attention network: Zhang et al., 2018 */
} tr_decoder_mixer;

enum { TR_MAX_FORBIDDEN = 64, TR_MAX_FFN_DEPTH = 64, TR_MAX_COPY_SYMBOLS = 24 };

/* Bounds that keep every product of sizes within 64 bits and refuse nonsense early. */
enum {
    TR_MAX_D_MODEL = 1 << 16,
    TR_MAX_HEAD = 1024, /* limited by the working memory of the attention kernels */
    TR_MAX_FFN = 1 << 20,
    TR_MAX_LAYERS = 1024,
    TR_MAX_VOCABULARY = 1 << 24,
    TR_MAX_POSITIONS = 1 << 20
};

/* Defaults for T5 models that do not state them; relative positions have no natural maximum. */
enum { TR_RELATIVE_POSITIONS = 4096, TR_RELATIVE_DISTANCE = 128 };

typedef struct tr_config {
    int d_model;
    int encoder_layers, decoder_layers;
    int encoder_heads, decoder_heads;
    int head_size; /* 0: d_model / heads */
    int encoder_ffn, decoder_ffn;
    int encoder_ffn_depth, decoder_ffn_depth; /* products of a feed-forward network: 2, or another number (Marian); 1: a
                                                 single product without activation */
    int source_vocabulary, target_vocabulary; /* rows of the two embeddings */
    int max_positions;                        /* maximum tokens of a source or a target, and rows of a table of positions */
    int position_offset; /* learned: row of position 0 (BART: 2); stretched: the p of position 0 (M2M100: 2) */
    tr_positions positions;
    int relative_buckets, relative_distance; /* relative: distances from relative_distance on share one bucket */
    tr_activation activation;
    bool gated; /* W2 (activation(Wg x) * W1 x) instead of W2 activation(W1 x): Shazeer, 2020 */
    tr_norm_kind norm;
    bool pre_norm;             /* x + f(LN(x)); else LN(x + f(x)) */
    bool post_norm;            /* with pre_norm: LN(x + f(LN(x))) */
    bool final_norm;           /* a norm after the last encoder layer and after the last decoder layer */
    bool embedding_norm;       /* a LayerNorm after the embeddings of each side */
    float embedding_scale;     /* factor on token embeddings: 1 or sqrt(d_model) */
    float layer_norm_epsilon;  /* added to the variance */
    float attention_scale;     /* factor on q·k; 0: 1/sqrt(head size) */
    float logits_scale;        /* factor on the input of the output projection; other than 1 only with final_norm */
    bool unnormalised_kv;      /* Marian quirk, with pre_norm: cached keys and values of the decoder's self-attention are
                                  computed from x, not from LN(x), except those that the first token attends to */
    bool no_output_projection; /* the result of attention is that of its heads, side by side, without Wo */
    bool marian_int8;          /* int8 as in Marian: rows of a sentence share a scale where the matrix has none for them
                                  (tr_matrix.act_scale), and keys and values are stored as F32 */
    int alignment_layer;       /* decoder layer, from 1, whose cross-attention was trained to align; 0: unknown */
    int alignment_head;        /* its head, from 1; 0: the mean of all */
    float length_factor;       /* maximum target length as a multiple of the source length, EOS included; 0: no limit */

    tr_decoder_mixer mixer;
    bool ssru_projection;         /* SSRU: has an output projection */
    int aan_ffn, aan_depth;       /* AAN: width and number of products of its feed-forward network. depth 1: there is no such
                                     network; the last product exists only if aan_ffn is not d_model */
    tr_activation aan_activation; /* AAN: of its feed-forward network */
    bool aan_ungated;             /* AAN: without gates */

    int start_id;     /* first decoder input */
    bool start_zeros; /* the first decoder input is zeros instead of an embedding: start_id is -1 */
    int eos_id;
    bool no_source_eos;  /* sources do not end with EOS */
    int source_start_id; /* a token before each source; -1: none */
    int pad_id, unk_id;  /* unk_id: of a source; -1: none */
    int target_unk_id;   /* the unknown token of a target; -1: none. Set by formats/open.c, since it takes pieces */
    int forced_first_id; /* the first token must be this one; -1: none */
    int forced_last_id;  /* the token at max_length must be this one; -1: none. For information: the target ends there anyway
                          */
    int forbidden[TR_MAX_FORBIDDEN], forbidden_count; /* target ids that are never emitted */
    const int32_t *allowed; /* [allowed_count] the only target ids that can be emitted, ascending, EOS among them; NULL: all.
                               Not owned */
    int allowed_count;
    float doubtful_below; /* mean log-probability of a translation that is probably wrong; 0: unknown */
    bool has_bytes;       /* the target vocabulary has a token for each byte; set by formats/open.c, since it takes pieces */
    int32_t byte_ids[256];                     /* these tokens */
    bool bytes_in_order;                       /* each follows the one before */
    int32_t copy_symbols[TR_MAX_COPY_SYMBOLS]; /* ids of both sides that the network copies; set by formats/open.c */
    int copy_symbol_count;
} tr_config;

/* The defaults: ids -1, depths 2, epsilon 1e-5, scales 1, all else 0. */
tr_config tr_config_default(void);

/* Checks every field against the bounds above and against other fields (d_model divisible by heads, ids inside their
 * vocabulary). TR_ERROR_FORMAT, TR_ERROR_UNSUPPORTED; the message names the field. */
tr_status tr_config_check(const tr_config *config, tr_error *error);

/* Names of settings; parsing returns false for an unknown name. */
const char *tr_activation_name(tr_activation activation);              /* "relu" */
bool tr_activation_parse(const char *name, tr_activation *activation); /* Hugging Face's names: gelu, gelu_new, silu, ... */
const char *tr_positions_name(tr_positions positions);                 /* "sinusoidal" */
bool tr_positions_parse(const char *name, tr_positions *positions);
const char *tr_norm_name(tr_norm_kind norm); /* "layer" */
bool tr_norm_parse(const char *name, tr_norm_kind *norm);
const char *tr_decoder_mixer_name(tr_decoder_mixer mixer); /* "attention" */
bool tr_decoder_mixer_parse(const char *name, tr_decoder_mixer *mixer);

/* How far encoder heads attend, from text: "exact" (to all positions), or "local:W" (at most W tokens away), each perhaps
 * with
 * "@FIRST-LAST" for some heads, counted from 1. Several are separated by commas; later ones replace earlier ones.
 * windows[heads]: W, or -1 for all positions. TR_ERROR_ARGUMENT: the message says what is wrong with text. */
tr_status tr_windows_parse(const char *text, int heads, int *windows, tr_error *error);

/* The decoder layer and head whose cross-attention gives alignments: those trained to align, else the last layer. Both count
 * from 0; head -1: the mean of all. */
void tr_config_alignment_head(const tr_config *config, int *layer, int *head);

/* Size of each of this many heads. */
int tr_config_head_size(const tr_config *config, int heads);
/* Width of queries, keys and values: heads times their size. */
int tr_config_heads_width(const tr_config *config, int heads);

#endif
