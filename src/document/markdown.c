/* Markdown: CommonMark with GitHub's tables, task lists and strikethrough, read by md4c.
 *
 * Units are headings, cells of tables, and the parts of paragraphs between hard line breaks. Code, HTML blocks, link
 * reference definitions and what stands before the text between --- or +++ are left as they are. Where a translation
 * cannot stand as Markdown (it would be read as something else, however it is escaped), the text stays. */
#include "document/formats.h"
#include "document/markdown.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------------- what text means */

/* Whether white space begin .. end is a line break between two Chinese or Japanese characters, which stands for nothing.
 * Marks may be between, but not on both sides. */
static bool is_nothing(const tr_document *d, const tr_unit *unit, uint32_t begin, uint32_t end)
{
    const tr_piece *pieces = tr_unit_pieces(d, unit);
    const uint32_t first = pieces[0].begin, last = pieces[unit->count - 1].end;
    size_t length;
    if (!memchr(d->data + begin, '\n', end - begin))
        return false;
    while (begin > first && strchr("*_~", d->data[begin - 1]))
        begin--;
    while (end < last && strchr("*_~ \t>", d->data[end]))
        end++;
    if (begin == first || end >= last)
        return false;
    const size_t before = tr_character_before(d->data, begin);
    return tr_is_cjk(tr_utf8_decode(d->data + before, begin - before, &length)) &&
           tr_is_cjk(tr_utf8_decode(d->data + end, last - end, &length));
}

/* White space is one space. (TR_UNIT_COLLAPSES would take those on both sides of a picture for one.) */
static bool decode_text(const tr_document *d, const tr_unit *unit, uint32_t begin, uint32_t end, tr_buffer *text)
{
    bool good = true;
    for (uint32_t i = begin; i < end && good;) {
        uint32_t to = i;
        while (to < end && !tr_is_ascii_space(d->data[to]))
            to++;
        good = tr_markdown_decode(d->data + i, to - i, text);
        bool newline = false; /* then come quotes */
        for (i = to; to < end && (tr_is_ascii_space(d->data[to]) || (newline && d->data[to] == '>')); to++)
            newline |= d->data[to] == '\n' || d->data[to] == '\r';
        if (to > i && !((i > begin || to < end) && is_nothing(d, unit, i, to)))
            good = good && tr_buffer_append(text, " ", 1);
        i = to;
    }
    return good;
}

/* ----------------------------------------------------------------------------------------------------------------- units */

typedef struct reading {
    tr_document *document;
    tr_markdown_state *state;
    uint32_t base; /* what is scanned begins there */
    const tr_markdown_block *block;
} reading;

/* Whether a heading is underlined: its words do not follow #. */
static bool is_setext(const tr_document *d, uint32_t begin)
{
    while (begin && (d->data[begin - 1] == ' ' || d->data[begin - 1] == '\t'))
        begin--;
    return !begin || d->data[begin - 1] != '#';
}

/* Whether | stands before a cell. */
static bool follows_pipe(const tr_document *d, uint32_t begin)
{
    while (begin && tr_markdown_is_blank(d->data[begin - 1]))
        begin--;
    return begin && d->data[begin - 1] == '|';
}

/* The words of "[words]" or "[words][]" are also a label. */
static void include_label(const tr_document *d, tr_unit *unit, tr_markdown_place *place)
{
    if (unit->begin == place->begin || unit->end == place->end || d->data[unit->begin - 1] != '[' ||
        d->data[unit->end] != ']')
        return;
    const uint32_t after = unit->end + 1;
    const bool collapsed = place->end - after >= 2 && memcmp(d->data + after, "[]", 2) == 0;
    if (!collapsed && after < place->end && (d->data[after] == '(' || d->data[after] == '['))
        return;
    place->label = unit->end;
    unit->end = after + (collapsed ? 2 : 0);
}

static uint32_t line_break_end(const tr_document *d, uint32_t begin, uint32_t end)
{
    while (begin < end && tr_is_ascii_space(d->data[begin]))
        begin++;
    return begin;
}

/* A line break between marks before all words is left as it is, and its unit with it if more than marks and spaces would
 * have to move. */
static bool drop_skipping(tr_document *d)
{
    const tr_unit *unit = (const tr_unit *)(const void *)(d->units.data + d->units.size) - 1;
    const tr_piece *pieces = tr_unit_pieces(d, unit);
    bool skips = false;
    for (uint32_t i = 0; i < unit->count; i++)
        skips |= pieces[i].kind == TR_PIECE_SKIP;
    if (skips) {
        d->in_unit = true;
        tr_unit_drop(d);
    }
    return skips;
}

/* Adds the unit of items first .. last. */
static tr_status add_unit(const reading *r, size_t first, size_t last, tr_markdown_position at, tr_error *error)
{
    tr_document *d = r->document;
    const tr_markdown_item *items = r->block->items;
    const size_t units = d->units.size;
    if (first == last)
        return TR_OK;
    tr_markdown_place place = {.begin = r->base + items[first].begin,
                               .end = r->base + items[last - 1].end,
                               .kind = (uint8_t)r->block->kind,
                               .at = (uint8_t)at};
    place.alone = first == 0 && last == r->block->count;
    place.last = last == r->block->count;
    place.bare = place.kind == TR_MARKDOWN_CELL && at == TR_MARKDOWN_FIRST && !follows_pipe(d, place.begin);
    place.whole = place.alone && !r->block->tight && place.kind != TR_MARKDOWN_CELL;
    place.setext = place.kind == TR_MARKDOWN_HEADING && is_setext(d, r->base + items[0].begin);
    tr_status status = tr_unit_begin(d, 0, error);
    size_t words = first, words_end = last;
    while (words < last && items[words].tag != TR_MARKDOWN_TEXT)
        words++;
    while (words_end > words && items[words_end - 1].tag != TR_MARKDOWN_TEXT)
        words_end--;
    for (size_t i = first; i < last && status == TR_OK; i++) {
        const bool beside = items[i].tag == TR_MARKDOWN_LINE && (i < words || i >= words_end);
        const uint32_t begin = r->base + items[i].begin, end = r->base + items[i].end;
        const uint32_t line = beside ? line_break_end(d, begin, end) : end;
        status = tr_unit_piece(d, (tr_piece_kind)items[i].kind, begin, line, error);
        if (status == TR_OK)
            status = tr_unit_piece(d, TR_PIECE_SKIP, line, end, error);
    }
    if (status != TR_OK)
        return status;
    tr_unit_end(d);
    if (d->units.size == units || drop_skipping(d))
        return TR_OK;
    tr_unit *unit = (tr_unit *)(void *)(d->units.data + units);
    include_label(d, unit, &place);
    return tr_buffer_append(&r->state->places, &place, sizeof place) ? TR_OK : tr_fail_memory(error, d->name);
}

/* Whether all words of items are descriptions of pictures; then each of these is a unit. */
static bool is_pictures(const reading *r)
{
    size_t pictures = 0;
    for (size_t i = 0; i < r->block->count; i++) {
        const tr_markdown_item *item = &r->block->items[i];
        if (item->tag == TR_MARKDOWN_IMAGE)
            pictures += item->kind == TR_PIECE_OPEN ? 1 : (size_t)-1;
        else if (!pictures && (item->kind == TR_PIECE_WORD || item->tag == TR_MARKDOWN_TEXT))
            for (uint32_t k = item->begin; k < item->end; k++)
                if (!strchr(" \t", r->document->data[r->base + k]))
                    return false;
    }
    return true;
}

static tr_status add_pictures(const reading *r, tr_error *error)
{
    tr_status status = TR_OK;
    size_t first = 0, depth = 0;
    for (size_t i = 0; i < r->block->count && status == TR_OK; i++) {
        const tr_markdown_item *item = &r->block->items[i];
        if (item->tag != TR_MARKDOWN_IMAGE)
            continue;
        if (item->kind == TR_PIECE_OPEN && !depth++)
            first = i;
        else if (item->kind == TR_PIECE_CLOSE && !--depth)
            status = add_unit(r, first, i + 1, TR_MARKDOWN_PICTURE, error);
    }
    return status;
}

static bool is_line_tag(const tr_document *d, uint32_t begin)
{
    return d->size - begin > 3 && (d->data[begin + 1] | 0x20) == 'b' && (d->data[begin + 2] | 0x20) == 'r' &&
           !tr_is_ascii_word(d->data[begin + 3]);
}

/* Adds the units of a block that line breaks divide. */
static tr_status add_parts(const reading *r, tr_error *error)
{
    const tr_markdown_block *block = r->block;
    const tr_markdown_item *items = block->items;
    size_t first = 0, depth = 0;
    tr_markdown_position at = TR_MARKDOWN_FIRST;
    tr_status status = TR_OK;
    for (size_t i = 0; i < block->count && status == TR_OK; i++) {
        const bool tag = items[i].tag == TR_MARKDOWN_HTML && is_line_tag(r->document, r->base + items[i].begin);
        depth += items[i].kind == TR_PIECE_OPEN;
        depth -= items[i].kind == TR_PIECE_CLOSE;
        if (depth || (!tag && items[i].tag != TR_MARKDOWN_BREAK))
            continue;
        status = add_unit(r, first, i, at, error);
        first = i + 1;
        at = tag ? TR_MARKDOWN_WITHIN : TR_MARKDOWN_NEXT;
    }
    return status == TR_OK ? add_unit(r, first, block->count, at, error) : status;
}

/* What else is parsed again with the units of a block, from number `first` on: each other, since marks without partners in
 * one may become partners of those in another. */
static void set_parsed(const reading *r, size_t first)
{
    enum { MOST = 16 }; /* of very many, groups, for linear time */
    tr_markdown_place *places = (tr_markdown_place *)(void *)r->state->places.data;
    const size_t count = r->state->places.size / sizeof *places;
    for (size_t i = first; i < count; i += MOST) {
        const size_t end = count - i > MOST ? i + MOST : count;
        for (size_t k = i; k < end; k++) {
            places[k].from = i > first ? places[i].begin : r->base + r->block->items[0].begin;
            places[k].from_at = i > first ? places[i].at : TR_MARKDOWN_FIRST;
            places[k].to = end < count ? places[end - 1].end : r->base + r->block->items[r->block->count - 1].end;
        }
    }
}

static tr_status read_block(void *argument, const tr_markdown_block *block, tr_error *error)
{
    reading *r = argument;
    r->block = block;
    const size_t first = r->state->places.size / sizeof(tr_markdown_place);
    const tr_status status = is_pictures(r) ? add_pictures(r, error) : add_parts(r, error);
    if (status == TR_OK)
        set_parsed(r, first);
    return status;
}

/* The end of what stands before the text between lines --- or +++; 0: there is none. */
static uint32_t front_matter_end(const tr_document *d)
{
    uint32_t begin = d->size >= 3 && memcmp(d->data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    const char *sign = d->data + begin;
    if (d->size - begin < 4 || (memcmp(sign, "---", 3) != 0 && memcmp(sign, "+++", 3) != 0))
        return begin;
    for (uint32_t at = begin, end; at < d->size; at = end + 1) {
        const char *newline = memchr(d->data + at, '\n', d->size - at);
        end = newline ? (uint32_t)(newline - d->data) : d->size;
        uint32_t words = end;
        while (words > at && strchr(" \t\r", d->data[words - 1]))
            words--;
        const bool is_sign = words - at == 3 && memcmp(d->data + at, sign, 3) == 0;
        if (at == begin && !is_sign)
            return begin;
        if (at > begin && is_sign)
            return end < d->size ? end + 1 : end;
        /* A line of text after --- is no front matter but a paragraph after a thematic break. */
        if (at > begin && words == at && at == begin + 4)
            return begin;
    }
    return begin;
}

static bool has_references(const tr_document *d, uint32_t at)
{
    for (const char *c; at < d->size && (c = memchr(d->data + at, ']', d->size - at)) != NULL;) {
        at = (uint32_t)(c - d->data) + 1;
        if (at < d->size && d->data[at] == ':')
            return true;
    }
    return false;
}

static tr_status read_markdown(tr_document *d, tr_error *error)
{
    tr_status status = tr_document_check_content(d, d->size, error);
    if (status != TR_OK)
        return status;
    tr_markdown_state *state = d->state = calloc(1, sizeof *state);
    if (!state)
        return tr_fail_memory(error, d->name);
    reading r = {d, state, front_matter_end(d), NULL};
    const tr_markdown_reader reader = {read_block, &r};
    state->references = has_references(d, r.base);
    status = tr_markdown_scan(d->data + r.base, d->size - r.base, &reader, error);
    return status == TR_OK ? TR_OK : tr_fail_in(error, status, d->name);
}

static void close_markdown(void *state)
{
    tr_markdown_state *s = state;
    tr_buffer_free(&s->places);
    free(s);
}

const tr_document_format tr_format_markdown = {
    .read = read_markdown,
    .decode = decode_text,
    .render = tr_markdown_render,
    .close = close_markdown,
};
