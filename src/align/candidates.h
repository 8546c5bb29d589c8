/* Candidates: the tokens of one side that a token of the other side may explain, because they occur in the same pairs. The
 * tables of an alignment model hold only these. */
#ifndef TR_ALIGN_CANDIDATES_H
#define TR_ALIGN_CANDIDATES_H

#include "align/parallel.h"
#include "util/team.h"

/* Rows of a table by tokens of the given side: candidates of token g are ids[starts[g] .. starts[g + 1]), ascending. */
typedef struct tr_align_candidates {
    int given, explained; /* sizes of the two vocabularies */
    size_t *starts;       /* [given + 1] */
    int32_t *ids;         /* [starts[given]] */
} tr_align_candidates;

enum {
    TR_ALIGN_CANDIDATES_EACH = 512,    /* maximum for a token */
    TR_ALIGN_CANDIDATES_ALL = 1 << 25, /* approximate maximum of all: tokens of large vocabularies have fewer */
};

/* given: the side whose tokens have rows, 0: source, 1: target. If there are too many candidates, takes those with the
 * largest (pairs with both tokens)^2 / (pairs with the candidate). TR_ERROR_MEMORY. */
tr_status tr_align_candidates_find(const tr_parallel *text, int given, const int vocabulary[2], tr_team *team,
                                   tr_align_candidates *found, tr_error *error);
void tr_align_candidates_free(tr_align_candidates *candidates);

#endif
