/* Counting what is done of a call, for its progress callback: texts wait for units, several texts may wait for one. */
#ifndef TR_PIPELINE_TALLY_H
#define TR_PIPELINE_TALLY_H

#include "pipeline/batch.h"

typedef struct tr_wait {
    size_t text; /* who waits */
    size_t next; /* the next wait for the same unit, SIZE_MAX: none */
} tr_wait;

typedef struct tr_tally {
    const tr_translate_options *options;
    tr_progress counts;
    size_t *waits_of; /* [units] first wait, SIZE_MAX: none */
    tr_wait *waits;   /* [waits] */
    size_t wait_count;
    size_t *pending; /* [texts] units that a text waits for */
    size_t *repeats; /* [texts] equal texts that are done with it */
} tr_tally;

/* Memory for units, waits and texts; none if options->progress is NULL, and then nothing is counted. */
tr_status tr_tally_init(tr_tally *tally, const tr_translate_options *options, size_t units, size_t waits, size_t texts,
                        tr_error *error);
void tr_tally_free(tr_tally *tally);

void tr_tally_wait(tr_tally *tally, size_t text, size_t unit);
void tr_tally_repeat(tr_tally *tally, size_t text); /* one more text is done when text is */
void tr_tally_finish(tr_tally *tally, size_t text); /* to be called once for each text that waits for nothing */

/* The done function of a tr_job; argument is the tally. Calls the progress callback. */
bool tr_tally_done(void *argument, const tr_unit *units, const size_t *indices, int count);

#endif
