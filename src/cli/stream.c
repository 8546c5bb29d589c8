#include "cli/stream.h"

#include "cli/lines.h"

#include <stdlib.h>

static void print_text(cli_stream *s, const char *data, size_t size)
{
    if (size && !s->status)
        s->status = cli_output_write(s->output, data, size);
    s->printed += size;
}

/* Prints the text of the current sentence, and of those after it once it is done. */
static void print_ready(cli_stream *s)
{
    for (; s->current < s->count; s->current++) {
        cli_streamed_sentence *sentence = &s->sentences[s->current];
        print_text(s, sentence->text.data, sentence->text.size);
        tr_buffer_clear(&sentence->text);
        if (!sentence->done)
            break;
    }
}

int cli_stream_token(void *argument, const tr_token_event *event)
{
    cli_stream *s = argument;
    if (!s->sentences && !(s->sentences = calloc((size_t)event->sentences, sizeof *s->sentences)))
        s->status = cli_fail_memory();
    if (s->status)
        return -1;
    s->count = event->sentences;
    cli_streamed_sentence *sentence = &s->sentences[event->sentence];
    const size_t before = sentence->text.size;
    sentence->done = event->last;
    if (event->size && !tr_buffer_append(&sentence->text, event->bytes, event->size))
        s->status = cli_fail_memory();
    else if (event->size && s->keep_one_line)
        cli_keep_one_line(sentence->text.data + before, event->size, s->replace_tabs);
    if (!s->status)
        print_ready(s);
    return s->status ? -1 : 0;
}

int cli_stream_end(cli_stream *s, const tr_buffer *rendered)
{
    const size_t printed = s->printed < rendered->size ? s->printed : rendered->size;
    print_text(s, rendered->data + printed, rendered->size - printed);
    return s->status;
}

void cli_stream_free(cli_stream *s)
{
    for (int i = 0; i < s->count; i++)
        tr_buffer_free(&s->sentences[i].text);
    free(s->sentences);
}
