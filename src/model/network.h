/* The network: a model's weights bound to their places, ready to compute. Immutable and shared by all workers. */
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

/* Of a sublayer: of what it reads, and of its sum with that. gamma NULL: there is none. */
typedef struct tr_norms {
    tr_norm before, after;
} tr_norms;

typedef struct tr_attention {
    tr_linear query, key, value; /* each [heads head_size, d_model] */
    tr_linear output;            /* [d_model, heads head_size]; data NULL if there is none */
    tr_norms norms;
    bool unnormalised_kv;  /* see tr_config */
    float scale;           /* of q·k */
    const float *relative; /* [heads, 2 max_positions - 1] or NULL: added by the key's position - the query's, from
                              1 - max_positions on */
} tr_attention;

typedef struct tr_feedforward {
    tr_linear up;      /* [ffn, d_model]; data NULL: down alone is left, [d_model, d_model] */
    tr_linear gate;    /* the same shape; data NULL if there is none */
    tr_linear *middle; /* [middles]: each [ffn, ffn] */
    int middles;
    tr_linear down; /* [d_model, ffn] */
    tr_activation activation;
    tr_norms norms;
} tr_feedforward;

typedef struct tr_ssru {
    tr_linear input, forget; /* [d_model, d_model] */
    tr_linear output;        /* the same shape; data NULL if there is none */
    tr_norms norms;
} tr_ssru;

typedef struct tr_aan {
    tr_feedforward ffn;              /* data NULL: up if there is none, down if ffn is d_model */
    tr_linear gate_input, gate_mean; /* [d_model, d_model]; data NULL if there are none */
} tr_aan;

typedef struct tr_encoder_layer {
    tr_attention self;
    tr_feedforward feedforward;
} tr_encoder_layer;

typedef struct tr_decoder_layer {
    tr_attention self; /* or ssru or average: see tr_decoder_mixer */
    tr_ssru ssru;
    tr_aan aan;
    tr_attention cross;
    tr_feedforward feedforward;
} tr_decoder_layer;

typedef struct tr_side {
    tr_matrix embedding;    /* [vocabulary, d_model] */
    const float *positions; /* [max_positions, d_model] or NULL: none are added */
    tr_norm embedding_norm; /* gamma NULL if there is none */
    tr_norm final_norm;     /* gamma NULL if there is none */
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
    int *windows;              /* [encoder_heads]: how far away what an encoder's head attends to may be, -1: anywhere; NULL:
                                  all are -1 */
    tr_encoder_layer *encoder; /* [encoder_layers] */
    tr_decoder_layer *decoder; /* [decoder_layers] */
    tr_linear output;          /* [outputs, d_model], an output for each target token that can come (config.allowed; else all
                                  of target_vocabulary); its bias holds the final logits bias and -inf for forbidden tokens */
    const int32_t *output_tokens; /* [logits.weight.outputs], ascending: what output o stands for; NULL: o itself */
    const int32_t *token_outputs; /* [target_vocabulary]: the other way round, -1 where a token cannot come; NULL: itself */
    tr_linear all_tokens_output;  /* [target_vocabulary, d_model]: the output projection of all tokens, none forbidden, where
                         probabilities are asked for of what the network could not say */
    const float *output_bias; /* [outputs]: that of logits with nothing forbidden. Probabilities are of all that the network
                                 could  say, also where some of it may not come */
    tr_screen *screen;        /* of logits.weight where that is large, else NULL */
    float screen_slack;
    uint64_t parameters;
    void **owned; /* memory made while building: converted vectors, position tables, rounded matrices */
    size_t owned_count;
    tr_mapped_span *spans; /* weights that are used where they lie in a mapped file, but for the screen */
    size_t span_count;
} tr_network;

/* The token that an output of logits stands for, and the output of a token; -1: it is none of them. */
static inline int32_t tr_network_token(const tr_network *network, int32_t output)
{
    return network->output_tokens ? network->output_tokens[output] : output;
}

static inline int32_t tr_network_output(const tr_network *network, int32_t token)
{
    return network->token_outputs ? network->token_outputs[token] : token;
}

/* Sets windows as text says: see windows.h. Before the network is used. */
tr_status tr_network_limit_attention(tr_network *network, const char *text, tr_error *error);

/* Binds weights by name, checks every shape against config, and rounds matrices to the type that compute asks for (see
 * bind.h). weights must outlive the network. TR_ERROR_FORMAT names the tensor that is missing or of a wrong shape. */
tr_status tr_network_create(const tr_config *config, const tr_weights *weights, tr_compute compute,
                            const tr_kernels *kernels, tr_network **network, tr_error *error);
void tr_network_destroy(tr_network *network); /* NULL is allowed */

#endif
