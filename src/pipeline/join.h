/* The way back: what the units of a text have become, put together to its translations. */
#ifndef TR_PIPELINE_JOIN_H
#define TR_PIPELINE_JOIN_H

#include "pipeline/batch.h"
#include "tokenizer/tokenizer.h"

typedef struct tr_joiner {
    const tr_tokenizer *tokenizer;
    const tr_unit *units;
    int32_t end_id;
    int given;         /* tokens that each target is given at its front: a language */
    bool scores;       /* wanted in results */
    bool hypotheses;   /* all of them are wanted, not the best alone */
    tr_buffer scratch; /* the text in hand */
} tr_joiner;

void tr_joiner_free(tr_joiner *joiner);

/* chunks [text->count]: of the text; all their units are done. */
tr_status tr_join(tr_joiner *joiner, const tr_text *text, tr_chunk *const *chunks, tr_result *result, tr_error *error);

#endif
