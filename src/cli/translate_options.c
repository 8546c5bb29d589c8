#include "cli/translate_options.h"

#include "cli/document.h"
#include "cli/pieces.h"

#include <stdio.h>
#include <string.h>

static const float min_temperature = 0.01F;

/* Options that need --sample. */
static int check_without_sample(const cli_settings *s)
{
    const tr_search_options plain = tr_search_default_options(), *q = &s->search;
    const char *name = q->temperature != plain.temperature ? "--temperature"
                       : q->top_k != plain.top_k           ? "--top-k"
                       : q->top_p != plain.top_p           ? "--top-p"
                       : q->seed != plain.seed             ? "--seed"
                                                           : NULL;
    return name ? cli_usage(s, "%s: needs --sample", name) : CLI_DONE;
}

static int check_sample(const cli_settings *s)
{
    const tr_search_options *q = &s->search;
    if (!q->sample)
        return check_without_sample(s);
    if (q->beam > 1)
        return cli_usage(s, "--sample: draws without a beam; omit --beam %d (--n-best N gives N draws)", q->beam);
    if (q->alternatives)
        return cli_usage(s, "--sample: not with --alternatives; --n-best N gives N draws");
    if (!(q->temperature >= min_temperature))
        return cli_usage(s, "--temperature: %g is not a number from %g to 100; --top-k 1 always takes the most likely token",
                         (double)q->temperature, (double)min_temperature);
    if (!(q->top_p > 0))
        return cli_usage(s, "--top-p: 0 leaves nothing to draw from; --top-k 1 always takes the most likely token");
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
    if ((s->prefix || s->tsv) && (s->glossary || s->protect == true))
        return cli_usage(s, "%s: not with %s, whose sentences are translated whole",
                         s->glossary ? "--glossary" : "--protect on", s->prefix ? "--prefix" : "--tsv");
    if (s->prefix && s->tsv)
        return cli_usage(s, "--prefix: not with --tsv, where each line brings its own");
    if (s->tsv && s->argument_count)
        return cli_usage(s, "--tsv: needs lines from a file or standard input, not TEXT; --prefix gives one for TEXT");
    return CLI_DONE;
}

int cli_check_search_options(const cli_settings *settings)
{
    int status = check_sample(settings);
    if (!status)
        status = check_n_best(settings);
    if (!status)
        status = check_lengths(settings);
    return status ? status : check_prefix(settings);
}

/* -O: two translations cannot have one name. */
static int check_names(const cli_settings *s)
{
    for (int i = 0; i < s->argument_count; i++) {
        char name[TR_PATH], other[TR_PATH];
        tr_path_name(s->arguments[i], name, sizeof name);
        for (int k = 0; k < i; k++) {
            tr_path_name(s->arguments[k], other, sizeof other);
            if (strcmp(name, other) == 0)
                return cli_usage(s, "%s: two files of this name, which would be one in %s", name, s->output_dir);
        }
    }
    return CLI_DONE;
}

static int check_files(const cli_settings *s)
{
    if (s->output_dir && (s->input || s->output))
        return cli_usage(s, "--output-dir: takes the names of files as arguments, not with --%s",
                         s->input ? "input" : "output");
    if (s->output_dir && !s->argument_count)
        return cli_usage(s, "--output-dir: needs the files to translate as arguments");
    if (s->output_dir)
        return check_names(s);
    if (s->input && s->argument_count)
        return cli_usage(s, "--input %s: TEXT is given too; only one of them", s->input);
    if (s->ids && !s->tokens)
        return cli_usage(s, "--ids: needs --tokens");
    if (s->resume && (!s->output || strcmp(s->output, "-") == 0))
        return cli_usage(s, "--resume: needs --output FILE");
    if (s->resume && s->argument_count)
        return cli_usage(s, "--resume: needs lines from a file or standard input, not TEXT");
    return CLI_DONE;
}

static int check_guard(const cli_settings *s)
{
    if (s->loop_guard == true && s->tokens)
        return cli_usage(s, "--loop-guard on: not with --tokens, which prints the network's own tokens");
    if (s->glossary && (s->tokens || s->protect == false))
        return cli_usage(s, "--glossary: not with %s", s->tokens ? "--tokens" : "--protect off");
    if (s->mark_doubtful && (s->tokens || s->json || s->stream || s->search.n_best > 1))
        return cli_usage(s, "--mark-doubtful: not with %s",
                         s->tokens   ? "--tokens"
                         : s->json   ? "--json, whose flags say it"
                         : s->stream ? "--stream, which prints a text before it is known"
                                     : "--n-best");
    if (s->doubtful_below < 0 && !s->mark_doubtful && !s->json)
        return cli_usage(s, "--doubtful-below: needs --mark-doubtful or --json");
    if (s->protect == true && s->tokens)
        return cli_usage(s, "--protect on: not with --tokens, which prints the network's own tokens");
    if (s->loop_guard == true && s->stream)
        return cli_usage(s, "--loop-guard on: not with --stream, whose printed text cannot be taken back");
    return CLI_DONE;
}

static int check_alignment(const cli_settings *s)
{
    const char *name = s->alignment_layer           ? "--alignment-layer"
                       : s->alignment_head          ? "--alignment-head"
                       : s->alignment_threshold < 1 ? "--alignment-threshold"
                                                    : NULL;
    return name && !s->alignment ? cli_usage(s, "%s: needs --alignment", name) : CLI_DONE;
}

static int check_stream(const cli_settings *s)
{
    if (!s->stream)
        return CLI_DONE;
    if (s->search.beam > 1)
        return cli_usage(s, "--stream: not with --beam %d, which may change the first word until the end", s->search.beam);
    if (s->search.n_best > 1 || s->search.alternatives)
        return cli_usage(s, "--stream: not with %s; it prints one translation",
                         s->search.alternatives ? "--alternatives" : "--n-best");
    if (s->json || s->tokens)
        return cli_usage(s, "--stream: not with %s; it prints text", s->json ? "--json" : "--tokens");
    if (s->output && strcmp(s->output, "-") != 0)
        return cli_usage(s, "--stream: not with --output %s, which appears complete or not at all", s->output);
    return CLI_DONE;
}

cli_rerank cli_rerank_of(const cli_settings *settings)
{
    static const char *const words[] = {"auto", "on", "off"};
    int i = 0;
    while (i < 3 && settings->rerank && strcmp(settings->rerank, words[i]) != 0)
        i++;
    return (cli_rerank)i;
}

static int check_rerank(const cli_settings *s)
{
    const char *with = s->search.sample         ? "--sample"
                       : s->search.alternatives ? "--alternatives"
                       : s->stream              ? "--stream"
                       : s->tokens              ? "--tokens"
                                                : NULL;
    const cli_rerank wanted = cli_rerank_of(s);
    if (wanted == CLI_RERANK_AUTO || wanted == CLI_RERANK_OFF)
        return CLI_DONE;
    if (with)
        return cli_usage(s, "--rerank %s: not with %s", s->rerank, with);
    if (s->search.beam < 2)
        return cli_usage(s, "--rerank %s: needs several translations to choose from; omit --beam %d", s->rerank,
                         s->search.beam);
    return CLI_DONE;
}

int cli_check_translate_options(const cli_settings *settings)
{
    int status = check_files(settings);
    if (!status)
        status = check_rerank(settings);
    if (!status)
        status = cli_document_check(settings);
    if (!status)
        status = check_guard(settings);
    if (!status)
        status = check_alignment(settings);
    if (!status)
        status = check_stream(settings);
    return status ? status : cli_check_search_options(settings);
}

/* ----------------------------------------------------------------------------------------------------- for the library */

int cli_align_options(const cli_settings *s, const cli_model *model, tr_align_options *options)
{
    options->layer = s->alignment_layer ? s->alignment_layer - 1 : TR_ALIGN_AUTO;
    options->head = s->alignment_head ? s->alignment_head - 1 : TR_ALIGN_AUTO;
    options->threshold = s->alignment_threshold;
    if (s->alignment_layer > model->info.decoder_layers)
        return cli_fail("--alignment-layer %d: %s has %d", s->alignment_layer, model->path, model->info.decoder_layers);
    if (s->alignment_head > model->info.decoder_heads)
        return cli_fail("--alignment-head %d: %s has %d", s->alignment_head, model->path, model->info.decoder_heads);
    return CLI_DONE;
}

/* Appends the tokens of one --forbid. A piece that the vocabulary lacks is an error here, not the unknown token. */
static int append_forbidden(const cli_settings *s, const cli_model *model, const char *value, tr_ids *ids)
{
    if (s->ids)
        return cli_parse_ids(model, CLI_TARGET, value, strlen(value), 0, ids);
    for (const char *at = value + strspn(value, " "); *at; at += strspn(at, " ")) {
        const size_t size = strcspn(at, " ");
        const int32_t id = tr_target_id(model->model, at, size);
        if (id < 0)
            return cli_usage(s, "--forbid: '%.*s' is not a token of %s; 'translate tokenize' shows those of a text",
                             (int)size, at, model->path);
        if (!tr_ids_append(ids, &id, 1))
            return cli_fail_memory();
        at += size;
    }
    return CLI_DONE;
}

int cli_forbidden_ids(const cli_settings *settings, const cli_model *model, tr_ids *ids)
{
    int status = CLI_DONE;
    for (int i = 0; !status && i < settings->forbidden.count; i++)
        status = append_forbidden(settings, model, settings->forbidden.values[i], ids);
    return status;
}

tr_search_options cli_search_options(const cli_settings *settings, const tr_ids *forbidden)
{
    tr_search_options search = settings->search;
    search.stopping = (tr_stopping)settings->stopping;
    search.forbidden = forbidden->data;
    search.forbidden_count = forbidden->size;
    return search;
}
