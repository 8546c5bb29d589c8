/* Steady clocks, for measuring. */
#ifndef TR_UTIL_CLOCK_H
#define TR_UTIL_CLOCK_H

#include <stdint.h>

uint64_t tr_nanoseconds(void);
double tr_seconds(void); /* the same in seconds */
/* The time that the calling thread has spent computing, however often others took its core meanwhile. */
uint64_t tr_thread_nanoseconds(void);

#endif
