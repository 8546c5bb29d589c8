/* What becomes of whole numbers as they are read (tr_origin): the file has them by rows. */
#ifndef TR_FORMATS_CTRANSLATE2_ROWS_H
#define TR_FORMATS_CTRANSLATE2_ROWS_H

#include "model/weights.h"

/* Rows of a variable. */
typedef struct tr_ct2_rows {
    tr_origin origin; /* first: a tensor's origin is this struct */
    int64_t rows;
    size_t columns;
    const float *factors; /* of int16, one each row */
} tr_ct2_rows;

void tr_ct2_make_int16(const tr_tensor *t, size_t first, size_t count, void *out);  /* int16 times factors, as f32 */
void tr_ct2_make_panels(const tr_tensor *t, size_t first, size_t count, void *out); /* int8 in panels (model/pack.h) */
void tr_ct2_make_sums(const tr_tensor *t, size_t first, size_t count, void *out);   /* of each row of int8, as i32 */

#endif
