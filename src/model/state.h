/* The working memory of a group of threads that run the network together, and the network's parts as functions that all
 * threads call together (SPMD): each computes its share and they meet at barriers.
 *
 * The work of a layer is cut by attention heads and by output columns:
 *     own heads: q, k, v, attention -> context | own columns: stream += Wo context | own columns: hidden = act(W1 x)
 *     | own columns: stream += W2 hidden |           ('|' is a barrier)
 * LayerNorm needs whole rows; every thread computes it for itself, which is cheaper than another barrier. */
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
typedef struct tr_kv_cache {
    float **blocks;
    int count; /* blocks in use */
} tr_kv_cache;

typedef struct tr_kv_shape {
    int layers, heads, head_size;
    tr_type type;       /* F32 or F16 */
    size_t row_bytes;   /* bytes of a position's key, or value */
    size_t head_floats; /* floats; the second half of them begins with the values. Each half has a sixteenth more than it
                     needs: else the first positions of all heads, those in use, would share few of the cache's sets */
    bool k_transposed;  /* keys stand across, [pad16(head_size), 32], as tr_attn_prefill reads them: for many queries of a
                     sentence  at once */
} tr_kv_shape;

/* Of the cache that the encoder's layers take turns with. */
tr_kv_shape tr_encoder_kv_shape(const tr_network *network);
/* Of the caches of all decoder layers. */
tr_kv_shape tr_decoder_kv_shape(const tr_network *network);
size_t tr_kv_block_floats(const tr_kv_shape *shape);
static inline size_t tr_kv_offset(const tr_kv_shape *shape, int layer, int head)
{
    return ((size_t)layer * (size_t)shape->heads + (size_t)head) * shape->head_floats;
}

/* Where the weights of attention go, those that the softmax yields, while rows pass through the layers: of layer l, head h,
 * the segment's row r and position p to weights[l * layer_stride + h * head_stride + r * row_stride + p]. Weights of
 * positions that a row does not see are left as they are. */
typedef struct tr_attention_capture {
    float *weights;
    int layer, head; /* these alone are watched, and l or h is 0; -1: all */
    size_t layer_stride, head_stride, row_stride;
} tr_attention_capture;

/* The mean over heads, in their order, of what a row attends to a position with; of the one layer that is watched. */
static inline float tr_attention_capture_mean(const tr_attention_capture *capture, int heads, int row, int position)
{
    const float *w = capture->weights + (size_t)row * capture->row_stride + (size_t)position;
    float sum = 0;
    for (int h = 0; h < heads; h++)
        sum += w[(size_t)h * capture->head_stride];
    return heads == 1 ? sum : sum / (float)heads;
}

/* Rows that attend to one cache. */
typedef struct tr_seq {
    int first_row, rows; /* of the batch's rows */
    tr_kv_cache *cache;
    int position;     /* where the first row's key and value go */
    int length;       /* positions that the first row attends to */
    int causal;       /* how many more each next one: 1 for tokens of a target, which see those before them; else 0 */
    float *recurrent; /* in place of a cache: see tr_recurrent_floats */
    const tr_attention_capture *capture; /* NULL: nobody asks for weights */
} tr_seq;

/* Positions that a segment's rows attend to. */
static inline uint64_t tr_seq_positions(const tr_seq *s)
{
    const uint64_t rows = (uint64_t)s->rows;
    return rows * (uint64_t)s->length + (uint64_t)s->causal * (rows * (rows - 1) / 2);
}

/* What a sentence keeps in place of keys and values, [layers, pad16(d_model)]; 0 with self-attention. */
static inline size_t tr_recurrent_floats(const tr_config *config)
{
    return config->mixer == TR_MIXER_SELF_ATTENTION ? 0 : (size_t)config->decoder_layers * (size_t)tr_pad16(config->d_model);
}

/* What one thread needs for itself. */
typedef struct tr_thread_buffers {
    float *x;                           /* [rows, stride] normalised rows */
    float *x_norm2;                     /* [rows, stride] the same of what is normalised once more; NULL where nothing is */
    tr_quantised x_i8;                  /* what the next sublayer reads, quantised: [rows, d_model] */
    tr_quantised input_i8;              /* the same of context or hidden: [rows, the wider of them] */
    float *q, *k, *v;                   /* [rows, stride]; its own heads' columns */
    float *scratch;                     /* tr_matmul_scratch */
    tr_best *best;                      /* [rows] */
    float lower_bounds[TR_SCREEN_ROWS]; /* lower bounds of its share of the outputs, while it is screened */
} tr_thread_buffers;

/* For tests: sees the rows [count, width] that each part of the network yields, from thread 0, in the order of computing.
 * where: "source.embedding", "encoder" (behind layer 0..), "encoder.output" (behind a final norm), "target.embedding",
 * "decoder", "decoder.output", "logits"; layer is 0 where there is none. Encoder rows are those of several sentences, one
 * after the other; decoder rows are one for each sentence still in the batch, in their order. */
typedef void tr_trace_function(void *argument, const char *where, int layer, const float *rows, int count, int width);

typedef struct tr_workspace {
    const tr_network *network;
    int threads;
    tr_barrier barrier;
    tr_arena arena;             /* rows of the batch at hand */
    tr_thread_buffers *buffers; /* [threads] */
    size_t stride, ffn_stride;  /* floats from row to row: d_model or all heads, and the larger ffn, padded to 16 */
    float *stream;              /* [rows, stride] the residual stream */
    float *context;             /* [rows, stride] what attention yields, all heads */
    float *hidden;              /* [rows, ffn_stride] */
    float *hidden2;             /* the same, where a feed-forward network has more than two products; else NULL */
    float *upper_bounds;        /* [TR_SCREEN_ROWS, outputs] for screening; NULL where the network has no screen */
    int few_steps;              /* decoder steps of few rows so far, counted up to TR_SCREEN_AFTER */
    tr_trace_function *trace;   /* NULL: none */
    void *trace_argument;
    tr_profile *profile; /* NULL: none */
} tr_workspace;

/* The first so many steps of few rows do without the screen: a short run does not bring its pages into memory at all. */
enum { TR_SCREEN_AFTER = 8 };

enum { TR_ENCODER_ROWS = 1024 }; /* the encoder takes sentences in turns of about this many tokens */

/* bytes: what all rows of a batch need at most; see tr_workspace_bytes. */
tr_status tr_workspace_init(tr_workspace *ws, const tr_network *network, int threads, size_t bytes, tr_error *error);
void tr_workspace_free(tr_workspace *ws);

/* Sets up stream, context, hidden and the threads' buffers for rows; thread 0 alone. False: the arena is used up. */
bool tr_workspace_set_rows(tr_workspace *ws, int rows);
size_t tr_workspace_bytes(const tr_network *network, int threads, int rows);

static inline void tr_workspace_barrier(tr_workspace *ws)
{
    tr_barrier_wait(&ws->barrier);
}

/* From here on thread 0's time is that of part. */
static inline void tr_workspace_enter(tr_workspace *ws, int thread, tr_profile_part part)
{
    if (ws->profile && thread == 0)
        tr_profile_enter(ws->profile, part);
}

/* Rows on their way through the layers, as one thread sees them. */
typedef struct tr_forward {
    tr_workspace *ws;
    int thread, rows;
    const float *x;        /* [rows, stride] what the next sublayer reads */
    const float *residual; /* what its output is added to */
    float alpha;           /* what x is quantised with in the thread's x8 (0: each row by itself); NaN: not yet */
    const tr_seq *seqs;    /* [sentence_count], whose rows may share a scale; NULL: each row is a sentence */
    int seq_count;
    int layer; /* that the rows are in */
} tr_forward;

/* Rows embedded in stream go in; behind the last sublayer x holds the result, normalised by final if there is one. */
tr_forward tr_forward_begin(tr_workspace *ws, int thread, int rows);
void tr_forward_end(tr_forward *fwd, const tr_norm *final);

/* stream[row] = scale E[id] + P[position], then the embedding's LayerNorm if there is one; id -1: zeros in place of E */
void tr_embed(tr_workspace *ws, const tr_side *side, int row, int32_t id, int position);

/* The flow's rows in the thread's x8 as the matrix wants them: whatever multiplies them calls this first. */
void tr_forward_quantise(tr_forward *fwd, const tr_matrix *matrix);

/* Multi-head attention of rows over caches. project: keys and values of the rows themselves are put into the caches first
 * (self-attention); else the caches are complete (cross-attention). */
void tr_attention_sublayer(tr_forward *fwd, const tr_attention *weights, const tr_kv_shape *shape, int layer,
                           const tr_seq *seqs, int count, bool project);
/* Keys and values of the flow's rows into the caches: the own heads' share of it. */
void tr_attention_project(tr_forward *fwd, const tr_attention *weights, const tr_kv_shape *shape, int layer,
                          const tr_seq *seqs, int count);
void tr_feedforward_forward(tr_forward *fwd, const tr_feedforward *weights);
/* What down reads of such a network: [rows, ffn_stride], written by all threads. */
const float *tr_feedforward_hidden(tr_forward *fwd, const tr_feedforward *weights);

/* What decoder layers have in place of self-attention. */
void tr_ssru_forward(tr_forward *fwd, const tr_ssru *weights, const tr_seq *seqs, int count);
void tr_aan_forward(tr_forward *fwd, const tr_aan *weights, const tr_seq *seqs, int count);

/* All encoder layers; on return every thread's flow->x is the encoder's output. */
void tr_encoder_forward(tr_forward *fwd, const tr_kv_shape *shape, const tr_seq *seqs, int count);
/* All decoder layers. The segments of self, and those of cross, hold each row once, in the same order: of self new tokens of
 * a hypothesis that follow each other, of cross those of one sentence. */
void tr_decoder_forward(tr_forward *fwd, const tr_kv_shape *shape, const tr_seq *self, int self_count, const tr_seq *cross,
                        int cross_count);

/* Member 0 says so before each decoder step, while the others wait. */
static inline void tr_workspace_count_step(tr_workspace *ws, int rows)
{
    ws->few_steps += rows <= TR_SCREEN_I8_ROWS && ws->few_steps <= TR_SCREEN_AFTER;
}

/* A thread's share of the output projection, bias + W x, of `rows` rows from first_row on; bias is [outputs]. The token with
 * the greatest logit goes to thread.best[first_row]..., with a barrier inside where the outputs are screened; or all logits
 * go to y [rows, outputs]. */
void tr_output_argmax(tr_forward *fwd, int first_row, int rows, const float *bias);
void tr_output_logits(tr_forward *fwd, int first_row, int rows, const float *bias, float *y);
/* The argmax of one row over a share of outputs that were gathered from the output projection: the number there. */
void tr_output_argmax_row(tr_forward *fwd, int row, const tr_linear *linear, tr_best *best);

/* Outputs of which sums of exponentials are taken together, whatever threads share the work: so that results depend on
 * nothing. */
enum { TR_LOGITS_SEGMENT = 512 };

static inline int tr_logits_segments(int outputs)
{
    return (outputs + TR_LOGITS_SEGMENT - 1) / TR_LOGITS_SEGMENT;
}

/* Outputs [first, last) of rows [row, row + rows), by the calling thread alone: y [rows, stride]. first is a multiple of 16,
 * last too unless it is the end. */
void tr_output_logits_tile(tr_forward *fwd, const tr_linear *linear, const float *bias, int row, int rows, int first,
                           int last, float *y, size_t stride);

/* A sum of exponentials that was taken in parts, the denominator of a softmax, over e^most, most being the greatest of all;
 * and its logarithm. The same bits everywhere; NaN if there was one, 0 (-inf) of nothing. */
double tr_exp_sum_total(const tr_exp_sum *parts, int count, double *most);
double tr_log_sum_exp(const tr_exp_sum *parts, int count);

void tr_trace_rows(tr_forward *fwd, const char *where, int layer, const float *rows);

#endif
