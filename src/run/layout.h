/* How the threads of a run are divided into workers, each of which decodes a batch of its own. */
#ifndef TR_RUN_LAYOUT_H
#define TR_RUN_LAYOUT_H

#include "text/request.h"

/* Every thread belongs to one worker. */
typedef struct tr_worker_layout {
    int workers;
    int threads; /* of each worker */
    int larger;  /* the first so many workers have one thread more: the rest of the division */
} tr_worker_layout;

/* The layout for requests that are decoded in this order [count >= 1]. */
tr_worker_layout tr_worker_layout_choose(int threads, int batch_size, const tr_request *requests, const size_t *order,
                                         size_t count);

#endif
