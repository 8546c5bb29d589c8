/* The vocabularies of a CTranslate2 model: a list of tokens in JSON, in older models a token a line. */
#include "formats/ctranslate2/ctranslate2.h"

#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "util/utf8.h"

/* Tokens being collected; their bytes lie one after the other in text. */
typedef struct collector {
    const char *name;
    tr_piece *pieces;
    size_t count, rows;
    char *text, *to;
    tr_error *error;
} collector;

/* At most count tokens of bytes together. */
static tr_status begin(collector *c, size_t count, size_t bytes)
{
    if (count > c->rows)
        return tr_fail(c->error, TR_ERROR_FORMAT, "%s: has %zu tokens, but the embedding has %zu rows", c->name, count,
                       c->rows);
    c->pieces = calloc(count ? count : 1, sizeof *c->pieces);
    c->text = c->to = malloc(bytes ? bytes : 1);
    return c->pieces && c->text ? TR_OK : tr_fail(c->error, TR_ERROR_MEMORY, "%s: out of memory", c->name);
}

/* An empty token is none: nothing is cut into it, it decodes to nothing. */
static void take(collector *c, const char *token, size_t size)
{
    tr_piece *piece = &c->pieces[c->count++];
    if (size == 0)
        return;
    memcpy(c->to, token, size);
    *piece = (tr_piece){c->to, (uint32_t)size};
    c->to += size;
}

static tr_status take_list(collector *c, const json_t *list)
{
    size_t bytes = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *token = json_array_get(list, i);
        if (!json_is_string(token))
            return tr_fail(c->error, TR_ERROR_FORMAT, "%s: token %zu is not a string", c->name, i);
        bytes += json_string_length(token);
    }
    const tr_status status = begin(c, json_array_size(list), bytes);
    for (size_t i = 0; status == TR_OK && i < json_array_size(list); i++)
        take(c, json_string_value(json_array_get(list, i)), json_string_length(json_array_get(list, i)));
    return status;
}

/* The first line end behind at, or the end. */
static const char *line_end(const char *at, const char *end)
{
    const char *found = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    return found ? found : end;
}

/* As CTranslate2 does it: a CR belongs to a token unless all lines have one. */
static tr_status take_lines(collector *c, tr_bytes file)
{
    const char *text = file.data, *end = text + file.size;
    size_t count = 0;
    bool returns = true;
    for (const char *at = text; at < end; at = line_end(at, end) + 1, count++) {
        const char *stop = line_end(at, end);
        returns = returns && stop > at && stop[-1] == '\r';
    }
    const tr_status status = begin(c, count, file.size);
    for (const char *at = text; status == TR_OK && at < end; at = line_end(at, end) + 1)
        take(c, at, (size_t)(line_end(at, end) - at) - returns);
    return status;
}

tr_status tr_ct2_vocabulary(tr_bytes file, const char *name, int rows, tr_vocabulary *vocabulary, tr_error *error)
{
    collector c = {.name = name, .rows = (size_t)rows, .error = error};
    json_t *list = NULL;
    tr_status status;
    if (tr_ends_with(name, ".json"))
        status = tr_json_parse_list(file.data, file.size, name, &list, error);
    else
        status = file.size ? take_lines(&c, file) : tr_fail(error, TR_ERROR_FORMAT, "%s: is empty", name);
    if (status == TR_OK && list)
        status = take_list(&c, list);
    json_decref(list);
    if (status == TR_OK)
        return tr_fail_in(error, tr_vocabulary_init(vocabulary, c.pieces, c.count, c.text, error), name);
    free(c.pieces);
    free(c.text);
    return status;
}
