#include "cli/hub.h"

#include "cli/config.h"
#include "cli/programs.h"
#include "hub/cache.h"
#include "util/file.h"
#include "util/process.h"

#include <stdio.h>
#include <string.h>

#define PROGRAM "translate-pull"

/* The length of path[0..size) without its last part: up to the last slash. */
static size_t parent_length(const char *path, size_t size)
{
    while (size && path[size - 1] != '/')
        size--;
    return size ? size - 1 : 0;
}

/* The length of the part of path that is an existing folder. */
static size_t existing_length(const char *path)
{
    char folder[TR_PATH];
    size_t size = strlen(path);
    for (; size && size < TR_PATH; size = parent_length(path, size)) {
        snprintf(folder, sizeof folder, "%.*s", (int)size, path);
        if (tr_is_directory(folder))
            break;
    }
    return size;
}

/* Removes path and the folders above it that are longer than length, as far as they are empty. */
static void drop_folders(const char *path, size_t length)
{
    char folder[TR_PATH];
    for (size_t size = strlen(path); size > length && size < TR_PATH; size = parent_length(path, size)) {
        snprintf(folder, sizeof folder, "%.*s", (int)size, path);
        tr_folder_drop_empty(folder);
    }
}

int cli_hub_run(const char *what, const char *folder, char *const arguments[])
{
    char program[TR_PATH];
    tr_error error;
    int status;
    const size_t before = existing_length(folder);
    if (*TR_HUB_MISSING)
        return cli_fail("%s: this build cannot download: " TR_HUB_MISSING, what);
    if (cli_program_find(program, PROGRAM, what))
        return CLI_FAILED;
    if (tr_process_run(program, arguments, &status, &error) != TR_OK)
        status = cli_fail_error(&error);
    if (status) /* translate-pull itself may not change anything outside the folder */
        drop_folders(folder, before);
    return status;
}

int cli_hub_find(char path[TR_PATH], const char *wanted, const cli_settings *settings)
{
    tr_hub_name name;
    tr_error error;
    bool found;
    char folder[TR_PATH], program[] = PROGRAM, quiet[] = "--quiet", verbose[] = "--verbose", label[TR_HUB_LABEL];
    char *arguments[] = {program, label, NULL, NULL};
    if (tr_hub_parse(wanted, &name, &error) || tr_hub_cache_folder(folder, &name, &error) ||
        tr_hub_cache_find(path, &name, &found, &error))
        return cli_fail_error(&error);
    if (found)
        return CLI_DONE;
    snprintf(label, sizeof label, "%s", name.label);
    if (settings->quiet || settings->verbose)
        arguments[2] = settings->quiet ? quiet : verbose;
    const int status = cli_hub_run(wanted, folder, arguments);
    if (status)
        return status;
    if (tr_hub_cache_find(path, &name, &found, &error))
        return cli_fail_error(&error);
    return found ? CLI_DONE : cli_fail("%s: the downloaded files are not a model", wanted);
}
