/* Counting what is done of a call: texts wait for units, several texts may wait for one. */
#ifndef TR_RUN_COMPLETION_H
#define TR_RUN_COMPLETION_H

#include "run/requests.h"

typedef struct tr_completion_wait {
    size_t text; /* who waits */
    size_t next; /* the next wait for the same unit, SIZE_MAX: none */
} tr_completion_wait;

/* Called as a text has all its units. */
typedef tr_status tr_text_done(void *argument, size_t text, tr_error *error);

typedef struct tr_completion {
    tr_progress counts;
    size_t *waits_of;          /* [units] first wait, SIZE_MAX: none */
    tr_completion_wait *waits; /* [waits] */
    size_t wait_count;
    size_t *pending; /* [texts] units that a text waits for */
    size_t *repeats; /* [texts] equal texts that are done with it */
} tr_completion;

tr_status tr_completion_init(tr_completion *tally, size_t units, size_t waits, size_t texts, tr_error *error);
void tr_completion_free(tr_completion *tally);

void tr_completion_wait_for(tr_completion *tally, size_t text, size_t unit);
void tr_completion_repeat(tr_completion *tally, size_t text); /* one more text is done when text is */
void tr_completion_finish(tr_completion *tally, size_t text); /* to be called once for each text that waits for nothing */

/* Counts a unit that is done, and the texts that waited for it alone, after done was called for each of them. */
tr_status tr_completion_request(tr_completion *tally, const tr_request *request, size_t index, tr_text_done *done,
                                void *argument, tr_error *error);

/* Adds a unit's tokens, and texts. */
void tr_completion_count(tr_progress *counts, const tr_request *request, size_t texts);
/* Calls the progress callback, if there is one. TR_ERROR_CANCELLED */
tr_status tr_completion_report(const tr_progress *counts, const tr_translate_options *options, tr_error *error);

#endif
