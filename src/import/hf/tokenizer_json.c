/* tokenizer.json, as the tokenizers library saves it: transformers 5 leaves no other file of a tokenizer that was made from
 * a SentencePiece model, which is rebuilt from it. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "import/hf/hf.h"
#include "tokenizer/spm_check.h"
#include "tokenizer/spm_fields.h"
#include "tokenizer/spm_write.h"
#include "util/base64.h"

typedef struct reading {
    const char *name;
    tr_error *error;
    tr_package *package;
    tr_added *special;
    size_t rows;
    tr_piece *pieces;     /* [rows] */
    float *scores;        /* [rows] */
    unsigned char *types; /* [rows] TR_SPM_TYPE_..., 0: no piece */
    size_t bytes;         /* of all pieces */
    tr_spm_settings settings;
    tr_buffer charsmap;
} reading;

static tr_status fail(const reading *r, tr_status status, const char *what)
{
    return tr_fail(r->error, status, "%s: %s", r->name, what);
}

static const char *type_of(const json_t *object)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    return type ? type : "";
}

/* ------------------------------------------------------------------------------------------------------------- pieces */

static tr_status add_piece(reading *r, const char *text, json_int_t id, float score, int type)
{
    const size_t size = strlen(text);
    if (id < 0 || (size_t)id >= r->rows)
        return tr_fail(r->error, TR_ERROR_FORMAT, "%s: piece %.100s has id %lld, but the embedding has %zu rows", r->name,
                       text, (long long)id, r->rows);
    if (size == 0 || size > TR_SPM_MAX_PIECE)
        return tr_fail(r->error, TR_ERROR_FORMAT, "%s: piece %lld is empty, or longer than %d bytes", r->name, (long long)id,
                       TR_SPM_MAX_PIECE);
    if (r->types[id] && (r->pieces[id].size != size || memcmp(r->pieces[id].data, text, size) != 0))
        return tr_fail(r->error, TR_ERROR_FORMAT, "%s: pieces %.100s and %.100s share id %lld", r->name, text,
                       r->pieces[id].data, (long long)id);
    r->bytes += r->types[id] ? 0 : size;
    r->pieces[id] = (tr_piece){text, (uint32_t)size};
    r->scores[id] = score;
    r->types[id] = (unsigned char)type;
    return TR_OK;
}

static tr_status read_unigram(reading *r, const json_t *model)
{
    const json_t *list = json_object_get(model, "vocab"), *unknown = json_object_get(model, "unk_id");
    tr_status status = json_is_array(list) ? TR_OK : fail(r, TR_ERROR_FORMAT, "model.vocab is not a list");
    for (size_t i = 0; status == TR_OK && i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i), *score = json_array_get(entry, 1);
        const char *text = json_string_value(json_array_get(entry, 0));
        if (!text || !json_is_number(score))
            return fail(r, TR_ERROR_FORMAT, "model.vocab holds something else than pieces and scores");
        const bool unk = json_is_integer(unknown) && json_integer_value(unknown) == (json_int_t)i;
        status = add_piece(r, text, (json_int_t)i, (float)json_number_value(score),
                           unk ? TR_SPM_TYPE_UNKNOWN : TR_SPM_TYPE_NORMAL);
    }
    return status;
}

/* Pieces of one character are always there, as merging starts from them; longer ones are made by merges only. */
static bool is_character(tr_piece piece)
{
    for (uint32_t i = 1; i < piece.size; i++)
        if (((unsigned char)piece.data[i] & 0xc0) != 0x80)
            return false;
    return true;
}

/* Concatenates the two parts of a merge, "left right" or ["left", "right"], in out and returns the size; 0: no merge. */
static size_t merged(const json_t *merge, char out[TR_SPM_MAX_PIECE])
{
    const char *left = json_string_value(merge), *right = left ? strchr(left, ' ') : NULL;
    size_t first = right ? (size_t)(right - left) : 0;
    if (right) {
        right++;
    } else {
        left = json_string_value(json_array_get(merge, 0));
        right = json_string_value(json_array_get(merge, 1));
        first = left ? strlen(left) : 0;
    }
    const size_t second = right ? strlen(right) : 0;
    if (first == 0 || second == 0 || first + second > TR_SPM_MAX_PIECE)
        return 0;
    memcpy(out, left, first);
    memcpy(out + first, right, second);
    return first + second;
}

/* SentencePiece merges the two neighbours whose piece has the highest score; the library, those that come first in the list.
 * Pieces that no merge makes are never made of text. */
static tr_status read_merges(reading *r, const json_t *merges, const tr_strmap *ids)
{
    char text[TR_SPM_MAX_PIECE];
    for (size_t i = 0; i < json_array_size(merges); i++) {
        const size_t size = merged(json_array_get(merges, i), text);
        const int32_t id = size ? tr_strmap_find(ids, text, size) : -1;
        if (id < 0)
            return tr_fail(r->error, TR_ERROR_FORMAT, "%s: model.merges %zu does not make a piece", r->name, i);
        if (r->types[id] == TR_SPM_TYPE_CONTROL) {
            r->types[id] = TR_SPM_TYPE_NORMAL;
            r->scores[id] = -(float)i;
        }
    }
    return TR_OK;
}

static tr_status read_bpe(reading *r, const json_t *model)
{
    const json_t *merges = json_object_get(model, "merges"), *vocabulary = json_object_get(model, "vocab");
    const char *unknown = json_string_value(json_object_get(model, "unk_token")), *text;
    const float lowest = -(float)json_array_size(merges) - 1;
    tr_strmap ids = {0};
    json_t *id;
    tr_status status = TR_OK;
    if (!json_is_object(vocabulary) || !json_is_array(merges))
        return fail(r, TR_ERROR_FORMAT, "model.vocab or model.merges is missing");
    if (!tr_strmap_init(&ids, json_object_size(vocabulary)))
        return fail(r, TR_ERROR_MEMORY, "out of memory");
    json_object_foreach((json_t *)vocabulary, text, id)
    {
        const size_t size = strlen(text);
        const bool unk = unknown && strcmp(text, unknown) == 0;
        const bool alone = is_character((tr_piece){text, (uint32_t)size});
        if (status == TR_OK)
            status = add_piece(r, text, json_is_integer(id) ? json_integer_value(id) : -1, lowest,
                               unk     ? TR_SPM_TYPE_UNKNOWN
                               : alone ? TR_SPM_TYPE_NORMAL
                                       : TR_SPM_TYPE_CONTROL);
        if (status == TR_OK && tr_strmap_add(&ids, text, size, (int32_t)json_integer_value(id)) < 0)
            status = fail(r, TR_ERROR_MEMORY, "out of memory");
    }
    if (status == TR_OK)
        status = read_merges(r, merges, &ids);
    tr_strmap_free(&ids);
    return status;
}

/* Added tokens: special ones never match text; the others are found in a text before it is divided into pieces. */
static tr_status read_added(reading *r, const json_t *list)
{
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < json_array_size(list); i++) {
        const json_t *token = json_array_get(list, i), *id = json_object_get(token, "id");
        const char *text = json_string_value(json_object_get(token, "content"));
        const bool special = json_is_true(json_object_get(token, "special"));
        if (!text || !json_is_integer(id) || json_integer_value(id) < 0)
            return fail(r, TR_ERROR_FORMAT, "added_tokens holds something else than tokens");
        const size_t number = (size_t)json_integer_value(id);
        if (number >= r->rows || !*text) /* some directories name more tokens than the embedding has */
            continue;
        const bool unknown = r->types[number] == TR_SPM_TYPE_UNKNOWN;
        status = add_piece(r, text, json_integer_value(id), 0,
                           unknown   ? TR_SPM_TYPE_UNKNOWN
                           : special ? TR_SPM_TYPE_CONTROL
                                     : TR_SPM_TYPE_USER_DEFINED);
        if (status == TR_OK && special)
            status = tr_added_add(r->special, (int32_t)number, text, strlen(text), r->error);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------------- normalisation */

static tr_status read_charsmap(reading *r, const json_t *normalizer)
{
    const json_t *text = json_object_get(normalizer, "precompiled_charsmap");
    if (json_is_null(text) || (json_is_string(text) && json_string_length(text) == 0))
        return TR_OK;
    bool valid = json_is_string(text) && !r->charsmap.size;
    if (valid && !tr_base64_decode(json_string_value(text), json_string_length(text), &r->charsmap, &valid))
        return fail(r, TR_ERROR_MEMORY, "out of memory");
    if (!valid)
        return fail(r, TR_ERROR_FORMAT, "normalizer.precompiled_charsmap is not Base64, or there are two");
    r->settings.charsmap = r->charsmap.data;
    r->settings.charsmap_size = r->charsmap.size;
    return TR_OK;
}

/* Consecutive spaces become one: {"Regex": " {2,}"} to " ", or to "▁". */
static bool joins_spaces(const json_t *normalizer)
{
    const char *pattern = json_string_value(json_object_get(json_object_get(normalizer, "pattern"), "Regex"));
    const char *content = json_string_value(json_object_get(normalizer, "content"));
    return pattern && content && strcmp(pattern, " {2,}") == 0 &&
           (strcmp(content, " ") == 0 || strcmp(content, "\xe2\x96\x81") == 0);
}

static tr_status read_part(reading *r, const json_t *part)
{
    const char *type = type_of(part);
    if (json_is_null(part) || !part || strcmp(type, "Strip") == 0) /* texts come without white space at their ends */
        return TR_OK;
    if (strcmp(type, "Precompiled") == 0)
        return read_charsmap(r, part);
    if (strcmp(type, "Replace") == 0 && joins_spaces(part)) {
        r->settings.remove_extra_whitespaces = true;
        return TR_OK;
    }
    if (strcmp(type, "WhitespaceSplit") == 0) {
        r->settings.remove_extra_whitespaces = true;
        return TR_OK;
    }
    if (strcmp(type, "Metaspace") == 0) {
        const char *scheme = json_string_value(json_object_get(part, "prepend_scheme"));
        const json_t *prefix = json_object_get(part, "add_prefix_space"); /* older files */
        r->settings.add_dummy_prefix = scheme ? strcmp(scheme, "never") != 0 : !json_is_false(prefix);
        return TR_OK;
    }
    return tr_fail(r->error, TR_ERROR_UNSUPPORTED, "%s: %.60s is not supported, only what SentencePiece does", r->name,
                   *type ? type : "a part without type");
}

/* A part, or a sequence of them. */
static tr_status read_parts(reading *r, const json_t *parts, const char *list)
{
    tr_status status = TR_OK;
    if (strcmp(type_of(parts), "Sequence") != 0)
        return read_part(r, parts);
    const json_t *items = json_object_get(parts, list);
    for (size_t i = 0; status == TR_OK && i < json_array_size(items); i++)
        status = read_part(r, json_array_get(items, i));
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- the whole */

static tr_status read_model(reading *r, const json_t *model)
{
    const char *type = type_of(model);
    r->settings.byte_fallback = json_is_true(json_object_get(model, "byte_fallback"));
    if (strcmp(type, "Unigram") == 0) {
        r->settings.model_type = TR_SPM_UNIGRAM;
        return read_unigram(r, model);
    }
    if (strcmp(type, "BPE") != 0)
        return tr_fail(r->error, TR_ERROR_UNSUPPORTED, "%s: model %.60s is not supported, only Unigram and BPE", r->name,
                       type);
    r->settings.model_type = TR_SPM_BPE;
    return read_bpe(r, model);
}

static tr_status write_spm(reading *r)
{
    tr_buffer spm = {0};
    bool room = true;
    for (size_t i = 0; room && i < r->rows; i++) {
        const tr_piece p = r->pieces[i];
        int type = r->types[i];
        if (type == TR_SPM_TYPE_NORMAL && r->settings.byte_fallback && p.size == 6 && memcmp(p.data, "<0x", 3) == 0)
            type = TR_SPM_TYPE_BYTE;
        room = !type || tr_spm_write_piece(&spm, p.data, p.size, r->scores[i], type);
    }
    if (!room || !tr_spm_write_settings(&spm, &r->settings)) {
        tr_buffer_free(&spm);
        return fail(r, TR_ERROR_MEMORY, "out of memory");
    }
    return tr_fail_in(r->error, tr_package_keep_spm(r->package, &spm, r->error), r->name);
}

/* The pieces point into the JSON: the vocabulary has its own text. */
static tr_status make_vocabulary(reading *r)
{
    char *text = malloc(r->bytes + 1), *to = text;
    if (!text)
        return fail(r, TR_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < r->rows; i++) {
        tr_piece *p = &r->pieces[i];
        if (r->types[i] == TR_SPM_TYPE_UNKNOWN)
            r->package->config.unk_id = (int)i;
        if (!p->size)
            continue;
        memcpy(to, p->data, p->size);
        p->data = to;
        to += p->size;
    }
    tr_piece *pieces = r->pieces;
    r->pieces = NULL;
    r->package->target = &r->package->source;
    return tr_fail_in(r->error, tr_vocabulary_init(&r->package->source, pieces, r->rows, text, r->error), r->name);
}

tr_status tr_hf_tokenizer_json(const json_t *root, const char *name, tr_package *package, tr_added *special, tr_error *error)
{
    reading r = {.name = name, .error = error, .package = package, .special = special};
    r.rows = (size_t)package->config.source_vocabulary;
    r.pieces = calloc(r.rows, sizeof *r.pieces);
    r.scores = calloc(r.rows, sizeof *r.scores);
    r.types = calloc(r.rows, 1);
    package->config.unk_id = -1;
    tr_status status = r.pieces && r.scores && r.types ? TR_OK : fail(&r, TR_ERROR_MEMORY, "out of memory");
    if (status == TR_OK)
        status = read_parts(&r, json_object_get(root, "normalizer"), "normalizers");
    if (status == TR_OK)
        status = read_parts(&r, json_object_get(root, "pre_tokenizer"), "pretokenizers");
    if (status == TR_OK)
        status = read_model(&r, json_object_get(root, "model"));
    if (status == TR_OK)
        status = read_added(&r, json_object_get(root, "added_tokens"));
    if (status == TR_OK)
        status = write_spm(&r);
    if (status == TR_OK)
        status = make_vocabulary(&r);
    free(r.pieces);
    free(r.scores);
    free(r.types);
    tr_buffer_free(&r.charsmap);
    return status;
}
