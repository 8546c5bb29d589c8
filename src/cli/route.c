#define _GNU_SOURCE
#include "cli/route.h"

#include "cli/detect.h"
#include "cli/signals.h"
#include "cli/translate_options.h"
#include "api/model_index.h"
#include "tokenizer/language_codes.h"
#include "tokenizer/scripts.h"
#include "util/utf8.h"

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
static int list_folder_sources(const cli_route *route, const cli_settings *settings, tr_languages *codes)
{
    tr_route found;
    const char *code;
    tr_status status = TR_OK;
    for (size_t i = 0; i < tr_model_index_count(route->index); i++)
        for (size_t k = 0; status == TR_OK && (code = tr_model_index_source(route->index, i, k)); k++) {
            const size_t before = codes->count;
            status = tr_languages_add(codes, code, strlen(code), 0, NULL);
            if (codes->count > before && tr_find_route(route->index, code, settings->target, &found, NULL) != TR_OK)
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
                : cli_fail("%s: no model translates into it (translate info %s lists them)", settings->target,
                           cli_models_folder(settings));
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

/* Those of the two models that come with the program. */
static int list_default_sources(const cli_settings *settings, tr_languages *codes)
{
    tr_status status = TR_OK;
    if (!cli_is_language(settings->target, "zh"))
        status = tr_languages_add(codes, "zh", 2, 0, NULL);
    if (status == TR_OK && !cli_is_language(settings->target, "en"))
        status = tr_languages_add(codes, "en", 2, 1, NULL);
    return status == TR_OK ? CLI_DONE : cli_fail_memory();
}

static int detect_source(cli_route *route, const cli_settings *settings, const char *text, size_t size)
{
    tr_languages codes = {0};
    int status = route->index    ? list_folder_sources(route, settings, &codes)
                 : *route->en_zh ? list_default_sources(settings, &codes)
                                 : list_model_sources(settings, &codes);
    if (!status)
        status = cli_detect(settings, text, size, &codes, route->detected, sizeof route->detected);
    tr_languages_free(&codes);
    return status;
}

/* ------------------------------------------------------------------------------------------- into Chinese or from it */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Whether a word, between white space, is one of a text in Latin letters: no address, code or tag. *han: its Chinese
 * characters. */
static bool is_latin_word(const char *word, size_t size, size_t *han)
{
    bool latin = false, other = memchr(word, '/', size) || memchr(word, '<', size) || memchr(word, '=', size) ||
                                memchr(word, '{', size) || memchr(word, '_', size) || memchr(word, '@', size);
    for (size_t at = 0, length; at < size; at += length) {
        const tr_script script = tr_script_of(tr_utf8_decode(word + at, size - at, &length));
        *han += script == TR_HAN;
        latin = latin || script == TR_LATIN;
        other = other || script > TR_LATIN || script == TR_OTHER_SCRIPT;
    }
    return latin && !other;
}

/* Whether a word is one of those that English sentences have, and names and terms in Chinese ones seldom do, but in titles
 * with a capital. */
static bool is_english_particle(const char *word, size_t size)
{
    static const char particles[] =
        " the to in at is are was were and that this it you we they for with please what how do does my ";
    char spaced[12] = " ";
    if (size + 3 > sizeof spaced)
        return false;
    memcpy(spaced + 1, word, size);
    spaced[size + 1] = ' ';
    return strstr(particles, spaced) != NULL;
}

/* Whether a text has a Chinese word that names do not have. */
static bool has_chinese_particle(const char *text, size_t size)
{
    static const char *const particles[] = {"的", "了", "是", "很", "在", "有", "不", "吗", "这", "我", "请"};
    for (size_t i = 0; i < sizeof particles / sizeof *particles; i++)
        if (memmem(text, size, particles[i], strlen(particles[i])))
            return true;
    return false;
}

/* Chinese texts have Latin words; English ones hardly have Chinese characters, unless they speak of Chinese words or
 * people. */
static bool is_latin(const char *text, size_t size)
{
    size_t words = 0, han = 0;
    bool english = false;
    for (size_t at = 0, end; at < size; at = end + 1) {
        end = at;
        while (end < size && !is_space(text[end]))
            end++;
        words += is_latin_word(text + at, end - at, &han);
        english = english || is_english_particle(text + at, end - at);
    }
    return words > 8 * han || (english && words >= (has_chinese_particle(text, size) ? 2 : 1) * han);
}

bool cli_route_by_script(const cli_route *route, const cli_settings *settings)
{
    return *route->en_zh && !settings->source && !settings->target;
}

/* Whether the model into Chinese translates the text, of the two that come with the program. */
static bool is_into_chinese(const cli_route *route, const cli_settings *settings, const char *text, size_t size)
{
    if (!*route->en_zh)
        return false;
    if (cli_route_by_script(route, settings))
        return is_latin(text, size);
    return cli_is_into_chinese(*route->detected ? route->detected : settings->source, settings->target);
}

bool cli_route_fits(const cli_route *route, const cli_settings *settings, const char *text, size_t size)
{
    return is_into_chinese(route, settings, text, size) == route->into_chinese;
}

/* ------------------------------------------------------------------------------------------------------------- opening */

int cli_route_find(cli_route *route, const cli_settings *settings)
{
    const char *folder = cli_models_folder(settings);
    if (settings->models && settings->model)
        return cli_usage(settings, "--models %s: --model %s is given too; only one of them", settings->models,
                         settings->model);
    if (settings->models && settings->tokens)
        return cli_usage(settings, "--tokens: tokens are those of one model; name it with -m");
    if (cli_detects(settings) && settings->tokens)
        return cli_usage(settings, "-s auto: the language of tokens is not detected");
    if (!folder) {
        if (!settings->tokens && !settings->ensemble.count && !cli_model_wanted(settings) &&
            !cli_opposite_model(route->en_zh))
            *route->en_zh = 0;
        return CLI_DONE;
    }
    if (settings->ensemble.count)
        return cli_usage(settings, "--ensemble: not with a folder of models; name the first one with -m");
    if (!settings->target)
        return cli_usage(settings, "target language: with a folder of models, name one with -t LANG");
    if (!settings->source)
        return cli_usage(settings, "source language: with a folder of models, name one with -s LANG, or -s auto");
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
    if (tr_find_route(route->index, source, settings->target, &found, &error))
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

/* ---------------------------------------------------------------------------------------------------------- the way back */

bool cli_route_has_pairs(const cli_route *route)
{
    return route->index || *route->en_zh;
}

/* Finds the model from the target of a step back to its source: among the two that come with the program, or in the folder.
 * False: there is none. */
static bool find_opposite(const cli_route *route, const cli_settings *step, char path[TR_PATH])
{
    tr_route found;
    if (!cli_route_has_pairs(route))
        return false;
    if (!route->index)
        return route->into_chinese ? cli_default_model(path) : cli_opposite_model(path);
    if (tr_find_route(route->index, step->target, step->source, &found, NULL) != TR_OK || found.count != 1)
        return false;
    return snprintf(path, TR_PATH, "%s", found.steps[0].path) < TR_PATH;
}

/* Stores the model that ranks what one model translates in its settings. */
static int choose_reverse(cli_route *route, cli_settings *step)
{
    const cli_rerank wanted = cli_rerank_of(step);
    int status = CLI_DONE;
    if (!step->ranks || (route->count > 1 && wanted == CLI_RERANK_AUTO))
        return CLI_DONE;
    if (route->count > 1)
        return cli_usage(step, "--rerank %s: two models translate, by way of a third language: not possible yet",
                         step->rerank);
    if (wanted == CLI_RERANK_PATH)
        status = cli_model_resolve(route->reverse, step->rerank, step);
    else if (find_opposite(route, step, route->reverse))
        status = CLI_DONE;
    else if (wanted == CLI_RERANK_ON)
        status = cli_fail("--rerank on: there is no model that translates back%s; --rerank PATH names one",
                          route->index             ? " in the folder"
                          : cli_model_wanted(step) ? " from that of -m or $TRANSLATE_MODEL"
                                                   : "");
    else
        return CLI_DONE;
    step->reverse = route->reverse;
    return status;
}

int cli_route_open(cli_route *route, const cli_settings *settings, const char *text, size_t size)
{
    cli_settings step_settings[TR_MAX_ROUTE_STEPS];
    int status = cli_detects(settings) ? detect_source(route, settings, text, size) : CLI_DONE;
    if (status)
        return status;
    const char *source = *route->detected ? route->detected : settings->source;
    for (int i = 0; i < TR_MAX_ROUTE_STEPS; i++) {
        step_settings[i] = *settings;
        step_settings[i].source = source;
    }
    route->count = 1;
    route->into_chinese = is_into_chinese(route, settings, text, size);
    if (route->into_chinese)
        step_settings[0].model = route->en_zh;
    if (route->index)
        status = choose_models(route, settings, source, step_settings);
    if (!status)
        status = choose_reverse(route, &step_settings[0]);
    for (int i = 0; !status && i < route->count; i++)
        status = cli_model_open(&route->models[i], &step_settings[i], true);
    if (!status && route->count > 1)
        cli_guard_model_file(cli_models_folder(settings), NULL);
    if (!status && route->into_chinese && cli_route_by_script(route, settings) && !settings->quiet)
        cli_note("English to Chinese, because the text is English or in Latin letters; -s and -t name other languages");
    return status;
}
