#include "import/vocabularies.h"

#include <stdlib.h>
#include <string.h>

#include "import/json.h"
#include "tokenizer/spm_check.h"
#include "tokenizer/spm_fields.h"
#include "util/utf8.h"

/* ------------------------------------------------------------------------------------------------------- added tokens */

tr_status tr_added_add(tr_added *added, int32_t id, const char *text, size_t size, tr_error *error)
{
    if (memchr(text, 0, size))
        return tr_fail(error, TR_ERROR_FORMAT, "added token %d: holds a NUL", (int)id);
    const int32_t at = (int32_t)added->text.size;
    if (added->text.size > INT32_MAX / 2 || !tr_ids_append(&added->ids, &id, 1) || !tr_ids_append(&added->starts, &at, 1) ||
        !tr_buffer_append(&added->text, text, size) || !tr_buffer_append(&added->text, "", 1))
        return tr_fail(error, TR_ERROR_MEMORY, "added tokens: out of memory");
    return TR_OK;
}

void tr_added_free(tr_added *added)
{
    tr_ids_free(&added->ids);
    tr_ids_free(&added->starts);
    tr_buffer_free(&added->text);
}

/* ---------------------------------------------------------------------------------------------------- tables of words */

static tr_status measure_pieces(const json_t *json, const char *name, int rows, size_t *bytes, tr_error *error)
{
    const char *piece;
    json_t *id;
    *bytes = 0;
    json_object_foreach((json_t *)json, piece, id)
    {
        if (!json_is_integer(id) || json_integer_value(id) < 0)
            return tr_fail(error, TR_ERROR_FORMAT, "%s: the id of piece %.100s is not a whole number from 0 up", name,
                           piece);
        if (json_integer_value(id) >= rows)
            return tr_fail(error, TR_ERROR_FORMAT, "%s: piece %.100s has id %lld, but the embedding has %d rows", name,
                           piece, (long long)json_integer_value(id), rows);
        *bytes += strlen(piece);
    }
    return TR_OK;
}

/* Adds the added tokens, whose ids must have no other piece. Their texts are appended at *to. */
static tr_status set_added(const tr_added *added, const char *name, tr_piece *pieces, char **to, tr_error *error)
{
    for (size_t i = 0; added && i < added->ids.size; i++) {
        const char *token = added->text.data + added->starts.data[i];
        const size_t size = strlen(token);
        tr_piece *piece_at = &pieces[added->ids.data[i]];
        if (size == 0 || (piece_at->data && piece_at->size == size && memcmp(piece_at->data, token, size) == 0))
            continue;
        if (piece_at->data)
            return tr_fail(error, TR_ERROR_FORMAT, "%s: added token %.100s has id %d, which is that of piece %.*s", name,
                           token, (int)added->ids.data[i], (int)(piece_at->size < 100 ? piece_at->size : 100),
                           piece_at->data);
        memcpy(*to, token, size);
        *piece_at = (tr_piece){*to, (uint32_t)size};
        *to += size;
    }
    return TR_OK;
}

tr_status tr_vocabulary_of_words(const json_t *json, const char *name, int rows, const tr_added *added,
                                 tr_vocabulary *vocabulary, tr_error *error)
{
    size_t bytes;
    tr_status status = measure_pieces(json, name, rows, &bytes, error);
    if (status != TR_OK)
        return status;
    tr_piece *pieces = calloc((size_t)rows, sizeof *pieces);
    char *text = malloc(bytes + (added ? added->text.size : 0) + 1);
    if (!pieces || !text)
        status = tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", name);
    const char *piece;
    json_t *id;
    char *to = text;
    json_object_foreach((json_t *)json, piece, id)
    {
        const size_t size = strlen(piece);
        if (status != TR_OK || size == 0) /* an empty piece stands for an id without one */
            continue;
        tr_piece *piece_at = &pieces[json_integer_value(id)];
        if (piece_at->data)
            status = tr_fail(error, TR_ERROR_FORMAT, "%s: pieces %.100s and %.*s share id %lld", name, piece,
                             (int)(piece_at->size < 100 ? piece_at->size : 100), piece_at->data,
                             (long long)json_integer_value(id));
        memcpy(to, piece, size);
        *piece_at = (tr_piece){to, (uint32_t)size};
        to += size;
    }
    if (status == TR_OK)
        status = set_added(added, name, pieces, &to, error);
    if (status == TR_OK) {
        return tr_fail_in(error, tr_vocabulary_init(vocabulary, pieces, (size_t)rows, text, error), name);
    }
    free(pieces);
    free(text);
    return status;
}

/* ---------------------------------------------------------------------------------------------------- lists of tokens */

/* Tokens being collected, with their bytes in text. */
typedef struct collector {
    const char *name;
    tr_piece *pieces;
    size_t count, rows;
    char *text, *to;
    tr_error *error;
} collector;

/* Allocates memory for count tokens that together have a number of bytes; rows behind them are ids without a piece. */
static tr_status begin_tokens(collector *c, size_t count, size_t bytes)
{
    if (count == 0)
        return tr_fail(c->error, TR_ERROR_FORMAT, "%s: is empty", c->name);
    if (count > c->rows)
        return tr_fail(c->error, TR_ERROR_FORMAT, "%s: has %zu tokens, but the embedding has %zu rows", c->name, count,
                       c->rows);
    c->pieces = calloc(c->rows, sizeof *c->pieces);
    c->text = c->to = malloc(bytes ? bytes : 1);
    return c->pieces && c->text ? TR_OK : tr_fail(c->error, TR_ERROR_MEMORY, "%s: out of memory", c->name);
}

/* Adds a token; an empty one stands for an id without a piece. */
static void add_token(collector *c, const char *token, size_t size)
{
    tr_piece *piece = &c->pieces[c->count++];
    if (size == 0)
        return;
    memcpy(c->to, token, size);
    *piece = (tr_piece){c->to, (uint32_t)size};
    c->to += size;
}

static tr_status add_list(collector *c, const json_t *list)
{
    size_t bytes = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *token = json_array_get(list, i);
        if (!json_is_string(token))
            return tr_fail(c->error, TR_ERROR_FORMAT, "%s: token %zu is not a string", c->name, i);
        bytes += json_string_length(token);
    }
    const tr_status status = begin_tokens(c, json_array_size(list), bytes);
    for (size_t i = 0; status == TR_OK && i < json_array_size(list); i++)
        add_token(c, json_string_value(json_array_get(list, i)), json_string_length(json_array_get(list, i)));
    return status;
}

/* The first line feed from at on, or end. */
static const char *line_end(const char *at, const char *end)
{
    const char *found = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    return found ? found : end;
}

/* As CTranslate2 does, takes a CR for part of a token unless all lines have one. */
static tr_status add_lines(collector *c, tr_bytes file)
{
    const char *text = file.data, *end = text + file.size;
    size_t count = 0;
    bool returns = true;
    for (const char *at = text; at < end; at = line_end(at, end) + 1, count++) {
        const char *stop = line_end(at, end);
        returns = returns && stop > at && stop[-1] == '\r';
    }
    const tr_status status = begin_tokens(c, count, file.size);
    for (const char *at = text; status == TR_OK && at < end; at = line_end(at, end) + 1)
        add_token(c, at, (size_t)(line_end(at, end) - at) - returns);
    return status;
}

tr_status tr_vocabulary_of_list(tr_bytes file, const char *name, int rows, tr_vocabulary *vocabulary, tr_error *error)
{
    collector c = {.name = name, .rows = (size_t)rows, .error = error};
    json_t *list = NULL;
    tr_status status;
    if (tr_ends_with(name, ".json"))
        status = tr_json_parse_list(file.data, file.size, name, &list, error);
    else
        status = add_lines(&c, file);
    if (status == TR_OK && list)
        status = add_list(&c, list);
    json_decref(list);
    if (status == TR_OK)
        return tr_fail_in(error, tr_vocabulary_init(vocabulary, c.pieces, c.rows, c.text, error), name);
    free(c.pieces);
    free(c.text);
    return status;
}

/* ------------------------------------------------------------------------------------- pieces of SentencePiece models */

/* fairseq's own first tokens, which replace the first three pieces of SentencePiece. */
static const tr_piece fairseq_first[] = {{"<s>", 3}, {"<pad>", 5}, {"</s>", 4}, {"<unk>", 5}};

enum { FAIRSEQ_FIRST = 4, SPM_FIRST = 3 };

/* Sets the pieces of a model that passed the check. False: there are more than rows. */
static bool set_pieces(tr_bytes spm, bool fairseq, tr_piece *pieces, size_t rows)
{
    tr_spm_field field;
    size_t next = 0; /* number of the next piece */
    for (size_t i = 0; fairseq && i < FAIRSEQ_FIRST && i < rows; i++)
        pieces[i] = fairseq_first[i];
    for (size_t at = 0; tr_spm_next(spm.data, spm.size, &at, &field);) {
        if (field.number != TR_SPM_MODEL_PIECE)
            continue;
        const size_t number = next++, id = number + fairseq;
        if (fairseq && number < SPM_FIRST)
            continue;
        if (id >= rows)
            return false;
        pieces[id] = (tr_piece){field.text, (uint32_t)field.text_size};
    }
    return true;
}

tr_status tr_vocabulary_of_pieces(tr_bytes spm, int rows, bool fairseq, const tr_added *added, tr_vocabulary *vocabulary,
                                  tr_error *error)
{
    tr_status status = tr_spm_check(spm.data, spm.size, error);
    if (status != TR_OK)
        return status;
    tr_piece *const pieces = calloc((size_t)rows, sizeof *pieces);
    if (!pieces)
        return tr_fail(error, TR_ERROR_MEMORY, "SentencePiece model: out of memory");
    char *text = NULL;
    if (!set_pieces(spm, fairseq, pieces, (size_t)rows))
        status = tr_fail(error, TR_ERROR_FORMAT, "SentencePiece model: has more pieces than the embedding's %d rows", rows);
    if (status == TR_OK && added) {
        char *to = text = malloc(added->text.size + 1);
        status = text ? set_added(added, "added_tokens_decoder", pieces, &to, error)
                      : tr_fail(error, TR_ERROR_MEMORY, "SentencePiece model: out of memory");
    }
    if (status == TR_OK)
        return tr_vocabulary_init(vocabulary, pieces, (size_t)rows, text, error);
    free(pieces);
    free(text);
    return status;
}

tr_status tr_count_pieces(tr_bytes spm, int32_t *count, tr_error *error)
{
    const tr_status status = tr_spm_check(spm.data, spm.size, error);
    *count = 0;
    tr_spm_field field;
    for (size_t at = 0; status == TR_OK && tr_spm_next(spm.data, spm.size, &at, &field);)
        *count += field.number == TR_SPM_MODEL_PIECE;
    return status;
}
