/* The languages that a call translates between, as the tokens that the network is given for them. */
#ifndef TR_TEXT_PAIR_H
#define TR_TEXT_PAIR_H

#include "decoding/decoding.h"
#include "text/plan.h"

typedef struct tr_pair {
    const struct tr_model *model;
    int max_positions;                    /* source tokens that can be taken, the end mark included */
    int source, target;                   /* in the package's languages; -1: none, or not known */
    const char *target_code;              /* "" if unknown */
    int32_t prefix[TR_MAX_SOURCE_PREFIX]; /* tokens in front of each source */
    int prefix_count;
    int32_t suffix; /* and one behind its end mark */
    bool has_suffix;
    tr_decoder_start start; /* how each target begins */
} tr_pair;

/* source and target: what a user asked for (see tokenizer/language_codes.h); NULL: with texts set, the model's own, and if
 * it has none, and cannot do without, that is an error; else the caller gives such tokens itself. TR_ERROR_ARGUMENT: the
 * model has no such language, or it has to be named. */
tr_status tr_pair_choose(const struct tr_model *model, const char *source, const char *target, bool texts, tr_pair *pair,
                         tr_error *error);

/* The encoder that plans texts for this pair, which must outlive it. TR_ERROR_ARGUMENT: the model has no tokenizer, or no
 * place for a token. */
tr_status tr_pair_template(const tr_pair *pair, tr_source_template *encoder, tr_error *error);

#endif
