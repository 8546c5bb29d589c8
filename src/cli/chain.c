#include "cli/chain.h"

#include "cli/detect.h"
#include "cli/signals.h"
#include "api/model_index.h"

#include <stdlib.h>
#include <string.h>

/* What is in the file is not known: neither that it is a model nor that it is none. */
static bool could_not_look(tr_status status)
{
    return status == TR_ERROR_MEMORY || status == TR_ERROR_IO;
}

/* --------------------------------------------------------------------------------------------------------- the folder */

const char *cli_models_folder(const cli_settings *settings)
{
    const char *variable = getenv("TRANSLATE_MODELS");
    if (settings->models || settings->model || !variable || !*variable || settings->tokens)
        return settings->models;
    return settings->source || settings->target ? variable : NULL;
}

void cli_models_warn(const tr_model_index *models, const cli_settings *settings)
{
    const char *warning;
    for (size_t i = 0; (warning = tr_model_index_warning(models, i)); i++)
        cli_warn(settings, "%s", warning);
}

int cli_models_open(tr_model_index **models, const char *folder, const cli_settings *settings)
{
    tr_error error;
    cli_guard_model_file(folder, NULL);
    if (tr_model_index_open(folder, models, &error))
        return cli_fail_error(&error);
    cli_models_warn(*models, settings);
    if (tr_model_index_count(*models))
        return CLI_DONE;
    tr_indexed item;
    const tr_status looked = tr_models_look(folder, &item, &error);
    tr_models_forget(&item);
    tr_model_index_close(*models);
    *models = NULL;
    if (could_not_look(looked))
        return cli_fail_error(&error);
    return cli_fail(looked == TR_OK ? "%s: is a model, not a folder of models: use -m"
                                    : "%s: there is no model in it that can be used",
                    folder);
}

/* ---------------------------------------------------------------------------------------------------------- the source */

bool cli_detects(const cli_settings *settings)
{
    return settings->source && strcmp(settings->source, "auto") == 0;
}

/* The languages that may come out: those of the folder that lead to the target. */
static int list_sources(const cli_chain *chain, const cli_settings *settings, tr_languages *codes)
{
    tr_route route;
    const char *code;
    tr_status status = TR_OK;
    for (size_t i = 0; i < tr_model_index_count(chain->models); i++)
        for (size_t k = 0; status == TR_OK && (code = tr_model_index_source(chain->models, i, k)); k++) {
            const size_t before = codes->count;
            status = tr_languages_add(codes, code, strlen(code), 0, NULL);
            if (codes->count > before && tr_model_index_route(chain->models, code, settings->target, &route, NULL) != TR_OK)
                codes->items[before].id = -1; /* leads nowhere */
        }
    size_t kept = 0;
    for (size_t i = 0; i < codes->count; i++)
        if (codes->items[i].id >= 0)
            codes->items[kept++] = codes->items[i];
    codes->count = kept;
    if (status != TR_OK)
        return cli_fail_memory();
    return kept ? CLI_DONE
                : cli_fail("%s: no model translates into it (translate info %s lists them)", settings->target,
                           cli_models_folder(settings));
}

/* Those of one model; what cannot be told now is told when it is opened. */
static int list_own_sources(const cli_settings *settings, tr_languages *codes)
{
    char path[TR_PATH] = "";
    tr_indexed item;
    tr_error error;
    const int status = cli_model_find(path, settings);
    if (status)
        return status;
    cli_guard_model_file(path, NULL);
    const tr_status looked = tr_models_look(path, &item, &error);
    if (looked == TR_OK) {
        *codes = item.sources;
        item.sources = (tr_languages){0};
        tr_models_forget(&item);
    }
    return could_not_look(looked) ? cli_fail_error(&error) : CLI_DONE;
}

static int detect(cli_chain *chain, const cli_settings *settings, const char *text, size_t size)
{
    tr_languages codes = {0};
    int status = chain->models ? list_sources(chain, settings, &codes) : list_own_sources(settings, &codes);
    if (!status)
        status = cli_detect(settings, text, size, &codes, chain->detected, sizeof chain->detected);
    tr_languages_free(&codes);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- opening */

int cli_chain_find(cli_chain *chain, const cli_settings *settings)
{
    const char *folder = cli_models_folder(settings);
    if (settings->models && settings->model)
        return cli_usage(settings, "--models %s: --model %s is given too; only one of them", settings->models,
                         settings->model);
    if (settings->models && settings->tokens)
        return cli_usage(settings, "--tokens: tokens are those of one model; name it with -m");
    if (cli_detects(settings) && settings->tokens)
        return cli_usage(settings, "-s auto: the language of tokens is not detected");
    if (!folder)
        return CLI_DONE;
    if (settings->ensemble.count)
        return cli_usage(settings, "--ensemble: not with a folder of models; name the first one with -m");
    if (!settings->target)
        return cli_usage(settings, "target language: with a folder of models, name one with -t LANG");
    if (!settings->source)
        return cli_usage(settings, "source language: with a folder of models, name one with -s LANG, or -s auto");
    return cli_models_open(&chain->models, folder, settings);
}

static void describe(const cli_chain *chain, const tr_route *route)
{
    if (chain->count == 1)
        cli_note("%s to %s: %s", route->steps[0].source, route->steps[0].target, route->steps[0].path);
    else
        cli_note("%s to %s to %s: %s, then %s", route->steps[0].source, route->steps[0].target, route->steps[1].target,
                 route->steps[0].path, route->steps[1].path);
}

/* The models of the way from source to target. */
static int choose(cli_chain *chain, const cli_settings *settings, const char *source, cli_settings named[TR_MAX_ROUTE_STEPS])
{
    tr_route route;
    tr_error error;
    if (tr_model_index_route(chain->models, source, settings->target, &route, &error))
        return cli_fail_error(&error);
    chain->count = route.count;
    for (int i = 0; i < route.count; i++) {
        named[i].model = route.steps[i].path;
        named[i].source = route.steps[i].source;
        named[i].target = route.steps[i].target;
    }
    if (settings->verbose)
        describe(chain, &route);
    return CLI_DONE;
}

int cli_chain_open(cli_chain *chain, const cli_settings *settings, const char *text, size_t size)
{
    cli_settings named[TR_MAX_ROUTE_STEPS];
    int status = cli_detects(settings) ? detect(chain, settings, text, size) : CLI_DONE;
    if (status)
        return status;
    const char *source = *chain->detected ? chain->detected : settings->source;
    for (int i = 0; i < TR_MAX_ROUTE_STEPS; i++) {
        named[i] = *settings;
        named[i].source = source;
    }
    chain->count = 1;
    if (chain->models)
        status = choose(chain, settings, source, named);
    for (int i = 0; !status && i < chain->count; i++) {
        cli_link *link = &chain->links[i];
        link->source = named[i].source;
        link->target = named[i].target;
        status = cli_model_open(&link->model, &named[i], true);
    }
    if (!status && chain->count > 1)
        cli_guard_model_file(cli_models_folder(settings), NULL);
    return status;
}

void cli_chain_leave(cli_chain *chain)
{
    for (int i = 0; i < chain->count; i++)
        cli_model_leave(&chain->links[i].model);
    tr_model_index_close(chain->models);
}
