#include "run/stream.h"

#include <stdlib.h>

static tr_status out_of_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "translation: out of memory");
}

tr_status tr_stream_init(tr_stream *steps, const tr_translate_options *options, const tr_tokenizer *tokenizer,
                         int32_t end_id, size_t units, tr_error *error)
{
    *steps = (tr_stream){.options = options, .tokenizer = tokenizer, .end_id = end_id};
    if (!options->on_token)
        return TR_OK;
    steps->draws = (size_t)options->search.n_best;
    steps->emitted = calloc(units ? units * steps->draws : 1, sizeof *steps->emitted);
    if (!steps->emitted)
        return out_of_memory(error);
    steps->count = units * steps->draws;
    return TR_OK;
}

void tr_stream_free(tr_stream *steps)
{
    for (size_t i = 0; i < steps->count; i++)
        tr_incremental_text_free(&steps->emitted[i].text);
    free(steps->emitted);
    tr_buffer_free(&steps->emitting);
    *steps = (tr_stream){0};
}

static tr_stream_text *told_of(const tr_stream *steps, size_t unit, const tr_decoded_token *step)
{
    return &steps->emitted[unit * steps->draws + (size_t)step->draw];
}

tr_status tr_stream_add(tr_stream *steps, size_t unit, const tr_decoded_token *step, bool *begins, tr_error *error)
{
    tr_stream_text *told = told_of(steps, unit, step);
    if (step->step == 0) { /* anew, perhaps */
        tr_incremental_text_free(&told->text);
        told->started = false;
    }
    const int32_t id = step->id == steps->end_id ? -1 : step->id;
    const tr_status status =
        steps->tokenizer ? tr_tokenizer_decode_next(steps->tokenizer, &told->text, id, step->last, error) : TR_OK;
    *begins = steps->tokenizer && !told->started && (step->last || told->text.emitted.begin < told->text.emitted.end);
    return status;
}

tr_status tr_stream_emit(tr_stream *steps, size_t unit, const tr_decoded_token *step, tr_token_event *told,
                         const tr_buffer *front, bool space, bool *stop, tr_error *error)
{
    const tr_translate_options *o = steps->options;
    tr_stream_text *own = told_of(steps, unit, step);
    const tr_span added = own->text.emitted;
    const size_t size = added.end - added.begin;
    tr_buffer *out = &steps->emitting;
    tr_buffer_clear(out);
    if ((front && (!tr_buffer_append(out, front->data, front->size) || (space && size && !tr_buffer_string(out, " ")))) ||
        (size && !tr_buffer_append(out, own->text.text.data + added.begin, size)))
        return out_of_memory(error);
    own->started = own->started || front;
    told->sample = step->draw;
    told->step = step->step;
    told->id = step->id;
    told->log_probability = step->log_probability;
    told->last = step->last;
    told->bytes = out->size ? out->data : "";
    told->size = out->size;
    const int answer = o->on_token(o->on_token_argument, told);
    *stop = answer > 0;
    steps->stopped = steps->stopped || (answer > 0 && !step->last);
    if (step->last)
        tr_incremental_text_free(&own->text);
    return answer >= 0 ? TR_OK
                       : tr_fail(error, TR_ERROR_CANCELLED, "translation: cancelled by the callback that takes tokens");
}
