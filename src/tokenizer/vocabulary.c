#include "tokenizer/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "tokenizer/language_codes.h"
#include "util/utf8.h"

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

int32_t tr_vocabulary_same(const tr_vocabulary *from, int32_t id, const tr_vocabulary *to)
{
    if (id < 0 || from == to)
        return id;
    const tr_piece *piece = (size_t)id < from->size ? &from->pieces[id] : NULL;
    return piece && piece->data ? tr_vocabulary_find(to, piece->data, piece->size) : -1;
}

size_t tr_vocabulary_longest(const tr_vocabulary *vocabulary)
{
    size_t longest = 0;
    for (size_t i = 0; i < vocabulary->size; i++)
        if (vocabulary->pieces[i].size > longest)
            longest = vocabulary->pieces[i].size;
    return longest;
}

tr_status tr_vocabulary_append_id(const tr_vocabulary *vocabulary, const char *piece, size_t size, int unk_id, tr_ids *ids,
                                  tr_error *error)
{
    int32_t id = tr_vocabulary_find(vocabulary, piece, size);
    if (id < 0)
        id = unk_id;
    if (id < 0)
        return tr_fail(error, TR_ERROR_FORMAT,
                       "tokenizer: the vocabulary has neither the piece \"%.*s\" nor an unknown token",
                       (int)(size < SHOWN ? size : SHOWN), piece);
    return tr_ids_append(ids, &id, 1) ? TR_OK : tr_fail(error, TR_ERROR_MEMORY, "tokenizer: out of memory");
}

/* ------------------------------------------------------------------------------------------------------ language tokens */

tr_status tr_languages_add(tr_languages *languages, const char *code, size_t size, int32_t id, tr_error *error)
{
    if (size == 0 || size >= TR_LANGUAGE)
        return TR_OK;
    for (size_t i = 0; i < languages->count; i++)
        if (strlen(languages->items[i].code) == size && memcmp(languages->items[i].code, code, size) == 0)
            return TR_OK;
    if (languages->count == TR_MAX_LANGUAGES)
        return tr_fail(error, TR_ERROR_FORMAT, "languages: more than %d", TR_MAX_LANGUAGES);
    tr_language *items = realloc(languages->items, (languages->count + 1) * sizeof *items);
    if (!items)
        return tr_fail(error, TR_ERROR_MEMORY, "languages: out of memory");
    languages->items = items;
    tr_language *added = &items[languages->count++];
    *added = (tr_language){.id = id};
    memcpy(added->code, code, size);
    return TR_OK;
}

void tr_languages_free(tr_languages *languages)
{
    free(languages->items);
    *languages = (tr_languages){0};
}

int tr_languages_find(const tr_languages *languages, const char *wanted)
{
    int best = -1, best_match = 0;
    for (size_t i = 0; i < languages->count; i++) {
        const int match = tr_language_match(wanted, languages->items[i].code);
        if (match > best_match) {
            best_match = match;
            best = (int)i;
        }
    }
    return best;
}

int tr_languages_typed(const tr_languages *languages, const tr_vocabulary *vocabulary, const char *text, size_t size,
                       size_t *length)
{
    if (languages->target != TR_LANGUAGE_SOURCE_FIRST || size == 0 || (text[0] != '>' && text[0] != '<' && text[0] != '_'))
        return -1;
    for (size_t i = 0; i < languages->count; i++) {
        const tr_piece token = vocabulary->pieces[languages->items[i].id];
        if (token.data && token.size <= size && memcmp(token.data, text, token.size) == 0) {
            *length = token.size;
            return (int)i;
        }
    }
    return -1;
}

/* Size of the code that a token has between open and close; 0: the token looks different. */
static size_t enclosed_code(const char *token, size_t size, const char *open, const char *close, const char **code)
{
    const size_t begin = strlen(open), end_size = strlen(close);
    if (size <= begin + end_size || memcmp(token, open, begin) != 0 || memcmp(token + size - end_size, close, end_size) != 0)
        return 0;
    *code = token + begin;
    return size - begin - end_size;
}

size_t tr_language_of_token(const char *token, size_t size, const char **code)
{
    static const char *const marks[][2] = {{">>", "<<"}, {"__", "__"}, {"<2", ">"}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const size_t length = enclosed_code(token, size, marks[i][0], marks[i][1], code);
        if (length)
            return length;
    }
    size_t letters = 0;
    while (letters < size && tr_is_small_letter(token[letters]))
        letters++;
    *code = token;
    /* fra_Latn, fr_XX */
    return letters >= 2 && letters <= 3 && size - letters >= 3 && size - letters <= 5 && token[letters] == '_' ? size : 0;
}

tr_status tr_languages_add_target(tr_languages *languages, const char *open, const char *token, size_t size, int32_t id,
                                  tr_error *error)
{
    const size_t open_size = strlen(open);
    const char *code;
    const size_t length =
        size > open_size && memcmp(token, open, open_size) == 0 ? tr_language_of_token(token, size, &code) : 0;
    const tr_status status = length ? tr_languages_add(languages, code, length, id, error) : TR_OK;
    if (languages->count)
        languages->target = TR_LANGUAGE_SOURCE_FIRST;
    return status;
}

tr_status tr_languages_collect(const tr_vocabulary *vocabulary, const char *open, tr_languages *languages, tr_error *error)
{
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < vocabulary->size; i++) {
        const tr_piece piece = vocabulary->pieces[i];
        if (piece.data)
            status = tr_languages_add_target(languages, open, piece.data, piece.size, (int32_t)i, error);
    }
    return status;
}

static const char *const place_names[] = {NULL, "source-first", "source-last", "target-start", "target-first"};

const char *tr_language_place_name(tr_language_place place)
{
    return place_names[place];
}

bool tr_language_place_parse(const char *name, tr_language_place *place)
{
    for (size_t i = 1; i < sizeof place_names / sizeof *place_names; i++)
        if (strcmp(place_names[i], name) == 0) {
            *place = (tr_language_place)i;
            return true;
        }
    return false;
}
