/* The program's progress bar: on stderr, only if that is a terminal. */
#ifndef TR_CLI_PROGRESS_H
#define TR_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cli_progress {
    uint64_t done, total;   /* bytes, shown by the bar */
    uint64_t lines, tokens; /* shown as numbers with CLI_UNIT_LINES */
} cli_progress;

/* Beside the bar: only the time left; or also lines and tokens per second; or megabytes, and megabytes per second. */
typedef enum cli_unit { CLI_UNIT_NONE, CLI_UNIT_LINES, CLI_UNIT_BYTES } cli_unit;

bool cli_progress_possible(void); /* stderr is a terminal that can move its cursor */

/* at: where the work begins, after what an earlier run has done. */
void cli_progress_start(const cli_progress *at, cli_unit unit);
void cli_progress_update(const cli_progress *now); /* draws at most ten times a second */
void cli_progress_clear(void);                     /* removes the bar, so that something else can be printed */
void cli_progress_stop(void);
/* The seconds that the rest takes at the speed since first, elapsed seconds ago. False: it is too early to tell, because the
 * first batch is slow, or nothing of it is counted yet. */
bool cli_progress_left(const cli_progress *first, const cli_progress *now, double elapsed, double *left);
bool cli_progress_drawn(void); /* whether a bar is visible; safe in a signal handler */

#endif
