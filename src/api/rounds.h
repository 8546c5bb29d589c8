/* Sentences that are translated again, since no translation of theirs has what it must (text/protect.h). A round translates
 * such sentences of all texts of a call; there are at most TR_ATTEMPTS - 1. */
#ifndef TR_API_ROUNDS_H
#define TR_API_ROUNDS_H

#include "text/join.h"

/* A chunk that is translated again. */
typedef struct tr_round_item {
    size_t owner;         /* index of its text in the call */
    tr_text_chunk *chunk; /* of the first attempt */
    const tr_text *of;    /* the chunk's text */
    tr_text text;         /* its bytes, planned again */
    bool other_numbers;   /* an attempt before had the spans, but other numbers */
    size_t first;         /* its first chunk in round.chunks */
} tr_round_item;

typedef struct tr_round {
    struct tr_round *previous;
    tr_plan plan;
    tr_protection protection;
    tr_round_item *items; /* [count] */
    size_t count;
    tr_text_chunk **chunks; /* [chunk_count] */
    const int32_t **bases;  /* [chunk_count] */
    size_t chunk_count;
    tr_request *requests; /* [request_count] */
    size_t request_count;
} tr_round;

/* Plans a round, and puts it before *rounds: items [count], whose text and first are set here; taken over on success.
 * TR_ERROR_MEMORY */
tr_status tr_round_make(const tr_language_pair *pair, const tr_protection *protection, int attempt, tr_round_item *items,
                        size_t count, tr_round **rounds, tr_error *error);
void tr_rounds_free(tr_round *last); /* and those before it */

/* After the requests of a round: checks them, and lets chunks of the first attempt become what they are now. again (owned by
 * the caller then), again_count: the items for the next round. TR_ERROR_MEMORY */
tr_status tr_round_finish(tr_round *round, tr_joiner *joiner, tr_round_item **again, size_t *again_count, tr_error *error);

/* A text's chunks, those that were translated again replaced: [*count], for free(); NULL with TR_OK: none was.
 * TR_ERROR_MEMORY */
tr_status tr_round_chunks(tr_text_chunk *const *chunks, size_t own, tr_text_chunk ***replaced, size_t *count,
                          tr_error *error);

#endif
