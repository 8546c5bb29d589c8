#include "document/xml_reader.h"

#include <expat.h>
#include <string.h>

static const char cdata_open[] = "<![CDATA[", cdata_close[] = "]]>";
enum { CDATA_OPEN = TR_XML_CDATA_OPEN, CDATA_CLOSE = TR_XML_CDATA_CLOSE, CHUNK = 1 << 16, MAX_CHUNK = 1 << 29 };

/* ---------------------------------------------------------------------------------------------------------------- events */

typedef struct reader {
    const tr_document *document;
    XML_Parser parser;
    tr_xml_handler handler;
    void *argument;
    tr_error *error;
    tr_status status;
    int depth;
    bool in_cdata, empty; /* empty: the last tag was <br/>, whose end comes next */
    size_t cdata;         /* where the CDATA section begins */
    size_t count;         /* events and other signs of progress */
} reader;

/* Sets the place of expat's current event. */
static void find_place(reader *r, tr_xml_event *event)
{
    event->begin = (size_t)XML_GetCurrentByteIndex(r->parser);
    event->end = event->begin + (size_t)XML_GetCurrentByteCount(r->parser);
    r->count++;
}

/* expat may call handlers after it has been told to stop. */
static void emit(reader *r, const tr_xml_event *event)
{
    if (r->status == TR_OK)
        r->status = r->handler(r->argument, event, r->error);
    if (r->status != TR_OK)
        XML_StopParser(r->parser, XML_FALSE);
}

static const char *local_name(const char *name)
{
    const char *colon = strchr(name, ':');
    return colon ? colon + 1 : name;
}

static void XMLCALL on_start(void *argument, const XML_Char *name, const XML_Char **attributes)
{
    reader *r = argument;
    tr_xml_event event = {.kind = TR_XML_START, .name = name, .local = local_name(name), .depth = ++r->depth};
    (void)attributes;
    find_place(r, &event);
    r->empty = event.empty = r->document->data[event.end - 2] == '/';
    if (r->depth > TR_XML_MAX_DEPTH && r->status == TR_OK)
        r->status =
            tr_document_fail(r->document, event.begin, r->error, "elements are nested more than %d deep", TR_XML_MAX_DEPTH);
    emit(r, &event);
}

static void XMLCALL on_end(void *argument, const XML_Char *name)
{
    reader *r = argument;
    tr_xml_event event = {
        .kind = TR_XML_END, .name = name, .local = local_name(name), .depth = r->depth--, .empty = r->empty};
    find_place(r, &event);
    if (r->empty)
        event.end = event.begin;
    r->empty = false;
    emit(r, &event);
}

static void emit_place(reader *r, tr_xml_kind kind)
{
    tr_xml_event event = {.kind = kind, .depth = r->depth};
    find_place(r, &event);
    if (r->depth && !r->in_cdata)
        emit(r, &event);
}

static void XMLCALL on_text(void *argument, const XML_Char *text, int size)
{
    (void)text;
    (void)size;
    emit_place(argument, TR_XML_TEXT);
}

static void XMLCALL on_cdata_start(void *argument)
{
    reader *r = argument;
    r->cdata = (size_t)XML_GetCurrentByteIndex(r->parser);
    r->in_cdata = true;
}

static void XMLCALL on_cdata_end(void *argument)
{
    reader *r = argument;
    tr_xml_event event = {.kind = TR_XML_CDATA, .depth = r->depth};
    find_place(r, &event);
    event.begin = r->cdata;
    r->in_cdata = false;
    emit(r, &event);
}

static void XMLCALL on_comment(void *argument, const XML_Char *text)
{
    (void)text;
    emit_place(argument, TR_XML_OTHER);
}

static void XMLCALL on_instruction(void *argument, const XML_Char *target, const XML_Char *text)
{
    (void)target;
    (void)text;
    emit_place(argument, TR_XML_OTHER);
}

/* Gets entities in content, which expat does not replace since there is this handler, and all that has no other. */
static void XMLCALL on_default(void *argument, const XML_Char *text, int size)
{
    if (size > 1 && *text == '&')
        emit_place(argument, TR_XML_ENTITY);
}

static tr_status fail_reading(const reader *r)
{
    const enum XML_Error code = XML_GetErrorCode(r->parser);
    const XML_Index at = XML_GetCurrentByteIndex(r->parser);
    if (r->status != TR_OK)
        return r->status;
    if (code == XML_ERROR_NO_MEMORY)
        return tr_fail_memory(r->error, r->document->name);
    return tr_document_fail(r->document, at < 0 ? 0 : (size_t)at, r->error, "%s", XML_ErrorString(code));
}

/* In chunks, since expat copies each. A token longer than a chunk is scanned again with the next one: chunks grow until it
 * ends, so that the time stays linear. */
static tr_status parse_chunks(reader *r)
{
    const tr_document *d = r->document;
    size_t chunk = CHUNK;
    for (size_t at = 0;;) {
        const size_t count = r->count, size = d->size - at < chunk ? d->size - at : chunk;
        const bool last = at + size == d->size;
        if (XML_Parse(r->parser, d->size ? d->data + at : "", (int)size, last) != XML_STATUS_OK)
            return fail_reading(r);
        if (last)
            return TR_OK;
        at += size;
        if (r->count > count)
            chunk = CHUNK;
        else if (chunk < MAX_CHUNK)
            chunk *= 2;
    }
}

tr_status tr_xml_read(const tr_document *document, tr_xml_handler handler, void *argument, tr_error *error)
{
    reader r = {.document = document, .handler = handler, .argument = argument, .error = error};
    const size_t valid = tr_utf8_valid_prefix(document->data, document->size);
    if (valid < document->size) /* expat would take some such documents for UTF-16 */
        return tr_document_fail(document, valid, error, "is not valid UTF-8");
    r.parser = XML_ParserCreate("UTF-8");
    if (!r.parser)
        return tr_fail_memory(error, document->name);
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, on_start, on_end);
    XML_SetCharacterDataHandler(r.parser, on_text);
    XML_SetCdataSectionHandler(r.parser, on_cdata_start, on_cdata_end);
    XML_SetCommentHandler(r.parser, on_comment);
    XML_SetProcessingInstructionHandler(r.parser, on_instruction);
    XML_SetDefaultHandler(r.parser, on_default);
    const tr_status status = parse_chunks(&r);
    XML_ParserFree(r.parser);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ attributes */

bool tr_xml_next_attribute(const tr_document *d, size_t *at, size_t end, tr_xml_attribute_place *attribute)
{
    const char *data = d->data;
    size_t i = *at;
    if (i < end && data[i] == '<')
        while (i < end && !tr_is_ascii_space(data[i]))
            i++;
    while (i < end && tr_is_ascii_space(data[i]))
        i++;
    attribute->name = data + i;
    while (i < end && data[i] != '=' && !tr_is_ascii_space(data[i]))
        i++;
    attribute->name_size = (size_t)(data + i - attribute->name);
    while (i < end && data[i] != '"' && data[i] != '\'')
        i++;
    const char *quote = i < end ? memchr(data + i + 1, data[i], end - i - 1) : NULL;
    if (!quote)
        return false;
    attribute->begin = i + 1;
    attribute->end = (size_t)(quote - data);
    *at = attribute->end + 1;
    return true;
}

bool tr_xml_attribute(const tr_document *document, size_t begin, size_t end, const char *name, size_t *value_begin,
                      size_t *value_end)
{
    tr_xml_attribute_place attribute;
    while (tr_xml_next_attribute(document, &begin, end, &attribute))
        if (attribute.name_size == strlen(name) && memcmp(attribute.name, name, attribute.name_size) == 0) {
            *value_begin = attribute.begin;
            *value_end = attribute.end;
            return true;
        }
    return false;
}

bool tr_xml_attribute_is(const tr_document *document, const tr_xml_event *start, const char *name, const char *value)
{
    size_t begin, end;
    return tr_xml_attribute(document, start->begin, start->end, name, &begin, &end) && end - begin == strlen(value) &&
           memcmp(document->data + begin, value, end - begin) == 0;
}

tr_status tr_xml_edit_encoding(tr_document *d, tr_error *error)
{
    static const char bom[] = "\xEF\xBB\xBF", utf8[] = "UTF-8";
    size_t begin = d->size >= 3 && memcmp(d->data, bom, 3) == 0 ? 3 : 0, end = begin;
    if (d->size - begin < 6 || memcmp(d->data + begin, "<?xml", 5) != 0 || !tr_is_ascii_space(d->data[begin + 5]))
        return TR_OK;
    const char *close = memchr(d->data + begin, '>', d->size - begin);
    if (!close || !tr_xml_attribute(d, begin, (size_t)(close - d->data), "encoding", &begin, &end))
        return TR_OK;
    if (end - begin == 5 && (memcmp(d->data + begin, utf8, 5) == 0 || memcmp(d->data + begin, "utf-8", 5) == 0))
        return TR_OK;
    return tr_edit_add(d, begin, end, utf8, 5, error);
}

/* ------------------------------------------------------------------------------------------------------------------ text */

/* The character that the reference text[0] == '&' stands for, and its length; 0: it is none that XML knows. */
static uint32_t read_reference(const char *text, size_t size, size_t *length)
{
    static const struct {
        char name[7];
        char character;
    } named[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        *length = strlen(named[i].name);
        if (size >= *length && memcmp(text, named[i].name, *length) == 0)
            return (unsigned char)named[i].character;
    }
    if (size < 4 || text[1] != '#')
        return 0;
    const bool hex = text[2] == 'x';
    uint32_t code = 0;
    size_t i = 2 + hex;
    for (; i < size && text[i] != ';'; i++) {
        const char c = text[i], letter = (char)(c | 0x20);
        if (!tr_is_ascii_digit(c) && (!hex || letter < 'a' || letter > 'f'))
            return 0;
        code = code * (hex ? 16 : 10) + (uint32_t)(tr_is_ascii_digit(c) ? c - '0' : letter - 'a' + 10);
        if (code > 0x10FFFF)
            return 0;
    }
    *length = i + 1;
    return i < size ? code : 0;
}

static bool starts_with(const char *text, size_t size, const char *start, size_t length)
{
    return size >= length && memcmp(text, start, length) == 0;
}

static bool decode(const char *text, size_t size, bool in_cdata, tr_buffer *out)
{
    if (!tr_buffer_reserve(out, size)) /* text is never longer than what stands for it */
        return false;
    for (size_t i = 0, length; i < size;) {
        uint32_t code;
        if (in_cdata && starts_with(text + i, size - i, cdata_close, CDATA_CLOSE)) {
            in_cdata = false;
            i += CDATA_CLOSE;
        } else if (!in_cdata && starts_with(text + i, size - i, cdata_open, CDATA_OPEN)) {
            in_cdata = true;
            i += CDATA_OPEN;
        } else if (!in_cdata && text[i] == '&' && (code = read_reference(text + i, size - i, &length)) != 0) {
            out->size += tr_utf8_encode(code, out->data + out->size);
            i += length;
        } else {
            const bool newline = text[i] == '\r'; /* XML reads \r\n and \r as \n */
            out->data[out->size++] = newline ? '\n' : text[i];
            i += newline && i + 1 < size && text[i + 1] == '\n' ? 2 : 1;
        }
    }
    out->data[out->size] = 0;
    return true;
}

bool tr_xml_decode(const tr_document *d, const tr_unit *unit, uint32_t begin, uint32_t end, tr_buffer *text)
{
    const bool in_cdata = unit->style & TR_XML_IN_CDATA ||
                          (begin >= CDATA_OPEN && memcmp(d->data + begin - CDATA_OPEN, cdata_open, CDATA_OPEN) == 0);
    return decode(d->data + begin, end - begin, in_cdata, text);
}

bool tr_xml_decode_value(const tr_document *d, size_t begin, size_t end, tr_buffer *text)
{
    return decode(d->data + begin, end - begin, false, text);
}

typedef enum xml_place { IN_CONTENT, IN_CDATA, IN_VALUE } xml_place;

/* What stands for the character at text[0]; NULL: itself. *length: its bytes, if they are not one. XML allows no control
 * characters, not even as references. */
static const char *escape(const char *text, size_t size, xml_place place, const tr_buffer *out, size_t *length)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    switch (text[0]) {
    case '&': return place == IN_CDATA ? NULL : "&amp;";
    case '<': return place == IN_CDATA ? NULL : "&lt;";
    case '>':
        if (place != IN_CDATA)
            return "&gt;";
        return out->size >= 2 && memcmp(out->data + out->size - 2, "]]", 2) == 0 ? "]]><![CDATA[>" : NULL;
    case '"': return place == IN_VALUE ? "&quot;" : NULL;
    case '\'': return place == IN_VALUE ? "&apos;" : NULL;
    case '\t': return place == IN_VALUE ? "&#9;" : NULL;
    case '\n': return place == IN_VALUE ? "&#10;" : NULL;
    case '\r': return place == IN_CDATA ? "\n" : "&#13;";
    case '\xEF':
        if (!starts_with(text, size, "\xEF\xBF\xBE", 3) && !starts_with(text, size, "\xEF\xBF\xBF", 3))
            return NULL;
        *length = 3;
        return replacement;
    default: return (unsigned char)text[0] < ' ' ? replacement : NULL;
    }
}

static bool encode(const char *text, size_t size, xml_place place, tr_buffer *out)
{
    for (size_t i = 0, length; i < size; i += length) {
        length = 1;
        const char *escaped = escape(text + i, size - i, place, out, &length);
        if (!(escaped ? tr_buffer_string(out, escaped) : tr_buffer_append(out, text + i, 1)))
            return false;
    }
    return true;
}

bool tr_xml_encode(const tr_document *d, const tr_unit *unit, const char *text, size_t size, tr_buffer *out)
{
    (void)d;
    return encode(text, size, unit->style & TR_XML_IN_CDATA ? IN_CDATA : IN_CONTENT, out);
}

bool tr_xml_encode_value(const char *text, size_t size, tr_buffer *out)
{
    return encode(text, size, IN_VALUE, out);
}
