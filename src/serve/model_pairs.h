/* The pairs of languages that a folder of models has, in the spelling of languages.h: what interfaces list. */
#ifndef TR_SERVE_MODEL_PAIRS_H
#define TR_SERVE_MODEL_PAIRS_H

#include <jansson.h>

#include "serve/server.h"

typedef struct model_pairs model_pairs;

/* The index must outlive the pairs. */
model_pairs *model_pairs_create(const tr_model_index *index, tr_error *error);
void model_pairs_free(model_pairs *p);

/* Sorted arrays of codes, which the caller borrows. */
const json_t *model_pairs_sources(const model_pairs *p);
const json_t *model_pairs_targets(const model_pairs *p);
/* The other ends of the ways from a source, or to a target, over one model or two; found with the first call. NULL: no model
 * has it on that side, or memory is short. */
const json_t *model_pairs_from(model_pairs *p, const char *source);
const json_t *model_pairs_to(model_pairs *p, const char *target);
/* The languages of one model of the index; a new array. */
json_t *model_pairs_of_model(const model_pairs *p, size_t index, bool targets);

#endif
