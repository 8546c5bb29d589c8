/* translate: the command. Finds the subcommand and runs it. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "cli/signals.h"
#include "cli/suggest.h"
#include "util/arena.h"

#include "api/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Words that are commands in other builds. */
static const char *const reserved[] = {"serve", "pull", "attention"};

/* --------------------------------------------------------------------------------------------------------------- main */

/* If a standard stream is closed, opens something in its place that fails to be read or written, so that no file opened
 * later gets its descriptor. */
static void occupy_streams(void)
{
    for (int descriptor = 0; descriptor <= STDERR_FILENO; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* The deepest JSON that jansson accepts takes 190 kB of stack; decoding takes 90 kB in each thread, and threads get stacks
 * of the limit's size. The rest is a margin. */
static int check_stack(void)
{
    enum { NEEDED = 512 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= NEEDED * 1024)
        return CLI_DONE;
    const uint64_t kilobytes = (uint64_t)limit.rlim_cur / 1024;
    return cli_fail("the stack limit is %" PRIu64 " kB, translate needs %d kB: ulimit -s %d", kilobytes, NEEDED, NEEDED);
}

static int close_stdout(int status)
{
    const bool failed = ferror(stdout) != 0;
    if ((fflush(stdout) != 0 || failed) && status == CLI_DONE)
        return errno == EPIPE ? CLI_FAILED : cli_fail("standard output: cannot write: %s", strerror(errno));
    return status;
}

/* NULL: the word is reserved. *words: how many arguments name the command. */
static const cli_command *find_command(const char *first, int *words)
{
    *words = 0;
    for (int i = 1; i < cli_command_count; i++)
        if (strcmp(first, cli_command_word(&cli_commands[i])) == 0) {
            *words = 1;
            return &cli_commands[i];
        }
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcmp(first, reserved[i]) == 0)
            return NULL;
    return &cli_commands[0];
}

static int run_command(const cli_settings *settings)
{
    if (settings->help || settings->short_help)
        cli_help(settings->command, settings->help);
    else if (settings->completion)
        cli_completion(settings->completion);
    else if (settings->version)
        return cli_version(settings);
    else
        return settings->command->run(settings);
    return CLI_DONE;
}

int main(int argc, char **argv)
{
    cli_settings settings;
    int words;
    occupy_streams();
    cli_outlive_limits();
    if (check_stack())
        return CLI_FAILED;
    tr_heap_prepare(8 << 20); /* bytes that a tokenizer of some ten thousand pieces takes */
    const cli_command *command = find_command(argc > 1 ? argv[1] : "", &words);
    if (!command) {
        cli_fail("%s: not in this build (for the word itself: translate -- %s)", argv[1], argv[1]);
        return CLI_USAGE;
    }
    const int count = argc > 1 ? argc - 1 - words : 0;
    if (!words && cli_check_command(argv + 1, count))
        return CLI_USAGE;
    int status = cli_parse(command, argv + 1 + words, count, &settings);
    if (!status)
        status = cli_check_text(&settings);
    if (!status)
        status = run_command(&settings);
    cli_settings_free(&settings);
    return close_stdout(status);
}
