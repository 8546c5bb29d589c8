/* Which tokens of one side each token of the other may explain: those that stand in the same pairs. Only these are in the
 * tables of an alignment model. */
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
    TR_ALIGN_CANDIDATES_EACH = 512,    /* of a token at most */
    TR_ALIGN_CANDIDATES_ALL = 1 << 25, /* of all together, near enough: large vocabularies have fewer each */
};

/* given: 0, source tokens have rows; 1, target tokens do. Of more than fit, those are taken that are most typical: whose
 * number of pairs together, squared, is largest beside the candidate's own number of pairs. TR_ERROR_MEMORY. */
tr_status tr_align_candidates_find(const tr_parallel *text, int given, const int vocabulary[2], tr_team *team,
                                   tr_align_candidates *found, tr_error *error);
void tr_align_candidates_free(tr_align_candidates *candidates);

#endif
