/* A dictionary: the entries of a glossary for one pair of languages. Immutable, and counted: whoever has one releases it. */
#ifndef TR_SERVE_DICTIONARY_H
#define TR_SERVE_DICTIONARY_H

#include "serve/languages.h"

enum {
    DICTIONARY_BYTES = 10 << 20,   /* of its entries */
    DICTIONARY_TERM = 1024,        /* bytes of a source or target */
    DICTIONARIES_BYTES = 64 << 20, /* in memory, of all that clients make */
};

typedef struct dictionary {
    size_t holders;
    char source[LANGUAGE], target[LANGUAGE]; /* without script and region, all of which it counts for; "": any */
    size_t entries;
    tr_buffer tsv; /* the entries, a line each but for the last newline */
    tr_glossary *glossary;
    size_t bytes; /* about what it takes in memory */
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

dictionary *dictionary_hold(dictionary *d); /* returns d */
void dictionary_release(dictionary *d);     /* NULL is allowed */

/* Whether it counts for a pair of languages in any spelling. */
bool dictionary_fits(const dictionary *d, const char *source, const char *target);

#endif
