/* The module of formats, translate-document.so: the one table that the library looks up in it. */
#ifndef TR_DOCUMENT_MODULE_H
#define TR_DOCUMENT_MODULE_H

#include "document/document.h"
#include "util/file.h" /* TR_PATH */

typedef struct tr_document_module {
    const char *version; /* of the build, which has to be the library's: the structures are shared */
    size_t layout;       /* and TR_DOCUMENT_LAYOUT, for builds of one version */
    tr_status (*read)(const char *name, const char *data, size_t size, const tr_document_settings *settings,
                      tr_document **document, tr_error *error);
    void (*close)(tr_document *document);
    size_t (*count)(const tr_document *document);
    tr_status (*text)(const tr_document *document, size_t unit, tr_buffer *text, tr_error *error);
    tr_status (*write)(const tr_document *document, const tr_document_source *source, const tr_document_sink *sink,
                       tr_error *error);
} tr_document_module;

#define TR_DOCUMENT_LAYOUT                                                                                                  \
    (sizeof(tr_document_settings) << 16 | sizeof(tr_document_translation) << 8 | sizeof(tr_document_module))
#define TR_DOCUMENT_MODULE "tr_document_functions"
extern const tr_document_module tr_document_functions;

/* What the command asks of a format: bits. */
enum {
    TR_DOCUMENT_ZIPPED = 1,     /* its bytes are no text */
    TR_DOCUMENT_DOUBTS = 2,     /* it has a place that says that a translation is doubtful */
    TR_DOCUMENT_COLUMNS = 4,    /* settings that it follows: columns, */
    TR_DOCUMENT_KEYS = 8,       /* keys, */
    TR_DOCUMENT_WIDTH = 16,     /* line_width, */
    TR_DOCUMENT_BILINGUAL = 32, /* bilingual */
    TR_DOCUMENT_LIMITED = 64,   /* it has at most max_content bytes */
};
enum { TR_DOCUMENT_CONTENT = 16 << 20 };         /* settings.max_content 0 */
unsigned tr_document_traits(const char *format); /* 0 for an unknown format, or NULL */

/* The path of the file that has the module. False: there is none. */
bool tr_document_find_module(char path[TR_PATH]);
/* Finds the module. *handle: for tr_document_unload. TR_ERROR_UNSUPPORTED: there is none, or it is of another version. */
tr_status tr_document_load(const tr_document_module **module, void **handle, tr_error *error);
void tr_document_unload(void *handle); /* NULL is allowed */

#endif
