/* The files of a native Marian model: named by the options that Marian decodes with, else found by their usual names. */
#include "import/marian/files.h"

#include <stdio.h>
#include <string.h>

#include "import/json.h"
#include "import/marian/marian.h"
#include "import/yaml.h"
#include "import/zip.h"
#include "util/utf8.h"

enum { LARGEST_OPTIONS = 1 << 20 /* bytes */ };

/* -------------------------------------------------------------------------------------------------------- which it is */

tr_status tr_is_marian_file(const void *data, size_t size, bool *is, tr_error *error)
{
    tr_zip *zip;
    *is = tr_marian_bin_recognise(data, size);
    if (*is || size < 4 || memcmp(data, "PK\3\4", 4) != 0)
        return TR_OK;
    const tr_status status = tr_zip_open(data, size, &zip, error);
    if (status != TR_OK) /* no archive, or a damaged one */
        return status == TR_ERROR_MEMORY ? status : TR_OK;
    *is = tr_zip_find(zip, TR_MARIAN_SETTINGS ".npy") != NULL;
    tr_zip_close(zip);
    return TR_OK;
}

/* Whether a file of the directory is a model. */
static tr_status is_model(const tr_directory *d, const char *name, bool *is)
{
    tr_file file;
    *is = false;
    tr_status status = tr_directory_open(d, name, &file);
    if (status != TR_OK)
        return status;
    status = tr_is_marian_file(file.data, file.size, is, d->error);
    tr_file_close(&file);
    return tr_directory_in(d, tr_fail_in(d->error, status, name));
}

static bool may_be_model(const char *name)
{
    return tr_ends_with(name, ".npz") || tr_ends_with(name, ".bin");
}

/* Firefox's files are compressed when they are downloaded. */
static bool is_compressed(const char *name, const char *begin)
{
    return strncmp(name, begin, strlen(begin)) == 0 && (tr_ends_with(name, ".gz") || tr_ends_with(name, ".zst"));
}

/* Where one file is a model, it does not matter that another cannot be read. */
static tr_status has_model(const tr_directory *d, bool *has)
{
    tr_folder_names names;
    tr_status status = tr_folder_list(d->path, &names, d->error);
    for (size_t i = 0; !*has && i < names.count; i++) {
        const char *name = names.names[i];
        const tr_status looked = may_be_model(name) ? is_model(d, name, has) : TR_OK;
        status = looked == TR_OK ? status : looked;
        *has = *has || is_compressed(name, "model.");
    }
    tr_folder_names_free(&names);
    return *has ? TR_OK : status;
}

tr_status tr_is_marian(const char *path, bool *is, tr_error *error)
{
    tr_package package = {0};
    tr_error local;
    const tr_directory d = {path, TR_LOAD_MAP, &package, error ? error : &local};
    bool other;
    const tr_status status = tr_directory_has(&d, "config.json", &other);
    *is = false;
    return status == TR_OK && !other ? has_model(&d, is) : status;
}

/* -------------------------------------------------------------------------------------------------------- which files */

/* A path in a file of options, as it was where the model was made: here it is beside it. "" if it is not there. */
static tr_status localise(const tr_marian_files *files, const char *path, char name[TR_PATH])
{
    const char *slash = strrchr(path, '/');
    const bool inside = path[0] != '/' && !strstr(path, "..");
    const char *const candidates[] = {inside ? path : "", slash ? slash + 1 : path};
    tr_status status = TR_OK;
    bool has = false;
    *name = 0;
    for (size_t i = 0; status == TR_OK && !has && i < 2; i++) {
        if (*candidates[i] && strlen(candidates[i]) < TR_PATH - strlen(files->d.path) - 1)
            status = tr_directory_has(&files->d, candidates[i], &has);
        if (has)
            strcpy(name, candidates[i]);
    }
    return status;
}

/* Element of a list of the options, if the list is long enough. */
static const char *listed(const json_t *options, const char *key, size_t count, size_t i)
{
    const json_t *list = json_object_get(options, key);
    return json_array_size(list) == count ? json_string_value(json_array_get(list, i)) : NULL;
}

/* Options for decoding name a model and its vocabularies. If files->model is set, those of other models are ignored. */
static tr_status take_options(tr_marian_files *files, const json_t *options)
{
    char name[TR_PATH];
    const char *model = listed(options, "models", 1, 0);
    if (json_array_size(json_object_get(options, "models")) > 1)
        return tr_directory_fail(&files->d, TR_ERROR_UNSUPPORTED, "its options name several models, which is not supported");
    if (!model)
        return TR_OK;
    tr_status status = localise(files, model, name);
    if (status != TR_OK || !*name || (*files->model && strcmp(name, files->model) != 0))
        return status;
    strcpy(files->model, name);
    if (json_is_number(json_object_get(options, "max-length-factor")))
        files->length_factor = json_number_value(json_object_get(options, "max-length-factor"));
    const json_t *shortlist = json_array_get(json_object_get(options, "shortlist"), 0);
    if (json_is_string(shortlist)) {
        status = localise(files, json_string_value(shortlist), files->shortlist);
        if (status == TR_OK && !*files->shortlist)
            return tr_directory_fail(&files->d, TR_ERROR_FORMAT, "the shortlist that its options name is missing");
    }
    for (size_t i = 0; status == TR_OK && i < 2; i++)
        if (!*files->vocabularies[i] && listed(options, "vocabs", 2, i))
            status = localise(files, listed(options, "vocabs", 2, i), files->vocabularies[i]);
    return status;
}

static tr_status read_options(tr_marian_files *files, const char *name)
{
    const tr_directory *d = &files->d;
    json_t *options = NULL;
    tr_bytes bytes;
    tr_status status = tr_directory_file(d, name, &bytes);
    if (status != TR_OK)
        return status;
    if (bytes.size <= LARGEST_OPTIONS)
        status = tr_directory_in(d, tr_yaml_parse(bytes.data, bytes.size, name, &options, d->error));
    tr_package_close_last(d->package);
    if (status == TR_OK)
        status = take_options(files, options);
    json_decref(options);
    return status;
}

/* decoder.yml, MODEL.decoder.yml, config.yml, config.intgemm8bitalpha.yml */
static bool are_options(const char *name)
{
    return tr_ends_with(name, "decoder.yml") || (strncmp(name, "config.", 7) == 0 && tr_ends_with(name, ".yml"));
}

static tr_status find_options(tr_marian_files *files)
{
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < files->names.count; i++)
        if (are_options(files->names.names[i]))
            status = read_options(files, files->names.names[i]);
    return status;
}

/* TR_OK: there is none. */
static tr_status refuse_compressed(const tr_marian_files *files, const char *begin)
{
    for (size_t i = 0; i < files->names.count; i++)
        if (is_compressed(files->names.names[i], begin))
            return tr_fail(files->d.error, TR_ERROR_UNSUPPORTED, "%s: %.100s is compressed: unpack it first, with %s",
                           files->d.path, files->names.names[i],
                           tr_ends_with(files->names.names[i], ".gz") ? "gunzip" : "unzstd");
    return TR_OK;
}

static tr_status find_model(tr_marian_files *files)
{
    static const char *const usual[] = {"model.npz", "model.bin"};
    const char *found = NULL;
    tr_status status = *files->model ? TR_OK : tr_directory_find(&files->d, usual, 2, &found);
    if (found)
        strcpy(files->model, found);
    if (status != TR_OK || *files->model)
        return status;
    for (size_t i = 0; i < files->names.count; i++) {
        const char *name = files->names.names[i];
        bool is = false;
        const tr_status looked = may_be_model(name) ? is_model(&files->d, name, &is) : TR_OK;
        if (looked == TR_ERROR_MEMORY)
            return looked;
        status = looked == TR_OK ? status : looked;
        if (!is)
            continue;
        if (*files->model)
            return tr_fail(files->d.error, TR_ERROR_ARGUMENT, "%s: holds several models (%.100s, %.100s): give one of them",
                           files->d.path, files->model, name);
        snprintf(files->model, sizeof files->model, "%s", name);
    }
    if (*files->model) /* then it does not matter that another file cannot be read */
        return TR_OK;
    if (status == TR_OK)
        status = refuse_compressed(files, "model.");
    if (status != TR_OK)
        return status;
    return tr_directory_fail(&files->d, TR_ERROR_FORMAT, "the model that its options name is missing");
}

tr_status tr_marian_find_model(tr_marian_files *files)
{
    tr_status status = tr_folder_list(files->d.path, &files->names, files->d.error);
    if (status == TR_OK)
        status = find_options(files);
    return status == TR_OK ? find_model(files) : status;
}

/* ------------------------------------------------------------------------------------------------------- vocabularies */

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
static bool find_named(const tr_marian_files *files, const char *word, char found[TR_PATH])
{
    bool single = true;
    *found = 0;
    for (size_t i = 0; i < files->names.count; i++) {
        const char *name = files->names.names[i], *dot = strrchr(name, '.');
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

tr_status tr_marian_find_vocabularies(tr_marian_files *files)
{
    static const char *const usual[][2] = {{"vocab.src", "vocab.trg"},
                                           {"srcvocab", "trgvocab"},
                                           {"source.vocab", "target.vocab"},
                                           {"src.vocab", "trg.vocab"},
                                           {"vocab", "vocab"}};
    char names[2][TR_PATH];
    if (*files->vocabularies[0] && *files->vocabularies[1])
        return TR_OK;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (find_named(files, usual[i][0], names[0]) && find_named(files, usual[i][1], names[1])) {
            memcpy(files->vocabularies, names, sizeof names);
            return TR_OK;
        }
    for (size_t i = 0; i < 3; i++) {
        static const char *const firefox[] = {"vocab.", "srcvocab.", "trgvocab."};
        const tr_status status = refuse_compressed(files, firefox[i]);
        if (status != TR_OK)
            return status;
    }
    return tr_directory_fail(&files->d, TR_ERROR_FORMAT,
                             "its vocabularies are missing, or there are several: decoder.yml with vocabs, vocab.spm, "
                             "vocab.yml, vocab.src.yml and vocab.trg.yml");
}

/* ---------------------------------------------------------------------------------------------------------- shortlist */

void tr_marian_pair(const char *model, char pair[32])
{
    const char *dot = strchr(model, '.'), *next = dot ? strchr(dot + 1, '.') : NULL;
    const size_t size = next ? (size_t)(next - dot - 1) : 0;
    *pair = 0;
    if (next && strchr(next + 1, '.') && size < 32) {
        memcpy(pair, dot + 1, size);
        pair[size] = 0;
    }
}

/* lex.50.50.PAIR.s2t.bin; without options to name it, that of the model's pair, or the only one. */
tr_status tr_marian_find_shortlist(tr_marian_files *files)
{
    char pair[32], part[48];
    bool several = false;
    tr_marian_pair(files->model, pair);
    snprintf(part, sizeof part, ".%s.s2t.bin", pair);
    for (size_t i = 0; i < files->names.count && !*files->shortlist; i++)
        if (*pair && strncmp(files->names.names[i], "lex.", 4) == 0 && tr_ends_with(files->names.names[i], part))
            snprintf(files->shortlist, sizeof files->shortlist, "%s", files->names.names[i]);
    if (*files->shortlist)
        return TR_OK;
    for (size_t i = 0; i < files->names.count; i++) {
        const char *name = files->names.names[i];
        if (strncmp(name, "lex.", 4) != 0 || !tr_ends_with(name, ".bin"))
            continue;
        several = several || *files->shortlist;
        snprintf(files->shortlist, sizeof files->shortlist, "%s", name);
    }
    if (several)
        return tr_directory_fail(&files->d, TR_ERROR_ARGUMENT, "holds several shortlists, and none of the model's name");
    return *files->shortlist ? TR_OK : refuse_compressed(files, "lex.");
}
