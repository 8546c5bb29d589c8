/* Telling that a translation runs in a circle: networks that have lost the thread repeat what they said ("of the end of the
 * end of the"), exactly or in few tokens that take turns, often up to the limit. */
#ifndef TR_DECODING_CIRCLES_H
#define TR_DECODING_CIRCLES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TR_CIRCLE_PERIOD = 20, /* tokens of what is repeated, at most */
    TR_CIRCLE_TIMES = 3,   /* that it comes, at least */
    TR_CIRCLE_TOKENS = 12, /* that it comes to, at least */
    TR_BABBLE_TOKENS = 32, /* so many tokens that hold at most */
    TR_BABBLE_KINDS = 8,   /* so many different ones are a circle, too */
};

/* True if the last tokens are the same one to TR_CIRCLE_PERIOD over and over, at least TR_CIRCLE_TIMES times and
 * TR_CIRCLE_TOKENS tokens, or are the same few in whatever order: of the last TR_BABBLE_TOKENS at most TR_BABBLE_KINDS
 * differ. To be asked as each token comes: for ordinary text it costs some dozens of comparisons. */
bool tr_runs_in_circle(const int32_t *tokens, int count);

/* How many of the tokens are left without the circle that they end in: what is repeated stays once. count: there is none. */
int tr_before_circle(const int32_t *tokens, int count);

/* Where the first circle is complete that is anywhere in the tokens: behind so many of them. 0: there is none. */
int tr_first_circle(const int32_t *tokens, int count);

#endif
