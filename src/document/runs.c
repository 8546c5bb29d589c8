/* Reading paragraphs of runs: the events of a paragraph become items, and these units (runs_units.c). */
#include "document/runs_reader.h"

#include <stdlib.h>
#include <string.h>

/* What an open element is. */
typedef enum frame_kind {
    OTHER, /* not in a paragraph, or in a picture */
    PARAGRAPH,
    MARK,
    INSIDE,
    HEAD,
    RUN,
    FORMAT,
    FORMAT_PART,
    TEXT,
    ATOM,    /* an empty mark, in which there may be paragraphs */
    SKIPPED, /* an empty mark, in which nothing matters */
    BREAK,
    NOTHING,
} frame_kind;

typedef struct frame {
    frame_kind kind;
    uint32_t begin;
    uint32_t close;      /* MARK: where the end of its inside begins; 0: it has none */
    uint32_t run, outer; /* PARAGRAPH: the reader's before it */
    size_t first;        /* PARAGRAPH: the reader's before it; RUN: its first item */
    size_t units;        /* PARAGRAPH: bytes of those before it */
    size_t paragraphs;   /* ATOM: the number of paragraphs before it */
    uint8_t field;       /* ATOM */
} frame;

static frame *top_frame(const tr_runs_reader *r)
{
    return r->frames.size ? (frame *)(void *)(r->frames.data + r->frames.size) - 1 : NULL;
}

static bool is_named(const char *names, const char *local)
{
    return tr_list_has(names, local, strlen(local));
}

tr_status tr_runs_change(tr_document *d, size_t begin, size_t end, const char *text, tr_error *error)
{
    tr_runs *state = d->state;
    const tr_edit edit = {(uint32_t)begin, (uint32_t)end, state->changed.size, strlen(text)};
    if (!tr_buffer_string(&state->changed, text) || !tr_buffer_append(&state->changes, &edit, sizeof edit))
        return tr_fail_memory(error, d->name);
    return TR_OK;
}

/* --------------------------------------------------------------------------------------------------------------- formats */

/* Adds to the key what of a tag in a format matters for how text looks. */
static tr_status add_key(tr_runs_reader *r, const tr_xml_event *start, bool is_root, tr_error *error)
{
    static const char ignored[] = " hint lang altLang dirty err noProof smtClean ";
    size_t at = start->begin, count = 0;
    tr_xml_attribute_place attribute;
    if (is_root) {
        tr_buffer_clear(&r->key);
        r->format_depth = start->depth;
    }
    const size_t before = r->key.size;
    const char depth = (char)(start->depth - r->format_depth);
    bool good = is_root ? tr_buffer_append(&r->key, "", 0)
                        : tr_buffer_append(&r->key, &depth, 1) && tr_buffer_string(&r->key, start->local);
    while (good && tr_runs_next_attribute(r->document, &at, start->end, &attribute)) {
        if (tr_list_has(ignored, attribute.name, attribute.name_size))
            continue;
        count++;
        good = tr_buffer_string(&r->key, " ") && tr_buffer_append(&r->key, attribute.name, attribute.name_size) &&
               tr_buffer_string(&r->key, "=") &&
               tr_buffer_append(&r->key, r->document->data + attribute.begin, attribute.end - attribute.begin);
    }
    /* Fonts of which only the hint differs are the same. */
    if (!count && strcmp(start->local, "rFonts") == 0)
        r->key.size = before;
    return good ? TR_OK : tr_runs_no_memory(r, error);
}

/* The number of the format with this key; TR_RUNS_NONE: out of memory. */
static uint32_t number_format(tr_runs_reader *r, const char *key, size_t size)
{
    const int32_t known = tr_strmap_find(&r->formats, key, size);
    if (known >= 0)
        return (uint32_t)known;
    const size_t count = r->keys.size / sizeof(char *);
    char *copy = tr_copy_bytes(key, size);
    if (!copy)
        return TR_RUNS_NONE;
    if (!tr_buffer_append(&r->keys, &copy, sizeof copy)) {
        free(copy);
        return TR_RUNS_NONE;
    }
    const uint64_t weight = 0;
    if (tr_strmap_add(&r->formats, copy, size, (int32_t)count) < 0 || !tr_buffer_append(&r->weights, &weight, sizeof weight))
        return TR_RUNS_NONE;
    return (uint32_t)count;
}

static tr_status end_format(tr_runs_reader *r, const tr_xml_event *event, tr_error *error)
{
    size_t count;
    const tr_runs_item *items = tr_runs_items(r, &count);
    tr_run *run = tr_runs_at(r, r->run);
    if (count && items[count - 1].run == r->run)
        return TR_OK; /* in the wrong place: the format begins a run */
    run->head_end = (uint32_t)event->end;
    run->format = number_format(r, r->key.data, r->key.size);
    return run->format == TR_RUNS_NONE ? tr_runs_no_memory(r, error) : TR_OK;
}

/* ------------------------------------------------------------------------------------------------------- events to items */

static tr_status add_item(tr_runs_reader *r, int kind, size_t begin, size_t end, tr_error *error)
{
    const tr_runs_item it = {.begin = (uint32_t)begin, .end = (uint32_t)end, .run = r->run, .kind = (uint8_t)kind};
    return tr_buffer_append(&r->items, &it, sizeof it) ? TR_OK : tr_runs_no_memory(r, error);
}

static tr_status add_text(tr_runs_reader *r, int kind, const tr_xml_event *event, tr_error *error)
{
    size_t count;
    const frame *in = top_frame(r);
    tr_runs_item *items = tr_runs_items(r, &count), *last = count ? &items[count - 1] : NULL;
    if (!in || (*r->names->texts ? in->kind != TEXT : in->kind != PARAGRAPH && in->kind != MARK && in->kind != INSIDE))
        return TR_OK;
    if (last && kind == TR_PIECE_TEXT && last->kind == kind && last->end == event->begin) {
        last->end = (uint32_t)event->end;
        return TR_OK;
    }
    const tr_status status = add_item(r, kind, event->begin, event->end, error);
    if (status == TR_OK)
        ((tr_runs_item *)(void *)(r->items.data + r->items.size) - 1)->element = in->begin;
    return status;
}

static tr_status begin_run(tr_runs_reader *r, uint32_t begin, uint32_t head_end, tr_error *error)
{
    const tr_run run = {.begin = begin, .head_end = head_end, .outer = r->outer};
    r->run = (uint32_t)(r->state->runs.size / sizeof run);
    if (r->run > TR_RUNS_MASK)
        return tr_document_fail(r->document, begin, error, "there are too many runs");
    return tr_buffer_append(&r->state->runs, &run, sizeof run) ? TR_OK : tr_runs_no_memory(r, error);
}

/* A run without text is one empty mark. */
static void end_run(tr_runs_reader *r, const frame *f, uint32_t close_begin, uint32_t end)
{
    size_t count, i;
    tr_runs_item *items = tr_runs_items(r, &count);
    tr_run *run = tr_runs_at(r, r->run);
    uint8_t field = TR_RUNS_NO_FIELD;
    int kind = TR_PIECE_EMPTY;
    run->close_begin = close_begin;
    run->end = end;
    r->run = TR_RUNS_NONE;
    for (i = f->first; i < count && items[i].kind == TR_PIECE_EMPTY; i++) {
        if (field && items[i].field)
            kind = TR_RUNS_BARRIER;
        field = items[i].field ? items[i].field : field;
    }
    if (i < count || i == f->first)
        return;
    items[f->first] =
        (tr_runs_item){.begin = run->begin, .end = end, .run = TR_RUNS_NONE, .kind = (uint8_t)kind, .field = field};
    if (kind == TR_RUNS_BARRIER)
        items[f->first].field = TR_RUNS_NO_FIELD;
    r->items.size = (f->first + 1) * sizeof(tr_runs_item);
}

/* The mark that has just begun becomes longer. If it is not the last item, units end there. */
static tr_status extend_mark(tr_runs_reader *r, const frame *mark, const tr_xml_event *event, size_t begin, tr_error *error)
{
    size_t count;
    tr_runs_item *items = tr_runs_items(r, &count), *last = count ? &items[count - 1] : NULL;
    if (mark->close || !last || last->kind != TR_PIECE_OPEN || last->begin != mark->begin)
        return add_item(r, TR_RUNS_BARRIER, begin, event->end, error);
    last->end = (uint32_t)event->end;
    return TR_OK;
}

static frame_kind classify_in_paragraph(const tr_runs_names *n, frame_kind in, const char *local)
{
    if (in == MARK && is_named(n->insides, local))
        return INSIDE;
    if (in == MARK && is_named(n->heads, local))
        return HEAD;
    if (in == RUN && is_named(n->formats, local))
        return FORMAT;
    if (is_named(n->texts, local))
        return TEXT;
    if (is_named(n->breaks, local))
        return BREAK;
    if (is_named(n->dropped, local))
        return NOTHING;
    if (is_named(n->skipped, local))
        return SKIPPED;
    if (in != RUN && is_named(n->runs, local))
        return RUN;
    if (in != RUN && is_named(n->marks, local))
        return MARK;
    return ATOM;
}

static frame_kind classify(const tr_runs_names *n, const frame *in, const char *local)
{
    switch (in ? in->kind : OTHER) {
    case OTHER:
    case ATOM: return is_named(n->paragraphs, local) ? PARAGRAPH : is_named(n->skipped, local) ? NOTHING : OTHER;
    case PARAGRAPH:
    case MARK:
    case INSIDE:
    case RUN: return classify_in_paragraph(n, in->kind, local);
    case FORMAT:
    case FORMAT_PART: return is_named(" lang noProof ", local) ? NOTHING : FORMAT_PART;
    default: return NOTHING;
    }
}

static uint8_t field_of(const tr_runs_reader *r, const tr_xml_event *event)
{
    static const char *const types[] = {"begin", "separate", "end"};
    tr_xml_attribute_place type;
    if (strcmp(event->local, "fldChar") != 0 || !tr_runs_attribute_of(r->document, event, "fldCharType", &type))
        return TR_RUNS_NO_FIELD;
    for (size_t i = 0; i < 3; i++)
        if (type.end - type.begin == strlen(types[i]) &&
            memcmp(r->document->data + type.begin, types[i], type.end - type.begin) == 0)
            return (uint8_t)(TR_RUNS_FIELD_BEGIN + i);
    return TR_RUNS_NO_FIELD;
}

static void begin_paragraph(tr_runs_reader *r, frame *f)
{
    f->run = r->run;
    f->outer = r->outer;
    f->first = r->first;
    f->units = r->document->units.size;
    r->first = r->items.size / sizeof(tr_runs_item);
    r->paragraphs++;
    r->depth++;
    r->outer = r->run == TR_RUNS_NONE ? r->outer : r->run;
    r->run = TR_RUNS_NONE;
}

/* A text that is in no run is a run of its own, and a unit. */
static tr_status begin_text(tr_runs_reader *r, frame *f, tr_error *error)
{
    tr_status status = TR_OK;
    if (r->run == TR_RUNS_NONE) {
        f->first = SIZE_MAX;
        status = add_item(r, TR_RUNS_BARRIER, f->begin, f->begin, error);
        if (status == TR_OK)
            status = begin_run(r, f->begin, f->begin, error);
    }
    if (status == TR_OK && !tr_runs_at(r, r->run)->text)
        tr_runs_at(r, r->run)->text = f->begin;
    return status;
}

static tr_status start_element(tr_runs_reader *r, const tr_xml_event *event, tr_error *error)
{
    const frame *in = top_frame(r);
    frame f = {.kind = classify(r->names, in, event->local), .begin = (uint32_t)event->begin, .paragraphs = r->paragraphs};
    tr_status status = r->names->change ? r->names->change(r->document, event, error) : TR_OK;
    if (status != TR_OK)
        return status;
    if (f.kind == MARK && event->empty)
        f.kind = ATOM;
    switch (f.kind) {
    case PARAGRAPH: begin_paragraph(r, &f); break;
    case MARK: status = add_item(r, TR_PIECE_OPEN, event->begin, event->end, error); break;
    case INSIDE: status = extend_mark(r, in, event, event->begin, error); break;
    case RUN:
        f.first = r->items.size / sizeof(tr_runs_item);
        status = begin_run(r, f.begin, (uint32_t)event->end, error);
        break;
    case FORMAT:
    case FORMAT_PART: status = add_key(r, event, f.kind == FORMAT, error); break;
    case TEXT: status = begin_text(r, &f, error); break;
    case ATOM: f.field = field_of(r, event); break;
    default: break;
    }
    if (status == TR_OK && !tr_buffer_append(&r->frames, &f, sizeof f))
        status = tr_runs_no_memory(r, error);
    return status;
}

static tr_status end_text(tr_runs_reader *r, const frame *f, uint32_t end, tr_error *error)
{
    size_t count;
    tr_runs_item *items = tr_runs_items(r, &count);
    for (size_t i = count; i > 0 && items[i - 1].run == r->run && items[i - 1].element == f->begin; i--)
        items[i - 1].text_end = end;
    if (f->first != SIZE_MAX)
        return TR_OK;
    tr_runs_at(r, r->run)->close_begin = tr_runs_at(r, r->run)->end = end;
    r->run = TR_RUNS_NONE;
    return add_item(r, TR_RUNS_BARRIER, end, end, error);
}

static int compare_changes(const void *a, const void *b)
{
    const tr_edit *x = a, *y = b;
    return x->begin != y->begin ? (x->begin > y->begin) - (x->begin < y->begin) : (x->text > y->text) - (x->text < y->text);
}

/* Adds the source of a paragraph before it. */
static tr_status add_source(tr_runs_reader *r, const frame *f, uint32_t end, tr_error *error)
{
    tr_document *d = r->document;
    if (!d->settings.bilingual || !r->names->copy || r->depth > 1 || d->units.size == f->units)
        return TR_OK;
    const tr_status status = r->names->copy(d, f->begin, end, &r->text, error);
    return status == TR_OK && r->text.size ? tr_runs_change(d, f->begin, f->begin, r->text.data, error) : status;
}

static tr_status end_element(tr_runs_reader *r, const tr_xml_event *event, tr_error *error)
{
    const frame f = *top_frame(r);
    tr_status status = TR_OK;
    r->frames.size -= sizeof f;
    frame *in = top_frame(r);
    switch (f.kind) {
    case PARAGRAPH:
        status = tr_runs_add_units(r, error);
        if (status == TR_OK)
            status = add_source(r, &f, (uint32_t)event->end, error);
        r->run = f.run;
        r->outer = f.outer;
        r->first = f.first;
        r->depth--;
        break;
    case MARK: status = add_item(r, TR_PIECE_CLOSE, f.close ? f.close : event->begin, event->end, error); break;
    case INSIDE: in->close = (uint32_t)event->begin; break;
    case HEAD: status = extend_mark(r, in, event, f.begin, error); break;
    case RUN: end_run(r, &f, (uint32_t)event->begin, (uint32_t)event->end); break;
    case FORMAT: status = end_format(r, event, error); break;
    case TEXT: status = end_text(r, &f, (uint32_t)event->end, error); break;
    case ATOM:
    case SKIPPED: /* one place may be inside another, but not in a third */
        status = add_item(r, f.paragraphs == r->paragraphs || r->depth == 1 ? TR_PIECE_EMPTY : TR_RUNS_BARRIER, f.begin,
                          event->end, error);
        if (status == TR_OK)
            ((tr_runs_item *)(void *)(r->items.data + r->items.size) - 1)->field = f.field;
        break;
    case BREAK: status = add_item(r, TR_RUNS_BARRIER, f.begin, event->end, error); break;
    default: break;
    }
    return status;
}

static tr_status handle_event(void *argument, const tr_xml_event *event, tr_error *error)
{
    switch (event->kind) {
    case TR_XML_START: return start_element(argument, event, error);
    case TR_XML_END: return end_element(argument, event, error);
    case TR_XML_TEXT:
    case TR_XML_CDATA: return add_text(argument, TR_PIECE_TEXT, event, error);
    case TR_XML_ENTITY: return add_text(argument, TR_PIECE_WORD, event, error);
    case TR_XML_OTHER: break;
    }
    return TR_OK;
}

/* Changes are edits, but in places that are inside others. */
static tr_status add_edits(const tr_runs_reader *r, tr_error *error)
{
    if (r->document->settings.bilingual && r->state->changes.size)
        qsort(r->state->changes.data, r->state->changes.size / sizeof(tr_edit), sizeof(tr_edit), compare_changes);
    const tr_edit *changes = (const tr_edit *)(const void *)r->state->changes.data;
    const tr_runs_place *inner = (const tr_runs_place *)(const void *)r->inner.data;
    const size_t count = r->inner.size / sizeof *inner;
    tr_status status = TR_OK;
    for (size_t i = 0, k = 0; i < r->state->changes.size / sizeof *changes && status == TR_OK; i++) {
        while (k < count && inner[k].end <= changes[i].begin)
            k++;
        if (k == count || inner[k].begin > changes[i].begin)
            status = tr_edit_add(r->document, changes[i].begin, changes[i].end, r->state->changed.data + changes[i].text,
                                 changes[i].size, error);
    }
    return status;
}

void tr_runs_close(void *argument)
{
    tr_runs *state = argument;
    tr_buffer_free(&state->runs);
    tr_buffer_free(&state->changes);
    tr_buffer_free(&state->changed);
    free(state);
}

tr_status tr_runs_read(tr_document *d, const tr_runs_names *names, tr_error *error)
{
    tr_runs_reader r = {.document = d, .names = names, .run = TR_RUNS_NONE, .outer = TR_RUNS_NONE};
    d->state = r.state = calloc(1, sizeof *r.state);
    if (!d->state || !tr_strmap_init(&r.formats, 64))
        return tr_runs_no_memory(&r, error);
    r.state->names = names;
    tr_status status = number_format(&r, "", 0) == 0 ? TR_OK : tr_runs_no_memory(&r, error);
    if (status == TR_OK)
        status = tr_xml_read(d, handle_event, &r, error);
    if (status == TR_OK)
        status = add_edits(&r, error);
    char **keys = (char **)(void *)r.keys.data;
    for (size_t i = 0; i < r.keys.size / sizeof *keys; i++)
        free(keys[i]);
    tr_strmap_free(&r.formats);
    tr_buffer_free(&r.keys);
    tr_buffer_free(&r.key);
    tr_buffer_free(&r.text);
    tr_buffer_free(&r.weights);
    tr_buffer_free(&r.frames);
    tr_buffer_free(&r.items);
    tr_buffer_free(&r.stack);
    tr_buffer_free(&r.inner);
    return status;
}
