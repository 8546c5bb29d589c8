/* Counting what is done of a call: texts wait for units, several texts may wait for one. */
#ifndef TR_PIPELINE_TALLY_H
#define TR_PIPELINE_TALLY_H

#include "pipeline/batch.h"

typedef struct tr_wait {
    size_t text; /* who waits */
    size_t next; /* the next wait for the same unit, SIZE_MAX: none */
} tr_wait;

/* Called as a text has all its units. */
typedef tr_status tr_text_done(void *argument, size_t text, tr_error *error);

typedef struct tr_tally {
    tr_progress counts;
    size_t *waits_of; /* [units] first wait, SIZE_MAX: none */
    tr_wait *waits;   /* [waits] */
    size_t wait_count;
    size_t *pending; /* [texts] units that a text waits for */
    size_t *repeats; /* [texts] equal texts that are done with it */
} tr_tally;

tr_status tr_tally_init(tr_tally *tally, size_t units, size_t waits, size_t texts, tr_error *error);
void tr_tally_free(tr_tally *tally);

void tr_tally_wait(tr_tally *tally, size_t text, size_t unit);
void tr_tally_repeat(tr_tally *tally, size_t text); /* one more text is done when text is */
void tr_tally_finish(tr_tally *tally, size_t text); /* to be called once for each text that waits for nothing */

/* Counts a unit that is done, and the texts that waited for it alone, after done was called for each of them. */
tr_status tr_tally_unit(tr_tally *tally, const tr_unit *unit, size_t index, tr_text_done *done, void *argument,
                        tr_error *error);

/* Adds a unit's tokens, and texts. */
void tr_tally_count(tr_progress *counts, const tr_unit *unit, size_t texts);
/* Calls the progress callback, if there is one. TR_ERROR_CANCELLED */
tr_status tr_tally_report(const tr_progress *counts, const tr_translate_options *options, tr_error *error);

#endif
