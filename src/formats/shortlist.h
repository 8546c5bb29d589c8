/* Marian's binary lexical shortlist (browsermt/marian-dev, src/data/shortlist.cpp), lex.50.50.PAIR.s2t.bin of Firefox's
 * models. */
#ifndef TR_FORMATS_SHORTLIST_H
#define TR_FORMATS_SHORTLIST_H

#include "formats/package.h"

/* True if a file begins like a shortlist. */
bool tr_shortlist_recognise(const void *data, size_t size);

/* Fills a zeroed shortlist, whose words point into file. TR_ERROR_FORMAT: it is damaged. */
tr_status tr_shortlist_read(tr_bytes file, tr_shortlist *shortlist, tr_error *error);

/* Writes a shortlist to a file, which appears complete or not at all. */
tr_status tr_shortlist_write(const tr_shortlist *shortlist, const char *path, tr_error *error);

/* Opens a file and replaces the shortlist of the package by it. Messages begin with the path. TR_ERROR_ARGUMENT: it belongs
 * to other vocabularies. */
tr_status tr_package_shortlist(tr_package *package, const char *path, tr_load load, tr_error *error);

#endif
