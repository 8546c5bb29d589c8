/* Counters of the server, at GET /metrics in Prometheus's text format. */
#ifndef TR_SERVE_METRICS_H
#define TR_SERVE_METRICS_H

#include "serve/http.h"

metrics *metrics_create(void); /* NULL: out of memory */
void metrics_free(metrics *m);

/* A request is answered; route NULL: there was none for its path. seconds since its first byte. */
void metrics_answered(metrics *m, const route *answered, unsigned status, double seconds);
void metrics_left(metrics *m); /* a client went away before its answer */
/* A text was translated by a model: its tokens and sentences. */
void metrics_translated(metrics *m, int64_t source_tokens, int64_t target_tokens, int64_t sentences);
void metrics_cached(metrics *m, bool hit);

/* The route's handler of GET /metrics. */
void metrics_handle(request *r);

#endif
