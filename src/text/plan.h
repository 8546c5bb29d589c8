/* From texts to what the network translates: a text becomes chunks (sentences, or pieces of sentences that are too long),
 * each a span of bytes and a list of token ids. */
#ifndef TR_TEXT_PLAN_H
#define TR_TEXT_PLAN_H

#include "text/language_pair.h"
#include "text/request.h"

/* Tokens that a piece of a cut sentence has at most. Networks are trained on sentences of this length or less: on longer
 * pieces without marks they repeat themselves more often, and cost more a token (on Chinese text without marks, 128
 * takes 1.4 times the time of 64). */
enum { TR_PIECE_TOKENS = 64 };

/* Target tokens of such a piece at most: what is cut is often no text at all (encoded data, a listing), on which a network
 * would otherwise repeat itself up to the full length, piece after piece. For the same reason the translation of a piece
 * ends as soon as it repeats itself. */
enum { TR_PIECE_TARGET = 2 * TR_PIECE_TOKENS };

typedef struct tr_text_chunk {
    size_t begin, end;   /* bytes of the text; the second and later pieces of a single character are empty */
    size_t ids;          /* index of its first id in tr_plan.ids */
    int length;          /* ids, with the tokens around the text's own */
    int tokens;          /* the text's own; 0: no token of the network (the bytes stay as they are) */
    bool piece;          /* of a sentence that was cut */
    tr_tokens prefix;    /* what its target begins with; not owned */
    tr_request *request; /* set by tr_requests_make; NULL: the chunk has no tokens */
} tr_text_chunk;

/* A zeroed struct is an empty plan. */
typedef struct tr_plan {
    tr_ids ids;
    tr_text_chunk *chunks; /* [count] */
    size_t count, capacity;
} tr_plan;

/* A text and its chunks. */
typedef struct tr_text {
    const char *data; /* valid UTF-8: the caller's bytes, or clean */
    size_t size;
    char *clean;         /* owned, NULL if the caller's bytes were valid */
    size_t begin;        /* where the text begins after a language's token */
    size_t first, count; /* chunks in the plan */
    bool unspaced;       /* no space separates two sentences of its target language */
    int sentences;
    unsigned flags; /* TR_FLAG_CUT, TR_FLAG_INVALID_UTF8 */
} tr_text;

void tr_plan_clear(tr_plan *plan); /* empties it, keeps the memory */
void tr_plan_free(tr_plan *plan);

/* Replaces invalid bytes of a text, splits it into sentences, cuts those that are too long (at clause marks, else at white
 * space, else between characters, else between tokens), and appends the chunks to the plan. Nothing but white space between
 * chunks is left out. Time is linear in the size but for a small factor. text is filled even on failure; several threads may
 * plan texts of one pair, each in a plan of its own. */
tr_status tr_plan_text(tr_plan *plan, const tr_language_pair *pair, tr_split split, const char *data, size_t size,
                       tr_text *text, tr_error *error);
void tr_text_free(tr_text *text);

#endif
