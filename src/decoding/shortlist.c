#include "decoding/shortlist.h"

#include <stdlib.h>
#include <string.h>

enum { FILLED_TO = 8 }; /* the number of outputs, as Marian has it: it decides which ids are allowed */

static tr_shortlist_output place(tr_arena *arena, const tr_matrix *m)
{
    const size_t n = (size_t)m->outputs;
    tr_shortlist_output c = {.outputs = tr_arena_alloc(arena, n * sizeof *c.outputs),
                             .bias = tr_arena_alloc(arena, n * sizeof *c.bias),
                             .bias_unmasked = tr_arena_alloc(arena, n * sizeof *c.bias_unmasked),
                             .memory = {.data = tr_arena_alloc(arena, tr_matrix_bytes(m, m->outputs)),
                                        .scale = tr_arena_alloc(arena, n * sizeof *c.memory.scale),
                                        .colsum = tr_arena_alloc(arena, n * sizeof *c.memory.colsum)}};
    c.linear = (tr_linear){*m, c.bias};
    c.linear.weight.data = c.memory.data;
    c.linear.weight.scale = c.memory.scale;
    c.linear.weight.colsum = c.memory.colsum;
    return c;
}

tr_status tr_shortlist_outputs_init(tr_shortlist_outputs *choices, const tr_shortlist *shortlist, const tr_network *network,
                                    int sentences, tr_error *error)
{
    const tr_matrix *m = &network->output.weight;
    const size_t each = tr_matrix_bytes(m, m->outputs) + 5 * ((size_t)m->outputs * 4) + 6 * 64;
    *choices = (tr_shortlist_outputs){.shortlist = shortlist};
    choices->marks = calloc(((size_t)network->config.target_vocabulary + 63) / 64, sizeof *choices->marks);
    choices->items = calloc((size_t)sentences, sizeof *choices->items);
    tr_status status = TR_OK;
    if (!choices->marks || !choices->items)
        status = tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    if (status == TR_OK)
        status = tr_arena_init(&choices->arena, each * (size_t)sentences, error);
    for (int i = 0; i < sentences && status == TR_OK; i++)
        choices->items[i] = place(&choices->arena, m);
    if (status != TR_OK)
        tr_shortlist_outputs_free(choices);
    return status;
}

void tr_shortlist_outputs_free(tr_shortlist_outputs *choices)
{
    free(choices->marks);
    free(choices->items);
    tr_arena_free(&choices->arena);
    *choices = (tr_shortlist_outputs){0};
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
static void take_marks(uint64_t *marks, const tr_network *network, tr_shortlist_output *shortlist)
{
    const int vocabulary = network->config.target_vocabulary;
    shortlist->count = 0;
    for (int word = 0; word < (vocabulary + 63) / 64; word++) {
        const uint64_t bits = marks[word];
        marks[word] = 0;
        for (int bit = 0; bits >> bit; bit++) {
            const int32_t output = bits >> bit & 1 ? tr_network_output(network, 64 * word + bit) : -1;
            if (output >= 0)
                shortlist->outputs[shortlist->count++] = output;
            if (bit == 63)
                break;
        }
    }
}

void tr_shortlist_output_list(tr_shortlist_outputs *choices, tr_shortlist_output *shortlist, const tr_network *network,
                              const int32_t *source, int length)
{
    const tr_shortlist *s = choices->shortlist;
    const int vocabulary = network->config.target_vocabulary;
    const int32_t end = tr_network_output(network, network->config.eos_id);
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
    take_marks(choices->marks, network, shortlist);
    shortlist->linear.weight.outputs = shortlist->count;
    shortlist->eos = -1;
    for (int i = 0; i < shortlist->count && shortlist->outputs[i] <= end; i++)
        if (shortlist->outputs[i] == end)
            shortlist->eos = i;
}

void tr_shortlist_output_gather(tr_shortlist_output *shortlist, const tr_network *network, const float *bias, int first,
                                int last)
{
    for (int i = first; i < last; i++) {
        shortlist->bias[i] = bias[shortlist->outputs[i]];
        shortlist->bias_unmasked[i] = network->output_bias[shortlist->outputs[i]];
    }
    tr_gather_outputs(&network->output.weight, shortlist->outputs, first, last, &shortlist->memory);
}
