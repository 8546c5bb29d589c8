#include "model/pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One output's place in its panel: integer i is at out[i / 4 * TR_LINE + i % 4]. */
static bool pack_output(const float *w, int inputs, int8_t *out, float *scale, int32_t *colsum)
{
    float most = 0, poison = 0;
    for (int i = 0; i < inputs; i++) {
        most = fabsf(w[i]) > most ? fabsf(w[i]) : most;
        poison += w[i] * 0; /* NaN where w is not finite */
    }
    if (poison != 0)
        return false;
    const float inverse = most > 0x1p-100f ? 127 / most : 0;
    int32_t sum = 0;
    for (int i = 0; i < inputs; i++) {
        const float scaled = fminf(fmaxf(w[i] * inverse, -127), 127);
        const float rounded = (scaled + 12582912.0f) - 12582912.0f; /* 1.5 * 2^23: rounds to a whole number */
        const int8_t q = (int8_t)rounded;
        out[(size_t)(i / 4) * TR_LINE + (size_t)(i % 4)] = q;
        sum += q;
    }
    *scale = most / 127;
    *colsum = sum;
    return true;
}

bool tr_pack_panel(const float *w, int n, int inputs, void *panel, float *scale, int32_t *colsum)
{
    bool finite = true;
    memset(panel, 0, tr_panel_bytes(inputs));
    for (int o = 0; o < n; o++)
        finite &= pack_output(w + (size_t)o * (size_t)inputs, inputs, (int8_t *)panel + 4 * o, &scale[o], &colsum[o]);
    return finite;
}

void tr_pack_integers(const int8_t *q, int n, int inputs, void *panel, int32_t *colsum)
{
    memset(panel, 0, tr_panel_bytes(inputs));
    for (int o = 0; o < n; o++, q += inputs) {
        int8_t *out = (int8_t *)panel + 4 * o;
        colsum[o] = 0;
        for (int i = 0; i < inputs; i++) {
            out[(size_t)(i / 4) * TR_LINE + (size_t)(i % 4)] = q[i];
            colsum[o] += q[i];
        }
    }
}

void tr_unpack_output(const tr_matrix *m, int o, float *out)
{
    const int8_t *q = (const int8_t *)m->data + (size_t)(o / TR_PANEL) * tr_panel_bytes(m->inputs) + 4 * (o % TR_PANEL);
    for (int i = 0; i < m->inputs; i++)
        out[i] = m->scale[o] * (float)q[(size_t)(i / 4) * TR_LINE + (size_t)(i % 4)];
}

/* Integer i of an output whose first byte in its panel is w. */
static int packed(const int8_t *w, int i)
{
    return w[(size_t)(i / 4) * TR_LINE + (size_t)(i % 4)];
}

static int coarse_of(int q, float step)
{
    return (int)fminf(fmaxf(rintf((float)q / step), -7), 7);
}

/* An output as whole numbers from -7 to 7 times step: the squares of what that leaves out. */
static double coarse_error(const int8_t *w, int inputs, float step)
{
    double error = 0;
    for (int i = 0; i < inputs; i++) {
        const float e = (float)packed(w, i) - step * (float)coarse_of(packed(w, i), step);
        error += (double)e * (double)e;
    }
    return error;
}

/* The step that leaves out least: the greatest weights may be cut. */
static float coarse_step(const int8_t *w, int inputs, double *error)
{
    int most = 0;
    for (int i = 0; i < inputs; i++)
        most = abs(packed(w, i)) > most ? abs(packed(w, i)) : most;
    float best = 1;
    *error = INFINITY;
    for (int cut = 0; cut < 4; cut++) {
        const float step = most ? (float)most * (1 - 0.1f * (float)cut) / 7 : 1;
        const double e = coarse_error(w, inputs, step);
        if (e < *error) {
            *error = e;
            best = step;
        }
    }
    return best;
}

void tr_pack_screen(const tr_matrix *m, int first, void *panel)
{
    float scale[TR_PANEL] = {0}, radius[TR_PANEL] = {0};
    int32_t colsum[TR_PANEL] = {0};
    const size_t coarse_bytes = (size_t)(tr_screen_lines(m->inputs) - 3) * TR_LINE;
    memset(panel, 0x88, coarse_bytes);
    for (int o = 0; o < TR_PANEL && first + o < m->outputs; o++) {
        const int8_t *w = (const int8_t *)m->data + (size_t)(first / TR_PANEL) * tr_panel_bytes(m->inputs) + 4 * o;
        uint8_t *out = (uint8_t *)panel + 4 * o;
        double error, norm = 0;
        const float step = coarse_step(w, m->inputs, &error);
        for (int i = 0; i < m->inputs; i++) {
            const int c = coarse_of(packed(w, i), step), shift = i % 8 / 4 * 4;
            uint8_t *byte = out + (size_t)(i / 8) * TR_LINE + (size_t)(i % 4);
            *byte = (uint8_t)((*byte & (shift ? 0x0f : 0xf0)) | (c + 8) << shift);
            colsum[o] += c;
            norm += (double)packed(w, i) * packed(w, i);
        }
        scale[o] = step * m->scale[first + o];
        /* what the products' and the bounds' own rounding can add: some units of 2^-24 of all that is added up */
        radius[o] =
            (float)((sqrt(error) * 1.0001 + 0x1p-19 * (sqrt(norm) + sqrt(error))) * (double)m->scale[first + o] * 1.0001);
    }
    memcpy((char *)panel + coarse_bytes, scale, sizeof scale);
    memcpy((char *)panel + coarse_bytes + TR_LINE, radius, sizeof radius);
    memcpy((char *)panel + coarse_bytes + 2 * TR_LINE, colsum, sizeof colsum);
}
