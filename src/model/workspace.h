/* The working memory of a group of threads that run one network together. Thread 0 sets it up; between barriers each thread
 * writes its own buffers and its own columns of the shared rows. */
#ifndef TR_MODEL_WORKSPACE_H
#define TR_MODEL_WORKSPACE_H

#include "model/network.h"
#include "model/profile.h"
#include "util/arena.h"
#include "util/team.h"

/* Buffers of one thread. stride is that of tr_workspace. */
typedef struct tr_thread_buffers {
    float *x;              /* [rows, stride] normalised rows */
    float *x_norm2;        /* [rows, stride] a second buffer for them; NULL unless sublayers have norms before and after */
    tr_quantised x_i8;     /* [rows, d_model] quantised copy of the rows that the next product reads */
    tr_quantised input_i8; /* [rows, widest input] quantised copy of context or hidden */
    float *q;              /* [rows, stride] queries of the thread's own heads */
    union {                /* [rows, stride] the thread's own columns */
        float *k;          /* attention: keys */
        float *ssru_input; /* SSRU: W x */
        float *aan_input;  /* AAN: x times its gate */
    };
    union {                 /* [rows, stride] the thread's own columns */
        float *v;           /* attention: values */
        float *ssru_forget; /* SSRU: forget gate */
        float *aan_sum;     /* AAN: the mean times its gate, then the sum with aan_input */
    };
    float *scratch;                     /* tr_matmul_scratch floats */
    tr_best *best;                      /* [rows] argmax over the thread's own outputs */
    float lower_bounds[TR_SCREEN_ROWS]; /* of the greatest logit of each row, from the thread's own outputs */
} tr_thread_buffers;

/* For tests: receives the rows [count, width] that a part of the network computes, on thread 0, in the order of computing.
 * where: "source.embedding", "encoder" (after layer 0, 1, ...), "encoder.output" (after the final norm), "target.embedding",
 * "decoder", "decoder.output", "logits"; layer is 0 where there is none. Encoder rows are those of several sentences, one
 * sentence after the other; decoder rows are one for each hypothesis in the batch. */
typedef void tr_trace_function(void *argument, const char *where, int layer, const float *rows, int count, int width);

typedef struct tr_workspace {
    const tr_network *network;
    int threads;
    tr_barrier barrier;
    tr_arena arena;             /* memory of the rows of the current batch */
    tr_thread_buffers *buffers; /* [threads] */
    size_t stride, ffn_stride;  /* floats from row to row: the wider of d_model and all heads, and the widest feed-forward
                                   network, each padded to 16 */
    float *stream;              /* [rows, stride] the residual stream */
    float *context;             /* [rows, stride] result of attention (all heads), SSRU or AAN */
    float *hidden;              /* [rows, ffn_stride] between the products of a feed-forward network */
    float *hidden2;             /* a second one; NULL unless some feed-forward network is TR_FFN_DEEP */
    float *upper_bounds;        /* [TR_SCREEN_ROWS, outputs] for screening; NULL if network->screen_rows is 0 */
    int few_steps;              /* decoder steps with at most TR_SCREEN_I8_ROWS rows, up to TR_SCREEN_AFTER + 1 */
    tr_trace_function *trace;   /* NULL: none */
    void *trace_argument;
    tr_profile *profile; /* NULL: none */
} tr_workspace;

/* A stored int8 screen is used only after this many steps with few rows: short runs do not load its pages at all. */
enum { TR_SCREEN_AFTER = 8 };

enum { TR_ENCODER_ROWS = 1024 }; /* the encoder takes sentences together until they have about this many tokens */

/* bytes: memory for the rows of the largest batch, see tr_workspace_bytes. TR_ERROR_MEMORY. network must outlive it. */
tr_status tr_workspace_init(tr_workspace *ws, const tr_network *network, int threads, size_t bytes, tr_error *error);
void tr_workspace_free(tr_workspace *ws);

/* Takes stream, context, hidden and the threads' buffers for rows from the arena. Thread 0 only. False: it is used up. */
bool tr_workspace_set_rows(tr_workspace *ws, int rows);
size_t tr_workspace_bytes(const tr_network *network, int threads, int rows);

/* Floats of the state that recurrent layers (SSRU, AAN) keep of a sequence, [layers, pad16(d_model)]; 0 with
 * self-attention. */
size_t tr_recurrent_floats(const tr_config *config);

/* Waits for all threads of the group. */
void tr_workspace_barrier(tr_workspace *ws);

/* From here on the time of thread 0 is counted as that of part, if there is a profile. */
void tr_workspace_enter(tr_workspace *ws, int thread, tr_profile_part part);

/* Thread 0 calls this before each decoder step of rows, while the others wait. */
void tr_workspace_count_step(tr_workspace *ws, int rows);

#endif
