/* The entry points that speak tokens instead of text. */
#include "pipeline/model.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/sources.h"
#include "pipeline/tally.h"
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

/* A model without end marks translates nothing to nothing. */
static bool is_nothing(const tr_config *config, const tr_tokens *source)
{
    return config->bare_source && source->count == 0;
}

/* A unit for each source, all their ids in *memory. */
static tr_status lay_out(const tr_config *config, const tr_pair *pair, const tr_tokens *sources, size_t count,
                         tr_unit **units, int32_t **memory, tr_error *error)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        const tr_status status = tr_source_check(config, pair, &sources[i], i, error);
        if (status != TR_OK)
            return status;
        total += sources[i].count + (size_t)tr_source_marks(config, pair) + 1;
    }
    *units = calloc(count ? count : 1, sizeof **units);
    *memory = calloc(total ? total : 1, sizeof **memory);
    if (!*units || !*memory)
        return out_of_memory(error);
    int32_t *to = *memory;
    for (size_t i = 0; i < count; i++) {
        const int length = tr_source_lay_out(config, pair, &sources[i], to);
        (*units)[i] = (tr_unit){.source = to, .source_length = length, .source_tokens = (int)sources[i].count};
        to += length;
    }
    return TR_OK;
}

/* The units' targets become the outputs. */
static tr_status take_targets(const tr_config *config, const tr_tokens *sources, tr_unit *units, size_t count,
                              tr_tokens **outputs, tr_error *error)
{
    *outputs = calloc(count ? count : 1, sizeof **outputs);
    if (!*outputs)
        return out_of_memory(error);
    for (size_t i = 0; i < count; i++) {
        (*outputs)[i] = (tr_tokens){units[i].target, is_nothing(config, &sources[i]) ? 0 : (size_t)units[i].target_length};
        units[i].target = NULL;
    }
    return TR_OK;
}

/* Progress: a unit is a text. */
typedef struct counter {
    const tr_translate_options *options;
    tr_progress counts;
} counter;

static tr_status count_units(void *argument, const tr_unit *list, tr_error *error)
{
    counter *c = argument;
    for (; list; list = list->next)
        tr_tally_count(&c->counts, list, 1);
    return tr_tally_report(&c->counts, c->options, error);
}

tr_status tr_translate_tokens(tr_context *context, const tr_tokens *sources, size_t count,
                              const tr_translate_options *options, tr_tokens **outputs, tr_error *error)
{
    if (!outputs)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_translate_tokens: outputs is NULL");
    *outputs = NULL;
    if (!context || (!sources && count))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_translate_tokens: %s is NULL", context ? "sources" : "context");
    tr_translate_options resolved;
    tr_status status = tr_options_resolve(context->model, options, &resolved, error);
    if (status != TR_OK)
        return status;
    tr_pair pair;
    status = tr_pair_choose(context->model, resolved.source_language, resolved.target_language, false, &pair, error);
    if (status != TR_OK)
        return status;
    counter c = {.options = &resolved, .counts.texts = count};
    tr_job job = {.count = count,
                  .max_length = resolved.max_length,
                  .min_length = resolved.min_length,
                  .start = &pair.start,
                  .done = resolved.progress ? count_units : NULL,
                  .argument = &c};
    int32_t *memory = NULL;
    const tr_config *config = &context->model->package.config;
    status = lay_out(config, &pair, sources, count, &job.units, &memory, error);
    if (status == TR_OK)
        status = tr_scheduler_run(context->scheduler, &job, error);
    if (status == TR_OK)
        status = take_targets(config, sources, job.units, count, outputs, error);
    tr_units_free(job.units, count);
    free(memory);
    return status;
}
