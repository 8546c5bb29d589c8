/* The progress bar: on stderr, only if that is a terminal. There is one a program. */
#ifndef TR_CLI_PROGRESS_H
#define TR_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cli_progress {
    uint64_t done, total;   /* bytes: what the bar shows */
    uint64_t lines, tokens; /* shown as numbers with CLI_UNIT_LINES */
} cli_progress;

/* What stands beside the bar: nothing but the time left; lines and tokens a second; or megabytes, and those a second. */
typedef enum cli_unit { CLI_UNIT_NONE, CLI_UNIT_LINES, CLI_UNIT_BYTES } cli_unit;

bool cli_progress_possible(void); /* stderr is a terminal that can move its cursor */

/* at: where the work begins; what lies before it was done by an earlier run. */
void cli_progress_start(const cli_progress *at, cli_unit unit);
void cli_progress_update(const cli_progress *now); /* draws at most ten times a second */
void cli_progress_clear(void);                     /* takes the bar away, so that something else can be printed */
void cli_progress_stop(void);

#endif
