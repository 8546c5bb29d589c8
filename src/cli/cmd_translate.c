/* translate [OPTIONS] [TEXT...] */
#define _GNU_SOURCE
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/translate_options.h"
#include "cli/translator.h"
#include "api/context.h"
#include "util/clock.h"
#include "api/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Lines are translated in chunks, large enough that threads seldom wait for each other's last sentences. The lines of a
 * chunk are written as they are done. Tokens (--tokens), and texts that go through two models, are written chunk by chunk:
 * there the first chunk is small, and chunks grow as long as one takes less than a second. */
enum { FIRST_CHUNK = 512, LARGEST_CHUNK = 16384, CHUNK_BYTES = 4 << 20 };

typedef struct translation {
    const cli_settings *settings;
    cli_route route;
    cli_translator translator;
    tr_ids forbidden; /* --forbid */
    cli_reader reader;
    cli_output output;
    uint64_t bytes_done;  /* of the input, in chunks that are done */
    uint64_t chunk_bytes; /* of the present chunk */
    cli_totals before;    /* counts before the present chunk */
} translation;

/* ------------------------------------------------------------------------------------------------------------- opening */

/* The source language is detected from the input that can be read now; no input is lost by that. */
static int open_models(translation *j)
{
    const cli_settings *s = j->settings;
    if (!j->route.index && !cli_detects(s)) {
        j->route.count = 1;
        return cli_model_open(&j->route.models[0], s, true);
    }
    if (!cli_detects(s))
        return cli_route_open(&j->route, s, NULL, 0);
    tr_buffer joined = {0};
    const char *sample = NULL;
    size_t size = 0;
    int status = s->argument_count ? cli_join_arguments(s, &joined) : cli_reader_sample(&j->reader, &sample, &size);
    if (!status)
        status = cli_route_open(&j->route, s, sample ? sample : joined.data, sample ? size : joined.size);
    tr_buffer_free(&joined);
    return status;
}

/* Fills in the options that depend on the models. */
static int set_options(translation *j)
{
    const cli_settings *s = j->settings;
    const cli_route *route = &j->route;
    tr_translate_options *options = &j->translator.options;
    if (!s->tokens && !route->models[0].info.has_tokenizer)
        return cli_fail("%s: the model has no tokenizer; give it pieces, with --tokens", route->models[0].path);
    int status = CLI_DONE;
    for (int i = 0; !status && s->alignment && i < route->count; i++)
        status = cli_align_options(s, &route->models[i], &options->alignment);
    if (!status)
        status = cli_forbidden_ids(s, &route->models[route->count - 1], &j->forbidden);
    options->search = cli_search_options(s, &j->forbidden);
    return status;
}

static int refuse_output(const translation *j)
{
    const cli_settings *s = j->settings;
    int status = cli_check_other_file(s, s->output, s->glossary, "is the glossary and the output");
    for (int i = 0; !status && i < j->route.count; i++) {
        const cli_model *model = &j->route.models[i];
        status = cli_check_no_model(s, s->output, &model->model->package);
        for (int other = 0; !status && other < model->other_count; other++)
            status = cli_check_no_model(s, s->output, &model->others[other]->package);
    }
    return status;
}

/* Writes FILE.part.run, or compares it with this run. */
static int begin_part(translation *j)
{
    tr_buffer run = {0};
    int status = cli_resume_describe(j->settings, &j->reader, &j->route, &run);
    if (!status)
        status = cli_output_resume(&j->output, j->settings, &run);
    tr_buffer_free(&run);
    return status;
}

/* Each of two models counts as half of the work; lines and tokens are those of the last model. */
static int show_progress(void *argument, const tr_progress *p)
{
    const translation *j = argument;
    const int models = j->route.count, model = j->translator.model;
    const bool last = model + 1 == models;
    const double share = (model + (p->texts ? (double)p->texts_done / (double)p->texts : 0)) / models;
    const cli_progress now = {.done = j->bytes_done + (uint64_t)(share * (double)j->chunk_bytes),
                              .total = j->reader.file_size,
                              .lines = j->before.lines + (last ? p->texts_done : 0),
                              .tokens = j->before.target_tokens + (last ? p->target_tokens : 0)};
    cli_progress_update(&now);
    return cli_interrupted() != 0;
}

/* Opens input, output and models. */
static int open_all(translation *j)
{
    const cli_settings *s = j->settings;
    const bool text = s->argument_count > 0;
    const bool file = s->output && strcmp(s->output, "-") != 0;
    int status = cli_models_folder(s) || cli_detects(s) ? cli_route_find(&j->route, s) : CLI_DONE;
    if (!status && !text)
        status = cli_reader_open(&j->reader, s, s->input);
    if (status)
        return status;
    const bool bar = !s->quiet && !text && j->reader.file_size && cli_progress_possible();
    if (file || bar) {
        if (!cli_catch_interrupts())
            return cli_fail("signals: cannot be caught, too many open files");
        j->translator.options.on_progress = show_progress;
        j->translator.options.on_progress_argument = j;
    }
    status = cli_output_open(&j->output, s, j->reader.descriptor);
    if (status)
        return status;
    if (!text && !s->input && !s->quiet && isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
        cli_note("type text, then Enter; Ctrl-D ends (see also translate --help)");
    status = open_models(j);
    if (!status)
        status = set_options(j);
    if (!status && j->output.part)
        status = refuse_output(j);
    if (!status && j->output.part && !text)
        status = begin_part(j);
    return status;
}

/* -------------------------------------------------------------------------------------------------------------- resume */

static int wrong_part(const translation *j, const char *why)
{
    return cli_fail("%s: %s; delete it to start from the beginning", j->output.part, why);
}

/* Translates the last finished line again and compares: this tells whether FILE.part belongs to the input even if that is a
 * stream. */
static int check_last_line(translation *j, const cli_line *line)
{
    cli_translator *t = &j->translator;
    const cli_totals before = t->totals;
    const tr_buffer *last = &j->output.last;
    t->totals.lines = j->output.lines - 1;
    t->output = NULL;
    int status = cli_translate_lines(t, line, 1, false);
    t->output = &j->output;
    t->totals = before;
    t->totals.lines = j->output.lines;
    if (!status && (t->rendered.size != last->size || memcmp(t->rendered.data, last->data, last->size) != 0))
        status = wrong_part(j, "its last line is not what this input gives");
    return status;
}

/* Skips the lines of the input whose output FILE.part already has. */
static int skip_finished(translation *j)
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

/* --------------------------------------------------------------------------------------------------------- translating */

static int translate_chunk(translation *j, const cli_line *lines, size_t count)
{
    j->chunk_bytes = j->reader.consumed - j->bytes_done;
    j->before = j->translator.totals;
    const int status = cli_translate_lines(&j->translator, lines, count, false);
    j->bytes_done = j->reader.consumed;
    j->chunk_bytes = 0;
    return status;
}

static int translate_input(translation *j)
{
    const bool stream = j->settings->stream; /* a line at a time */
    const size_t largest = stream ? 1 : LARGEST_CHUNK;
    size_t limit = !stream && (j->settings->tokens || j->route.count > 1) ? FIRST_CHUNK : largest;
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
        const double start = tr_seconds();
        status = translate_chunk(j, lines, count);
        if (count == limit && limit < largest && tr_seconds() - start < 1)
            limit *= 2;
    }
    cli_progress_stop();
    return status;
}

static int translate_arguments(translation *j)
{
    tr_buffer text = {0};
    int status = cli_join_arguments(j->settings, &text);
    const cli_line line = {text.data, text.size, false};
    if (!status)
        status = cli_translate_lines(&j->translator, &line, 1, true);
    tr_buffer_free(&text);
    return status;
}

/* All of the input stayed as it is. */
static void warn_passed(const translation *j)
{
    const cli_totals *t = &j->translator.totals;
    if (t->passed && !t->translated)
        cli_warn(j->settings,
                 "no letter of the source language (%s): nothing was translated; -s and -m name other languages "
                 "and models, --protect off translates all",
                 j->route.models[0].source ? j->route.models[0].source : j->route.models[0].info.source_language);
}

static void print_stats(const translation *j)
{
    const cli_totals *t = &j->translator.totals;
    double load_seconds = 0;
    for (int i = 0; i < j->route.count; i++)
        load_seconds += j->route.models[i].load_seconds;
    char beam[16] = "";
    if (j->settings->chose_beam)
        snprintf(beam, sizeof beam, ", beam %d", j->settings->search.beam);
    cli_note("%" PRIu64 " sentences, %" PRIu64 " tokens, %.3f s, %.1f tokens/s, %" PRIu64
             " repeated lines, load %.1f ms, peak %.1f MB%s",
             t->sentences, t->target_tokens, t->seconds, t->seconds > 0 ? (double)t->target_tokens / t->seconds : 0.0,
             t->repeated, load_seconds * 1e3, cli_peak_megabytes(), beam);
}

/* After a failure or an interrupt: says what is left, and returns the exit status. */
static int abandon_output(translation *j, int status)
{
    char *part = j->output.part ? strdup(j->output.part) : NULL;
    const bool kept = cli_output_abandon(&j->output);
    const int number = cli_interrupted();
    if (number && kept)
        cli_fail("interrupted: %s has the finished lines; the same command with --resume continues",
                 part ? part : "FILE.part");
    else if (number && part)
        cli_fail("interrupted: nothing was written");
    free(part);
    return number ? 128 + number : status;
}

static bool has_threshold(const translation *j)
{
    bool has = j->settings->doubtful_below < 0;
    for (int i = 0; i < j->route.count && !has; i++)
        has = j->route.models[i].model->package.config.doubtful_below < 0;
    return has;
}

/* --beam auto: a beam of 4 where a person waits for a few lines and does not feel what it costs; greedy for many lines, and
 * where a beam is impossible. */
static cli_settings choose_beam(const cli_settings *settings)
{
    cli_settings s = *settings;
    s.chose_beam = s.search.beam == CLI_AUTO;
    if (!s.chose_beam)
        return s;
    const bool typed = !s.argument_count && (!s.input || strcmp(s.input, "-") == 0) && isatty(STDIN_FILENO);
    s.search.beam = (s.argument_count || typed) && !s.search.sample && !s.stream ? 4 : 1;
    if (s.search.beam < s.search.n_best && !s.search.sample && !s.search.alternatives)
        s.search.beam = s.search.n_best;
    if (s.verbose)
        cli_note("beam %d: chosen by --beam auto", s.search.beam);
    return s;
}

int cli_translate(const cli_settings *given)
{
    const cli_settings chosen = choose_beam(given), *settings = &chosen;
    int status = cli_check_translate_options(settings);
    if (status)
        return status;
    translation j = {.settings = settings, .reader.descriptor = -1, .output = {.descriptor = -1, .run.descriptor = -1}};
    j.translator = (cli_translator){
        .settings = settings, .route = &j.route, .output = &j.output, .options = tr_translate_default_options()};
    j.translator.options.max_length = settings->max_length;
    j.translator.options.min_length = settings->min_length;
    j.translator.options.split = (tr_split)settings->split;
    j.translator.options.scores = settings->scores;
    j.translator.options.align = settings->alignment;
    j.translator.options.loop_guard = settings->loop_guard && !settings->stream;
    j.translator.options.protect = settings->protect != false;
    j.translator.options.doubtful = settings->mark_doubtful || (settings->json && !settings->tokens);
    j.translator.options.doubtful_below = settings->doubtful_below;
    tr_error error;
    tr_glossary *glossary = NULL;
    if (settings->glossary && tr_glossary_open(settings->glossary, &glossary, &error))
        return cli_fail_error(&error);
    j.translator.options.glossary = glossary;
    status = open_all(&j);
    if (!status && glossary && j.route.count > 1)
        status =
            cli_fail("--glossary: two models translate, by way of a third language: not possible yet; -m names one model");
    if (!status && settings->mark_doubtful && !has_threshold(&j))
        status =
            cli_fail("--mark-doubtful: the model names no threshold; --doubtful-below gives one, and translate calibrate "
                     "finds it");
    if (!status)
        status = settings->argument_count ? translate_arguments(&j) : translate_input(&j);
    if (!status && cli_interrupted())
        status = CLI_FAILED;
    if (!status)
        status = cli_output_finish(&j.output);
    if (!status)
        warn_passed(&j);
    if (!status && settings->stats)
        print_stats(&j);
    if (status)
        status = abandon_output(&j, status);
    tr_glossary_free(glossary);
    if (!settings->argument_count)
        cli_reader_close(&j.reader);
    for (int i = 0; i < j.route.count; i++)
        cli_model_leave(&j.route.models[i]);
    if (j.route.index)
        tr_model_index_close(j.route.index);
    tr_buffer_free(&j.translator.rendered);
    tr_ids_free(&j.forbidden);
    return status;
}
