#include "cli/info_models.h"

#include "cli/json.h"
#include "cli/route.h"
#include "cli/signals.h"
#include "formats/open.h"
#include "util/folder.h"
#include "util/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef const char *code_at(const tr_model_index *models, size_t item, size_t language);

/* *models stays NULL if the folder has no models. */
static int open_folder(const char *path, tr_model_index **models)
{
    tr_error error;
    cli_guard_model_file(path, NULL);
    if (tr_model_index_open(path, models, &error) != TR_OK)
        return cli_fail_error(&error);
    if (tr_model_index_count(*models) == 0) {
        tr_model_index_close(*models);
        *models = NULL;
    }
    return CLI_DONE;
}

int cli_info_folder(const cli_settings *settings, const char **folder, tr_model_index **models)
{
    tr_peek peek;
    tr_path_kind place;
    tr_error error;
    int status = CLI_DONE;
    const char *path = settings->argument_count ? settings->arguments[0] : NULL;
    *models = NULL;
    *folder = settings->models;
    if (settings->models || settings->verify || !path)
        return CLI_DONE;
    if (tr_path_look(path, &place, &error) != TR_OK)
        return cli_fail_error(&error);
    if (place != TR_PATH_DIRECTORY)
        return CLI_DONE;
    const tr_status peeked = tr_package_peek(path, &peek, &error);
    if (peeked == TR_OK)
        tr_peek_free(&peek);
    else if (peek.not_a_model)
        status = open_folder(path, models);
    else if (peeked == TR_ERROR_MEMORY) /* other failures are reported when the model is opened */
        status = cli_fail_error(&error);
    if (*models)
        *folder = path;
    return status;
}

/* --------------------------------------------------------------------------------------------------------------- JSON */

static void put_codes(cli_json *j, const char *key, const tr_model_index *models, size_t item, code_at *code)
{
    cli_json_open(j, key, '[');
    for (size_t i = 0; code(models, item, i); i++)
        cli_json_string(j, NULL, code(models, item, i));
    cli_json_close(j, ']');
}

static int print_json(const tr_model_index *models, const char *folder)
{
    tr_buffer out = {0};
    cli_json json = {&out, true, false}, *j = &json;
    tr_model_entry e;
    const char *warning;
    cli_json_open(j, NULL, '{');
    cli_json_string(j, "folder", folder);
    cli_json_open(j, "models", '[');
    for (size_t i = 0; tr_model_index_get(models, i, &e); i++) {
        cli_json_open(j, NULL, '{');
        cli_json_string(j, "file", e.path);
        cli_json_string(j, "name", e.name);
        cli_json_string(j, "format", e.format);
        cli_json_whole(j, "file_size", (int64_t)e.file_size);
        put_codes(j, "sources", models, i, tr_model_index_source);
        put_codes(j, "targets", models, i, tr_model_index_target);
        cli_json_close(j, '}');
    }
    cli_json_close(j, ']');
    cli_json_open(j, "warnings", '[');
    for (size_t i = 0; (warning = tr_model_index_warning(models, i)); i++)
        cli_json_string(j, NULL, warning);
    cli_json_close(j, ']');
    cli_json_close(j, '}');
    return cli_json_print(j);
}

/* --------------------------------------------------------------------------------------------------------------- text */

static const tr_model_index *sorted_models; /* for qsort */

/* Models for one pair of languages come before those for several; each sorted by languages. */
static int by_languages(const void *a, const void *b)
{
    const size_t i = *(const size_t *)a, k = *(const size_t *)b;
    tr_model_entry x, y;
    tr_model_index_get(sorted_models, i, &x);
    tr_model_index_get(sorted_models, k, &y);
    const bool many_x = x.sources > 1 || x.targets > 1, many_y = y.sources > 1 || y.targets > 1;
    int order = many_x - many_y;
    if (!order)
        order = strcmp(tr_model_index_source(sorted_models, i, 0), tr_model_index_source(sorted_models, k, 0));
    if (!order)
        order = strcmp(tr_model_index_target(sorted_models, i, 0), tr_model_index_target(sorted_models, k, 0));
    return order ? order : i < k ? -1 : i > k;
}

static void format_side(const tr_model_index *models, size_t item, size_t count, code_at *code, char *out, size_t room)
{
    if (count == 1)
        snprintf(out, room, "%s", code(models, item, 0));
    else
        snprintf(out, room, "%zu", count);
}

void cli_print_code(int *column, const char *code)
{
    enum { WIDTH = 100 };
    if (*column + 1 + (int)strlen(code) > WIDTH)
        *column = printf("\n             ") - 1;
    *column += cli_print(" %s", code);
}

static void print_codes(const tr_model_index *models, size_t item, const char *title, code_at *code)
{
    const char *c;
    int column = printf("              %s", title);
    for (size_t i = 0; (c = code(models, item, i)); i++)
        cli_print_code(&column, c);
    putchar('\n');
}

static bool same_codes(const tr_model_index *models, size_t item, const tr_model_entry *e)
{
    bool same = e->sources == e->targets;
    for (size_t i = 0; same && i < e->sources; i++)
        same = strcmp(tr_model_index_source(models, item, i), tr_model_index_target(models, item, i)) == 0;
    return same;
}

static void print_entry(const tr_model_index *models, size_t item)
{
    tr_model_entry e;
    char source[32], target[32], pair[80];
    tr_model_index_get(models, item, &e);
    format_side(models, item, e.sources, tr_model_index_source, source, sizeof source);
    format_side(models, item, e.targets, tr_model_index_target, target, sizeof target);
    snprintf(pair, sizeof pair, "%s to %s", source, target);
    cli_print("%-13s %s (%s, %.1f MB)\n", pair, e.name, e.format, (double)e.file_size / 1e6);
    if (e.sources > 1 && same_codes(models, item, &e)) {
        print_codes(models, item, "between:", tr_model_index_source);
        return;
    }
    if (e.sources > 1)
        print_codes(models, item, "from:", tr_model_index_source);
    if (e.targets > 1)
        print_codes(models, item, "to:", tr_model_index_target);
}

static int print_text(const tr_model_index *models, const char *folder)
{
    const size_t count = tr_model_index_count(models);
    size_t *order = malloc(count * sizeof *order);
    if (!order)
        return cli_fail_memory();
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    sorted_models = models;
    qsort(order, count, sizeof *order, by_languages);
    cli_print("folder        %s\n", folder);
    for (size_t i = 0; i < count; i++)
        print_entry(models, order[i]);
    free(order);
    return CLI_DONE;
}

int cli_info_models(const cli_settings *settings, const char *folder, tr_model_index *models)
{
    int status = CLI_DONE;
    if (settings->verify)
        return cli_usage(settings, "--verify: a folder of models holds no checksum; name a model file");
    if (settings->models && settings->argument_count)
        return cli_usage(settings, "--models %s: FILE is given too; only one of them", settings->models);
    if (models)
        cli_models_warn(models, settings);
    else
        status = cli_models_open(&models, folder, settings);
    if (status)
        return status;
    status = settings->json ? print_json(models, folder) : print_text(models, folder);
    tr_model_index_close(models);
    return status;
}
