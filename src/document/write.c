/* Writing documents with translations in place of their units. */
#include "document/marks.h"
#include "document/pairs.h"

#include <string.h>

static const tr_unit *units_of(const tr_document *d, size_t *count)
{
    *count = d->units.size / sizeof(tr_unit);
    return (const tr_unit *)d->units.data;
}

static const tr_member *members_of(const tr_document *d, size_t *count)
{
    *count = d->members.size / sizeof(tr_member);
    return (const tr_member *)(const void *)d->members.data;
}

size_t tr_document_count(const tr_document *d)
{
    return d->units.size / sizeof(tr_unit) + d->member_units;
}

/* The member that has unit number `unit` of all members, of which there are more. */
static const tr_member *member_with(const tr_document *d, size_t unit)
{
    size_t low = 0, high;
    const tr_member *members = members_of(d, &high);
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (members[middle].first <= unit)
            low = middle;
        else
            high = middle;
    }
    return &members[low]; /* the last that begins there: those before it have no units */
}

tr_status tr_document_text(const tr_document *d, size_t unit, tr_buffer *text, tr_error *error)
{
    size_t count;
    const tr_unit *units = units_of(d, &count);
    if (unit >= tr_document_count(d))
        return tr_fail(error, TR_ERROR_ARGUMENT, "%s: has no such unit", d->name);
    if (unit >= count) {
        const tr_member *member = member_with(d, unit - count);
        return tr_document_text(member->document, unit - count - member->first, text, error);
    }
    tr_marked_text marked = {0};
    const bool good =
        tr_unit_marked_text(d, &units[unit], &marked) && tr_buffer_append(text, marked.text.data, marked.text.size);
    tr_marked_text_free(&marked);
    return good ? TR_OK : tr_fail_memory(error, d->name);
}

/* ------------------------------------------------------------------------------------------------------------- rendering */

bool tr_render_parts(const tr_document *d, const tr_unit *unit, const tr_part *parts, size_t count, tr_buffer *out)
{
    for (size_t i = 0; i < count; i++) {
        const tr_part *part = &parts[i];
        const bool plain = part->kind != TR_PIECE_TEXT || !d->format->encode;
        if (!(plain ? tr_buffer_append(out, part->text, part->size)
                    : d->format->encode(d, unit, part->text, part->size, out)))
            return false;
    }
    return true;
}

/* What stands in place of bytes begin .. end: text .. text + size of a buffer. */
typedef struct replacement {
    uint32_t begin, end;
    size_t text, size;
} replacement;

/* The places inside the marks of the next unit, in their order. */
typedef struct inner_places {
    tr_buffer list; /* of replacement */
    tr_buffer text;
} inner_places;

/* Appends bytes begin .. end with their inner places replaced. */
static bool append_replaced(const tr_document *d, const inner_places *inner, uint32_t begin, uint32_t end, tr_buffer *out)
{
    const replacement *list = (const replacement *)inner->list.data;
    size_t low = 0, high = inner->list.size / sizeof *list;
    const size_t count = high;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (list[middle].begin < begin)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < count && list[low].end <= end; low++) {
        if (!tr_buffer_append(out, d->data + begin, list[low].begin - begin) ||
            !tr_buffer_append(out, inner->text.data + list[low].text, list[low].size))
            return false;
        begin = list[low].end;
    }
    return tr_buffer_append(out, d->data + begin, end - begin);
}

/* Sets the bytes of the parts that are marks. marks: memory that they lie in. */
static bool set_marks(const tr_document *d, const inner_places *inner, tr_buffer *parts, tr_buffer *marks)
{
    tr_part *part = (tr_part *)parts->data;
    const size_t count = parts->size / sizeof *part;
    for (size_t i = 0; i < count; i++) {
        if (!part[i].piece)
            continue;
        const size_t from = marks->size;
        if (!append_replaced(d, inner, part[i].piece->begin, part[i].piece->end, marks))
            return false;
        part[i].size = marks->size - from;
    }
    const char *at = marks->data;
    for (size_t i = 0; i < count; i++)
        if (part[i].piece) {
            part[i].text = at;
            at += part[i].size;
        }
    return true;
}

/* Memory that serves all units. */
typedef struct render_memory {
    tr_marked_text marked;
    tr_buffer parts, source, marks, clean, kept;
} render_memory;

static void free_render_memory(render_memory *m)
{
    tr_marked_text_free(&m->marked);
    tr_buffer_free(&m->parts);
    tr_buffer_free(&m->source);
    tr_buffer_free(&m->marks);
    tr_buffer_free(&m->clean);
    tr_buffer_free(&m->kept);
}

/* Appends what stands in place of a unit. */
static tr_status render_unit(const tr_document *d, const tr_unit *unit, const inner_places *inner,
                             const tr_document_translation *given, render_memory *m, tr_buffer *out, tr_error *error)
{
    tr_document_translation translation = *given;
    const tr_buffer *text = &m->marked.text;
    tr_buffer_clear(&m->source);
    tr_buffer_clear(&m->marks);
    if (!tr_unit_marked_text(d, unit, &m->marked))
        return tr_fail_memory(error, d->name);
    const bool same = translation.size == text->size && memcmp(translation.text, text->data, text->size) == 0;
    if ((!same && !tr_translation_clean(&translation, &m->clean)) ||
        !tr_unit_parts(d, unit, &m->marked, translation.text, translation.size, &m->parts) ||
        !append_replaced(d, inner, unit->begin, unit->end, &m->source) || !set_marks(d, inner, &m->parts, &m->marks))
        return tr_fail_memory(error, d->name);
    const tr_rendering rendering = {.unit = unit,
                                    .translation = translation,
                                    .text = text->data,
                                    .size = text->size,
                                    .parts = (const tr_part *)m->parts.data,
                                    .count = m->parts.size / sizeof(tr_part),
                                    .source = m->source.data,
                                    .source_size = m->source.size,
                                    .same = same && !d->settings.rewrite,
                                    .kept = &m->kept};
    if (d->format->render)
        return d->format->render(d, &rendering, out, error);
    const bool good = rendering.same ? tr_buffer_append(out, m->source.data, m->source.size)
                                     : tr_render_parts(d, unit, rendering.parts, rendering.count, out);
    return good ? TR_OK : tr_fail_memory(error, d->name);
}

/* Gathers small writes. */
typedef struct writer {
    const tr_document *document;
    const tr_document_sink *sink;
    tr_buffer out;
} writer;

enum { WRITE_SIZE = 1 << 16 };

static tr_status flush(writer *w, bool all, tr_error *error)
{
    tr_status status = TR_OK;
    if (w->out.size && (all || w->out.size >= WRITE_SIZE)) {
        status = w->sink->write(w->sink->argument, w->out.data, w->out.size, error);
        tr_buffer_clear(&w->out);
    }
    return status;
}

static tr_status write_bytes(writer *w, const char *data, size_t size, tr_error *error)
{
    tr_status status = TR_OK;
    if (size >= WRITE_SIZE) {
        status = flush(w, true, error);
        return status == TR_OK ? w->sink->write(w->sink->argument, data, size, error) : status;
    }
    if (!tr_buffer_append(&w->out, data, size))
        return tr_fail_memory(error, w->document->name);
    return flush(w, false, error);
}

/* Writing what the document itself has. */
typedef struct unit_writer {
    writer w;
    const tr_document_source *source;
    inner_places inner;
    render_memory memory;
    uint32_t at; /* all before it is written */
} unit_writer;

static tr_status translate_unit(unit_writer *u, size_t index, const tr_unit *unit, tr_buffer *out, tr_error *error)
{
    static const inner_places none = {0};
    tr_document_translation translation;
    const tr_status status = u->source->next(u->source->argument, index, &translation, error);
    if (status != TR_OK)
        return status;
    return render_unit(u->w.document, unit, unit->style & TR_UNIT_INSIDE ? &none : &u->inner, &translation, &u->memory, out,
                       error);
}

/* Keeps an edit, or a unit, that is inside a mark of the unit `around`. */
static tr_status keep_inner(unit_writer *u, const tr_unit *around, const tr_edit *edit, const tr_unit *unit, size_t index,
                            tr_error *error)
{
    const tr_document *d = u->w.document;
    replacement own = {edit ? edit->begin : unit->begin, edit ? edit->end : unit->end, u->inner.text.size, 0};
    tr_status status = TR_OK;
    const size_t count = u->inner.list.size / sizeof own;
    const uint32_t last = count ? ((const replacement *)u->inner.list.data)[count - 1].end : around->begin;
    if (own.begin < last || own.end > around->end)
        return tr_document_fail(d, own.begin, error, "two places overlap");
    if (!edit)
        status = translate_unit(u, index, unit, &u->inner.text, error);
    else if (!tr_buffer_append(&u->inner.text, d->edited.data + edit->text, edit->size))
        status = tr_fail_memory(error, d->name);
    own.size = u->inner.text.size - own.text;
    if (status == TR_OK && !tr_buffer_append(&u->inner.list, &own, sizeof own))
        status = tr_fail_memory(error, d->name);
    return status;
}

/* Writes the bytes up to an edit or a unit, and what becomes of it. */
static tr_status write_place(unit_writer *u, const tr_edit *edit, const tr_unit *unit, size_t index, tr_error *error)
{
    const tr_document *d = u->w.document;
    const uint32_t begin = edit ? edit->begin : unit->begin, end = edit ? edit->end : unit->end;
    if (begin < u->at || end < begin || end > d->size)
        return tr_document_fail(d, begin, error, "two places overlap");
    tr_status status = write_bytes(&u->w, d->data + u->at, begin - u->at, error);
    u->at = end;
    if (status == TR_OK && edit)
        return write_bytes(&u->w, d->edited.data + edit->text, edit->size, error);
    if (status == TR_OK)
        status = translate_unit(u, index, unit, &u->w.out, error);
    tr_buffer_clear(&u->inner.list);
    tr_buffer_clear(&u->inner.text);
    return status == TR_OK ? flush(&u->w, false, error) : status;
}

static tr_status write_units(const tr_document *d, const tr_document_source *source, const tr_document_sink *sink,
                             tr_error *error)
{
    unit_writer u = {.w = {d, sink, {0}}, .source = source};
    size_t count, unit = 0, edit = 0, outer = 0; /* outer: the next unit that is not inside another */
    const size_t edit_count = d->edits.size / sizeof(tr_edit);
    const tr_unit *units = units_of(d, &count);
    const tr_edit *edits = (const tr_edit *)d->edits.data;
    tr_status status = TR_OK;
    while (status == TR_OK && (unit < count || edit < edit_count)) {
        const bool is_edit = edit < edit_count && (unit == count || edits[edit].begin < units[unit].end);
        const tr_edit *e = is_edit ? &edits[edit] : NULL;
        const tr_unit *own = is_edit ? NULL : &units[unit];
        outer = outer < unit ? unit : outer;
        while (outer < count && units[outer].style & TR_UNIT_INSIDE)
            outer++;
        if (e ? outer < count && e->begin >= units[outer].begin : own->style & TR_UNIT_INSIDE)
            status = keep_inner(&u, &units[outer], e, own, unit, error);
        else
            status = write_place(&u, e, own, unit, error);
        edit += is_edit;
        unit += !is_edit;
    }
    if (status == TR_OK)
        status = write_bytes(&u.w, d->data + u.at, d->size - u.at, error);
    if (status == TR_OK)
        status = flush(&u.w, true, error);
    tr_buffer_free(&u.w.out);
    tr_buffer_free(&u.inner.list);
    tr_buffer_free(&u.inner.text);
    free_render_memory(&u.memory);
    return status;
}

static tr_status write_document(const tr_document *d, const tr_document_source *source, const tr_document_sink *sink,
                                tr_error *error)
{
    return d->format->write ? d->format->write(d, source, sink, error) : write_units(d, source, sink, error);
}

/* A source whose units begin at `first` of another's. */
typedef struct shifted {
    const tr_document_source *source;
    size_t first;
} shifted;

static tr_status next_shifted(void *argument, size_t unit, tr_document_translation *translation, tr_error *error)
{
    const shifted *s = argument;
    return s->source->next(s->source->argument, s->first + unit, translation, error);
}

tr_status tr_document_write_member(const tr_document *d, size_t index, const tr_document_source *source,
                                   const tr_document_sink *sink, tr_error *error)
{
    size_t count;
    const tr_member *member = &members_of(d, &count)[index];
    shifted s = {source, d->units.size / sizeof(tr_unit) + member->first};
    const tr_document_source own = {next_shifted, &s};
    return write_document(member->document, &own, sink, error);
}

tr_status tr_document_write(const tr_document *d, const tr_document_source *source, const tr_document_sink *sink,
                            tr_error *error)
{
    return d->settings.pairs ? tr_document_write_pairs(d, source, sink, error) : write_document(d, source, sink, error);
}
