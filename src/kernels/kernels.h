/* The arithmetic, as one table of function pointers per CPU level. All levels with fused multiply-add give the same bits:
 * every sum runs over 16 lanes in the order of vec16.h, and nothing is split along the inputs. */
#ifndef TR_KERNELS_KERNELS_H
#define TR_KERNELS_KERNELS_H

#include "model/config.h"
#include "model/weights.h"

/* A matrix [outputs, inputs], row-major: one output's weights lie together. */
typedef struct tr_matrix {
    tr_type type; /* F32, F16, BF16 */
    int outputs, inputs;
    const void *data;
} tr_matrix;

typedef struct tr_kernels tr_kernels;

/* The levels of docs/architecture.md that this build and this CPU have, best last. */
const tr_kernels *const *tr_kernels_available(int *count);

/* The table of a level by name; NULL or "": $TRANSLATE_CPU, else the best. TR_ERROR_ARGUMENT lists the available ones. */
tr_status tr_kernels_select(const char *name, const tr_kernels **kernels, tr_error *error);

#endif
