/* int8 products of many rows on AMX: a tile register holds 16 rows of 64 bytes, and panels of weights (k4n16) are what
 * tdpbusd takes. Two blocks of rows by two panels fill the registers:
 *     0 1 | 2 3   sums of block a with panels 0 1 | of block b
 *     4 5         rows of block a, b (64 inputs)
 *     6 7         64 inputs of panel 0, 1
 * Rows are stored as dot_avx512vnni.h stores them. Include behind i8_tmpl.h. */

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

/* Where the blocks of rows begin; each is height rows, so the last ones may overlap. */
typedef struct tile_rows {
    const char *a, *b; /* b NULL: there is no second block */
    size_t stride;
} tile_rows;

/* The sums of one or two blocks of rows with panels w and w + panel_bytes. ahead: fetched line by line meanwhile. */
TR_INLINE void tile_sums(const tile_rows *rows, const char *w, size_t panel_bytes, int inputs, const bool two_blocks,
                         const bool two_panels, const char *ahead, const int fetched)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int i = 0; i < inputs; i += TILE_INPUTS) {
        const char *lines = w + (size_t)i * TILE_LINES;
        for (int line = 0; line < fetched; line++)
            __builtin_prefetch(ahead + 64 * line, 0, 2);
        ahead += 64 * fetched;
        _tile_loadd(6, lines, TR_LINE);
        _tile_loadd(4, rows->a + i, rows->stride);
        _tile_dpbusd(0, 4, 6);
        if (two_panels) {
            _tile_loadd(7, lines + panel_bytes, TR_LINE);
            _tile_dpbusd(1, 4, 7);
        }
        if (two_blocks) {
            _tile_loadd(5, rows->b + i, rows->stride);
            _tile_dpbusd(2, 5, 6);
            if (two_panels)
                _tile_dpbusd(3, 5, 7);
        }
    }
}

/* Outputs of rows [from, top + height) out of a block's sums with one panel; earlier rows of it are another block's. */
TR_INLINE void tile_outputs(const tr_matmul *op, const i8_factors *factors, const int32_t *sums, int top, int from, int height)
{
    for (int r = from - top; r < height; r++) {
        const dot_sum sum = _mm512_load_si512(sums + r * TR_PANEL);
        i8_output(op, factors, top + r, &sum);
    }
}

/* All rows with one or two panels from output o on. */
TR_INLINE void tile_panels(const tr_matmul *op, int height, int o, int last, const bool two_panels)
{
    _Alignas(64) int32_t sums[4][TILE_LINES * TR_PANEL];
    const tr_matrix *m = op->weight;
    const size_t panel_bytes = tr_panel_bytes(m->inputs);
    const char *w = (const char *)m->data + (size_t)(o / TR_PANEL) * panel_bytes;
    const char *ahead = w + (two_panels ? 2 : 1) * panel_bytes;
    const i8_factors factors[2] = {i8_factors_of(op, o, last), i8_factors_of(op, two_panels ? o + TR_PANEL : o, last)};
    int done = 0; /* rows whose outputs are there */
    while (done < op->rows) {
        const int most = op->rows - height; /* the last block's first row */
        const int a = done < most ? done : most, b = a + height < most ? a + height : most;
        const bool two_blocks = a + height < op->rows;
        const char *rows = op->q->rows;
        const tile_rows blocks = {rows + (size_t)a * op->q->stride, rows + (size_t)b * op->q->stride, op->q->stride};
        if (!two_blocks)
            tile_sums(&blocks, w, panel_bytes, m->inputs, false, two_panels, ahead, done ? 0 : two_panels ? 32 : 16);
        else
            tile_sums(&blocks, w, panel_bytes, m->inputs, true, two_panels, ahead, done ? 0 : two_panels ? 32 : 16);
        _tile_stored(0, sums[0], TR_LINE);
        _tile_stored(1, sums[1], TR_LINE);
        _tile_stored(2, sums[2], TR_LINE);
        _tile_stored(3, sums[3], TR_LINE);
        for (int p = 0; p <= two_panels; p++) {
            tile_outputs(op, &factors[p], sums[p], a, done, height);
            if (two_blocks)
                tile_outputs(op, &factors[p], sums[2 + p], b, a + height, height);
        }
        done = two_blocks ? b + height : a + height;
    }
}

static bool dot_own_tiles(const tr_matmul *op, int first, int last)
{
    if (op->rows < AMX_ROWS || op->weight->inputs % TILE_INPUTS)
        return false;
    const int blocks = (op->rows + TILE_LINES - 1) / TILE_LINES, height = (op->rows + blocks - 1) / blocks;
    configure_tiles(height);
    int o = first;
    for (; o + TR_PANEL < last; o += 2 * TR_PANEL)
        tile_panels(op, height, o, last, true);
    if (o < last)
        tile_panels(op, height, o, last, false);
    _tile_release();
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
