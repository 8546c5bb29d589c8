/* Translates sources that are token ids to targets that are token ids. */
#include <stdlib.h>

#include "api/context.h"
#include "api/options.h"
#include "api/token_request.h"
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

tr_status tr_token_request_check(const tr_language_pair *pair, const tr_tokens *source, const tr_tokens *prefix,
                                 size_t index, int max_length, tr_error *error)
{
    const tr_status status = tr_source_check(pair, source, index, error);
    if (status != TR_OK || !prefix)
        return status;
    return check_prefix(&pair->package->config, prefix, index, max_length - (pair->start.first_id >= 0), error);
}

size_t tr_token_request_ids(const tr_language_pair *pair, const tr_tokens *source)
{
    return source->count + (size_t)tr_source_added(pair) + 1;
}

void tr_token_request_make(const tr_language_pair *pair, const tr_tokens *source, const tr_tokens *prefix, int32_t *ids,
                           tr_request *request)
{
    const int length = tr_source_lay_out(pair, source, ids);
    *request = (tr_request){.source = ids, .source_length = length, .source_tokens = (int)source->count};
    if (prefix) {
        request->prefix = prefix->ids;
        request->prefix_length = (int)prefix->count;
    }
}

tr_hypotheses tr_token_request_take(const tr_config *config, tr_request *request)
{
    const tr_hypotheses found = request->found;
    request->found = (tr_hypotheses){0};
    for (size_t h = 0; config->no_source_eos && !request->source_tokens && h < found.count; h++) {
        tr_hypothesis *hypothesis = &found.items[h];
        free(hypothesis->log_probabilities); /* there are no links with an empty source */
        *hypothesis = (tr_hypothesis){.ids = hypothesis->ids, .finished = true};
    }
    return found;
}

/* A request for each source, all their ids in one array. */
static tr_status lay_out_requests(tokens_call *c, const tr_tokens *sources, const tr_tokens *prefixes, size_t count,
                                  tr_error *error)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        const tr_status status =
            tr_token_request_check(&c->pair, &sources[i], prefixes ? &prefixes[i] : NULL, i, c->options.max_length, error);
        if (status != TR_OK)
            return status;
        total += tr_token_request_ids(&c->pair, &sources[i]);
    }
    c->job.requests = calloc(count ? count : 1, sizeof *c->job.requests);
    c->ids = calloc(total ? total : 1, sizeof *c->ids);
    if (!c->job.requests || !c->ids)
        return tr_fail_memory(error, "tokens");
    c->job.count = count;
    int32_t *at = c->ids;
    for (size_t i = 0; i < count; i++) {
        tr_token_request_make(&c->pair, &sources[i], prefixes ? &prefixes[i] : NULL, at, &c->job.requests[i]);
        at += c->job.requests[i].source_length;
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

static tr_status take_token(void *argument, const tr_request *of, const tr_decoded_token *step, bool again, bool *stop,
                            tr_error *error)
{
    tokens_call *c = argument;
    return tr_stream_source(&c->stream, (size_t)(of - c->job.requests), step, again, stop, error);
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
        status =
            tr_stream_init(&c->stream, &c->options, tokenizer, c->pair.traditional, context->config.eos_id, count, error);
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
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_translate_tokens: outputs is NULL");
    *outputs = NULL;
    if (!context || (!sources && count))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_translate_tokens: %s is NULL", context ? "sources" : "context");
    tokens_call c = {0};
    tr_status status = translate_sources(context, &c, sources, prefixes, count, options, true, error);
    if (status == TR_OK && !(*outputs = calloc(count ? count : 1, sizeof **outputs)))
        status = tr_fail_memory(error, "tokens");
    if (status == TR_OK) {
        for (size_t i = 0; i < count; i++)
            (*outputs)[i] = tr_token_request_take(&context->model->package.config, &c.job.requests[i]);
    }
    free_call(&c);
    return status;
}

tr_status tr_translate_ids(tr_context *context, const tr_tokens *sources, size_t count, const tr_translate_options *options,
                           tr_tokens **outputs, tr_error *error)
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
        for (size_t i = 0; i < count; i++) {
            tr_hypotheses found = tr_token_request_take(&context->model->package.config, &c.job.requests[i]);
            (*outputs)[i] = (tr_tokens){found.items[0].ids, found.items[0].count};
            found.items[0].ids = NULL;
            tr_hypotheses_clear(&found);
        }
    }
    free_call(&c);
    return status;
}
