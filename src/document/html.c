/* HTML and XHTML, as browsers read them: each block's text is a unit, with the tags in its sentences as marks; so are
 * attributes that people read. <br> ends a unit.
 *
 * Left as they are: code, <pre>, <textarea>, scripts, translate="no", class notranslate. Bare text of blocks is
 * a unit as well. lang becomes the target language; hreflang and og:locale tell of other documents, or need a country. With
 * bilingual, the translation stands below its source, after <br>; titles, options and attributes are only translated. */
#include "document/html.h"

#include <stdlib.h>
#include <string.h>

/* A piece of the unit that is being gathered. */
typedef struct segment {
    uint32_t begin, end;
    uint32_t element;
    uint8_t kind; /* a tr_piece_kind */
    bool link;    /* OPEN: of <a> */
    bool open;    /* OPEN: its closing tag did not come yet */
    bool closed;  /* OPEN: it comes later */
} segment;

typedef struct reader {
    tr_document *document;
    tr_html_tree tree;
    tr_buffer segments;   /* of segment */
    tr_buffer open;       /* of uint32_t: the segments that are open */
    uint32_t *segment_of; /* [element_count] the segment that opened an element; UINT32_MAX: none */
    uint32_t style;       /* of the unit */
    size_t link_end;      /* the segments of the unit before it are one link; 0: they are not */
    uint32_t at;          /* the events before it are read */
    tr_buffer decoded;    /* memory */
} reader;

static segment *segments_of(const reader *r, size_t *count)
{
    *count = r->segments.size / sizeof(segment);
    return (segment *)r->segments.data;
}

/* ------------------------------------------------------------------------------------------------------ gathering units */

static tr_status end_unit(reader *r, size_t from, size_t to, tr_error *error)
{
    size_t count;
    const segment *segments = segments_of(r, &count);
    tr_status status = from < to ? tr_unit_begin(r->document, r->style | TR_UNIT_COLLAPSES, error) : TR_OK;
    for (size_t i = from; i < to && status == TR_OK; i++)
        status = tr_unit_piece(r->document, (tr_piece_kind)segments[i].kind, segments[i].begin, segments[i].end, error);
    if (status == TR_OK && from < to)
        tr_unit_end(r->document);
    return status;
}

/* Ends the unit. A tag whose element goes on after the unit divides it; one whose element is never closed may move, but not
 * in XML, where the element is closed elsewhere. */
static tr_status flush_unit(reader *r, tr_error *error)
{
    size_t count, from = 0;
    segment *segments = segments_of(r, &count);
    tr_status status = TR_OK;
    for (size_t i = 0; i < count && status == TR_OK; i++) {
        if (segments[i].element != UINT32_MAX)
            r->segment_of[segments[i].element] = UINT32_MAX;
        if (!segments[i].open)
            continue;
        segments[i].kind = TR_PIECE_EMPTY;
        if (segments[i].closed || r->tree.is_xml) {
            status = end_unit(r, from, i, error);
            from = i + 1;
        }
    }
    if (status == TR_OK)
        status = end_unit(r, from, count, error);
    tr_buffer_clear(&r->segments);
    tr_buffer_clear(&r->open);
    r->style = 0;
    r->link_end = 0;
    return status;
}

static tr_status add_segment(reader *r, tr_piece_kind kind, uint32_t begin, uint32_t end, tr_error *error)
{
    const segment s = {begin, end, UINT32_MAX, (uint8_t)kind, false, false, false};
    return begin == end || tr_buffer_append(&r->segments, &s, sizeof s) ? TR_OK : tr_fail_memory(error, r->document->name);
}

static bool is_white_text(const reader *r, const segment *s)
{
    for (uint32_t at = s->begin; s->kind == TR_PIECE_TEXT && at < s->end; at++)
        if (!tr_is_ascii_space(r->document->data[at]))
            return false;
    return s->kind == TR_PIECE_TEXT;
}

/* Whether all segments from .. to are white space. */
static bool are_white(const reader *r, size_t from, size_t to)
{
    size_t count;
    const segment *segments = segments_of(r, &count);
    while (from < to && is_white_text(r, &segments[from]))
        from++;
    return from == to;
}

/* A link that follows a link, with nothing but white space between them, is a unit of its own: those of a menu are no
 * sentence. */
static tr_status divide_links(reader *r, tr_error *error)
{
    size_t count;
    segments_of(r, &count);
    return r->link_end && are_white(r, r->link_end, count) ? flush_unit(r, error) : TR_OK;
}

static tr_status open_segment(reader *r, const tr_html_event *e, tr_error *error)
{
    const bool link = e->node->type == GUMBO_NODE_ELEMENT && e->node->v.element.tag == GUMBO_TAG_A;
    const tr_status status = link ? divide_links(r, error) : TR_OK;
    if (status != TR_OK)
        return status;
    const uint32_t index = (uint32_t)(r->segments.size / sizeof(segment));
    const segment s = {e->begin, e->end, e->element, TR_PIECE_OPEN, link, true, e->closed};
    if (!tr_buffer_append(&r->segments, &s, sizeof s) || !tr_buffer_append(&r->open, &index, sizeof index))
        return tr_fail_memory(error, r->document->name);
    r->segment_of[e->element] = index;
    return TR_OK;
}

/* Elements inside that were not closed are cut in two by the parser: their tags stand alone. */
static tr_status close_segment(reader *r, const tr_html_event *e, tr_error *error)
{
    size_t count;
    segment *segments = segments_of(r, &count);
    const uint32_t index = r->segment_of[e->element];
    if (index == UINT32_MAX || !segments[index].open)
        return e->begin < e->end ? flush_unit(r, error) : TR_OK;
    for (bool more = true; more;) {
        r->open.size -= sizeof index;
        uint32_t last;
        memcpy(&last, r->open.data + r->open.size, sizeof last);
        more = last != index;
        segments[last].open = false;
        if (more || e->begin == e->end)
            segments[last].kind = TR_PIECE_EMPTY;
    }
    const bool alone = segments[index].link && !r->open.size && are_white(r, 0, index);
    const tr_status status = add_segment(r, TR_PIECE_CLOSE, e->begin, e->end, error);
    if (alone && status == TR_OK)
        segments_of(r, &r->link_end);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------------- text */

static bool is_title(const GumboNode *text)
{
    return text->parent && text->parent->type == GUMBO_NODE_ELEMENT && text->parent->v.element.tag == GUMBO_TAG_TITLE;
}

static bool is_option(const GumboNode *text)
{
    return text->parent && text->parent->type == GUMBO_NODE_ELEMENT && text->parent->v.element.tag == GUMBO_TAG_OPTION;
}

/* The end of the characters at data[at]: the next tag, which the parser left out. */
static uint32_t characters_end(const tr_document *d, const tr_html_event *e, uint32_t at)
{
    while (at < e->end && (d->data[at] != '<' || tr_html_markup_end(d->data, e->end, at) == at))
        at++;
    return at;
}

/* Whether the decoded characters are those that the parser has. */
static bool is_decoded(const reader *r, const char *text)
{
    return r->decoded.size == strlen(text) && (!*text || memcmp(r->decoded.data, text, r->decoded.size) == 0);
}

/* Decodes the characters of a text for is_decoded. False: out of memory. */
static bool decode_characters(reader *r, const tr_html_event *e, bool raw)
{
    const tr_document *d = r->document;
    tr_buffer_clear(&r->decoded);
    for (uint32_t at = e->begin; at < e->end;) {
        const uint32_t end = raw ? e->end : characters_end(d, e, at);
        if (!tr_html_decode(d->data + at, end - at, 0, &r->decoded))
            return false;
        at = end < e->end ? (uint32_t)tr_html_markup_end(d->data, e->end, end) : end;
    }
    return true;
}

static tr_status read_characters(reader *r, const tr_html_event *e, tr_error *error)
{
    const tr_document *d = r->document;
    const bool raw = is_title(e->node);
    /* In XML, what looks like a tag in a title is one, whose text would stand as characters after writing. */
    const bool translated = e->translated && !(raw && r->tree.is_xml && memchr(d->data + e->begin, '<', e->end - e->begin));
    if (translated && !decode_characters(r, e, raw))
        return tr_fail_memory(error, d->name);
    if (!translated || !is_decoded(r, e->node->v.text.text))
        return flush_unit(r, error);
    r->style |= raw || is_option(e->node) ? TR_HTML_ALONE : 0;
    tr_status status = TR_OK;
    for (uint32_t at = e->begin; at < e->end && status == TR_OK;) {
        const uint32_t end = raw ? e->end : characters_end(d, e, at);
        status = add_segment(r, TR_PIECE_TEXT, at, end, error);
        at = end < e->end ? (uint32_t)tr_html_markup_end(d->data, e->end, end) : end;
        /* A closing tag that closes nothing is left out; another tag may do something, and XML has none. */
        if (status == TR_OK && end < at)
            status = d->data[end + 1] == '/' && !r->tree.is_xml ? add_segment(r, TR_PIECE_SKIP, end, at, error)
                                                                : flush_unit(r, error);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- attributes */

/* Whether text [size] begins with a name, in whatever letters. */
static bool begins_with(const char *text, size_t size, const char *name)
{
    for (size_t i = 0; name[i]; i++)
        if (i == size || (tr_is_ascii_capital(text[i]) ? text[i] | 0x20 : text[i]) != name[i])
            return false;
    return true;
}

static bool is_name(const char *value, const char *name)
{
    return strlen(value) == strlen(name) && begins_with(value, strlen(value), name);
}

static bool is_one_of(const char *value, const char *const *names)
{
    for (; *names; names++)
        if (is_name(value, *names))
            return true;
    return false;
}

static const char *attribute_value(const GumboElement *e, const char *name)
{
    const GumboAttribute *a = gumbo_get_attribute(&e->attributes, name);
    return a ? a->value : "";
}

/* Whether people read the attribute of an element. */
static bool is_read(const GumboElement *e, const char *name)
{
    static const char *const everywhere[] = {
        "alt", "placeholder", "aria-label", "aria-description", "aria-placeholder", "aria-roledescription", "aria-valuetext",
        NULL};
    static const char *const buttons[] = {"submit", "button", "reset", NULL};
    static const char *const labelled[] = {"description",
                                           "keywords",
                                           "title",
                                           "og:title",
                                           "og:description",
                                           "og:site_name",
                                           "og:image:alt",
                                           "twitter:title",
                                           "twitter:description",
                                           "twitter:image:alt",
                                           "dc.title",
                                           "dc.description",
                                           NULL};
    if (is_one_of(name, everywhere))
        return true;
    if (is_name(name, "title"))
        return e->tag != GUMBO_TAG_LINK;
    if (is_name(name, "value"))
        return e->tag == GUMBO_TAG_INPUT && is_one_of(attribute_value(e, "type"), buttons);
    if (is_name(name, "label"))
        return e->tag == GUMBO_TAG_OPTION || e->tag == GUMBO_TAG_OPTGROUP || e->tag == GUMBO_TAG_TRACK;
    if (is_name(name, "summary"))
        return e->tag == GUMBO_TAG_TABLE;
    if (is_name(name, "content"))
        return e->tag == GUMBO_TAG_META &&
               (is_one_of(attribute_value(e, "name"), labelled) || is_one_of(attribute_value(e, "property"), labelled));
    return false;
}

/* The place of an attribute's value without its quotes; 0: it has none. */
static uint32_t value_place(const reader *r, const tr_html_event *e, const GumboAttribute *a, uint32_t *begin, uint32_t *end)
{
    const tr_document *d = r->document;
    if (!tr_html_place(d, &r->tree, a->original_value, begin, end) || *begin <= e->begin || *end >= e->end || *begin >= *end)
        return 0;
    const char quote = d->data[*begin];
    if (quote != '"' && quote != '\'')
        return memchr(d->data + *begin, '"', *end - *begin) || memchr(d->data + *begin, '\'', *end - *begin) ? 0
                                                                                                             : TR_HTML_BARE;
    if (*end - *begin < 2 || d->data[*end - 1] != quote)
        return 0;
    ++*begin;
    --*end;
    return quote == '"' ? TR_HTML_DOUBLE : TR_HTML_SINGLE;
}

/* Adds a value as a unit, unless the parser has other characters. */
static tr_status add_value(reader *r, const GumboAttribute *a, uint32_t style, uint32_t begin, uint32_t end, tr_error *error)
{
    tr_document *d = r->document;
    tr_buffer_clear(&r->decoded);
    if (!tr_html_decode(d->data + begin, end - begin, style, &r->decoded))
        return tr_fail_memory(error, d->name);
    if (!is_decoded(r, a->value))
        return TR_OK;
    const bool keeps_lines = is_name(a->name, "title") || is_name(a->name, "placeholder");
    uint32_t from = begin, to = end;
    for (size_t size; style & TR_HTML_BARE && (size = tr_html_blank(d, from, to, false)) > 0;)
        from += (uint32_t)size;
    for (size_t size; style & TR_HTML_BARE && (size = tr_html_blank(d, from, to, true)) > 0;)
        to -= (uint32_t)size;
    tr_status status = tr_unit_begin(d, style | (keeps_lines ? 0 : TR_UNIT_COLLAPSES), error);
    if (status == TR_OK)
        status = tr_unit_piece(d, TR_PIECE_TEXT, from, to, error);
    if (status == TR_OK && style & TR_HTML_BARE)
        tr_unit_end_at(d, begin, end);
    else if (status == TR_OK)
        tr_unit_end(d);
    return status;
}

/* Whether two languages are the same but for script and country. */
static bool is_same_language(const char *a, const char *b)
{
    size_t i = 0;
    while (tr_is_ascii_letter(a[i]) && (a[i] | 0x20) == (b[i] | 0x20))
        i++;
    return i && !tr_is_ascii_letter(a[i]) && !tr_is_ascii_letter(b[i]);
}

static bool tells_language(const reader *r, const GumboElement *e, const GumboAttribute *a)
{
    const tr_document_settings *settings = &r->document->settings;
    if (!settings->target_language || (!is_name(a->name, "lang") && !is_name(a->name, "xml:lang")))
        return false;
    return e->tag == GUMBO_TAG_HTML || (settings->source_language && is_same_language(a->value, settings->source_language));
}

static tr_status edit_value(reader *r, const char *value, uint32_t style, uint32_t begin, uint32_t end, tr_error *error)
{
    tr_buffer text = {0};
    const char *quote = style & TR_HTML_BARE ? "\"" : "";
    const bool good = tr_buffer_string(&text, quote) &&
                      tr_html_encode(r->document->state, value, strlen(value), style, &text) &&
                      tr_buffer_string(&text, quote);
    const tr_status status =
        good ? tr_edit_add(r->document, begin, end, text.data, text.size, error) : tr_fail_memory(error, r->document->name);
    tr_buffer_free(&text);
    return status;
}

/* <meta charset>: the bytes are UTF-8. */
static tr_status read_charset(reader *r, const GumboElement *e, const GumboAttribute *a, uint32_t begin, uint32_t end,
                              tr_error *error)
{
    const tr_document *d = r->document;
    static const char label[] = "charset=";
    if (is_name(a->name, "content") && is_name(attribute_value(e, "http-equiv"), "content-type")) {
        uint32_t at = begin;
        while (at + 8 <= end && !begins_with(d->data + at, end - at, label))
            at++;
        begin = at + 8;
        for (at = begin; at < end && !strchr(" \t\n\r\f;\"'&", d->data[at]);)
            at++;
        end = at;
    } else if (!is_name(a->name, "charset")) {
        return TR_OK;
    }
    if (begin >= end || (end - begin == 5 && begins_with(d->data + begin, 5, "utf-8")))
        return TR_OK;
    return tr_edit_add(r->document, begin, end, "utf-8", 5, error);
}

static tr_status read_attributes(reader *r, const tr_html_event *e, tr_error *error)
{
    const GumboElement *element = &e->node->v.element;
    tr_status status = TR_OK;
    for (unsigned i = 0; i < element->attributes.length && status == TR_OK; i++) {
        const GumboAttribute *a = element->attributes.data[i];
        uint32_t begin, end;
        const uint32_t style = value_place(r, e, a, &begin, &end);
        if (!style)
            continue;
        if (e->translated && is_read(element, a->name))
            status = add_value(r, a, style, begin, end, error);
        else if (e->translated && tells_language(r, element, a))
            status = edit_value(r, r->document->settings.target_language, style, begin, end, error);
        else if (element->tag == GUMBO_TAG_META)
            status = read_charset(r, element, a, begin, end, error);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- reading */

static tr_status read_event(reader *r, const tr_html_event *e, tr_error *error)
{
    tr_status status = TR_OK;
    if (e->begin < r->at || (e->begin == e->end && e->kind == TR_HTML_BLOCK))
        return TR_OK; /* inside an element that stands whole, or the end of <code/> */
    if (e->begin > r->at)
        status = flush_unit(r, error); /* a tag that the parser did not use */
    r->at = e->end;
    if (status == TR_OK && e->node && (e->node->type == GUMBO_NODE_ELEMENT || e->node->type == GUMBO_NODE_TEMPLATE))
        status = read_attributes(r, e, error);
    if (status != TR_OK)
        return status;
    switch ((tr_html_kind)e->kind) {
    case TR_HTML_TEXT: return read_characters(r, e, error);
    case TR_HTML_OPEN: return open_segment(r, e, error);
    case TR_HTML_CLOSE: return close_segment(r, e, error);
    case TR_HTML_EMPTY: return add_segment(r, TR_PIECE_EMPTY, e->begin, e->end, error);
    case TR_HTML_WORD: return add_segment(r, TR_PIECE_WORD, e->begin, e->end, error);
    case TR_HTML_SKIP: return add_segment(r, TR_PIECE_SKIP, e->begin, e->end, error);
    case TR_HTML_BLOCK: break;
    }
    return flush_unit(r, error);
}

static tr_status read_events(reader *r, tr_error *error)
{
    const tr_html_event *events = (const tr_html_event *)r->tree.events.data;
    tr_status status = TR_OK;
    r->segment_of = malloc((r->tree.element_count + 1) * sizeof *r->segment_of);
    if (!r->segment_of)
        return tr_fail_memory(error, r->document->name);
    memset(r->segment_of, 0xFF, (r->tree.element_count + 1) * sizeof *r->segment_of);
    for (size_t i = 0; i < r->tree.events.size / sizeof *events && status == TR_OK; i++)
        status = read_event(r, &events[i], error);
    return status == TR_OK ? flush_unit(r, error) : status;
}

/* <?xml ... encoding="..."?> */
static tr_status read_declaration(tr_document *d, tr_error *error)
{
    const size_t skip = d->size > 3 && memcmp(d->data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    const char *end = d->size - skip > 6 && memcmp(d->data + skip, "<?xml", 5) == 0 ? memchr(d->data, '>', d->size) : NULL;
    static const char label[] = "encoding=";
    if (!end)
        return TR_OK;
    for (const char *at = d->data + skip; at + sizeof label < end; at++) {
        if (memcmp(at, label, sizeof label - 1) != 0)
            continue;
        at += sizeof label - 1;
        const char *quote = *at == '"' || *at == '\'' ? memchr(at + 1, *at, (size_t)(end - at - 1)) : NULL;
        if (!quote || (quote - at == 6 && begins_with(at + 1, 5, "utf-8")))
            return TR_OK;
        return tr_edit_add(d, (size_t)(at + 1 - d->data), (size_t)(quote - d->data), "utf-8", 5, error);
    }
    return TR_OK;
}

/* How the document writes U+00A0, if not as itself. */
static const char *space_name(const tr_document *d)
{
    static const char *const names[] = {"&nbsp;", "&#160;", "&#xa0;", "&#xA0;"};
    for (const char *at = d->data; (at = memchr(at, '&', d->size - (size_t)(at - d->data))) != NULL; at++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (d->size - (size_t)(at - d->data) >= 6 && memcmp(at, names[i], 6) == 0)
                return names[i];
    return NULL;
}

static tr_status read_html(tr_document *d, tr_error *error)
{
    reader r = {.document = d};
    tr_html *html = calloc(1, sizeof *html);
    if (!html)
        return tr_fail_memory(error, d->name);
    d->state = html;
    html->space = space_name(d);
    tr_status status = tr_document_check_content(d, d->size, error);
    if (status == TR_OK)
        status = tr_html_parse(d, &r.tree, error);
    html->is_xml = r.tree.is_xml;
    if (status == TR_OK)
        status = read_declaration(d, error);
    if (status == TR_OK)
        status = read_events(&r, error);
    if (status == TR_OK && html->failed)
        status = tr_fail_memory(error, d->name);
    tr_html_tree_free(&r.tree);
    tr_buffer_free(&r.segments);
    tr_buffer_free(&r.open);
    tr_buffer_free(&r.decoded);
    free(r.segment_of);
    return status;
}

const tr_document_format tr_format_html = {
    .read = read_html,
    .decode = tr_html_decode_piece,
    .blank = tr_html_blank,
    .encode = tr_html_encode_part,
    .render = tr_html_render,
    .close = free,
};
