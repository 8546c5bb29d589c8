/* Markdown: translations in their places, with as few backslashes as possible.
 *
 * What a translation needs depends on its neighbours. So it is written with what usually suffices and read again, in a
 * document of its own. If it is not what was meant, it is written more carefully, and at last the source stays. */
#include "document/markdown_write.h"

#include <stdlib.h>
#include <string.h>

/* --------------------------------------------------------------------------------------------------------- reading again */

/* A document that has one unit, as the source has it. */
typedef struct trial {
    const tr_markdown_writer *writer;
    tr_buffer text;
    size_t begin, end; /* of the translation in it */
    size_t blocks;
    bool good, failed;
} trial;

/* Appends bytes without what quotes the lines after the first. */
static bool append_unquoted(tr_buffer *text, const char *bytes, size_t size)
{
    bool good = true;
    for (size_t i = 0; i < size && good;) {
        good = tr_buffer_append(text, bytes + i, 1);
        const bool newline = bytes[i] == '\n' || (bytes[i] == '\r' && !(i + 1 < size && bytes[i + 1] == '\n'));
        for (i++; newline && i < size && strchr(" \t>", bytes[i]);)
            i++;
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

static bool make_trial(trial *t)
{
    const tr_markdown_writer *w = t->writer;
    const tr_markdown_place *place = w->place;
    const char *data = w->document->data;
    const bool cell = place->kind == TR_MARKDOWN_CELL, heading = place->kind == TR_MARKDOWN_HEADING;
    const char *before = cell                             ? "|x|\n|---|\n|"
                         : heading && !place->setext      ? "# "
                         : place->at == TR_MARKDOWN_NEXT  ? "x\\\n"
                         : place->at == TR_MARKDOWN_FIRST ? ""
                                                          : "x ";
    const char *after = cell ? "|" : place->setext ? "\n=" : "";
    const char *within = cell && place->at == TR_MARKDOWN_WITHIN ? "x " : "";
    bool good = tr_buffer_string(&t->text, before) && tr_buffer_string(&t->text, within) &&
                append_unquoted(&t->text, data + place->begin, w->unit->begin - place->begin) &&
                tr_buffer_string(&t->text, w->lead);
    t->begin = t->text.size;
    good = good && append_unquoted(&t->text, w->body.data, w->body.size);
    t->end = t->text.size;
    if (place->label)
        good = good && tr_buffer_string(&t->text, "][") &&
               append_unquoted(&t->text, data + w->unit->begin, place->label - w->unit->begin) &&
               tr_buffer_string(&t->text, "]");
    return good && append_unquoted(&t->text, data + w->unit->end, place->end - w->unit->end) &&
           tr_buffer_string(&t->text, after) && (!w->references || append_labels(&t->text));
}

/* Compares a block with what was meant. */
static tr_status compare_block(void *argument, const tr_markdown_block *block, tr_error *error)
{
    trial *t = argument;
    const tr_markdown_writer *w = t->writer;
    tr_buffer meaning = {0};
    size_t before = 0, after = 0;
    if (block->items[block->count - 1].end <= t->begin && block->kind == TR_MARKDOWN_CELL)
        return TR_OK; /* the head of the table */
    bool good = true, memory = tr_buffer_append(&meaning, "", 0);
    (void)error;
    for (size_t i = 0; i < block->count && memory; i++) {
        const tr_markdown_item *item = &block->items[i];
        const char *text = t->text.data;
        if (item->kind == TR_PIECE_TEXT) {
            const size_t begin = item->begin < t->begin ? t->begin : item->begin;
            const size_t end = item->end > t->end ? t->end : item->end;
            tr_buffer decoded = {0};
            memory = begin >= end || (tr_markdown_decode(text + begin, end - begin, &decoded) &&
                                      tr_markdown_append_meaning(&meaning, decoded.data, decoded.size));
            tr_buffer_free(&decoded);
        } else if (item->kind != TR_PIECE_SKIP) {
            before += item->end <= t->begin;
            after += item->begin >= t->end;
            const bool inside = item->begin >= t->begin && item->end <= t->end;
            good &= inside || item->end <= t->begin || item->begin >= t->end;
            memory = !inside || tr_markdown_append_mark(&meaning, item->kind, text + item->begin, item->end - item->begin);
        }
    }
    tr_markdown_end_meaning(&meaning);
    const size_t own = (w->place->at == TR_MARKDOWN_NEXT && w->place->kind != TR_MARKDOWN_CELL) + (*w->lead == 'x');
    t->good = good && !t->blocks++ && block->kind == (tr_markdown_kind)w->place->kind && before == w->place->before + own &&
              after == w->place->after && meaning.size == w->meaning.size &&
              memcmp(meaning.data, w->meaning.data, meaning.size) == 0;
    t->failed |= !memory;
    tr_buffer_free(&meaning);
    return TR_OK;
}

/* Whether body is read as it was meant. */
static bool survives(tr_markdown_writer *w)
{
    trial t = {.writer = w};
    const tr_markdown_reader reader = {compare_block, &t};
    tr_markdown_failed(w, make_trial(&t) && tr_markdown_scan(t.text.data, t.text.size, &reader, NULL) != TR_ERROR_MEMORY &&
                              !t.failed);
    tr_buffer_free(&t.text);
    return t.good && t.blocks == 1;
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

static tr_status write_unit(tr_markdown_writer *w, const tr_rendering *rendering, tr_buffer *out, tr_error *error)
{
    const tr_document *d = w->document;
    const tr_unit *unit = w->unit;
    w->lead = lead_of(w);
    w->line_start = starts_line(w);
    if (tr_markdown_failed(w, tr_markdown_take_parts(w, rendering)))
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
    tr_buffer_free(&w.text);
    tr_buffer_free(&w.body);
    tr_buffer_free(&w.meaning);
    tr_buffer_free(&w.stack);
    return status;
}
