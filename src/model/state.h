/* The working memory of a group of threads that run the network together, and the network's parts as functions that all
 * members call together (SPMD): each computes its share and they meet at barriers.
 *
 * The work of a layer is cut by attention heads and by output columns:
 *     own heads: q, k, v, attention -> context | own columns: stream += Wo context | own columns: hidden = act(W1 x)
 *     | own columns: stream += W2 hidden |           ('|' is a barrier)
 * LayerNorm needs whole rows; every member computes it for itself, which is cheaper than another barrier. */
#ifndef TR_MODEL_STATE_H
#define TR_MODEL_STATE_H

#include "model/network.h"
#include "model/profile.h"
#include "util/arena.h"
#include "util/team.h"

/* Keys and values of one sentence, in blocks of 32 positions. A block holds [layers, heads] pieces of piece floats, each
 * keys [32, pad16(head_size)], then values of the same shape. They are halves (two in a float's place) where the network is
 * int8 (but for Marian's): reading them is what decoding many sentences waits for, and what that rounds off is far below
 * what int8 does. */
typedef struct tr_cache {
    float **blocks;
    int count; /* blocks in use */
} tr_cache;

typedef struct tr_cache_shape {
    int layers, heads, head_size;
    tr_type type; /* F32 or F16 */
    size_t row;   /* bytes of a position's key, or value */
    size_t piece; /* floats; the second half of them begins with the values. Each half has a sixteenth more than it needs:
                     else the first positions of all heads, those in use, would share few of the cache's sets */
    size_t base;  /* floats of a block before the first piece: other networks' */
    bool across;  /* keys stand across, [pad16(head_size), 32], as tr_attend_rows reads them: for many queries of a sentence
                     at once */
} tr_cache_shape;

/* Of the cache that the encoder's layers take turns with. */
tr_cache_shape tr_encoder_cache_shape(const tr_network *network);
/* Of the caches of all decoder layers. */
tr_cache_shape tr_decoder_cache_shape(const tr_network *network);
size_t tr_cache_block_floats(const tr_cache_shape *shape); /* without what is before the first piece */
static inline size_t tr_cache_offset(const tr_cache_shape *shape, int layer, int head)
{
    return shape->base + ((size_t)layer * (size_t)shape->heads + (size_t)head) * shape->piece;
}

/* Where the weights of attention go, those that the softmax yields, while rows pass through the layers: of layer l, head h,
 * the segment's row r and position p to weights[l * layer_stride + h * head_stride + r * row_stride + p]. Weights of
 * positions that a row does not see are left as they are. */
typedef struct tr_watch {
    float *weights;
    int only_layer, only_head; /* these alone are watched, and l or h is 0; -1: all */
    size_t layer_stride, head_stride, row_stride;
} tr_watch;

/* The mean over heads, in their order, of what a row attends to a position with; of the one layer that is watched. */
static inline float tr_watch_mean(const tr_watch *watch, int heads, int row, int position)
{
    const float *w = watch->weights + (size_t)row * watch->row_stride + (size_t)position;
    float sum = 0;
    for (int h = 0; h < heads; h++)
        sum += w[(size_t)h * watch->head_stride];
    return heads == 1 ? sum : sum / (float)heads;
}

/* Rows that attend to one cache. */
typedef struct tr_segment {
    int first, rows; /* of the batch's rows */
    tr_cache *cache;
    int position;          /* where the first row's key and value go */
    int length;            /* positions that the first row attends to */
    int growth;            /* how many more each next one: 1 for tokens of a target, which see those before them; else 0 */
    float *history;        /* in place of a cache: see tr_history_floats */
    const tr_watch *watch; /* NULL: nobody asks for weights */
} tr_segment;

/* Positions that a segment's rows attend to. */
static inline uint64_t tr_segment_positions(const tr_segment *s)
{
    const uint64_t rows = (uint64_t)s->rows;
    return rows * (uint64_t)s->length + (uint64_t)s->growth * (rows * (rows - 1) / 2);
}

/* What a sentence keeps in place of keys and values, [layers, pad16(d_model)]; 0 with self-attention. */
static inline size_t tr_history_floats(const tr_config *config)
{
    return config->history == TR_HISTORY_ATTENTION ? 0 : (size_t)config->decoder_layers * (size_t)tr_pad16(config->d_model);
}

/* What one member needs for itself. */
typedef struct tr_member {
    float *x;                    /* [rows, stride] normalised rows */
    float *inner;                /* [rows, stride] the same of what is normalised once more; NULL where nothing is */
    tr_quantised x8;             /* what the next sublayer reads, quantised: [rows, d_model] */
    tr_quantised in8;            /* the same of context or hidden: [rows, the wider of them] */
    float *q, *k, *v;            /* [rows, stride]; its own heads' columns */
    float *scratch;              /* tr_matmul_scratch */
    tr_best *best;               /* [rows] */
    float least[TR_SCREEN_ROWS]; /* lower bounds of its share of the outputs, while it is screened */
} tr_member;

/* For tests: sees the rows [count, width] that each part of the network yields, from member 0, in the order of computing.
 * where: "source.embedding", "encoder" (behind layer 0..), "encoder.output" (behind a final norm), "target.embedding",
 * "decoder", "decoder.output", "logits"; layer is 0 where there is none. Encoder rows are those of several sentences, one
 * after the other; decoder rows are one for each sentence still in the batch, in their order. */
typedef void tr_trace_function(void *argument, const char *where, int layer, const float *rows, int count, int width);

typedef struct tr_state {
    const tr_network *network;
    int members;
    tr_barrier barrier;
    tr_arena arena;            /* rows of the batch at hand */
    tr_member *member;         /* [members] */
    size_t stride, ffn_stride; /* floats from row to row: d_model or all heads, and the larger ffn, padded to 16 */
    size_t history_base;       /* floats of a segment's history before this network's: other networks' */
    float *stream;             /* [rows, stride] the residual stream */
    float *context;            /* [rows, stride] what attention yields, all heads */
    float *hidden;             /* [rows, ffn_stride] */
    float *deeper;             /* the same, where a feed-forward network has more than two products; else NULL */
    float *upper;              /* [TR_SCREEN_ROWS, outputs] for screening; NULL where the network has no screen */
    int few_steps;             /* decoder steps of few rows so far, counted up to TR_SCREEN_AFTER */
    bool unwatched;            /* segments' watches are another network's */
    tr_trace_function *trace;  /* NULL: none */
    void *trace_argument;
    tr_profile *profile; /* NULL: none */
} tr_state;

/* The first so many steps of few rows do without the screen: a short run does not bring its pages into memory at all. */
enum { TR_SCREEN_AFTER = 8 };

enum { TR_ENCODER_ROWS = 1024 }; /* the encoder takes sentences in turns of about this many tokens */

/* bytes: what all rows of a batch need at most; see tr_state_rows_bytes. */
tr_status tr_state_init(tr_state *state, const tr_network *network, int members, size_t bytes, tr_error *error);
void tr_state_free(tr_state *state);

/* Sets up stream, context, hidden and the members' buffers for rows; member 0 alone. False: the arena is used up. */
bool tr_state_rows(tr_state *state, int rows);
size_t tr_state_rows_bytes(const tr_network *network, int members, int rows);

static inline void tr_state_meet(tr_state *state)
{
    tr_barrier_wait(&state->barrier);
}

/* From here on member 0's time is that of part. */
static inline void tr_state_enter(tr_state *state, int member, tr_part part)
{
    if (state->profile && member == 0)
        tr_profile_enter(state->profile, part);
}

/* Rows on their way through the layers, as one member sees them. */
typedef struct tr_flow {
    tr_state *state;
    int member, rows;
    const float *x;              /* [rows, stride] what the next sublayer reads */
    const float *residual;       /* what its output is added to */
    float alpha;                 /* what x is quantised with in the member's x8 (0: each row by itself); NaN: not yet */
    const tr_segment *sentences; /* [sentence_count], whose rows may share a scale; NULL: each row is a sentence */
    int sentence_count;
    int layer; /* that the rows are in */
} tr_flow;

/* Rows embedded in stream go in; behind the last sublayer x holds the result, normalised by final if there is one. */
tr_flow tr_flow_start(tr_state *state, int member, int rows);
void tr_flow_finish(tr_flow *flow, const tr_norm *final);

/* stream[row] = scale E[id] + P[position], then the embedding's LayerNorm if there is one; id -1: zeros in place of E */
void tr_embed(tr_state *state, const tr_side *side, int row, int32_t id, int position);

/* The flow's rows in the member's x8 as the matrix wants them: whatever multiplies them calls this first. */
void tr_flow_quantise(tr_flow *flow, const tr_matrix *matrix);

/* Multi-head attention of rows over caches. project: keys and values of the rows themselves are put into the caches first
 * (self-attention); else the caches are complete (cross-attention). */
void tr_attention_sublayer(tr_flow *flow, const tr_attention *weights, const tr_cache_shape *shape, int layer,
                           const tr_segment *segments, int count, bool project);
/* Keys and values of the flow's rows into the caches: the own heads' share of it. */
void tr_attention_project(tr_flow *flow, const tr_attention *weights, const tr_cache_shape *shape, int layer,
                          const tr_segment *segments, int count);
void tr_feedforward_forward(tr_flow *flow, const tr_feedforward *weights);
/* What down reads of such a network: [rows, ffn_stride], written by all members. */
const float *tr_feedforward_hidden(tr_flow *flow, const tr_feedforward *weights);

/* What decoder layers have in place of self-attention. */
void tr_ssru_forward(tr_flow *flow, const tr_ssru *weights, const tr_segment *segments, int count);
void tr_average_forward(tr_flow *flow, const tr_average *weights, const tr_segment *segments, int count);

/* All encoder layers; on return every member's flow->x is the encoder's output. */
void tr_encoder_forward(tr_flow *flow, const tr_cache_shape *shape, const tr_segment *segments, int count);
/* All decoder layers. The segments of self, and those of cross, hold each row once, in the same order: of self new tokens of
 * a hypothesis that follow each other, of cross those of one sentence. */
void tr_decoder_forward(tr_flow *flow, const tr_cache_shape *shape, const tr_segment *self, int self_count,
                        const tr_segment *cross, int cross_count);

/* Member 0 says so before each decoder step, while the others wait. */
static inline void tr_state_count_step(tr_state *state, int rows)
{
    state->few_steps += rows <= TR_SCREEN_I8_ROWS && state->few_steps <= TR_SCREEN_AFTER;
}

/* The output projection's share of a member, of network->logits: the best token by bias + W x into member.best, with a
 * barrier inside where it is screened; or all logits [rows, outputs]. bias is [outputs]. */
void tr_logits_best(tr_flow *flow, const float *bias);
void tr_logits_all(tr_flow *flow, const float *bias, float *logits);
/* The argmax of one row over a share of outputs that were gathered from the output projection: the number there. */
void tr_logits_best_of(tr_flow *flow, int row, const tr_linear *linear, tr_best *best);

/* Outputs of which sums of exponentials are taken together, whatever threads share the work: so that results depend on
 * nothing. */
enum { TR_LOGITS_SEGMENT = 512 };

static inline int tr_logits_segments(int outputs)
{
    return (outputs + TR_LOGITS_SEGMENT - 1) / TR_LOGITS_SEGMENT;
}

/* Outputs [first, last) of rows [row, row + rows), by the calling member alone: y [rows, stride]. first is a multiple of 16,
 * last too unless it is the end. */
void tr_logits_part(tr_flow *flow, const tr_linear *linear, const float *bias, int row, int rows, int first, int last,
                    float *y, size_t stride);

/* A sum of exponentials that was taken in parts, the denominator of a softmax, over e^most, most being the greatest of all;
 * and its logarithm. The same bits everywhere; NaN if there was one, 0 (-inf) of nothing. */
double tr_sum_parts(const tr_exp_sum *parts, int count, double *most);
double tr_log_sum(const tr_exp_sum *parts, int count);

void tr_trace_rows(tr_flow *flow, const char *where, int layer, const float *rows);

#endif
