/* A parallel text as token ids, for learning alignment models. Its memory is bounded: when it exceeds TR_PARALLEL_TOKENS,
 * every second pair is dropped, and from then on every second new one. */
#ifndef TR_ALIGN_PARALLEL_H
#define TR_ALIGN_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

enum {
    TR_PARALLEL_TOKENS = 1 << 26, /* of both sides; 256 MB */
    TR_PARALLEL_LENGTH = 256, /* tokens of a sentence; pairs with longer ones are ignored, as time grows with the square */
};

typedef struct tr_text_side {
    int32_t *ids; /* of all sentences, concatenated */
    size_t size, capacity;
    uint32_t *ends; /* [pairs]: sentence p is ids[p ? ends[p - 1] : 0 .. ends[p]) */
} tr_text_side;

typedef struct tr_parallel {
    tr_text_side side[2]; /* source, target */
    size_t pairs, pair_capacity;
    size_t max_tokens;        /* of both sides; 0: TR_PARALLEL_TOKENS */
    uint64_t given, stride;   /* usable pairs so far, of which every stride-th is kept */
    uint64_t empty, too_long; /* ignored pairs */
} tr_parallel;

/* Adds a pair, or ignores it if a sentence is empty or too long. A zeroed struct is an empty text. False: out of memory. */
bool tr_parallel_add(tr_parallel *text, const int32_t *source, size_t source_count, const int32_t *target,
                     size_t target_count) TR_CHECKED;
void tr_parallel_free(tr_parallel *text);

/* Sentence p of a side, and its length. */
const int32_t *tr_parallel_sentence(const tr_parallel *text, int side, size_t pair, int *length);

#endif
