#include "cli/answers.h"

#include "cli/compose.h"
#include "cli/pieces.h"
#include "cli/prefixes.h"
#include "cli/render.h"
#include "cli/stream.h"
#include "api/results.h"
#include "util/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void warn(cli_translator *t, uint64_t number, unsigned flags)
{
    if (flags & TR_FLAG_INVALID_UTF8 && !t->totals.warned_utf8) {
        cli_warn(t->settings, "line %" PRIu64 ": invalid UTF-8 or NUL became U+FFFD (said once)", number);
        t->totals.warned_utf8 = true;
    }
    if (flags & TR_FLAG_CUT && !t->totals.warned_cut) {
        cli_warn(t->settings, "line %" PRIu64 ": longer than the model takes, translated in pieces (said once)", number);
        t->totals.warned_cut = true;
    }
}

static cli_form form_of(const cli_settings *s, bool break_lines)
{
    return (cli_form){s->json, s->scores, s->alignment, s->search.n_best > 1, break_lines};
}

static int finish_line(cli_translator *t, const cli_line *line, const cli_answer *a, bool break_lines)
{
    const uint64_t number = ++t->totals.lines;
    const cli_settings *s = t->settings;
    const cli_form form = form_of(s, break_lines);
    t->totals.sentences += (uint64_t)a->result->sentences;
    t->totals.source_tokens += (uint64_t)a->result->source_tokens;
    t->totals.target_tokens += (uint64_t)a->result->target_tokens;
    warn(t, number, a->flags);
    return cli_render(&form, line, number, a, &t->rendered) ? CLI_DONE : cli_fail_memory();
}

static int failed(const tr_error *error)
{
    return error->status == TR_ERROR_CANCELLED ? CLI_FAILED : cli_fail_error(error);
}

/* --------------------------------------------------------------------------------------------------------------- text */

/* The lines of one call, and where they are written. */
typedef struct call {
    cli_translator *translator;
    const cli_line *lines;       /* without their prefixes */
    const char *const *prefixes; /* NULL: there are none */
    bool break_lines;
    tr_result *pivots; /* of the model before; NULL: there is none */
    cli_writer *write;
    void *argument;
    cli_stream *stream; /* NULL: lines are printed whole */
    int status;
} call;

static int write_rendered(const call *c)
{
    const tr_buffer *rendered = &c->translator->rendered;
    if (c->stream)
        return cli_stream_end(c->stream, rendered);
    return rendered->size ? c->write(c->argument, rendered->data, rendered->size) : CLI_DONE;
}

static int finish_text(call *c, const cli_line *line, const tr_result *result, const tr_result *pivot)
{
    cli_translator *t = c->translator;
    cli_answer a = {.result = result,
                    .pivot = pivot,
                    .flags = result->flags | (pivot ? pivot->flags : 0),
                    .score = result->score + (pivot ? pivot->score : 0),
                    .model = t->chain->links[t->link].model.model,
                    .first = t->chain->links[0].model.model};
    tr_result composed = {0};
    if (pivot && t->settings->alignment) {
        if (!cli_compose(pivot, result, &composed))
            return cli_fail_memory();
        a.result = &composed;
    }
    const int status = finish_line(t, line, &a, c->break_lines);
    tr_result_clear(&composed);
    return status;
}

/* The library's callback: results in order. */
static int take_results(void *argument, size_t first, const tr_result *results, size_t count)
{
    call *c = argument;
    tr_buffer_clear(&c->translator->rendered);
    for (size_t i = 0; !c->status && i < count; i++)
        c->status = finish_text(c, &c->lines[first + i], &results[i], c->pivots ? &c->pivots[first + i] : NULL);
    if (!c->status)
        c->status = write_rendered(c);
    return c->status;
}

/* What the next model has for its texts: the lines, or what the one before made of them. */
static void take_texts(const call *c, size_t count, const char **texts, size_t *sizes)
{
    for (size_t i = 0; i < count; i++) {
        if (c->pivots && !c->break_lines)
            cli_keep_one_line(c->pivots[i].text, c->pivots[i].size);
        texts[i] = c->pivots ? c->pivots[i].text : c->lines[i].text;
        sizes[i] = c->pivots ? c->pivots[i].size : c->lines[i].size;
    }
}

/* What a model is told. Several translations, and what they may not or must hold, are the last one's. */
static tr_translate_options options_of(const call *c, bool last)
{
    const cli_translator *t = c->translator;
    tr_translate_options options = t->options;
    options.source_language = t->chain->links[t->link].source;
    options.target_language = t->chain->links[t->link].target;
    options.on_result = last ? take_results : NULL;
    options.on_result_argument = (void *)(uintptr_t)c;
    options.prefixes = last ? c->prefixes : NULL;
    if (last && c->stream) {
        options.on_token = cli_stream_take;
        options.on_token_argument = c->stream;
    }
    if (!last) {
        options.search.n_best = 1;
        options.search.alternatives = false;
        options.search.forbidden = NULL;
        options.search.forbidden_count = 0;
    }
    return options;
}

/* The last model's results are written as they come; those of the others become pivots. */
static int run_link(call *c, const char **texts, size_t *sizes, size_t count)
{
    cli_translator *t = c->translator;
    const cli_link *link = &t->chain->links[t->link];
    tr_result *results = NULL;
    tr_error error;
    const tr_translate_options options = options_of(c, t->link + 1 == t->chain->count);
    take_texts(c, count, texts, sizes);
    const tr_status status = tr_translate(link->model.context, texts, sizes, count, &options, &results, &error);
    for (size_t i = 0; status == TR_OK && c->pivots && i < count; i++)
        results[i].flags |= c->pivots[i].flags;
    tr_results_free(c->pivots, count);
    c->pivots = results;
    if (status == TR_OK)
        return CLI_DONE;
    return c->status ? c->status : failed(&error);
}

static int translate_text(call *c, size_t count)
{
    cli_translator *t = c->translator;
    const char **texts = malloc(count * sizeof *texts);
    size_t *sizes = malloc(count * sizeof *sizes);
    int status = texts && sizes ? CLI_DONE : cli_fail_memory();
    const double start = cli_seconds();
    for (t->link = 0; !status && t->link < t->chain->count; t->link++)
        status = run_link(c, texts, sizes, count);
    t->totals.seconds += cli_seconds() - start;
    tr_results_free(c->pivots, count);
    free(texts);
    free(sizes);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- tokens */

/* Tokens are those of one model: there is no other. */
static const cli_model *token_model(const cli_translator *t)
{
    return &t->chain->links[0].model;
}

/* Tokens as text, which is the caller's to free. */
static int spell(const cli_translator *t, const tr_hypothesis *h, char **text, size_t *size)
{
    tr_buffer out = {0};
    bool good = tr_buffer_reserve(&out, 1);
    if (t->settings->ids)
        good = good && cli_print_ids(h->ids, h->count, &out);
    else
        good = good && cli_print_pieces(token_model(t), CLI_TARGET, h->ids, h->count, &out);
    *text = out.data;
    *size = out.size;
    return good ? CLI_DONE : cli_fail_memory();
}

/* Each token's log-probability. */
static int score_tokens(const cli_translator *t, const tr_hypothesis *h, tr_result *result)
{
    const size_t count = h->log_probabilities ? h->count + h->finished : 0;
    result->scored = calloc(count + 1, sizeof *result->scored);
    if (!result->scored)
        return cli_fail_memory();
    for (size_t i = 0; i < count; i++) {
        const float p = h->log_probabilities[i];
        result->scored[i] = (tr_scored_token){i < h->count ? h->ids[i] : token_model(t)->info.eos_id, p};
        result->min_log_probability = p < result->min_log_probability ? p : result->min_log_probability;
    }
    result->scored_count = count;
    result->score = h->log_probability;
    result->mean_log_probability = count ? h->log_probability / (float)count : 0;
    return CLI_DONE;
}

/* A copy of the target's tokens and its links. */
static int align_tokens(const cli_translator *t, const tr_hypothesis *h, tr_tokens *target, tr_alignment *alignment)
{
    tr_ids ids = {0};
    tr_buffer links = {0};
    if (!t->settings->alignment)
        return CLI_DONE;
    const bool good = tr_ids_append(&ids, h->ids, h->count) &&
                      tr_buffer_append(&links, h->alignment.links, h->alignment.count * sizeof *h->alignment.links);
    *target = (tr_tokens){ids.data, ids.size};
    *alignment = (tr_alignment){(tr_link *)(void *)links.data, h->alignment.count};
    return good ? CLI_DONE : cli_fail_memory();
}

static int list_hypotheses(const cli_translator *t, const tr_hypotheses *found, tr_result *result)
{
    result->hypotheses = calloc(found->count, sizeof *result->hypotheses);
    if (!result->hypotheses)
        return cli_fail_memory();
    result->hypothesis_count = found->count;
    int status = CLI_DONE;
    for (size_t i = 0; !status && i < found->count; i++) {
        const tr_hypothesis *h = &found->items[i];
        tr_translation *to = &result->hypotheses[i];
        *to = (tr_translation){.tokens = (int)h->count, .score = h->score, .log_probability = h->log_probability};
        status = spell(t, h, &to->text, &to->size);
        if (!status)
            status = align_tokens(t, h, &to->target, &to->alignment);
    }
    return status;
}

/* What was found for a source as the result that it would be of a text. */
static int result_of(const cli_translator *t, const tr_hypotheses *found, tr_result *result)
{
    const tr_hypothesis *best = &found->items[0];
    result->target_tokens = (int)best->count;
    result->flags |= best->finished ? 0 : TR_FLAG_MAX_LENGTH;
    int status = spell(t, best, &result->text, &result->size);
    if (!status && t->settings->scores)
        status = score_tokens(t, best, result);
    if (!status)
        status = align_tokens(t, best, &result->target, &result->alignment);
    if (!status && t->settings->search.n_best > 1)
        status = list_hypotheses(t, found, result);
    return status;
}

/* found NULL: the line is empty. */
static int finish_tokens(cli_translator *t, const cli_line *line, const tr_tokens *source, const tr_hypotheses *found)
{
    tr_result result = {.sentences = 1, .source_tokens = (int)source->count, .source = *source};
    result.flags = tr_utf8_valid(line->text, line->size) ? 0 : TR_FLAG_INVALID_UTF8;
    const tr_hypothesis nothing = {.finished = true};
    int status = found ? result_of(t, found, &result) : spell(t, &nothing, &result.text, &result.size);
    if (!status) {
        const tr_model *model = token_model(t)->model;
        const cli_answer a = {&result, NULL, result.flags, result.score, model, model};
        status = finish_line(t, line, &a, false);
    }
    result.source = (tr_tokens){0}; /* the line's own */
    tr_result_clear(&result);
    return status;
}

static int parse_tokens(const cli_translator *t, cli_side side, const char *text, size_t size, uint64_t line, tr_tokens *to)
{
    tr_ids ids = {0};
    const int status = (t->settings->ids ? cli_parse_ids : cli_parse_pieces)(token_model(t), side, text, size, line, &ids);
    *to = (tr_tokens){ids.data, ids.size};
    return status;
}

/* The lines of one call as tokens. */
typedef struct token_lines {
    tr_tokens *sources;           /* [count] */
    tr_tokens *packed, *prefixes; /* [used] of those that are not empty; prefixes are owned here */
    size_t used;
    tr_hypotheses *found; /* [used] */
} token_lines;

static int parse_lines(const call *c, size_t count, token_lines *l)
{
    const cli_translator *t = c->translator;
    l->sources = calloc(count, sizeof *l->sources);
    l->packed = calloc(count, sizeof *l->packed);
    l->prefixes = calloc(count, sizeof *l->prefixes);
    int status = l->sources && l->packed && l->prefixes ? CLI_DONE : cli_fail_memory();
    for (size_t i = 0; !status && i < count; i++) {
        const uint64_t number = t->totals.lines + i + 1;
        const char *prefix = c->prefixes ? c->prefixes[i] : NULL;
        status = parse_tokens(t, CLI_SOURCE, c->lines[i].text, c->lines[i].size, number, &l->sources[i]);
        if (status || !l->sources[i].count)
            continue;
        if (prefix)
            status = parse_tokens(t, CLI_TARGET, prefix, strlen(prefix), number, &l->prefixes[l->used]);
        l->packed[l->used++] = l->sources[i];
    }
    return status;
}

static void free_lines(token_lines *l, size_t count)
{
    for (size_t i = 0; l->sources && i < count; i++)
        free(l->sources[i].ids);
    for (size_t i = 0; i < l->used; i++)
        free(l->prefixes[i].ids);
    tr_hypotheses_free(l->found, l->used);
    free(l->sources);
    free(l->packed);
    free(l->prefixes);
}

/* Empty lines stay empty: they hold nothing to translate. */
static int translate_tokens(call *c, size_t count)
{
    cli_translator *t = c->translator;
    token_lines l = {0};
    tr_error error;
    size_t next = 0;
    int status = parse_lines(c, count, &l);
    tr_translate_options options = t->options;
    options.source_language = t->chain->links[0].source;
    options.target_language = t->chain->links[0].target;
    const double start = cli_seconds();
    if (!status && l.used &&
        tr_search_tokens(token_model(t)->context, l.packed, c->prefixes ? l.prefixes : NULL, l.used, &options, &l.found,
                         &error))
        status = failed(&error);
    t->totals.seconds += cli_seconds() - start;
    tr_buffer_clear(&t->rendered);
    for (size_t i = 0; !status && i < count; i++)
        status = finish_tokens(t, &c->lines[i], &l.sources[i], l.sources[i].count ? &l.found[next++] : NULL);
    if (!status)
        status = write_rendered(c);
    free_lines(&l, count);
    return status;
}

int cli_translate_lines(cli_translator *translator, const cli_line *lines, size_t count, bool break_lines, cli_writer *write,
                        void *argument)
{
    cli_prefixes prefixes;
    int status = cli_prefixes_make(&prefixes, translator->settings, lines, count);
    call c = {.translator = translator,
              .lines = prefixes.lines,
              .prefixes = prefixes.texts,
              .break_lines = break_lines,
              .write = write,
              .argument = argument};
    cli_stream stream = {form_of(translator->settings, break_lines), write, argument, NULL, 0, 0, 0, CLI_DONE};
    if (translator->settings->stream)
        c.stream = &stream;
    if (!status)
        status = translator->settings->tokens ? translate_tokens(&c, count) : translate_text(&c, count);
    cli_stream_free(&stream);
    cli_prefixes_free(&prefixes);
    return status;
}

void cli_translator_free(cli_translator *translator)
{
    tr_buffer_free(&translator->rendered);
}
