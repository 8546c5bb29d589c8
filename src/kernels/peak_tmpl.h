/* The peak speed of the CPU at this level, to compare kernels with: multiply-adds in registers, and reading memory. They use
 * the same primitives as the kernels, so a level whose products take more instructions has a lower peak. */

/* Hides a register's value from the compiler, so that nothing is folded, moved out of the loop, or removed. */
#if defined(__x86_64__) || defined(__i386__)
#define PEAK_HIDE(x) __asm__ volatile("" : "+v"(x))
#elif defined(__aarch64__)
#define PEAK_HIDE(x) __asm__ volatile("" : "+w"(x))
#else
#define PEAK_HIDE(x) __asm__ volatile("" : "+m"(x))
#endif

/* Independent sums: enough for two units with a latency of 5, and they fit the registers together with operands. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define PEAK_SUMS 16
#else
#define PEAK_SUMS 12
#endif

TR_INLINE void peak_products(const bool pairs, int64_t turns)
{
    part sums[PEAK_SUMS], a = part_set1(0.5f), b = part_set1(0x1p-20f);
    PEAK_HIDE(b);
    UNROLL(16, k, 0, PEAK_SUMS)
        sums[k] = part_set1((float)k);
    for (int64_t t = 0; t < turns; t++)
        UNROLL(16, k, 0, PEAK_SUMS) {
            PEAK_HIDE(a);
            sums[k] = multiply_add(pairs, a, b, sums[k]);
        }
    UNROLL(16, k, 0, PEAK_SUMS)
        PEAK_HIDE(sums[k]);
}

static __attribute__((noinline)) void peak_float(int64_t turns)
{
    peak_products(false, turns);
}

static __attribute__((noinline)) void peak_pairs(int64_t turns)
{
    peak_products(true, turns);
}

#ifndef TR_TILES
static __attribute__((noinline)) void peak_i8(int64_t turns)
{
    static const char zeros[64];
    dot_sum sums[PEAK_SUMS];
    dot_input a = dot_input_load(zeros, 0);
    dot_weight w = dot_weight_load(zeros, 0);
    PEAK_HIDE(w);
    UNROLL(16, k, 0, PEAK_SUMS) {
        sums[k] = dot_zero();
        PEAK_HIDE(sums[k]);
    }
    for (int64_t t = 0; t < turns; t++)
        UNROLL(16, k, 0, PEAK_SUMS) {
            PEAK_HIDE(a);
            sums[k] = dot_add(sums[k], a, w);
        }
    UNROLL(16, k, 0, PEAK_SUMS)
        PEAK_HIDE(sums[k]);
}

#endif

/* f16 and bf16 that are widened before they are multiplied have the peak of f32. */
static double peak(tr_type type, int64_t turns)
{
    if (type == TR_TYPE_I8) {
#ifdef TR_TILES
        return dot_own_peak(turns);
#else
        peak_i8(turns);
        return (double)turns * PEAK_SUMS * TR_LINE / DOT_PARTS;
#endif
    }
    if (PAIRS && type == TR_TYPE_BF16) {
        peak_pairs(turns);
        return (double)turns * PEAK_SUMS * LANES * 2;
    }
    peak_float(turns);
    return (double)turns * PEAK_SUMS * LANES;
}

static void read_memory(const void *memory, size_t bytes, size_t ahead)
{
    enum { STEP = 256 };
    const char *p = memory;
    for (size_t i = 0; i + STEP <= bytes; i += STEP) {
        if (ahead)
            UNROLL(4, line, 0, STEP / 64)
                __builtin_prefetch(p + i + ahead + 64 * line, 0, 3);
        UNROLL(16, k, 0, STEP / (int)sizeof(part)) {
            part x = part_load((const float *)(const void *)(p + i + (size_t)k * sizeof(part)));
            PEAK_HIDE(x);
        }
    }
}
