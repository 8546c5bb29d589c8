#include "cli/hub.h"

#include "cli/config.h"
#include "cli/programs.h"
#include "hub/cache.h"
#include "util/process.h"

#include <stdio.h>
#include <string.h>

#define PROGRAM "translate-pull"

int cli_hub_run(const char *what, char *const arguments[])
{
    char program[TR_PATH];
    tr_error error;
    int status;
    if (*TR_HUB_MISSING)
        return cli_fail("%s: this build has no downloads: " TR_HUB_MISSING, what);
    if (cli_program_find(program, PROGRAM, what))
        return CLI_FAILED;
    return tr_process_run(program, arguments, &status, &error) == TR_OK ? status : cli_fail_error(&error);
}

int cli_hub_find(char path[TR_PATH], const char *wanted, const cli_settings *settings)
{
    tr_hub_name name;
    tr_error error;
    bool found;
    char program[] = PROGRAM, quiet[] = "--quiet", verbose[] = "--verbose", label[TR_HUB_LABEL];
    char *arguments[] = {program, label, NULL, NULL};
    if (tr_hub_parse(wanted, &name, &error) || tr_hub_cache_find(path, &name, &found, &error))
        return cli_fail_error(&error);
    if (found)
        return CLI_DONE;
    snprintf(label, sizeof label, "%s", name.label);
    if (settings->quiet || settings->verbose)
        arguments[2] = settings->quiet ? quiet : verbose;
    const int status = cli_hub_run(wanted, arguments);
    if (status)
        return status;
    if (tr_hub_cache_find(path, &name, &found, &error))
        return cli_fail_error(&error);
    return found ? CLI_DONE : cli_fail("%s: what was downloaded is no model", wanted);
}
