#include "cli/translator.h"

#include "cli/compose.h"
#include "cli/document.h"
#include "cli/json.h"
#include "cli/pieces.h"
#include "cli/prefixes.h"
#include "cli/stream.h"
#include "cli/tokens.h"
#include "api/results.h"
#include "util/utf8.h"
#include "util/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBER_SIZE = 320 }; /* characters of any double */

/* The lines of one call. */
typedef struct line_batch {
    cli_translator *translator;
    const cli_line *lines; /* [count] without prefixes */
    size_t count;
    bool break_lines;
    const char *const *prefixes; /* [count]; NULL: no line has one */
    tr_result *pivots;           /* [count] results of the first of two models; NULL: there is one model */
    cli_stream *stream;          /* --stream; else NULL */
    int status;                  /* of write_results */
} line_batch;

/* ------------------------------------------------------------------------------------------------------------ one line */

static void note_flags(cli_translator *t, const cli_line *line, uint64_t number, unsigned flags)
{
    if (flags & TR_FLAG_INVALID_UTF8 && !t->totals.warned_utf8) {
        cli_warn(t->settings,
                 "line %" PRIu64 ": invalid UTF-8 or NUL became U+FFFD (said once); is it in another --encoding?", number);
        t->totals.warned_utf8 = true;
    }
    t->totals.passed += (flags & TR_FLAG_PASSED_THROUGH) != 0;
    if (flags & TR_FLAG_NUMBER && !t->totals.numbers++) {
        const size_t most = sizeof t->totals.first_number - 1, size = line->size < most ? line->size : most;
        snprintf(t->totals.first_number, sizeof t->totals.first_number, "%.*s", (int)tr_utf8_valid_prefix(line->text, size),
                 line->text);
    }
    if (flags & TR_FLAG_CUT && !t->totals.warned_cut) {
        cli_warn(t->settings, "line %" PRIu64 ": longer than the model takes, translated in pieces (said once)", number);
        t->totals.warned_cut = true;
    }
}

/* Whether lines have TAB-separated fields besides the text. */
static bool prints_fields(const cli_settings *s)
{
    return s->scores || s->alignment || s->search.n_best > 1;
}

static bool append_text(const line_batch *b, const char *text, size_t size, tr_buffer *out)
{
    const bool fields = prints_fields(b->translator->settings);
    const size_t begin = out->size;
    if (!tr_buffer_append(out, text, size))
        return false;
    if (fields || !b->break_lines)
        cli_keep_one_line(out->data + begin, size, fields);
    return true;
}

static bool append_number(const char *before, float value, tr_buffer *out)
{
    char number[NUMBER_SIZE];
    snprintf(number, sizeof number, "%.6f", (double)value);
    return tr_buffer_string(out, before) && tr_buffer_string(out, number);
}

/* The fields after a text, and the end of its line. */
static bool end_line(const cli_settings *s, const cli_line *line, float score, const tr_alignment *alignment, tr_buffer *out)
{
    return (!s->scores || append_number("\t", score, out)) &&
           (!s->alignment || (tr_buffer_append(out, "\t", 1) && cli_print_links(alignment, out))) &&
           tr_buffer_string(out, line->carriage_return ? "\r\n" : "\n");
}

/* --n-best: line TAB rank TAB score TAB text. A text that is not translated is its own only hypothesis. */
static bool append_hypotheses(const line_batch *b, const cli_translation *t, tr_buffer *out)
{
    const tr_result *r = t->result;
    const tr_translation same = {.text = r->text, .size = r->size};
    const size_t count = r->hypothesis_count ? r->hypothesis_count : 1;
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        const tr_translation *h = r->hypothesis_count ? &r->hypotheses[i] : &same;
        char begin[NUMBER_SIZE];
        snprintf(begin, sizeof begin, "%" PRIu64 "\t%zu\t", t->number, i + 1);
        good = append_number(begin, h->score, out) && tr_buffer_append(out, "\t", 1) &&
               append_text(b, h->text, h->size, out) &&
               end_line(b->translator->settings, t->line, h->log_probability, &h->alignment, out);
    }
    return good;
}

/* Appends what is printed for line i to rendered. */
static int render_line(line_batch *b, size_t i, const tr_result *result)
{
    cli_translator *t = b->translator;
    const cli_settings *s = t->settings;
    const tr_result *pivot = b->pivots ? &b->pivots[i] : NULL;
    const cli_route *route = t->route;
    tr_result composed = {0};
    cli_translation line = {.line = &b->lines[i],
                            .number = ++t->totals.lines,
                            .result = result,
                            .pivot = pivot,
                            .flags = result->flags | (pivot ? pivot->flags : 0),
                            .score = result->score + (pivot ? pivot->score : 0),
                            .source_model = route->models[0].model,
                            .target_model = route->models[route->count - 1].model};
    if (pivot && s->alignment) {
        if (!cli_compose(pivot, result, &composed))
            return cli_fail_memory();
        line.result = &composed;
    }
    t->totals.translated |= result->target_tokens > 0;
    if (result->flags & TR_FLAG_REPEATED) {
        t->totals.repeated++;
    } else {
        t->totals.sentences += (uint64_t)result->sentences;
        t->totals.source_tokens += (uint64_t)result->source_tokens;
        t->totals.target_tokens += (uint64_t)result->target_tokens;
    }
    note_flags(t, line.line, line.number, line.flags);
    bool good;
    const char *mark = s->mark_doubtful && (line.flags & TR_FLAG_DOUBTFUL) ? s->mark_doubtful : "";
    if (t->units)
        good = cli_document_line(line.flags & TR_FLAG_DOUBTFUL, mark, result->text, result->size, &t->rendered);
    else if (s->json)
        good = cli_json_translation(s, &line, &t->rendered);
    else if (s->search.n_best > 1)
        good = append_hypotheses(b, &line, &t->rendered);
    else
        good = tr_buffer_string(&t->rendered, mark) && append_text(b, line.result->text, line.result->size, &t->rendered) &&
               end_line(s, line.line, line.score, &line.result->alignment, &t->rendered);
    if (pivot)
        tr_result_clear(&composed);
    return good ? CLI_DONE : cli_fail_memory();
}

/* tr_translate_options.on_result: writes the lines from first on. */
static int write_results(void *argument, size_t first, const tr_result *results, size_t count)
{
    line_batch *b = argument;
    tr_buffer *rendered = &b->translator->rendered;
    tr_buffer_clear(rendered);
    for (size_t i = 0; !b->status && i < count; i++)
        b->status = render_line(b, first + i, &results[i]);
    if (!b->status && b->translator->kept && !tr_buffer_append(b->translator->kept, rendered->data, rendered->size))
        b->status = cli_fail_memory();
    if (b->status || b->translator->kept || !b->translator->output)
        return b->status;
    if (b->stream)
        b->status = cli_stream_end(b->stream, rendered);
    else if (rendered->size)
        b->status = cli_output_write(b->translator->output, rendered->data, rendered->size);
    return b->status;
}

/* ----------------------------------------------------------------------------------------------------------- all lines */

/* A call of the library has failed: by write_results, by an interrupt, or with an error. */
static int fail_call(const line_batch *b, const tr_error *error)
{
    if (b->status)
        return b->status;
    return error->status == TR_ERROR_CANCELLED ? CLI_FAILED : cli_fail_error(error);
}

/* The first of two models: its results become the texts of the second, which alone has prefixes, forbidden tokens and
 * several hypotheses. */
static int translate_pivots(line_batch *b, const char **texts, size_t *sizes)
{
    cli_translator *t = b->translator;
    const cli_model *model = &t->route->models[0];
    tr_translate_options options = t->options;
    tr_error error;
    options.source_language = model->source;
    options.target_language = model->target;
    options.search.n_best = 1;
    options.search.alternatives = false;
    options.search.forbidden = NULL;
    options.search.forbidden_count = 0;
    t->model = 0;
    if (tr_translate_texts(model->context, texts, sizes, b->count, &options, &b->pivots, &error))
        return fail_call(b, &error);
    for (size_t i = 0; i < b->count; i++) {
        if (!b->break_lines)
            cli_keep_one_line(b->pivots[i].text, b->pivots[i].size, false);
        texts[i] = b->pivots[i].text;
        sizes[i] = b->pivots[i].size;
    }
    return CLI_DONE;
}

/* The results of several lines are written while others are still translated; those of a single line after the call. */
static int translate_text_lines(line_batch *b)
{
    cli_translator *t = b->translator;
    const int last = t->route->count - 1;
    const cli_model *model = &t->route->models[last];
    const char **texts = malloc(b->count * sizeof *texts);
    size_t *sizes = malloc(b->count * sizeof *sizes);
    tr_result *results = NULL;
    tr_error error;
    int status = texts && sizes ? CLI_DONE : cli_fail_memory();
    for (size_t i = 0; !status && i < b->count; i++) {
        texts[i] = b->lines[i].text;
        sizes[i] = b->lines[i].size;
    }
    const double start = tr_seconds();
    if (!status && last > 0)
        status = translate_pivots(b, texts, sizes);
    tr_translate_options options = t->options;
    options.source_language = model->source;
    options.target_language = model->target;
    options.prefixes = b->prefixes;
    options.on_result = b->count > 1 ? write_results : NULL;
    options.on_result_argument = b;
    options.on_token = b->stream ? cli_stream_token : NULL;
    options.on_token_argument = b->stream;
    t->model = last;
    if (!status && tr_translate_texts(model->context, texts, sizes, b->count, &options, &results, &error))
        status = fail_call(b, &error);
    if (!status && !options.on_result)
        status = write_results(b, 0, results, b->count);
    t->totals.seconds += tr_seconds() - start;
    tr_result_array_free(results, b->count);
    tr_result_array_free(b->pivots, b->count);
    free(texts);
    free(sizes);
    return status;
}

/* Tokens belong to one model: there is no second one. */
static int translate_token_lines(line_batch *b)
{
    cli_translator *t = b->translator;
    const cli_model *model = &t->route->models[0];
    const cli_token_lines lines = {b->lines, b->prefixes, b->count, t->totals.lines + 1};
    tr_translate_options options = t->options;
    tr_result *results;
    double seconds;
    options.source_language = model->source;
    options.target_language = model->target;
    int status = cli_translate_tokens(t->settings, model, &options, &lines, &seconds, &results);
    t->totals.seconds += seconds;
    if (!status)
        status = write_results(b, 0, results, b->count);
    tr_result_array_free(results, b->count);
    return status;
}

int cli_translate_lines(cli_translator *translator, const cli_line *lines, size_t count, bool break_lines)
{
    const cli_settings *s = translator->settings;
    line_batch b = {.translator = translator, .lines = lines, .count = count, .break_lines = break_lines};
    cli_prefixes prefixes = {0};
    const bool fields = prints_fields(s);
    cli_stream stream = {translator->output, fields || !break_lines, fields, NULL, 0, 0, 0, CLI_DONE};
    int status = CLI_DONE;
    if (s->prefix || s->tsv) {
        status = cli_prefixes_make(&prefixes, s, lines, count);
        b.prefixes = prefixes.texts;
        b.lines = s->tsv ? prefixes.bare_lines : lines;
    }
    if (s->stream)
        b.stream = &stream;
    if (!status)
        status = s->tokens ? translate_token_lines(&b) : translate_text_lines(&b);
    if (s->stream)
        cli_stream_free(&stream);
    if (s->prefix || s->tsv)
        cli_prefixes_free(&prefixes);
    return status;
}
