/* A dictionary: the entries of a glossary for one pair of languages. Immutable, and counted: whoever has one releases it. */
#ifndef TR_SERVE_DICTIONARY_H
#define TR_SERVE_DICTIONARY_H

#include "serve/languages.h"

enum {
    DICTIONARY_BYTES = 10 << 20,   /* of its entries */
    DICTIONARY_TERM = 1024,        /* bytes of a source or target */
    DICTIONARIES_BYTES = 64 << 20, /* in memory, of all that clients make, and of all that requests bring */
    TERMS_BYTES = 64 << 10,        /* of those of a request: they are read in the loop, in about 10 ms */
};

typedef struct dictionary {
    size_t holders;
    char source[LANGUAGE], target[LANGUAGE]; /* without script and region, all of which it counts for; "": any */
    size_t entries;
    tr_buffer tsv; /* the entries, a line each but for the last newline */
    tr_glossary *glossary;
    size_t bytes;    /* about what it takes in memory */
    size_t *counted; /* a sum with bytes in it, from which the end takes them; NULL: none */
} dictionary;

typedef enum entries_format { ENTRIES_TSV, ENTRIES_CSV } entries_format;

/* Reads entries, SOURCE TAB TARGET or SOURCE,TARGET[,LANGUAGE,LANGUAGE] a line; rows of other languages are skipped. before:
 * its entries stay, unless there are others for the same source; may be NULL. TR_ERROR_FORMAT: a line is none, an empty or
 * too long term, a control character, a source that comes twice, no entries. TR_ERROR_ARGUMENT: it is no language.
 * TR_ERROR_UNSUPPORTED: it needs too much memory. */
tr_status dictionary_read(const char *source, const char *target, entries_format format, const char *entries, size_t size,
                          const dictionary *before, dictionary **made, tr_error *error);
/* Those of a file, for any pair of languages. */
tr_status dictionary_open(const char *path, dictionary **made, tr_error *error);

/* Those of a request, as a file has them, for any pair of languages; counted lives longer. TR_ERROR_FORMAT: as of a file, or
 * they are too long. TR_ERROR_FULL: there is no room for them in the sum. */
tr_status dictionary_parse(const char *terms, size_t size, size_t *counted, dictionary **made, tr_error *error);

dictionary *dictionary_hold(dictionary *d); /* returns d */
void dictionary_release(dictionary *d);     /* NULL is allowed */

/* Whether it counts for a pair of languages in any spelling. */
bool dictionary_fits(const dictionary *d, const char *source, const char *target);

#endif
