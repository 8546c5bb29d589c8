/* HTML for its reader (html.c): the events of a document in the order of its bytes, and the characters of its text. */
#ifndef TR_DOCUMENT_HTML_H
#define TR_DOCUMENT_HTML_H

#include <gumbo.h>

#include "document/formats.h"

/* How the text of a unit stands. */
enum {
    TR_HTML_DOUBLE = 1, /* an attribute in "" */
    TR_HTML_SINGLE = 2, /* in '' */
    TR_HTML_BARE = 4,   /* without quotes, which it gets */
    TR_HTML_ALONE = 8,  /* no tag can stand beside it: title, option */
    TR_HTML_ATTRIBUTE = TR_HTML_DOUBLE | TR_HTML_SINGLE | TR_HTML_BARE,
};

/* document->state */
typedef struct tr_html {
    bool is_xml;
    const char *space; /* how U+00A0 is written */
    bool failed;       /* tr_html_blank had no memory, which it cannot tell: reading fails in the end */
} tr_html;

typedef enum tr_html_kind {
    TR_HTML_TEXT,
    TR_HTML_OPEN,  /* the tag of an inline element */
    TR_HTML_CLOSE, /* its closing tag */
    TR_HTML_EMPTY, /* a whole element, or a comment, that stands in a sentence */
    TR_HTML_WORD,  /* a whole element that stands in a sentence like a word */
    TR_HTML_SKIP,  /* nothing: <wbr> */
    TR_HTML_BLOCK, /* what ends a unit */
} tr_html_kind;

/* A part of the source. Only events with a node that is an element have attributes. */
typedef struct tr_html_event {
    uint32_t begin, end;
    uint32_t
        element; /* OPEN, CLOSE: a number that its two tags share; WORD that says translate="no": such an event around it */
    uint32_t order;
    uint8_t kind;
    bool translated; /* text: it is; a tag: its attributes are */
    bool closed;     /* OPEN: its element has a closing tag */
    const GumboNode *node;
} tr_html_event;

/* A parsed document. */
typedef struct tr_html_tree {
    tr_buffer events; /* of tr_html_event, in the order of their places */
    uint32_t element_count;
    bool is_xml;
    struct tr_html_memory *memory; /* of the nodes */
    tr_buffer copy;                /* what was parsed instead of the source, if it is XML */
    tr_buffer insertions;          /* where the copy has more */
} tr_html_tree;

tr_status tr_html_parse(const tr_document *document, tr_html_tree *tree, tr_error *error);
void tr_html_tree_free(tr_html_tree *tree);
/* The place in the source of bytes that the tree points to; false: they lie nowhere. */
bool tr_html_place(const tr_document *document, const tr_html_tree *tree, GumboStringPiece piece, uint32_t *begin,
                   uint32_t *end);
/* The end of the tag, or comment, that begins at data[at] with '<'; or at, if it is text. */
size_t tr_html_markup_end(const char *data, size_t size, size_t at);

/* Appends the characters of source text, or of an attribute's value without its quotes (style), with its references to
 * characters as browsers read them. False: out of memory. */
bool tr_html_decode(const char *text, size_t size, uint32_t style, tr_buffer *out);
/* Appends text as it is written. */
bool tr_html_encode(const tr_html *html, const char *text, size_t size, uint32_t style, tr_buffer *out);
/* Members of tr_document_format. */
size_t tr_html_blank(const tr_document *document, uint32_t begin, uint32_t end, bool back);
bool tr_html_decode_piece(const tr_document *document, const tr_unit *unit, uint32_t begin, uint32_t end, tr_buffer *text);
bool tr_html_encode_part(const tr_document *document, const tr_unit *unit, const char *text, size_t size, tr_buffer *out);
tr_status tr_html_render(const tr_document *document, const tr_rendering *rendering, tr_buffer *out, tr_error *error);

#endif
