/* The table of all options, that the parser and --help read. */
#ifndef TR_CLI_OPTION_TABLE_H
#define TR_CLI_OPTION_TABLE_H

#include "cli/options.h"

#include <stddef.h>

typedef enum cli_option_kind {
    KIND_FLAG,   /* sets a bool */
    KIND_TEXT,   /* keeps the value */
    KIND_LIST,   /* a text that may be given several times: keeps all values */
    KIND_NUMBER, /* an int from low to high */
    KIND_WHOLE,  /* an uint64_t */
    KIND_REAL,   /* a float from low to high */
    KIND_CHOICE, /* one of the words in .value, separated by '|'; stores its index as an int */
    KIND_EXPAND, /* stands for the options in .value, separated by spaces */
    KIND_LATER,  /* known, but not in this version; not shown by --help */
} cli_option_kind;

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

/* Beside the commands: what translate writes does not depend on the option, or on the models alone that it names. --resume
 * compares all others. */
enum { CLI_NEUTRAL = 1 << 30 };

typedef struct cli_option {
    unsigned commands; /* CMD_... that know it; CLI_NEUTRAL */
    cli_option_group group;
    cli_option_kind kind;
    char letter; /* 0 if there is none */
    const char *name, *value;
    size_t offset; /* of its field in cli_settings */
    int low, high;
    const char *help;
} cli_option;

extern const cli_option cli_options[]; /* [cli_option_count] */
extern const int cli_option_count;
extern const char *const cli_option_group_titles[]; /* [GROUP_GENERAL + 1] */

#endif
