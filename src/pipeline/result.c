#include "pipeline/result.h"

#include <stdlib.h>
#include <string.h>

/* A copy of count elements; NULL where there are none. False: memory is short. */
static bool copy(const void *from, size_t count, size_t size, void **to)
{
    *to = NULL;
    if (!from)
        return true;
    *to = malloc(count * size + 1);
    if (*to && count)
        memcpy(*to, from, count * size);
    return *to != NULL;
}

static bool copy_hypotheses(const tr_result *from, tr_result *to)
{
    to->hypotheses = NULL;
    if (!from->hypotheses)
        return true;
    to->hypotheses = calloc(from->hypothesis_count + 1, sizeof *to->hypotheses);
    for (size_t i = 0; to->hypotheses && i < from->hypothesis_count; i++) {
        void *text;
        const tr_translation *one = &from->hypotheses[i];
        if (!copy(one->text, one->size + 1, 1, &text))
            return false;
        to->hypotheses[i] = *one;
        to->hypotheses[i].text = text;
    }
    return to->hypotheses != NULL;
}

tr_status tr_result_copy(const tr_result *from, tr_result *to, tr_error *error)
{
    void *text, *scored = NULL;
    *to = *from;
    to->hypotheses = NULL;
    const bool good = copy(from->text, from->size + 1, 1, &text) &&
                      copy(from->scored, from->scored_count, sizeof *from->scored, &scored) && copy_hypotheses(from, to);
    to->text = text;
    to->scored = scored;
    if (good)
        return TR_OK;
    tr_result_clear(to);
    return tr_fail(error, TR_ERROR_MEMORY, "result: out of memory");
}

void tr_result_clear(tr_result *result)
{
    for (size_t i = 0; result->hypotheses && i < result->hypothesis_count; i++)
        free(result->hypotheses[i].text);
    free(result->hypotheses);
    free(result->scored);
    free(result->text);
    *result = (tr_result){0};
}

size_t tr_result_bytes(const tr_result *result)
{
    size_t bytes = result->size + 1 + result->scored_count * sizeof *result->scored;
    for (size_t i = 0; result->hypotheses && i < result->hypothesis_count; i++)
        bytes += sizeof *result->hypotheses + result->hypotheses[i].size + 1;
    return bytes;
}

void tr_results_free(tr_result *results, size_t count)
{
    for (size_t i = 0; results && i < count; i++)
        tr_result_clear(&results[i]);
    free(results);
}
