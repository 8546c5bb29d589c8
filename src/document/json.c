/* JSON (RFC 8259), and JSON lines: values that are strings are units. Files of messages: ARB, and ICU messages.
 *
 * The scanner is our own: it must be strict, with places for messages, and hold nothing but the levels that are open. jsmn
 * takes what is no JSON, and 16 bytes for each token; jansson holds the whole tree, and does not tell places. */
#include "document/formats.h"
#include "document/icu.h"
#include "document/keys.h"

#include <string.h>

enum { MAX_DEPTH = 10000 };

/* Bits of a unit's style. */
enum { ESCAPED = 1 /* what is not ASCII is written as \u escapes */ };

/* Where a value is. */
typedef struct place {
    tr_key_path path;
    bool left;     /* it is not translated: ARB's metadata */
    bool language; /* it may name the document's language */
} place;

/* An object or array that is open. */
typedef struct level {
    place place;
    size_t members;
    bool object;
} level;

typedef struct reader {
    tr_document *d;
    size_t at;
    tr_error *error;
    tr_buffer levels;          /* of level */
    tr_buffer text;            /* a decoded string */
    size_t key_begin, key_end; /* the first key at the root */
    bool language;             /* it names the language */
    uint32_t style;
} reader;

static tr_status fail(reader *r, const char *why)
{
    return tr_document_fail(r->d, r->at, r->error, "%s%s", r->at < r->d->size ? "" : "the document ends here; ", why);
}

/* The byte at `at`; 0 at the end. */
static char current(const reader *r)
{
    return r->at < r->d->size ? r->d->data[r->at] : 0;
}

static void skip_white(reader *r)
{
    while (r->at < r->d->size && strchr(" \t\r\n", r->d->data[r->at]) && r->d->data[r->at])
        r->at++;
}

/* ---------------------------------------------------------------------------------------------------------------- strings
 */

static tr_status scan_escape(reader *r)
{
    r->at++;
    if (current(r) != 'u') {
        if (!current(r) || !strchr("\"\\/bfnrt", current(r)))
            return fail(r, "no escape sequence of JSON");
        r->at++;
        return TR_OK;
    }
    r->at++;
    for (int i = 0; i < 4; i++, r->at++)
        if (tr_hex_digit(current(r)) < 0)
            return fail(r, "expected four hexadecimal digits after \\u");
    return TR_OK;
}

/* Reads a string; *begin, *end: without its quotes. */
static tr_status scan_string(reader *r, size_t *begin, size_t *end)
{
    const char *data = r->d->data;
    bool ascii = true;
    tr_status status = TR_OK;
    *begin = ++r->at;
    while (status == TR_OK && r->at < r->d->size && data[r->at] != '"') {
        if (data[r->at] == '\\') {
            status = scan_escape(r);
            continue;
        }
        if ((unsigned char)data[r->at] < ' ')
            return fail(r, "a control character or line break in a string");
        ascii &= (unsigned char)data[r->at] < 0x80;
        r->at++;
    }
    if (status != TR_OK)
        return status;
    if (r->at >= r->d->size)
        return fail(r, "a string has no end");
    *end = r->at++;
    const size_t valid = ascii ? *end - *begin : tr_utf8_valid_prefix(data + *begin, *end - *begin);
    return valid == *end - *begin ? TR_OK : tr_document_fail(r->d, *begin + valid, r->error, "is not UTF-8");
}

static bool decode_string(const char *text, size_t size, tr_buffer *out)
{
    static const char letters[] = "bfnrt", codes[] = "\b\f\n\r\t";
    bool good = true;
    for (size_t i = 0; i < size && good;) {
        const char *escape = memchr(text + i, '\\', size - i);
        const size_t run = escape ? (size_t)(escape - text) : size;
        good = tr_buffer_append(out, text + i, run - i);
        i = run;
        if (!escape || !good)
            break;
        if (text[i + 1] == 'u') {
            uint32_t code;
            char utf8[4];
            i += tr_read_escape(text + i, size - i, &code);
            good = tr_buffer_append(out, utf8, tr_utf8_encode(code, utf8));
            continue;
        }
        const char *letter = strchr(letters, text[i + 1]);
        good = tr_buffer_append(out, letter ? &codes[letter - letters] : &text[i + 1], 1);
        i += 2;
    }
    return good;
}

static bool decode_json(const tr_document *d, const tr_unit *unit, uint32_t begin, uint32_t end, tr_buffer *text)
{
    (void)unit;
    return decode_string(d->data + begin, end - begin, text);
}

/* White space is cut off around words even if it is escaped: it would be bare after writing, and be cut off then. */
static size_t json_blank(const tr_document *d, uint32_t begin, uint32_t end, bool back)
{
    static const uint32_t sizes[] = {1, 2, 6}; /* a character, \n, \u000a */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= end - begin; i++) {
        const uint32_t size = sizes[i], at = back ? end - size : begin;
        const char *text = d->data + at;
        uint32_t before = at, code = (unsigned char)text[0];
        while (before > begin && d->data[before - 1] == '\\')
            before--;
        if ((at - before) % 2) /* text[0] is part of an escape sequence */
            continue;
        if (size == 2)
            code = text[0] == '\\' && strchr("nrtf", text[1]) ? ' ' : 0;
        if (size == 6 && tr_read_escape(text, size, &code) != size)
            continue;
        if (tr_is_ascii_space((int32_t)code))
            return size;
    }
    return 0;
}

/* Appends what stands for a control character or mark of JSON. */
static bool append_ascii(char c, tr_buffer *out)
{
    static const char codes[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *code = c ? strchr(codes, c) : NULL;
    if (!code)
        return tr_append_escape(out, (unsigned char)c);
    return tr_buffer_append(out, (char[]){'\\', letters[code - codes]}, 2);
}

/* Appends what stands for text in a string. */
static bool append_string(const char *text, size_t size, uint32_t style, tr_buffer *out)
{
    bool good = true;
    for (size_t i = 0, from = 0; i <= size && good;) {
        const unsigned char c = i < size ? (unsigned char)text[i] : 0;
        if (i < size && c >= ' ' && c != '"' && c != '\\' && (c < 0x80 || !(style & ESCAPED))) {
            i++;
            continue;
        }
        size_t length = 1;
        good = tr_buffer_append(out, text + from, i - from);
        if (i < size && c >= 0x80 && good) {
            const int32_t code = tr_utf8_decode(text + i, size - i, &length);
            good = tr_append_escape(out, code < 0 ? 0xFFFD : (uint32_t)code);
        } else if (i < size && good) {
            good = append_ascii(text[i], out);
        }
        i += length;
        from = i;
    }
    return good;
}

static bool encode_json(const tr_document *d, const tr_unit *unit, const char *text, size_t size, tr_buffer *out)
{
    (void)d;
    return append_string(text, size, unit->style, out);
}

/* ----------------------------------------------------------------------------------------------------------------- values
 */

static tr_status scan_number(reader *r)
{
    r->at += current(r) == '-';
    if (!tr_is_ascii_digit(current(r)))
        return fail(r, "expected a digit");
    if (current(r) == '0')
        r->at++;
    else
        while (tr_is_ascii_digit(current(r)))
            r->at++;
    for (const char *part = ".e"; *part; part++) {
        if ((current(r) | 0x20) != (*part | 0x20))
            continue;
        r->at++;
        r->at += *part == 'e' && (current(r) == '+' || current(r) == '-');
        if (!tr_is_ascii_digit(current(r)))
            return fail(r, "expected a digit");
        while (tr_is_ascii_digit(current(r)))
            r->at++;
    }
    return TR_OK;
}

static tr_status read_string(reader *r, const place *p)
{
    size_t begin, end;
    const tr_status status = scan_string(r, &begin, &end);
    if (status != TR_OK || begin == end)
        return status;
    if (p->language && tr_is_source_language(r->d, r->d->data + begin, end - begin))
        return tr_edit_language(r->d, begin, end, append_string, r->style, r->error);
    if (p->left && !p->path.selected)
        return TR_OK;
    tr_buffer_clear(&r->text);
    if (!decode_string(r->d->data + begin, end - begin, &r->text))
        return tr_fail_memory(r->error, r->d->name);
    if (!tr_keys_translate(r->d, &p->path, r->text.data, r->text.size))
        return TR_OK;
    if (tr_icu_is_message(r->d->data + begin, end - begin, true))
        return tr_icu_units(r->d, r->style, begin, end, true, r->error);
    return tr_unit_text(r->d, r->style, begin, end, r->error);
}

static tr_status open_level(reader *r, const place *p)
{
    const level l = {*p, 0, current(r) == '{'};
    if (r->levels.size / sizeof l >= MAX_DEPTH)
        return fail(r, "objects and arrays are nested too deeply");
    r->at++;
    return tr_buffer_append(&r->levels, &l, sizeof l) ? TR_OK : tr_fail_memory(r->error, r->d->name);
}

static tr_status read_value(reader *r, const place *p)
{
    static const char *const words[] = {"true", "false", "null"};
    const char c = current(r);
    if (c == '"')
        return read_string(r, p);
    if (c == '{' || c == '[')
        return open_level(r, p);
    if (c == '-' || tr_is_ascii_digit(c))
        return scan_number(r);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!tr_starts_with(r->d->data + r->at, r->d->size - r->at, words[i]))
            continue;
        r->at += strlen(words[i]);
        return TR_OK;
    }
    return fail(r, "expected a value");
}

/* Reads a key and the colon, and tells where its value is. */
static tr_status read_key(reader *r, const level *l, place *p)
{
    size_t begin, end;
    if (current(r) != '"')
        return fail(r, "expected a key in double quotes");
    tr_status status = scan_string(r, &begin, &end);
    if (status != TR_OK)
        return status;
    skip_white(r);
    if (current(r) != ':')
        return fail(r, "expected ':'");
    r->at++;
    skip_white(r);
    tr_buffer_clear(&r->text);
    if (!tr_buffer_append(&r->text, "", 0) || !decode_string(r->d->data + begin, end - begin, &r->text))
        return tr_fail_memory(r->error, r->d->name);
    const char *key = r->text.data;
    const bool root = r->levels.size == sizeof *l;
    p->path = tr_keys_enter(r->d, &l->place.path, key, r->text.size);
    p->language = root && tr_is_language_key(key, r->text.size);
    p->left |= root && key[0] == '@' && (key[1] == '@' || current(r) == '{');
    if (root && !l->members) {
        r->key_begin = begin;
        r->key_end = end;
        r->language = current(r) == '{' && tr_is_source_language(r->d, key, r->text.size);
    }
    return TR_OK;
}

/* Closes the innermost level. A file of messages has one key at the root, its language. */
static tr_status close_level(reader *r, const level *l)
{
    const bool root = r->levels.size == sizeof *l, language = root && l->object && l->members == 1 && r->language;
    r->at++;
    r->levels.size -= sizeof *l;
    return language ? tr_edit_language(r->d, r->key_begin, r->key_end, append_string, r->style, r->error) : TR_OK;
}

/* Reads the next member of the innermost level, or its end. */
static tr_status read_member(reader *r)
{
    level *l = (level *)(void *)(r->levels.data + r->levels.size) - 1;
    place p = l->place;
    tr_status status = TR_OK;
    skip_white(r);
    if (current(r) == (l->object ? '}' : ']'))
        return close_level(r, l);
    if (l->members) {
        if (current(r) != ',')
            return fail(r, l->object ? "expected ',' or '}'" : "expected ',' or ']'");
        r->at++;
        skip_white(r);
    }
    if (l->object)
        status = read_key(r, l, &p);
    else
        p = (place){tr_keys_enter(r->d, &p.path, NULL, 0), p.left, false};
    l->members++;
    return status == TR_OK ? read_value(r, &p) : status;
}

/* Values follow each other if each has its own line. */
static tr_status read_values(reader *r)
{
    tr_status status;
    do {
        status = read_value(r, &(place){0});
        while (status == TR_OK && r->levels.size)
            status = read_member(r);
        const size_t end = r->at;
        skip_white(r);
        if (status == TR_OK && r->at < r->d->size && !memchr(r->d->data + end, '\n', r->at - end))
            status = fail(r, "the value has ended, but the document goes on");
    } while (status == TR_OK && r->at < r->d->size);
    return status;
}

static tr_status read_json(tr_document *d, tr_error *error)
{
    reader r = {.d = d, .error = error, .style = tr_is_escaped(d) ? ESCAPED : 0};
    tr_status status = tr_keys_check(d, error);
    r.at = tr_document_begin(d);
    skip_white(&r);
    if (status == TR_OK)
        status = read_values(&r);
    tr_buffer_free(&r.levels);
    tr_buffer_free(&r.text);
    return status;
}

const tr_document_format tr_format_json = {
    .read = read_json,
    .decode = decode_json,
    .blank = json_blank,
    .encode = encode_json,
};
