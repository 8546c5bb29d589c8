#include "text/terms.h"

#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/utf8.h"

typedef struct term {
    char *folded;          /* owned: the source in small letters, [size] */
    char *source, *target; /* owned */
    size_t size, target_size;
    size_t line;
    bool case_counts, whole_word;
} term;

struct tr_glossary {
    term *items; /* [count] sorted by folded */
    size_t count, capacity;
    uint64_t key;
    unsigned char starts[1 << 13]; /* bit b: a source begins with the two bytes b (of one byte: with any second) */
};

void tr_terms_free(tr_terms *terms)
{
    if (!terms)
        return;
    for (size_t i = 0; i < terms->count; i++) {
        free(terms->items[i].folded);
        free(terms->items[i].source);
        free(terms->items[i].target);
    }
    free(terms->items);
    free(terms);
}

uint64_t tr_terms_key(const tr_terms *terms)
{
    return terms ? terms->key : 0;
}

/* ------------------------------------------------------------------------------------------------------------- parsing */

static char folded(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

typedef struct parser {
    const char *name;
    const char *at, *end;
    size_t line;
    tr_buffer fields[4];
    int count;
    tr_terms *terms;
    tr_error *error;
} parser;

static tr_status fail_line(const parser *p, const char *what)
{
    return tr_fail(p->error, TR_ERROR_FORMAT, "%.200s:%zu: %s", p->name, p->line, what);
}

static tr_status fail_memory(const parser *p)
{
    return tr_fail_memory(p->error, p->name);
}

/* A field of a CSV line that begins with a double quote. */
static tr_status read_quoted(parser *p, tr_buffer *field)
{
    for (p->at++; p->at < p->end; p->at++) {
        if (*p->at == '"' && p->at + 1 < p->end && p->at[1] == '"')
            p->at++;
        else if (*p->at == '"')
            break;
        else if (*p->at == '\n')
            return fail_line(p, "a quote does not close on its line");
        if (!tr_buffer_append(field, p->at, 1))
            return fail_memory(p);
    }
    if (p->at == p->end)
        return fail_line(p, "a quote does not close");
    p->at++;
    return TR_OK;
}

static void trim(tr_buffer *field)
{
    size_t begin = 0;
    while (field->size && strchr(" \t\r", field->data[field->size - 1]))
        field->size--;
    while (begin < field->size && field->data[begin] == ' ')
        begin++;
    if (begin)
        memmove(field->data, field->data + begin, field->size - begin);
    field->size -= begin;
}

/* Reads the fields of the line at p->at, up to its end. */
static tr_status read_line(parser *p)
{
    const char *newline = memchr(p->at, '\n', (size_t)(p->end - p->at));
    const char *end = newline ? newline : p->end;
    const bool tabs = memchr(p->at, '\t', (size_t)(end - p->at)) != NULL;
    const char separator = tabs ? '\t' : ',';
    for (p->count = 0;; p->count++) {
        if (p->count == 4)
            return fail_line(p, "more than three fields");
        tr_buffer *field = &p->fields[p->count];
        tr_buffer_clear(field);
        while (!tabs && p->at < end && *p->at == ' ')
            p->at++;
        if (!tabs && p->at < end && *p->at == '"') {
            const tr_status status = read_quoted(p, field);
            if (status != TR_OK)
                return status;
            while (p->at < end && (*p->at == ' ' || *p->at == '\r'))
                p->at++;
            if (p->at < end && *p->at != separator)
                return fail_line(p, "text follows a closing quote");
        } else {
            const char *begin = p->at;
            while (p->at < end && *p->at != separator)
                p->at++;
            if (!tr_buffer_append(field, begin, (size_t)(p->at - begin)))
                return fail_memory(p);
            trim(field);
        }
        if (p->at >= end)
            break;
        p->at++;
    }
    p->count++;
    p->at = newline ? newline + 1 : p->end;
    return TR_OK;
}

static tr_status read_flags(parser *p, const tr_buffer *field, term *t)
{
    for (size_t at = 0; at < field->size;) {
        size_t end = at;
        while (end < field->size && !strchr(" ,;", field->data[end]))
            end++;
        const char *word = field->data + at;
        const size_t length = end - at;
        if (length == 4 && memcmp(word, "case", 4) == 0)
            t->case_counts = true;
        else if (length == 6 && memcmp(word, "nocase", 6) == 0)
            t->case_counts = false;
        else if (length == 4 && memcmp(word, "word", 4) == 0)
            t->whole_word = true;
        else if (length == 4 && memcmp(word, "part", 4) == 0)
            t->whole_word = false;
        else if (length)
            return fail_line(p, "a flag is none of case, nocase, word and part");
        at = end + (end < field->size);
    }
    return TR_OK;
}

static tr_status add_term(parser *p, const term *t)
{
    tr_terms *terms = p->terms;
    if (t->size > TR_MAX_TERM)
        return fail_line(p, "the source is longer than 1024 bytes");
    if (terms->count == TR_MAX_TERMS)
        return fail_line(p, "more than a million terms");
    if (terms->count == terms->capacity) {
        const size_t larger = terms->capacity ? terms->capacity * 2 : 64;
        term *moved = realloc(terms->items, larger * sizeof *moved);
        if (!moved)
            return fail_memory(p);
        terms->items = moved;
        terms->capacity = larger;
    }
    term *own = &terms->items[terms->count];
    *own = *t;
    own->source = tr_copy_bytes(t->source, t->size);
    own->target = tr_copy_bytes(t->target, t->target_size);
    own->folded = tr_copy_bytes(t->source, t->size);
    terms->count++;
    if (!own->source || !own->target || !own->folded)
        return fail_memory(p);
    for (size_t i = 0; i < own->size; i++)
        own->folded[i] = folded(own->folded[i]);
    return TR_OK;
}

static tr_status take_line(parser *p)
{
    const tr_buffer *source = &p->fields[0], *target = &p->fields[1];
    if (p->count == 1 && !source->size)
        return TR_OK;
    if (p->count < 2)
        return fail_line(p, "one field; a line is SOURCE TAB TARGET");
    if (p->count > 3)
        return fail_line(p, "more than three fields");
    if (!source->size || !target->size)
        return fail_line(p, source->size ? "the target is empty" : "the source is empty");
    if (!tr_utf8_valid(source->data, source->size) || !tr_utf8_valid(target->data, target->size))
        return fail_line(p, "is not UTF-8 (iconv -f GB18030 -t UTF-8 FILE converts it)");
    term t = {
        .source = source->data, .target = target->data, .size = source->size, .target_size = target->size, .line = p->line};
    t.whole_word = tr_is_ascii_word(source->data[0]) && tr_is_ascii_word(source->data[source->size - 1]);
    for (size_t i = 1; i < source->size; i++)
        t.case_counts |= tr_is_ascii_word(source->data[i - 1]) && source->data[i] >= 'A' && source->data[i] <= 'Z';
    tr_status status = p->count > 2 ? read_flags(p, &p->fields[2], &t) : TR_OK;
    return status == TR_OK ? add_term(p, &t) : status;
}

static int compare_terms(const void *a, const void *b)
{
    const term *p = a, *q = b;
    const int order = tr_compare_bytes(p->folded, p->size, q->folded, q->size);
    if (order)
        return order;
    const int own = memcmp(p->source, q->source, p->size);
    return own ? own : (p->line > q->line) - (p->line < q->line);
}

/* Sorts the terms; of the same one twice the first stays. */
static tr_status sort_terms(parser *p)
{
    tr_terms *terms = p->terms;
    size_t kept = 0;
    if (terms->count)
        qsort(terms->items, terms->count, sizeof *terms->items, compare_terms);
    for (size_t i = 0; i < terms->count; i++) {
        term *t = &terms->items[i], *before = kept ? &terms->items[kept - 1] : NULL;
        const bool same = before && before->size == t->size && memcmp(before->folded, t->folded, t->size) == 0 &&
                          (memcmp(before->source, t->source, t->size) == 0 || (!before->case_counts && !t->case_counts));
        if (same && (before->target_size != t->target_size || memcmp(before->target, t->target, t->target_size) != 0)) {
            const size_t first = before->line < t->line ? before->line : t->line;
            const size_t second = before->line < t->line ? t->line : before->line;
            tr_fail(p->error, TR_ERROR_FORMAT, "%.200s:%zu: '%.*s' has another target in line %zu", p->name, second,
                    (int)(t->size < 60 ? t->size : 60), t->source, first);
            for (size_t k = i; k < terms->count; k++) /* what is not kept yet */
                terms->items[kept++] = terms->items[k];
            terms->count = kept;
            return TR_ERROR_FORMAT;
        }
        if (same) {
            free(t->folded);
            free(t->source);
            free(t->target);
            continue;
        }
        terms->items[kept++] = *t;
    }
    terms->count = kept;
    return TR_OK;
}

static void mark_starts(tr_terms *terms)
{
    for (size_t i = 0; i < terms->count; i++) {
        const unsigned char *s = (const unsigned char *)terms->items[i].folded;
        const unsigned first = s[0];
        for (unsigned second = 0; second < 256; second++)
            if (terms->items[i].size == 1 || s[1] == second) {
                const unsigned bit = first << 8 | second;
                terms->starts[bit >> 3] |= (unsigned char)(1u << (bit & 7));
            }
    }
}

tr_status tr_terms_parse(const char *name, const char *data, size_t size, tr_terms **terms, tr_error *error)
{
    tr_terms *made = *terms = NULL;
    if (size > TR_MAX_GLOSSARY)
        return tr_fail(error, TR_ERROR_FORMAT, "%.200s: more than 16 MiB", name);
    made = calloc(1, sizeof *made);
    if (!made)
        return tr_fail_memory(error, name);
    parser p = {.name = name, .at = data, .end = data + size, .terms = made, .error = error};
    tr_status status = TR_OK;
    made->key = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        made->key = (made->key ^ (unsigned char)data[i]) * UINT64_C(0x100000001b3);
    if (size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
        p.at += 3;
    while (status == TR_OK && p.at < p.end) {
        p.line++;
        if (p.end - p.at >= 2 && p.at[0] == '#' && p.at[1] == ' ') {
            const char *newline = memchr(p.at, '\n', (size_t)(p.end - p.at));
            p.at = newline ? newline + 1 : p.end;
            continue;
        }
        status = read_line(&p);
        if (status == TR_OK)
            status = take_line(&p);
    }
    if (status == TR_OK)
        status = sort_terms(&p);
    for (int i = 0; i < 4; i++)
        tr_buffer_free(&p.fields[i]);
    if (status != TR_OK) {
        tr_terms_free(made);
        return status;
    }
    mark_starts(made);
    *terms = made;
    return TR_OK;
}

/* ------------------------------------------------------------------------------------------------------------ matching */

/* The byte number i of a folded source; -1 after its end. */
static int byte_at(const term *t, size_t i)
{
    return i < t->size ? (unsigned char)t->folded[i] : -1;
}

static bool fits(const term *t, const char *text, size_t size, size_t at)
{
    const size_t end = at + t->size;
    if (t->case_counts && memcmp(t->source, text + at, t->size) != 0)
        return false;
    return !t->whole_word || ((!at || !tr_is_ascii_word(text[at - 1])) && (end == size || !tr_is_ascii_word(text[end])));
}

/* The longest term at text[at]: narrows the sorted terms byte by byte. */
static const term *find_at(const tr_terms *terms, const char *text, size_t size, size_t at)
{
    size_t low = 0, high = terms->count;
    const term *found = NULL;
    for (size_t i = 0; low < high; i++) {
        for (; low < high && terms->items[low].size == i; low++) /* these end here */
            if (fits(&terms->items[low], text, size, at) && (!found || found->size < i || terms->items[low].case_counts))
                found = &terms->items[low];
        if (at + i >= size)
            break;
        const int wanted = (unsigned char)folded(text[at + i]);
        size_t first = low, last = high;
        while (first < last) {
            const size_t middle = first + (last - first) / 2;
            if (byte_at(&terms->items[middle], i) < wanted)
                first = middle + 1;
            else
                last = middle;
        }
        low = first;
        for (last = high; first < last;) {
            const size_t middle = first + (last - first) / 2;
            if (byte_at(&terms->items[middle], i) <= wanted)
                first = middle + 1;
            else
                last = middle;
        }
        high = first;
    }
    return found;
}

bool tr_terms_next(const tr_terms *terms, const char *text, size_t size, size_t at, tr_term_match *match)
{
    for (; at < size; at++) {
        const unsigned first = (unsigned char)folded(text[at]);
        const unsigned bit = first << 8 | (at + 1 < size ? (unsigned char)folded(text[at + 1]) : 0);
        if (!(terms->starts[bit >> 3] >> (bit & 7) & 1))
            continue;
        const term *found = find_at(terms, text, size, at);
        if (!found)
            continue;
        *match = (tr_term_match){at, at + found->size, found->target, found->target_size};
        return true;
    }
    return false;
}

/* -------------------------------------------------------------------------------------------------------------- plurals */

static bool in_list(const char *list, const char *word, size_t size)
{
    for (const char *at = list; *at; at += strcspn(at, " ") + (at[strcspn(at, " ")] != 0)) {
        const size_t length = strcspn(at, " ");
        size_t i = 0;
        while (i < length && i < size && at[i] == folded(word[i]))
            i++;
        if (i == length && i == size)
            return true;
    }
    return false;
}

/* Whether what stands before byte `at` of an English text asks for a plural there: a number other than one, many, these. */
static bool has_count_before(const char *text, size_t at)
{
    static const char words[] =
        "two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred "
        "thousand million billion many several few these those both some all various dozen";
    if (!at || text[at - 1] != ' ')
        return false;
    const size_t end = at - 1;
    size_t begin = end;
    while (begin && text[begin - 1] != ' ')
        begin--;
    const size_t size = end - begin;
    if (size && text[begin] >= '0' && text[begin] <= '9')
        return !(size == 1 && text[begin] == '1') && text[end - 1] != '%' && text[end - 1] >= '0' && text[end - 1] <= '9';
    return in_list(words, text + begin, size);
}

/* Whether what follows byte `at` of an English text, the end of a noun, may go on as the noun does: platform in "language
 * model platform". */
static bool is_followed_by_noun(const char *text, size_t size, size_t at)
{
    static const char others[] =
        "a about after all also and any are as at be because been before being but by can could did do does for from had "
        "has have he her here his how i if in into is it its may might more most must my no not now of on or our out over "
        "she should since so than that the their them then there these they this those through to today tomorrow too "
        "under until up was we were what when where which while who will with without would yesterday you your";
    if (at + 1 >= size || text[at] != ' ' || !tr_is_ascii_letter(text[at + 1]))
        return false;
    size_t end = at + 1;
    while (end < size && tr_is_ascii_letter(text[end]))
        end++;
    return !in_list(others, text + at + 1, end - at - 1);
}

bool tr_wants_plural(const char *text, size_t size, size_t begin, size_t end)
{
    return has_count_before(text, begin) && !is_followed_by_noun(text, size, end);
}

bool tr_append_plural(const char *phrase, size_t size, tr_buffer *out)
{
    static const char same[] = "information equipment software hardware news data advice furniture luggage series species "
                               "people staff money knowledge aircraft spacecraft sheep fish deer homework traffic "
                               "research feedback evidence music",
                      irregular[] = "man men woman women child children foot feet tooth teeth mouse mice person people";
    size_t begin = size;
    while (begin && tr_is_ascii_letter(phrase[begin - 1]))
        begin--;
    const char *word = phrase + begin;
    const size_t length = size - begin;
    const char last = length ? folded(word[length - 1]) : 0, before = length > 1 ? folded(word[length - 2]) : 0;
    for (size_t i = 0; i < size; i++) /* a name */
        if (tr_is_ascii_capital(phrase[i]))
            return tr_buffer_append(out, phrase, size);
    if (length < 2 || in_list(same, word, length) || (length > 3 && memcmp(word + length - 3, "ese", 3) == 0))
        return tr_buffer_append(out, phrase, size);
    for (const char *at = irregular; *at;) {
        const size_t one = strcspn(at, " ");
        const char *many = at + one + 1;
        const size_t length_of_many = strcspn(many, " ");
        if (one == length && memcmp(at, word, length) == 0)
            return tr_buffer_append(out, phrase, begin) && tr_buffer_append(out, many, length_of_many);
        at = many + length_of_many + (many[length_of_many] != 0);
    }
    if (last == 'y' && !strchr("aeiou", before))
        return tr_buffer_append(out, phrase, size - 1) && tr_buffer_string(out, "ies");
    if (last == 'z' && strchr("aeiou", before))
        return tr_buffer_append(out, phrase, size) && tr_buffer_string(out, "zes");
    if ((last == 'x' || last == 'z' || (last == 'h' && (before == 's' || before == 'c')) || (last == 's' && before == 's')))
        return tr_buffer_append(out, phrase, size) && tr_buffer_string(out, "es");
    if (last == 's' || last == 'f' || (last == 'e' && before == 'f')) /* no plain rule */
        return tr_buffer_append(out, phrase, size);
    return tr_buffer_append(out, phrase, size) && tr_buffer_string(out, "s");
}
