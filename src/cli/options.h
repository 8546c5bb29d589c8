/* The options of all subcommands: one table that both the parser and --help read. */
#ifndef TR_CLI_OPTIONS_H
#define TR_CLI_OPTIONS_H

#include <translate/translate.h>

#include <stdbool.h>

typedef struct cli_command cli_command;

/* The values of an option that can be given several times. */
typedef struct cli_list {
    const char **values; /* allocated */
    int count;
} cli_list;

/* What the command line said. Fields that a command does not know keep their defaults. */
typedef struct cli_settings {
    const cli_command *command;
    const char *model;           /* NULL: the default model */
    cli_list ensemble;           /* models that decode together with it, PATH[:WEIGHT] */
    const char *models;          /* a folder of them; NULL: none */
    const char *source, *target; /* languages, NULL: the model's */
    const char *input, *output;  /* NULL or "-": the standard streams */
    int threads, batch_size;     /* threads 0: the usable cores */
    int compute;                 /* a tr_compute */
    int load;                    /* 0 auto, 1 map, 2 copy */
    const char *shortlist;       /* NULL: auto */
    const char *allowed;         /* convert; NULL: as IN says */
    const char *attention;       /* NULL: exact */
    int all_tokens;              /* 0: --allowed auto, 1: off */
    int max_length, min_length;
    int split;                /* a tr_split */
    int loop_guard;           /* 0 on, 1 off; -1: not said */
    tr_search_options search; /* all but forbidden and stopping, which are made of these: */
    int stopping;             /* a tr_stopping */
    cli_list forbidden;       /* tokens */
    const char *prefix;       /* NULL: none */
    bool tsv;                 /* lines have prefixes of their own */
    bool scores, stream;
    int fixed_length, rounds;  /* bench */
    bool limits, parts, score; /* bench */
    bool tokens, json, stats, quiet, verbose, help, version, resume;
    bool verify;                         /* info */
    bool force;                          /* convert */
    bool ids, decode;                    /* tokenize */
    bool alignment;                      /* score, translate */
    int alignment_layer, alignment_head; /* from 1 on; 0: as the model says */
    float alignment_threshold;
    const char *translation; /* attention; NULL: the model's own */
    const char *file;        /* pull: NULL: what a model needs */
    bool list, remove;
    int timeout, retries;
    int first, best;  /* shortlist */
    char **arguments; /* what is no option, in order; the array is allocated */
    int argument_count;
} cli_settings;

/* Commands, as bits: which of them know an option. */
enum {
    CMD_TRANSLATE = 1,
    CMD_BENCH = 2,
    CMD_CONVERT = 4,
    CMD_INFO = 8,
    CMD_TOKENIZE = 16,
    CMD_PULL = 32,
    CMD_SCORE = 64,
    CMD_ATTENTION = 128,
    CMD_SHORTLIST = 1024
};

struct cli_command {
    const char *name; /* "translate" or "translate bench" */
    unsigned bit;
    int (*run)(const cli_settings *settings);
    int min_arguments, max_arguments; /* max -1: any number */
    const char *usage;                /* lines of the synopsis */
    const char *about;                /* what it does, for --help */
    const char *epilogue;             /* examples and the rest, for --help */
};

/* Parses arguments[0..count) (without the program's and the command's name). Options and other arguments may be mixed;
 * "--" ends options; a later option overrides an earlier one. Returns CLI_DONE, or prints a message and returns another
 * status. cli_settings_free in either case. */
int cli_parse(const cli_command *command, char **arguments, int count, cli_settings *settings);

/* What it starts from. */
cli_settings cli_default_settings(const cli_command *command);

void cli_settings_free(cli_settings *settings);

/* Prints a command's help to stdout. */
void cli_help(const cli_command *command);

#endif
