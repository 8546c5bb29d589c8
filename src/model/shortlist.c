#include "model/shortlist.h"

#include <stdlib.h>

void tr_shortlist_free(tr_shortlist *shortlist)
{
    free(shortlist->owned);
    *shortlist = (tr_shortlist){0};
}

tr_status tr_shortlist_check(const tr_shortlist *shortlist, const tr_config *config, tr_error *error)
{
    const int32_t *offsets = shortlist->offsets;
    const int sources = shortlist->sources;
    bool rises = offsets[0] == 0 && offsets[sources] == shortlist->count;
    for (int i = 0; i < sources; i++)
        rises = rises && offsets[i] <= offsets[i + 1];
    if (!rises)
        return tr_fail(error, TR_ERROR_FORMAT, "its offsets do not rise from 0 to %lld", (long long)shortlist->count);
    /* Transformers adds a padding token after the vocabulary, which has no list */
    if (sources != config->source_vocabulary && sources + 1 != config->source_vocabulary)
        return tr_fail(error, TR_ERROR_ARGUMENT,
                       "it has lists for %d source tokens, but the model has %d: not made for this model", sources,
                       config->source_vocabulary);
    for (int64_t i = 0; i < shortlist->count; i++)
        if ((uint32_t)shortlist->words[i] >= (uint32_t)config->target_vocabulary)
            return tr_fail(error, TR_ERROR_ARGUMENT, "it allows token %u, but the model has %d: not made for this model",
                           (unsigned)shortlist->words[i], config->target_vocabulary);
    return TR_OK;
}
