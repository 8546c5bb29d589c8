#include "run/scheduler.h"

#include <limits.h>
#include <stdlib.h>

#include "decoding/rules.h"
#include "run/layout.h"
#include "run/policy.h"

typedef struct scheduler_run scheduler_run;

/* A request in a batch. */
typedef struct batch_entry {
    tr_sequence sequence; /* first: the entry is found by its sequence */
    tr_request *request;
    bool again; /* it is decoded the second time */
} batch_entry;

/* The threads that decode a batch together. Thread 0 alone uses what is beside memory. */
typedef struct batch_worker {
    tr_worker *memory;
    scheduler_run *run;
    batch_entry *entries;   /* [batch_size] */
    batch_entry **spare;    /* [spare_count] */
    batch_entry **retries;  /* [retry_count] to be decoded again */
    int32_t *targets;       /* [batch_size, max_length] */
    size_t target_capacity; /* elements */
    int spare_count, retry_count;
    size_t dealt; /* the next index into run->order that is this worker's own */
} batch_worker;

struct tr_scheduler {
    tr_ensemble models;
    const tr_shortlist *shortlist; /* NULL: none */
    tr_team *team;
    int threads, batch_size;
    batch_worker *workers;  /* [threads], made when first needed */
    tr_profile *profiles;   /* [threads] or NULL */
    atomic_bool stop;       /* a callback failed, or the call was cancelled */
    pthread_mutex_t report; /* held while job->done or job->token runs */
};

/* What the threads of one run share. */
struct scheduler_run {
    tr_scheduler *scheduler;
    const tr_job *job;
    const tr_forced_job *forced; /* of tr_scheduler_score */
    tr_policy policy;
    size_t *order; /* [job->count] */
    tr_worker_layout layout;
    tr_decode_options options;
    size_t dealt;       /* order[0 .. dealt) is dealt to the workers in turn, so that all get long and short ones */
    atomic_size_t next; /* of the rest: the first worker that has space takes it */
    atomic_bool failed; /* status and error are set */
    tr_status status;
    tr_error error;
    tr_request *_Atomic complete; /* not yet reported, linked by next */
};

/* ------------------------------------------------------------------------------------------------------- the scheduler */

tr_status tr_scheduler_create(const tr_ensemble *models, int threads, tr_thread_backend backend, int batch_size,
                              tr_scheduler **scheduler, tr_error *error)
{
    tr_scheduler *s = *scheduler = calloc(1, sizeof *s);
    if (!s)
        return tr_fail_memory(error, "context");
    s->models = *models;
    s->threads = threads;
    s->batch_size = batch_size;
    pthread_mutex_init(&s->report, NULL);
    tr_status status = tr_team_create(threads, backend, &s->team, error);
    if (status == TR_OK && !(s->workers = calloc((size_t)threads, sizeof *s->workers)))
        status = tr_fail_memory(error, "context");
    if (status != TR_OK) {
        tr_scheduler_destroy(s);
        *scheduler = NULL;
    }
    return status;
}

void tr_scheduler_destroy(tr_scheduler *scheduler)
{
    if (!scheduler)
        return;
    for (int w = 0; scheduler->workers && w < scheduler->threads; w++) {
        tr_worker_destroy(scheduler->workers[w].memory);
        free(scheduler->workers[w].entries);
        free(scheduler->workers[w].spare);
        free(scheduler->workers[w].retries);
        free(scheduler->workers[w].targets);
    }
    pthread_mutex_destroy(&scheduler->report);
    free(scheduler->workers);
    tr_team_destroy(scheduler->team);
    free(scheduler);
}

tr_team *tr_scheduler_team(tr_scheduler *scheduler)
{
    return scheduler->team;
}

const tr_config *tr_scheduler_config(const tr_scheduler *scheduler)
{
    return &scheduler->models.networks[0]->config;
}

void tr_scheduler_begin(tr_scheduler *scheduler)
{
    atomic_store(&scheduler->stop, false);
}

void tr_scheduler_cancel(tr_scheduler *scheduler)
{
    atomic_store(&scheduler->stop, true);
}

size_t tr_scheduler_capacity(const tr_scheduler *scheduler)
{
    return (size_t)scheduler->threads * (size_t)scheduler->batch_size;
}

void tr_scheduler_set_shortlist(tr_scheduler *scheduler, const tr_shortlist *shortlist)
{
    scheduler->shortlist = shortlist;
}

void tr_scheduler_profile(tr_scheduler *scheduler, tr_profile *profiles)
{
    scheduler->profiles = profiles;
}

/* ------------------------------------------------------------------------------------------------------- a run's workers */

static bool make_batch(const tr_scheduler *s, batch_worker *worker, size_t max_length)
{
    const size_t batch = (size_t)s->batch_size, needed = batch * max_length;
    if (!worker->entries)
        worker->entries = calloc(batch, sizeof *worker->entries);
    if (!worker->spare)
        worker->spare = calloc(batch, sizeof *worker->spare);
    if (!worker->retries)
        worker->retries = calloc(batch, sizeof *worker->retries);
    if (needed > worker->target_capacity) {
        free(worker->targets);
        worker->targets = malloc(needed * sizeof *worker->targets);
        worker->target_capacity = worker->targets ? needed : 0;
    }
    if (!worker->entries || !worker->spare || !worker->retries || !worker->targets)
        return false;
    for (int i = 0; i < s->batch_size; i++) {
        worker->entries[i].sequence.target = worker->targets + (size_t)i * max_length;
        worker->spare[i] = &worker->entries[i];
    }
    worker->spare_count = s->batch_size;
    worker->retry_count = 0;
    return true;
}

static tr_status make_worker(const tr_scheduler *s, int w, tr_error *error)
{
    const int threads = (s->threads + w) / (w + 1); /* of a worker of this number, in any layout, at most */
    tr_worker *memory;
    tr_status status = tr_worker_create(&s->models, threads, s->batch_size, &memory, error);
    if (status != TR_OK)
        return status;
    if (s->shortlist && (status = tr_worker_set_shortlist(memory, s->shortlist, error)))
        tr_worker_destroy(memory);
    else
        s->workers[w].memory = memory;
    return status;
}

/* Gives a worker of the run all that decoding needs. */
static tr_status prepare_worker(scheduler_run *r, int w, tr_error *error)
{
    const tr_scheduler *s = r->scheduler;
    batch_worker *worker = &s->workers[w];
    worker->run = r;
    worker->dealt = (size_t)w;
    if (!make_batch(s, worker, (size_t)r->policy.max_length))
        return tr_fail_memory(error, "context");
    tr_status status = worker->memory ? TR_OK : make_worker(s, w, error);
    if (status == TR_OK && r->forced)
        status = tr_worker_recover(worker->memory, error);
    if (status == TR_OK)
        status = r->forced ? tr_worker_prepare_forced(worker->memory, error)
                           : tr_worker_set_search(worker->memory, r->job->search, r->job->scores, error);
    if (status != TR_OK)
        return status;
    tr_worker_set_threads(worker->memory, r->layout.threads + (w < r->layout.larger));
    tr_worker_set_profile(worker->memory, s->profiles ? &s->profiles[w] : NULL);
    return TR_OK;
}

/* The worker that a thread of the team belongs to, and the thread's number there. */
static batch_worker *worker_of_thread(const scheduler_run *r, int thread, int *own)
{
    const tr_worker_layout *layout = &r->layout;
    const int in_larger = layout->larger * (layout->threads + 1);
    const int w =
        thread < in_larger ? thread / (layout->threads + 1) : layout->larger + (thread - in_larger) / layout->threads;
    *own = thread < in_larger ? thread % (layout->threads + 1) : (thread - in_larger) % layout->threads;
    return &r->scheduler->workers[w];
}

/* --------------------------------------------------------------------------------------- requests in and out of batches */

/* Keeps the first failure, and makes all workers stop. */
static void fail_run(scheduler_run *r, tr_status status, const tr_error *error)
{
    if (!atomic_exchange(&r->failed, true)) {
        r->status = status;
        r->error = *error;
        r->error.status = status;
        if (!error->message[0])
            tr_fail(&r->error, status, status == TR_ERROR_CANCELLED ? "decoding: cancelled" : "decoding: failed");
    }
    atomic_store(&r->scheduler->stop, true);
}

/* Claims the job's next request for a worker, if it has at most capacity tokens: first those dealt to it. */
static tr_request *claim_next(scheduler_run *r, batch_worker *worker, int capacity)
{
    tr_request *requests = r->job->requests;
    size_t at = worker->dealt;
    if (at < r->dealt) {
        if (requests[r->order[at]].source_length > capacity)
            return NULL;
        worker->dealt += (size_t)r->layout.workers;
        return &requests[r->order[at]];
    }
    at = atomic_load(&r->next);
    do
        if (at >= r->job->count || requests[r->order[at]].source_length > capacity)
            return NULL;
    while (!atomic_compare_exchange_weak(&r->next, &at, at + 1));
    return &requests[r->order[at]];
}

/* The next request as an entry of the worker's batch; NULL: none now. */
static batch_entry *take_request(batch_worker *worker, int capacity)
{
    scheduler_run *r = worker->run;
    tr_request *request = r->job->next ? r->job->next(r->job->argument, capacity) : claim_next(r, worker, capacity);
    if (!request)
        return NULL;
    batch_entry *entry = worker->spare[--worker->spare_count];
    entry->request = request;
    entry->again = false;
    entry->sequence.source = entry->request->source;
    entry->sequence.source_length = entry->request->source_length;
    return entry;
}

/* Reports what is complete, unless another thread does: then that one finds it. */
static void report_complete(scheduler_run *r)
{
    while (atomic_load(&r->complete) && pthread_mutex_trylock(&r->scheduler->report) == 0) {
        tr_error error = {0};
        tr_request *list = atomic_exchange(&r->complete, NULL);
        if (list && !atomic_load(&r->scheduler->stop)) { /* after a failure nothing is reported any more */
            const tr_status status = r->job->done(r->job->argument, list, &error);
            if (status != TR_OK)
                fail_run(r, status, &error);
        }
        pthread_mutex_unlock(&r->scheduler->report);
    }
}

/* Gives back an entry whose request is complete, and reports the request. False: stop. */
static bool finish_request(batch_worker *worker, batch_entry *entry)
{
    scheduler_run *r = worker->run;
    tr_request *request = entry->request;
    worker->spare[worker->spare_count++] = entry;
    if (!r->job->done)
        return true;
    request->next = atomic_load(&r->complete);
    while (!atomic_compare_exchange_weak(&r->complete, &request->next, request))
        ;
    report_complete(r);
    return !atomic_load(&r->scheduler->stop);
}

/* ----------------------------------------------------------------------------------------------------------- searching */

static tr_sequence *next_sequence(void *argument, int capacity)
{
    batch_worker *worker = argument;
    scheduler_run *r = worker->run;
    if (atomic_load(&r->scheduler->stop))
        return NULL;
    if (worker->retry_count) { /* before new requests, which might take their space */
        batch_entry *retry = worker->retries[worker->retry_count - 1];
        if (retry->sequence.source_length > capacity)
            return NULL;
        worker->retry_count--;
        return &retry->sequence;
    }
    batch_entry *entry = take_request(worker, capacity);
    if (!entry)
        return NULL;
    entry->sequence.forced = NULL; /* of an earlier tr_scheduler_score */
    entry->sequence.cancel = entry->request->cancel;
    entry->sequence.prefix = entry->request->prefix;
    entry->sequence.prefix_length = entry->request->prefix_length;
    tr_policy_start(&r->policy, entry->request, &entry->sequence);
    return &entry->sequence;
}

/* Ends a hypothesis before an incomplete character at its end: a limit cut it off there, or it has EOS because rules against
 * repetition left no other token. */
static void drop_incomplete(const tr_config *config, tr_hypothesis *h)
{
    const size_t whole = tr_whole_characters(config, h->ids, h->count);
    if (whole == h->count)
        return;
    if (h->log_probabilities) {
        h->log_probabilities[whole] = h->log_probabilities[h->finished ? h->count : whole];
        h->log_probability = 0;
        for (size_t t = 0; t < whole + h->finished; t++)
            h->log_probability += h->log_probabilities[t];
    }
    h->count = whole;
}

/* Copies the hypotheses out of the worker's memory; those of a second attempt if it helped. */
static tr_status keep_hypotheses(const scheduler_run *r, const batch_entry *entry, tr_error *error)
{
    const tr_sequence *sequence = &entry->sequence;
    tr_request *request = entry->request;
    if (!entry->again || tr_policy_retry_helped(sequence)) {
        tr_hypotheses_clear(&request->found);
        const tr_status status = tr_hypotheses_copy(sequence->results, sequence->result_count, &request->found, error);
        if (status != TR_OK)
            return status;
    }
    for (size_t i = 0; i < request->found.count && r->job->search->valid_utf8; i++)
        drop_incomplete(tr_scheduler_config(r->scheduler), &request->found.items[i]);
    const tr_hypothesis *best = &request->found.items[0];
    request->target = best->ids;
    request->target_length = (int)best->count;
    request->finished = best->finished;
    request->looped = entry->again && tr_policy_had_loop(sequence);
    return TR_OK;
}

/* Takes the hypotheses of a sequence, or has it decoded again. */
static bool take_complete(void *argument, tr_sequence *sequence)
{
    batch_worker *worker = argument;
    scheduler_run *r = worker->run;
    batch_entry *entry = (batch_entry *)sequence;
    tr_error error = {0};
    entry->request->cancelled = sequence->cancelled;
    if (sequence->cancelled)
        return finish_request(worker, entry);
    const bool retry = !entry->again && tr_policy_wants_retry(&r->policy, sequence);
    const tr_status status =
        retry ? tr_policy_retry(&r->policy, sequence, &entry->request->found, &error) : keep_hypotheses(r, entry, &error);
    if (status != TR_OK) {
        fail_run(r, status, &error);
        return false;
    }
    if (!retry)
        return finish_request(worker, entry);
    entry->again = true;
    worker->retries[worker->retry_count++] = entry;
    return true;
}

/* If several workers have a token at the same time, the others sleep until the first one is reported. */
static int take_token(void *argument, const tr_decoded_token *step)
{
    const batch_worker *worker = argument;
    scheduler_run *r = worker->run;
    const batch_entry *entry = (const batch_entry *)step->sequence;
    tr_error error = {0};
    bool stop = false;
    pthread_mutex_lock(&r->scheduler->report);
    const tr_status status = atomic_load(&r->scheduler->stop)
                                 ? TR_ERROR_CANCELLED
                                 : r->job->token(r->job->argument, entry->request, step, entry->again, &stop, &error);
    if (status != TR_OK)
        fail_run(r, status, &error);
    pthread_mutex_unlock(&r->scheduler->report);
    report_complete(r); /* what other workers completed in the meantime */
    return status != TR_OK ? -1 : stop;
}

/* ------------------------------------------------------------------------------------------------------ forced decoding */

static tr_sequence *next_forced(void *argument, int capacity)
{
    batch_worker *worker = argument;
    scheduler_run *r = worker->run;
    tr_error error = {0};
    batch_entry *entry = atomic_load(&r->scheduler->stop) ? NULL : take_request(worker, capacity);
    if (!entry)
        return NULL;
    const size_t request = (size_t)(entry->request - r->job->requests);
    const tr_status status = r->forced->begin(r->job->argument, request, &error);
    entry->sequence.forced = &r->forced->targets[request];
    if (status == TR_OK)
        return &entry->sequence;
    fail_run(r, status, &error);
    return NULL;
}

static bool take_forced(void *argument, tr_sequence *sequence)
{
    batch_worker *worker = argument;
    scheduler_run *r = worker->run;
    batch_entry *entry = (batch_entry *)sequence;
    tr_error error = {0};
    const tr_status status = r->forced->end(r->job->argument, (size_t)(entry->request - r->job->requests), &error);
    if (status == TR_OK)
        return finish_request(worker, entry);
    fail_run(r, status, &error);
    return false;
}

/* ---------------------------------------------------------------------------------------------------------------- a run */

static bool before_step(void *argument)
{
    const tr_job *job = ((const batch_worker *)argument)->run->job;
    return job->step(job->argument);
}

/* Every thread of the team. */
static void decode_on_thread(void *argument, int thread)
{
    scheduler_run *r = argument;
    int own;
    batch_worker *worker = worker_of_thread(r, thread, &own);
    const tr_decode_callbacks callbacks = {.next = r->forced ? next_forced : next_sequence,
                                           .done = r->forced ? take_forced : take_complete,
                                           .argument = worker,
                                           .stop = &r->scheduler->stop,
                                           .step = r->job->step ? before_step : NULL,
                                           .token = r->job->token ? take_token : NULL};
    tr_error error = {0};
    const tr_status status = tr_decode(worker->memory, own, &r->options, &callbacks, &error);
    if (own == 0 && status != TR_OK)
        fail_run(r, status, &error);
}

/* Batches of one: in the requests' own order. */
static tr_status order_requests(scheduler_run *r, tr_error *error)
{
    const tr_job *job = r->job;
    const bool sorted = r->scheduler->batch_size > 1;
    tr_status status = TR_OK;
    r->order = calloc(job->count, sizeof *r->order);
    if (!r->order)
        return tr_fail_memory(error, "translation");
    if (sorted)
        status = tr_requests_order(job->requests + job->first, job->count, r->order, error);
    for (size_t i = 0; i < job->count; i++)
        r->order[i] = job->first + (sorted ? r->order[i] : i);
    return status;
}

/* Orders the requests, and divides them and the threads among workers; job->count >= 1. The caller frees r->order, on
 * failure as well. */
static tr_status start_run(scheduler_run *r, tr_error *error)
{
    const tr_job *job = r->job;
    const tr_scheduler *s = r->scheduler;
    if (job->next) {
        r->layout = (tr_worker_layout){1, s->threads, 0};
        r->options = (tr_decode_options){s->batch_size, s->batch_size * TR_BATCH_TOKENS, job->min_length, job->start, false};
        return prepare_worker(r, 0, error);
    }
    tr_status status = order_requests(r, error);
    if (status != TR_OK)
        return status;
    r->layout = job->count == 1 ? (tr_worker_layout){1, s->threads, 0}
                                : tr_worker_layout_choose(s->threads, s->batch_size, job->requests, r->order, job->count);
    const size_t workers = (size_t)r->layout.workers, each = (job->count + workers - 1) / workers;
    const int rows = each < (size_t)s->batch_size ? (int)each : s->batch_size;
    r->options = (tr_decode_options){rows, r->forced ? INT_MAX : s->batch_size * TR_BATCH_TOKENS, job->min_length,
                                     job->start, r->forced != NULL};
    r->dealt = workers * (size_t)rows < job->count ? workers * (size_t)rows : job->count;
    atomic_init(&r->next, r->dealt);
    for (int w = 0; status == TR_OK && w < r->layout.workers; w++)
        status = prepare_worker(r, w, error);
    return status;
}

/* What became of a run: status, or the first failure of its workers. */
static tr_status end_run(scheduler_run *r, tr_status status, tr_error *error)
{
    free(r->order);
    if (status != TR_OK || !atomic_load(&r->failed))
        return status;
    if (error)
        *error = r->error;
    return r->status;
}

tr_status tr_scheduler_run(tr_scheduler *scheduler, const tr_job *job, tr_error *error)
{
    const tr_config *config = tr_scheduler_config(scheduler);
    scheduler_run r = {.scheduler = scheduler, .job = job};
    if (!job->count && !job->next)
        return TR_OK;
    r.policy = (tr_policy){.search = job->search,
                           .max_length = job->max_length,
                           .min_length = job->min_length,
                           .length_factor = config->length_factor,
                           .given = (job->start ? job->start->first_id : config->forced_first_id) >= 0,
                           .loop_guard = job->loop_guard && !job->search->sample};
    tr_status status = start_run(&r, error);
    if (status == TR_OK)
        status = tr_team_run(scheduler->team, decode_on_thread, &r, error);
    return end_run(&r, status, error);
}

tr_status tr_scheduler_score(tr_scheduler *scheduler, const tr_job *job, const tr_forced_job *forced, tr_error *error)
{
    scheduler_run r = {.scheduler = scheduler, .job = job, .forced = forced, .policy.max_length = 1};
    if (!job->count)
        return TR_OK;
    tr_status status = start_run(&r, error);
    if (status == TR_OK)
        status = tr_team_run(scheduler->team, decode_on_thread, &r, error);
    return end_run(&r, status, error);
}
