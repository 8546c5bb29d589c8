#include "import/zip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unzip.h>
#include <zip.h>

#include "util/strmap.h"

/* Maximum number of bytes that deflate makes of one (zlib's technical details). */
enum { DEFLATE_RATIO = 1032, STORED = 0, ENCRYPTED = 1 };

/* The archive as a file, for minizip. */
typedef struct memory {
    const unsigned char *data;
    uint64_t size, at;
} memory;

/* Where minizip finds entries[i]. */
typedef struct place {
    unz64_file_pos directory; /* in the archive's directory */
    uint64_t begin, end;      /* of the entry's bytes in the archive */
    size_t entry;
    bool readable; /* stored or deflated, not encrypted */
} place;

struct tr_zip {
    memory memory;
    unzFile file;
    tr_zip_entry *entries;
    place *places;
    size_t count, capacity;
    tr_strmap names;
    uint64_t inflated; /* bytes so far */
    uint64_t most;     /* bytes */
};

/* ------------------------------------------------------------------------------------------------------ minizip's file */

static voidpf ZCALLBACK open_memory(voidpf opaque, const void *name, int mode)
{
    (void)name;
    (void)mode;
    return opaque;
}

static uLong ZCALLBACK read_memory(voidpf opaque, voidpf stream, void *to, uLong size)
{
    memory *m = stream;
    (void)opaque;
    if (size > m->size - m->at)
        size = (uLong)(m->size - m->at);
    if (size)
        memcpy(to, m->data + m->at, size);
    m->at += size;
    return size;
}

static ZPOS64_T ZCALLBACK tell_memory(voidpf opaque, voidpf stream)
{
    (void)opaque;
    return ((memory *)stream)->at;
}

/* An offset may be negative: it then wraps, and so does the sum. */
static long ZCALLBACK seek_memory(voidpf opaque, voidpf stream, ZPOS64_T offset, int origin)
{
    memory *m = stream;
    (void)opaque;
    const uint64_t from = origin == ZLIB_FILEFUNC_SEEK_SET ? 0 : origin == ZLIB_FILEFUNC_SEEK_CUR ? m->at : m->size;
    if (from + offset > m->size)
        return -1;
    m->at = from + offset;
    return 0;
}

static int ZCALLBACK close_memory(voidpf opaque, voidpf stream)
{
    (void)opaque;
    (void)stream;
    return 0;
}

static int ZCALLBACK error_memory(voidpf opaque, voidpf stream)
{
    (void)opaque;
    (void)stream;
    return 0;
}

/* ------------------------------------------------------------------------------------------------------------- listing */

static tr_status no_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "zip archive: out of memory");
}

/* minizip does not say why it failed, but the C library does: errno was 0 before. */
static tr_status damaged(tr_error *error, const char *name)
{
    return errno == ENOMEM
               ? no_memory(error)
               : tr_fail(error, TR_ERROR_FORMAT, "entry %.100s: the zip archive is truncated or damaged there", name);
}

/* The entry that minizip is at: finds its bytes. */
static tr_status locate(tr_zip *zip, const unz_file_info64 *info, const char *name, place *p, tr_error *error)
{
    int method, level;
    p->readable =
        (info->compression_method == STORED || info->compression_method == Z_DEFLATED) && !(info->flag & ENCRYPTED);
    if (!p->readable)
        return TR_OK;
    errno = 0;
    if (unzGetFilePos64(zip->file, &p->directory) != UNZ_OK || unzOpenCurrentFile2(zip->file, &method, &level, 1) != UNZ_OK)
        return damaged(error, name);
    p->begin = unzGetCurrentFileZStreamPos64(zip->file);
    unzCloseCurrentFile(zip->file);
    if (p->begin > zip->memory.size || info->compressed_size > zip->memory.size - p->begin)
        return damaged(error, name);
    p->end = p->begin + info->compressed_size;
    if (info->compression_method == STORED && info->compressed_size != info->uncompressed_size)
        return damaged(error, name);
    return TR_OK;
}

static bool make_room(tr_zip *zip)
{
    if (zip->count < zip->capacity)
        return true;
    const size_t capacity = zip->capacity ? 2 * zip->capacity : 64;
    tr_zip_entry *entries = realloc(zip->entries, capacity * sizeof *entries);
    if (entries)
        zip->entries = entries;
    place *places = realloc(zip->places, capacity * sizeof *places);
    if (places)
        zip->places = places;
    if (!entries || !places)
        return false;
    zip->capacity = capacity;
    return true;
}

static tr_status add_entry(tr_zip *zip, const unz_file_info64 *info, const char *name, tr_error *error)
{
    place p = {.entry = zip->count};
    const tr_status status = locate(zip, info, name, &p, error);
    if (status != TR_OK)
        return status;
    const size_t size = strlen(name);
    if (tr_strmap_find(&zip->names, name, size) >= 0)
        return tr_fail(error, TR_ERROR_FORMAT, "entry %.100s: is there twice", name);
    char *copy = make_room(zip) ? malloc(size + 1) : NULL;
    if (!copy)
        return no_memory(error);
    memcpy(copy, name, size + 1);
    const bool stored = p.readable && info->compression_method == STORED;
    zip->entries[zip->count] = (tr_zip_entry){copy, info->uncompressed_size, stored ? zip->memory.data + p.begin : NULL};
    zip->places[zip->count] = p;
    zip->count++;
    return tr_strmap_add(&zip->names, copy, size, (int32_t)p.entry) < 0 ? no_memory(error) : TR_OK;
}

static tr_status list_entries(tr_zip *zip, tr_error *error)
{
    errno = 0;
    int result = unzGoToFirstFile(zip->file);
    for (; result == UNZ_OK; result = unzGoToNextFile(zip->file)) {
        unz_file_info64 info;
        char name[TR_ZIP_NAME] = "";
        if (zip->count == TR_ZIP_ENTRIES)
            return tr_fail(error, TR_ERROR_UNSUPPORTED, "zip archive: has more than %d entries", (int)TR_ZIP_ENTRIES);
        if (unzGetCurrentFileInfo64(zip->file, &info, name, TR_ZIP_NAME - 1, NULL, 0, NULL, 0) != UNZ_OK)
            break;
        name[TR_ZIP_NAME - 1] = 0;
        if (info.size_filename >= TR_ZIP_NAME || strlen(name) != info.size_filename)
            return tr_fail(error, TR_ERROR_FORMAT, "entry %.100s: its name is too long, or holds a NUL", name);
        const tr_status status = add_entry(zip, &info, name, error);
        if (status != TR_OK)
            return status;
    }
    if (result == UNZ_END_OF_LIST_OF_FILE)
        return TR_OK;
    return errno == ENOMEM ? no_memory(error)
                           : tr_fail(error, TR_ERROR_FORMAT, "the directory of the zip archive is truncated or damaged");
}

static int compare_begins(const void *a, const void *b)
{
    const place *x = a, *y = b;
    return x->begin != y->begin ? (x->begin > y->begin) - (x->begin < y->begin) : (x->end > y->end) - (x->end < y->end);
}

/* Entries that share bytes are how small archives become large. */
static tr_status check_overlaps(const tr_zip *zip, tr_error *error)
{
    place *sorted = malloc((zip->count + 1) * sizeof *sorted);
    if (!sorted)
        return no_memory(error);
    tr_status status = TR_OK;
    uint64_t end = 0;
    size_t last = 0;
    if (zip->count)
        memcpy(sorted, zip->places, zip->count * sizeof *sorted);
    qsort(sorted, zip->count, sizeof *sorted, compare_begins);
    for (size_t i = 0; status == TR_OK && i < zip->count; i++) {
        if (sorted[i].begin == sorted[i].end)
            continue;
        if (sorted[i].begin < end)
            status = tr_fail(error, TR_ERROR_FORMAT, "entries %.100s and %.100s overlap",
                             zip->entries[sorted[last].entry].name, zip->entries[sorted[i].entry].name);
        end = sorted[i].end;
        last = i;
    }
    free(sorted);
    return status;
}

/* Whether the archive's last record is there; minizip is content with the one before it, if that is for large archives. */
static bool has_end(const unsigned char *data, size_t size)
{
    enum { END = 22, MOST_COMMENT = 65535 }; /* the record ends with a comment and, before it, the comment's length */
    for (size_t comment = 0; comment <= MOST_COMMENT && size >= END + comment; comment++) {
        const unsigned char *end = data + (size - END - comment);
        if (memcmp(end, "PK\5\6", 4) == 0 && (end[END - 2] | (size_t)end[END - 1] << 8) == comment)
            return true;
    }
    return false;
}

/* -------------------------------------------------------------------------------------------------------------- access */

tr_status tr_zip_open(const void *data, size_t size, tr_zip **zip, tr_error *error)
{
    tr_zip *z = calloc(1, sizeof *z);
    *zip = NULL;
    if (!z || !tr_strmap_init(&z->names, 64)) {
        free(z);
        return no_memory(error);
    }
    z->memory = (memory){data, size, 0};
    z->most = (uint64_t)size * TR_ZIP_RATIO + TR_ZIP_MORE;
    zlib_filefunc64_def functions = {.zopen64_file = open_memory,
                                     .zread_file = read_memory,
                                     .ztell64_file = tell_memory,
                                     .zseek64_file = seek_memory,
                                     .zclose_file = close_memory,
                                     .zerror_file = error_memory,
                                     .opaque = &z->memory};
    errno = 0;
    z->file = has_end(data, size) ? unzOpen2_64("", &functions) : NULL;
    tr_status status;
    if (z->file)
        status = list_entries(z, error);
    else if (errno == ENOMEM)
        status = no_memory(error);
    else
        status = tr_fail(error, TR_ERROR_FORMAT, "is not a zip archive, or truncated: its directory is missing");
    if (status == TR_OK)
        status = check_overlaps(z, error);
    if (status == TR_OK)
        *zip = z;
    else
        tr_zip_close(z);
    return status;
}

void tr_zip_close(tr_zip *zip)
{
    if (!zip)
        return;
    if (zip->file)
        unzClose(zip->file);
    for (size_t i = 0; i < zip->count; i++)
        free((void *)zip->entries[i].name);
    free(zip->entries);
    free(zip->places);
    tr_strmap_free(&zip->names);
    free(zip);
}

const tr_zip_entry *tr_zip_entries(const tr_zip *zip, size_t *count)
{
    *count = zip->count;
    return zip->entries;
}

const tr_zip_entry *tr_zip_find(const tr_zip *zip, const char *name)
{
    const int32_t i = tr_strmap_find(&zip->names, name, strlen(name));
    return i < 0 ? NULL : &zip->entries[i];
}

void tr_zip_lift_limit(tr_zip *zip)
{
    zip->most = UINT64_MAX;
}

static tr_status check_readable(const tr_zip *zip, const tr_zip_entry *entry, tr_error *error)
{
    if (zip->places[entry - zip->entries].readable)
        return TR_OK;
    return tr_fail(error, TR_ERROR_UNSUPPORTED, "entry %.100s: is encrypted, or compressed in another way than deflate",
                   entry->name);
}

tr_status tr_zip_check(const tr_zip *zip, const tr_zip_entry *entry, tr_error *error)
{
    const place *p = &zip->places[entry - zip->entries];
    const tr_status status = check_readable(zip, entry, error);
    if (status != TR_OK)
        return status;
    if (entry->size / DEFLATE_RATIO > p->end - p->begin)
        return tr_fail(error, TR_ERROR_FORMAT, "entry %.100s: claims %llu bytes, more than its %llu can hold", entry->name,
                       (unsigned long long)entry->size, (unsigned long long)(p->end - p->begin));
    if (entry->size > zip->most || zip->inflated > zip->most - entry->size)
        return tr_fail(error, TR_ERROR_FORMAT,
                       "entry %.100s: would become %llu bytes: more than %d times the archive's size, refused", entry->name,
                       (unsigned long long)entry->size, (int)TR_ZIP_RATIO);
    return TR_OK;
}

static bool inflate_all(unzFile file, unsigned char *to, uint64_t size)
{
    enum { PART = 1 << 24 };
    while (size) {
        const int got = unzReadCurrentFile(file, to, (unsigned)(size < PART ? size : PART));
        if (got <= 0)
            return false;
        to += got;
        size -= (uint64_t)got;
    }
    return true;
}

tr_status tr_zip_inflate_to(tr_zip *zip, const tr_zip_entry *entry, void *to, tr_error *error)
{
    place *p = &zip->places[entry - zip->entries];
    errno = 0;
    bool whole = unzGoToFilePos64(zip->file, &p->directory) == UNZ_OK && unzOpenCurrentFile(zip->file) == UNZ_OK;
    if (whole) {
        whole = inflate_all(zip->file, to, entry->size);
        whole = unzCloseCurrentFile(zip->file) == UNZ_OK && whole; /* compares the checksum */
    }
    if (!whole)
        return damaged(error, entry->name);
    zip->inflated += entry->size;
    return TR_OK;
}

tr_status tr_zip_inflate(tr_zip *zip, const tr_zip_entry *entry, void **contents, tr_error *error)
{
    tr_status status = tr_zip_check(zip, entry, error);
    *contents = NULL;
    if (status != TR_OK)
        return status;
    unsigned char *bytes = malloc(entry->size ? (size_t)entry->size : 1);
    if (!bytes)
        return no_memory(error);
    status = tr_zip_inflate_to(zip, entry, bytes, error);
    if (status == TR_OK)
        *contents = bytes;
    else
        free(bytes);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- writing */

/* Copies size bytes into the entry that minizip writes. */
static bool put_bytes(zipFile file, const void *from, uint64_t size)
{
    enum { PART = 1 << 24 };
    const unsigned char *bytes = from;
    while (size) {
        const unsigned part = (unsigned)(size < PART ? size : PART);
        if (zipWriteInFileInZip(file, bytes, part) != ZIP_OK)
            return false;
        bytes += part;
        size -= part;
    }
    return true;
}

static bool put_entry(const tr_zip *zip, size_t index, const tr_zip_contents *contents, const unz_file_info64 *info,
                      zipFile file)
{
    enum { DEFLATE_LEVEL = 3 << 1, UTF8_NAME = 1 << 11 };
    const place *p = &zip->places[index];
    const bool raw = !contents->data;
    const zip_fileinfo attributes = {
        .dosDate = info->dosDate, .internal_fa = info->internal_fa, .external_fa = info->external_fa};
    if (zipOpenNewFileInZip4(file, zip->entries[index].name, &attributes, NULL, 0, NULL, 0, NULL,
                             (int)info->compression_method, Z_DEFAULT_COMPRESSION, raw, -MAX_WBITS, DEF_MEM_LEVEL,
                             Z_DEFAULT_STRATEGY, NULL, 0, info->version,
                             info->flag & (raw ? DEFLATE_LEVEL | UTF8_NAME : UTF8_NAME)) != ZIP_OK)
        return false;
    if (!raw)
        return put_bytes(file, contents->data, contents->size) && zipCloseFileInZip(file) == ZIP_OK;
    return put_bytes(file, zip->memory.data + p->begin, p->end - p->begin) &&
           zipCloseFileInZipRaw64(file, info->uncompressed_size, info->crc) == ZIP_OK;
}

tr_status tr_zip_rewrite(tr_zip *zip, const tr_zip_contents *contents, tr_buffer *out, tr_error *error)
{
    tr_zip_output output;
    zipFile file = tr_zip_create(&output, out);
    tr_status status = file ? TR_OK : no_memory(error);
    for (size_t i = 0; status == TR_OK && i < zip->count; i++) {
        unz_file_info64 info;
        errno = 0;
        status = check_readable(zip, &zip->entries[i], error);
        if (status == TR_OK && zip->entries[i].size >= UINT32_MAX)
            status = tr_fail(error, TR_ERROR_UNSUPPORTED, "entry %.100s: has 4 GiB or more", zip->entries[i].name);
        if (status == TR_OK && (unzGoToFilePos64(zip->file, &zip->places[i].directory) != UNZ_OK ||
                                unzGetCurrentFileInfo64(zip->file, &info, NULL, 0, NULL, 0, NULL, 0) != UNZ_OK))
            status = damaged(error, zip->entries[i].name);
        if (status == TR_OK && !put_entry(zip, i, &contents[i], &info, file))
            status = no_memory(error);
    }
    if (file && zipClose(file, NULL) != ZIP_OK && status == TR_OK)
        status = no_memory(error);
    return status;
}
