/* A network's weights, layer by layer: shapes, and the kind of each sublayer, settled when the weights are bound.
 * transformer.h makes and runs it; the page of each layer (attention.h, feedforward.h, ...) binds and computes it. Immutable
 * after that, and shared by all workers. */
#ifndef TR_MODEL_NETWORK_H
#define TR_MODEL_NETWORK_H

#include "kernels/kernels.h"
#include "model/config.h"
#include "model/weights.h"

/* y = W x + b */
typedef struct tr_linear {
    tr_matrix weight;  /* [outputs, inputs] */
    const float *bias; /* [outputs] or NULL */
} tr_linear;

typedef struct tr_norm {
    const float *gamma, *beta; /* [d_model]; RMSNorm has no beta */
} tr_norm;

/* Where the norms of a sublayer f stand (Xiong et al., 2020). */
typedef enum tr_norm_place {
    TR_NORM_NOWHERE = 0,                                       /* x + f(x) */
    TR_NORM_BEFORE = 1,                                        /* x + f(LN(x)) */
    TR_NORM_AFTER = 2,                                         /* LN(x + f(x)) */
    TR_NORM_BEFORE_AND_AFTER = TR_NORM_BEFORE | TR_NORM_AFTER, /* LN(x + f(LN(x))) */
} tr_norm_place;

typedef struct tr_norms {
    tr_norm_place place;
    tr_norm before, after;
} tr_norms;

/* Multi-head attention: see attention.h. */
typedef struct tr_attention {
    tr_linear query, key, value; /* each [heads head_size, d_model] */
    bool has_output;
    tr_linear output;           /* [d_model, heads head_size] */
    bool unnormalised_kv;       /* see tr_config */
    float scale;                /* factor on q·k */
    bool has_distance_bias;     /* self-attention with TR_POSITIONS_RELATIVE */
    const float *distance_bias; /* [heads, 2 max_positions - 1], added to scores: entry max_positions - 1 + d of a head is
                                   that of distance d = position of the key - position of the query */
} tr_attention;

typedef enum tr_feedforward_kind {
    TR_FFN_NONE,   /* y = x: in an average attention network only */
    TR_FFN_LINEAR, /* y = down x */
    TR_FFN_PLAIN,  /* y = down act(up x) */
    TR_FFN_GATED,  /* y = down (act(gate x) * up x) */
    TR_FFN_DEEP,   /* y = down act(middle[n - 1] ... act(middle[0] act(up x))), n = middles */
} tr_feedforward_kind;

/* A feed-forward network: see feedforward.h. */
typedef struct tr_feedforward {
    tr_feedforward_kind kind;
    tr_activation activation;
    tr_linear up, gate; /* [ffn, d_model] */
    tr_linear *middle;  /* [middles]: each [ffn, ffn] */
    int middles;
    bool has_down;  /* false: the last activated product, of width d_model, is the result; in an AAN only */
    tr_linear down; /* [d_model, ffn]; TR_FFN_LINEAR: [d_model, d_model] */
} tr_feedforward;

/* A simpler simple recurrent unit: see ssru.h. */
typedef struct tr_ssru {
    tr_linear input, forget; /* [d_model, d_model] */
    bool has_output;
    tr_linear output; /* [d_model, d_model] */
} tr_ssru;

/* An average attention network: see aan.h. */
typedef struct tr_aan {
    bool has_mean_norm;
    tr_norm mean_norm; /* of the mean, which the feed-forward network reads */
    tr_feedforward ffn;
    bool gated;
    tr_linear gate_input, gate_mean; /* [d_model, d_model] */
} tr_aan;

typedef enum tr_sublayer_kind {
    TR_SUBLAYER_SELF_ATTENTION,
    TR_SUBLAYER_CROSS_ATTENTION,
    TR_SUBLAYER_SSRU,
    TR_SUBLAYER_AAN,
    TR_SUBLAYER_FEED_FORWARD,
} tr_sublayer_kind;

typedef struct tr_sublayer {
    tr_sublayer_kind kind;
    tr_norms norms;
    union {
        tr_attention attention;
        tr_ssru ssru;
        tr_aan aan;
        tr_feedforward feedforward;
    };
} tr_sublayer;

enum { TR_MAX_SUBLAYERS = 3 };

typedef struct tr_layer {
    int count;
    tr_sublayer sublayers[TR_MAX_SUBLAYERS]; /* [count] in the order of computing */
} tr_layer;

/* What the encoder or the decoder has besides its layers: see embedding.h. */
typedef struct tr_side {
    tr_matrix embedding;    /* [vocabulary, d_model] */
    bool adds_positions;    /* sinusoidal, stretched or learned positions */
    const float *positions; /* [max_positions, d_model] */
    tr_norm embedding_norm; /* with config.embedding_norm */
    tr_norm final_norm;     /* with config.final_norm */
} tr_side;

/* Part of a mapped file. */
typedef struct tr_mapped_span {
    const unsigned char *data;
    size_t size;
} tr_mapped_span;

typedef struct tr_network {
    tr_config config;
    const tr_kernels *kernels;
    tr_type type; /* of the matrices, as used */
    bool int8;    /* some matrix is I8: rows are quantised */
    tr_side source, target;
    int *windows;      /* [encoder_heads]: a head attends to positions at most this far away; -1: to all */
    tr_layer *encoder; /* [encoder_layers] */
    tr_layer *decoder; /* [decoder_layers] */

    /* The output projection: see output.h. */
    tr_linear output; /* [outputs, d_model], one output for each token of config.allowed, or of the target vocabulary; its
                         bias holds the final logits bias, and -inf for forbidden tokens */
    const int32_t *output_tokens; /* [outputs], ascending: the token of each output; NULL: output o is token o */
    const int32_t *token_outputs; /* [target_vocabulary] the inverse, -1 for tokens without an output; NULL likewise */
    tr_linear all_tokens_output;  /* [target_vocabulary, d_model]: the projection to all tokens, none of them forbidden: for
                                     the probabilities of given targets */
    const float *output_bias; /* [outputs] the bias of output without -inf: probabilities are normalised over all outputs,
                                 forbidden or not */
    int screen_rows;          /* rows up to which screen is used; 0: there is no screen */
    tr_screen *screen;        /* of output.weight */
    float screen_slack;       /* see tr_screened */

    uint64_t parameters;
    void **owned; /* [owned_count] memory made by tr_bind_memory: converted vectors, position tables, rounded matrices */
    size_t owned_count;
    tr_mapped_span *spans; /* [span_count] weights that are used in place in a mapped file, without the screen */
    size_t span_count;
} tr_network;

/* The token of an output of the output projection, and the output of a token; -1: it has none. */
int32_t tr_network_token(const tr_network *network, int32_t output);
int32_t tr_network_output(const tr_network *network, int32_t token);

#endif
