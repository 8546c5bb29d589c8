/* The public calls that turn texts into tokens and tokens into texts. */
#include "api/tokens.h"

#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

/* ----------------------------------------------------------------------------------------------------- texts to tokens */

tr_status tr_source_tokens(const tr_model *model, const char *text, size_t size, tr_tokens *tokens, tr_error *error)
{
    if (!tokens)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_tokenize: tokens is NULL");
    *tokens = (tr_tokens){0};
    if (!model || (!text && size))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_tokenize: %s is NULL", model ? "text" : "model");
    tr_buffer clean = {0};
    tr_ids ids = {0};
    tr_status status = tr_model_needs_tokenizer(model, error);
    if (status == TR_OK && !tr_utf8_valid(text, size)) {
        if (!tr_utf8_clean(text, size, &clean))
            status = tr_fail_memory(error, "tokens");
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

tr_status tr_target_tokens(const tr_model *model, const char *text, size_t size, tr_tokens *tokens, tr_error *error)
{
    if (!tokens)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_tokenize: tokens is NULL");
    *tokens = (tr_tokens){0};
    if (!model || (!text && size))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_tokenize: %s is NULL", model ? "text" : "model");
    const tr_tokenizer *tokenizer;
    tr_buffer clean = {0};
    tr_ids ids = {0};
    tr_status status = tr_model_target_tokenizer(model, &tokenizer, error);
    if (status == TR_OK && !tr_utf8_clean(text, size, &clean))
        status = tr_fail_memory(error, "tokens");
    if (status == TR_OK)
        status = tr_tokenizer_encode(tokenizer, clean.data, clean.size, &ids, error);
    tr_buffer_free(&clean);
    if (status != TR_OK) {
        tr_ids_free(&ids);
        return status;
    }
    *tokens = (tr_tokens){ids.data, ids.size};
    return TR_OK;
}

static tr_status choose_tokenizer(const tr_model *model, bool target, const tr_tokenizer **tokenizer, tr_error *error)
{
    if (target)
        return tr_model_target_tokenizer(model, tokenizer, error);
    *tokenizer = model->tokenizer;
    return tr_model_needs_tokenizer(model, error);
}

/* Puts an empty span before the others. */
static bool prepend_span(tr_span **spans, size_t count)
{
    tr_span *more = realloc(*spans, (count + 1) * sizeof *more);
    if (!more)
        return false;
    memmove(more + 1, more, count * sizeof *more);
    more[0] = (tr_span){0, 0};
    *spans = more;
    return true;
}

tr_status tr_text_tokens(const tr_model *model, bool target, const char *text, size_t size, int32_t before,
                         tr_tokens *tokens, tr_span **spans, unsigned *flags, tr_error *error)
{
    const tr_tokenizer *tokenizer;
    tr_buffer clean = {0};
    tr_ids ids = {0};
    *tokens = (tr_tokens){0};
    *spans = NULL;
    tr_status status = choose_tokenizer(model, target, &tokenizer, error);
    if (status == TR_OK && !tr_utf8_valid(text, size)) {
        *flags |= TR_FLAG_INVALID_UTF8;
        if (!tr_utf8_clean(text, size, &clean))
            status = tr_fail_memory(error, "tokens");
        text = clean.data;
        size = clean.size;
    }
    if (status == TR_OK && before >= 0 && !tr_ids_append(&ids, &before, 1))
        status = tr_fail_memory(error, "tokens");
    if (status == TR_OK)
        status = tr_tokenizer_encode_spans(tokenizer, text ? text : "", size, &ids, spans, error);
    if (status == TR_OK && before >= 0 && !prepend_span(spans, ids.size - 1))
        status = tr_fail_memory(error, "tokens");
    tr_buffer_free(&clean);
    if (status != TR_OK) {
        tr_ids_free(&ids);
        free(*spans);
        *spans = NULL;
        return status;
    }
    *tokens = (tr_tokens){ids.data, ids.size};
    return TR_OK;
}

tr_status tr_tokenize_spans(const tr_model *model, bool target, const char *text, size_t size, tr_tokens *tokens,
                            tr_span **spans, tr_error *error)
{
    unsigned flags = 0;
    if (!tokens || !spans)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_tokenize: %s is NULL", tokens ? "spans" : "tokens");
    *tokens = (tr_tokens){0};
    *spans = NULL;
    if (!model || (!text && size))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_tokenize: %s is NULL", model ? "text" : "model");
    return tr_text_tokens(model, target, text, size, -1, tokens, spans, &flags, error);
}

/* ------------------------------------------------------------------------------------------------------------ prefixes */

enum { SHOWN = 64 }; /* bytes of a prefix in a message */

tr_status tr_prefix_tokens(const tr_model *model, const char *prefix, int limit, tr_ids *ids, tr_error *error)
{
    const size_t size = strlen(prefix);
    const int shown = (int)(size < SHOWN ? size : SHOWN);
    const int32_t unknown = model->package.config.target_unk_id;
    tr_tokens tokens;
    if (size > (size_t)limit && size > (size_t)limit * tr_vocabulary_longest(model->package.target))
        return tr_fail(error, TR_ERROR_ARGUMENT,
                       "prefix '%.*s': has %zu bytes, more than the %d tokens of a translation spell", shown, prefix, size,
                       limit);
    tr_status status = tr_target_tokens(model, prefix, size, &tokens, error);
    if (status == TR_OK && tokens.count > (size_t)limit)
        status = tr_fail(error, TR_ERROR_ARGUMENT, "prefix '%.*s': has %zu tokens, but a translation has %d at most", shown,
                         prefix, tokens.count, limit);
    for (size_t i = 0; status == TR_OK && i < tokens.count; i++)
        if (tokens.ids[i] == unknown)
            status = tr_fail(error, TR_ERROR_ARGUMENT,
                             "prefix '%.*s': the model's target vocabulary has no tokens for a part of it", shown, prefix);
    if (status == TR_OK && !tr_ids_append(ids, tokens.ids, tokens.count))
        status = tr_fail_memory(error, "prefix");
    tr_tokens_free(&tokens);
    return status;
}

/* ----------------------------------------------------------------------------------------------------- tokens to texts */

/* spans: [count] or NULL. */
static tr_status decode_ids(const tr_model *model, const int32_t *ids, size_t count, char **text, size_t *size,
                            tr_span *spans, tr_error *error)
{
    tr_buffer out = {0};
    tr_status status = tr_model_needs_tokenizer(model, error);
    if (status == TR_OK && !tr_buffer_string(&out, ""))
        status = tr_fail_memory(error, "tokens");
    if (status == TR_OK)
        status = tr_tokenizer_decode_spans(model->tokenizer, ids, count, &out, spans, error);
    if (status != TR_OK) {
        tr_buffer_free(&out);
        return status;
    }
    *text = out.data;
    if (size)
        *size = out.size;
    return TR_OK;
}

tr_status tr_tokens_text(const tr_model *model, const int32_t *ids, size_t count, char **text, size_t *size, tr_error *error)
{
    if (size)
        *size = 0;
    if (!text)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_detokenize: text is NULL");
    *text = NULL;
    if (!model || (!ids && count))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_detokenize: %s is NULL", model ? "ids" : "model");
    return decode_ids(model, ids, count, text, size, NULL, error);
}

tr_status tr_detokenize_spans(const tr_model *model, const int32_t *ids, size_t count, char **text, size_t *size,
                              tr_span *spans, tr_error *error)
{
    if (size)
        *size = 0;
    if (!text)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_detokenize: text is NULL");
    *text = NULL;
    if (!model || (!ids && count) || (!spans && count))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_detokenize: %s is NULL", !model ? "model" : !ids ? "ids" : "spans");
    return decode_ids(model, ids, count, text, size, spans, error);
}

/* -------------------------------------------------------------------------------------------------------------- pieces */

static const char *piece_of(const tr_vocabulary *vocabulary, int32_t id, size_t *size)
{
    const bool known = id >= 0 && (size_t)id < vocabulary->size && vocabulary->pieces[id].data;
    if (size)
        *size = known ? vocabulary->pieces[id].size : 0;
    return known ? vocabulary->pieces[id].data : NULL;
}

const char *tr_source_piece(const tr_model *model, int32_t id, size_t *size)
{
    return piece_of(&model->package.source, id, size);
}

const char *tr_target_piece(const tr_model *model, int32_t id, size_t *size)
{
    return piece_of(model->package.target, id, size);
}

int32_t tr_source_id(const tr_model *model, const char *piece_text, size_t size)
{
    if (!piece_text)
        return -1;
    return tr_vocabulary_find(&model->package.source, piece_text, size);
}

int32_t tr_target_id(const tr_model *model, const char *piece_text, size_t size)
{
    if (!piece_text)
        return -1;
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
