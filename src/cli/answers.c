#include "cli/answers.h"

#include "cli/pieces.h"
#include "cli/render.h"
#include "util/utf8.h"

#include <inttypes.h>
#include <stdlib.h>

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

static int finish_line(cli_translator *t, const cli_line *line, const cli_answer *a, bool break_lines)
{
    const uint64_t number = ++t->totals.lines;
    t->totals.sentences += (uint64_t)a->sentences;
    t->totals.source_tokens += (uint64_t)a->source_tokens;
    t->totals.target_tokens += (uint64_t)a->target_tokens;
    warn(t, number, a->flags);
    const bool good = t->settings->json ? cli_render_json(line, number, a, &t->rendered)
                                        : cli_render_plain(line, a, break_lines, &t->rendered);
    return good ? CLI_DONE : cli_fail_memory();
}

static int failed(const tr_error *error)
{
    return error->status == TR_ERROR_CANCELLED ? CLI_FAILED : cli_fail_error(error);
}

/* --------------------------------------------------------------------------------------------------------------- text */

/* The lines of one call, and where they are written. */
typedef struct call {
    cli_translator *translator;
    const cli_line *lines;
    bool break_lines;
    tr_result *pivots; /* of the model before; NULL: there is none */
    cli_writer *write;
    void *argument;
    int status;
} call;

static int write_rendered(const call *c)
{
    const tr_buffer *rendered = &c->translator->rendered;
    return rendered->size ? c->write(c->argument, rendered->data, rendered->size) : CLI_DONE;
}

/* The library's callback: results in order. */
static int take_results(void *argument, size_t first, const tr_result *results, size_t count)
{
    call *c = argument;
    tr_buffer_clear(&c->translator->rendered);
    for (size_t i = 0; !c->status && i < count; i++) {
        const tr_result *r = &results[i];
        const tr_result *pivot = c->pivots ? &c->pivots[first + i] : NULL;
        const unsigned flags = r->flags | (pivot ? pivot->flags : 0);
        const cli_answer a = {r->text, r->size, pivot, r->sentences, r->source_tokens, r->target_tokens, flags};
        c->status = finish_line(c->translator, &c->lines[first + i], &a, c->break_lines);
    }
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

/* The last model's results are written as they come; those of the others become pivots. */
static int run_link(call *c, const char **texts, size_t *sizes, size_t count)
{
    cli_translator *t = c->translator;
    const cli_link *link = &t->chain->links[t->link];
    const bool last = t->link + 1 == t->chain->count;
    tr_result *results = NULL;
    tr_error error;
    tr_translate_options options = t->options;
    options.source_language = link->source;
    options.target_language = link->target;
    options.ready = last ? take_results : NULL;
    options.ready_argument = c;
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

static int parse_sources(cli_translator *t, const cli_line *lines, size_t count, tr_tokens *sources)
{
    int status = CLI_DONE;
    for (size_t i = 0; !status && i < count; i++) {
        tr_ids ids = {0};
        status = (t->settings->ids ? cli_parse_ids : cli_parse_pieces)(token_model(t), CLI_SOURCE, lines[i].text,
                                                                       lines[i].size, t->totals.lines + i + 1, &ids);
        sources[i] = (tr_tokens){ids.data, ids.size};
    }
    return status;
}

static int finish_tokens(cli_translator *t, const cli_line *line, const tr_tokens *source, const tr_tokens *output)
{
    tr_buffer text = {0};
    bool good = tr_buffer_reserve(&text, 1);
    if (t->settings->ids)
        good = good && cli_print_ids(output->ids, output->count, &text);
    else
        good = good && cli_print_pieces(token_model(t), CLI_TARGET, output->ids, output->count, &text);
    int status = good ? CLI_DONE : cli_fail_memory();
    if (!status) {
        const unsigned flags = tr_utf8_valid(line->text, line->size) ? 0 : TR_FLAG_INVALID_UTF8;
        const cli_answer a = {text.data, text.size, NULL, 1, (int)source->count, (int)output->count, flags};
        status = finish_line(t, line, &a, false);
    }
    tr_buffer_free(&text);
    return status;
}

/* Empty lines stay empty: they hold nothing to translate. */
static int translate_tokens(call *c, size_t count)
{
    cli_translator *t = c->translator;
    tr_tokens *sources = calloc(count, sizeof *sources), *packed = calloc(count, sizeof *packed), *outputs = NULL;
    tr_error error;
    size_t used = 0, next = 0;
    int status = sources && packed ? parse_sources(t, c->lines, count, sources) : cli_fail_memory();
    for (size_t i = 0; !status && i < count; i++)
        if (sources[i].count)
            packed[used++] = sources[i];
    tr_translate_options options = t->options;
    options.source_language = t->chain->links[0].source;
    options.target_language = t->chain->links[0].target;
    const double start = cli_seconds();
    if (!status && used && tr_translate_tokens(token_model(t)->context, packed, used, &options, &outputs, &error))
        status = failed(&error);
    t->totals.seconds += cli_seconds() - start;
    const tr_tokens empty = {0};
    tr_buffer_clear(&t->rendered);
    for (size_t i = 0; !status && i < count; i++)
        status = finish_tokens(t, &c->lines[i], &sources[i], sources[i].count ? &outputs[next++] : &empty);
    if (!status)
        status = write_rendered(c);
    tr_tokens_array_free(outputs, used);
    for (size_t i = 0; sources && i < count; i++)
        free(sources[i].ids);
    free(sources);
    free(packed);
    return status;
}

int cli_translate_lines(cli_translator *translator, const cli_line *lines, size_t count, bool break_lines, cli_writer *write,
                        void *argument)
{
    call c = {translator, lines, break_lines, NULL, write, argument, CLI_DONE};
    return translator->settings->tokens ? translate_tokens(&c, count) : translate_text(&c, count);
}

void cli_translator_free(cli_translator *translator)
{
    tr_buffer_free(&translator->rendered);
}
