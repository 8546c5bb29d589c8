/* Translates sources that are token ids to targets that are token ids. */
#include <stdlib.h>

#include "api/context.h"
#include "api/options.h"
#include "run/aligned.h"
#include "run/stream.h"

static tr_status check_prefix(const tr_config *config, const tr_tokens *prefix, size_t index, int limit, tr_error *error)
{
    if (!prefix->ids && prefix->count)
        return tr_fail(error, TR_ERROR_ARGUMENT, "prefix %zu: its ids are NULL", index);
    if (prefix->count > (size_t)limit)
        return tr_fail(error, TR_ERROR_ARGUMENT, "prefix %zu: %zu tokens, but a target has %d at most", index, prefix->count,
                       limit);
    for (size_t i = 0; i < prefix->count; i++)
        if (prefix->ids[i] < 0 || prefix->ids[i] >= config->target_vocabulary || prefix->ids[i] == config->eos_id)
            return tr_fail(error, TR_ERROR_ARGUMENT, "prefix %zu: token %zu is %d, not an id below %d other than EOS", index,
                           i, (int)prefix->ids[i], config->target_vocabulary);
    return TR_OK;
}

typedef struct tokens_call {
    tr_translate_options options;
    tr_language_pair pair;
    tr_progress counts;
    tr_job job;
    tr_stream stream;
    int32_t *ids; /* the requests' sources, one after the other */
} tokens_call;

static tr_status check_inputs(const tokens_call *c, const tr_tokens *sources, const tr_tokens *prefixes, size_t count,
                              size_t *total, tr_error *error)
{
    const int limit = c->options.max_length - (c->pair.start.first_id >= 0);
    tr_status status = TR_OK;
    *total = 0;
    for (size_t i = 0; i < count && status == TR_OK; i++) {
        status = tr_source_check(&c->pair, &sources[i], i, error);
        if (status == TR_OK && prefixes)
            status = check_prefix(&c->pair.package->config, &prefixes[i], i, limit, error);
        *total += sources[i].count + (size_t)tr_source_added(&c->pair) + 1;
    }
    return status;
}

/* A request for each source, all their ids in one array. */
static tr_status lay_out_requests(tokens_call *c, const tr_tokens *sources, const tr_tokens *prefixes, size_t count,
                                  tr_error *error)
{
    size_t total;
    const tr_status status = check_inputs(c, sources, prefixes, count, &total, error);
    if (status != TR_OK)
        return status;
    c->job.requests = calloc(count ? count : 1, sizeof *c->job.requests);
    c->ids = calloc(total ? total : 1, sizeof *c->ids);
    if (!c->job.requests || !c->ids)
        return tr_fail_memory(error, "tokens");
    c->job.count = count;
    int32_t *at = c->ids;
    for (size_t i = 0; i < count; i++) {
        const int length = tr_source_lay_out(&c->pair, &sources[i], at);
        tr_request *request = &c->job.requests[i];
        *request = (tr_request){.source = at, .source_length = length, .source_tokens = (int)sources[i].count};
        if (prefixes) {
            request->prefix = prefixes[i].ids;
            request->prefix_length = (int)prefixes[i].count;
        }
        at += length;
    }
    return TR_OK;
}

/* Progress: a request is a text. */
static tr_status count_requests(void *argument, const tr_request *list, tr_error *error)
{
    tokens_call *c = argument;
    for (; list; list = list->next)
        tr_progress_add(&c->counts, list, 1);
    return tr_progress_report(&c->counts, c->options.on_progress, c->options.on_progress_argument, error);
}

/* A request is a text of one sentence. */
static tr_status take_token(void *argument, const tr_request *of, const tr_decoded_token *step, bool again, bool *stop,
                            tr_error *error)
{
    tokens_call *c = argument;
    const size_t request = (size_t)(of - c->job.requests);
    bool begins;
    tr_token_event event = {.text = request, .sentences = 1, .restarted = again};
    const tr_status status = tr_stream_add(&c->stream, request, step, &begins, error);
    return status == TR_OK ? tr_stream_emit(&c->stream, request, step, &event, NULL, false, stop, error) : status;
}

static tr_status translate_sources(tr_context *context, tokens_call *c, const tr_tokens *sources, const tr_tokens *prefixes,
                                   size_t count, const tr_translate_options *options, bool align, tr_error *error)
{
    const tr_tokenizer *tokenizer = context->model->tokenizer;
    tr_scheduler_begin(context->scheduler);
    tr_status status = tr_translate_options_resolve(&context->config, options, &c->options, error);
    if (status == TR_OK)
        status =
            tr_context_languages(context, c->options.source_language, c->options.target_language, false, &c->pair, error);
    if (status == TR_OK)
        status = lay_out_requests(c, sources, prefixes, count, error);
    if (status == TR_OK && c->options.on_token)
        status = tr_stream_init(&c->stream, &c->options, tokenizer, context->config.eos_id, count, error);
    if (status != TR_OK)
        return status;
    c->counts.texts = count;
    c->job.max_length = c->options.max_length;
    c->job.min_length = c->options.min_length;
    c->job.search = &c->options.search;
    c->job.scores = c->options.scores;
    c->job.start = &c->pair.start;
    c->job.done = c->options.on_progress ? count_requests : NULL;
    c->job.token = c->options.on_token ? take_token : NULL;
    c->job.argument = c;
    return align && c->options.align ? tr_run_aligned(context->scheduler, &c->pair, &c->job, &c->options, &c->counts, error)
                                     : tr_scheduler_run(context->scheduler, &c->job, error);
}

/* A model that was trained without EOS on the source got one for an empty source; its translation is empty. */
static void clear_empty_sources(const tr_config *config, const tr_tokens *sources, tr_request *requests, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t h = 0; config->no_source_eos && sources[i].count == 0 && h < requests[i].found.count; h++) {
            tr_hypothesis *hypothesis = &requests[i].found.items[h];
            free(hypothesis->log_probabilities); /* there are no links with an empty source */
            *hypothesis = (tr_hypothesis){.ids = hypothesis->ids, .finished = true};
        }
}

static void free_call(tokens_call *c)
{
    tr_requests_free(c->job.requests, c->job.count);
    tr_stream_free(&c->stream);
    free(c->ids);
}

tr_status tr_search_tokens(tr_context *context, const tr_tokens *sources, const tr_tokens *prefixes, size_t count,
                           const tr_translate_options *options, tr_hypotheses **outputs, tr_error *error)
{
    if (!outputs)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_search_tokens: outputs is NULL");
    *outputs = NULL;
    if (!context || (!sources && count))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_search_tokens: %s is NULL", context ? "sources" : "context");
    tokens_call c = {0};
    tr_status status = translate_sources(context, &c, sources, prefixes, count, options, true, error);
    if (status == TR_OK && !(*outputs = calloc(count ? count : 1, sizeof **outputs)))
        status = tr_fail_memory(error, "tokens");
    if (status == TR_OK) {
        clear_empty_sources(&context->model->package.config, sources, c.job.requests, count);
        for (size_t i = 0; i < count; i++) {
            (*outputs)[i] = c.job.requests[i].found;
            c.job.requests[i].found = (tr_hypotheses){0};
        }
    }
    free_call(&c);
    return status;
}

tr_status tr_translate_tokens(tr_context *context, const tr_tokens *sources, size_t count,
                              const tr_translate_options *options, tr_tokens **outputs, tr_error *error)
{
    if (!outputs)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_translate_tokens: outputs is NULL");
    *outputs = NULL;
    if (!context || (!sources && count))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_translate_tokens: %s is NULL", context ? "sources" : "context");
    tokens_call c = {0};
    tr_status status = translate_sources(context, &c, sources, NULL, count, options, false, error);
    if (status == TR_OK && !(*outputs = calloc(count ? count : 1, sizeof **outputs)))
        status = tr_fail_memory(error, "tokens");
    if (status == TR_OK) {
        clear_empty_sources(&context->model->package.config, sources, c.job.requests, count);
        for (size_t i = 0; i < count; i++) {
            tr_hypothesis *best = &c.job.requests[i].found.items[0];
            (*outputs)[i] = (tr_tokens){best->ids, best->count};
            best->ids = NULL;
        }
    }
    free_call(&c);
    return status;
}
