/* translate-pull: downloads models; a program of its own, so that other programs start without libcurl. */
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "hub/hub.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct pulling {
    const cli_settings *settings;
    bool bar; /* it was started */
} pulling;

static bool on_stop(void *context)
{
    (void)context;
    return cli_interrupted() != 0;
}

static void on_progress(void *context, uint64_t done, uint64_t total)
{
    pulling *p = context;
    const cli_progress now = {.done = done, .total = total};
    if (p->settings->quiet)
        return;
    if (!p->bar)
        cli_progress_start(&now, CLI_UNIT_BYTES);
    p->bar = true;
    cli_progress_update(&now);
}

static void on_note(void *context, const char *line)
{
    const cli_settings *s = ((const pulling *)context)->settings;
    if (!s->quiet && (s->verbose || cli_progress_possible()))
        cli_note("%s", line);
}

static int pull_model(const cli_settings *settings)
{
    tr_hub_name name;
    tr_error error;
    pulling p = {.settings = settings};
    if (tr_hub_parse(settings->arguments[0], &name, &error))
        return cli_usage(settings, "%s", error.message);
    if (!cli_catch_interrupts())
        return cli_fail("signals: cannot be caught, too many open files");
    const tr_hub_options options = {.timeout = settings->timeout,
                                    .retries = settings->retries,
                                    .wake = cli_interrupt_descriptor(),
                                    .context = &p,
                                    .stop = on_stop,
                                    .progress = on_progress,
                                    .note = on_note};
    const tr_hub_request request = {.name = &name, .folder = settings->output, .pattern = settings->file};
    const tr_status status = tr_hub_pull(&request, &options, &error);
    cli_progress_stop();
    if (status == TR_OK)
        return CLI_DONE;
    if (status != TR_ERROR_CANCELLED)
        return cli_fail("%s", error.message);
    cli_fail("interrupted: downloaded parts are kept, the same command continues");
    return 128 + cli_interrupted();
}

static const cli_command command = {
    "translate pull",
    CMD_PULL,
    pull_model,
    1,
    1,
    NULL,
    "translate-pull [OPTIONS] OWNER/NAME[@REVISION]",
    "The part of 'translate pull' that downloads; use that.\n",
    NULL,
    NULL,
};

int main(int argc, char **argv)
{
    cli_settings settings;
    cli_outlive_limits();
    int status = cli_parse(&command, argv + 1, argc - 1, &settings);
    if (!status && (settings.help || settings.short_help))
        printf("Usage: %s\n\n%s", command.usage, command.about);
    else if (!status && settings.version)
        printf("translate %s\n", tr_version());
    else if (!status)
        status = pull_model(&settings);
    cli_settings_free(&settings);
    return status;
}
