/* Writes GGUF files and verifies their checksums. */
#include "formats/gguf/gguf.h"

#include <stdlib.h>
#include <string.h>

#include "formats/gguf/encode.h"
#include "formats/gguf/keys.h"
#include "formats/xxh64.h"
#include "kernels/dispatch.h"
#include "util/buffer.h"

/* A file that is being written. */
typedef struct writer {
    const tr_package *package;
    tr_encoder encoder;
    tr_file_tensors tensors;
    tr_buffer header; /* everything before the data */
    bool full;        /* out of memory for the header */
    uint64_t entries;
    size_t size_at, checksum_at; /* offsets of those two values */
    uint64_t bytes;              /* of the whole file */
    tr_output output;
    tr_xxh64 hash;
    tr_gguf_progress *progress;
    void *argument;
    tr_error *error;
} writer;

static uint64_t aligned(uint64_t offset)
{
    return (offset + TR_GGUF_ALIGNMENT - 1) & ~(uint64_t)(TR_GGUF_ALIGNMENT - 1);
}

/* ----------------------------------------------------------------------------------------------------------- metadata */

static void put_bytes(writer *w, const void *data, size_t size)
{
    w->full = w->full || !tr_buffer_append(&w->header, data, size);
}

static void store_little(unsigned char *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

static void put_integer(writer *w, uint64_t value, size_t bytes)
{
    unsigned char little[8];
    store_little(little, value, sizeof little);
    put_bytes(w, little, bytes);
}

static void put_string(writer *w, const char *text, size_t size)
{
    put_integer(w, size, 8);
    put_bytes(w, text, size);
}

static void put_key(writer *w, const char *key, tr_gguf_type type)
{
    put_string(w, key, strlen(key));
    put_integer(w, type, 4);
    w->entries++;
}

static void put_text(writer *w, const char *key, const char *text)
{
    if (!*text)
        return;
    put_key(w, key, TR_GGUF_STRING);
    put_string(w, text, strlen(text));
}

static void put_u32(writer *w, const char *key, uint32_t value)
{
    put_key(w, key, TR_GGUF_U32);
    put_integer(w, value, 4);
}

static void put_array(writer *w, const char *key, tr_gguf_type type, uint64_t count)
{
    put_key(w, key, TR_GGUF_ARRAY);
    put_integer(w, type, 4);
    put_integer(w, count, 8);
}

static bool is_default(const tr_gguf_field *field, const void *value)
{
    const tr_config defaults = tr_config_default();
    const size_t size = field->kind == TR_GGUF_FLAG ? sizeof(bool) : sizeof(int); /* of a float, too */
    return memcmp(value, (const char *)&defaults + field->offset, size) == 0;
}

static void put_field(writer *w, const tr_gguf_field *field)
{
    const void *from = (const char *)&w->package->config + field->offset;
    uint32_t bits;
    if (field->later && is_default(field, from))
        return;
    switch (field->kind) {
    case TR_GGUF_SIZE:
    case TR_GGUF_TOKEN:
        put_key(w, field->key, field->kind == TR_GGUF_SIZE ? TR_GGUF_U32 : TR_GGUF_I32);
        put_integer(w, (uint32_t)(*(const int *)from), 4);
        break;
    case TR_GGUF_FLAG:
        put_key(w, field->key, TR_GGUF_BOOL);
        put_integer(w, *(const bool *)from, 1);
        break;
    case TR_GGUF_REAL:
        memcpy(&bits, from, sizeof bits);
        put_key(w, field->key, TR_GGUF_F32);
        put_integer(w, bits, 4);
        break;
    }
}

static void put_tokens(writer *w, const char *key, const tr_vocabulary *vocabulary)
{
    if (vocabulary->size == 0)
        return;
    put_array(w, key, TR_GGUF_STRING, vocabulary->size);
    for (size_t i = 0; i < vocabulary->size; i++)
        put_string(w, vocabulary->pieces[i].data, vocabulary->pieces[i].size);
}

/* llama.cpp's llama_ftype, the type of most matrices. It has no number for plain int8, and the key is optional. */
static void put_file_type(writer *w, tr_type type)
{
    if (type != TR_TYPE_I8)
        put_u32(w, TR_KEY_FILE_TYPE, type == TR_TYPE_F16 ? 1 : type == TR_TYPE_BF16 ? 32 : 0);
}

static void put_ids(writer *w, const char *key, const int32_t *ids, size_t count)
{
    put_array(w, key, TR_GGUF_I32, count);
    for (size_t i = 0; i < count; i++)
        put_integer(w, (uint32_t)ids[i], 4);
}

static void put_languages(writer *w, const tr_languages *languages)
{
    if (languages->count == 0)
        return;
    put_array(w, TR_KEY_LANGUAGES, TR_GGUF_STRING, languages->count);
    for (size_t i = 0; i < languages->count; i++)
        put_string(w, languages->items[i].code, strlen(languages->items[i].code));
    put_array(w, TR_KEY_LANGUAGE_IDS, TR_GGUF_I32, languages->count);
    for (size_t i = 0; i < languages->count; i++)
        put_integer(w, (uint32_t)languages->items[i].id, 4);
    if (languages->source != TR_LANGUAGE_NOWHERE)
        put_text(w, TR_KEY_SOURCE_PLACE, tr_language_place_name(languages->source));
    if (languages->target != TR_LANGUAGE_NOWHERE)
        put_text(w, TR_KEY_TARGET_PLACE, tr_language_place_name(languages->target));
}

static void put_metadata(writer *w)
{
    const tr_package *package = w->package;
    put_text(w, TR_KEY_ARCHITECTURE, package->architecture);
    put_key(w, TR_KEY_FILE_SIZE, TR_GGUF_U64); /* early: found even in a truncated file */
    w->size_at = w->header.size;
    put_integer(w, 0, 8);
    put_key(w, TR_KEY_CHECKSUM, TR_GGUF_U64);
    w->checksum_at = w->header.size;
    put_integer(w, 0, 8);
    put_u32(w, TR_KEY_ALIGNMENT, TR_GGUF_ALIGNMENT);
    put_file_type(w, w->encoder.type);
    put_text(w, TR_KEY_NAME, package->name);
    put_text(w, TR_KEY_LICENSE, package->about.license);
    put_text(w, TR_KEY_DATE, package->about.date);
    put_text(w, TR_KEY_DESCRIPTION, package->about.description);
    put_u32(w, TR_KEY_VERSION, TR_LAYOUT_VERSION);
    put_text(w, TR_KEY_SOURCE_LANGUAGE, package->source_language);
    put_text(w, TR_KEY_TARGET_LANGUAGE, package->target_language);
    for (size_t i = 0; i < tr_gguf_field_count; i++)
        put_field(w, &tr_gguf_fields[i]);
    put_text(w, TR_KEY_ACTIVATION, tr_activation_name(package->config.activation));
    put_text(w, TR_KEY_POSITIONS, tr_positions_name(package->config.positions));
    if (package->config.norm != TR_NORM_LAYER)
        put_text(w, TR_KEY_NORM, tr_norm_name(package->config.norm));
    if (package->config.mixer != TR_MIXER_SELF_ATTENTION)
        put_text(w, TR_KEY_HISTORY, tr_decoder_mixer_name(package->config.mixer));
    if (package->config.mixer == TR_MIXER_AAN)
        put_text(w, TR_KEY_AVERAGE_ACTIVATION, tr_activation_name(package->config.aan_activation));
    put_ids(w, TR_KEY_FORBIDDEN, package->config.forbidden, (size_t)package->config.forbidden_count);
    put_languages(w, &package->languages);
    if (package->special.size)
        put_ids(w, TR_KEY_SPECIAL, package->special.data, package->special.size);
    if (package->copy_symbols.size)
        put_ids(w, TR_KEY_COPY_SYMBOLS, package->copy_symbols.data, package->copy_symbols.size);
    put_text(w, TR_KEY_STAND_INS, package->stand_ins);
    if (package->shortlist.offsets) {
        put_u32(w, TR_KEY_SHORTLIST_FIRST, (uint32_t)package->shortlist.first);
        put_u32(w, TR_KEY_SHORTLIST_BEST, (uint32_t)package->shortlist.best);
    }
    put_tokens(w, TR_KEY_TOKENS, &package->source);
    put_tokens(w, TR_KEY_TARGET_TOKENS, &package->target_own);
}

/* ------------------------------------------------------------------------------------------------------------ tensors */

static void describe_tensor(writer *w, const tr_tensor *t)
{
    put_string(w, t->name, strlen(t->name));
    put_integer(w, (uint32_t)t->rank, 4);
    for (int i = t->rank - 1; i >= 0; i--) /* innermost first */
        put_integer(w, (uint64_t)t->shape[i], 8);
    put_integer(w, tr_gguf_tensor_code(t->type), 4);
    put_integer(w, w->bytes, 8);
    w->bytes = aligned(w->bytes + t->bytes);
}

/* ------------------------------------------------------------------------------------------------------------- output */

/* Writes and hashes. */
static tr_status write_hashed(writer *w, const void *data, size_t size)
{
    const tr_status status = tr_output_write(&w->output, data, size, w->error);
    tr_xxh64_add(&w->hash, data, size);
    return status;
}

static tr_status report_progress(writer *w)
{
    if (w->progress && w->progress(w->argument, w->output.written, w->bytes))
        return tr_fail(w->error, TR_ERROR_CANCELLED, "cancelled");
    return TR_OK;
}

static tr_status write_part(void *argument, const void *data, size_t size, tr_error *error)
{
    (void)error; /* the same as w->error */
    const tr_status status = write_hashed(argument, data, size);
    return status == TR_OK ? report_progress(argument) : status;
}

static tr_status write_padding(writer *w)
{
    static const unsigned char zeros[TR_GGUF_ALIGNMENT];
    return write_hashed(w, zeros, (size_t)(aligned(w->output.written) - w->output.written));
}

static tr_status write_tensor(writer *w, const tr_file_tensor *t)
{
    tr_status status = tr_encoder_write(&w->encoder, t, w->error);
    if (status == TR_OK)
        status = write_padding(w);
    return status == TR_OK ? report_progress(w) : status;
}

/* Builds header, metadata and descriptions; sets w->bytes. */
static tr_status build_header(writer *w)
{
    static const unsigned char counts[16]; /* counts of tensors and of entries, set below */
    const tr_status status = tr_encoder_list(&w->encoder, &w->tensors, w->error);
    if (status != TR_OK)
        return status;
    put_bytes(w, "GGUF", 4);
    put_integer(w, TR_GGUF_VERSION, 4);
    const size_t counts_at = w->header.size;
    put_bytes(w, counts, sizeof counts);
    put_metadata(w);
    for (size_t i = 0; i < w->tensors.count; i++)
        describe_tensor(w, &w->tensors.items[i].tensor);
    if (w->full)
        return tr_fail(w->error, TR_ERROR_MEMORY, "out of memory");
    w->bytes += aligned(w->header.size);
    unsigned char *header = (unsigned char *)w->header.data;
    store_little(header + counts_at, w->tensors.count, 8);
    store_little(header + counts_at + 8, w->entries, 8);
    store_little(header + w->size_at, w->bytes, 8);
    return TR_OK;
}

/* A file that is read again to compare it with what was written. */
typedef struct rereading {
    const writer *w;
    tr_xxh64 hash;
    uint64_t checksum; /* expected in the file */
} rereading;

/* Compares the header byte by byte, and hashes all bytes. */
static tr_status reread(void *argument, uint64_t offset, unsigned char *data, size_t size, tr_error *error)
{
    rereading *r = argument;
    const writer *w = r->w;
    unsigned char checksum[8];
    bool same = true;
    if (w->checksum_at >= offset && w->checksum_at + sizeof checksum <= offset + size) {
        unsigned char *in_file = data + (w->checksum_at - offset);
        store_little(checksum, r->checksum, sizeof checksum);
        same = memcmp(in_file, checksum, sizeof checksum) == 0;
        memset(in_file, 0, sizeof checksum); /* as in the header in memory, which was hashed */
    }
    if (offset < w->header.size) {
        const size_t n = w->header.size - offset < size ? (size_t)(w->header.size - offset) : size;
        same = same && memcmp(data, w->header.data + offset, n) == 0;
    }
    tr_xxh64_add(&r->hash, data, size);
    return same ? TR_OK
                : tr_fail(error, TR_ERROR_IO, "%s: reading it again gives other bytes than were written", w->output.path);
}

static tr_status verify_written(writer *w)
{
    rereading r = {.w = w, .checksum = tr_xxh64_result(&w->hash)};
    tr_xxh64_init(&r.hash);
    const tr_status status = tr_output_reread(&w->output, reread, &r, w->error);
    if (status == TR_OK && (w->output.written != w->bytes || tr_xxh64_result(&r.hash) != r.checksum))
        return tr_fail(w->error, TR_ERROR_IO, "%s: reading it again gives other bytes than were written", w->output.path);
    return status;
}

static tr_status write_all(writer *w)
{
    tr_xxh64_init(&w->hash);
    tr_status status = write_hashed(w, w->header.data, w->header.size);
    if (status == TR_OK)
        status = write_padding(w);
    for (size_t i = 0; status == TR_OK && i < w->tensors.count; i++)
        status = write_tensor(w, &w->tensors.items[i]);
    unsigned char checksum[8];
    store_little(checksum, tr_xxh64_result(&w->hash), sizeof checksum);
    if (status == TR_OK)
        status = tr_output_patch(&w->output, w->checksum_at, checksum, sizeof checksum, w->error);
    return status;
}

tr_status tr_gguf_write(const tr_package *package, const char *path, tr_type type, tr_gguf_progress *progress,
                        void *argument, tr_error *error)
{
    if (type > TR_TYPE_I8)
        return tr_fail(error, TR_ERROR_ARGUMENT, "%s: matrices cannot be stored as %s", path, tr_type_name(type));
    writer w = {.package = package, .progress = progress, .argument = argument, .error = error};
    w.encoder = (tr_encoder){.package = package, .type = type, .sink = write_part, .argument = &w};
    tr_status status = tr_kernels_select(NULL, &w.encoder.kernels, error);
    if (status == TR_OK)
        status = build_header(&w);
    if (status == TR_OK)
        status = tr_output_open(&w.output, path, error);
    if (status == TR_OK) {
        status = write_all(&w);
        if (status == TR_OK)
            status = verify_written(&w);
        if (status == TR_OK)
            status = tr_output_commit(&w.output, error);
        else
            tr_output_abort(&w.output);
    }
    tr_buffer_free(&w.header);
    tr_file_tensors_free(&w.tensors);
    tr_encoder_free(&w.encoder);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- verify */

/* XXH64 of a mapped file with zeros in place of the checksum. */
static uint64_t hash_file(const tr_gguf *gguf, const tr_gguf_entry *entry)
{
    enum { CHUNK = 1 << 20 };
    static const unsigned char zeros[8];
    const unsigned char *rest = entry->data + sizeof zeros;
    tr_xxh64 hash;
    tr_xxh64_init(&hash);
    tr_xxh64_add(&hash, gguf->data, (size_t)(entry->data - gguf->data));
    tr_xxh64_add(&hash, zeros, sizeof zeros);
    for (size_t left = (size_t)(gguf->data + gguf->size - rest), n; left; rest += n, left -= n) {
        n = left < CHUNK ? left : CHUNK;
        tr_xxh64_add(&hash, rest, n);
        tr_pages_drop(rest, n);
    }
    return tr_xxh64_result(&hash);
}

static tr_status compare_checksum(const tr_gguf *gguf, uint64_t *checksum, tr_error *error)
{
    const tr_gguf_entry *entry = tr_gguf_find(gguf, TR_KEY_CHECKSUM);
    int64_t stored;
    if (!tr_gguf_find(gguf, TR_KEY_FILE_SIZE) || !entry || entry->array || entry->type != TR_GGUF_U64)
        return tr_fail(error, TR_ERROR_FORMAT, "holds no size and checksum to verify");
    tr_gguf_integer(entry, &stored);
    const uint64_t actual = hash_file(gguf, entry);
    if (checksum)
        *checksum = actual;
    if (actual != (uint64_t)stored)
        return tr_fail(error, TR_ERROR_FORMAT, "is damaged: checksum %016llx, must be %016llx", (unsigned long long)actual,
                       (unsigned long long)stored);
    return TR_OK;
}

tr_status tr_gguf_verify(const char *path, uint64_t *checksum, tr_error *error)
{
    tr_error local;
    tr_file file;
    tr_gguf gguf;
    error = error ? error : &local;
    tr_status status = tr_file_open(path, TR_LOAD_MAP, &file, error);
    if (status != TR_OK)
        return status;
    status = tr_gguf_parse(&gguf, file.data, file.size, error); /* compares the size */
    if (status == TR_OK) {
        status = compare_checksum(&gguf, checksum, error);
        tr_gguf_free(&gguf);
    }
    tr_file_close(&file);
    return tr_fail_in(error, status, path);
}
