/* Exponential and logarithm that give the same bits on every machine: C libraries differ in the last. */
#ifndef TR_UTIL_NUMBERS_H
#define TR_UTIL_NUMBERS_H

/* Both within 1e-15 of the true value, relatively. tr_exp: 0 below -700, clipped above 700; tr_log: of positive numbers,
 * -inf of 0. NaN gives NaN. */
double tr_exp(double x);
double tr_log(double x);

static inline int tr_max_int(int a, int b)
{
    return a > b ? a : b;
}

#endif
