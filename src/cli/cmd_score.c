/* translate score: the log-probability of targets, given their sources. */
#include "api/model.h"
#include "cli/json.h"
#include "cli/lines.h"
#include "cli/output.h"
#include "cli/pieces.h"
#include "cli/translate_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_LINES = 4096, CHUNK_BYTES = 1 << 20 };

/* A pair: two fields of a line. */
typedef struct score_pair {
    const char *source, *target;
    size_t source_size, target_size;
    bool carriage_return;
} score_pair;

typedef struct scoring {
    const cli_settings *settings;
    cli_model model;
    tr_score_options options;
    cli_output output;
    uint64_t line; /* lines before the chunk */
    score_pair *pairs;
    size_t count, capacity;
    tr_buffer out;
} scoring;

static int set_options(scoring *s)
{
    const cli_settings *c = s->settings;
    s->options = tr_score_default_options();
    s->options.source_language = c->source;
    s->options.target_language = c->target;
    s->options.align = c->alignment || c->json;
    return cli_align_options(c, &s->model, &s->options.alignment);
}

/* ------------------------------------------------------------------------------------------------------------ printing */

static bool append_score(const score_pair *pair, const tr_text_score *score, bool alignment, tr_buffer *out)
{
    char number[32];
    const int size = snprintf(number, sizeof number, "%.4f", (double)score->score.log_probability);
    if (!tr_buffer_append(out, number, (size_t)size))
        return false;
    if (alignment && (!tr_buffer_append(out, "\t", 1) || !cli_print_links(&score->score.alignment, out)))
        return false;
    return tr_buffer_append(out, pair->carriage_return ? "\r\n" : "\n", 1 + (size_t)pair->carriage_return);
}

/* Four decimals, as in plain output. */
static double rounded(float value)
{
    return round((double)value * 1e4) / 1e4;
}

static bool append_score_json(const cli_model *model, const score_pair *pair, uint64_t number, const tr_text_score *score,
                              tr_buffer *out)
{
    const tr_score *s = &score->score;
    cli_json json = {out, true, false}, *j = &json;
    cli_json_open(j, NULL, '{');
    cli_json_whole(j, "line", (int64_t)number);
    cli_json_text(j, "source", pair->source, pair->source_size);
    cli_json_text(j, "target", pair->target, pair->target_size);
    cli_json_real(j, "score", rounded(s->log_probability));
    cli_json_real(j, "mean", rounded(s->mean_log_probability));
    cli_json_real(j, "minimum", rounded(s->min_log_probability));
    cli_json_pieces(j, "source_tokens", model->model, false, &score->source);
    cli_json_pieces(j, "tokens", model->model, true, &score->target);
    cli_json_open(j, "log_probabilities", '[');
    for (size_t i = 0; i < s->count; i++)
        cli_json_real(j, NULL, rounded(s->log_probabilities[i]));
    cli_json_close(j, ']');
    cli_json_links(j, "alignment", &s->alignment);
    if (score->source_spans)
        cli_json_spans(j, "source_spans", score->source_spans, score->source.count);
    if (score->target_spans)
        cli_json_spans(j, "spans", score->target_spans, score->target.count);
    cli_json_close(j, '}');
    return j->good && tr_buffer_append(out, "\n", 1);
}

/* ------------------------------------------------------------------------------------------------------- reading a pair */

static int add_pair(scoring *s, const cli_line *line, uint64_t number)
{
    const char *tab = memchr(line->text, '\t', line->size), *end = line->text + line->size;
    if (!tab)
        return cli_fail("line %" PRIu64 ": has no TAB; a line is a source, a TAB and a target", number);
    if (memchr(tab + 1, '\t', (size_t)(end - tab - 1)))
        return cli_fail("line %" PRIu64 ": has more than one TAB; a line is a source, a TAB and a target", number);
    if (s->count == s->capacity) {
        const size_t more = s->capacity ? 2 * s->capacity : 64;
        score_pair *grown = realloc(s->pairs, more * sizeof *grown);
        if (!grown)
            return cli_fail_memory();
        s->pairs = grown;
        s->capacity = more;
    }
    s->pairs[s->count++] =
        (score_pair){line->text, tab + 1, (size_t)(tab - line->text), (size_t)(end - tab - 1), line->carriage_return};
    return CLI_DONE;
}

static int parse_tokens(const scoring *s, cli_side side, const char *text, size_t size, uint64_t line, tr_tokens *tokens)
{
    tr_ids ids = {0};
    const int status = s->settings->ids ? cli_parse_ids(&s->model, side, text, size, line, &ids)
                                        : cli_parse_pieces(&s->model, side, text, size, line, &ids);
    *tokens = (tr_tokens){ids.data, ids.size};
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- scoring */

/* Scores pairs[first .. first + count) of tokens. Returns the library's status; *status: of this program. */
static tr_status score_tokens(scoring *s, size_t first, size_t count, tr_text_score *results, int *status, tr_error *error)
{
    tr_tokens *sources = calloc(count, sizeof *sources), *targets = calloc(count, sizeof *targets);
    tr_score *scores = NULL;
    tr_status failed = TR_OK;
    *status = sources && targets ? CLI_DONE : cli_fail_memory();
    for (size_t i = 0; i < count && !*status; i++) {
        const score_pair *p = &s->pairs[first + i];
        const uint64_t line = s->settings->argument_count ? 0 : s->line + first + i + 1;
        *status = parse_tokens(s, CLI_SOURCE, p->source, p->source_size, line, &sources[i]);
        if (!*status)
            *status = parse_tokens(s, CLI_TARGET, p->target, p->target_size, line, &targets[i]);
    }
    if (!*status)
        failed = tr_score_ids(s->model.context, sources, targets, count, &s->options, &scores, error);
    for (size_t i = 0; i < count && sources && targets; i++) {
        if (scores)
            results[i] = (tr_text_score){.source = sources[i], .target = targets[i], .score = scores[i]};
        else
            tr_tokens_free(&sources[i]), tr_tokens_free(&targets[i]);
    }
    free(scores);
    free(sources);
    free(targets);
    return failed;
}

static tr_status score_texts(scoring *s, size_t first, size_t count, tr_text_score **results, int *status, tr_error *error)
{
    const char **texts = malloc(2 * count * sizeof *texts);
    size_t *sizes = malloc(2 * count * sizeof *sizes);
    tr_status failed = TR_OK;
    *status = texts && sizes ? CLI_DONE : cli_fail_memory();
    for (size_t i = 0; i < count && !*status; i++) {
        const score_pair *p = &s->pairs[first + i];
        texts[i] = p->source, texts[count + i] = p->target;
        sizes[i] = p->source_size, sizes[count + i] = p->target_size;
    }
    if (!*status)
        failed = tr_score_text_pairs(s->model.context, texts, sizes, texts + count, sizes + count, count, &s->options,
                                     results, error);
    free(texts);
    free(sizes);
    return failed;
}

static int print_scores(scoring *s, size_t first, size_t count, const tr_text_score *results)
{
    for (size_t i = 0; i < count; i++) {
        const score_pair *p = &s->pairs[first + i];
        const uint64_t line = s->line + first + i + 1;
        if (results[i].flags & TR_FLAG_INVALID_UTF8)
            cli_warn(s->settings, "line %" PRIu64 ": invalid UTF-8 or NUL became U+FFFD", line);
        const bool good = s->settings->json ? append_score_json(&s->model, p, line, &results[i], &s->out)
                                            : append_score(p, &results[i], s->settings->alignment, &s->out);
        if (!good)
            return cli_fail_memory();
    }
    const int status = cli_output_write(&s->output, s->out.data, s->out.size);
    tr_buffer_clear(&s->out);
    return status;
}

/* Scores pairs[first .. first + count) of the chunk. A pair that cannot be scored ends the run after the pairs before it are
 * written: these are then scored one by one. */
static int score_pairs(scoring *s, size_t first, size_t count)
{
    tr_text_score *results = NULL;
    tr_error error;
    tr_status failed = TR_OK;
    int status = CLI_DONE;
    s->options.first_number = s->line + first + 1;
    if (s->settings->tokens || s->settings->ids) {
        results = calloc(count, sizeof *results);
        failed = results ? score_tokens(s, first, count, results, &status, &error) : TR_OK;
        status = results ? status : cli_fail_memory();
    } else {
        failed = score_texts(s, first, count, &results, &status, &error);
    }
    if (!status && failed == TR_ERROR_ARGUMENT && count > 1) {
        for (size_t i = 0; i < count && !status; i++)
            status = score_pairs(s, first + i, 1);
    } else if (!status) {
        status = failed ? cli_fail_error(&error) : print_scores(s, first, count, results);
    }
    tr_text_scores_free(results, results ? count : 0);
    return status;
}

/* Checks that the vocabularies have the tokens of a line; prints a message about a missing one. */
static int check_tokens(const scoring *s, const score_pair *p, uint64_t line)
{
    tr_tokens tokens = {0};
    int status = parse_tokens(s, CLI_SOURCE, p->source, p->source_size, line, &tokens);
    tr_tokens_free(&tokens);
    if (!status)
        status = parse_tokens(s, CLI_TARGET, p->target, p->target_size, line, &tokens);
    tr_tokens_free(&tokens);
    return status;
}

/* Lines before a bad one are scored nevertheless. */
static int score_chunk(scoring *s, const cli_line *lines, size_t count)
{
    int bad = CLI_DONE;
    s->count = 0;
    for (size_t i = 0; i < count && !bad; i++) {
        const uint64_t number = s->line + i + 1;
        bad = add_pair(s, &lines[i], number);
        if (!bad && (s->settings->tokens || s->settings->ids) && (bad = check_tokens(s, &s->pairs[s->count - 1], number)))
            s->count--;
    }
    const int status = s->count ? score_pairs(s, 0, s->count) : CLI_DONE;
    return status ? status : bad;
}

static int score_lines(scoring *s, cli_reader *reader)
{
    for (;;) {
        const cli_line *lines;
        size_t count;
        int status = cli_reader_next(reader, CHUNK_LINES, CHUNK_BYTES, &lines, &count);
        if (!status && count)
            status = score_chunk(s, lines, count);
        if (status || !count)
            return status;
        s->line += count;
    }
}

static int score_arguments(scoring *s)
{
    score_pair pair = {.source = s->settings->arguments[0], .target = s->settings->arguments[1]};
    pair.source_size = strlen(pair.source);
    pair.target_size = strlen(pair.target);
    s->pairs = malloc(sizeof *s->pairs);
    if (!s->pairs)
        return cli_fail_memory();
    s->pairs[0] = pair;
    s->count = s->capacity = 1;
    return score_pairs(s, 0, 1);
}

static int score_all(scoring *s, cli_reader *reader)
{
    int status = set_options(s);
    if (!status && !s->settings->tokens && !s->settings->ids && !s->model.info.has_tokenizer)
        status = cli_fail("%s: the model has no tokenizer; give it --tokens", s->model.path);
    if (!status)
        status = cli_check_no_model(s->settings, s->settings->output, &s->model.model->package);
    if (!status)
        status = cli_output_open(&s->output, s->settings, reader->descriptor);
    if (!status)
        status = s->settings->argument_count ? score_arguments(s) : score_lines(s, reader);
    if (!status)
        status = cli_output_finish(&s->output);
    if (status)
        cli_output_abandon(&s->output);
    return status;
}

int cli_score(const cli_settings *settings)
{
    if (settings->input && settings->argument_count)
        return cli_usage(settings, "--input %s: SOURCE is given too; only one of them", settings->input);
    if (settings->argument_count == 1)
        return cli_usage(settings, "TARGET: is missing; give SOURCE and TARGET, or a file of pairs with -i");
    scoring s = {.settings = settings};
    cli_reader reader = {.descriptor = -1};
    int status = settings->argument_count ? CLI_DONE : cli_reader_open(&reader, settings, settings->input);
    if (!status)
        status = cli_model_open(&s.model, settings, true);
    if (!status)
        status = score_all(&s, &reader);
    cli_reader_close(&reader);
    cli_model_close(&s.model);
    free(s.pairs);
    tr_buffer_free(&s.out);
    return status;
}
