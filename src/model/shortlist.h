/* A lexical shortlist: which target ids may be emitted for a source (Schwenk et al., 2007, as in Marian). For one sentence
 * these are the ids below first, the lists of all its source ids (EOS included), with a shared vocabulary the source ids
 * themselves, and then ids from first upwards until their number is a multiple of 8. */
#ifndef TR_MODEL_SHORTLIST_H
#define TR_MODEL_SHORTLIST_H

#include <stdbool.h>
#include <stdint.h>

#include "model/config.h"
#include "util/error.h"

typedef struct tr_shortlist {
    int first;              /* ids below it are always allowed */
    int best;               /* maximum length of a list when the shortlist was made; for information */
    int sources;            /* number of lists; source ids from this one on have none */
    const int32_t *offsets; /* [sources + 1] list s is words[offsets[s]] .. words[offsets[s + 1] - 1]; NULL: no shortlist */
    const int32_t *words;   /* [count] target ids */
    int64_t count;          /* offsets[sources] */
    int32_t *owned;         /* memory of offsets from malloc; NULL: not owned */
    bool shared;            /* one vocabulary for source and target */
} tr_shortlist;

void tr_shortlist_free(tr_shortlist *shortlist); /* a zeroed one is allowed */

/* Checks that offsets rise from 0 to count and that words are in the target vocabulary. TR_ERROR_FORMAT, TR_ERROR_ARGUMENT.
 */
tr_status tr_shortlist_check(const tr_shortlist *shortlist, const tr_config *config, tr_error *error);

#endif
