/* tr_translate: texts become chunks, chunks requests; the scheduler decodes these, and texts whose requests are complete are
 * joined and handed over. */
#include <stdlib.h>
#include <string.h>

#include "api/options.h"
#include "api/stand_ins.h"
#include "api/text_call.h"
#include "api/tokens.h"
#include "run/aligned.h"
#include "text/protect.h"

/* Texts are planned by all threads if there are at least this many for each thread, else by one thread. */
enum { TEXTS_PER_THREAD = 8 };

static void *alloc_array(size_t count, size_t size)
{
    return calloc(count ? count : 1, size);
}

void tr_text_call_free(tr_text_call *c)
{
    for (size_t i = 0; c->entries && i < c->count; i++) {
        tr_text_free(&c->entries[i].text);
        tr_ids_free(&c->entries[i].prefix);
        free(c->entries[i].replaced);
    }
    free(c->entries);
    free(c->todo);
    free(c->plan_status);
    free(c->plan_errors);
    free(c->chunks);
    free(c->bases);
    tr_rounds_free(c->round);
    tr_requests_free(c->requests, c->request_count);
    tr_completion_free(&c->completion);
    tr_joiner_free(&c->joiner);
    if (c->options.on_token)
        tr_stream_free(&c->stream);
    free(c->origins);
}

/* ---------------------------------------------------------------------------------------------------- texts seen before */

static tr_status measure_texts(tr_text_call *c, const size_t *sizes, tr_error *error)
{
    c->entries = alloc_array(c->count, sizeof *c->entries);
    c->todo = alloc_array(c->count, sizeof *c->todo);
    c->results = alloc_array(c->count, sizeof *c->results);
    if (!c->entries || !c->todo || !c->results)
        return tr_fail_memory(error, "translation");
    for (size_t i = 0; i < c->count; i++) {
        if (!c->texts[i] && !(sizes && !sizes[i]))
            return tr_fail(error, TR_ERROR_ARGUMENT, "tr_translate: text %zu is NULL", i);
        c->entries[i].size = sizes ? sizes[i] : strlen(c->texts[i]);
        c->entries[i].same_as = SIZE_MAX;
    }
    return TR_OK;
}

static const char *prefix_of(const tr_text_call *c, size_t text)
{
    return c->options.prefixes ? c->options.prefixes[text] : NULL;
}

/* Lists the texts that are to be translated: not those in the cache, and of equal ones the first. */
static tr_status find_repeats(tr_text_call *c, tr_strmap *seen, tr_error *error)
{
    for (size_t i = 0; i < c->count; i++) {
        tr_call_text *e = &c->entries[i];
        const char *data = c->texts[i];
        const bool fits =
            c->options.use_cache && c->cache && !prefix_of(c, i) && e->size && e->size <= UINT32_MAX && i <= INT32_MAX;
        int32_t earlier = (int32_t)i;
        if (fits) {
            earlier = tr_strmap_add(seen, data, e->size, (int32_t)i);
            if (earlier < 0)
                return tr_fail_memory(error, "translation");
        }
        if (fits && (size_t)earlier < i && !c->options.on_token) { /* each text has tokens of its own */
            e->same_as = (size_t)earlier;
            continue;
        }
        if (fits) {
            const tr_status status = tr_translation_cache_find(c->cache, data, e->size, &e->cached, &c->results[i], error);
            if (status != TR_OK)
                return status;
            c->results[i].flags |= e->cached ? TR_FLAG_REPEATED : 0;
        }
        if (!e->cached)
            c->todo[c->todo_count++] = i;
    }
    return TR_OK;
}

static tr_status select_texts(tr_text_call *c, tr_error *error)
{
    tr_strmap seen = {0};
    if (c->options.use_cache && c->cache) {
        tr_translation_cache_prepare(c->cache, &c->options, &c->pair);
        if (!tr_strmap_init(&seen, c->count))
            return tr_fail_memory(error, "translation");
    }
    const tr_status status = find_repeats(c, &seen, error);
    tr_strmap_free(&seen);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- planning */

/* Each planner plans its share of the texts in a plan of its own. */
static void plan_on_thread(void *argument, int thread)
{
    tr_text_call *c = argument;
    if (thread >= c->planners)
        return;
    const size_t share = c->todo_count / (size_t)c->planners, rest = c->todo_count % (size_t)c->planners;
    const size_t t = (size_t)thread, first = share * t + (t < rest ? t : rest), last = first + share + (t < rest);
    for (size_t i = first; i < last && c->plan_status[thread] == TR_OK; i++) {
        tr_call_text *e = &c->entries[c->todo[i]];
        e->plan = thread;
        const char *data = e->size ? c->texts[c->todo[i]] : "";
        const bool prefixed = prefix_of(c, c->todo[i]);
        const tr_split split = prefixed ? TR_SPLIT_NEVER : c->options.split;
        const tr_protection *protection = c->options.protect && !prefixed ? &c->protection : NULL;
        c->plan_status[thread] =
            tr_plan_text(&c->plans[thread], &c->pair, protection, split, data, e->size, &e->text, &c->plan_errors[thread]);
    }
}

static tr_status plan_texts(tr_text_call *c, tr_error *error)
{
    const int threads = c->context->threads;
    c->planners = c->todo_count >= (size_t)threads * TEXTS_PER_THREAD ? threads : 1;
    c->plan_status = alloc_array((size_t)c->planners, sizeof *c->plan_status);
    c->plan_errors = alloc_array((size_t)c->planners, sizeof *c->plan_errors);
    if (!c->plan_status || !c->plan_errors)
        return tr_fail_memory(error, "translation");
    size_t bytes = 0;
    for (size_t i = 0; i < c->todo_count; i++)
        bytes += c->entries[c->todo[i]].size;
    tr_status status = tr_tokenizer_expect(c->pair.tokenizer, bytes, error);
    if (status != TR_OK)
        return status;
    if (c->planners == 1)
        plan_on_thread(c, 0);
    else
        status = tr_team_run(tr_scheduler_team(c->context->scheduler), plan_on_thread, c, error);
    for (int t = 0; t < c->planners && status == TR_OK; t++) {
        status = c->plan_status[t];
        if (status != TR_OK && error)
            *error = c->plan_errors[t];
    }
    return status;
}

/* Tokenises the prefixes of texts; a text with a prefix has one chunk. */
static tr_status plan_prefixes(tr_text_call *c, tr_error *error)
{
    const int limit = c->options.max_length - (c->pair.start.first_id >= 0);
    for (size_t i = 0; i < c->todo_count; i++) {
        tr_call_text *e = &c->entries[c->todo[i]];
        const char *prefix = prefix_of(c, c->todo[i]);
        if (!prefix || !e->text.count)
            continue;
        if (e->text.count > 1)
            return tr_fail(error, TR_ERROR_ARGUMENT,
                           "text %zu: longer than the model takes, and with a prefix it cannot be cut", c->todo[i]);
        const tr_status status = tr_prefix_tokens(c->context->model, prefix, limit, &e->prefix, error);
        if (status != TR_OK)
            return status;
        c->plans[e->plan].chunks[e->text.first].prefix = (tr_tokens){e->prefix.data, e->prefix.size};
    }
    return TR_OK;
}

/* Lists the chunks of all texts, now that the plans do not grow any more, and makes requests of them. */
static tr_status make_requests(tr_text_call *c, tr_error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < c->todo_count; i++)
        count += c->entries[c->todo[i]].text.count;
    c->chunks = alloc_array(count, sizeof *c->chunks);
    c->bases = alloc_array(count, sizeof *c->bases);
    if (!c->chunks || !c->bases)
        return tr_fail_memory(error, "translation");
    for (size_t i = 0; i < c->todo_count; i++) {
        tr_call_text *e = &c->entries[c->todo[i]];
        const tr_plan *plan = &c->plans[e->plan];
        e->first = c->chunk_count;
        e->planned = e->text.count;
        e->chunks = c->chunks + c->chunk_count;
        for (size_t s = 0; s < e->text.count; s++) {
            c->chunks[c->chunk_count] = &plan->chunks[e->text.first + s];
            c->bases[c->chunk_count++] = plan->ids.data;
        }
    }
    const tr_status status = tr_requests_make(c->chunks, c->bases, count, c->options.use_cache && !c->options.on_token,
                                              &c->requests, &c->request_count, error);
    c->job.requests = c->requests;
    c->job.count = c->request_count;
    c->joiner = (tr_joiner){.tokenizer = c->context->model->tokenizer,
                            .traditional = c->pair.traditional,
                            .eos_id = c->context->model->package.config.eos_id,
                            .given = c->pair.start.first_id >= 0,
                            .after = tr_source_added_after(&c->pair),
                            .scores = c->options.scores,
                            .doubtful_below = tr_doubtful_below(&c->options, &c->context->config),
                            .align = c->options.align,
                            .align_threshold = c->options.alignment.threshold,
                            .ranks = (size_t)c->options.search.n_best,
                            .protection = c->options.protect ? &c->protection : NULL};
    return status;
}

/* -------------------------------------------------------------------------------------------------------------- stream */

static void find_origins(tr_text_call *c, size_t text)
{
    tr_call_text *e = &c->entries[text];
    int sentences = 0;
    e->first_checked = SIZE_MAX;
    for (size_t s = 0; s < e->text.count; s++) {
        const tr_request *request = e->chunks[s]->request;
        if (request && e->chunks[s]->checked && e->first_checked == SIZE_MAX)
            e->first_checked = s;
        if (request)
            c->origins[request - c->requests] = (tr_request_origin){.text = text, .chunk = s, .sentence = sentences++};
    }
    for (size_t s = 0; s < e->text.count; s++) {
        const tr_request *request = e->chunks[s]->request;
        if (request)
            c->origins[request - c->requests].sentences = sentences;
    }
}

static tr_status take_token(void *argument, const tr_request *of, const tr_decoded_token *step, bool again, bool *stop,
                            tr_error *error)
{
    tr_text_call *c = argument;
    const size_t request = (size_t)(of - c->requests);
    const tr_request_origin *o = &c->origins[request];
    const tr_call_text *e = &c->entries[o->text];
    tr_text_chunk *chunk = e->chunks[o->chunk];
    tr_token_event event = {.text = o->text, .sentence = o->sentence, .sentences = o->sentences, .restarted = again};
    bool begins, space = false;
    if (o->chunk >= e->first_checked) { /* its text comes when all of it is known to be right */
        event.sample = step->draw;
        event.step = step->step;
        event.id = step->id;
        event.log_probability = step->log_probability;
        event.bytes = "";
        const tr_status status = tr_stream_event(&c->stream, &event, !step->last, stop, error);
        chunk->stopped = chunk->stopped || *stop;
        return status;
    }
    tr_status status = tr_stream_add(&c->stream, request, step, &begins, error);
    if (status == TR_OK && begins)
        status = tr_join_front(&c->joiner, &e->text, e->chunks, o->chunk, &space, error);
    const tr_buffer *front = begins ? &c->joiner.scratch : NULL;
    return status == TR_OK ? tr_stream_emit(&c->stream, request, step, &event, front, space, stop, error) : status;
}

/* Every request has one origin, since equal sentences are not merged for a stream. */
static tr_status start_stream(tr_text_call *c, tr_error *error)
{
    c->origins = alloc_array(c->request_count, sizeof *c->origins);
    if (!c->origins)
        return tr_fail_memory(error, "translation");
    for (size_t i = 0; i < c->todo_count; i++)
        find_origins(c, c->todo[i]);
    return tr_stream_init(&c->stream, &c->options, c->joiner.tokenizer, c->pair.traditional, c->joiner.eos_id,
                          c->request_count, error);
}

/* -------------------------------------------------------------------------------------------------------------- results */

/* The sentences of a text whose tokens came without text: an event for each, with its part of the translation. places
 * [e->text.count]: memory. */
static tr_status stream_parts(tr_text_call *c, const tr_call_text *e, tr_span *places, tr_error *error)
{
    size_t begin = 0, at = 0;
    tr_status status = tr_join_whole(&c->joiner, &e->text, e->chunks, places, error);
    for (size_t s = 0; s < e->planned && status == TR_OK; s++) {
        const tr_text_chunk *chunk = c->chunks[e->first + s];
        at += chunk->again ? chunk->again_count : 1;
        if (!chunk->request)
            continue;
        const size_t end = at ? places[at - 1].end : 0;
        if (s >= e->first_checked) {
            const tr_request_origin *o = &c->origins[chunk->request - c->requests];
            const tr_token_event event = {.text = o->text,
                                          .sentence = o->sentence,
                                          .sentences = o->sentences,
                                          .id = -1,
                                          .last = true,
                                          .bytes = end > begin ? c->joiner.scratch.data + begin : "",
                                          .size = end - begin};
            bool stop = false;
            status = tr_stream_event(&c->stream, &event, false, &stop, error);
        }
        begin = end;
    }
    return status;
}

static tr_status stream_checked(tr_text_call *c, size_t text, tr_error *error)
{
    const tr_call_text *e = &c->entries[text];
    if (e->first_checked == SIZE_MAX)
        return TR_OK;
    tr_span *places = calloc(e->text.count + 1, sizeof *places);
    if (!places)
        return tr_fail_memory(error, "translation");
    const tr_status status = stream_parts(c, e, places, error);
    free(places);
    return status;
}

static tr_status join_result(tr_text_call *c, size_t text, tr_error *error)
{
    if (c->options.on_token && c->origins) {
        const tr_status status = stream_checked(c, text, error);
        if (status != TR_OK)
            return status;
    }
    tr_call_text *e = &c->entries[text];
    e->done = true;
    e->waits = false;
    return tr_join(&c->joiner, &e->text, e->chunks, &c->results[text], error);
}

/* Hands over the results that are made, up to the first that is not. */
static tr_status deliver_results(tr_text_call *c, tr_error *error)
{
    const size_t first = c->delivered;
    while (c->delivered < c->count) {
        const tr_call_text *e = &c->entries[c->delivered];
        if (!e->done && !e->cached && e->same_as == SIZE_MAX)
            break;
        if (e->same_as != SIZE_MAX) {
            tr_result *result = &c->results[c->delivered];
            const tr_status status = tr_result_copy(&c->results[e->same_as], result, error);
            if (status != TR_OK)
                return status;
            result->flags |= TR_FLAG_REPEATED;
        }
        c->delivered++;
    }
    const size_t count = c->delivered - first;
    if (count && c->options.on_result &&
        c->options.on_result(c->options.on_result_argument, first, c->results + first, count))
        return tr_fail(error, TR_ERROR_CANCELLED, "translation: cancelled by the callback that takes results");
    return TR_OK;
}

/* Notes which texts wait for which requests; those that wait for none are complete, and are handed over. */
static tr_status start_completion(tr_text_call *c, tr_error *error)
{
    tr_status status = tr_completion_init(&c->completion, c->request_count, c->chunk_count, c->count, error);
    for (size_t i = 0; status == TR_OK && i < c->count; i++)
        if (c->entries[i].same_as != SIZE_MAX)
            tr_completion_repeat(&c->completion, c->entries[i].same_as);
    for (size_t i = 0; status == TR_OK && i < c->count; i++) {
        const tr_call_text *e = &c->entries[i];
        bool waits = false;
        if (e->same_as != SIZE_MAX)
            continue;
        for (size_t s = 0; s < e->text.count; s++) {
            const tr_request *request = e->chunks[s]->request;
            if (request)
                tr_completion_wait_for(&c->completion, i, (size_t)(request - c->requests));
            waits = waits || request;
        }
        if (waits)
            continue;
        if (!e->cached)
            status = join_result(c, i, error);
        tr_completion_text(&c->completion, i);
    }
    return status == TR_OK ? deliver_results(c, error) : status;
}

/* A text whose requests are complete: its result, unless sentences of it are to be translated again. */
static tr_status finish_text(tr_text_call *c, size_t text, tr_error *error)
{
    tr_call_text *e = &c->entries[text];
    tr_status status = TR_OK;
    for (size_t s = 0; s < e->text.count && status == TR_OK; s++) {
        status = tr_check_chunk(&c->joiner, &e->text, e->chunks[s], error);
        e->waits = e->waits || e->chunks[s]->check != TR_CHECK_RIGHT;
    }
    return status == TR_OK && !e->waits ? join_result(c, text, error) : status;
}

tr_status tr_text_call_take(void *argument, const tr_request *list, tr_error *error)
{
    tr_text_call *c = argument;
    tr_status status = TR_OK;
    for (; list && status == TR_OK; list = list->next) {
        const size_t *texts;
        const size_t count = tr_completion_request(&c->completion, list, (size_t)(list - c->requests), &texts);
        for (size_t i = 0; i < count && status == TR_OK; i++)
            status = finish_text(c, texts[i], error);
    }
    if (status == TR_OK)
        status = deliver_results(c, error);
    return status == TR_OK
               ? tr_progress_report(&c->completion.counts, c->options.on_progress, c->options.on_progress_argument, error)
               : status;
}

/* ------------------------------------------------------------------------------------------------- sentences again */

static size_t count_failed(const tr_text_call *c)
{
    size_t count = 0;
    for (size_t i = 0; i < c->todo_count; i++) {
        const tr_call_text *e = &c->entries[c->todo[i]];
        for (size_t s = 0; e->waits && s < e->text.count; s++)
            count += e->chunks[s]->check != TR_CHECK_RIGHT;
    }
    return count;
}

static tr_status list_failed(const tr_text_call *c, tr_round_item **items, size_t *count, tr_error *error)
{
    size_t at = 0;
    *count = count_failed(c);
    *items = *count ? calloc(*count, sizeof **items) : NULL;
    if (*count && !*items)
        return tr_fail_memory(error, "translation");
    for (size_t i = 0; i < c->todo_count; i++) {
        const tr_call_text *e = &c->entries[c->todo[i]];
        for (size_t s = 0; e->waits && s < e->text.count; s++)
            if (e->chunks[s]->check != TR_CHECK_RIGHT)
                (*items)[at++] = (tr_round_item){.owner = c->todo[i], .chunk = e->chunks[s], .of = &e->text};
    }
    return TR_OK;
}

static tr_status report_progress(void *argument, const tr_request *list, tr_error *error)
{
    tr_text_call *c = argument;
    (void)list;
    return tr_progress_report(&c->completion.counts, c->options.on_progress, c->options.on_progress_argument, error);
}

/* All that waited is complete now. */
static tr_status join_waiting(tr_text_call *c, tr_error *error)
{
    tr_status status = TR_OK;
    for (size_t i = 0; i < c->todo_count && status == TR_OK; i++) {
        tr_call_text *e = &c->entries[c->todo[i]];
        size_t count;
        if (!e->waits)
            continue;
        status = tr_round_chunks(e->chunks, e->text.count, &e->replaced, &count, error);
        if (e->replaced) {
            e->chunks = e->replaced;
            e->text.count = count;
        }
        if (status == TR_OK)
            status = join_result(c, c->todo[i], error);
    }
    return status == TR_OK ? deliver_results(c, error) : status;
}

/* The job is the first attempt of texts again. */
static void leave_rounds(tr_text_call *c)
{
    c->attempt = 0;
    c->job.done = tr_text_call_take;
    c->job.token = c->options.on_token ? take_token : NULL;
}

tr_status tr_text_call_next_round(tr_text_call *c, bool *more, tr_error *error)
{
    tr_round_item *items = NULL;
    size_t count = 0;
    *more = false;
    tr_status status =
        c->attempt ? tr_round_finish(c->round, &c->joiner, &items, &count, error) : list_failed(c, &items, &count, error);
    if (status == TR_OK && !count && c->attempt) {
        status = join_waiting(c, error);
        leave_rounds(c);
    }
    if (status == TR_OK && count)
        status = tr_round_make(&c->pair, &c->protection, c->attempt + 1, items, count, &c->round, error);
    if (status != TR_OK || !count) {
        free(items);
        return status;
    }
    c->attempt++;
    c->job.requests = c->round->requests;
    c->job.count = c->round->request_count;
    c->job.done = report_progress;
    c->job.token = NULL;
    *more = true;
    return TR_OK;
}

static void cache_results(tr_text_call *c)
{
    for (size_t i = 0; c->options.use_cache && !c->stream.stopped && i < c->todo_count; i++) {
        const size_t text = c->todo[i];
        if (c->entries[text].text.sentences && !prefix_of(c, text))
            tr_translation_cache_add(c->cache, c->texts[text], c->entries[text].size, &c->results[text]);
    }
}

/* ---------------------------------------------------------------------------------------------------------------- a call */

static tr_status find_stand_ins(void *argument, const tr_stand_ins **found, tr_error *error)
{
    const tr_text_call *c = argument;
    return tr_model_stand_ins(c->context->model, &c->pair, found, error);
}

static tr_status rank(void *argument, tr_request *requests, size_t count,
                      int (*on_progress)(void *argument, const tr_progress *progress), void *on_progress_argument,
                      tr_error *error)
{
    tr_text_call *c = argument;
    c->reranker.on_progress = on_progress;
    c->reranker.on_progress_argument = on_progress_argument;
    return tr_rerank(&c->reranker, requests, count, error);
}

tr_status tr_text_call_prepare(tr_text_call *c, const size_t *sizes, tr_error *error)
{
    c->options.search.valid_utf8 = c->options.protect;
    c->protection = tr_protection_of(&c->pair);
    c->protection.find_stand_ins = find_stand_ins;
    c->protection.argument = c;
    c->protection.terms = c->options.glossary;
    tr_status status = measure_texts(c, sizes, error);
    if (status == TR_OK)
        status = select_texts(c, error);
    if (status == TR_OK)
        status = plan_texts(c, error);
    if (status == TR_OK && c->options.prefixes)
        status = plan_prefixes(c, error);
    if (status == TR_OK)
        status = make_requests(c, error);
    if (status == TR_OK && c->options.on_token)
        status = start_stream(c, error);
    if (status == TR_OK)
        status = start_completion(c, error);
    c->job.max_length = c->options.max_length;
    c->job.min_length = c->options.min_length;
    c->job.search = &c->options.search;
    if (c->reranker.reverse) {
        c->options.search.n_best = c->options.search.beam; /* the joiner knows how many are wanted */
        c->job.rank = rank;
    }
    c->job.scores = c->options.scores || c->joiner.doubtful_below < 0;
    c->job.loop_guard = c->options.loop_guard;
    c->job.start = &c->pair.start;
    c->job.done = tr_text_call_take;
    c->job.token = c->options.on_token ? take_token : NULL;
    c->job.argument = c;
    return status;
}

/* Batches of each thread after which sentences are translated again: results come in order, so that those of the texts after
 * such a sentence wait for it. */
enum { SLICE_BATCHES = 32 };

static bool has_checked(const tr_text_call *c)
{
    for (size_t i = 0; i < c->chunk_count; i++)
        if (c->chunks[i]->checked)
            return true;
    return false;
}

/* Decodes requests first .. first + size, and what of them is to be translated again. */
static tr_status run_slice(tr_text_call *c, size_t first, size_t size, tr_error *error)
{
    tr_scheduler *scheduler = c->context->scheduler;
    tr_status status = TR_OK;
    c->job.requests = c->requests + first;
    c->job.count = size;
    for (bool more = true; status == TR_OK && more;) {
        const bool rounds = c->job.rank || tr_needs_alignments(&c->options, c->job.requests, c->job.count);
        status = rounds ? tr_run_aligned(scheduler, &c->pair, &c->job, &c->options, &c->completion.counts, error)
                        : tr_scheduler_run(scheduler, &c->job, error);
        if (status == TR_OK)
            status = tr_text_call_next_round(c, &more, error);
    }
    return status;
}

tr_status tr_translate_texts(tr_context *context, const char *const *texts, const size_t *sizes, size_t count,
                             const tr_translate_options *options, tr_result **results, tr_error *error)
{
    if (!results)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_translate: results is NULL");
    *results = NULL;
    if (!context || (!texts && count))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_translate: %s is NULL", context ? "texts" : "context");
    tr_text_call c = {.context = context, .plans = context->plans, .cache = &context->cache, .texts = texts, .count = count};
    tr_status status = tr_translate_options_resolve(&context->config, options, &c.options, error);
    if (status == TR_OK)
        status = tr_context_languages(context, c.options.source_language, c.options.target_language, true, &c.pair, error);
    if (status == TR_OK)
        status = tr_reranker_init(context, &c.options, &c.reranker, error);
    if (status != TR_OK)
        return status;
    tr_scheduler_begin(context->scheduler);
    if (c.reranker.reverse)
        tr_scheduler_begin(c.reranker.reverse->scheduler);
    for (int t = 0; t < context->threads; t++)
        tr_plan_clear(&context->plans[t]);
    status = tr_text_call_prepare(&c, sizes, error);
    const size_t largest = has_checked(&c) ? tr_scheduler_capacity(context->scheduler) * SLICE_BATCHES : SIZE_MAX;
    for (size_t first = 0, size; status == TR_OK && first < c.request_count; first += size) {
        size = c.request_count - first < largest ? c.request_count - first : largest;
        status = run_slice(&c, first, size, error);
    }
    if (status == TR_OK) {
        cache_results(&c);
        *results = c.results;
    } else {
        tr_result_array_free(c.results, count);
    }
    tr_text_call_free(&c);
    return status;
}
