/* The page: attention.html, with the data in place of its marks. */
#include "view/writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/base64.h"
#include "view/template.h"

enum { LEVELS = 255 };

/* --------------------------------------------------------------------------------------------------------------- data */

/* The square root of a weight in 8 bits, so that small weights keep visible differences. */
static unsigned char quantise(float weight)
{
    return weight > 0 ? (unsigned char)lrintf(sqrtf(weight < 1 ? weight : 1) * LEVELS) : 0; /* NaN: 0 */
}

static void put_weights(tr_view_writer *w, const tr_attention_map *map)
{
    const size_t count = (size_t)map->layers * (size_t)map->heads * (size_t)map->rows * (size_t)map->columns;
    unsigned char *bytes = malloc(count ? count : 1);
    w->failed = w->failed || !bytes;
    if (w->failed) {
        free(bytes);
        return;
    }
    for (size_t i = 0; i < count; i++)
        bytes[i] = quantise(map->weights[i]);
    w->failed = !tr_base64_encode(bytes, count, w->out);
    free(bytes);
}

static void put_map(tr_view_writer *w, const char *name, const tr_attention_map *map)
{
    tr_view_print(w, "\"%s\":{\"layers\":%d,\"heads\":%d,\"rows\":%d,\"columns\":%d,\"weights\":\"", name, map->layers,
                  map->heads, map->rows, map->columns);
    put_weights(w, map);
    tr_view_print(w, "\"}");
}

static void put_tokens(tr_view_writer *w, const char *name, const tr_view_text *tokens, size_t count)
{
    tr_view_print(w, "\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        if (i)
            tr_view_print(w, ",");
        tr_view_put_json(w, tokens[i]);
    }
    tr_view_print(w, "],\n");
}

static void put_probabilities(tr_view_writer *w, const tr_view *v)
{
    tr_view_print(w, "\"probabilities\":[");
    for (size_t i = 0; v->log_probabilities && i < v->target_count; i++) {
        const float p = expf(v->log_probabilities[i]);
        tr_view_print(w, "%s%.4g", i ? "," : "", p >= 0 && p <= 1 ? (double)p : 0.0);
    }
    tr_view_print(w, "],\n");
}

static void put_alignment(tr_view_writer *w, const tr_view *v)
{
    tr_view_print(w, "\"alignment\":[");
    for (size_t i = 0; v->alignment && i < v->target_count; i++)
        tr_view_print(w, "%s%d", i ? "," : "", (int)v->alignment[i]);
    tr_view_print(w, "],\n");
}

static void put_data(tr_view_writer *w, const tr_view *v)
{
    tr_view_print(w, "{\"model\":");
    tr_view_put_json(w, v->model);
    tr_view_print(w, ",\n\"text\":");
    tr_view_put_json(w, v->text);
    tr_view_print(w, ",\n\"translation\":");
    tr_view_put_json(w, v->translation);
    tr_view_print(w, ",\n");
    put_tokens(w, "source", v->source, v->source_count);
    put_tokens(w, "target", v->target, v->target_count);
    put_tokens(w, "inputs", v->inputs, v->target_count);
    put_probabilities(w, v);
    put_alignment(w, v);
    tr_view_print(w, "\"maps\":{");
    put_map(w, "cross", &v->cross);
    tr_view_print(w, ",\n");
    put_map(w, "encoder", &v->encoder);
    tr_view_print(w, ",\n");
    put_map(w, "decoder", &v->decoder);
    tr_view_print(w, "}}");
}

/* ----------------------------------------------------------------------------------------------------------- the page */

static void put_mark(tr_view_writer *w, const tr_view *v, const char *name, size_t size)
{
    if (size == 4 && memcmp(name, "text", size) == 0)
        tr_view_put_markup(w, v->text);
    else if (size == 4 && memcmp(name, "data", size) == 0)
        put_data(w, v);
}

/* A mark is {{name}}. */
static void fill_template(tr_view_writer *w, const tr_view *v, const char *at)
{
    for (const char *mark; (mark = strstr(at, "{{"));) {
        const char *end = strstr(mark, "}}");
        if (!end)
            break;
        tr_view_put(w, at, (size_t)(mark - at));
        put_mark(w, v, mark + 2, (size_t)(end - mark - 2));
        at = end + 2;
    }
    tr_view_put(w, at, strlen(at));
}

tr_status tr_view_page(const tr_view *view, tr_buffer *out, tr_error *error)
{
    const size_t size = out->size;
    tr_view_writer w = {.out = out};
    const tr_status status = tr_view_check(view, TR_VIEW_MAX_PAGE, "the page", error);
    if (status != TR_OK)
        return status;
    fill_template(&w, view, tr_view_template);
    return tr_view_done(&w, size, error);
}
