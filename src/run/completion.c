#include "run/completion.h"

#include <stdlib.h>

static void *array(size_t count)
{
    return calloc(count ? count : 1, sizeof(size_t));
}

tr_status tr_completion_init(tr_completion *tally, size_t units, size_t waits, size_t texts, tr_error *error)
{
    *tally = (tr_completion){.counts.texts = texts};
    tally->waits_of = array(units);
    tally->waits = calloc(waits ? waits : 1, sizeof *tally->waits);
    tally->pending = array(texts);
    tally->repeats = array(texts);
    if (!tally->waits_of || !tally->waits || !tally->pending || !tally->repeats) {
        tr_completion_free(tally);
        return tr_fail(error, TR_ERROR_MEMORY, "translation: out of memory");
    }
    for (size_t i = 0; i < units; i++)
        tally->waits_of[i] = SIZE_MAX;
    return TR_OK;
}

void tr_completion_free(tr_completion *tally)
{
    free(tally->waits_of);
    free(tally->waits);
    free(tally->pending);
    free(tally->repeats);
    *tally = (tr_completion){0};
}

void tr_completion_wait_for(tr_completion *tally, size_t text, size_t unit)
{
    tally->waits[tally->wait_count] = (tr_completion_wait){text, tally->waits_of[unit]};
    tally->waits_of[unit] = tally->wait_count++;
    tally->pending[text]++;
}

void tr_completion_repeat(tr_completion *tally, size_t text)
{
    tally->repeats[text]++;
}

void tr_completion_finish(tr_completion *tally, size_t text)
{
    tally->counts.texts_done += 1 + tally->repeats[text];
}

tr_status tr_completion_request(tr_completion *tally, const tr_request *request, size_t index, tr_text_done *done,
                                void *argument, tr_error *error)
{
    tr_completion_count(&tally->counts, request, 0);
    for (size_t w = tally->waits_of[index]; w != SIZE_MAX; w = tally->waits[w].next) {
        const size_t text = tally->waits[w].text;
        if (--tally->pending[text])
            continue;
        const tr_status status = done(argument, text, error);
        if (status != TR_OK)
            return status;
        tr_completion_finish(tally, text);
    }
    return TR_OK;
}

void tr_completion_count(tr_progress *counts, const tr_request *request, size_t texts)
{
    counts->source_tokens += (uint64_t)request->source_tokens;
    counts->target_tokens += (uint64_t)request->target_length;
    counts->texts_done += texts;
}

tr_status tr_completion_report(const tr_progress *counts, const tr_translate_options *options, tr_error *error)
{
    if (options->on_progress && options->on_progress(options->on_progress_argument, counts))
        return tr_fail(error, TR_ERROR_CANCELLED, "translation: cancelled by the progress callback");
    return TR_OK;
}
