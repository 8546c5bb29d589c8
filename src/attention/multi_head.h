/* The products with weights around attention. */
#ifndef TR_ATTENTION_MULTI_HEAD_H
#define TR_ATTENTION_MULTI_HEAD_H

#include "attention/forward.h"

/* y[rows, outputs] = W x + b. */
typedef struct tr_product {
    tr_matrix weight;
    const void *bias;
    tr_element bias_element;
    tr_rows x; /* rows one after the other */
    int64_t rows;
    float *y;
} tr_product;

/* What each thread needs for products with up to this many inputs. */
typedef struct tr_product_rooms {
    tr_rooms scratch, widened; /* float: of the kernel; [rows of a unit, inputs] */
    tr_rooms bias;             /* float [outputs of a unit] */
} tr_product_rooms;

void tr_products_lay_out(tr_product_rooms *rooms, int most_inputs, int threads, tr_room *room);

int64_t tr_product_units(const tr_product *product);
void tr_product_run(const tr_kernels *kernels, const tr_product *product, const tr_product_rooms *rooms, int thread,
                    int64_t unit);

#endif
