/* Native Marian models: model.npz or model.bin with its settings inside and its vocabularies beside it, named by the yml
 * file that Marian decodes with, or as usual. Firefox's and translateLocally's are among them, in int8 and with a shortlist.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/directory.h"
#include "formats/vocabularies.h"
#include "formats/json.h"
#include "formats/marian/marian.h"
#include "formats/peek.h"
#include "formats/peek_tokens.h"
#include "formats/shortlist.h"
#include "formats/yaml.h"
#include "formats/zip.h"
#include "util/folder.h"
#include "util/utf8.h"

enum { LARGEST_OPTIONS = 1 << 20 /* bytes */, CONTROLS = 32 };

typedef struct opening {
    tr_directory d; /* the directory that holds the model */
    tr_folder_names names;
    char model[TR_PATH], vocabularies[2][TR_PATH]; /* names in it; "" while unknown */
    char shortlist[TR_PATH];
    double length_factor; /* of the options; 0: they have none */
    tr_marian_items items;
    tr_marian_layout layout;
    json_t *settings;
} opening;

/* ---------------------------------------------------------------------------------------------------------- which it is */

static bool is_npz(const void *data, size_t size)
{
    tr_zip *zip;
    tr_error error;
    if (size < 4 || memcmp(data, "PK\3\4", 4) != 0 || tr_zip_open(data, size, &zip, &error) != TR_OK)
        return false;
    const bool found = tr_zip_find(zip, TR_MARIAN_SETTINGS ".npy") != NULL;
    tr_zip_close(zip);
    return found;
}

bool tr_marian_recognise(const void *data, size_t size)
{
    return tr_marian_bin_recognise(data, size) || is_npz(data, size);
}

/* Whether a file of the directory is a model. */
static bool is_model(const char *folder, const char *name)
{
    char path[TR_PATH];
    tr_file file;
    tr_error error;
    if (tr_path_join(path, folder, name, &error) != TR_OK || tr_file_open(path, TR_LOAD_MAP, &file, &error) != TR_OK)
        return false;
    const bool is = tr_marian_recognise(file.data, file.size);
    tr_file_close(&file);
    return is;
}

static bool may_be_model(const char *name)
{
    return tr_ends_with(name, ".npz") || tr_ends_with(name, ".bin");
}

/* As Firefox's files are downloaded. */
static bool is_compressed(const char *name, const char *begin)
{
    return strncmp(name, begin, strlen(begin)) == 0 && (tr_ends_with(name, ".gz") || tr_ends_with(name, ".zst"));
}

bool tr_is_marian(const char *path)
{
    tr_folder_names names = {0};
    tr_error error;
    bool found = false, other = false;
    if (tr_folder_list(path, &names, &error) == TR_OK)
        for (size_t i = 0; i < names.count; i++) {
            const char *name = names.names[i];
            other = other || strcmp(name, "config.json") == 0;
            found = found || (may_be_model(name) && is_model(path, name)) || is_compressed(name, "model.");
        }
    tr_folder_names_free(&names);
    return found && !other;
}

/* --------------------------------------------------------------------------------------------------------- which files */

static bool has(const opening *o, const char *name)
{
    return *name && tr_directory_has(&o->d, name);
}

/* A path in a file of options, as it was where the model was made: here it is beside it. "" if it is not there. */
static void localise(const opening *o, const char *path, char name[TR_PATH])
{
    const char *slash = strrchr(path, '/');
    const bool inside = path[0] != '/' && !strstr(path, "..");
    const char *const candidates[] = {inside ? path : "", slash ? slash + 1 : path};
    *name = 0;
    for (size_t i = 0; i < 2 && !*name; i++)
        if (strlen(candidates[i]) < TR_PATH && has(o, candidates[i]))
            strcpy(name, candidates[i]);
}

/* What a list of the options names, if it has so many. */
static const char *listed(const json_t *options, const char *key, size_t count, size_t i)
{
    const json_t *list = json_object_get(options, key);
    return json_array_size(list) == count ? json_string_value(json_array_get(list, i)) : NULL;
}

/* Options for decoding name a model and its vocabularies; only those of the model at hand, if it is known, count. */
static tr_status take_options(opening *o, const json_t *options)
{
    char name[TR_PATH];
    const char *model = listed(options, "models", 1, 0);
    if (json_array_size(json_object_get(options, "models")) > 1)
        return tr_directory_fail(&o->d, TR_ERROR_UNSUPPORTED, "its options name several models, which is not supported");
    if (!model)
        return TR_OK;
    localise(o, model, name);
    if (!*name || (*o->model && strcmp(name, o->model) != 0))
        return TR_OK;
    strcpy(o->model, name);
    if (json_is_number(json_object_get(options, "max-length-factor")))
        o->length_factor = json_number_value(json_object_get(options, "max-length-factor"));
    const json_t *shortlist = json_array_get(json_object_get(options, "shortlist"), 0);
    if (json_is_string(shortlist)) {
        localise(o, json_string_value(shortlist), o->shortlist);
        if (!*o->shortlist)
            return tr_directory_fail(&o->d, TR_ERROR_FORMAT, "the shortlist that its options name is missing");
    }
    for (size_t i = 0; i < 2; i++)
        if (!*o->vocabularies[i] && listed(options, "vocabs", 2, i))
            localise(o, listed(options, "vocabs", 2, i), o->vocabularies[i]);
    return TR_OK;
}

static tr_status read_options(opening *o, const char *name)
{
    const tr_directory *d = &o->d;
    json_t *options = NULL;
    tr_bytes bytes;
    tr_status status = tr_package_file(d->package, d->path, name, d->load, &bytes, d->error);
    if (status != TR_OK)
        return status;
    if (bytes.size <= LARGEST_OPTIONS)
        status = tr_directory_in(d, tr_yaml_parse(bytes.data, bytes.size, name, &options, d->error));
    tr_package_close_last(d->package);
    if (status == TR_OK)
        status = take_options(o, options);
    json_decref(options);
    return status;
}

/* decoder.yml, MODEL.decoder.yml, config.yml, config.intgemm8bitalpha.yml */
static bool are_options(const char *name)
{
    return tr_ends_with(name, "decoder.yml") || (strncmp(name, "config.", 7) == 0 && tr_ends_with(name, ".yml"));
}

static tr_status find_options(opening *o)
{
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < o->names.count; i++)
        if (are_options(o->names.names[i]))
            status = read_options(o, o->names.names[i]);
    return status;
}

/* TR_OK: there is none. */
static tr_status refuse_compressed(const opening *o, const char *begin)
{
    for (size_t i = 0; i < o->names.count; i++)
        if (is_compressed(o->names.names[i], begin))
            return tr_fail(o->d.error, TR_ERROR_UNSUPPORTED, "%s: %.100s is compressed: unpack it first, with %s", o->d.path,
                           o->names.names[i], tr_ends_with(o->names.names[i], ".gz") ? "gunzip" : "unzstd");
    return TR_OK;
}

static tr_status find_model(opening *o)
{
    static const char *const usual[] = {"model.npz", "model.bin"};
    for (size_t i = 0; i < 2 && !*o->model; i++)
        if (has(o, usual[i]))
            strcpy(o->model, usual[i]);
    if (*o->model)
        return TR_OK;
    for (size_t i = 0; i < o->names.count; i++) {
        const char *name = o->names.names[i];
        if (!may_be_model(name) || !is_model(o->d.path, name))
            continue;
        if (*o->model)
            return tr_fail(o->d.error, TR_ERROR_ARGUMENT, "%s: holds several models (%.100s, %.100s): give one of them",
                           o->d.path, o->model, name);
        snprintf(o->model, sizeof o->model, "%s", name);
    }
    const tr_status status = *o->model ? TR_OK : refuse_compressed(o, "model.");
    if (*o->model || status != TR_OK)
        return status;
    return tr_directory_fail(&o->d, TR_ERROR_FORMAT, "the model that its options name is missing");
}

/* -------------------------------------------------------------------------------------------------------- vocabularies */

static bool is_vocabulary(const char *name)
{
    static const char *const endings[] = {".spm", ".yml", ".yaml", ".json"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (tr_ends_with(name, endings[i]))
            return true;
    return false;
}

/* The one vocabulary whose name begins, or else ends before its last ending, with word; "" if there is none. More than one:
 * ambiguous. */
static bool find_named(const opening *o, const char *word, char found[TR_PATH])
{
    bool single = true;
    *found = 0;
    for (size_t i = 0; i < o->names.count; i++) {
        const char *name = o->names.names[i], *dot = strrchr(name, '.');
        const size_t size = strlen(word), stem = dot ? (size_t)(dot - name) : 0;
        const bool begins = strncmp(name, word, size) == 0 && (name[size] == '.' || name[size] == '-');
        const bool ends = stem > size && memcmp(name + stem - size, word, size) == 0 && name[stem - size - 1] == '.';
        if (!is_vocabulary(name) || (!begins && !ends))
            continue;
        single = single && !*found;
        snprintf(found, TR_PATH, "%s", name);
    }
    return single && *found;
}

static tr_status find_vocabularies(opening *o)
{
    static const char *const usual[][2] = {{"vocab.src", "vocab.trg"},
                                           {"srcvocab", "trgvocab"},
                                           {"source.vocab", "target.vocab"},
                                           {"src.vocab", "trg.vocab"},
                                           {"vocab", "vocab"}};
    char names[2][TR_PATH];
    if (*o->vocabularies[0] && *o->vocabularies[1])
        return TR_OK;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (find_named(o, usual[i][0], names[0]) && find_named(o, usual[i][1], names[1])) {
            memcpy(o->vocabularies, names, sizeof names);
            return TR_OK;
        }
    for (size_t i = 0; i < 3; i++) {
        static const char *const firefox[] = {"vocab.", "srcvocab.", "trgvocab."};
        const tr_status status = refuse_compressed(o, firefox[i]);
        if (status != TR_OK)
            return status;
    }
    return tr_directory_fail(&o->d, TR_ERROR_FORMAT,
                             "its vocabularies are missing, or there are several: decoder.yml with vocabs, vocab.spm, "
                             "vocab.yml, vocab.src.yml and vocab.trg.yml");
}

/* A SentencePiece model stays open; of others what is read is a copy. */
static tr_status read_vocabulary(const opening *o, const char *name, int rows, tr_vocabulary *vocabulary, tr_bytes *spm,
                                 tr_marian_specials *specials)
{
    const tr_directory *d = &o->d;
    tr_bytes bytes;
    tr_status status = tr_package_file(d->package, d->path, name, d->load, &bytes, d->error);
    if (status != TR_OK)
        return status;
    if (tr_ends_with(name, ".spm")) {
        *spm = bytes;
        status = tr_directory_in(
            d, tr_fail_in(d->error, tr_vocabulary_of_pieces(bytes, rows, false, NULL, vocabulary, d->error), name));
        specials->end = tr_vocabulary_find(vocabulary, "</s>", 4);
        specials->unknown = tr_vocabulary_find(vocabulary, "<unk>", 5);
        return status;
    }
    status = tr_directory_in(d, tr_marian_vocabulary(bytes, name, rows, vocabulary, specials, d->error));
    tr_package_close_last(d->package);
    return status;
}

/* Marian never emits the unknown token, nor the pieces of control characters (Vocab::suppressedIds; Bergamot's older Marian
 * does not know the latter). */
static void forbid(const tr_vocabulary *target, int unknown, tr_config *c)
{
    char piece[8];
    if (unknown >= 0)
        c->forbidden[c->forbidden_count++] = unknown;
    for (int i = 0; i < CONTROLS && !c->marian_int8; i++) {
        const int size = snprintf(piece, sizeof piece, "<0x%02X>", (unsigned)i);
        const int id = tr_vocabulary_find(target, piece, (size_t)size);
        if (id >= 0)
            c->forbidden[c->forbidden_count++] = id;
    }
}

static tr_status read_vocabularies(opening *o)
{
    const tr_directory *d = &o->d;
    tr_package *package = d->package;
    tr_config *c = &package->config;
    const bool shared = strcmp(o->vocabularies[0], o->vocabularies[1]) == 0 && c->source_vocabulary == c->target_vocabulary;
    tr_marian_specials source, target;
    tr_status status =
        read_vocabulary(o, o->vocabularies[0], c->source_vocabulary, &package->source, &package->source_spm, &source);
    package->target = &package->source;
    package->target_spm = package->source_spm;
    target = source;
    if (status == TR_OK && !shared) {
        package->target = &package->target_own;
        status = read_vocabulary(o, o->vocabularies[1], c->target_vocabulary, &package->target_own, &package->target_spm,
                                 &target);
    }
    if (status != TR_OK)
        return status;
    if (source.end != target.end || source.end < 0)
        return tr_directory_fail(d, TR_ERROR_UNSUPPORTED, "the end mark </s> must have the same id in both vocabularies");
    c->end_id = source.end;
    c->unk_id = source.unknown;
    forbid(package->target, target.unknown, c);
    status = tr_directory_in(d, tr_languages_collect(&package->source, ">>", &package->languages, d->error));
    if (status != TR_OK)
        return status;
    /* pieces out of SentencePiece models that are no vocabularies: OPUS-MT's */
    return !package->source_spm.data && has(o, "source.spm") ? tr_directory_pieces(d, "source.spm", "target.spm") : TR_OK;
}

/* ------------------------------------------------------------------------------------------------------------- network */

static tr_status read_settings(opening *o)
{
    const tr_directory *d = &o->d;
    const tr_marian_item *item = tr_marian_find(&o->items, TR_MARIAN_SETTINGS);
    if (!item || item->type != TR_MARIAN_I8)
        return tr_fail(d->error, TR_ERROR_FORMAT, TR_MARIAN_SETTINGS " is missing: no model of Marian's");
    const unsigned char *end = memchr(item->data, 0, item->bytes);
    const size_t size = end ? (size_t)(end - item->data) : item->bytes;
    const tr_status status = tr_yaml_parse(item->data, size, TR_MARIAN_SETTINGS, &o->settings, d->error);
    return status == TR_OK ? tr_marian_config(o->settings, &o->items, &d->package->config, &o->layout, d->error) : status;
}

/* ----------------------------------------------------------------------------------------- Firefox and translateLocally */

/* The PAIR of model.PAIR.intgemm.alphas.bin; "" if the name has none. */
static void pair_of(const char *model, char pair[32])
{
    const char *dot = strchr(model, '.'), *next = dot ? strchr(dot + 1, '.') : NULL;
    const size_t size = next ? (size_t)(next - dot - 1) : 0;
    *pair = 0;
    if (next && strchr(next + 1, '.') && size < 32) {
        memcpy(pair, dot + 1, size);
        pair[size] = 0;
    }
}

/* Two languages of two letters each. */
static void note_languages(opening *o)
{
    char pair[32];
    tr_package *package = o->d.package;
    pair_of(o->model, pair);
    if (strlen(pair) != 4 || strspn(pair, "abcdefghijklmnopqrstuvwxyz") != 4)
        return;
    snprintf(package->source_language, TR_LANGUAGE, "%.2s", pair);
    snprintf(package->target_language, TR_LANGUAGE, "%.2s", pair + 2);
}

/* lex.50.50.PAIR.s2t.bin; without options to name it, that of the model's pair, or the only one. */
static tr_status find_shortlist(opening *o)
{
    char pair[32], part[48];
    bool several = false;
    pair_of(o->model, pair);
    snprintf(part, sizeof part, ".%s.s2t.bin", pair);
    for (size_t i = 0; i < o->names.count && !*o->shortlist; i++)
        if (*pair && strncmp(o->names.names[i], "lex.", 4) == 0 && tr_ends_with(o->names.names[i], part))
            snprintf(o->shortlist, sizeof o->shortlist, "%s", o->names.names[i]);
    if (*o->shortlist)
        return TR_OK;
    for (size_t i = 0; i < o->names.count; i++) {
        const char *name = o->names.names[i];
        if (strncmp(name, "lex.", 4) != 0 || !tr_ends_with(name, ".bin"))
            continue;
        several = several || *o->shortlist;
        snprintf(o->shortlist, sizeof o->shortlist, "%s", name);
    }
    if (several)
        return tr_directory_fail(&o->d, TR_ERROR_ARGUMENT, "holds several shortlists, and none of the model's name");
    return *o->shortlist ? TR_OK : refuse_compressed(o, "lex.");
}

static tr_status read_shortlist(opening *o)
{
    const tr_directory *d = &o->d;
    const tr_status status = find_shortlist(o);
    if (status != TR_OK || !*o->shortlist)
        return status;
    return tr_package_shortlist(d->package, d->path, o->shortlist, d->load, d->error);
}

/* int8 stays int8, and is decoded as Bergamot does. */
static void note_int8(opening *o)
{
    enum { LENGTH_FACTOR = 2 }; /* bergamot-translator's own */
    tr_package *package = o->d.package;
    for (size_t i = 0; i < o->items.count; i++)
        if (o->items.items[i].type == TR_MARIAN_INTGEMM8)
            package->config.marian_int8 = true;
    if (!package->config.marian_int8)
        return;
    package->format = "Bergamot model";
    package->directory = false;
    package->config.length_factor = o->length_factor > 0 ? (float)o->length_factor : LENGTH_FACTOR;
}

/* What tensors point into becomes theirs. */
static tr_status hand_over(opening *o)
{
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < o->items.block_count; i++) {
        void *block = o->items.blocks[i];
        o->items.blocks[i] = NULL; /* kept, or freed */
        status = tr_weights_keep(&o->d.package->weights, block, o->d.error);
    }
    return status;
}

static tr_status read_model(opening *o)
{
    tr_package *package = o->d.package;
    tr_error *error = o->d.error;
    tr_bytes file;
    tr_status status = tr_package_file(package, o->d.path, o->model, o->d.load, &file, error);
    if (status != TR_OK)
        return status;
    package->file_size = file.size;
    status = tr_marian_bin_recognise(file.data, file.size) ? tr_marian_bin_read(file, &o->items, error)
                                                           : tr_npz_read(file, &o->items, error);
    if (status == TR_OK)
        status = read_settings(o);
    note_int8(o);
    note_languages(o);
    package->config.end_id = 0; /* until the vocabularies are known */
    if (status == TR_OK)
        status = tr_config_check(&package->config, error);
    if (status == TR_OK)
        status = tr_marian_weights(&o->items, &package->config, &o->layout, &package->weights, error);
    if (status == TR_OK)
        status = hand_over(o);
    if (status == TR_OK)
        status = tr_package_check(package, error);
    return tr_directory_in(&o->d, tr_fail_in(error, status, o->model));
}

static tr_status find_files(opening *o)
{
    tr_status status = tr_folder_list(o->d.path, &o->names, o->d.error);
    if (status == TR_OK)
        status = find_options(o);
    return status == TR_OK ? find_model(o) : status;
}

static tr_status read_all(opening *o)
{
    tr_status status = find_files(o);
    if (status == TR_OK)
        status = read_model(o);
    if (status == TR_OK)
        status = find_vocabularies(o);
    if (status == TR_OK)
        status = read_vocabularies(o);
    if (status == TR_OK)
        status = tr_directory_in(&o->d, tr_config_check(&o->d.package->config, o->d.error));
    return status == TR_OK ? read_shortlist(o) : status;
}

/* path: a directory, or a model in one */
static tr_status split_path(const char *path, char folder[TR_PATH], char model[TR_PATH], tr_error *error)
{
    const char *slash = strrchr(path, '/');
    const size_t size = slash == path ? 1 : slash ? (size_t)(slash - path) : 1;
    if (strlen(path) >= TR_PATH)
        return tr_fail(error, TR_ERROR_ARGUMENT, "%.100s…: the path is too long", path);
    *model = 0;
    strcpy(folder, path);
    if (tr_is_directory(path))
        return TR_OK;
    memcpy(folder, slash ? path : ".", size);
    folder[size] = 0;
    strcpy(model, slash ? slash + 1 : path);
    return TR_OK;
}

/* --------------------------------------------------------------------------------------------------------------- peek */

static tr_status measure_model(opening *o)
{
    tr_bytes file;
    const tr_status status = tr_package_file(o->d.package, o->d.path, o->model, TR_LOAD_MAP, &file, o->d.error);
    if (status != TR_OK)
        return status;
    o->d.package->file_size = file.size;
    tr_package_close_last(o->d.package);
    return TR_OK;
}

static tr_status peek(opening *o, bool *has_tokenizer)
{
    tr_status status = find_files(o);
    if (status == TR_OK)
        status = measure_model(o);
    if (status == TR_OK)
        status = find_vocabularies(o);
    *has_tokenizer = tr_ends_with(o->vocabularies[0], ".spm") || has(o, "source.spm");
    return status == TR_OK ? tr_peek_tokens(&o->d, o->vocabularies[0], ">>", "<<") : status;
}

/* ------------------------------------------------------------------------------------------------------------- opening */

static const char format[] = "Marian model";

/* has_tokenizer: where to tell of a peek; NULL: all is read. */
static tr_status run(const tr_directory *d, bool *has_tokenizer)
{
    char folder[TR_PATH];
    opening *o = calloc(1, sizeof *o);
    tr_status status =
        o ? split_path(d->path, folder, o->model, d->error) : tr_fail(d->error, TR_ERROR_MEMORY, "out of memory");
    if (status == TR_OK) {
        o->d = (tr_directory){folder, d->load, d->package, d->error};
        tr_directory_name(d->path, d->package->name, sizeof d->package->name);
        status = has_tokenizer ? peek(o, has_tokenizer) : read_all(o);
        tr_folder_names_free(&o->names);
        tr_marian_items_free(&o->items);
        json_decref(o->settings);
    }
    free(o);
    return status;
}

tr_status tr_open_marian(const char *path, tr_load load, tr_package *package, tr_error *error)
{
    tr_error local;
    *package = (tr_package){.format = format, .architecture = "marian", .directory = true};
    const tr_directory d = {path, load, package, error ? error : &local};
    const tr_status status = run(&d, NULL);
    if (status != TR_OK)
        tr_package_close(package);
    return status;
}

tr_status tr_peek_marian(const tr_directory *d, bool *has_tokenizer)
{
    d->package->format = format;
    return run(d, has_tokenizer);
}
