#include "cli/options.h"

#include "cli/cli.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum option_kind {
    KIND_FLAG,   /* sets a bool */
    KIND_TEXT,   /* keeps the value */
    KIND_NUMBER, /* an int from low to high */
    KIND_CHOICE, /* one of the words in .value, separated by '|'; stores its index as an int */
    KIND_EXPAND, /* stands for the options in .value, separated by spaces */
    KIND_LATER,  /* known, but not in this version; not shown by --help */
} option_kind;

typedef enum option_group {
    GROUP_MODEL,
    GROUP_FILES,
    GROUP_OUTPUT,
    GROUP_TRANSLATION,
    GROUP_SPEED,
    GROUP_NETWORK,
    GROUP_GENERAL
} option_group;

static const char *const group_titles[] = {
    [GROUP_MODEL] = "Model", [GROUP_FILES] = "Files",     [GROUP_OUTPUT] = "Output",   [GROUP_TRANSLATION] = "Translation",
    [GROUP_SPEED] = "Speed", [GROUP_NETWORK] = "Network", [GROUP_GENERAL] = "General",
};

typedef struct option {
    unsigned commands; /* CMD_... that know it */
    option_group group;
    option_kind kind;
    char letter; /* 0 if there is none */
    const char *name, *value;
    size_t offset; /* of its field in cli_settings */
    int low, high;
    const char *help;
} option;

#define FIELD(name) offsetof(cli_settings, name)
#define WITH_MODEL  (CMD_TRANSLATE | CMD_BENCH | CMD_TOKENIZE)
#define EVERY       (CMD_TRANSLATE | CMD_BENCH | CMD_CONVERT | CMD_INFO | CMD_TOKENIZE | CMD_PULL)

/* clang-format off */
static const option options[] = {
    {WITH_MODEL, GROUP_MODEL, KIND_TEXT, 'm', "model", "PATH", FIELD(model), 0, 0,
     "model file (GGUF), published directory, or hf:OWNER/NAME from Hugging Face; default: $TRANSLATE_MODEL, else the "
     "zh-en model that comes with the program"},
    {CMD_TRANSLATE, GROUP_MODEL, KIND_TEXT, 0, "models", "DIR", FIELD(models), 0, 0,
     "folder of models: the one for -s and -t is chosen, or two, mostly over English; default: $TRANSLATE_MODELS, if a "
     "language is named and -m is not"},
    {CMD_INFO, GROUP_MODEL, KIND_TEXT, 0, "models", "DIR", FIELD(models), 0, 0,
     "list a folder of models by their languages"},
    {CMD_TRANSLATE, GROUP_MODEL, KIND_TEXT, 's', "source", "LANG", FIELD(source), 0, 0,
     "language of the input, where there are several: a code such as fr, fra or zh-Hant; zh, zh-CN, zh-Hans and zho are "
     "one; auto: detected from the first lines"},
    {CMD_BENCH, GROUP_MODEL, KIND_TEXT, 's', "source", "LANG", FIELD(source), 0, 0,
     "language of the input, where the model has several: a code such as fr, fra or zh-Hant; zh, zh-CN, zh-Hans and zho are "
     "one"},
    {CMD_TRANSLATE | CMD_BENCH, GROUP_MODEL, KIND_TEXT, 't', "target", "LANG", FIELD(target), 0, 0,
     "language of the output; translate info lists a model's languages"},
    {CMD_TRANSLATE | CMD_BENCH, GROUP_MODEL, KIND_CHOICE, 0, "compute", "auto|f32|f16|bf16|int8", FIELD(compute), 0, 0,
     "type of the weights; default auto: as stored (a directory: f32)"},
    {CMD_CONVERT, GROUP_MODEL, KIND_CHOICE, 0, "compute", "auto|f32|f16|bf16|int8", FIELD(compute), 0, 0,
     "type of the matrices in OUT.gguf; default auto: as in IN"},
    {WITH_MODEL, GROUP_MODEL, KIND_CHOICE, 0, "load", "auto|map|copy", FIELD(load), 0, 0,
     "map the model file, or read it into memory: slower to start, faster to run, and the file may change meanwhile; auto "
     "(default): copy for bench and for whole files of text, else map"},

    {CMD_TRANSLATE | CMD_BENCH, GROUP_MODEL, KIND_TEXT, 0, "shortlist", "auto|off|FILE", FIELD(shortlist), 0, 0,
     "which target tokens a source allows: auto (default): as the model says, if it has a shortlist; off: all; or a lexical "
     "shortlist in Marian's binary form"},

    {CMD_TRANSLATE | CMD_TOKENIZE, GROUP_FILES, KIND_TEXT, 'i', "input", "FILE", FIELD(input), 0, 0,
     "read lines from FILE; default standard input"},
    {CMD_BENCH, GROUP_FILES, KIND_TEXT, 'i', "input", "FILE", FIELD(input), 0, 0,
     "lines to translate, blank ones are left out; default: lines that are built in"},
    {CMD_TRANSLATE, GROUP_FILES, KIND_TEXT, 'o', "output", "FILE", FIELD(output), 0, 0,
     "write to FILE, which appears complete or not at all: until the end it is FILE.part"},
    {CMD_TRANSLATE, GROUP_FILES, KIND_FLAG, 0, "resume", NULL, FIELD(resume), 0, 0,
     "continue an interrupted run from FILE.part"},
    {CMD_CONVERT, GROUP_FILES, KIND_FLAG, 'f', "force", NULL, FIELD(force), 0, 0,
     "replace OUT.gguf if it exists"},
    {CMD_INFO, GROUP_FILES, KIND_FLAG, 0, "verify", NULL, FIELD(verify), 0, 0,
     "compare the file with the size and the checksum that it holds"},

    {CMD_PULL, GROUP_FILES, KIND_TEXT, 'o', "output", "DIR", FIELD(output), 0, 0,
     "put the files into DIR instead of the cache"},
    {CMD_PULL, GROUP_FILES, KIND_TEXT, 0, "file", "PATTERN", FIELD(file), 0, 0,
     "the files to take instead of those that a model needs, such as '*q8_0.gguf'"},
    {CMD_PULL, GROUP_FILES, KIND_FLAG, 0, "list", NULL, FIELD(list), 0, 0, "show what is in the cache, with sizes"},
    {CMD_PULL, GROUP_FILES, KIND_FLAG, 0, "remove", NULL, FIELD(remove), 0, 0,
     "remove OWNER/NAME from the cache; with @REVISION, that one only"},
    {CMD_PULL, GROUP_NETWORK, KIND_NUMBER, 0, "timeout", "N", FIELD(timeout), 1, 3600,
     "a connection that brings nothing for N seconds counts as lost; default 30"},
    {CMD_PULL, GROUP_NETWORK, KIND_NUMBER, 0, "retries", "N", FIELD(retries), 0, 1000,
     "how often to try again after a lost connection or an overloaded server; default 5"},

    {CMD_TRANSLATE, GROUP_OUTPUT, KIND_FLAG, 0, "json", NULL, FIELD(json), 0, 0,
     "a JSON object a line: line, source, text, tokens, flags; pivot, where two models translate"},
    {CMD_BENCH | CMD_INFO, GROUP_OUTPUT, KIND_FLAG, 0, "json", NULL, FIELD(json), 0, 0,
     "print one JSON object"},
    {CMD_TRANSLATE, GROUP_OUTPUT, KIND_FLAG, 0, "tokens", NULL, FIELD(tokens), 0, 0,
     "input and output are tokens separated by spaces, for models without a tokenizer; implies --split never"},
    {CMD_BENCH, GROUP_FILES, KIND_FLAG, 0, "tokens", NULL, FIELD(tokens), 0, 0,
     "the lines of FILE are tokens separated by spaces, for models without a tokenizer"},
    {CMD_TRANSLATE, GROUP_OUTPUT, KIND_FLAG, 0, "ids", NULL, FIELD(ids), 0, 0,
     "with --tokens: numbers instead of pieces"},
    {CMD_TOKENIZE, GROUP_OUTPUT, KIND_FLAG, 0, "ids", NULL, FIELD(ids), 0, 0,
     "show numbers instead of pieces"},
    {CMD_TOKENIZE, GROUP_OUTPUT, KIND_FLAG, 'd', "decode", NULL, FIELD(decode), 0, 0,
     "the other way: from target pieces (with --ids: numbers) to text"},
    {CMD_TRANSLATE, GROUP_OUTPUT, KIND_FLAG, 0, "stats", NULL, FIELD(stats), 0, 0,
     "at the end, one line on stderr: sentences, tokens, time, speed, memory"},

    {CMD_TRANSLATE, GROUP_TRANSLATION, KIND_CHOICE, 0, "split", "auto|never", FIELD(split), 0, 0,
     "auto (default): translate the sentences of a line one by one; never: lines whole"},
    {CMD_TRANSLATE | CMD_BENCH, GROUP_TRANSLATION, KIND_NUMBER, 0, "max-length", "N", FIELD(max_length), 1, 1 << 20,
     "most tokens that a sentence may become; default 512"},
    {CMD_TRANSLATE, GROUP_TRANSLATION, KIND_NUMBER, 0, "min-length", "N", FIELD(min_length), 0, 1 << 20,
     "fewest tokens that a sentence becomes; default 0"},
    {CMD_TRANSLATE, GROUP_TRANSLATION, KIND_NUMBER, 'b', "beam", "N", FIELD(beam), 1, 1 << 20,
     "hypotheses at a time; this version decodes greedily: 1"},
    {CMD_TRANSLATE, GROUP_TRANSLATION, KIND_NUMBER, 'n', "n-best", "N", FIELD(n_best), 1, 1 << 20,
     "translations of each line; this version: 1"},
    {CMD_TRANSLATE, GROUP_TRANSLATION, KIND_CHOICE, 0, "loop-guard", "on|off", FIELD(loop_guard), 0, 0,
     "reserved: accepted, without effect in this version"},
    {CMD_TRANSLATE, GROUP_TRANSLATION, KIND_EXPAND, 0, "exact", "split=never loop-guard=off compute=f32", 0, 0, 0,
     "for comparison with other implementations: --split never --loop-guard off --compute f32; use it on the published "
     "directory or an f32 file, an int8 file holds rounded weights"},
    {CMD_TRANSLATE, GROUP_OUTPUT, KIND_LATER, 0, "scores", NULL, 0, 0, 0, NULL},
    {CMD_TRANSLATE, GROUP_OUTPUT, KIND_LATER, 0, "alignment", NULL, 0, 0, 0, NULL},

    {CMD_BENCH, GROUP_TRANSLATION, KIND_NUMBER, 0, "fixed-length", "N", FIELD(fixed_length), 0, 1 << 20,
     "force exactly N tokens for each line; default 0: until the end mark"},
    {CMD_BENCH, GROUP_TRANSLATION, KIND_NUMBER, 0, "rounds", "N", FIELD(rounds), 1, 100000,
     "passes that are timed; the median counts; default 3"},

    {CMD_BENCH, GROUP_OUTPUT, KIND_FLAG, 0, "parts", NULL, FIELD(parts), 0, 0,
     "also tell how the time divides between the parts of the network"},
    {CMD_BENCH, GROUP_OUTPUT, KIND_FLAG, 0, "limits", NULL, FIELD(limits), 0, 0,
     "also measure what this machine's cores and memory can do, and tell how much of it is reached; with --parts"},

    {CMD_TRANSLATE | CMD_BENCH, GROUP_SPEED, KIND_NUMBER, 'T', "threads", "N", FIELD(threads), 0, 4096,
     "default 0: as many as there are usable cores"},
    {CMD_TRANSLATE | CMD_BENCH, GROUP_SPEED, KIND_NUMBER, 0, "batch-size", "N", FIELD(batch_size), 1, 4096,
     "sentences side by side in a worker, default 32; 1: one sentence at a time, shared by all threads"},

    {EVERY, GROUP_GENERAL, KIND_FLAG, 'q', "quiet", NULL, FIELD(quiet), 0, 0, "no warnings, no progress bar"},
    {EVERY, GROUP_GENERAL, KIND_FLAG, 'v', "verbose", NULL, FIELD(verbose), 0, 0, "tell on stderr what is used"},
    {EVERY, GROUP_GENERAL, KIND_FLAG, 'h', "help", NULL, FIELD(help), 0, 0, "this help"},
    {EVERY, GROUP_GENERAL, KIND_FLAG, 'V', "version", NULL, FIELD(version), 0, 0, "the version"},
};
/* clang-format on */

enum { OPTION_COUNT = sizeof options / sizeof *options, NAME_SIZE = 64 };

static bool takes_value(const option *o)
{
    return o->kind == KIND_TEXT || o->kind == KIND_NUMBER || o->kind == KIND_CHOICE;
}

/* ------------------------------------------------------------------------------------------------------------- values */

static bool store_number(const option *o, const char *value, cli_settings *settings)
{
    char *end;
    errno = 0;
    const long number = strtol(value, &end, 10);
    const bool digits = *value >= '0' && *value <= '9'; /* no sign, no space in front */
    if (!digits || *end || errno || number < o->low || number > o->high)
        return false;
    *(int *)((char *)settings + o->offset) = (int)number;
    return true;
}

static bool store_choice(const option *o, const char *value, cli_settings *settings)
{
    const size_t size = strlen(value);
    const char *word = o->value;
    for (int index = 0;; index++) {
        const size_t length = strcspn(word, "|");
        if (length == size && memcmp(word, value, size) == 0) {
            *(int *)((char *)settings + o->offset) = index;
            return true;
        }
        if (!word[length])
            return false;
        word += length + 1;
    }
}

static int store(const option *o, const char *value, cli_settings *settings)
{
    switch (o->kind) {
    case KIND_FLAG: *(bool *)((char *)settings + o->offset) = true; break;
    case KIND_TEXT:
        if (!*value)
            return cli_usage(settings, "--%s: the value is empty", o->name);
        *(const char **)((char *)settings + o->offset) = value;
        break;
    case KIND_NUMBER:
        if (!store_number(o, value, settings))
            return cli_usage(settings, "--%s: '%s' is not a whole number from %d to %d", o->name, value, o->low, o->high);
        break;
    case KIND_CHOICE:
        if (!store_choice(o, value, settings))
            return cli_usage(settings, "--%s: '%s' is not available, only %s", o->name, value, o->value);
        break;
    case KIND_LATER: return cli_usage(settings, "--%s: not in this version", o->name);
    case KIND_EXPAND: break; /* by the caller */
    }
    return CLI_DONE;
}

/* -------------------------------------------------------------------------------------------------------------- names */

static const option *find(unsigned command, char letter, const char *name, size_t size)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const option *o = &options[i];
        if (!(o->commands & command))
            continue;
        if (name ? strlen(o->name) == size && memcmp(o->name, name, size) == 0 : o->letter == letter)
            return o;
    }
    return NULL;
}

static int smallest(int a, int b, int c)
{
    const int ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment). */
static int edit_distance(const char *a, size_t a_size, const char *b)
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
static const char *nearest(unsigned command, const char *name, size_t size)
{
    const char *best = NULL;
    int best_distance = size < 5 ? 2 : 3; /* at most one or two typing errors */
    for (int i = 0; i < OPTION_COUNT; i++) {
        const option *o = &options[i];
        if (!(o->commands & command) || o->kind == KIND_LATER)
            continue;
        if (size >= 2 && strncmp(o->name, name, size) == 0)
            return o->name;
        const int distance = edit_distance(name, size, o->name);
        if (distance < best_distance) {
            best_distance = distance;
            best = o->name;
        }
    }
    return best;
}

static int unknown_option(const cli_settings *settings, const char *name, size_t size)
{
    const char *meant = nearest(settings->command->bit, name, size);
    if (meant)
        return cli_usage(settings, "--%.*s: unknown option, did you mean --%s?", (int)size, name, meant);
    return cli_usage(settings, "--%.*s: unknown option", (int)size, name);
}

/* ------------------------------------------------------------------------------------------------------------ parsing */

/* text: NAME or NAME=VALUE. next: the argument behind it, or NULL; *used says whether it was taken as the value. */
static int parse_long(const char *text, const char *next, bool *used, cli_settings *settings)
{
    const size_t size = strcspn(text, "=");
    const char *value = text[size] ? text + size + 1 : NULL;
    const option *o = find(settings->command->bit, 0, text, size);
    *used = false;
    if (!o)
        return unknown_option(settings, text, size);
    if (!takes_value(o) && value)
        return cli_usage(settings, "--%s: takes no value", o->name);
    if (takes_value(o) && !value) {
        if (!next)
            return cli_usage(settings, "--%s: needs a value, %s", o->name, o->value);
        value = next;
        *used = true;
    }
    if (o->kind != KIND_EXPAND)
        return store(o, value, settings);
    /* Choices store an index, so the text need not outlive this call. */
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

/* text: the letters behind one dash; the first that takes a value takes the rest, else the next argument. */
static int parse_letters(const char *text, const char *next, bool *used, cli_settings *settings)
{
    *used = false;
    for (; *text; text++) {
        const option *o = find(settings->command->bit, *text, NULL, 0);
        if (!o && (unsigned char)*text >= 0x80)
            return cli_usage(settings, "-%s: unknown option; text that begins with a dash goes behind --", text);
        if (!o)
            return cli_usage(settings, "-%c: unknown option", *text);
        if (takes_value(o)) {
            const char *value = text[1] ? text + 1 : next;
            *used = !text[1];
            if (!value)
                return cli_usage(settings, "-%c: needs a value, %s", o->letter, o->value);
            return store(o, value, settings);
        }
        const int status = store(o, NULL, settings);
        if (status)
            return status;
    }
    return CLI_DONE;
}

static int check_count(const cli_settings *settings)
{
    const cli_command *command = settings->command;
    if (settings->help || settings->version)
        return CLI_DONE;
    if (settings->argument_count < command->min_arguments)
        return cli_usage(settings, "%s: too few arguments; usage: %s", command->name, command->usage);
    if (command->max_arguments >= 0 && settings->argument_count > command->max_arguments)
        return cli_usage(settings, "%s: unexpected argument; usage: %s", settings->arguments[command->max_arguments],
                         command->usage);
    return CLI_DONE;
}

int cli_parse(const cli_command *command, char **arguments, int count, cli_settings *settings)
{
    *settings = (cli_settings){.command = command,
                               .batch_size = 32,
                               .beam = 1,
                               .n_best = 1,
                               .max_length = 512,
                               .rounds = 3,
                               .timeout = 30,
                               .retries = 5};
    settings->arguments = malloc(((size_t)count + 1) * sizeof *settings->arguments);
    if (!settings->arguments)
        return cli_fail_memory();
    bool only_text = false;
    for (int i = 0; i < count; i++) {
        char *argument = arguments[i];
        const char *next = i + 1 < count ? arguments[i + 1] : NULL;
        bool used = false;
        int status = CLI_DONE;
        if (only_text || argument[0] != '-' || !argument[1])
            settings->arguments[settings->argument_count++] = argument;
        else if (argument[1] != '-')
            status = parse_letters(argument + 1, next, &used, settings);
        else if (argument[2])
            status = parse_long(argument + 2, next, &used, settings);
        else
            only_text = true;
        if (status)
            return status;
        i += used;
    }
    return check_count(settings);
}

/* --------------------------------------------------------------------------------------------------------------- help */

enum { HELP_COLUMN = 26, HELP_WIDTH = 79 };

/* Words from column HELP_COLUMN on. */
static void print_wrapped(const char *text, int column)
{
    while (*text) {
        const int length = (int)strcspn(text, " ");
        if (column > HELP_COLUMN && column + 1 + length > HELP_WIDTH) {
            printf("\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else if (column > HELP_COLUMN) {
            putchar(' ');
            column++;
        }
        printf("%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void print_option(const option *o)
{
    char left[HELP_WIDTH + 1];
    const char letter[] = {'-', o->letter, ',', ' ', 0};
    const bool value = takes_value(o);
    const int size = snprintf(left, sizeof left, "  %s--%s%s%s", o->letter ? letter : "    ", o->name, value ? " " : "",
                              value ? o->value : "");
    fputs(left, stdout);
    if (size + 2 > HELP_COLUMN)
        printf("\n%*s", HELP_COLUMN, "");
    else
        printf("%*s", HELP_COLUMN - size, "");
    print_wrapped(o->help, HELP_COLUMN);
}

void cli_help(const cli_command *command)
{
    printf("Usage: %s\n\n%s", command->usage, command->about);
    for (option_group group = 0; group <= GROUP_GENERAL; group++) {
        bool titled = false;
        for (int i = 0; i < OPTION_COUNT; i++) {
            const option *o = &options[i];
            if (!(o->commands & command->bit) || o->group != group || o->kind == KIND_LATER)
                continue;
            if (!titled)
                printf("\n%s:\n", group_titles[group]);
            titled = true;
            print_option(o);
        }
    }
    if (command->epilogue)
        printf("\n%s", command->epilogue);
}
