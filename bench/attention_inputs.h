/* Inputs for attention.c: numbers like noise, or like heads that attend to neighbours. */
#ifndef BENCH_ATTENTION_INPUTS_H
#define BENCH_ATTENTION_INPUTS_H

#include <stddef.h>
#include <translate/attention.h>

_Noreturn void stop(const char *what, const char *why);
void *allocate(size_t count, size_t size); /* 64-byte aligned; exits if out of memory */

/* count independent normal numbers. */
float *noise(uint64_t seed, size_t count, double deviation);

/* Makes queries and keys [heads, length, size], half noise, half waves over the positions, so that their products fall with
 * the distance as exp(-distance^2 / (2 near^2)) (random Fourier features: Rahimi and Recht, 2007), as in many heads of
 * trained models. */
void look_nearby(double near, int64_t heads, int64_t length, int64_t size, float *q, float *k);

/* Rounds x in place to the element type, to nearest, ties to even, and returns it. */
void *as_element(tr_element element, float *x, size_t count);

#endif
