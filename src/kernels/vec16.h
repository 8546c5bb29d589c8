/* Sixteen floats, as 1, 2 or 4 parts of what the CPU has (part_*.h), and the one order in which lanes are summed:
 *     s8[i] = v[i] + v[i+8],  s4[i] = s8[i] + s8[i+4],  s2[i] = s4[i] + s4[i+2],  sum = s2[0] + s2[1].
 * Include a part_*.h first. */
/* A line a function, so that the levels can be compared. */
/* clang-format off */

typedef struct vec {
    part p[PARTS];
} vec;

/* Loops of constant length whose variables shall stay in registers: unrolled whole, n being at least their length. Builds
 * that look for errors do without: their checks, multiplied, take minutes to compile. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHECKED_BUILD
#endif
#if defined(CHECKED_BUILD)
#define UNROLL_HINT(n)
#elif defined(__clang__)
#define UNROLL_HINT(n) _Pragma("clang loop unroll(full)")
#else
#define UNROLL_HINT(n) _Pragma(TR_STRINGIFY(GCC unroll n))
#define TR_STRINGIFY(x) #x
#endif
/* UNROLL(n, i, begin, end): for each i from begin to before end, at most n of them. EACH_PART(h): for each part of a vec. */
#define UNROLL(n, i, begin, end) UNROLL_HINT(n) for (int i = (begin); i < (end); i++)
#define EACH_PART(h) UNROLL(4, h, 0, PARTS)

/* How many of n lanes fall to part h. */
TR_INLINE int part_lanes(int n, int h)
{
    const int rest = n - h * LANES;
    return rest < 0 ? 0 : rest > LANES ? LANES : rest;
}

#define VEC_UNARY(name, expression) TR_INLINE vec name(vec a) { EACH_PART(h) a.p[h] = expression; return a; }
#define VEC_BINARY(name, function) \
    TR_INLINE vec name(vec a, vec b) { EACH_PART(h) a.p[h] = function(a.p[h], b.p[h]); return a; }

VEC_BINARY(vec_add, part_add)
VEC_BINARY(vec_sub, part_sub)
VEC_BINARY(vec_mul, part_mul)
VEC_BINARY(vec_div, part_div)
VEC_BINARY(vec_max, part_max)
VEC_BINARY(vec_min, part_min)
VEC_BINARY(vec_copysign, part_copysign)
VEC_UNARY(vec_abs, part_abs(a.p[h]))
VEC_UNARY(vec_exp2_magic, part_exp2_magic(a.p[h]))

TR_INLINE vec vec_set1(float f) { vec a; EACH_PART(h) a.p[h] = part_set1(f); return a; }
TR_INLINE vec vec_load(const float *p) { vec a; EACH_PART(h) a.p[h] = part_load(p + h * LANES); return a; }
TR_INLINE void vec_store(float *p, vec a) { EACH_PART(h) part_store(p + h * LANES, a.p[h]); }
TR_INLINE vec vec_fma(vec a, vec b, vec c) { EACH_PART(h) a.p[h] = part_fma(a.p[h], b.p[h], c.p[h]); return a; }

/* The first n lanes, the others 0. */
TR_INLINE vec vec_load_n(const float *p, int n)
{
    vec a;
    EACH_PART(h) a.p[h] = part_load_n(p + h * LANES, part_lanes(n, h));
    return a;
}

TR_INLINE void vec_store_n(float *p, vec a, int n)
{
    EACH_PART(h) part_store_n(p + h * LANES, a.p[h], part_lanes(n, h));
}

TR_INLINE vec vec_tail(vec a, int n, float fill)
{
    EACH_PART(h) a.p[h] = part_tail(a.p[h], part_lanes(n, h), fill);
    return a;
}

TR_INLINE vec vec_zero_below(vec a, vec x, vec limit)
{
    EACH_PART(h) a.p[h] = part_zero_below(a.p[h], x.p[h], limit.p[h]);
    return a;
}

TR_INLINE bool vec_any_above(vec a, vec b) /* or NaN */
{
    bool any = false;
    EACH_PART(h) any |= part_any_above(a.p[h], b.p[h]);
    return any;
}

/* Lanes to fold across the parts: the sum of all, and the greatest (of no use with NaN). */
#if defined(TR_PART_NEON)
/* s4 */
TR_INLINE part fold_parts(vec a)
{
    return vaddq_f32(vaddq_f32(a.p[0], a.p[2]), vaddq_f32(a.p[1], a.p[3]));
}

TR_INLINE float vec_sum(vec a)
{
    const part s4 = fold_parts(a);
    return vpadds_f32(vadd_f32(vget_low_f32(s4), vget_high_f32(s4)));
}

TR_INLINE float vec_greatest(vec a)
{
    const part m4 = part_max(part_max(a.p[0], a.p[2]), part_max(a.p[1], a.p[3]));
    const part m2 = part_max(m4, vextq_f32(m4, m4, 2));
    return vgetq_lane_f32(part_max(m2, vextq_f32(m2, m2, 1)), 0);
}
#elif defined(TR_PART_AVX512) || defined(TR_PART_AVX2)
#if defined(TR_PART_AVX512)
TR_INLINE __m256 lower_half(vec a) { return _mm512_castps512_ps256(a.p[0]); }
TR_INLINE __m256 upper_half(vec a) { return _mm512_extractf32x8_ps(a.p[0], 1); }
#else
TR_INLINE __m256 lower_half(vec a) { return a.p[0]; }
TR_INLINE __m256 upper_half(vec a) { return a.p[1]; }
#endif

TR_INLINE float vec_sum(vec a)
{
    const __m256 s8 = _mm256_add_ps(lower_half(a), upper_half(a));
    const __m128 s4 = _mm_add_ps(_mm256_castps256_ps128(s8), _mm256_extractf128_ps(s8, 1));
    const __m128 s2 = _mm_add_ps(s4, _mm_movehl_ps(s4, s4));
    return _mm_cvtss_f32(_mm_add_ss(s2, _mm_movehdup_ps(s2)));
}

TR_INLINE float vec_greatest(vec a)
{
    const __m256 m8 = _mm256_max_ps(lower_half(a), upper_half(a));
    const __m128 m4 = _mm_max_ps(_mm256_castps256_ps128(m8), _mm256_extractf128_ps(m8, 1));
    const __m128 m2 = _mm_max_ps(m4, _mm_movehl_ps(m4, m4));
    return _mm_cvtss_f32(_mm_max_ss(m2, _mm_movehdup_ps(m2)));
}
#else
TR_INLINE float vec_sum(vec a)
{
    float f[16];
    vec_store(f, a);
    float s4[4];
    for (int i = 0; i < 4; i++)
        s4[i] = (f[i] + f[i + 8]) + (f[i + 4] + f[i + 12]);
    return (s4[0] + s4[2]) + (s4[1] + s4[3]);
}

TR_INLINE float vec_greatest(vec a)
{
    float f[16];
    vec_store(f, a);
    for (int n = 8; n; n /= 2)
        for (int i = 0; i < n; i++)
            f[i] = f[i] > f[i + n] ? f[i] : f[i + n];
    return f[0];
}
#endif

/* The sums of 16 vectors, side by side, in two stages: fold4 takes four vectors to four lanes each, fold16 takes four
 * such results (of vectors 0-3, 4-7, 8-11, 12-15) to the sixteen sums. The order of additions is vec_sum's. */
#if defined(TR_PART_AVX512)
TR_INLINE vec vec_fold4(vec a, vec b, vec c, vec d)
{
    const part ab = _mm512_add_ps(_mm512_shuffle_f32x4(a.p[0], b.p[0], 0x44), _mm512_shuffle_f32x4(a.p[0], b.p[0], 0xee));
    const part cd = _mm512_add_ps(_mm512_shuffle_f32x4(c.p[0], d.p[0], 0x44), _mm512_shuffle_f32x4(c.p[0], d.p[0], 0xee));
    return (vec){{_mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd))}};
}

TR_INLINE vec vec_fold16(vec a, vec b, vec c, vec d)
{
    const part ab = _mm512_add_ps(_mm512_shuffle_ps(a.p[0], b.p[0], 0x44), _mm512_shuffle_ps(a.p[0], b.p[0], 0xee));
    const part cd = _mm512_add_ps(_mm512_shuffle_ps(c.p[0], d.p[0], 0x44), _mm512_shuffle_ps(c.p[0], d.p[0], 0xee));
    const part abcd = _mm512_add_ps(_mm512_shuffle_ps(ab, cd, 0x88), _mm512_shuffle_ps(ab, cd, 0xdd));
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return (vec){{_mm512_permutexvar_ps(order, abcd)}};
}
#elif defined(TR_PART_AVX2)
TR_INLINE vec vec_fold4(vec a, vec b, vec c, vec d)
{
    const part a8 = _mm256_add_ps(a.p[0], a.p[1]), b8 = _mm256_add_ps(b.p[0], b.p[1]);
    const part c8 = _mm256_add_ps(c.p[0], c.p[1]), d8 = _mm256_add_ps(d.p[0], d.p[1]);
    return (vec){{_mm256_add_ps(_mm256_permute2f128_ps(a8, b8, 0x20), _mm256_permute2f128_ps(a8, b8, 0x31)),
                  _mm256_add_ps(_mm256_permute2f128_ps(c8, d8, 0x20), _mm256_permute2f128_ps(c8, d8, 0x31))}};
}

TR_INLINE part fold_in_lanes(part a, part b, part c, part d)
{
    const part ab = _mm256_add_ps(_mm256_shuffle_ps(a, b, 0x44), _mm256_shuffle_ps(a, b, 0xee));
    const part cd = _mm256_add_ps(_mm256_shuffle_ps(c, d, 0x44), _mm256_shuffle_ps(c, d, 0xee));
    return _mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x88), _mm256_shuffle_ps(ab, cd, 0xdd));
}

TR_INLINE vec vec_fold16(vec a, vec b, vec c, vec d)
{
    /* lane j of low and high together: the sums 4i + j, i = 0..3; then a transposition */
    const part low = fold_in_lanes(a.p[0], b.p[0], c.p[0], d.p[0]), high = fold_in_lanes(a.p[1], b.p[1], c.p[1], d.p[1]);
    const part even = _mm256_permute2f128_ps(low, high, 0x20), odd = _mm256_permute2f128_ps(low, high, 0x31);
    const __m256d first = _mm256_castps_pd(_mm256_unpacklo_ps(even, odd));
    const __m256d second = _mm256_castps_pd(_mm256_unpackhi_ps(even, odd));
    return (vec){{_mm256_castpd_ps(_mm256_permute4x64_pd(first, 0xd8)),
                  _mm256_castpd_ps(_mm256_permute4x64_pd(second, 0xd8))}};
}
#elif defined(TR_PART_NEON)
TR_INLINE vec vec_fold4(vec a, vec b, vec c, vec d)
{
    return (vec){{fold_parts(a), fold_parts(b), fold_parts(c), fold_parts(d)}};
}

/* s2 of two vectors, side by side */
TR_INLINE part fold_halves(part a, part b)
{
    const float64x2_t x = vreinterpretq_f64_f32(a), y = vreinterpretq_f64_f32(b);
    return vaddq_f32(vreinterpretq_f32_f64(vzip1q_f64(x, y)), vreinterpretq_f32_f64(vzip2q_f64(x, y)));
}

TR_INLINE vec vec_fold16(vec a, vec b, vec c, vec d)
{
    vec sums;
    const vec from[4] = {a, b, c, d};
    EACH_PART(h) sums.p[h] = vpaddq_f32(fold_halves(from[h].p[0], from[h].p[1]), fold_halves(from[h].p[2], from[h].p[3]));
    return sums;
}
#else
TR_INLINE vec vec_fold4(vec a, vec b, vec c, vec d)
{
    return (vec){{(a.p[0] + a.p[2]) + (a.p[1] + a.p[3]), (b.p[0] + b.p[2]) + (b.p[1] + b.p[3]),
                  (c.p[0] + c.p[2]) + (c.p[1] + c.p[3]), (d.p[0] + d.p[2]) + (d.p[1] + d.p[3])}};
}

TR_INLINE vec vec_fold16(vec a, vec b, vec c, vec d)
{
    const vec from[4] = {a, b, c, d};
    float sums[16];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            const part s4 = from[i].p[j];
            sums[4 * i + j] = (s4[0] + s4[2]) + (s4[1] + s4[3]);
        }
    return vec_load(sums);
}
#endif

/* e^x for -88 <= x <= 88.37 by a polynomial of degree 6 on [-ln2/2, ln2/2] (Cephes expf), relative error below 2e-7; NaN
 * stays. */
TR_INLINE vec vec_exp_inside(vec x)
{
    const vec magic = vec_set1(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer */
    const vec t = vec_fma(x, vec_set1(1.44269504f), magic);
    const vec n = vec_sub(t, magic);
    vec r = vec_fma(n, vec_set1(-0.693359375f), x);
    r = vec_fma(n, vec_set1(2.12194440e-4f), r);
    vec y = vec_set1(1.9875691500e-4f);
    y = vec_fma(y, r, vec_set1(1.3981999507e-3f));
    y = vec_fma(y, r, vec_set1(8.3334519073e-3f));
    y = vec_fma(y, r, vec_set1(4.1665795894e-2f));
    y = vec_fma(y, r, vec_set1(1.6666665459e-1f));
    y = vec_fma(y, r, vec_set1(5.0000001201e-1f));
    y = vec_fma(y, vec_mul(r, r), vec_add(r, vec_set1(1.0f)));
    return vec_mul(y, vec_exp2_magic(t));
}

/* e^x: 0 below the least normal float (so that e^-inf is 0), clipped above at e^88.37; NaN stays. */
TR_INLINE vec vec_exp(vec x)
{
    const vec clipped = vec_max(vec_set1(-88.0f), vec_min(vec_set1(88.37626f), x));
    return vec_zero_below(vec_exp_inside(clipped), x, vec_set1(-87.33654f));
}

/* e^x for x <= 0, as a power of 2 by a polynomial of degree 5 on [-1/2, 1/2], relative error below 3e-7 near 0. Farther
 * below it grows, by 2e-8 times the distance, but where such numbers are added up each adds little to the 1 of the greatest.
 * For x < -87 it is anything (vec_exp_distance: 0). NaN stays. */
TR_INLINE vec vec_exp_near(vec x)
{
    const vec magic = vec_set1(12582912.0f), scale = vec_set1(1.44269504f); /* see vec_exp_inside */
    const vec t = vec_fma(x, scale, magic);
    const vec r = vec_fma(x, scale, vec_sub(magic, t));
    vec y = vec_set1(1.3264727313e-03f);
    y = vec_fma(y, r, vec_set1(9.6715129912e-03f));
    y = vec_fma(y, r, vec_set1(5.5507335812e-02f));
    y = vec_fma(y, r, vec_set1(2.4022242427e-01f));
    y = vec_fma(y, r, vec_set1(6.9314700365e-01f));
    y = vec_fma(y, r, vec_set1(1.0f));
    return vec_mul(y, vec_exp2_magic(t));
}

TR_INLINE vec vec_exp_distance(vec x)
{
    return vec_zero_below(vec_exp_near(x), x, vec_set1(-87.0f));
}

/* e^x / (1 + e^x): exact zero, not its product with a huge x, far below */
TR_INLINE vec vec_sigmoid(vec x)
{
    const vec e = vec_exp(x);
    return vec_div(e, vec_add(vec_set1(1.0f), e));
}

/* tanh x = 2 sigmoid(2x) - 1 */
TR_INLINE vec vec_tanh(vec x)
{
    return vec_fma(vec_set1(2.0f), vec_sigmoid(vec_add(x, x)), vec_set1(-1.0f));
}

/* Abramowitz and Stegun 7.1.26, absolute error below 2e-7 */
TR_INLINE vec vec_erf(vec x)
{
    const vec one = vec_set1(1.0f), a = vec_abs(x);
    const vec t = vec_div(one, vec_fma(vec_set1(0.3275911f), a, one));
    vec y = vec_set1(1.061405429f);
    y = vec_fma(y, t, vec_set1(-1.453152027f));
    y = vec_fma(y, t, vec_set1(1.421413741f));
    y = vec_fma(y, t, vec_set1(-0.284496736f));
    y = vec_fma(y, t, vec_set1(0.254829592f));
    const vec e = vec_exp(vec_sub(vec_set1(0.0f), vec_mul(x, x)));
    return vec_copysign(vec_sub(one, vec_mul(vec_mul(y, t), e)), x);
}

TR_INLINE vec vec_activate(vec x, tr_activation activation)
{
    switch (activation) {
    case TR_ACTIVATION_NONE: return x;
    case TR_ACTIVATION_RELU: return vec_max(vec_set1(0.0f), x);
    case TR_ACTIVATION_SWISH: return vec_mul(x, vec_sigmoid(x));
    case TR_ACTIVATION_SIGMOID: return vec_sigmoid(x);
    case TR_ACTIVATION_GELU: {
        const vec half = vec_mul(vec_set1(0.5f), x);
        return vec_fma(half, vec_erf(vec_mul(x, vec_set1(0.70710678f))), half);
    }
    case TR_ACTIVATION_GELU_TANH: {
        const vec half = vec_mul(vec_set1(0.5f), x);
        const vec cube = vec_mul(vec_mul(x, x), x);
        const vec u = vec_mul(vec_set1(0.79788456f), vec_fma(vec_set1(0.044715f), cube, x));
        return vec_fma(half, vec_tanh(u), half);
    }
    }
    return x;
}

/* Weights of any type as f32: lanes h * LANES .. of the 16 at w + i. */
TR_INLINE part part_load_weight(tr_type type, const void *w, size_t i)
{
    switch (type) {
    case TR_TYPE_F16: return part_load_f16((const uint16_t *)w + i);
    case TR_TYPE_BF16: return part_load_bf16((const uint16_t *)w + i);
    case TR_TYPE_I8: return part_load_i8((const int8_t *)w + i);
    default: return part_load((const float *)w + i);
    }
}

TR_INLINE part part_load_weight_n(tr_type type, const void *w, size_t i, int n)
{
    switch (type) {
    case TR_TYPE_F16: return part_load_f16_n((const uint16_t *)w + i, n);
    case TR_TYPE_BF16: return part_load_bf16_n((const uint16_t *)w + i, n);
    case TR_TYPE_I8: return part_load_i8_n((const int8_t *)w + i, n);
    default: return part_load_n((const float *)w + i, n);
    }
}

TR_INLINE vec vec_load_weight(tr_type type, const void *w, size_t i)
{
    vec a;
    EACH_PART(h) a.p[h] = part_load_weight(type, w, i + (size_t)h * LANES);
    return a;
}

TR_INLINE vec vec_load_weight_n(tr_type type, const void *w, size_t i, int n)
{
    vec a;
    EACH_PART(h) a.p[h] = part_load_weight_n(type, w, i + (size_t)h * LANES, part_lanes(n, h));
    return a;
}

/* f32 as F32 or F16, all 16 numbers. */
TR_INLINE void vec_store_as(tr_type type, void *p, size_t i, vec a)
{
    if (type == TR_TYPE_F16)
        EACH_PART(h) part_store_f16((uint16_t *)p + i + h * LANES, a.p[h]);
    else
        vec_store((float *)p + i, a);
}
