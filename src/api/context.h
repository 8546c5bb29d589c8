/* The context that a tr_context handle stands for. */
#ifndef TR_API_CONTEXT_H
#define TR_API_CONTEXT_H

#include "api/model.h"
#include "api/results.h"
#include "run/scheduler.h"

enum { TR_MAX_BATCH = 4096 }; /* sentences in a batch */

struct tr_context {
    const tr_model *model;
    tr_config config; /* the model's; in an ensemble, max_positions is what all models can take */
    int threads;
    tr_scheduler *scheduler;
    tr_plan *plans; /* [threads]: the chunks of the texts that each thread prepares */
    tr_translation_cache cache;
    struct tr_context *reverse; /* owned, of the model that translates back; NULL: none */
};

/* tr_language_pair_choose for a call: texts: sources are given as texts, else as tokens. TR_ERROR_ARGUMENT as there, or
 * texts is set and the model has no tokenizer. */
tr_status tr_context_languages(const tr_context *context, const char *source, const char *target, bool texts,
                               tr_language_pair *pair, tr_error *error);

#endif
