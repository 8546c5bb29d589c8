/* The part of a 16-lane vector for any CPU: 4 floats in the compiler's generic vectors. With TR_PART_FMAF every multiply-add
 * is fused by the C library: for tests that compare bits. */
/* Not formatted by clang-format: one line per function, so that levels can be compared. */
/* clang-format off */
#include "util/numbers.h"

#include <math.h>
#include <string.h>

#define TR_INLINE static inline __attribute__((always_inline))

enum { LANES = 4, PARTS = 4 };
#define TILE_ROWS 3 /* rows of x in a tile of the matrix product: accumulators fill the registers */
#define WIDEN_TILES 1 /* if more tiles than this share a panel, its f16 or bf16 weights are widened first */
typedef float part __attribute__((vector_size(16)));
typedef int32_t part_bits __attribute__((vector_size(16)));

TR_INLINE part part_set1(float a) { return (part){a, a, a, a}; }
TR_INLINE part part_load(const float *p) { part a; memcpy(&a, p, sizeof a); return a; }
TR_INLINE void part_store(float *p, part a) { memcpy(p, &a, sizeof a); }

TR_INLINE part part_load_n(const float *p, int n)
{
    part a = part_set1(0);
    if (n > 0)
        memcpy(&a, p, (size_t)n * sizeof *p);
    return a;
}

TR_INLINE void part_store_n(float *p, part a, int n)
{
    if (n > 0)
        memcpy(p, &a, (size_t)n * sizeof *p);
}

TR_INLINE part part_add(part a, part b) { return a + b; }
TR_INLINE part part_sub(part a, part b) { return a - b; }
TR_INLINE part part_mul(part a, part b) { return a * b; }
TR_INLINE part part_div(part a, part b) { return a / b; }

#if defined(TR_PART_FMAF) || defined(__FP_FAST_FMAF)
TR_INLINE part part_fma(part a, part b, part c)
{
    return (part){fmaf(a[0], b[0], c[0]), fmaf(a[1], b[1], c[1]), fmaf(a[2], b[2], c[2]), fmaf(a[3], b[3], c[3])};
}

TR_INLINE part part_mla(part a, part b, part c) { return part_fma(a, b, c); }
#else
typedef double part_wide __attribute__((vector_size(32)));
typedef int64_t part_wide_bits __attribute__((vector_size(32)));

/* Rounded once, as the instruction does, on CPUs without it: the product is exact in double precision, the sum is rounded to
 * odd there (its last bit set where anything was lost), and then to nearest (Boldo and Melquiond, 2008). Too long to be
 * repeated wherever it is used. */
static __attribute__((noinline)) part part_fma(part a, part b, part c)
{
    const part_wide product = __builtin_convertvector(a, part_wide) * __builtin_convertvector(b, part_wide);
    const part_wide addend = __builtin_convertvector(c, part_wide), sum = product + addend;
    const part_wide virtual = sum - product, lost = (product - (sum - virtual)) + (addend - virtual); /* Knuth's two-sum */
    const part_wide_bits above = lost > 0, below = lost < 0, even = ((part_wide_bits)sum & 1) == 0, negative = sum < 0;
    /* towards what was lost, away from zero or to it: a bit pattern grows with the magnitude */
    const part_wide_bits step = (above | below) & even & (((above ^ negative) & 2) - 1);
    return __builtin_convertvector((part_wide)((part_wide_bits)sum + step), part);
}

/* The multiply-add of the f32 matrix product, where so much exactness would cost too much. */
TR_INLINE part part_mla(part a, part b, part c) { return a * b + c; }
#endif

TR_INLINE part part_select(part_bits mask, part a, part b)
{
    return (part)(((part_bits)a & mask) | ((part_bits)b & ~mask));
}

/* a > b ? a : b, lane by lane: b where either is NaN */
TR_INLINE part part_max(part a, part b) { return part_select(a > b, a, b); }
TR_INLINE part part_min(part a, part b) { return part_select(a < b, a, b); }
/* a where not x < limit, else 0 */
TR_INLINE part part_zero_below(part a, part x, part limit) { return (part)((part_bits)a & ~(x < limit)); }
/* lanes from n on become fill */
TR_INLINE part part_tail(part a, int n, float fill)
{
    return part_select((part_bits){0, 1, 2, 3} < (part_bits){n, n, n, n}, a, part_set1(fill));
}

TR_INLINE bool part_any_above(part a, part b) /* or NaN */
{
    const part_bits m = ~(a <= b);
    return (m[0] | m[1] | m[2] | m[3]) != 0;
}

/* 2^n for t = n + 1.5 * 2^23, which has n in its low bits. Undefined for other t: the unsigned sum may overflow there. */
TR_INLINE part part_exp2_magic(part t)
{
    typedef uint32_t words __attribute__((vector_size(16)));
    return (part)(((words)t << 23) + (words)part_set1(1.0f));
}
TR_INLINE part part_abs(part a) { return (part)((part_bits)a & 0x7fffffff); }
TR_INLINE part part_copysign(part a, part sign)
{
    return (part)((part_bits)a | ((part_bits)sign & (int32_t)0x80000000));
}

TR_INLINE part part_load_f16(const uint16_t *p)
{
    return (part){tr_f16_to_f32(p[0]), tr_f16_to_f32(p[1]), tr_f16_to_f32(p[2]), tr_f16_to_f32(p[3])};
}

TR_INLINE void part_store_f16(uint16_t *p, part a)
{
    for (int i = 0; i < LANES; i++)
        p[i] = tr_f16_from_f32(a[i]);
}

TR_INLINE part part_load_bf16(const uint16_t *p)
{
    return (part)((part_bits){p[0], p[1], p[2], p[3]} << 16);
}

TR_INLINE part part_load_i8(const int8_t *p) { return (part){p[0], p[1], p[2], p[3]}; }

/* the first n lanes, which hold integers from -127 to 127 */
TR_INLINE void part_store_i8_n(int8_t *p, part a, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = (int8_t)a[i];
}

#include "kernels/part_tails.h"
