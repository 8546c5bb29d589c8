/* libFuzzer target: a file of --config. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <string.h>

#include "memory_file.h"
#include "serve/settings.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* Messages are made, and not shown. */
static int make_message(const char *format, va_list arguments)
{
    char message[4096];
    vsnprintf(message, sizeof message, format, arguments);
    return 1;
}

int cli_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int status = make_message(format, arguments);
    va_end(arguments);
    return status;
}

int cli_usage(const cli_settings *settings, const char *format, ...)
{
    va_list arguments;
    (void)settings;
    va_start(arguments, format);
    make_message(format, arguments);
    va_end(arguments);
    return 2;
}

void cli_warn(const cli_settings *settings, const char *format, ...)
{
    va_list arguments;
    (void)settings;
    va_start(arguments, format);
    make_message(format, arguments);
    va_end(arguments);
}

int cli_fail_error(const tr_error *error)
{
    return cli_fail("%s", error->message);
}

int cli_fail_memory(void)
{
    return 1;
}

static int run(const cli_settings *settings)
{
    (void)settings;
    return 0;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const cli_command command = {.name = "translate serve", .bit = CMD_SERVE, .run = run};
    char config[] = "--config", path[64], *arguments[] = {config, path, NULL};
    serve_settings settings;
    snprintf(path, sizeof path, "%s", memory_file(data, size));
    const int status = serve_settings_read(&settings, &command, arguments, 2);
    if (status == CLI_DONE && (settings.options.port < 0 || settings.options.port > 65535 ||
                               strcmp(settings.options.config, path) != 0 || settings.options.argument_count))
        __builtin_trap();
    serve_settings_free(&settings);
    return 0;
}
