/* The element types and functions that kernels know. */
#ifndef TR_KERNELS_TYPES_H
#define TR_KERNELS_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tr_type {
    TR_TYPE_F32,
    TR_TYPE_F16,
    TR_TYPE_BF16,
    TR_TYPE_I8,
    TR_TYPE_I32,
    TR_TYPE_BLOCKS, /* of a stored tensor only (model/weights.h): no kernel computes with it */
} tr_type;

/* Bytes of an element; 0: there is no such number. */
static inline size_t tr_type_size(tr_type type)
{
    switch (type) {
    case TR_TYPE_F32:
    case TR_TYPE_I32: return 4;
    case TR_TYPE_F16:
    case TR_TYPE_BF16: return 2;
    case TR_TYPE_I8: return 1;
    case TR_TYPE_BLOCKS: return 0;
    }
    return 0;
}

typedef enum tr_activation {
    TR_ACTIVATION_NONE,
    TR_ACTIVATION_RELU,
    TR_ACTIVATION_GELU,      /* x * Phi(x), with erf (Hendrycks and Gimpel, 2016) */
    TR_ACTIVATION_GELU_TANH, /* its approximation by tanh */
    TR_ACTIVATION_SWISH,     /* x * sigmoid(x), also called SiLU */
    TR_ACTIVATION_SIGMOID,   /* of gates; no network has it between the products of a feed-forward network */
} tr_activation;

#endif
