/* The glossaries of the server: files NAME.tsv and NAME.csv of --glossaries DIR, and those that clients make, which live in
 * memory, at most 1,000 of them and 64 MiB together, and belong to the key that made them. A glossary has a dictionary for
 * each pair of languages. Requests may also bring their terms with them. */
#ifndef TR_SERVE_GLOSSARIES_H
#define TR_SERVE_GLOSSARIES_H

#include "serve/dictionary.h"
#include "serve/http.h"

glossaries *glossaries_create(const server *s, tr_error *error);
void glossaries_free(glossaries *g);
/* Reads those of the folder again, in another thread, then calls done(argument, error) in the loop; an error keeps the old
 * ones. If it is called again before that, done is called once. */
void glossaries_reload(glossaries *g, void (*done)(void *argument, const tr_error *error), void *argument);
size_t glossaries_count(const glossaries *g); /* of the folder */

/* The dictionary for a pair of languages of the glossary with an id: a client's, or the name of a file, which counts for
 * every pair. The caller releases it. NULL: there is none that the request may use. */
dictionary *glossaries_take(const request *r, const char *id, const char *source, const char *target);

/* What a request brings in its field `terms`: a glossary's text, for the request alone. *found NULL: none; the caller
 * releases it, before glossaries_free. False: it has been answered. */
bool glossaries_read_terms(request *r, dictionary **found);
/* The names of the files: a new array. */
json_t *glossaries_names(const glossaries *g);

/* A client's glossary. */
typedef struct glossary {
    struct glossary *next;
    char id[37]; /* a UUID */
    char *name;
    char *key;                 /* that made it; NULL: none */
    char created[32];          /* ISO 8601 */
    dictionary **dictionaries; /* [count] */
    size_t count;
} glossary;

/* Makes a glossary that belongs to a key. TR_ERROR_UNSUPPORTED: there are too many, or they are too large. */
tr_status glossaries_add(glossaries *g, const char *key, const char *name, dictionary *const *dictionaries, size_t count,
                         const glossary **made, tr_error *error);
/* The glossary that belongs to a key and has an id; NULL: there is none. */
glossary *glossaries_get(const glossaries *g, const char *key, const char *id);
/* The one of a key that was made after another; NULL: the first. NULL: there is none. */
const glossary *glossaries_next(const glossaries *g, const char *key, const glossary *before);
/* Gives a glossary another name, unless name is NULL, and dictionaries, which replace those for the same languages.
 * TR_ERROR_UNSUPPORTED: as above. A failure changes nothing. */
tr_status glossaries_change(glossaries *g, glossary *changed, const char *name, dictionary *const *dictionaries,
                            size_t count, tr_error *error);
void glossaries_remove(glossaries *g, glossary *removed);

/* The dictionary of a glossary for a pair of languages; NULL: it has none. */
dictionary *glossary_dictionary(const glossary *of, const char *source, const char *target);
void glossaries_remove_dictionary(glossaries *g, glossary *of, dictionary *removed);

#endif
