#include "cli/tokens.h"

#include "cli/pieces.h"
#include "util/clock.h"
#include "util/utf8.h"

#include <stdlib.h>
#include <string.h>

/* The lines as ids. */
typedef struct parsed_lines {
    tr_tokens *sources;             /* [count] */
    tr_tokens *nonempty, *prefixes; /* [used] sources that are not empty (not owned), and their prefixes */
    size_t used;
    tr_hypotheses *found; /* [used] */
} parsed_lines;

/* ------------------------------------------------------------------------------------------------------------- parsing */

static int parse_tokens(const cli_settings *s, const cli_model *model, cli_side side, const char *text, size_t size,
                        uint64_t line, tr_tokens *tokens)
{
    tr_ids ids = {0};
    const int status = (s->ids ? cli_parse_ids : cli_parse_pieces)(model, side, text, size, line, &ids);
    *tokens = (tr_tokens){ids.data, ids.size};
    return status;
}

static int parse_lines(const cli_settings *s, const cli_model *model, const cli_token_lines *l, parsed_lines *parsed)
{
    parsed->sources = calloc(l->count, sizeof *parsed->sources);
    parsed->nonempty = calloc(l->count, sizeof *parsed->nonempty);
    parsed->prefixes = calloc(l->count, sizeof *parsed->prefixes);
    int status = parsed->sources && parsed->nonempty && parsed->prefixes ? CLI_DONE : cli_fail_memory();
    for (size_t i = 0; !status && i < l->count; i++) {
        const uint64_t number = l->first_number + i;
        const char *prefix = l->prefixes ? l->prefixes[i] : NULL;
        status = parse_tokens(s, model, CLI_SOURCE, l->lines[i].text, l->lines[i].size, number, &parsed->sources[i]);
        if (status || !parsed->sources[i].count)
            continue;
        if (prefix)
            status = parse_tokens(s, model, CLI_TARGET, prefix, strlen(prefix), number, &parsed->prefixes[parsed->used]);
        parsed->nonempty[parsed->used++] = parsed->sources[i];
    }
    return status;
}

static void free_parsed(parsed_lines *parsed, size_t count)
{
    for (size_t i = 0; parsed->sources && i < count; i++)
        free(parsed->sources[i].ids);
    for (size_t i = 0; i < parsed->used; i++)
        free(parsed->prefixes[i].ids);
    tr_hypotheses_free(parsed->found, parsed->used);
    free(parsed->sources);
    free(parsed->nonempty);
    free(parsed->prefixes);
}

/* ------------------------------------------------------------------------------------------------------------- results */

/* Stores tokens as text, which the caller frees. */
static int spell_tokens(const cli_settings *s, const cli_model *model, const tr_hypothesis *h, char **text, size_t *size)
{
    tr_buffer out = {0};
    bool good = tr_buffer_reserve(&out, 1);
    if (s->ids)
        good = good && cli_print_ids(h->ids, h->count, &out);
    else
        good = good && cli_print_pieces(model, CLI_TARGET, h->ids, h->count, &out);
    *text = out.data;
    *size = out.size;
    return good ? CLI_DONE : cli_fail_memory();
}

static int store_scores(const cli_model *model, const tr_hypothesis *h, tr_result *result)
{
    const size_t count = h->log_probabilities ? h->count + h->finished : 0;
    result->scored = calloc(count + 1, sizeof *result->scored);
    if (!result->scored)
        return cli_fail_memory();
    for (size_t i = 0; i < count; i++) {
        const float p = h->log_probabilities[i];
        result->scored[i] = (tr_scored_token){i < h->count ? h->ids[i] : model->info.eos_id, p};
        result->min_log_probability = p < result->min_log_probability ? p : result->min_log_probability;
    }
    result->scored_count = count;
    result->score = h->log_probability;
    result->mean_log_probability = count ? h->log_probability / (float)count : 0;
    return CLI_DONE;
}

/* Copies the target's tokens and its links. */
static int copy_alignment(const tr_hypothesis *h, tr_tokens *target, tr_alignment *alignment)
{
    tr_ids ids = {0};
    tr_buffer links = {0};
    const bool good = tr_ids_append(&ids, h->ids, h->count) &&
                      tr_buffer_append(&links, h->alignment.links, h->alignment.count * sizeof *h->alignment.links);
    *target = (tr_tokens){ids.data, ids.size};
    *alignment = (tr_alignment){(tr_link *)(void *)links.data, h->alignment.count};
    return good ? CLI_DONE : cli_fail_memory();
}

static int copy_hypotheses(const cli_settings *s, const cli_model *model, const tr_hypotheses *found, tr_result *result)
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
        status = spell_tokens(s, model, h, &to->text, &to->size);
        if (!status && s->alignment)
            status = copy_alignment(h, &to->target, &to->alignment);
    }
    return status;
}

static int store_result(const cli_settings *s, const cli_model *model, const tr_hypotheses *found, tr_result *result)
{
    const tr_hypothesis *best = &found->items[0];
    result->target_tokens = (int)best->count;
    result->flags |= best->finished ? 0 : TR_FLAG_MAX_LENGTH;
    int status = spell_tokens(s, model, best, &result->text, &result->size);
    if (!status && s->scores)
        status = store_scores(model, best, result);
    if (!status && s->alignment)
        status = copy_alignment(best, &result->target, &result->alignment);
    if (!status && s->search.n_best > 1)
        status = copy_hypotheses(s, model, found, result);
    return status;
}

/* Results take over the ids of the sources. */
static int store_results(const cli_settings *s, const cli_model *model, const cli_token_lines *l, parsed_lines *parsed,
                         tr_result *results)
{
    const tr_hypothesis nothing = {.finished = true};
    const tr_hypotheses *next = parsed->found;
    int status = CLI_DONE;
    for (size_t i = 0; !status && i < l->count; i++) {
        tr_tokens *source = &parsed->sources[i];
        results[i] = (tr_result){.sentences = 1, .source_tokens = (int)source->count, .source = *source};
        *source = (tr_tokens){0};
        results[i].flags = tr_utf8_valid(l->lines[i].text, l->lines[i].size) ? 0 : TR_FLAG_INVALID_UTF8;
        if (results[i].source.count)
            status = store_result(s, model, next++, &results[i]);
        else
            status = spell_tokens(s, model, &nothing, &results[i].text, &results[i].size);
    }
    return status;
}

int cli_translate_tokens(const cli_settings *settings, const cli_model *model, const tr_translate_options *options,
                         const cli_token_lines *lines, double *seconds, tr_result **results)
{
    parsed_lines parsed = {0};
    tr_error error;
    int status = parse_lines(settings, model, lines, &parsed);
    *results = NULL;
    const double start = tr_seconds();
    if (!status && parsed.used &&
        tr_search_tokens(model->context, parsed.nonempty, lines->prefixes ? parsed.prefixes : NULL, parsed.used, options,
                         &parsed.found, &error))
        status = error.status == TR_ERROR_CANCELLED ? CLI_FAILED : cli_fail_error(&error);
    *seconds = tr_seconds() - start;
    if (!status && !(*results = calloc(lines->count, sizeof **results)))
        status = cli_fail_memory();
    if (!status)
        status = store_results(settings, model, lines, &parsed, *results);
    free_parsed(&parsed, lines->count);
    if (status) {
        tr_result_array_free(*results, *results ? lines->count : 0);
        *results = NULL;
    }
    return status;
}
