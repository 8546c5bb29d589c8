/* translate [OPTIONS] [TEXT...] */
#define _GNU_SOURCE
#include "cli/alignment.h"
#include "cli/answers.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/resume.h"
#include "cli/search.h"
#include "cli/signals.h"
#include "cli/stream.h"
#include "api/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Lines that are translated together: enough that threads seldom wait for each other's last sentences. Text appears as it is
 * done; tokens (--tokens), and what goes through two models, appear chunk by chunk, so the first is small, and they grow
 * while one takes less than a second. */
enum { FIRST_CHUNK = 512, LARGEST_CHUNK = 16384, CHUNK_BYTES = 4 << 20 };

enum { GUARD_ON, GUARD_OFF }; /* cli_settings.loop_guard */

typedef struct job {
    const cli_settings *settings;
    cli_chain chain;
    cli_translator translator;
    tr_ids forbidden; /* tokens that never come */
    cli_reader reader;
    cli_output output;
    uint64_t bytes_done;  /* of the input: the chunks before this one */
    uint64_t chunk_bytes; /* of this one */
    cli_totals before;    /* counted in those */
    bool same_terminal;   /* what is written may go to the terminal that shows the progress */
} job;

/* -------------------------------------------------------------------------------------------------------------- usage */

static bool writes_file(const cli_settings *s)
{
    return s->output && strcmp(s->output, "-") != 0;
}

static int check_usage(const cli_settings *s)
{
    if (s->input && s->argument_count)
        return cli_usage(s, "--input %s: TEXT is given too; only one of them", s->input);
    if (s->ids && !s->tokens)
        return cli_usage(s, "--ids: needs --tokens");
    if (s->resume && !writes_file(s))
        return cli_usage(s, "--resume: needs --output FILE");
    if (s->resume && s->argument_count)
        return cli_usage(s, "--resume: needs lines from a file or standard input, not TEXT");
    if (s->loop_guard == GUARD_ON && s->tokens)
        return cli_usage(s, "--loop-guard on: guards text; --tokens gives what the network says");
    if (s->loop_guard == GUARD_ON && s->stream)
        return cli_usage(s, "--loop-guard on: translates some sentences again; --stream has printed them");
    int status = cli_alignment_check(s);
    if (!status)
        status = cli_stream_check(s);
    return status ? status : cli_search_check(s);
}

/* What can only be said once the models are known. */
static int settle_options(job *j)
{
    const cli_model *model = &j->chain.links[0].model; /* those of a folder have a tokenizer */
    if (!j->settings->tokens && !model->info.has_tokenizer)
        return cli_fail("%s: the model has no tokenizer; give it pieces, with --tokens", model->path);
    int status = CLI_DONE;
    for (int i = 0; !status && i < j->chain.count; i++)
        status = cli_alignment_options(j->settings, &j->chain.links[i].model, &j->translator.options.alignment);
    if (!status)
        status = cli_search_forbidden(j->settings, &j->chain.links[j->chain.count - 1].model, &j->forbidden);
    j->translator.options.search = cli_search(j->settings, &j->forbidden);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- one chunk */

/* Each model of a chain counts as much as the others; lines and tokens are the last one's. */
static void show_progress(const job *j, const tr_progress *p)
{
    const cli_totals *totals = &j->before; /* the translator counts what is written */
    const int models = j->chain.count, link = j->translator.link;
    const bool last = link + 1 == models;
    const double share = (link + (p->texts ? (double)p->texts_done / (double)p->texts : 0)) / models;
    const cli_progress now = {.done = j->bytes_done + (uint64_t)(share * (double)j->chunk_bytes),
                              .total = j->reader.file_size,
                              .lines = totals->lines + (last ? p->texts_done : 0),
                              .tokens = totals->target_tokens + (last ? p->target_tokens : 0)};
    cli_progress_update(&now);
}

static int on_progress(void *argument, const tr_progress *p)
{
    show_progress(argument, p);
    return cli_interrupted() != 0;
}

static int write_output(void *argument, const char *data, size_t size)
{
    job *j = argument;
    if (j->same_terminal)
        cli_progress_clear();
    return cli_output_write(&j->output, data, size);
}

static int run_chunk(job *j, const cli_line *lines, size_t count, bool break_lines)
{
    j->chunk_bytes = j->reader.consumed - j->bytes_done;
    j->before = j->translator.totals;
    const int status = cli_translate_lines(&j->translator, lines, count, break_lines, write_output, j);
    j->bytes_done = j->reader.consumed;
    j->chunk_bytes = 0;
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- resume */

static int wrong_part(const job *j, const char *why)
{
    return cli_fail("%s: %s; delete it to start from the beginning", j->output.part, why);
}

static int keep_output(void *buffer, const char *data, size_t size)
{
    return tr_buffer_append(buffer, data, size) ? CLI_DONE : cli_fail_memory();
}

/* Translates the last finished line again: it tells whether FILE.part belongs to this input, also where that is a stream. */
static int check_last_line(job *j, const cli_line *line)
{
    const cli_totals before = j->translator.totals;
    const tr_buffer *last = &j->output.last;
    j->translator.totals.lines = j->output.lines - 1;
    tr_buffer again = {0};
    int status = cli_translate_lines(&j->translator, line, 1, false, keep_output, &again);
    j->translator.totals = before;
    j->translator.totals.lines = j->output.lines;
    if (!status && (again.size != last->size || memcmp(again.data, last->data, last->size) != 0))
        status = wrong_part(j, "its last line is not what this input gives");
    tr_buffer_free(&again);
    return status;
}

static bool reads(const tr_model *model, const struct stat *output)
{
    struct stat st;
    const tr_buffer *files = &model->package.read;
    for (const char *file = files->data, *end = file + files->size; file < end; file += strlen(file) + 1)
        if (stat(file, &st) == 0 && st.st_dev == output->st_dev && st.st_ino == output->st_ino)
            return true;
    return false;
}

static int refuse_model_as_output(const job *j)
{
    struct stat output;
    bool read = false;
    if (!j->output.part || lstat(j->output.target.path, &output) < 0)
        return CLI_DONE;
    for (int i = 0; i < j->chain.count; i++) {
        const cli_model *model = &j->chain.links[i].model;
        read |= reads(model->model, &output);
        for (int other = 0; other < model->other_count; other++)
            read |= reads(model->others[other], &output);
    }
    return read ? cli_usage(j->settings, "%s: is the model and the output", j->settings->output) : CLI_DONE;
}

/* Before the first byte: what the lines of FILE.part depend on, or the same as of those that are there. */
static int begin_part(job *j)
{
    tr_buffer run = {0};
    int status = cli_resume_describe(j->settings, &j->reader, &j->chain, &run);
    if (!status)
        status = cli_output_resume(&j->output, j->settings, &run);
    tr_buffer_free(&run);
    return status;
}

/* Passes over the lines of the input that FILE.part already holds. */
static int skip_finished(job *j)
{
    for (uint64_t left = j->output.lines; left;) {
        const cli_line *lines;
        size_t count;
        int status = cli_reader_next(&j->reader, left < LARGEST_CHUNK ? left : LARGEST_CHUNK, CHUNK_BYTES, &lines, &count);
        if (status)
            return status;
        if (!count)
            return wrong_part(j, "it has more lines than the input");
        left -= count;
        if (!left) {
            status = check_last_line(j, &lines[count - 1]);
            if (status)
                return status;
        }
    }
    j->bytes_done = j->reader.consumed;
    if (j->settings->verbose && j->output.lines)
        cli_note("%s: %" PRIu64 " lines are done already", j->output.part, j->output.lines);
    return CLI_DONE;
}

/* -------------------------------------------------------------------------------------------------------- the whole run */

static int run_lines(job *j)
{
    const bool stream = j->settings->stream; /* a line at a time */
    const size_t largest = stream ? 1 : LARGEST_CHUNK;
    size_t limit = !stream && (j->settings->tokens || j->chain.count > 1) ? FIRST_CHUNK : largest;
    int status = skip_finished(j);
    if (!status && !j->settings->quiet && !stream) {
        const cli_progress first = {j->bytes_done, j->reader.file_size, j->translator.totals.lines, 0};
        cli_progress_start(&first, CLI_UNIT_LINES);
    }
    while (!status && !cli_interrupted()) {
        const cli_line *lines;
        size_t count;
        status = cli_reader_next(&j->reader, limit, CHUNK_BYTES, &lines, &count);
        if (status || !count)
            break;
        const double start = cli_seconds();
        status = run_chunk(j, lines, count, false);
        if (count == limit && limit < largest && cli_seconds() - start < 1)
            limit *= 2;
    }
    cli_progress_stop();
    return status;
}

static int run_text(job *j)
{
    tr_buffer text = {0};
    int status = cli_join_arguments(j->settings, &text);
    const cli_line line = {text.data, text.size, false};
    if (!status)
        status = run_chunk(j, &line, 1, true);
    tr_buffer_free(&text);
    return status;
}

static void print_stats(const job *j)
{
    const cli_totals *t = &j->translator.totals;
    double load_seconds = 0;
    for (int i = 0; i < j->chain.count; i++)
        load_seconds += j->chain.links[i].model.load_seconds;
    cli_note("%" PRIu64 " sentences, %" PRIu64 " tokens, %.3f s, %.1f tokens/s, load %.1f ms, peak %.1f MB", t->sentences,
             t->target_tokens, t->seconds, t->seconds > 0 ? (double)t->target_tokens / t->seconds : 0.0, load_seconds * 1e3,
             cli_peak_megabytes());
}

/* What remains to be said and done when the run did not come to its end. */
static int abandon(job *j, int status)
{
    char *part = j->output.part ? strdup(j->output.part) : NULL;
    const bool kept = cli_output_abandon(&j->output);
    const int number = cli_interrupted();
    if (number && kept)
        cli_fail("interrupted: %s holds what is done; the same command with --resume continues it",
                 part ? part : "FILE.part");
    else if (number && part)
        cli_fail("interrupted: nothing was written");
    free(part);
    return number ? 128 + number : status;
}

/* The language is detected from what there is to translate, as far as it can be read now; nothing of it is taken away. */
static int open_chain(job *j)
{
    const cli_settings *s = j->settings;
    if (!cli_detects(s))
        return cli_chain_open(&j->chain, s, NULL, 0);
    tr_buffer joined = {0};
    const char *sample = NULL;
    size_t size = 0;
    int status = s->argument_count ? cli_join_arguments(s, &joined) : cli_reader_sample(&j->reader, &sample, &size);
    if (!status)
        status = cli_chain_open(&j->chain, s, sample ? sample : joined.data, sample ? size : joined.size);
    tr_buffer_free(&joined);
    return status;
}

static int run(job *j)
{
    const cli_settings *s = j->settings;
    const bool text = s->argument_count > 0;
    int status = cli_chain_find(&j->chain, s);
    if (!status && !text)
        status = cli_reader_open(&j->reader, s->input);
    if (status)
        return status;
    j->same_terminal = !writes_file(s) && isatty(STDOUT_FILENO);
    const bool bar = !s->quiet && !text && j->reader.file_size && cli_progress_possible();
    if ((writes_file(s) || bar) && !cli_catch_interrupts())
        return cli_fail("signals: cannot be caught, too many open files");
    status = cli_output_open(&j->output, s, j->reader.descriptor);
    if (status)
        return status;
    if (!text && !s->input && !s->quiet && isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
        cli_note("type text, then Enter; Ctrl-D ends (translate --help tells more)");
    status = open_chain(j);
    if (!status)
        status = settle_options(j);
    if (!status)
        status = refuse_model_as_output(j);
    if (!status && j->output.part && !text)
        status = begin_part(j);
    if (!status)
        status = text ? run_text(j) : run_lines(j);
    if (!status && cli_interrupted())
        status = CLI_FAILED;
    if (!status)
        status = cli_output_finish(&j->output);
    if (!status && s->stats)
        print_stats(j);
    return status;
}

int cli_translate(const cli_settings *settings)
{
    int status = check_usage(settings);
    if (status)
        return status;
    job j = {.settings = settings, .reader.descriptor = -1, .output.descriptor = -1};
    j.translator = (cli_translator){.settings = settings, .chain = &j.chain, .options = tr_translate_default_options()};
    j.translator.options.max_length = settings->max_length;
    j.translator.options.min_length = settings->min_length;
    j.translator.options.split = (tr_split)settings->split;
    j.translator.options.scores = settings->scores;
    j.translator.options.align = settings->alignment;
    j.translator.options.loop_guard = settings->loop_guard != GUARD_OFF && !settings->stream;
    j.translator.options.on_progress = on_progress;
    j.translator.options.on_progress_argument = &j;
    status = run(&j);
    if (status)
        status = abandon(&j, status);
    cli_reader_close(&j.reader);
    cli_chain_leave(&j.chain);
    cli_translator_free(&j.translator);
    tr_ids_free(&j.forbidden);
    return status;
}
