/* Submissions to a queue become jobs. */
#include "api/queue.h"

#include <stdlib.h>
#include <string.h>

#include "api/options.h"
#include "api/token_request.h"
#include "api/tokens.h"
#include "util/clock.h"

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
    if (status == TR_OK && texts)
        status = tr_reranker_init(context, o, &job->reranker, error);
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
    o->search.valid_utf8 = texts && o->protect;
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
    job->options.protect = false;
    return TR_OK;
}

/* The group that the job's sentences can share a batch with. */
static bool join_group(tr_queue *q, queue_job *job)
{
    const tr_translate_options *o = &job->options;
    const tr_decoder_start *start = &job->pair.start;
    const bool scores = o->scores || tr_doubtful_below(o, &q->threads[0].bulk->config) < 0;
    tr_search_options search = o->search;
    if (job->reranker.reverse)
        search.n_best = search.beam; /* all are ranked */
    queue_group *g = q->groups;
    while (g && !(g->shape.max_length == o->max_length && g->shape.min_length == o->min_length &&
                  g->shape.scores == scores && g->shape.loop_guard == o->loop_guard && g->start.id == start->id &&
                  g->start.first_id == start->first_id && tr_search_same(&g->search, &search)))
        g = g->next;
    if (!g) {
        g = calloc(1, sizeof *g);
        if (!g)
            return false;
        g->search = search;
        g->forbidden = job->forbidden; /* then the job is the only one of its group */
        job->forbidden = NULL;
        g->start = *start;
        g->shape = (tr_job){.max_length = o->max_length,
                            .min_length = o->min_length,
                            .search = &g->search,
                            .scores = scores,
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
    if (job->how.on_event && !q->deliverer_count && !tr_queue_start_deliverer(q))
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
    tr_queue_ring_add(q, job);
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
        tr_queue_free_job(q, job);
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
    tr_queue_init_condition(&job->arrived);
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
