/* When a hypothesis ends before its EOS: at its length limit, or when it loops. Networks that have lost the thread repeat
 * what they wrote ("of the end of the end of the"), exactly or in a few tokens in changing order, often up to the limit. */
#ifndef TR_DECODING_STOPPING_H
#define TR_DECODING_STOPPING_H

#include "decoding/search.h"

enum {
    TR_LOOP_MAX_PERIOD = 20,  /* tokens of what is repeated, at most */
    TR_LOOP_MIN_REPEATS = 3,  /* how often it comes, at least */
    TR_LOOP_MIN_TOKENS = 12,  /* tokens of all repeats together, at least */
    TR_LOOP_WINDOW = 32,      /* so many tokens of which */
    TR_LOOP_MAX_DISTINCT = 8, /* at most so many differ are a loop, too */
};

/* Whether tokens [count] end in a loop: the same one to TR_LOOP_MAX_PERIOD tokens at least TR_LOOP_MIN_REPEATS times and
 * TR_LOOP_MIN_TOKENS tokens long, or at most TR_LOOP_MAX_DISTINCT different ones among the last TR_LOOP_WINDOW. Costs some
 * dozens of comparisons for ordinary text. */
bool tr_is_looping(const int32_t *tokens, int count);

/* How many tokens are left without the loop at the end; its first repeat stays. count: there is no loop. */
int tr_length_before_loop(const int32_t *tokens, int count);

/* The end of the first loop anywhere in tokens [count]; 0: there is none. */
int tr_first_loop_end(const int32_t *tokens, int count);

/* The number of tokens with which a hypothesis of a beam must end, a forced EOS included. */
int tr_max_hyp_length(const tr_search *s, const tr_sequence *seq);

/* Finishes all live hypotheses of a beam, which have `length` tokens, without EOS. */
void tr_beam_cut(const tr_search *s, const tr_hyp_memory *h, tr_slot *slot, tr_beam *beam, int length);
/* The same if they have reached the length limit, or the best of them loops. */
void tr_beam_cut_at_limit(const tr_search *s, const tr_hyp_memory *h, tr_slot *slot, tr_beam *beam, int length);

#endif
