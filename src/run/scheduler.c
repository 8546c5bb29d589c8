#include "run/scheduler.h"

#include <stdlib.h>

#include "run/guard.h"
#include "run/hypotheses.h"

typedef struct run run;

/* A sentence in a batch. */
typedef struct place {
    tr_sequence sentence; /* first: one is found by the other */
    tr_request *unit;
    bool again; /* it ran in a circle, and is searched a second time */
} place;

/* Threads that decode a batch together. All but the worker belongs to member 0. */
typedef struct crew {
    tr_worker *worker;
    run *run;
    place *places;          /* [batch_size] */
    place **spare;          /* [spare_count] */
    place **again;          /* [again_count] their sentences are to be searched a second time */
    int32_t *targets;       /* [batch_size * max_length] */
    size_t target_capacity; /* elements */
    int spare_count, again_count;
    size_t dealt; /* the next place of the order that is this group's own */
} crew;

struct tr_scheduler {
    tr_ensemble models;
    const tr_shortlist *shortlist; /* NULL: none */
    tr_team *team;
    int threads, batch_size;
    crew *groups;         /* [threads], made when first needed */
    tr_profile *profiles; /* [threads] or NULL */
};

/* What the threads of one run share. */
struct run {
    const tr_scheduler *scheduler;
    tr_job *job;
    size_t *order; /* [job->count] */
    tr_worker_layout shape;
    tr_decode_options options;
    size_t dealt;       /* order[0..dealt) is dealt to the groups in turn, so that all get long and short ones */
    atomic_size_t next; /* of those behind: whoever has room takes it */
    atomic_bool stop;   /* somebody failed or cancelled */
    atomic_bool failed; /* status and error are taken */
    tr_status status;
    tr_error error;
    tr_request *_Atomic complete; /* not yet reported, linked by next */
    atomic_bool reporting;        /* somebody is in job->done */
};

/* -------------------------------------------------------------------------------------------------- making and ending */

tr_status tr_scheduler_create(const tr_ensemble *models, int threads, tr_thread_backend backend, int batch_size,
                              tr_scheduler **scheduler, tr_error *error)
{
    tr_scheduler *s = *scheduler = calloc(1, sizeof *s);
    if (!s)
        return tr_fail(error, TR_ERROR_MEMORY, "context: out of memory");
    s->models = *models;
    s->threads = threads;
    s->batch_size = batch_size;
    tr_status status = tr_team_create(threads, backend, &s->team, error);
    if (status == TR_OK && !(s->groups = calloc((size_t)threads, sizeof *s->groups)))
        status = tr_fail(error, TR_ERROR_MEMORY, "context: out of memory");
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
    for (int g = 0; scheduler->groups && g < scheduler->threads; g++) {
        tr_worker_destroy(scheduler->groups[g].worker);
        free(scheduler->groups[g].places);
        free(scheduler->groups[g].spare);
        free(scheduler->groups[g].again);
        free(scheduler->groups[g].targets);
    }
    free(scheduler->groups);
    tr_team_destroy(scheduler->team);
    free(scheduler);
}

tr_team *tr_scheduler_team(tr_scheduler *scheduler)
{
    return scheduler->team;
}

int tr_scheduler_batch_size(const tr_scheduler *scheduler)
{
    return scheduler->batch_size;
}

void tr_scheduler_set_shortlist(tr_scheduler *scheduler, const tr_shortlist *shortlist)
{
    scheduler->shortlist = shortlist;
}

void tr_scheduler_profile(tr_scheduler *scheduler, tr_profile *profiles)
{
    scheduler->profiles = profiles;
}

/* ----------------------------------------------------------------------------------------------------- dividing threads */

/* Members of group g. */
static int members_of(int threads, int groups, int g)
{
    return threads / groups + (g < threads % groups);
}

/* What a step of the decoder costs besides its rows (it reads all weights), in rows; and what each further member of a group
 * costs all of them, as a share (barriers, and what all of them do). Measured with one and two threads on one to sixteen
 * sentences, in int8; the weights' share is about the same for a model of 9 million parameters and one of 77 million. */
static const double step_cost = 4, member_cost = 0.2;

/* The time that a division takes, in rows, if a unit takes as many steps as it has source tokens. A group's steps are those
 * of its longest unit, or what its batch needs to hold them all; units are dealt to groups in turn. */
static double time_of(int threads, int groups, int batch_size, const tr_request *requests, const size_t *order, size_t count)
{
    double slowest = 0;
    for (int g = 0; g < groups; g++) {
        double longest = 0, rows = 0;
        for (size_t i = (size_t)g; i < count; i += (size_t)groups) {
            const double length = requests[order[i]].source_length;
            longest = length > longest ? length : longest;
            rows += length;
        }
        const double steps = rows / batch_size > longest ? rows / batch_size : longest;
        const int members = members_of(threads, groups, g);
        const double time = (step_cost * steps + rows) * (1 + member_cost * (members - 1)) / members;
        slowest = time > slowest ? time : slowest;
    }
    return slowest;
}

/* One sentence in flight: one group. A full batch for each thread: a group for each thread. Between them the division that
 * takes the least time: a few sentences, or a long one among short ones, go faster through fewer groups of several threads.
 * Of equal ones that with more groups: they wait less for each other. */
tr_worker_layout tr_scheduler_layout(int threads, int batch_size, const tr_request *requests, const size_t *order,
                                     size_t count)
{
    if (batch_size == 1)
        return (tr_worker_layout){1, threads};
    if (count >= (size_t)threads * (size_t)batch_size)
        return (tr_worker_layout){threads, 1};
    const int most = count < (size_t)threads ? (int)count : threads;
    int best = most, last = most;
    double least = time_of(threads, most, batch_size, requests, order, count);
    for (int members = 1; members <= threads; members++) {
        const int groups = threads / members;
        if (groups >= last)
            continue;
        last = groups;
        const double time = time_of(threads, groups, batch_size, requests, order, count);
        if (time < least * 0.999) { /* not for rounding errors */
            least = time;
            best = groups;
        }
    }
    return (tr_worker_layout){best, threads / best};
}

/* The group that a thread belongs to, and its number there. */
static int group_of(tr_worker_layout shape, int threads, int thread, int *member)
{
    const int larger = threads % shape.workers; /* groups with a member more */
    const int in_larger = larger * (shape.threads + 1);
    if (thread < in_larger) {
        *member = thread % (shape.threads + 1);
        return thread / (shape.threads + 1);
    }
    *member = (thread - in_larger) % shape.threads;
    return larger + (thread - in_larger) / shape.threads;
}

/* ----------------------------------------------------------------------------------------------------- a run's groups */

static bool make_places(const tr_scheduler *s, crew *group, size_t max_length)
{
    const size_t batch = (size_t)s->batch_size, needed = batch * max_length;
    if (!group->places)
        group->places = calloc(batch, sizeof *group->places);
    if (!group->spare)
        group->spare = calloc(batch, sizeof *group->spare);
    if (!group->again)
        group->again = calloc(batch, sizeof *group->again);
    if (needed > group->target_capacity) {
        free(group->targets);
        group->targets = malloc(needed * sizeof *group->targets);
        group->target_capacity = group->targets ? needed : 0;
    }
    if (!group->places || !group->spare || !group->again || !group->targets)
        return false;
    for (int i = 0; i < s->batch_size; i++) {
        group->places[i].sentence.target = group->targets + (size_t)i * max_length;
        group->spare[i] = &group->places[i];
    }
    group->spare_count = s->batch_size;
    group->again_count = 0;
    return true;
}

/* Gives the groups that take part all that decoding needs. */
static tr_status prepare_groups(tr_scheduler *s, run *r, tr_error *error)
{
    for (int g = 0; g < r->shape.workers; g++) {
        crew *group = &s->groups[g];
        group->run = r;
        group->dealt = (size_t)g;
        if (!make_places(s, group, (size_t)r->job->max_length))
            return tr_fail(error, TR_ERROR_MEMORY, "context: out of memory");
        if (!group->worker) {
            const int most = (s->threads + g) / (g + 1); /* members, in any division that has such a group */
            tr_status status = tr_worker_create(&s->models, most, s->batch_size, &group->worker, error);
            if (status == TR_OK && s->shortlist && (status = tr_worker_set_shortlist(group->worker, s->shortlist, error))) {
                tr_worker_destroy(group->worker);
                group->worker = NULL;
            }
            if (status != TR_OK)
                return status;
        }
        const tr_search_options search = r->job->search ? *r->job->search : tr_search_default_options();
        const tr_status status = r->job->forced ? tr_worker_prepare_forced(group->worker, error)
                                                : tr_worker_set_search(group->worker, &search, r->job->scores, error);
        if (status != TR_OK)
            return status;
        tr_worker_set_threads(group->worker, members_of(s->threads, r->shape.workers, g));
        tr_worker_set_profile(group->worker, s->profiles ? &s->profiles[g] : NULL);
    }
    return TR_OK;
}

/* ------------------------------------------------------------------------------------------------------------- running */

/* Keeps the first failure, and makes all groups stop. */
static void fail_run(run *r, tr_status status, const tr_error *error)
{
    if (!atomic_exchange(&r->failed, true)) {
        r->status = status;
        r->error = *error;
        r->error.status = status;
        if (!error->message[0])
            tr_fail(&r->error, status, "decoding: failed");
    }
    atomic_store(&r->stop, true);
}

/* Draws are left as they are. */
static bool is_guarded(const run *r)
{
    return r->job->loop_guard && !(r->job->search && r->job->search->sample);
}

/* At most limit tokens, but as many as are asked for at least. */
static void limit_length(const run *r, int limit, tr_sequence *sequence)
{
    if (sequence->max_length > limit)
        sequence->max_length = r->job->min_length > limit ? r->job->min_length : limit;
}

/* What a search allows by the length of the source. */
static void limit_by_source(const run *r, const tr_request *request, tr_sequence *sequence)
{
    const tr_search_options *search = r->job->search;
    if (!search || search->max_length_factor <= 0)
        return;
    const double most = (double)search->max_length_factor * request->source_tokens + search->max_length_offset;
    if (most < sequence->max_length)
        limit_length(r, most < 1 ? 1 : (int)most, sequence);
}

/* The limits of a piece of a cut sentence are its own; some models have one by the length of the source. */
static void set_limits(const run *r, const tr_request *request, tr_sequence *sequence)
{
    const float factor = r->scheduler->models.networks[0]->config.length_factor,
                most = factor * (float)request->source_length;
    sequence->stop_loops = request->piece || is_guarded(r);
    sequence->max_length = r->job->max_length;
    if (request->piece)
        limit_length(r, TR_PIECE_TARGET, sequence);
    if (factor != 0 && most < (float)sequence->max_length)
        limit_length(r, most < 1 ? 1 : (int)most, sequence);
    limit_by_source(r, request, sequence);
}

/* Takes the next place of the order for a group if its unit has at most room tokens: first those dealt to it. */
static bool take_next(run *r, crew *group, int room, size_t *at)
{
    const tr_request *requests = r->job->requests;
    *at = group->dealt;
    if (*at < r->dealt) {
        if (requests[r->order[*at]].source_length > room)
            return false;
        group->dealt += (size_t)r->shape.workers;
        return true;
    }
    *at = atomic_load(&r->next);
    do
        if (*at >= r->job->count || requests[r->order[*at]].source_length > room)
            return false;
    while (!atomic_compare_exchange_weak(&r->next, at, *at + 1));
    return true;
}

/* A target that is there already; false: the run has failed. */
static bool take_forced(run *r, size_t unit, tr_sequence *sequence)
{
    tr_error error = {0};
    const tr_status status = r->job->begin(r->job->argument, unit, &error);
    if (status != TR_OK)
        fail_run(r, status, &error);
    sequence->forced = &r->job->forced[unit];
    return status == TR_OK;
}

static tr_sequence *next_sentence(void *argument, int room)
{
    crew *group = argument;
    run *r = group->run;
    size_t at;
    if (atomic_load(&r->stop))
        return NULL;
    if (group->again_count) /* before others, which might take their places */
        return group->again[group->again_count - 1]->sentence.source_length <= room
                   ? &group->again[--group->again_count]->sentence
                   : NULL;
    if (!take_next(r, group, room, &at))
        return NULL;
    place *p = group->spare[--group->spare_count];
    p->unit = &r->job->requests[r->order[at]];
    p->again = false;
    p->sentence.no_repeat_ngram = 0;
    p->sentence.repetition_penalty = 0;
    p->sentence.source = p->unit->source;
    p->sentence.source_length = p->unit->source_length;
    if (r->job->forced)
        return take_forced(r, r->order[at], &p->sentence) ? &p->sentence : NULL;
    p->sentence.prefix = p->unit->prefix;
    p->sentence.prefix_length = p->unit->prefix_length;
    set_limits(r, p->unit, &p->sentence);
    return &p->sentence;
}

/* Reports what is complete, unless another thread does: then that one finds it. */
static void report(run *r)
{
    while (atomic_load(&r->complete) && !atomic_exchange(&r->reporting, true)) {
        tr_error error = {0};
        tr_request *list = atomic_exchange(&r->complete, NULL);
        if (list && !atomic_load(&r->stop)) { /* after a failure nothing is reported any more */
            const tr_status status = r->job->done(r->job->argument, list, &error);
            if (status != TR_OK)
                fail_run(r, status, &error);
        }
        atomic_store(&r->reporting, false);
    }
}

/* Copies the hypotheses out of the group's memory; those of a second search, if it helped. */
static tr_status take_found(place *p, tr_error *error)
{
    const tr_sequence *sequence = &p->sentence;
    tr_request *request = p->unit;
    tr_status status = TR_OK;
    if (!p->again || (sequence->finished && !tr_guard_trips(sequence))) {
        tr_hypotheses_clear(&request->found);
        status = tr_hypotheses_copy(sequence->results, sequence->result_count, &request->found, error);
    }
    if (status != TR_OK)
        return status;
    const tr_hypothesis *best = &request->found.items[0];
    request->target = best->ids;
    request->target_length = (int)best->count;
    request->finished = best->finished;
    request->looped = p->again;
    return TR_OK;
}

/* A sentence that ran in a circle waits for its second search. */
static tr_status search_again(run *r, crew *group, place *p, tr_error *error)
{
    const tr_search_options search = r->job->search ? *r->job->search : tr_search_default_options();
    const tr_decoder_start *start = r->job->start;
    const int first = (start ? start->first_id : r->scheduler->models.networks[0]->config.forced_first_id) >= 0;
    const int given = p->sentence.prefix_length + first, least = given > r->job->min_length ? given : r->job->min_length;
    const tr_status status = tr_guard_keep(&p->sentence, &search, least, &p->unit->found, error);
    if (status != TR_OK)
        return status;
    tr_guard_constrain(&p->sentence, &search, r->job->min_length);
    p->again = true;
    group->again[group->again_count++] = p;
    return TR_OK;
}

/* Takes what a sentence has become, and reports it. */
static bool take_complete(void *argument, tr_sequence *sequence)
{
    crew *group = argument;
    run *r = group->run;
    place *p = (place *)sequence;
    tr_request *request = p->unit;
    tr_error error = {0};
    const bool again = is_guarded(r) && !p->again && tr_guard_trips(sequence);
    const tr_status status = r->job->forced ? r->job->end(r->job->argument, (size_t)(request - r->job->requests), &error)
                             : again        ? search_again(r, group, p, &error)
                                            : take_found(p, &error);
    if (status != TR_OK) {
        fail_run(r, status, &error);
        return false;
    }
    if (again)
        return true;
    group->spare[group->spare_count++] = p;
    if (!r->job->done)
        return true;
    request->next = atomic_load(&r->complete);
    while (!atomic_compare_exchange_weak(&r->complete, &request->next, request))
        ;
    report(r);
    return !atomic_load(&r->stop);
}

/* Of groups that have a token at the same time the others wait for the one that tells it. */
static int take_token(void *argument, const tr_decoded_token *step)
{
    const crew *group = argument;
    run *r = group->run;
    const place *p = (const place *)step->sequence;
    tr_error error = {0};
    bool stop = false;
    while (atomic_exchange(&r->reporting, true))
        tr_yield();
    const tr_status status =
        atomic_load(&r->stop) ? TR_ERROR_CANCELLED : r->job->token(r->job->argument, p->unit, step, p->again, &stop, &error);
    if (status != TR_OK)
        fail_run(r, status, &error);
    atomic_store(&r->reporting, false);
    report(r); /* what came to be complete meanwhile */
    return status != TR_OK ? -1 : stop;
}

/* Every thread of the team. */
static void run_member(void *argument, int thread)
{
    run *r = argument;
    int member;
    crew *group = &r->scheduler->groups[group_of(r->shape, r->scheduler->threads, thread, &member)];
    const tr_decode_callbacks callbacks = {next_sentence, take_complete, group, &r->stop, r->job->token ? take_token : NULL};
    tr_error error = {0};
    const tr_status status = r->job->forced ? tr_decode_forced(group->worker, member, &r->options, &callbacks, &error)
                                            : tr_decode(group->worker, member, &r->options, &callbacks, &error);
    if (member == 0 && status != TR_OK)
        fail_run(r, status, &error);
}

/* One in flight: as they come. */
static tr_status order_units(const tr_scheduler *s, run *r, tr_error *error)
{
    const tr_job *job = r->job;
    tr_status status = TR_OK;
    if (s->batch_size > 1)
        status = tr_requests_order(job->requests + job->first, job->count, r->order, error);
    for (size_t i = 0; i < job->count; i++)
        r->order[i] = job->first + (s->batch_size > 1 ? r->order[i] : i);
    return status;
}

static tr_status run_ordered(tr_scheduler *s, run *r, tr_error *error)
{
    const tr_job *job = r->job;
    tr_status status = order_units(s, r, error);
    if (status != TR_OK)
        return status;
    r->shape = tr_scheduler_layout(s->threads, s->batch_size, job->requests, r->order, job->count);
    const size_t groups = (size_t)r->shape.workers, each = (job->count + groups - 1) / groups;
    const int rows = each < (size_t)s->batch_size ? (int)each : s->batch_size;
    r->options = (tr_decode_options){rows, s->batch_size * TR_BATCH_TOKENS, job->min_length, job->start};
    r->dealt = groups * (size_t)rows < job->count ? groups * (size_t)rows : job->count;
    atomic_init(&r->next, r->dealt);
    status = prepare_groups(s, r, error);
    if (status == TR_OK)
        status = tr_team_run(s->team, run_member, r, error);
    if (status == TR_OK && atomic_load(&r->failed)) {
        status = r->status;
        if (error)
            *error = r->error;
    }
    return status;
}

tr_status tr_scheduler_run(tr_scheduler *scheduler, tr_job *job, tr_error *error)
{
    if (!job->count)
        return TR_OK;
    run r = {.scheduler = scheduler, .job = job};
    r.order = calloc(job->count, sizeof *r.order);
    if (!r.order)
        return tr_fail(error, TR_ERROR_MEMORY, "translation: out of memory");
    const tr_status status = run_ordered(scheduler, &r, error);
    free(r.order);
    return status;
}
