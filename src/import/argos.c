/* Argos Translate packages: NAME.argosmodel, a zip archive of one folder, or that folder as Argos installs it. In it are
 * metadata.json, a CTranslate2 model in model/, and sentencepiece.model or bpe.model. Facts:
 * argosopentech/argos-translate, argostranslate/package.py, translate.py and tokenizer.py. */
#include <string.h>

#include "import/ctranslate2/ctranslate2.h"
#include "import/readers.h"
#include "import/zip.h"
#include "import/bpe.h"
#include "util/buffer.h"

static const char metadata[] = "metadata.json", model[] = "model", spm[] = "sentencepiece.model", bpe[] = "bpe.model";

/* ------------------------------------------------------------------------------------------------------------- archive */

/* The length of FOLDER, if a name is FOLDER/metadata.json; else 0. */
static size_t root_of(const char *name)
{
    const char *slash = strchr(name, '/');
    return slash && strcmp(slash + 1, metadata) == 0 ? (size_t)(slash - name) : 0;
}

tr_status tr_is_argos_archive(const void *data, size_t size, bool *is, tr_error *error)
{
    tr_zip *zip;
    size_t count = 0;
    *is = false;
    const tr_status status = tr_zip_open(data, size, &zip, error);
    if (status != TR_OK)
        return status == TR_ERROR_MEMORY ? status : TR_OK;
    const tr_zip_entry *entries = tr_zip_entries(zip, &count);
    for (size_t i = 0; !*is && i < count; i++)
        *is = root_of(entries[i].name) > 0;
    tr_zip_close(zip);
    return TR_OK;
}

/* Names that unpacking would not leave in the folder; here they would merely never be found. */
static bool leads_out(const char *name)
{
    if (*name == '/' || strchr(name, '\\'))
        return true;
    for (const char *at = name; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == 0))
            return true;
    }
    return false;
}

static tr_status find_root(const tr_zip *zip, char root[TR_ZIP_NAME], tr_error *error)
{
    size_t count;
    const tr_zip_entry *entries = tr_zip_entries(zip, &count);
    *root = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t size = root_of(entries[i].name);
        if (leads_out(entries[i].name))
            return tr_fail(error, TR_ERROR_FORMAT, "entry %.100s: leads out of the package", entries[i].name);
        if (size && *root)
            return tr_fail(error, TR_ERROR_FORMAT, "entry %.100s: a second folder with a %s", entries[i].name, metadata);
        if (size) {
            memcpy(root, entries[i].name, size);
            root[size] = 0;
        }
    }
    return *root ? TR_OK : tr_fail(error, TR_ERROR_FORMAT, "has no folder with a %s", metadata);
}

/* ------------------------------------------------------------------------------------------------------------- package */

/* Settings of metadata.json, whose strings json owns. */
typedef struct facts {
    json_t *json;
    const char *prefix; /* the token that every translation begins with; "": there is none */
} facts;

static tr_status read_facts(const tr_directory *d, facts *f)
{
    tr_status status = tr_directory_json(d, metadata, &f->json);
    if (status != TR_OK)
        return status;
    tr_json_fields fields = {f->json, metadata, TR_OK, d->error};
    const char *type = tr_json_string(&fields, "type", "translate");
    f->prefix = tr_json_string(&fields, "target_prefix", "");
    tr_directory_language(tr_json_string(&fields, "from_code", ""), d->package->source_language);
    tr_directory_language(tr_json_string(&fields, "to_code", ""), d->package->target_language);
    if (fields.status == TR_OK && strcmp(type, "translate") != 0)
        tr_json_fail(&fields, TR_ERROR_UNSUPPORTED, "type", "is not translate: no package for translation");
    return tr_directory_in(d, fields.status);
}

/* If both exist, Argos uses SentencePiece. */
static tr_status find_tokenizer(const tr_directory *d, const char **name)
{
    static const char *const names[] = {spm, bpe};
    const tr_status status = tr_directory_find(d, names, 2, name);
    if (status != TR_OK || *name)
        return status;
    return tr_directory_fail(d, TR_ERROR_FORMAT, "sentencepiece.model is missing, and so is bpe.model");
}

static tr_status read_tokenizer(const tr_directory *d, const char *name)
{
    tr_bytes *const codes = &d->package->source_bpe;
    if (name == spm)
        return tr_directory_pieces(d, spm, NULL);
    tr_status status = tr_directory_file(d, bpe, codes);
    if (status != TR_OK)
        return status;
    status = tr_bpe_check(codes->data, codes->size, d->error); /* checked here so that convert refuses them, too */
    tr_fail_in(d->error, status, bpe);
    return tr_directory_in(d, status);
}

/* The prefix is forced as the first target token. Argos removes it from the text; here it decodes to an empty string. */
static tr_status force_prefix(const tr_directory *d, const char *prefix)
{
    tr_package *package = d->package;
    if (!*prefix)
        return TR_OK;
    const int32_t id = tr_vocabulary_find(package->target, prefix, strlen(prefix));
    if (id < 0)
        return tr_fail(d->error, TR_ERROR_FORMAT, "%s: %s: target_prefix %.60s is not in the vocabulary", d->path, metadata,
                       prefix);
    package->config.forced_first_id = id;
    if (!tr_ids_append(&package->special, &id, 1))
        return tr_directory_fail(d, TR_ERROR_MEMORY, "out of memory");
    return tr_directory_in(d, tr_config_check(&package->config, d->error));
}

static tr_status read_model(const tr_directory *d)
{
    tr_buffer path = {0};
    if (!tr_buffer_string(&path, d->path) || !tr_buffer_string(&path, "/") || !tr_buffer_string(&path, model)) {
        tr_buffer_free(&path);
        return tr_directory_fail(d, TR_ERROR_MEMORY, "out of memory");
    }
    const tr_directory inner = {path.data, d->load, d->package, d->error};
    const tr_status status = tr_ct2_open(&inner);
    tr_buffer_free(&path);
    return status;
}

static const char format[] = "Argos Translate package", weights[] = "model/model.bin";

static tr_status read_package(const tr_directory *d)
{
    facts f = {.prefix = ""};
    const char *tokenizer;
    tr_status status = read_facts(d, &f);
    if (status == TR_OK)
        status = find_tokenizer(d, &tokenizer);
    if (status == TR_OK)
        status = read_tokenizer(d, tokenizer);
    if (status == TR_OK)
        status = read_model(d);
    if (status == TR_OK)
        status = force_prefix(d, f.prefix);
    json_decref(f.json);
    d->package->format = format;
    return status;
}

static tr_status peek_package(const tr_directory *d)
{
    facts f = {.prefix = ""};
    const char *tokenizer;
    bool whole;
    tr_status status = read_facts(d, &f);
    if (status == TR_OK)
        status = find_tokenizer(d, &tokenizer);
    if (status == TR_OK)
        status = tr_directory_has(d, weights, &whole);
    if (status == TR_OK && !whole)
        status = tr_directory_fail(d, TR_ERROR_FORMAT, "model/model.bin is missing");
    json_decref(f.json);
    d->package->format = format;
    return status;
}

/* ---------------------------------------------------------------------------------------------------------------- both */

/* An archive that stands for a directory: PATH/NAME is its entry ROOT/NAME. */
typedef struct zip_archive {
    tr_archive archive;
    tr_zip *zip;
    const char *path, *root;
} zip_archive;

/* Returns NULL if the archive does not have it. */
static const tr_zip_entry *find_entry(const tr_archive *archive, const char *path)
{
    const zip_archive *a = (const zip_archive *)archive;
    char name[TR_ZIP_NAME];
    const size_t size = strlen(a->path);
    if (strncmp(path, a->path, size) != 0)
        return NULL;
    const int length = snprintf(name, sizeof name, "%s%s", a->root, path + size); /* no entry's name is longer */
    return length > 0 && length < TR_ZIP_NAME ? tr_zip_find(a->zip, name) : NULL;
}

static bool has_entry(const tr_archive *archive, const char *path)
{
    return find_entry(archive, path) != NULL;
}

static tr_status open_entry(const tr_archive *archive, const char *path, tr_file *file, tr_bytes *bytes, tr_error *error)
{
    const zip_archive *a = (const zip_archive *)archive;
    const tr_zip_entry *entry = find_entry(archive, path);
    *file = (tr_file){0};
    if (!entry)
        return tr_fail(error, TR_ERROR_FORMAT, "%s: is not in the archive", path);
    *bytes = (tr_bytes){entry->data, (size_t)entry->size};
    if (entry->data)
        return TR_OK;
    tr_status status = tr_zip_check(a->zip, entry, error);
    if (status == TR_OK && entry->size)
        status = tr_file_allocate((size_t)entry->size, file, error);
    if (status == TR_OK && entry->size)
        status = tr_zip_inflate_to(a->zip, entry, (void *)file->data, error);
    if (status != TR_OK)
        tr_file_close(file);
    bytes->data = file->data;
    return tr_fail_in(error, status, a->path);
}

/* Vocabularies are copies, so a file is closed if it holds only deflated entries, or weights that were packed. */
static tr_status read_archive(const tr_directory *d, tr_status (*read)(const tr_directory *d))
{
    tr_package *package = d->package;
    zip_archive a = {.archive = {has_entry, open_entry}, .path = d->path};
    char root[TR_ZIP_NAME];
    tr_bytes file;
    tr_status status = tr_directory_file(d, NULL, &file);
    if (status != TR_OK)
        return status;
    status = tr_zip_open(file.data, file.size, &a.zip, d->error);
    if (status == TR_OK)
        status = find_root(a.zip, root, d->error);
    tr_directory_in(d, status);
    if (status == TR_OK) {
        a.root = root;
        tr_path_name(root, package->name, sizeof package->name);
        package->archive = &a.archive;
        status = read(d);
        package->archive = NULL;
    }
    tr_zip_close(a.zip);
    if (status == TR_OK)
        tr_package_close_unused(package, 0);
    return status;
}

tr_status tr_is_argos(const char *path, bool *is, tr_error *error)
{
    tr_package none = {0};
    const tr_directory d = {path, TR_LOAD_MAP, &none, error};
    const tr_status status = tr_directory_has(&d, metadata, is);
    return *is ? tr_directory_has(&d, model, is) : status;
}

tr_status tr_open_argos(const char *path, tr_load load, tr_package *package, tr_error *error)
{
    tr_error local;
    *package = (tr_package){.architecture = "marian"};
    const tr_directory d = {path, load, package, error ? error : &local};
    tr_path_kind place;
    tr_status status = tr_path_look(path, &place, d.error);
    if (status == TR_OK && place == TR_PATH_DIRECTORY) {
        tr_path_name(path, package->name, sizeof package->name);
        status = read_package(&d);
    } else if (status == TR_OK) {
        status = read_archive(&d, read_package);
    }
    if (status != TR_OK)
        tr_package_close(package);
    return status;
}

/* file_size is the size on disk: of the archive, if the package is one. */
tr_status tr_peek_argos(const tr_directory *d, bool *has_tokenizer)
{
    tr_bytes file;
    tr_path_kind place;
    tr_status status = tr_path_look(d->path, &place, d->error);
    const bool archive = place != TR_PATH_DIRECTORY;
    if (status == TR_OK)
        status = archive ? read_archive(d, peek_package) : peek_package(d);
    if (status == TR_OK)
        status = tr_directory_file(d, archive ? NULL : weights, &file);
    if (status == TR_OK)
        d->package->file_size = file.size;
    *has_tokenizer = true;
    return status;
}
