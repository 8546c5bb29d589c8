/* numpy's .npz, a zip archive of .npy files: a magic, a version, a header in Python's notation, and the elements
 * (numpy/lib/format.py). Items that are not compressed stay where they lie. */
#include "import/marian/marian.h"

#include <stdlib.h>
#include <string.h>

#include "import/zip.h"

enum { MAGIC = 6, SUFFIX = 4 /* ".npy" */, MOST_DIGITS = 18 };

/* The header's text, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }". */
typedef struct text {
    const char *at, *end;
} text;

static void skip_space(text *t)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\n'))
        t->at++;
}

static bool take(text *t, const char *word)
{
    const size_t size = strlen(word);
    skip_space(t);
    if ((size_t)(t->end - t->at) < size || memcmp(t->at, word, size) != 0)
        return false;
    t->at += size;
    return true;
}

static bool take_number(text *t, int64_t *number)
{
    int digits = 0;
    skip_space(t);
    for (*number = 0; t->at < t->end && *t->at >= '0' && *t->at <= '9' && digits < MOST_DIGITS; digits++)
        *number = *number * 10 + (*t->at++ - '0');
    return digits > 0;
}

/* 'TEXT' */
static bool take_string(text *t, text *string)
{
    if (!take(t, "'"))
        return false;
    const char *quote = memchr(t->at, '\'', (size_t)(t->end - t->at));
    if (!quote)
        return false;
    *string = (text){t->at, quote};
    t->at = quote + 1;
    return true;
}

static bool is(text t, const char *word)
{
    return (size_t)(t.end - t.at) == strlen(word) && memcmp(t.at, word, strlen(word)) == 0;
}

static bool take_shape(text *t, tr_marian_item *item)
{
    if (!take(t, "("))
        return false;
    for (item->rank = 0; !take(t, ")"); item->rank++) {
        if (item->rank == TR_MAX_RANK || !take_number(t, &item->shape[item->rank]))
            return false;
        if (!take(t, ",")) {
            item->rank++;
            return take(t, ")");
        }
    }
    if (item->rank == 0) /* a scalar, as Marian reads it */
        item->shape[item->rank++] = 1;
    return true;
}

/* Reads the header's keys: each once, in any order. */
typedef struct header {
    text type;
    bool has_shape, has_order, column_order;
} header;

static bool read_entry(text *t, header *h, tr_marian_item *item)
{
    text key;
    if (!take_string(t, &key) || !take(t, ":"))
        return false;
    if (is(key, "descr") && !h->type.at)
        return take_string(t, &h->type);
    if (is(key, "shape") && !h->has_shape)
        return (h->has_shape = take_shape(t, item));
    if (!is(key, "fortran_order") || h->has_order)
        return false;
    h->has_order = true;
    h->column_order = take(t, "True");
    return h->column_order || take(t, "False");
}

static bool read_header(text t, header *h, tr_marian_item *item)
{
    if (!take(&t, "{"))
        return false;
    while (!take(&t, "}")) {
        if (!read_entry(&t, h, item))
            return false;
        if (!take(&t, ","))
            return take(&t, "}") && h->type.at && h->has_shape && h->has_order;
    }
    return h->type.at && h->has_shape && h->has_order;
}

static tr_status set_type(const header *h, tr_marian_item *item, tr_error *error)
{
    static const struct {
        const char *name;
        tr_marian_type type;
    } types[] = {{"<f4", TR_MARIAN_F32},
                 {"<f2", TR_MARIAN_F16},
                 {"|i1", TR_MARIAN_I8},
                 {"<i1", TR_MARIAN_I8},
                 {"<i4", TR_MARIAN_I32}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is(h->type, types[i].name)) {
            item->type = types[i].type;
            return TR_OK;
        }
    return tr_fail(error, TR_ERROR_UNSUPPORTED, "item %.100s: is of numpy's type %.*s, which is not supported", item->name,
                   (int)(h->type.end - h->type.at < 16 ? h->type.end - h->type.at : 16), h->type.at);
}

/* contents: of the .npy file */
static tr_status read_npy(const unsigned char *contents, uint64_t size, tr_marian_item *item, tr_error *error)
{
    header h = {0};
    if (size < MAGIC + 4 || memcmp(contents, "\x93NUMPY", MAGIC) != 0)
        return tr_fail(error, TR_ERROR_FORMAT, "item %.100s: is not an .npy file", item->name);
    const int version = contents[MAGIC], wide = version >= 2 ? 4 : 2; /* bytes of the length */
    const uint64_t start = MAGIC + 2 + (uint64_t)wide;
    uint64_t length = 0;
    if (version < 1 || version > 3)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "item %.100s: is of version %d of .npy, only 1 to 3 are supported",
                       item->name, version);
    for (int i = 0; i < wide && start <= size; i++)
        length |= (uint64_t)contents[MAGIC + 2 + i] << (8 * i);
    if (start > size || length > size - start)
        return tr_fail(error, TR_ERROR_FORMAT, "item %.100s: its header is truncated", item->name);
    const char *written = (const char *)contents + start;
    if (!read_header((text){written, written + length}, &h, item))
        return tr_fail(error, TR_ERROR_FORMAT, "item %.100s: its header is damaged, or has more than %d dimensions",
                       item->name, TR_MAX_RANK);
    if (h.column_order && item->rank > 1)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "item %.100s: is in Fortran order, which is not supported", item->name);
    item->data = contents + start + length;
    item->bytes = (size_t)(size - start - length);
    return set_type(&h, item, error);
}

/* The entry's name without ".npy", in memory of its own. */
static tr_status take_name(const tr_zip_entry *entry, tr_marian_items *items, tr_marian_item *item, tr_error *error)
{
    const size_t length = strlen(entry->name);
    if (length <= SUFFIX || strcmp(entry->name + length - SUFFIX, ".npy") != 0)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "entry %.100s: is not an .npy file", entry->name);
    char *name = malloc(length + 1);
    if (!name)
        return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    memcpy(name, entry->name, length + 1);
    name[length - SUFFIX] = 0;
    item->name = name;
    return tr_marian_items_keep(items, name, error);
}

static tr_status read_entry_of(tr_zip *zip, const tr_zip_entry *entry, tr_marian_items *items, tr_error *error)
{
    tr_marian_item item = {0};
    const unsigned char *contents = entry->data;
    tr_status status = take_name(entry, items, &item, error);
    if (status == TR_OK && !contents) {
        void *block;
        status = tr_zip_inflate(zip, entry, &block, error);
        if (status == TR_OK)
            status = tr_marian_items_keep(items, block, error);
        contents = block;
    }
    if (status == TR_OK)
        status = read_npy(contents, entry->size, &item, error);
    return status == TR_OK ? tr_marian_items_add(items, &item, error) : status;
}

tr_status tr_npz_read(tr_bytes file, tr_marian_items *items, tr_error *error)
{
    tr_zip *zip;
    size_t count;
    tr_status status = tr_zip_open(file.data, file.size, &zip, error);
    if (status != TR_OK)
        return status;
    const tr_zip_entry *entries = tr_zip_entries(zip, &count);
    for (size_t i = 0; status == TR_OK && i < count; i++)
        status = read_entry_of(zip, &entries[i], items, error);
    tr_zip_close(zip);
    return status;
}
