/* tr_translate: texts to chunks to units to batches, and all the way back. */
#include "api/model.h"

#include <stdlib.h>
#include <string.h>

#include "run/aligned.h"
#include "text/join.h"
#include "api/prefix.h"
#include "api/result.h"
#include "text/sources.h"
#include "run/stream.h"
#include "run/completion.h"

/* Texts a thread from which on several threads prepare them. */
enum { TEXTS_PER_THREAD = 8 };

/* One of the caller's texts. */
typedef struct entry {
    size_t size;    /* bytes as given */
    size_t same_as; /* an earlier, equal text of this call; SIZE_MAX: none */
    bool known;     /* its result came from the context's memory */
    bool done;      /* its result is there */
    int plan;       /* of the context's plans: where its chunks are */
    size_t first;   /* its first chunk in work.chunks */
    tr_text text;   /* for those that are computed */
    tr_ids prefix;  /* what its translation begins with */
} entry;

/* Where a unit comes from, for the callback that takes tokens. */
typedef struct origin {
    size_t text, chunk;      /* one of the text's */
    int sentence, sentences; /* among those that have units */
} origin;

typedef struct work {
    tr_context *context;
    tr_pair pair;
    tr_source_template encoder;
    tr_translate_options options;
    const char *const *texts;
    size_t count;
    entry *entries; /* [count] */
    size_t *todo;   /* texts to compute */
    size_t todo_count;
    int planners;           /* threads that prepare texts */
    tr_status *plan_status; /* [planners] */
    tr_error *plan_errors;  /* [planners] */
    tr_text_chunk **chunks; /* [chunk_count] those of all texts to compute, in order */
    const int32_t **bases;  /* [chunk_count] */
    size_t chunk_count;
    tr_job job;
    tr_completion tally;
    tr_joiner joiner;
    tr_stream steps;
    origin *origins;    /* [job.count] NULL: nobody takes tokens */
    tr_result *results; /* [count] */
    size_t delivered;   /* results[0..delivered) have been handed over */
} work;

static tr_status out_of_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "translation: out of memory");
}

static void *array(size_t count, size_t size)
{
    return calloc(count ? count : 1, size);
}

static void free_entry(entry *e)
{
    tr_text_free(&e->text);
    tr_ids_free(&e->prefix);
}

static void free_work(work *w)
{
    for (size_t i = 0; w->entries && i < w->count; i++)
        free_entry(&w->entries[i]);
    free(w->entries);
    free(w->todo);
    free(w->plan_status);
    free(w->plan_errors);
    free(w->chunks);
    free(w->bases);
    tr_requests_free(w->job.requests, w->job.count);
    tr_completion_free(&w->tally);
    tr_joiner_free(&w->joiner);
    tr_stream_free(&w->steps);
    free(w->origins);
}

/* ---------------------------------------------------------------------------------------------------- texts seen before */

static tr_status measure_texts(work *w, const size_t *sizes, tr_error *error)
{
    w->entries = array(w->count, sizeof *w->entries);
    w->todo = array(w->count, sizeof *w->todo);
    w->results = array(w->count, sizeof *w->results);
    if (!w->entries || !w->todo || !w->results)
        return out_of_memory(error);
    for (size_t i = 0; i < w->count; i++) {
        if (!w->texts[i] && !(sizes && !sizes[i]))
            return tr_fail(error, TR_ERROR_ARGUMENT, "tr_translate: text %zu is NULL", i);
        w->entries[i].size = sizes ? sizes[i] : strlen(w->texts[i]);
        w->entries[i].same_as = SIZE_MAX;
    }
    return TR_OK;
}

static const char *prefix_of(const work *w, size_t text)
{
    return w->options.prefixes ? w->options.prefixes[text] : NULL;
}

/* Finds the texts that need no computing: those of earlier calls, and those that this call holds before. */
static tr_status find_repeats(work *w, tr_strmap *seen, tr_error *error)
{
    for (size_t i = 0; i < w->count; i++) {
        entry *e = &w->entries[i];
        const char *data = w->texts[i];
        const bool fits = w->options.use_cache && !prefix_of(w, i) && e->size && e->size <= UINT32_MAX && i <= INT32_MAX;
        int32_t earlier = (int32_t)i;
        if (fits) {
            earlier = tr_strmap_add(seen, data, e->size, (int32_t)i);
            if (earlier < 0)
                return out_of_memory(error);
        }
        if (fits && (size_t)earlier < i) {
            e->same_as = (size_t)earlier;
            continue;
        }
        if (fits) {
            const tr_status status =
                tr_translation_cache_find(&w->context->cache, data, e->size, &e->known, &w->results[i], error);
            if (status != TR_OK)
                return status;
            w->results[i].flags |= e->known ? TR_FLAG_REPEATED : 0;
        }
        if (!e->known)
            w->todo[w->todo_count++] = i;
    }
    return TR_OK;
}

static tr_status select_texts(work *w, tr_error *error)
{
    tr_strmap seen = {0};
    if (w->options.use_cache) {
        tr_translation_cache_prepare(&w->context->cache, &w->options, w->pair.source, w->pair.target);
        if (!tr_strmap_init(&seen, w->count))
            return out_of_memory(error);
    }
    const tr_status status = find_repeats(w, &seen, error);
    tr_strmap_free(&seen);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- planning */

/* Thread t prepares its share of the texts in a plan of its own. */
static void plan_share(void *argument, int thread)
{
    work *w = argument;
    if (thread >= w->planners)
        return;
    const size_t share = w->todo_count / (size_t)w->planners, more = w->todo_count % (size_t)w->planners;
    const size_t t = (size_t)thread, first = share * t + (t < more ? t : more), last = first + share + (t < more);
    for (size_t i = first; i < last && w->plan_status[thread] == TR_OK; i++) {
        entry *e = &w->entries[w->todo[i]];
        e->plan = thread;
        const char *data = e->size ? w->texts[w->todo[i]] : "";
        const tr_split split = prefix_of(w, w->todo[i]) ? TR_SPLIT_NEVER : w->options.split;
        w->plan_status[thread] =
            tr_plan_text(&w->context->plans[thread], &w->encoder, split, data, e->size, &e->text, &w->plan_errors[thread]);
    }
}

static tr_status plan_texts(work *w, tr_error *error)
{
    const int threads = w->context->threads;
    w->planners = w->todo_count >= (size_t)threads * TEXTS_PER_THREAD ? threads : 1;
    w->plan_status = array((size_t)w->planners, sizeof *w->plan_status);
    w->plan_errors = array((size_t)w->planners, sizeof *w->plan_errors);
    if (!w->plan_status || !w->plan_errors)
        return out_of_memory(error);
    tr_status status = TR_OK;
    if (w->planners == 1)
        plan_share(w, 0);
    else
        status = tr_team_run(tr_scheduler_team(w->context->scheduler), plan_share, w, error);
    for (int t = 0; t < w->planners && status == TR_OK; t++) {
        status = w->plan_status[t];
        if (status != TR_OK && error)
            *error = w->plan_errors[t];
    }
    return status;
}

/* Cuts the prefixes of texts into tokens, which their only chunks take. */
static tr_status plan_prefixes(work *w, tr_error *error)
{
    const int most = w->options.max_length - (w->pair.start.first_id >= 0);
    for (size_t i = 0; w->options.prefixes && i < w->todo_count; i++) {
        entry *e = &w->entries[w->todo[i]];
        const char *prefix = prefix_of(w, w->todo[i]);
        if (!prefix || !e->text.count)
            continue;
        if (e->text.count > 1)
            return tr_fail(error, TR_ERROR_ARGUMENT,
                           "text %zu: longer than the model takes, and with a prefix it cannot be cut", w->todo[i]);
        const tr_status status = tr_prefix_encode(w->context->model, prefix, most, &e->prefix, error);
        if (status != TR_OK)
            return status;
        w->context->plans[e->plan].chunks[e->text.first].prefix = (tr_tokens){e->prefix.data, e->prefix.size};
    }
    return TR_OK;
}

/* Lists the chunks of all texts, now that the plans do not move any more, and makes units of them. */
static tr_status make_units(work *w, tr_error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < w->todo_count; i++)
        count += w->entries[w->todo[i]].text.count;
    w->chunks = array(count, sizeof *w->chunks);
    w->bases = array(count, sizeof *w->bases);
    if (!w->chunks || !w->bases)
        return out_of_memory(error);
    for (size_t i = 0; i < w->todo_count; i++) {
        entry *e = &w->entries[w->todo[i]];
        const tr_plan *plan = &w->context->plans[e->plan];
        e->first = w->chunk_count;
        for (size_t s = 0; s < e->text.count; s++) {
            w->chunks[w->chunk_count] = &plan->chunks[e->text.first + s];
            w->bases[w->chunk_count++] = plan->ids.data;
        }
    }
    const tr_status status = tr_requests_make(w->chunks, w->bases, count, w->options.use_cache && !w->options.on_token,
                                              &w->job.requests, &w->job.count, error);
    w->joiner = (tr_joiner){.tokenizer = w->context->model->tokenizer,
                            .requests = w->job.requests,
                            .end_id = w->context->model->package.config.eos_id,
                            .given = w->pair.start.first_id >= 0,
                            .behind = tr_source_marks_behind(&w->context->model->package.config, &w->pair),
                            .scores = w->options.scores,
                            .align = w->options.align,
                            .hypotheses = w->options.search.n_best > 1};
    return status;
}

/* -------------------------------------------------------------------------------------------------------------- tokens */

static void find_origins(work *w, size_t text)
{
    const entry *e = &w->entries[text];
    int sentences = 0;
    for (size_t s = 0; s < e->text.count; s++) {
        const size_t unit = w->chunks[e->first + s]->request;
        if (unit != SIZE_MAX)
            w->origins[unit] = (origin){.text = text, .chunk = s, .sentence = sentences++};
    }
    for (size_t s = 0; s < e->text.count; s++)
        if (w->chunks[e->first + s]->request != SIZE_MAX)
            w->origins[w->chunks[e->first + s]->request].sentences = sentences;
}

static tr_status take_step(void *argument, const tr_request *of, const tr_decoded_token *step, bool again, bool *stop,
                           tr_error *error)
{
    work *w = argument;
    const size_t unit = (size_t)(of - w->job.requests);
    const origin *o = &w->origins[unit];
    const entry *e = &w->entries[o->text];
    tr_token_event told = {.text = o->text, .sentence = o->sentence, .sentences = o->sentences, .restarted = again};
    bool begins, space = false;
    tr_status status = tr_stream_add(&w->steps, unit, step, &begins, error);
    if (status == TR_OK && begins)
        status = tr_join_front(&w->joiner, &e->text, w->chunks + e->first, o->chunk, &space, error);
    const tr_buffer *front = begins ? &w->joiner.scratch : NULL;
    return status == TR_OK ? tr_stream_emit(&w->steps, unit, step, &told, front, space, stop, error) : status;
}

/* Every unit has one origin: equal sentences are not merged then. */
static tr_status prepare_steps(work *w, tr_error *error)
{
    if (!w->options.on_token)
        return TR_OK;
    w->origins = array(w->job.count, sizeof *w->origins);
    if (!w->origins)
        return out_of_memory(error);
    for (size_t i = 0; i < w->todo_count; i++)
        find_origins(w, w->todo[i]);
    w->job.token = take_step;
    return tr_stream_init(&w->steps, &w->options, w->joiner.tokenizer, w->joiner.end_id, w->job.count, error);
}

/* -------------------------------------------------------------------------------------------------------------- results */

static tr_status finish_text(void *argument, size_t text, tr_error *error)
{
    work *w = argument;
    entry *e = &w->entries[text];
    e->done = true;
    return tr_join(&w->joiner, &e->text, w->chunks + e->first, &w->results[text], error);
}

/* Hands over what is done and has nothing undone before it. */
static tr_status deliver(work *w, tr_error *error)
{
    const size_t first = w->delivered;
    while (w->delivered < w->count) {
        const entry *e = &w->entries[w->delivered];
        if (!e->done && !e->known && e->same_as == SIZE_MAX)
            break;
        if (e->same_as != SIZE_MAX) {
            tr_result *result = &w->results[w->delivered];
            const tr_status status = tr_result_copy(&w->results[e->same_as], result, error);
            if (status != TR_OK)
                return status;
            result->flags |= TR_FLAG_REPEATED;
        }
        w->delivered++;
    }
    const size_t count = w->delivered - first;
    if (count && w->options.on_result &&
        w->options.on_result(w->options.on_result_argument, first, w->results + first, count))
        return tr_fail(error, TR_ERROR_CANCELLED, "translation: cancelled by the callback that takes results");
    return TR_OK;
}

/* Says which texts wait for which units; those that wait for none are done. */
static tr_status start_tally(work *w, tr_error *error)
{
    tr_status status = tr_completion_init(&w->tally, w->job.count, w->chunk_count, w->count, error);
    for (size_t i = 0; status == TR_OK && i < w->count; i++)
        if (w->entries[i].same_as != SIZE_MAX)
            tr_completion_repeat(&w->tally, w->entries[i].same_as);
    for (size_t i = 0; status == TR_OK && i < w->count; i++) {
        const entry *e = &w->entries[i];
        if (e->same_as != SIZE_MAX)
            continue;
        size_t units = 0;
        for (size_t s = 0; s < e->text.count; s++) {
            const size_t unit = w->chunks[e->first + s]->request;
            if (unit != SIZE_MAX) {
                tr_completion_wait_for(&w->tally, i, unit);
                units++;
            }
        }
        if (units)
            continue;
        if (!e->known)
            status = finish_text(w, i, error);
        tr_completion_finish(&w->tally, i);
    }
    return status;
}

/* What the scheduler calls as units are complete. */
static tr_status take_units(void *argument, const tr_request *list, tr_error *error)
{
    work *w = argument;
    tr_status status = TR_OK;
    for (; list && status == TR_OK; list = list->next)
        status = tr_completion_request(&w->tally, list, (size_t)(list - w->job.requests), finish_text, w, error);
    if (status == TR_OK)
        status = deliver(w, error);
    return status == TR_OK ? tr_completion_report(&w->tally.counts, &w->options, error) : status;
}

static void remember(work *w)
{
    for (size_t i = 0; w->options.use_cache && !w->steps.stopped && i < w->todo_count; i++) {
        const size_t text = w->todo[i];
        if (w->entries[text].text.sentences && !prefix_of(w, text))
            tr_translation_cache_add(&w->context->cache, w->texts[text], w->entries[text].size, &w->results[text]);
    }
}

static tr_status translate(work *w, const size_t *sizes, tr_error *error)
{
    tr_status status = measure_texts(w, sizes, error);
    if (status == TR_OK)
        status = select_texts(w, error);
    if (status == TR_OK)
        status = plan_texts(w, error);
    if (status == TR_OK)
        status = plan_prefixes(w, error);
    if (status == TR_OK)
        status = make_units(w, error);
    if (status == TR_OK)
        status = prepare_steps(w, error);
    if (status == TR_OK)
        status = start_tally(w, error);
    if (status == TR_OK)
        status = deliver(w, error);
    if (status != TR_OK)
        return status;
    w->job.max_length = w->options.max_length;
    w->job.min_length = w->options.min_length;
    w->job.search = &w->options.search;
    w->job.scores = w->options.scores;
    w->job.loop_guard = w->options.loop_guard;
    w->job.start = &w->pair.start;
    w->job.done = take_units;
    w->job.argument = w;
    return w->options.align ? tr_run_aligned(w->context, &w->pair, &w->job, &w->options, &w->tally.counts, error)
                            : tr_scheduler_run(w->context->scheduler, &w->job, error);
}

tr_status tr_translate(tr_context *context, const char *const *texts, const size_t *sizes, size_t count,
                       const tr_translate_options *options, tr_result **results, tr_error *error)
{
    if (!results)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_translate: results is NULL");
    *results = NULL;
    if (!context || (!texts && count))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_translate: %s is NULL", context ? "texts" : "context");
    work w = {.context = context, .texts = texts, .count = count};
    tr_status status = tr_options_resolve(context, options, &w.options, error);
    if (status == TR_OK)
        status = tr_pair_choose(context->model, w.options.source_language, w.options.target_language, true, &w.pair, error);
    w.pair.max_positions = context->config.max_positions;
    if (status == TR_OK)
        status = tr_pair_template(&w.pair, &w.encoder, error);
    if (status != TR_OK)
        return status;
    for (int t = 0; t < context->threads; t++)
        tr_plan_clear(&context->plans[t]);
    status = translate(&w, sizes, error);
    if (status == TR_OK) {
        remember(&w);
        *results = w.results;
    } else {
        tr_results_free(w.results, count);
    }
    free_work(&w);
    return status;
}
