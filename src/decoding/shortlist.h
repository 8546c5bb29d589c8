/* The output projection of one sentence, cut to the target ids that a shortlist allows it (model/shortlist.h), and that the
 * model allows at all (config.allowed): best token and probabilities are those among these alone. The outputs' weights are
 * gathered once, when the sentence is encoded; each step then reads only these. Every sentence has its own, so that its
 * translation does not depend on the others in its batch. */
#ifndef TR_DECODING_SHORTLIST_H
#define TR_DECODING_SHORTLIST_H

#include "model/gather.h"
#include "model/network.h"
#include "model/shortlist.h"
#include "util/arena.h"

typedef struct tr_choice {
    int32_t *outputs; /* [count], ascending: which of the network's output i is; see tr_choice_token */
    int count;
    int end;          /* which of them is the end mark; -1: none */
    tr_linear logits; /* [count, d_model]; its bias is this struct's own */
    float *bias;      /* [count] */
    float *plain;     /* [count] the same with nothing forbidden */
    tr_gathered of;   /* the matrix's memory */
} tr_choice;

/* What a worker needs for its sentences. Address space for the whole matrix each: only what is gathered costs memory. */
typedef struct tr_choices {
    const tr_shortlist *shortlist;
    uint64_t *marks; /* [(target vocabulary + 63) / 64] */
    tr_choice *of;   /* [sentences] */
    tr_arena arena;
} tr_choices;

tr_status tr_choices_init(tr_choices *choices, const tr_shortlist *shortlist, const tr_network *network, int sentences,
                          tr_error *error);
void tr_choices_free(tr_choices *choices); /* a zeroed struct is allowed */

/* Sets outputs, count and end for a source. */
void tr_choice_list(tr_choices *choices, tr_choice *choice, const tr_network *network, const int32_t *source, int length);
static inline int32_t tr_choice_token(const tr_choice *choice, const tr_network *network, int32_t i)
{
    return tr_network_token(network, choice->outputs[i]);
}

/* Outputs [first, last) of the matrix, scales and bias, which is that of the network or has more of them forbidden; first is
 * a multiple of 16. */
void tr_choice_gather(tr_choice *choice, const tr_network *network, const float *bias, int first, int last);

#endif
