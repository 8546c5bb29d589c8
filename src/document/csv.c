/* CSV (RFC 4180, with commas or semicolons) and TSV (tabs, without quotes): each cell of text is a unit. Rows may differ in
 * length.
 *
 * settings.columns: "2,4-6" or names of the first row, "title,description". Of columns chosen by number every cell is
 * translated, also in the first row; of those chosen by name the first row stays. Without columns, cells are translated that
 * people read: with letters, and no URL, file name, identifier or date. */
#include "document/bytes.h"
#include "document/formats.h"

#include <stdlib.h>
#include <string.h>

enum { UNQUOTED, QUOTED, TABBED }; /* tr_unit.style: how a cell is written */

typedef struct column_range {
    size_t first, last;
} column_range;

typedef struct reader {
    tr_document *document;
    char delimiter;
    bool has_names;
    tr_buffer ranges; /* of column_range: chosen by number */
    tr_buffer named;  /* of bool: per column of the first row, whether its name was chosen */
} reader;

/* ------------------------------------------------------------------------------------------------- which cells are text */

/* Letters of all scripts, roughly: punctuation and symbols are none. */
static bool is_letter(int32_t c)
{
    return tr_is_ascii_letter(c) ||
           (c >= 0xaa && c != 0xd7 && c != 0xf7 && !(c >= 0x2000 && c <= 0x2bff) && !(c >= 0x3000 && c <= 0x3004) &&
            !(c >= 0x3008 && c <= 0x3020) && !(c >= 0xff01 && c <= 0xff20) && c != 0xb0 && c != 0xb7 && c != 0xfeff);
}

static bool has_letter(const char *text, size_t size)
{
    size_t length;
    for (size_t i = 0; i < size; i += length)
        if (is_letter(tr_utf8_decode(text + i, size - i, &length)))
            return true;
    return false;
}

/* One word of ASCII that looks like no word of a language: A12-33, user_name, a@b.org, http://a.b, /usr/bin, image.png. */
static bool is_identifier(const char *text, size_t size)
{
    static const char *const literals[] = {"true", "false", "TRUE", "FALSE", "True", "False",
                                           "null", "NULL",  "NaN",  "nan",   NULL};
    size_t slashes = 0;
    for (size_t i = 0; i < size; i++)
        if (tr_is_ascii_space(text[i]) || (unsigned char)text[i] >= 0x80)
            return false;
    for (size_t i = 0; i < size; i++) {
        slashes += text[i] == '/';
        if (tr_is_ascii_digit(text[i]) || strchr("_@\\=", text[i]))
            return true;
        if (text[i] == '.' && i && i + 1 < size && tr_is_ascii_letter(text[i - 1]) && tr_is_ascii_letter(text[i + 1]))
            return true;
    }
    return slashes > 1 || *text == '/' || tr_is_one_of(text, size, literals);
}

static bool is_chosen(const reader *r, size_t column)
{
    const column_range *ranges = (const column_range *)(const void *)r->ranges.data;
    if (column < r->named.size && r->named.data[column])
        return true;
    for (size_t i = 0; i < r->ranges.size / sizeof *ranges; i++)
        if (column >= ranges[i].first && column <= ranges[i].last)
            return true;
    return false;
}

/* --------------------------------------------------------------------------------------------------------------- cells */

/* The text of a cell, data[begin .. end), without its quotes and the white space around it; the cell is data[from .. to). */
typedef struct cell {
    size_t begin, end, from, to;
    bool quoted;
} cell;

static bool ends_cell(const reader *r, size_t at)
{
    const tr_document *d = r->document;
    return at >= d->size || d->data[at] == r->delimiter || d->data[at] == '\n' || d->data[at] == '\r';
}

/* The end of the quoted text whose quote is at data[at]: its closing quote, or the size of the document. */
static size_t closing_quote(const tr_document *d, size_t at)
{
    for (at++; at < d->size; at++)
        if (d->data[at] == '"') {
            if (at + 1 >= d->size || d->data[at + 1] != '"')
                break;
            at++;
        }
    return at;
}

static tr_status scan_cell(const reader *r, size_t at, cell *found, tr_error *error)
{
    const tr_document *d = r->document;
    *found = (cell){.begin = at, .from = at, .quoted = r->delimiter != '\t' && at < d->size && d->data[at] == '"'};
    if (found->quoted) {
        found->begin++;
        found->end = closing_quote(d, at);
        found->to = found->end + 1;
        if (found->end >= d->size)
            return tr_document_fail(d, at, error, "the quote is not closed");
        if (!ends_cell(r, found->to))
            return tr_document_fail(d, found->to, error,
                                    "text follows the closing quote; quotes in quoted text are doubled");
    } else {
        while (!ends_cell(r, at))
            at++;
        found->end = found->to = at;
    }
    while (found->begin < found->end && tr_is_ascii_space(d->data[found->begin]))
        found->begin++;
    while (found->begin < found->end && tr_is_ascii_space(d->data[found->end - 1]))
        found->end--;
    return TR_OK;
}

static tr_status add_cell(const reader *r, const cell *c, size_t row, size_t column, tr_error *error)
{
    tr_document *d = r->document;
    const char *text = d->data + c->begin;
    const size_t size = c->end - c->begin;
    if ((r->has_names && !row) || !has_letter(text, size))
        return TR_OK;
    if (d->settings.columns ? !is_chosen(r, column) : is_identifier(text, size))
        return TR_OK;
    tr_status status = tr_unit_begin(d, r->delimiter == '\t' ? TABBED : c->quoted ? QUOTED : UNQUOTED, error);
    if (status == TR_OK)
        status = tr_unit_piece(d, TR_PIECE_TEXT, c->begin, c->end, error);
    if (status == TR_OK)
        tr_unit_end_at(d, c->quoted ? c->begin : c->from, c->quoted ? c->end : c->to);
    return status;
}

/* The beginning of the row after the one that ends at data[at], a line break. */
static size_t next_row(const tr_document *d, size_t at)
{
    return at + 1 + (d->data[at] == '\r' && at + 1 < d->size && d->data[at + 1] == '\n');
}

static tr_status read_rows(const reader *r, size_t at, tr_error *error)
{
    tr_document *d = r->document;
    cell c;
    for (size_t row = 0, column = 0; at < d->size;) {
        tr_status status = scan_cell(r, at, &c, error);
        if (status == TR_OK)
            status = add_cell(r, &c, row, column, error);
        if (status != TR_OK)
            return status;
        if (c.to < d->size && d->data[c.to] == r->delimiter) {
            at = c.to + 1;
            column++;
        } else {
            at = c.to < d->size ? next_row(d, c.to) : d->size;
            column = 0;
            row++;
        }
    }
    return TR_OK;
}

/* ------------------------------------------------------------------------------------------------------------- columns */

/* "3" or "4-6". */
static bool parse_range(const char *item, size_t size, column_range *range)
{
    size_t numbers[2] = {0}, count = 0;
    for (size_t i = 0; i < size; i++) {
        if (item[i] == '-' && i && i + 1 < size && !count)
            count++;
        else if (tr_is_ascii_digit(item[i]) && numbers[count] < SIZE_MAX / 100)
            numbers[count] = numbers[count] * 10 + (size_t)(item[i] - '0');
        else
            return false;
    }
    *range = (column_range){numbers[0] - 1, numbers[count] - 1};
    return size && numbers[0] && numbers[count] >= numbers[0];
}

/* Chooses the columns of this name, in the first row, which begins at data[at]. */
static tr_status choose_named(reader *r, size_t at, const char *name, size_t size, tr_error *error)
{
    const tr_document *d = r->document;
    const size_t row = at;
    bool found = false;
    cell c = {.to = at};
    r->has_names = true;
    for (size_t column = 0; at <= d->size; column++) {
        const tr_status status = scan_cell(r, at, &c, error);
        if (status != TR_OK)
            return status;
        const bool same = c.end - c.begin == size && memcmp(d->data + c.begin, name, size) == 0;
        if (column == r->named.size && !tr_buffer_append(&r->named, "", 1))
            return tr_fail_memory(error, d->name);
        r->named.data[column] |= same;
        found |= same;
        if (c.to >= d->size || d->data[c.to] != r->delimiter)
            break;
        at = c.to + 1;
    }
    return found ? TR_OK : tr_document_fail(d, row, error, "no column has the name %.*s", (int)size, name);
}

static tr_status choose_columns(reader *r, size_t at, tr_error *error)
{
    const char *item = r->document->settings.columns;
    tr_status status = TR_OK;
    for (const char *end; item && *item && status == TR_OK; item = *end ? end + 1 : end) {
        end = item + strcspn(item, ",");
        size_t size = (size_t)(end - item);
        while (size && tr_is_ascii_space(*item)) {
            item++;
            size--;
        }
        while (size && tr_is_ascii_space(item[size - 1]))
            size--;
        column_range range;
        if (!parse_range(item, size, &range))
            status = choose_named(r, at, item, size < 1000 ? size : 1000, error);
        else if (!tr_buffer_append(&r->ranges, &range, sizeof range))
            status = tr_fail_memory(error, r->document->name);
    }
    return status;
}

/* ----------------------------------------------------------------------------------------------------------- documents */

/* The first , or ; that ends a cell. A comma before a space or between digits does not, if a semicolon follows. What follows
 * it is not looked at: translations may have both in quotes. */
static char find_delimiter(const tr_document *d, size_t at)
{
    const bool quoted = at < d->size && d->data[at] == '"';
    if (quoted)
        at = closing_quote(d, at) + 1;
    for (; !quoted && at < d->size && !memchr("\n\r\";", d->data[at], 4); at++) {
        const char next = at + 1 < d->size ? d->data[at + 1] : 0;
        if (d->data[at] == ',' && next != ' ' && !(at && tr_is_ascii_digit(d->data[at - 1]) && tr_is_ascii_digit(next)))
            return ',';
    }
    return at < d->size && d->data[at] == ';' ? ';' : ',';
}

static tr_status read_table(tr_document *d, char delimiter, tr_error *error)
{
    reader r = {.document = d, .delimiter = delimiter};
    size_t at = tr_document_begin(d);
    /* Excel's first line that tells the delimiter. */
    if (!delimiter && d->size > at + 5 && memcmp(d->data + at, "sep=", 4) == 0 && memchr(",;\t", d->data[at + 4], 3) &&
        (d->data[at + 5] == '\n' || d->data[at + 5] == '\r')) {
        r.delimiter = d->data[at + 4];
        at = next_row(d, at + 5);
    }
    if (!r.delimiter)
        r.delimiter = find_delimiter(d, at);
    tr_status status = choose_columns(&r, at, error);
    if (status == TR_OK)
        status = read_rows(&r, at, error);
    tr_buffer_free(&r.ranges);
    tr_buffer_free(&r.named);
    return status;
}

static tr_status read_csv(tr_document *d, tr_error *error)
{
    return read_table(d, 0, error);
}

static tr_status read_tsv(tr_document *d, tr_error *error)
{
    return read_table(d, '\t', error);
}

static bool decode_cell(const tr_document *d, const tr_unit *unit, uint32_t begin, uint32_t end, tr_buffer *text)
{
    if (unit->style != QUOTED)
        return tr_buffer_append(text, d->data + begin, end - begin);
    for (uint32_t i = begin; i < end; i++) {
        if (!tr_buffer_append(text, d->data + i, 1))
            return false;
        i += d->data[i] == '"'; /* the second of a pair */
    }
    return true;
}

static bool encode_cell(const tr_document *d, const tr_unit *unit, const char *text, size_t size, tr_buffer *out)
{
    (void)d;
    for (size_t i = 0; i < size; i++) {
        const bool space = unit->style == TABBED && strchr("\t\n\r", text[i]) && text[i];
        if (!tr_buffer_append(out, space ? " " : text + i, 1) ||
            (text[i] == '"' && unit->style != TABBED && !tr_buffer_append(out, "\"", 1)))
            return false;
    }
    return true;
}

/* Quotes a cell that had no quotes where it needs them now. Both delimiters count, so that a first row tells the same one.
 */
static tr_status render_cell(const tr_document *d, const tr_rendering *rendering, tr_buffer *out, tr_error *error)
{
    const tr_unit *unit = rendering->unit;
    const tr_piece *piece = tr_unit_pieces(d, unit);
    const tr_document_translation *t = &rendering->translation;
    bool quotes = false;
    for (size_t i = 0; i < t->size && unit->style == UNQUOTED && !quotes; i++)
        quotes = t->text[i] && strchr(",;\t\"\r\n", t->text[i]);
    if (rendering->same)
        return tr_buffer_append(out, d->data + unit->begin, unit->end - unit->begin) ? TR_OK
                                                                                     : tr_fail_memory(error, d->name);
    if ((quotes && !tr_buffer_append(out, "\"", 1)) ||
        !tr_buffer_append(out, d->data + unit->begin, piece->begin - unit->begin) ||
        !encode_cell(d, unit, t->text, t->size, out) ||
        !tr_buffer_append(out, d->data + piece->end, unit->end - piece->end) || (quotes && !tr_buffer_append(out, "\"", 1)))
        return tr_fail_memory(error, d->name);
    return TR_OK;
}

const tr_document_format tr_format_csv = {
    .read = read_csv,
    .decode = decode_cell,
    .render = render_cell,
};

const tr_document_format tr_format_tsv = {
    .read = read_tsv,
    .decode = decode_cell,
    .render = render_cell,
};
