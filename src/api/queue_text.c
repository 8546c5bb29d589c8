/* Texts of a queue's jobs: begun, finished, or given up. */
#include "api/queue.h"

#include <stdlib.h>
#include <string.h>

#include "api/token_request.h"
#include "run/aligned.h"
#include "util/clock.h"

void tr_queue_ring_add(tr_queue *q, queue_job *job)
{
    queue_job **ring = &job->group->ring[job->level];
    queue_job *first = *ring ? *ring : job;
    job->ring_next = first;
    job->ring_previous = *ring ? first->ring_previous : job;
    job->ring_previous->ring_next = job;
    first->ring_previous = job;
    *ring = first;
    if (job->level == LEVEL_HIGH)
        atomic_fetch_add(&q->urgent, 1);
}

void tr_queue_ring_remove(tr_queue *q, queue_job *job)
{
    queue_job **ring = &job->group->ring[job->level];
    if (!job->ring_next)
        return;
    if (*ring == job)
        *ring = job->ring_next == job ? NULL : job->ring_next;
    job->ring_previous->ring_next = job->ring_next;
    job->ring_next->ring_previous = job->ring_previous;
    job->ring_previous = job->ring_next = NULL;
    if (job->level == LEVEL_HIGH)
        atomic_fetch_sub(&q->urgent, 1);
}

static void post_result(tr_queue *q, queue_job *job, tr_event *event)
{
    if (!job->held) {
        event->last = job->finished == job->count;
        tr_queue_post(q, job, event);
        return;
    }
    job->held[event->text] = event;
    while (job->delivered < job->count && job->held[job->delivered]) {
        tr_event *next = job->held[job->delivered++];
        next->last = job->delivered == job->count;
        tr_queue_post(q, job, next);
    }
}

/* The last event of a stopped job, when none of its texts is left. */
static void end_stopped(tr_queue *q, queue_job *job)
{
    if (job->status == TR_OK || job->running || !job->end)
        return;
    tr_event *event = job->end;
    job->end = NULL;
    event->last = true;
    tr_queue_post(q, job, event);
}

/* A text is over: its event comes, unless its job is stopped. */
void tr_queue_end_text(tr_queue *q, queue_text *text)
{
    queue_job *job = text->job;
    if (text->previous)
        text->previous->next = text->next;
    else
        job->begun_texts = text->next;
    if (text->next)
        text->next->previous = text->previous;
    job->running--;
    job->finished++;
    tr_result *results = text->call.results;
    tr_event *event = text->event;
    if (text->status == TR_OK && results) {
        event->translation = results[0];
        event->results = (tr_results){.count = 1, .texts = &event->translation};
    } else if (text->status == TR_OK) {
        event->results = (tr_results){.count = 1, .tokens = &event->hypotheses};
    } else if (results) {
        tr_result_clear(&results[0]);
    }
    event->status = text->status;
    free(results);
    tr_text_call_free(&text->call);
    tr_plan_free(&text->plan);
    pthread_mutex_destroy(&text->token_lock);
    free(text);
    if (job->status == TR_OK)
        post_result(q, job, event);
    else
        tr_queue_free_event(event);
    end_stopped(q, job);
}

/* Requests of a text that are not in a batch will not be decoded any more. */
void tr_queue_drop_text(queue_text *text)
{
    queue_job *job = text->job;
    atomic_store(&text->cancel, true);
    for (queue_text **at = &job->open; *at; at = &(*at)->next_open)
        if (*at == text) {
            *at = text->next_open;
            if (!text->next_open)
                job->open_end = at;
            job->group->waiting -= text->call.job.count - text->taken;
            text->taken = text->call.job.count;
            return;
        }
}

/* Gives up what is not done of a job. */
void tr_queue_stop_job(tr_queue *q, queue_job *job, tr_status status, const tr_error *error)
{
    if (job->status != TR_OK || job->finished == job->count)
        return;
    job->status = status;
    tr_queue_fail_event(job->end, status, error);
    job->group->waiting -= job->count - job->begun;
    job->begun = job->count;
    for (queue_text *text = job->begun_texts, *next; text; text = next) {
        next = text->next;
        tr_queue_drop_text(text);
        if (!text->busy && !text->in_flight)
            tr_queue_end_text(q, text);
    }
    tr_queue_ring_remove(q, job);
    end_stopped(q, job);
}

void tr_queue_stop_late_jobs(tr_queue *q)
{
    const uint64_t now = tr_nanoseconds();
    if (atomic_load(&q->earliest) > now)
        return;
    pthread_mutex_lock(&q->lock);
    uint64_t earliest = UINT64_MAX;
    for (size_t i = 0; i < q->slot_count; i++) {
        queue_job *job = q->slots[i].job;
        if (!job || job->status != TR_OK || job->finished == job->count)
            continue;
        if (job->deadline <= now)
            tr_queue_stop_job(q, job, TR_ERROR_DEADLINE, NULL);
        else if (job->deadline < earliest)
            earliest = job->deadline;
    }
    atomic_store(&q->earliest, earliest);
    pthread_mutex_unlock(&q->lock);
}

bool tr_queue_cancel(tr_queue *q, tr_ticket ticket)
{
    if (!q)
        return false;
    pthread_mutex_lock(&q->lock);
    queue_job *job = tr_queue_find_job(q, ticket);
    const bool can = job && job->status == TR_OK && job->finished < job->count;
    if (can)
        tr_queue_stop_job(q, job, TR_ERROR_CANCELLED, NULL);
    pthread_mutex_unlock(&q->lock);
    return can;
}

static void own_requests(queue_text *text)
{
    tr_job *job = &text->call.job;
    for (size_t i = 0; i < job->count; i++) {
        job->requests[i].owner = text;
        job->requests[i].cancel = &text->cancel;
    }
}

/* The requests of a text can be taken. Under the lock. */
static void open_text(tr_queue *q, queue_text *text)
{
    queue_job *job = text->job;
    text->busy = text->aligned = false;
    text->taken = 0;
    text->next_open = NULL;
    *job->open_end = text;
    job->open_end = &text->next_open;
    job->group->waiting += text->call.job.count;
    if (!job->ring_next)
        tr_queue_ring_add(q, job);
}

/* Takes the requests of a text. True: sentences of it are translated again. */
static bool take_text(queue_text *text, tr_error *error)
{
    tr_text_call *c = &text->call;
    bool more = false;
    for (size_t i = 0; !c->attempt && i < c->job.count; i++)
        c->job.requests[i].next = i + 1 < c->job.count ? &c->job.requests[i + 1] : NULL;
    if (!c->attempt)
        text->status = tr_text_call_take(c, c->job.requests, error);
    do {
        if (text->status == TR_OK)
            text->status = tr_text_call_next_round(c, &more, error);
    } while (text->status == TR_OK && more && !c->job.count);
    return text->status == TR_OK && more;
}

/* A text whose requests are all done, or that needs none. Not under the lock; the text is busy. */
void tr_queue_finish_text(queue_thread *t, queue_text *text)
{
    tr_queue *q = t->queue;
    tr_text_call *c = &text->call;
    tr_error error = {0};
    bool given_up = atomic_load(&text->cancel);
    if (text->status == TR_OK && !given_up && !text->aligned &&
        tr_needs_alignments(&c->options, c->job.requests, c->job.count)) {
        text->next_open = t->to_align;
        t->to_align = text;
        return;
    }
    if (text->status == TR_OK && !given_up && text->job->sources) {
        text->event->hypotheses = tr_token_request_take(&c->context->config, &c->job.requests[0]);
    } else if (text->status == TR_OK && !given_up && c->job.count) {
        const bool more = take_text(text, &error);
        tr_queue_fail_event(text->event, text->status, &error);
        if (more) {
            own_requests(text);
            pthread_mutex_lock(&q->lock);
            const bool wanted = !atomic_load(&text->cancel);
            if (wanted)
                open_text(q, text);
            pthread_mutex_unlock(&q->lock);
            if (wanted)
                return;
            text->status = TR_ERROR_CANCELLED;
        }
    } else if (text->status == TR_OK && given_up) {
        text->status = TR_ERROR_CANCELLED;
    }
    pthread_mutex_lock(&q->lock);
    tr_queue_end_text(q, text);
    pthread_mutex_unlock(&q->lock);
}

/* Texts that wait for their alignments get them. Not while the urgent scheduler runs. */
void tr_queue_align_texts(queue_thread *t)
{
    while (t->to_align) {
        queue_text *text = t->to_align;
        const tr_score_options options = {.no_scores = true, .align = true, .alignment = text->call.options.alignment};
        tr_error error = {0};
        t->to_align = text->next_open;
        text->aligned = true;
        tr_scheduler_begin(t->urgent->scheduler);
        text->status = tr_align_requests(t->urgent->scheduler, &text->call.pair, text->call.job.requests,
                                         text->call.job.count, text->call.options.align, &options, &error);
        tr_queue_fail_event(text->event, text->status, &error);
        tr_queue_finish_text(t, text);
    }
}

/* A token of a text becomes an event. */
static int take_token(void *argument, const tr_token_event *step)
{
    queue_text *text = argument;
    queue_job *job = text->job;
    tr_queue *q = job->queue;
    tr_event *event = calloc(1, sizeof *event + step->size + 1);
    if (event) {
        if (step->size)
            memcpy(event->bytes, step->bytes, step->size);
        event->ticket = job->ticket;
        event->text = text->index;
        event->is_token = true;
        event->token = *step;
        event->token.text = text->index;
        event->token.bytes = event->bytes;
    }
    pthread_mutex_lock(&q->lock);
    if (!event) {
        text->status = TR_ERROR_MEMORY;
        atomic_store(&text->cancel, true);
    } else if (job->status == TR_OK) {
        tr_queue_post(q, job, event);
    } else {
        tr_queue_free_event(event);
    }
    pthread_mutex_unlock(&q->lock);
    return 0;
}

static tr_status take_source_token(void *argument, const tr_request *request, const tr_decoded_token *step, bool again,
                                   bool *stop, tr_error *error)
{
    queue_text *text = argument;
    return tr_stream_source(&text->call.stream, (size_t)(request - text->call.job.requests), step, again, stop, error);
}

/* A source of tokens is a text of one sentence. Its ids are those of the plan. */
static tr_status prepare_tokens(queue_text *text, tr_error *error)
{
    const queue_job *job = text->job;
    const tr_tokens *source = &job->sources[text->index];
    tr_text_call *c = &text->call;
    tr_ids *ids = &text->plan.ids;
    ids->data = malloc(tr_token_request_ids(&c->pair, source) * sizeof *ids->data);
    c->job.requests = c->requests = calloc(1, sizeof *c->requests);
    c->request_count = c->requests != NULL;
    if (!ids->data || !c->job.requests)
        return tr_fail_memory(error, "queue");
    tr_token_request_make(&c->pair, source, job->source_prefixes ? &job->source_prefixes[text->index] : NULL, ids->data,
                          &c->job.requests[0]);
    c->job.count = 1;
    if (!c->options.on_token)
        return TR_OK;
    c->job.token = take_source_token;
    c->job.argument = text;
    return tr_stream_init(&c->stream, &c->options, c->context->model->tokenizer, c->pair.traditional,
                          c->context->config.eos_id, 1, error);
}

static tr_status prepare_text(queue_thread *t, queue_text *text, tr_error *error)
{
    const queue_job *job = text->job;
    tr_text_call *c = &text->call;
    c->context = t->bulk;
    c->plans = &text->plan;
    c->pair = job->pair;
    c->options = job->options;
    c->options.prefixes = text->prefix ? (const char *const *)&text->prefix : NULL;
    c->options.on_token = job->how.tokens ? take_token : NULL;
    c->options.on_token_argument = text;
    c->texts = (const char *const *)&text->data;
    c->count = 1;
    const tr_status status = job->sources ? prepare_tokens(text, error) : tr_text_call_prepare(c, &text->event->size, error);
    own_requests(text);
    return status;
}

/* Begins the next text of a job: if it has sentences, they can be taken now. Under the lock, which it leaves meanwhile. */
void tr_queue_begin_text(queue_thread *t, queue_job *job)
{
    tr_queue *q = t->queue;
    queue_text *text = calloc(1, sizeof *text);
    tr_event *event = text ? calloc(1, sizeof *event) : NULL;
    if (!event) {
        free(text);
        tr_queue_stop_job(q, job, TR_ERROR_MEMORY, NULL);
        return;
    }
    *event = (tr_event){.ticket = job->ticket, .text = job->begun, .size = job->sizes[job->begun]};
    text->job = job;
    text->event = event;
    text->index = job->begun;
    text->data = job->texts ? job->texts[job->begun] : NULL;
    text->prefix = job->prefixes ? job->prefixes[job->begun] : NULL;
    text->busy = true;
    pthread_mutex_init(&text->token_lock, NULL);
    text->next = job->begun_texts;
    if (text->next)
        text->next->previous = text;
    job->begun_texts = text;
    job->begun++;
    job->running++;
    job->group->waiting--;
    if (job->begun == job->count && !job->open)
        tr_queue_ring_remove(q, job);
    pthread_mutex_unlock(&q->lock);
    tr_error error = {0};
    const tr_status status = prepare_text(t, text, &error);
    tr_queue_fail_event(event, status, &error);
    pthread_mutex_lock(&q->lock);
    const size_t count = text->call.job.count;
    text->status = status;
    if (status != TR_OK || !count || atomic_load(&text->cancel)) {
        text->taken = count;
        pthread_mutex_unlock(&q->lock);
        tr_queue_finish_text(t, text);
        pthread_mutex_lock(&q->lock);
        return;
    }
    open_text(q, text);
}
