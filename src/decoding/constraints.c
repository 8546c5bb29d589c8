/* What may not come next in a row, and what is less likely to. */
#include "decoding/worker.h"

#include <math.h>
#include <string.h>

/* A sentence's own go before those of the search. */
static int ngram_of(const tr_worker *w, const tr_sequence *seq)
{
    return seq->no_repeat_ngram ? seq->no_repeat_ngram : w->search.no_repeat_ngram;
}

static float penalty_of(const tr_worker *w, const tr_sequence *seq)
{
    return seq->repetition_penalty > 0 ? seq->repetition_penalty : w->search.repetition_penalty;
}

bool tr_worker_constrains(const tr_worker *w, const tr_sequence *seq)
{
    return ngram_of(w, seq) > 0 || penalty_of(w, seq) > 1;
}

/* The tokens that would make an n-gram come a second time: those that followed what the last n - 1 tokens are. */
static int ban_ngrams(const int32_t *tokens, int count, int n, int32_t *banned)
{
    int found = 0;
    for (int i = 0; i + n <= count; i++)
        if (memcmp(tokens + i, tokens + count - (n - 1), (size_t)(n - 1) * sizeof *tokens) == 0)
            banned[found++] = tokens[i + n - 1];
    return found;
}

void tr_worker_set_rules(tr_worker *w, int row)
{
    const tr_row *at = &w->rows_of[row];
    const tr_sequence *seq = at->slot->sequence;
    const tr_config *c = &w->ws->network->config;
    const int count = at->slot->step;
    int32_t *banned = w->banned + (size_t)row * (size_t)w->max_positions;
    tr_logits_rules *rules = &w->candidates.rules[row];
    *rules = (tr_logits_rules){.skip = tr_worker_forced(w, at->slot) >= 0,
                               .shortlist = tr_worker_shortlist(w, at->slot),
                               .banned_eos = count < w->options.min_length ? c->eos_id : -1,
                               .banned = banned,
                               .penalty = 1};
    if (ngram_of(w, seq) > 0 && !rules->skip)
        rules->banned_count = ban_ngrams(at->path->tokens, count, ngram_of(w, seq), banned);
    if (penalty_of(w, seq) > 1) {
        rules->penalty = penalty_of(w, seq);
        rules->seen = at->path->tokens;
        rules->seen_count = count;
        rules->seen_logits = w->seen_logits + (size_t)row * (size_t)w->max_positions;
        for (int i = 0; i < count; i++)
            rules->seen_logits[i] = -INFINITY;
    }
}
