/* A lexical shortlist (model/shortlist.h) learned from a parallel text: for each source token the target tokens that it is
 * most often aligned with, in either direction, and for every sentence the most frequent ones. */
#ifndef TR_ALIGN_LEXICON_H
#define TR_ALIGN_LEXICON_H

#include "align/model.h"
#include "model/shortlist.h"

typedef struct tr_lexicon_settings {
    int first; /* most frequent target tokens, which every source allows */
    int best;  /* target tokens of each source token */
    int end_id;
    bool bare_source; /* a source has no end mark: frequent tokens are in every list, else in the end mark's */
    tr_align_settings align;
} tr_lexicon_settings;

/* The list of a source token is the best by the expected number of alignments in both directions together; that of the end
 * mark is the frequent ones and the end mark. also: NULL, or [vocabulary[0]]: a target token to be put into each list, -1:
 * none. The lists are the shortlist's own; offsets and words lie in one block. */
tr_status tr_lexicon_learn(const tr_parallel *text, const int vocabulary[2], const tr_lexicon_settings *settings,
                           const int32_t *also, tr_team *team, tr_align_progress *progress, void *argument,
                           tr_shortlist *shortlist, tr_error *error);

#endif
