/* The table of all options: the parser, --help and --resume read it. */
#ifndef TR_CLI_OPTION_TABLE_H
#define TR_CLI_OPTION_TABLE_H

#include "cli/cli.h"

#include <stddef.h>

typedef enum cli_option_kind {
    KIND_FLAG,   /* sets a bool */
    KIND_TEXT,   /* keeps the value */
    KIND_LIST,   /* a text that can be given several times: keeps all values */
    KIND_NUMBER, /* an int from low to high */
    KIND_SERIES, /* one such number, or several of them, at least 1, separated by commas */
    KIND_WHOLE,  /* an uint64_t */
    KIND_REAL,   /* a float from low to high */
    KIND_CHOICE, /* one of the words in .choices: stores its value as an int */
    KIND_EXPAND, /* stands for the options in .value, separated by spaces */
} cli_option_kind;

/* A word that an option takes, and its value. */
typedef struct cli_choice {
    const char *word; /* NULL ends the list */
    int value;
} cli_choice;

typedef enum cli_option_group {
    GROUP_MODEL,
    GROUP_FILES,
    GROUP_OUTPUT,
    GROUP_TRANSLATION,
    GROUP_SEARCH,
    GROUP_SPEED,
    GROUP_NETWORK,
    GROUP_GENERAL
} cli_option_group;

/* Bits beside the commands. CLI_NEUTRAL: the option does not change what translate writes, or only by the models that it
 * names; --resume compares all other options. CLI_COMMON: -h shows it, with its help up to the first semicolon. */
enum { CLI_NEUTRAL = 1 << 30, CLI_COMMON = 1 << 29 };

typedef struct cli_option {
    unsigned commands; /* CMD_... that have it; CLI_NEUTRAL, CLI_COMMON */
    cli_option_group group;
    cli_option_kind kind;
    char letter;       /* 0 if there is none */
    const char *name;  /* "" if there is only a letter */
    const char *value; /* how help calls the value; NULL for KIND_FLAG and KIND_CHOICE */
    size_t offset;     /* of its field in cli_settings */
    int low, high;     /* inclusive bounds of numbers */
    const char *help;
    const cli_choice *choices; /* KIND_CHOICE; other kinds: words that may stand in place of .value, or NULL */
} cli_option;

enum { CLI_VALUE_NAME = 64 };

bool cli_option_takes_value(const cli_option *o);
/* How help and messages call the value: "FILE", or the words of a choice, "auto|off", or both, "auto|off|FILE". words:
 * memory for it. */
const char *cli_option_value_name(const cli_option *o, char words[CLI_VALUE_NAME]);

extern const cli_option cli_options[]; /* [cli_option_count] */
extern const int cli_option_count;
extern const char *const cli_option_group_titles[]; /* [GROUP_GENERAL + 1] */

#endif
