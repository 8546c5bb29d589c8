/* translate serve: becomes translate-serve, a program of its own, so that no other starts with the libraries of a server. */
#define _GNU_SOURCE
#include "cli/cli.h"
#include "cli/config.h"
#include "cli/programs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "translate-serve"

int cli_serve(const cli_settings *settings)
{
    static char name[] = PROGRAM;
    char program[TR_PATH];
    if (*TR_SERVE_MISSING)
        return cli_fail("serve: this build has no server: " TR_SERVE_MISSING);
    if (cli_program_find(program, PROGRAM, "serve"))
        return CLI_FAILED;
    size_t count = 0;
    while (settings->given[count])
        count++;
    char **arguments = calloc(count + 2, sizeof *arguments);
    if (!arguments)
        return cli_fail_memory();
    arguments[0] = name;
    memcpy(arguments + 1, settings->given, count * sizeof *arguments);
    execv(program, arguments);
    const int problem = errno;
    free(arguments);
    return cli_fail("%s: cannot be started: %s", program, strerror(problem));
}
