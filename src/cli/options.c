/* Parsing the command line. */
#include "cli/cli.h"
#include "cli/option_table.h"
#include "util/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = CLI_VALUE_NAME };

bool cli_option_takes_value(const cli_option *o)
{
    return o->kind != KIND_FLAG && o->kind != KIND_EXPAND;
}

const char *cli_option_value_name(const cli_option *o, char words[NAME_SIZE])
{
    if (!o->choices)
        return o->value;
    int size = 0;
    for (const cli_choice *c = o->choices; c->word && size < NAME_SIZE; c++)
        size += snprintf(words + size, (size_t)(NAME_SIZE - size), "%s%s", c == o->choices ? "" : "|", c->word);
    if (o->value && size < NAME_SIZE)
        snprintf(words + size, (size_t)(NAME_SIZE - size), "|%s", o->value);
    return words;
}

/* ------------------------------------------------------------------------------------------------------------- values */

/* *end: what follows the number. */
static bool parse_number(const char *value, int low, int high, char **end, int *number)
{
    errno = 0;
    const long whole = strtol(value, end, 10);
    const bool digits = *value >= '0' && *value <= '9'; /* no sign, no space in front */
    if (!digits || errno || whole < low || whole > high)
        return false;
    *number = (int)whole;
    return true;
}

static bool store_number(const cli_option *o, const char *value, cli_settings *settings)
{
    char *end;
    int number;
    if (!parse_number(value, o->low, o->high, &end, &number) || *end)
        return false;
    *(int *)((char *)settings + o->offset) = number;
    return true;
}

static bool store_numbers(const cli_option *o, const char *value, cli_settings *settings)
{
    cli_numbers *numbers = (cli_numbers *)((char *)settings + o->offset);
    const int low = strchr(value, ',') && o->low < 1 ? 1 : o->low;
    char *end;
    for (numbers->count = 0; numbers->count < CLI_MAX_NUMBERS; value = end + 1) {
        if (!parse_number(value, low, o->high, &end, &numbers->values[numbers->count++]) || (*end && *end != ','))
            return false;
        if (!*end)
            return true;
    }
    return false;
}

static bool store_whole(const cli_option *o, const char *value, cli_settings *settings)
{
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || errno)
        return false;
    *(uint64_t *)((char *)settings + o->offset) = number;
    return true;
}

static bool store_another(const cli_option *o, const char *value, cli_settings *settings)
{
    cli_list *list = (cli_list *)((char *)settings + o->offset);
    const char **more = realloc(list->values, ((size_t)list->count + 1) * sizeof *more);
    if (!more)
        return false;
    list->values = more;
    list->values[list->count++] = value;
    return true;
}

static bool store_real(const cli_option *o, const char *value, cli_settings *settings)
{
    char *end;
    errno = 0;
    const float number = strtof(value, &end);
    const bool digits = (*value >= '0' && *value <= '9') || *value == '-' || *value == '.'; /* no inf, no space in front */
    if (!digits || *end || errno || !(number >= (float)o->low && number <= (float)o->high))
        return false;
    *(float *)((char *)settings + o->offset) = number;
    return true;
}

static bool store_choice(const cli_option *o, const char *value, cli_settings *settings)
{
    for (const cli_choice *c = o->choices; c->word; c++)
        if (strcmp(c->word, value) == 0) {
            *(int *)((char *)settings + o->offset) = c->value;
            return true;
        }
    return false;
}

static int store_value(const cli_option *o, const char *value, cli_settings *settings)
{
    char words[NAME_SIZE];
    switch (o->kind) {
    case KIND_FLAG: *(bool *)((char *)settings + o->offset) = true; break;
    case KIND_TEXT:
        if (!*value)
            return cli_usage(settings, "--%s: the value is empty", o->name);
        *(const char **)((char *)settings + o->offset) = value;
        break;
    case KIND_LIST:
        if (!*value)
            return cli_usage(settings, "--%s: the value is empty", o->name);
        return store_another(o, value, settings) ? CLI_DONE : cli_fail_memory();
    case KIND_WHOLE:
        if (!store_whole(o, value, settings))
            return cli_usage(settings, "--%s: '%s' is not a whole number from 0 to %" PRIu64, o->name, value, UINT64_MAX);
        break;
    case KIND_NUMBER:
        if (!store_number(o, value, settings) && !(o->choices && store_choice(o, value, settings)))
            return cli_usage(settings, "--%s: '%s' is not a whole number from %d to %d%s%s", o->name, value, o->low, o->high,
                             o->choices ? ", or " : "", o->choices ? o->choices->word : "");
        break;
    case KIND_SERIES:
        if (store_numbers(o, value, settings))
            break;
        if (strchr(value, ','))
            return cli_usage(settings, "--%s: '%s' is not a list of at most %d whole numbers from %d to %d", o->name, value,
                             CLI_MAX_NUMBERS, o->low < 1 ? 1 : o->low, o->high);
        return cli_usage(settings, "--%s: '%s' is not a whole number from %d to %d", o->name, value, o->low, o->high);
    case KIND_REAL:
        if (!store_real(o, value, settings))
            return cli_usage(settings, "--%s: '%s' is not a number from %d to %d", o->name, value, o->low, o->high);
        break;
    case KIND_CHOICE:
        if (!store_choice(o, value, settings))
            return cli_usage(settings, "--%s: '%s' is not available, only %s", o->name, value,
                             cli_option_value_name(o, words));
        break;
    case KIND_EXPAND: break; /* by the caller */
    }
    return CLI_DONE;
}

/* -------------------------------------------------------------------------------------------------------------- names */

static const cli_option *find_option(unsigned command, char letter, const char *name, size_t size)
{
    for (int i = 0; i < cli_option_count; i++) {
        const cli_option *o = &cli_options[i];
        if (!(o->commands & command))
            continue;
        if (name ? size && strlen(o->name) == size && memcmp(o->name, name, size) == 0 : o->letter == letter)
            return o;
    }
    return NULL;
}

static int smallest(int a, int b, int c)
{
    const int ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Optimal string alignment. */
int cli_distance(const char *a, size_t a_size, const char *b)
{
    int rows[3][NAME_SIZE + 1];
    const size_t b_size = strlen(b);
    if (a_size > NAME_SIZE || b_size > NAME_SIZE)
        return NAME_SIZE;
    for (size_t j = 0; j <= b_size; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= a_size; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = (int)i;
        for (size_t j = 1; j <= b_size; j++) {
            row[j] = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && above2[j - 2] + 1 < row[j])
                row[j] = above2[j - 2] + 1;
        }
    }
    return rows[a_size % 3][b_size];
}

/* The option that was probably meant: the one that begins so, else the nearest; NULL if none is near. */
static const char *nearest_name(unsigned command, const char *name, size_t size)
{
    const char *best = NULL;
    int best_distance = size < 5 ? 2 : 3; /* at most one or two typing errors */
    for (int i = 0; i < cli_option_count; i++) {
        const cli_option *o = &cli_options[i];
        if (!(o->commands & command) || !*o->name)
            continue;
        if (size >= 2 && strncmp(o->name, name, size) == 0)
            return o->name;
        const int distance = cli_distance(name, size, o->name);
        if (distance < best_distance) {
            best_distance = distance;
            best = o->name;
        }
    }
    return best;
}

/* What other programs (CTranslate2, Marian, fairseq, Hugging Face, Argos Translate) call options, and what people try first;
 * ours: the name here, else what to know. */
static const struct {
    const char *name, *ours, *says;
} synonyms[] = {
    {"format", "json", NULL},
    {"output-format", "json", NULL},
    {"jsonl", "json", NULL},
    {"j", "json", NULL},
    {"file", "input", NULL},
    {"f", "input", NULL},
    {"input-file", "input", NULL},
    {"in", "input", NULL},
    {"output-file", "output", NULL},
    {"out", "output", NULL},
    {"model-path", "model", NULL},
    {"model-dir", "model", NULL},
    {"path", "model", NULL},
    {"src", "source", NULL},
    {"from", "source", NULL},
    {"from-lang", "source", NULL},
    {"src-lang", "source", NULL},
    {"source-lang", "source", NULL},
    {"source-language", "source", NULL},
    {"tgt", "target", NULL},
    {"to", "target", NULL},
    {"to-lang", "target", NULL},
    {"tgt-lang", "target", NULL},
    {"target-lang", "target", NULL},
    {"target-language", "target", NULL},
    {"lang", "target", NULL},
    {"l", "target", NULL},
    {"beam-size", "beam", NULL},
    {"num-beams", "beam", NULL},
    {"nbest", "n-best", NULL},
    {"num-hypotheses", "n-best", NULL},
    {"num-return-sequences", "n-best", NULL},
    {"num-threads", "threads", NULL},
    {"cpu-threads", "threads", NULL},
    {"intra-threads", "threads", NULL},
    {"inter-threads", "threads", NULL},
    {"jobs", "threads", NULL},
    {"mini-batch", "batch-size", NULL},
    {"max-batch-size", "batch-size", NULL},
    {"compute-type", "compute", NULL},
    {"dtype", "compute", NULL},
    {"quantization", "compute", NULL},
    {"normalize", "length-penalty", NULL},
    {"lenpen", "length-penalty", NULL},
    {"max-decoding-length", "max-length", NULL},
    {"max-new-tokens", "max-length", NULL},
    {"no-repeat-ngram-size", "no-repeat-ngram", NULL},
    {"sampling-topk", "top-k", NULL},
    {"do-sample", "sample", NULL},
    {"max-tokens", "max-length", NULL},
    {"max-len-b", "max-length", NULL},
    {"maxi-batch", "batch-size", NULL},
    {"repetitions", "rounds", NULL},
    {"iterations", "rounds", NULL},
    {"outtype", "compute", NULL},
    {"quantize", "compute", NULL},
    {"return-alternatives", "alternatives", NULL},
    {"word-alignment", "alignment", NULL},
    {"sampling", "sample", NULL},
    {"replace-unk", "no-unknown", NULL},
    {"output-path", "output", NULL},
    {"int8", NULL, "write --compute int8"},
    {"fp16", NULL, "write --compute f16"},
    {"no-protect", NULL, "write --protect off"},
    {"list-models", NULL, "write translate pull --list"},
    {"list-languages", NULL, "write translate info"},
    {"download", NULL, "write translate pull OWNER/NAME"},
    {"force", NULL, "-o replaces an older file without it"},
    {"overwrite", NULL, "-o replaces an older file without it"},
    {"output", NULL, "the file to write is the second argument"},
    {"device", NULL, "it runs on the CPU, with the threads of -T"},
    {"gpu", NULL, "it runs on the CPU, with the threads of -T"},
    {"html", NULL, "tags in a text are kept without an option (--protect on)"},
    {"port", NULL, "there is no server in this version"},
};

static int unknown_option(const cli_settings *settings, const char *dashes, const char *given, size_t size)
{
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "%.*s", (int)size, given);
    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : *c;
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strcmp(synonyms[i].name, name) == 0) {
            const char *ours = synonyms[i].ours;
            if (ours && find_option(settings->command->bit, 0, ours, strlen(ours)))
                return cli_usage(settings, "%s%.*s: unknown option, did you mean --%s?", dashes, (int)size, given, ours);
            if (!ours)
                return cli_usage(settings, "%s%.*s: unknown option, %s", dashes, (int)size, given, synonyms[i].says);
        }
    const char *meant = size > 1 ? nearest_name(settings->command->bit, name, strlen(name)) : NULL;
    if (meant)
        return cli_usage(settings, "%s%.*s: unknown option, did you mean --%s?", dashes, (int)size, given, meant);
    return cli_usage(settings, "%s%.*s: unknown option", dashes, (int)size, given);
}

/* ------------------------------------------------------------------------------------------------------------ parsing */

/* text: NAME or NAME=VALUE. next: the following argument, or NULL; *used: next is the option's value. */
static int parse_long(const char *text, const char *next, bool *used, cli_settings *settings)
{
    const size_t size = strcspn(text, "=");
    const char *value = text[size] ? text + size + 1 : NULL;
    const cli_option *o = find_option(settings->command->bit, 0, text, size);
    char words[NAME_SIZE];
    *used = false;
    if (!o)
        return unknown_option(settings, "--", text, size);
    if (!cli_option_takes_value(o) && value)
        return cli_usage(settings, "--%s: takes no value", o->name);
    if (cli_option_takes_value(o) && !value) {
        if (!next)
            return cli_usage(settings, "--%s: needs a value, %s", o->name, cli_option_value_name(o, words));
        value = next;
        *used = true;
    }
    if (o->kind != KIND_EXPAND)
        return store_value(o, value, settings);
    /* Choices store a number, so the text need not outlive this call. */
    char part[NAME_SIZE];
    for (const char *from = o->value; *from; from += strspn(from, " ")) {
        const size_t length = strcspn(from, " ");
        snprintf(part, sizeof part, "%.*s", (int)length, from);
        bool ignored;
        const int status = parse_long(part, NULL, &ignored, settings);
        if (status)
            return status;
        from += length;
    }
    return CLI_DONE;
}

/* text: the letters after one dash. The first one that takes a value takes the rest of text, else the next argument. */
static int parse_letters(const char *text, const char *next, bool *used, cli_settings *settings)
{
    char words[NAME_SIZE];
    const char *const all = text;
    *used = false;
    for (; *text; text++) {
        const cli_option *o = find_option(settings->command->bit, *text, NULL, 0);
        if (!o && find_option(settings->command->bit, 0, all, strlen(all)))
            return cli_usage(settings, "-%s: long options have two dashes: --%s", all, all);
        if (!o && ((unsigned char)*text >= 0x80 || tr_is_ascii_digit(*text)))
            return cli_usage(settings, "-%s: unknown option; put -- before text that begins with a dash", text);
        if (!o)
            return unknown_option(settings, "-", text, 1);
        if (cli_option_takes_value(o)) {
            const char *value = text[1] ? text + 1 : next;
            *used = !text[1];
            if (!value)
                return cli_usage(settings, "-%c: needs a value, %s", o->letter, cli_option_value_name(o, words));
            return store_value(o, value, settings);
        }
        const int status = store_value(o, NULL, settings);
        if (status)
            return status;
    }
    return CLI_DONE;
}

static int check_arguments(const cli_settings *settings)
{
    const cli_command *command = settings->command;
    const bool names = command->bit & (CMD_CONVERT | CMD_INFO | CMD_PULL | CMD_SHORTLIST); /* the others take text */
    if (settings->help || settings->short_help || settings->version || settings->completion)
        return CLI_DONE;
    if (settings->argument_count < command->min_arguments)
        return cli_usage(settings, "%s: too few arguments; usage: %.*s", command->name, (int)strcspn(command->usage, "\n"),
                         command->usage);
    if (command->max_arguments >= 0 && settings->argument_count > command->max_arguments) {
        const char *unexpected = settings->arguments[command->max_arguments];
        return cli_usage(settings, "%s: unexpected argument; usage: %.*s", *unexpected ? unexpected : "''",
                         (int)strcspn(command->usage, "\n"), command->usage);
    }
    for (int i = 0; names && i < settings->argument_count; i++)
        if (!*settings->arguments[i])
            return cli_usage(settings, "argument %d is empty; usage: %.*s", i + 1, (int)strcspn(command->usage, "\n"),
                             command->usage);
    return CLI_DONE;
}

void cli_settings_free(cli_settings *settings)
{
    free(settings->arguments);
    free(settings->ensemble.values);
    free(settings->forbidden.values);
}

cli_settings cli_default_settings(const cli_command *command)
{
    tr_search_options search = tr_search_default_options();
    if (command->bit == CMD_TRANSLATE)
        search.beam = CLI_AUTO;
    return (cli_settings){.command = command,
                          .batch_size = 32,
                          .max_length = 512,
                          .load = CLI_AUTO,
                          .loop_guard = CLI_AUTO,
                          .protect = CLI_AUTO,
                          .search = search,
                          .rounds = 3,
                          .wrong_below = 35,
                          .timeout = command->bit == CMD_SERVE ? 120 : 30,
                          .retries = 5,
                          .host = "127.0.0.1",
                          .port = 5000,
                          .batch_limit = 1000,
                          .char_limit = 100000,
                          .upload_limit = 16,
                          .cache = 64,
                          .queue_limit = 10000,
                          .grace = 30,
                          .idle_close = 900,
                          .keep_documents = 3600,
                          .alignment_threshold = 1,
                          .first = 100,
                          .best = 100};
}

int cli_parse(const cli_command *command, char **arguments, int count, cli_settings *settings)
{
    *settings = cli_default_settings(command);
    settings->given = arguments;
    settings->arguments = malloc(((size_t)count + 1) * sizeof *settings->arguments);
    if (!settings->arguments)
        return cli_fail_memory();
    for (int i = 0; i < count; i++) {
        char *argument = arguments[i];
        const char *next = i + 1 < count ? arguments[i + 1] : NULL;
        bool used = false;
        int status = CLI_DONE;
        if (settings->literal || argument[0] != '-' || !argument[1])
            settings->arguments[settings->argument_count++] = argument;
        else if (argument[1] != '-')
            status = parse_letters(argument + 1, next, &used, settings);
        else if (argument[2])
            status = parse_long(argument + 2, next, &used, settings);
        else
            settings->literal = true;
        if (status)
            return status;
        i += used;
    }
    /* The file behind these names would be replaced. */
    static const char *const standard[] = {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    for (size_t i = 0; settings->output && i < sizeof standard / sizeof *standard; i++)
        if (strcmp(settings->output, standard[i]) == 0)
            settings->output = "-";
    return check_arguments(settings);
}

int cli_join_arguments(const cli_settings *settings, tr_buffer *text)
{
    bool good = tr_buffer_reserve(text, 1); /* "" is a text, too */
    for (int i = 0; good && i < settings->argument_count; i++)
        good = tr_buffer_string(text, i ? " " : "") && tr_buffer_string(text, settings->arguments[i]);
    return good ? CLI_DONE : cli_fail_memory();
}
