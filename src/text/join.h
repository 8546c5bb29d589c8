/* The way back: what the units of a text have become, put together to its translations. */
#ifndef TR_TEXT_JOIN_H
#define TR_TEXT_JOIN_H

#include "run/requests.h"
#include "tokenizer/tokenizer.h"

typedef struct tr_joiner {
    const tr_tokenizer *tokenizer;
    const tr_request *requests;
    int32_t end_id;
    int given;         /* tokens that each target is given at its front: a language */
    int behind;        /* tokens behind each source's own */
    bool scores;       /* wanted in results */
    bool align;        /* likewise */
    bool hypotheses;   /* all of them are wanted, not the best alone */
    tr_buffer scratch; /* the text in hand */
    tr_buffer spans;   /* with align: of tr_span, where in it each of its target tokens is */
} tr_joiner;

/* A text on its way back. */
typedef struct tr_joining {
    tr_joiner *joiner;
    const tr_text *text;
    tr_text_chunk *const *chunks; /* [text->count] */
} tr_joining;

/* The unit of a chunk; NULL: its text stays as it is. */
static inline const tr_request *tr_joining_unit(const tr_joining *joining, size_t chunk)
{
    const size_t unit = joining->chunks[chunk]->request;
    return unit == SIZE_MAX ? NULL : &joining->joiner->requests[unit];
}

void tr_joiner_free(tr_joiner *joiner);

/* What comes in front of the translation of a chunk that has a unit, behind that of the one before it: white space of the
 * text's, and what stays as it is. It is put into the scratch. *space: and one space more, unless the translation is empty.
 * chunks as below. */
tr_status tr_join_front(tr_joiner *joiner, const tr_text *text, tr_text_chunk *const *chunks, size_t chunk, bool *space,
                        tr_error *error);

/* chunks [text->count]: of the text; all their units are done. */
tr_status tr_join(tr_joiner *joiner, const tr_text *text, tr_text_chunk *const *chunks, tr_result *result, tr_error *error);

#endif
