/* Matrix product with int8 weights by smmla, which multiplies two rows by two outputs over 8 inputs. Included by i8_tmpl.h.
 *
 * Two consecutive lines of a panel hold 8 inputs; zipped by 4 bytes they become pairs of outputs, each with its 8 inputs
 * contiguous. A tile is up to TILE_PAIRS pairs of rows by a panel: its sums fill the registers. */

enum { TILE_PAIRS = 3, TILE_TURNS = 8 /* pairs of outputs in a panel */ };

/* Inputs [i, i + 8) of two rows. */
TR_INLINE int8x16_t pair_load(const int8_t *const x[2], int i)
{
    return vcombine_s8(vld1_s8(x[0] + i), vld1_s8(x[1] + i));
}

/* Adds the products of 8 inputs, two lines of the panel. */
TR_INLINE void pairs_add(int32x4_t acc[TILE_PAIRS][TILE_TURNS], const int8x16_t input[TILE_PAIRS], const int pairs, int h,
                         int8x16_t first, int8x16_t second)
{
    const int32x4_t a = vreinterpretq_s32_s8(first), b = vreinterpretq_s32_s8(second);
    const int8x16_t low = vreinterpretq_s8_s32(vzip1q_s32(a, b)), high = vreinterpretq_s8_s32(vzip2q_s32(a, b));
    UNROLL(3, r, 0, pairs) {
        acc[r][2 * h] = vmmlaq_s32(acc[r][2 * h], input[r], low);
        acc[r][2 * h + 1] = vmmlaq_s32(acc[r][2 * h + 1], input[r], high);
    }
}

/* Rows x[0 .. 2 pairs) by the panel w; ahead: the next panel. */
TR_INLINE void pairs_sums(const int8_t *const x[2 * TILE_PAIRS], const char *w, int groups, const char *ahead,
                          const int pairs, dot_panel out[2 * TILE_PAIRS])
{
    int32x4_t acc[TILE_PAIRS][TILE_TURNS];
    int8x16_t input[TILE_PAIRS];
    UNROLL(3, r, 0, pairs)
        UNROLL(8, k, 0, TILE_TURNS)
            acc[r][k] = vdupq_n_s32(0);
    int g = 0;
    for (; g + 2 <= groups; g += 2) {
        const char *line = w + (size_t)g * TR_LINE;
        __builtin_prefetch(ahead + (size_t)g * TR_LINE, 0, 2);
        __builtin_prefetch(ahead + (size_t)(g + 1) * TR_LINE, 0, 2);
        UNROLL(3, r, 0, pairs)
            input[r] = pair_load(x + 2 * r, 4 * g);
        UNROLL(8, h, 0, DOT_PARTS)
            pairs_add(acc, input, pairs, h, dot_weight_load(line, h), dot_weight_load(line + TR_LINE, h));
    }
    if (g < groups) { /* the last 4 inputs: rows go on with zeros, the panel ends */
        UNROLL(3, r, 0, pairs)
            input[r] = pair_load(x + 2 * r, 4 * g);
        UNROLL(8, h, 0, DOT_PARTS)
            pairs_add(acc, input, pairs, h, dot_weight_load(w + (size_t)g * TR_LINE, h), vdupq_n_s8(0));
    }
    UNROLL(3, r, 0, pairs)
        UNROLL(8, h, 0, DOT_PARTS) {
            const int64x2_t a = vreinterpretq_s64_s32(acc[r][2 * h]), b = vreinterpretq_s64_s32(acc[r][2 * h + 1]);
            out[2 * r].part[h] = vreinterpretq_s32_s64(vzip1q_s64(a, b));
            out[2 * r + 1].part[h] = vreinterpretq_s32_s64(vzip2q_s64(a, b));
        }
}

static __attribute__((noinline)) void pairs_tile(const int8_t *const x[2 * TILE_PAIRS], const char *w, int groups,
                                                 const char *ahead, int pairs, dot_panel out[2 * TILE_PAIRS])
{
    switch (pairs) {
    case 1: pairs_sums(x, w, groups, ahead, 1, out); break;
    case 2: pairs_sums(x, w, groups, ahead, 2, out); break;
    case 3: pairs_sums(x, w, groups, ahead, 3, out); break;
    }
}

/* Rows [start, start + rows) with the panel of f, tile by tile; tiles are of nearly equal height. */
static void pairs_panel(const tr_matmul *op, int start, int rows, const i8_factors *f)
{
    const tr_matrix *m = op->weight;
    const size_t panel_bytes = tr_panel_bytes(m->inputs);
    const char *w = (const char *)m->data + (size_t)(f->first / TR_PANEL) * panel_bytes;
    const int all = (rows + 1) / 2, tiles = (all + TILE_PAIRS - 1) / TILE_PAIRS;
    for (int k = 0; k < tiles; k++) {
        const int top = 2 * (all * k / tiles), pairs = all * (k + 1) / tiles - top / 2;
        const int8_t *x[2 * TILE_PAIRS];
        dot_panel sums[2 * TILE_PAIRS];
        for (int r = 0; r < 2 * pairs; r++) /* rows that do not exist repeat the last one */
            x[r] = (const int8_t *)op->q->rows + (size_t)(start + (top + r < rows ? top + r : rows - 1)) * op->q->stride;
        pairs_tile(x, w, (m->inputs + 3) / 4, w + panel_bytes, pairs, sums);
        for (int r = 0; r < 2 * pairs && top + r < rows; r++)
            i8_output(op, f, start + top + r, sums[r].part);
    }
}

static bool dot_own_tiles(const tr_matmul *op, int begin, int end)
{
    if (op->rows <= 2)
        return false;
    const int block = rows_in_cache(op->weight->inputs);
    for (int start = 0; start < op->rows; start += block)
        for (int o = begin; o < end; o += TR_PANEL) {
            const i8_factors factors = i8_factors_of(op, o, end);
            pairs_panel(op, start, op->rows - start < block ? op->rows - start : block, &factors);
        }
    return true;
}

/* Multiply-adds of so many turns out of registers; see peak_tmpl.h. */
static __attribute__((noinline)) double dot_own_peak(int64_t turns)
{
    enum { SUMS = 16 };
    int32x4_t sums[SUMS];
    int8x16_t a = vdupq_n_s8(0), b = a;
    __asm__ volatile("" : "+w"(b));
    UNROLL(16, k, 0, SUMS)
        sums[k] = vdupq_n_s32(0);
    for (int64_t t = 0; t < turns; t++)
        UNROLL(16, k, 0, SUMS) {
            __asm__ volatile("" : "+w"(a));
            sums[k] = vmmlaq_s32(sums[k], a, b);
        }
    UNROLL(16, k, 0, SUMS)
        __asm__ volatile("" : "+w"(sums[k]));
    return (double)turns * SUMS * 32;
}
