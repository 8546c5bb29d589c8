/* Signals: being interrupted with work to save, and a model file that is cut short while it is mapped. */
#ifndef TR_CLI_SIGNALS_H
#define TR_CLI_SIGNALS_H

#include <stdbool.h>

/* From now on a file that grows too large for the system's limit is an error of write(), not the end of the program. */
void cli_outlive_limits(void);

/* From now on SIGINT, SIGTERM and SIGHUP are remembered; a second one ends the program as usual. */
bool cli_catch_interrupts(void);
int cli_interrupted(void);          /* the signal that came, 0 if none */
int cli_interrupt_descriptor(void); /* becomes readable when one comes; -1 if they are not caught */

/* From now on SIGBUS ends the program with a line about path and status 1. cleanup (NULL: none) runs before; the signal
 * interrupts nothing but an access to the mapped file, so it may call anything. */
void cli_guard_model_file(const char *path, void (*cleanup)(void));

#endif
