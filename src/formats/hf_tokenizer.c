/* Vocabularies of Hugging Face directories. */
#include <stdlib.h>
#include <string.h>

#include "formats/hf.h"
#include "tokenizer/spm_check.h"

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

tr_status tr_hf_vocabulary(const json_t *json, const char *name, int rows, tr_vocabulary *vocabulary, tr_error *error)
{
    size_t bytes;
    tr_status status = measure_pieces(json, name, rows, &bytes, error);
    if (status != TR_OK)
        return status;
    tr_piece *pieces = calloc((size_t)rows, sizeof *pieces);
    char *text = malloc(bytes + 1);
    if (!pieces || !text)
        status = tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", name);
    const char *piece;
    json_t *id;
    char *to = text;
    json_object_foreach((json_t *)json, piece, id)
    {
        const size_t size = strlen(piece);
        if (status != TR_OK || size == 0) /* an empty piece is none: nothing is cut into it, it decodes to nothing */
            continue;
        tr_piece *place = &pieces[json_integer_value(id)];
        if (place->data)
            status = tr_fail(error, TR_ERROR_FORMAT, "%s: pieces %.100s and %.*s share id %lld", name, piece,
                             (int)(place->size < 100 ? place->size : 100), place->data, (long long)json_integer_value(id));
        memcpy(to, piece, size);
        *place = (tr_piece){to, (uint32_t)size};
        to += size;
    }
    if (status == TR_OK) {
        return tr_fail_in(error, tr_vocabulary_init(vocabulary, pieces, (size_t)rows, text, error), name);
    }
    free(pieces);
    free(text);
    return status;
}

typedef struct piece_list {
    tr_piece *pieces;
    size_t count, rows;
} piece_list;

static bool take_piece(void *argument, const char *data, size_t size)
{
    piece_list *list = argument;
    if (list->count >= list->rows)
        return false;
    list->pieces[list->count++] = (tr_piece){data, (uint32_t)size};
    return true;
}

tr_status tr_hf_pieces(tr_bytes spm, int rows, tr_vocabulary *vocabulary, tr_error *error)
{
    tr_status status = tr_spm_check(spm.data, spm.size, error);
    if (status != TR_OK)
        return status;
    piece_list list = {calloc((size_t)rows, sizeof *list.pieces), 0, (size_t)rows};
    if (!list.pieces)
        return tr_fail(error, TR_ERROR_MEMORY, "SentencePiece model: out of memory");
    if (tr_spm_pieces(spm.data, spm.size, take_piece, &list))
        return tr_vocabulary_init(vocabulary, list.pieces, (size_t)rows, NULL, error);
    free(list.pieces);
    return tr_fail(error, TR_ERROR_FORMAT, "SentencePiece model: has more pieces than the embedding's %d rows", rows);
}
