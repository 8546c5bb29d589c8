#include "run/hypotheses.h"

#include <stdlib.h>
#include <string.h>

static void *copy_of(const void *from, size_t count, size_t size)
{
    void *copy = malloc((count ? count : 1) * size);
    if (copy && count)
        memcpy(copy, from, count * size);
    return copy;
}

static bool copy_one(const tr_search_result *from, tr_hypothesis *to)
{
    const size_t count = (size_t)from->count, all = count + from->finished;
    *to = (tr_hypothesis){.ids = copy_of(from->tokens, count, sizeof *to->ids),
                          .count = count,
                          .score = from->score,
                          .finished = from->finished};
    if (!from->log_probabilities)
        return to->ids;
    to->log_probabilities = copy_of(from->log_probabilities, all, sizeof *to->log_probabilities);
    for (size_t i = 0; i < all; i++)
        to->log_probability += from->log_probabilities[i];
    return to->ids && to->log_probabilities;
}

tr_status tr_hypotheses_copy(const tr_search_result *found, int count, tr_hypotheses *copy, tr_error *error)
{
    *copy = (tr_hypotheses){.items = calloc((size_t)count, sizeof *copy->items)};
    bool complete = copy->items;
    for (int i = 0; complete && i < count; i++) {
        complete = copy_one(&found[i], &copy->items[i]);
        copy->count++;
    }
    if (complete)
        return TR_OK;
    tr_hypotheses_clear(copy);
    return tr_fail(error, TR_ERROR_MEMORY, "translation: out of memory");
}

void tr_hypotheses_clear(tr_hypotheses *hypotheses)
{
    for (size_t i = 0; i < hypotheses->count; i++) {
        free(hypotheses->items[i].ids);
        free(hypotheses->items[i].log_probabilities);
        free(hypotheses->items[i].alignment.links);
    }
    free(hypotheses->items);
    *hypotheses = (tr_hypotheses){0};
}

void tr_hypotheses_free(tr_hypotheses *hypotheses, size_t count)
{
    for (size_t i = 0; hypotheses && i < count; i++)
        tr_hypotheses_clear(&hypotheses[i]);
    free(hypotheses);
}
