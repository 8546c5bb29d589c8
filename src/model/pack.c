#include "model/pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Quantises one output; integer i goes to out[i / 4 * TR_LINE + i % 4]. False: a weight is not finite. */
static bool pack_output(const float *w, int inputs, int8_t *out, float *scale, int32_t *colsum)
{
    float max = 0, poison = 0;
    for (int i = 0; i < inputs; i++) {
        max = fabsf(w[i]) > max ? fabsf(w[i]) : max;
        poison += w[i] * 0; /* NaN where w is not finite */
    }
    if (poison != 0)
        return false;
    const float inverse = max > 0x1p-100f ? 127 / max : 0;
    int32_t sum = 0;
    for (int i = 0; i < inputs; i++) {
        const float scaled = fminf(fmaxf(w[i] * inverse, -127), 127);
        const float rounded = (scaled + 12582912.0f) - 12582912.0f; /* 1.5 * 2^23: rounds to an integer */
        const int8_t q = (int8_t)rounded;
        out[(size_t)(i / 4) * TR_LINE + (size_t)(i % 4)] = q;
        sum += q;
    }
    *scale = max / 127;
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

size_t tr_matrix_bytes(const tr_matrix *m, int outputs)
{
    return m->type == TR_TYPE_I8 ? tr_i8_bytes(outputs, m->inputs)
                                 : (size_t)outputs * (size_t)m->inputs * tr_type_size(m->type);
}

/* Makes one panel of n <= 16 selected outputs. An output has 4 bytes in each line of its panel. */
static void gather_panel(const char *from, size_t panel, size_t lines, const int32_t *outputs, int n, char *to)
{
    const char *source[TR_PANEL];
    for (int i = 0; i < n; i++)
        source[i] = from + (size_t)(outputs[i] / TR_PANEL) * panel + 4 * (outputs[i] % TR_PANEL);
    if (n < TR_PANEL)
        memset(to, 0, panel);
    for (size_t line = 0; line < lines * TR_LINE; line += TR_LINE)
        for (int i = 0; i < n; i++)
            memcpy(to + line + 4 * i, source[i] + line, 4);
}

void tr_gather_outputs(const tr_matrix *from, const int32_t *outputs, int first, int last, const tr_gathered *to)
{
    const size_t row = (size_t)from->inputs * tr_type_size(from->type), panel = tr_panel_bytes(from->inputs);
    if (from->type != TR_TYPE_I8) {
        for (int i = first; i < last; i++)
            memcpy(to->data + (size_t)i * row, (const char *)from->data + (size_t)outputs[i] * row, row);
        return;
    }
    for (int i = first; i < last; i++) {
        to->scale[i] = from->scale[outputs[i]];
        to->colsum[i] = from->colsum[outputs[i]];
    }
    for (int i = first; i < last; i += TR_PANEL)
        gather_panel(from->data, panel, panel / TR_LINE, outputs + i, last - i < TR_PANEL ? last - i : TR_PANEL,
                     to->data + (size_t)(i / TR_PANEL) * panel);
}

/* Copies the last line of a screen's panel: scale[16], radius[16], two bytes each. */
static void gather_factors(const char *from, size_t panel, const int32_t *outputs, int n, char *to)
{
    const size_t at = panel - TR_LINE, radius = TR_LINE / 2;
    for (int i = 0; i < n; i++) {
        const char *source = from + (size_t)(outputs[i] / TR_PANEL) * panel + at + 2 * (outputs[i] % TR_PANEL);
        memcpy(to + at + 2 * i, source, 2);
        memcpy(to + at + radius + 2 * i, source + radius, 2);
    }
}

void tr_gather_screen(const void *from, int inputs, const int32_t *outputs, int count, char *to)
{
    const size_t lines = (size_t)tr_screen_lines(inputs), panel = lines * TR_LINE;
    for (int i = 0; i < count; i += TR_PANEL, to += panel) {
        const int n = count - i < TR_PANEL ? count - i : TR_PANEL;
        gather_panel(from, panel, lines - 1, outputs + i, n, to);
        gather_factors(from, panel, outputs + i, n, to);
    }
}
