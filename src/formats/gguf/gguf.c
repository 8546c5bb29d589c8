#include "formats/gguf/gguf.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf/keys.h"
#include "formats/gguf/read.h"
#include "formats/import.h"
#include "tokenizer/traditional.h"
#include "util/utf8.h"

/* ----------------------------------------------------------------------------------------------------------- settings */

static tr_status read_history(const tr_gguf *gguf, tr_config *config, tr_error *error)
{
    char history[32] = "attention", activation[32] = "";
    tr_status status = tr_gguf_read_string(gguf, TR_KEY_HISTORY, history, sizeof history, error);
    if (status == TR_OK)
        status = tr_gguf_read_string(gguf, TR_KEY_AVERAGE_ACTIVATION, activation, sizeof activation, error);
    if (status != TR_OK)
        return status;
    if (!tr_decoder_mixer_parse(history, &config->mixer))
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "key " TR_KEY_HISTORY ": %s is not supported", history);
    if (*activation && !tr_activation_parse(activation, &config->aan_activation))
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "key " TR_KEY_AVERAGE_ACTIVATION ": %s is not supported", activation);
    return TR_OK;
}

static tr_status read_kinds(const tr_gguf *gguf, tr_config *config, tr_error *error)
{
    char activation[32] = "", positions[32] = "sinusoidal", norm[32] = "layer";
    tr_status status = tr_gguf_read_string(gguf, TR_KEY_ACTIVATION, activation, sizeof activation, error);
    if (status == TR_OK)
        status = tr_gguf_read_string(gguf, TR_KEY_POSITIONS, positions, sizeof positions, error);
    if (status == TR_OK)
        status = tr_gguf_read_string(gguf, TR_KEY_NORM, norm, sizeof norm, error);
    if (status != TR_OK)
        return status;
    if (!*activation)
        return tr_gguf_fail_key(error, TR_KEY_ACTIVATION, "is missing");
    if (!tr_activation_parse(activation, &config->activation))
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "key " TR_KEY_ACTIVATION ": %s is not supported", activation);
    if (!tr_positions_parse(positions, &config->positions))
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "key " TR_KEY_POSITIONS ": %s is not supported", positions);
    if (!tr_norm_parse(norm, &config->norm))
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "key " TR_KEY_NORM ": %s is not supported", norm);
    return read_history(gguf, config, error);
}

static tr_status read_forbidden(const tr_gguf *gguf, tr_config *config, tr_error *error)
{
    const tr_gguf_entry *ids;
    const tr_status status = tr_gguf_find_ids(gguf, TR_KEY_FORBIDDEN, config->target_vocabulary, &ids, error);
    if (status != TR_OK || !ids)
        return status;
    if (ids->count > TR_MAX_FORBIDDEN)
        return tr_gguf_fail_key(error, TR_KEY_FORBIDDEN, "holds too many tokens");
    for (uint64_t i = 0; i < ids->count; i++)
        config->forbidden[config->forbidden_count++] = (int)tr_gguf_element(ids, i);
    return TR_OK;
}

static tr_status read_version(const tr_gguf *gguf, tr_error *error)
{
    int64_t number = 0;
    if (!tr_gguf_integer(tr_gguf_find(gguf, TR_KEY_VERSION), &number) || number != TR_LAYOUT_VERSION)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "key " TR_KEY_VERSION ": %lld is not supported, only %d",
                       (long long)number, (int)TR_LAYOUT_VERSION);
    return TR_OK;
}

static tr_status read_names(const tr_gguf *gguf, tr_package *package, tr_error *error)
{
    tr_status status = tr_gguf_read_string(gguf, TR_KEY_NAME, package->name, sizeof package->name, error);
    if (status == TR_OK)
        status = tr_gguf_read_string(gguf, TR_KEY_SOURCE_LANGUAGE, package->source_language, TR_LANGUAGE, error);
    if (status == TR_OK)
        status = tr_gguf_read_string(gguf, TR_KEY_TARGET_LANGUAGE, package->target_language, TR_LANGUAGE, error);
    return status;
}

/* A text for readers, which no damage keeps from opening the model: cut to the room, "" if it is none. */
static void read_note(const tr_gguf *gguf, const char *key, char *out, size_t size)
{
    const tr_gguf_entry *entry = tr_gguf_find(gguf, key);
    if (!entry || entry->array || entry->type != TR_GGUF_STRING)
        return;
    const unsigned char *at = entry->data;
    size_t length;
    const char *text = tr_gguf_string(&at, &length);
    length = tr_utf8_valid_prefix(text, length < size ? length : size - 1);
    memcpy(out, text, length);
    out[length] = 0;
}

static void read_about(const tr_gguf *gguf, tr_about *about)
{
    read_note(gguf, TR_KEY_LICENSE, about->license, sizeof about->license);
    read_note(gguf, TR_KEY_DATE, about->date, sizeof about->date);
    read_note(gguf, TR_KEY_DESCRIPTION, about->description, sizeof about->description);
}

static tr_status read_settings(const tr_gguf *gguf, tr_package *package, tr_error *error)
{
    tr_config *config = &package->config;
    *config = tr_config_default();
    tr_status status = read_version(gguf, error);
    if (status == TR_OK)
        status = tr_gguf_read_fields(gguf, tr_gguf_fields, tr_gguf_field_count, config, error);
    if (status == TR_OK)
        status = read_kinds(gguf, config, error);
    if (status == TR_OK)
        status = read_forbidden(gguf, config, error);
    if (status == TR_OK)
        status = read_names(gguf, package, error);
    return status == TR_OK ? tr_config_check(config, error) : status;
}

/* ----------------------------------------------------------------------------------------------------------- languages */

static tr_status read_place(const tr_gguf *gguf, const char *key, tr_language_place *place, tr_error *error)
{
    char name[32] = "";
    const tr_status status = tr_gguf_read_string(gguf, key, name, sizeof name, error);
    if (status == TR_OK && *name && !tr_language_place_parse(name, place))
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "key %s: %s is not supported", key, name);
    return status;
}

static tr_status read_codes(const tr_gguf *gguf, int vocabulary, tr_languages *languages, tr_error *error)
{
    const tr_gguf_entry *codes = tr_gguf_find(gguf, TR_KEY_LANGUAGES), *ids;
    tr_status status = tr_gguf_find_ids(gguf, TR_KEY_LANGUAGE_IDS, vocabulary, &ids, error);
    if (status != TR_OK || (!codes && !ids))
        return status;
    if (!codes || !codes->array || codes->type != TR_GGUF_STRING || !ids || ids->count != codes->count)
        return tr_gguf_fail_key(error, TR_KEY_LANGUAGES,
                                "is not an array of as many strings as " TR_KEY_LANGUAGE_IDS " has numbers");
    if (codes->count > TR_MAX_LANGUAGES)
        return tr_gguf_fail_key(error, TR_KEY_LANGUAGES, "holds too many languages");
    const unsigned char *at = codes->data;
    for (uint64_t i = 0; status == TR_OK && i < codes->count; i++) {
        size_t size;
        const char *code = tr_gguf_string(&at, &size);
        if (memchr(code, 0, size))
            return tr_gguf_fail_key(error, TR_KEY_LANGUAGES, "holds a NUL");
        status = tr_languages_add(languages, code, size, (int32_t)tr_gguf_element(ids, i), error);
    }
    return status;
}

static tr_status read_ids(const tr_gguf *gguf, const char *key, int vocabulary, tr_ids *ids, tr_error *error)
{
    const tr_gguf_entry *entry;
    const tr_status status = tr_gguf_find_ids(gguf, key, vocabulary, &entry, error);
    if (status != TR_OK || !entry)
        return status;
    if (entry->count > (uint64_t)vocabulary)
        return tr_gguf_fail_key(error, key, "holds more ids than there are");
    for (uint64_t i = 0; i < entry->count; i++) {
        const int32_t id = (int32_t)tr_gguf_element(entry, i);
        if (!tr_ids_append(ids, &id, 1))
            return tr_fail(error, TR_ERROR_MEMORY, "key %s: out of memory", key);
    }
    return TR_OK;
}

static tr_status read_languages(const tr_gguf *gguf, tr_package *package, tr_error *error)
{
    const tr_config *c = &package->config;
    const int shared = c->source_vocabulary < c->target_vocabulary ? c->source_vocabulary : c->target_vocabulary;
    tr_languages *l = &package->languages;
    tr_status status = read_place(gguf, TR_KEY_SOURCE_PLACE, &l->source, error);
    if (status == TR_OK)
        status = read_place(gguf, TR_KEY_TARGET_PLACE, &l->target, error);
    const bool target_only = l->target >= TR_LANGUAGE_TARGET_START && l->source == TR_LANGUAGE_NOWHERE;
    const bool source_only = l->target < TR_LANGUAGE_TARGET_START;
    if (status == TR_OK)
        status = read_codes(gguf,
                            target_only   ? c->target_vocabulary
                            : source_only ? c->source_vocabulary
                                          : shared,
                            l, error);
    if (status == TR_OK)
        status = read_ids(gguf, TR_KEY_SPECIAL, c->target_vocabulary, &package->special, error);
    if (status == TR_OK)
        status = read_ids(gguf, TR_KEY_COPY_SYMBOLS, c->source_vocabulary, &package->copy_symbols, error);
    if (status == TR_OK)
        status = tr_gguf_read_string(gguf, TR_KEY_STAND_INS, package->stand_ins, sizeof package->stand_ins, error);
    for (const char *at = package->stand_ins; status == TR_OK && *at; at++)
        if (*at < ' ' || *at > '~')
            status = tr_gguf_fail_key(error, TR_KEY_STAND_INS, "is not ASCII");
    return status;
}

/* ------------------------------------------------------------------------------------------------ tensors, vocabularies */

/* A list of ids is used where it lies. */
static tr_status check_list(const tr_tensor *tensor, int64_t least, bool twice, tr_error *error)
{
    if (tensor->type != TR_TYPE_I32 || tensor->rank != 1 || tensor->shape[0] < least || tensor->shape[0] > INT32_MAX ||
        (uintptr_t)tensor->data % sizeof(int32_t))
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: must be I32 of one dimension, aligned, and not empty",
                       tensor->name);
    return twice ? tr_fail(error, TR_ERROR_FORMAT, "tensor %s: is there twice", tensor->name) : TR_OK;
}

static tr_status add_allowed(tr_package *package, const tr_tensor *tensor, tr_error *error)
{
    tr_config *c = &package->config;
    const tr_status status = check_list(tensor, 1, c->allowed != NULL, error);
    if (status != TR_OK)
        return status;
    c->allowed = tensor->data;
    c->allowed_count = (int)tensor->shape[0];
    return TR_OK;
}

/* offsets and words of the shortlist, as far as they are there. */
static tr_status add_shortlist(tr_package *package, const tr_tensor *tensor, tr_error *error)
{
    tr_shortlist *s = &package->shortlist;
    const bool offsets = strcmp(tensor->name, TR_TENSOR_SHORTLIST_OFFSETS) == 0;
    const tr_status status = check_list(tensor, offsets ? 2 : 1, offsets ? s->offsets != NULL : s->words != NULL, error);
    if (status != TR_OK)
        return status;
    if (offsets) {
        s->offsets = tensor->data;
        s->sources = (int)(tensor->shape[0] - 1);
    } else {
        s->words = tensor->data;
        s->count = tensor->shape[0];
    }
    return TR_OK;
}

static tr_status read_shortlist(const tr_gguf *gguf, tr_package *package, tr_error *error)
{
    static const tr_gguf_field fields[] = {
        {TR_KEY_SHORTLIST_FIRST, TR_GGUF_SIZE, true, offsetof(tr_shortlist, first), false},
        {TR_KEY_SHORTLIST_BEST, TR_GGUF_SIZE, true, offsetof(tr_shortlist, best), false}};
    tr_shortlist *s = &package->shortlist;
    if (!s->offsets && !s->words)
        return TR_OK;
    if (!s->offsets || !s->words)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: is missing beside %s",
                       s->offsets ? TR_TENSOR_SHORTLIST_WORDS : TR_TENSOR_SHORTLIST_OFFSETS,
                       s->offsets ? TR_TENSOR_SHORTLIST_OFFSETS : TR_TENSOR_SHORTLIST_WORDS);
    tr_status status = tr_gguf_read_fields(gguf, fields, 2, s, error);
    if (status == TR_OK && (s->first < 0 || s->first > TR_MAX_VOCABULARY))
        status = tr_gguf_fail_key(error, TR_KEY_SHORTLIST_FIRST, "is out of range");
    if (status == TR_OK && (s->best < 0 || s->best > TR_MAX_VOCABULARY))
        status = tr_gguf_fail_key(error, TR_KEY_SHORTLIST_BEST, "is out of range");
    s->shared = package->target == &package->source;
    if (status != TR_OK)
        return status;
    status = tr_shortlist_check(s, &package->config, error);
    return status == TR_OK ? TR_OK : tr_fail_in(error, status, "shortlist");
}

/* Where a tensor that is a file of the tokenizer goes; NULL: it is none. */
static tr_bytes *tokenizer_part(tr_package *package, const char *name)
{
    if (strcmp(name, TR_TENSOR_SOURCE_SPM) == 0)
        return &package->source_spm;
    if (strcmp(name, TR_TENSOR_TARGET_SPM) == 0)
        return &package->target_spm;
    if (strcmp(name, TR_TENSOR_TRADITIONAL) == 0)
        return &package->traditional;
    return strcmp(name, TR_TENSOR_SOURCE_BPE) == 0 ? &package->source_bpe : NULL;
}

static tr_status add_tensor(tr_package *package, const tr_tensor *tensor, tr_error *error)
{
    if (strcmp(tensor->name, TR_TENSOR_SHORTLIST_OFFSETS) == 0 || strcmp(tensor->name, TR_TENSOR_SHORTLIST_WORDS) == 0)
        return add_shortlist(package, tensor, error);
    if (strcmp(tensor->name, TR_TENSOR_ALLOWED) == 0)
        return add_allowed(package, tensor, error);
    tr_bytes *const bytes = tokenizer_part(package, tensor->name);
    if (!bytes)
        return tr_weights_add(&package->weights, tensor, error);
    if (tensor->type != TR_TYPE_I8 || tensor->rank != 1)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: must be I8 of one dimension", tensor->name);
    if (bytes->data)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: is there twice", tensor->name);
    *bytes = (tr_bytes){tensor->data, tensor->bytes};
    return TR_OK;
}

static tr_status read_tensors(const tr_gguf *gguf, tr_package *package, tr_error *error)
{
    tr_gguf_tensors tensors;
    tr_tensor tensor;
    tr_status status = tr_gguf_tensors_begin(gguf, &tensors, error);
    while (tr_gguf_tensors_next(&tensors, &tensor, &status, error))
        status = add_tensor(package, &tensor, error);
    return status;
}

/* The array of strings at key as a vocabulary of rows ids; a shorter array leaves the last ids without a piece. */
static tr_status read_vocabulary(const tr_gguf *gguf, const char *key, int rows, tr_vocabulary *vocabulary, tr_error *error)
{
    const tr_gguf_entry *entry = tr_gguf_find(gguf, key);
    if (!entry)
        return tr_gguf_fail_key(error, key, "is missing");
    if (!entry->array || entry->type != TR_GGUF_STRING)
        return tr_gguf_fail_key(error, key, "is not an array of strings");
    if (entry->count > (uint64_t)rows)
        return tr_fail(error, TR_ERROR_FORMAT, "key %s: has %llu tokens, but the embedding has %d rows", key,
                       (unsigned long long)entry->count, rows);
    tr_piece *pieces = calloc((size_t)rows, sizeof *pieces); /* rows are in the file: tr_package_check */
    if (!pieces)
        return tr_fail(error, TR_ERROR_MEMORY, "key %s: out of memory", key);
    const unsigned char *at = entry->data;
    for (uint64_t i = 0; i < entry->count; i++) {
        size_t size;
        const char *text = tr_gguf_string(&at, &size);
        if (size > UINT32_MAX) {
            free(pieces);
            return tr_gguf_fail_key(error, key, "holds a string of 4 GB");
        }
        if (size) /* an empty string stands for an id without a piece */
            pieces[i] = (tr_piece){text, (uint32_t)size};
    }
    const tr_status status = tr_vocabulary_init(vocabulary, pieces, (size_t)rows, NULL, error);
    return status == TR_OK ? TR_OK : tr_fail_in(error, status, key);
}

static tr_status read_vocabularies(const tr_gguf *gguf, tr_package *package, tr_error *error)
{
    const tr_config *c = &package->config;
    const bool separate = tr_gguf_find(gguf, TR_KEY_TARGET_TOKENS) != NULL;
    tr_status status = read_vocabulary(gguf, TR_KEY_TOKENS, c->source_vocabulary, &package->source, error);
    if (status == TR_OK && separate)
        status = read_vocabulary(gguf, TR_KEY_TARGET_TOKENS, c->target_vocabulary, &package->target_own, error);
    else if (status == TR_OK && c->source_vocabulary != c->target_vocabulary)
        status = tr_gguf_fail_key(error, TR_KEY_TARGET_TOKENS, "is missing, and the embeddings are of different sizes");
    package->target = separate ? &package->target_own : &package->source;
    return status;
}

static tr_status read_checksum(const tr_gguf *gguf, tr_package *package, tr_error *error)
{
    const tr_gguf_entry *entry = tr_gguf_find(gguf, TR_KEY_CHECKSUM);
    if (!entry)
        return TR_OK;
    if (entry->array || entry->type != TR_GGUF_U64)
        return tr_gguf_fail_key(error, TR_KEY_CHECKSUM, "is not a 64-bit number");
    int64_t value;
    tr_gguf_integer(entry, &value);
    package->has_checksum = true;
    package->checksum = (uint64_t)value;
    return TR_OK;
}

/* A file made by tr_gguf_write. */
static tr_status read_own(const tr_gguf *gguf, tr_package *package, tr_error *error)
{
    tr_status status = read_settings(gguf, package, error);
    if (status == TR_OK)
        status = read_languages(gguf, package, error);
    if (status == TR_OK)
        status = read_checksum(gguf, package, error);
    if (status == TR_OK)
        status = read_tensors(gguf, package, error);
    if (status == TR_OK)
        status = tr_package_check(package, error);
    if (status == TR_OK)
        status = read_vocabularies(gguf, package, error);
    if (status == TR_OK)
        status = read_shortlist(gguf, package, error);
    if (status == TR_OK && package->source_bpe.data && (package->source_spm.data || package->target_spm.data))
        status = tr_fail(error, TR_ERROR_FORMAT, "tensor %s: is there beside a SentencePiece model", TR_TENSOR_SOURCE_BPE);
    if (status == TR_OK && package->traditional.data)
        status = tr_fail_in(error, tr_traditional_check(package->traditional, error), "tensor " TR_TENSOR_TRADITIONAL);
    if (status == TR_OK && !package->target_spm.data)
        package->target_spm = package->source_spm; /* stored once if they are the same */
    return status;
}

static tr_status read_architecture(const tr_gguf *gguf, tr_package *package, tr_error *error)
{
    return tr_gguf_read_string(gguf, TR_KEY_ARCHITECTURE, package->architecture, sizeof package->architecture, error);
}

static tr_status fail_foreign(const tr_package *package, tr_error *error)
{
    return tr_fail(error, TR_ERROR_UNSUPPORTED,
                   "key " TR_KEY_VERSION
                   ": is missing: not made by translate convert (architecture %s), and this build opens "
                   "no other file; convert it with a full build",
                   *package->architecture ? package->architecture : "unknown");
}

static tr_status read_kind(const tr_gguf *gguf, tr_package *package, tr_error *error)
{
    const tr_import *import = tr_import_part();
    const tr_status status = read_architecture(gguf, package, error);
    if (status != TR_OK)
        return status;
    read_about(gguf, &package->about);
    if (tr_gguf_find(gguf, TR_KEY_VERSION))
        return read_own(gguf, package, error);
    return import ? import->read_llama(gguf, package, error) : fail_foreign(package, error);
}

tr_status tr_gguf_read(const void *data, size_t size, tr_package *package, tr_error *error)
{
    tr_gguf gguf;
    tr_error local; /* prefixes are put before messages, so there must be one */
    error = error ? error : &local;
    tr_status status = tr_gguf_parse(&gguf, data, size, error);
    if (status != TR_OK)
        return status;
    status = read_kind(&gguf, package, error);
    tr_gguf_free(&gguf);
    return status;
}

bool tr_gguf_recognise(const void *data, size_t size)
{
    return size >= 4 && memcmp(data, "GGUF", 4) == 0;
}

tr_status tr_gguf_open(const char *path, tr_load load, tr_package *package, tr_error *error)
{
    tr_error local;
    tr_bytes file;
    error = error ? error : &local;
    *package = (tr_package){.format = "GGUF"};
    tr_status status = tr_package_file(package, path, load, &file, error);
    if (status == TR_OK) {
        package->file_size = file.size;
        status = tr_gguf_read(file.data, file.size, package, error);
        if (status != TR_OK)
            tr_fail_in(error, status, path);
    }
    if (status != TR_OK)
        tr_package_close(package);
    return status;
}

/* --------------------------------------------------------------------------------------------------------------- peek */

/* Sets *has_tokenizer if a tensor holds one, and package->traditional. */
static tr_status peek_tensors(const tr_gguf *gguf, tr_package *package, bool *has_tokenizer, tr_error *error)
{
    tr_gguf_tensors tensors;
    tr_tensor t;
    tr_status status = tr_gguf_tensors_begin(gguf, &tensors, error);
    while (tr_gguf_tensors_next(&tensors, &t, &status, error)) {
        *has_tokenizer |= strcmp(t.name, TR_TENSOR_SOURCE_SPM) == 0 || strcmp(t.name, TR_TENSOR_SOURCE_BPE) == 0;
        if (strcmp(t.name, TR_TENSOR_TRADITIONAL) == 0 && tr_gguf_find(gguf, TR_KEY_VERSION))
            package->traditional = (tr_bytes){t.data, t.bytes};
    }
    return status;
}

static tr_status peek_own(const tr_gguf *gguf, tr_package *package, tr_error *error)
{
    package->config.source_vocabulary = package->config.target_vocabulary = INT_MAX; /* ids do not matter */
    const tr_status status = read_version(gguf, error);
    return status == TR_OK ? read_languages(gguf, package, error) : status;
}

static tr_status peek_kind(const tr_gguf *gguf, tr_package *package, bool *has_tokenizer, tr_error *error)
{
    tr_status status = read_architecture(gguf, package, error);
    if (status == TR_OK)
        status = read_names(gguf, package, error);
    if (status == TR_OK && tr_gguf_find(gguf, TR_KEY_VERSION))
        status = peek_own(gguf, package, error);
    else if (status == TR_OK) {
        const tr_import *import = tr_import_part();
        status = import ? import->peek_llama(gguf, package, error) : fail_foreign(package, error);
        *has_tokenizer = true;
    }
    return status == TR_OK ? peek_tensors(gguf, package, has_tokenizer, error) : status;
}

tr_status tr_gguf_peek(const char *path, tr_package *package, bool *has_tokenizer, tr_error *error)
{
    tr_bytes file;
    tr_gguf gguf;
    package->format = "GGUF";
    package->name[0] = 0;
    tr_status status = tr_package_file(package, path, TR_LOAD_MAP, &file, error);
    if (status != TR_OK)
        return status;
    package->file_size = file.size;
    status = tr_gguf_parse(&gguf, file.data, file.size, error);
    if (status == TR_OK) {
        status = peek_kind(&gguf, package, has_tokenizer, error);
        tr_gguf_free(&gguf);
    }
    return tr_fail_in(error, status, path);
}
