/* translate convert IN OUT.gguf */
#define _GNU_SOURCE
#include "cli/allowed.h"
#include "cli/cli.h"
#include "cli/model.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "formats/gguf/gguf.h"
#include "formats/packed.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file is written in a folder of its own beside OUT, then moved to its place. */
static char scratch[TR_PATH];

/* Removes the folder and whatever is in it. Also called when the input is cut short while it is mapped. */
static void remove_scratch(void)
{
    DIR *folder = *scratch ? opendir(scratch) : NULL;
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        unlinkat(dirfd(folder), entry->d_name, 0); /* "." and ".." are refused */
    if (folder)
        closedir(folder);
    if (*scratch)
        rmdir(scratch);
    *scratch = 0;
}

static int check_places(const cli_settings *s, const char *in, const char *out)
{
    struct stat a, b;
    const bool exists = stat(out, &b) == 0;
    if (stat(in, &a) < 0)
        return cli_fail("%s: %s", in, strerror(errno));
    if (exists && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
        return cli_usage(s, "%s: is the input and the output", out);
    if (exists && S_ISDIR(b.st_mode))
        return cli_fail("%s: is a directory; name a file to write", out);
    if (exists && !S_ISREG(b.st_mode))
        return cli_fail("%s: is not a regular file", out);
    if (exists && !s->force)
        return cli_fail("%s: exists already; --force replaces it", out);
    return CLI_DONE;
}

static tr_type wanted_type(const cli_settings *s, const tr_package *package)
{
    switch ((tr_compute)s->compute) {
    case TR_COMPUTE_AUTO: break;
    case TR_COMPUTE_F32: return TR_TYPE_F32;
    case TR_COMPUTE_F16: return TR_TYPE_F16;
    case TR_COMPUTE_BF16: return TR_TYPE_BF16;
    case TR_COMPUTE_INT8: return TR_TYPE_I8;
    }
    return tr_stored_type(package);
}

static int on_progress(void *started, uint64_t done, uint64_t total)
{
    const cli_progress now = {.done = done, .total = total};
    bool *running = started;
    if (!*running) {
        const cli_progress first = {.done = 0, .total = total};
        cli_progress_start(&first, CLI_UNIT_NONE);
        *running = true;
    }
    cli_progress_update(&now);
    return cli_interrupted() != 0;
}

/* Writing verifies the bytes; that the file opens is the last check. */
static int write_and_verify(const cli_settings *s, const tr_package *package, const char *file)
{
    tr_error error;
    tr_package written;
    bool running = s->quiet; /* then the bar is never started */
    const tr_type type = wanted_type(s, package);
    tr_status status = tr_gguf_write(package, file, type, on_progress, &running, &error);
    cli_progress_stop();
    if (status == TR_OK)
        status = tr_package_open(file, TR_LOAD_MAP, &written, &error);
    if (status == TR_OK && s->verbose)
        cli_note("%s: %s matrices, checksum %016llx", s->arguments[1], cli_type_name(type),
                 (unsigned long long)written.checksum);
    if (status == TR_OK)
        tr_package_close(&written);
    if (cli_interrupted())
        return cli_fail("interrupted: nothing was written");
    return status == TR_OK ? CLI_DONE : cli_fail_error(&error);
}

static int convert_to(const cli_settings *s, const tr_package *package, const char *out)
{
    char file[TR_PATH + 16];
    if (snprintf(scratch, sizeof scratch, "%s.XXXXXX", out) >= (int)sizeof scratch) {
        *scratch = 0;
        return cli_fail("%s: %s", out, strerror(ENAMETOOLONG));
    }
    if (!mkdtemp(scratch)) {
        *scratch = 0;
        return cli_fail("%s: cannot write: %s", out, strerror(errno));
    }
    snprintf(file, sizeof file, "%s/model.gguf", scratch);
    int status = write_and_verify(s, package, file);
    if (!status && rename(file, out) < 0)
        status = cli_fail("%s: cannot write: %s", out, strerror(errno));
    remove_scratch();
    return status;
}

int cli_convert(const cli_settings *settings)
{
    char in[TR_PATH];
    char *out = NULL;
    tr_package package;
    tr_error error;
    cli_settings named = *settings;
    named.model = settings->arguments[0];
    int status = cli_model_find(in, &named);
    if (!status)
        status = check_places(settings, in, settings->arguments[1]);
    if (status)
        return status;
    out = realpath(settings->arguments[1], NULL); /* a symbolic link stays one */
    cli_guard_model_file(in, remove_scratch);
    if (!cli_catch_interrupts())
        status = cli_fail("signals: cannot be caught, too many open files");
    else if (tr_package_open(in, TR_LOAD_MAP, &package, &error))
        status = cli_fail_error(&error);
    else {
        int32_t *allowed;
        status = cli_allow_tokens(settings, &package, &allowed);
        if (!status)
            status = convert_to(settings, &package, out ? out : settings->arguments[1]);
        tr_package_close(&package);
        free(allowed);
    }
    free(out);
    return cli_interrupted() ? 128 + cli_interrupted() : status;
}
