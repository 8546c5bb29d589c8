#include "run/stream.h"

#include <stdlib.h>
#include <string.h>

#include "tokenizer/traditional.h"

tr_status tr_stream_init(tr_stream *stream, const tr_translate_options *options, const tr_tokenizer *tokenizer,
                         tr_bytes traditional, int32_t eos_id, size_t requests, tr_error *error)
{
    *stream = (tr_stream){.options = options, .tokenizer = tokenizer, .traditional = traditional, .eos_id = eos_id};
    stream->samples = (size_t)options->search.n_best;
    stream->emitted = calloc(requests ? requests * stream->samples : 1, sizeof *stream->emitted);
    if (!stream->emitted)
        return tr_fail_memory(error, "translation");
    stream->count = requests * stream->samples;
    return TR_OK;
}

static void free_text(tr_stream_text *text)
{
    tr_incremental_text_free(&text->text);
    tr_buffer_free(&text->held);
    *text = (tr_stream_text){.started = text->started};
}

void tr_stream_free(tr_stream *stream)
{
    for (size_t i = 0; i < stream->count; i++)
        free_text(&stream->emitted[i]);
    free(stream->emitted);
    tr_buffer_free(&stream->bytes);
    *stream = (tr_stream){0};
}

static tr_stream_text *text_of(const tr_stream *stream, size_t request, const tr_decoded_token *step)
{
    return &stream->emitted[request * stream->samples + (size_t)step->draw];
}

/* Finds what the newest token adds, and writes it in traditional characters. */
static tr_status add_text(const tr_stream *stream, tr_stream_text *text, bool last, tr_error *error)
{
    const tr_span emitted = text->text.emitted;
    const char *const data = text->text.text.data;
    tr_buffer *const held = &text->held;
    const size_t size = emitted.end - emitted.begin, gone = text->added.size;
    text->added = (tr_bytes){size ? data + emitted.begin : NULL, size};
    if (!stream->traditional.size)
        return TR_OK;
    if (gone)
        memmove(held->data, held->data + gone, held->size -= gone);
    if (size && !tr_buffer_append(held, data + emitted.begin, size))
        return tr_fail_memory(error, "translation");
    text->added.data = held->data;
    text->added.size = last ? held->size : tr_traditional_settled(stream->traditional, held->data, held->size);
    tr_traditional_write(stream->traditional, held->data, text->added.size);
    return TR_OK;
}

tr_status tr_stream_add(tr_stream *stream, size_t request, const tr_decoded_token *step, bool *begins, tr_error *error)
{
    tr_stream_text *text = text_of(stream, request, step);
    if (step->step == 0) { /* the first time, or again */
        free_text(text);
        text->text.only_whole = stream->options->search.valid_utf8;
        text->started = false;
    }
    const int32_t id = step->id == stream->eos_id ? -1 : step->id;
    tr_status status =
        stream->tokenizer ? tr_tokenizer_decode_next(stream->tokenizer, &text->text, id, step->last, error) : TR_OK;
    if (status == TR_OK)
        status = add_text(stream, text, step->last, error);
    *begins = stream->tokenizer && !text->started && (step->last || text->added.size);
    return status;
}

tr_status tr_stream_event(tr_stream *stream, const tr_token_event *event, bool more, bool *stop, tr_error *error)
{
    const tr_translate_options *o = stream->options;
    const int answer = o->on_token(o->on_token_argument, event);
    *stop = answer > 0;
    stream->stopped = stream->stopped || (answer > 0 && more);
    return answer >= 0 ? TR_OK
                       : tr_fail(error, TR_ERROR_CANCELLED, "translation: cancelled by the callback that takes tokens");
}

tr_status tr_stream_emit(tr_stream *stream, size_t request, const tr_decoded_token *step, tr_token_event *event,
                         const tr_buffer *front, bool space, bool *stop, tr_error *error)
{
    tr_stream_text *own = text_of(stream, request, step);
    const tr_bytes added = own->added;
    tr_buffer *out = &stream->bytes;
    tr_buffer_clear(out);
    if ((front &&
         (!tr_buffer_append(out, front->data, front->size) || (space && added.size && !tr_buffer_string(out, " ")))) ||
        (added.size && !tr_buffer_append(out, added.data, added.size)))
        return tr_fail_memory(error, "translation");
    own->started = own->started || front;
    event->sample = step->draw;
    event->step = step->step;
    event->id = step->id;
    event->log_probability = step->log_probability;
    event->last = step->last;
    event->bytes = out->size ? out->data : "";
    event->size = out->size;
    const tr_status status = tr_stream_event(stream, event, !step->last, stop, error);
    if (step->last)
        free_text(own);
    return status;
}

tr_status tr_stream_source(tr_stream *stream, size_t request, const tr_decoded_token *step, bool again, bool *stop,
                           tr_error *error)
{
    bool begins;
    tr_token_event event = {.text = request, .sentences = 1, .restarted = again};
    const tr_status status = tr_stream_add(stream, request, step, &begins, error);
    return status == TR_OK ? tr_stream_emit(stream, request, step, &event, NULL, false, stop, error) : status;
}
