/* What all layers share: rows on their way through the network, norms and residuals, products with weights.
 *
 * All threads of a workspace call these functions together (SPMD). Each computes its share and they meet at barriers. The
 * work is divided by attention heads and by output columns, for example (| is a barrier):
 *     own heads: q, k, v, attention -> context | own columns: stream += Wo context |
 *     own columns: hidden = act(W1 x) | own columns: stream += W2 hidden |
 * LayerNorm needs whole rows; each thread computes it for itself, which is cheaper than another barrier. */
#ifndef TR_MODEL_FORWARD_H
#define TR_MODEL_FORWARD_H

#include "model/sequence.h"
#include "model/workspace.h"

/* What a thread's int8 copy (x_i8) of the rows x holds. */
typedef enum tr_quantisation {
    TR_NOT_QUANTISED,
    TR_QUANTISED_BY_ROW,      /* scale max|x| / 127 of each row; with Marian's int8 and known sequences, of each sequence */
    TR_QUANTISED_FIXED_SCALE, /* scale 1 / act_scale, the same for all rows */
} tr_quantisation;

/* The forward pass of a batch of rows, as one thread sees it. */
typedef struct tr_forward {
    tr_workspace *ws;
    int thread, rows;
    const float *x;               /* [rows, stride] what the next product reads */
    const float *residual;        /* [rows, stride] what the result of the sublayer is added to */
    tr_quantisation quantisation; /* of x in x_i8 */
    float act_scale;              /* TR_QUANTISED_FIXED_SCALE: the factor; else 0 */
    const tr_seq *seqs;           /* [seq_count] whose rows may share a scale; NULL: none do */
    int seq_count;
    int layer;     /* that the rows are in */
    bool observed; /* this thread measures or traces: see tr_forward_at */
} tr_forward;

/* Points of the forward pass. */
typedef enum tr_forward_point {
    TR_AT_ENCODER, /* x: source embeddings */
    TR_AT_ENCODER_LAYER_END,
    TR_AT_ENCODER_END,
    TR_AT_DECODER,        /* x: target embeddings */
    TR_AT_SELF_ATTENTION, /* or what a decoder layer has in its place */
    TR_AT_CROSS_ATTENTION,
    TR_AT_FEED_FORWARD, /* of the decoder */
    TR_AT_DECODER_LAYER_END,
    TR_AT_DECODER_END,
    TR_AT_OUTPUT,
    TR_AT_SCREEN,
} tr_forward_point;

/* The one hook for measuring (tr_profile) and tracing (tr_trace_function); does nothing unless fwd->observed. seqs: those of
 * the encoder's batch, or of the sublayer that begins; else NULL. */
void tr_forward_at(const tr_forward *fwd, tr_forward_point point, const tr_seq *seqs, int count);
void tr_forward_observe(const tr_forward *fwd, tr_forward_point point, const tr_seq *seqs, int count);

/* Begins a pass; the embedded rows are in ws->stream. */
tr_forward tr_forward_begin(tr_workspace *ws, int thread, int rows);
/* Makes x the result of the last sublayer, normalised by final; NULL: there is no final norm. */
void tr_forward_end(tr_forward *fwd, const tr_norm *final);

/* Makes x the input of a sublayer f: LN(residual) where norms say so, else the residual. */
void tr_sublayer_begin(tr_forward *fwd, const tr_norms *norms);
/* Waits until all threads have written stream = residual + f(x), and makes that, or LN of it, the residual. */
void tr_sublayer_end(tr_forward *fwd, const tr_norms *norms);

/* Makes rows [rows, stride], not quantised yet, what products read. */
void tr_forward_set_x(tr_forward *fwd, const float *x);
/* Makes LN(rows), rows [rows, stride], what products read. */
void tr_forward_set_x_normalised(tr_forward *fwd, const tr_norm *norm, const float *rows);
/* Brings x_i8 into the state that a product with matrix needs. */
void tr_forward_quantise(tr_forward *fwd, const tr_matrix *matrix);

/* The thread's own columns of outputs columns. */
tr_range tr_forward_columns(const tr_forward *fwd, int outputs);
/* Where the thread's own part of a sequence's recurrent state of the current layer begins: columns.begin of [d_model]. */
float *tr_forward_recurrent(const tr_forward *fwd, const tr_seq *seq, tr_range columns);

/* The target of a product that is added to the residual: stream = residual + product. */
tr_matmul tr_forward_add_to_stream(const tr_forward *fwd);

/* Columns of activation(W x + b); target has the other members of tr_matmul: where the result goes, activation, gate,
 * residual. */
void tr_linear_forward(tr_forward *fwd, const tr_linear *linear, tr_range columns, tr_matmul target);
/* The same of rows [rows, inputs] that all threads have written, instead of x. */
void tr_linear_forward_shared(tr_forward *fwd, const tr_linear *linear, const float *rows, size_t stride, tr_range columns,
                              tr_matmul target);

/* Columns of y[rows, y_stride] = rows [rows, stride]. */
void tr_forward_copy(const tr_forward *fwd, const float *rows, size_t stride, tr_range columns, float *y, size_t y_stride);
/* Columns of y = a + b, each [rows, stride of the workspace]. */
void tr_forward_add(const tr_forward *fwd, const float *a, const float *b, tr_range columns, float *y);

#endif
