#include "api/rounds.h"

#include <stdlib.h>

#include "run/requests.h"

void tr_rounds_free(tr_round *last)
{
    for (tr_round *r = last, *previous; r; r = previous) {
        previous = r->previous;
        tr_requests_free(r->requests, r->request_count);
        tr_plan_free(&r->plan);
        free(r->items);
        free(r->chunks);
        free(r->bases);
        free(r);
    }
}

static tr_status plan_items(tr_round *r, const tr_language_pair *pair, tr_error *error)
{
    size_t count = 0, made = 0;
    tr_status status = TR_OK;
    for (size_t i = 0; i < r->count && status == TR_OK; i++) {
        tr_round_item *item = &r->items[i];
        const bool figures = item->chunk->check == TR_CHECK_OTHER_NUMBERS || item->other_numbers;
        status = tr_plan_again(&r->plan, pair, &r->protection, item->of, item->chunk->begin, item->chunk->end,
                               figures && r->protection.attempt < TR_ATTEMPTS - 1, &item->text, error);
        count += item->text.count;
    }
    if (status != TR_OK)
        return status;
    r->chunks = calloc(count ? count : 1, sizeof *r->chunks);
    r->bases = calloc(count ? count : 1, sizeof *r->bases);
    if (!r->chunks || !r->bases)
        return tr_fail_memory(error, "translation");
    for (size_t i = 0; i < r->count; i++) {
        tr_round_item *item = &r->items[i];
        item->first = made;
        for (size_t s = 0; s < item->text.count; s++) {
            r->chunks[made] = &r->plan.chunks[item->text.first + s];
            r->bases[made++] = r->plan.ids.data;
        }
    }
    r->chunk_count = made;
    return TR_OK;
}

tr_status tr_round_make(const tr_language_pair *pair, const tr_protection *protection, int attempt, tr_round_item *items,
                        size_t count, tr_round **rounds, tr_error *error)
{
    tr_round *r = calloc(1, sizeof *r);
    if (!r)
        return tr_fail_memory(error, "translation");
    *r = (tr_round){.protection = *protection, .items = items, .count = count};
    r->protection.attempt = attempt;
    tr_status status = plan_items(r, pair, error);
    if (status == TR_OK)
        status = tr_requests_make(r->chunks, r->bases, r->chunk_count, true, &r->requests, &r->request_count, error);
    if (status != TR_OK) {
        r->items = NULL; /* they stay the caller's */
        tr_rounds_free(r);
        return status;
    }
    r->previous = *rounds;
    *rounds = r;
    return TR_OK;
}

/* What becomes of an item after the last attempt that it has: the first attempt stays if it has all spans. */
static void settle_item(tr_round *r, tr_round_item *item, bool good)
{
    if (!good && item->chunk->kept) {
        item->chunk->flagged = true;
        return;
    }
    item->chunk->again = &r->chunks[item->first];
    item->chunk->again_count = item->text.count;
    for (size_t i = item->first; i < item->first + item->text.count; i++) {
        r->chunks[i]->sentence = item->chunk->sentence;
        r->chunks[i]->flagged = r->chunks[i]->check != TR_CHECK_RIGHT;
    }
}

tr_status tr_round_finish(tr_round *r, tr_joiner *joiner, tr_round_item **again, size_t *again_count, tr_error *error)
{
    *again_count = 0;
    *again = calloc(r->count, sizeof **again);
    if (!*again)
        return tr_fail_memory(error, "translation");
    for (size_t i = 0; i < r->count; i++) {
        tr_round_item *item = &r->items[i];
        bool good = true, other_numbers = item->other_numbers;
        for (size_t s = item->first; s < item->first + item->text.count; s++) {
            const tr_status status = tr_check_chunk(joiner, &item->text, r->chunks[s], error);
            if (status != TR_OK) {
                free(*again);
                *again = NULL;
                return status;
            }
            good = good && r->chunks[s]->check == TR_CHECK_RIGHT;
            other_numbers = other_numbers || r->chunks[s]->check == TR_CHECK_OTHER_NUMBERS;
        }
        /* what lacks a number alone is not cut into pieces */
        if (good || r->protection.attempt == TR_ATTEMPTS - 1 - (item->chunk->kept != 0))
            settle_item(r, item, good);
        else
            (*again)[(*again_count)++] =
                (tr_round_item){.owner = item->owner, .chunk = item->chunk, .of = item->of, .other_numbers = other_numbers};
    }
    return TR_OK;
}

tr_status tr_round_chunks(tr_text_chunk *const *chunks, size_t own, tr_text_chunk ***replaced, size_t *count,
                          tr_error *error)
{
    bool any = false;
    *count = 0;
    *replaced = NULL;
    for (size_t i = 0; i < own; i++) {
        any = any || chunks[i]->again;
        *count += chunks[i]->again ? chunks[i]->again_count : 1;
    }
    if (!any)
        return TR_OK;
    tr_text_chunk **all = calloc(*count ? *count : 1, sizeof *all);
    if (!all)
        return tr_fail_memory(error, "translation");
    size_t at = 0;
    for (size_t i = 0; i < own; i++) {
        if (!chunks[i]->again) {
            all[at++] = chunks[i];
            continue;
        }
        for (size_t s = 0; s < chunks[i]->again_count; s++)
            all[at++] = chunks[i]->again[s];
    }
    *replaced = all;
    return TR_OK;
}
