/* Reading documents: the table of formats, and the module's table of functions. */
#include "document/formats.h"
#include "document/module.h"

#include <stdlib.h>
#include <string.h>

#define FORMAT(name, extensions, traits) {#name, &tr_format_##name},
static const struct {
    const char *name;
    const tr_document_format *format;
} formats[] = {TR_DOCUMENT_FORMATS(FORMAT)};
enum { FORMATS = sizeof formats / sizeof *formats };

static tr_status read_as(const tr_document_format *format, const char *name, const char *data, size_t size,
                         const tr_document_settings *settings, tr_document **document, tr_error *error)
{
    *document = NULL;
    if (size >= UINT32_MAX)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "%s: %zu bytes; a document has fewer than 4 GiB", name, size);
    tr_document *d = calloc(1, sizeof *d);
    if (!d)
        return tr_fail_memory(error, name);
    *d = (tr_document){.format = format, .name = name, .data = data, .size = (uint32_t)size, .settings = *settings};
    if (!d->settings.max_content)
        d->settings.max_content = TR_DOCUMENT_CONTENT;
    tr_status status = format->read(d, error);
    if (status == TR_OK)
        status = tr_document_check_text(d, d->text_size, error);
    if (status != TR_OK) {
        tr_document_close(d);
        return status;
    }
    tr_unit_drop(d);
    tr_units_sort(d);
    tr_member *members = (tr_member *)(void *)d->members.data;
    for (size_t i = 0; i < d->members.size / sizeof *members; i++) {
        members[i].first = d->member_units;
        d->member_units += tr_document_count(members[i].document);
    }
    *document = d;
    return TR_OK;
}

tr_status tr_document_read(const char *name, const char *data, size_t size, const tr_document_settings *settings,
                           tr_document **document, tr_error *error)
{
    const char *format = settings->format ? settings->format : tr_document_find_format(name), *pairs = settings->pairs;
    *document = NULL;
    if (pairs && strcmp(pairs, "tsv") != 0 && strcmp(pairs, "tmx") != 0)
        return tr_fail(error, TR_ERROR_ARGUMENT, "pairs %s: is neither tsv nor tmx", pairs);
    for (size_t i = 0; i < FORMATS && format; i++)
        if (strcmp(formats[i].name, format) == 0)
            return read_as(formats[i].format, name, data, size, settings, document, error);
    if (format)
        return tr_fail(error, TR_ERROR_ARGUMENT, "format %s: there is none of this name", format);
    return tr_fail(error, TR_ERROR_ARGUMENT, "%s: the end of the name tells no document format", name);
}

tr_status tr_member_add(tr_document *d, const tr_document_format *format, const char *name, const char *data, size_t size,
                        tr_document **member, tr_error *error)
{
    tr_status status = read_as(format, name, data, size, &d->settings, member, error);
    if (status != TR_OK)
        return tr_fail_in(error, status, d->name);
    const tr_member own = {*member, 0};
    d->text_size += (*member)->text_size;
    status = tr_document_check_text(d, d->text_size, error);
    if (status != TR_OK) {
        tr_document_close(*member);
        return status;
    }
    if (tr_buffer_append(&d->members, &own, sizeof own))
        return TR_OK;
    tr_document_close(*member);
    return tr_fail_memory(error, d->name);
}

void tr_document_close(tr_document *d)
{
    if (!d)
        return;
    const tr_member *members = (const tr_member *)(const void *)d->members.data;
    for (size_t i = 0; i < d->members.size / sizeof *members; i++)
        tr_document_close(members[i].document);
    if (d->state && d->format->close)
        d->format->close(d->state);
    tr_buffer_free(&d->pieces);
    tr_buffer_free(&d->units);
    tr_buffer_free(&d->edits);
    tr_buffer_free(&d->edited);
    tr_buffer_free(&d->members);
    free(d);
}

TR_API const tr_document_module tr_document_functions = {
    .version = TR_BUILD,
    .layout = TR_DOCUMENT_LAYOUT,
    .read = tr_document_read,
    .close = tr_document_close,
    .count = tr_document_count,
    .text = tr_document_text,
    .write = tr_document_write,
};
