/* Messages of all subcommands, a line on stderr each; and printing of names from outside. */
#include "cli/cli.h"

#include "cli/progress.h"
#include "util/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void print_message(const char *before, const char *format, va_list arguments, const char *after)
{
    char line[4096 + 1024];
    if (vsnprintf(line, sizeof line, format, arguments) < 0)
        *line = 0;
    tr_utf8_make_printable(line); /* names of files may hold control characters */
    cli_progress_clear();
    fprintf(stderr, "translate: %s%s%s\n", before, line, after);
}

int cli_print(const char *format, ...)
{
    char line[2 * TR_PATH];
    const bool ends = tr_ends_with(format, "\n");
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(line, sizeof line, format, arguments) < 0)
        *line = 0;
    va_end(arguments);
    if (ends && *line)
        line[strlen(line) - 1] = 0;
    tr_utf8_make_printable(line);
    return printf("%s%s", line, ends ? "\n" : "");
}

int cli_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_message("", format, arguments, "");
    va_end(arguments);
    return CLI_FAILED;
}

int cli_fail_memory(void)
{
    return cli_fail("out of memory");
}

int cli_fail_error(const tr_error *error)
{
    return cli_fail("%s", error->message);
}

int cli_usage(const cli_settings *settings, const char *format, ...)
{
    char after[64];
    snprintf(after, sizeof after, " (try '%s --help')", settings->command->name);
    va_list arguments;
    va_start(arguments, format);
    print_message("", format, arguments, after);
    va_end(arguments);
    return CLI_USAGE;
}

void cli_warn(const cli_settings *settings, const char *format, ...)
{
    if (settings->quiet)
        return;
    va_list arguments;
    va_start(arguments, format);
    print_message("warning: ", format, arguments, "");
    va_end(arguments);
}

void cli_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_message("", format, arguments, "");
    va_end(arguments);
}
