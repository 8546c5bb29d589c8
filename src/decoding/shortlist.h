/* The output projection of one sentence, cut to the target ids that a shortlist allows it (model/shortlist.h), and that the
 * model allows at all (config.allowed): best token and probabilities are those among these alone. The outputs' weights are
 * gathered once, when the sentence is encoded; each step then reads only these. Every sentence has its own, so that its
 * translation does not depend on the others in its batch. */
#ifndef TR_DECODING_SHORTLIST_H
#define TR_DECODING_SHORTLIST_H

#include "model/output.h"
#include "model/pack.h"
#include "model/shortlist.h"
#include "util/arena.h"

typedef struct tr_shortlist_output {
    int32_t *outputs; /* [count], ascending: which of the network's output i is; see tr_shortlist_output_token */
    int count;
    int eos;              /* which of them is the end mark; -1: none */
    tr_linear linear;     /* [count, d_model]; its bias is this struct's own */
    float *bias;          /* [count] */
    float *bias_unmasked; /* [count] the same with nothing forbidden */
    tr_gathered memory;   /* the matrix's memory */
} tr_shortlist_output;

/* What a worker needs for its sentences. Address space for the whole matrix each: only what is gathered costs memory. */
typedef struct tr_shortlist_outputs {
    const tr_shortlist *shortlist;
    uint64_t *marks;            /* [(target vocabulary + 63) / 64] */
    tr_shortlist_output *items; /* [sentences] */
    tr_arena arena;
} tr_shortlist_outputs;

tr_status tr_shortlist_outputs_init(tr_shortlist_outputs *choices, const tr_shortlist *shortlist, const tr_network *network,
                                    int sentences, tr_error *error);
void tr_shortlist_outputs_free(tr_shortlist_outputs *choices); /* a zeroed struct is allowed */

/* Sets outputs, count and end for a source. */
void tr_shortlist_output_list(tr_shortlist_outputs *choices, tr_shortlist_output *shortlist, const tr_network *network,
                              const int32_t *source, int length);
static inline int32_t tr_shortlist_output_token(const tr_shortlist_output *shortlist, const tr_network *network, int32_t i)
{
    return tr_network_token(network, shortlist->outputs[i]);
}

/* Outputs [first, last) of the matrix, scales and bias, which is that of the network or has more of them forbidden; first is
 * a multiple of 16. */
void tr_shortlist_output_gather(tr_shortlist_output *shortlist, const tr_network *network, const float *bias, int first,
                                int last);

#endif
