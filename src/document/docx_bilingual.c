/* Bilingual documents of Word: above a translated paragraph stands its source, a paragraph of text only. What must be there
 * once, such as notes, bookmarks and section breaks, stays with the translation, and so does the number of a list. A
 * paragraph whose translation is its text stands there once. */
#include "document/runs.h"

#include <string.h>

/* ---------------------------------------------------------------------------------------------------------------- reading
 */

typedef struct copier {
    const tr_document *document; /* the paragraph */
    tr_buffer *out;
    int skipped;                             /* the depth of an element in which nothing is looked at; 0 */
    size_t begin;                            /* of that */
    bool is_whole;                           /* it is copied, with all that is in it */
    size_t head, head_end;                   /* of the run: its tag up to the attributes */
    size_t format, format_end;               /* of the run; equal: it has none */
    bool in_run, is_open, in_text, has_text; /* is_open: the run is written */
} copier;

static bool append(copier *c, size_t begin, size_t end)
{
    return tr_buffer_append(c->out, c->document->data + begin, end - begin);
}

/* A tag as it is, without attributes. */
static bool append_tag(copier *c, const char *before, const tr_xml_event *event)
{
    return tr_buffer_string(c->out, before) && tr_buffer_string(c->out, event->name) && tr_buffer_string(c->out, ">");
}

static bool open_run(copier *c)
{
    if (c->is_open || !c->in_run)
        return true;
    c->is_open = true;
    return append(c, c->head, c->head_end) && tr_buffer_string(c->out, ">") && append(c, c->format, c->format_end);
}

static bool start_element(copier *c, const tr_xml_event *event)
{
    static const char around[] = " p pPr r t hyperlink ins moveTo smartTag customXml sdt sdtContent fldSimple ";
    static const char whole[] = " pStyle jc ind spacing bidi rPr tab br cr ";
    const size_t size = strlen(event->local);
    if (c->skipped)
        return true;
    if (!tr_list_has(around, event->local, size) || (event->depth > 1 && size == 1 && *event->local == 'p')) {
        c->skipped = event->depth;
        c->begin = event->begin;
        c->is_whole = tr_list_has(whole, event->local, size);
        return true;
    }
    if (event->depth == 1 || strcmp(event->local, "pPr") == 0)
        return append_tag(c, "<", event);
    if (strcmp(event->local, "r") == 0)
        *c = (copier){.document = c->document,
                      .out = c->out,
                      .in_run = true,
                      .has_text = c->has_text,
                      .head = event->begin,
                      .head_end = event->begin + 1 + strlen(event->name)};
    c->in_text = c->in_run && strcmp(event->local, "t") == 0 && !event->empty;
    return !c->in_text || (open_run(c) && append(c, event->begin, event->end));
}

/* An element that is copied whole: a format, which waits for text, or something beside text. */
static bool end_whole(copier *c, const tr_xml_event *event)
{
    c->skipped = 0;
    if (!c->is_whole)
        return true;
    if (strcmp(event->local, "rPr") == 0) {
        c->format = c->begin;
        c->format_end = event->end;
        return true;
    }
    /* A break of pages is not copied. */
    const bool is_page = strcmp(event->local, "br") == 0 && memchr(c->document->data + c->begin, ' ', event->end - c->begin);
    return is_page || (open_run(c) && append(c, c->begin, event->end));
}

static bool end_element(copier *c, const tr_xml_event *event)
{
    if (c->skipped)
        return c->skipped != event->depth || end_whole(c, event);
    if (event->depth == 1 || strcmp(event->local, "pPr") == 0)
        return append_tag(c, "</", event);
    if (c->in_text) {
        c->in_text = false;
        return append_tag(c, "</", event);
    }
    if (strcmp(event->local, "r") != 0)
        return true;
    c->in_run = false;
    return !c->is_open || append_tag(c, "</", event);
}

static tr_status copy_event(void *argument, const tr_xml_event *event, tr_error *error)
{
    copier *c = argument;
    bool good = true;
    switch (event->kind) {
    case TR_XML_START: good = start_element(c, event); break;
    case TR_XML_END: good = end_element(c, event); break;
    case TR_XML_TEXT:
    case TR_XML_CDATA:
        c->has_text |= c->in_text;
        good = c->skipped || !c->in_text || append(c, event->begin, event->end);
        break;
    default: break;
    }
    return good ? TR_OK : tr_fail_memory(error, c->document->name);
}

tr_status tr_docx_copy_source(const tr_document *d, size_t begin, size_t end, tr_buffer *out, tr_error *error)
{
    const tr_document paragraph = {.name = d->name, .data = d->data + begin, .size = (uint32_t)(end - begin)};
    copier c = {.document = &paragraph, .out = out};
    tr_buffer_clear(out);
    const tr_status status = tr_xml_read(&paragraph, copy_event, &c, error);
    if (!c.has_text)
        tr_buffer_clear(out);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------------- writing
 */

/* The translations of a part. A source stands above its translation: all of a paragraph must be known before. */
typedef struct translations {
    tr_buffer list; /* of tr_document_translation, whose text is not set */
    tr_buffer text; /* concatenated */
    size_t at;      /* the next one's text */
} translations;

static tr_status next_kept(void *argument, size_t unit, tr_document_translation *translation, tr_error *error)
{
    translations *t = argument;
    (void)error;
    *translation = ((const tr_document_translation *)(const void *)t->list.data)[unit];
    translation->text = t->text.data + t->at;
    t->at += translation->size;
    return TR_OK;
}

/* Gets and keeps the translation of a unit. *differs: it is not the unit's text. */
static tr_status keep_translation(const tr_document *d, const tr_document_source *source, size_t unit, translations *t,
                                  tr_buffer *text, bool *differs, tr_error *error)
{
    tr_document_translation translation;
    tr_status status = source->next(source->argument, unit, &translation, error);
    tr_buffer_clear(text);
    if (status == TR_OK)
        status = tr_document_text(d, unit, text, error);
    if (status != TR_OK)
        return status;
    *differs = translation.size != text->size || memcmp(translation.text, text->data, text->size) != 0;
    const bool good = tr_buffer_append(&t->text, translation.text, translation.size);
    translation.text = NULL;
    return good && tr_buffer_append(&t->list, &translation, sizeof translation) ? TR_OK : tr_fail_memory(error, d->name);
}

/* Whether an edit is the source of the paragraph that begins there: others are in tags. */
static bool is_source(const tr_document *d, const tr_edit *edit)
{
    return edit->begin == edit->end && d->data[edit->begin] == '<';
}

/* Gets all translations, and empties the edits that are the sources of paragraphs where none differs. */
static tr_status keep_translations(const tr_document *d, const tr_document_source *source, translations *t, tr_edit *edits,
                                   tr_error *error)
{
    const tr_unit *units = (const tr_unit *)(const void *)d->units.data;
    const tr_edit *sources = (const tr_edit *)(const void *)d->edits.data;
    const tr_run *runs = (const tr_run *)(const void *)((const tr_runs *)d->state)->runs.data;
    const size_t edit_count = d->edits.size / sizeof *edits;
    size_t next = 0, above = SIZE_MAX; /* the last source before the unit */
    tr_buffer text = {0};
    tr_status status = TR_OK;
    for (size_t i = 0; i < d->units.size / sizeof *units && status == TR_OK; i++) {
        bool differs = false;
        status = keep_translation(d, source, i, t, &text, &differs, error);
        for (; next < edit_count && edits[next].begin <= units[i].begin; next++)
            if (is_source(d, &edits[next])) {
                above = next;
                edits[next].size = 0;
            }
        /* Text in pictures is not in the source. */
        if (differs && above != SIZE_MAX && runs[units[i].style & TR_RUNS_MASK].outer == TR_RUNS_NONE)
            edits[above].size = sources[above].size;
    }
    tr_buffer_free(&text);
    return status;
}

tr_status tr_docx_write(const tr_document *d, const tr_document_source *source, const tr_document_sink *sink,
                        tr_error *error)
{
    tr_document_format format = *d->format;
    tr_document copy = *d;
    translations t = {0};
    format.write = NULL;
    copy.format = &format;
    if (!d->settings.bilingual || !d->edits.size)
        return tr_document_write(&copy, source, sink, error);
    copy.edits = (tr_buffer){0};
    tr_status status = tr_buffer_append(&copy.edits, d->edits.data, d->edits.size) ? TR_OK : tr_fail_memory(error, d->name);
    if (status == TR_OK)
        status = keep_translations(d, source, &t, (tr_edit *)(void *)copy.edits.data, error);
    if (status == TR_OK)
        status = tr_document_write(&copy, &(tr_document_source){next_kept, &t}, sink, error);
    tr_buffer_free(&copy.edits);
    tr_buffer_free(&t.list);
    tr_buffer_free(&t.text);
    return status;
}
