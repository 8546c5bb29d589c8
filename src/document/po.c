/* Messages of gettext, PO and POT: msgid is the text, msgstr gets its translation. Entries that have a translation stay as
 * they are, fuzzy ones too, and so do obsolete ones. A translation that is probably wrong makes its entry fuzzy.
 *
 * Of an entry with plural forms, msgstr[0] gets the translation of msgid, and the others that of msgid_plural; where the
 * language has one form only, it is msgid_plural's. The header gets the target language, its plural forms, and UTF-8.
 *
 * While a document is written, its state holds the translation of msgid until that of msgid_plural comes: one thread at a
 * time may write it. */
#include "document/bytes.h"
#include "document/formats.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------------------- strings */

/* The end of an escape sequence at text[at], a backslash; *byte: what it stands for; -1: for itself. */
static size_t read_escape(const char *text, size_t end, size_t at, int *byte)
{
    static const char letters[] = "ntrabfv\"\\", bytes[] = "\n\t\r\a\b\f\v\"\\";
    const char *letter = at + 1 < end && text[at + 1] ? strchr(letters, text[at + 1]) : NULL;
    size_t i = at + 1;
    int number = 0;
    *byte = letter ? (unsigned char)bytes[letter - letters] : -1;
    if (letter)
        return at + 2;
    while (i < end && i < at + 4 && text[i] >= '0' && text[i] <= '7')
        number = number * 8 + (text[i++] - '0');
    if (i > at + 1) {
        *byte = number & 0xff;
        return i;
    }
    if (i >= end || text[i] != 'x')
        return at + 1;
    for (i++; i < end && i < at + 4 && tr_hex_digit(text[i]) >= 0; i++)
        number = number * 16 + tr_hex_digit(text[i]);
    *byte = i > at + 2 ? number : -1;
    return i > at + 2 ? i : at + 1;
}

static bool decode_string(const char *text, size_t begin, size_t end, tr_buffer *out)
{
    while (begin < end) {
        const char *backslash = memchr(text + begin, '\\', end - begin);
        const size_t at = backslash ? (size_t)(backslash - text) : end;
        if (!tr_buffer_append(out, text + begin, at - begin))
            return false;
        if (at == end)
            break;
        int byte;
        begin = read_escape(text, end, at, &byte);
        if (!tr_buffer_append(out, byte < 0 ? "\\" : &(char){(char)byte}, 1))
            return false;
    }
    return true;
}

static bool append_character(char c, tr_buffer *out)
{
    static const char bytes[] = "\n\t\r\a\b\f\v\"\\", letters[] = "ntrabfv\"\\";
    const char *byte = c ? strchr(bytes, c) : NULL;
    if (byte)
        return tr_buffer_append(out, (char[]){'\\', letters[byte - bytes]}, 2);
    if ((unsigned char)c >= 0x20 && c != 0x7f)
        return tr_buffer_append(out, &c, 1);
    return tr_buffer_append(out, (char[]){'\\', (char)('0' + (c >> 6)), (char)('0' + (c >> 3 & 7)), (char)('0' + (c & 7))},
                            4);
}

/* Appends a string with its quotes. A text of several lines is divided after each, as gettext does. */
static bool encode_string(const char *text, size_t size, const char *line_break, tr_buffer *out)
{
    const char *newline = memchr(text, '\n', size);
    const bool lines = newline && newline + 1 < text + size;
    bool good = tr_buffer_string(out, "\"");
    if (lines)
        good = good && tr_buffer_string(out, "\"") && tr_buffer_string(out, line_break) && tr_buffer_string(out, "\"");
    for (size_t i = 0; i < size && good; i++) {
        good = append_character(text[i], out);
        if (text[i] == '\n' && i + 1 < size)
            good = good && tr_buffer_string(out, "\"") && tr_buffer_string(out, line_break) && tr_buffer_string(out, "\"");
    }
    return good && tr_buffer_string(out, "\"");
}

/* -------------------------------------------------------------------------------------------------------------- header */

typedef struct plural_forms {
    const char *languages; /* a space before and after each */
    const char *forms;
} plural_forms;

/* The rules of gettext's plural-table.c and the Unicode CLDR. */
#define SLAVIC(one) "nplurals=3; plural=(" one " ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2);"
static const plural_forms plural_table[] = {
    {" zh ja ko vi th id ms lo km my bo ug yue ", "nplurals=1; plural=0;"},
    {" en de nl sv da nb nn no fy es it pt el fi et hu he bg ca gl eo eu ur hi bn ta te ml mr sw af sq tr az ka kk ky mn uz "
     "ne pa gu kn ",
     "nplurals=2; plural=(n != 1);"},
    {" fr pt-br hy fa am wa ", "nplurals=2; plural=(n > 1);"},
    {" ru uk be sr hr bs ", SLAVIC("n%10==1 && n%100!=11")},
    {" pl ", SLAVIC("n==1")},
    {" cs sk ", "nplurals=3; plural=(n==1 ? 0 : n>=2 && n<=4 ? 1 : 2);"},
    {" lt ", "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<10 || n%100>=20) ? 1 : 2);"},
    {" lv ", "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2);"},
    {" ro ", "nplurals=3; plural=(n==1 ? 0 : n==0 || (n%100>0 && n%100<20) ? 1 : 2);"},
    {" sl ", "nplurals=4; plural=(n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3);"},
    {" ga ", "nplurals=5; plural=(n==1 ? 0 : n==2 ? 1 : n<7 ? 2 : n<11 ? 3 : 4);"},
    {" ar ", "nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5);"},
};

enum { MAX_PLURALS = 6, MAX_LANGUAGE = 32 };

static const char *find_forms(const char *language)
{
    char name[MAX_LANGUAGE] = " ";
    size_t size = strlen(language);
    if (size > MAX_LANGUAGE - 3)
        return NULL;
    for (size_t i = 0; i < size; i++)
        name[i + 1] = (char)(tr_is_ascii_capital(language[i]) ? language[i] | 0x20 : language[i] == '_' ? '-' : language[i]);
    for (;; size--) { /* zh-hant-tw, zh-hant, zh */
        memcpy(name + size + 1, " ", 2);
        for (size_t i = 0; i < sizeof plural_table / sizeof *plural_table; i++)
            if (strstr(plural_table[i].languages, name))
                return plural_table[i].forms;
        while (size && name[size] != '-')
            size--;
        if (!size)
            return NULL;
    }
}

/* Finds the value of "NAME: VALUE\n". Returns false, and the end of the text, if there is none. */
static bool find_field(const tr_buffer *header, const char *name, size_t *begin, size_t *end)
{
    const size_t size = strlen(name);
    for (size_t at = 0; at < header->size; at = *end + 1) {
        const char *newline = memchr(header->data + at, '\n', header->size - at);
        *end = newline ? (size_t)(newline - header->data) : header->size;
        if (*end - at >= size && memcmp(header->data + at, name, size) == 0) {
            *begin = at + size;
            while (*begin < *end && header->data[*begin] == ' ')
                ++*begin;
            return true;
        }
    }
    *begin = *end = header->size;
    return false;
}

/* Sets the value of a field; name: with colon. */
static bool set_field(tr_buffer *header, const char *name, const char *value)
{
    tr_buffer changed = {0};
    size_t begin, end;
    const bool found = find_field(header, name, &begin, &end);
    bool good = tr_buffer_append(&changed, header->data, begin);
    if (!found && begin && header->data[begin - 1] != '\n')
        good = good && tr_buffer_string(&changed, "\n");
    if (!found || header->data[begin - 1] == ':')
        good = good && tr_buffer_string(&changed, found ? "" : name) && tr_buffer_string(&changed, " ");
    good = good && tr_buffer_string(&changed, value) && tr_buffer_string(&changed, found ? "" : "\n") &&
           tr_buffer_append(&changed, header->data + end, header->size - end);
    if (!good) {
        tr_buffer_free(&changed);
        return false;
    }
    tr_buffer_free(header);
    *header = changed;
    return true;
}

/* The number of plural forms that a header tells; 0: none that is right. */
static unsigned count_plurals(const tr_buffer *header)
{
    size_t begin, end;
    if (!find_field(header, "Plural-Forms:", &begin, &end) || end - begin < 10 ||
        memcmp(header->data + begin, "nplurals=", 9) != 0)
        return 0;
    const char digit = header->data[begin + 9];
    return digit >= '1' && digit <= '0' + MAX_PLURALS && header->data[begin + 10] == ';' ? (unsigned)(digit - '0') : 0;
}

/* Gives the header the target language. It keeps plural forms that it has for the language already. */
static bool change_header(const tr_document *d, tr_buffer *header)
{
    const char *target = d->settings.target_language;
    char language[MAX_LANGUAGE];
    size_t begin, end;
    if (!set_field(header, "Content-Type:", "text/plain; charset=UTF-8"))
        return false;
    if (!target || strlen(target) >= MAX_LANGUAGE)
        return true;
    for (size_t i = 0; i <= strlen(target); i++) /* as gettext writes it: pt_BR */
        language[i] = (char)(target[i] == '-' ? '_' : target[i]);
    find_field(header, "Language:", &begin, &end);
    const bool same = end - begin == strlen(language) && memcmp(header->data + begin, language, end - begin) == 0;
    const char *forms = find_forms(target);
    return (same || set_field(header, "Language:", language)) &&
           (!forms || (same && count_plurals(header)) || set_field(header, "Plural-Forms:", forms));
}

/* ------------------------------------------------------------------------------------------------------------- entries */

enum { CONTEXT, ID, PLURAL, TRANSLATION, PARTS }; /* msgctxt, msgid, msgid_plural, all msgstr */

typedef struct span {
    uint32_t begin, end;
} span;

/* What is written of an entry. */
typedef struct po_entry {
    uint32_t strings; /* where its translations begin: the string after msgstr, or msgstr[0] itself */
    uint8_t plurals;  /* number of plural forms; 0: none */
    bool has_flags, fuzzy;
} po_entry;

typedef struct po_state {
    tr_buffer entries;      /* of po_entry: tr_unit.style is an index */
    tr_buffer singular;     /* while a document is written: the translation of msgid, which waits for that of msgid_plural */
    unsigned flags;         /* of this translation */
    uint32_t waiting;       /* the entry that it belongs to */
    unsigned plurals;       /* number of plural forms that the header tells; 0: unknown */
    const char *line_break; /* as the document has it */
} po_state;

typedef struct po_flags {
    size_t end;      /* of the line "#, ..."; 0: there is none */
    size_t previous; /* where lines "#| ..." begin, which msgfmt wants after flags */
    bool fuzzy, has_previous;
} po_flags;

typedef struct po_key {
    const char *text; /* [size] */
    size_t begin;     /* in key_text */
    uint32_t size, at;
} po_key;

typedef struct reader {
    tr_document *document;
    po_state *state;
    size_t at;
    po_flags next; /* of the entry that comes */

    /* The entry that is read. */
    po_flags flags;
    size_t begin, id, end;   /* of its first keyword, of msgid, of its last string */
    size_t strings, plurals; /* po_entry.strings; number of msgstr[] */
    bool has[PARTS];
    size_t ends[PARTS]; /* in spans */
    tr_buffer spans;    /* of span: contents of its strings, part by part */

    tr_buffer keys, key_text; /* of po_key; msgctxt and msgid of all entries */
} reader;

static const span *part_of(const reader *r, unsigned part, size_t *count)
{
    const size_t first = part ? r->ends[part - 1] : 0;
    *count = r->ends[part] - first;
    return (const span *)(const void *)r->spans.data + first;
}

static bool is_space(char c)
{
    return tr_is_ascii_space(c) || c == '\v';
}

static bool is_empty(const reader *r, unsigned part)
{
    size_t count;
    const span *spans = part_of(r, part, &count);
    for (size_t i = 0; i < count; i++)
        if (spans[i].begin < spans[i].end)
            return false;
    return true;
}

static bool is_blank(const reader *r, unsigned part)
{
    size_t count;
    const span *spans = part_of(r, part, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = spans[i].begin; k < spans[i].end; k++)
            if (!is_space(r->document->data[k]))
                return false;
    return true;
}

static bool decode_part(const reader *r, unsigned part, tr_buffer *out)
{
    size_t count;
    const span *spans = part_of(r, part, &count);
    bool good = tr_buffer_append(out, "", 0);
    for (size_t i = 0; i < count && good; i++)
        good = decode_string(r->document->data, spans[i].begin, spans[i].end, out);
    return good;
}

static tr_status add_unit(reader *r, unsigned part, size_t begin, size_t end, tr_error *error)
{
    size_t count;
    const span *spans = part_of(r, part, &count);
    tr_status status = tr_unit_begin(r->document, (uint32_t)(r->state->entries.size / sizeof(po_entry)), error);
    for (size_t i = 0; i < count && status == TR_OK; i++)
        status = tr_unit_piece(r->document, TR_PIECE_TEXT, spans[i].begin, spans[i].end, error);
    if (status == TR_OK)
        tr_unit_end_at(r->document, begin, end);
    return status;
}

/* The units of an entry without translation. The first of two has an empty place: its translation waits for the second. */
static tr_status add_units(reader *r, tr_error *error)
{
    const size_t plurals = !r->has[PLURAL] ? 0 : r->state->plurals ? r->state->plurals : r->plurals;
    const po_entry entry = {(uint32_t)r->strings, (uint8_t)plurals, r->flags.end != 0, r->flags.fuzzy};
    const size_t begin = r->flags.end ? r->flags.end : r->flags.has_previous ? r->flags.previous : r->begin;
    const bool id = !is_blank(r, ID), plural = plurals && !is_blank(r, PLURAL);
    tr_status status = TR_OK;
    if (id && plural && plurals > 1)
        status = add_unit(r, ID, begin, begin, error);
    if (status == TR_OK && (id || plural))
        status = add_unit(r, plural ? PLURAL : ID, begin, r->end, error);
    if (status == TR_OK && !tr_buffer_append(&r->state->entries, &entry, sizeof entry))
        return tr_fail_memory(error, r->document->name);
    return status;
}

static tr_status add_header(reader *r, tr_error *error)
{
    tr_document *d = r->document;
    tr_buffer header = {0}, before = {0}, written = {0};
    bool good = decode_part(r, TRANSLATION, &header) && tr_buffer_append(&before, header.data, header.size) &&
                change_header(d, &header) && encode_string(header.data, header.size, r->state->line_break, &written);
    tr_status status = good ? TR_OK : tr_fail_memory(error, d->name);
    if (good && (before.size != header.size || memcmp(before.data, header.data, header.size) != 0))
        status = tr_edit_add(d, r->strings, r->end, written.data, written.size, error);
    if (good)
        r->state->plurals = count_plurals(&header);
    tr_buffer_free(&header);
    tr_buffer_free(&before);
    tr_buffer_free(&written);
    return status;
}

static tr_status add_key(reader *r, tr_error *error)
{
    po_key key = {.begin = r->key_text.size, .at = (uint32_t)r->id};
    if ((r->has[CONTEXT] && !(decode_part(r, CONTEXT, &r->key_text) && tr_buffer_string(&r->key_text, "\4"))) ||
        !decode_part(r, ID, &r->key_text))
        return tr_fail_memory(error, r->document->name);
    key.size = (uint32_t)(r->key_text.size - key.begin);
    return tr_buffer_append(&r->keys, &key, sizeof key) ? TR_OK : tr_fail_memory(error, r->document->name);
}

static tr_status end_entry(reader *r, tr_error *error)
{
    const tr_document *d = r->document;
    if (!r->has[CONTEXT] && !r->has[ID])
        return TR_OK;
    if (!r->has[ID])
        return tr_document_fail(d, r->begin, error, "msgctxt has no msgid");
    if (!r->has[TRANSLATION])
        return tr_document_fail(d, r->id, error, "msgid has no msgstr");
    tr_status status = add_key(r, error);
    if (status == TR_OK && is_empty(r, ID) && !r->has[CONTEXT] && !r->has[PLURAL])
        status = add_header(r, error);
    else if (status == TR_OK && (is_empty(r, TRANSLATION) || d->settings.rewrite))
        status = add_units(r, error);
    memset(r->has, 0, sizeof r->has);
    memset(r->ends, 0, sizeof r->ends);
    tr_buffer_clear(&r->spans);
    return status;
}

/* -------------------------------------------------------------------------------------------------------------- parser */

/* A comment, whose # is at r->at. Flags are for the entry that follows, unless that is an obsolete one. */
static void read_comment(reader *r)
{
    const tr_document *d = r->document;
    const char *newline = memchr(d->data + r->at, '\n', d->size - r->at);
    size_t end = newline ? (size_t)(newline - d->data) : d->size;
    const char kind = r->at + 1 < end ? d->data[r->at + 1] : 0;
    const size_t begin = r->at;
    r->at = end;
    end -= end > begin && d->data[end - 1] == '\r';
    if (kind == '~')
        r->next = (po_flags){0};
    if (kind == '|' && !r->next.has_previous) {
        r->next.previous = begin;
        r->next.has_previous = true;
    }
    if (kind != ',')
        return;
    r->next.end = end;
    for (size_t i = begin; i + 5 <= end; i++)
        if (memcmp(d->data + i, "fuzzy", 5) == 0 && (i + 5 == end || !tr_is_identifier(d->data[i + 5])))
            r->next.fuzzy = true;
}

static void skip_space(reader *r)
{
    const tr_document *d = r->document;
    while (r->at < d->size && is_space(d->data[r->at]))
        r->at++;
}

/* One string or more, of a part. */
static tr_status read_strings(reader *r, unsigned part, tr_error *error)
{
    const tr_document *d = r->document;
    skip_space(r);
    if (part == TRANSLATION && !r->has[PLURAL])
        r->strings = r->at;
    if (r->at >= d->size || d->data[r->at] != '"')
        return tr_document_fail(d, r->at, error, "a string in quotes is expected");
    while (r->at < d->size && d->data[r->at] == '"') {
        size_t end = r->at + 1;
        while (end < d->size && d->data[end] != '"' && d->data[end] != '\n')
            end += 1 + (d->data[end] == '\\' && end + 1 < d->size && d->data[end + 1] != '\n');
        if (end >= d->size || d->data[end] != '"')
            return tr_document_fail(d, r->at, error, "the string is not closed");
        const span content = {(uint32_t)(r->at + 1), (uint32_t)end};
        if (!tr_buffer_append(&r->spans, &content, sizeof content))
            return tr_fail_memory(error, d->name);
        r->at = r->end = end + 1;
        skip_space(r);
    }
    r->has[part] = true;
    for (unsigned i = part; i < PARTS; i++)
        r->ends[i] = r->spans.size / sizeof(span);
    return TR_OK;
}

/* Reads the number of msgstr[0], if it has one. */
static tr_status read_index(reader *r, size_t begin, tr_error *error)
{
    const tr_document *d = r->document;
    const bool indexed = r->at < d->size && d->data[r->at] == '[';
    if (indexed != r->has[PLURAL] || !r->has[ID] || (!indexed && r->has[TRANSLATION]))
        return tr_document_fail(d, begin, error, "%s",
                                !r->has[ID]      ? "msgstr has no msgid"
                                : indexed        ? "msgstr[] has no msgid_plural"
                                : r->has[PLURAL] ? "msgid_plural wants msgstr[0]"
                                                 : "msgid has two msgstr");
    if (!indexed)
        return TR_OK;
    if (!r->has[TRANSLATION])
        r->strings = begin;
    if (r->at + 2 >= d->size || d->data[r->at + 1] != (char)('0' + r->plurals) || d->data[r->at + 2] != ']' ||
        r->plurals >= MAX_PLURALS)
        return tr_document_fail(d, begin, error, "msgstr[%zu] is expected", r->plurals);
    r->at += 3;
    r->plurals++;
    return TR_OK;
}

static tr_status read_part(reader *r, tr_error *error)
{
    static const char *const keywords[] = {"msgctxt", "msgid", "msgid_plural", "msgstr"};
    const tr_document *d = r->document;
    const size_t begin = r->at;
    unsigned part = 0;
    while (r->at < d->size && tr_is_identifier(d->data[r->at]))
        r->at++;
    while (part < PARTS &&
           (strlen(keywords[part]) != r->at - begin || memcmp(keywords[part], d->data + begin, r->at - begin)))
        part++;
    if (part == PARTS)
        return tr_document_fail(d, begin, error, "msgid, msgstr or a comment is expected");
    tr_status status = TR_OK;
    if (part == CONTEXT || (part == ID && (r->has[ID] || !r->has[CONTEXT]))) {
        status = end_entry(r, error);
        r->begin = begin;
        r->flags = r->next;
        r->plurals = 0;
    }
    r->next = (po_flags){0};
    if (part == ID)
        r->id = begin;
    if (status == TR_OK && part == PLURAL && (!r->has[ID] || r->has[PLURAL] || r->has[TRANSLATION]))
        status = tr_document_fail(d, begin, error, "msgid_plural does not follow msgid");
    if (status == TR_OK && part == TRANSLATION)
        status = read_index(r, begin, error);
    return status == TR_OK ? read_strings(r, part, error) : status;
}

static int compare_keys(const void *a, const void *b)
{
    const po_key *x = a, *y = b;
    const int order = x->size != y->size ? (x->size < y->size ? -1 : 1) : memcmp(x->text, y->text, x->size);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* Fails at the first entry that has the key of one before it. */
static tr_status check_keys(reader *r, tr_error *error)
{
    po_key *keys = (po_key *)(void *)r->keys.data;
    const size_t count = r->keys.size / sizeof *keys;
    uint32_t first = UINT32_MAX;
    for (size_t i = 0; i < count; i++)
        keys[i].text = r->key_text.data + keys[i].begin;
    if (count)
        qsort(keys, count, sizeof *keys, compare_keys);
    for (size_t i = 1; i < count; i++)
        if (keys[i].size == keys[i - 1].size && memcmp(keys[i].text, keys[i - 1].text, keys[i].size) == 0 &&
            keys[i].at < first)
            first = keys[i].at;
    return first == UINT32_MAX ? TR_OK
                               : tr_document_fail(r->document, first, error, "an entry before this one has the same msgid");
}

static tr_status read_entries(reader *r, tr_error *error)
{
    const tr_document *d = r->document;
    tr_status status = TR_OK;
    r->at = tr_document_begin(d);
    for (skip_space(r); r->at < d->size && status == TR_OK; skip_space(r)) {
        if (d->data[r->at] == '#')
            read_comment(r);
        else
            status = read_part(r, error);
    }
    if (status == TR_OK)
        status = end_entry(r, error);
    return status == TR_OK ? check_keys(r, error) : status;
}

static tr_status read_po(tr_document *d, tr_error *error)
{
    po_state *state = calloc(1, sizeof *state);
    reader r = {.document = d, .state = state};
    d->state = state;
    if (!state)
        return tr_fail_memory(error, d->name);
    state->line_break = tr_line_break(d, 0);
    const tr_status status = read_entries(&r, error);
    tr_buffer_free(&r.spans);
    tr_buffer_free(&r.keys);
    tr_buffer_free(&r.key_text);
    return status;
}

static void close_po(void *state)
{
    po_state *s = state;
    tr_buffer_free(&s->entries);
    tr_buffer_free(&s->singular);
    free(s);
}

/* ------------------------------------------------------------------------------------------------------------- writing */

static bool decode_text(const tr_document *d, const tr_unit *unit, uint32_t begin, uint32_t end, tr_buffer *text)
{
    (void)unit;
    return decode_string(d->data, begin, end, text);
}

/* Appends a translation that begins and ends with a line break if, and only if, the source does, as msgfmt wants it. */
static bool append_agreeing(const tr_rendering *r, tr_buffer *out)
{
    const char *text = r->translation.text;
    size_t begin = 0, end = r->translation.size;
    const bool first = r->size && r->text[0] == '\n', last = r->size && r->text[r->size - 1] == '\n';
    if (first == (end && text[0] == '\n') && last == (end && text[end - 1] == '\n'))
        return tr_buffer_append(out, text, end);
    while (begin < end && text[begin] == '\n')
        begin++;
    while (begin < end && text[end - 1] == '\n')
        end--;
    if (begin == end)
        return tr_buffer_append(out, "", 0);
    return tr_buffer_string(out, first ? "\n" : "") && tr_buffer_append(out, text + begin, end - begin) &&
           tr_buffer_string(out, last ? "\n" : "");
}

static bool render_plurals(const po_state *s, const po_entry *entry, const tr_buffer *text, tr_buffer *out)
{
    bool good = true;
    for (unsigned i = 0; i < entry->plurals && good; i++) {
        const tr_buffer *form = !i && s->singular.size ? &s->singular : text;
        const char keyword[] = {'m', 's', 'g', 's', 't', 'r', '[', (char)('0' + i), ']', ' '};
        good = tr_buffer_string(out, i ? s->line_break : "") && tr_buffer_append(out, keyword, sizeof keyword) &&
               encode_string(form->data, form->size, s->line_break, out);
    }
    return good;
}

static bool render_entry(const tr_document *d, const tr_rendering *r, tr_buffer *text, tr_buffer *out)
{
    po_state *s = d->state;
    const tr_unit *unit = r->unit;
    const po_entry *entry = (const po_entry *)(const void *)s->entries.data + unit->style;
    if (unit->begin == unit->end) {
        tr_buffer_clear(&s->singular);
        s->flags = r->translation.flags;
        s->waiting = unit->style;
        return append_agreeing(r, &s->singular);
    }
    if (s->waiting != unit->style) {
        tr_buffer_clear(&s->singular);
        s->flags = 0;
    }
    if (!append_agreeing(r, text))
        return false;
    const bool doubtful = (r->translation.flags | s->flags) & TR_FLAG_DOUBTFUL;
    bool good = true;
    if (doubtful && !entry->fuzzy)
        good = tr_buffer_string(out, entry->has_flags ? ", fuzzy" : "#, fuzzy") &&
               tr_buffer_string(out, entry->has_flags ? "" : s->line_break);
    good = good && tr_buffer_append(out, d->data + unit->begin, entry->strings - unit->begin);
    good = good && (entry->plurals ? render_plurals(s, entry, text, out)
                                   : encode_string(text->data, text->size, s->line_break, out));
    tr_buffer_clear(&s->singular);
    s->flags = 0;
    return good;
}

static tr_status render_po(const tr_document *d, const tr_rendering *rendering, tr_buffer *out, tr_error *error)
{
    tr_buffer text = {0};
    const bool good = render_entry(d, rendering, &text, out);
    tr_buffer_free(&text);
    return good ? TR_OK : tr_fail_memory(error, d->name);
}

const tr_document_format tr_format_po = {
    .read = read_po,
    .decode = decode_text,
    .render = render_po,
    .close = close_po,
};
