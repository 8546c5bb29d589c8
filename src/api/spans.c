#include "api/spans.h"

#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

static tr_status out_of_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "tokens: out of memory");
}

static tr_status choose(const tr_model *model, bool target, const tr_tokenizer **tokenizer, tr_error *error)
{
    if (target)
        return tr_model_target_tokenizer(model, tokenizer, error);
    *tokenizer = model->tokenizer;
    return *tokenizer ? TR_OK : tr_fail(error, TR_ERROR_ARGUMENT, "model: it has no tokenizer, it takes tokens only");
}

/* An empty span in front of the others. */
static bool put_in_front(tr_span **spans, size_t count)
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
    tr_status status = choose(model, target, &tokenizer, error);
    if (status == TR_OK && !tr_utf8_valid(text, size)) {
        *flags |= TR_FLAG_INVALID_UTF8;
        if (!tr_utf8_clean(text, size, &clean))
            status = out_of_memory(error);
        text = clean.data;
        size = clean.size;
    }
    if (status == TR_OK && before >= 0 && !tr_ids_append(&ids, &before, 1))
        status = out_of_memory(error);
    if (status == TR_OK)
        status = tr_tokenizer_encode_spans(tokenizer, text ? text : "", size, &ids, spans, error);
    if (status == TR_OK && before >= 0 && !put_in_front(spans, ids.size - 1))
        status = out_of_memory(error);
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
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_tokenize_spans: %s is NULL", tokens ? "spans" : "tokens");
    *tokens = (tr_tokens){0};
    *spans = NULL;
    if (!model || (!text && size))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_tokenize_spans: %s is NULL", model ? "text" : "model");
    return tr_text_tokens(model, target, text, size, -1, tokens, spans, &flags, error);
}

tr_status tr_detokenize_spans(const tr_model *model, const int32_t *ids, size_t count, char **text, size_t *size,
                              tr_span *spans, tr_error *error)
{
    if (size)
        *size = 0;
    if (!text)
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_detokenize_spans: text is NULL");
    *text = NULL;
    if (!model || (!ids && count) || (!spans && count))
        return tr_fail(error, TR_ERROR_ARGUMENT, "tr_detokenize_spans: %s is NULL",
                       !model ? "model"
                       : !ids ? "ids"
                              : "spans");
    if (!model->tokenizer)
        return tr_fail(error, TR_ERROR_ARGUMENT, "model: it has no tokenizer, it takes tokens only");
    tr_buffer out = {0};
    tr_status status = tr_buffer_string(&out, "") ? TR_OK : out_of_memory(error);
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
