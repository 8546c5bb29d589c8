/* The queue: threads that decode the sentences of all callers, each thread a batch of its own.
 *
 * A submission is a job. Jobs whose options allow their sentences to share a batch form a group. A thread runs a group: it
 * takes the next sentence of the group's jobs in turn whenever its batch has room, until the group has none left or it is
 * another group's turn. A text is cut into sentences when its first sentence is taken. Jobs of high priority are run by a
 * second scheduler of the thread, between two steps of the first. One lock guards everything but the decoding itself. */
#define _GNU_SOURCE

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "api/options.h"
#include "api/text_call.h"
#include "api/token_request.h"
#include "api/tokens.h"
#include "run/aligned.h"
#include "util/clock.h"

enum { TURN = 4 };           /* batches that a group takes before it is another group's turn */
enum { MAX_CALLBACKS = 16 }; /* that run at the same time */
enum { LEVEL_HIGH, LEVEL_NORMAL, LEVEL_LOW, LEVELS };

typedef struct queue_job queue_job;
typedef struct queue_thread queue_thread;

struct tr_event {
    tr_event *next;
    tr_ticket ticket;
    size_t text, size; /* size: bytes of the text */
    bool last, is_token;
    tr_status status;
    char *message;      /* NULL: the name of the status says enough */
    tr_results results; /* of one text, which is one of those below; or none */
    tr_result translation;
    tr_hypotheses hypotheses;
    tr_token_event token;
    char bytes[]; /* of the token */
};

/* A text that is being translated. */
typedef struct queue_text {
    queue_job *job;
    struct queue_text *previous, *next; /* of the job's */
    struct queue_text *next_open;       /* whose requests are not all taken; or that waits for its alignments */
    size_t index;
    const char *data;
    const char *prefix;
    tr_plan plan;
    tr_text_call call;
    tr_status status; /* of the text so far; its message is in the event */
    tr_event *event;
    atomic_bool cancel;
    bool busy;                  /* a thread prepares or finishes it */
    bool aligned;               /* its alignments have been made, or tried */
    size_t taken, in_flight;    /* requests taken, and those of them that are in a batch */
    pthread_mutex_t token_lock; /* held while a token becomes an event */
} queue_text;

typedef struct queue_group {
    struct queue_group *next;
    tr_job shape; /* what the jobs' sentences have in common; the rest is zero */
    tr_search_options search;
    tr_decoder_start start;
    int32_t *forbidden;      /* of search; NULL: none */
    size_t users;            /* jobs, and threads that run it */
    size_t waiting;          /* texts not begun, and sentences of the others that are not taken */
    queue_job *ring[LEVELS]; /* jobs with sentences to take, the next one first */
} queue_group;

struct queue_job {
    tr_queue *queue;
    queue_group *group;
    int level;
    queue_job *ring_previous, *ring_next; /* NULL: not in its group's ring */
    queue_job *ready_previous, *ready_next;
    bool ready; /* in tr_queue.ready, or in tr_queue.deliveries */
    tr_ticket ticket;
    uint64_t deadline; /* tr_nanoseconds; UINT64_MAX: none */
    tr_translate_options options;
    tr_submit_options how;
    tr_language_pair pair;
    size_t count, begun, running, finished; /* texts */
    char **texts;                           /* [count]: in one block with their bytes and prefixes; NULL: tokens */
    tr_tokens *sources;                     /* [count]: in one block with the ids of all lists; NULL: texts */
    tr_tokens *source_prefixes;             /* [count], in the same block; NULL: none */
    size_t *sizes;                          /* [count] */
    char **prefixes;                        /* [count]; NULL: none */
    int32_t *forbidden;                     /* of options.search, until its group has it; NULL: none */
    queue_text *begun_texts;                /* [running] */
    queue_text *open, **open_end;           /* whose requests are not all taken */
    tr_event *events, **events_end;
    tr_event **held; /* [count] results that wait for those of earlier texts; NULL: not ordered */
    size_t delivered;
    tr_event *end;                 /* for the whole job, if it is stopped */
    tr_status status;              /* other than TR_OK: it is stopped */
    size_t held_texts, held_bytes; /* what it counts for in the queue's limits */
    bool over, delivering;
    int waiters;
    pthread_cond_t arrived; /* an event; or it is over */
};

struct queue_thread {
    tr_queue *queue;
    pthread_t handle;
    int number;
    bool started;
    tr_context *bulk, *urgent;
    queue_text *to_align;
};

typedef struct ticket_slot {
    queue_job *job; /* NULL: free */
    uint32_t generation;
    size_t next_free;
} ticket_slot;

struct tr_queue {
    const tr_model *model;
    tr_queue_options limits;
    int thread_count, batch_size;
    pthread_mutex_t lock;
    pthread_cond_t work, arrived, deliver;
    queue_thread *threads; /* [thread_count] */
    int idle;              /* threads that sleep */
    atomic_bool stop;
    atomic_size_t urgent;      /* jobs in rings of LEVEL_HIGH */
    _Atomic uint64_t earliest; /* of the jobs' deadlines, or before it; UINT64_MAX: none */
    queue_group *groups;       /* the next one to run first */
    ticket_slot *slots;        /* [slot_count] */
    size_t slot_count, first_free;
    size_t texts, bytes;   /* of jobs whose events have not all been taken */
    queue_job *ready;      /* a ring of jobs with events to fetch, the next one first */
    int waiters;           /* for an event of any job */
    int fd;                /* -1: not wanted yet */
    queue_job *deliveries; /* a ring of jobs with events for callbacks */
    int delivery_count;    /* jobs in deliveries */
    pthread_t deliverers[MAX_CALLBACKS];
    int deliverer_count, deliverer_idle;
};

/* One run of a group on a thread. */
typedef struct queue_run {
    queue_thread *thread;
    queue_group *group;
    bool urgent;
    size_t taken;
    tr_request **batch; /* [held] */
    int held;
} queue_run;

/* -------------------------------------------------------------------------------------------------------------- events */

static void free_event(tr_event *event)
{
    if (!event)
        return;
    tr_result_clear(&event->translation);
    tr_hypotheses_clear(&event->hypotheses);
    free(event->message);
    free(event);
}

static void free_events(tr_event *list)
{
    for (tr_event *next; list; list = next) {
        next = list->next;
        free_event(list);
    }
}

static void fail_event(tr_event *event, tr_status status, const tr_error *error)
{
    event->status = status;
    if (!event->message && error && error->message[0])
        event->message = strdup(error->message);
}

/* Puts a job at the end of tr_queue.ready or tr_queue.deliveries. */
static void add_ready(queue_job **ring, queue_job *job)
{
    queue_job *first = *ring ? *ring : job;
    job->ready_next = first;
    job->ready_previous = *ring ? first->ready_previous : job;
    job->ready_previous->ready_next = job;
    first->ready_previous = job;
    *ring = first;
    job->ready = true;
}

static void remove_ready(queue_job **ring, queue_job *job)
{
    if (*ring == job)
        *ring = job->ready_next == job ? NULL : job->ready_next;
    job->ready_previous->ready_next = job->ready_next;
    job->ready_next->ready_previous = job->ready_previous;
    job->ready = false;
}

static void *deliver_events(void *argument);

/* A callback that is slow holds up its own job alone: there is a thread for each, up to a limit. */
static bool start_deliverer(tr_queue *q)
{
    if (q->deliverer_count == MAX_CALLBACKS || !tr_thread_start(&q->deliverers[q->deliverer_count], deliver_events, q))
        return false;
    q->deliverer_count++;
    return true;
}

/* The descriptor is readable while tr_queue.ready has a job. */
static void set_readable(const tr_queue *q, bool readable)
{
    uint64_t count = 1;
    const ssize_t size = q->fd < 0 ? 0 : readable ? write(q->fd, &count, sizeof count) : read(q->fd, &count, sizeof count);
    (void)size; /* an eventfd below its limit takes 1, and is not read while it is 0 */
}

static void announce(tr_queue *q, queue_job *job)
{
    if (atomic_load(&q->stop)) /* nobody takes events any more, and no thread may start */
        return;
    if (job->how.on_event) {
        if (job->ready || job->delivering)
            return;
        add_ready(&q->deliveries, job);
        if (++q->delivery_count > q->deliverer_idle)
            start_deliverer(q);
        pthread_cond_signal(&q->deliver);
        return;
    }
    if (!job->ready) {
        if (!q->ready)
            set_readable(q, true);
        add_ready(&q->ready, job);
    }
    if (job->waiters)
        pthread_cond_signal(&job->arrived);
    else if (q->waiters)
        pthread_cond_signal(&q->arrived);
}

static void post(tr_queue *q, queue_job *job, tr_event *event)
{
    event->next = NULL;
    *job->events_end = event;
    job->events_end = &event->next;
    announce(q, job);
}

static void release_group(tr_queue *q, queue_group *group)
{
    if (--group->users)
        return;
    queue_group **at = &q->groups;
    while (*at != group)
        at = &(*at)->next;
    *at = group->next;
    free(group->forbidden);
    free(group);
}

static void free_job(tr_queue *q, queue_job *job)
{
    ticket_slot *slot = &q->slots[(uint32_t)job->ticket - 1];
    slot->job = NULL;
    slot->generation++;
    slot->next_free = q->first_free;
    q->first_free = (uint32_t)job->ticket - 1;
    q->texts -= job->held_texts;
    q->bytes -= job->held_bytes;
    if (job->group)
        release_group(q, job->group);
    free_events(job->events);
    for (size_t i = job->delivered; job->held && i < job->count; i++)
        free_event(job->held[i]);
    free_event(job->end);
    free(job->held);
    free(job->texts);
    free(job->sources);
    free(job->sizes);
    free(job->prefixes);
    free(job->forbidden);
    pthread_cond_destroy(&job->arrived);
    free(job);
}

/* Takes the first event of a job; with its last one the job is over. */
static tr_event *take_event(tr_queue *q, queue_job *job)
{
    tr_event *event = job->events;
    job->events = event->next;
    if (!job->events)
        job->events_end = &job->events;
    if (!event->is_token && event->text != SIZE_MAX) {
        job->held_texts--;
        job->held_bytes -= event->size;
        q->texts--;
        q->bytes -= event->size;
    }
    if (!job->how.on_event) {
        remove_ready(&q->ready, job);
        if (job->events)
            add_ready(&q->ready, job);
        if (!q->ready)
            set_readable(q, false);
    }
    if (event->last) {
        job->over = true;
        if (job->waiters)
            pthread_cond_broadcast(&job->arrived);
        else if (!job->delivering)
            free_job(q, job);
    }
    return event;
}

static void *deliver_events(void *argument)
{
    tr_queue *q = argument;
    tr_thread_name(0);
    pthread_mutex_lock(&q->lock);
    while (!atomic_load(&q->stop)) {
        queue_job *job = q->deliveries;
        if (!job) {
            q->deliverer_idle++;
            pthread_cond_wait(&q->deliver, &q->lock);
            q->deliverer_idle--;
            continue;
        }
        remove_ready(&q->deliveries, job);
        q->delivery_count--;
        job->delivering = true;
        while (job->events && !atomic_load(&q->stop)) {
            tr_event *event = take_event(q, job);
            pthread_mutex_unlock(&q->lock);
            job->how.on_event(job->how.on_event_argument, event);
            free_event(event);
            pthread_mutex_lock(&q->lock);
        }
        job->delivering = false;
        if (job->over)
            free_job(q, job);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------- jobs and texts
 */

static void ring_add(tr_queue *q, queue_job *job)
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

static void ring_remove(tr_queue *q, queue_job *job)
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
        post(q, job, event);
        return;
    }
    job->held[event->text] = event;
    while (job->delivered < job->count && job->held[job->delivered]) {
        tr_event *next = job->held[job->delivered++];
        next->last = job->delivered == job->count;
        post(q, job, next);
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
    post(q, job, event);
}

/* A text is over: its event comes, unless its job is stopped. */
static void end_text(tr_queue *q, queue_text *text)
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
        free_event(event);
    end_stopped(q, job);
}

/* Requests of a text that are not in a batch will not be decoded any more. */
static void drop_text(queue_text *text)
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
static void stop_job(tr_queue *q, queue_job *job, tr_status status, const tr_error *error)
{
    if (job->status != TR_OK || job->finished == job->count)
        return;
    job->status = status;
    fail_event(job->end, status, error);
    job->group->waiting -= job->count - job->begun;
    job->begun = job->count;
    for (queue_text *text = job->begun_texts, *next; text; text = next) {
        next = text->next;
        drop_text(text);
        if (!text->busy && !text->in_flight)
            end_text(q, text);
    }
    ring_remove(q, job);
    end_stopped(q, job);
}

static void stop_late_jobs(tr_queue *q)
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
            stop_job(q, job, TR_ERROR_DEADLINE, NULL);
        else if (job->deadline < earliest)
            earliest = job->deadline;
    }
    atomic_store(&q->earliest, earliest);
    pthread_mutex_unlock(&q->lock);
}

/* A text whose requests are all done, or that needs none. Not under the lock; the text is busy. */
static void finish_text(queue_thread *t, queue_text *text)
{
    tr_queue *q = t->queue;
    tr_text_call *c = &text->call;
    tr_error error = {0};
    bool given_up = atomic_load(&text->cancel);
    if (text->status == TR_OK && !given_up && c->options.align && c->job.count && !text->aligned) {
        text->next_open = t->to_align;
        t->to_align = text;
        return;
    }
    if (text->status == TR_OK && !given_up && text->job->sources) {
        text->event->hypotheses = tr_token_request_take(&c->context->config, &c->job.requests[0]);
    } else if (text->status == TR_OK && !given_up && c->job.count) {
        for (size_t i = 0; i < c->job.count; i++)
            c->job.requests[i].next = i + 1 < c->job.count ? &c->job.requests[i + 1] : NULL;
        text->status = tr_text_call_take(c, c->job.requests, &error);
        fail_event(text->event, text->status, &error);
    } else if (text->status == TR_OK && given_up) {
        text->status = TR_ERROR_CANCELLED;
    }
    pthread_mutex_lock(&q->lock);
    end_text(q, text);
    pthread_mutex_unlock(&q->lock);
}

/* Texts that wait for their alignments get them. Not while the urgent scheduler runs. */
static void align_texts(queue_thread *t)
{
    while (t->to_align) {
        queue_text *text = t->to_align;
        const tr_score_options options = {.no_scores = true, .align = true, .alignment = text->call.options.alignment};
        tr_error error = {0};
        t->to_align = text->next_open;
        text->aligned = true;
        tr_scheduler_begin(t->urgent->scheduler);
        text->status = tr_align_requests(t->urgent->scheduler, &text->call.pair, text->call.job.requests,
                                         text->call.job.count, &options, &error);
        fail_event(text->event, text->status, &error);
        finish_text(t, text);
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
        post(q, job, event);
    } else {
        free_event(event);
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

/* ----------------------------------------------------------------------------------------------------- running a group */

/* A source of tokens is a text of one sentence. Its ids are those of the plan. */
static tr_status prepare_tokens(queue_text *text, tr_error *error)
{
    const queue_job *job = text->job;
    const tr_tokens *source = &job->sources[text->index];
    tr_text_call *c = &text->call;
    tr_ids *ids = &text->plan.ids;
    ids->data = malloc(tr_token_request_ids(&c->pair, source) * sizeof *ids->data);
    c->job.requests = calloc(1, sizeof *c->job.requests);
    if (!ids->data || !c->job.requests)
        return tr_fail_memory(error, "queue");
    tr_token_request_make(&c->pair, source, job->source_prefixes ? &job->source_prefixes[text->index] : NULL, ids->data,
                          &c->job.requests[0]);
    c->job.count = 1;
    if (!c->options.on_token)
        return TR_OK;
    c->job.token = take_source_token;
    c->job.argument = text;
    return tr_stream_init(&c->stream, &c->options, c->context->model->tokenizer, c->context->config.eos_id, 1, error);
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
    for (size_t i = 0; i < c->job.count; i++) {
        c->job.requests[i].owner = text;
        c->job.requests[i].cancel = &text->cancel;
    }
    return status;
}

/* Begins the next text of a job: if it has sentences, they can be taken now. Under the lock, which it leaves meanwhile. */
static void begin_text(queue_thread *t, queue_job *job)
{
    tr_queue *q = t->queue;
    queue_text *text = calloc(1, sizeof *text);
    tr_event *event = text ? calloc(1, sizeof *event) : NULL;
    if (!event) {
        free(text);
        stop_job(q, job, TR_ERROR_MEMORY, NULL);
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
        ring_remove(q, job);
    pthread_mutex_unlock(&q->lock);
    tr_error error = {0};
    const tr_status status = prepare_text(t, text, &error);
    fail_event(event, status, &error);
    pthread_mutex_lock(&q->lock);
    const size_t count = text->call.job.count;
    text->status = status;
    if (status != TR_OK || !count || atomic_load(&text->cancel)) {
        text->taken = count;
        pthread_mutex_unlock(&q->lock);
        finish_text(t, text);
        pthread_mutex_lock(&q->lock);
        return;
    }
    text->busy = false;
    *job->open_end = text;
    job->open_end = &text->next_open;
    job->group->waiting += count;
    if (!job->ring_next)
        ring_add(q, job);
}

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
        if (!text) {
            begin_text(run->thread, job);
            continue;
        }
        request = &text->call.job.requests[text->taken];
        if (request->source_length > max_tokens) {
            request = NULL;
            break;
        }
        text->in_flight++;
        job->group->waiting--;
        if (++text->taken == text->call.job.count) {
            job->open = text->next_open;
            if (!job->open)
                job->open_end = &job->open;
        }
        if (!job->open && job->begun == job->count)
            ring_remove(q, job);
        run->taken++;
        run->batch[run->held++] = request;
    }
    pthread_mutex_unlock(&q->lock);
    return request;
}

/* A request is no longer in the batch. status: TR_OK, or why its text fails. */
static void leave_batch(queue_run *run, tr_request *request, tr_status status, const tr_error *error)
{
    tr_queue *q = run->thread->queue;
    queue_text *text = request->owner;
    int at = run->held - 1;
    while (run->batch[at] != request)
        at--;
    run->batch[at] = run->batch[--run->held];
    pthread_mutex_lock(&q->lock);
    text->in_flight--;
    if (status != TR_OK && text->status == TR_OK) {
        text->status = status;
        fail_event(text->event, status, error);
        drop_text(text);
    }
    const bool over = text->taken == text->call.job.count && !text->in_flight;
    text->busy = over;
    pthread_mutex_unlock(&q->lock);
    if (over)
        finish_text(run->thread, text);
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
    const queue_run *run = argument;
    queue_thread *t = run->thread;
    tr_queue *q = t->queue;
    if (atomic_load(&q->stop))
        return false;
    if (atomic_load_explicit(&q->earliest, memory_order_relaxed) != UINT64_MAX)
        stop_late_jobs(q);
    if (!run->urgent && atomic_load(&q->urgent)) {
        pthread_mutex_lock(&q->lock);
        run_groups(t, true);
        pthread_mutex_unlock(&q->lock);
    }
    if (!run->urgent)
        align_texts(t);
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
        stop_job(q, group->ring[level], status, &error);
    release_group(q, group);
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

static void *thread_main(void *argument)
{
    queue_thread *t = argument;
    tr_queue *q = t->queue;
    tr_thread_name(t->number);
    pthread_mutex_lock(&q->lock);
    while (!atomic_load(&q->stop)) {
        run_groups(t, true);
        run_groups(t, false);
        if (t->to_align) {
            pthread_mutex_unlock(&q->lock);
            align_texts(t);
            pthread_mutex_lock(&q->lock);
        }
        if (!has_work(q) && !atomic_load(&q->stop)) {
            q->idle++;
            pthread_cond_wait(&q->work, &q->lock);
            q->idle--;
        }
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------- making and unmaking
 */

static void init_condition(pthread_cond_t *condition)
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
    const tr_context_options options = {.threads = 1, .backend = TR_THREADS_POSIX, .batch_size = q->batch_size};
    t->queue = q;
    t->number = number + 1;
    tr_status status = tr_make_context(q->model, &options, &t->bulk, error);
    if (status == TR_OK)
        status = tr_make_context(q->model, &options, &t->urgent, error);
    if (status == TR_OK && !(t->started = tr_thread_start(&t->handle, thread_main, t)))
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
    q->limits = o.queue;
    q->thread_count = threads;
    q->batch_size = o.context.batch_size;
    q->threads = made;
    q->fd = -1;
    atomic_init(&q->earliest, UINT64_MAX);
    pthread_mutex_init(&q->lock, NULL);
    init_condition(&q->work);
    init_condition(&q->arrived);
    init_condition(&q->deliver);
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
            end_text(q, text);
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
            end_text(q, text);
        }
        free_job(q, job);
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

/* ----------------------------------------------------------------------------------------------------------- submitting */

/* Copies the texts and prefixes, all into one block. sizes: of the texts; total: bytes that they have. */
static bool copy_texts(queue_job *job, const char *const *texts, size_t total)
{
    const char *const *prefixes = job->options.prefixes;
    size_t bytes = total + job->count;
    for (size_t i = 0; prefixes && i < job->count; i++)
        bytes += prefixes[i] ? strlen(prefixes[i]) + 1 : 0;
    job->texts = malloc(job->count * sizeof *job->texts + bytes);
    job->prefixes = prefixes ? calloc(job->count, sizeof *job->prefixes) : NULL;
    if (!job->texts || (prefixes && !job->prefixes))
        return false;
    char *at = (char *)(job->texts + job->count);
    for (size_t i = 0; i < job->count; i++) {
        job->texts[i] = at;
        if (job->sizes[i])
            memcpy(at, texts[i], job->sizes[i]);
        at += job->sizes[i];
        *at++ = 0;
    }
    for (size_t i = 0; prefixes && i < job->count; i++)
        if (prefixes[i]) {
            const size_t size = strlen(prefixes[i]) + 1;
            job->prefixes[i] = memcpy(at, prefixes[i], size);
            at += size;
        }
    return true;
}

/* The job's options, and copies of what they point to but for prefixes. */
static tr_status fill_options(tr_queue *q, queue_job *job, bool texts, const tr_translate_options *options, tr_error *error)
{
    const tr_context *context = q->threads[0].bulk;
    tr_translate_options *o = &job->options;
    tr_status status = tr_translate_options_resolve(&context->config, options, o, error);
    if (status == TR_OK)
        status = tr_context_languages(context, o->source_language, o->target_language, texts, &job->pair, error);
    if (status == TR_OK && job->how.tokens && (o->search.beam > 1 || o->search.alternatives))
        status = tr_fail(error, TR_ERROR_ARGUMENT, "tokens: with %s, no token is final before the translation is complete",
                         o->search.beam > 1 ? "a beam" : "alternatives");
    if (status != TR_OK)
        return status;
    job->sizes = calloc(job->count, sizeof *job->sizes);
    job->forbidden = o->search.forbidden_count
                         ? tr_copy_bytes(o->search.forbidden, o->search.forbidden_count * sizeof *job->forbidden)
                         : NULL;
    if (!job->sizes || (o->search.forbidden_count && !job->forbidden))
        return tr_fail_memory(error, "queue");
    o->search.forbidden = job->forbidden;
    o->source_language = o->target_language = NULL; /* the pair has them */
    o->on_progress = NULL;
    o->on_token = NULL;
    o->on_result = NULL;
    return TR_OK;
}

/* Notes the bytes of text i. */
static tr_status add_size(const tr_queue *q, queue_job *job, size_t i, size_t size, size_t *total, tr_error *error)
{
    if (size > q->limits.max_bytes - *total)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_queue_submit: the texts have more than max_bytes (%zu)",
                       q->limits.max_bytes);
    job->sizes[i] = size;
    *total += size;
    return TR_OK;
}

static tr_status fill_texts(tr_queue *q, queue_job *job, const char *const *texts, const size_t *sizes, size_t *total,
                            tr_error *error)
{
    for (size_t i = 0; i < job->count; i++) {
        if (!texts[i] && !(sizes && !sizes[i]))
            return tr_fail(error, TR_ERROR_ARGUMENT, "tr_queue_submit: text %zu is NULL", i);
        const tr_status status = add_size(q, job, i, sizes ? sizes[i] : strlen(texts[i]), total, error);
        if (status != TR_OK)
            return status;
    }
    if (!copy_texts(job, texts, *total))
        return tr_fail_memory(error, "queue");
    job->options.prefixes = NULL;
    return TR_OK;
}

static void copy_lists(tr_tokens *to, const tr_tokens *from, size_t count, int32_t **at)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = (tr_tokens){*at, from[i].count};
        if (from[i].count)
            memcpy(*at, from[i].ids, from[i].count * sizeof **at);
        *at += from[i].count;
    }
}

/* prefixes: NULL: none. */
static tr_status fill_tokens(tr_queue *q, queue_job *job, const tr_tokens *sources, const tr_tokens *prefixes, size_t *total,
                             tr_error *error)
{
    for (size_t i = 0; i < job->count; i++) {
        tr_status status = tr_token_request_check(&job->pair, &sources[i], prefixes ? &prefixes[i] : NULL, i,
                                                  job->options.max_length, error);
        const size_t ids = sources[i].count + (prefixes ? prefixes[i].count : 0); /* both lists have been checked */
        if (status == TR_OK)
            status = add_size(q, job, i, ids * sizeof(int32_t), total, error);
        if (status != TR_OK)
            return status;
    }
    const size_t lists = job->count * (prefixes ? 2 : 1);
    job->sources = malloc(lists * sizeof *job->sources + *total);
    if (!job->sources)
        return tr_fail_memory(error, "queue");
    int32_t *at = (int32_t *)(job->sources + lists);
    copy_lists(job->sources, sources, job->count, &at);
    if (prefixes) {
        job->source_prefixes = job->sources + job->count;
        copy_lists(job->source_prefixes, prefixes, job->count, &at);
    }
    job->options.prefixes = NULL;
    job->options.loop_guard = false;
    return TR_OK;
}

/* The group that the job's sentences can share a batch with. */
static bool join_group(tr_queue *q, queue_job *job)
{
    const tr_translate_options *o = &job->options;
    const tr_decoder_start *start = &job->pair.start;
    queue_group *g = q->groups;
    while (g && !(g->shape.max_length == o->max_length && g->shape.min_length == o->min_length &&
                  g->shape.scores == o->scores && g->shape.loop_guard == o->loop_guard && g->start.id == start->id &&
                  g->start.first_id == start->first_id && tr_search_same(&g->search, &o->search)))
        g = g->next;
    if (!g) {
        g = calloc(1, sizeof *g);
        if (!g)
            return false;
        g->search = o->search;
        g->forbidden = job->forbidden; /* then the job is the only one of its group */
        job->forbidden = NULL;
        g->start = *start;
        g->shape = (tr_job){.max_length = o->max_length,
                            .min_length = o->min_length,
                            .search = &g->search,
                            .scores = o->scores,
                            .loop_guard = o->loop_guard,
                            .start = &g->start};
        g->next = q->groups;
        q->groups = g;
    }
    g->users++;
    job->group = g;
    return true;
}

static bool take_slot(tr_queue *q, queue_job *job)
{
    if (q->first_free == q->slot_count) {
        const size_t larger = q->slot_count ? 2 * q->slot_count : 64;
        ticket_slot *slots = larger < UINT32_MAX ? realloc(q->slots, larger * sizeof *slots) : NULL;
        if (!slots)
            return false;
        for (size_t i = q->slot_count; i < larger; i++)
            slots[i] = (ticket_slot){.next_free = i + 1};
        q->slots = slots;
        q->slot_count = larger;
    }
    ticket_slot *slot = &q->slots[q->first_free];
    job->ticket = (uint64_t)slot->generation << 32 | (q->first_free + 1);
    q->first_free = slot->next_free;
    slot->job = job;
    return true;
}

/* Under the lock. */
static tr_status add_job(tr_queue *q, queue_job *job, size_t bytes, tr_error *error)
{
    if (job->count > q->limits.max_texts - q->texts || bytes > q->limits.max_bytes - q->bytes)
        return tr_fail(error, TR_ERROR_FULL, "queue: full, with %zu texts of %zu bytes", q->texts, q->bytes);
    if (job->how.on_event && !q->deliverer_count && !start_deliverer(q))
        return tr_fail(error, TR_ERROR_MEMORY, "queue: the system gives no thread");
    if (!take_slot(q, job))
        return tr_fail_memory(error, "queue");
    job->held_texts = job->count;
    job->held_bytes = bytes;
    q->texts += job->count;
    q->bytes += bytes;
    if (!join_group(q, job))
        return tr_fail_memory(error, "queue");
    job->end->ticket = job->ticket;
    job->group->waiting += job->count;
    ring_add(q, job);
    if (job->deadline < atomic_load(&q->earliest))
        atomic_store(&q->earliest, job->deadline);
    if (job->count > 1 && q->idle > 1)
        pthread_cond_broadcast(&q->work);
    else if (q->idle)
        pthread_cond_signal(&q->work);
    return TR_OK;
}

static void discard_job(tr_queue *q, queue_job *job)
{
    if (job->ticket) {
        free_job(q, job);
        return;
    }
    free(job->texts);
    free(job->sources);
    free(job->sizes);
    free(job->prefixes);
    free(job->forbidden);
    free(job->held);
    free(job->end);
    pthread_cond_destroy(&job->arrived);
    free(job);
}

/* A job for so many texts, whose options are filled. */
static tr_status make_job(tr_queue *q, size_t count, const tr_options *options, bool texts, queue_job **made,
                          tr_error *error)
{
    if (count > q->limits.max_texts)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_queue_submit: %zu texts are more than max_texts (%zu)", count,
                       q->limits.max_texts);
    queue_job *job = *made = calloc(1, sizeof *job);
    if (!job)
        return tr_fail_memory(error, "queue");
    init_condition(&job->arrived);
    job->queue = q;
    job->count = count;
    job->how = options ? options->submit : tr_default_options().submit;
    job->level = (int)TR_PRIORITY_HIGH - (int)job->how.priority;
    job->deadline = job->how.deadline ? tr_nanoseconds() + (uint64_t)job->how.deadline * 1000000 : UINT64_MAX;
    job->open_end = &job->open;
    job->events_end = &job->events;
    job->end = calloc(1, sizeof *job->end);
    job->held = job->how.ordered ? calloc(count, sizeof *job->held) : NULL;
    if (!job->end || (job->how.ordered && !job->held))
        return tr_fail_memory(error, "queue");
    job->end->text = SIZE_MAX;
    return fill_options(q, job, texts, options ? &options->translate : NULL, error);
}

/* status: of what came before. Frees the job if it is not submitted. */
static tr_status submit_job(tr_queue *q, queue_job *job, size_t total, tr_status status, tr_ticket *ticket, tr_error *error)
{
    if (!job)
        return status;
    pthread_mutex_lock(&q->lock);
    if (status == TR_OK)
        status = add_job(q, job, total, error);
    if (status == TR_OK)
        *ticket = job->ticket;
    else
        discard_job(q, job);
    pthread_mutex_unlock(&q->lock);
    return status;
}

tr_status tr_queue_submit(tr_queue *q, const char *const *texts, const size_t *sizes, size_t count,
                          const tr_options *options, tr_ticket *ticket, tr_error *error)
{
    queue_job *job = NULL;
    size_t total = 0;
    if (!ticket)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_queue_submit: ticket is NULL");
    *ticket = 0;
    if (!q || !texts || !count)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_queue_submit: %s",
                       !q       ? "queue is NULL"
                       : !texts ? "texts is NULL"
                                : "there are no texts");
    if (options && options->translate.prefixes && options->prefix_count != count)
        return tr_fail(error, TR_ERROR_ARGUMENT, "prefixes: there are %zu for %zu texts", options->prefix_count, count);
    tr_status status = make_job(q, count, options, true, &job, error);
    if (status == TR_OK)
        status = fill_texts(q, job, texts, sizes, &total, error);
    return submit_job(q, job, total, status, ticket, error);
}

tr_status tr_queue_submit_tokens(tr_queue *q, const int32_t *const *sources, const size_t *source_counts,
                                 const int32_t *const *prefixes, const size_t *prefix_counts, size_t count,
                                 const tr_options *options, tr_ticket *ticket, tr_error *error)
{
    queue_job *job = NULL;
    size_t total = 0;
    if (!ticket)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_queue_submit_tokens: ticket is NULL");
    *ticket = 0;
    if (!q || !sources || !source_counts || (prefixes && !prefix_counts) || !count)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_queue_submit_tokens: %s",
                       !q       ? "queue is NULL"
                       : !count ? "there are no sources"
                                : "a list is NULL");
    tr_tokens *from = tr_token_lists(sources, source_counts, count);
    tr_tokens *begin = from && prefixes ? tr_token_lists(prefixes, prefix_counts, count) : NULL;
    tr_status status =
        from && (begin || !prefixes) ? make_job(q, count, options, false, &job, error) : tr_fail_memory(error, "queue");
    if (status == TR_OK)
        status = fill_tokens(q, job, from, begin, &total, error);
    free(from);
    free(begin);
    return submit_job(q, job, total, status, ticket, error);
}

/* --------------------------------------------------------------------------------------------------- taking events */

static queue_job *find_job(const tr_queue *q, tr_ticket ticket)
{
    const size_t at = (size_t)(uint32_t)ticket - 1;
    return ticket && at < q->slot_count && q->slots[at].job && q->slots[at].job->ticket == ticket ? q->slots[at].job : NULL;
}

bool tr_queue_cancel(tr_queue *q, tr_ticket ticket)
{
    if (!q)
        return false;
    pthread_mutex_lock(&q->lock);
    queue_job *job = find_job(q, ticket);
    const bool can = job && job->status == TR_OK && job->finished < job->count;
    if (can)
        stop_job(q, job, TR_ERROR_CANCELLED, NULL);
    pthread_mutex_unlock(&q->lock);
    return can;
}

tr_event *tr_queue_poll(tr_queue *q)
{
    if (!q)
        return NULL;
    pthread_mutex_lock(&q->lock);
    tr_event *event = q->ready ? take_event(q, q->ready) : NULL;
    pthread_mutex_unlock(&q->lock);
    return event;
}

/* Waits until the condition is signalled. False: the time is over. until: NULL: it never is. */
static bool wait_until(tr_queue *q, pthread_cond_t *condition, const struct timespec *until)
{
    return (until ? pthread_cond_timedwait(condition, &q->lock, until) : pthread_cond_wait(condition, &q->lock)) == 0;
}

static tr_event *wait_for_job(tr_queue *q, queue_job *job, const struct timespec *until)
{
    tr_event *event = NULL;
    if (!job || job->how.on_event)
        return NULL;
    job->waiters++;
    while (!job->events && !job->over && wait_until(q, &job->arrived, until))
        ;
    if (job->events)
        event = take_event(q, job);
    if (!--job->waiters && job->over)
        free_job(q, job);
    return event;
}

tr_event *tr_queue_wait(tr_queue *q, tr_ticket ticket, int64_t milliseconds)
{
    struct timespec until;
    tr_event *event = NULL;
    if (!q)
        return NULL;
    const int64_t wait = milliseconds < INT32_MAX ? milliseconds : INT32_MAX;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(wait / 1000);
    until.tv_nsec += (long)(wait % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&q->lock);
    if (ticket) {
        event = wait_for_job(q, find_job(q, ticket), milliseconds < 0 ? NULL : &until);
    } else {
        q->waiters++;
        while (!q->ready && wait_until(q, &q->arrived, milliseconds < 0 ? NULL : &until))
            ;
        q->waiters--;
        event = q->ready ? take_event(q, q->ready) : NULL;
    }
    pthread_mutex_unlock(&q->lock);
    return event;
}

int tr_queue_fd(tr_queue *q)
{
    if (!q)
        return -1;
    pthread_mutex_lock(&q->lock);
    if (q->fd < 0) {
        q->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (q->ready)
            set_readable(q, true);
    }
    pthread_mutex_unlock(&q->lock);
    return q->fd;
}

tr_ticket tr_event_ticket(const tr_event *event)
{
    return event->ticket;
}

bool tr_event_last(const tr_event *event)
{
    return event->last;
}

size_t tr_event_text(const tr_event *event)
{
    return event->text;
}

tr_status tr_event_status(const tr_event *event)
{
    return event->status;
}

const char *tr_event_message(const tr_event *event)
{
    return event->message ? event->message : event->status == TR_OK ? "" : tr_status_name(event->status);
}

const tr_results *tr_event_results(const tr_event *event)
{
    return event->results.count ? &event->results : NULL;
}

const tr_token_event *tr_event_token(const tr_event *event)
{
    return event->is_token ? &event->token : NULL;
}

void tr_event_free(tr_event *event)
{
    free_event(event);
}
