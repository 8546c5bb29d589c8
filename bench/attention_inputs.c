#include "attention_inputs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void stop(const char *what, const char *why)
{
    fprintf(stderr, "attention: %s: %s\n", what, why);
    exit(1);
}

void *allocate(size_t count, size_t size)
{
    void *p = aligned_alloc(64, (count * size + 63) / 64 * 64);
    if (!p)
        stop("memory", "there is not enough of it");
    return p;
}

static double uniform(uint64_t *state) /* splitmix64; 0 < u < 1 */
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return ((double)((z ^ z >> 31) >> 12) + .5) / 4503599627370496.;
}

static double normal(uint64_t *state)
{
    const double radius = sqrt(-2 * log(uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}

float *noise(uint64_t seed, size_t count, double deviation)
{
    float *x = allocate(count, sizeof *x);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(deviation * normal(&seed));
    return x;
}

void look_nearby(double near, int64_t heads, int64_t length, int64_t size, float *q, float *k)
{
    for (int64_t h = 0; h < heads; h++)
        for (int64_t c = 0; c + 1 < size; c += 2) {
            uint64_t seed = (uint64_t)(h * size + c);
            const double frequency = normal(&seed) / near;
            for (int64_t i = 0; i < length; i++) {
                const int64_t at = (h * length + i) * size + c;
                const float x = (float)(1.75 * cos(frequency * (double)i)), y = (float)(1.75 * sin(frequency * (double)i));
                q[at] = q[at] / 2 + x;
                q[at + 1] = q[at + 1] / 2 + y;
                k[at] = k[at] / 2 + x;
                k[at + 1] = k[at + 1] / 2 + y;
            }
        }
}

void *as_element(tr_element element, float *x, size_t count)
{
    if (element == TR_ELEMENT_F32)
        return x;
    uint16_t *y = allocate(count, sizeof *y);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        y[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
    free(x);
    return y;
}
