/* Events of a queue: posted for who fetches them, or for callbacks, and taken. */
#define _GNU_SOURCE
#include "api/queue.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "run/requests.h"

static void *deliver_events(void *argument);

void tr_queue_free_event(tr_event *event)
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
        tr_queue_free_event(list);
    }
}

void tr_queue_fail_event(tr_event *event, tr_status status, const tr_error *error)
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

/* A callback that is slow holds up its own job alone: there is a thread for each, up to a limit. */
bool tr_queue_start_deliverer(tr_queue *q)
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
            tr_queue_start_deliverer(q);
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

void tr_queue_post(tr_queue *q, queue_job *job, tr_event *event)
{
    event->next = NULL;
    *job->events_end = event;
    job->events_end = &event->next;
    announce(q, job);
}

void tr_queue_release_group(tr_queue *q, queue_group *group)
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

void tr_queue_free_job(tr_queue *q, queue_job *job)
{
    ticket_slot *slot = &q->slots[(uint32_t)job->ticket - 1];
    slot->job = NULL;
    slot->generation++;
    slot->next_free = q->first_free;
    q->first_free = (uint32_t)job->ticket - 1;
    q->texts -= job->held_texts;
    q->bytes -= job->held_bytes;
    if (job->group)
        tr_queue_release_group(q, job->group);
    free_events(job->events);
    for (size_t i = job->delivered; job->held && i < job->count; i++)
        tr_queue_free_event(job->held[i]);
    tr_queue_free_event(job->end);
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
            tr_queue_free_job(q, job);
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
            tr_queue_free_event(event);
            pthread_mutex_lock(&q->lock);
        }
        job->delivering = false;
        if (job->over)
            tr_queue_free_job(q, job);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

queue_job *tr_queue_find_job(const tr_queue *q, tr_ticket ticket)
{
    const size_t at = (size_t)(uint32_t)ticket - 1;
    return ticket && at < q->slot_count && q->slots[at].job && q->slots[at].job->ticket == ticket ? q->slots[at].job : NULL;
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
        tr_queue_free_job(q, job);
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
        event = wait_for_job(q, tr_queue_find_job(q, ticket), milliseconds < 0 ? NULL : &until);
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
    return event ? event->ticket : 0;
}

bool tr_event_last(const tr_event *event)
{
    return event && event->last;
}

size_t tr_event_text(const tr_event *event)
{
    return event ? event->text : SIZE_MAX;
}

tr_status tr_event_status(const tr_event *event)
{
    return event ? event->status : TR_ERROR_ARGUMENT;
}

const char *tr_event_message(const tr_event *event)
{
    return event && event->message           ? event->message
           : tr_event_status(event) == TR_OK ? ""
                                             : tr_status_name(tr_event_status(event));
}

const tr_results *tr_event_results(const tr_event *event)
{
    return event && event->results.count ? &event->results : NULL;
}

const tr_token_event *tr_event_token(const tr_event *event)
{
    return event && event->is_token ? &event->token : NULL;
}

void tr_event_free(tr_event *event)
{
    tr_queue_free_event(event);
}
