#include "cli/search.h"

#include "cli/pieces.h"

#include <stdio.h>
#include <string.h>

static const float coolest = 0.01F; /* temperature */

/* Options that mean nothing without --sample. */
static int check_without_sample(const cli_settings *s)
{
    const tr_search_options plain = tr_search_default_options(), *q = &s->search;
    const char *name = q->temperature != plain.temperature ? "--temperature"
                       : q->top_k != plain.top_k           ? "--top-k"
                       : q->top_p != plain.top_p           ? "--top-p"
                       : q->seed != plain.seed             ? "--seed"
                                                           : NULL;
    return name ? cli_usage(s, "%s: tokens are drawn with --sample only", name) : CLI_DONE;
}

static int check_sample(const cli_settings *s)
{
    const tr_search_options *q = &s->search;
    if (!q->sample)
        return check_without_sample(s);
    if (q->beam > 1)
        return cli_usage(s, "--sample: draws without a beam; leave out --beam %d (--n-best N gives N draws)", q->beam);
    if (q->alternatives)
        return cli_usage(s, "--sample: not with --alternatives; --n-best N gives N draws");
    if (!(q->temperature >= coolest))
        return cli_usage(s, "--temperature: %g is not a number from %g to 100; --top-k 1 always takes the likeliest token",
                         (double)q->temperature, (double)coolest);
    if (!(q->top_p > 0))
        return cli_usage(s, "--top-p: 0 leaves nothing to draw from; --top-k 1 always takes the likeliest token");
    return CLI_DONE;
}

static int check_n_best(const cli_settings *s)
{
    const tr_search_options *q = &s->search;
    if (q->alternatives && q->n_best < 2)
        return cli_usage(s, "--alternatives: needs --n-best N, how many at most (2 or more)");
    if (!q->alternatives && q->alternatives_min > 0)
        return cli_usage(s, "--alternatives-min: needs --alternatives");
    if (q->n_best > q->beam && !q->sample && !q->alternatives)
        return cli_usage(s, "--n-best %d: more than --beam %d finds; use --beam %d, --sample or --alternatives", q->n_best,
                         q->beam, q->n_best);
    return CLI_DONE;
}

static int check_lengths(const cli_settings *s)
{
    if (s->min_length > s->max_length)
        return cli_usage(s, "--min-length %d: more than --max-length %d", s->min_length, s->max_length);
    if (s->search.max_length_offset && s->search.max_length_factor == 0)
        return cli_usage(s, "--max-length-more: needs --max-length-factor");
    return CLI_DONE;
}

static int check_prefix(const cli_settings *s)
{
    if (s->prefix && s->tsv)
        return cli_usage(s, "--prefix: lines have their own with --tsv; only one of them");
    if (s->tsv && s->argument_count)
        return cli_usage(s, "--tsv: needs lines from a file or standard input, not TEXT; --prefix gives one for TEXT");
    return CLI_DONE;
}

int cli_search_check(const cli_settings *settings)
{
    static int (*const checks[])(const cli_settings *) = {check_sample, check_n_best, check_lengths, check_prefix};
    int status = CLI_DONE;
    for (size_t i = 0; !status && i < sizeof checks / sizeof *checks; i++)
        status = checks[i](settings);
    return status;
}

/* The pieces of a value, each known: an unknown one does not stand for the unknown token here. */
static int forbid(const cli_settings *s, const cli_model *model, const char *value, tr_ids *ids)
{
    if (s->ids)
        return cli_parse_ids(model, CLI_TARGET, value, strlen(value), 0, ids);
    for (const char *at = value + strspn(value, " "); *at; at += strspn(at, " ")) {
        const size_t size = strcspn(at, " ");
        const int32_t id = tr_target_id(model->model, at, size);
        if (id < 0)
            return cli_usage(s, "--forbid: '%.*s' is no token of %s; 'translate tokenize' shows a text's", (int)size, at,
                             model->path);
        if (!tr_ids_append(ids, &id, 1))
            return cli_fail_memory();
        at += size;
    }
    return CLI_DONE;
}

int cli_search_forbidden(const cli_settings *settings, const cli_model *model, tr_ids *ids)
{
    int status = CLI_DONE;
    for (int i = 0; !status && i < settings->forbidden.count; i++)
        status = forbid(settings, model, settings->forbidden.values[i], ids);
    return status;
}

tr_search_options cli_search(const cli_settings *settings, const tr_ids *forbidden)
{
    tr_search_options search = settings->search;
    search.stopping = (tr_stopping)settings->stopping;
    search.forbidden = forbidden->data;
    search.forbidden_count = forbidden->size;
    return search;
}
