/* Signals: interrupts while there is work to save, and a mapped model file that is cut short. */
#ifndef TR_CLI_SIGNALS_H
#define TR_CLI_SIGNALS_H

#include <stdbool.h>

/* From now on a file that would exceed the size limit (RLIMIT_FSIZE) makes write() fail, and does not end the program. */
void cli_outlive_limits(void);

/* From now on SIGINT, SIGTERM and SIGHUP are remembered; a second one ends the program as usual. */
bool cli_catch_interrupts(void);
int cli_interrupted(void);          /* the signal that was received, 0 if none */
int cli_interrupt_descriptor(void); /* becomes readable when a signal is received; -1 if they are not caught */

/* From now on SIGBUS prints a line about path and ends the program with status 1. cleanup (NULL: none) runs before; it may
 * call any function, because the signal interrupts only accesses to the mapped file. */
void cli_guard_model_file(const char *path, void (*cleanup)(void));

#endif
