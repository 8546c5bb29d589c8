/* What attention.c measures with: numbers that look like noise, or like heads that look around them. */
#ifndef BENCH_ATTENTION_INPUTS_H
#define BENCH_ATTENTION_INPUTS_H

#include <stddef.h>
#include <translate/attention.h>

_Noreturn void stop(const char *what, const char *why);
void *allocate(size_t count, size_t size); /* 64-byte aligned; stops where there is no memory */

/* count numbers that are normal and independent. */
float *noise(uint64_t seed, size_t count, double deviation);

/* Makes queries and keys [heads, length, size] of noise half noise, half waves over the positions, so that their products
 * fall with the distance as exp(-distance^2 / (2 near^2)) (random Fourier features: Rahimi and Recht, 2007): many heads of
 * trained models look so. */
void look_nearby(double near, int64_t heads, int64_t length, int64_t size, float *q, float *k);

/* x as the element: itself, or rounded to nearest, ties to even, in its place. */
void *as_element(tr_element element, float *x, size_t count);

#endif
