/* What Dublin Core says about a document: title, subject, description and language, in office formats and e-books. */
#include "document/formats.h"
#include "document/runs.h"

#include <string.h>

static tr_status change_language(tr_document *d, const tr_xml_event *start, tr_error *error)
{
    const char *target = d->settings.target_language;
    if (!target || strcmp(start->local, "language") != 0 || start->empty)
        return TR_OK;
    const char *end = memchr(d->data + start->end, '<', d->size - start->end);
    tr_buffer text = {0};
    tr_status status = TR_OK;
    if (!tr_xml_encode_value(target, strlen(target), &text) || !tr_buffer_append(&text, "", 0))
        status = tr_fail_memory(error, d->name);
    else if (end)
        status = tr_runs_change(d, start->end, (size_t)(end - d->data), text.data, error);
    tr_buffer_free(&text);
    return status;
}

static const tr_runs_names names = {
    .paragraphs = " title subject description ",
    .runs = "",
    .formats = "",
    .texts = "",
    .marks = "",
    .insides = "",
    .heads = "",
    .breaks = "",
    .skipped = "",
    .dropped = "",
    .space = "",
    .style = TR_UNIT_COLLAPSES,
    .change = change_language,
};

static tr_status read_metadata(tr_document *d, tr_error *error)
{
    return tr_runs_read(d, &names, error);
}

const tr_document_format tr_format_metadata = {
    .read = read_metadata,
    .decode = tr_xml_decode,
    .render = tr_runs_render,
    .close = tr_runs_close,
};
