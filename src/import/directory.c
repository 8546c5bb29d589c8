#include "import/directory.h"

#include <string.h>

#include "import/recognise.h"
#include "import/yaml.h"
#include "util/utf8.h"

tr_status tr_directory_has(const tr_directory *d, const char *name, bool *has)
{
    char joined[TR_PATH];
    tr_path_kind kind;
    *has = false;
    tr_status status = tr_path_join(joined, d->path, name, d->error);
    if (status == TR_OK && d->package->archive) {
        *has = d->package->archive->has(d->package->archive, joined);
    } else if (status == TR_OK) {
        status = tr_path_look(joined, &kind, d->error);
        *has = status == TR_OK && kind != TR_PATH_NOTHING;
    }
    return status;
}

/* Refuses a Git LFS pointer or a web page in place of a file, and closes the file, which is the last one. */
static tr_status refuse_placeholder(const tr_directory *d, const char *name, tr_bytes file)
{
    const bool suspicious = file.size && memchr("v<E", *(const char *)file.data, 3); /* first bytes of the two kinds below */
    tr_kind kind = TR_KIND_UNKNOWN;
    const tr_status status = suspicious ? tr_recognise(file.data, file.size, &kind, d->error) : TR_OK;
    if (status == TR_OK && kind != TR_KIND_POINTER && kind != TR_KIND_WEB)
        return TR_OK;
    tr_package_close_last(d->package);
    if (status != TR_OK)
        return tr_directory_in(d, status);
    return tr_fail(d->error, TR_ERROR_FORMAT, "%s: %s: %s: %s", d->path, name, tr_kind_is(kind), tr_kind_advice(kind));
}

tr_status tr_directory_file(const tr_directory *d, const char *name, tr_bytes *bytes)
{
    char joined[TR_PATH];
    if (!name)
        return tr_package_file(d->package, d->path, d->load, bytes, d->error);
    tr_status status = tr_path_join(joined, d->path, name, d->error);
    if (status == TR_OK)
        status = tr_package_file(d->package, joined, d->load, bytes, d->error);
    return status == TR_OK ? refuse_placeholder(d, name, *bytes) : status;
}

tr_status tr_directory_find(const tr_directory *d, const char *const *names, size_t count, const char **found)
{
    tr_status status = TR_OK;
    bool has;
    *found = NULL;
    for (size_t i = 0; status == TR_OK && !*found && i < count; i++) {
        status = tr_directory_has(d, names[i], &has);
        *found = has ? names[i] : NULL;
    }
    return status;
}

tr_status tr_directory_open(const tr_directory *d, const char *name, tr_file *file)
{
    char path[TR_PATH];
    tr_path_kind place = TR_PATH_NOTHING;
    *file = (tr_file){0};
    tr_status status = tr_path_join(path, d->path, name, d->error);
    if (status == TR_OK)
        status = tr_path_look(path, &place, d->error);
    return place == TR_PATH_FILE ? tr_file_open(path, TR_LOAD_MAP, file, d->error) : status;
}

tr_status tr_directory_fail(const tr_directory *d, tr_status status, const char *what)
{
    return tr_fail(d->error, status, "%s: %s", d->path, what);
}

tr_status tr_directory_in(const tr_directory *d, tr_status status)
{
    return tr_fail_in(d->error, status, d->path);
}

tr_status tr_directory_json(const tr_directory *d, const char *name, json_t **root)
{
    tr_package *package = d->package;
    tr_bytes bytes;
    *root = NULL;
    tr_status status = tr_directory_file(d, name, &bytes);
    if (status != TR_OK)
        return status;
    status = tr_directory_in(d, tr_json_parse(bytes.data, bytes.size, name, root, d->error));
    tr_package_close_last(package);
    return status;
}

tr_status tr_directory_optional_json(const tr_directory *d, const char *name, json_t **root)
{
    bool has;
    *root = NULL;
    const tr_status status = tr_directory_has(d, name, &has);
    return has ? tr_directory_json(d, name, root) : status;
}

static tr_status open_piece_file(const tr_directory *d, const char *name, tr_bytes *bytes)
{
    const tr_status status = tr_directory_file(d, name, bytes);
    if (status == TR_OK && bytes->size == 0)
        return tr_fail(d->error, TR_ERROR_FORMAT, "%s: %s is empty", d->path, name);
    return status;
}

tr_status tr_directory_pieces(const tr_directory *d, const char *source_name, const char *target_name)
{
    tr_package *package = d->package;
    tr_bytes *source = &package->source_spm, *target = &package->target_spm;
    bool own = false;
    tr_status status = open_piece_file(d, source_name, source);
    if (status == TR_OK && target_name)
        status = tr_directory_has(d, target_name, &own);
    if (status != TR_OK)
        return status;
    if (!own) {
        *target = *source;
        return TR_OK;
    }
    status = open_piece_file(d, target_name, target);
    if (status == TR_OK && source->size == target->size && memcmp(source->data, target->data, source->size) == 0) {
        tr_package_close_last(package);
        *target = *source;
    }
    return status;
}

void tr_directory_language(const char *language, char out[TR_LANGUAGE])
{
    if (strlen(language) < TR_LANGUAGE)
        strcpy(out, language);
}

void tr_directory_languages(tr_json_fields *fields, tr_package *package)
{
    tr_directory_language(tr_json_string(fields, "source_lang", tr_json_string(fields, "src_lang", "")),
                          package->source_language);
    tr_directory_language(tr_json_string(fields, "target_lang", tr_json_string(fields, "tgt_lang", "")),
                          package->target_language);
}

/* ------------------------------------------------------------------------------------------------------ language tokens */

enum { MAX_TOKEN = TR_LANGUAGE + 4 }; /* bytes of the longest language token: ">>", its code, "<<" */

/* Returns the size of the token at text that begins with open and ends with close; 0: none. */
static size_t token_at(const char *text, const char *end, const char *open, const char *close)
{
    const size_t open_size = strlen(open), close_size = strlen(close);
    const size_t limit = (size_t)(end - text) < MAX_TOKEN ? (size_t)(end - text) : MAX_TOKEN;
    if (limit < open_size || memcmp(text, open, open_size) != 0)
        return 0;
    for (size_t i = open_size + 1; i + close_size <= limit; i++)
        if (memcmp(text + i, close, close_size) == 0)
            return i + close_size;
    return 0;
}

/* True unless the token is part of a longer one. In JSON and YAML, quotation marks, white space or a colon enclose a whole
 * token; in a SentencePiece model, the byte before it is its size. */
static bool is_whole(const char *token, size_t size, const char *begin, const char *end, bool pieces)
{
    if (pieces)
        return token > begin && (unsigned char)token[-1] == size;
    return (token == begin || memchr("\"'\n ", token[-1], 4)) &&
           (token + size == end || memchr("\"':\r\n ", token[size], 6));
}

tr_status tr_directory_find_languages(const tr_directory *d, const char *file, const char *open, const char *close)
{
    const bool pieces = tr_ends_with(file, ".spm") || tr_ends_with(file, ".model");
    tr_bytes bytes;
    tr_status status = tr_directory_file(d, file, &bytes);
    if (status != TR_OK)
        return status;
    const char *begin = bytes.data, *end = bytes.size ? begin + bytes.size : begin;
    for (const char *p = begin; status == TR_OK && p < end && (p = memchr(p, open[0], (size_t)(end - p))); p++) {
        const size_t size = token_at(p, end, open, close);
        if (size && is_whole(p, size, begin, end, pieces))
            status = tr_languages_add_target(&d->package->languages, open, p, size, 0, d->error);
    }
    tr_package_close_last(d->package);
    return tr_directory_in(d, status);
}

/* Copies of the YAML between two lines of "---", at the beginning of a text, the values of the licence alone: the others are
 * long, and need not be read. */
static bool copy_license(const tr_file *file, tr_buffer *out)
{
    enum { LARGEST = 1 << 16 };
    const char *at = (const char *)file->data, *const end = at + (file->size < LARGEST ? file->size : LARGEST);
    bool inside = false, closed = false, kept = false, room = true;
    if (end - at >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
        at += 3;
    for (const char *next; room && at < end; at = next) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        next = stop ? stop + 1 : end;
        size_t size = (size_t)((stop ? stop : end) - at);
        size -= size && at[size - 1] == '\r';
        const bool mark = size == 3 && memcmp(at, "---", 3) == 0;
        closed = mark && inside;
        if (mark == inside)
            break; /* the second mark, or no first one */
        inside = true;
        if (mark)
            continue;
        kept = (size > 7 && memcmp(at, "license", 7) == 0) || (kept && size && strchr(" \t-", *at));
        if (kept)
            room = tr_buffer_append(out, at, size) && tr_buffer_append(out, "\n", 1);
    }
    return room && closed && out->size;
}

void tr_directory_card(const tr_directory *d)
{
    tr_error error;
    tr_file file;
    tr_buffer matter = {0};
    json_t *root = NULL;
    const tr_directory quiet = {d->path, d->load, d->package, &error};
    char *out = d->package->about.license;
    if (tr_directory_open(&quiet, "README.md", &file) != TR_OK)
        return;
    if (copy_license(&file, &matter) && tr_yaml_parse(matter.data, matter.size, "README.md", &root, &error) == TR_OK) {
        const json_t *value = json_object_get(root, "license");
        const char *license = json_string_value(json_is_array(value) ? json_array_get(value, 0) : value);
        const char *name = json_string_value(json_object_get(root, "license_name"));
        if (license && strcmp(license, "other") == 0 && name)
            license = name;
        const size_t length = license ? strlen(license) : sizeof d->package->about.license;
        if (length < sizeof d->package->about.license)
            memcpy(out, license, length + 1);
    }
    json_decref(root);
    tr_buffer_free(&matter);
    tr_file_close(&file);
}
