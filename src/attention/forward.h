/* The work of a call as phases, for all kinds of attention, and the memory that they need. */
#ifndef TR_ATTENTION_FORWARD_H
#define TR_ATTENTION_FORWARD_H

#include "attention/linear.h"
#include "attention/softmax_kinds.h"

/* One of the two is used: linear for TR_ATTENTION_LINEAR, softmax for the other kinds. */
typedef struct tr_kind_work {
    tr_softmax_kind softmax;
    tr_linear_kind linear;
} tr_kind_work;

/* Roughly the multiply-adds of a call. */
double tr_call_work(const tr_call *call);
/* The number of threads for so many multiply-adds. */
int tr_call_threads(const tr_call *call, double work);
void tr_kind_add_buffers(tr_kind_work *work, const tr_call *call, int threads, tr_layout *layout);
void tr_kind_phases(const tr_kind_work *work, const tr_call *call, tr_phases *phases);

/* The projections of LOW_RANK are not NULL. */
tr_status tr_check_projections(const tr_call *call, tr_error *error);

#endif
