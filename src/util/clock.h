/* A steady clock, for measuring. */
#ifndef TR_UTIL_CLOCK_H
#define TR_UTIL_CLOCK_H

#include <stdint.h>

uint64_t tr_nanoseconds(void);

#endif
