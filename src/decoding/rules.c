#include "decoding/rules.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"

/* ----------------------------------------------------------------------------------------------------------- bytes of UTF-8
 */

/* The byte that a token stands for; -1: none. Tokens of bytes usually follow each other. */
static int byte_of(const tr_config *c, int32_t id)
{
    const int64_t guess = (int64_t)id - c->byte_ids[0];
    if (guess >= 0 && guess < 256 && c->byte_ids[guess] == id)
        return (int)guess;
    if (c->bytes_in_order)
        return -1;
    for (int byte = 0; byte < 256; byte++)
        if (c->byte_ids[byte] == id)
            return byte;
    return -1;
}

/* The bytes that a character with this first byte has; 0: it begins none. */
static int length_of(int byte)
{
    return byte < 0xc2 || byte > 0xf4 ? 0 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/* Bytes of an incomplete character at the end of the tokens; *lead: its first one. */
static int incomplete_bytes(const tr_config *c, const int32_t *tokens, size_t count, int *lead)
{
    for (int back = 1; back <= 3 && (size_t)back <= count; back++) {
        const int byte = byte_of(c, tokens[count - (size_t)back]);
        if (byte < 0x80)
            return 0;
        *lead = byte;
        if (byte >= 0xc0)
            return back < length_of(byte) ? back : 0;
    }
    return 0;
}

int tr_utf8_state(const tr_config *c, const int32_t *tokens, int count)
{
    int lead;
    const int bytes = c->has_bytes && count > 0 ? incomplete_bytes(c, tokens, (size_t)count, &lead) : 0;
    if (bytes != 1)
        return bytes > 0;
    return lead == 0xe0 ? 2 : lead == 0xed ? 3 : lead == 0xf0 ? 4 : lead == 0xf4 ? 5 : 1;
}

size_t tr_whole_characters(const tr_config *c, const int32_t *tokens, size_t count)
{
    int lead;
    return c->has_bytes ? count - (size_t)incomplete_bytes(c, tokens, count, &lead) : count;
}

static bool may_come(int state, int byte)
{
    static const int first[] = {0, 0x80, 0xa0, 0x80, 0x90, 0x80}, last[] = {0, 0xbf, 0xbf, 0x9f, 0xbf, 0x8f};
    if (state)
        return byte >= first[state] && byte <= last[state];
    return (byte && byte < 0x80) || length_of(byte);
}

/* -inf for the bytes that may not come between two characters; without ends, no character can be written in bytes. */
static void ban_bytes_between(const tr_network *n, float *bias, bool ends)
{
    for (int byte = 0; byte < 256; byte++) {
        const int32_t output = tr_network_output(n, n->config.byte_ids[byte]);
        if (output >= 0 && (!may_come(0, byte) || (byte >= 0x80 && !ends)))
            bias[output] = -INFINITY;
    }
}

/* Sets what valid_utf8 needs; own_bias has what else is forbidden. False: out of memory. */
static bool forbid_bytes(tr_forbidden *f, const tr_network *n)
{
    const size_t outputs = (size_t)n->output.weight.outputs;
    bool ends = true; /* every byte that ends a character can come */
    f->first_byte = INT_MAX;
    f->last_byte = -1;
    for (int byte = 0; byte < 256; byte++) {
        const int32_t output = tr_network_output(n, n->config.byte_ids[byte]);
        if (byte >= 0x80 && byte < 0xc0)
            ends = ends && output >= 0 && f->own_bias[output] > -INFINITY;
        if (output >= 0 && output < f->first_byte)
            f->first_byte = output;
        f->last_byte = output > f->last_byte ? output : f->last_byte;
    }
    f->shortlist_bias = tr_copy_bytes(f->own_bias, outputs * sizeof *f->own_bias);
    if (!f->shortlist_bias)
        return false;
    ban_bytes_between(n, f->shortlist_bias, false);
    for (int state = 1; state < TR_UTF8_STATES; state++) {
        float *bias = f->utf8_bias[state] = malloc(outputs * sizeof *bias);
        if (!bias)
            return false;
        for (size_t i = 0; i < outputs; i++)
            bias[i] = -INFINITY;
        for (int byte = 0x80; byte < 0xc0; byte++) {
            const int32_t output = tr_network_output(n, n->config.byte_ids[byte]);
            if (output >= 0 && may_come(state, byte))
                bias[output] = f->own_bias[output];
        }
    }
    ban_bytes_between(n, f->own_bias, ends);
    return true;
}

/* ------------------------------------------------------------------------------------------------ tokens that never come */

tr_status tr_forbidden_init(tr_forbidden *f, const tr_ensemble *models, const tr_search_options *options, tr_error *error)
{
    const tr_network *n = models->networks[0];
    const bool unknown = options->forbid_unknown && n->config.target_unk_id >= 0;
    const bool utf8 = options->valid_utf8 && n->config.has_bytes;
    const size_t outputs = (size_t)n->output.weight.outputs, more = options->forbidden_count + unknown + utf8;
    tr_forbidden_free(f);
    f->by_options = options->forbidden_count + unknown > 0;
    f->valid_utf8 = options->valid_utf8;
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
    if (utf8 && !forbid_bytes(f, n)) {
        tr_forbidden_free(f);
        return tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    }
    memcpy(f->bias_without_eos, f->bias, outputs * sizeof *f->bias_without_eos);
    f->bias_without_eos[tr_network_output(n, n->config.eos_id)] = -INFINITY;
    return TR_OK;
}

void tr_forbidden_free(tr_forbidden *f)
{
    free(f->ids);
    free(f->own_bias);
    free(f->bias_without_eos);
    free(f->shortlist_bias);
    for (int state = 0; state < TR_UTF8_STATES; state++)
        free(f->utf8_bias[state]);
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
    return ngram_of(s, seq) > 0 || penalty_of(s, seq) > 1 || seq->no_strays;
}

uint32_t tr_stray_symbols(const tr_config *config, const tr_sequence *seq)
{
    uint32_t strays = 0;
    for (int i = 0; i < config->copy_symbol_count; i++) {
        bool copied = false;
        for (int t = 0; t < seq->source_length && !copied; t++)
            copied = seq->source[t] == config->copy_symbols[i];
        strays |= (uint32_t)!copied << i;
    }
    return strays;
}

bool tr_is_stray(const tr_config *config, uint32_t strays, int32_t id)
{
    for (int i = 0; strays >> i; i++)
        if (strays >> i & 1 && config->copy_symbols[i] == id)
            return true;
    return false;
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
                             .utf8_state = s->options.valid_utf8 ? tr_utf8_state(s->config, hyp->tokens, count) : 0,
                             .strays = slot->strays,
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
