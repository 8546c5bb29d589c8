#include "decoding/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------ tokens that never come */

tr_status tr_forbidden_init(tr_forbidden *f, const tr_ensemble *models, const tr_search_options *options, tr_error *error)
{
    const tr_network *n = models->networks[0];
    const bool unknown = options->forbid_unknown && n->config.target_unk_id >= 0;
    const size_t outputs = (size_t)n->output.weight.outputs, more = options->forbidden_count + unknown;
    tr_forbidden_free(f);
    f->ids = calloc((size_t)models->count * TR_MAX_FORBIDDEN + more, sizeof *f->ids);
    f->bias_without_eos = calloc(outputs, sizeof *f->bias_without_eos);
    f->own_bias = more ? calloc(outputs, sizeof *f->own_bias) : NULL;
    if (!f->ids || !f->bias_without_eos || (more && !f->own_bias)) {
        tr_forbidden_free(f);
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    }
    for (int m = 0; m < models->count; m++)
        for (int i = 0; i < models->networks[m]->config.forbidden_count; i++)
            f->ids[f->count++] = models->networks[m]->config.forbidden[i];
    for (size_t i = 0; i < options->forbidden_count; i++)
        f->ids[f->count++] = options->forbidden[i];
    if (unknown)
        f->ids[f->count++] = n->config.target_unk_id;
    f->bias = n->output.bias;
    if (more)
        f->bias = memcpy(f->own_bias, n->output.bias, outputs * sizeof *f->own_bias);
    for (int i = 0; more && i < f->count; i++)
        if (tr_network_output(n, f->ids[i]) >= 0)
            f->own_bias[tr_network_output(n, f->ids[i])] = -INFINITY;
    memcpy(f->bias_without_eos, f->bias, outputs * sizeof *f->bias_without_eos);
    f->bias_without_eos[tr_network_output(n, n->config.eos_id)] = -INFINITY;
    return TR_OK;
}

void tr_forbidden_free(tr_forbidden *f)
{
    free(f->ids);
    free(f->own_bias);
    free(f->bias_without_eos);
    *f = (tr_forbidden){0};
}

/* -------------------------------------------------------------------------------------------------------- rules for rows */

/* A sentence's own settings go before those of the search. */
static int ngram_of(const tr_search *s, const tr_sequence *seq)
{
    return seq->no_repeat_ngram ? seq->no_repeat_ngram : s->options.no_repeat_ngram;
}

static float penalty_of(const tr_search *s, const tr_sequence *seq)
{
    return seq->repetition_penalty > 0 ? seq->repetition_penalty : s->options.repetition_penalty;
}

bool tr_has_constraints(const tr_search *s, const tr_sequence *seq)
{
    return ngram_of(s, seq) > 0 || penalty_of(s, seq) > 1;
}

/* The tokens that would complete an n-gram a second time: those that followed the last n - 1 tokens before. */
static int ban_ngrams(const int32_t *tokens, int count, int n, int32_t *banned)
{
    int found = 0;
    for (int i = 0; i + n <= count; i++)
        if (memcmp(tokens + i, tokens + count - (n - 1), (size_t)(n - 1) * sizeof *tokens) == 0)
            banned[found++] = tokens[i + n - 1];
    return found;
}

int tr_known_tokens(const tr_search *s, const tr_sequence *seq)
{
    return (s->start.first_id >= 0) + seq->prefix_length;
}

int32_t tr_known_token(const tr_search *s, const tr_sequence *seq, int i)
{
    const int first = s->start.first_id >= 0;
    return i < first ? s->start.first_id : seq->prefix[i - first];
}

tr_logits_rules tr_rules_for(const tr_search *s, const tr_slot *slot, const tr_live_hyp *hyp,
                             const tr_shortlist_output *shortlist, int32_t *banned, float *seen_logits)
{
    const tr_sequence *seq = slot->sequence;
    const int count = slot->step;
    tr_logits_rules rules = {.skip = count < tr_known_tokens(s, seq),
                             .shortlist = shortlist,
                             .banned_eos = count < s->min_length ? s->config->eos_id : -1,
                             .banned = banned,
                             .penalty = 1};
    if (ngram_of(s, seq) > 0 && !rules.skip)
        rules.banned_count = ban_ngrams(hyp->tokens, count, ngram_of(s, seq), banned);
    if (penalty_of(s, seq) > 1) {
        rules.penalty = penalty_of(s, seq);
        rules.seen = hyp->tokens;
        rules.seen_count = count;
        rules.seen_logits = seen_logits;
        for (int i = 0; i < count; i++)
            seen_logits[i] = -INFINITY;
    }
    return rules;
}
