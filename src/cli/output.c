#define _GNU_SOURCE
#include "cli/output.h"

#include "cli/resume.h"
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

enum { SCAN_SIZE = 1 << 16, LARGEST_RUN = 1 << 20 };

/* ------------------------------------------------------------------------------------------------------------ scanning */

/* What FILE.part holds: the output of so many lines of input, and what it has of the last one. */
typedef struct scan {
    cli_output *output;
    bool lists;       /* a line of input has several, which begin with its number (--n-best) */
    off_t keep;       /* bytes up to the end of the last complete line */
    off_t list_start; /* of the last list */
    tr_buffer before; /* the list before it */
    tr_buffer line;   /* in hand */
} scan;

/* Whether two lines begin with the same number. */
static bool same_list(const tr_buffer *a, const tr_buffer *b)
{
    const char *tab = a->size ? memchr(a->data, '\t', a->size) : NULL;
    const size_t size = tab ? (size_t)(tab + 1 - a->data) : 0;
    return size && size <= b->size && memcmp(a->data, b->data, size) == 0;
}

static void swap(tr_buffer *a, tr_buffer *b)
{
    const tr_buffer kept = *a;
    *a = *b;
    *b = kept;
}

/* A complete line that ends at end. */
static bool take_line(scan *s, off_t end)
{
    cli_output *output = s->output;
    const bool more = s->lists && same_list(&output->last, &s->line);
    if (more && !tr_buffer_append(&output->last, s->line.data, s->line.size))
        return false;
    if (!more) {
        swap(&s->before, &output->last);
        swap(&output->last, &s->line);
        s->list_start = s->keep;
        output->lines++;
    }
    tr_buffer_clear(&s->line);
    s->keep = end;
    return true;
}

static int scan_blocks(scan *s, char *block)
{
    cli_output *output = s->output;
    off_t at = 0;
    ssize_t n;
    while ((n = pread(output->descriptor, block, SCAN_SIZE, at)) > 0 || (n < 0 && errno == EINTR)) {
        for (ssize_t i = 0; i < n;) {
            const char *newline = memchr(block + i, '\n', (size_t)(n - i));
            const ssize_t size = newline ? newline + 1 - (block + i) : n - i;
            if (!tr_buffer_append(&s->line, block + i, (size_t)size) || (newline && !take_line(s, at + i + size)))
                return cli_fail_memory();
            i += size;
        }
        at += n > 0 ? n : 0;
    }
    return n < 0 ? cli_fail("%s: %s", output->part, strerror(errno)) : CLI_DONE;
}

/* Counts the complete lines of part, keeps the last one, and cuts off what is behind it. Of lists the last one may lack some
 * of its lines: it is cut off, too. */
static int scan_part(cli_output *output, bool lists)
{
    char *block = malloc(SCAN_SIZE);
    scan s = {.output = output, .lists = lists};
    int status = block ? scan_blocks(&s, block) : cli_fail_memory();
    if (!status && lists && output->lines) {
        swap(&output->last, &s.before);
        s.keep = s.list_start;
        output->lines--;
    }
    if (!status && (ftruncate(output->descriptor, s.keep) < 0 || lseek(output->descriptor, s.keep, SEEK_SET) < 0))
        status = cli_fail("%s: %s", output->part, strerror(errno));
    tr_buffer_free(&s.before);
    tr_buffer_free(&s.line);
    free(block);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ opening */

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* FILE.part is not this run's to remove. */
static void leave_part(cli_output *output)
{
    if (output->descriptor >= 0)
        close(output->descriptor);
    output->descriptor = -1;
}

/* Another run may have FILE.part, or have just given it its name. */
static int lock_part(cli_output *output)
{
    bool ours = false;
    tr_error error;
    const bool taken = flock(output->descriptor, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    if (!taken && tr_file_is_named(output->descriptor, output->part, &ours, &error))
        return cli_fail_error(&error);
    if (ours)
        return CLI_DONE;
    leave_part(output);
    return cli_fail("%s: another run is writing it: wait for its end, or give another --output", output->part);
}

/* What is in FILE.part is for --resume; an empty one is as good as none. */
static int look_into_part(cli_output *output, const cli_settings *settings)
{
    struct stat st;
    if (fstat(output->descriptor, &st) < 0)
        return cli_fail("%s: %s", output->part, strerror(errno));
    output->continues = output->resumable = st.st_size > 0;
    if (output->continues && !settings->resume)
        return cli_fail("%s: left by an interrupted run; %sdelete it", output->part,
                        settings->command->bit == CMD_TRANSLATE ? "continue it with --resume, or " : "");
    return CLI_DONE;
}

static int open_part(cli_output *output, const cli_settings *settings, const struct stat *input)
{
    struct stat st;
    tr_error error;
    const bool exists = lstat(output->part, &st) == 0;
    if (exists && same_file(&st, input))
        return cli_usage(settings, "%s: is the input; the output needs that name while it is incomplete", output->part);
    const int flags = O_RDWR | O_NOFOLLOW | O_CREAT | (exists ? 0 : O_EXCL);
    if (tr_open_regular(&output->descriptor, AT_FDCWD, output->part, flags, tr_target_mode(&output->target), &error))
        return errno == ENOENT ? cli_fail("%s: cannot write: its folder does not exist", settings->output)
                               : cli_fail_error(&error);
    int status = lock_part(output);
    if (!status && exists)
        status = look_into_part(output, settings);
    if (status && exists)
        leave_part(output);
    return status;
}

/* A device or a pipe; not a file that has taken its place. */
static int open_other(cli_output *output, const cli_settings *settings)
{
    struct stat st;
    if (settings->resume)
        return cli_fail("%s: is no regular file, nothing to resume", settings->output);
    output->descriptor = open(settings->output, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (output->descriptor < 0)
        return cli_fail("%s: cannot write: %s", settings->output, strerror(errno));
    if (fstat(output->descriptor, &st) < 0 || S_ISREG(st.st_mode))
        return cli_fail("%s: another file has taken its place", settings->output);
    return CLI_DONE;
}

static int open_file(cli_output *output, const cli_settings *settings, int input_descriptor)
{
    struct stat st, input = {0};
    tr_error error;
    const bool exists = stat(settings->output, &st) == 0;
    output->name = settings->output;
    if (exists && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return open_other(output, settings);
    const bool has_input = input_descriptor >= 0 && fstat(input_descriptor, &input) == 0;
    if (exists && has_input && same_file(&st, &input))
        return cli_usage(settings, "%s: is the input and the output", settings->output);
    if (tr_target_find(&output->target, settings->output, &error))
        return cli_fail_error(&error);
    if (asprintf(&output->part, "%s.part", output->target.path) < 0) {
        output->part = NULL;
        return cli_fail_memory();
    }
    if (asprintf(&output->run, "%s.run", output->part) < 0) {
        output->run = NULL;
        return cli_fail_memory();
    }
    return open_part(output, settings, &input);
}

int cli_output_open(cli_output *output, const cli_settings *settings, int input)
{
    *output = (cli_output){.descriptor = STDOUT_FILENO, .run_descriptor = -1, .name = "standard output"};
    if (!settings->output || strcmp(settings->output, "-") == 0)
        return CLI_DONE;
    output->descriptor = -1;
    return open_file(output, settings, input);
}

/* ------------------------------------------------------------------------------------------------------------ resuming */

/* What a run wrote down. *found false: there is no such file. The file stays open, so that this run knows it again. */
static int read_run(cli_output *output, tr_buffer *run, bool *found)
{
    struct stat st;
    tr_error error;
    ssize_t n = 1;
    *found = lstat(output->run, &st) == 0 || errno != ENOENT;
    if (!*found)
        return CLI_DONE;
    if (tr_open_regular(&output->run_descriptor, AT_FDCWD, output->run, O_RDONLY | O_NOFOLLOW, 0, &error))
        return cli_fail_error(&error);
    while (n && run->size < LARGEST_RUN) {
        if (!tr_buffer_reserve(run, SCAN_SIZE))
            return cli_fail_memory();
        n = read(output->run_descriptor, run->data + run->size, SCAN_SIZE);
        if (n < 0 && errno != EINTR)
            return cli_fail("%s: cannot read: %s", output->run, strerror(errno));
        run->size += n > 0 ? (size_t)n : 0;
    }
    return CLI_DONE;
}

static void close_run(cli_output *output)
{
    if (output->run_descriptor > STDERR_FILENO)
        close(output->run_descriptor);
    output->run_descriptor = -1;
}

/* But not one that another run is seen to have put there. */
static void remove_run(cli_output *output)
{
    bool ours;
    if (output->run_descriptor > STDERR_FILENO &&
        (tr_file_is_named(output->run_descriptor, output->run, &ours, NULL) != TR_OK || ours))
        unlink(output->run);
    close_run(output);
}

static int check_run(cli_output *output, const tr_buffer *now)
{
    bool found;
    tr_buffer before = {0};
    int status = read_run(output, &before, &found);
    if (!status && !found)
        status = cli_fail("%s: there is no %s, which tells what it was made from; delete it to start from the beginning",
                          output->part, output->run);
    if (!status && !cli_resume_is_description(&before))
        status = cli_fail("%s: is damaged, or not of this program; delete it and %s to start from the beginning",
                          output->run, output->part);
    if (!status)
        status = cli_resume_compare(&before, now, output->part);
    tr_buffer_free(&before);
    return status;
}

/* What is not of this program is not replaced. */
static int make_way(cli_output *output)
{
    bool found;
    tr_buffer before = {0};
    int status = read_run(output, &before, &found);
    if (!status && found && !cli_resume_is_description(&before))
        status = cli_fail("%s: is a file of another kind, and the output needs that name: move it, or give another --output",
                          output->run);
    close_run(output);
    tr_buffer_free(&before);
    return status;
}

static int write_run(cli_output *output, const tr_buffer *run)
{
    tr_output file;
    tr_error error;
    const int status = make_way(output);
    if (status)
        return status;
    if (tr_output_open_own(&file, output->run, tr_target_mode(&output->target), &error))
        return cli_fail_error(&error);
    if (tr_output_write(&file, run->data, run->size, &error)) {
        tr_output_abort(&file);
        return cli_fail_error(&error);
    }
    if (tr_output_commit(&file, &error))
        return cli_fail_error(&error);
    if (tr_open_regular(&output->run_descriptor, AT_FDCWD, output->run, O_RDONLY | O_NOFOLLOW, 0, &error)) {
        unlink(output->run);
        return cli_fail_error(&error);
    }
    return CLI_DONE;
}

int cli_output_resume(cli_output *output, const cli_settings *settings, const tr_buffer *run)
{
    if (!output->part)
        return CLI_DONE;
    int status = output->continues ? check_run(output, run) : write_run(output, run);
    if (status)
        return status;
    output->resumable = true;
    return output->continues ? scan_part(output, settings->search.n_best > 1 && !settings->json) : CLI_DONE;
}

/* ------------------------------------------------------------------------------------------------------------ writing */

/* hint: what follows the reason of a failure. */
static int write_all(int descriptor, const char *name, const char *hint, const void *data, size_t size)
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
            return cli_fail("%s: cannot write: %s%s", name, strerror(errno), hint);
        } else if (cli_interrupted()) {
            return CLI_FAILED;
        }
    }
    return CLI_DONE;
}

int cli_write(int descriptor, const char *name, const void *data, size_t size)
{
    return write_all(descriptor, name, "", data, size);
}

int cli_output_write(cli_output *output, const void *data, size_t size)
{
    const char *hint = output->resumable ? "; what is done is kept, the same command with --resume continues it" : "";
    return write_all(output->descriptor, output->name, hint, data, size);
}

static void output_free(cli_output *output)
{
    if (output->descriptor > STDERR_FILENO)
        close(output->descriptor);
    close_run(output);
    tr_target_free(&output->target);
    free(output->part);
    free(output->run);
    tr_buffer_free(&output->last);
    *output = (cli_output){.descriptor = -1, .run_descriptor = -1};
}

int cli_output_finish(cli_output *output)
{
    tr_error error;
    if (output->part && tr_target_replace(&output->target, output->descriptor, output->part, &error))
        return cli_fail_error(&error);
    remove_run(output);
    output_free(output);
    return CLI_DONE;
}

bool cli_output_abandon(cli_output *output)
{
    struct stat st;
    bool ours = false;
    if (output->part && output->descriptor >= 0 && tr_file_is_named(output->descriptor, output->part, &ours, NULL))
        ours = false;
    const bool kept = ours && output->resumable && (fstat(output->descriptor, &st) < 0 || st.st_size > 0);
    if (!kept)
        remove_run(output);
    if (ours && !kept)
        unlink(output->part);
    output_free(output);
    return kept;
}
