/* translate [OPTIONS] [TEXT...] */
#define _GNU_SOURCE
#include "cli/document.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/translate_options.h"
#include "cli/translator.h"
#include "api/context.h"
#include "util/clock.h"
#include "api/model.h"
#include "tokenizer/scripts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Lines are translated in chunks, large enough that threads seldom wait for each other's last sentences. The lines of a
 * chunk are written as they are done. Tokens (--tokens), and texts that go through two models, are written chunk by chunk:
 * there the first chunk is small, and chunks grow as long as one takes less than a second. */
enum { FIRST_CHUNK = 512, LARGEST_CHUNK = 16384, CHUNK_BYTES = 4 << 20, SAMPLE = 1 << 16 };

enum { RANKED_SIZE = 16384 };       /* bytes of the input that --rerank auto ranks, at most */
static const double END_WAIT = 0.2; /* seconds: a pipe whose end comes later counts as longer, unless -o FILE waits for it */

typedef struct translation {
    const cli_settings *settings; /* of the run, or own */
    cli_route route;
    cli_translator translator;
    tr_ids forbidden;    /* --forbid */
    bool opened, failed; /* the models are open, or cannot be */
    /* Of each file: */
    cli_settings own; /* what its models and its size decide is filled in */
    cli_reader reader;
    cli_output output;
    tr_buffer text; /* the TEXT arguments, joined */
    bool undecided; /* no letter yet tells which of two models translates it */
    bool is_document;
    cli_document document;
    tr_buffer unit_lines; /* of a document without FILE.part */
    uint64_t done, total; /* bytes of lines, or units of a document: in chunks that are done; all, 0: not known */
    uint64_t chunk;       /* those of the present chunk */
    cli_totals before;    /* counts before the present chunk */
} translation;

/* ------------------------------------------------------------------------------------------------------------- opening */

static const char *source_language(const translation *j)
{
    const cli_model *model = &j->route.models[0];
    return model->source ? model->source : model->info.source_language;
}

static const char *target_language(const translation *j)
{
    const cli_model *model = &j->route.models[j->route.count - 1];
    return model->target ? model->target : model->info.target_language;
}

/* What the source language is detected from: the input that can be read now, or with this patience, of which nothing is
 * lost. *sample: the caller frees it. */
static int read_sample(translation *j, double patience, tr_buffer *sample)
{
    const char *text = j->text.data;
    size_t size = j->text.size, count;
    int status = CLI_DONE;
    if (j->is_document) {
        const cli_line *lines;
        status = cli_document_open(&j->document, j->settings, &j->reader, &j->text, NULL, NULL);
        if (!status)
            status = cli_document_next(&j->document, SIZE_MAX, SAMPLE, &lines, &count);
        text = j->document.texts.data;
        size = j->document.texts.size;
    } else if (!text) {
        status = cli_reader_sample(&j->reader, patience, &text, &size);
    }
    if (!status && !tr_buffer_append(sample, text, size))
        status = cli_fail_memory();
    cli_document_close(&j->document);
    return status;
}

/* What --beam auto is. */
static int auto_beam(const cli_settings *s, bool ranks)
{
    if (s->search.sample || s->search.alternatives)
        return 1;
    const int beam = ranks ? CLI_BEAM_RANKED : 1;
    return beam > s->search.n_best ? beam : s->search.n_best;
}

/* Fills in the options that depend on the models. */
static int set_options(translation *j)
{
    cli_settings *s = &j->own;
    const cli_route *route = &j->route;
    tr_translate_options *options = &j->translator.options;
    if (!s->tokens && !route->models[0].info.has_tokenizer)
        return cli_fail("%s: the model has no tokenizer; give it pieces, with --tokens", route->models[0].path);
    int status = CLI_DONE;
    for (int i = 0; !status && s->alignment && i < route->count; i++)
        status = cli_align_options(s, &route->models[i], &options->alignment);
    if (!status)
        status = cli_forbidden_ids(s, &route->models[route->count - 1], &j->forbidden);
    if (s->chose_beam)
        s->search.beam = auto_beam(s, route->models[0].reverse != NULL);
    options->search = cli_search_options(s, &j->forbidden);
    if (s->chose_beam && options->search.beam > 1 && s->verbose)
        cli_note("beam %d: chosen by --beam auto", options->search.beam);
    return status;
}

static void close_models(translation *j)
{
    while (j->route.count)
        cli_model_close(&j->route.models[--j->route.count]);
    tr_ids_free(&j->forbidden);
    j->opened = false;
}

static int finish_opening(translation *j, int status)
{
    if (!status)
        status = set_options(j);
    j->opened = !status;
    j->failed = status != CLI_DONE; /* other files would fail alike */
    return status;
}

/* Opens those that translate the sample, unless they are open. */
static int open_models_for(translation *j, const tr_buffer *sample)
{
    if (j->opened && cli_route_fits(&j->route, j->settings, sample->data, sample->size))
        return CLI_DONE;
    if (j->opened)
        close_models(j);
    return finish_opening(j, cli_route_open(&j->route, j->settings, sample->data, sample->size));
}

static bool has_letters(const tr_buffer *sample)
{
    return sample->size && tr_has_letter_of(0, sample->data, sample->size);
}

/* The lines so far had no letters, and stay as they are whichever model is open: the first that has some choose it. */
static int decide(translation *j, const cli_line *lines, size_t count)
{
    tr_buffer sample = {0};
    int status = CLI_DONE;
    for (size_t i = 0; i < count && sample.size < SAMPLE && !status; i++)
        if (!tr_buffer_append(&sample, lines[i].text, lines[i].size) || !tr_buffer_string(&sample, "\n"))
            status = cli_fail_memory();
    j->undecided = !has_letters(&sample);
    if (!status && !j->undecided)
        status = open_models_for(j, &sample);
    tr_buffer_free(&sample);
    return status;
}

/* Whether a person types the input. */
static bool is_typed(const cli_settings *s)
{
    return !s->argument_count && (!s->input || strcmp(s->input, "-") == 0) && isatty(STDIN_FILENO);
}

/* Whether all of the input is read, and so short that ranking takes a few seconds at most. */
static bool is_short(const translation *j, const tr_buffer *sample)
{
    return (j->text.data || j->is_document || j->reader.at_end) && sample->size <= RANKED_SIZE;
}

static void leave_unranked(translation *j)
{
    j->own.ranks = false;
    if (j->own.verbose)
        cli_note("translations are not ranked: the input has more than %d bytes, or goes on; --rerank on ranks them",
                 RANKED_SIZE);
}

/* Opens those that translate the input, unless they are open. */
static int open_models(translation *j)
{
    const cli_settings *s = j->settings;
    tr_buffer sample = {0};
    int status = CLI_DONE;
    const bool by_script = cli_route_by_script(&j->route, s);
    const bool automatic = s->ranks && cli_rerank_of(s) == CLI_RERANK_AUTO && cli_route_has_pairs(&j->route);
    const bool large = j->is_document && j->reader.file_size > CHUNK_BYTES; /* not worth reading it twice */
    const bool by_size = automatic && !is_typed(s);
    const double patience = !by_size ? 0 : j->output.part ? -1 : END_WAIT;
    if (j->opened && !by_script)
        return CLI_DONE;
    status = by_script || (by_size && !large) || cli_detects(s) ? read_sample(j, patience, &sample) : CLI_DONE;
    if (!status) { /* else it is a fault of this file alone */
        j->undecided = by_script && !j->is_document && !has_letters(&sample);
        if (by_size && (large || !is_short(j, &sample)))
            leave_unranked(j);
        status = open_models_for(j, &sample);
    }
    tr_buffer_free(&sample);
    return status;
}

static int refuse_output(const translation *j)
{
    const cli_settings *s = j->settings;
    int status = cli_check_other_file(s, s->output, s->glossary, "is the glossary and the output");
    for (int i = 0; !status && i < j->route.count; i++) {
        const cli_model *model = &j->route.models[i];
        status = cli_check_no_model(s, s->output, &model->model->package);
        if (!status && model->reverse)
            status = cli_check_no_model(s, s->output, &model->reverse->package);
        for (int other = 0; !status && other < model->other_count; other++)
            status = cli_check_no_model(s, s->output, &model->others[other]->package);
    }
    return status;
}

/* Writes FILE.part.run, or compares it with this run. */
static int begin_part(translation *j)
{
    tr_buffer run = {0};
    int status = cli_resume_describe(j->settings, &j->reader, cli_document_format(j->settings), &j->route, &run);
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
    const cli_progress now = {.done = j->done + (uint64_t)(share * (double)j->chunk),
                              .total = j->total,
                              .lines = j->before.lines + (last ? p->texts_done : 0),
                              .tokens = j->before.target_tokens + (last ? p->target_tokens : 0)};
    cli_progress_update(&now);
    return cli_interrupted() != 0;
}

/* Reads the document, with languages that are known now. */
static int open_document(translation *j)
{
    int status = cli_document_open(&j->document, j->settings, &j->reader, &j->text, source_language(j), target_language(j));
    j->total = j->document.count;
    j->translator.kept = j->output.part ? NULL : &j->unit_lines;
    if (!status && !j->document.count)
        cli_warn(j->settings, "%s: has no text to translate%s", j->document.name,
                 j->settings->columns || j->settings->keys ? ", with these --columns or --keys" : "");
    return status;
}

/* Lines of a file that is markup by its first bytes, and no document by its name. */
static void warn_markup(const translation *j)
{
    static const char *const starts[] = {"<?xml", "<!DOCTYPE", "<!doctype", "<html", "\xef\xbb\xbf<?xml"};
    const cli_settings *s = j->settings;
    char first[16] = "";
    if (!s->input || s->format || s->tokens || s->tsv || !j->reader.file_size ||
        pread(j->reader.descriptor, first, sizeof first - 1, j->reader.file_start) < 0)
        return;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(first, starts[i], strlen(starts[i])) == 0)
            cli_warn(s, "%s: is read as lines; --format html or xml translates its text and keeps the rest", j->reader.name);
}

/* Opens input, output and models. */
static int open_all(translation *j)
{
    const cli_settings *s = j->settings;
    const bool text = s->argument_count > 0 && !s->output_dir;
    const bool file = s->output && strcmp(s->output, "-") != 0;
    int status = text ? cli_join_arguments(s, &j->text) : cli_reader_open(&j->reader, s, s->input);
    if (!status && text && j->is_document && !tr_buffer_string(&j->text, "\n"))
        status = cli_fail_memory();
    if (status)
        return status;
    if (!text && !j->is_document)
        warn_markup(j);
    j->total = j->reader.file_size;
    const bool bar = !s->quiet && !text && j->total && cli_progress_possible();
    if ((file || bar) && !j->opened) {
        if (!cli_catch_interrupts())
            return cli_fail("signals: cannot be caught, too many open files");
        j->translator.options.on_progress = show_progress;
        j->translator.options.on_progress_argument = j;
    }
    status = cli_output_open(&j->output, s, j->reader.descriptor);
    if (!status && j->output.terminal && tr_document_traits(cli_document_format(s)) & TR_DOCUMENT_ZIPPED)
        status = cli_usage(s, "%s: a document of format %s is not for a terminal; -o FILE writes it", j->reader.name,
                           cli_document_format(s));
    if (status)
        return status;
    if (!text && !s->input && !s->quiet && !j->is_document && isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
        cli_note("type text, then Enter; Ctrl-D ends (see also translate --help)");
    status = open_models(j);
    if (!status && j->output.part)
        status = refuse_output(j);
    if (!status && j->is_document)
        status = open_document(j);
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
    int status = cli_translate_lines(t, line, 1, j->is_document);
    t->output = &j->output;
    t->totals = before;
    t->totals.lines = j->output.lines;
    if (!status && (t->rendered.size != last->size || memcmp(t->rendered.data, last->data, last->size) != 0))
        status = wrong_part(j, "its last line is not what this input gives");
    return status;
}

/* The next lines, or units of the document. */
static int next_lines(translation *j, size_t limit, const cli_line **lines, size_t *count)
{
    return j->is_document ? cli_document_next(&j->document, limit, CHUNK_BYTES, lines, count)
                          : cli_reader_next(&j->reader, limit, CHUNK_BYTES, lines, count);
}

/* How much of j->total next_lines has given. */
static uint64_t lines_given(const translation *j)
{
    return j->is_document ? j->document.next : j->reader.consumed;
}

/* Skips the lines of the input whose output FILE.part already has. */
static int skip_finished(translation *j)
{
    for (uint64_t left = j->output.lines; left;) {
        const cli_line *lines;
        size_t count;
        int status = next_lines(j, left < LARGEST_CHUNK ? left : LARGEST_CHUNK, &lines, &count);
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
    j->done = lines_given(j);
    if (j->settings->verbose && j->output.lines)
        cli_note("%s: %" PRIu64 " lines are done already", j->output.part, j->output.lines);
    return CLI_DONE;
}

/* --------------------------------------------------------------------------------------------------------- translating */

static int translate_chunk(translation *j, const cli_line *lines, size_t count)
{
    j->chunk = lines_given(j) - j->done;
    j->before = j->translator.totals;
    const int status = cli_translate_lines(&j->translator, lines, count, j->is_document);
    j->done = lines_given(j);
    j->chunk = 0;
    return status;
}

static int translate_input(translation *j)
{
    const bool stream = j->settings->stream; /* a line at a time */
    const size_t largest = stream ? 1 : LARGEST_CHUNK;
    size_t limit = !stream && (j->settings->tokens || j->route.count > 1) ? FIRST_CHUNK : largest;
    int status = skip_finished(j);
    if (!status && !j->settings->quiet && !stream) {
        const cli_progress first = {j->done, j->total, j->translator.totals.lines, 0};
        cli_progress_start(&first, CLI_UNIT_LINES);
    }
    while (!status && !cli_interrupted()) {
        const cli_line *lines;
        size_t count;
        status = next_lines(j, limit, &lines, &count);
        if (status || !count)
            break;
        const double start = tr_seconds();
        if (j->undecided)
            status = decide(j, lines, count);
        if (!status)
            status = translate_chunk(j, lines, count);
        if (count == limit && limit < largest && tr_seconds() - start < 1)
            limit *= 2;
    }
    cli_progress_stop();
    return status;
}

static int translate_arguments(translation *j)
{
    const cli_line line = {j->text.data, j->text.size, false};
    return cli_translate_lines(&j->translator, &line, 1, true);
}

/* Documents have no place for this flag. */
static void warn_numbers(const translation *j)
{
    if (j->is_document && j->translator.totals.numbers)
        cli_warn(j->settings, "%s: numbers may differ from the source in %" PRIu64 " places, first: %s", j->document.name,
                 j->translator.totals.numbers, j->translator.totals.first_number);
}

/* All of the input stayed as it is. */
static void warn_passed(const translation *j)
{
    const cli_totals *t = &j->translator.totals;
    if (t->passed && !t->translated)
        cli_warn(j->settings,
                 "no sentence is in the source language (%s): nothing was translated; -s and -m name other languages "
                 "and models, --protect off translates all",
                 j->route.models[0].source ? j->route.models[0].source : j->route.models[0].info.source_language);
}

static void print_stats(const translation *j)
{
    const cli_totals *t = &j->translator.totals;
    double load_seconds = 0;
    for (int i = 0; i < j->route.count; i++)
        load_seconds += j->route.models[i].load_seconds;
    char beam[24] = "";
    if (j->settings->chose_beam && j->translator.options.search.beam > 1)
        snprintf(beam, sizeof beam, ", beam %d", j->translator.options.search.beam);
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

/* Whether --rerank auto may rank: one input, of which the best translation alone is wanted; open_models looks at its size.
 * set_options sees whether there is a model for it, on which --beam auto depends. */
static cli_settings choose_beam(const cli_settings *settings)
{
    cli_settings s = *settings;
    const cli_rerank wanted = cli_rerank_of(&s);
    const bool several = s.search.n_best > 1 || s.search.alternatives;
    const bool one = !several && !s.search.sample && !s.stream && !s.tokens;
    s.chose_beam = s.search.beam == CLI_AUTO;
    s.ranks = wanted == CLI_RERANK_AUTO ? s.chose_beam && one && !s.output_dir : wanted != CLI_RERANK_OFF;
    if (s.chose_beam)
        s.search.beam = auto_beam(&s, s.ranks);
    return s;
}

static tr_translate_options translate_options(const cli_settings *s)
{
    tr_translate_options options = tr_translate_default_options();
    options.max_length = s->max_length;
    options.min_length = s->min_length;
    options.split = (tr_split)s->split;
    options.scores = s->scores;
    options.align = s->alignment;
    options.loop_guard = s->loop_guard && !s->stream;
    options.protect = s->protect != false;
    options.doubtful = s->mark_doubtful || (s->json && !s->tokens);
    options.doubtful_below = s->doubtful_below;
    return options;
}

/* Options that not every model can follow. */
static int check_models(const translation *j)
{
    if (j->settings->glossary && j->route.count > 1)
        return cli_fail(
            "--glossary: two models translate, by way of a third language: not possible yet; -m names one model");
    if (j->settings->mark_doubtful && !has_threshold(j))
        return cli_fail("--mark-doubtful: the model names no threshold; --doubtful-below gives one, and translate calibrate "
                        "finds it");
    return CLI_DONE;
}

/* Translates settings->input, or the TEXT arguments, to settings->output. */
static int translate_file(translation *j, const cli_settings *settings)
{
    const bool text = settings->argument_count && !settings->output_dir;
    j->own = *settings;
    j->settings = j->translator.settings = &j->own;
    j->reader = (cli_reader){.descriptor = -1};
    j->output = (cli_output){.descriptor = -1, .run.descriptor = -1};
    j->done = j->total = 0;
    j->is_document = j->translator.units = cli_document_format(settings) != NULL;
    j->translator.kept = NULL;
    j->translator.totals.lines = j->translator.totals.numbers = 0;
    j->translator.totals.warned_cut = j->translator.totals.warned_utf8 = false;
    int status = open_all(j);
    if (!status)
        status = check_models(j);
    if (!status && cli_document_doubts(cli_document_format(settings)))
        j->translator.options.doubtful = has_threshold(j);
    else
        j->translator.options.doubtful = translate_options(settings).doubtful;
    if (!status)
        status = text && !j->is_document ? translate_arguments(j) : translate_input(j);
    if (!status && cli_interrupted())
        status = CLI_FAILED;
    if (!status && j->is_document)
        status = cli_document_finish(&j->document, &j->output, &j->unit_lines);
    else if (!status)
        status = cli_output_finish(&j->output);
    if (!status)
        warn_numbers(j);
    if (status)
        status = abandon_output(j, status);
    if (!text)
        cli_reader_close(&j->reader);
    cli_document_close(&j->document);
    tr_buffer_free(&j->text);
    tr_buffer_free(&j->unit_lines);
    return status;
}

/* -O: the arguments are files. What cannot be translated does not hold up the others. */
static int translate_files(translation *j, const cli_settings *settings)
{
    int worst = CLI_DONE;
    tr_error error;
    if (tr_folder_make(settings->output_dir, &error))
        return cli_fail_error(&error);
    for (int i = 0; i < settings->argument_count && !cli_interrupted() && !j->failed; i++) {
        cli_settings own = *settings;
        char name[TR_PATH], output[TR_PATH];
        tr_path_name(settings->arguments[i], name, sizeof name);
        if (tr_path_join(output, settings->output_dir, name, &error))
            return cli_fail_error(&error);
        own.input = settings->arguments[i];
        own.output = output;
        const int status = translate_file(j, &own);
        worst = status > worst ? status : worst;
    }
    j->settings = j->translator.settings = settings;
    return worst;
}

int cli_translate(const cli_settings *given)
{
    const cli_settings chosen = choose_beam(given), *settings = &chosen;
    int status = cli_check_translate_options(settings);
    if (status)
        return status;
    translation j = {.settings = settings};
    tr_error error;
    tr_glossary *glossary = NULL;
    if (settings->glossary && tr_glossary_open(settings->glossary, &glossary, &error))
        return cli_fail_error(&error);
    j.translator = (cli_translator){
        .settings = settings, .route = &j.route, .output = &j.output, .options = translate_options(settings)};
    j.translator.options.glossary = glossary;
    status = cli_route_find(&j.route, settings);
    if (!status)
        status = settings->output_dir ? translate_files(&j, settings) : translate_file(&j, settings);
    if (!status)
        warn_passed(&j);
    if (!status && settings->stats)
        print_stats(&j);
    tr_glossary_free(glossary);
    for (int i = 0; i < j.route.count; i++)
        cli_model_leave(&j.route.models[i]);
    if (j.route.index)
        tr_model_index_close(j.route.index);
    tr_buffer_free(&j.translator.rendered);
    tr_ids_free(&j.forbidden);
    return status;
}
