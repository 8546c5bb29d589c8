/* Whether time grows as the input does. Include cmocka first. */
#ifndef TR_TESTS_LINEAR_H
#define TR_TESTS_LINEAR_H

#include <stdio.h>
#include <time.h>

/* CPU time of the process: other programs do not count. */
static inline double seconds_now(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* Fails if an input that is so many times as large took more than three times as much longer. What takes little time is not
 * looked at: noise is as large. */
static inline void expect_linear(double small, double large, double times)
{
    if (large > 0.5 && large > 3 * times * (small > 0.001 ? small : 0.001))
        fail_msg("%g s, and %g s for %g times as much", small, large, times);
}

#endif
