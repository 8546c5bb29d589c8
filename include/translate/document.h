/* Documents: a file goes in, its text is translated, and all else comes out as it was, byte for byte.
 *
 *     tr_document *document;
 *     if (tr_document_open("report.docx", NULL, &document, &error) ||
 *         tr_document_translate(document, context, NULL, &error) ||
 *         tr_document_save(document, "report.en.docx", &error))
 *         fprintf(stderr, "%s\n", error.message);
 *     tr_document_free(document);
 *
 * A document is a list of units: paragraphs, headings, cells, messages. A program can translate all of them with one call,
 * or read each, show it, and set its translation. The conventions are those of translate.h. A document belongs to one thread
 * at a time.
 *
 * Formats are read by a module, translate-document.so, which the library loads with the first document: from the program's
 * folder, from the folder translate beside the library, or from where it was installed. A build without it returns
 * TR_ERROR_UNSUPPORTED.
 *
 * Options of tr_document_open and tr_document_parse
 *
 *   format           string  by name  A name that tr_document_format_name lists. Default: by the end of the file's name.
 *   source_language  string  unknown  What `lang` attributes and the like say that become
 *   target_language  string  none     this language. NULL: they stay.
 *   bilingual        int     0        1: the source stays beside its translation: above it in HTML, Markdown and docx, in a
 *                                     line of its own in subtitles. Other formats ignore it.
 *   pairs            string  none     "tsv": what is written is a line for each unit, SOURCE TAB TRANSLATION, without marks.
 *                                     "tmx": the same as a translation memory.
 *   paragraphs       int     0        1: wrapped lines of plain text are one paragraph, as in mail and text from PDF.
 *   columns          string  all      CSV and TSV: the columns to translate: "2,4-6", or names in the first row.
 *   keys             string  all      JSON and YAML: the values to translate: "title,items.*.text".
 *   line_width       int     0        Subtitles: columns of a line; a Chinese character takes two. 0: 42.
 *   max_content      int     0        Bytes of a document that is held in memory as a tree (HTML, Markdown, YAML), or of
 *                                     what a zipped one unpacks to, at most. 0: 16 MiB.
 *   max_text         int     0        Bytes of text without markup, at most: a document with more is refused before all of
 *                                     it is read. In HTML, text that is not translated counts, too. 0: any number. */
#ifndef TRANSLATE_DOCUMENT_H
#define TRANSLATE_DOCUMENT_H

#include <translate/translate.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tr_document tr_document;

/* The names of the formats: index 0, 1, ... until NULL. */
TR_API const char *tr_document_format_name(size_t index);
/* The name of the format that a file of this name has, by its end; NULL: none. */
TR_API const char *tr_document_find_format(const char *path);

/* Reads a document. On success *document is for tr_document_free. Text must be UTF-8: XML, office documents, JSON and YAML
 * are refused otherwise; other formats keep what is not, but for U+FFFD in translated text.
 *
 * TR_ERROR_ARGUMENT     An option is out of range, or there is no such format.
 * TR_ERROR_IO           The file cannot be read.
 * TR_ERROR_FORMAT       It is damaged: "PATH: line L, column C: WHY".
 * TR_ERROR_UNSUPPORTED  It has more than max_content bytes, max_text bytes of text or 4 GiB, or this build reads no
 *                       documents. */
TR_API tr_status tr_document_open(const char *path, const tr_options *options, tr_document **document, tr_error *error);

/* The same for size bytes, which are copied. name: for messages, and to find the format. */
TR_API tr_status tr_document_parse(const char *name, const void *data, size_t size, const tr_options *options,
                                   tr_document **document, tr_error *error);
TR_API void tr_document_free(tr_document *document); /* NULL is allowed */

/* The number of units. */
TR_API size_t tr_document_units(const tr_document *document);

/* The text of a unit. Marks such as bold words are <x1>...</x1>, pictures and the like <x2></x2>, words that are not
 * translated {x3}; another letter than x where the text itself has such words. *text is NUL-terminated, for tr_free; *size:
 * its bytes without the NUL (may be NULL).
 *
 * TR_ERROR_ARGUMENT  There is no such unit. */
TR_API tr_status tr_document_unit(const tr_document *document, size_t unit, char **text, size_t *size, tr_error *error);

/* Sets the translation of a unit, which is copied. Marks that it lacks are put at its end, those that come twice are left
 * out; invalid UTF-8 and NUL become U+FFFD where it is written. flags: TR_FLAG_DOUBTFUL marks it in formats that have a
 * place for that (PO, XLIFF). A unit without a translation stays as it is.
 *
 * TR_ERROR_ARGUMENT  There is no such unit, or text is NULL. */
TR_API tr_status tr_document_set(tr_document *document, size_t unit, const char *text, size_t size, unsigned flags,
                                 tr_error *error);

/* The translation of a unit, as it was set or translated; *size: its bytes (may be NULL). NULL: it has none. Valid until the
 * next translation is set. */
TR_API const char *tr_document_get(const tr_document *document, size_t unit, size_t *size);

/* Translates all units that have no translation. options: as tr_translate; they need protect, the default, which keeps the
 * marks. on_progress counts units. A call that fails or is cancelled keeps what it has, and can be repeated.
 *
 * Errors as tr_translate. */
TR_API tr_status tr_document_translate(tr_document *document, tr_context *context, const tr_options *options,
                                       tr_error *error);

/* The same through a queue, beside its other callers. options: as tr_queue_submit, without on_event; a result other than 0
 * of on_progress cancels.
 *
 * Errors as tr_queue_submit, but it waits where the queue is full. */
TR_API tr_status tr_document_translate_queue(tr_document *document, tr_queue *queue, const tr_options *options,
                                             tr_error *error);

/* Writes the document with its translations to a file, which appears complete or not at all.
 *
 * TR_ERROR_IO  The file cannot be written. */
TR_API tr_status tr_document_save(const tr_document *document, const char *path, tr_error *error);

/* The same as bytes: *data is for tr_free. */
TR_API tr_status tr_document_bytes(const tr_document *document, char **data, size_t *size, tr_error *error);

#ifdef __cplusplus
}
#endif
#endif
