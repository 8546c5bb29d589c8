#include "tokenizer/languages.h"

#include <stdlib.h>
#include <string.h>

#include "tokenizer/language_codes.h"
#include "util/utf8.h"

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

static size_t inside(const char *token, size_t size, const char *open, const char *close, const char **code)
{
    const size_t before = strlen(open), behind = strlen(close);
    if (size <= before + behind || memcmp(token, open, before) != 0 || memcmp(token + size - behind, close, behind) != 0)
        return 0;
    *code = token + before;
    return size - before - behind;
}

size_t tr_language_of_token(const char *token, size_t size, const char **code)
{
    static const char *const marks[][2] = {{">>", "<<"}, {"__", "__"}, {"<2", ">"}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const size_t length = inside(token, size, marks[i][0], marks[i][1], code);
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
    const size_t begins = strlen(open);
    const char *code;
    const size_t length = size > begins && memcmp(token, open, begins) == 0 ? tr_language_of_token(token, size, &code) : 0;
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
