#include "decoding/shortlist.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDED_TO = 8 }; /* Marian's: the number of outputs is made a multiple of it with the next tokens */

static tr_shortlist_output reserve_output(tr_arena *arena, const tr_matrix *m)
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

tr_status tr_shortlist_outputs_init(tr_shortlist_outputs *outputs, const tr_shortlist *shortlist, const tr_network *network,
                                    int sentences, tr_error *error)
{
    const tr_matrix *m = &network->output.weight;
    const size_t each = tr_matrix_bytes(m, m->outputs) + 5 * ((size_t)m->outputs * 4) + 6 * 64;
    *outputs = (tr_shortlist_outputs){.shortlist = shortlist};
    outputs->marks = calloc(((size_t)network->config.target_vocabulary + 63) / 64, sizeof *outputs->marks);
    outputs->items = calloc((size_t)sentences, sizeof *outputs->items);
    tr_status status = TR_OK;
    if (!outputs->marks || !outputs->items)
        status = tr_fail(error, TR_ERROR_MEMORY, "working memory: out of memory");
    if (status == TR_OK)
        status = tr_arena_init(&outputs->arena, each * (size_t)sentences, error);
    for (int i = 0; i < sentences && status == TR_OK; i++)
        outputs->items[i] = reserve_output(&outputs->arena, m);
    if (status != TR_OK)
        tr_shortlist_outputs_free(outputs);
    return status;
}

void tr_shortlist_outputs_free(tr_shortlist_outputs *outputs)
{
    free(outputs->marks);
    free(outputs->items);
    tr_arena_free(&outputs->arena);
    *outputs = (tr_shortlist_outputs){0};
}

/* ---------------------------------------------------------------------------------------------------------------- list */

/* Returns how many marks are new: 1 or 0. */
static int mark_token(uint64_t *marks, int32_t id)
{
    const uint64_t bit = (uint64_t)1 << id % 64;
    const int is_new = !(marks[id / 64] & bit);
    marks[id / 64] |= bit;
    return is_new;
}

/* The list may lie in a mapped file that another program changes after the check: each number is checked again where it is
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
            count += mark_token(marks, id);
    }
    return count;
}

/* The marked tokens that have an output, in order. Clears the marks. */
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

void tr_shortlist_output_list(tr_shortlist_outputs *outputs, tr_shortlist_output *shortlist, const tr_network *network,
                              const int32_t *source, int length)
{
    const tr_shortlist *s = outputs->shortlist;
    const int vocabulary = network->config.target_vocabulary;
    const int32_t end = tr_network_output(network, network->config.eos_id);
    const int first = s->first < vocabulary ? s->first : vocabulary;
    int count = 0;
    for (int i = 0; i < first; i++)
        count += mark_token(outputs->marks, i);
    for (int i = 0; i < length; i++) {
        count += mark_list(outputs->marks, s, source[i], vocabulary);
        if (s->shared && source[i] < vocabulary)
            count += mark_token(outputs->marks, source[i]);
    }
    for (int i = first; i < vocabulary && count % ROUNDED_TO; i++)
        count += mark_token(outputs->marks, i);
    take_marks(outputs->marks, network, shortlist);
    shortlist->linear.weight.outputs = shortlist->count;
    shortlist->eos = -1;
    for (int i = 0; i < shortlist->count && shortlist->outputs[i] <= end; i++)
        if (shortlist->outputs[i] == end)
            shortlist->eos = i;
}

void tr_shortlist_output_gather(tr_shortlist_output *shortlist, const tr_network *network, const float *bias, int begin,
                                int end)
{
    for (int i = begin; i < end; i++) {
        shortlist->bias[i] = bias[shortlist->outputs[i]];
        shortlist->bias_unmasked[i] = network->output_bias[shortlist->outputs[i]];
    }
    tr_gather_outputs(&network->output.weight, shortlist->outputs, begin, end, &shortlist->memory);
}
