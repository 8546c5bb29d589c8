/* --version, and with --verbose what a report of a fault needs. */
#include "cli/commit.h"
#include "cli/model.h"
#include "cli/signals.h"
#include "formats/gguf/gguf.h"
#include "kernels/dispatch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#ifdef __clang__
#define COMPILER __VERSION__ /* begins with the compiler's name */
#else
#define COMPILER "gcc " __VERSION__
#endif

const char *cli_commit(void)
{
    return TR_COMMIT;
}

static int print_kernels(void)
{
    const tr_kernels *used, *levels[TR_LEVELS];
    tr_error error;
    if (tr_kernels_select(NULL, &used, &error) != TR_OK)
        return cli_fail_error(&error);
    const int count = tr_kernels_available(levels);
    printf("kernels       %s; this machine has", used->level);
    for (int i = 0; i < count; i++)
        printf("%s %s", i ? "," : "", levels[i]->level);
    putchar('\n');
    return CLI_DONE;
}

/* The model that -m or the environment names, or the one that comes with the program. A missing one is not downloaded. */
static int print_model(const cli_settings *settings)
{
    char path[TR_PATH];
    const char *wanted = cli_model_wanted(settings);
    uint64_t checksum;
    tr_error error;
    if (wanted && strncmp(wanted, "hf:", 3) == 0) {
        cli_print("model         %s\n", wanted);
        return CLI_DONE;
    }
    const int status = cli_model_find(path, settings);
    if (status)
        return status;
    cli_print("model         %s\n", path);
    cli_guard_model_file(path, NULL);
    if (tr_gguf_verify(path, &checksum, &error) == TR_OK)
        printf("checksum      %016" PRIx64 ", verified\n", checksum);
    else
        cli_print("checksum      none: %s\n", error.message);
    return CLI_DONE;
}

int cli_version(const cli_settings *settings)
{
    printf("translate %s\n", tr_version());
    if (!settings->verbose)
        return CLI_DONE;
    printf("commit        %s\n", cli_commit());
    printf("compiler      %s\n", COMPILER);
    const int status = print_kernels();
    return status ? status : print_model(settings);
}
