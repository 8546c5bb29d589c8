/* Learns a lexical shortlist (model/shortlist.h) from a parallel text: for each source token the target tokens that it is
 * aligned with most often, in both directions, and the most frequent target tokens for every sentence. */
#ifndef TR_ALIGN_LEXICON_H
#define TR_ALIGN_LEXICON_H

#include "align/model.h"
#include "model/shortlist.h"

typedef struct tr_lexicon_settings {
    int first; /* number of most frequent target tokens, which every source allows */
    int best;  /* maximum number of target tokens of a source token */
    int end_id;
    bool bare_source; /* sources have no EOS: frequent tokens are in every list, else in that of EOS */
    tr_align_settings align;
} tr_lexicon_settings;

/* The list of a source token holds the target tokens with the largest expected number of alignments, both directions
 * together; that of EOS holds the frequent ones and EOS. also: [vocabulary[0]] a further target token of each list, -1:
 * none; or NULL. The caller frees the shortlist, whose offsets and words lie in one block. */
tr_status tr_lexicon_learn(const tr_parallel *text, const int vocabulary[2], const tr_lexicon_settings *settings,
                           const int32_t *also, tr_team *team, tr_align_progress *progress, void *argument,
                           tr_shortlist *shortlist, tr_error *error);

#endif
