/* Parsing HTML with gumbo, as browsers do: the tree's nodes as events in the order of the source.
 *
 * Gumbo does not check its allocations, frees trees recursively, and takes time in proportion to the depth of elements. So
 * its memory is counted, a failed allocation leaves it by longjmp, all is freed by a list, and the depth is looked at
 * before. */
#include "document/bytes.h"
#include "document/html.h"

#include <stdlib.h>
#include <string.h>

#include "document/html_memory.h"

enum { MAX_DEPTH = 1000, MAX_ATTRIBUTES = 1000, MAX_NAME = 24 };

/* ---------------------------------------------------------------------------------------------------------------- tags */

/* The end of the tag at data[at]: after the first > that no attribute has in quotes; size: there is none. */
static size_t tag_end(const char *data, size_t size, size_t at)
{
    bool value = false; /* after = */
    while (at < size && data[at] != '>') {
        if (value && (data[at] == '"' || data[at] == '\'')) {
            const char *quote = memchr(data + at + 1, data[at], size - at - 1);
            if (!quote)
                return size;
            at = (size_t)(quote - data);
        }
        value = data[at] == '=' || (value && tr_is_ascii_space(data[at]));
        at++;
    }
    return at < size ? at + 1 : size;
}

/* The end of the first `end` from data[at] on, or size. */
static size_t find_after(const char *data, size_t size, size_t at, const char *end)
{
    const size_t length = strlen(end);
    for (const char *c; at < size && (c = memchr(data + at, *end, size - at)) != NULL; at++) {
        at = (size_t)(c - data);
        if (size - at >= length && memcmp(c, end, length) == 0)
            return at + length;
    }
    return size;
}

size_t tr_html_markup_end(const char *data, size_t size, size_t at)
{
    const size_t next = at + 1;
    if (next >= size)
        return at;
    if (data[next] == '!' || data[next] == '?') {
        if (size - at < 4 || memcmp(data + at, "<!--", 4) != 0)
            return find_after(data, size, at, ">");
        if (at + 4 < size && data[at + 4] == '>')
            return at + 5;
        return at + 5 < size && memcmp(data + at + 4, "->", 2) == 0 ? at + 6 : find_after(data, size, at + 4, "-->");
    }
    if (data[next] == '/' && next + 1 < size)
        return tr_is_ascii_letter(data[next + 1]) ? tag_end(data, size, next) : find_after(data, size, next, ">");
    return tr_is_ascii_letter(data[next]) ? tag_end(data, size, next) : at;
}

typedef struct tag {
    size_t begin, end;
    char name[MAX_NAME]; /* in small letters; "" if it is longer */
    bool closes;
    bool is_empty; /* <a/> */
} tag;

static tag read_tag(const char *data, size_t begin, size_t end)
{
    tag t = {begin, end, "", data[begin + 1] == '/', end - begin > 3 && data[end - 2] == '/'};
    size_t at = begin + 1 + t.closes, size = 0;
    for (; at < end && !tr_is_ascii_space(data[at]) && data[at] != '/' && data[at] != '>'; at++, size++)
        if (size < MAX_NAME - 1)
            t.name[size] = (char)(tr_is_ascii_capital(data[at]) ? data[at] | 0x20 : data[at]);
    if (size >= MAX_NAME)
        t.name[0] = 0;
    return t;
}

static bool is_in(const char *list, const char *name)
{
    return tr_list_has(list, name, strlen(name));
}

/* Lists of elements for is_in. These have no content and no closing tag. */
static const char void_names[] =
    " area base basefont bgsound br col command embed frame hr image img input keygen link meta "
    "param source track wbr ";
/* Their content is text. */
static const char raw_names[] = " title textarea style script xmp iframe noembed noframes ";
/* A second tag of these opens no element, or they have no depth. */
static const char once_names[] = " html head body col ";
/* An element of these ends where the next one begins. */
static const char item_names[] = " li dd dt option ";
/* Parts of tables, which are ignored elsewhere. */
static const char part_names[] = " tr td th tbody thead tfoot caption colgroup ";
/* Their content does not close what is outside. */
static const char scope_names[] = " table template object applet marquee button select svg math ";
/* These end with the block around them. */
static const char inline_names[] =
    " a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rb "
    "ruby s samp small span strike strong sub sup time tt u var ";

/* -------------------------------------------------------------------------------------------------- a look at all tags */

/* The bytes that a copy has more than the source. */
typedef struct insertion {
    size_t at, size; /* of the copy */
    size_t before;   /* the sum of sizes before it */
} insertion;

/* How elements that are open end without a closing tag. Where it is not sure that they end, they are taken to be open. */
typedef enum open_kind {
    OPEN_BLOCK,
    OPEN_INLINE,    /* with what is around them */
    OPEN_PARAGRAPH, /* <p> */
    OPEN_ITEM,      /* when the next item begins */
    OPEN_PART,      /* of a table */
    OPEN_SCOPE,
} open_kind;

typedef struct open_name {
    uint32_t hash;
    uint8_t kind; /* an open_kind */
} open_name;

typedef struct tag_scan {
    const tr_document *document;
    tr_html_tree *tree;
    size_t copied; /* of the source */
    size_t text;   /* bytes of text before the place that is looked at */
    size_t depth;
    size_t foreign; /* svg and math that are open */
    open_name open[MAX_DEPTH];
} tag_scan;

static bool copy_until(tag_scan *s, size_t end)
{
    const bool good = tr_buffer_append(&s->tree->copy, s->document->data + s->copied, end - s->copied);
    s->copied = end;
    return good;
}

/* In XML, <a/> has no content; for HTML it needs </a>. */
static bool close_empty(tag_scan *s, const tag *t)
{
    const size_t name = strlen(t->name);
    if (!copy_until(s, t->end))
        return false;
    const insertion own = {s->tree->copy.size, name + 3, s->tree->copy.size - s->copied};
    return tr_buffer_string(&s->tree->copy, "</") && tr_buffer_append(&s->tree->copy, t->name, name) &&
           tr_buffer_string(&s->tree->copy, ">") && tr_buffer_append(&s->tree->insertions, &own, sizeof own);
}

/* A section of characters as a comment of the same size. */
static bool copy_section(tag_scan *s, size_t begin, size_t end)
{
    tr_buffer *copy = &s->tree->copy;
    if (!copy_until(s, begin) || !copy_until(s, end))
        return false;
    char *to = copy->data + copy->size - (end - begin);
    memset(to, ' ', end - begin);
    memcpy(to, "<!--", 4);
    memcpy(copy->data + copy->size - 3, "-->", 3);
    return true;
}

static open_name name_of(const char *name)
{
    open_name own = {2166136261U, OPEN_BLOCK};
    own.kind = is_in(inline_names, name)  ? OPEN_INLINE
               : is_in(scope_names, name) ? OPEN_SCOPE
               : is_in(item_names, name)  ? OPEN_ITEM
               : is_in(part_names, name)  ? OPEN_PART
               : strcmp(name, "p") == 0   ? OPEN_PARAGRAPH
                                          : OPEN_BLOCK;
    for (; *name; name++)
        own.hash = (own.hash ^ (unsigned char)*name) * 16777619U; /* FNV-1a */
    return own;
}

/* Whether an element closes together with one around it. */
static bool closes_with(const open_name *inner, const open_name *outer)
{
    switch ((open_kind)outer->kind) {
    case OPEN_INLINE: return inner->kind == OPEN_INLINE;
    case OPEN_PARAGRAPH:
    case OPEN_ITEM: return inner->kind == OPEN_INLINE || inner->kind == OPEN_PARAGRAPH;
    case OPEN_PART:
    case OPEN_BLOCK:
    case OPEN_SCOPE: break;
    }
    return inner->kind != OPEN_SCOPE;
}

/* Closes the innermost element of a name, if nothing keeps it open. */
static void close_element(tag_scan *s, const open_name *name)
{
    size_t k = s->depth;
    while (k && s->open[k - 1].hash != name->hash && closes_with(&s->open[k - 1], name))
        k--;
    if (k && s->open[k - 1].hash == name->hash)
        s->depth = k - 1;
}

/* What an opening tag closes: <p> another one, <td> the one before it. */
static void close_before(tag_scan *s, const tag *t, const open_name *name)
{
    const bool closes = (name->kind == OPEN_INLINE && is_in(" a nobr ", t->name)) || name->kind == OPEN_PARAGRAPH ||
                        name->kind == OPEN_ITEM || name->kind == OPEN_PART;
    if (closes)
        close_element(s, name);
}

/* After the "</" of the first closing tag of a name from data[at] on; size: there is none. It need not have an end, which
 * would be looked for in the whole rest. */
static size_t find_closing_tag(const tr_document *d, size_t at, const char *name)
{
    while ((at = find_after(d->data, d->size, at, "</")) < d->size) {
        const size_t end = d->size - at > MAX_NAME ? at + MAX_NAME : d->size;
        if (strcmp(read_tag(d->data, at - 2, end).name, name) == 0)
            break;
    }
    return at;
}

/* Whether the innermost element with a scope is a table. */
static bool is_in_table(const tag_scan *s)
{
    const uint32_t table = name_of("table").hash;
    size_t k = s->depth;
    while (k && s->open[k - 1].kind != OPEN_SCOPE)
        k--;
    return k && s->open[k - 1].hash == table;
}

/* Gumbo compares each attribute of a tag with all others. */
static bool has_many_attributes(const char *data, const tag *t)
{
    size_t count = 0;
    char quote = 0;
    bool apart = false;
    for (size_t at = t->begin; at < t->end && count <= MAX_ATTRIBUTES; at++) {
        const char c = data[at];
        if (quote || c == '"' || c == '\'')
            quote = !quote ? c : quote == c ? 0 : quote;
        else if (apart && !tr_is_ascii_space(c) && c != '/')
            count++;
        apart = !quote && (tr_is_ascii_space(c) || c == '/');
    }
    return count > MAX_ATTRIBUTES;
}

static tr_status look_at_tag(tag_scan *s, const tag *t, size_t *at, tr_error *error)
{
    const tr_document *d = s->document;
    if (has_many_attributes(d->data, t))
        return tr_document_fail(d, t->begin, error, "a tag has more than %d attributes", MAX_ATTRIBUTES);
    const bool is_foreign = is_in(" svg math ", t->name);
    const open_name name = name_of(t->name);
    if (t->closes) {
        close_element(s, &name);
        s->foreign -= is_foreign && s->foreign;
        return TR_OK;
    }
    if (t->is_empty && (s->foreign || is_foreign))
        return TR_OK;
    if (is_in(void_names, t->name))
        return TR_OK;
    if (t->is_empty && s->tree->is_xml && *t->name)
        return close_empty(s, t) ? TR_OK : tr_fail_memory(error, d->name);
    if (!s->foreign && is_in(raw_names, t->name)) {
        *at = find_closing_tag(d, *at, t->name);
        return TR_OK;
    }
    if (is_in(once_names, t->name) || (name.kind == OPEN_PART && !is_in_table(s)))
        return TR_OK;
    close_before(s, t, &name);
    if (s->depth == MAX_DEPTH)
        return tr_document_fail(d, t->begin, error, "elements lie more than %d deep in each other", MAX_DEPTH);
    s->foreign += is_foreign;
    s->open[s->depth++] = name;
    return TR_OK;
}

/* Counts text between tags, without white space, of which sources have any amount. */
static tr_status count_text(tag_scan *s, size_t begin, size_t end, tr_error *error)
{
    for (size_t at = begin; at < end; at++)
        s->text += !tr_is_ascii_space(s->document->data[at]);
    return tr_document_check_text(s->document, s->text, error);
}

/* Fails if elements lie too deep or there is too much text, and makes the copy of XML. */
static tr_status scan_tags(tag_scan *s, tr_error *error)
{
    const tr_document *d = s->document;
    const bool is_xml = s->tree->is_xml;
    tr_status status = TR_OK;
    for (size_t at = 0; status == TR_OK && at < d->size;) {
        const char *next = memchr(d->data + at, '<', d->size - at);
        if (!next)
            break;
        const size_t begin = (size_t)(next - d->data);
        status = count_text(s, at, begin, error);
        if (status != TR_OK)
            break;
        if (is_xml && !s->foreign && d->size - begin >= 12 && memcmp(next, "<![CDATA[", 9) == 0) {
            at = find_after(d->data, d->size, begin + 9, "]]>");
            if (!copy_section(s, begin, at))
                status = tr_fail_memory(error, d->name);
            continue;
        }
        at = tr_html_markup_end(d->data, d->size, begin);
        if (at == begin) {
            at++;
        } else if (tr_is_ascii_letter(next[1]) || (next[1] == '/' && at > begin + 2 && tr_is_ascii_letter(next[2]))) {
            const tag t = read_tag(d->data, begin, at);
            status = look_at_tag(s, &t, &at, error);
        }
    }
    if (status == TR_OK && is_xml && !copy_until(s, d->size))
        status = tr_fail_memory(error, d->name);
    return status;
}

/* XHTML: what begins with <?xml, is called .xhtml, or has the name space of XHTML in its first tag. */
static bool looks_like_xml(const tr_document *d)
{
    static const char name_space[] = "xmlns=\"http://www.w3.org/1999/xhtml\"";
    size_t at = d->size >= 3 && memcmp(d->data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    if (tr_ends_with(d->name, ".xhtml") || (d->size - at >= 5 && memcmp(d->data + at, "<?xml", 5) == 0))
        return true;
    for (size_t end; at < d->size; at = end) {
        while (at < d->size && tr_is_ascii_space(d->data[at]))
            at++;
        end = at < d->size && d->data[at] == '<' ? tr_html_markup_end(d->data, d->size, at) : at;
        if (end == at)
            return false;
        if (tr_is_ascii_letter(d->data[at + 1]))
            return find_after(d->data, end, at, name_space) < end;
    }
    return false;
}

/* -------------------------------------------------------------------------------------------------------------- places */

static size_t source_offset(const tr_html_tree *tree, size_t at)
{
    const insertion *list = (const insertion *)tree->insertions.data;
    size_t low = 0, high = tree->insertions.size / sizeof *list;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (list[middle].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return at;
    const insertion *last = &list[low - 1];
    return at < last->at + last->size ? last->at - last->before : at - last->before - last->size;
}

static const char *parsed_data(const tr_document *d, const tr_html_tree *tree, size_t *size)
{
    *size = tree->is_xml ? tree->copy.size : d->size;
    return tree->is_xml ? tree->copy.data : d->data;
}

bool tr_html_place(const tr_document *d, const tr_html_tree *tree, GumboStringPiece piece, uint32_t *begin, uint32_t *end)
{
    size_t size;
    const char *data = parsed_data(d, tree, &size);
    if (!piece.length || (uintptr_t)piece.data < (uintptr_t)data || (uintptr_t)piece.data > (uintptr_t)(data + size) ||
        piece.length > size - (size_t)(piece.data - data))
        return false;
    *begin = (uint32_t)source_offset(tree, (size_t)(piece.data - data));
    *end = (uint32_t)source_offset(tree, (size_t)(piece.data - data) + piece.length);
    return true;
}

/* -------------------------------------------------------------------------------------------------------------- events */

/* What is known of an element whose children are walked through. */
typedef struct frame {
    const GumboNode *node;
    unsigned next;        /* child */
    uint32_t element;     /* its number */
    bool translated;      /* its text is */
    uint32_t kept_inside; /* the event of the innermost element around it that is not translated; UINT32_MAX: none */
} frame;

typedef struct walker {
    const tr_document *document;
    tr_html_tree *tree;
    tr_buffer frames; /* of frame */
    uint32_t element_count;
} walker;

static tr_html_kind kind_of_unknown(const GumboElement *e)
{
    GumboStringPiece name = e->original_tag;
    gumbo_tag_from_original_text(&name);
    return name.length && memchr(name.data, '-', name.length) ? TR_HTML_BLOCK : TR_HTML_OPEN;
}

/* What an element is in a sentence. OPEN: inline. */
static tr_html_kind kind_of(const GumboNode *node)
{
    const GumboElement *e = &node->v.element;
    if (e->tag_namespace != GUMBO_NAMESPACE_HTML)
        return TR_HTML_EMPTY;
    switch (e->tag) {
    case GUMBO_TAG_A:
    case GUMBO_TAG_ABBR:
    case GUMBO_TAG_ACRONYM:
    case GUMBO_TAG_B:
    case GUMBO_TAG_BDI:
    case GUMBO_TAG_BDO:
    case GUMBO_TAG_BIG:
    case GUMBO_TAG_BLINK:
    case GUMBO_TAG_CITE:
    case GUMBO_TAG_DATA:
    case GUMBO_TAG_DEL:
    case GUMBO_TAG_DFN:
    case GUMBO_TAG_EM:
    case GUMBO_TAG_FONT:
    case GUMBO_TAG_I:
    case GUMBO_TAG_INS:
    case GUMBO_TAG_MARK:
    case GUMBO_TAG_NOBR:
    case GUMBO_TAG_Q:
    case GUMBO_TAG_RB:
    case GUMBO_TAG_RUBY:
    case GUMBO_TAG_S:
    case GUMBO_TAG_SMALL:
    case GUMBO_TAG_SPAN:
    case GUMBO_TAG_STRIKE:
    case GUMBO_TAG_STRONG:
    case GUMBO_TAG_SUB:
    case GUMBO_TAG_SUP:
    case GUMBO_TAG_TIME:
    case GUMBO_TAG_U: return TR_HTML_OPEN;
    case GUMBO_TAG_CODE:
    case GUMBO_TAG_KBD:
    case GUMBO_TAG_SAMP:
    case GUMBO_TAG_TT:
    case GUMBO_TAG_VAR: return TR_HTML_WORD;
    case GUMBO_TAG_APPLET:
    case GUMBO_TAG_AREA:
    case GUMBO_TAG_AUDIO:
    case GUMBO_TAG_BASEFONT:
    case GUMBO_TAG_BGSOUND:
    case GUMBO_TAG_CANVAS:
    case GUMBO_TAG_EMBED:
    case GUMBO_TAG_IFRAME:
    case GUMBO_TAG_IMAGE:
    case GUMBO_TAG_IMG:
    case GUMBO_TAG_INPUT:
    case GUMBO_TAG_KEYGEN:
    case GUMBO_TAG_METER:
    case GUMBO_TAG_NOEMBED:
    case GUMBO_TAG_OBJECT:
    case GUMBO_TAG_PROGRESS:
    case GUMBO_TAG_RP:
    case GUMBO_TAG_RT:
    case GUMBO_TAG_RTC:
    case GUMBO_TAG_SCRIPT:
    case GUMBO_TAG_SPACER:
    case GUMBO_TAG_STYLE:
    case GUMBO_TAG_TEMPLATE:
    case GUMBO_TAG_TEXTAREA:
    case GUMBO_TAG_VIDEO: return TR_HTML_EMPTY;
    case GUMBO_TAG_WBR: return TR_HTML_SKIP;
    case GUMBO_TAG_UNKNOWN: return kind_of_unknown(e);
    default: return TR_HTML_BLOCK;
    }
}

/* Code and the like in blocks. */
static bool is_left_alone(GumboTag name)
{
    return name == GUMBO_TAG_PRE || name == GUMBO_TAG_LISTING || name == GUMBO_TAG_XMP || name == GUMBO_TAG_PLAINTEXT ||
           name == GUMBO_TAG_NOFRAMES;
}

static bool has_class(const char *classes, const char *name)
{
    const size_t size = strlen(name);
    for (const char *at = classes; (at = strstr(at, name)) != NULL; at++)
        if ((at == classes || tr_is_ascii_space(at[-1])) && (!at[size] || tr_is_ascii_space(at[size])))
            return true;
    return false;
}

/* Whether an element says that it is translated (1) or not (0); -1: nothing. */
static int says_translate(const GumboElement *e)
{
    const GumboAttribute *translate = gumbo_get_attribute(&e->attributes, "translate");
    const GumboAttribute *class = gumbo_get_attribute(&e->attributes, "class");
    if (class && has_class(class->value, "notranslate"))
        return 0;
    if (!translate)
        return -1;
    const char *value = translate->value;
    if ((value[0] | 0x20) == 'n' && (value[1] | 0x20) == 'o' && !value[2])
        return 0;
    return !*value || ((value[0] | 0x20) == 'y' && (value[1] | 0x20) == 'e' && (value[2] | 0x20) == 's' && !value[3]) ? 1
                                                                                                                      : -1;
}

/* Whether the element's tag is one of the source that stands for no other. */
static bool has_own_tag(const GumboNode *node)
{
    const unsigned clones = GUMBO_INSERTION_RECONSTRUCTED_FORMATTING_ELEMENT | GUMBO_INSERTION_ADOPTION_AGENCY_CLONED |
                            GUMBO_INSERTION_FROM_ISINDEX | GUMBO_INSERTION_CONVERTED_FROM_END_TAG;
    return !(node->parse_flags & clones);
}

/* The place of an element's own closing tag. */
static bool closing_place(const walker *w, const GumboNode *node, uint32_t *begin, uint32_t *end)
{
    const GumboElement *e = &node->v.element;
    GumboStringPiece own = e->original_tag, closing = e->original_end_tag;
    /* Gumbo sets the flag on all elements of SVG. */
    if (!closing.length ||
        (e->tag_namespace == GUMBO_NAMESPACE_HTML && node->parse_flags & GUMBO_INSERTION_IMPLICIT_END_TAG))
        return false;
    gumbo_tag_from_original_text(&closing);
    if (e->tag != GUMBO_TAG_UNKNOWN) {
        own.data = gumbo_normalized_tagname(e->tag);
        own.length = strlen(own.data);
    } else if (own.length) {
        gumbo_tag_from_original_text(&own);
    }
    return gumbo_string_equals_ignore_case(&own, &closing) &&
           tr_html_place(w->document, w->tree, e->original_end_tag, begin, end);
}

static bool add_event(walker *w, tr_html_event event)
{
    event.order = (uint32_t)(w->tree->events.size / sizeof event);
    return tr_buffer_append(&w->tree->events, &event, sizeof event);
}

static tr_html_event *event_at(const walker *w, uint32_t index)
{
    return (tr_html_event *)w->tree->events.data + index;
}

/* Text that is translated lies in elements that are not: they do not stand like words. */
static void open_kept(const walker *w, uint32_t kept)
{
    while (kept != UINT32_MAX && event_at(w, kept)->kind != TR_HTML_BLOCK) {
        tr_html_event *event = event_at(w, kept);
        event->kind = TR_HTML_BLOCK;
        tr_html_place(w->document, w->tree, event->node->v.element.original_tag, &event->begin, &event->end);
        kept = event->element;
    }
}

/* Adds the event of an element's first tag, and begins with its children. */
static bool open_element(walker *w, const GumboNode *node, const frame *parent)
{
    const GumboElement *e = &node->v.element;
    const int says = says_translate(e);
    const uint32_t index = (uint32_t)(w->tree->events.size / sizeof(tr_html_event));
    const bool translated = says < 0 ? !parent || parent->translated : says;
    frame own = {node, 0, w->element_count++, translated, parent ? parent->kept_inside : UINT32_MAX};
    tr_html_event event = {.element = own.element, .kind = (uint8_t)kind_of(node), .translated = translated, .node = node};
    uint32_t begin, end;
    event.closed = closing_place(w, node, &begin, &end);
    if (says == 1)
        open_kept(w, own.kept_inside);
    if (!says && event.kind == TR_HTML_OPEN)
        event.kind = TR_HTML_WORD;
    if (has_own_tag(node) && tr_html_place(w->document, w->tree, e->original_tag, &event.begin, &event.end)) {
        const bool is_whole = event.kind == TR_HTML_WORD || event.kind == TR_HTML_EMPTY;
        if (is_whole && event.closed && end >= event.end)
            event.end = end;
        else if (is_whole && e->children.length)
            event.kind = TR_HTML_BLOCK;
        if (!says && event.kind == TR_HTML_WORD) {
            event.element = own.kept_inside;
            own.kept_inside = index;
        }
        if (!add_event(w, event))
            return false;
    }
    own.translated = translated && !is_left_alone(e->tag) && kind_of(node) != TR_HTML_EMPTY && kind_of(node) != TR_HTML_WORD;
    return tr_buffer_append(&w->frames, &own, sizeof own);
}

static bool close_frame(walker *w, const frame *f)
{
    uint32_t begin, end;
    const tr_html_kind kind = kind_of(f->node) == TR_HTML_OPEN ? TR_HTML_CLOSE : TR_HTML_BLOCK;
    if (!closing_place(w, f->node, &begin, &end))
        return true;
    return add_event(w, (tr_html_event){begin, end, f->element, 0, (uint8_t)kind, false, true, NULL});
}

static bool add_text(walker *w, const GumboNode *node, const frame *parent)
{
    tr_html_event event = {.kind = node->type == GUMBO_NODE_COMMENT ? TR_HTML_EMPTY
                                   : node->type == GUMBO_NODE_CDATA ? TR_HTML_BLOCK
                                                                    : TR_HTML_TEXT,
                           .translated = parent && parent->translated,
                           .node = node};
    return !tr_html_place(w->document, w->tree, node->v.text.original_text, &event.begin, &event.end) || add_event(w, event);
}

static bool walk_node(walker *w, const GumboNode *node, const frame *parent)
{
    const frame copy = parent ? *parent : (frame){0}; /* which moves */
    if (node->type == GUMBO_NODE_ELEMENT || node->type == GUMBO_NODE_TEMPLATE)
        return open_element(w, node, parent ? &copy : NULL);
    return add_text(w, node, parent ? &copy : NULL);
}

static bool walk_tree(walker *w, const GumboNode *document)
{
    for (unsigned i = 0; i < document->v.document.children.length; i++) {
        if (!walk_node(w, document->v.document.children.data[i], NULL))
            return false;
        while (w->frames.size) {
            frame *f = (frame *)(w->frames.data + w->frames.size) - 1;
            if (f->next < f->node->v.element.children.length) {
                if (!walk_node(w, f->node->v.element.children.data[f->next++], f))
                    return false;
                continue;
            }
            w->frames.size -= sizeof *f;
            if (!close_frame(w, f))
                return false;
        }
    }
    return true;
}

static int compare_events(const void *a, const void *b)
{
    const tr_html_event *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static tr_status list_events(const tr_document *d, tr_html_tree *tree, const GumboOutput *output, tr_error *error)
{
    walker w = {.document = d, .tree = tree};
    const bool good = walk_tree(&w, output->document);
    if (good && tree->events.size)
        qsort(tree->events.data, tree->events.size / sizeof(tr_html_event), sizeof(tr_html_event), compare_events);
    tree->element_count = w.element_count;
    tr_buffer_free(&w.frames);
    return good ? TR_OK : tr_fail_memory(error, d->name);
}

tr_status tr_html_parse(const tr_document *d, tr_html_tree *tree, tr_error *error)
{
    size_t size;
    tag_scan *scan = calloc(1, sizeof *scan);
    *tree = (tr_html_tree){.is_xml = looks_like_xml(d)};
    if (!scan)
        return tr_fail_memory(error, d->name);
    scan->document = d;
    scan->tree = tree;
    tr_status status = scan_tags(scan, error);
    free(scan);
    if (status != TR_OK)
        return status;
    const char *data = parsed_data(d, tree, &size);
    tree->memory = tr_html_memory_new(size);
    if (!tree->memory)
        return tr_fail_memory(error, d->name);
    const GumboOutput *output = tr_html_gumbo(tree->memory, GUMBO_TAG_LAST, data, size);
    if (!output && tr_html_memory_used_up(tree->memory))
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "%s: its elements that are not closed need too much memory", d->name);
    return output ? list_events(d, tree, output, error) : tr_fail_memory(error, d->name);
}

void tr_html_tree_free(tr_html_tree *tree)
{
    tr_buffer_free(&tree->events);
    tr_buffer_free(&tree->copy);
    tr_buffer_free(&tree->insertions);
    tr_html_memory_free(tree->memory);
}
