/* One sheet for print: for each kind of attention the average with its tokens, and below it every layer and head. Cells are
 * drawn in steps of the weight's root, those of a step in one path, so that a sheet stays sharp at any size and small. */
#include "view/writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

/* In units of the sheet, which browsers show as pixels. */
enum {
    MARGIN = 36,
    BLOCK = 480, /* width of the part of a kind */
    GUTTER = 40, /* between two of them */
    BLOCKS = 3,
    WIDTH = 2 * MARGIN + BLOCKS * BLOCK + (BLOCKS - 1) * GUTTER,
    LINE = 24, /* of the texts */
    LARGEST_CELL = 30,
    LONGEST_LABEL = 110,
    SIDE = 30, /* the layers' names */
    GAP = 4,   /* between small maps */
    STEPS = 15 /* colours, without white */
};

/* The page's colours on white, from the faintest to the strongest step. */
static const char style[] =
    "text{font-family:'Noto Sans','Noto Sans SC','Noto Sans CJK SC',system-ui,'PingFang SC','Microsoft YaHei',sans-serif;"
    "fill:#191c21;white-space:pre}.s{fill:#5d6672}.b{font-weight:600}.e{text-anchor:end}.m{text-anchor:middle}"
    ".f{fill:none;stroke:#c4cad2}.n{fill:#eceef1}.r{fill:none;stroke:#d97706}"
    ".c1{fill:#eff5fb}.c2{fill:#e1ecf8}.c3{fill:#cde1f3}.c4{fill:#b5d4ee}.c5{fill:#99c4e7}.c6{fill:#7db4e0}.c7{fill:#5f9fd5}"
    ".c8{fill:#4a91ce}.c9{fill:#3781c2}.c10{fill:#266fb4}.c11{fill:#1a5fa8}.c12{fill:#144f95}.c13{fill:#0f4183}"
    ".c14{fill:#0b346b}.c15{fill:#08244f}";

typedef struct kind {
    const tr_attention_map *map;
    const char *name;
    const tr_view_text *rows, *columns;
    bool triangle; /* a row only has weights up to its own column */
} kind;

/* --------------------------------------------------------------------------------------------------------------- texts */

/* The approximate width of a character, relative to the font size: the layout does not know the font. */
static double width_of_character(int32_t code)
{
    const bool wide = code >= 0x1100 && (code < 0x1200 || code >= 0x2e80) && !(code >= 0xfb00 && code < 0xfe30);
    return wide ? 1.0 : code >= 'A' && code <= 'Z' ? 0.68 : 0.56;
}

static double width_of(tr_view_text text)
{
    double width = 0;
    for (size_t i = 0, length; i < text.size; i += length)
        width += width_of_character(tr_utf8_decode(text.data + i, text.size - i, &length));
    return width;
}

/* Bytes of text that fit into a line: up to a space, or to where characters need none between them. */
static size_t fit_line(tr_view_text text, double max_width)
{
    double width = 0;
    size_t end = 0, length;
    for (size_t i = 0; i < text.size; i += length) {
        const int32_t code = tr_utf8_decode(text.data + i, text.size - i, &length);
        width += width_of_character(code);
        if (width > max_width)
            return end ? end : i ? i : length;
        if (code == ' ' || code >= 0x2e80)
            end = i + length;
    }
    return text.size;
}

/* Draws a text as lines from *y on, and moves *y after them. */
static void put_lines(tr_view_writer *w, tr_view_text text, const char *class, double size, double *y)
{
    do {
        const size_t n = fit_line(text, (WIDTH - 2 * MARGIN) / size);
        *y += LINE;
        tr_view_print(w, "<text x=\"%d\" y=\"%.1f\" font-size=\"%.1f\" class=\"%s\">", MARGIN, *y, size, class);
        tr_view_put_markup(w, (tr_view_text){text.data, n});
        tr_view_print(w, "</text>\n");
        text = (tr_view_text){text.data + n, text.size - n};
    } while (text.size);
}

/* ---------------------------------------------------------------------------------------------------------------- maps */

static int step_of(float weight)
{
    return weight > 0 ? (int)lrintf(sqrtf(weight < 1 ? weight : 1) * STEPS) : 0;
}

/* Draws the cells of one colour step as a path; neighbours in a row are one rectangle. */
static void put_step(tr_view_writer *w, const unsigned char *steps, int rows, int columns, int step)
{
    bool any = false;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns;) {
            const unsigned char *row = steps + (size_t)r * (size_t)columns;
            int n = 0;
            while (c + n < columns && row[c + n] == step)
                n++;
            if (n && !any)
                tr_view_print(w, "<path class=\"c%d\" d=\"", step);
            if (n)
                tr_view_print(w, "M%d %dh%dv1h-%dz", c, r, n, n);
            any |= n > 0;
            c += n + 1;
        }
    if (any)
        tr_view_print(w, "\"/>");
}

/* Draws weights [rows, columns] in a frame at x, y; cell: width and height of a cell. */
static void put_map(tr_view_writer *w, const kind *k, const float *weights, double x, double y, double cell)
{
    const int rows = k->map->rows, columns = k->map->columns;
    const size_t cells = (size_t)rows * (size_t)columns;
    unsigned char *steps = malloc(cells ? cells : 1);
    w->failed = w->failed || !steps;
    for (size_t i = 0; steps && i < cells; i++)
        steps[i] = (unsigned char)step_of(weights[i]);
    tr_view_print(w, "<g transform=\"translate(%.2f %.2f) scale(%.4f)\" shape-rendering=\"crispEdges\">", x, y, cell);
    for (int r = 0; k->triangle && r + 1 < rows; r++)
        tr_view_print(w, "<path class=\"n\" d=\"M%d %dH%dv1H%dz\"/>", r + 1, r, columns, r + 1);
    for (int step = 1; steps && step <= STEPS; step++)
        put_step(w, steps, rows, columns, step);
    tr_view_print(w, "</g><rect class=\"f\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" stroke-width=\".75\"/>\n",
                  x, y, columns * cell, rows * cell);
    free(steps);
}

/* The average over heads of layer, or, if it is -1, of all layers, in sum [rows, columns]. */
static void average(const tr_attention_map *map, int layer, float *sum)
{
    const size_t cells = (size_t)map->rows * (size_t)map->columns;
    const size_t first = layer < 0 ? 0 : (size_t)layer * (size_t)map->heads;
    const size_t count = layer < 0 ? (size_t)map->layers * (size_t)map->heads : (size_t)map->heads;
    for (size_t i = 0; i < cells; i++) {
        sum[i] = 0;
        for (size_t h = 0; h < count; h++)
            sum[i] += map->weights[(first + h) * cells + i] / (float)count;
    }
}

/* ---------------------------------------------------------------------------------------------- an average with labels */

/* Without SentencePiece's leading space symbol. */
static tr_view_text name_of(tr_view_text token)
{
    const bool space = token.size > 3 && memcmp(token.data, "\xe2\x96\x81", 3) == 0;
    return space ? (tr_view_text){token.data + 3, token.size - 3} : token;
}

static double longest(const tr_view_text *tokens, int count, double size)
{
    double width = 2 * size;
    for (int i = 0; i < count; i++)
        width = fmax(width, width_of(name_of(tokens[i])) * size);
    return fmin(width, LONGEST_LABEL) + 6;
}

typedef struct large {
    double cell, size; /* of a cell, of the font */
    double left, top;  /* space for the labels */
} large;

/* Labels and cells together fill the width, but cells have a maximum size. */
static large lay_out(const kind *k)
{
    large l = {.cell = LARGEST_CELL, .size = 13};
    for (int round = 0; round < 3; round++) { /* the labels' size and the cells' depend on each other */
        l.left = longest(k->rows, k->map->rows, l.size);
        l.top = longest(k->columns, k->map->columns, l.size);
        const int cells = k->map->columns > k->map->rows ? k->map->columns : k->map->rows;
        l.cell = fmin(LARGEST_CELL, (BLOCK - l.left) / (cells ? cells : 1));
        l.size = fmin(13, l.cell * 0.82);
    }
    return l;
}

/* A token that is longer than its space is compressed. */
static void put_label(tr_view_writer *w, tr_view_text token, double size, double x, double y, bool upright)
{
    const double width = width_of(token) * size;
    tr_view_print(w, "<text font-size=\"%.2f\" transform=\"translate(%.2f %.2f)%s\"%s", size, x, y,
                  upright ? " rotate(-90)" : "", upright ? "" : " class=\"e\"");
    if (width > LONGEST_LABEL)
        tr_view_print(w, " textLength=\"%d\" lengthAdjust=\"spacingAndGlyphs\"", LONGEST_LABEL);
    tr_view_print(w, ">");
    tr_view_put_markup(w, token);
    tr_view_print(w, "</text>");
}

/* alignment: NULL or [rows]. */
static void put_large(tr_view_writer *w, const kind *k, const float *mean, const int32_t *alignment, double x, double y)
{
    const large l = lay_out(k);
    for (int c = 0; c < k->map->columns; c++)
        put_label(w, name_of(k->columns[c]), l.size, x + l.left + (c + 0.5) * l.cell + l.size * 0.35, y + l.top - 5, true);
    for (int r = 0; r < k->map->rows; r++)
        put_label(w, name_of(k->rows[r]), l.size, x + l.left - 5, y + l.top + (r + 0.5) * l.cell + l.size * 0.35, false);
    put_map(w, k, mean, x + l.left, y + l.top, l.cell);
    for (int r = 0; alignment && r < k->map->rows; r++)
        if (alignment[r] >= 0 && alignment[r] < k->map->columns)
            tr_view_print(w,
                          "<rect class=\"r\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" stroke-width=\"%.2f\"/>",
                          x + l.left + (alignment[r] + 0.08) * l.cell, y + l.top + (r + 0.08) * l.cell, 0.84 * l.cell,
                          0.84 * l.cell, fmin(1.5, 0.12 * l.cell));
}

/* --------------------------------------------------------------------------------------------------- all layers, heads */

static double pitch_of(const kind *k)
{
    return fmin(72, (double)(BLOCK - SIDE) / (k->map->heads + 1));
}

static void put_grid(tr_view_writer *w, const kind *k, float *mean, double x, double y)
{
    const tr_attention_map *map = k->map;
    const size_t cells = (size_t)map->rows * (size_t)map->columns;
    const double pitch = pitch_of(k), side = pitch - GAP, size = fmin(11, pitch * 0.4);
    const int longer = map->rows > map->columns ? map->rows : map->columns;
    for (int h = 0; h <= map->heads; h++) {
        tr_view_print(w, "<text class=\"s m\" font-size=\"%.1f\" x=\"%.2f\" y=\"%.2f\">", size, x + SIDE + (h + 0.5) * pitch,
                      y);
        tr_view_print(w, h ? "%d</text>" : "mean</text>", h);
    }
    for (int l = 0; l < map->layers; l++) {
        const double top = y + 7 + l * pitch;
        tr_view_print(w, "<text class=\"s e\" font-size=\"%.1f\" x=\"%.2f\" y=\"%.2f\">L%d</text>\n", size, x + SIDE - 7,
                      top + side / 2 + size * 0.35, l + 1);
        average(map, l, mean);
        for (int h = 0; h <= map->heads; h++) {
            const float *weights = h ? map->weights + ((size_t)l * (size_t)map->heads + (size_t)h - 1) * cells : mean;
            put_map(w, k, weights, x + SIDE + h * pitch, top, side / (longer ? longer : 1));
        }
    }
}

/* ----------------------------------------------------------------------------------------------------------- the sheet */

static double height_of_large(const kind *k)
{
    const large l = lay_out(k);
    return l.top + k->map->rows * l.cell;
}

static void put_kind(tr_view_writer *w, const kind *k, const int32_t *alignment, double x, double y, double grid)
{
    const tr_attention_map *map = k->map;
    const size_t cells = (size_t)map->rows * (size_t)map->columns;
    float *mean = calloc(cells ? cells : 1, sizeof *mean);
    w->failed = w->failed || !mean;
    tr_view_print(w, "<text class=\"b\" font-size=\"15\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x, y, k->name);
    if (mean && map->layers && map->heads && cells) {
        average(map, -1, mean);
        put_large(w, k, mean, alignment, x, y + 14);
        put_grid(w, k, mean, x, grid);
    } else {
        tr_view_print(w, "<text class=\"s\" font-size=\"13\" x=\"%.1f\" y=\"%.1f\">none / 无</text>\n", x, y + LINE);
    }
    free(mean);
}

/* The legend of the colours. */
static void put_legend(tr_view_writer *w, double y, bool alignment)
{
    enum { STEP = 18, BEGIN = MARGIN + 96 };
    static const int percents[] = {0, 1, 10, 25, 50, 100};
    tr_view_print(w, "<text class=\"s\" font-size=\"12\" x=\"%d\" y=\"%.1f\">weight / 权重, %%</text>\n", MARGIN, y + 10);
    for (int step = 1; step <= STEPS; step++)
        tr_view_print(w, "<rect class=\"c%d\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"12\"/>", step, BEGIN + step * STEP,
                      y, STEP);
    tr_view_print(w, "<rect class=\"f\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"12\"/>\n", BEGIN, y, (STEPS + 1) * STEP);
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++)
        tr_view_print(w, "<text class=\"s m\" font-size=\"11\" x=\"%.1f\" y=\"%.1f\">%d</text>",
                      BEGIN + (STEPS * sqrt(percents[i] / 100.0) + 0.5) * STEP, y + 25, percents[i]);
    if (alignment)
        tr_view_print(w,
                      "<rect class=\"r\" x=\"%d\" y=\"%.1f\" width=\"12\" height=\"12\" stroke-width=\"1.5\"/>"
                      "<text class=\"s\" font-size=\"12\" x=\"%d\" y=\"%.1f\">alignment / 对齐</text>",
                      BEGIN + (STEPS + 2) * STEP, y, BEGIN + (STEPS + 3) * STEP, y + 10);
    tr_view_print(w, "\n");
}

static void put_sheet(tr_view_writer *w, const tr_view *v)
{
    const kind kinds[BLOCKS] = {
        {&v->cross, "Cross-attention: translation → source / 交叉注意力：译文 → 原文", v->target, v->source, false},
        {&v->encoder, "Encoder: source → source / 编码器：原文 → 原文", v->source, v->source, false},
        {&v->decoder, "Decoder: translation → translation / 解码器：译文 → 译文", v->target, v->inputs, true}};
    double y = MARGIN - LINE / 2, highest = 0, small = 0;
    for (int i = 0; i < BLOCKS; i++) {
        highest = fmax(highest, height_of_large(&kinds[i]));
        small = fmax(small, pitch_of(&kinds[i]) * kinds[i].map->layers);
    }
    /* The height of the sheet depends on the texts; they are short, so they are written first, after a fixed head. */
    tr_buffer body = {0};
    tr_view_writer inner = {.out = &body};
    put_lines(&inner, v->text, "b", 17, &y);
    put_lines(&inner, v->translation, "", 17, &y);
    put_lines(&inner, v->model, "s", 12, &y);
    const double top = y + 44, grid = top + 14 + highest + 34, legend = grid + small + 22;
    for (int i = 0; i < BLOCKS; i++)
        put_kind(&inner, &kinds[i], i == 0 ? v->alignment : NULL, MARGIN + i * (BLOCK + GUTTER), top, grid);
    put_legend(&inner, legend, v->alignment != NULL);
    tr_view_print(
        w,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
        "viewBox=\"0 0 %d %.0f\">\n<title>",
        WIDTH, legend + 25 + MARGIN, WIDTH, legend + 25 + MARGIN);
    tr_view_put_markup(w, v->text);
    tr_view_print(w, "</title>\n<style>");
    tr_view_put(w, style, sizeof style - 1);
    tr_view_print(w, "</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n");
    tr_view_put(w, body.data, body.size);
    tr_view_print(w, "</svg>\n");
    w->failed = w->failed || inner.failed;
    tr_buffer_free(&body);
}

tr_status tr_view_svg(const tr_view *view, tr_buffer *out, tr_error *error)
{
    const size_t size = out->size;
    tr_view_writer w = {.out = out};
    const tr_status status = tr_view_check(view, TR_VIEW_MAX_SVG, "a picture", error);
    if (status != TR_OK)
        return status;
    put_sheet(&w, view);
    return tr_view_done(&w, size, error);
}
