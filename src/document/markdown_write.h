/* Markdown: a translation while it is written. */
#ifndef TR_DOCUMENT_MARKDOWN_WRITE_H
#define TR_DOCUMENT_MARKDOWN_WRITE_H

#include "document/markdown.h"

/* How carefully: with spaces beside emphasis, with a backslash before all punctuation, with both. */
enum { PADDED = 1, ESCAPED = 2, ATTEMPTS = 4 };

/* A part of the translation, as it is written. */
typedef struct tr_markdown_part {
    const tr_piece *piece;
    size_t begin, end;             /* TEXT: of writer.text */
    size_t moved_begin, moved_end; /* punctuation that moves out of a pair, to before OPEN or after CLOSE */
    size_t partner;                /* of a pair: the other */
    uint8_t kind;
    uint8_t beyond; /* what stands after it and the emphasis marks there, before signs are moved: markdown_body.c */
    bool space;     /* before OPEN, after CLOSE */
} tr_markdown_part;

typedef struct tr_markdown_writer {
    const tr_document *document;
    const tr_unit *unit;
    const tr_markdown_place *place;
    const char *lead;        /* stands before the translation: the end of the source, in bilingual documents */
    tr_markdown_part *parts; /* [count] */
    size_t count;
    tr_buffer before;                  /* what stands before the unit in the part that is parsed again */
    tr_buffer text;                    /* of TEXT parts, with white space collapsed */
    tr_buffer body;                    /* the translation as it is written */
    tr_buffer meaning;                 /* what reading body again has to give: see tr_markdown_append_meaning */
    tr_buffer stack;                   /* of size_t: pairs that are open */
    size_t links;                      /* how many of these are links or pictures */
    bool line_start;                   /* body begins a line */
    bool own;                          /* the translation is the text of the unit */
    bool references, inert[3], failed; /* inert: runs of * _ ~ in the text do nothing */
    unsigned how;
} tr_markdown_writer;

/* Takes the parts of a translation into a writer whose document, unit and place are set. False: out of memory. */
bool tr_markdown_take_parts(tr_markdown_writer *w, const tr_rendering *rendering);
/* Moves white space and punctuation out of emphasis, where it would end it. */
void tr_markdown_move_out(tr_markdown_writer *w);
/* Writes body and meaning. */
void tr_markdown_write_body(tr_markdown_writer *w);

/* Text and marks as a reader has them: of marks their kind and class. Spaces after spaces are left out. */
bool tr_markdown_append_meaning(tr_buffer *meaning, const char *text, size_t size);
bool tr_markdown_append_mark(tr_buffer *meaning, uint8_t kind, const char *text, size_t size);
void tr_markdown_end_meaning(tr_buffer *meaning);

/* Notes a failure, for out of memory; true: there was one. */
static inline bool tr_markdown_failed(tr_markdown_writer *w, bool good)
{
    w->failed |= !good;
    return w->failed;
}

#endif
