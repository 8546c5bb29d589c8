#include "cli/stream.h"

#include <stdlib.h>
#include <string.h>

int cli_stream_check(const cli_settings *s)
{
    if (!s->stream)
        return CLI_DONE;
    if (s->search.beam > 1)
        return cli_usage(s, "--stream: not with --beam %d, which knows a translation's first word at its end",
                         s->search.beam);
    if (s->search.n_best > 1 || s->search.alternatives)
        return cli_usage(s, "--stream: not with %s; it prints one translation",
                         s->search.alternatives ? "--alternatives" : "--n-best");
    if (s->json || s->tokens)
        return cli_usage(s, "--stream: not with %s; it prints text", s->json ? "--json" : "--tokens");
    if (s->output && strcmp(s->output, "-") != 0)
        return cli_usage(s, "--stream: not with --output %s, which appears complete or not at all", s->output);
    return CLI_DONE;
}

static void print(cli_stream *s, const char *data, size_t size)
{
    if (size && !s->status)
        s->status = s->write(s->argument, data, size);
    s->printed += size;
}

/* What the first undone sentence has, and those behind it that only waited for it. */
static void print_ready(cli_stream *s)
{
    for (; s->at < s->count; s->at++) {
        cli_spoken *spoken = &s->sentences[s->at];
        print(s, spoken->text.data, spoken->text.size);
        tr_buffer_clear(&spoken->text);
        if (!spoken->done)
            break;
    }
}

int cli_stream_take(void *argument, const tr_token_event *step)
{
    cli_stream *s = argument;
    if (!s->sentences && !(s->sentences = calloc((size_t)step->sentences, sizeof *s->sentences)))
        s->status = cli_fail_memory();
    if (s->status)
        return -1;
    s->count = step->sentences;
    cli_spoken *spoken = &s->sentences[step->sentence];
    const size_t before = spoken->text.size;
    spoken->done = step->last;
    if (step->size && !tr_buffer_append(&spoken->text, step->bytes, step->size))
        s->status = cli_fail_memory();
    else if (step->size)
        cli_fit(&s->form, spoken->text.data + before, step->size);
    if (!s->status)
        print_ready(s);
    return s->status ? -1 : 0;
}

int cli_stream_end(cli_stream *s, const tr_buffer *rendered)
{
    const size_t printed = s->printed < rendered->size ? s->printed : rendered->size;
    print(s, rendered->data + printed, rendered->size - printed);
    const int status = s->status;
    cli_stream_free(s);
    s->status = status;
    return status;
}

void cli_stream_free(cli_stream *s)
{
    for (int i = 0; i < s->count; i++)
        tr_buffer_free(&s->sentences[i].text);
    free(s->sentences);
    s->sentences = NULL;
    s->count = s->at = 0;
    s->printed = 0;
}
