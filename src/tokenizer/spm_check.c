#include "tokenizer/spm_check.h"

#include "tokenizer/spm_fields.h"
#include "util/buffer.h"
#include "util/numbers.h"
#include "util/strmap.h"
#include "util/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { EXPECTED = 20 };   /* bytes of a file for each piece */
enum { MAX_NESTED = 64 }; /* size of the library's array of user-defined pieces that begin a text; it reads past its end */

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

static uint32_t load_unit(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

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

static inline bool read_fixed(reader *r, size_t size, uint64_t *value)
{
    if ((size_t)(r->end - r->at) < size)
        return false;
    *value = load_unit(r->at);
    if (size == 8)
        *value |= (uint64_t)load_unit(r->at + 4) << 32;
    r->at += size;
    return true;
}

/* Reads the next field; there must be bytes left. False: it is damaged. */
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

/* --------------------------------------------------------------------------------------------------- normalisation rules */

/* precompiled_charsmap. Layout: u32 size of the trie in bytes; the trie's units, u32 each, little-endian; the replacements.
 *
 * The trie is darts-clone's. Unit q holds a label (the byte that leads to it), a base B(q) = q ^ offset, and a flag "a key
 * ends here", in which case unit B(q) holds the key's value. The child of q under byte c is unit p = B(q) ^ c, if p's label
 * is c. So a unit p belongs to exactly one base, p ^ label, whoever its parents are (they share children: it is an
 * automaton rather than a tree). Units with the top bit set are values and children of nothing. */

enum {
    MAX_GROWTH = 120, /* bytes that a byte of text may become, where a space counts as the three of "▁"; NFKC needs 39 */
    MAX_MATCHES = 32, /* size of the library's array of keys that a text begins with; it reads past its end */
    BLOCK = 256,
};

typedef struct trie {
    const unsigned char *units;
    uint32_t count;
    const unsigned char *texts;
    size_t texts_size;
} trie;

static uint32_t unit_at(const trie *t, uint32_t i)
{
    return load_unit(t->units + 4 * (size_t)i);
}

static bool is_value(uint32_t unit)
{
    return unit >> 31;
}

static bool ends_key(uint32_t unit)
{
    return unit >> 8 & 1;
}

static uint32_t base_of(uint32_t position, uint32_t unit)
{
    return position ^ (unit >> 10) << ((unit & 0x200) >> 6);
}

/* Limits how much a replacement grows a text; a value may also point into the middle of a replacement. */
static tr_status check_replacements(const trie *t, tr_error *error)
{
    const unsigned char *const end = t->texts + t->texts_size;
    if (t->texts_size == 0 || end[-1])
        return tr_fail(error, TR_ERROR_FORMAT, "charsmap: the replacements do not end with a NUL");
    for (const unsigned char *at = t->texts; at < end; at++) {
        const unsigned char *const start = at;
        at = memchr(at, 0, (size_t)(end - at));
        size_t grown = (size_t)(at - start);
        if (grown <= MAX_GROWTH / 3)
            continue;
        for (const unsigned char *c = start; c < at; c++)
            grown += *c == ' ' ? 2 : 0;
        if (grown > MAX_GROWTH)
            return tr_fail(error, TR_ERROR_FORMAT, "charsmap: the replacement at byte %zu is longer than %d bytes",
                           (size_t)(start - t->texts), MAX_GROWTH);
    }
    return TR_OK;
}

/* Arrays of the depth-first walk, [count] each. The members of a base are the units with that base, in a list. */
typedef struct walk {
    uint32_t *first, *next; /* 1 + position of a unit; 0 ends the list. first advances as members are done */
    uint32_t *stack;        /* bases between the root and here */
    uint8_t *state;         /* NEW, OPEN (on the stack) or DONE */
    uint8_t *matches;       /* the largest number of keys that end on one path down from here */
} walk;

enum { NEW, OPEN, DONE };

/* Checks for every unit that can have children, reachable or not, that all 256 possible ones are inside the array, and that
 * its key's value is inside the replacements. Fills the lists of members. */
static tr_status check_units(const trie *t, const walk *w, tr_error *error)
{
    for (uint32_t i = 0; i < t->count; i++) {
        const uint32_t unit = unit_at(t, i);
        if (is_value(unit) && i > 0) /* the root's top bit is ignored */
            continue;
        const uint32_t base = base_of(i, unit), own = i ^ (unit & 0xff);
        if ((base | (BLOCK - 1)) >= t->count)
            return tr_fail(error, TR_ERROR_FORMAT, "charsmap: trie unit %u leads outside the %u units", i, t->count);
        if (!is_value(unit)) {
            w->next[i] = w->first[own];
            w->first[own] = i + 1;
        }
        if (!ends_key(unit))
            continue;
        const uint32_t value = unit_at(t, base) & 0x7fffffff;
        if (value >= t->texts_size)
            return tr_fail(error, TR_ERROR_FORMAT, "charsmap: a replacement lies at byte %u of %zu", value, t->texts_size);
    }
    return TR_OK;
}

/* Checks the number of keys that one text can begin with: walks all paths, depth first without recursion. */
static tr_status walk_from(const trie *t, const walk *w, uint32_t root, tr_error *error)
{
    size_t depth = 0;
    w->stack[depth++] = root;
    w->state[root] = OPEN;
    while (depth) {
        const uint32_t base = w->stack[depth - 1], member = w->first[base];
        if (!member) {
            w->state[base] = DONE;
            depth--;
            continue;
        }
        const uint32_t unit = unit_at(t, member - 1), below = base_of(member - 1, unit);
        if (w->state[below] == NEW && w->first[below]) {
            w->state[below] = OPEN;
            w->stack[depth++] = below;
            continue;
        }
        if (w->state[below] == OPEN)
            return tr_fail(error, TR_ERROR_FORMAT, "charsmap: the trie has a cycle at unit %u", member - 1);
        const uint8_t matches = (uint8_t)(w->matches[below] + ends_key(unit));
        if (matches > MAX_MATCHES)
            return tr_fail(error, TR_ERROR_FORMAT, "charsmap: more than %d rules begin alike", MAX_MATCHES);
        if (matches > w->matches[base])
            w->matches[base] = matches;
        w->first[base] = w->next[member - 1];
    }
    return TR_OK;
}

static tr_status check_trie(const trie *t, tr_error *error)
{
    const size_t n = t->count;
    uint32_t *const memory = calloc(n, 3 * sizeof *memory + 2);
    if (!memory)
        return tr_fail(error, TR_ERROR_MEMORY, "charsmap: out of memory");
    walk w = {.first = memory, .next = memory + n, .stack = memory + 2 * n};
    w.state = (uint8_t *)(memory + 3 * n);
    w.matches = w.state + n;
    tr_status status = check_units(t, &w, error);
    if (status == TR_OK)
        status = walk_from(t, &w, base_of(0, unit_at(t, 0)), error);
    free(memory);
    return status;
}

static tr_status check_charsmap(const unsigned char *charsmap, size_t size, tr_error *error)
{
    if (size == 0) /* no rules */
        return TR_OK;
    const size_t trie_size = size < 4 ? 0 : load_unit(charsmap);
    if (size < 4 || trie_size > size - 4)
        return tr_fail(error, TR_ERROR_FORMAT, "charsmap: a trie of %zu bytes in a field of %zu", trie_size, size);
    /* Blocks of 256 units, so that a base and any byte stay inside one. The limit is that of a unit's offset. */
    if (trie_size == 0 || trie_size % (4 * BLOCK) || trie_size > (size_t)1 << 31)
        return tr_fail(error, TR_ERROR_FORMAT, "charsmap: a trie cannot have %zu bytes", trie_size);
    const trie t = {charsmap + 4, (uint32_t)(trie_size / 4), charsmap + 4 + trie_size, size - 4 - trie_size};
    const tr_status status = check_replacements(&t, error);
    return status == TR_OK ? check_trie(&t, error) : status;
}

/* --------------------------------------------------------------------------------------------------- pieces and settings */

typedef struct text {
    const char *data;
    size_t size;
} text;

/* The model as far as it has been checked. */
typedef struct model {
    size_t pieces, unknown;
    uint8_t bytes[256]; /* byte pieces seen */
    size_t byte_pieces;
    tr_strmap texts, reserved; /* pieces that text can have, and the others: one of each may have the same text */
    text *user;                /* user-defined pieces */
    size_t users, user_capacity;
    bool byte_fallback;
    bool unigram;
    uint32_t seen; /* bit N: message field N was there */
    tr_error *error;
} model;

static tr_status fail_piece(const model *m, const char *why)
{
    return tr_fail(m->error, TR_ERROR_FORMAT, "SentencePiece model: piece %zu: %s", m->pieces, why);
}

static tr_status fail_damaged(const model *m, const char *what)
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

static tr_status count_piece(model *m, text t, uint64_t type)
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

static tr_status check_unique(model *m, text t, uint64_t type)
{
    const bool reserved = type == TR_SPM_TYPE_UNKNOWN || type == TR_SPM_TYPE_CONTROL || type == TR_SPM_TYPE_BYTE;
    const int32_t number = (int32_t)m->pieces;
    const int32_t first = tr_strmap_add(reserved ? &m->reserved : &m->texts, t.data, t.size, number);
    if (first < 0)
        return tr_fail(m->error, TR_ERROR_MEMORY, "SentencePiece model: out of memory");
    return first == number ? TR_OK : fail_piece(m, "its text is already defined");
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
    tr_status status = count_piece(m, t, type);
    if (status == TR_OK)
        status = check_unique(m, t, type);
    m->pieces++;
    return status;
}

static tr_status check_trainer(model *m, reader r)
{
    while (r.at < r.end) {
        field f;
        if (!read_field(&r, &f))
            return fail_damaged(m, "trainer_spec");
        if ((f.number == TR_SPM_TRAINER_MODEL_TYPE || f.number == TR_SPM_TRAINER_BYTE_FALLBACK) &&
            f.wire != TR_SPM_WIRE_VARINT)
            return fail_damaged(m, "trainer_spec");
        if (f.number == TR_SPM_TRAINER_MODEL_TYPE && (f.value < TR_SPM_UNIGRAM || f.value > TR_SPM_CHAR))
            return tr_fail(m->error, TR_ERROR_UNSUPPORTED, "SentencePiece model: unknown model type %llu",
                           (unsigned long long)f.value);
        if (f.number == TR_SPM_TRAINER_MODEL_TYPE)
            m->unigram = f.value == TR_SPM_UNIGRAM;
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
            return fail_damaged(m, "normalizer_spec");
        if (f.number != TR_SPM_NORMALIZER_CHARSMAP)
            continue;
        seen = true;
        const tr_status status = check_charsmap(f.bytes.at, (size_t)f.value, m->error);
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
        return fail_damaged(m, "a message");
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
    return tr_compare_bytes(a->data, a->size, b->data, b->size);
}

/* Checks that no chain of user-defined pieces, each a prefix of the next, is longer than MAX_NESTED. In sorted order the
 * prefixes of a piece come before it; the stack holds those of the piece just before. */
static tr_status check_nesting(const model *m)
{
    text chain[MAX_NESTED];
    size_t depth = 0;
    if (m->users <= MAX_NESTED)
        return TR_OK;
    qsort(m->user, m->users, sizeof *m->user, compare_texts);
    for (size_t i = 0; i < m->users; i++) {
        const text t = m->user[i];
        while (depth && (chain[depth - 1].size > t.size || memcmp(chain[depth - 1].data, t.data, chain[depth - 1].size)))
            depth--;
        if (depth == MAX_NESTED)
            return tr_fail(m->error, TR_ERROR_FORMAT, "SentencePiece model: more than %d user-defined pieces begin alike",
                           MAX_NESTED);
        chain[depth++] = t;
    }
    return TR_OK;
}

/* Checks that no control piece is a character or another piece's text. All models but Unigram look up the pieces of a text
 * by their text, find a control piece first, and then fail, since it stands for no text. */
static tr_status check_controls(const model *m, const void *data, size_t size)
{
    tr_spm_field f;
    size_t length, number = 0;
    for (size_t at = 0; tr_spm_next(data, size, &at, &f); number += f.number == TR_SPM_MODEL_PIECE) {
        if (f.number != TR_SPM_MODEL_PIECE || f.type != TR_SPM_TYPE_CONTROL)
            continue;
        tr_utf8_decode(f.text, f.text_size, &length);
        if (length == f.text_size || tr_strmap_find(&m->texts, f.text, f.text_size) >= 0)
            return tr_fail(m->error, TR_ERROR_FORMAT, "SentencePiece model: piece %zu: a control piece that text can be",
                           number);
    }
    return TR_OK;
}

static tr_status check_whole(const model *m, const void *data, size_t size)
{
    if (m->unknown != 1)
        return tr_fail(m->error, TR_ERROR_FORMAT, "SentencePiece model: no unknown piece among %zu", m->pieces);
    if (m->byte_pieces != (m->byte_fallback ? 256 : 0))
        return tr_fail(m->error, TR_ERROR_FORMAT, "SentencePiece model: %zu byte pieces where byte fallback is %s",
                       m->byte_pieces, m->byte_fallback ? "on" : "off");
    const tr_status status = check_nesting(m);
    return status == TR_OK && !m->unigram ? check_controls(m, data, size) : status;
}

tr_status tr_spm_check(const void *data, size_t size, tr_error *error)
{
    model m = {.error = error, .unigram = true};
    reader r = {data, (const unsigned char *)data + size};
    tr_status status = TR_OK;
    if (size == 0 || size > largest_file)
        return tr_fail(error, TR_ERROR_FORMAT, "SentencePiece model: a file of %zu bytes cannot be one", size);
    if (!tr_strmap_init(&m.texts, size / EXPECTED) || !tr_strmap_init(&m.reserved, 8))
        status = tr_fail(error, TR_ERROR_MEMORY, "SentencePiece model: out of memory");
    while (status == TR_OK && r.at < r.end) {
        field f;
        status = read_field(&r, &f) ? check_field(&m, &f) : fail_damaged(&m, "a message");
    }
    if (status == TR_OK)
        status = check_whole(&m, data, size);
    tr_strmap_free(&m.texts);
    tr_strmap_free(&m.reserved);
    free(m.user);
    return status;
}

bool tr_spm_next(const void *data, size_t size, size_t *offset, tr_spm_field *found)
{
    const unsigned char *const start = data;
    reader r = {start + *offset, start + size};
    field message = {0}, part = {0};
    if (r.at == r.end || !read_field(&r, &message))
        return false;
    *found = (tr_spm_field){.number = message.number,
                            .data = (const char *)start + *offset,
                            .size = (size_t)(r.at - start) - *offset,
                            .type = TR_SPM_TYPE_NORMAL};
    *offset = (size_t)(r.at - start);
    if (message.number != TR_SPM_MODEL_PIECE)
        return true;
    for (reader piece = message.bytes; piece.at < piece.end && read_field(&piece, &part);)
        if (part.number == TR_SPM_PIECE_TEXT) {
            found->text = (const char *)part.bytes.at;
            found->text_size = (size_t)part.value;
        } else if (part.number == TR_SPM_PIECE_SCORE) {
            found->score = tr_float_of((uint32_t)part.value);
        } else if (part.number == TR_SPM_PIECE_TYPE) {
            found->type = (int)part.value;
        }
    return true;
}
