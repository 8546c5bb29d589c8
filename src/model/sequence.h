/* The rows of a batch that belong to one sequence, and where their attention weights are written. */
#ifndef TR_MODEL_SEQUENCE_H
#define TR_MODEL_SEQUENCE_H

#include "model/kv_cache.h"

/* A request to store attention weights (the results of the softmax). The weight of layer l, head h, row r of the sequence
 * and position p goes to weights[l * layer_stride + h * head_stride + r * row_stride + p]. Weights of positions that a row
 * does not attend to are not written. */
typedef struct tr_attention_capture {
    float *weights;
    int layer, head; /* only this layer or head is stored, with l or h = 0; -1: all */
    size_t layer_stride, head_stride, row_stride;
} tr_attention_capture;

/* The mean over heads, summed in their order, of a row's weights for a position. Needs a capture of one layer. */
static inline float tr_attention_capture_mean(const tr_attention_capture *capture, int heads, int row, int position)
{
    const float *w = capture->weights + (size_t)row * capture->row_stride + (size_t)position;
    float sum = 0;
    for (int h = 0; h < heads; h++)
        sum += w[(size_t)h * capture->head_stride];
    return heads == 1 ? sum : sum / (float)heads;
}

/* Consecutive rows of the batch that attend to the same keys and values. */
typedef struct tr_seq {
    int first_row, rows;                 /* rows first_row .. first_row + rows - 1 of the batch */
    tr_kv_cache *cache;                  /* NULL for layers without keys and values */
    int position;                        /* of the first row in its sequence: where its key and value are stored */
    int length;                          /* positions that the first row attends to */
    int causal;                          /* 1: each further row attends to one more position; 0: all rows attend to length */
    float *recurrent;                    /* state of recurrent layers: see tr_recurrent_floats; NULL with self-attention */
    const tr_attention_capture *capture; /* NULL: weights are not stored */
} tr_seq;

#endif
