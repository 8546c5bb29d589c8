#include "check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void append(tr_buffer *out, const char *text, size_t size)
{
    assert_true(tr_buffer_append(out, text, size));
}

void check_same(const char *text, size_t size, tr_buffer *out)
{
    append(out, text, size);
}

/* The end of a mark at text[i], or i. */
static size_t mark_end(const char *text, size_t size, size_t i)
{
    size_t k = i + 1 + (text[i] == '<' && i + 1 < size && text[i + 1] == '/');
    if ((text[i] != '<' && text[i] != '{') || k >= size || !tr_is_small_letter(text[k]))
        return i;
    const size_t digits = ++k;
    while (k < size && tr_is_ascii_digit(text[k]))
        k++;
    return k > digits && k < size && text[k] == (text[i] == '<' ? '>' : '}') ? k + 1 : i;
}

void check_upper(const char *text, size_t size, tr_buffer *out)
{
    for (size_t i = 0; i < size;) {
        const size_t end = mark_end(text, size, i);
        if (end > i) {
            append(out, text + i, end - i);
            i = end;
            continue;
        }
        const char c = tr_is_small_letter(text[i]) ? (char)(text[i] & ~0x20) : text[i];
        append(out, &c, 1);
        i++;
    }
}

void check_quoted(const char *text, size_t size, tr_buffer *out)
{
    append(out, "[", 1);
    append(out, text, size);
    append(out, "]", 1);
}

tr_document *check_read(const char *data, size_t size, const tr_document_settings *settings)
{
    tr_document *document;
    tr_error error = {0};
    if (tr_document_read("test", data, size, settings, &document, &error) != TR_OK)
        fail_msg("%s", error.message);
    return document;
}

const char *check_failure(const char *data, size_t size, const tr_document_settings *settings)
{
    static tr_error error;
    tr_document *document;
    error = (tr_error){0};
    if (tr_document_read("test", data, size, settings, &document, &error) == TR_OK)
        tr_document_close(document);
    return error.message;
}

static tr_buffer unit_text(const tr_document *document, size_t unit)
{
    tr_buffer text = {0};
    tr_error error = {0};
    if (tr_document_text(document, unit, &text, &error) != TR_OK)
        fail_msg("%s", error.message);
    append(&text, "", 0);
    return text;
}

static char *list_units(const tr_document *document)
{
    tr_buffer out = {0};
    append(&out, "", 0);
    for (size_t unit = 0; unit < tr_document_count(document); unit++) {
        tr_buffer text = unit_text(document, unit);
        for (size_t i = 0; i < text.size; i++)
            append(&out,
                   text.data[i] == '\n'   ? "\\n"
                   : text.data[i] == '\\' ? "\\\\"
                                          : text.data + i,
                   text.data[i] == '\n' || text.data[i] == '\\' ? 2 : 1);
        append(&out, "\n", 1);
        tr_buffer_free(&text);
    }
    return out.data;
}

char *check_units(const char *data, size_t size, const tr_document_settings *settings)
{
    tr_document *document = check_read(data, size, settings);
    char *units = list_units(document);
    tr_document_close(document);
    return units;
}

/* Translates a unit when it is written. */
typedef struct translating {
    const tr_document *document;
    check_translator translate;
    tr_buffer text;
    size_t next;
} translating;

static tr_status next_translation(void *argument, size_t unit, tr_document_translation *translation, tr_error *error)
{
    translating *t = argument;
    (void)error;
    assert_int_equal(unit, t->next++);
    tr_buffer text = unit_text(t->document, unit);
    tr_buffer_clear(&t->text);
    t->translate(text.data, text.size, &t->text);
    tr_buffer_free(&text);
    *translation = (tr_document_translation){t->text.data, t->text.size, 0};
    return TR_OK;
}

static tr_status keep(void *argument, const void *data, size_t size, tr_error *error)
{
    (void)error;
    append(argument, data, size);
    return TR_OK;
}

static tr_buffer write_document(const tr_document *document, check_translator translate)
{
    tr_buffer out = {0};
    tr_error error = {0};
    translating t = {document, translate, {0}, 0};
    const tr_document_source source = {next_translation, &t};
    const tr_document_sink sink = {keep, &out};
    append(&out, "", 0);
    if (tr_document_write(document, &source, &sink, &error) != TR_OK)
        fail_msg("%s", error.message);
    assert_int_equal(t.next, tr_document_count(document));
    tr_buffer_free(&t.text);
    return out;
}

char *check_written(const char *data, size_t size, const tr_document_settings *settings, check_translator translate,
                    size_t *out_size)
{
    tr_document *document = check_read(data, size, settings);
    tr_buffer out = write_document(document, translate);
    tr_document_close(document);
    if (out_size)
        *out_size = out.size;
    return out.data;
}

void check_document(const char *format, const char *document, const char *units, const char *upper)
{
    const tr_document_settings settings = {.format = format};
    const size_t size = strlen(document);
    char *found = check_units(document, size, &settings);
    if (units)
        assert_string_equal(found, units);
    char *written = check_written(document, size, &settings, check_upper, NULL);
    if (upper)
        assert_string_equal(written, upper);
    free(found);
    free(written);
}

/* The bytes outside all units, with a NUL in place of each unit. */
static tr_buffer outside(const tr_document *document)
{
    const tr_unit *units = (const tr_unit *)document->units.data;
    tr_buffer out = {0};
    uint32_t at = 0;
    for (size_t i = 0; i < document->units.size / sizeof *units; i++) {
        if (units[i].style & TR_UNIT_INSIDE)
            continue;
        append(&out, document->data + at, units[i].begin - at);
        append(&out, "", 1);
        at = units[i].end;
    }
    append(&out, document->data + at, document->size - at);
    return out;
}

static void assert_same_bytes(const tr_buffer *a, const tr_buffer *b)
{
    if (a->size == b->size && memcmp(a->data, b->data, a->size) == 0)
        return;
    size_t i = 0;
    while (i < a->size && i < b->size && a->data[i] == b->data[i])
        i++;
    const size_t from = i > 40 ? i - 40 : 0;
    fail_msg("differ at byte %zu:\n%.80s\n---\n%.80s", i, a->data + from, b->data + from);
}

/* A translation is written as valid UTF-8 without NUL. */
static void clean_unless_same(tr_buffer *translation, const tr_buffer *text)
{
    tr_buffer clean = {0};
    if (translation->size == text->size && memcmp(translation->data, text->data, text->size) == 0)
        return;
    assert_true(tr_utf8_clean(translation->data, translation->size, &clean));
    tr_buffer_free(translation);
    *translation = clean;
}

void check_properties(const char *data, size_t size, const tr_document_settings *settings, check_translator translate)
{
    tr_document_settings anew = *settings;
    anew.rewrite = true;
    tr_document *first = check_read(data, size, &anew);

    tr_buffer same = write_document(first, check_same);
    tr_document *second = check_read(same.data, same.size, settings);
    char *first_units = list_units(first), *second_units = list_units(second);
    assert_string_equal(first_units, second_units);

    tr_buffer translated = write_document(first, translate);
    tr_document *third = check_read(translated.data, translated.size, settings);
    tr_buffer source_outside = outside(first), translated_outside = outside(third);
    assert_same_bytes(&source_outside, &translated_outside);
    assert_int_equal(tr_document_count(first), tr_document_count(third));
    for (size_t i = 0; i < tr_document_count(first); i++) {
        tr_buffer text = unit_text(first, i), expected = {0}, found = unit_text(third, i);
        append(&expected, "", 0);
        translate(text.data, text.size, &expected);
        clean_unless_same(&expected, &text);
        assert_same_bytes(&expected, &found);
        tr_buffer_free(&text);
        tr_buffer_free(&expected);
        tr_buffer_free(&found);
    }
    free(first_units);
    free(second_units);
    tr_buffer_free(&source_outside);
    tr_buffer_free(&translated_outside);
    tr_document_close(first);
    tr_document_close(second);
    tr_document_close(third);
    tr_buffer_free(&same);
    tr_buffer_free(&translated);
}
