/* Markdown: translations in their places, with as few backslashes as possible.
 *
 * What a translation needs depends on its neighbours. So it is written with what usually suffices and read again, in a
 * document of its own. If it is not what was meant, it is written more carefully, and at last the source stays. */
#include "document/markdown_write.h"

#include <stdlib.h>
#include <string.h>

/* --------------------------------------------------------------------------------------------------------- reading again */

/* The part of a document that is parsed again. */
typedef struct trial {
    const tr_markdown_writer *writer;
    tr_buffer text;
    size_t begin, end; /* of the translation in it */
    size_t labels;     /* where definitions of these begin in it */
    size_t blocks;
    tr_buffer inside, outside; /* what the translation, and what is beside it, means */
    bool good, failed;
} trial;

/* What keeps a line that begins with c from beginning a block, also in a footnote, and from being a row of dashes. */
static const char *indent_of(char c)
{
    return c == '-' || c == ':' || c == '|' ? "      x" : "      ";
}

/* Appends bytes without what quotes and indents the lines after the first, but so that these are in the same footnote.
 * in_block: they begin no block, and are no row of dashes. */
static bool append_unquoted(tr_buffer *text, const char *bytes, size_t size, bool in_block)
{
    bool good = true;
    for (size_t i = 0; i < size && good;) {
        const bool newline = bytes[i] == '\n' || (bytes[i] == '\r' && !(i + 1 < size && bytes[i + 1] == '\n'));
        good = tr_buffer_append(text, bytes + i, 1);
        for (i++; newline && i < size && (tr_markdown_is_blank(bytes[i]) || bytes[i] == '>');)
            i++;
        if (newline && i < size)
            good = good && tr_buffer_string(text, in_block ? indent_of(bytes[i]) : "  ");
    }
    return good;
}

/* Defines the labels of all links, which are "][label]". */
static bool append_labels(tr_buffer *text)
{
    const size_t size = text->size;
    bool good = tr_buffer_string(text, "\n\n");
    for (size_t i = 1; i < size && good; i++) {
        if (text->data[i] != '[' || text->data[i - 1] != ']')
            continue;
        size_t end = i + 1;
        while (end < size && text->data[end] != ']' && text->data[end] != '[')
            end += 1 + (text->data[end] == '\\');
        if (end >= size || text->data[end] != ']' || text->data[end + 1] == '(')
            continue;
        char *label = tr_copy_bytes(text->data + i, end + 1 - i);
        good = label && tr_buffer_append(text, label, end + 1 - i) && tr_buffer_string(text, ": x\n");
        free(label);
        i = end - 1;
    }
    return good;
}

/* body [size]: what stands in the unit's place, without its label. source: it is the source, which begins no block. */
static bool make_trial(trial *t, const char *body, size_t size, bool source)
{
    static const char *const positions[] = {"", "x\\\n", "x<br>", "x "}; /* by tr_markdown_position */
    const tr_markdown_writer *w = t->writer;
    const tr_markdown_place *place = w->place;
    const char *data = w->document->data;
    const bool cell = place->kind == TR_MARKDOWN_CELL, heading = place->kind == TR_MARKDOWN_HEADING;
    const char *before = cell ? (place->bare ? "|x|\n|---|\n" : "|x|\n|---|\n|") : heading && !place->setext ? "# " : "";
    const char *after = cell ? " |" : place->setext ? "\n=" : "";
    bool good = tr_buffer_string(&t->text, before) && tr_buffer_string(&t->text, positions[place->from_at]) &&
                append_unquoted(&t->text, w->before.data, w->before.size, true) && tr_buffer_string(&t->text, w->lead);
    t->begin = t->text.size;
    if (source && size && !cell && t->begin && strchr("\r\n", t->text.data[t->begin - 1]))
        good = good && tr_buffer_string(&t->text, indent_of(*body));
    good = good && append_unquoted(&t->text, body, size, source);
    t->end = t->text.size;
    if (place->label)
        good = good && tr_buffer_string(&t->text, "][") &&
               append_unquoted(&t->text, data + w->unit->begin, place->label - w->unit->begin, true) &&
               tr_buffer_string(&t->text, "]");
    good = good && append_unquoted(&t->text, data + w->unit->end, place->to - w->unit->end, true) &&
           tr_buffer_string(&t->text, after);
    t->labels = t->text.size;
    return good && (!w->references || append_labels(&t->text));
}

/* Appends what bytes begin .. end of the part from .. to mean. */
static bool append_text(const trial *t, size_t begin, size_t end, size_t from, size_t to, tr_buffer *meaning)
{
    tr_buffer decoded = {0};
    begin = begin < from ? from : begin;
    end = end > to ? to : end;
    const bool good = begin >= end || (tr_markdown_decode(t->text.data + begin, end - begin, &decoded) &&
                                       tr_markdown_append_meaning(meaning, decoded.data, decoded.size));
    tr_buffer_free(&decoded);
    return good;
}

/* Takes what a block means. */
static tr_status take_block(void *argument, const tr_markdown_block *block, tr_error *error)
{
    trial *t = argument;
    if (block->items[block->count - 1].end <= t->begin && block->kind == TR_MARKDOWN_CELL)
        return TR_OK; /* the head of the table */
    if (block->items[0].begin >= t->labels)
        return TR_OK; /* no definition after all */
    bool memory = tr_buffer_append(&t->inside, "", 0) && tr_buffer_append(&t->outside, "", 0);
    (void)error;
    t->good = !t->blocks++ && block->kind == (tr_markdown_kind)t->writer->place->kind;
    for (size_t i = 0; i < block->count && memory; i++) {
        const tr_markdown_item *item = &block->items[i];
        const bool inside = item->begin >= t->begin && item->end <= t->end;
        if (item->kind == TR_PIECE_TEXT) {
            memory = append_text(t, item->begin, item->end, 0, t->begin, &t->outside) &&
                     append_text(t, item->begin, item->end, t->begin, t->end, &t->inside) &&
                     append_text(t, item->begin, item->end, t->end, t->text.size, &t->outside);
        } else if (item->kind != TR_PIECE_SKIP) {
            t->good &= inside || item->end <= t->begin || item->begin >= t->end;
            memory = tr_markdown_append_mark(inside ? &t->inside : &t->outside, item->kind, t->text.data + item->begin,
                                             item->end - item->begin);
        }
    }
    tr_markdown_end_meaning(&t->inside);
    t->failed |= !memory;
    return TR_OK;
}

static bool is_equal(const tr_buffer *a, const tr_buffer *b)
{
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

static void run_trial(trial *t, tr_markdown_writer *w, const char *body, size_t size, bool source)
{
    const tr_markdown_reader reader = {take_block, t};
    t->writer = w;
    tr_markdown_failed(w, make_trial(t, body, size, source) &&
                              tr_markdown_scan(t->text.data, t->text.size, &reader, NULL) != TR_ERROR_MEMORY && !t->failed);
}

static void free_trial(trial *t)
{
    tr_buffer_free(&t->text);
    tr_buffer_free(&t->inside);
    tr_buffer_free(&t->outside);
}

/* Whether body is read as it was meant, and what is beside it as it is beside the source. */
static bool survives(tr_markdown_writer *w)
{
    const uint32_t begin = w->unit->begin, end = w->place->label ? w->place->label : w->unit->end;
    trial source = {0}, t = {0};
    run_trial(&t, w, w->body.data, w->body.size, false);
    bool good = t.good && t.blocks == 1 && is_equal(&t.inside, &w->meaning);
    if (good)
        run_trial(&source, w, w->document->data + begin, end - begin, true);
    good = good && source.blocks == 1 && is_equal(&t.outside, &source.outside);
    free_trial(&source);
    free_trial(&t);
    return good;
}

/* ------------------------------------------------------------------------------------------------------------- bilingual */

static const char *newline_of(const tr_document *d)
{
    const char *newline = memchr(d->data, '\n', d->size);
    return newline && newline > d->data && newline[-1] == '\r' ? "\r\n" : "\n";
}

/* Appends what quotes and indents the lines of the unit's block after its first. */
static bool append_prefix(const tr_markdown_writer *w, bool blank, tr_buffer *out)
{
    const char *data = w->document->data;
    uint32_t begin = w->place->begin, i;
    const size_t from = out->size;
    bool good = true;
    while (begin && data[begin - 1] != '\n' && data[begin - 1] != '\r')
        begin--;
    for (i = begin; i < w->place->begin && good; i++) {
        const bool list = strchr("-+*.)", data[i]) || tr_is_ascii_digit(data[i]);
        if (!list && !strchr(" \t>", data[i]))
            break;
        good = tr_buffer_append(out, list ? " " : data + i, 1);
    }
    while (blank && out->size > from && (out->data[out->size - 1] == ' ' || out->data[out->size - 1] == '\t'))
        out->size--;
    if (!blank && w->place->kind == TR_MARKDOWN_HEADING && !w->place->setext)
        good = good && tr_buffer_append(out, data + i, w->place->begin - i);
    return good;
}

/* Appends the line under a heading. */
static bool append_underline(const tr_markdown_writer *w, tr_buffer *out)
{
    const tr_document *d = w->document;
    uint32_t i = w->place->end;
    while (i < d->size && !strchr("=-", d->data[i]))
        i++;
    return tr_buffer_string(out, newline_of(d)) && append_prefix(w, false, out) &&
           tr_buffer_string(out, i < d->size && d->data[i] == '=' ? "===" : "---");
}

/* Whether the translation is a paragraph or heading of its own. */
static bool is_apart(const tr_markdown_writer *w)
{
    return w->place->whole && w->unit->begin == w->place->begin && w->unit->end == w->place->end;
}

static const char *lead_of(const tr_markdown_writer *w)
{
    if (!w->document->settings.bilingual || is_apart(w))
        return "";
    if (w->place->at == TR_MARKDOWN_PICTURE)
        return " / ";
    const bool footnote = w->unit->begin > w->place->begin && w->document->data[w->place->begin] == '[';
    return w->place->kind == TR_MARKDOWN_PARAGRAPH && w->place->at != TR_MARKDOWN_WITHIN && !footnote ? "x<br>\n" : "x<br>";
}

/* Appends the source, and what divides it from the translation: a paragraph or heading follows its source; in lists without
 * blank lines, in cells, and between hard breaks there is <br>; descriptions of pictures have " / ". */
static bool append_source(const tr_markdown_writer *w, tr_buffer *out)
{
    const tr_document *d = w->document;
    const char *newline = newline_of(d);
    const uint32_t end = w->place->label ? w->place->label : w->unit->end;
    bool good = tr_buffer_append(out, d->data + w->unit->begin, end - w->unit->begin);
    if (is_apart(w)) {
        good = good && (!w->place->setext || append_underline(w, out));
        return good && tr_buffer_string(out, newline) && append_prefix(w, true, out) && tr_buffer_string(out, newline) &&
               append_prefix(w, false, out);
    }
    const char *lead = lead_of(w);
    if (*lead != 'x')
        return good && tr_buffer_string(out, lead);
    good = good && tr_buffer_string(out, "<br>");
    return good && (!strchr(lead, '\n') || (tr_buffer_string(out, newline) && append_prefix(w, false, out)));
}

/* ------------------------------------------------------------------------------------------------------------- rendering */

/* Whether only white space and quotes stand before the unit in its line. */
static bool starts_line(const tr_markdown_writer *w)
{
    const char *data = w->document->data;
    uint32_t i = w->unit->begin;
    if (*w->lead)
        return strchr(w->lead, '\n') != NULL;
    while (i > w->place->begin && strchr(" \t>", data[i - 1]))
        i--;
    return i > w->place->begin ? data[i - 1] == '\n' || data[i - 1] == '\r'
                               : w->place->at == TR_MARKDOWN_FIRST || w->place->at == TR_MARKDOWN_NEXT;
}

/* What tr_rendering.kept begins with; then comes what was written from `from` to `at`. */
typedef struct written_part {
    uint32_t from, at;
} written_part;

/* Finds what stands before the unit. Bilingual documents have the source there, to which the unit's own is compared. */
static bool take_before(tr_markdown_writer *w, const tr_buffer *kept)
{
    written_part part = {w->place->from, w->place->from};
    bool good = true;
    if (kept->size && !w->document->settings.bilingual && memcmp(kept->data, &part.from, sizeof part.from) == 0) {
        memcpy(&part, kept->data, sizeof part);
        good = tr_buffer_append(&w->before, kept->data + sizeof part, kept->size - sizeof part);
    }
    return good && tr_buffer_append(&w->before, w->document->data + part.at, w->unit->begin - part.at);
}

/* Keeps what stands before the unit and the unit itself, [size] written. */
static bool keep_written(const tr_markdown_writer *w, const char *written, size_t size, tr_buffer *kept)
{
    const written_part part = {w->place->from, w->unit->end};
    tr_buffer_clear(kept);
    return w->place->alone ||
           (tr_buffer_append(kept, &part, sizeof part) && tr_buffer_append(kept, w->before.data, w->before.size) &&
            tr_buffer_append(kept, written, size));
}

static tr_status write_unit(tr_markdown_writer *w, const tr_rendering *rendering, tr_buffer *out, tr_error *error)
{
    const tr_document *d = w->document;
    const tr_unit *unit = w->unit;
    const size_t written = out->size;
    w->lead = lead_of(w);
    w->line_start = starts_line(w);
    if (tr_markdown_failed(w, tr_markdown_take_parts(w, rendering) && take_before(w, rendering->kept)))
        return tr_fail_memory(error, d->name);
    if (!w->own)
        tr_markdown_move_out(w);
    bool good = false;
    for (w->how = 0; w->how < (w->own ? 1 : ATTEMPTS) && !good && !w->failed; w->how++) {
        tr_markdown_write_body(w);
        good = survives(w);
    }
    if (!good && !w->failed)
        return tr_buffer_append(out, d->data + unit->begin, unit->end - unit->begin) ? TR_OK
                                                                                     : tr_fail_memory(error, d->name);
    if (d->settings.bilingual)
        tr_markdown_failed(w, append_source(w, out));
    tr_markdown_failed(w, tr_buffer_append(out, w->body.data, w->body.size));
    if (w->place->label)
        tr_markdown_failed(w, tr_buffer_string(out, "][") &&
                                  tr_buffer_append(out, d->data + unit->begin, w->place->label - unit->begin) &&
                                  tr_buffer_string(out, "]"));
    tr_markdown_failed(w, keep_written(w, out->data + written, out->size - written, rendering->kept));
    return w->failed ? tr_fail_memory(error, d->name) : TR_OK;
}

tr_status tr_markdown_render(const tr_document *d, const tr_rendering *rendering, tr_buffer *out, tr_error *error)
{
    const tr_markdown_state *state = d->state;
    const tr_unit *unit = rendering->unit;
    const size_t index = (size_t)(unit - (const tr_unit *)(const void *)d->units.data);
    const bool own = rendering->translation.size == rendering->size &&
                     memcmp(rendering->translation.text, rendering->text, rendering->size) == 0;
    if (rendering->same || (own && d->settings.bilingual))
        return tr_buffer_append(out, d->data + unit->begin, unit->end - unit->begin) ? TR_OK
                                                                                     : tr_fail_memory(error, d->name);
    tr_markdown_writer w = {.document = d,
                            .unit = unit,
                            .place = (const tr_markdown_place *)(const void *)state->places.data + index,
                            .lead = "",
                            .own = own,
                            .references = state->references};
    const tr_status status = write_unit(&w, rendering, out, error);
    free(w.parts);
    tr_buffer_free(&w.before);
    tr_buffer_free(&w.text);
    tr_buffer_free(&w.body);
    tr_buffer_free(&w.meaning);
    tr_buffer_free(&w.stack);
    return status;
}
