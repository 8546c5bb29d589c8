/* The output projection, logits = W x + b, and what is computed from it: the best token, tiles of logits, log-sum-exp. */
#ifndef TR_MODEL_OUTPUT_H
#define TR_MODEL_OUTPUT_H

#include "model/bind.h"
#include "model/forward.h"

/* Binds the projection (output.weight, or the target embedding) and output.bias, restricts it to config.allowed, and makes
 * or finds the screen of a large one. */
void tr_output_bind(tr_binder *b);

/* The argmax of rows first_row .. first_row + rows - 1 over the thread's own outputs of network->output into the thread's
 * best from first_row on, by token; with a barrier
 * inside if it is screened. bias is [outputs]. */
void tr_output_argmax(tr_forward *fwd, int first_row, int rows, const float *bias);
/* The thread's own columns of logits [rows, outputs] of these rows by network->output. */
void tr_output_logits(tr_forward *fwd, int first_row, int rows, const float *bias, float *logits);
/* The argmax of one row over the thread's own outputs of linear (outputs selected by a shortlist): the number in there. */
void tr_output_argmax_row(tr_forward *fwd, int row, const tr_linear *linear, tr_best *best);

/* Exponentials are summed in segments of this many outputs, however threads share the work: sums depend on nothing else. */
enum { TR_LOGITS_SEGMENT = 512 };
int tr_logits_segments(int outputs);

/* Logits y [rows, stride] of outputs first .. last - 1 and rows row .. row + rows - 1, computed by the calling thread alone.
 * first is a multiple of 16, last too unless it is the number of outputs. */
void tr_output_logits_tile(tr_forward *fwd, const tr_linear *linear, const float *bias, int row, int rows, int first,
                           int last, float *y, size_t stride);

/* The sum of e^(x - max) over all parts, max being the greatest of all: the denominator of a softmax; and the log-sum-exp
 * of all x. The same bits on every machine. NaN if any x was NaN; 0 (-inf) if there was no x. */
double tr_exp_sum_total(const tr_exp_sum *parts, int count, double *max);
double tr_log_sum_exp(const tr_exp_sum *parts, int count);

#endif
