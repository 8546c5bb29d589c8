#include "cli/hub.h"

#include "cli/config.h"
#include "cli/programs.h"
#include "hub/cache.h"
#include "util/file.h"
#include "util/process.h"

#include <stdio.h>
#include <string.h>

#define PROGRAM "translate-pull"

/* Bytes of path that lead to a folder which is there already. One whose name begins as the next one's does is as good. */
static size_t length_of_existing(const char *path)
{
    char above[TR_PATH];
    size_t size = strlen(path);
    for (; size < TR_PATH; size--) {
        snprintf(above, sizeof above, "%.*s", (int)size, path);
        if (!size || tr_is_directory(above))
            return size;
    }
    return size;
}

/* Removes path and the folders above it, down to a length, as far as nothing is in them. */
static void drop_folders(const char *path, size_t length)
{
    char left[TR_PATH];
    size_t size = strlen(path);
    for (; size < TR_PATH && size > length; size -= size > 0) {
        snprintf(left, sizeof left, "%.*s", (int)size, path);
        tr_folder_drop_empty(left);
        while (size > length && path[size - 1] != '/')
            size--;
    }
}

int cli_hub_run(const char *what, const char *folder, char *const arguments[])
{
    char program[TR_PATH];
    tr_error error;
    int status;
    const size_t before = length_of_existing(folder);
    if (*TR_HUB_MISSING)
        return cli_fail("%s: this build has no downloads: " TR_HUB_MISSING, what);
    if (cli_program_find(program, PROGRAM, what))
        return CLI_FAILED;
    if (tr_process_run(program, arguments, &status, &error) != TR_OK)
        status = cli_fail_error(&error);
    if (status) /* translate-pull itself may change nothing outside the folder */
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
    return found ? CLI_DONE : cli_fail("%s: what was downloaded is no model", wanted);
}
