/* Forced decoding: what probability the network gives to targets that are there already, and what its heads attend to on the
 * way. */
#ifndef TR_DECODING_FORCED_H
#define TR_DECODING_FORCED_H

#include "decoding/decoding.h"

/* What is asked about a sentence, of which tr_sequence has the source; the caller owns all memory. Row r of the decoder is
 * the step that yields token r: it reads token r - 1 (row 0: what targets start with), and sees the rows up to itself. */
struct tr_forced {
    const int32_t *target;        /* [length], the end mark not included */
    int length;                   /* with the end mark 1 .. config.max_positions */
    bool finished;                /* the end mark follows it */
    float *log_probabilities;     /* out: [length + finished], of each token given those before; the end mark's last. A first
                                     token that the model is given (tr_decoder_start.first_id) has 0, any other in its place
                                     -inf.     NULL: nobody asks */
    tr_attention_capture encoder; /* [layers, heads, source_length, source_length]; weights NULL: nobody asks */
    tr_attention_capture
        decoder; /* [layers, heads, rows, rows]: where there is self-attention; what a row does not see is left alone */
    tr_attention_capture cross; /* [layers, heads, rows, source_length] */
};

/* Makes what forced decoding needs besides; once, before the first call. */
tr_status tr_worker_prepare_forced(tr_worker *worker, tr_error *error);

/* Scores all sentences that the feed gives; each has a tr_forced, and its target fields are not looked at. options: rows and
 * start alone. Shortlists are left unused, and what the model forbids has its probability: all tokens share it, as in
 * training. What is said of tr_decode holds here as well. */
tr_status tr_decode_forced(tr_worker *worker, int thread, const tr_decode_options *options,
                           const tr_decode_callbacks *callbacks, tr_error *error);

/* A worker's memory for it; NULL is allowed. */
struct tr_forced_work;
void tr_forced_free(struct tr_forced_work *work);

#endif
