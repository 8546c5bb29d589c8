#define _GNU_SOURCE
#include "cli/model.h"

#include "cli/config.h"
#include "cli/ensemble.h"
#include "cli/hub.h"
#include "cli/signals.h"
#include "util/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODEL_NAME "zh-en.gguf"

const char *cli_type_name(tr_type type)
{
    return type == TR_TYPE_I8 ? "int8" : tr_type_name(type);
}

/* --------------------------------------------------------------------------------------------------- the default model */

/* Beside the program, so that an installation can be moved and a build tree works; then where it was installed. */
static bool default_model(char path[TR_PATH])
{
    static const char *const beside[] = {"../share/translate/" MODEL_NAME, "../models/" MODEL_NAME};
    char folder[TR_PATH], candidate[TR_PATH];
    const bool known = tr_program_folder(folder, sizeof folder);
    for (int i = 0; known && i < 2; i++) {
        const int n = snprintf(candidate, sizeof candidate, "%s/%s", folder, beside[i]);
        if (n > 0 && n < TR_PATH && access(candidate, R_OK) == 0 && realpath(candidate, path))
            return true;
    }
    snprintf(path, TR_PATH, "%s", TR_MODEL_PATH);
    return access(path, R_OK) == 0;
}

int cli_model_find(char path[TR_PATH], const cli_settings *settings)
{
    const char *variable = getenv("TRANSLATE_MODEL");
    const char *wanted = settings->model ? settings->model : variable && *variable ? variable : NULL;
    if (!wanted)
        return default_model(path) ? CLI_DONE
                                   : cli_fail("no model: there is no " TR_MODEL_PATH
                                              "; name a model file with -m FILE or in $TRANSLATE_MODEL");
    return cli_model_resolve(path, wanted, settings);
}

int cli_model_resolve(char path[TR_PATH], const char *name, const cli_settings *settings)
{
    if (strncmp(name, "hf:", 3) == 0)
        return cli_hub_find(path, name, settings);
    if (snprintf(path, TR_PATH, "%s", name) >= TR_PATH)
        return cli_fail("-m: %s", strerror(ENAMETOOLONG));
    return CLI_DONE;
}

/* ---------------------------------------------------------------------------------------------------------- languages */

/* Before any input is read. Tokens bring their languages' with them. */
static int check_languages(const cli_settings *settings, const tr_model *model)
{
    tr_error error;
    if (settings->tokens || !(settings->command->bit & (CMD_TRANSLATE | CMD_BENCH | CMD_ATTENTION)) ||
        tr_model_check_languages(model, settings->source, settings->target, &error) == TR_OK)
        return CLI_DONE;
    return error.status == TR_ERROR_ARGUMENT ? cli_usage(settings, "%s", error.message) : cli_fail_error(&error);
}

/* ------------------------------------------------------------------------------------------------------------ opening */

static void describe(const cli_model *model)
{
    const tr_model_info *i = &model->info;
    cli_note("model %s: %s, %s %s-%s, d_model %d, layers %d+%d, weights %s", model->path, i->format, i->architecture,
             *i->source_language ? i->source_language : "?", *i->target_language ? i->target_language : "?", i->d_model,
             i->encoder_layers, i->decoder_layers, i->compute);
    if (i->has_shortlist)
        cli_note("the shortlist says which tokens can come; --shortlist off allows all");
    if (i->vocabulary_subset)
        cli_note("%d of %d target tokens can come; --allowed off allows all", i->vocabulary_subset, i->target_vocabulary);
    cli_note("kernels %s, loaded in %.1f ms", i->cpu, model->load_seconds * 1e3);
}

/* Reading the file pays where much is to be translated: memory of our own can have huge pages. */
static tr_load choose_load(const cli_settings *settings)
{
    enum { AUTO, MAP };
    if (settings->load != AUTO)
        return settings->load == MAP ? TR_LOAD_MAP : TR_LOAD_COPY;
    struct stat input;
    const bool whole_file = !settings->argument_count &&
                            (settings->input ? stat(settings->input, &input) == 0 : fstat(STDIN_FILENO, &input) == 0) &&
                            S_ISREG(input.st_mode);
    const unsigned bit = settings->command->bit;
    return bit == CMD_BENCH || (bit == CMD_TRANSLATE && whole_file) ? TR_LOAD_COPY : TR_LOAD_MAP;
}

int cli_model_open(cli_model *model, const cli_settings *settings, bool with_context)
{
    *model = (cli_model){.model = NULL};
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
    options.full_vocabulary = settings->all_tokens;
    options.attention_windows = settings->attention;
    tr_context_options context = tr_context_default_options();
    context.threads = settings->threads;
    context.batch_size = settings->batch_size;
    const double start = cli_seconds();
    if (tr_model_open(model->path, &options, &model->model, &error))
        return cli_fail_error(&error);
    tr_model_get_info(model->model, &model->info);
    status = check_languages(settings, model->model);
    if (!status && with_context)
        status = cli_ensemble_open(model, settings, &options, &context);
    if (!status && with_context && tr_context_create(model->model, &context, &model->context, &error))
        status = cli_fail_error(&error);
    model->load_seconds = cli_seconds() - start;
    if (status)
        cli_model_close(model);
    else if (settings->verbose)
        describe(model);
    return status;
}

void cli_model_close(cli_model *model)
{
    tr_context_destroy(model->context);
    cli_ensemble_close(model);
    tr_model_close(model->model);
    model->context = NULL;
    model->model = NULL;
}

void cli_model_leave(cli_model *model)
{
#if defined(__SANITIZE_ADDRESS__)
    cli_model_close(model); /* what is still there counts as lost */
#else
    (void)model;
#endif
}
