#define _GNU_SOURCE
#include "cli/pairs.h"

#include "cli/lines.h"
#include "cli/progress.h"
#include "util/utf8.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 2048, READ_BYTES = 1 << 20, MAX_LINE = 64 * TR_PARALLEL_LENGTH /* bytes; longer lines are not tokenized */ };

/* Tokens of a line: ids[first .. first + count) of a thread. */
typedef struct line_tokens {
    int thread;
    size_t first, count;
} line_tokens;

typedef struct tokenizing_thread {
    tr_ids ids;
    tr_buffer clean;
    tr_status status;
    tr_error error;
} tokenizing_thread;

typedef struct pairs {
    const cli_settings *settings;
    cli_reader readers[2];
    tr_tokenizer *const *tokenizers;
    tr_team *team;
    tr_parallel *text;
    tokenizing_thread *threads; /* one for each thread of the team */
    tr_buffer lines[2];         /* present lines, concatenated */
    size_t ends[2][LINES];      /* of each line */
    size_t count[2];
    line_tokens tokens[2][LINES];
    atomic_size_t next; /* next line to tokenize */
    atomic_bool failed;
    atomic_uint_fast64_t invalid; /* lines with invalid UTF-8 */
    uint64_t line;                /* lines before the present ones */
} pairs;

/* ------------------------------------------------------------------------------------------------------------- cutting */

static const char *line_of(const pairs *p, int side, size_t i, size_t *size)
{
    const size_t first = i ? p->ends[side][i - 1] : 0;
    *size = p->ends[side][i] - first;
    return *size ? p->lines[side].data + first : "";
}

/* A line that is too long is not tokenized, and counts one token too many. */
static void tokenize_line(pairs *p, int side, size_t i, int thread)
{
    tokenizing_thread *w = &p->threads[thread];
    size_t size;
    const char *text = line_of(p, side, i, &size);
    line_tokens *c = &p->tokens[side][i];
    *c = (line_tokens){thread, w->ids.size, 0};
    if (size > MAX_LINE) {
        c->count = TR_PARALLEL_LENGTH + 1;
        return;
    }
    if (!tr_utf8_valid(text, size)) {
        atomic_fetch_add(&p->invalid, 1);
        w->clean.size = 0;
        if (!tr_utf8_clean(text, size, &w->clean))
            w->status = tr_fail(&w->error, TR_ERROR_MEMORY, "out of memory");
        text = w->clean.data, size = w->clean.size;
    }
    if (w->status == TR_OK)
        w->status = tr_tokenizer_encode(p->tokenizers[side], text, size, &w->ids, &w->error);
    c->count = w->ids.size - c->first;
}

static void tokenize_lines(void *argument, int thread)
{
    pairs *p = argument;
    const size_t count = p->count[0];
    tokenizing_thread *w = &p->threads[thread];
    w->ids.size = 0;
    for (size_t i; !atomic_load(&p->failed) && (i = atomic_fetch_add(&p->next, 1)) < count;) {
        tokenize_line(p, 0, i, thread);
        tokenize_line(p, 1, i, thread);
        if (w->status != TR_OK)
            atomic_store(&p->failed, true);
    }
}

static int fail_thread(const pairs *p)
{
    for (int t = 0; t < tr_team_size(p->team); t++)
        if (p->threads[t].status != TR_OK)
            return cli_fail_error(&p->threads[t].error);
    return CLI_FAILED;
}

static const int32_t *tokens_of(const pairs *p, int side, size_t i)
{
    const line_tokens *c = &p->tokens[side][i];
    return c->count <= TR_PARALLEL_LENGTH && c->count ? p->threads[c->thread].ids.data + c->first : NULL;
}

/* Tokenizes the present lines and adds them to the text. */
static int add_lines(pairs *p)
{
    tr_error error;
    atomic_store(&p->next, 0);
    if (tr_team_run(p->team, tokenize_lines, p, &error))
        return cli_fail_error(&error);
    if (atomic_load(&p->failed))
        return fail_thread(p);
    for (size_t i = 0; i < p->count[0]; i++)
        if (!tr_parallel_add(p->text, tokens_of(p, 0, i), p->tokens[0][i].count, tokens_of(p, 1, i), p->tokens[1][i].count))
            return cli_fail_memory();
    p->line += p->count[0];
    return CLI_DONE;
}

/* ------------------------------------------------------------------------------------------------------------- reading */

/* Reads LINES lines of a side, or fewer at its end. */
static int read_lines(pairs *p, int side)
{
    const cli_line *lines;
    size_t count = 1;
    p->lines[side].size = p->count[side] = 0;
    while (count && p->count[side] < LINES) {
        const int status = cli_reader_next(&p->readers[side], LINES - p->count[side], READ_BYTES, &lines, &count);
        if (status)
            return status;
        for (size_t i = 0; i < count; i++) {
            if (!tr_buffer_append(&p->lines[side], lines[i].text, lines[i].size))
                return cli_fail_memory();
            p->ends[side][p->count[side]++] = p->lines[side].size;
        }
    }
    return CLI_DONE;
}

static int read_all(pairs *p)
{
    const uint64_t sizes[2] = {p->readers[0].file_size, p->readers[1].file_size};
    if (!p->settings->quiet && sizes[0] && sizes[1])
        cli_progress_start(&(cli_progress){.total = sizes[0] + sizes[1]}, CLI_UNIT_BYTES);
    for (;;) {
        int status = read_lines(p, 0);
        if (!status)
            status = read_lines(p, 1);
        if (status)
            return status;
        if (p->count[0] != p->count[1]) {
            const int fewer = p->count[1] < p->count[0];
            return cli_fail("%s: ends after line %" PRIu64 ", but %s goes on: both need the same number of lines",
                            p->readers[fewer].name, p->line + p->count[fewer], p->readers[!fewer].name);
        }
        if (!p->count[0])
            return CLI_DONE;
        status = add_lines(p);
        if (status)
            return status;
        cli_progress_update(
            &(cli_progress){.done = p->readers[0].consumed + p->readers[1].consumed, .total = sizes[0] + sizes[1]});
    }
}

static int open_and_read(pairs *p, char *const paths[2])
{
    int status = cli_reader_open(&p->readers[0], p->settings, paths[0]);
    if (status)
        return status;
    status = cli_reader_open(&p->readers[1], p->settings, paths[1]);
    if (!status) {
        status = read_all(p);
        cli_progress_stop();
        cli_reader_close(&p->readers[1]);
    }
    cli_reader_close(&p->readers[0]);
    return status;
}

int cli_read_pairs(const cli_settings *settings, char *const paths[2], tr_tokenizer *const tokenizers[2], tr_team *team,
                   tr_parallel *text)
{
    pairs *p = calloc(1, sizeof *p);
    const size_t threads = (size_t)tr_team_size(team);
    int status = p ? CLI_DONE : cli_fail_memory();
    if (!p)
        return status;
    p->settings = settings;
    p->tokenizers = tokenizers;
    p->team = team;
    p->text = text;
    p->threads = calloc(threads, sizeof *p->threads);
    status = p->threads ? open_and_read(p, paths) : cli_fail_memory();
    for (size_t t = 0; p->threads && t < threads; t++) {
        tr_ids_free(&p->threads[t].ids);
        tr_buffer_free(&p->threads[t].clean);
    }
    if (!status && atomic_load(&p->invalid))
        cli_warn(settings, "%s, %s: %" PRIuFAST64 " lines hold invalid UTF-8 or NUL bytes, taken as U+FFFD", paths[0],
                 paths[1], atomic_load(&p->invalid));
    free(p->threads);
    tr_buffer_free(&p->lines[0]);
    tr_buffer_free(&p->lines[1]);
    free(p);
    return status;
}
