#define _GNU_SOURCE
#include "cli/output.h"

#include "cli/progress.h"
#include "cli/signals.h"
#include "formats/gguf/read.h"
#include "formats/shortlist.h"

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

/* ------------------------------------------------------------------------------------------------------------ scanning */

/* Reading FILE.part: counts the lines of input whose output is complete, and keeps the output of the last one. */
typedef struct scan {
    cli_output *output;
    bool lists;       /* --n-best: a line of input gives a list of lines, which begin with its number */
    off_t keep;       /* bytes up to the end of the last complete line */
    off_t list_start; /* of the last list */
    tr_buffer before; /* the list before it */
    tr_buffer line;   /* that is being read */
} scan;

/* Whether two lines begin with the same number. */
static bool same_list(const tr_buffer *a, const tr_buffer *b)
{
    const char *tab = a->size ? memchr(a->data, '\t', a->size) : NULL;
    const size_t size = tab ? (size_t)(tab + 1 - a->data) : 0;
    return size && size <= b->size && memcmp(a->data, b->data, size) == 0;
}

static void swap_buffers(tr_buffer *a, tr_buffer *b)
{
    const tr_buffer kept = *a;
    *a = *b;
    *b = kept;
}

/* Counts s->line, which is complete and ends at byte end. */
static bool count_line(scan *s, off_t end)
{
    cli_output *output = s->output;
    const bool more = s->lists && same_list(&output->last, &s->line);
    if (more && !tr_buffer_append(&output->last, s->line.data, s->line.size))
        return false;
    if (!more) {
        swap_buffers(&s->before, &output->last);
        swap_buffers(&output->last, &s->line);
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
            if (!tr_buffer_append(&s->line, block + i, (size_t)size) || (newline && !count_line(s, at + i + size)))
                return cli_fail_memory();
            i += size;
        }
        at += n > 0 ? n : 0;
    }
    return n < 0 ? cli_fail("%s: %s", output->part, strerror(errno)) : CLI_DONE;
}

/* Counts the complete lines of part, keeps the last one, and truncates part after it. The last list may be incomplete and is
 * cut off, too. */
static int scan_part(cli_output *output, bool lists)
{
    char *block = malloc(SCAN_SIZE);
    scan s = {.output = output, .lists = lists};
    int status = block ? scan_blocks(&s, block) : cli_fail_memory();
    if (!status && lists && output->lines) {
        swap_buffers(&output->last, &s.before);
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

/* What a regular file holds, by its first bytes. An empty file is taken for what is to be written. */
static int find_content(const char *path, cli_content *content)
{
    char first[8];
    int descriptor;
    tr_error error;
    if (tr_open_regular(&descriptor, AT_FDCWD, path, O_RDONLY, 0, &error) != TR_OK)
        return cli_fail_error(&error);
    const ssize_t size = pread(descriptor, first, sizeof first, 0);
    const int reason = errno;
    close(descriptor);
    if (size < 0)
        return cli_fail("%s: %s", path, strerror(reason));
    if (size)
        *content = tr_gguf_recognise(first, (size_t)size)        ? CLI_MODEL
                   : tr_shortlist_recognise(first, (size_t)size) ? CLI_SHORTLIST
                                                                 : CLI_TEXT;
    return CLI_DONE;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

int cli_check_other_file(const cli_settings *settings, const char *path, const char *other, const char *what)
{
    struct stat a, b;
    const bool same = path && other && stat(path, &a) == 0 && stat(other, &b) == 0 && same_file(&a, &b);
    return same ? cli_usage(settings, "%s: %s", path, what) : CLI_DONE;
}

int cli_check_no_model(const cli_settings *settings, const char *path, const tr_package *package)
{
    const tr_buffer *files = &package->read;
    int status = CLI_DONE;
    for (const char *name = files->data, *end = name + files->size; !status && name < end; name += strlen(name) + 1)
        status = cli_check_other_file(settings, path, name, "is the model and the output");
    return status;
}

int cli_check_replaced(const cli_settings *settings, const char *path, cli_content content)
{
    static const char *const names[] = {[CLI_MODEL] = "a model", [CLI_SHORTLIST] = "a shortlist"};
    struct stat st;
    cli_content there = content;
    if (stat(path, &st) < 0)
        return CLI_DONE;
    if (S_ISDIR(st.st_mode))
        return cli_fail("%s: is a directory; name a file to write", path);
    if (content != CLI_TEXT && !S_ISREG(st.st_mode))
        return cli_fail("%s: is not a regular file", path);
    if (content == CLI_TEXT && access(path, R_OK) < 0 && errno == EACCES)
        return CLI_DONE; /* a file of another user in a folder of this one */
    const int status = S_ISREG(st.st_mode) && !settings->force ? find_content(path, &there) : CLI_DONE;
    if (status || there == content)
        return status;
    if (content == CLI_TEXT)
        return cli_fail("%s: is a model or a shortlist, which no text replaces; delete it, or name another file", path);
    return cli_fail("%s: exists and is not %s; --force replaces it all the same", path, names[content]);
}

/* FILE.part belongs to another run: this one must not remove it. */
static void leave_part(cli_output *output)
{
    if (output->descriptor >= 0)
        close(output->descriptor);
    output->descriptor = -1;
}

/* Fails if another run is writing FILE.part, or has just renamed it to FILE. */
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
    return cli_fail("%s: another run is writing it: wait until it has finished, or give another --output", output->part);
}

/* A FILE.part that is not empty is left for --resume. */
static int look_into_part(cli_output *output, const cli_settings *settings)
{
    struct stat st;
    if (fstat(output->descriptor, &st) < 0)
        return cli_fail("%s: %s", output->part, strerror(errno));
    if (st.st_uid != geteuid())
        return cli_fail("%s: belongs to another user, and the output needs that name while it is incomplete", output->part);
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

/* Opens a device or a pipe, but not a regular file that has replaced it meanwhile. */
static int open_other(cli_output *output, const cli_settings *settings)
{
    struct stat st;
    if (settings->resume)
        return cli_fail("%s: is not a regular file, there is nothing to resume", settings->output);
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
    if (cli_check_replaced(settings, settings->output, CLI_TEXT))
        return CLI_FAILED;
    if (tr_target_find(&output->target, settings->output, &error))
        return cli_fail_error(&error);
    if (asprintf(&output->part, "%s.part", output->target.path) < 0) {
        output->part = NULL;
        return cli_fail_memory();
    }
    if (asprintf(&output->run.path, "%s.run", output->part) < 0) {
        output->run.path = NULL;
        return cli_fail_memory();
    }
    return open_part(output, settings, &input);
}

int cli_output_open(cli_output *output, const cli_settings *settings, int input)
{
    *output = (cli_output){.descriptor = STDOUT_FILENO, .run.descriptor = -1, .name = "standard output"};
    if (!settings->output || strcmp(settings->output, "-") == 0) {
        output->terminal = isatty(STDOUT_FILENO);
        return CLI_DONE;
    }
    output->descriptor = -1;
    return open_file(output, settings, input);
}

/* ------------------------------------------------------------------------------------------------------------ resuming */

int cli_output_resume(cli_output *output, const cli_settings *settings, const tr_buffer *run)
{
    if (!output->part)
        return CLI_DONE;
    const int status = output->continues ? cli_run_file_check(&output->run, run, output->part)
                                         : cli_run_file_write(&output->run, run, tr_target_mode(&output->target));
    if (status)
        return status;
    output->resumable = true;
    return output->continues ? scan_part(output, settings->search.n_best > 1 && !settings->json) : CLI_DONE;
}

/* ------------------------------------------------------------------------------------------------------------ writing */

/* hint: the end of the message of a failure. */
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
            return CLI_FAILED; /* without a message: the reader has ended, as "head" does */
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
    const char *hint = output->resumable ? "; finished lines are kept, the same command with --resume continues" : "";
    if (output->terminal)
        cli_progress_clear();
    return write_all(output->descriptor, output->name, hint, data, size);
}

static void close_output(cli_output *output)
{
    if (output->descriptor > STDERR_FILENO)
        close(output->descriptor);
    cli_run_file_close(&output->run);
    tr_target_free(&output->target);
    free(output->part);
    tr_buffer_free(&output->last);
    *output = (cli_output){.descriptor = -1, .run.descriptor = -1};
}

int cli_output_finish(cli_output *output)
{
    tr_error error;
    if (output->descriptor == STDOUT_FILENO)
        return CLI_DONE;
    if (output->part && tr_target_replace(&output->target, output->descriptor, output->part, &error))
        return cli_fail_error(&error);
    cli_run_file_remove(&output->run);
    close_output(output);
    return CLI_DONE;
}

int cli_output_drop_part(cli_output *output)
{
    bool ours = false;
    tr_error error;
    if (output->part && tr_file_is_named(output->descriptor, output->part, &ours, &error))
        return cli_fail_error(&error);
    if (ours && unlink(output->part) < 0)
        return cli_fail("%s: cannot be removed: %s", output->part, strerror(errno));
    cli_run_file_remove(&output->run);
    close_output(output);
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
        cli_run_file_remove(&output->run);
    if (ours && !kept)
        unlink(output->part);
    close_output(output);
    return kept;
}
