/* The glossaries of the server: files NAME.tsv and NAME.csv of --glossaries DIR, and those that clients make, which live in
 * memory, at most 1,000 of them and 64 MiB together, and belong to the key that made them. A glossary has a dictionary for
 * each pair of languages. */
#ifndef TR_SERVE_GLOSSARIES_H
#define TR_SERVE_GLOSSARIES_H

#include "serve/http.h"

glossaries *glossaries_create(const server *s, tr_error *error);
void glossaries_free(glossaries *g);
tr_status glossaries_reload(glossaries *g, tr_error *error); /* those of the folder */

/* The glossary for a pair of languages of the one with an id: a client's, or the name of a file, which counts for every
 * pair. It is held until the request ends, also if it is deleted meanwhile. NULL: there is none that the request may use. */
const tr_glossary *glossaries_find(request *r, const char *id, const char *source, const char *target);

#endif
