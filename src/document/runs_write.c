/* Writing paragraphs of runs: each part of a translation gets a run of its format. */
#include "document/runs.h"

#include <string.h>

typedef struct writer {
    const tr_document *document;
    const tr_runs *state;
    const tr_rendering *rendering;
    tr_buffer *out;
    uint32_t outer;  /* the run around the paragraph */
    uint32_t run;    /* one with the format of the run that is open; TR_RUNS_NONE: none is open */
    bool in_text;    /* its text is open */
    tr_buffer marks; /* of uint32_t: the runs of the pairs that are open, the unit's first */
    const tr_part *first_text, *last_text;
    bool has_written; /* text */
} writer;

static const tr_run *runs_of(const writer *w)
{
    return (const tr_run *)(const void *)w->state->runs.data;
}

/* The number of tr_run or tr_edit, which have their begin first and are in its order, that begin before a place. */
static size_t count_before(const tr_buffer *list, size_t element_size, uint32_t at)
{
    size_t low = 0, high = list->size / element_size;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (*(const uint32_t *)(const void *)(list->data + middle * element_size) < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The run of the paragraph in which a place is. */
static uint32_t run_around(const writer *w, uint32_t at)
{
    const tr_run *runs = runs_of(w);
    const size_t before = count_before(&w->state->runs, sizeof *runs, at);
    uint32_t i = before ? (uint32_t)before - 1 : TR_RUNS_NONE;
    while (i != TR_RUNS_NONE && (runs[i].end <= at || runs[i].outer != w->outer))
        i = runs[i].outer;
    return i;
}

/* The run of whose format a mark is. */
static uint32_t run_of_mark(const writer *w, const tr_piece *piece)
{
    const tr_run *runs = runs_of(w);
    const size_t i = count_before(&w->state->runs, sizeof *runs, piece->begin);
    return i < w->state->runs.size / sizeof *runs && runs[i].begin == piece->begin && runs[i].head_end == piece->end
               ? (uint32_t)i
               : TR_RUNS_NONE;
}

/* Appends bytes of the document with their changes. */
static bool copy_bytes(writer *w, uint32_t begin, uint32_t end)
{
    const tr_edit *changes = (const tr_edit *)(const void *)w->state->changes.data;
    const size_t count = w->state->changes.size / sizeof *changes;
    for (size_t i = count_before(&w->state->changes, sizeof *changes, begin); i < count && changes[i].begin < end; i++) {
        const tr_edit *change = &changes[i];
        if (!tr_buffer_append(w->out, w->document->data + begin, change->begin - begin) ||
            !tr_buffer_append(w->out, w->state->changed.data + change->text, change->size))
            return false;
        begin = change->end;
    }
    return tr_buffer_append(w->out, w->document->data + begin, end - begin);
}

/* Appends a tag's name with its prefix. */
static bool copy_name(writer *w, uint32_t tag)
{
    const char *name = w->document->data + tag + 1;
    return tr_buffer_append(w->out, name, strcspn(name, " \t\r\n/>"));
}

static bool open_text(writer *w)
{
    if (w->in_text)
        return true;
    w->in_text = true;
    return tr_buffer_string(w->out, "<") && copy_name(w, runs_of(w)[(w->rendering->unit->style & TR_RUNS_MASK)].text) &&
           tr_buffer_string(w->out, w->state->names->space) && tr_buffer_string(w->out, ">");
}

static bool close_text(writer *w)
{
    if (!w->in_text)
        return true;
    w->in_text = false;
    return tr_buffer_string(w->out, "</") && copy_name(w, runs_of(w)[(w->rendering->unit->style & TR_RUNS_MASK)].text) &&
           tr_buffer_string(w->out, ">");
}

/* Makes a run of the format of this one open, or none. */
static bool switch_run(writer *w, uint32_t run)
{
    const tr_run *runs = runs_of(w);
    if (run != TR_RUNS_NONE && w->run != TR_RUNS_NONE && runs[run].format == runs[w->run].format)
        return true;
    if (w->run != TR_RUNS_NONE && (!close_text(w) || !copy_bytes(w, runs[w->run].close_begin, runs[w->run].end)))
        return false;
    w->run = run;
    return run == TR_RUNS_NONE || copy_bytes(w, runs[run].begin, runs[run].head_end);
}

static uint32_t current_mark(const writer *w)
{
    return *((const uint32_t *)(const void *)(w->marks.data + w->marks.size) - 1);
}

/* White space before the first text of the unit in its element: all that is there. */
static bool write_space_before(writer *w)
{
    const tr_piece *first = tr_unit_pieces(w->document, w->rendering->unit);
    uint32_t at = first->begin;
    if (w->has_written)
        return true;
    w->has_written = true;
    while (first->kind == TR_PIECE_TEXT && w->document->data[at - 1] != '>')
        at--;
    return tr_buffer_append(w->out, w->document->data + at, first->begin - at);
}

static bool write_space_after(writer *w)
{
    const tr_unit *unit = w->rendering->unit;
    const tr_piece *last = tr_unit_pieces(w->document, unit) + unit->count - 1;
    uint32_t end = last->end;
    while (last->kind == TR_PIECE_TEXT && w->document->data[end] != '<')
        end++;
    if (end == last->end)
        return true;
    return switch_run(w, current_mark(w)) && open_text(w) &&
           tr_buffer_append(w->out, w->document->data + last->end, end - last->end);
}

/* White space at the ends of the unit is written so that it is text: reading leaves out what is not. */
static bool write_text(writer *w, const tr_part *part)
{
    size_t begin = 0, end = part->size;
    if (part == w->first_text && tr_is_ascii_space(part->text[0]) &&
        !(tr_buffer_string(w->out, "<![CDATA[") && tr_buffer_append(w->out, part->text + begin++, 1) &&
          tr_buffer_string(w->out, "]]>")))
        return false;
    const bool ends_in_space = part == w->last_text && end > begin && tr_is_ascii_space(part->text[end - 1]);
    end -= ends_in_space;
    return tr_xml_encode(w->document, w->rendering->unit, part->text + begin, end - begin, w->out) &&
           (!ends_in_space || (tr_buffer_string(w->out, "<![CDATA[") && tr_buffer_append(w->out, part->text + end, 1) &&
                               tr_buffer_string(w->out, "]]>")));
}

static bool write_part(writer *w, const tr_part *part)
{
    const tr_unit *unit = w->rendering->unit;
    const tr_document *d = w->document;
    const tr_piece *piece = part->piece;
    if (part->kind == TR_PIECE_TEXT)
        return switch_run(w, current_mark(w)) && open_text(w) && write_space_before(w) && write_text(w, part);
    if (part->kind == TR_PIECE_WORD)
        return switch_run(w, current_mark(w)) && open_text(w) && write_space_before(w) &&
               tr_buffer_append(w->out, part->text, part->size);
    if (part->kind == TR_PIECE_EMPTY) {
        const uint32_t run = run_around(w, piece->begin);
        return switch_run(w, run) && close_text(w) && tr_buffer_append(w->out, part->text, part->size);
    }
    const tr_piece *open = part->kind == TR_PIECE_OPEN ? piece : tr_unit_pieces(d, unit) + piece->partner;
    const uint32_t run = run_of_mark(w, open), mark = run == TR_RUNS_NONE ? current_mark(w) : run;
    if (part->kind == TR_PIECE_CLOSE)
        w->marks.size -= sizeof mark;
    else if (!tr_buffer_append(&w->marks, &mark, sizeof mark))
        return false;
    return run != TR_RUNS_NONE || (switch_run(w, TR_RUNS_NONE) && tr_buffer_append(w->out, part->text, part->size));
}

static bool write_in_runs(writer *w)
{
    const tr_unit *unit = w->rendering->unit;
    const uint32_t base = unit->style & TR_RUNS_MASK;
    w->outer = runs_of(w)[base].outer;
    w->run = run_around(w, unit->begin);
    bool good = tr_buffer_append(&w->marks, &base, sizeof base);
    for (size_t i = 0; good && i < w->rendering->count; i++)
        good = write_part(w, &w->rendering->parts[i]);
    return good && write_space_after(w) && switch_run(w, run_around(w, unit->end)) && close_text(w);
}

/* Text stands right in its paragraph. */
static bool write_plain(writer *w)
{
    bool good = true;
    for (size_t i = 0; good && i < w->rendering->count; i++) {
        const tr_part *part = &w->rendering->parts[i];
        good = part->kind == TR_PIECE_TEXT ? write_text(w, part) : tr_buffer_append(w->out, part->text, part->size);
    }
    return good;
}

tr_status tr_runs_render(const tr_document *d, const tr_rendering *rendering, tr_buffer *out, tr_error *error)
{
    writer w = {.document = d, .state = d->state, .rendering = rendering, .out = out, .run = TR_RUNS_NONE};
    for (size_t i = 0; i < rendering->count; i++) {
        if (rendering->parts[i].kind != TR_PIECE_TEXT || !rendering->parts[i].size)
            continue;
        w.first_text = w.first_text ? w.first_text : &rendering->parts[i];
        w.last_text = &rendering->parts[i];
    }
    const bool good = rendering->same          ? tr_buffer_append(out, rendering->source, rendering->source_size)
                      : *w.state->names->texts ? write_in_runs(&w)
                                               : write_plain(&w);
    tr_buffer_free(&w.marks);
    return good ? TR_OK : tr_fail_memory(error, d->name);
}
