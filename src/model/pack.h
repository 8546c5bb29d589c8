/* Matrices in the layout that kernels read (see tr_matrix): int8 weights packed into panels and back, and matrices put
 * together from selected outputs of another one. */
#ifndef TR_MODEL_PACK_H
#define TR_MODEL_PACK_H

#include "kernels/kernels.h"

/* Quantises n <= 16 outputs w [n, inputs] into one panel of tr_panel_bytes(inputs), symmetrically: scale[o] = max|w[o]| /
 * 127, integers rounded to nearest, ties to even. scale and colsum are [n]. False: a weight is not finite. */
bool tr_pack_panel(const float *w, int n, int inputs, void *panel, float *scale, int32_t *colsum);

/* Packs n <= 16 outputs q [n, inputs] that are integers already. */
void tr_pack_integers(const int8_t *q, int n, int inputs, void *panel);

/* Output o of an I8 matrix as f32 [inputs]. */
void tr_unpack_output(const tr_matrix *matrix, int o, float *out);

/* int8 output matrices from this size on have a 4-bit screen: it saves less time than a screen of f32 does, but costs
 * nothing to make. */
enum { TR_SCREEN_I8_BYTES = 2 << 20 };

/* Memory for selected outputs. */
typedef struct tr_gathered {
    char *data;      /* tr_matrix_bytes of as many outputs */
    float *scale;    /* I8: [outputs] */
    int32_t *colsum; /* I8: [outputs] */
} tr_gathered;

/* Bytes of a matrix with the type and the inputs of m, and this number of outputs. */
size_t tr_matrix_bytes(const tr_matrix *m, int outputs);

/* Copies outputs[first .. last - 1] of from to outputs first .. last - 1 of to; first is a multiple of 16. Weights are
 * moved, not changed: products with them have the same bits. */
void tr_gather_outputs(const tr_matrix *from, const int32_t *outputs, int first, int last, const tr_gathered *to);

/* Copies outputs[0 .. count - 1] of the 4-bit screen of an I8 matrix (see tr_screen) to a screen of
 * tr_screen_bytes(count, inputs). */
void tr_gather_screen(const void *from, int inputs, const int32_t *outputs, int count, char *to);

#endif
