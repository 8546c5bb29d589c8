#include "view/writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/utf8.h"

/* ------------------------------------------------------------------------------------------------------------- writing */

void tr_view_put(tr_view_writer *w, const void *data, size_t size)
{
    w->failed = w->failed || !tr_buffer_append(w->out, data, size);
}

void tr_view_print(tr_view_writer *w, const char *format, ...)
{
    char text[512]; /* numbers and constant words only */
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (size < 0 || size >= (int)sizeof text)
        w->failed = true;
    else
        tr_view_put(w, text, (size_t)size);
}

/* Control characters (C0, DEL, C1) and what Unicode calls noncharacters; XML has no way to write the first and the last. */
static bool is_shown(int32_t code)
{
    return code >= 0x20 && !(code >= 0x7f && code < 0xa0) && (code & 0xfffe) != 0xfffe &&
           !(code >= 0xfdd0 && code <= 0xfdef);
}

/* Appends the text character by character. replace returns how a character is spelled, NULL: as it is. */
static void put_text(tr_view_writer *w, tr_view_text text, const char *(*replace)(int32_t code))
{
    for (size_t i = 0, length; i < text.size; i += length) {
        const int32_t code = tr_utf8_decode(text.data + i, text.size - i, &length);
        const char *instead = is_shown(code) ? replace(code) : "\xef\xbf\xbd";
        tr_view_put(w, instead ? instead : text.data + i, instead ? strlen(instead) : length);
    }
}

static const char *in_markup(int32_t code)
{
    switch (code) {
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '&': return "&amp;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

static const char *in_json(int32_t code)
{
    switch (code) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '<': return "\\u003c";
    case '>': return "\\u003e";
    case '&': return "\\u0026";
    case 0x2028: return "\\u2028"; /* line ends to JavaScript, not to JSON */
    case 0x2029: return "\\u2029";
    default: return NULL;
    }
}

void tr_view_put_markup(tr_view_writer *w, tr_view_text text)
{
    put_text(w, text, in_markup);
}

void tr_view_put_json(tr_view_writer *w, tr_view_text text)
{
    tr_view_put(w, "\"", 1);
    put_text(w, text, in_json);
    tr_view_put(w, "\"", 1);
}

tr_status tr_view_done(tr_view_writer *w, size_t size, tr_error *error)
{
    if (!w->failed)
        return TR_OK;
    w->out->size = size;
    if (w->out->data)
        w->out->data[size] = 0;
    return tr_fail(error, TR_ERROR_MEMORY, "attention: out of memory");
}

/* ------------------------------------------------------------------------------------------------------------ checking */

static tr_status check_map(const tr_attention_map *map, const char *name, size_t rows, size_t columns, tr_error *error)
{
    if (map->layers < 0 || map->heads < 0 || map->rows < 0 || map->columns < 0 || (size_t)map->rows != rows ||
        (size_t)map->columns != columns)
        return tr_fail(error, TR_ERROR_ARGUMENT, "attention, %s: the map is %d by %d, but the tokens are %zu and %zu", name,
                       map->rows, map->columns, rows, columns);
    if (!map->weights && map->layers && map->heads && rows && columns)
        return tr_fail(error, TR_ERROR_ARGUMENT, "attention, %s: there are no weights", name);
    return TR_OK;
}

/* Weights of one map. A number that does not fit into 64 bits exceeds every limit. */
static uint64_t count_weights(const tr_attention_map *map)
{
    const uint64_t heads = (uint64_t)map->layers * (uint64_t)map->heads;
    const uint64_t cells = (uint64_t)map->rows * (uint64_t)map->columns;
    return cells && heads > UINT64_MAX / 4 / cells ? UINT64_MAX / 4 : heads * cells;
}

tr_status tr_view_fits(const tr_view *view, uint64_t max_weights, const char *name, tr_error *error)
{
    const uint64_t weights = count_weights(&view->encoder) + count_weights(&view->decoder) + count_weights(&view->cross);
    if (weights <= max_weights)
        return TR_OK;
    return tr_fail(error, TR_ERROR_UNSUPPORTED,
                   "attention: %llu weights (%d by %d tokens, %d + %d layers) are too many for %s, which holds %llu; take a "
                   "shorter text%s",
                   (unsigned long long)weights, view->encoder.rows, view->cross.rows, view->encoder.layers,
                   view->cross.layers, name, (unsigned long long)max_weights,
                   max_weights < TR_VIEW_MAX_NPZ && weights <= TR_VIEW_MAX_NPZ ? ", or write .npz" : "");
}

tr_status tr_view_check(const tr_view *view, uint64_t max_weights, const char *name, tr_error *error)
{
    const size_t sources = view->source_count, targets = view->target_count;
    tr_status status = check_map(&view->encoder, "encoder", sources, sources, error);
    if (status == TR_OK)
        status = check_map(&view->decoder, "decoder", targets, targets, error);
    if (status == TR_OK)
        status = check_map(&view->cross, "cross", targets, sources, error);
    return status == TR_OK ? tr_view_fits(view, max_weights, name, error) : status;
}
