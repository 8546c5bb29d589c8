#include "util/numbers.h"

#include <math.h>

/* ln 2 in two parts: the first has so few bits that its product with an exponent is exact */
static const double log2_high = 0x1.62e42fee00000p-1, log2_low = 0x1.a39ef35793c76p-33;

/* e^x = 2^n e^r, |r| <= ln 2 / 2: Taylor's series of e^r */
double tr_exp(double x)
{
    if (!(x >= -700))
        return x < -700 ? 0 : x;
    if (x > 700)
        x = 700;
    const double n = floor(x * 0x1.71547652b82fep+0 + 0.5), r = (x - n * log2_high) - n * log2_low;
    double y = 1;
    for (int k = 14; k; k--)
        y = 1 + y * r / k;
    return ldexp(y, (int)n);
}

/* log(2^n m) = n ln 2 + log m, m between sqrt(1/2) and sqrt(2): log m = 2 artanh s, s = (m - 1) / (m + 1) */
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
