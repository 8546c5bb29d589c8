#include "import/recognise.h"

#include <string.h>

#include "import/zip.h"
#include "util/utf8.h"

static const struct {
    const char *is, *advice;
} kinds[TR_KINDS] = {
    [TR_KIND_UNKNOWN] = {"is not a model file", "neither GGUF nor a directory with config.json"},
    [TR_KIND_EMPTY] = {"is empty", ""},
    [TR_KIND_GGUF] = {"is a GGUF file", ""},
    [TR_KIND_GGUF_SWAPPED] = {"is a GGUF file with its bytes in big-endian order, which is not supported", ""},
    [TR_KIND_GGML] = {"is a ggml file from before GGUF, which is not supported", "convert the model that it was made from"},
    [TR_KIND_SAFETENSORS] = {"is a safetensors file", "give its directory, which must hold config.json too"},
    [TR_KIND_TORCH] = {"is PyTorch weights (a zip archive)", "give its directory, which must hold config.json too"},
    [TR_KIND_PICKLE] = {"is PyTorch weights (a Python pickle)", "give its directory, which must hold config.json too"},
    [TR_KIND_SCRIPT] = {"is a TorchScript program, which is not supported",
                        "get the weights that it was made from, as model.safetensors or pytorch_model.bin"},
    [TR_KIND_CT2] = {"is the weights of a CTranslate2 model", "give its directory, which must hold its vocabularies too"},
    [TR_KIND_NUMPY] = {"is arrays of NumPy, but no Marian model", "a Marian model holds its settings as special:model.yml"},
    [TR_KIND_ARGOS] = {"is an Argos Translate package", "give that file, which must hold metadata.json too"},
    [TR_KIND_KERAS] = {"is a Keras model, which is not supported", "save its weights as model.safetensors"},
    [TR_KIND_ZIP] = {"is a zip archive", "unpack it first"},
    [TR_KIND_HDF5] = {"is HDF5 (weights of TensorFlow or Keras), which is not supported",
                      "get the model's model.safetensors or pytorch_model.bin"},
    [TR_KIND_ONNX] = {"is an ONNX model, which is not supported", "get the model's model.safetensors or pytorch_model.bin"},
    [TR_KIND_TFLITE] = {"is a TensorFlow Lite model, which is not supported",
                        "get the model's model.safetensors or pytorch_model.bin"},
    [TR_KIND_FLAX] = {"is weights of Flax (MessagePack), which are not supported",
                      "get the model's model.safetensors or pytorch_model.bin"},
    [TR_KIND_PIECES] = {"is a SentencePiece model, the tokenizer of a model", "give the model's directory"},
    [TR_KIND_COMPRESSED] = {"is compressed", "unpack it first"},
    [TR_KIND_TAR] = {"is a tar archive", "unpack it first"},
    [TR_KIND_POINTER] = {"is a Git LFS pointer, not the file itself", "run git lfs pull"},
    [TR_KIND_WEB] = {"is a web page, not the file itself", "download it again"},
    [TR_KIND_JSON] = {"is a JSON file, not a model file", "give its directory"},
};

const char *tr_kind_is(tr_kind kind)
{
    return kinds[kind].is;
}

const char *tr_kind_advice(tr_kind kind)
{
    return kinds[kind].advice;
}

/* ------------------------------------------------------------------------------------------------------- by first bytes */

/* Bytes at an offset that identify a kind of file. */
static const struct {
    size_t at, size;
    const char *bytes;
    tr_kind kind;
} marks[] = {
    {0, 4, "GGUF", TR_KIND_GGUF},
    {0, 4, "FUGG", TR_KIND_GGUF_SWAPPED},
    {0, 4, "lmgg", TR_KIND_GGML},
    {0, 4, "fmgg", TR_KIND_GGML},
    {0, 4, "tjgg", TR_KIND_GGML},
    {0, 8, "\x89HDF\r\n\x1a\n", TR_KIND_HDF5},
    {4, 4, "TFL3", TR_KIND_TFLITE},
    {0, 2, "\x1f\x8b", TR_KIND_COMPRESSED},
    {0, 4, "\x28\xb5\x2f\xfd", TR_KIND_COMPRESSED},   /* zstd */
    {0, 6, "\xfd\x37zXZ\0", TR_KIND_COMPRESSED},      /* xz */
    {0, 3, "BZh", TR_KIND_COMPRESSED},                /* bzip2 */
    {0, 6, "7z\xbc\xaf\x27\x1c", TR_KIND_COMPRESSED}, /* 7-Zip */
    {257, 5, "ustar", TR_KIND_TAR},
    {0, 23, "version https://git-lfs", TR_KIND_POINTER},
    {0, 9, "<!DOCTYPE", TR_KIND_WEB},
    {0, 9, "<!doctype", TR_KIND_WEB},
    {0, 5, "<html", TR_KIND_WEB},
    {0, 15, "Entry not found", TR_KIND_WEB}, /* the Hugging Face hub's answer in place of a file */
};

static bool holds(const unsigned char *data, size_t size, size_t at, const char *bytes, size_t count)
{
    return size >= at + count && memcmp(data + at, bytes, count) == 0;
}

/* The length of a header below 2^48, and its JSON. */
static bool is_safetensors(const unsigned char *d, size_t size)
{
    return size > 10 && d[6] == 0 && d[7] == 0 && d[8] == '{';
}

static bool is_pickle(const unsigned char *d, size_t size)
{
    return size > 2 && d[0] == 0x80 && d[1] >= 2 && d[1] <= 5;
}

/* Protocol Buffers: field 1 is the version of the format; then who made it (2), or version and graph (3 to 8). */
static bool is_onnx(const unsigned char *d, size_t size)
{
    const bool versioned = size > 16 && d[0] == 0x08 && d[1] >= 1 && d[1] <= 30;
    return versioned && (d[2] == 0x12 || d[2] == 0x1a || d[2] == 0x3a || d[2] == 0x42) && d[3] > 0;
}

/* Protocol Buffers: the first piece is its text (1), a score (2), perhaps a type (3). */
static bool is_pieces(const unsigned char *d, size_t size)
{
    if (size < 16 || d[0] != 0x0a || d[1] < 2 || d[2] != 0x0a || d[3] >= d[1] || d[3] + 5u > size)
        return false;
    return d[3] + 2 == d[1] || d[4 + d[3]] == 0x15 || d[4 + d[3]] == 0x18;
}

/* MessagePack: a map of few entries, whose first key is a short word. */
static bool is_flax(const unsigned char *d, size_t size)
{
    if (size < 16 || d[0] < 0x81 || d[0] > 0x8f || d[1] < 0xa2 || d[1] > 0xbf)
        return false;
    for (size_t i = 0; i < (size_t)(d[1] & 31) && i + 2 < size; i++)
        if (d[2 + i] < '!' || d[2 + i] > '~')
            return false;
    return true;
}

/* ---------------------------------------------------------------------------------------------- CTranslate2's model.bin */

typedef struct bytes {
    const unsigned char *data;
    size_t size;
} bytes;

/* Takes a little-endian number from the front. False: there are too few bytes. */
static bool take_number(bytes *b, size_t size, uint32_t *value)
{
    *value = 0;
    if (b->size < size)
        return false;
    for (size_t i = 0; i < size; i++)
        *value |= (uint32_t)b->data[i] << 8 * i;
    b->data += size;
    b->size -= size;
    return true;
}

/* Takes a string, u16 size and as many bytes, the last of which is the NUL. False: no name that a converter writes. */
static bool take_name(bytes *b)
{
    uint32_t size;
    if (!take_number(b, 2, &size) || size == 0 || size > b->size || b->data[size - 1])
        return false;
    for (uint32_t i = 0; i + 1 < size; i++)
        if (b->data[i] < '!' || b->data[i] > '~')
            return false;
    b->data += size;
    b->size -= size;
    return true;
}

bool tr_is_ct2_file(const void *data, size_t size)
{
    enum { SPEC_VERSION = 2, PLAUSIBLE_VERSION = 32 }; /* later versions too: the reader says that they are not supported */
    bytes b = {data, size};
    uint32_t version, revision, count;
    if (!take_number(&b, 4, &version) || version < 1 || version > PLAUSIBLE_VERSION)
        return false;
    if (version >= SPEC_VERSION && !(take_name(&b) && take_number(&b, 4, &revision)))
        return false;
    return take_number(&b, 4, &count) && count > 0 && take_name(&b);
}

/* ---------------------------------------------------------------------------------------------------------- zip archives */

/* The kind of a zip archive, by the names of its entries. */
static tr_status zip_kind(const void *data, size_t size, tr_kind *kind, tr_error *error)
{
    static const struct {
        const char *name; /* after the first folder, if there is one */
        tr_kind kind;
    } names[] = {{"constants.pkl", TR_KIND_SCRIPT}, /* before data.pkl, which TorchScript has, too */
                 {"model.weights.h5", TR_KIND_KERAS},
                 {"model/model.bin", TR_KIND_ARGOS},
                 {"data.pkl", TR_KIND_TORCH}};
    enum { NAMES = sizeof names / sizeof *names };
    tr_zip *zip;
    size_t count, arrays = 0, first = NAMES;
    const tr_status status = tr_zip_open(data, size, &zip, error);
    *kind = TR_KIND_TORCH; /* the most frequent kind, for archives that cannot be listed */
    if (status != TR_OK)
        return status == TR_ERROR_MEMORY ? status : TR_OK;
    const tr_zip_entry *entries = tr_zip_entries(zip, &count);
    for (size_t i = 0; i < count; i++) {
        const char *slash = strchr(entries[i].name, '/'), *name = slash ? slash + 1 : entries[i].name;
        arrays += tr_ends_with(name, ".npy");
        for (size_t n = 0; n < first; n++)
            if (strcmp(name, names[n].name) == 0)
                first = n;
    }
    tr_zip_close(zip);
    *kind = first < NAMES ? names[first].kind : arrays && arrays == count ? TR_KIND_NUMPY : TR_KIND_ZIP;
    return TR_OK;
}

/* Does not look into archives. */
static tr_kind plain_kind(const unsigned char *d, size_t size)
{
    if (size == 0)
        return TR_KIND_EMPTY;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (holds(d, size, marks[i].at, marks[i].bytes, marks[i].size))
            return marks[i].kind;
    if (is_safetensors(d, size))
        return TR_KIND_SAFETENSORS;
    if (holds(d, size, 0, "PK\3\4", 4))
        return TR_KIND_ZIP;
    if (is_pickle(d, size))
        return TR_KIND_PICKLE;
    if (tr_is_ct2_file(d, size))
        return TR_KIND_CT2;
    if (is_onnx(d, size))
        return TR_KIND_ONNX;
    if (is_pieces(d, size))
        return TR_KIND_PIECES;
    if (is_flax(d, size))
        return TR_KIND_FLAX;
    return d[0] == '{' || d[0] == '[' ? TR_KIND_JSON : TR_KIND_UNKNOWN;
}

tr_status tr_recognise(const void *data, size_t size, tr_kind *kind, tr_error *error)
{
    *kind = plain_kind(data, size);
    return *kind == TR_KIND_ZIP ? zip_kind(data, size, kind, error) : TR_OK;
}
