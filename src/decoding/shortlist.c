#include "decoding/shortlist.h"

#include <stdlib.h>
#include <string.h>

enum { FILLED_TO = 8 }; /* the number of outputs, as Marian has it: it decides which ids are allowed */

static size_t matrix_bytes(const tr_matrix *m)
{
    return m->type == TR_TYPE_I8 ? tr_i8_bytes(m->outputs, m->inputs)
                                 : (size_t)m->outputs * (size_t)m->inputs * tr_type_size(m->type);
}

static tr_choice place(tr_arena *arena, const tr_matrix *m)
{
    const size_t n = (size_t)m->outputs;
    tr_choice c = {.ids = tr_arena_alloc(arena, n * sizeof *c.ids),
                   .bias = tr_arena_alloc(arena, n * sizeof *c.bias),
                   .data = tr_arena_alloc(arena, matrix_bytes(m)),
                   .scale = tr_arena_alloc(arena, n * sizeof *c.scale),
                   .colsum = tr_arena_alloc(arena, n * sizeof *c.colsum)};
    c.logits = (tr_linear){*m, c.bias};
    c.logits.weight.data = c.data;
    c.logits.weight.scale = c.scale;
    c.logits.weight.colsum = c.colsum;
    return c;
}

tr_status tr_choices_init(tr_choices *choices, const tr_shortlist *shortlist, const tr_network *network, int sentences,
                          tr_error *error)
{
    const tr_matrix *m = &network->logits.weight;
    const size_t each = matrix_bytes(m) + 4 * ((size_t)m->outputs * 4) + 5 * 64;
    *choices = (tr_choices){.shortlist = shortlist};
    choices->marks = calloc(((size_t)m->outputs + 63) / 64, sizeof *choices->marks);
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

static int mark_list(uint64_t *marks, const tr_shortlist *s, int32_t source)
{
    int count = 0;
    for (int32_t i = source < s->sources ? s->offsets[source] : 0; source < s->sources && i < s->offsets[source + 1]; i++)
        count += mark(marks, s->words[i]);
    return count;
}

/* All marks as ids, in order; they are wiped. */
static void take_marks(uint64_t *marks, int vocabulary, tr_choice *choice)
{
    choice->count = 0;
    for (int word = 0; word < (vocabulary + 63) / 64; word++) {
        const uint64_t bits = marks[word];
        marks[word] = 0;
        for (int bit = 0; bits >> bit; bit++) {
            if (bits >> bit & 1)
                choice->ids[choice->count++] = 64 * word + bit;
            if (bit == 63)
                break;
        }
    }
}

void tr_choice_list(tr_choices *choices, tr_choice *choice, const tr_network *network, const int32_t *source, int length)
{
    const tr_shortlist *s = choices->shortlist;
    const int vocabulary = network->logits.weight.outputs, end = network->config.end_id;
    const int first = s->first < vocabulary ? s->first : vocabulary;
    int count = 0;
    for (int i = 0; i < first; i++)
        count += mark(choices->marks, i);
    for (int i = 0; i < length; i++) {
        count += mark_list(choices->marks, s, source[i]);
        if (s->shared && source[i] < vocabulary)
            count += mark(choices->marks, source[i]);
    }
    for (int i = first; i < vocabulary && count % FILLED_TO; i++)
        count += mark(choices->marks, i);
    take_marks(choices->marks, vocabulary, choice);
    choice->logits.weight.outputs = choice->count;
    choice->end = -1;
    for (int i = 0; i < choice->count && choice->ids[i] <= end; i++)
        if (choice->ids[i] == end)
            choice->end = i;
}

/* -------------------------------------------------------------------------------------------------------------- gather */

/* The panel of outputs [first, first + n) of the choice. */
static void gather_panel(tr_choice *choice, const tr_matrix *from, int first, int n)
{
    const size_t bytes = tr_panel_bytes(from->inputs);
    const char *source[TR_PANEL];
    char *out = choice->data + (size_t)(first / TR_PANEL) * bytes;
    for (int i = 0; i < n; i++) {
        const int id = choice->ids[first + i];
        source[i] = (const char *)from->data + (size_t)(id / TR_PANEL) * bytes + 4 * (id % TR_PANEL);
        choice->scale[first + i] = from->scale[id];
        choice->colsum[first + i] = from->colsum[id];
    }
    if (n < TR_PANEL)
        memset(out, 0, bytes);
    for (size_t line = 0; line < bytes; line += TR_LINE)
        for (int i = 0; i < n; i++)
            memcpy(out + line + 4 * i, source[i] + line, 4);
}

void tr_choice_gather(tr_choice *choice, const tr_network *network, int first, int last)
{
    const tr_matrix *from = &network->logits.weight;
    const size_t row = (size_t)from->inputs * tr_type_size(from->type);
    for (int i = first; i < last; i++) {
        const int id = choice->ids[i];
        choice->bias[i] = network->logits.bias[id];
        if (from->type != TR_TYPE_I8)
            memcpy(choice->data + (size_t)i * row, (const char *)from->data + (size_t)id * row, row);
    }
    for (int i = first; from->type == TR_TYPE_I8 && i < last; i += TR_PANEL)
        gather_panel(choice, from, i, last - i < TR_PANEL ? last - i : TR_PANEL);
}
