/* Arithmetic that gives the same bits on every machine: exponential and logarithm, whose last bits differ between C
 * libraries; random numbers; minimum and maximum of integers. */
#ifndef TR_UTIL_NUMBERS_H
#define TR_UTIL_NUMBERS_H

#include <stdint.h>

/* Both have a relative error below 1e-15. tr_exp is 0 for x < -700, and e^700 for x > 700. tr_log takes positive numbers; of
 * 0 it is -inf. NaN gives NaN. */
double tr_exp(double x);
double tr_log(double x);

/* Counter-based random numbers (Salmon et al., 2011): instead of the state of a generator there is a key, made from all
 * numbers that a draw depends on, one after the other. The key is itself the 64 random bits. */
uint64_t tr_random_key(uint64_t seed);
uint64_t tr_random_add(uint64_t key, uint64_t x);

static inline int tr_min_int(int a, int b)
{
    return a < b ? a : b;
}

static inline int tr_max_int(int a, int b)
{
    return a > b ? a : b;
}

static inline int64_t tr_min_int64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t tr_max_int64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* value, but at least min and at most max; max >= min. */
static inline int64_t tr_clamp_int64(int64_t value, int64_t min, int64_t max)
{
    return value < min ? min : value > max ? max : value;
}

#endif
