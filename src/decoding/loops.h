/* Telling that a translation runs in a circle: networks that have lost the thread repeat what they said ("of the end of the
 * end of the"), exactly or in few tokens that take turns, often up to the limit. */
#ifndef TR_DECODING_CIRCLES_H
#define TR_DECODING_CIRCLES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TR_LOOP_MAX_PERIOD = 20,  /* tokens of what is repeated, at most */
    TR_LOOP_MIN_REPEATS = 3,  /* that it comes, at least */
    TR_LOOP_MIN_TOKENS = 12,  /* that it comes to, at least */
    TR_LOOP_WINDOW = 32,      /* so many tokens that hold at most */
    TR_LOOP_MAX_DISTINCT = 8, /* so many different ones are a circle, too */
};

/* True if the last tokens are the same one to TR_LOOP_MAX_PERIOD over and over, at least TR_LOOP_MIN_REPEATS times and
 * TR_LOOP_MIN_TOKENS tokens, or are the same few in whatever order: of the last TR_LOOP_WINDOW at most TR_LOOP_MAX_DISTINCT
 * differ. To be asked as each token comes: for ordinary text it costs some dozens of comparisons. */
bool tr_is_looping(const int32_t *tokens, int count);

/* How many of the tokens are left without the circle that they end in: what is repeated stays once. count: there is none. */
int tr_length_before_loop(const int32_t *tokens, int count);

/* Where the first circle is complete that is anywhere in the tokens: behind so many of them. 0: there is none. */
int tr_first_loop_end(const int32_t *tokens, int count);

#endif
