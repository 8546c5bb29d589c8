/* int8 weights: symmetric, a scale per output, in panels (see tr_matrix). */
#ifndef TR_MODEL_PACK_H
#define TR_MODEL_PACK_H

#include "kernels/kernels.h"

/* Quantises n <= 16 outputs w [n, inputs] into one panel of tr_panel_bytes(inputs): scale[o] = max|w[o]| / 127, integers
 * rounded to nearest, ties to even. scale and colsum are [n]. False: a weight is not finite. */
bool tr_pack_panel(const float *w, int n, int inputs, void *panel, float *scale, int32_t *colsum);

/* The same of n <= 16 outputs q [n, inputs] that are whole numbers already. */
void tr_pack_integers(const int8_t *q, int n, int inputs, void *panel);

/* Output o of an I8 matrix as f32 [inputs]. */
void tr_unpack_output(const tr_matrix *matrix, int o, float *out);

/* Output matrices from this size on have a 4-bit copy: it saves less than int8 instead of f32 does, but costs nothing to
 * make. */
enum { TR_SCREEN_I8_BYTES = 2 << 20 };

#endif
