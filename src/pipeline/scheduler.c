#include "pipeline/scheduler.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Threads that decode a batch together. Member 0 fetches the batch; the others find it here behind a meeting. */
typedef struct crew {
    tr_worker *worker;
    tr_sentence *sentences;    /* [batch_size] */
    tr_sentence **pointers;    /* [batch_size] */
    int32_t *targets;          /* [batch_size * max_length] */
    size_t target_capacity;    /* elements */
    tr_decode_options options; /* of the batch in hand */
    int count;                 /* sentences of the batch in hand; 0: there is none left */
} crew;

/* The groups of one shape, made when first needed. */
typedef struct group_set {
    crew *groups;
    int count, members;
} group_set;

struct tr_scheduler {
    const tr_network *network;
    tr_team *team;
    int threads, batch_size;
    tr_profile *profiles;  /* [threads] or NULL */
    group_set together;    /* one group of all threads */
    group_set independent; /* as many groups as threads */
};

/* What the threads of one run share. */
typedef struct run {
    tr_job *job;
    group_set *set;
    int active;           /* groups that take part */
    atomic_size_t next;   /* batch */
    atomic_bool stop;     /* somebody failed or cancelled */
    pthread_mutex_t lock; /* of what follows, and of job->done */
    tr_status status;
    tr_error error;
} run;

/* ------------------------------------------------------------------------------------------------------ making and ending
 */

static void free_groups(group_set *set)
{
    for (int g = 0; g < set->count; g++) {
        tr_worker_destroy(set->groups[g].worker);
        free(set->groups[g].sentences);
        free(set->groups[g].pointers);
        free(set->groups[g].targets);
    }
    free(set->groups);
    *set = (group_set){0};
}

void tr_scheduler_destroy(tr_scheduler *scheduler)
{
    if (!scheduler)
        return;
    free_groups(&scheduler->together);
    free_groups(&scheduler->independent);
    tr_team_destroy(scheduler->team);
    free(scheduler);
}

tr_status tr_scheduler_create(const tr_network *network, int threads, tr_threads backend, int batch_size,
                              tr_scheduler **scheduler, tr_error *error)
{
    *scheduler = calloc(1, sizeof **scheduler);
    if (!*scheduler)
        return tr_fail(error, TR_ERROR_MEMORY, "context: out of memory");
    (*scheduler)->network = network;
    (*scheduler)->threads = threads;
    (*scheduler)->batch_size = batch_size;
    const tr_status status = tr_team_create(threads, backend, &(*scheduler)->team, error);
    if (status != TR_OK) {
        tr_scheduler_destroy(*scheduler);
        *scheduler = NULL;
    }
    return status;
}

tr_team *tr_scheduler_team(tr_scheduler *scheduler)
{
    return scheduler->team;
}

void tr_scheduler_profile(tr_scheduler *scheduler, tr_profile *profiles)
{
    scheduler->profiles = profiles;
}

tr_shape tr_scheduler_shape(int threads, int batch_size, size_t units)
{
    if (batch_size == 1 || units < (size_t)threads)
        return (tr_shape){1, threads};
    return (tr_shape){threads, 1};
}

/* Gives the first active groups of the set all that decoding up to max_length needs. */
static tr_status prepare_groups(tr_scheduler *scheduler, group_set *set, tr_shape shape, int active, int max_length,
                                tr_error *error)
{
    const size_t batch = (size_t)scheduler->batch_size, needed = batch * (size_t)max_length;
    if (!set->groups) {
        set->groups = calloc((size_t)shape.groups, sizeof *set->groups);
        if (!set->groups)
            return tr_fail(error, TR_ERROR_MEMORY, "context: out of memory");
        set->count = shape.groups;
        set->members = shape.members;
    }
    for (int g = 0; g < active; g++) {
        crew *group = &set->groups[g];
        if (!group->sentences)
            group->sentences = calloc(batch, sizeof *group->sentences);
        if (!group->pointers)
            group->pointers = calloc(batch, sizeof *group->pointers);
        if (needed > group->target_capacity) {
            free(group->targets);
            group->targets = malloc(needed * sizeof *group->targets);
            group->target_capacity = group->targets ? needed : 0;
        }
        if (!group->sentences || !group->pointers || !group->targets)
            return tr_fail(error, TR_ERROR_MEMORY, "context: out of memory");
        if (!group->worker) {
            const tr_status status =
                tr_worker_create(scheduler->network, set->members, scheduler->batch_size, &group->worker, error);
            if (status != TR_OK)
                return status;
        }
        tr_worker_set_profile(group->worker, scheduler->profiles ? &scheduler->profiles[g] : NULL);
    }
    return TR_OK;
}

/* ------------------------------------------------------------------------------------------------------------- running */

/* Keeps the first failure, and makes all groups stop after the batches in hand. */
static void fail_run(run *r, tr_status status, const tr_error *error)
{
    pthread_mutex_lock(&r->lock);
    if (r->status == TR_OK) {
        r->status = status;
        r->error = *error;
        r->error.status = status;
        if (!error->message[0])
            tr_fail(&r->error, status, "decoding: failed");
    }
    pthread_mutex_unlock(&r->lock);
    atomic_store(&r->stop, true);
}

/* Member 0: lays out the next batch; group->count 0 if there is none. */
static tr_batch *fetch_batch(run *r, crew *group)
{
    const tr_job *job = r->job;
    group->count = 0;
    const size_t index = atomic_load(&r->stop) ? job->batches.count : atomic_fetch_add(&r->next, 1);
    if (index >= job->batches.count)
        return NULL;
    tr_batch *batch = &job->batches.batches[index];
    for (int i = 0; i < batch->count; i++) {
        const tr_unit *unit = &job->units[job->batches.order[batch->first + (size_t)i]];
        group->sentences[i] = (tr_sentence){.source = unit->source,
                                            .source_length = unit->source_length,
                                            .target = group->targets + (size_t)i * (size_t)job->options.max_length};
        group->pointers[i] = &group->sentences[i];
    }
    group->options = job->options;
    group->options.stop_loops = batch->piece;
    if (batch->piece && group->options.max_length > TR_PIECE_TARGET) {
        const int least = group->options.min_length;
        group->options.max_length = least > TR_PIECE_TARGET ? least : TR_PIECE_TARGET;
    }
    group->count = batch->count;
    return batch;
}

/* Member 0: copies the targets out of the group's memory and reports them. */
static tr_status store_batch(run *r, const crew *group, tr_batch *batch, tr_error *error)
{
    tr_job *job = r->job;
    const size_t *indices = job->batches.order + batch->first;
    size_t total = 0;
    for (int i = 0; i < batch->count; i++)
        total += (size_t)group->sentences[i].target_length;
    batch->targets = malloc((total ? total : 1) * sizeof *batch->targets);
    if (!batch->targets)
        return tr_fail(error, TR_ERROR_MEMORY, "translation: out of memory");
    int32_t *to = batch->targets;
    for (int i = 0; i < batch->count; i++) {
        const tr_sentence *sentence = &group->sentences[i];
        tr_unit *unit = &job->units[indices[i]];
        memcpy(to, sentence->target, (size_t)sentence->target_length * sizeof *to);
        unit->target = to;
        unit->target_length = sentence->target_length;
        unit->finished = sentence->finished;
        to += sentence->target_length;
    }
    if (!job->done)
        return TR_OK;
    pthread_mutex_lock(&r->lock);
    /* After a failure elsewhere nothing is reported any more. */
    const bool go_on = r->status != TR_OK || job->done(job->argument, job->units, indices, batch->count);
    pthread_mutex_unlock(&r->lock);
    return go_on ? TR_OK : tr_fail(error, TR_ERROR_CANCELLED, "translation: cancelled by the progress callback");
}

/* Every thread of the team: decodes batches with its group until there are none. */
static void run_member(void *argument, int thread)
{
    run *r = argument;
    const int members = r->set->members, member = thread % members;
    if (thread / members >= r->active)
        return;
    crew *group = &r->set->groups[thread / members];
    for (;;) {
        tr_batch *batch = member == 0 ? fetch_batch(r, group) : NULL;
        tr_worker_meet(group->worker);
        if (!group->count)
            return;
        tr_error error = {0};
        tr_status status = tr_decode_greedy(group->worker, member, group->pointers, group->count, &group->options, &error);
        tr_worker_meet(group->worker); /* nobody reads the sentences any more */
        if (member == 0) {
            if (status == TR_OK)
                status = store_batch(r, group, batch, &error);
            if (status != TR_OK)
                fail_run(r, status, &error);
        }
    }
}

tr_status tr_scheduler_run(tr_scheduler *scheduler, tr_job *job, tr_error *error)
{
    job->batches = (tr_batches){0};
    if (!job->count)
        return TR_OK;
    const tr_shape shape = tr_scheduler_shape(scheduler->threads, scheduler->batch_size, job->count);
    tr_status status = tr_batches_make(job->units, job->count, scheduler->batch_size, shape.groups, &job->batches, error);
    if (status != TR_OK)
        return status;
    run r = {.job = job};
    r.set = shape.groups == 1 ? &scheduler->together : &scheduler->independent;
    r.active = job->batches.count < (size_t)shape.groups ? (int)job->batches.count : shape.groups;
    status = prepare_groups(scheduler, r.set, shape, r.active, job->options.max_length, error);
    if (status != TR_OK)
        return status;
    if (pthread_mutex_init(&r.lock, NULL))
        return tr_fail(error, TR_ERROR_MEMORY, "translation: cannot make a lock");
    status = tr_team_run(scheduler->team, run_member, &r, error);
    pthread_mutex_destroy(&r.lock);
    if (status == TR_OK && r.status != TR_OK) {
        status = r.status;
        if (error)
            *error = r.error;
    }
    return status;
}
