/* The output projection of one sentence with a shortlist (model/shortlist.h): its outputs are the target tokens that the
 * list allows the sentence and the model allows at all (config.allowed); the argmax and the probabilities are those among
 * these. The weights of the outputs are gathered once, when the sentence is encoded; each step then reads only these. Every
 * sentence has its own, so that its translation does not depend on the others in its batch. */
#ifndef TR_DECODING_SHORTLIST_H
#define TR_DECODING_SHORTLIST_H

#include "model/output.h"
#include "model/pack.h"
#include "model/shortlist.h"
#include "util/arena.h"

typedef struct tr_shortlist_output {
    int32_t *outputs; /* [count] the network's outputs, ascending; see tr_shortlist_output_token */
    int count;
    int eos;              /* the index of EOS in outputs; -1: it is not there */
    tr_linear linear;     /* [count, d_model], with the bias below */
    float *bias;          /* [count] -inf for forbidden tokens, and for EOS before the minimum length */
    float *bias_unmasked; /* [count] without that */
    tr_gathered memory;   /* of the weights */
} tr_shortlist_output;

/* The outputs of all sentences of a batch. Address space is reserved for the whole matrix for each; memory is used for what
 * is gathered. */
typedef struct tr_shortlist_outputs {
    const tr_shortlist *shortlist;
    uint64_t *marks;            /* [(target vocabulary + 63) / 64] */
    tr_shortlist_output *items; /* [sentences] */
    tr_arena arena;
} tr_shortlist_outputs;

/* The shortlist must outlive it. */
tr_status tr_shortlist_outputs_init(tr_shortlist_outputs *outputs, const tr_shortlist *shortlist, const tr_network *network,
                                    int sentences, tr_error *error);
void tr_shortlist_outputs_free(tr_shortlist_outputs *outputs); /* a zeroed struct is allowed */

/* Thread 0: sets outputs, count and eos for a source. */
void tr_shortlist_output_list(tr_shortlist_outputs *outputs, tr_shortlist_output *shortlist, const tr_network *network,
                              const int32_t *source, int length);

/* The token of output number i. */
static inline int32_t tr_shortlist_output_token(const tr_shortlist_output *shortlist, const tr_network *network, int32_t i)
{
    return tr_network_token(network, shortlist->outputs[i]);
}

/* Any thread: gathers the weights and biases of outputs begin, end; begin is a multiple of 16. bias [outputs of the network]
 * is -inf for forbidden tokens. */
void tr_shortlist_output_gather(tr_shortlist_output *shortlist, const tr_network *network, const float *bias, int begin,
                                int end);

#endif
