/* XML of any kind. An element with text of its own is a paragraph, and the elements in it are marks; an element with only
 * elements in it is structure. A list in a paragraph (elements in lines of their own) divides it.
 *
 * translate="no", its:translate and xml:space="preserve" are heeded. Attributes are not translated. Some vocabularies have
 * elements whose text is not for people: SVG, XHTML, resources of .NET (resx) and of Android, which have escapes as well. */
#include "document/bytes.h"
#include "document/formats.h"
#include "document/xml_reader.h"

#include <string.h>
#include <strings.h>

enum { XML_ANDROID = 1 }; /* of tr_unit.style: text with the escapes of Android's strings.xml */

typedef enum vocabulary { VOCABULARY_ANY, VOCABULARY_PAGE, VOCABULARY_RESX, VOCABULARY_ANDROID } vocabulary;

/* What an element has, as the first reading finds it. */
enum { HAS_TEXT = 1, HAS_CHILD = 2, HAS_LINE_BREAK = 4 };

typedef enum frame_kind {
    FRAME_STRUCTURE,
    FRAME_PARAGRAPH,
    FRAME_MARKS,  /* within a paragraph: a pair of marks around text */
    FRAME_WHOLE,  /* within a paragraph: one mark or word with all that is in it */
    FRAME_IGNORED /* nothing in it is text */
} frame_kind;

typedef struct frame {
    frame_kind kind;
    bool translate, preserve;
    tr_piece_kind piece; /* WHOLE */
    size_t begin;        /* WHOLE */
} frame;

typedef struct xml_reader {
    tr_document *document;
    bool escaped; /* Android: a \ stands before what comes */
    vocabulary vocabulary;
    tr_buffer flags;                    /* [elements] of uint8_t HAS_... */
    size_t open[TR_XML_MAX_DEPTH + 1];  /* first reading: the index in flags of each open element */
    size_t next;                        /* second reading: of the next element */
    frame frames[TR_XML_MAX_DEPTH + 1]; /* second reading: of each open element; 0: around the root */
} xml_reader;

/* --------------------------------------------------------------------------------------------------------- first reading */

static bool is_white(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!tr_is_ascii_space(text[i]))
            return false;
    return true;
}

/* The flags that a piece of content gives to the element around it. */
static unsigned content_flags(const tr_document *d, const tr_xml_event *event)
{
    const char *text = d->data + event->begin;
    const size_t size = event->end - event->begin;
    switch (event->kind) {
    case TR_XML_TEXT:
        if (is_white(text, size))
            return memchr(text, '\n', size) ? HAS_LINE_BREAK : 0;
        return HAS_TEXT;
    case TR_XML_CDATA:
        return is_white(text + TR_XML_CDATA_OPEN, size - TR_XML_CDATA_OPEN - TR_XML_CDATA_CLOSE) ? 0 : HAS_TEXT;
    case TR_XML_ENTITY: return HAS_TEXT;
    default: return 0;
    }
}

static void find_vocabulary(xml_reader *r, const tr_xml_event *start)
{
    if (start->depth == 1 && strcmp(start->name, "resources") == 0)
        r->vocabulary = VOCABULARY_ANDROID;
    else if (start->depth == 1 && (strcmp(start->local, "svg") == 0 || strcmp(start->local, "html") == 0))
        r->vocabulary = VOCABULARY_PAGE;
    else if (start->depth == 2 && strcmp(start->name, "resheader") == 0)
        r->vocabulary = VOCABULARY_RESX;
}

static tr_status note_flags(void *argument, const tr_xml_event *event, tr_error *error)
{
    xml_reader *r = argument;
    unsigned flags = 0;
    int depth = event->depth;
    if (event->kind == TR_XML_START) {
        find_vocabulary(r, event);
        r->open[depth--] = r->flags.size;
        if (!tr_buffer_append(&r->flags, "", 1))
            return tr_fail_memory(error, r->document->name);
        flags = HAS_CHILD;
    } else if (event->kind != TR_XML_END) {
        flags = content_flags(r->document, event);
    }
    if (depth && flags)
        r->flags.data[r->open[depth]] |= (char)flags;
    return TR_OK;
}

/* -------------------------------------------------------------------------------------------------------- second reading */

static bool has_attribute(const xml_reader *r, const tr_xml_event *start, const char *name)
{
    size_t begin, end;
    return tr_xml_attribute(r->document, start->begin, start->end, name, &begin, &end);
}

/* Whether an element's text, and that of all in it, is for machines. */
static bool is_ignored(const xml_reader *r, const tr_xml_event *start)
{
    static const char ignored[] = " script style metadata ", android[] = " string string-array plurals ";
    char name[16] = " ";
    size_t begin, end;
    if (strlen(start->local) < sizeof name - 2)
        strcat(strcat(name, start->local), " ");
    switch (r->vocabulary) {
    case VOCABULARY_ANY: return false;
    case VOCABULARY_PAGE: return strlen(name) > 2 && strstr(ignored, name);
    case VOCABULARY_ANDROID: return start->depth == 2 && !(strlen(name) > 2 && strstr(android, name));
    case VOCABULARY_RESX: break;
    }
    if (start->depth == 3)
        return strcmp(start->name, "value") != 0;
    if (start->depth != 2)
        return false;
    if (strcmp(start->name, "data") != 0 || has_attribute(r, start, "type") || has_attribute(r, start, "mimetype"))
        return true;
    return tr_xml_attribute(r->document, start->begin, start->end, "name", &begin, &end) &&
           (r->document->data[begin] == '>' || strncmp(r->document->data + begin, "&gt;", 4) == 0);
}

static void read_attributes(const xml_reader *r, const tr_xml_event *start, frame *f)
{
    static const char *const names[] = {"translate", "its:translate", "translatable"};
    static const char *const no[] = {"no", "no", "false"}, *const yes[] = {"yes", "yes", "true"};
    if (!memchr(r->document->data + start->begin, '=', start->end - start->begin))
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (tr_xml_attribute_is(r->document, start, names[i], no[i]))
            f->translate = false;
        else if (tr_xml_attribute_is(r->document, start, names[i], yes[i]))
            f->translate = true;
    }
    if (r->vocabulary == VOCABULARY_ANDROID && strcmp(start->name, "xliff:g") == 0)
        f->translate = false;
    if (tr_xml_attribute_is(r->document, start, "xml:space", "preserve"))
        f->preserve = true;
    else if (tr_xml_attribute_is(r->document, start, "xml:space", "default"))
        f->preserve = false;
}

static tr_status edit_language(tr_document *d, size_t begin, size_t end, tr_error *error)
{
    return tr_edit_add(d, begin, end, d->settings.target_language, strlen(d->settings.target_language), error);
}

static tr_status begin_paragraph(xml_reader *r, const frame *f, tr_error *error)
{
    const uint32_t style = r->vocabulary == VOCABULARY_ANDROID ? XML_ANDROID : f->preserve ? 0 : TR_UNIT_COLLAPSES;
    return tr_unit_begin(r->document, style, error);
}

/* Ends a unit. If its words are one CDATA section, they are written as one. */
static void end_unit(xml_reader *r)
{
    tr_document *d = r->document;
    const size_t size = d->units.size;
    tr_unit_end(d);
    if (d->units.size < size)
        return;
    tr_unit *unit = (tr_unit *)(void *)(d->units.data + size) - 1;
    size_t begin = unit->begin;
    while (is_white(d->data + begin - 1, 1))
        begin--;
    if (begin >= TR_XML_CDATA_OPEN && memcmp(d->data + begin - TR_XML_CDATA_OPEN, "<![CDATA[", TR_XML_CDATA_OPEN) == 0)
        unit->style |= TR_XML_IN_CDATA;
}

/* Ends a paragraph. RSS: <language>zh-CN</language> is no text, but becomes the target language. */
static tr_status end_paragraph(xml_reader *r, const tr_xml_event *end, tr_error *error)
{
    tr_document *d = r->document;
    const size_t size = d->units.size;
    end_unit(r);
    if (strcmp(end->local, "language") != 0 || d->units.size < size)
        return TR_OK;
    const tr_unit unit = ((const tr_unit *)(const void *)(d->units.data + size))[-1];
    if (unit.count > 1 || !tr_is_source_language(d, d->data + unit.begin, unit.end - unit.begin))
        return TR_OK;
    d->units.size -= sizeof unit;
    return edit_language(d, unit.begin, unit.end, error);
}

static bool is_in_paragraph(const frame *f)
{
    return f->kind == FRAME_PARAGRAPH || f->kind == FRAME_MARKS;
}

/* An element within a paragraph becomes a mark, or divides the paragraph. */
static tr_status begin_inline(xml_reader *r, const tr_xml_event *event, const frame *around, unsigned flags, frame *f,
                              tr_error *error)
{
    const bool is_block = !(flags & HAS_TEXT) && (flags & HAS_CHILD) && (flags & HAS_LINE_BREAK);
    if (is_block && around->kind == FRAME_PARAGRAPH) {
        f->kind = FRAME_STRUCTURE;
        end_unit(r);
        return TR_OK;
    }
    f->begin = event->begin;
    f->kind = FRAME_WHOLE;
    f->piece = TR_PIECE_EMPTY;
    if (event->empty || is_ignored(r, event))
        return TR_OK;
    if (!f->translate) {
        f->piece = TR_PIECE_WORD;
        return TR_OK;
    }
    f->kind = FRAME_MARKS;
    return tr_unit_piece(r->document, TR_PIECE_OPEN, event->begin, event->end, error);
}

static tr_status begin_element(xml_reader *r, const tr_xml_event *event, tr_error *error)
{
    const frame *around = &r->frames[event->depth - 1];
    frame *f = &r->frames[event->depth];
    const unsigned flags = (unsigned char)r->flags.data[r->next++];
    *f = (frame){.kind = FRAME_IGNORED, .translate = around->translate, .preserve = around->preserve};
    if (around->kind == FRAME_WHOLE || around->kind == FRAME_IGNORED)
        return TR_OK;
    read_attributes(r, event, f);
    if (is_in_paragraph(around))
        return begin_inline(r, event, around, flags, f, error);
    if (is_ignored(r, event))
        return TR_OK;
    f->kind = (flags & HAS_TEXT) && f->translate ? FRAME_PARAGRAPH : FRAME_STRUCTURE;
    tr_status status = TR_OK;
    size_t begin, end;
    if (tr_xml_attribute(r->document, event->begin, event->end, "xml:lang", &begin, &end) &&
        tr_is_source_language(r->document, r->document->data + begin, end - begin))
        status = edit_language(r->document, begin, end, error);
    if (status == TR_OK && f->kind == FRAME_PARAGRAPH)
        status = begin_paragraph(r, f, error);
    return status;
}

static tr_status end_element(xml_reader *r, const tr_xml_event *event, tr_error *error)
{
    const frame *around = &r->frames[event->depth - 1], *f = &r->frames[event->depth];
    switch (f->kind) {
    case FRAME_STRUCTURE: return around->kind == FRAME_PARAGRAPH ? begin_paragraph(r, around, error) : TR_OK;
    case FRAME_PARAGRAPH: return end_paragraph(r, event, error);
    case FRAME_MARKS: return tr_unit_piece(r->document, TR_PIECE_CLOSE, event->begin, event->end, error);
    case FRAME_WHOLE: return tr_unit_piece(r->document, f->piece, f->begin, event->end, error);
    case FRAME_IGNORED: break;
    }
    return TR_OK;
}

/* Android: a " that no \ stands before is none of the text's characters, but a mark. */
static tr_status add_android_text(xml_reader *r, size_t begin, size_t end, tr_error *error)
{
    tr_document *d = r->document;
    tr_status status = TR_OK;
    for (size_t i = begin; i < end && status == TR_OK; i++) {
        const bool mark = d->data[i] == '"' && !r->escaped;
        r->escaped = d->data[i] == '\\' && !r->escaped;
        if (!mark)
            continue;
        status = tr_unit_piece(d, TR_PIECE_TEXT, begin, i, error);
        if (status == TR_OK)
            status = tr_unit_piece(d, TR_PIECE_EMPTY, i, i + 1, error);
        begin = i + 1;
    }
    return status == TR_OK ? tr_unit_piece(d, TR_PIECE_TEXT, begin, end, error) : status;
}

/* &lt; is text. White space that is written as a reference is a mark: it would be lost among other. */
static tr_status add_reference(xml_reader *r, size_t begin, size_t end, tr_error *error)
{
    tr_document *d = r->document;
    tr_buffer text = {0};
    if (!tr_xml_decode_value(d, begin, end, &text))
        return tr_fail_memory(error, d->name);
    const char c = *text.data;
    const bool is_android = r->vocabulary == VOCABULARY_ANDROID;
    const bool mark = is_white(&c, 1) || (is_android && c == '"' && !r->escaped);
    tr_buffer_free(&text);
    r->escaped = is_android && c == '\\' && !r->escaped;
    return tr_unit_piece(d, mark ? TR_PIECE_EMPTY : TR_PIECE_TEXT, begin, end, error);
}

/* A CDATA section is a pair of marks. */
static tr_status add_section(tr_document *d, size_t begin, size_t end, tr_error *error)
{
    const size_t from = begin + TR_XML_CDATA_OPEN, to = end - TR_XML_CDATA_CLOSE;
    tr_status status = tr_unit_piece(d, TR_PIECE_OPEN, begin, from, error);
    if (status == TR_OK)
        status = tr_unit_piece(d, TR_PIECE_TEXT, from, to, error);
    return status == TR_OK ? tr_unit_piece(d, TR_PIECE_CLOSE, to, end, error) : status;
}

static tr_status add_content(xml_reader *r, const tr_xml_event *event, tr_error *error)
{
    tr_document *d = r->document;
    switch (event->kind) {
    case TR_XML_CDATA: return add_section(d, event->begin, event->end, error);
    case TR_XML_ENTITY: return tr_unit_piece(d, TR_PIECE_WORD, event->begin, event->end, error);
    case TR_XML_TEXT: break;
    default: return tr_unit_piece(d, TR_PIECE_EMPTY, event->begin, event->end, error);
    }
    if (d->data[event->begin] == '&')
        return add_reference(r, event->begin, event->end, error);
    if (r->vocabulary == VOCABULARY_ANDROID)
        return add_android_text(r, event->begin, event->end, error);
    return tr_unit_piece(d, TR_PIECE_TEXT, event->begin, event->end, error);
}

static tr_status read_event(void *argument, const tr_xml_event *event, tr_error *error)
{
    xml_reader *r = argument;
    if (event->kind != TR_XML_TEXT)
        r->escaped = false;
    if (event->kind == TR_XML_START)
        return begin_element(r, event, error);
    if (event->kind == TR_XML_END)
        return end_element(r, event, error);
    return is_in_paragraph(&r->frames[event->depth]) ? add_content(r, event, error) : TR_OK;
}

static tr_status read_xml(tr_document *d, tr_error *error)
{
    xml_reader r = {.document = d, .frames = {{.kind = FRAME_STRUCTURE, .translate = true}}};
    tr_status status = tr_xml_edit_encoding(d, error);
    if (status == TR_OK)
        status = tr_xml_read(d, note_flags, &r, error);
    if (status == TR_OK)
        status = tr_xml_read(d, read_event, &r, error);
    tr_buffer_free(&r.flags);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------------ text */

/* Appends the character of the escape \uXXXX at text. Returns its size; 0: it is none. */
static size_t decode_code(const char *text, size_t size, tr_buffer *out)
{
    uint32_t code;
    const size_t taken = tr_read_escape(text, size, &code);
    const bool valid = (code >= ' ' || code == '\n' || code == '\t') && code != 0xFFFE && code != 0xFFFF;
    if (taken)
        out->size += tr_utf8_encode(valid ? code : 0xFFFD, out->data + out->size);
    return taken;
}

/* Android's escapes. Text is never longer than what stands for it. */
static bool decode_android(const char *text, size_t size, tr_buffer *out)
{
    if (!tr_buffer_reserve(out, size))
        return false;
    for (size_t i = 0; i < size; i++) {
        if (is_white(text + i, 1)) {
            if (!i || !is_white(text + i - 1, 1))
                out->data[out->size++] = ' ';
        } else if (text[i] != '\\' || i + 1 == size) {
            out->data[out->size++] = text[i];
        } else if (is_white(text + i + 1, 1)) {
            continue;
        } else {
            const size_t taken = decode_code(text + i, size - i, out);
            i += taken ? taken - 1 : 1;
            if (!taken)
                out->data[out->size++] = (char)(text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i]);
        }
    }
    out->data[out->size] = 0;
    return true;
}

static bool decode_text(const tr_document *d, const tr_unit *unit, uint32_t begin, uint32_t end, tr_buffer *text)
{
    if (!(unit->style & XML_ANDROID))
        return tr_xml_decode(d, unit, begin, end, text);
    tr_buffer escaped = {0};
    const bool good = tr_xml_decode(d, unit, begin, end, &escaped) && decode_android(escaped.data, escaped.size, text);
    tr_buffer_free(&escaped);
    return good;
}

/* Only spaces between other characters stay. At the beginning of a unit, @ and ? would be references. */
static bool escape_android(const char *text, size_t size, bool first, bool last, tr_buffer *out)
{
    bool good = true;
    for (size_t i = 0; i < size && good; i++) {
        const char c = text[i], escaped[3] = {'\\', (char)(c == '\n' ? 'n' : c == '\t' ? 't' : c), 0};
        if ((c && strchr("\\'\"\n\t", c)) || (first && !i && (c == '@' || c == '?')))
            good = tr_buffer_append(out, escaped, 2);
        else if (c == ' ' && (i ? text[i - 1] == ' ' || (last && i == size - 1) : first || is_white(text, size)))
            good = tr_buffer_string(out, "\\u0020");
        else
            good = tr_buffer_append(out, text + i, 1);
    }
    return good;
}

/* Text of a unit, at its beginning, its end, within a section. */
static bool append_text(const tr_document *d, const tr_rendering *rendering, size_t index, bool in_cdata, tr_buffer *out)
{
    const tr_part *part = &rendering->parts[index];
    tr_unit unit = *rendering->unit;
    unit.style |= in_cdata ? TR_XML_IN_CDATA : 0;
    if (!(unit.style & XML_ANDROID))
        return tr_xml_encode(d, &unit, part->text, part->size, out);
    tr_buffer escaped = {0};
    const bool good = escape_android(part->text, part->size, index == 0, index == rendering->count - 1, &escaped) &&
                      tr_xml_encode(d, &unit, escaped.data, escaped.size, out);
    tr_buffer_free(&escaped);
    return good;
}

static bool is_section(const tr_document *d, const tr_part *part)
{
    return d->data[part->piece->begin] == (part->kind == TR_PIECE_OPEN ? '<' : ']') &&
           d->data[part->piece->begin + 1] == (part->kind == TR_PIECE_OPEN ? '!' : ']');
}

/* Within a CDATA section there are no marks: it ends before each, and begins again after it. */
static tr_status render_xml(const tr_document *d, const tr_rendering *rendering, tr_buffer *out, tr_error *error)
{
    bool good = true, in_cdata = false;
    if (rendering->same)
        good = tr_buffer_append(out, d->data + rendering->unit->begin, rendering->unit->end - rendering->unit->begin);
    for (size_t i = 0; i < rendering->count && good && !rendering->same; i++) {
        const tr_part *part = &rendering->parts[i];
        if (part->kind == TR_PIECE_TEXT) {
            good = append_text(d, rendering, i, in_cdata, out);
        } else if ((part->kind == TR_PIECE_OPEN || part->kind == TR_PIECE_CLOSE) && is_section(d, part)) {
            in_cdata = part->kind == TR_PIECE_OPEN;
            good = tr_render_piece(d, part->piece, out);
        } else {
            good = (!in_cdata || tr_buffer_string(out, "]]>")) && tr_render_piece(d, part->piece, out) &&
                   (!in_cdata || tr_buffer_string(out, "<![CDATA["));
        }
    }
    return good ? TR_OK : tr_fail_memory(error, d->name);
}

const tr_document_format tr_format_xml = {
    .read = read_xml,
    .decode = decode_text,
    .render = render_xml,
};
