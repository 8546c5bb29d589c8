/* AMX tile registers: the operating system hands them out on demand. */
#ifndef TR_UTIL_AMX_H
#define TR_UTIL_AMX_H

#include <stdbool.h>

/* Asks for them, for all threads of the process. False: this system does not give them. Calling it again costs little. */
bool tr_request_amx(void);

#endif
