/* Choosing among the hypotheses of a beam search with a model that translates back: the noisy channel of Yee et al. (2019).
 * A translation that leaves out or changes a part of its source makes the source less likely, which the search cannot see.
 */
#ifndef TR_API_RERANK_H
#define TR_API_RERANK_H

#include "api/context.h"

typedef struct tr_reranker {
    tr_context *reverse;             /* of the model that translates back; NULL: hypotheses stay as the search ranks them */
    tr_language_pair pair;           /* its languages */
    const tr_tokenizer *translation; /* makes the text of hypotheses */
    float weight;
    size_t wanted; /* hypotheses of each text */
    bool loop_guard;
    int (*on_progress)(void *argument, const tr_progress *progress); /* as of tr_score_options: it may cancel; NULL: none */
    void *on_progress_argument;
} tr_reranker;

/* Makes *reranker for a call; zero, if its hypotheses stay as the search ranks them: without a model that translates back,
 * with rerank_weight 0, a beam of 1, or alternatives. options: resolved. TR_ERROR_ARGUMENT: the model that translates back
 * does not have the languages. */
tr_status tr_reranker_init(const tr_context *context, const tr_translate_options *options, tr_reranker *reranker,
                           tr_error *error);

/* Sorts the hypotheses of each of these requests by score + weight * the mean log-probability of the source's tokens, given
 * the hypothesis. With loop_guard, those that loop are left out, if others are left. Those beyond `wanted` are dropped,
 * unless the request is checked. A request that the model that translates back cannot take stays as it is: it is too long,
 * or has what its vocabulary cannot spell. */
tr_status tr_rerank(const tr_reranker *reranker, tr_request *requests, size_t count, tr_error *error);

#endif
