/* XLIFF 1.2 and 2.x, the exchange format of translation tools: <source> is translated into <target> beside it. A target that
 * is missing, empty or marked as not translated is written; others stay, and so do approved units.
 *
 * Elements around words (g, mrk, pc, and bpt with its ept) are pairs of marks; x and ph are words, since most stand for
 * variables, but empty marks if they say that they are something else; other codes are empty marks. What they hold, and
 * alternative translations, are left alone. */
#include "document/bytes.h"
#include "document/formats.h"
#include "document/xml_reader.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Where the parts of a unit are; ends are exclusive, 0: there is none. */
typedef struct xliff_place {
    uint32_t source, content, content_end, source_end; /* <source>, what is in it, after </source> */
    uint32_t target, target_tag_end, target_end;
    uint32_t insert;               /* where a target is written if there is none */
    uint32_t segment, segment_end; /* the tag <segment>: XLIFF 2 has the state there */
} xliff_place;

typedef struct xliff_frame {
    bool translate, preserve;
} xliff_frame;

/* A code that may be the first of a pair: bpt, bx, sc. */
typedef struct open_code {
    size_t piece; /* of tr_document.pieces */
    int depth;
    size_t id, id_end;
} open_code;

enum { MAX_OPEN_CODES = 64 };

/* The bits of tr_unit.style that tell the unit's xliff_place. They suffice: a unit has at least 37 bytes of 4 GiB. */
#define XLIFF_PLACE_MASK (TR_XML_IN_CDATA - 1)

typedef struct xliff_reader {
    tr_document *document;
    tr_buffer *places; /* of xliff_place; a unit's style tells its own */
    bool version2;
    xliff_frame frames[TR_XML_MAX_DEPTH + 1];

    /* The <trans-unit> or <segment> that is being read; depths of elements, 0: none is open. */
    int holder, in_source, in_target, in_whole;
    xliff_place place;
    bool has_source, has_target, target_has_text, is_new;

    size_t whole, whole_tag_end; /* in_whole: an element that is one piece */
    open_code codes[MAX_OPEN_CODES];
    size_t code_count;
} xliff_reader;

/* ----------------------------------------------------------------------------------------------------- content of sources
 */

/* Whether a code is not for a variable, but for a picture, a break or a tag. */
static bool is_format(const tr_document *d, size_t begin, size_t tag_end, size_t end)
{
    static const struct {
        const char *name, *start;
    } formats[] = {{"ctype", "image"},   {"ctype", "lb"},  {"ctype", "pb"},   {"type", "image"},
                   {"type", "fmt"},      {"disp", "&lt;"}, {"equiv", "&lt;"}, {"equiv-text", "&lt;"}, /* of Angular: */
                   {"id", "LINE_BREAK"}, {"id", "START_"}, {"id", "CLOSE_"},  {"id", "TAG_"}};
    size_t from, to;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (tr_xml_attribute(d, begin, tag_end, formats[i].name, &from, &to) &&
            tr_starts_with(d->data + from, to - from, formats[i].start))
            return true;
    return tr_starts_with(d->data + tag_end, end - tag_end, "&lt;") ||
           tr_starts_with(d->data + tag_end, end - tag_end, "<![CDATA[<");
}

/* Finds what the two codes of a pair have in common. */
static bool find_pair_id(const tr_document *d, const char *local, size_t begin, size_t end, size_t *id, size_t *id_end)
{
    if (strcmp(local, "ec") == 0)
        return tr_xml_attribute(d, begin, end, "startRef", id, id_end);
    return tr_xml_attribute(d, begin, end, "rid", id, id_end) || tr_xml_attribute(d, begin, end, "id", id, id_end);
}

/* Makes a pair of a code and the last open one, if they are in the same element and no other pair is between them. */
static tr_piece_kind pair_code(xliff_reader *r, const tr_xml_event *end, size_t begin, size_t tag_end)
{
    tr_document *d = r->document;
    const open_code *open = r->code_count ? &r->codes[r->code_count - 1] : NULL;
    size_t id, id_end;
    if (!open || open->depth != end->depth || !find_pair_id(d, end->local, begin, tag_end, &id, &id_end) ||
        id_end - id != open->id_end - open->id || memcmp(d->data + id, d->data + open->id, id_end - id) != 0)
        return TR_PIECE_EMPTY;
    ((tr_piece *)(void *)d->pieces.data)[open->piece].kind = TR_PIECE_OPEN;
    r->code_count--;
    return TR_PIECE_CLOSE;
}

/* Adds an element that is one piece. */
static tr_status add_whole(xliff_reader *r, const tr_xml_event *end, tr_error *error)
{
    tr_document *d = r->document;
    const size_t begin = r->whole, tag_end = r->whole_tag_end;
    tr_piece_kind kind = TR_PIECE_EMPTY;
    if (tr_list_has(" ept ex ec ", end->local, strlen(end->local)))
        kind = pair_code(r, end, begin, tag_end);
    else if (strcmp(end->local, "mrk") == 0 && !end->empty)
        kind = TR_PIECE_WORD;
    else if (tr_list_has(" x ph ", end->local, strlen(end->local)) && !is_format(d, begin, tag_end, end->begin))
        kind = TR_PIECE_WORD;
    r->in_whole = 0;
    const tr_status status = tr_unit_piece(d, kind, begin, end->end, error);
    open_code code = {.piece = d->pieces.size / sizeof(tr_piece) - 1, .depth = end->depth};
    if (status == TR_OK && tr_list_has(" bpt bx sc ", end->local, strlen(end->local)) && r->code_count < MAX_OPEN_CODES &&
        find_pair_id(d, end->local, begin, tag_end, &code.id, &code.id_end))
        r->codes[r->code_count++] = code;
    return status;
}

static tr_status read_source(xliff_reader *r, const tr_xml_event *event, tr_error *error)
{
    tr_document *d = r->document;
    const bool is_tag = event->kind == TR_XML_START || event->kind == TR_XML_END;
    if (r->in_whole)
        return event->kind == TR_XML_END && event->depth == r->in_whole ? add_whole(r, event, error) : TR_OK;
    if (!is_tag)
        return tr_unit_piece(d,
                             event->kind == TR_XML_ENTITY  ? TR_PIECE_WORD
                             : event->kind == TR_XML_OTHER ? TR_PIECE_SKIP
                                                           : TR_PIECE_TEXT,
                             event->begin, event->end, error);
    if (event->kind == TR_XML_END) {
        while (r->code_count && r->codes[r->code_count - 1].depth > event->depth)
            r->code_count--;
        return tr_unit_piece(d, TR_PIECE_CLOSE, event->begin, event->end, error);
    }
    const bool is_pair = tr_list_has(" g mrk pc ", event->local, strlen(event->local)) && !event->empty &&
                         !tr_xml_attribute_is(d, event, "mtype", "protected") &&
                         !tr_xml_attribute_is(d, event, "translate", "no");
    if (is_pair)
        return tr_unit_piece(d, TR_PIECE_OPEN, event->begin, event->end, error);
    r->in_whole = event->depth;
    r->whole = event->begin;
    r->whole_tag_end = event->end;
    return TR_OK;
}

/* ------------------------------------------------------------------------------------------------------------------ units
 */

static bool is_language(const tr_document *d, size_t begin, size_t end, const char *language)
{
    const size_t size = strlen(language);
    return end - begin >= size && strncasecmp(d->data + begin, language, size) == 0 &&
           (end - begin == size || d->data[begin + size] == '-');
}

/* Where an attribute can be added to a tag: before > or />. */
static size_t tag_inside_end(const char *data, size_t end)
{
    return end - (data[end - 2] == '/' ? 2 : 1);
}

static tr_status edit_language(xliff_reader *r, const tr_xml_event *start, const char *name, tr_error *error)
{
    tr_document *d = r->document;
    const char *language = d->settings.target_language;
    size_t begin, end;
    tr_buffer text = {0};
    if (!language)
        return TR_OK;
    const bool found = tr_xml_attribute(d, start->begin, start->end, name, &begin, &end);
    if (found && is_language(d, begin, end, language))
        return TR_OK;
    if (!found)
        begin = end = tag_inside_end(d->data, start->end);
    const bool good =
        (found || (tr_buffer_string(&text, " ") && tr_buffer_string(&text, name) && tr_buffer_string(&text, "=\""))) &&
        tr_xml_encode_value(language, strlen(language), &text) && (found || tr_buffer_string(&text, "\""));
    const tr_status status = good ? tr_edit_add(d, begin, end, text.data, text.size, error) : tr_fail_memory(error, d->name);
    tr_buffer_free(&text);
    return status;
}

static tr_status begin_child(xliff_reader *r, const tr_xml_event *event, tr_error *error)
{
    tr_document *d = r->document;
    xliff_place *place = &r->place;
    if (strcmp(event->local, "source") == 0 && !r->has_source && !event->empty) {
        r->has_source = true;
        r->in_source = event->depth;
        place->source = (uint32_t)event->begin;
        place->content = (uint32_t)event->end;
        return tr_unit_begin(d, r->frames[event->depth].preserve ? 0 : TR_UNIT_COLLAPSES, error);
    }
    if (strcmp(event->local, "target") == 0 && r->has_source && !r->has_target) {
        r->has_target = true;
        r->in_target = event->depth;
        if (!place->segment)
            r->is_new =
                tr_xml_attribute_is(d, event, "state", "new") || tr_xml_attribute_is(d, event, "state", "needs-translation");
        place->target = (uint32_t)event->begin;
        place->target_tag_end = (uint32_t)event->end;
    }
    return TR_OK;
}

static tr_status begin_element(xliff_reader *r, const tr_xml_event *event, tr_error *error)
{
    tr_document *d = r->document;
    xliff_frame *f = &r->frames[event->depth];
    const bool is_segment = strcmp(event->local, "segment") == 0;
    if (tr_xml_attribute_is(d, event, "xml:space", "preserve"))
        f->preserve = true;
    else if (tr_xml_attribute_is(d, event, "xml:space", "default"))
        f->preserve = false;
    if (tr_xml_attribute_is(d, event, "translate", "no"))
        f->translate = false;
    else if (tr_xml_attribute_is(d, event, "translate", "yes"))
        f->translate = true;
    if (event->depth == 1) {
        size_t begin, end;
        if (strcmp(event->local, "xliff") != 0)
            return tr_document_fail(d, event->begin, error, "the root element is %s, not xliff", event->name);
        r->version2 = tr_xml_attribute(d, event->begin, event->end, "version", &begin, &end) && d->data[begin] == '2';
        return r->version2 ? edit_language(r, event, "trgLang", error) : TR_OK;
    }
    if (r->holder)
        return event->depth == r->holder + 1 ? begin_child(r, event, error) : TR_OK;
    if (!r->version2 && strcmp(event->local, "file") == 0)
        return edit_language(r, event, "target-language", error);
    if (!(is_segment || strcmp(event->local, "trans-unit") == 0) || event->empty || !f->translate ||
        tr_xml_attribute_is(d, event, "approved", "yes"))
        return TR_OK;
    r->holder = event->depth;
    r->place = (xliff_place){0};
    r->has_source = r->has_target = r->target_has_text = false;
    r->is_new = is_segment && tr_xml_attribute_is(d, event, "state", "initial");
    r->code_count = 0;
    if (is_segment) {
        r->place.segment = (uint32_t)event->begin;
        r->place.segment_end = (uint32_t)event->end;
    }
    return TR_OK;
}

/* Ends a unit, or drops it if its target is finished; rewrite means those, too. */
static tr_status end_holder(xliff_reader *r, tr_error *error)
{
    tr_document *d = r->document;
    const xliff_place *place = &r->place;
    const size_t size = d->units.size;
    r->holder = 0;
    if (!r->has_source)
        return TR_OK;
    if (r->has_target && r->target_has_text && !r->is_new && !d->settings.rewrite) {
        tr_unit_drop(d);
        return TR_OK;
    }
    tr_unit_end(d);
    if (d->units.size < size)
        return TR_OK;
    tr_unit *unit = (tr_unit *)(void *)(d->units.data + size) - 1;
    unit->end = r->has_target ? place->target_end : place->insert;
    unit->begin = place->segment ? place->segment : r->has_target ? place->target : unit->end;
    unit->style |= (uint32_t)(r->places->size / sizeof *place);
    return tr_buffer_append(r->places, place, sizeof *place) ? TR_OK : tr_fail_memory(error, d->name);
}

static tr_status end_element(xliff_reader *r, const tr_xml_event *event, tr_error *error)
{
    if (event->depth == r->in_source) {
        r->in_source = 0;
        r->place.content_end = (uint32_t)event->begin;
        r->place.source_end = r->place.insert = (uint32_t)event->end;
    } else if (event->depth == r->in_target) {
        r->in_target = 0;
        r->place.target_end = (uint32_t)(event->empty ? r->place.target_tag_end : event->end);
    } else if (r->holder && event->depth == r->holder + 1 && strcmp(event->local, "seg-source") == 0) {
        r->place.insert = (uint32_t)event->end;
    } else if (r->holder && event->depth == r->holder) {
        return end_holder(r, error);
    }
    return TR_OK;
}

static bool has_words(const tr_document *d, const tr_xml_event *event)
{
    for (size_t i = event->begin; i < event->end; i++)
        if (!memchr(" \t\r\n", d->data[i], 4))
            return true;
    return false;
}

static tr_status read_event(void *argument, const tr_xml_event *event, tr_error *error)
{
    xliff_reader *r = argument;
    if (event->kind == TR_XML_START)
        r->frames[event->depth] = r->frames[event->depth - 1];
    if (r->in_source && (event->kind != TR_XML_END || event->depth != r->in_source))
        return read_source(r, event, error);
    if (event->kind == TR_XML_START)
        return begin_element(r, event, error);
    if (event->kind == TR_XML_END)
        return end_element(r, event, error);
    if (r->in_target && event->kind != TR_XML_OTHER)
        r->target_has_text = r->target_has_text || has_words(r->document, event);
    return TR_OK;
}

static tr_status read_xliff(tr_document *d, tr_error *error)
{
    xliff_reader r = {.document = d, .frames = {{.translate = true}}};
    tr_status status = tr_xml_edit_encoding(d, error);
    d->state = r.places = calloc(1, sizeof *r.places);
    if (!d->state)
        return tr_fail_memory(error, d->name);
    return status == TR_OK ? tr_xml_read(d, read_event, &r, error) : status;
}

static void close_xliff(void *state)
{
    tr_buffer_free(state);
    free(state);
}

/* --------------------------------------------------------------------------------------------------------------- targets */

/* Sets an attribute of a start tag; value NULL: removes it. */
static bool set_attribute(tr_buffer *tag, const char *name, const char *value)
{
    const tr_document scratch = {.data = tag->data};
    tr_buffer out = {0};
    size_t begin, end;
    bool good = true;
    if (!tr_xml_attribute(&scratch, 0, tag->size, name, &begin, &end)) {
        if (!value)
            return true;
        begin = end = tag_inside_end(tag->data, tag->size);
        good = tr_buffer_append(&out, tag->data, begin) && tr_buffer_string(&out, " ") && tr_buffer_string(&out, name) &&
               tr_buffer_string(&out, "=\"") && tr_xml_encode_value(value, strlen(value), &out) &&
               tr_buffer_string(&out, "\"");
    } else if (value) {
        good = tr_buffer_append(&out, tag->data, begin) && tr_xml_encode_value(value, strlen(value), &out);
    } else {
        while (tag->data[begin] != '=')
            begin--;
        while (tag->data[begin] != name[strlen(name) - 1])
            begin--;
        good = tr_buffer_append(&out, tag->data, begin - strlen(name)); /* the white space before it goes, too */
        end++;
    }
    good = good && tr_buffer_append(&out, tag->data + end, tag->size - end);
    tr_buffer_free(tag);
    *tag = out;
    return good;
}

/* Appends the line break and indentation before <source>. */
static bool append_indentation(const tr_document *d, const xliff_place *place, tr_buffer *out)
{
    size_t begin = place->source;
    while (begin && (d->data[begin - 1] == ' ' || d->data[begin - 1] == '\t'))
        begin--;
    if (!begin || d->data[begin - 1] != '\n')
        return true;
    begin -= begin > 1 && d->data[begin - 2] == '\r' ? 2 : 1;
    return tr_buffer_append(out, d->data + begin, place->source - begin);
}

/* Appends <target ...>, and sets *name to its name. */
static bool append_target_tag(const tr_document *d, const xliff_place *place, const char *state, tr_buffer *name,
                              tr_buffer *out)
{
    const char *language = d->settings.target_language;
    const size_t from = (place->target ? place->target : place->source) + 1;
    size_t size = 0;
    tr_buffer tag = {0};
    while (!memchr(" \t\r\n/>", d->data[from + size], 6))
        size++;
    bool good = tr_buffer_append(name, d->data + from, size);
    if (place->target) {
        good = good && tr_buffer_append(&tag, d->data + place->target, place->target_tag_end - place->target);
        if (good && tag.data[tag.size - 2] == '/') {
            tag.size -= 2;
            good = tr_buffer_string(&tag, ">");
        }
    } else {
        name->size -= good ? strlen("source") : 0;
        good = good && tr_buffer_string(name, "target") && append_indentation(d, place, out) &&
               tr_buffer_string(&tag, "<") && tr_buffer_append(&tag, name->data, name->size) && tr_buffer_string(&tag, ">");
        if (good && !place->segment && language)
            good = set_attribute(&tag, "xml:lang", language);
    }
    if (good && !place->segment)
        good = set_attribute(&tag, "state", state) && set_attribute(&tag, "state-qualifier", "mt-suggestion");
    good = good && tr_buffer_append(out, tag.data, tag.size);
    tr_buffer_free(&tag);
    return good;
}

static bool append_target(const tr_document *d, const xliff_place *place, const tr_rendering *rendering, const char *state,
                          tr_buffer *out)
{
    const tr_piece *pieces = tr_unit_pieces(d, rendering->unit);
    const size_t begin = pieces[0].begin, end = pieces[rendering->unit->count - 1].end;
    tr_buffer name = {0};
    const bool good = append_target_tag(d, place, state, &name, out) &&
                      tr_buffer_append(out, d->data + place->content, begin - place->content) &&
                      tr_render_parts(d, rendering->unit, rendering->parts, rendering->count, out) &&
                      tr_buffer_append(out, d->data + end, place->content_end - end) && tr_buffer_string(out, "</") &&
                      tr_buffer_append(out, name.data, name.size) && tr_buffer_string(out, ">");
    tr_buffer_free(&name);
    return good;
}

/* Appends the tag <segment>, whose state is that of the target, and what is between it and the target. */
static bool append_segment(const tr_document *d, const xliff_place *place, const char *state, tr_buffer *out)
{
    const size_t end = place->target ? place->target : place->insert;
    tr_buffer tag = {0};
    const bool good = tr_buffer_append(&tag, d->data + place->segment, place->segment_end - place->segment) &&
                      set_attribute(&tag, "subState", NULL) && set_attribute(&tag, "state", state) &&
                      tr_buffer_append(out, tag.data, tag.size) &&
                      tr_buffer_append(out, d->data + place->segment_end, end - place->segment_end);
    tr_buffer_free(&tag);
    return good;
}

static tr_status render_xliff(const tr_document *d, const tr_rendering *rendering, tr_buffer *out, tr_error *error)
{
    const tr_buffer *places = d->state;
    const xliff_place *place = (const xliff_place *)(const void *)places->data + (rendering->unit->style & XLIFF_PLACE_MASK);
    const bool doubtful = rendering->translation.flags & TR_FLAG_DOUBTFUL;
    const char *state = !doubtful ? "translated" : place->segment ? "initial" : "needs-review-translation";
    const bool good =
        (!place->segment || append_segment(d, place, state, out)) && append_target(d, place, rendering, state, out);
    return good ? TR_OK : tr_fail_memory(error, d->name);
}

const tr_document_format tr_format_xliff = {
    .read = read_xliff,
    .decode = tr_xml_decode,
    .encode = tr_xml_encode,
    .render = render_xliff,
    .close = close_xliff,
};
