/* Office Open XML: documents of Word, PowerPoint and Excel (ECMA-376). */
#include "document/formats.h"
#include "document/runs.h"
#include "document/zipped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/strmap.h"

/* A language becomes the target's; the text of runs is no longer in a font for Chinese because of a hint. */
static tr_status set_language(tr_document *d, const tr_xml_event *start, const char *name, tr_error *error)
{
    const tr_runs_language target = tr_runs_target(d);
    tr_xml_attribute_place value;
    char tag[sizeof target.language + sizeof target.country];
    if (!*target.language || !tr_runs_attribute_of(d, start, name, &value))
        return TR_OK;
    snprintf(tag, sizeof tag, "%s%s%s", target.language, *target.country ? "-" : "", target.country);
    return tr_runs_change(d, value.begin, value.end, tag, error);
}

static tr_status change_word(tr_document *d, const tr_xml_event *start, tr_error *error)
{
    const tr_runs_language target = tr_runs_target(d);
    tr_xml_attribute_place hint;
    if (strcmp(start->local, "lang") == 0)
        return set_language(d, start, target.is_asian ? "eastAsia" : "val", error);
    if (*target.language && !target.is_asian && strcmp(start->local, "rFonts") == 0 &&
        tr_runs_attribute_of(d, start, "hint", &hint))
        return tr_runs_change(d, hint.begin, hint.end, "default", error);
    return TR_OK;
}

static tr_status change_drawing(tr_document *d, const tr_xml_event *start, tr_error *error)
{
    if (strcmp(start->local, "rPr") != 0 && strcmp(start->local, "endParaRPr") != 0)
        return TR_OK;
    return set_language(d, start, "lang", error);
}

static const tr_runs_names word_names = {
    .paragraphs = " p ",
    .runs = " r ",
    .formats = " rPr ",
    .texts = " t ",
    .marks = " hyperlink ins moveTo smartTag customXml sdt fldSimple dir bdo ",
    .insides = " sdtContent ",
    .heads = " sdtPr sdtEndPr smartTagPr customXmlPr fldData ",
    .breaks = " tab ptab br cr ",
    .skipped = " del moveFrom ",
    .dropped = " proofErr lastRenderedPageBreak softHyphen ",
    .space = " xml:space=\"preserve\"",
    .change = change_word,
    .copy = tr_docx_copy_source,
};

/* Text in shapes, charts and diagrams. */
static const tr_runs_names drawing_names = {
    .paragraphs = " p ",
    .runs = " r ",
    .formats = " rPr ",
    .texts = " t ",
    .marks = "",
    .insides = "",
    .heads = "",
    .breaks = " br ",
    .skipped = "",
    .dropped = "",
    .space = "",
    .change = change_drawing,
};

static const tr_runs_names sheet_names = {
    .paragraphs = " si is text ",
    .runs = " r ",
    .formats = " rPr ",
    .texts = " t ",
    .marks = "",
    .insides = "",
    .heads = "",
    .breaks = "",
    .skipped = " rPh ",
    .dropped = "",
    .space = " xml:space=\"preserve\"",
};

static tr_status read_word_part(tr_document *d, tr_error *error)
{
    return tr_runs_read(d, &word_names, error);
}

static tr_status read_drawing(tr_document *d, tr_error *error)
{
    return tr_runs_read(d, &drawing_names, error);
}

static tr_status read_sheet(tr_document *d, tr_error *error)
{
    return tr_runs_read(d, &sheet_names, error);
}

#define RUNS .decode = tr_xml_decode, .render = tr_runs_render, .close = tr_runs_close
static const tr_document_format word_part = {.read = read_word_part, .write = tr_docx_write, RUNS};
static const tr_document_format drawing = {.read = read_drawing, RUNS};
static const tr_document_format sheet = {.read = read_sheet, RUNS};

/* ----------------------------------------------------------------------------------------------------- Word, PowerPoint */

static tr_status read_docx(tr_document *d, tr_error *error)
{
    static const tr_zipped_part parts[] = {
        {"word/document#.xml", &word_part, "a Word document"},
        {"word/footnotes#.xml", &word_part, NULL},
        {"word/endnotes#.xml", &word_part, NULL},
        {"word/header#.xml", &word_part, NULL},
        {"word/footer#.xml", &word_part, NULL},
        {"word/comments#.xml", &word_part, NULL},
        {"word/styles#.xml", &word_part, NULL},
        {"word/charts/chart#.xml", &drawing, NULL},
        {"word/diagrams/data#.xml", &drawing, NULL},
        {"word/diagrams/drawing#.xml", &drawing, NULL},
        {"docProps/core.xml", &tr_format_metadata, NULL},
        {NULL, NULL, NULL},
    };
    return tr_zipped_read(d, parts, error);
}

static tr_status read_pptx(tr_document *d, tr_error *error)
{
    static const tr_zipped_part parts[] = {
        {"ppt/presentation.xml", NULL, "a PowerPoint presentation"},
        {"ppt/slides/slide#.xml", &drawing, NULL},
        {"ppt/notesSlides/notesSlide#.xml", &drawing, NULL},
        {"ppt/charts/chart#.xml", &drawing, NULL},
        {"ppt/diagrams/data#.xml", &drawing, NULL},
        {"ppt/diagrams/drawing#.xml", &drawing, NULL},
        {"docProps/core.xml", &tr_format_metadata, NULL},
        {NULL, NULL, NULL},
    };
    return tr_zipped_read(d, parts, error);
}

/* ---------------------------------------------------------------------------------------------------------------- Excel */

/* Formulas name columns of tables by the text of their header, which a table has as well: these texts stay. The state of
 * such a part is a list of texts, each with a NUL. */

static tr_status add_column(void *argument, const tr_xml_event *event, tr_error *error)
{
    tr_document *d = argument;
    tr_xml_attribute_place name;
    if (event->kind != TR_XML_START || strcmp(event->local, "tableColumn") != 0 ||
        !tr_runs_attribute_of(d, event, "name", &name))
        return TR_OK;
    if (!tr_xml_decode_value(d, name.begin, name.end, d->state) || !tr_buffer_append(d->state, "", 1))
        return tr_fail_memory(error, d->name);
    return TR_OK;
}

static tr_status read_table(tr_document *d, tr_error *error)
{
    d->state = calloc(1, sizeof(tr_buffer));
    return d->state ? tr_xml_read(d, add_column, d, error) : tr_fail_memory(error, d->name);
}

static void close_table(void *state)
{
    tr_buffer_free(state);
    free(state);
}

static const tr_document_format table = {.read = read_table, .close = close_table};

/* The text of a column in a table has _x000a_ in place of a line break. */
static bool add_names(const tr_document *member, tr_strmap *names)
{
    static const char escaped[] = "_x000a_";
    enum { ESCAPED = sizeof escaped - 1 };
    const tr_buffer *list = member->state;
    for (size_t at = 0; at < list->size;) {
        char *name = list->data + at, *to = name;
        at += strlen(name) + 1;
        for (const char *from = name; *from; to++) {
            const bool is_escaped = strncasecmp(from, escaped, ESCAPED) == 0;
            *to = is_escaped ? '\n' : *from;
            from += is_escaped ? ESCAPED : 1;
        }
        const size_t begin = tr_skip_space(name, (size_t)(to - name), 0),
                     end = tr_trim_space(name, begin, (size_t)(to - name));
        if (tr_strmap_add(names, name + begin, end - begin, 0) < 0)
            return false;
    }
    return true;
}

/* Formulas compare cells with texts, and lists of allowed values have texts: cells with these texts stay as well. */
typedef struct formula_reader {
    const tr_document *sheet;
    bool inside;
    tr_buffer formula;
    tr_buffer *texts; /* each with a NUL */
} formula_reader;

/* Appends the texts in quotes; those of a list are divided by commas. */
static bool append_quoted(const tr_buffer *formula, bool list, tr_buffer *texts)
{
    const char *data = formula->data;
    for (size_t at = 0; at < formula->size; at++) {
        if (data[at] != '"')
            continue;
        for (at++; at < formula->size; at++) {
            const bool doubled = data[at] == '"' && at + 1 < formula->size && data[at + 1] == '"';
            if (data[at] == '"' && !doubled)
                break;
            at += doubled;
            if (!tr_buffer_append(texts, list && data[at] == ',' ? "" : data + at, 1))
                return false;
        }
        if (!tr_buffer_append(texts, "", 1))
            return false;
    }
    return true;
}

static tr_status read_formula(void *argument, const tr_xml_event *event, tr_error *error)
{
    formula_reader *r = argument;
    bool good = true;
    if (event->kind == TR_XML_START)
        r->inside = strcmp(event->local, "f") == 0 || strncmp(event->local, "formula", 7) == 0;
    else if (event->kind == TR_XML_TEXT && r->inside)
        good = tr_xml_decode_value(r->sheet, event->begin, event->end, &r->formula);
    else if (event->kind == TR_XML_END && r->inside) {
        good = append_quoted(&r->formula, strcmp(event->local, "formula1") == 0, r->texts);
        tr_buffer_clear(&r->formula);
        r->inside = false;
    }
    return good ? TR_OK : tr_fail_memory(error, r->sheet->name);
}

static tr_status add_formulas(const tr_document *member, tr_buffer *texts, tr_error *error)
{
    formula_reader r = {.sheet = member, .texts = texts};
    const tr_status status = tr_xml_read(member, read_formula, &r, error);
    tr_buffer_free(&r.formula);
    return status;
}

/* Removes the units whose text is one of names. */
static bool remove_named(tr_document *member, const tr_strmap *names)
{
    tr_unit *units = (tr_unit *)(void *)member->units.data;
    const size_t count = member->units.size / sizeof *units;
    tr_buffer text = {0};
    bool good = true;
    size_t kept = 0;
    for (size_t i = 0; i < count && good; i++) {
        const tr_piece *pieces = tr_unit_pieces(member, &units[i]);
        tr_buffer_clear(&text);
        good = tr_buffer_append(&text, "", 0);
        for (uint32_t k = 0; k < units[i].count && good; k++)
            if (pieces[k].kind == TR_PIECE_TEXT)
                good = tr_xml_decode(member, &units[i], pieces[k].begin, pieces[k].end, &text);
        const size_t begin = good ? tr_skip_space(text.data, text.size, 0) : 0;
        if (!good || tr_strmap_find(names, text.data + begin, tr_trim_space(text.data, begin, text.size) - begin) < 0)
            units[kept++] = units[i];
    }
    tr_buffer_free(&text);
    member->units.size = kept * sizeof *units;
    return good;
}

/* Takes away the units that formulas name. */
static tr_status keep_named(tr_document *d, tr_error *error)
{
    const tr_member *members = (const tr_member *)(const void *)d->members.data;
    const size_t count = d->members.size / sizeof *members;
    tr_buffer texts = {0};
    tr_strmap names;
    tr_status status = TR_OK;
    if (!tr_strmap_init(&names, 64))
        return tr_fail_memory(error, d->name);
    for (size_t i = 0; i < count && status == TR_OK; i++)
        if (members[i].document->format == &sheet)
            status = add_formulas(members[i].document, &texts, error);
    bool good = true;
    for (size_t i = 0; i < count && good; i++)
        if (members[i].document->format == &table)
            good = add_names(members[i].document, &names);
    for (size_t at = 0; at < texts.size && good; at += strlen(texts.data + at) + 1) {
        const size_t size = strlen(texts.data + at), begin = tr_skip_space(texts.data + at, size, 0);
        const char *text = texts.data + at + begin;
        good = tr_strmap_add(&names, text, tr_trim_space(text, 0, size - begin), 0) >= 0;
    }
    for (size_t i = 0; i < count && good && names.count; i++)
        if (members[i].document->format == &sheet)
            good = remove_named(members[i].document, &names);
    tr_strmap_free(&names);
    tr_buffer_free(&texts);
    return status == TR_OK && !good ? tr_fail_memory(error, d->name) : status;
}

static tr_status read_xlsx(tr_document *d, tr_error *error)
{
    static const tr_zipped_part parts[] = {
        {"xl/workbook.xml", NULL, "an Excel workbook"},
        {"xl/tables/table#.xml", &table, NULL},
        {"xl/sharedStrings.xml", &sheet, NULL},
        {"xl/worksheets/sheet#.xml", &sheet, NULL},
        {"xl/comments#.xml", &sheet, NULL},
        {"xl/comments/comment#.xml", &sheet, NULL},
        {"xl/drawings/drawing#.xml", &drawing, NULL},
        {"xl/charts/chart#.xml", &drawing, NULL},
        {"docProps/core.xml", &tr_format_metadata, NULL},
        {NULL, NULL, NULL},
    };
    const tr_status status = tr_zipped_read(d, parts, error);
    return status == TR_OK ? keep_named(d, error) : status;
}

#define ZIPPED .write = tr_zipped_write, .close = tr_zipped_close
const tr_document_format tr_format_docx = {.read = read_docx, ZIPPED};
const tr_document_format tr_format_pptx = {.read = read_pptx, ZIPPED};
const tr_document_format tr_format_xlsx = {.read = read_xlsx, ZIPPED};
