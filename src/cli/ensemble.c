#include "cli/ensemble.h"
#include "cli/signals.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* PATH or PATH:WEIGHT; what is behind the last colon is a weight if it is a number. */
static int parse(const cli_settings *settings, const char *value, char name[TR_PATH], float *weight)
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

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int open_one(cli_model *model, const cli_settings *settings, const tr_model_options *options, const char *value,
                    float *weight)
{
    char name[TR_PATH], path[TR_PATH];
    tr_model *other;
    tr_model_info info;
    tr_error error;
    int status = parse(settings, value, name, weight);
    if (!status)
        status = cli_model_resolve(path, name, settings);
    if (status)
        return status;
    if (tr_model_open(path, options, &other, &error))
        return cli_fail_error(&error);
    model->others[model->other_count++] = other;
    tr_model_get_info(other, &info);
    model->info.max_source_length = smaller(model->info.max_source_length, info.max_source_length);
    model->info.max_target_length = smaller(model->info.max_target_length, info.max_target_length);
    if (settings->verbose)
        cli_note("with %s: weight %g to 1, d_model %d, layers %d+%d, weights %s", path, (double)*weight, info.d_model,
                 info.encoder_layers, info.decoder_layers, info.compute);
    return CLI_DONE;
}

int cli_ensemble_open(cli_model *model, const cli_settings *settings, const tr_model_options *options,
                      tr_context_options *context)
{
    const int count = settings->ensemble.count;
    int status = CLI_DONE;
    if (count >= TR_MAX_ENSEMBLE)
        return cli_usage(settings, "--ensemble: %d models with that of -m, the most is %d", count + 1, TR_MAX_ENSEMBLE);
    if (count && options->load == TR_LOAD_MAP)
        cli_guard_model_file("-m or --ensemble", NULL);
    model->weights[0] = 1;
    for (int i = 0; i < count && !status; i++)
        status = open_one(model, settings, options, settings->ensemble.values[i], &model->weights[i + 1]);
    context->ensemble = (const tr_model *const *)model->others;
    context->ensemble_count = count;
    context->ensemble_weights = model->weights;
    return status;
}

void cli_ensemble_close(cli_model *model)
{
    while (model->other_count)
        tr_model_close(model->others[--model->other_count]);
}
