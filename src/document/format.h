/* What a document format is made of, and what its reader calls. */
#ifndef TR_DOCUMENT_FORMAT_H
#define TR_DOCUMENT_FORMAT_H

#include "document/document.h"
#include "util/utf8.h"

/* What a run of bytes of a unit is. */
typedef enum tr_piece_kind {
    TR_PIECE_TEXT,  /* characters that people read, as the format's decode gives them */
    TR_PIECE_OPEN,  /* marks around words: <b>, ** */
    TR_PIECE_CLOSE, /* </b> */
    TR_PIECE_EMPTY, /* a mark between words: a picture, a footnote */
    TR_PIECE_WORD,  /* stands in the sentence like a word, and is not translated: code, a variable */
    TR_PIECE_SKIP,  /* nothing of the text, and left out where the unit is written: the line number in a wrapped line */
} tr_piece_kind;

/* Bytes begin .. end of the document. */
typedef struct tr_piece {
    uint32_t begin, end;
    uint32_t partner; /* OPEN, CLOSE: the index in the unit of the other; EMPTY, WORD: UINT32_MAX */
    uint8_t kind;     /* a tr_piece_kind */
} tr_piece;

/* What is translated as a whole: a paragraph, a cell, a message. */
typedef struct tr_unit {
    size_t first;        /* its pieces: first .. first + count of tr_document.pieces */
    uint32_t count;      /* at least 1 */
    uint32_t begin, end; /* the bytes of the document that its translation replaces */
    uint32_t style;      /* how text stands there: each format's own bits, and TR_UNIT_COLLAPSES */
} tr_unit;

/* Bytes of the document that become others, whatever the translation: a language code. */
typedef struct tr_edit {
    uint32_t begin, end;
    size_t text, size; /* of tr_document.edited */
} tr_edit;

/* A document inside another one. */
typedef struct tr_member {
    tr_document *document;
    size_t first; /* its first unit, counted from the first of all members; set when all are read */
} tr_member;

/* A part of a translation, between two marks. */
typedef struct tr_part {
    tr_piece_kind kind;
    const tr_piece *piece; /* the mark; NULL: TEXT */
    const char *text; /* [size] TEXT: of the translation; else the mark's bytes, with the places inside it as they become */
    size_t size;
} tr_part;

/* A unit that is written. */
typedef struct tr_rendering {
    const tr_unit *unit;
    tr_document_translation translation; /* as the caller gave it */
    const char *text;                    /* [size] what the unit's text was */
    size_t size;
    const tr_part *parts; /* [count] the translation; each mark of the unit once, pairs one in the other or side by side */
    size_t count;
    const char *source; /* [source_size] the unit's bytes, with the places inside its marks as they become */
    size_t source_size;
    bool same;       /* the translation is the text */
    tr_buffer *kept; /* the format's own, from unit to unit; empty for the first */
} tr_rendering;

/* A bit of tr_unit.style: white space in decoded text is one space, or none between two Chinese or Japanese characters that
 * a line break divides. */
#define TR_UNIT_COLLAPSES (1U << 31)
/* A bit of tr_unit.style that tr_document_read sets: the unit's place is inside a mark of a later unit. */
#define TR_UNIT_INSIDE (1U << 30)

struct tr_document_format {
    /* Adds units (tr_unit_...), edits in the order of their places (tr_edit_add), or members. Units may come in any order:
     * they are sorted by the ends of their places, then by their begins. The place of a unit or an edit may be inside a mark
     * of another unit, such as an attribute of a picture, but not of one that is itself inside another. */
    tr_status (*read)(tr_document *document, tr_error *error);

    /* Appends the characters that bytes begin .. end of a TEXT piece stand for. NULL: the bytes. False: out of memory. */
    bool (*decode)(const tr_document *document, const tr_unit *unit, uint32_t begin, uint32_t end, tr_buffer *text);
    /* The size of the white space with which bytes begin .. end of a TEXT piece begin, or, if back, end. It is cut off
     * around the words of a unit, and is repeated until it returns 0. NULL: white space of ASCII. */
    size_t (*blank)(const tr_document *document, uint32_t begin, uint32_t end, bool back);
    /* Appends text so that it stands for itself where the unit is. NULL: the bytes. False: out of memory. */
    bool (*encode)(const tr_document *document, const tr_unit *unit, const char *text, size_t size, tr_buffer *out);
    /* Appends what stands in place of bytes unit->begin .. unit->end. NULL: tr_render_parts, or, if the translation is the
     * text, the bytes as they were. */
    tr_status (*render)(const tr_document *document, const tr_rendering *rendering, tr_buffer *out, tr_error *error);

    /* Documents with members: writes the whole. It writes each member with tr_document_write_member. NULL: not needed. */
    tr_status (*write)(const tr_document *document, const tr_document_source *source, const tr_document_sink *sink,
                       tr_error *error);
    void (*close)(void *state); /* frees document->state, which is not NULL */
};

struct tr_document {
    const tr_document_format *format;
    const char *name; /* for messages */
    const char *data; /* [size] */
    uint32_t size;
    tr_document_settings settings;
    void *state; /* the format's own */
    void *owner; /* of tr_document_open */

    /* Filled by the functions below. */
    tr_buffer pieces, units, edits, edited; /* of tr_piece, tr_unit, tr_edit, char */
    tr_buffer members;                      /* of tr_member */
    size_t member_units;                    /* of all members */
    uint64_t text_size;                     /* bytes of TEXT pieces of units */
    bool in_unit;
};

/* Begins a unit; then come its pieces, in order. style: the format's own bits, and TR_UNIT_COLLAPSES. */
tr_status tr_unit_begin(tr_document *document, uint32_t style, tr_error *error);
tr_status tr_unit_piece(tr_document *document, tr_piece_kind kind, size_t begin, size_t end, tr_error *error);
/* Ends a unit whose place is that of its pieces: without the white space and the marks around all its words, which stay
 * where they are. A unit without words is none. Pairs that have only one end become empty marks. */
void tr_unit_end(tr_document *document);
/* Ends a unit with the place begin .. end, which may lie elsewhere. Pieces stay as they are, but for pairs with one end. */
void tr_unit_end_at(tr_document *document, size_t begin, size_t end);
/* A unit that is one text. */
tr_status tr_unit_text(tr_document *document, uint32_t style, size_t begin, size_t end, tr_error *error);
/* Drops the unit that was begun. */
void tr_unit_drop(tr_document *document);

/* Bytes begin .. end become text. */
tr_status tr_edit_add(tr_document *document, size_t begin, size_t end, const char *text, size_t size, tr_error *error);

/* A document inside this one, such as an entry of a zip archive: its units follow those of the members before it. name and
 * data [size] must outlive the document. *member: for tr_document_write_member; it may have no units. */
tr_status tr_member_add(tr_document *document, const tr_document_format *format, const char *name, const char *data,
                        size_t size, tr_document **member, tr_error *error);
/* Writes member number index. Members are written in their order, each once. */
tr_status tr_document_write_member(const tr_document *document, size_t index, const tr_document_source *source,
                                   const tr_document_sink *sink, tr_error *error);

/* Sorts units, and sets TR_UNIT_INSIDE. */
void tr_units_sort(tr_document *document);

/* Appends parts: text encoded, marks as their bytes. False: out of memory. */
bool tr_render_parts(const tr_document *document, const tr_unit *unit, const tr_part *parts, size_t count, tr_buffer *out);
/* Appends the bytes of a piece. */
bool tr_render_piece(const tr_document *document, const tr_piece *piece, tr_buffer *out);

/* Fails with TR_ERROR_FORMAT and "NAME: line L, column C: WHY" for a place in the document. */
tr_status tr_document_fail(const tr_document *document, size_t at, tr_error *error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Fails unless the document has at most max_content bytes, for formats whose library needs many times its size. */
tr_status tr_document_check_content(const tr_document *document, uint64_t size, tr_error *error);
/* Fails if there are more than max_text bytes of text. */
tr_status tr_document_check_text(const tr_document *document, uint64_t size, tr_error *error);

static inline const tr_piece *tr_unit_pieces(const tr_document *document, const tr_unit *unit)
{
    return (const tr_piece *)document->pieces.data + unit->first;
}

#endif
