/* Opening documents: the table of formats. */
#include "document/formats.h"

#include <stdlib.h>
#include <string.h>

static const tr_document_format *const formats[] = {
    &tr_format_text,
};
enum { FORMATS = sizeof formats / sizeof *formats, MAX_EXTENSION = 16 };

const char *tr_document_format_name(size_t index)
{
    return index < FORMATS ? formats[index]->name : NULL;
}

static const tr_document_format *format_by_extension(const char *path)
{
    char extension[MAX_EXTENSION] = " ";
    const char *dot = strrchr(path, '.');
    const size_t size = dot && !strchr(dot, '/') ? strlen(dot + 1) : 0;
    if (!size || size > MAX_EXTENSION - 3)
        return NULL;
    for (size_t i = 0; i < size; i++)
        extension[i + 1] = (char)(tr_is_ascii_capital(dot[i + 1]) ? dot[i + 1] | 0x20 : dot[i + 1]);
    extension[size + 1] = ' ';
    for (size_t i = 0; i < FORMATS; i++)
        if (strstr(formats[i]->extensions, extension))
            return formats[i];
    return NULL;
}

const char *tr_document_format_of(const char *path)
{
    const tr_document_format *format = format_by_extension(path);
    return format ? format->name : NULL;
}

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
        d->settings.max_content = 16 << 20;
    const tr_status status = format->read(d, error);
    if (status != TR_OK) {
        tr_document_close(d);
        return status;
    }
    tr_unit_drop(d);
    *document = d;
    return TR_OK;
}

tr_status tr_document_read(const char *name, const char *data, size_t size, const tr_document_settings *settings,
                           tr_document **document, tr_error *error)
{
    const tr_document_format *format = settings->format ? NULL : format_by_extension(name);
    *document = NULL;
    for (size_t i = 0; i < FORMATS && settings->format && !format; i++)
        format = strcmp(formats[i]->name, settings->format) == 0 ? formats[i] : NULL;
    if (!format && settings->format)
        return tr_fail(error, TR_ERROR_ARGUMENT, "format %s: there is none of this name", settings->format);
    if (!format)
        return tr_fail(error, TR_ERROR_ARGUMENT, "%s: the end of the name tells no document format", name);
    return read_as(format, name, data, size, settings, document, error);
}

tr_status tr_member_add(tr_document *d, const tr_document_format *format, const char *name, const char *data, size_t size,
                        tr_document **member, tr_error *error)
{
    tr_status status = read_as(format, name, data, size, &d->settings, member, error);
    if (status != TR_OK)
        return tr_fail_in(error, status, d->name);
    if (tr_buffer_append(&d->members, member, sizeof *member))
        return TR_OK;
    tr_document_close(*member);
    return tr_fail_memory(error, d->name);
}

void tr_document_close(tr_document *d)
{
    if (!d)
        return;
    tr_document **members = (tr_document **)(void *)d->members.data;
    for (size_t i = 0; i < d->members.size / sizeof *members; i++)
        tr_document_close(members[i]);
    if (d->state && d->format->close)
        d->format->close(d->state);
    tr_buffer_free(&d->pieces);
    tr_buffer_free(&d->units);
    tr_buffer_free(&d->edits);
    tr_buffer_free(&d->edited);
    tr_buffer_free(&d->members);
    free(d);
}
