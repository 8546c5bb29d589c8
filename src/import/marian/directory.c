/* Native Marian models: model.npz or model.bin with its settings inside and its vocabularies beside it. Firefox's and
 * translateLocally's are among them, in int8 and with a shortlist. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/marian/files.h"
#include "import/marian/marian.h"
#include "import/readers.h"
#include "formats/shortlist.h"
#include "import/vocabularies.h"
#include "import/yaml.h"
#include "util/utf8.h"

enum { CONTROLS = 32 };

typedef struct opening {
    tr_marian_files files;
    tr_marian_items items;
    tr_marian_layout layout;
    json_t *settings;
} opening;

/* -------------------------------------------------------------------------------------------------------- vocabularies */

/* A SentencePiece model stays open; vocabularies of other kinds are copied. */
static tr_status read_vocabulary(const opening *o, const char *name, int rows, tr_vocabulary *vocabulary, tr_bytes *spm,
                                 tr_marian_specials *specials)
{
    const tr_directory *d = &o->files.d;
    tr_bytes bytes;
    tr_status status = tr_directory_file(d, name, &bytes);
    if (status != TR_OK)
        return status;
    if (tr_ends_with(name, ".spm")) {
        *spm = bytes;
        status = tr_directory_in(
            d, tr_fail_in(d->error, tr_vocabulary_of_pieces(bytes, rows, false, NULL, vocabulary, d->error), name));
        specials->eos_id = tr_vocabulary_find(vocabulary, "</s>", 4);
        specials->unk_id = tr_vocabulary_find(vocabulary, "<unk>", 5);
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
    const tr_directory *d = &o->files.d;
    tr_package *package = d->package;
    tr_config *c = &package->config;
    const bool shared =
        strcmp(o->files.vocabularies[0], o->files.vocabularies[1]) == 0 && c->source_vocabulary == c->target_vocabulary;
    tr_marian_specials source, target;
    tr_status status =
        read_vocabulary(o, o->files.vocabularies[0], c->source_vocabulary, &package->source, &package->source_spm, &source);
    package->target = &package->source;
    package->target_spm = package->source_spm;
    target = source;
    if (status == TR_OK && !shared) {
        package->target = &package->target_own;
        status = read_vocabulary(o, o->files.vocabularies[1], c->target_vocabulary, &package->target_own,
                                 &package->target_spm, &target);
    }
    if (status != TR_OK)
        return status;
    if (source.eos_id != target.eos_id || source.eos_id < 0)
        return tr_directory_fail(d, TR_ERROR_UNSUPPORTED, "EOS (</s>) must have the same id in both vocabularies");
    c->eos_id = source.eos_id;
    c->unk_id = source.unk_id;
    forbid(package->target, target.unk_id, c);
    status = tr_directory_in(d, tr_languages_collect(&package->source, ">>", &package->languages, d->error));
    if (status != TR_OK)
        return status;
    /* pieces out of SentencePiece models that are no vocabularies: OPUS-MT's */
    bool pieces = false;
    if (!package->source_spm.data)
        status = tr_directory_has(d, "source.spm", &pieces);
    return pieces ? tr_directory_pieces(d, "source.spm", "target.spm") : status;
}

/* ------------------------------------------------------------------------------------------------------------- network */

static tr_status read_settings(opening *o)
{
    const tr_directory *d = &o->files.d;
    const tr_marian_item *item = tr_marian_find(&o->items, TR_MARIAN_SETTINGS);
    if (!item || item->type != TR_MARIAN_I8)
        return tr_fail(d->error, TR_ERROR_FORMAT, TR_MARIAN_SETTINGS " is missing: no model of Marian's");
    const unsigned char *end = memchr(item->data, 0, item->bytes);
    const size_t size = end ? (size_t)(end - item->data) : item->bytes;
    const tr_status status = tr_yaml_parse(item->data, size, TR_MARIAN_SETTINGS, &o->settings, d->error);
    return status == TR_OK ? tr_marian_config(o->settings, &o->items, &d->package->config, &o->layout, d->error) : status;
}

/* ----------------------------------------------------------------------------------------- Firefox and translateLocally */

/* Two languages of two letters each. */
static void note_languages(opening *o)
{
    char pair[32];
    tr_package *package = o->files.d.package;
    tr_marian_pair(o->files.model, pair);
    if (strlen(pair) != 4 || strspn(pair, "abcdefghijklmnopqrstuvwxyz") != 4)
        return;
    snprintf(package->source_language, TR_LANGUAGE, "%.2s", pair);
    snprintf(package->target_language, TR_LANGUAGE, "%.2s", pair + 2);
}

static tr_status read_shortlist(opening *o)
{
    const tr_directory *d = &o->files.d;
    char path[TR_PATH];
    tr_status status = tr_marian_find_shortlist(&o->files);
    if (status != TR_OK || !*o->files.shortlist)
        return status;
    status = tr_path_join(path, d->path, o->files.shortlist, d->error);
    return status == TR_OK ? tr_package_shortlist(d->package, path, d->load, d->error) : status;
}

/* int8 stays int8, and is decoded as Bergamot does. */
static void note_int8(opening *o)
{
    enum { LENGTH_FACTOR = 2 }; /* bergamot-translator's own */
    tr_package *package = o->files.d.package;
    for (size_t i = 0; i < o->items.count; i++)
        if (o->items.items[i].type == TR_MARIAN_INTGEMM8)
            package->config.marian_int8 = true;
    if (!package->config.marian_int8)
        return;
    package->format = "Bergamot model";
    package->directory = false;
    package->config.length_factor = o->files.length_factor > 0 ? (float)o->files.length_factor : LENGTH_FACTOR;
}

/* Hands the memory that tensors point into to the table of weights. */
static tr_status hand_over(opening *o)
{
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < o->items.block_count; i++) {
        void *block = o->items.blocks[i];
        o->items.blocks[i] = NULL; /* kept, or freed */
        status = tr_weights_keep(&o->files.d.package->weights, block, o->files.d.error);
    }
    return status;
}

static tr_status read_model(opening *o)
{
    const tr_directory *d = &o->files.d;
    tr_package *package = d->package;
    tr_error *error = d->error;
    tr_bytes file;
    tr_status status = tr_directory_file(d, o->files.model, &file);
    if (status != TR_OK)
        return status;
    package->file_size = file.size;
    status = tr_marian_bin_recognise(file.data, file.size) ? tr_marian_bin_read(file, &o->items, error)
                                                           : tr_npz_read(file, &o->items, error);
    if (status == TR_OK)
        status = read_settings(o);
    note_int8(o);
    note_languages(o);
    package->config.eos_id = 0; /* until the vocabularies are known */
    if (status == TR_OK)
        status = tr_config_check(&package->config, error);
    if (status == TR_OK)
        status = tr_marian_weights(&o->items, &package->config, &o->layout, &package->weights, error);
    if (status == TR_OK)
        status = hand_over(o);
    if (status == TR_OK)
        status = tr_package_check(package, error);
    return tr_directory_in(d, tr_fail_in(error, status, o->files.model));
}

static tr_status read_all(opening *o)
{
    tr_status status = tr_marian_find_model(&o->files);
    if (status == TR_OK)
        status = read_model(o);
    if (status == TR_OK)
        status = tr_marian_find_vocabularies(&o->files);
    if (status == TR_OK)
        status = read_vocabularies(o);
    if (status == TR_OK)
        status = tr_directory_in(&o->files.d, tr_config_check(&o->files.d.package->config, o->files.d.error));
    return status == TR_OK ? read_shortlist(o) : status;
}

/* path: a directory, or a model in one */
static tr_status split_path(const char *path, char folder[TR_PATH], char model[TR_PATH], tr_error *error)
{
    const char *slash = strrchr(path, '/');
    const size_t size = slash == path ? 1 : slash ? (size_t)(slash - path) : 1;
    tr_path_kind place;
    if (strlen(path) >= TR_PATH)
        return tr_fail(error, TR_ERROR_ARGUMENT, "%.100s…: the path is too long", path);
    *model = 0;
    strcpy(folder, path);
    const tr_status status = tr_path_look(path, &place, error);
    if (status != TR_OK || place == TR_PATH_DIRECTORY)
        return status;
    memcpy(folder, slash ? path : ".", size);
    folder[size] = 0;
    strcpy(model, slash ? slash + 1 : path);
    return TR_OK;
}

/* --------------------------------------------------------------------------------------------------------------- peek */

static tr_status measure_model(opening *o)
{
    const tr_directory *d = &o->files.d;
    tr_bytes file;
    const tr_status status = tr_directory_file(d, o->files.model, &file);
    if (status != TR_OK)
        return status;
    d->package->file_size = file.size;
    tr_package_close_last(d->package);
    return TR_OK;
}

static tr_status peek(opening *o, bool *has_tokenizer)
{
    tr_status status = tr_marian_find_model(&o->files);
    if (status == TR_OK)
        status = measure_model(o);
    if (status == TR_OK)
        status = tr_marian_find_vocabularies(&o->files);
    *has_tokenizer = tr_ends_with(o->files.vocabularies[0], ".spm");
    if (status == TR_OK && !*has_tokenizer)
        status = tr_directory_has(&o->files.d, "source.spm", has_tokenizer);
    return status == TR_OK ? tr_directory_find_languages(&o->files.d, o->files.vocabularies[0], ">>", "<<") : status;
}

/* ------------------------------------------------------------------------------------------------------------- opening */

static const char format[] = "Marian model";

/* Peeks if has_tokenizer is not NULL, else reads everything. */
static tr_status read_or_peek(const tr_directory *d, bool *has_tokenizer)
{
    char folder[TR_PATH];
    opening *o = calloc(1, sizeof *o);
    tr_status status =
        o ? split_path(d->path, folder, o->files.model, d->error) : tr_fail(d->error, TR_ERROR_MEMORY, "out of memory");
    if (status == TR_OK) {
        o->files.d = (tr_directory){folder, d->load, d->package, d->error};
        tr_path_name(d->path, d->package->name, sizeof d->package->name);
        status = has_tokenizer ? peek(o, has_tokenizer) : read_all(o);
        tr_folder_names_free(&o->files.names);
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
    const tr_status status = read_or_peek(&d, NULL);
    if (status != TR_OK)
        tr_package_close(package);
    return status;
}

tr_status tr_peek_marian(const tr_directory *d, bool *has_tokenizer)
{
    d->package->format = format;
    return read_or_peek(d, has_tokenizer);
}
