/* Clocks for measuring, which never jump. */
#ifndef TR_UTIL_CLOCK_H
#define TR_UTIL_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some fixed moment. */
uint64_t tr_nanoseconds(void);
/* Seconds since the same moment. */
double tr_seconds(void);
/* Nanoseconds of CPU time that the calling thread has used. */
uint64_t tr_thread_nanoseconds(void);
/* Sleeps for about so many milliseconds. */
void tr_sleep(unsigned milliseconds);

#endif
