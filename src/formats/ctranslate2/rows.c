#include "formats/ctranslate2/rows.h"

#include "model/pack.h"

static const tr_ct2_rows *source_of(const tr_tensor *t)
{
    return (const tr_ct2_rows *)t->origin;
}

void tr_ct2_make_int16(const tr_tensor *t, size_t first, size_t count, void *out)
{
    const tr_ct2_rows *s = source_of(t);
    const unsigned char *from = s->origin.data;
    float *floats = out;
    size_t row = first / s->columns, column = first % s->columns;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *p = from + 2 * (first + i);
        floats[i] = row < (size_t)s->rows ? (float)(int16_t)(p[0] | p[1] << 8) * s->factors[row] : 0;
        if (++column == s->columns)
            column = 0, row++;
    }
}

void tr_ct2_make_panels(const tr_tensor *t, size_t first, size_t count, void *out)
{
    const tr_ct2_rows *s = source_of(t);
    const size_t panel = tr_panel_bytes((int)s->columns);
    int32_t sums[TR_PANEL];
    for (size_t at = 0; at < count; at += panel) {
        const int64_t o = (int64_t)((first + at) / panel) * TR_PANEL, left = s->rows > o ? s->rows - o : 0;
        tr_pack_integers((const int8_t *)s->origin.data + (size_t)(left ? o : 0) * s->columns,
                         left < TR_PANEL ? (int)left : TR_PANEL, (int)s->columns, (char *)out + at, sums);
    }
}

void tr_ct2_make_sums(const tr_tensor *t, size_t first, size_t count, void *out)
{
    const tr_ct2_rows *s = source_of(t);
    int32_t *sums = out;
    for (size_t o = first; o < first + count; o++) {
        const int8_t *row = (const int8_t *)s->origin.data + o * s->columns;
        int32_t sum = 0;
        for (size_t i = 0; o < (size_t)s->rows && i < s->columns; i++)
            sum += row[i];
        *sums++ = sum;
    }
}
