#include "util/numbers.h"

#include <math.h>
#include <string.h>

/* ln 2 in two parts. The first has few enough bits for its product with an exponent to be exact. */
static const double log2_high = 0x1.62e42fee00000p-1, log2_low = 0x1.a39ef35793c76p-33;

/* 2^n for -1022 <= n <= 1023 */
static double power_of_two(int n)
{
    const uint64_t bits = (uint64_t)(n + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* e^x = 2^n e^r with |r| <= ln 2 / 2, and Taylor's series of e^r, even and odd powers in two independent sums. */
double tr_exp(double x)
{
    static const double factor[] = {
        1,          1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,
        1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    if (!(x >= -700))
        return x < -700 ? 0 : x;
    if (x > 700)
        x = 700;
    const double magic = 0x1.8p52; /* adding it rounds to an integer */
    const double n = x * 0x1.71547652b82fep+0 + magic - magic, r = (x - n * log2_high) - n * log2_low, square = r * r;
    double even = factor[12], odd = factor[13];
    for (int k = 10; k >= 0; k -= 2) {
        even = factor[k] + even * square;
        odd = factor[k + 1] + odd * square;
    }
    return (even + odd * r) * power_of_two((int)n);
}

/* log(2^n m) = n ln 2 + log m with sqrt(1/2) <= m < sqrt(2), and log m = 2 artanh s, s = (m - 1) / (m + 1). */
double tr_log(double x)
{
    if (!(x > 0) || isinf(x))
        return x == 0 ? -INFINITY : x > 0 ? x : NAN;
    int n;
    double m = frexp(x, &n);
    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2;
        n--;
    }
    const double s = (m - 1) / (m + 1), square = s * s;
    double sum = 0;
    for (int k = 23; k >= 3; k -= 2)
        sum = (sum + 1.0 / k) * square;
    return n * log2_high + (n * log2_low + 2 * s * (1 + sum));
}

/* The finalizer of SplitMix64 (Steele et al., 2014): every bit of the result depends on every bit of x. */
static uint64_t mix_bits(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t tr_random_key(uint64_t seed)
{
    return mix_bits(seed + 0x9e3779b97f4a7c15u);
}

uint64_t tr_random_add(uint64_t key, uint64_t x)
{
    return mix_bits(key + 0x9e3779b97f4a7c15u + mix_bits(x));
}
