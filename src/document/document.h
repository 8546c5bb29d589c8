/* Documents: bytes become units of text with places, and translations take these places. Every format fills the same
 * structures; what is no text of a unit is written as it was, byte for byte.
 *
 * A format is one file with a tr_document_format (format.h); docs/adding.md tells how to add one. */
#ifndef TR_DOCUMENT_DOCUMENT_H
#define TR_DOCUMENT_DOCUMENT_H

#include "translate/document.h"
#include "util/buffer.h"

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
