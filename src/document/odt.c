/* OpenDocument: texts, presentations, spreadsheets (OASIS OpenDocument 1.3). */
#include "document/formats.h"
#include "document/runs.h"
#include "document/zipped.h"

#include <string.h>

static tr_status change_languages(tr_document *d, const tr_xml_event *start, tr_error *error)
{
    const tr_runs_language target = tr_runs_target(d);
    const char *language = target.is_asian ? "language-asian" : "language";
    const char *country = target.is_asian ? "country-asian" : "country";
    size_t at = start->begin;
    tr_xml_attribute_place attribute;
    tr_status status = TR_OK;
    if (!*target.language || strcmp(start->local, "text-properties") != 0)
        return TR_OK;
    while (status == TR_OK && tr_runs_next_attribute(d, &at, start->end, &attribute)) {
        const bool is_language =
            attribute.name_size == strlen(language) && memcmp(attribute.name, language, attribute.name_size) == 0;
        const bool is_country =
            attribute.name_size == strlen(country) && memcmp(attribute.name, country, attribute.name_size) == 0;
        if (is_language || is_country)
            status = tr_runs_change(d, attribute.begin, attribute.end,
                                    is_language       ? target.language
                                    : *target.country ? target.country
                                                      : "none",
                                    error);
    }
    return status;
}

static const tr_runs_names names = {
    .paragraphs = " p h ",
    .runs = "",
    .formats = "",
    .texts = "",
    .marks = " span a meta meta-field ",
    .insides = "",
    .heads = "",
    .breaks = " tab line-break ",
    .skipped = " tracked-changes annotation ",
    .dropped = " soft-page-break ",
    .space = "",
    .style = TR_UNIT_COLLAPSES,
    .change = change_languages,
};

static tr_status read_part(tr_document *d, tr_error *error)
{
    return tr_runs_read(d, &names, error);
}

static const tr_document_format part = {
    .read = read_part,
    .decode = tr_xml_decode,
    .render = tr_runs_render,
    .close = tr_runs_close,
};

static tr_status read_odt(tr_document *d, tr_error *error)
{
    static const tr_zipped_part parts[] = {
        {"content.xml", &part, "an OpenDocument file"},
        {"styles.xml", &part, NULL},
        {"meta.xml", &tr_format_metadata, NULL},
        {NULL, NULL, NULL},
    };
    return tr_zipped_read(d, parts, error);
}

const tr_document_format tr_format_odt = {
    .read = read_odt,
    .write = tr_zipped_write,
    .close = tr_zipped_close,
};
