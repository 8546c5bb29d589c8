/* Forced decoding of pairs of a source and a target: log-probabilities, attention, alignments. tr_score_tokens and
 * tr_score_texts are made of it, and so are alignments of translations (aligned.h). */
#ifndef TR_RUN_SCORE_H
#define TR_RUN_SCORE_H

#include "run/scheduler.h"

/* A pair as the network gets it. */
typedef struct tr_scored_pair {
    const int32_t *source; /* [source_length], with the tokens around its own: EOS, languages */
    int source_length;
    int first, tokens;     /* its own are source[first .. first + tokens) */
    const int32_t *target; /* [target_length], EOS not included */
    int target_length;     /* with EOS at most max_positions */
    bool finished;         /* EOS is part of the target */
} tr_scored_pair;

/* scores: [count], zeroed; on failure some may be made, and are to be freed as well (tr_scores_clear). options: resolved;
 * its languages are not used. start: how targets begin; NULL: the model's own. A pair without rows (no target token, and no
 * EOS) has an empty score. */
tr_status tr_score_pairs(tr_scheduler *scheduler, const tr_scored_pair *pairs, size_t count, const tr_decoder_start *start,
                         const tr_score_options *options, tr_score *scores, tr_error *error);

/* Frees what scores own, and zeroes them. */
void tr_scores_clear(tr_score *scores, size_t count);

/* Sorts as tr_alignment says: by source token, then by target token. */
void tr_links_sort(tr_link *links, size_t count);

#endif
