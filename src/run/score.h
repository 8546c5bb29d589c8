/* Forced decoding of pairs of a source and a target: log-probabilities, attention, alignments. The public functions are made
 * of it, and so are alignments of translations: their final targets go through it once more. */
#ifndef TR_RUN_SCORE_H
#define TR_RUN_SCORE_H

#include "api/model.h"

/* A pair as the network is given it. */
typedef struct tr_scored_pair {
    const int32_t *source; /* [source_length], all marks included */
    int source_length;
    int first, tokens;     /* the source's own are source[first .. first + tokens) */
    const int32_t *target; /* [target_length], the end mark not included */
    int target_length;     /* with the end mark at most config.max_positions */
    bool finished;         /* the end mark is part of it */
} tr_scored_pair;

/* The pair of a unit that was translated: its source, and a target that it became. */
tr_scored_pair tr_scored_request(const tr_context *context, const tr_pair *languages, const tr_request *request,
                                 const int32_t *target, int target_length, bool finished);

/* scores: [count], zeroed; those that were made are to be freed (tr_scores_clear), on failure as well. options: checked with
 * tr_score_resolve; languages are not looked at. start: how targets begin; NULL: the model's own. A pair without rows (no
 * target token, and no end mark) has an empty score. */
tr_status tr_score_pairs(tr_context *context, const tr_scored_pair *pairs, size_t count, const tr_decoder_start *start,
                         const tr_score_options *options, tr_score *scores, tr_error *error);
void tr_scores_clear(tr_score *scores, size_t count);

/* What tr_score_tokens gives to it: pairs point into targets and *memory; both are to be freed, on failure as well.
 * TR_ERROR_ARGUMENT: see tr_score_tokens. */
tr_status tr_pairs_lay_out(const tr_config *config, const tr_pair *languages, const tr_tokens *sources,
                           const tr_tokens *targets, size_t count, const tr_score_options *options, tr_scored_pair **pairs,
                           int32_t **memory, tr_error *error);

/* Checks options (NULL: the defaults), and sets what TR_ALIGN_AUTO stands for: alignment.layer is then a layer,
 * alignment.head a head or TR_ALIGN_MEAN. */
tr_status tr_score_resolve(const tr_model *model, const tr_score_options *options, tr_score_options *resolved,
                           tr_error *error);

#endif
