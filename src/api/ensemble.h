/* The models of a context that decode together: whether they fit, and their weights. */
#ifndef TR_API_ENSEMBLE_H
#define TR_API_ENSEMBLE_H

#include "decoding/ensemble.h"
#include "api/model.h"

/* Of a context's own model and those that options add. TR_ERROR_ARGUMENT: an option is out of range, or the models do not
 * fit; the message names the two and what differs. */
tr_status tr_ensemble_make(const tr_model *model, const tr_context_options *options, tr_ensemble *ensemble, tr_error *error);

#endif
