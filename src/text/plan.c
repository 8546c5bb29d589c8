#include "text/plan.h"

#include <stdlib.h>

#include "text/characters.h"
#include "text/cut.h"
#include "util/utf8.h"

void tr_plan_clear(tr_plan *plan)
{
    plan->ids.size = 0;
    plan->count = 0;
}

void tr_plan_free(tr_plan *plan)
{
    tr_ids_free(&plan->ids);
    free(plan->chunks);
    *plan = (tr_plan){0};
}

void tr_text_free(tr_text *text)
{
    free(text->clean);
    *text = (tr_text){0};
}

static tr_status clean_text(tr_text *text, tr_error *error)
{
    if (tr_utf8_valid(text->data, text->size))
        return TR_OK;
    tr_buffer clean = {0};
    if (!tr_utf8_clean(text->data, text->size, &clean)) {
        tr_buffer_free(&clean);
        return tr_fail(error, TR_ERROR_MEMORY, "text: out of memory");
    }
    text->flags |= TR_FLAG_INVALID_UTF8;
    text->data = text->clean = clean.data;
    text->size = clean.size;
    return TR_OK;
}

static tr_status plan_sentence(tr_plan *plan, const tr_source_template *encoder, tr_text *text, tr_span span,
                               tr_error *error)
{
    const size_t before = plan->count;
    const tr_status status = tr_cut_sentence(plan, encoder, text->data, span, error);
    if (plan->count > before + 1)
        text->flags |= TR_FLAG_CUT;
    for (size_t i = before; i < plan->count; i++)
        plan->chunks[i].piece = plan->count > before + 1;
    text->sentences++;
    return status;
}

tr_status tr_plan_text(tr_plan *plan, const tr_source_template *encoder, tr_split split, const char *data, size_t size,
                       tr_text *text, tr_error *error)
{
    *text = (tr_text){.data = data, .size = size, .first = plan->count};
    tr_status status = clean_text(text, error);
    tr_source_template own;
    tr_span span;
    text->begin = encoder->typed ? encoder->typed(encoder, text->data, text->size, &own) : 0;
    if (text->begin) {
        encoder = &own;
        text->begin = tr_skip_space(text->data, text->size, text->begin);
    }
    text->unspaced = encoder->unspaced;
    if (split == TR_SPLIT_NEVER) {
        span.begin = tr_skip_space(text->data, text->size, text->begin);
        span.end = tr_trim_space(text->data, span.begin, text->size);
        if (status == TR_OK && span.begin < span.end)
            status = plan_sentence(plan, encoder, text, span, error);
    } else {
        tr_sentences sentences = tr_sentences_begin(text->data, text->size);
        sentences.at = text->begin;
        while (status == TR_OK && tr_sentences_next(&sentences, &span))
            status = plan_sentence(plan, encoder, text, span, error);
    }
    text->count = plan->count - text->first;
    return status;
}
