#include "model/gather.h"

#include <string.h>

size_t tr_matrix_bytes(const tr_matrix *m, int outputs)
{
    return m->type == TR_TYPE_I8 ? tr_i8_bytes(outputs, m->inputs)
                                 : (size_t)outputs * (size_t)m->inputs * tr_type_size(m->type);
}

/* One panel of n <= 16 outputs: each has 4 bytes of every line. */
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

/* The line behind a panel's weights: scale[16], radius[16], two bytes each. */
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
