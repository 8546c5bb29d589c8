#define _GNU_SOURCE
#include "cli/model.h"

#include "api/model.h"
#include "cli/config.h"
#include "cli/hub.h"
#include "cli/signals.h"
#include "cli/suggest.h"
#include "cli/translate_options.h"
#include "util/clock.h"
#include "util/process.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

const char *cli_type_name(tr_type type)
{
    return type == TR_TYPE_I8 ? "int8" : tr_type_name(type);
}

/* ----------------------------------------------------------------------------------------------------- finding a model */

int cli_model_resolve(char path[TR_PATH], const char *name, const cli_settings *settings)
{
    if (strncmp(name, "hf:", 3) == 0)
        return TR_IMPORT ? cli_hub_find(path, name, settings)
                         : cli_fail("%s: this build does not download; give a GGUF file", name);
    if (snprintf(path, TR_PATH, "%s", name) >= TR_PATH)
        return cli_fail("%.40s...: %s", name, strerror(ENAMETOOLONG));
    return access(path, F_OK) < 0 && errno == ENOENT ? cli_fail_no_model(path) : CLI_DONE;
}

int cli_model_find(char path[TR_PATH], const cli_settings *settings)
{
    const char *wanted = cli_model_wanted(settings);
    if (wanted)
        return cli_model_resolve(path, wanted, settings);
    if (cli_is_into_chinese(settings->source, settings->target) && cli_opposite_model(path))
        return CLI_DONE;
    return cli_default_model(path)
               ? CLI_DONE
               : cli_fail("no model: there is no %s; name a model file with -m FILE or in $TRANSLATE_MODEL",
                          tr_default_model_path());
}

const char *cli_models_folder(const cli_settings *settings)
{
    const char *variable = getenv("TRANSLATE_MODELS");
    if (settings->models || settings->model || !variable || !*variable || settings->tokens)
        return settings->models;
    return settings->source || settings->target ? variable : NULL;
}

bool cli_detects(const cli_settings *settings)
{
    return settings->source && strcmp(settings->source, "auto") == 0;
}

/* ---------------------------------------------------------------------------------------------------------- languages */

/* So that wrong languages are reported before any input is read. With --tokens the tokens tell the languages. */
static int check_languages(const cli_settings *settings, const tr_model *model)
{
    tr_error error;
    if (settings->tokens || !(settings->command->bit & (CMD_TRANSLATE | CMD_BENCH | CMD_ATTENTION)) ||
        tr_model_check_languages(model, settings->source, settings->target, &error) == TR_OK)
        return CLI_DONE;
    tr_model_info info;
    tr_model_get_info(model, &info);
    return error.status != TR_ERROR_ARGUMENT ? cli_fail_error(&error)
           : model->package.languages.count > 0
               ? cli_usage(settings, "%s; translate info lists its languages", error.message)
               : cli_fail_languages(settings, &info, error.message);
}

/* A model without a vocabulary has no pieces: no text can be read or written, only ids. */
static int check_pieces(const cli_settings *settings, const cli_model *model)
{
    const bool ids = settings->ids && (settings->tokens || settings->command->bit == CMD_SCORE);
    if (ids || model->model->package.source.index.count)
        return CLI_DONE;
    return cli_fail("%s: has no vocabulary (vocab.json is missing); give it ids, with --tokens --ids", model->path);
}

/* ----------------------------------------------------------------------------------------------------------- ensemble */

/* value: PATH or PATH:WEIGHT. The text after the last colon is a weight if it is a number. */
static int parse_member(const cli_settings *settings, const char *value, char name[TR_PATH], float *weight)
{
    const char *colon = strrchr(value, ':');
    size_t size = strlen(value);
    char *end = NULL;
    *weight = 1;
    if (colon && colon[1] && strchr("0123456789.-", colon[1])) {
        const float number = strtof(colon + 1, &end);
        if (!*end) {
            if (!(number > 0) || !isfinite(number))
                return cli_usage(settings, "--ensemble %s: the weight is not a number above 0", value);
            *weight = number;
            size = (size_t)(colon - value);
        }
    }
    if (!size)
        return cli_usage(settings, "--ensemble %s: names no model", value);
    if (size >= TR_PATH)
        return cli_fail("--ensemble: %s", strerror(ENAMETOOLONG));
    memcpy(name, value, size);
    name[size] = 0;
    return CLI_DONE;
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

static int open_member(cli_model *model, const cli_settings *settings, const tr_model_options *options, const char *value,
                       float *weight)
{
    char name[TR_PATH], path[TR_PATH];
    tr_model *other;
    tr_model_info info;
    tr_error error;
    int status = parse_member(settings, value, name, weight);
    if (!status)
        status = cli_model_resolve(path, name, settings);
    if (status)
        return status;
    if (tr_open_model(path, options, &other, &error))
        return cli_fail_error(&error);
    model->others[model->other_count++] = other;
    tr_model_get_info(other, &info);
    model->info.max_source_length = min_int(model->info.max_source_length, info.max_source_length);
    model->info.max_target_length = min_int(model->info.max_target_length, info.max_target_length);
    if (settings->verbose)
        cli_note("with %s: weight %g to 1, d_model %d, layers %d+%d, weights %s", path, (double)*weight, info.d_model,
                 info.encoder_layers, info.decoder_layers, info.compute);
    return CLI_DONE;
}

/* Opens the further models of --ensemble as -m's was opened, and enters them in context, which then points into model. */
static int open_ensemble(cli_model *model, const cli_settings *settings, const tr_model_options *options,
                         tr_context_options *context)
{
    const int count = settings->ensemble.count;
    int status = CLI_DONE;
    if (count >= TR_MAX_ENSEMBLE)
        return cli_usage(settings, "--ensemble: %d models with that of -m, the maximum is %d", count + 1, TR_MAX_ENSEMBLE);
    if (options->load == TR_LOAD_MAP)
        cli_guard_model_file("-m or --ensemble", NULL);
    model->weights[0] = 1;
    for (int i = 0; i < count && !status; i++)
        status = open_member(model, settings, options, settings->ensemble.values[i], &model->weights[i + 1]);
    context->ensemble = (const tr_model *const *)model->others;
    context->ensemble_count = count;
    context->ensemble_weights = model->weights;
    return status;
}

/* Opens the model that translates back. */
static int open_reverse(cli_model *model, const cli_settings *settings, const tr_model_options *options, tr_error *error)
{
    tr_model_options own = *options;
    cli_reverse_options(&own);
    if (own.load == TR_LOAD_MAP)
        cli_guard_model_file("-m or --rerank", NULL);
    if (tr_open_model(settings->reverse, &own, &model->reverse, error))
        return CLI_FAILED;
    if (settings->verbose)
        cli_note("translations are ranked by %s", settings->reverse);
    return CLI_DONE;
}

/* Makes the context, with the model that translates back; without it, if nobody asked for it and it cannot be used. */
static int make_context(cli_model *model, const cli_settings *settings, const tr_model_options *options,
                        tr_context_options *context)
{
    tr_error error;
    if (settings->reverse) {
        int status = open_reverse(model, settings, options, &error);
        context->reverse = model->reverse;
        if (!status && !tr_make_context(model->model, context, &model->context, &error))
            return CLI_DONE;
        const bool unusable = error.status != TR_ERROR_MEMORY && error.status != TR_ERROR_IO;
        if (cli_rerank_of(settings) != CLI_RERANK_AUTO || !unusable)
            return cli_fail_error(&error);
        cli_warn(settings, "%s (it would rank translations; --rerank off)", error.message);
        tr_model_close(model->reverse);
        context->reverse = model->reverse = NULL;
    }
    return tr_make_context(model->model, context, &model->context, &error) ? cli_fail_error(&error) : CLI_DONE;
}

/* ------------------------------------------------------------------------------------------------------------ opening */

static void print_details(const cli_model *model)
{
    const tr_model_info *i = &model->info;
    cli_note("model %s: %s, %s %s-%s, d_model %d, layers %d+%d, weights %s", model->path, i->format, i->architecture,
             *i->source_language ? i->source_language : "?", *i->target_language ? i->target_language : "?", i->d_model,
             i->encoder_layers, i->decoder_layers, i->compute);
    if (i->has_shortlist)
        cli_note("the shortlist limits the target tokens of each source; --shortlist off allows all");
    if (i->vocabulary_subset)
        cli_note("%d of %d target tokens are allowed; --allowed off allows all", i->vocabulary_subset, i->target_vocabulary);
    cli_note("kernels %s, loaded in %.1f ms", i->cpu, model->load_seconds * 1e3);
}

/* Copying the file pays off for much text: the copy can lie in huge pages. */
static tr_load choose_load(const cli_settings *settings)
{
    if (settings->load != CLI_AUTO)
        return (tr_load)settings->load;
    struct stat input;
    const bool whole_file = !settings->argument_count &&
                            (settings->input ? stat(settings->input, &input) == 0 : fstat(STDIN_FILENO, &input) == 0) &&
                            S_ISREG(input.st_mode);
    const unsigned bit = settings->command->bit;
    return bit == CMD_BENCH || (bit == CMD_TRANSLATE && whole_file) ? TR_LOAD_COPY : TR_LOAD_MAP;
}

int cli_model_open(cli_model *model, const cli_settings *settings, bool with_context)
{
    *model = (cli_model){.source = settings->source, .target = settings->target};
    int status = cli_model_find(model->path, settings);
    if (status)
        return status;
    const tr_load load = choose_load(settings);
    if (load == TR_LOAD_MAP)
        cli_guard_model_file(model->path, NULL);
    tr_error error;
    tr_model_options options = tr_model_default_options();
    options.load = load;
    options.compute = (tr_compute)settings->compute;
    options.shortlist = settings->shortlist;
    options.full_vocabulary = settings->full_vocabulary;
    options.attention_windows = settings->attention;
    tr_context_options context = tr_context_default_options();
    context.threads = settings->threads;
    context.batch_size = settings->batch_size;
    const double start = tr_seconds();
    if (tr_open_model(model->path, &options, &model->model, &error))
        return cli_fail_error(&error);
    tr_model_get_info(model->model, &model->info);
    status = check_languages(settings, model->model);
    if (!status)
        status = check_pieces(settings, model);
    if (!status && with_context && settings->ensemble.count)
        status = open_ensemble(model, settings, &options, &context);
    if (!status && with_context)
        status = make_context(model, settings, &options, &context);
    model->load_seconds = tr_seconds() - start;
    if (status)
        cli_model_close(model);
    else if (settings->verbose)
        print_details(model);
    return status;
}

void cli_model_close(cli_model *model)
{
    tr_context_destroy(model->context);
    while (model->other_count)
        tr_model_close(model->others[--model->other_count]);
    tr_model_close(model->reverse);
    tr_model_close(model->model);
    model->reverse = NULL;
    model->context = NULL;
    model->model = NULL;
}

void cli_model_leave(cli_model *model)
{
#if defined(__SANITIZE_ADDRESS__)
    cli_model_close(model); /* the sanitizer reports memory that is not freed */
#else
    (void)model;
#endif
}
