#define _GNU_SOURCE
#include "serve/dictionary.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/utf8.h"

typedef struct term {
    const char *source, *target; /* in the reader's text */
    size_t line;                 /* 0: it was there before */
} term;

typedef struct reader {
    entries_format format;
    const char *at, *end;
    size_t line;
    tr_buffer text; /* the fields, a NUL after each; its room is for all of them, so that it never moves */
    term *terms;    /* [count] */
    size_t count, capacity;
    const dictionary *made; /* for its languages */
    tr_error *error;
} reader;

static tr_status fail_line(const reader *p, const char *what)
{
    return tr_fail(p->error, TR_ERROR_FORMAT, "entries: line %zu: %s", p->line, what);
}

/* ---------------------------------------------------------------------------------------------------------------- fields */

/* Takes the field at p->at, without white space around it, up to a separator or the end of the line. NULL: a quote does not
 * close. */
static const char *read_field(reader *p, char separator, const char *line_end)
{
    char *const field = p->text.data + p->text.size;
    size_t size = 0;
    bool quoted = separator == ',' && p->at < line_end && *p->at == '"';
    for (p->at += quoted; p->at < line_end; p->at++) {
        if (quoted && *p->at == '"' && (p->at + 1 == line_end || p->at[1] != '"')) {
            quoted = false;
            continue;
        }
        if (!quoted && *p->at == separator)
            break;
        p->at += quoted && *p->at == '"';
        field[size++] = *p->at;
    }
    const size_t begin = tr_skip_space(field, size, 0), end = tr_trim_space(field, begin, size);
    field[end] = 0;
    p->text.size += end + 1;
    return quoted ? NULL : field + begin;
}

/* What is wrong with a term; NULL: nothing. */
static const char *find_fault(const char *s)
{
    const size_t size = strlen(s);
    if (!size || size > DICTIONARY_TERM)
        return size ? "a term is longer than 1024 bytes" : "a term is empty";
    for (size_t at = 0, length; at < size; at += length) {
        const int32_t c = tr_character(s, size, at, &length);
        if (c < 32 || (c >= 127 && c < 160) || tr_is_line_break(c))
            return "a term has a control character";
    }
    return NULL;
}

static tr_status add_term(reader *p, const char *source, const char *target)
{
    if (p->count == p->capacity) {
        const size_t larger = 2 * p->capacity + 64;
        term *const moved = realloc(p->terms, larger * sizeof *moved);
        if (!moved)
            return tr_fail_memory(p->error, "entries");
        p->terms = moved;
        p->capacity = larger;
    }
    p->terms[p->count++] = (term){source, target, p->line};
    return TR_OK;
}

static tr_status read_line(reader *p)
{
    enum { FIELDS = 4 };
    const char separator = p->format == ENTRIES_TSV ? '\t' : ',';
    const char *const newline = memchr(p->at, '\n', (size_t)(p->end - p->at)), *const end = newline ? newline : p->end;
    const char *fields[FIELDS];
    int count = 0;
    for (bool more = true; more; p->at += more) {
        if (count == FIELDS)
            return fail_line(p, "too many fields");
        if (!(fields[count++] = read_field(p, separator, end)))
            return fail_line(p, "a quote does not close");
        more = p->at < end;
    }
    p->at = newline ? newline + 1 : p->end;
    if (count == 1 && !*fields[0])
        return TR_OK;
    if (count != 2 && (count != FIELDS || p->format == ENTRIES_TSV))
        return fail_line(p, p->format == ENTRIES_TSV ? "is not SOURCE TAB TARGET" : "has neither two nor four fields");
    if (count == FIELDS && !dictionary_fits(p->made, fields[2], fields[3]))
        return TR_OK;
    for (int i = 0; i < 2; i++)
        if (find_fault(fields[i]))
            return fail_line(p, find_fault(fields[i]));
    return add_term(p, fields[0], fields[1]);
}

static tr_status read_lines(reader *p, entries_format format, const char *data, size_t size, bool counted)
{
    tr_status status = TR_OK;
    p->format = format;
    p->at = data;
    p->end = data + size;
    for (p->line = counted; status == TR_OK && p->at < p->end; p->line += counted)
        status = read_line(p);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------------- making */

static int compare_terms(const void *a, const void *b)
{
    const term *const p = a, *const q = b;
    int order = strcasecmp(p->source, q->source);
    if (!order)
        order = strcmp(p->source, q->source);
    return order ? order : (p->line > q->line) - (p->line < q->line);
}

/* Sorts the terms; new ones take the place of those that were there before. */
static tr_status sort_terms(reader *p)
{
    size_t kept = 0;
    if (p->count)
        qsort(p->terms, p->count, sizeof *p->terms, compare_terms);
    for (size_t i = 0; i < p->count; i++) {
        if (kept && strcmp(p->terms[kept - 1].source, p->terms[i].source) == 0) {
            p->line = p->terms[i].line;
            if (p->terms[kept - 1].line)
                return fail_line(p, "its source has a line before");
            kept--;
        }
        p->terms[kept++] = p->terms[i];
    }
    p->count = kept;
    return TR_OK;
}

static bool append_term(tr_buffer *to, const char *before, const term *t, const char *after)
{
    return tr_buffer_string(to, before) && tr_buffer_string(to, t->source) && tr_buffer_append(to, "\t", 1) &&
           tr_buffer_string(to, t->target) && tr_buffer_string(to, after);
}

/* Of sources that differ in capitals only, each counts as it is written. The space before a source keeps one that begins
 * with a hash sign from being a comment. */
static bool write_terms(const reader *p, dictionary *d, tr_buffer *lines)
{
    for (size_t i = 0; i < p->count; i++) {
        const term *const t = &p->terms[i];
        const bool cased =
            (i && strcasecmp(t[-1].source, t->source) == 0) || (i + 1 < p->count && strcasecmp(t[1].source, t->source) == 0);
        if (!append_term(&d->tsv, i ? "\n" : "", t, "") || !append_term(lines, " ", t, cased ? "\tcase\n" : "\n"))
            return false;
    }
    return true;
}

/* A glossary's table of starts, and of each term four allocations and the source twice. */
static size_t estimate_bytes(size_t entries, size_t text_size)
{
    return sizeof(dictionary) + 16384 + 192 * entries + 3 * text_size;
}

static tr_status make_glossary(const reader *p, dictionary *d)
{
    tr_buffer lines = {0};
    d->entries = p->count;
    d->bytes = estimate_bytes(d->entries, p->text.size);
    if (d->bytes > DICTIONARIES_BYTES)
        return tr_fail(p->error, TR_ERROR_UNSUPPORTED, "entries: too many");
    tr_status status = write_terms(p, d, &lines) ? TR_OK : tr_fail_memory(p->error, "entries");
    if (status == TR_OK)
        status = tr_glossary_parse("entries", lines.data, lines.size, &d->glossary, p->error);
    tr_buffer_free(&lines);
    return status;
}

static tr_status read_entries(reader *p, entries_format format, const char *entries, size_t size, const dictionary *before,
                              dictionary *d)
{
    const size_t old_size = before ? before->tsv.size : 0,
                 mark = size >= 3 && memcmp(entries, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    if (size > DICTIONARY_BYTES)
        return tr_fail(p->error, TR_ERROR_FORMAT, "entries: more than %d MiB", DICTIONARY_BYTES >> 20);
    if (!tr_utf8_valid(entries, size))
        return tr_fail(p->error, TR_ERROR_FORMAT, "entries: not valid UTF-8");
    if (!tr_buffer_reserve(&p->text, old_size + size + 2))
        return tr_fail_memory(p->error, "entries");
    tr_status status = before ? read_lines(p, ENTRIES_TSV, before->tsv.data, old_size, false) : TR_OK;
    const size_t old_count = p->count;
    if (status == TR_OK)
        status = read_lines(p, format, entries + mark, size - mark, true);
    if (status == TR_OK && p->count == old_count)
        status = tr_fail(p->error, TR_ERROR_FORMAT, "entries: none");
    if (status == TR_OK)
        status = sort_terms(p);
    return status == TR_OK ? make_glossary(p, d) : status;
}

/* The language alone: a glossary for Chinese counts for both of its scripts. */
static bool base_language(const char *any, char base[LANGUAGE])
{
    if (!any || !language_of(any, base))
        return false;
    base[strcspn(base, "-")] = 0;
    return true;
}

tr_status dictionary_read(const char *source, const char *target, entries_format format, const char *entries, size_t size,
                          const dictionary *before, dictionary **made, tr_error *error)
{
    dictionary *const d = calloc(1, sizeof *d);
    reader p = {.made = d, .error = error};
    *made = NULL;
    if (!d)
        return tr_fail_memory(error, "entries");
    d->holders = 1;
    const bool known = base_language(source, d->source);
    tr_status status;
    if (!known || !base_language(target, d->target))
        status = tr_fail(error, TR_ERROR_ARGUMENT, "%s: not a language", known ? "target_lang" : "source_lang");
    else
        status = read_entries(&p, format, entries, size, before, d);
    tr_buffer_free(&p.text);
    free(p.terms);
    if (status == TR_OK)
        *made = d;
    else
        dictionary_release(d);
    return status;
}

tr_status dictionary_open(const char *path, dictionary **made, tr_error *error)
{
    dictionary *const d = calloc(1, sizeof *d);
    *made = NULL;
    if (!d)
        return tr_fail_memory(error, path);
    d->holders = 1;
    const tr_status status = tr_glossary_open(path, &d->glossary, error);
    if (status == TR_OK)
        *made = d;
    else
        dictionary_release(d);
    return status;
}

/* Blank lines and comments take no memory. */
static size_t estimate_terms(const char *terms, size_t size)
{
    size_t lines = 0, text_size = 0;
    for (size_t at = 0, length; at < size; at += length) {
        const char *const line = terms + at, *const newline = memchr(line, '\n', size - at);
        length = newline ? (size_t)(newline - line) + 1 : size - at;
        if (tr_skip_space(line, length, 0) == length || (length >= 2 && memcmp(line, "# ", 2) == 0))
            continue;
        lines++;
        text_size += length;
    }
    return estimate_bytes(lines, text_size);
}

tr_status dictionary_parse(const char *terms, size_t size, size_t *counted, dictionary **made, tr_error *error)
{
    *made = NULL;
    if (size > TERMS_BYTES)
        return tr_fail(error, TR_ERROR_FORMAT, "terms: more than %d KiB", TERMS_BYTES >> 10);
    const size_t bytes = estimate_terms(terms, size);
    if (bytes > DICTIONARIES_BYTES - *counted)
        return tr_fail(error, TR_ERROR_FULL, "terms: other requests have too many at this moment");
    dictionary *const d = calloc(1, sizeof *d);
    if (!d)
        return tr_fail_memory(error, "terms");
    *d = (dictionary){.holders = 1, .bytes = bytes, .counted = counted};
    *counted += bytes;
    const tr_status status = tr_glossary_parse("terms", terms, size, &d->glossary, error);
    if (status == TR_OK)
        *made = d;
    else
        dictionary_release(d);
    return status;
}

dictionary *dictionary_hold(dictionary *d)
{
    d->holders++;
    return d;
}

void dictionary_release(dictionary *d)
{
    if (!d || --d->holders)
        return;
    if (d->counted)
        *d->counted -= d->bytes;
    tr_buffer_free(&d->tsv);
    tr_glossary_free(d->glossary);
    free(d);
}

bool dictionary_fits(const dictionary *d, const char *source, const char *target)
{
    char from[LANGUAGE], to[LANGUAGE];
    return !*d->source || (base_language(source, from) && base_language(target, to) && strcmp(d->source, from) == 0 &&
                           strcmp(d->target, to) == 0);
}
