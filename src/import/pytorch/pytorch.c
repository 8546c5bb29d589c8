#include "import/pytorch/pytorch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/pytorch/pickle.h"
#include "import/zip.h"

enum { NAME = 256 }; /* of a tensor or storage, with a NUL */

/* torch.serialization's MAGIC_NUMBER, 0x1950a86a20f9469cfc6c, as a pickle of protocol 2. */
static const unsigned char legacy_magic[] = {0x80, 2,    0x8a, 10,   0x6c, 0xfc, 0x9c, 0x46,
                                             0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.'};

/* Where the elements of a storage are. */
typedef struct extent {
    const unsigned char *data;
    uint64_t bytes;
} extent;

typedef struct reader {
    const unsigned char *data;
    size_t size;
    tr_pickle pickle;
    tr_zip *zip;       /* NULL: the old format */
    char prefix[NAME]; /* of the archive's folder: "archive/" */
    tr_strmap keys;    /* the old format: place of a storage among extents */
    extent *extents;   /* by the archive's entry, or by index; data NULL: not located yet */
    size_t extent_count;
    uint64_t copied; /* bytes of tensors that had to be put in order */
    tr_tensor_rename *renaming;
    tr_weights *weights;
    tr_error *error;
} reader;

static tr_status no_memory(const reader *r)
{
    return tr_fail(r->error, TR_ERROR_MEMORY, "out of memory");
}

/* The name is shortened so that the reason still fits into the message. */
static tr_status fail(const reader *r, tr_status status, const char *name, const char *why)
{
    return tr_fail(r->error, status, "tensor %.100s: %s", name, why);
}

/* ------------------------------------------------------------------------------------------------------------ storages */

/* Bytes become the table's; the extent points to them. */
static tr_status keep(reader *r, extent *e, void *bytes)
{
    e->data = bytes;
    return tr_weights_keep(r->weights, bytes, r->error);
}

static tr_status in_tensor(const reader *r, const char *name, tr_status status)
{
    char prefix[128];
    snprintf(prefix, sizeof prefix, "tensor %.100s", name);
    return tr_fail_in(r->error, status, prefix);
}

static tr_status find_zipped(reader *r, const tr_pickle_storage *storage, extent **found)
{
    char name[2 * NAME];
    size_t count;
    if (storage->key_size >= NAME || memchr(storage->key, 0, storage->key_size))
        return tr_fail(r->error, TR_ERROR_FORMAT, "its storage has no proper name");
    snprintf(name, sizeof name, "%sdata/%.*s", r->prefix, (int)storage->key_size, storage->key);
    const tr_zip_entry *entry = tr_zip_find(r->zip, name);
    if (!entry)
        return tr_fail(r->error, TR_ERROR_FORMAT, "entry %.100s: is missing", name);
    extent *e = *found = &r->extents[entry - tr_zip_entries(r->zip, &count)];
    if (e->data)
        return TR_OK;
    e->bytes = entry->size;
    e->data = entry->data;
    if (e->data)
        return TR_OK;
    void *contents;
    const tr_status status = tr_zip_inflate(r->zip, entry, &contents, r->error);
    return status == TR_OK ? keep(r, e, contents) : status;
}

static tr_status find_extent(reader *r, const tr_pickle_storage *storage, extent **found)
{
    if (r->zip)
        return find_zipped(r, storage, found);
    const int32_t place = tr_strmap_find(&r->keys, storage->key, storage->key_size);
    if (place < 0)
        return tr_fail(r->error, TR_ERROR_FORMAT, "storage %.*s: is missing",
                       storage->key_size < 100 ? (int)storage->key_size : 100, storage->key);
    *found = &r->extents[place];
    return TR_OK;
}

/* ------------------------------------------------------------------------------------------------------------- tensors */

/* Elements of a tensor, all of which must lie in its storage of count elements; no product or sum can overflow. */
static bool measure(const tr_pickle_tensor *t, uint64_t count, uint64_t *elements)
{
    uint64_t last = t->offset;
    *elements = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->shape[i] == 0)
            *elements = 0;
    for (uint32_t i = 0; *elements && i < t->rank; i++) {
        const uint64_t steps = (uint64_t)t->shape[i] - 1, stride = (uint64_t)t->stride[i];
        if (steps && (stride > count / steps || last > count))
            return false;
        last += steps * stride;
        if (*elements > count / (uint64_t)t->shape[i]) /* no view of a storage that it does not repeat has more */
            return false;
        *elements *= (uint64_t)t->shape[i];
    }
    return *elements == 0 || last < count;
}

static bool is_contiguous(const tr_pickle_tensor *t)
{
    int64_t expected = 1;
    for (uint32_t i = t->rank; i > 0; i--) {
        if (t->shape[i - 1] != 1 && t->stride[i - 1] != expected)
            return false;
        expected *= t->shape[i - 1];
    }
    return true;
}

/* The elements of a transposed tensor in order: from its first element to a new block. */
static tr_status put_in_order(reader *r, const char *name, const tr_pickle_tensor *t, size_t element, tr_tensor *tensor)
{
    const unsigned char *from = tensor->data;
    int64_t at[TR_MAX_RANK] = {0};
    r->copied += tensor->bytes;
    if (r->copied > r->size)
        return fail(r, TR_ERROR_FORMAT, name, "overlaps other tensors");
    unsigned char *copy = malloc(tensor->bytes);
    if (!copy)
        return no_memory(r);
    for (size_t to = 0; to < tensor->bytes; to += element) {
        int64_t place = 0;
        for (uint32_t i = 0; i < t->rank; i++)
            place += at[i] * t->stride[i];
        memcpy(copy + to, from + (size_t)place * element, element);
        for (uint32_t i = t->rank; i > 0 && ++at[i - 1] == t->shape[i - 1]; i--)
            at[i - 1] = 0;
    }
    tensor->data = copy;
    return tr_weights_keep(r->weights, copy, r->error);
}

static tr_status check_tensor(const reader *r, const char *name, const tr_pickle_tensor *t, const tr_torch_type *type)
{
    if (!type->floating)
        return tr_fail(r->error, TR_ERROR_UNSUPPORTED, "tensor %.100s: type %s is not supported, only F32, F16 and BF16",
                       name, type->name);
    if (t->rank < 1 || t->rank > TR_MAX_RANK)
        return tr_fail(r->error, TR_ERROR_FORMAT, "tensor %.100s: has %u dimensions, must be 1 to %d", name, t->rank,
                       TR_MAX_RANK);
    return TR_OK;
}

static tr_status add_tensor(reader *r, const char *name, const char *ours, const tr_pickle_tensor *t)
{
    size_t count;
    const tr_pickle_storage *storage = &tr_pickle_storages(&r->pickle, &count)[t->storage];
    const size_t element = storage->type->size;
    uint64_t elements;
    extent *e = NULL;
    tr_status status = check_tensor(r, name, t, storage->type);
    if (status == TR_OK)
        status = in_tensor(r, name, find_extent(r, storage, &e));
    if (status != TR_OK)
        return status;
    if (storage->count > e->bytes / element)
        return tr_fail(r->error, TR_ERROR_FORMAT,
                       "tensor %.100s: its storage should have %llu elements, the file has %llu bytes", name,
                       (unsigned long long)storage->count, (unsigned long long)e->bytes);
    if (!measure(t, storage->count, &elements))
        return fail(r, TR_ERROR_FORMAT, name, "reaches beyond its storage");
    tr_tensor tensor = {.type = storage->type->type, .rank = (int)t->rank, .bytes = (size_t)elements * element};
    tensor.data = e->data + (elements ? (size_t)t->offset * element : 0);
    memcpy(tensor.name, ours, sizeof tensor.name);
    memcpy(tensor.shape, t->shape, sizeof tensor.shape);
    if (elements && !is_contiguous(t))
        status = put_in_order(r, name, t, element, &tensor);
    return status == TR_OK ? tr_weights_add(r->weights, &tensor, r->error) : status;
}

static bool holds_tensors(const reader *r, const tr_pickle_value *dict)
{
    for (const tr_pickle_pair *pair = NULL; (pair = tr_pickle_next(&r->pickle, dict, pair));)
        if (pair->value.kind == TR_PICKLE_TENSOR && dict->kind == TR_PICKLE_DICT)
            return true;
    return false;
}

static const tr_pickle_value *find_state_dict(const reader *r)
{
    static const char *const names[] = {"state_dict", "model_state_dict", "model"};
    if (holds_tensors(r, &r->pickle.root))
        return &r->pickle.root;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const tr_pickle_value *inner = tr_pickle_find(&r->pickle, &r->pickle.root, names[i]);
        if (inner && holds_tensors(r, inner))
            return inner;
    }
    return NULL;
}

static tr_status add_wanted(reader *r)
{
    size_t count;
    const tr_pickle_value *dict = find_state_dict(r);
    const tr_pickle_tensor *tensors = tr_pickle_tensors(&r->pickle, &count);
    tr_status status = TR_OK;
    if (!dict)
        return tr_fail(r->error, TR_ERROR_FORMAT, "holds no dictionary of tensors");
    for (const tr_pickle_pair *pair = NULL; status == TR_OK && (pair = tr_pickle_next(&r->pickle, dict, pair));) {
        char name[NAME], ours[TR_TENSOR_NAME] = "";
        if (pair->key.kind != TR_PICKLE_TEXT || pair->value.kind != TR_PICKLE_TENSOR || pair->key.size >= NAME)
            continue;
        memcpy(name, pair->key.as.text, pair->key.size);
        name[pair->key.size] = 0;
        r->renaming(name, ours);
        if (*ours)
            status = add_tensor(r, name, ours, &tensors[pair->value.as.index]);
    }
    return status;
}

/* ----------------------------------------------------------------------------------------------------------- the archive */

/* The archive consists of one folder, whose name may be anything. */
static tr_status find_folder(reader *r, const tr_zip_entry **pickle)
{
    static const char name[] = "/data.pkl";
    const tr_zip_entry *entries = tr_zip_entries(r->zip, &r->extent_count);
    *pickle = NULL;
    for (size_t i = 0; i < r->extent_count; i++) {
        const char *slash = strchr(entries[i].name, '/');
        if (!slash || strcmp(slash, name) != 0)
            continue;
        if (*pickle)
            return tr_fail(r->error, TR_ERROR_FORMAT, "is not an archive of torch.save: it has several data.pkl");
        *pickle = &entries[i];
        snprintf(r->prefix, sizeof r->prefix, "%.*s", (int)(slash + 1 - entries[i].name), entries[i].name);
    }
    return *pickle ? TR_OK
                   : tr_fail(r->error, TR_ERROR_UNSUPPORTED, "is not an archive of torch.save: it has no FOLDER/data.pkl");
}

/* The whole of a small entry; memory: to be freed. */
static tr_status open_entry(reader *r, const tr_zip_entry *entry, const unsigned char **data, void **memory)
{
    *memory = NULL;
    *data = entry->data;
    if (*data)
        return TR_OK;
    if (entry->size > TR_PICKLE_SIZE)
        return tr_fail(r->error, TR_ERROR_FORMAT, "entry %.100s: is longer than that of any weights", entry->name);
    const tr_status status = tr_zip_inflate(r->zip, entry, memory, r->error);
    *data = *memory;
    return status;
}

static tr_status check_byte_order(reader *r)
{
    char name[NAME + sizeof "byteorder"];
    const unsigned char *data;
    void *memory;
    snprintf(name, sizeof name, "%sbyteorder", r->prefix);
    const tr_zip_entry *entry = tr_zip_find(r->zip, name);
    if (!entry) /* before torch 2.1; little */
        return TR_OK;
    tr_status status = open_entry(r, entry, &data, &memory);
    if (status == TR_OK && (entry->size != 6 || memcmp(data, "little", 6) != 0))
        status = tr_fail(r->error, TR_ERROR_UNSUPPORTED,
                         "entry %.100s: is not \"little\": no other order of bytes is supported", name);
    free(memory);
    return status;
}

static tr_status read_archive(reader *r)
{
    const tr_zip_entry *entry;
    const unsigned char *data;
    void *memory = NULL;
    tr_status status = tr_zip_open(r->data, r->size, &r->zip, r->error);
    if (status == TR_OK)
        status = find_folder(r, &entry);
    if (status == TR_OK)
        status = check_byte_order(r);
    if (status == TR_OK)
        status = open_entry(r, entry, &data, &memory);
    if (status == TR_OK)
        status = tr_fail_in(r->error, tr_pickle_read(data, (size_t)entry->size, &r->pickle, r->error), entry->name);
    if (status == TR_OK && !(r->extents = calloc(r->extent_count, sizeof *r->extents)))
        status = no_memory(r);
    if (status == TR_OK)
        status = add_wanted(r);
    free(memory);
    return status;
}

/* ------------------------------------------------------------------------------------------------------- the old format */

/* The next of several pickles in a row. */
static tr_status next_pickle(const reader *r, size_t *at, tr_pickle *pickle)
{
    const tr_status status = tr_pickle_read(r->data + *at, r->size - *at, pickle, r->error);
    *at += pickle->size;
    return status;
}

/* The version, and the byte order of the machine that wrote the file. */
static tr_status check_origin(const reader *r, size_t *at)
{
    enum { VERSION = 1001 };
    tr_pickle version, machine = {0};
    tr_status status = next_pickle(r, at, &version);
    if (status != TR_OK)
        return status;
    if (version.root.kind != TR_PICKLE_INT || version.root.as.integer != VERSION)
        status = tr_fail(r->error, TR_ERROR_UNSUPPORTED, "is of a version of torch.save that is not known");
    if (status == TR_OK)
        status = next_pickle(r, at, &machine);
    const tr_pickle_value *little = status == TR_OK ? tr_pickle_find(&machine, &machine.root, "little_endian") : NULL;
    if (little && (little->kind != TR_PICKLE_BOOL || !little->as.integer))
        status = tr_fail(r->error, TR_ERROR_UNSUPPORTED, "has its bytes in big-endian order, which is not supported");
    tr_pickle_free(&version);
    tr_pickle_free(&machine);
    return status;
}

/* Maps the keys of the object's pickle to its storages; the first one of a key counts. */
static tr_status map_storages(const reader *r, tr_strmap *map)
{
    size_t count;
    const tr_pickle_storage *storages = tr_pickle_storages(&r->pickle, &count);
    if (!tr_strmap_init(map, 64))
        return no_memory(r);
    for (size_t i = 0; i < count; i++)
        if (tr_strmap_add(map, storages[i].key, storages[i].key_size, (int32_t)i) < 0)
            return no_memory(r);
    return TR_OK;
}

/* A storage is its number of elements, 8 bytes, and the elements. */
static tr_status add_extent(reader *r, const tr_pickle_value *key, const tr_strmap *map, size_t *at)
{
    enum { COUNT = 8 };
    size_t count;
    const int32_t mention = key->kind == TR_PICKLE_TEXT ? tr_strmap_find(map, key->as.text, key->size) : -1;
    const int shown = key->kind != TR_PICKLE_TEXT ? 0 : key->size < 100 ? (int)key->size : 100;
    const char *text = shown ? key->as.text : "";
    if (mention < 0)
        return tr_fail(r->error, TR_ERROR_FORMAT, "storage %.*s: belongs to no tensor", shown, text);
    if (r->size - *at < COUNT)
        return tr_fail(r->error, TR_ERROR_FORMAT, "storage %.*s: is missing: the file is truncated", shown, text);
    uint64_t elements = 0;
    for (size_t i = COUNT; i > 0; i--)
        elements = elements << 8 | r->data[*at + i - 1];
    *at += COUNT;
    const uint32_t element = tr_pickle_storages(&r->pickle, &count)[mention].type->size;
    if (elements > (r->size - *at) / element)
        return tr_fail(r->error, TR_ERROR_FORMAT,
                       "storage %.*s: should have %llu elements, of which the file has %llu: it is truncated or damaged",
                       shown, text, (unsigned long long)elements, (unsigned long long)((r->size - *at) / element));
    if (tr_strmap_add(&r->keys, key->as.text, key->size, (int32_t)r->extent_count) != (int32_t)r->extent_count)
        return tr_fail(r->error, TR_ERROR_FORMAT, "storage %.*s: is there twice", shown, text);
    r->extents[r->extent_count++] = (extent){r->data + *at, elements * element};
    *at += (size_t)elements * element;
    return TR_OK;
}

/* The storages follow in the order of the list of keys. */
static tr_status find_storages(reader *r, const tr_pickle *keys, size_t at)
{
    size_t count = 0;
    tr_strmap map = {0};
    for (const tr_pickle_pair *pair = NULL; (pair = tr_pickle_next(keys, &keys->root, pair));)
        count++;
    tr_status status = map_storages(r, &map);
    if (status == TR_OK && (!(r->extents = calloc(count + 1, sizeof *r->extents)) || !tr_strmap_init(&r->keys, 64)))
        status = no_memory(r);
    for (const tr_pickle_pair *pair = NULL; status == TR_OK && (pair = tr_pickle_next(keys, &keys->root, pair));)
        status = add_extent(r, &pair->value, &map, &at);
    tr_strmap_free(&map);
    return status;
}

static tr_status read_legacy(reader *r)
{
    size_t at = sizeof legacy_magic;
    tr_pickle keys = {0};
    tr_status status = check_origin(r, &at);
    if (status == TR_OK)
        status = next_pickle(r, &at, &r->pickle);
    if (status == TR_OK)
        status = tr_fail_in(r->error, next_pickle(r, &at, &keys), "list of storages");
    if (status == TR_OK)
        status = find_storages(r, &keys, at);
    if (status == TR_OK)
        status = add_wanted(r);
    tr_pickle_free(&keys);
    return status;
}

/* --------------------------------------------------------------------------------------------------------------------- */

static bool is_archive(const void *data, size_t size)
{
    return size >= 4 && memcmp(data, "PK\3\4", 4) == 0;
}

static bool is_legacy(const void *data, size_t size)
{
    return size >= sizeof legacy_magic && memcmp(data, legacy_magic, sizeof legacy_magic) == 0;
}

bool tr_is_pytorch(const void *data, size_t size)
{
    return is_archive(data, size) || is_legacy(data, size);
}

tr_status tr_pytorch_read(const void *data, size_t size, tr_tensor_rename *renaming, tr_weights *weights, tr_error *error)
{
    if (!tr_is_pytorch(data, size))
        return tr_fail(error, TR_ERROR_FORMAT, "is not a file of torch.save, or truncated");
    reader r = {.data = data, .size = size, .renaming = renaming, .weights = weights, .error = error};
    const tr_status status = is_archive(data, size) ? read_archive(&r) : read_legacy(&r);
    tr_pickle_free(&r.pickle);
    tr_zip_close(r.zip);
    tr_strmap_free(&r.keys);
    free(r.extents);
    return status;
}
