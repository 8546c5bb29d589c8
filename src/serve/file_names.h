/* Names of documents: that of a translation, their types, and how they are written in addresses and headers. */
#ifndef TR_SERVE_FILE_NAMES_H
#define TR_SERVE_FILE_NAMES_H

#include <jansson.h>

#include "util/buffer.h"

/* A name that a client gave (NULL: none), as one that any file system takes, for free(); NULL: out of memory. */
char *file_name_clean(const char *name);
/* "report.en.docx", for free(); NULL: out of memory. */
char *file_name_translated(const char *name, const char *language);
/* The MIME type of a file, by the end of its name. */
const char *file_name_type(const char *name);

/* Appends text with all but letters, digits and -._~ as %XX. */
bool file_name_escape(const char *name, tr_buffer *out) TR_CHECKED;
/* Appends the value of Content-Disposition with which a browser saves a file of this name. */
bool file_name_disposition(const char *name, tr_buffer *out) TR_CHECKED;

/* The ends of the names of all formats: [".csv", ".docx", ...], a new array; NULL: out of memory. */
json_t *file_name_endings(void);

#endif
