#include "decoding/shortlist.h"

#include <stdlib.h>
#include <string.h>

enum { FILLED_TO = 8 }; /* the number of outputs, as Marian has it: it decides which ids are allowed */

static tr_choice place(tr_arena *arena, const tr_matrix *m)
{
    const size_t n = (size_t)m->outputs;
    tr_choice c = {.outputs = tr_arena_alloc(arena, n * sizeof *c.outputs),
                   .bias = tr_arena_alloc(arena, n * sizeof *c.bias),
                   .plain = tr_arena_alloc(arena, n * sizeof *c.plain),
                   .of = {.data = tr_arena_alloc(arena, tr_matrix_bytes(m, m->outputs)),
                          .scale = tr_arena_alloc(arena, n * sizeof *c.of.scale),
                          .colsum = tr_arena_alloc(arena, n * sizeof *c.of.colsum)}};
    c.logits = (tr_linear){*m, c.bias};
    c.logits.weight.data = c.of.data;
    c.logits.weight.scale = c.of.scale;
    c.logits.weight.colsum = c.of.colsum;
    return c;
}

tr_status tr_choices_init(tr_choices *choices, const tr_shortlist *shortlist, const tr_network *network, int sentences,
                          tr_error *error)
{
    const tr_matrix *m = &network->logits.weight;
    const size_t each = tr_matrix_bytes(m, m->outputs) + 5 * ((size_t)m->outputs * 4) + 6 * 64;
    *choices = (tr_choices){.shortlist = shortlist};
    choices->marks = calloc(((size_t)network->config.target_vocabulary + 63) / 64, sizeof *choices->marks);
    choices->of = calloc((size_t)sentences, sizeof *choices->of);
    tr_status status = TR_OK;
    if (!choices->marks || !choices->of)
        status = tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    if (status == TR_OK)
        status = tr_arena_init(&choices->arena, each * (size_t)sentences, error);
    for (int i = 0; i < sentences && status == TR_OK; i++)
        choices->of[i] = place(&choices->arena, m);
    if (status != TR_OK)
        tr_choices_free(choices);
    return status;
}

void tr_choices_free(tr_choices *choices)
{
    free(choices->marks);
    free(choices->of);
    tr_arena_free(&choices->arena);
    *choices = (tr_choices){0};
}

/* ---------------------------------------------------------------------------------------------------------------- list */

/* Returns how many were not there yet: 1 or 0. */
static int mark(uint64_t *marks, int32_t id)
{
    const uint64_t bit = (uint64_t)1 << id % 64;
    const int is_new = !(marks[id / 64] & bit);
    marks[id / 64] |= bit;
    return is_new;
}

/* The list may lie in a mapped file that somebody changes after it was checked: each number is checked again where it is
 * used. */
static int mark_list(uint64_t *marks, const tr_shortlist *s, int32_t source, int vocabulary)
{
    if (source >= s->sources)
        return 0;
    const int64_t begin = s->offsets[source], stop = s->offsets[source + 1], end = stop < s->count ? stop : s->count;
    int count = 0;
    for (int64_t i = begin < 0 ? end : begin; i < end; i++) {
        const int32_t id = s->words[i];
        if (id >= 0 && id < vocabulary)
            count += mark(marks, id);
    }
    return count;
}

/* All marks of tokens that can come at all, in order, as outputs; they are wiped. */
static void take_marks(uint64_t *marks, const tr_network *network, tr_choice *choice)
{
    const int vocabulary = network->config.target_vocabulary;
    choice->count = 0;
    for (int word = 0; word < (vocabulary + 63) / 64; word++) {
        const uint64_t bits = marks[word];
        marks[word] = 0;
        for (int bit = 0; bits >> bit; bit++) {
            const int32_t output = bits >> bit & 1 ? tr_network_output(network, 64 * word + bit) : -1;
            if (output >= 0)
                choice->outputs[choice->count++] = output;
            if (bit == 63)
                break;
        }
    }
}

void tr_choice_list(tr_choices *choices, tr_choice *choice, const tr_network *network, const int32_t *source, int length)
{
    const tr_shortlist *s = choices->shortlist;
    const int vocabulary = network->config.target_vocabulary;
    const int32_t end = tr_network_output(network, network->config.end_id);
    const int first = s->first < vocabulary ? s->first : vocabulary;
    int count = 0;
    for (int i = 0; i < first; i++)
        count += mark(choices->marks, i);
    for (int i = 0; i < length; i++) {
        count += mark_list(choices->marks, s, source[i], vocabulary);
        if (s->shared && source[i] < vocabulary)
            count += mark(choices->marks, source[i]);
    }
    for (int i = first; i < vocabulary && count % FILLED_TO; i++)
        count += mark(choices->marks, i);
    take_marks(choices->marks, network, choice);
    choice->logits.weight.outputs = choice->count;
    choice->end = -1;
    for (int i = 0; i < choice->count && choice->outputs[i] <= end; i++)
        if (choice->outputs[i] == end)
            choice->end = i;
}

void tr_choice_gather(tr_choice *choice, const tr_network *network, const float *bias, int first, int last)
{
    for (int i = first; i < last; i++) {
        choice->bias[i] = bias[choice->outputs[i]];
        choice->plain[i] = network->logits_bias[choice->outputs[i]];
    }
    tr_gather_outputs(&network->logits.weight, choice->outputs, first, last, &choice->of);
}
