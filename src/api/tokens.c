/* The entry points that speak tokens instead of text. */
#include "api/model.h"

#include <stdlib.h>
#include <string.h>

#include "run/aligned.h"
#include "text/sources.h"
#include "run/stream.h"
#include "run/completion.h"
#include "util/utf8.h"

static tr_status out_of_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "tokens: out of memory");
}

/* ----------------------------------------------------------------------------------------------------- text and tokens */

tr_status tr_tokenize(const tr_model *model, const char *text, size_t size, tr_tokens *tokens, tr_error *error)
{
    if (!tokens)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_tokenize: tokens is NULL");
    *tokens = (tr_tokens){0};
    if (!model || (!text && size))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_tokenize: %s is NULL", model ? "text" : "model");
    if (!model->tokenizer)
        return tr_fail(error, TR_ERROR_ARGUMENT, "model: it has no tokenizer, it takes tokens only");
    tr_buffer clean = {0};
    tr_ids ids = {0};
    tr_status status = TR_OK;
    if (!tr_utf8_valid(text, size)) {
        if (!tr_utf8_clean(text, size, &clean))
            status = out_of_memory(error);
        text = clean.data;
        size = clean.size;
    }
    if (status == TR_OK)
        status = tr_tokenizer_encode(model->tokenizer, text, size, &ids, error);
    tr_buffer_free(&clean);
    if (status != TR_OK) {
        tr_ids_free(&ids);
        return status;
    }
    *tokens = (tr_tokens){ids.data, ids.size};
    return TR_OK;
}

tr_status tr_detokenize(const tr_model *model, const int32_t *ids, size_t count, char **text, size_t *size, tr_error *error)
{
    if (size)
        *size = 0;
    if (!text)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_detokenize: text is NULL");
    *text = NULL;
    if (!model || (!ids && count))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_detokenize: %s is NULL", model ? "ids" : "model");
    if (!model->tokenizer)
        return tr_fail(error, TR_ERROR_ARGUMENT, "model: it has no tokenizer, it takes tokens only");
    tr_buffer out = {0};
    if (!tr_buffer_string(&out, ""))
        return out_of_memory(error);
    const tr_status status = tr_tokenizer_decode(model->tokenizer, ids, count, &out, error);
    if (status != TR_OK) {
        tr_buffer_free(&out);
        return status;
    }
    *text = out.data;
    if (size)
        *size = out.size;
    return TR_OK;
}

static const char *piece(const tr_vocabulary *vocabulary, int32_t id, size_t *size)
{
    const bool known = id >= 0 && (size_t)id < vocabulary->size && vocabulary->pieces[id].data;
    if (size)
        *size = known ? vocabulary->pieces[id].size : 0;
    return known ? vocabulary->pieces[id].data : NULL;
}

const char *tr_source_piece(const tr_model *model, int32_t id, size_t *size)
{
    return piece(&model->package.source, id, size);
}

const char *tr_target_piece(const tr_model *model, int32_t id, size_t *size)
{
    return piece(model->package.target, id, size);
}

int32_t tr_source_id(const tr_model *model, const char *piece_text, size_t size)
{
    return tr_vocabulary_find(&model->package.source, piece_text, size);
}

int32_t tr_target_id(const tr_model *model, const char *piece_text, size_t size)
{
    return tr_vocabulary_find(model->package.target, piece_text, size);
}

void tr_tokens_free(tr_tokens *tokens)
{
    if (!tokens)
        return;
    free(tokens->ids);
    *tokens = (tr_tokens){0};
}

void tr_tokens_array_free(tr_tokens *tokens, size_t count)
{
    for (size_t i = 0; tokens && i < count; i++)
        free(tokens[i].ids);
    free(tokens);
}

void tr_free(void *memory)
{
    free(memory);
}

/* --------------------------------------------------------------------------------------------------- tokens to tokens */

/* Prefixes are part of the targets. */
static tr_status check_prefix(const tr_config *config, const tr_tokens *prefix, size_t index, int most, tr_error *error)
{
    if (!prefix->ids && prefix->count)
        return tr_fail(error, TR_ERROR_ARGUMENT, "prefix %zu: its ids are NULL", index);
    if (prefix->count > (size_t)most)
        return tr_fail(error, TR_ERROR_ARGUMENT, "prefix %zu: %zu tokens, but a target has %d at most", index, prefix->count,
                       most);
    for (size_t i = 0; i < prefix->count; i++)
        if (prefix->ids[i] < 0 || prefix->ids[i] >= config->target_vocabulary || prefix->ids[i] == config->eos_id)
            return tr_fail(error, TR_ERROR_ARGUMENT,
                           "prefix %zu: token %zu is %d, not an id below %d other than the end mark", index, i,
                           (int)prefix->ids[i], config->target_vocabulary);
    return TR_OK;
}

/* What a call works on. */
typedef struct call {
    tr_translate_options options;
    tr_pair pair;
    tr_progress counts;
    tr_job job;
    tr_stream steps;
    int32_t *memory; /* the units' ids */
} call;

static tr_status check_inputs(const call *c, const tr_config *config, const tr_tokens *sources, const tr_tokens *prefixes,
                              size_t count, size_t *total, tr_error *error)
{
    const int most = c->options.max_length - (c->pair.start.first_id >= 0);
    tr_status status = TR_OK;
    *total = 0;
    for (size_t i = 0; i < count && status == TR_OK; i++) {
        status = tr_source_check(config, &c->pair, &sources[i], i, error);
        if (status == TR_OK && prefixes)
            status = check_prefix(config, &prefixes[i], i, most, error);
        *total += sources[i].count + (size_t)tr_source_marks(config, &c->pair) + 1;
    }
    return status;
}

/* A unit for each source, all their ids in one piece of memory. */
static tr_status lay_out(call *c, const tr_config *config, const tr_tokens *sources, const tr_tokens *prefixes, size_t count,
                         tr_error *error)
{
    size_t total;
    const tr_status status = check_inputs(c, config, sources, prefixes, count, &total, error);
    if (status != TR_OK)
        return status;
    c->job.requests = calloc(count ? count : 1, sizeof *c->job.requests);
    c->memory = calloc(total ? total : 1, sizeof *c->memory);
    if (!c->job.requests || !c->memory)
        return out_of_memory(error);
    int32_t *to = c->memory;
    for (size_t i = 0; i < count; i++) {
        const int length = tr_source_lay_out(config, &c->pair, &sources[i], to);
        tr_request *request = &c->job.requests[i];
        *request = (tr_request){.source = to, .source_length = length, .source_tokens = (int)sources[i].count};
        if (prefixes) {
            request->prefix = prefixes[i].ids;
            request->prefix_length = (int)prefixes[i].count;
        }
        to += length;
    }
    return TR_OK;
}

/* Progress: a unit is a text. */
static tr_status count_units(void *argument, const tr_request *list, tr_error *error)
{
    call *c = argument;
    for (; list; list = list->next)
        tr_completion_count(&c->counts, list, 1);
    return tr_completion_report(&c->counts, &c->options, error);
}

/* A unit is a text of one sentence. */
static tr_status take_step(void *argument, const tr_request *of, const tr_decoded_token *step, bool again, bool *stop,
                           tr_error *error)
{
    call *c = argument;
    const size_t unit = (size_t)(of - c->job.requests);
    bool begins;
    tr_token_event told = {.text = unit, .sentences = 1, .restarted = again};
    const tr_status status = tr_stream_add(&c->steps, unit, step, &begins, error);
    return status == TR_OK ? tr_stream_emit(&c->steps, unit, step, &told, NULL, false, stop, error) : status;
}

static tr_status run_call(tr_context *context, call *c, const tr_tokens *sources, const tr_tokens *prefixes, size_t count,
                          const tr_translate_options *options, bool align, tr_error *error)
{
    tr_status status = tr_options_resolve(context, options, &c->options, error);
    if (status != TR_OK)
        return status;
    const char *const source = c->options.source_language, *const target = c->options.target_language;
    status = tr_pair_choose(context->model, source, target, false, &c->pair, error);
    if (status != TR_OK)
        return status;
    c->counts.texts = count;
    c->job = (tr_job){.count = count,
                      .max_length = c->options.max_length,
                      .min_length = c->options.min_length,
                      .search = &c->options.search,
                      .scores = c->options.scores,
                      .start = &c->pair.start,
                      .done = c->options.on_progress ? count_units : NULL,
                      .token = c->options.on_token ? take_step : NULL,
                      .argument = c};
    const tr_config *config = &context->config;
    status = lay_out(c, config, sources, prefixes, count, error);
    if (status == TR_OK)
        status = tr_stream_init(&c->steps, &c->options, context->model->tokenizer, config->eos_id, count, error);
    if (status != TR_OK)
        return status;
    return align && c->options.align ? tr_run_aligned(context, &c->pair, &c->job, &c->options, &c->counts, error)
                                     : tr_scheduler_run(context->scheduler, &c->job, error);
}

/* A model without end marks translates nothing to nothing. */
static void empty_nothing(const tr_config *config, const tr_tokens *sources, tr_request *requests, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t h = 0; config->no_source_eos && sources[i].count == 0 && h < requests[i].found.count; h++)
            requests[i].found.items[h].count = 0; /* nor are there links with an empty source */
}

static void end_call(call *c)
{
    tr_requests_free(c->job.requests, c->job.count);
    tr_stream_free(&c->steps);
    free(c->memory);
}

tr_status tr_search_tokens(tr_context *context, const tr_tokens *sources, const tr_tokens *prefixes, size_t count,
                           const tr_translate_options *options, tr_hypotheses **outputs, tr_error *error)
{
    if (!outputs)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_search_tokens: outputs is NULL");
    *outputs = NULL;
    if (!context || (!sources && count))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_search_tokens: %s is NULL", context ? "sources" : "context");
    call c = {0};
    tr_status status = run_call(context, &c, sources, prefixes, count, options, true, error);
    if (status == TR_OK && !(*outputs = calloc(count ? count : 1, sizeof **outputs)))
        status = out_of_memory(error);
    if (status == TR_OK) {
        empty_nothing(&context->model->package.config, sources, c.job.requests, count);
        for (size_t i = 0; i < count; i++) {
            (*outputs)[i] = c.job.requests[i].found;
            c.job.requests[i].found = (tr_hypotheses){0};
        }
    }
    end_call(&c);
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
    call c = {0};
    tr_status status = run_call(context, &c, sources, NULL, count, options, false, error);
    if (status == TR_OK && !(*outputs = calloc(count ? count : 1, sizeof **outputs)))
        status = out_of_memory(error);
    if (status == TR_OK) {
        empty_nothing(&context->model->package.config, sources, c.job.requests, count);
        for (size_t i = 0; i < count; i++) {
            tr_hypothesis *best = &c.job.requests[i].found.items[0];
            (*outputs)[i] = (tr_tokens){best->ids, best->count};
            best->ids = NULL;
        }
    }
    end_call(&c);
    return status;
}
