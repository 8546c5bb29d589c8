/* What the public handles hold. */
#ifndef TR_API_MODEL_H
#define TR_API_MODEL_H

#include <stdatomic.h>

#include "formats/package.h"
#include "model/network.h"
#include "text/pair.h"
#include "api/translation_cache.h"
#include "text/plan.h"
#include "run/scheduler.h"
#include "tokenizer/tokenizer.h"

struct tr_model {
    char *path;         /* that it was opened by, for messages */
    tr_package package; /* what the three below point into */
    tr_network *network;
    tr_tokenizer *tokenizer;                  /* NULL: the model takes tokens only */
    _Atomic(tr_tokenizer *) target_tokenizer; /* see tr_model_target_tokenizer; NULL: not made yet */
    const tr_shortlist *shortlist;            /* NULL: any token can come */
    const char *compute;                      /* "f32": what the arithmetic amounts to */
};

struct tr_context {
    const tr_model *model;
    tr_config config; /* the model's; with an ensemble, max_positions is what all can take */
    int threads;
    tr_scheduler *scheduler;
    tr_plan *plans; /* [threads]: working memory of the texts that each thread prepares */
    tr_translation_cache cache;
};

/* The tokenizer whose encode gives target ids; made when it is first asked for, since translating needs none. Any thread.
 * TR_ERROR_ARGUMENT: the model has no tokenizer. TR_ERROR_UNSUPPORTED: it cannot cut target texts. */
tr_status tr_model_target_tokenizer(const tr_model *model, const tr_tokenizer **tokenizer, tr_error *error);

/* Checks options (NULL: the defaults) against the context's models and clips lengths to what they can do. */
tr_status tr_options_resolve(const tr_context *context, const tr_translate_options *options, tr_translate_options *resolved,
                             tr_error *error);

#endif
