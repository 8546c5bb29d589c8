/* From texts to what the network computes: a text becomes chunks (sentences, or pieces of sentences that are too long),
 * each a span of bytes and a list of token ids. */
#ifndef TR_TEXT_PLAN_H
#define TR_TEXT_PLAN_H

#include "text/sentences.h"
#include "util/buffer.h"
#include "util/error.h"

/* Tokens that a piece of a cut sentence has at most. Networks are trained on sentences of this length or less: on longer
 * pieces without marks they babble more often, and cost more a token (on Chinese text without marks, 128 takes 1.4 times the
 * time of 64). */
enum { TR_PIECE_TOKENS = 64 };

/* Target tokens of such a piece at most: what is cut is often no text at all (encoded data, a listing), and a network that
 * babbles on it would otherwise run to the full length for every piece. For the same reason a piece ends where its
 * translation begins to run in a circle. */
enum { TR_PIECE_TARGET = 2 * TR_PIECE_TOKENS };

enum { TR_MAX_SOURCE_PREFIX = 2 }; /* tokens before a chunk at most */

/* How chunks become ids. */
typedef struct tr_source_template tr_source_template;
struct tr_source_template {
    /* Appends the ids of valid UTF-8, without an end mark. Called from several threads at once. */
    tr_status (*encode)(const void *argument, const char *text, size_t size, tr_ids *ids, tr_error *error);
    const void *argument;
    int eos_id;                           /* appended to each chunk; -1: none */
    int limit;                            /* tokens that the network takes, those around them not counted; >= 1 */
    int32_t prefix[TR_MAX_SOURCE_PREFIX]; /* before each chunk: a language */
    int prefix_count;
    int32_t suffix; /* behind the end mark: a language, too */
    bool has_suffix;
    bool unspaced; /* nothing goes between the translations of two sentences: Chinese, Japanese */
    /* If a text begins with a language's token: its bytes, and *own encodes the rest of that text. Else 0. NULL: texts begin
     * with no such token. */
    size_t (*typed)(const tr_source_template *encoder, const char *text, size_t size, tr_source_template *own);
    const void *typed_argument;
};

typedef struct tr_text_chunk {
    size_t begin, end; /* bytes of the text; the second and later pieces of a single character are empty */
    size_t ids;        /* index of its first id in tr_plan.ids */
    int length;        /* ids, with those before and behind the text's own */
    int tokens;        /* the text's own; 0: nothing that the network knows (it stays as it is) */
    bool piece;        /* of a sentence that was cut */
    size_t request;    /* filled by batch.h */
    tr_tokens prefix;  /* what its target begins with; somebody else's */
} tr_text_chunk;

/* A zeroed struct is an empty plan. */
typedef struct tr_plan {
    tr_ids ids;
    tr_text_chunk *chunks;
    size_t count, capacity;
} tr_plan;

/* A text and what was planned for it. */
typedef struct tr_text {
    const char *data; /* valid UTF-8: the caller's bytes, or clean */
    size_t size;
    char *clean;         /* owned, NULL if the caller's bytes were valid */
    size_t begin;        /* bytes of a language's token at its front, which is no text */
    size_t first, count; /* chunks in the plan */
    bool unspaced;       /* as its encoder says */
    int sentences;
    unsigned flags; /* TR_FLAG_CUT, TR_FLAG_INVALID_UTF8 */
} tr_text;

void tr_plan_clear(tr_plan *plan); /* empties it, keeps the memory */
void tr_plan_free(tr_plan *plan);

/* Cleans the bytes, splits them, and appends their chunks to the plan. text is filled even on failure. */
tr_status tr_plan_text(tr_plan *plan, const tr_source_template *encoder, tr_split split, const char *data, size_t size,
                       tr_text *text, tr_error *error);
void tr_text_free(tr_text *text);

#endif
