/* Arithmetic that gives the same bits on every machine: exponential and logarithm, whose last bits differ between C
 * libraries; random numbers; minimum and maximum of integers. */
#ifndef TR_UTIL_NUMBERS_H
#define TR_UTIL_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* --------------------------------------------------------------------------------------------------------- element types */

/* Element types, their conversions one number at a time, and activation functions. */
typedef enum tr_type {
    TR_TYPE_F32,
    TR_TYPE_F16,
    TR_TYPE_BF16,
    TR_TYPE_I8,
    TR_TYPE_I32,
    TR_TYPE_BLOCKS, /* only of a tensor as stored in a file (model/weights.h): no kernel computes with it */
} tr_type;

/* Bytes of an element; 0 for TR_TYPE_BLOCKS, whose elements have no whole number of bytes. */
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
    TR_ACTIVATION_SIGMOID,   /* for gates; not an activation of feed-forward layers */
} tr_activation;

/* f16 and bf16 from and to f32, rounded to nearest, ties to even. In integers where it matters, so that neither the rounding
 * mode nor flush-to-zero of the host changes a bit. */

static inline uint32_t tr_float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float tr_float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float tr_f16_to_f32(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7fff;
    uint32_t bits;
    if (magnitude >= 0x7c00)
        bits = (magnitude << 13) + (255u - 31) * 0x800000; /* infinity, NaN: exponent 31 to 255 */
    else if (magnitude >= 0x0400)
        bits = (magnitude << 13) + 112u * 0x800000; /* exponent bias 15 to 127 */
    else
        bits = tr_float_bits(tr_float_of(0x3f000000 | magnitude) - 0.5f); /* subnormal: (0.5 + m 2^-24) - 0.5, exact */
    return tr_float_of(sign | bits);
}

static inline uint16_t tr_f16_from_f32(float x)
{
    const uint32_t bits = tr_float_bits(x), magnitude = bits & 0x7fffffff;
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff)); /* NaN, made quiet */
    if (magnitude >= 0x477ff000)
        return sign | 0x7c00; /* 65520 and above round to infinity */
    if (magnitude >= 0x38800000)
        return (uint16_t)(sign | ((magnitude - 112u * 0x800000 + 0xfff + (magnitude >> 13 & 1)) >> 13));
    const uint32_t shift = 126 - (magnitude >> 23); /* the result is in units of 2^-24 */
    if (shift > 24)
        return sign; /* below half a unit */
    const uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000, kept = mantissa >> shift;
    return (uint16_t)(sign | ((mantissa + (1u << (shift - 1)) - 1 + (kept & 1)) >> shift));
}

static inline float tr_bf16_to_f32(uint16_t half)
{
    return tr_float_of((uint32_t)half << 16);
}

static inline uint16_t tr_bf16_from_f32(float x)
{
    const uint32_t bits = tr_float_bits(x);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40); /* NaN, made quiet: its payload may be in the half that is cut off */
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* ------------------------------------------------------------------------------------------------------------ arithmetic */

/* Both have a relative error below 1e-15. tr_exp is 0 for x < -700, and e^700 for x > 700. tr_log takes positive numbers; of
 * 0 it is -inf. NaN gives NaN. */
double tr_exp(double x);
double tr_log(double x);

/* Counter-based random numbers (Salmon et al., 2011): instead of the state of a generator there is a key, made from all
 * numbers that a draw depends on, one after the other. The key is itself the 64 random bits. */
uint64_t tr_random_key(uint64_t seed);
uint64_t tr_random_add(uint64_t key, uint64_t x);

static inline int tr_min_int(int a, int b)
{
    return a < b ? a : b;
}

static inline int tr_max_int(int a, int b)
{
    return a > b ? a : b;
}

static inline int64_t tr_min_int64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t tr_max_int64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* value, but at least min and at most max; max >= min. */
static inline int64_t tr_clamp_int64(int64_t value, int64_t min, int64_t max)
{
    return value < min ? min : value > max ? max : value;
}

#endif
