/* translate tokenize: from text to pieces or ids, and back. */
#include "cli/lines.h"
#include "cli/output.h"
#include "cli/pieces.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_LINES = 4096, CHUNK_BYTES = 1 << 20 };

typedef struct tokenizing {
    const cli_settings *settings;
    cli_model model;
    uint64_t line;
    tr_buffer out;
} tokenizing;

static int encode_line(tokenizing *t, const cli_line *line)
{
    tr_tokens tokens;
    tr_error error;
    if (tr_source_tokens(t->model.model, line->text, line->size, &tokens, &error))
        return cli_fail_error(&error);
    const bool good = t->settings->ids ? cli_print_ids(tokens.ids, tokens.count, &t->out)
                                       : cli_print_pieces(&t->model, CLI_SOURCE, tokens.ids, tokens.count, &t->out);
    tr_tokens_free(&tokens);
    return good ? CLI_DONE : cli_fail_memory();
}

static int decode_line(tokenizing *t, const cli_line *line)
{
    tr_ids ids = {0};
    tr_error error;
    char *text = NULL;
    size_t size;
    int status = t->settings->ids ? cli_parse_ids(&t->model, CLI_TARGET, line->text, line->size, t->line, &ids)
                                  : cli_parse_pieces(&t->model, CLI_TARGET, line->text, line->size, t->line, &ids);
    if (!status && tr_tokens_text(t->model.model, ids.data, ids.size, &text, &size, &error))
        status = cli_fail_error(&error);
    if (!status && !tr_buffer_append(&t->out, text, size))
        status = cli_fail_memory();
    tr_free(text);
    tr_ids_free(&ids);
    return status;
}

static int add_line(tokenizing *t, const cli_line *line)
{
    t->line++;
    const int status = t->settings->decode ? decode_line(t, line) : encode_line(t, line);
    if (status)
        return status;
    return tr_buffer_append(&t->out, line->carriage_return ? "\r\n" : "\n", 1 + (size_t)line->carriage_return)
               ? CLI_DONE
               : cli_fail_memory();
}

static int write_lines(tokenizing *t)
{
    const int status = cli_write(1, "standard output", t->out.data, t->out.size);
    tr_buffer_clear(&t->out);
    return status;
}

static int tokenize_input(tokenizing *t, cli_reader *reader)
{
    for (;;) {
        const cli_line *lines;
        size_t count;
        int status = cli_reader_next(reader, CHUNK_LINES, CHUNK_BYTES, &lines, &count);
        for (size_t i = 0; !status && i < count; i++)
            status = add_line(t, &lines[i]);
        if (!status)
            status = write_lines(t);
        if (status || !count)
            return status;
    }
}

static int tokenize_arguments(tokenizing *t)
{
    tr_buffer text = {0};
    int status = cli_join_arguments(t->settings, &text);
    const cli_line line = {text.data, text.size, false};
    if (!status)
        status = add_line(t, &line);
    if (!status)
        status = write_lines(t);
    tr_buffer_free(&text);
    return status;
}

int cli_tokenize(const cli_settings *settings)
{
    if (settings->input && settings->argument_count)
        return cli_usage(settings, "--input %s: TEXT is given too; only one of them", settings->input);
    tokenizing t = {.settings = settings};
    cli_reader reader = {.descriptor = -1};
    int status = settings->argument_count ? CLI_DONE : cli_reader_open(&reader, settings, settings->input);
    if (!status)
        status = cli_model_open(&t.model, settings, false);
    if (!status && !t.model.info.has_tokenizer)
        status = cli_fail("%s: the model has no tokenizer", t.model.path);
    if (!status)
        status = settings->argument_count ? tokenize_arguments(&t) : tokenize_input(&t, &reader);
    cli_reader_close(&reader);
    cli_model_close(&t.model);
    tr_buffer_free(&t.out);
    return status;
}
