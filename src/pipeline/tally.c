#include "pipeline/tally.h"

#include <stdlib.h>

static void *array(size_t count)
{
    return calloc(count ? count : 1, sizeof(size_t));
}

tr_status tr_tally_init(tr_tally *tally, const tr_translate_options *options, size_t units, size_t waits, size_t texts,
                        tr_error *error)
{
    *tally = (tr_tally){.options = options, .counts.texts = texts};
    if (!options->progress)
        return TR_OK;
    tally->waits_of = array(units);
    tally->waits = calloc(waits ? waits : 1, sizeof *tally->waits);
    tally->pending = array(texts);
    tally->repeats = array(texts);
    if (!tally->waits_of || !tally->waits || !tally->pending || !tally->repeats) {
        tr_tally_free(tally);
        return tr_fail(error, TR_ERROR_MEMORY, "translation: out of memory");
    }
    for (size_t i = 0; i < units; i++)
        tally->waits_of[i] = SIZE_MAX;
    return TR_OK;
}

void tr_tally_free(tr_tally *tally)
{
    free(tally->waits_of);
    free(tally->waits);
    free(tally->pending);
    free(tally->repeats);
    *tally = (tr_tally){0};
}

void tr_tally_wait(tr_tally *tally, size_t text, size_t unit)
{
    if (!tally->waits)
        return;
    tally->waits[tally->wait_count] = (tr_wait){text, tally->waits_of[unit]};
    tally->waits_of[unit] = tally->wait_count++;
    tally->pending[text]++;
}

void tr_tally_repeat(tr_tally *tally, size_t text)
{
    if (tally->waits)
        tally->repeats[text]++;
}

void tr_tally_finish(tr_tally *tally, size_t text)
{
    if (tally->waits)
        tally->counts.texts_done += 1 + tally->repeats[text];
}

bool tr_tally_done(void *argument, const tr_unit *units, const size_t *indices, int count)
{
    tr_tally *tally = argument;
    if (!tally->waits)
        return true;
    for (int i = 0; i < count; i++) {
        const tr_unit *unit = &units[indices[i]];
        tally->counts.source_tokens += (uint64_t)unit->source_length - 1;
        tally->counts.target_tokens += (uint64_t)unit->target_length;
        for (size_t w = tally->waits_of[indices[i]]; w != SIZE_MAX; w = tally->waits[w].next)
            if (--tally->pending[tally->waits[w].text] == 0)
                tr_tally_finish(tally, tally->waits[w].text);
    }
    return tally->options->progress(tally->options->progress_argument, &tally->counts) == 0;
}
