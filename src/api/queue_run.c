/* The threads of a queue: each decodes the sentences of a group side by side. */
#include "api/queue.h"

#include <stdlib.h>

enum {
    TURN = 4,         /* batches that a group takes before it is another group's turn */
    BEGUN = 16 << 10, /* bytes of texts that are begun for each step, and a part of one more: cutting them takes time, too */
};

/* One run of a group on a thread. */
typedef struct queue_run {
    queue_thread *thread;
    queue_group *group;
    bool urgent;
    size_t taken, begun; /* begun: bytes of texts that steps have not made up for */
    tr_request **batch;  /* [held] */
    int held;
} queue_run;

/* The highest level at which a group has sentences; LEVELS: none. */
static int first_level(const queue_group *g, bool urgent)
{
    int level = urgent ? LEVEL_HIGH : LEVEL_NORMAL;
    const int end = urgent ? LEVEL_HIGH + 1 : LEVELS;
    while (level < end && !g->ring[level])
        level++;
    return level < end ? level : LEVELS;
}

/* Whether a run takes one more sentence of its group, which has one at this level: not if another group has more urgent ones
 * or waited long enough, and not if threads without work can take it. */
static bool is_own_turn(const queue_run *run, int level)
{
    tr_queue *q = run->thread->queue;
    const size_t turn = (size_t)TURN * (size_t)q->batch_size, held = (size_t)run->held;
    for (const queue_group *g = q->groups; g; g = g->next) {
        const int other = first_level(g, run->urgent);
        if (g != run->group && (other < level || (other == level && run->taken >= turn)))
            return false;
    }
    if (!q->idle || held * ((size_t)q->idle + 1) < held + run->group->waiting)
        return true;
    pthread_cond_signal(&q->work);
    return false;
}

/* The next sentence of the jobs in turn. */
static tr_request *next_request(void *argument, int max_tokens)
{
    queue_run *run = argument;
    tr_queue *q = run->thread->queue;
    tr_request *request = NULL;
    pthread_mutex_lock(&q->lock);
    while (!request && !atomic_load(&q->stop)) {
        const int level = first_level(run->group, run->urgent);
        if (level == LEVELS || !is_own_turn(run, level))
            break;
        queue_job *job = run->group->ring[level];
        run->group->ring[level] = job->ring_next;
        queue_text *text = job->open;
        if (!text && run->begun >= BEGUN)
            break;
        if (!text) {
            run->begun += job->sizes[job->begun];
            tr_queue_begin_text(run->thread, job);
            continue;
        }
        request = &text->call.job.requests[text->taken];
        if (request->source_length > max_tokens) {
            request = NULL;
            break;
        }
        text->in_flight++;
        q->batched++;
        job->group->waiting--;
        if (++text->taken == text->call.job.count) {
            job->open = text->next_open;
            if (!job->open)
                job->open_end = &job->open;
        }
        if (!job->open && job->begun == job->count)
            tr_queue_ring_remove(q, job);
        run->taken++;
        run->batch[run->held++] = request;
    }
    pthread_mutex_unlock(&q->lock);
    return request;
}

/* A request is done. in_batch: it just left that. status: TR_OK, or why its text fails. */
static void end_request(queue_thread *t, tr_request *request, bool in_batch, tr_status status, const tr_error *error)
{
    tr_queue *q = t->queue;
    queue_text *text = request->owner;
    pthread_mutex_lock(&q->lock);
    text->in_flight--;
    q->batched -= in_batch;
    if (status != TR_OK && text->status == TR_OK) {
        text->status = status;
        tr_queue_fail_event(text->event, status, error);
        tr_queue_drop_text(text);
    }
    const bool over = text->taken == text->call.job.count && !text->in_flight;
    text->busy = over;
    pthread_mutex_unlock(&q->lock);
    if (over)
        tr_queue_finish_text(t, text);
}

/* A request is no longer in the batch. status: as above. */
static void leave_batch(queue_run *run, tr_request *request, tr_status status, const tr_error *error)
{
    queue_thread *t = run->thread;
    const queue_text *text = request->owner;
    int at = run->held - 1;
    while (run->batch[at] != request)
        at--;
    run->batch[at] = run->batch[--run->held];
    if (status != TR_OK || !text->job->reranker.reverse) {
        end_request(t, request, true, status, error);
        return;
    }
    pthread_mutex_lock(&t->queue->lock);
    t->queue->batched--;
    pthread_mutex_unlock(&t->queue->lock);
    request->next = t->to_rank;
    t->to_rank = request;
}

static bool is_high(const tr_request *request)
{
    const queue_text *text = request->owner;
    return text->job->level == LEVEL_HIGH;
}

/* Whether the text of a request that is being ranked was given up. */
static int is_given_up(void *argument, const tr_progress *progress)
{
    queue_text *text = argument;
    tr_queue *q = text->job->queue;
    (void)progress;
    tr_queue_stop_late_jobs(q);
    return atomic_load(&text->cancel) || atomic_load(&q->stop);
}

static tr_status rank_request(queue_thread *t, tr_request *request, tr_error *error)
{
    queue_text *text = request->owner;
    tr_reranker reranker = text->job->reranker;
    reranker.reverse = t->bulk->reverse;
    reranker.on_progress = is_given_up;
    reranker.on_progress_argument = text;
    if (is_given_up(text, NULL))
        return tr_fail(error, TR_ERROR_CANCELLED, "the text was given up");
    tr_scheduler_begin(reranker.reverse->scheduler);
    return tr_rerank(&reranker, request, 1, error);
}

/* Requests that wait for it are ranked, those of high priority first. urgent: these alone. */
static void rank_requests(queue_thread *t, bool urgent)
{
    while (!atomic_load(&t->queue->stop)) {
        tr_request **at = &t->to_rank;
        while (*at && !is_high(*at))
            at = &(*at)->next;
        if (!*at && !urgent && !atomic_load(&t->queue->urgent))
            at = &t->to_rank;
        tr_request *request = *at;
        tr_error error = {0};
        if (!request)
            return;
        *at = request->next;
        const tr_status status = rank_request(t, request, &error);
        end_request(t, request, false, status, &error);
    }
}

static tr_status take_requests(void *argument, const tr_request *list, tr_error *error)
{
    (void)error;
    for (const tr_request *next; list; list = next) {
        const queue_text *text = list->owner;
        next = list->next;
        leave_batch(argument, &text->call.job.requests[list - text->call.job.requests], TR_OK, NULL);
    }
    return TR_OK;
}

static tr_status report_token(void *argument, const tr_request *request, const tr_decoded_token *step, bool again,
                              bool *stop, tr_error *error)
{
    queue_text *text = request->owner;
    tr_text_call *c = &text->call;
    (void)argument;
    if (!c->job.token)
        return TR_OK;
    pthread_mutex_lock(&text->token_lock);
    const tr_status status = c->job.token(c->job.argument, request, step, again, stop, error);
    pthread_mutex_unlock(&text->token_lock);
    return status;
}

static void run_groups(queue_thread *t, bool urgent);

/* Between two steps: what is urgent comes first. */
static bool before_step(void *argument)
{
    queue_run *run = argument;
    queue_thread *t = run->thread;
    tr_queue *q = t->queue;
    run->begun -= run->begun < BEGUN ? run->begun : BEGUN;
    if (atomic_load(&q->stop))
        return false;
    if (atomic_load_explicit(&q->earliest, memory_order_relaxed) != UINT64_MAX)
        tr_queue_stop_late_jobs(q);
    if (!run->urgent && atomic_load(&q->urgent)) {
        pthread_mutex_lock(&q->lock);
        run_groups(t, true);
        pthread_mutex_unlock(&q->lock);
    }
    rank_requests(t, run->urgent);
    if (!run->urgent)
        tr_queue_align_texts(t);
    return true;
}

/* Decodes sentences of a group until it has no more, or another group's turn comes. Under the lock, which it leaves. */
static void run_group(queue_thread *t, queue_group *group, bool urgent)
{
    tr_queue *q = t->queue;
    tr_scheduler *scheduler = urgent ? t->urgent->scheduler : t->bulk->scheduler;
    queue_run run = {.thread = t, .group = group, .urgent = urgent};
    tr_job job = group->shape;
    tr_error error = {0};
    group->users++;
    pthread_mutex_unlock(&q->lock);
    tr_queue_stop_late_jobs(q); /* also where no text comes as far as a step */
    job.next = next_request;
    job.step = before_step;
    job.done = take_requests;
    job.token = job.search->beam == 1 && !job.search->alternatives ? report_token : NULL;
    job.argument = &run;
    tr_scheduler_begin(scheduler);
    run.batch = calloc((size_t)q->batch_size, sizeof(tr_request *));
    const tr_status status = run.batch ? tr_scheduler_run(scheduler, &job, &error) : tr_fail_memory(&error, "queue");
    const bool taken = run.held;
    while (run.held)
        leave_batch(&run, run.batch[0], status, &error);
    free(run.batch);
    pthread_mutex_lock(&q->lock);
    const int level = first_level(group, urgent);
    if (status != TR_OK && !taken && level < LEVELS) /* it fails before it takes anything */
        tr_queue_stop_job(q, group->ring[level], status, &error);
    tr_queue_release_group(q, group);
}

/* Runs groups until none has sentences. Under the lock, which it leaves. */
static void run_groups(queue_thread *t, bool urgent)
{
    tr_queue *q = t->queue;
    for (;;) {
        queue_group *chosen = NULL;
        int best = LEVELS;
        for (queue_group *g = q->groups; g; g = g->next)
            if (first_level(g, urgent) < best) {
                best = first_level(g, urgent);
                chosen = g;
            }
        if (!chosen || atomic_load(&q->stop) || (!urgent && atomic_load(&q->urgent)))
            return;
        queue_group **at = &q->groups;
        while (*at != chosen)
            at = &(*at)->next;
        *at = chosen->next;
        while (*at)
            at = &(*at)->next;
        *at = chosen;
        chosen->next = NULL;
        run_group(t, chosen, urgent);
    }
}

static bool has_work(const tr_queue *q)
{
    for (const queue_group *g = q->groups; g; g = g->next)
        if (first_level(g, true) < LEVELS || first_level(g, false) < LEVELS)
            return true;
    return false;
}

void *tr_queue_thread_main(void *argument)
{
    queue_thread *t = argument;
    tr_queue *q = t->queue;
    tr_thread_name(t->number);
    pthread_mutex_lock(&q->lock);
    while (!atomic_load(&q->stop)) {
        run_groups(t, true);
        run_groups(t, false);
        if (t->to_rank || t->to_align) {
            pthread_mutex_unlock(&q->lock);
            rank_requests(t, false);
            tr_queue_align_texts(t);
            pthread_mutex_lock(&q->lock);
        }
        if (!has_work(q) && !t->to_rank && !atomic_load(&q->stop)) {
            q->idle++;
            pthread_cond_wait(&q->work, &q->lock);
            q->idle--;
        }
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}
