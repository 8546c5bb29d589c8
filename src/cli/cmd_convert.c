/* translate convert IN OUT.gguf */
#define _GNU_SOURCE
#include "api/stand_ins.h"
#include "cli/allowed.h"
#include "cli/cli.h"
#include "cli/model.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "formats/gguf/gguf.h"
#include "formats/int8.h"
#include "formats/open.h"
#include "util/utf8.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file is written in a folder of its own beside OUT, then moved to its place. */
static char scratch[TR_PATH];
static const char scratch_name[] = "model.gguf";
static int scratch_folder = -1;

/* Removes the folder and all files in it. Also called by the SIGBUS handler, when the mapped input is cut short. */
static void remove_scratch(void)
{
    if (scratch_folder >= 0)
        unlinkat(scratch_folder, scratch_name, 0); /* first, as there may be no memory for fdopendir() */
    DIR *folder = scratch_folder >= 0 ? fdopendir(scratch_folder) : NULL;
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        unlinkat(scratch_folder, entry->d_name, 0); /* "." and ".." are refused */
    if (folder)
        closedir(folder);
    else if (scratch_folder >= 0)
        close(scratch_folder);
    scratch_folder = -1;
    if (*scratch)
        rmdir(scratch);
    *scratch = 0;
}

static int make_scratch(const char *out)
{
    const int size = snprintf(scratch, sizeof scratch, "%s.XXXXXX", out);
    const bool made = size < (int)sizeof scratch && mkdtemp(scratch);
    if (!made) {
        *scratch = 0;
        return cli_fail("%s: cannot write: %s", out, strerror(size < (int)sizeof scratch ? errno : ENAMETOOLONG));
    }
    scratch_folder = open(scratch, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return scratch_folder >= 0 ? CLI_DONE : cli_fail("%s: cannot write: %s", scratch, strerror(errno));
}

static int check_paths(const cli_settings *s, const char *in, const char *out)
{
    if (access(in, F_OK) < 0)
        return cli_fail("%s: %s", in, strerror(errno));
    const int status = cli_check_other_file(s, out, in, "is the input and the output");
    return status ? status : cli_check_replaced(s, out, CLI_MODEL);
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
    return tr_lossless_type(&package->weights);
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

/* tr_gguf_write verifies the bytes; opening the file is the last check. */
static int write_and_verify(const cli_settings *s, const tr_package *package, const char *file)
{
    tr_error error;
    tr_package written;
    bool running = s->quiet; /* then the bar is not started */
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

/* Moves the finished file to the target. */
static int move_to(const tr_target *target, const char *file)
{
    int descriptor;
    tr_error error;
    if (tr_open_regular(&descriptor, AT_FDCWD, file, O_RDONLY | O_NOFOLLOW, 0, &error))
        return cli_fail_error(&error);
    const tr_status status = tr_target_replace(target, descriptor, file, &error);
    close(descriptor);
    return status == TR_OK ? CLI_DONE : cli_fail_error(&error);
}

static int convert_to(const cli_settings *s, const tr_package *package, const tr_target *target)
{
    char file[TR_PATH + 16];
    int status = make_scratch(target->path);
    snprintf(file, sizeof file, "%s/%s", scratch, scratch_name);
    if (!status)
        status = write_and_verify(s, package, file);
    if (!status)
        status = move_to(target, file);
    remove_scratch();
    return status;
}

/* A damaged file must not get a valid checksum. Files of other programs, and directories, have no checksum to verify. */
static tr_status open_verified(const char *in, tr_package *package, tr_error *error)
{
    tr_status status = tr_package_open(in, TR_LOAD_MAP, package, error);
    if (status == TR_OK && package->has_checksum && (status = tr_gguf_verify(in, NULL, error)) != TR_OK)
        tr_package_close(package);
    return status;
}

/* Tries which words the model copies, for tr_package.stand_ins. */
static int find_stand_ins(const char *in, tr_package *package)
{
    tr_model *model;
    tr_error error;
    tr_status status = tr_open_model(in, NULL, &model, &error);
    if (status == TR_OK) {
        status = tr_model_find_stand_ins(model, package->stand_ins, sizeof package->stand_ins, &error);
        tr_model_close(model);
    }
    return status == TR_OK ? CLI_DONE : cli_fail_error(&error);
}

static int copy_note(const cli_settings *s, const char *option, const char *text, char *out, size_t size)
{
    if (!text)
        return CLI_DONE;
    if (!tr_utf8_valid(text, strlen(text)))
        return cli_usage(s, "%s: is not UTF-8", option);
    if (strlen(text) >= size)
        return cli_usage(s, "%s: is longer than %zu bytes", option, size - 1);
    strcpy(out, text);
    return CLI_DONE;
}

static int tell_about(const cli_settings *s, tr_about *about)
{
    int status = copy_note(s, "--license", s->license, about->license, sizeof about->license);
    if (!status)
        status = copy_note(s, "--date", s->date, about->date, sizeof about->date);
    return status ? status : copy_note(s, "--description", s->description, about->description, sizeof about->description);
}

static int convert_model(const cli_settings *settings, const char *in, const tr_target *target)
{
    tr_package package;
    tr_error error;
    cli_guard_model_file(in, remove_scratch);
    if (!cli_catch_interrupts())
        return cli_fail("signals: cannot be caught, too many open files");
    if (open_verified(in, &package, &error))
        return cli_fail_error(&error);
    int32_t *allowed;
    if (settings->doubtful_below < 0)
        package.config.doubtful_below = settings->doubtful_below;
    int status = cli_allow_tokens(settings, &package, &allowed);
    if (!status)
        status = cli_check_no_model(settings, settings->arguments[1], &package);
    if (!status)
        status = tell_about(settings, &package.about);
    if (!status && settings->stand_ins)
        status = find_stand_ins(in, &package);
    if (!status)
        status = convert_to(settings, &package, target);
    tr_package_close(&package);
    free(allowed);
    return status;
}

int cli_convert(const cli_settings *settings)
{
    char in[TR_PATH];
    tr_target target;
    tr_error error;
    cli_settings named = *settings;
    named.model = settings->arguments[0];
    int status = cli_model_find(in, &named);
    if (!status)
        status = check_paths(settings, in, settings->arguments[1]);
    if (status)
        return status;
    if (tr_target_find(&target, settings->arguments[1], &error))
        return cli_fail_error(&error);
    status = convert_model(settings, in, &target);
    tr_target_free(&target);
    return cli_interrupted() ? 128 + cli_interrupted() : status;
}
