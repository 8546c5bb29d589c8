/* Markdown: what its reader and its writer share. */
#ifndef TR_DOCUMENT_MARKDOWN_H
#define TR_DOCUMENT_MARKDOWN_H

#include "document/format.h"

/* A run of bytes of a paragraph: the kind of its piece, and what it is in Markdown. */
typedef enum tr_markdown_tag {
    TR_MARKDOWN_TEXT,
    TR_MARKDOWN_LINE,   /* a line break that is a space, with what stands before the words of the next line */
    TR_MARKDOWN_BREAK,  /* a hard line break */
    TR_MARKDOWN_EM,     /* * or _ */
    TR_MARKDOWN_STRONG, /* ** or __ */
    TR_MARKDOWN_DELETED,
    TR_MARKDOWN_LINK,
    TR_MARKDOWN_IMAGE,
    TR_MARKDOWN_CODE,
    TR_MARKDOWN_HTML, /* a tag or a comment; <...> links */
    TR_MARKDOWN_BARE, /* what Markdown knows as text: addresses, footnotes, formulas */
} tr_markdown_tag;

typedef struct tr_markdown_item {
    uint32_t begin, end;
    uint8_t kind; /* a tr_piece_kind */
    uint8_t tag;  /* a tr_markdown_tag */
} tr_markdown_item;

typedef enum tr_markdown_kind { TR_MARKDOWN_PARAGRAPH, TR_MARKDOWN_HEADING, TR_MARKDOWN_CELL } tr_markdown_kind;

/* A paragraph, a heading, or a cell of a table. */
typedef struct tr_markdown_block {
    tr_markdown_kind kind;
    bool tight;                    /* a paragraph in a list without blank lines */
    const tr_markdown_item *items; /* [count] in order, without gaps; pairs nest */
    size_t count;
} tr_markdown_block;

typedef struct tr_markdown_reader {
    /* Gets each block in order. */
    tr_status (*block)(void *argument, const tr_markdown_block *block, tr_error *error);
    void *argument;
} tr_markdown_reader;

/* Reads text [size], which begins at a line. A block whose marks cannot be found is left out. TR_ERROR_FORMAT: the text has
 * far more cells than bytes. */
tr_status tr_markdown_scan(const char *text, size_t size, const tr_markdown_reader *reader, tr_error *error);

/* The end of an address, a footnote, a formula and the like that begins at text[at], or at. */
size_t tr_markdown_bare_end(const char *text, size_t begin, size_t end, size_t at);
/* Appends what text means: without backslashes and entities. False: out of memory. */
bool tr_markdown_decode(const char *text, size_t size, tr_buffer *out);
/* Appends the characters of the entity at text[at], which is &. *end: its end; at: it is none. False: out of memory. */
bool tr_markdown_entity(const char *text, size_t size, size_t at, size_t *end, tr_buffer *characters);

/* What md4c reads. */
typedef struct tr_markdown_mask {
    const char *source; /* [size] */
    uint32_t size;
    tr_buffer text;
    tr_buffer added; /* of uint32_t: the places in source where text has more dashes */
    size_t passed;   /* the number of these before the last place that was asked for */
} tr_markdown_mask;

/* Makes a mask of text, from one with zeros. Its buffers are to be freed. False: out of memory. */
bool tr_markdown_mask_text(const char *text, uint32_t size, tr_markdown_mask *mask);
/* The place in the source of a place in its mask; quick if places come in order. */
uint32_t tr_markdown_place_of(tr_markdown_mask *mask, size_t masked);

/* What stands before the words of a line: quotes and white space. */
uint32_t tr_markdown_skip_prefix(const char *text, uint32_t at, uint32_t end);
/* The end of the sign of a list item at text[at], or at. */
uint32_t tr_markdown_skip_list_sign(const char *text, uint32_t size, uint32_t at);
/* The end of `what` from text[at] on; 0: it is not there. */
uint32_t tr_markdown_find(const char *text, uint32_t size, uint32_t at, const char *what);
/* The end of the comment that <!-- at text[at] begins; 0: it has none. */
uint32_t tr_markdown_comment_end(const char *text, uint32_t size, uint32_t at);

static inline bool tr_markdown_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static inline bool tr_markdown_is_mark(char c) /* ASCII punctuation */
{
    return c > ' ' && c < 127 && !tr_is_ascii_word(c);
}

typedef enum tr_markdown_position {
    TR_MARKDOWN_FIRST,   /* begins its block */
    TR_MARKDOWN_NEXT,    /* begins a line in its block */
    TR_MARKDOWN_WITHIN,  /* has other words before it in its line */
    TR_MARKDOWN_PICTURE, /* describes a picture */
} tr_markdown_position;

/* What the writer has to know of a unit. */
typedef struct tr_markdown_place {
    uint32_t begin, end; /* the part of its block that is apart from other units */
    uint32_t from, to;   /* the part that is parsed again with the translation */
    uint32_t label;      /* the end of the words, if they are also the label of a link: the unit ends with ] or ][] */
    uint8_t kind;        /* a tr_markdown_kind */
    uint8_t at, from_at; /* a tr_markdown_position: of the unit, and of `from` */
    bool setext;         /* a heading that is underlined */
    bool alone;          /* there is no other unit in its block */
    bool last;           /* there is none after it in its block */
    bool bare;           /* a cell that begins its line: no | stands before it */
    bool whole;          /* a paragraph or heading that may have another beside it: not in a list without blank lines */
} tr_markdown_place;

typedef struct tr_markdown_state {
    tr_buffer places; /* of tr_markdown_place, for each unit */
    bool references;  /* there are link reference definitions */
} tr_markdown_state;

tr_status tr_markdown_render(const tr_document *document, const tr_rendering *rendering, tr_buffer *out, tr_error *error);

#endif
