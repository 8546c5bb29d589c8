/* The characters of HTML's text, and how they are written. */
#include <stdio.h>
#include <string.h>

#include "document/html.h"
#include "document/html_memory.h"

/* The character at text[0], if the parser takes it only as a reference: control characters and the like; else 0. */
static uint32_t odd_character(const char *text, size_t size, size_t *length)
{
    const unsigned char first = (unsigned char)*text;
    *length = 1;
    if (first < 0x80)
        return (first < ' ' && !strchr("\t\n\f", first)) || first == 0x7F ? first : 0;
    if (first != 0xC2 && first != 0xEF && first < 0xF0)
        return 0;
    const int32_t c = tr_utf8_decode(text, size, length);
    const bool is_odd = (c >= 0x80 && c < 0xA0) || (c >= 0xFDD0 && c <= 0xFDEF) || (c > 0 && (c & 0xFFFE) == 0xFFFE);
    return is_odd ? (uint32_t)c : 0;
}

/* Whether bytes stand for themselves. */
static bool is_plain(const char *text, size_t size)
{
    size_t length;
    for (size_t i = 0; i < size; i++)
        if (!text[i] || text[i] == '&' || odd_character(text + i, size - i, &length))
            return false;
    return tr_utf8_valid(text, size);
}

/* Whether a number of a character is so large that gumbo reads another. */
static bool has_huge_number(const char *text, size_t size)
{
    for (size_t i = 0; i + 2 < size; i++) {
        if (text[i] != '&' || text[i + 1] != '#')
            continue;
        i += 2;
        i += (text[i] | 0x20) == 'x';
        while (i < size && text[i] == '0')
            i++;
        const size_t begin = i;
        while (i < size && tr_is_ascii_word(text[i]))
            i++;
        if (i - begin > 7)
            return true;
        i--;
    }
    return false;
}

/* The text of the first attribute, or node, of a parsed piece. */
static const char *first_text(const GumboOutput *output, bool is_attribute)
{
    const GumboVector *children = &output->root->v.element.children;
    const GumboNode *node = children->length ? children->data[0] : NULL;
    if (!node)
        return "";
    if (!is_attribute)
        return node->type == GUMBO_NODE_TEXT || node->type == GUMBO_NODE_WHITESPACE ? node->v.text.text : "";
    if (node->type != GUMBO_NODE_ELEMENT || !node->v.element.attributes.length)
        return "";
    return ((const GumboAttribute *)node->v.element.attributes.data[0])->value;
}

/* The names of characters are gumbo's. */
static bool decode_anew(const char *text, size_t size, uint32_t style, tr_buffer *out)
{
    const bool is_attribute = style & TR_HTML_ATTRIBUTE;
    const char *quote = style & TR_HTML_SINGLE ? "'" : "\"";
    tr_buffer tag = {0};
    bool good = tr_buffer_string(&tag, is_attribute ? "<a b=" : "") && (!is_attribute || tr_buffer_string(&tag, quote)) &&
                tr_buffer_append(&tag, text, size) &&
                (!is_attribute || (tr_buffer_string(&tag, quote) && tr_buffer_string(&tag, ">")));
    tr_html_memory *memory = good ? tr_html_memory_new(tag.size) : NULL;
    const GumboTag context = is_attribute ? GUMBO_TAG_DIV : GUMBO_TAG_TITLE;
    const GumboOutput *output = memory ? tr_html_gumbo(memory, context, tag.data, tag.size) : NULL;
    good = output && tr_buffer_string(out, first_text(output, is_attribute));
    tr_html_memory_free(memory);
    tr_buffer_free(&tag);
    return good;
}

bool tr_html_decode(const char *text, size_t size, uint32_t style, tr_buffer *out)
{
    if (is_plain(text, size) || has_huge_number(text, size))
        return tr_buffer_append(out, text, size);
    return decode_anew(text, size, style, out);
}

bool tr_html_decode_piece(const tr_document *d, const tr_unit *unit, uint32_t begin, uint32_t end, tr_buffer *text)
{
    return tr_html_decode(d->data + begin, end - begin, unit->style, text);
}

/* Whether c, which is no ASCII character, is white space. */
static bool is_wide_space(int32_t c)
{
    return c > 0x7F && (tr_is_space(c) || c == 0xA0);
}

/* The size of the reference at text[0], which is '&'. */
static size_t reference_size(const char *text, size_t size)
{
    static const char space[] = "&nbsp"; /* the one space whose name needs no semicolon */
    size_t at = 1;
    if (size >= sizeof space - 1 && memcmp(text, space, sizeof space - 1) == 0) {
        at = sizeof space - 1;
    } else if (size > 2 && text[1] == '#') {
        const bool is_hex = (text[2] | 0x20) == 'x';
        for (at = 2 + is_hex; at < size; at++)
            if (!tr_is_ascii_digit(text[at]) && !(is_hex && tr_is_ascii_letter(text[at]) && (text[at] | 0x20) <= 'f'))
                break;
    } else {
        while (at < size && tr_is_ascii_word(text[at]))
            at++;
    }
    return at + (at < size && text[at] == ';');
}

/* The size of the white space with which text begins. Out of memory: 0, and html->failed. */
static size_t space_at(tr_html *html, const char *text, size_t size)
{
    size_t length = 1, at = 0;
    if (!size)
        return 0;
    if (strchr(" \t\n\r\f\v", text[0]) && text[0])
        return 1;
    if (text[0] != '&')
        return is_wide_space(tr_utf8_decode(text, size, &length)) ? length : 0;
    length = reference_size(text, size);
    tr_buffer decoded = {0};
    html->failed |= !tr_html_decode(text, length, 0, &decoded);
    bool space = !html->failed && decoded.size;
    for (size_t own; space && at < decoded.size; at += own) {
        own = 1;
        if (!strchr(" \t\n\r\f", decoded.data[at]))
            space = is_wide_space(tr_utf8_decode(decoded.data + at, decoded.size - at, &own));
    }
    tr_buffer_free(&decoded);
    return space ? length : 0;
}

size_t tr_html_blank(const tr_document *d, uint32_t begin, uint32_t end, bool back)
{
    const char *text = d->data + begin;
    const size_t size = end - begin;
    if (!back || !size)
        return space_at(d->state, text, size);
    size_t at = size - 1;
    while (at && (text[at] & 0xC0) == 0x80)
        at--;
    if (space_at(d->state, text + at, size - at) == size - at)
        return size - at;
    at = size - (text[size - 1] == ';');
    while (at && (tr_is_ascii_word(text[at - 1]) || text[at - 1] == '#'))
        at--;
    if (!at || text[at - 1] != '&')
        return 0;
    return space_at(d->state, text + at - 1, size - at + 1) == size - at + 1 ? size - at + 1 : 0;
}

/* The reference that stands for text[0], and the bytes that it stands for; NULL: none is needed. number: memory for it. */
static const char *reference_for(const tr_html *html, const char *text, size_t size, uint32_t style, size_t *length,
                                 char number[16])
{
    *length = 1;
    switch (*text) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return style & (TR_HTML_DOUBLE | TR_HTML_BARE) ? "&quot;" : NULL;
    case '\'': return style & TR_HTML_SINGLE ? "&#39;" : NULL;
    }
    if (html->space && size > 1 && memcmp(text, "\xC2\xA0", 2) == 0) {
        *length = 2;
        return html->space;
    }
    const uint32_t code = odd_character(text, size, length);
    if (!code)
        return NULL;
    snprintf(number, 16, "&#%u;", (unsigned)code);
    return number;
}

bool tr_html_encode(const tr_html *html, const char *text, size_t size, uint32_t style, tr_buffer *out)
{
    size_t from = 0;
    for (size_t i = 0, length; i < size; i += length) {
        char number[16];
        const char *reference = reference_for(html, text + i, size - i, style, &length, number);
        if (!reference)
            continue;
        if (!tr_buffer_append(out, text + from, i - from) || !tr_buffer_string(out, reference))
            return false;
        from = i + length;
    }
    return tr_buffer_append(out, text + from, size - from);
}

bool tr_html_encode_part(const tr_document *d, const tr_unit *unit, const char *text, size_t size, tr_buffer *out)
{
    return tr_html_encode(d->state, text, size, unit->style, out);
}

/* Appends a part. White space on both sides of a picture is one run for the unit's text, which stands on one side: it comes
 * back on the other. */
static bool render_part(const tr_document *d, const tr_rendering *r, size_t index, tr_buffer *out)
{
    const tr_part *part = &r->parts[index], *next = index + 1 < r->count ? part + 1 : NULL;
    const tr_piece *piece = part->piece;
    if (part->kind != TR_PIECE_EMPTY || piece->begin == r->unit->begin || piece->end == r->unit->end || !index || !next ||
        !tr_is_ascii_space(d->data[piece->begin - 1]) || !tr_is_ascii_space(d->data[piece->end]))
        return tr_render_parts(d, r->unit, part, 1, out);
    const bool before = tr_is_ascii_space(out->data[out->size - 1]),
               after = next->kind == TR_PIECE_TEXT && tr_is_ascii_space(*next->text);
    return tr_buffer_string(out, after && !before ? " " : "") && tr_render_parts(d, r->unit, part, 1, out) &&
           tr_buffer_string(out, before && !after ? " " : "");
}

/* Whether a tag has an attribute that no other may have in the document. */
static bool has_id(const tr_part *part)
{
    for (size_t i = 0; i + 3 < part->size; i++)
        if (strchr(" \t\n\r\f\"'", part->text[i]) && (part->text[i + 1] | 0x20) == 'i' &&
            (part->text[i + 2] | 0x20) == 'd' && strchr("= \t\n\r\f", part->text[i + 3]))
            return true;
    return false;
}

/* The translation below its source: pictures, scripts and identifiers come once. */
static bool render_below(const tr_document *d, const tr_rendering *r, tr_buffer *out)
{
    const tr_html *html = d->state;
    const tr_piece *pieces = tr_unit_pieces(d, r->unit);
    if (!tr_buffer_append(out, r->source, r->source_size) || !tr_buffer_string(out, html->is_xml ? "<br/>" : "<br>"))
        return false;
    for (size_t i = 0; i < r->count; i++) {
        const tr_part *part = &r->parts[i];
        tr_part open = *part;
        if (part->kind == TR_PIECE_CLOSE) {
            const tr_piece *partner = &pieces[part->piece->partner];
            open.text = d->data + partner->begin;
            open.size = partner->end - partner->begin;
        }
        if (part->kind != TR_PIECE_TEXT && (part->kind == TR_PIECE_EMPTY || has_id(&open)))
            continue;
        if (!tr_render_parts(d, r->unit, part, 1, out))
            return false;
    }
    return true;
}

static bool render_instead(const tr_document *d, const tr_rendering *r, tr_buffer *out)
{
    const char *quote = r->unit->style & TR_HTML_BARE ? "\"" : "";
    bool good = tr_buffer_string(out, quote);
    for (size_t i = 0; i < r->count && good; i++)
        good = render_part(d, r, i, out);
    return good && tr_buffer_string(out, quote);
}

tr_status tr_html_render(const tr_document *d, const tr_rendering *r, tr_buffer *out, tr_error *error)
{
    const uint32_t style = r->unit->style;
    bool good;
    if (r->same)
        good = tr_buffer_append(out, r->source, r->source_size);
    else if (d->settings.bilingual && !(style & (TR_HTML_ATTRIBUTE | TR_HTML_ALONE)))
        good = render_below(d, r, out);
    else
        good = render_instead(d, r, out);
    return good ? TR_OK : tr_fail_memory(error, d->name);
}
