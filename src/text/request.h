/* A request: one source that the network translates, and the hypotheses that the search found for it. Chunks of texts that
 * have the same tokens share a request. */
#ifndef TR_TEXT_REQUEST_H
#define TR_TEXT_REQUEST_H

#include <stdatomic.h>

#include "util/types.h"

typedef struct tr_request {
    const int32_t *source; /* [source_length], with the tokens around the text's own: EOS, languages */
    int source_length;
    int source_tokens;                 /* the text's own */
    const struct tr_text_chunk *chunk; /* one that has this source; NULL: the caller gave tokens */
    bool piece;                        /* of a sentence that was cut: at most TR_PIECE_TARGET target tokens */
    bool tagged;                       /* its hypotheses get alignments, for the tags of a chunk */
    bool checked;                      /* what they keep of spans and numbers chooses among them */
    const int32_t *prefix;             /* [prefix_length] tokens that the target begins with */
    int prefix_length;
    tr_hypotheses found;   /* out, owned, best first; none: not decoded yet */
    const int32_t *target; /* out: [target_length] the best of them */
    int target_length;
    void *owner;               /* for who makes the requests */
    const atomic_bool *cancel; /* NULL, or becomes true when the request is no longer wanted */
    bool cancelled;            /* out: it was given up, and nothing was found */
    bool finished;             /* out: EOS came */
    bool looped;             /* out: its translation repeated itself and was decoded again; what is left of either attempt */
    struct tr_request *next; /* list of complete requests */
} tr_request;

#endif
