/* Random operands of the kernels, and the levels to run them on. */
#ifndef TR_TESTS_KERNELS_FIXTURE_H
#define TR_TESTS_KERNELS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernels/kernels.h"

extern const tr_kernels tr_kernels_reference; /* level_portable.c with fmaf */

int random_int(int low, int high);

/* Between -scale and scale, aligned for the kernels; free() them. */
float *random_floats(size_t n, float scale);
void *as_type(tr_type type, const float *f, size_t n);

typedef struct product {
    tr_matrix matrix;
    tr_matmul op;
    float *weights, *x, *bias, *residual, *y, *scratch;
    void *stored;
    float *scale;    /* I8 */
    int32_t *colsum; /* I8 */
} product;

/* gap: floats between the rows of x; 1 makes rows unaligned */
product make_product(int rows, int inputs, int outputs, tr_type type, bool bias, bool residual, int gap);
void free_product(product *p);
/* Stores p's weights in its matrix again. */
void store_weights(product *p, tr_type type);

tr_quantised make_quantised(int rows, int width);

/* A product at a level, with the rows quantised by that level if necessary. */
void multiply(const tr_kernels *level, const tr_matmul *op, int first, int last, float *scratch);

/* Equal bits, or equal up to rounding if there is a tolerance. */
void expect_same(const tr_kernels *level, const char *what, const float *got, const float *wanted, size_t n,
                 float tolerance);

/* The integer in a packed int8 matrix (see dot_portable.h), and the weight that it stands for. */
int integer_of(const tr_matrix *m, int o, int i);
double weight_of(const tr_matrix *m, int o, int i);

/* Calls check for the levels of this CPU, and for those that exist only in these tests. */
void each_level(void (*check)(const tr_kernels *level));

#endif
