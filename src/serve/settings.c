#define _GNU_SOURCE
#include "serve/settings.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/option_table.h"

static bool add_argument(serve_settings *s, char *argument)
{
    char **const larger = realloc(s->arguments, (s->count + 2) * sizeof *larger);
    if (!larger)
        return false;
    s->arguments = larger;
    s->arguments[s->count++] = argument;
    s->arguments[s->count] = NULL;
    return true;
}

/* Adds --NAME=VALUE, which is parsed like one of the command line; a flag is added or not. where: for messages. */
static int add_option(serve_settings *s, const cli_option *o, const char *value, const char *where)
{
    static const char *const yes[] = {"1", "true", "on", "yes"}, *const no[] = {"", "0", "false", "off", "no"};
    char *argument = NULL;
    if (cli_option_takes_value(o)) {
        if (asprintf(&argument, "--%s=%s", o->name, value) < 0)
            return cli_fail_memory();
    } else {
        bool set = false, known = false;
        for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
            set = set || strcasecmp(value, yes[i]) == 0;
        for (size_t i = 0; i < sizeof no / sizeof *no; i++)
            known = known || strcasecmp(value, no[i]) == 0;
        if (!set)
            return known ? CLI_DONE : cli_fail("%s: must be on or off", where);
        if (asprintf(&argument, "--%s", o->name) < 0)
            return cli_fail_memory();
    }
    s->owned++;
    if (add_argument(s, argument))
        return CLI_DONE;
    s->owned--;
    free(argument);
    return cli_fail_memory();
}

static const cli_option *find_option(const char *name)
{
    for (int i = 0; i < cli_option_count; i++)
        if (cli_options[i].commands & CMD_SERVE && *cli_options[i].name && strcmp(cli_options[i].name, name) == 0)
            return &cli_options[i];
    return NULL;
}

static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    for (size_t size = strlen(text); size && strchr(" \t\r", text[size - 1]);)
        text[--size] = 0;
    return text;
}

static int read_lines(serve_settings *s, const char *path, FILE *file)
{
    char line[4096], where[TR_PATH + 64];
    int status = CLI_DONE;
    for (int number = 1; !status && fgets(line, sizeof line, file); number++) {
        snprintf(where, sizeof where, "%s: line %d", path, number);
        if (strlen(line) == sizeof line - 1 || (!strchr(line, '\n') && !feof(file)))
            return cli_fail("%s: is too long", where);
        line[strcspn(line, "\n")] = 0;
        char *const name = trim(line), *const equals = strchr(name, '=');
        if (!*name || *name == '#')
            continue;
        if (!equals)
            return cli_fail("%s: must be 'name = value'", where);
        *equals = 0;
        const cli_option *const o = find_option(trim(name));
        if (!o || strcmp(o->name, "config") == 0)
            return cli_fail("%s: there is no option %s", where, trim(name));
        status = add_option(s, o, trim(equals + 1), where);
    }
    return status;
}

static int read_file(serve_settings *s, const char *path)
{
    int descriptor;
    tr_error error;
    if (tr_open_regular(&descriptor, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0, &error))
        return cli_fail_error(&error);
    FILE *const file = fdopen(descriptor, "r");
    if (!file)
        return cli_fail_memory();
    const int status = read_lines(s, path, file);
    fclose(file);
    return status;
}

static const char *environment_of(const cli_option *o, char name[64])
{
    snprintf(name, 64, "TRANSLATE_%s", o->name);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
    return getenv(name);
}

/* models: whether the command line or the file names models, so that the environment's are not wanted. */
static int read_environment(serve_settings *s, bool models)
{
    int status = CLI_DONE;
    char name[64];
    for (int i = 0; !status && i < cli_option_count; i++) {
        const cli_option *const o = &cli_options[i];
        const bool wanted = o->commands & CMD_SERVE && o->group != GROUP_GENERAL && *o->name &&
                            !(models && strncmp(o->name, "model", 5) == 0) &&
                            !(strcmp(o->name, "model") == 0 && getenv("TRANSLATE_MODELS"));
        const char *const value = wanted ? environment_of(o, name) : NULL;
        if (value && *value)
            status = add_option(s, o, value, name);
    }
    return status;
}

static int keep_prefix(serve_settings *s)
{
    const char *const given = s->options.url_prefix;
    size_t size = strlen(given);
    if (*given && (*given != '/' || size >= sizeof s->url_prefix))
        return cli_usage(&s->options, "--url-prefix %s: must begin with a slash, and have less than %zu characters", given,
                         sizeof s->url_prefix);
    while (size && given[size - 1] == '/')
        size--;
    memcpy(s->url_prefix, given, size);
    s->options.url_prefix = s->url_prefix;
    return CLI_DONE;
}

/* A misspelt variable would leave a server open that was to have keys. */
static void warn_of_unknown_variables(const cli_settings *settings)
{
    static const char *const others[] = {"TRANSLATE_CPU", "TRANSLATE_CACHE"};
    char name[64];
    for (char **variable = environ; *variable; variable++) {
        const size_t size = strcspn(*variable, "=");
        bool known = strncmp(*variable, "TRANSLATE_", 10) != 0;
        for (size_t i = 0; !known && i < sizeof others / sizeof *others; i++)
            known = strlen(others[i]) == size && strncmp(others[i], *variable, size) == 0;
        for (int i = 0; !known && i < cli_option_count; i++) {
            environment_of(&cli_options[i], name);
            known = strlen(name) == size && strncmp(name, *variable, size) == 0;
        }
        if (!known)
            cli_warn(settings, "%.*s: there is no such setting", (int)size, *variable);
    }
}

int serve_settings_read(serve_settings *s, const cli_command *command, char **arguments, int count)
{
    char name[64];
    *s = (serve_settings){0};
    int status = cli_parse(command, arguments, count, &s->options);
    if (status || s->options.help || s->options.short_help || s->options.version)
        return status;
    bool models = s->options.models || s->options.model;
    const char *const config = s->options.config ? s->options.config : environment_of(find_option("config"), name);
    if (config && *config)
        status = read_file(s, config);
    for (size_t i = 0; i < s->owned; i++)
        models = models || strncmp(s->arguments[i], "--model", 7) == 0;
    if (!status)
        status = read_environment(s, models);
    for (int i = 0; !status && i < count; i++)
        if (!add_argument(s, arguments[i]))
            status = cli_fail_memory();
    if (!status && s->count) {
        cli_settings_free(&s->options);
        status = cli_parse(command, s->arguments, (int)s->count, &s->options);
    }
    if (!status && s->options.model && s->options.models)
        status = cli_usage(&s->options, "--models %s: --model %s is given too; only one of them", s->options.models,
                           s->options.model);
    if (!status && s->options.url_prefix)
        status = keep_prefix(s);
    if (!status)
        warn_of_unknown_variables(&s->options);
    return status;
}

void serve_settings_free(serve_settings *s)
{
    cli_settings_free(&s->options);
    for (size_t i = 0; i < s->owned; i++)
        free(s->arguments[i]);
    free(s->arguments);
}
