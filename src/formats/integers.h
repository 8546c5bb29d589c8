/* int8 matrices that a file has row by row, as the packed ones that the network is built from (docs/formats.md): panels and
 * sums are made when they are read, no number of theirs rounded again. */
#ifndef TR_FORMATS_INTEGERS_H
#define TR_FORMATS_INTEGERS_H

#include "kernels/kernels.h"
#include "model/weights.h"

typedef struct tr_integers {
    const int8_t *rows; /* [outputs, inputs]; lives as long as the table */
    int64_t outputs, inputs;
    const float *factors; /* [outputs] what a row's integers are multiplied with; lives as long */
    const float *alpha;   /* see tr_matrix; lives as long; NULL: none */
} tr_integers;

/* Adds NAME.k4n16, NAME.scale and NAME.colsum, in this order, and NAME.alpha where there is one. */
tr_status tr_integers_add(tr_weights *weights, const char *name, const tr_integers *integers, tr_error *error);

/* Adds NAME.rows, by which an output projection is screened with less reading. */
tr_status tr_integers_keep_rows(tr_weights *weights, const char *name, const tr_integers *integers, tr_error *error);

#endif
