/* A glossary: words of the source language and what stands for them in translations. Immutable, shared by threads. */
#ifndef TR_TEXT_TERMS_H
#define TR_TEXT_TERMS_H

#include "util/buffer.h"
#include "util/types.h"

typedef tr_glossary tr_terms;

enum { TR_MAX_TERMS = 1000000, TR_MAX_TERM = 1024, TR_MAX_GLOSSARY = 16 << 20 }; /* entries, bytes of a source, of all */

/* Parses a glossary. A line is SOURCE TAB TARGET, optionally with TAB FLAGS, or the same as CSV with double quotes; blank
 * lines and lines that begin with "# " are skipped. Flags, separated by spaces: case (capitals and small letters differ),
 * nocase, word (whole words only), part. Without them, sources in ASCII letters are whole words, and case counts if they
 * have a capital after a letter (iPhone, USB); others stand anywhere. name: for messages: "NAME:LINE: what".
 * TR_ERROR_FORMAT: a wrong number of fields, an empty one, an unknown flag, two targets for one source, text that is not
 * UTF-8, or too much of it. */
tr_status tr_terms_parse(const char *name, const char *data, size_t size, tr_terms **terms, tr_error *error);
void tr_terms_free(tr_terms *terms);

/* A number that differs between glossaries of different content. */
uint64_t tr_terms_key(const tr_terms *terms);

typedef struct tr_term_match {
    size_t begin, end; /* bytes of the text */
    const char *target;
    size_t target_size;
} tr_term_match;

/* The first match in text[at .. size), of those that begin together the longest; false: there is none. Linear in the size
 * but for the length of the longest source. */
bool tr_terms_next(const tr_terms *terms, const char *text, size_t size, size_t at, tr_term_match *match);

/* Whether the noun at bytes begin .. end of an English text is a plural: a number other than one, many or these come before
 * it, and no other noun follows. */
bool tr_wants_plural(const char *text, size_t size, size_t begin, size_t end);
/* Appends the plural of an English noun phrase where a plain rule gives it, else the phrase; names have none. False: out of
 * memory. */
bool tr_append_plural(const char *phrase, size_t size, tr_buffer *out) TR_CHECKED;

#endif
