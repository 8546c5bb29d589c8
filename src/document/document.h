/* Documents: bytes become units of text with places, and translations take these places. Every format fills the same
 * structures; what is no text of a unit is written as it was, byte for byte.
 *
 * A format is one file with a tr_document_format (format.h); docs/adding.md tells how to add one. */
#ifndef TR_DOCUMENT_DOCUMENT_H
#define TR_DOCUMENT_DOCUMENT_H

#include "translate/document.h"
#include "util/buffer.h"

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
typedef struct tr_document_piece {
    uint32_t begin, end;
    uint32_t partner; /* OPEN, CLOSE: the index in the unit of the other; EMPTY, WORD: UINT32_MAX */
    uint8_t kind;     /* a tr_piece_kind */
} tr_document_piece;

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

typedef struct tr_document_format tr_document_format;

/* Gets the bytes of the document that is written. Returns TR_OK, or an error, which ends the writing. */
typedef struct tr_document_sink {
    tr_status (*write)(void *argument, const void *data, size_t size, tr_error *error);
    void *argument;
} tr_document_sink;

/* A unit's translation, valid until the next one is asked for. */
typedef struct tr_document_translation {
    const char *text;
    size_t size;
    unsigned flags; /* TR_FLAG_... */
} tr_document_translation;

/* Gives the translation of each unit, 0, 1, ... in this order, each once. */
typedef struct tr_document_source {
    tr_status (*next)(void *argument, size_t unit, tr_document_translation *translation, tr_error *error);
    void *argument;
} tr_document_source;

/* Reads a document of fewer than 4 GiB. name: for messages, and, without settings->format, the file name that tells the
 * format. data [size]: must outlive the document. On success *document is for tr_document_close.
 * TR_ERROR_ARGUMENT: there is no such format. TR_ERROR_FORMAT: "NAME: line L, column C: WHY". */
tr_status tr_document_read(const char *name, const char *data, size_t size, const tr_document_settings *settings,
                           tr_document **document, tr_error *error);
void tr_document_close(tr_document *document); /* NULL is allowed */

/* The number of units. */
size_t tr_document_count(const tr_document *document);

/* Appends the text of a unit to *text, with marks as <x1>...</x1>, empty ones as <x2></x2>, words as {x3}; another letter
 * than x if the text itself has such a mark. */
tr_status tr_document_text(const tr_document *document, size_t unit, tr_buffer *text, tr_error *error);

/* Writes the document with translations in place of the units. */
tr_status tr_document_write(const tr_document *document, const tr_document_source *source, const tr_document_sink *sink,
                            tr_error *error);

#endif
