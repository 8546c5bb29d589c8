/* What the tests of documents share. */
#ifndef TR_TESTS_DOCUMENT_CHECK_H
#define TR_TESTS_DOCUMENT_CHECK_H

#include "document/format.h"

/* Appends a translation of a unit's text to *out. */
typedef void (*check_translator)(const char *text, size_t size, tr_buffer *out);

/* Translators that need no model. Marks, <x1>, </x1>, {x2}, stay as they are. */
void check_same(const char *text, size_t size, tr_buffer *out);
void check_upper(const char *text, size_t size, tr_buffer *out);  /* ASCII letters become capitals */
void check_quoted(const char *text, size_t size, tr_buffer *out); /* "text" becomes "[text]" */

/* Reads a document of a format, or fails the test with the library's message. */
tr_document *check_read(const char *data, size_t size, const tr_document_settings *settings);
/* The message with which it cannot be read; "" if it can. Valid until the next call. */
const char *check_failure(const char *data, size_t size, const tr_document_settings *settings);
/* The texts of all units, each in a line of its own with \n and \\ in place of line breaks and backslashes. For free(). */
char *check_units(const char *data, size_t size, const tr_document_settings *settings);
/* The document with all units translated. For free(); *out_size may be NULL. */
char *check_written(const char *data, size_t size, const tr_document_settings *settings, check_translator translate,
                    size_t *out_size);

/* A document of C strings: units are as listed, one a line, and with check_upper it becomes `upper`. NULL: not looked at. */
void check_document(const char *format, const char *document, const char *units, const char *upper);

/* The properties of every format: written anew with its own texts the document has the same units; translated it has as many
 * units, whose texts are the translations, and outside the units both have the same bytes. (Not for formats whose places
 * lie elsewhere, or zipped ones.) */
void check_properties(const char *data, size_t size, const tr_document_settings *settings, check_translator translate);

#endif
