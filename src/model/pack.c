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

void tr_pack_integers(const int8_t *q, int n, int inputs, void *panel)
{
    const int whole = inputs / 4, rest = inputs % 4;
    memset(panel, 0, tr_panel_bytes(inputs));
    for (int o = 0; o < n; o++, q += inputs) {
        int8_t *out = (int8_t *)panel + 4 * o;
        for (int g = 0; g < whole; g++)
            memcpy(out + (size_t)g * TR_LINE, q + 4 * g, 4);
        if (rest)
            memcpy(out + (size_t)whole * TR_LINE, q + 4 * whole, (size_t)rest);
    }
}

void tr_unpack_output(const tr_matrix *m, int o, float *out)
{
    const int8_t *q = (const int8_t *)m->data + (size_t)(o / TR_PANEL) * tr_panel_bytes(m->inputs) + 4 * (o % TR_PANEL);
    for (int i = 0; i < m->inputs; i++)
        out[i] = m->scale[o] * (float)q[(size_t)(i / 4) * TR_LINE + (size_t)(i % 4)];
}
