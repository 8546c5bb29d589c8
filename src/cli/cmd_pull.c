/* translate pull OWNER/NAME: lists and removes models; translate-pull downloads them. */
#include "cli/cli.h"
#include "cli/hub.h"
#include "cli/progress.h"
#include "hub/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------ listing and removing */

static void print_entry(void *context, const tr_hub_entry *entry)
{
    bool *any = context;
    *any = true;
    cli_print("%10.1f MB  hf:%s%s\n", (double)entry->bytes / 1e6, entry->name.label, entry->whole ? "" : "  (incomplete)");
}

static int list_models(const cli_settings *s)
{
    char cache[TR_PATH];
    tr_error error;
    bool any = false;
    if (s->argument_count)
        return cli_usage(s, "--list: lists all models, it takes no name");
    if (tr_hub_cache_list(print_entry, &any, &error) || tr_hub_cache(cache, &error))
        return cli_fail_error(&error);
    if (s->verbose || (!any && cli_progress_possible()))
        cli_note("the cache is %s%s", cache, any ? "" : ", which is empty");
    return CLI_DONE;
}

static int remove_model(const cli_settings *s, const tr_hub_name *name)
{
    tr_error error;
    tr_hub_removal r;
    const bool all = !strchr(s->arguments[0], '@');
    if (tr_hub_cache_remove(name, all, &r, &error))
        return cli_fail_error(&error);
    if (!r.found)
        return cli_fail("%s: is not in the cache (see translate pull --list)", s->arguments[0]);
    if (r.left && !r.removed.count)
        return cli_fail("%s: nothing was removed: translate did not download the files in %s", s->arguments[0], r.folder);
    if (r.left)
        cli_warn(s, "%s: %zu file%s that translate did not download %s left in %s", s->arguments[0], r.left,
                 r.left == 1 ? "" : "s", r.left == 1 ? "was" : "were", r.folder);
    if (s->verbose)
        cli_note("%s: removed, %.1f MB", s->arguments[0], (double)r.removed.bytes / 1e6);
    return CLI_DONE;
}

/* --------------------------------------------------------------------------------------------------------- downloading */

static int download_model(const cli_settings *s, const tr_hub_name *name)
{
    enum { MAX_ARGUMENTS = 16 };
    char timeout[32], retries[32], label[TR_HUB_LABEL], folder[TR_PATH];
    tr_error error;
    const char *arguments[MAX_ARGUMENTS] = {"translate-pull"};
    int n = 1;
    if (!s->output && tr_hub_cache_folder(folder, name, &error))
        return cli_fail_error(&error);
    snprintf(timeout, sizeof timeout, "--timeout=%d", s->timeout);
    snprintf(retries, sizeof retries, "--retries=%d", s->retries);
    snprintf(label, sizeof label, "%s", name->label);
    arguments[n++] = timeout;
    arguments[n++] = retries;
    if (s->output) {
        arguments[n++] = "--output";
        arguments[n++] = s->output;
    }
    if (s->file) {
        arguments[n++] = "--file";
        arguments[n++] = s->file;
    }
    if (s->quiet)
        arguments[n++] = "--quiet";
    if (s->verbose)
        arguments[n++] = "--verbose";
    arguments[n++] = "--";
    arguments[n++] = label;
    const int status = cli_hub_run("pull", s->output ? s->output : folder, (char *const *)arguments);
    if (!status && !s->quiet && (s->verbose || cli_progress_possible()))
        cli_note("use it with: translate -m %s%s", s->output ? "" : "hf:", s->output ? s->output : name->label);
    return status;
}

int cli_pull(const cli_settings *settings)
{
    tr_hub_name name;
    tr_error error;
    if (settings->list)
        return list_models(settings);
    if (!settings->argument_count)
        return cli_usage(settings, "pull: which model? usage: %s", settings->command->usage);
    if (tr_hub_parse(settings->arguments[0], &name, &error))
        return cli_usage(settings, "%s", error.message);
    if (settings->remove && (settings->output || settings->file))
        return cli_usage(settings, "--remove: not with --output or --file; it removes models from the cache");
    return settings->remove ? remove_model(settings, &name) : download_model(settings, &name);
}
