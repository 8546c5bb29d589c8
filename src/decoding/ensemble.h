/* Models that decode together, as in Marian: at each step a token's log-probabilities are added up, each model's times its
 * weight. They have the same target tokens, at the same outputs, and the same source tokens; weights add up to 1, so that
 * sums are log-probabilities like those of one model. */
#ifndef TR_DECODING_ENSEMBLE_H
#define TR_DECODING_ENSEMBLE_H

#include <translate/translate.h>

#include "model/network.h"

typedef struct tr_ensemble {
    const tr_network *networks[TR_MAX_ENSEMBLE]; /* [count]; what the first one's settings say of tokens counts */
    float weights[TR_MAX_ENSEMBLE];
    int count; /* at least 1 */
} tr_ensemble;

/* One model, by itself. */
static inline tr_ensemble tr_ensemble_of(const tr_network *network)
{
    return (tr_ensemble){{network}, {1}, 1};
}

#endif
