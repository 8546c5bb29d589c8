#include "run/layout.h"

/* What a step of the decoder costs besides its rows (it reads all weights), in rows; and what each further thread of a
 * worker costs all of them, as a share (barriers, and work that each of them repeats). Measured with one and two threads on
 * one to sixteen sentences, in int8; the weights' share is about the same for a model of 9 million parameters and one of 77
 * million. */
static const double step_cost = 4, thread_cost = 0.2;

/* The time that a division takes, in rows, if a request takes as many steps as it has source tokens. A worker's steps are
 * those of its longest request, or as many as its batch needs to hold them all; requests are dealt to workers in turn. */
static double estimate_time(int threads, int workers, int batch_size, const tr_request *requests, const size_t *order,
                            size_t count)
{
    double slowest = 0;
    for (int w = 0; w < workers; w++) {
        double longest = 0, rows = 0;
        for (size_t i = (size_t)w; i < count; i += (size_t)workers) {
            const double length = requests[order[i]].source_length;
            longest = length > longest ? length : longest;
            rows += length;
        }
        const double steps = rows / batch_size > longest ? rows / batch_size : longest;
        const int own = threads / workers + (w < threads % workers);
        const double time = (step_cost * steps + rows) * (1 + thread_cost * (own - 1)) / own;
        slowest = time > slowest ? time : slowest;
    }
    return slowest;
}

/* Batches of one: one worker, so that requests are decoded one after the other. A full batch for each thread: a worker for
 * each. Between them the division that takes the shortest time: a few requests, or a long one among short ones, go faster
 * through fewer workers of several threads. Of equal ones that with more workers: they wait less for each other. */
tr_worker_layout tr_worker_layout_choose(int threads, int batch_size, const tr_request *requests, const size_t *order,
                                         size_t count)
{
    if (batch_size == 1)
        return (tr_worker_layout){1, threads, 0};
    if (count >= (size_t)threads * (size_t)batch_size)
        return (tr_worker_layout){threads, 1, 0};
    const int limit = count < (size_t)threads ? (int)count : threads;
    int best = limit, last = limit;
    double shortest = estimate_time(threads, limit, batch_size, requests, order, count);
    for (int own = 1; own <= threads; own++) {
        const int workers = threads / own;
        if (workers >= last)
            continue;
        last = workers;
        const double time = estimate_time(threads, workers, batch_size, requests, order, count);
        if (time < shortest * 0.999) { /* not for rounding errors */
            shortest = time;
            best = workers;
        }
    }
    return (tr_worker_layout){best, threads / best, threads % best};
}
