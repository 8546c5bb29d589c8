/* The page for people at /, with what it needs below /page: files of the folder page, which the server holds. Without
 * JavaScript the page is a form, whose answer is the page with the translation in it. */
#ifndef TR_SERVE_PAGE_H
#define TR_SERVE_PAGE_H

#include "serve/http.h"

typedef struct embedded_file {
    const char *name, *type, *data;
    size_t size;
} embedded_file;

/* Made by tools/embed.py. */
extern const embedded_file page_files[]; /* an empty one ends it */
extern const char page_files_inline[];   /* hashes of the style sheet and of the script in the page, for its policy */

/* Answers with an error as the page shows it: for routes with ROUTE_PAGE. */
void page_refuse(request *r, unsigned status, const char *message);

#endif
