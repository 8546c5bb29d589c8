/* Outputs of a matrix put together in another order and number: weights alone are moved, so what is computed with them are
 * the same bits. */
#ifndef TR_MODEL_GATHER_H
#define TR_MODEL_GATHER_H

#include "kernels/kernels.h"

/* Where outputs go. */
typedef struct tr_gathered {
    char *data;      /* tr_matrix_bytes of as many outputs */
    float *scale;    /* I8 */
    int32_t *colsum; /* I8 */
} tr_gathered;

/* Of a matrix in the type and with the inputs of m, but so many outputs. */
size_t tr_matrix_bytes(const tr_matrix *m, int outputs);

/* Outputs [first, last) of the new matrix are from's outputs[first .. last); first is a multiple of 16. */
void tr_gather_outputs(const tr_matrix *from, const int32_t *outputs, int first, int last, const tr_gathered *to);

/* The same of all of the 4-bit copy of an I8 matrix (tr_screen), to tr_screen_bytes(count, inputs) bytes. */
void tr_gather_screen(const void *from, int inputs, const int32_t *outputs, int count, char *to);

#endif
