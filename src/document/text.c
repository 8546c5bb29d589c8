/* Plain text: each line is a unit. With paragraphs, lines that follow each other are one, as in mail and text from PDF. In
 * bilingual documents the translation is a line below its source. */
#include "document/bytes.h"
#include "document/formats.h"

#include <string.h>

/* The end of the line at data[at], without its line break. */
static size_t line_end(const tr_document *d, size_t at)
{
    const char *newline = memchr(d->data + at, '\n', d->size - at);
    return newline ? (size_t)(newline - d->data) : d->size;
}

static bool is_blank(const tr_document *d, size_t begin, size_t end)
{
    for (; begin < end; begin++)
        if (!tr_is_ascii_space(d->data[begin]))
            return false;
    return true;
}

/* Where a line's words begin, after what quotes it in mail: "> > ". */
static size_t skip_quotes(const tr_document *d, size_t begin, size_t end)
{
    while (begin < end && (d->data[begin] == '>' || d->data[begin] == ' ' || d->data[begin] == '\t'))
        begin++;
    return begin;
}

/* A line that stands for itself: it begins with the sign or number of a list. */
static bool begins_item(const tr_document *d, size_t begin, size_t end)
{
    size_t i = begin;
    while (i < end && tr_is_ascii_digit(d->data[i]))
        i++;
    if (i > begin)
        return i + 1 < end && (d->data[i] == '.' || d->data[i] == ')') && d->data[i + 1] == ' ';
    return i + 1 < end && strchr("-*+#", d->data[i]) && d->data[i + 1] == ' ';
}

static tr_status read_paragraph(tr_document *d, size_t *at, tr_error *error)
{
    tr_status status = tr_unit_begin(d, TR_UNIT_COLLAPSES, error);
    size_t begin = *at, quotes = skip_quotes(d, begin, line_end(d, begin)) - begin;
    for (bool first = true; status == TR_OK && begin < d->size; first = false) {
        const size_t end = line_end(d, begin), words = skip_quotes(d, begin, end);
        const size_t own = words - begin;
        if (is_blank(d, words, end) || (!first && (own != quotes || begins_item(d, words, end))))
            break;
        if (!first)
            status = tr_unit_piece(d, TR_PIECE_SKIP, begin, words, error);
        if (status == TR_OK)
            status = tr_unit_piece(d, TR_PIECE_TEXT, words, end < d->size ? end + 1 : end, error);
        begin = end < d->size ? end + 1 : end;
    }
    *at = begin;
    if (status == TR_OK)
        tr_unit_end(d);
    return status;
}

static tr_status read_text(tr_document *d, tr_error *error)
{
    tr_status status = TR_OK;
    for (size_t at = tr_document_begin(d); at < d->size && status == TR_OK;) {
        const size_t end = line_end(d, at), words = skip_quotes(d, at, end);
        if (!d->settings.paragraphs)
            status = tr_unit_text(d, 0, at, end, error);
        else if (!is_blank(d, words, end)) {
            status = read_paragraph(d, &at, error);
            continue;
        }
        at = end + 1;
    }
    return status;
}

static tr_status render_text(const tr_document *d, const tr_rendering *r, tr_buffer *out, tr_error *error)
{
    const bool both = d->settings.bilingual && !r->same;
    const bool good = (!(both || r->same) || tr_buffer_append(out, r->source, r->source_size)) &&
                      (!both || tr_buffer_string(out, tr_line_break(d, r->unit->end))) &&
                      (r->same || tr_render_parts(d, r->unit, r->parts, r->count, out));
    return good ? TR_OK : tr_fail_memory(error, d->name);
}

const tr_document_format tr_format_text = {
    .read = read_text,
    .render = render_text,
};
