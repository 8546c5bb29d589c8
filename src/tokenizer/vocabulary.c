#include "tokenizer/vocabulary.h"

#include "util/utf8.h"

#include <stdlib.h>

enum { SHOWN = 100 }; /* bytes of a piece in a message */

static tr_status build_index(tr_vocabulary *vocabulary, tr_error *error)
{
    if (vocabulary->size > INT32_MAX)
        return tr_fail(error, TR_ERROR_FORMAT, "vocabulary: %zu pieces are more than ids can number", vocabulary->size);
    if (!tr_strmap_init(&vocabulary->index, vocabulary->size))
        return tr_fail(error, TR_ERROR_MEMORY, "vocabulary: out of memory");
    for (size_t i = 0; i < vocabulary->size; i++) {
        const tr_piece *piece = &vocabulary->pieces[i];
        if (!piece->data)
            continue;
        if (!tr_utf8_valid(piece->data, piece->size))
            return tr_fail(error, TR_ERROR_FORMAT, "vocabulary: the piece of id %zu is not valid UTF-8, or has a NUL", i);
        const int32_t id = (int32_t)i, stored = tr_strmap_add(&vocabulary->index, piece->data, piece->size, id);
        if (stored < 0)
            return tr_fail(error, TR_ERROR_MEMORY, "vocabulary: out of memory");
        if (stored != id)
            return tr_fail(error, TR_ERROR_FORMAT, "vocabulary: the ids %d and %d have the same piece \"%.*s\"", stored, id,
                           (int)(piece->size < SHOWN ? piece->size : SHOWN), piece->data);
    }
    return TR_OK;
}

tr_status tr_vocabulary_init(tr_vocabulary *vocabulary, tr_piece *pieces, size_t size, char *text, tr_error *error)
{
    *vocabulary = (tr_vocabulary){.pieces = pieces, .size = size, .text = text};
    const tr_status status = build_index(vocabulary, error);
    if (status != TR_OK)
        tr_vocabulary_free(vocabulary);
    return status;
}

void tr_vocabulary_free(tr_vocabulary *vocabulary)
{
    free(vocabulary->pieces);
    free(vocabulary->text);
    tr_strmap_free(&vocabulary->index);
    *vocabulary = (tr_vocabulary){0};
}

int32_t tr_vocabulary_find(const tr_vocabulary *vocabulary, const char *piece, size_t size)
{
    return size <= UINT32_MAX ? tr_strmap_find(&vocabulary->index, piece, size) : -1;
}
