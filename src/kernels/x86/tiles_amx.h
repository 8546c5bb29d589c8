/* int8 products of many rows on AMX: a tile register holds 16 rows of 64 bytes, and panels of weights (k4n16) are what
 * tdpbusd takes. Two blocks of rows by two panels fill the registers:
 *     0 1 | 2 3   sums of block a with panels 0 1 | of block b
 *     4 5         rows of block a, b (64 inputs)
 *     6 7         64 inputs of panel 0, 1
 * Rows are stored as dot_avx512vnni.h stores them. Included by i8_tmpl.h. */

typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t column_bytes[16];
    uint8_t rows[16];
} tile_config;

enum { TILE_INPUTS = 64, TILE_LINES = 16, AMX_ROWS = 5 }; /* fewer rows are faster without tiles */

static void configure_tiles(int height)
{
    _Alignas(64) tile_config config = {.palette = 1};
    for (int t = 0; t < 8; t++) {
        config.column_bytes[t] = 64;
        config.rows[t] = (uint8_t)(t < 6 ? height : TILE_LINES);
    }
    __asm__ volatile("" : : "r"(&config) : "memory"); /* gcc believes that the next line reads 8 bytes only */
    _tile_loadconfig(&config);
}

/* One fill of the registers: rows first .. last - 1 by one or two panels from output o on. The two blocks of rows have
 * `height` rows each and begin at a and b; they may overlap rows that are already computed. */
typedef struct tile_unit {
    int o, panels;
    int first, last, a, b;
    bool two_blocks;
} tile_unit;

/* A unit whose sums are complete and become outputs, row by row, while the next unit is in the tiles. */
typedef struct tile_pending {
    _Alignas(64) int32_t sums[4][TILE_LINES * TR_PANEL];
    i8_factors factors[2];
    tile_unit unit;
    int next; /* row */
} tile_pending;

static tile_unit unit_at(const tr_matmul *op, int height, int o, int end, int row)
{
    const int bottom = op->rows - height; /* the last block's first row */
    tile_unit u = {.o = o, .panels = end - o > TR_PANEL ? 2 : 1, .first = row, .a = row < bottom ? row : bottom};
    u.b = u.a + height < bottom ? u.a + height : bottom;
    u.two_blocks = u.a + height < op->rows;
    u.last = u.two_blocks ? u.b + height : op->rows;
    return u;
}

static void put_rows(const tr_matmul *op, int height, tile_pending *p, int count)
{
    const int last = p->unit.last - p->next < count ? p->unit.last : p->next + count;
    for (int row = p->next; row < last; row++) {
        const bool in_b = row >= p->unit.a + height;
        const int line = row - (in_b ? p->unit.b : p->unit.a);
        for (int k = 0; k < p->unit.panels; k++) {
            const dot_sum sum = _mm512_load_si512(p->sums[2 * in_b + k] + line * TR_PANEL);
            i8_output(op, &p->factors[k], row, &sum);
        }
    }
    p->next = last;
}

/* The sums of a unit, in the registers. ahead: where to fetch lines from meanwhile, so many for every 64 inputs. */
TR_INLINE void tile_sums(const tr_matmul *op, const tile_unit *u, int height, tile_pending *pending, const char *ahead,
                         int lines, const bool two_blocks, const bool two_panels)
{
    const tr_matrix *m = op->weight;
    const size_t panel_bytes = tr_panel_bytes(m->inputs), stride = op->q->stride;
    const char *w = (const char *)m->data + (size_t)(u->o / TR_PANEL) * panel_bytes;
    const char *a = (const char *)op->q->rows + (size_t)u->a * stride,
               *b = (const char *)op->q->rows + (size_t)u->b * stride;
    const int steps = m->inputs / TILE_INPUTS, put = (pending->unit.last - pending->next + steps - 1) / steps;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int k = 0; k < steps; k++, w += TILE_INPUTS * TILE_LINES) {
        for (int line = 0; line < lines; line++)
            __builtin_prefetch(ahead + 64 * line, 0, 2);
        ahead += 64 * lines;
        _tile_loadd(6, w, TR_LINE);
        _tile_loadd(4, a + k * TILE_INPUTS, stride);
        _tile_dpbusd(0, 4, 6);
        if (two_panels) {
            _tile_loadd(7, w + panel_bytes, TR_LINE);
            _tile_dpbusd(1, 4, 7);
        }
        if (two_blocks) {
            _tile_loadd(5, b + k * TILE_INPUTS, stride);
            _tile_dpbusd(2, 5, 6);
            if (two_panels)
                _tile_dpbusd(3, 5, 7);
        }
        put_rows(op, height, pending, put);
    }
}

static void run_unit(const tr_matmul *op, const tile_unit *u, int height, int end, tile_pending *pending, const char *ahead,
                     int lines)
{
    if (u->two_blocks && u->panels == 2)
        tile_sums(op, u, height, pending, ahead, lines, true, true);
    else if (u->two_blocks)
        tile_sums(op, u, height, pending, ahead, lines, true, false);
    else if (u->panels == 2)
        tile_sums(op, u, height, pending, ahead, lines, false, true);
    else
        tile_sums(op, u, height, pending, ahead, lines, false, false);
    _tile_stored(0, pending->sums[0], TR_LINE);
    _tile_stored(1, pending->sums[1], TR_LINE);
    _tile_stored(2, pending->sums[2], TR_LINE);
    _tile_stored(3, pending->sums[3], TR_LINE);
    for (int p = 0; p < u->panels; p++)
        pending->factors[p] = i8_factors_of(op, u->o + p * TR_PANEL, end);
    pending->unit = *u;
    pending->next = u->first;
}

static bool dot_own_tiles(const tr_matmul *op, int begin, int end)
{
    const tr_matrix *m = op->weight;
    if (op->rows < AMX_ROWS || m->inputs % TILE_INPUTS)
        return false;
    const int blocks = (op->rows + TILE_LINES - 1) / TILE_LINES, height = (op->rows + blocks - 1) / blocks;
    tile_pending pending;
    pending.next = pending.unit.last = 0;
    configure_tiles(height);
    for (int o = begin; o < end; o += 2 * TR_PANEL) {
        /* the next two panels come to the second-level cache while these are used */
        const char *ahead = (const char *)m->data + (size_t)(o / TR_PANEL + 2) * tr_panel_bytes(m->inputs);
        const int lines = 2 * TILE_LINES / ((blocks + 1) / 2);
        for (int row = 0; row < op->rows;) {
            const tile_unit u = unit_at(op, height, o, end, row);
            run_unit(op, &u, height, end, &pending, ahead, lines);
            ahead += (size_t)(lines * m->inputs / TILE_INPUTS) * TR_LINE;
            row = u.last;
        }
    }
    _tile_release();
    put_rows(op, height, &pending, op->rows);
    return true;
}

/* See peak_tmpl.h. */
static double dot_own_peak(int64_t turns)
{
    configure_tiles(TILE_LINES);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    _tile_zero(6);
    _tile_zero(7);
    for (int64_t t = 0; t < turns; t++) {
        _tile_dpbusd(0, 4, 6);
        _tile_dpbusd(1, 4, 7);
        _tile_dpbusd(2, 5, 6);
        _tile_dpbusd(3, 5, 7);
    }
    _tile_release();
    return (double)turns * 4 * TILE_LINES * TR_PANEL * TILE_INPUTS;
}
