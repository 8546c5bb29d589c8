/* A queue and its threads. */
#define _GNU_SOURCE
#include "api/queue.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void tr_queue_init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

static tr_status start_thread(tr_queue *q, int number, tr_error *error)
{
    queue_thread *t = &q->threads[number];
    tr_context_options options = {
        .threads = 1, .backend = TR_THREADS_POSIX, .batch_size = q->batch_size, .reverse = q->reverse};
    t->queue = q;
    t->number = number + 1;
    tr_status status = tr_make_context(q->model, &options, &t->bulk, error);
    options.reverse = NULL;
    if (status == TR_OK)
        status = tr_make_context(q->model, &options, &t->urgent, error);
    if (status == TR_OK && !(t->started = tr_thread_start(&t->handle, tr_queue_thread_main, t)))
        status = tr_fail(error, TR_ERROR_MEMORY, "queue: the system gives no thread");
    return status;
}

tr_status tr_queue_create(const tr_model *model, const tr_options *options, tr_queue **queue, tr_error *error)
{
    const tr_options o = options ? *options : tr_default_options();
    const int threads = o.context.threads ? o.context.threads : tr_usable_cores();
    if (!queue)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_queue_create: queue is NULL");
    *queue = NULL;
    if (!model)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_queue_create: model is NULL");
    if (o.context.ensemble_count)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_queue_create: a queue has one model, not an ensemble");
    tr_queue *q = calloc(1, sizeof *q);
    queue_thread *made = q ? calloc((size_t)threads, sizeof *made) : NULL;
    if (!made) {
        free(q);
        return tr_fail_memory(error, "queue");
    }
    q->model = model;
    q->reverse = o.context.reverse;
    q->limits = o.queue;
    q->thread_count = threads;
    q->batch_size = o.context.batch_size;
    q->threads = made;
    q->fd = -1;
    atomic_init(&q->earliest, UINT64_MAX);
    pthread_mutex_init(&q->lock, NULL);
    tr_queue_init_condition(&q->work);
    tr_queue_init_condition(&q->arrived);
    tr_queue_init_condition(&q->deliver);
    tr_status status = TR_OK;
    for (int i = 0; i < threads && status == TR_OK; i++)
        status = start_thread(q, i, error);
    if (status != TR_OK) {
        tr_queue_destroy(q);
        return status;
    }
    *queue = q;
    return TR_OK;
}

void tr_queue_destroy(tr_queue *q)
{
    if (!q)
        return;
    pthread_mutex_lock(&q->lock);
    atomic_store(&q->stop, true);
    pthread_cond_broadcast(&q->work);
    pthread_cond_broadcast(&q->deliver);
    pthread_mutex_unlock(&q->lock);
    for (int i = 0; i < q->thread_count; i++) {
        queue_thread *t = &q->threads[i];
        if (t->started)
            pthread_join(t->handle, NULL);
        for (queue_text *text; (text = t->to_align);) {
            t->to_align = text->next_open;
            tr_queue_end_text(q, text);
        }
        tr_context_destroy(t->bulk);
        tr_context_destroy(t->urgent);
    }
    for (int i = 0; i < q->deliverer_count; i++)
        pthread_join(q->deliverers[i], NULL);
    for (size_t i = 0; i < q->slot_count; i++) {
        queue_job *job = q->slots[i].job;
        if (!job)
            continue;
        for (queue_text *text = job->begun_texts, *next; text; text = next) {
            next = text->next;
            tr_queue_end_text(q, text);
        }
        tr_queue_free_job(q, job);
    }
    if (q->fd >= 0)
        close(q->fd);
    pthread_cond_destroy(&q->work);
    pthread_cond_destroy(&q->arrived);
    pthread_cond_destroy(&q->deliver);
    pthread_mutex_destroy(&q->lock);
    free(q->slots);
    free(q->threads);
    free(q);
}

tr_queue_options tr_queue_limits(const tr_queue *queue)
{
    return queue->limits;
}

void tr_queue_fill(tr_queue *queue, size_t *sentences, size_t *places)
{
    pthread_mutex_lock(&queue->lock);
    *sentences = queue->batched;
    pthread_mutex_unlock(&queue->lock);
    *places = (size_t)queue->thread_count * (size_t)queue->batch_size;
}
