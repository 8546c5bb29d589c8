/* A lexical shortlist: which target ids the words of a source allow (Schwenk et al., 2007; Marian's). For a sentence they
 * are the frequent ones, the lists of all its source ids (the end mark's, too), with one vocabulary the source ids
 * themselves, and then ids from first upwards until their number is a multiple of 8. */
#ifndef TR_MODEL_SHORTLIST_H
#define TR_MODEL_SHORTLIST_H

#include <stdbool.h>
#include <stdint.h>

#include "model/config.h"
#include "util/error.h"

typedef struct tr_shortlist {
    int first;   /* ids below it are always allowed */
    int best;    /* what a list was cut to when it was made; for people */
    int sources; /* lists; source ids from here on have none */
    const int32_t
        *offsets; /* [sources + 1]: list s is words[offsets[s]] to words[offsets[s + 1]]; NULL: there is no shortlist */
    const int32_t *words; /* [count] */
    int64_t count;        /* = offsets[sources] */
    int32_t *owned;       /* malloc'ed offsets, or NULL: somebody else's */
    bool shared;          /* source and target ids mean the same */
} tr_shortlist;

void tr_shortlist_free(tr_shortlist *shortlist); /* a zeroed one is allowed */

/* Offsets that rise from 0 to count, and words below the target vocabulary: whatever it came from. */
tr_status tr_shortlist_check(const tr_shortlist *shortlist, const tr_config *config, tr_error *error);

#endif
