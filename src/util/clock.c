#define _GNU_SOURCE
#include "util/clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t tr_nanoseconds(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double tr_seconds(void)
{
    return 1e-9 * (double)tr_nanoseconds();
}

uint64_t tr_thread_nanoseconds(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void tr_sleep(unsigned milliseconds)
{
    const struct timespec time = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    nanosleep(&time, NULL);
}
