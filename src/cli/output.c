#define _GNU_SOURCE
#include "cli/output.h"

#include "cli/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCAN_SIZE = 1 << 16 };

/* ------------------------------------------------------------------------------------------------------------ opening */

/* Counts the complete lines of part, keeps the last one, and cuts off what is behind it. */
static int scan_part(cli_output *output)
{
    char *block = malloc(SCAN_SIZE);
    tr_buffer line = {0};
    off_t at = 0, keep = 0;
    ssize_t n = -1;
    int status = block ? CLI_DONE : cli_fail_memory();
    output->written = true; /* on failure it stays as it was */
    while (!status && (n = pread(output->descriptor, block, SCAN_SIZE, at)) > 0) {
        for (ssize_t i = 0; i < n && !status;) {
            const char *newline = memchr(block + i, '\n', (size_t)(n - i));
            const ssize_t size = newline ? newline + 1 - (block + i) : n - i;
            if (!tr_buffer_append(&line, block + i, (size_t)size))
                status = cli_fail_memory();
            i += size;
            if (newline) {
                const tr_buffer swap = output->last;
                output->last = line;
                line = swap;
                tr_buffer_clear(&line);
                output->lines++;
                keep = at + i;
            }
        }
        at += n;
    }
    if (!status && (n < 0 || ftruncate(output->descriptor, keep) < 0 || lseek(output->descriptor, keep, SEEK_SET) < 0))
        status = cli_fail("%s: %s", output->part, strerror(errno));
    if (!status)
        output->written = keep > 0;
    tr_buffer_free(&line);
    free(block);
    return status;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int open_part(cli_output *output, const cli_settings *settings, const struct stat *input)
{
    struct stat st;
    const bool exists = stat(output->part, &st) == 0;
    if (exists && same_file(&st, input))
        return cli_usage(settings, "%s: is the input; the output needs that name while it is incomplete", output->part);
    output->descriptor = open(output->part, O_RDWR | O_CLOEXEC | O_CREAT | (settings->resume ? 0 : O_EXCL), 0666);
    if (output->descriptor < 0 && errno == EEXIST)
        return cli_fail("%s: left by an interrupted run; %sdelete it", output->part,
                        settings->command->bit == CMD_TRANSLATE ? "continue it with --resume, or " : "");
    if (output->descriptor < 0)
        return cli_fail("%s: cannot write: %s", output->part, strerror(errno));
    if (flock(output->descriptor, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        close(output->descriptor);
        output->descriptor = -1; /* not ours to remove */
        return cli_fail("%s: another run is writing it", output->part);
    }
    return settings->resume ? scan_part(output) : CLI_DONE;
}

static int open_file(cli_output *output, const cli_settings *settings, int input_descriptor)
{
    struct stat st, input = {0};
    const bool exists = stat(settings->output, &st) == 0;
    output->name = settings->output;
    if (exists && S_ISDIR(st.st_mode))
        return cli_fail("%s: is a directory", settings->output);
    if (exists && !S_ISREG(st.st_mode)) {
        output->descriptor = open(settings->output, O_WRONLY | O_CLOEXEC);
        if (output->descriptor < 0)
            return cli_fail("%s: cannot write: %s", settings->output, strerror(errno));
        return settings->resume ? cli_fail("%s: is no regular file, nothing to resume", settings->output) : CLI_DONE;
    }
    const bool has_input = input_descriptor >= 0 && fstat(input_descriptor, &input) == 0;
    if (exists && has_input && same_file(&st, &input))
        return cli_usage(settings, "%s: is the input and the output", settings->output);
    output->path = exists ? realpath(settings->output, NULL) : strdup(settings->output); /* a symbolic link stays one */
    if (!output->path || asprintf(&output->part, "%s.part", output->path) < 0) {
        output->part = NULL;
        return cli_fail("%s: %s", settings->output, strerror(errno));
    }
    return open_part(output, settings, &input);
}

int cli_output_open(cli_output *output, const cli_settings *settings, int input)
{
    *output = (cli_output){.descriptor = STDOUT_FILENO, .name = "standard output"};
    if (!settings->output || strcmp(settings->output, "-") == 0)
        return CLI_DONE;
    output->descriptor = -1;
    return open_file(output, settings, input);
}

/* ------------------------------------------------------------------------------------------------------------ writing */

int cli_write(int descriptor, const char *name, const void *data, size_t size)
{
    const char *from = data;
    while (size) {
        const ssize_t n = write(descriptor, from, size);
        if (n >= 0) {
            from += n;
            size -= (size_t)n;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            struct pollfd p = {.fd = descriptor, .events = POLLOUT};
            poll(&p, 1, -1);
        } else if (errno == EPIPE) {
            return CLI_FAILED; /* the reader has gone, as "head" does: no reason for a message */
        } else if (errno != EINTR) {
            return cli_fail("%s: cannot write: %s", name, strerror(errno));
        } else if (cli_interrupted()) {
            return CLI_FAILED;
        }
    }
    return CLI_DONE;
}

int cli_output_write(cli_output *output, const void *data, size_t size)
{
    output->written |= size > 0;
    return cli_write(output->descriptor, output->name, data, size);
}

static void output_free(cli_output *output)
{
    if (output->descriptor > STDERR_FILENO)
        close(output->descriptor);
    free(output->path);
    free(output->part);
    tr_buffer_free(&output->last);
    *output = (cli_output){.descriptor = -1};
}

int cli_output_finish(cli_output *output)
{
    int status = CLI_DONE;
    if (output->part) {
        if (fsync(output->descriptor) < 0 && errno != EINVAL)
            status = cli_fail("%s: cannot write: %s", output->part, strerror(errno));
        else if (rename(output->part, output->path) < 0)
            status = cli_fail("%s: cannot rename %s: %s", output->path, output->part, strerror(errno));
    }
    if (!status)
        output_free(output);
    return status;
}

bool cli_output_abandon(cli_output *output)
{
    const bool ours = output->part && output->descriptor >= 0;
    const bool kept = ours && output->written;
    if (ours && !kept)
        unlink(output->part);
    output_free(output);
    return kept;
}
