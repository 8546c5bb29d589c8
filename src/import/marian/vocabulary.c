/* Marian's vocabularies that are no SentencePiece models (src/data/default_vocab.cpp). */
#include "import/marian/marian.h"

#include <string.h>

#include "import/json.h"
#include "import/vocabularies.h"
#include "import/yaml.h"
#include "util/utf8.h"

/* Marian ignores tokens beyond the rows of the model. */
static void remove_unused(json_t *json, int rows)
{
    const char *token;
    json_t *id;
    void *next;
    json_object_foreach_safe(json, next, token, id)
    {
        if (json_is_integer(id) && json_integer_value(id) >= rows)
            json_object_del(json, token);
    }
}

static bool is_piece(tr_piece piece, const char *text)
{
    return piece.data && piece.size == strlen(text) && memcmp(piece.data, text, piece.size) == 0;
}

/* Nematus' vocabularies, in YAML or JSON, have the special tokens under other names at 0 and 1, or leave these ids free. */
static int special_id(const tr_vocabulary *v, bool mapped, const char *token, const char *older, int id)
{
    if (mapped && (size_t)id < v->size && (!v->pieces[id].data || is_piece(v->pieces[id], older)))
        return id;
    return tr_vocabulary_find(v, token, strlen(token));
}

static tr_status read_map(tr_bytes file, const char *name, int rows, tr_vocabulary *vocabulary, tr_error *error)
{
    json_t *json;
    const bool plain = tr_ends_with(name, ".json");
    tr_status status = plain ? tr_json_parse(file.data, file.size, name, &json, error)
                             : tr_yaml_parse(file.data, file.size, name, &json, error);
    if (status != TR_OK)
        return status;
    remove_unused(json, rows);
    status = tr_vocabulary_of_words(json, name, rows, NULL, vocabulary, error);
    json_decref(json);
    return status;
}

tr_status tr_marian_vocabulary(tr_bytes file, const char *name, int rows, tr_vocabulary *vocabulary,
                               tr_marian_specials *specials, tr_error *error)
{
    const bool mapped = tr_ends_with(name, ".json") || tr_ends_with(name, ".yml") || tr_ends_with(name, ".yaml");
    const tr_status status =
        mapped ? read_map(file, name, rows, vocabulary, error) : tr_vocabulary_of_list(file, name, rows, vocabulary, error);
    if (status != TR_OK)
        return status;
    specials->eos_id = special_id(vocabulary, mapped, "</s>", "eos", 0);
    specials->unk_id = special_id(vocabulary, mapped, "<unk>", "UNK", 1);
    if (specials->eos_id >= 0 && specials->unk_id >= 0)
        return TR_OK;
    tr_vocabulary_free(vocabulary);
    return tr_fail(error, TR_ERROR_FORMAT, "%s: has no token %s", name, specials->eos_id < 0 ? "</s>" : "<unk>");
}
