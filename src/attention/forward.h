/* A call's work as phases, whatever its kind, and the memory that they need. */
#ifndef TR_ATTENTION_FORWARD_H
#define TR_ATTENTION_FORWARD_H

#include "attention/linear.h"
#include "attention/softmax_kinds.h"

typedef struct tr_kind_work {
    tr_softmax_kind softmax;
    tr_linear_kind linear; /* or this */
} tr_kind_work;

/* About how many multiply-adds a call's attention takes, and the threads that so much work gets. */
double tr_call_work(const tr_call *call);
int tr_call_threads(const tr_call *call, double work);
void tr_kind_lay_out(tr_kind_work *work, const tr_call *call, int threads, tr_room *room);
void tr_kind_phases(const tr_kind_work *work, const tr_call *call, tr_phases *phases);

/* What is read and what is pointed at is there, and does not overlap what is written. */
tr_status tr_check_projections(const tr_call *call, tr_error *error);

#endif
