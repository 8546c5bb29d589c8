#include "cli/route.h"

#include "cli/detect.h"
#include "cli/signals.h"
#include "api/model_index.h"
#include "tokenizer/allowed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file could not be examined: it may be a model or not. */
static bool could_not_look(tr_status status)
{
    return status == TR_ERROR_MEMORY || status == TR_ERROR_IO;
}

/* --------------------------------------------------------------------------------------------------------- the folder */

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

/* The candidates for the source language: those that models of the folder translate into the target, perhaps by way of
 * another language. */
static int list_folder_sources(const cli_route *route, tr_languages *codes)
{
    tr_route found;
    const char *code;
    tr_status status = TR_OK;
    for (size_t i = 0; i < tr_model_index_count(route->index); i++)
        for (size_t k = 0; status == TR_OK && (code = tr_model_index_source(route->index, i, k)); k++) {
            const size_t before = codes->count;
            status = tr_languages_add(codes, code, strlen(code), 0, NULL);
            if (codes->count > before && tr_find_route(route->index, code, route->target, &found, NULL) != TR_OK)
                codes->items[before].id = -1; /* there is no way to the target */
        }
    size_t kept = 0;
    for (size_t i = 0; i < codes->count; i++)
        if (codes->items[i].id >= 0)
            codes->items[kept++] = codes->items[i];
    codes->count = kept;
    if (status != TR_OK)
        return cli_fail_memory();
    return kept ? CLI_DONE
                : cli_fail("%s: no model translates into it (translate info %s lists them)", route->target, route->path);
}

/* The source languages of the model. If it is not a valid model, opening it will print the message. */
static int list_model_sources(const cli_settings *settings, tr_languages *codes)
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

/* The program's models, of which none is named. */
static int list_both(tr_languages *codes)
{
    return tr_languages_add(codes, "zh", 2, 0, NULL) == TR_OK && tr_languages_add(codes, "en", 2, 1, NULL) == TR_OK
               ? CLI_DONE
               : cli_fail_memory();
}

static int detect_source(cli_route *route, const cli_settings *settings, const char *text, size_t size)
{
    tr_languages codes = {0};
    int status = !route->index   ? list_model_sources(settings, &codes)
                 : route->target ? list_folder_sources(route, &codes)
                                 : list_both(&codes);
    if (!status)
        status = cli_detect(settings, text, size, &codes, route->detected, sizeof route->detected);
    tr_languages_free(&codes);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- opening */

/* Whether the program came with both of its models, and nothing names another one. Stores the path of the second one. */
static bool has_both(const cli_settings *settings, char path[TR_PATH])
{
    return !settings->models && !settings->tokens && !settings->ensemble.count && !cli_model_wanted(settings) &&
           cli_default_model(CLI_ZH_EN, path) && cli_default_model(CLI_EN_ZH, path);
}

/* Of one language the other one follows: Chinese from and into English, English into Chinese. */
static const char *other_language(const char *code)
{
    return (tr_scripts_of_language(code) & tr_script_bit(TR_HAN)) != 0 ? "en" : "zh";
}

/* Takes the folder of the program's models, or leaves the choice to the text, where no languages are named. */
static int find_both(cli_route *route, const cli_settings *settings)
{
    route->by_script = !settings->source && !settings->target;
    if (route->by_script)
        return CLI_DONE;
    if (!route->source)
        route->source = other_language(route->target);
    if (!route->target && !cli_detects(settings))
        route->target = other_language(route->source);
    *strrchr(route->path, '/') = 0;
    return cli_models_open(&route->index, route->path, settings);
}

int cli_route_find(cli_route *route, const cli_settings *settings)
{
    const char *folder = cli_models_folder(settings);
    route->source = settings->source;
    route->target = settings->target;
    if (settings->models && settings->model)
        return cli_usage(settings, "--models %s: --model %s is given too; only one of them", settings->models,
                         settings->model);
    if (settings->models && settings->tokens)
        return cli_usage(settings, "--tokens: tokens are those of one model; name it with -m");
    if (cli_detects(settings) && settings->tokens)
        return cli_usage(settings, "-s auto: the language of tokens is not detected");
    if (!folder)
        return has_both(settings, route->path) ? find_both(route, settings) : CLI_DONE;
    if (settings->ensemble.count)
        return cli_usage(settings, "--ensemble: not with a folder of models; name the first one with -m");
    if (!settings->target)
        return cli_usage(settings, "target language: with a folder of models, name one with -t LANG");
    if (!settings->source)
        return cli_usage(settings, "source language: with a folder of models, name one with -s LANG, or -s auto");
    if (snprintf(route->path, sizeof route->path, "%s", folder) >= TR_PATH)
        return cli_fail("--models: %s", strerror(ENAMETOOLONG));
    return cli_models_open(&route->index, folder, settings);
}

static void print_route(const tr_route *found)
{
    const tr_route_step *steps = found->steps;
    if (found->count == 1)
        cli_note("%s to %s: %s", steps[0].source, steps[0].target, steps[0].path);
    else
        cli_note("%s to %s to %s: %s, then %s", steps[0].source, steps[0].target, steps[1].target, steps[0].path,
                 steps[1].path);
}

/* Stores the folder's models from source to target, and their languages, in step_settings. */
static int choose_models(cli_route *route, const cli_settings *settings, const char *source,
                         cli_settings step_settings[TR_MAX_ROUTE_STEPS])
{
    tr_route found;
    tr_error error;
    if (tr_find_route(route->index, source, route->target, &found, &error))
        return cli_fail_error(&error);
    route->count = found.count;
    for (int i = 0; i < found.count; i++) {
        step_settings[i].model = found.steps[i].path;
        step_settings[i].source = found.steps[i].source;
        step_settings[i].target = found.steps[i].target;
    }
    if (settings->verbose)
        print_route(&found);
    return CLI_DONE;
}

/* A Chinese text has Latin words, and an English one a few Chinese characters. */
static bool is_latin(const char *text, size_t size)
{
    tr_script_census census = {0};
    uint64_t letters = 0;
    tr_script_count(&census, text, size);
    for (int i = 0; i < TR_SCRIPTS; i++)
        letters += census.letters[i];
    return census.letters[TR_LATIN] > letters / 2 && census.letters[TR_HAN] < letters / 4;
}

bool cli_route_needs_sample(const cli_route *route, const cli_settings *settings)
{
    return route->by_script || cli_detects(settings);
}

int cli_route_open(cli_route *route, const cli_settings *settings, const char *text, size_t size)
{
    cli_settings step_settings[TR_MAX_ROUTE_STEPS];
    const bool into_chinese = route->by_script && is_latin(text, size);
    int status = cli_detects(settings) ? detect_source(route, settings, text, size) : CLI_DONE;
    if (status)
        return status;
    const char *source = *route->detected ? route->detected : route->source;
    if (route->index && !route->target)
        route->target = other_language(source);
    for (int i = 0; i < TR_MAX_ROUTE_STEPS; i++) {
        step_settings[i] = *settings;
        step_settings[i].source = source;
        step_settings[i].target = route->target;
    }
    route->count = 1;
    if (into_chinese)
        step_settings[0].model = route->path;
    if (route->index)
        status = choose_models(route, settings, source, step_settings);
    for (int i = 0; !status && i < route->count; i++)
        status = cli_model_open(&route->models[i], &step_settings[i], true);
    if (!status && route->count > 1)
        cli_guard_model_file(route->path, NULL);
    if (!status && into_chinese && !settings->quiet)
        cli_note("English to Chinese, because the text is in Latin letters; -s and -t name other languages");
    return status;
}
