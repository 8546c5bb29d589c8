#include "tokenizer/spm_check.h"

#include "tokenizer/charsmap_check.h"
#include "tokenizer/spm_fields.h"
#include "util/utf8.h"

#include <stdlib.h>
#include <string.h>

/* The library matches user-defined pieces through an array of this size, and reads past its end beyond it. */
enum { MOST_NESTED = 64 };

static const size_t largest_file = (size_t)1 << 30; /* the library counts bytes in int */

typedef struct reader {
    const unsigned char *at, *end;
} reader;

typedef struct field {
    uint32_t number;
    unsigned wire;
    uint64_t value; /* TR_SPM_WIRE_VARINT, TR_SPM_WIRE_32, TR_SPM_WIRE_64 */
    reader bytes;   /* TR_SPM_WIRE_BYTES */
} field;

static bool read_long_varint(reader *r, uint64_t *value)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && r->at < r->end; shift += 7) {
        const unsigned char byte = *r->at++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = v;
            return shift < 63 || byte < 2;
        }
    }
    return false;
}

static inline bool read_varint(reader *r, uint64_t *value)
{
    if (r->at == r->end || *r->at >= 0x80)
        return read_long_varint(r, value);
    *value = *r->at++;
    return true;
}

static bool read_fixed(reader *r, size_t size, uint64_t *value)
{
    if ((size_t)(r->end - r->at) < size)
        return false;
    *value = 0;
    for (size_t i = size; i-- > 0;)
        *value = *value << 8 | r->at[i];
    r->at += size;
    return true;
}

/* The next field; false at a damaged one. There must be bytes left. */
static inline bool read_field(reader *r, field *f)
{
    uint64_t tag;
    if (!read_varint(r, &tag) || tag > UINT32_MAX || tag >> 3 == 0)
        return false;
    f->number = (uint32_t)(tag >> 3);
    f->wire = tag & 7;
    switch (f->wire) {
    case TR_SPM_WIRE_VARINT: return read_varint(r, &f->value);
    case TR_SPM_WIRE_64: return read_fixed(r, 8, &f->value);
    case TR_SPM_WIRE_32: return read_fixed(r, 4, &f->value);
    case TR_SPM_WIRE_BYTES:
        if (!read_varint(r, &f->value) || f->value > (uint64_t)(r->end - r->at))
            return false;
        f->bytes = (reader){r->at, r->at + f->value};
        r->at += f->value;
        return true;
    }
    return false;
}

typedef struct text {
    const char *data;
    size_t size;
} text;

/* What is known of the model so far. */
typedef struct model {
    size_t pieces, unknown;
    uint8_t bytes[256]; /* byte pieces seen */
    size_t byte_pieces;
    text *user; /* user-defined pieces */
    size_t users, user_capacity;
    bool byte_fallback;
    uint32_t seen; /* bit N: message field N was there */
    tr_error *error;
} model;

static tr_status fail_piece(const model *m, const char *why)
{
    return tr_fail(m->error, TR_ERROR_FORMAT, "SentencePiece model: piece %zu: %s", m->pieces, why);
}

static tr_status damaged(const model *m, const char *what)
{
    return tr_fail(m->error, TR_ERROR_FORMAT, "SentencePiece model: %s: damaged or cut short", what);
}

/* The value of a byte piece's text "<0x4F>", -1 if it is none. */
static int byte_of(text t)
{
    static const char digits[] = "0123456789ABCDEF";
    if (t.size != 6 || memcmp(t.data, "<0x", 3) || t.data[5] != '>')
        return -1;
    const char *high = memchr(digits, t.data[3], 16), *low = memchr(digits, t.data[4], 16);
    return high && low ? (int)(high - digits) * 16 + (int)(low - digits) : -1;
}

static tr_status add_user_defined(model *m, text t)
{
    if (m->users == m->user_capacity) {
        const size_t capacity = m->user_capacity ? 2 * m->user_capacity : 64;
        text *const larger = realloc(m->user, capacity * sizeof *larger);
        if (!larger)
            return tr_fail(m->error, TR_ERROR_MEMORY, "SentencePiece model: out of memory");
        m->user = larger;
        m->user_capacity = capacity;
    }
    m->user[m->users++] = t;
    return TR_OK;
}

static tr_status note_piece(model *m, text t, uint64_t type)
{
    switch (type) {
    case TR_SPM_TYPE_NORMAL:
    case TR_SPM_TYPE_CONTROL:
    case TR_SPM_TYPE_UNUSED: return TR_OK;
    case TR_SPM_TYPE_UNKNOWN: return m->unknown++ ? fail_piece(m, "a second unknown piece") : TR_OK;
    case TR_SPM_TYPE_USER_DEFINED: return add_user_defined(m, t);
    case TR_SPM_TYPE_BYTE: {
        const int byte = byte_of(t);
        if (byte < 0 || m->bytes[byte]++)
            return fail_piece(m, byte < 0 ? "no byte piece by its text" : "a byte piece for the second time");
        m->byte_pieces++;
        return TR_OK;
    }
    }
    return fail_piece(m, "unknown type");
}

static tr_status check_piece(model *m, reader r)
{
    text t = {NULL, 0};
    uint64_t type = TR_SPM_TYPE_NORMAL;
    unsigned seen = 0;
    while (r.at < r.end) {
        field f;
        if (!read_field(&r, &f))
            return fail_piece(m, "damaged");
        if (f.number > TR_SPM_PIECE_TYPE)
            continue;
        const unsigned wire = f.number == TR_SPM_PIECE_TEXT    ? TR_SPM_WIRE_BYTES
                              : f.number == TR_SPM_PIECE_SCORE ? TR_SPM_WIRE_32
                                                               : TR_SPM_WIRE_VARINT;
        if (f.wire != wire || seen & 1u << f.number)
            return fail_piece(m, f.wire != wire ? "a field of a wrong type" : "a field that occurs twice");
        seen |= 1u << f.number;
        if (f.number == TR_SPM_PIECE_TEXT)
            t = (text){(const char *)f.bytes.at, (size_t)f.value};
        else if (f.number == TR_SPM_PIECE_TYPE)
            type = f.value;
        else if ((f.value >> 23 & 0xff) == 0xff) /* the exponent of infinities and NaN */
            return fail_piece(m, "its score is not finite");
    }
    if (t.size == 0 || t.size > TR_SPM_MAX_PIECE)
        return fail_piece(m, t.size ? "longer than 1024 bytes" : "empty");
    if (!tr_utf8_valid(t.data, t.size))
        return fail_piece(m, "not valid UTF-8, or with a NUL");
    const tr_status status = note_piece(m, t, type);
    m->pieces++;
    return status;
}

static tr_status check_trainer(model *m, reader r)
{
    while (r.at < r.end) {
        field f;
        if (!read_field(&r, &f))
            return damaged(m, "trainer_spec");
        if ((f.number == TR_SPM_TRAINER_MODEL_TYPE || f.number == TR_SPM_TRAINER_BYTE_FALLBACK) &&
            f.wire != TR_SPM_WIRE_VARINT)
            return damaged(m, "trainer_spec");
        if (f.number == TR_SPM_TRAINER_MODEL_TYPE && (f.value < TR_SPM_UNIGRAM || f.value > TR_SPM_CHAR))
            return tr_fail(m->error, TR_ERROR_UNSUPPORTED, "SentencePiece model: unknown model type %llu",
                           (unsigned long long)f.value);
        if (f.number == TR_SPM_TRAINER_BYTE_FALLBACK)
            m->byte_fallback = f.value != 0;
    }
    return TR_OK;
}

static tr_status check_normalizer(model *m, reader r)
{
    bool seen = false;
    while (r.at < r.end) {
        field f;
        if (!read_field(&r, &f) || (f.number == TR_SPM_NORMALIZER_CHARSMAP && (f.wire != TR_SPM_WIRE_BYTES || seen)))
            return damaged(m, "normalizer_spec");
        if (f.number != TR_SPM_NORMALIZER_CHARSMAP)
            continue;
        seen = true;
        const tr_status status = tr_charsmap_check(f.bytes.at, (size_t)f.value, m->error);
        if (status != TR_OK)
            return tr_fail_in(m->error, status, "SentencePiece model");
    }
    return TR_OK;
}

static tr_status check_field(model *m, const field *f)
{
    if (f->number > TR_SPM_MODEL_DENORMALIZER)
        return TR_OK; /* a field of a later version */
    if (f->wire != TR_SPM_WIRE_BYTES)
        return damaged(m, "a message");
    if (f->number == TR_SPM_MODEL_PIECE)
        return check_piece(m, f->bytes);
    if (m->seen & 1u << f->number) /* protobuf would merge the two */
        return tr_fail(m->error, TR_ERROR_FORMAT, "SentencePiece model: field %u occurs twice", f->number);
    m->seen |= 1u << f->number;
    if (f->number == TR_SPM_MODEL_TRAINER)
        return check_trainer(m, f->bytes);
    return f->number == TR_SPM_MODEL_SELF_TEST ? TR_OK : check_normalizer(m, f->bytes);
}

static int compare_texts(const void *left, const void *right)
{
    const text *a = left, *b = right;
    const int order = memcmp(a->data, b->data, a->size < b->size ? a->size : b->size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

/* At most MOST_NESTED user-defined pieces are each a prefix of the next. In sorted order a piece's prefixes stand before it,
 * and those that are prefixes of the piece just before it form a chain that is kept as a stack. */
static tr_status check_nesting(const model *m)
{
    text chain[MOST_NESTED];
    size_t depth = 0;
    if (m->users <= MOST_NESTED)
        return TR_OK;
    qsort(m->user, m->users, sizeof *m->user, compare_texts);
    for (size_t i = 0; i < m->users; i++) {
        const text t = m->user[i];
        while (depth && (chain[depth - 1].size > t.size || memcmp(chain[depth - 1].data, t.data, chain[depth - 1].size)))
            depth--;
        if (depth == MOST_NESTED)
            return tr_fail(m->error, TR_ERROR_FORMAT, "SentencePiece model: more than %d user-defined pieces begin alike",
                           MOST_NESTED);
        chain[depth++] = t;
    }
    return TR_OK;
}

static tr_status check_whole(const model *m)
{
    if (m->unknown != 1)
        return tr_fail(m->error, TR_ERROR_FORMAT, "SentencePiece model: no unknown piece among %zu", m->pieces);
    if (m->byte_pieces != (m->byte_fallback ? 256 : 0))
        return tr_fail(m->error, TR_ERROR_FORMAT, "SentencePiece model: %zu byte pieces where byte fallback is %s",
                       m->byte_pieces, m->byte_fallback ? "on" : "off");
    return check_nesting(m);
}

tr_status tr_spm_check(const void *data, size_t size, tr_error *error)
{
    model m = {.error = error};
    reader r = {data, (const unsigned char *)data + size};
    tr_status status = TR_OK;
    if (size == 0 || size > largest_file)
        return tr_fail(error, TR_ERROR_FORMAT, "SentencePiece model: a file of %zu bytes cannot be one", size);
    while (status == TR_OK && r.at < r.end) {
        field f;
        status = read_field(&r, &f) ? check_field(&m, &f) : damaged(&m, "a message");
    }
    if (status == TR_OK)
        status = check_whole(&m);
    free(m.user);
    return status;
}

void tr_spm_self_test(const void *data, size_t size, size_t *offset, size_t *length)
{
    const unsigned char *const start = data;
    reader r = {start, start + size};
    *offset = *length = 0;
    while (r.at < r.end) {
        field f;
        const unsigned char *const at = r.at;
        if (!read_field(&r, &f))
            return;
        if (f.number == TR_SPM_MODEL_SELF_TEST) {
            *offset = (size_t)(at - start);
            *length = (size_t)(r.at - at);
            return;
        }
    }
}

bool tr_spm_pieces(const void *data, size_t size, tr_spm_take *take, void *argument)
{
    reader r = {data, (const unsigned char *)data + size};
    field message = {0}, part = {0};
    while (r.at < r.end && read_field(&r, &message)) {
        if (message.number != TR_SPM_MODEL_PIECE || message.wire != TR_SPM_WIRE_BYTES)
            continue;
        reader piece = message.bytes;
        while (piece.at < piece.end && read_field(&piece, &part))
            if (part.number == TR_SPM_PIECE_TEXT && part.wire == TR_SPM_WIRE_BYTES &&
                !take(argument, (const char *)part.bytes.at, (size_t)part.value))
                return false;
    }
    return true;
}
