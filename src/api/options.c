#include "api/options.h"

#include <stddef.h>

/* -------------------------------------------------------------------------------------------------------------- search */

typedef enum field_kind { FIELD_FLAG, FIELD_WHOLE, FIELD_SEED, FIELD_NUMBER } field_kind; /* bool, int, uint64_t, float */

_Static_assert(sizeof(tr_stopping) == sizeof(int), "an enum field is read as a whole number");

#define FIELD(name) #name, offsetof(tr_search_options, name)

/* All fields of tr_search_options but forbidden and forbidden_count. Flags and seeds have no range. */
static const struct search_field {
    const char *name;
    size_t offset;
    field_kind kind;
    double initial, low, high;
} search_fields[] = {
    {FIELD(beam), FIELD_WHOLE, 1, 1, TR_MAX_BEAM},
    {FIELD(n_best), FIELD_WHOLE, 1, 1, TR_MAX_BEAM}, /* see check_together */
    {FIELD(length_penalty), FIELD_NUMBER, 1, -10, 10},
    {FIELD(coverage_penalty), FIELD_NUMBER, 0, 0, 10},
    {FIELD(patience), FIELD_NUMBER, 1, 1, 10},
    {FIELD(stopping), FIELD_WHOLE, TR_STOP_HEURISTIC, TR_STOP_HEURISTIC, TR_STOP_NEVER},
    {FIELD(sample), FIELD_FLAG, false, 0, 0},
    {FIELD(temperature), FIELD_NUMBER, 1, 0.01F, 100},
    {FIELD(top_k), FIELD_WHOLE, 0, 0, TR_MAX_TOP_K},
    {FIELD(top_p), FIELD_NUMBER, 1, 1e-6F, 1},
    {FIELD(seed), FIELD_SEED, 0, 0, 0},
    {FIELD(no_repeat_ngram), FIELD_WHOLE, 0, 0, 64},
    {FIELD(repetition_penalty), FIELD_NUMBER, 1, 1, 100},
    {FIELD(forbid_unknown), FIELD_FLAG, false, 0, 0},
    {FIELD(max_length_factor), FIELD_NUMBER, 0, 0, 1e6F},
    {FIELD(max_length_offset), FIELD_WHOLE, 0, 0, TR_MAX_POSITIONS},
    {FIELD(alternatives), FIELD_FLAG, false, 0, 0},
    {FIELD(alternatives_min), FIELD_NUMBER, 0, 0, 1},
};

#undef FIELD

enum { SEARCH_FIELDS = sizeof search_fields / sizeof *search_fields };

/* The field's address in options, which may be const. */
static void *address_of(const tr_search_options *options, const struct search_field *field)
{
    return (char *)(uintptr_t)options + field->offset;
}

tr_search_options tr_search_default_options(void)
{
    tr_search_options options = {0};
    for (const struct search_field *f = search_fields; f < search_fields + SEARCH_FIELDS; f++)
        switch (f->kind) {
        case FIELD_FLAG: *(bool *)address_of(&options, f) = f->initial != 0; break;
        case FIELD_WHOLE: *(int *)address_of(&options, f) = (int)f->initial; break;
        case FIELD_SEED: *(uint64_t *)address_of(&options, f) = (uint64_t)f->initial; break;
        case FIELD_NUMBER: *(float *)address_of(&options, f) = (float)f->initial; break;
        }
    return options;
}

static tr_status check_field(const tr_search_options *options, const struct search_field *f, tr_error *error)
{
    if (f->kind != FIELD_WHOLE && f->kind != FIELD_NUMBER)
        return TR_OK;
    const double value =
        f->kind == FIELD_WHOLE ? *(const int *)address_of(options, f) : (double)*(const float *)address_of(options, f);
    if (value >= f->low && value <= f->high) /* not NaN */
        return TR_OK;
    const int digits = f->kind == FIELD_WHOLE ? 10 : 6;
    return tr_fail(error, TR_ERROR_ARGUMENT, "%s: %.*g is not between %.*g and %.*g", f->name, digits, value, digits, f->low,
                   digits, f->high);
}

static bool is_same_field(const tr_search_options *a, const tr_search_options *b, const struct search_field *f)
{
    switch (f->kind) {
    case FIELD_FLAG: return *(const bool *)address_of(a, f) == *(const bool *)address_of(b, f);
    case FIELD_WHOLE: return *(const int *)address_of(a, f) == *(const int *)address_of(b, f);
    case FIELD_SEED: return *(const uint64_t *)address_of(a, f) == *(const uint64_t *)address_of(b, f);
    case FIELD_NUMBER: return *(const float *)address_of(a, f) == *(const float *)address_of(b, f);
    }
    return false;
}

static tr_status check_forbidden(const tr_search_options *s, const tr_config *config, tr_error *error)
{
    if (s->forbidden_count && !s->forbidden)
        return tr_fail(error, TR_ERROR_ARGUMENT, "forbidden: its ids are NULL");
    for (size_t i = 0; i < s->forbidden_count; i++)
        if (s->forbidden[i] < 0 || s->forbidden[i] >= config->target_vocabulary)
            return tr_fail(error, TR_ERROR_ARGUMENT, "forbidden: token %zu is %d, not an id below %d", i,
                           (int)s->forbidden[i], config->target_vocabulary);
    return TR_OK;
}

static tr_status check_together(const tr_search_options *s, tr_error *error)
{
    if (s->n_best > s->beam && !s->sample && !s->alternatives)
        return tr_fail(error, TR_ERROR_ARGUMENT, "n_best: %d is not between 1 and %d", s->n_best, s->beam);
    if (s->sample && s->beam > 1)
        return tr_fail(error, TR_ERROR_ARGUMENT, "sample: needs beam 1, not %d", s->beam);
    if (s->sample && s->alternatives)
        return tr_fail(error, TR_ERROR_ARGUMENT, "alternatives: cannot be combined with sampling");
    return TR_OK;
}

tr_status tr_search_check(const tr_search_options *search, const tr_config *config, tr_error *error)
{
    tr_status status = TR_OK;
    for (int i = 0; i < SEARCH_FIELDS && status == TR_OK; i++)
        status = check_field(search, &search_fields[i], error);
    if (status == TR_OK)
        status = check_forbidden(search, config, error);
    return status == TR_OK ? check_together(search, error) : status;
}

bool tr_search_same(const tr_search_options *a, const tr_search_options *b)
{
    bool same = !a->forbidden_count && !b->forbidden_count;
    for (int i = 0; i < SEARCH_FIELDS && same; i++)
        same = is_same_field(a, b, &search_fields[i]);
    return same;
}

/* ----------------------------------------------------------------------------------------------------------- alignment */

tr_align_options tr_align_default_options(void)
{
    return (tr_align_options){.layer = TR_ALIGN_AUTO, .head = TR_ALIGN_AUTO, .threshold = 1};
}

static tr_status resolve_alignment(const tr_config *c, tr_align_options *a, tr_error *error)
{
    if (a->layer < TR_ALIGN_AUTO || a->layer >= c->decoder_layers)
        return tr_fail(error, TR_ERROR_ARGUMENT, "alignment layer: %d is not below %d", a->layer, c->decoder_layers);
    if (a->head < TR_ALIGN_MEAN || a->head >= c->decoder_heads)
        return tr_fail(error, TR_ERROR_ARGUMENT, "alignment head: %d is not below %d", a->head, c->decoder_heads);
    if (!(a->threshold >= 0 && a->threshold <= 1))
        return tr_fail(error, TR_ERROR_ARGUMENT, "alignment threshold: %g is not between 0 and 1", (double)a->threshold);
    int layer, head;
    tr_config_alignment_head(c, &layer, &head);
    if (a->layer == TR_ALIGN_AUTO)
        a->layer = layer;
    if (a->head == TR_ALIGN_AUTO)
        a->head = a->layer == layer && head >= 0 ? head : TR_ALIGN_MEAN;
    return TR_OK;
}

static bool is_same_alignment(const tr_translate_options *a, const tr_translate_options *b)
{
    return a->align == b->align &&
           (!a->align || (a->alignment.layer == b->alignment.layer && a->alignment.head == b->alignment.head &&
                          a->alignment.threshold == b->alignment.threshold));
}

/* --------------------------------------------------------------------------------------------- translating and scoring */

tr_translate_options tr_translate_default_options(void)
{
    return (tr_translate_options){.max_length = 512,
                                  .min_length = 0,
                                  .split = TR_SPLIT_AUTO,
                                  .search = tr_search_default_options(),
                                  .alignment = tr_align_default_options(),
                                  .use_cache = true,
                                  .loop_guard = true};
}

tr_score_options tr_score_default_options(void)
{
    return (tr_score_options){.alignment = tr_align_default_options()};
}

tr_status tr_translate_options_resolve(const tr_config *config, const tr_translate_options *options,
                                       tr_translate_options *resolved, tr_error *error)
{
    const int limit = config->max_positions;
    *resolved = options ? *options : tr_translate_default_options();
    if (resolved->max_length < 1)
        return tr_fail(error, TR_ERROR_ARGUMENT, "max_length: %d is not at least 1", resolved->max_length);
    if (resolved->min_length < 0 || resolved->min_length > resolved->max_length)
        return tr_fail(error, TR_ERROR_ARGUMENT, "min_length: %d is not between 0 and max_length (%d)", resolved->min_length,
                       resolved->max_length);
    if ((int)resolved->split < TR_SPLIT_AUTO || resolved->split > TR_SPLIT_NEVER)
        return tr_fail(error, TR_ERROR_ARGUMENT, "split: %d is unknown", (int)resolved->split);
    tr_status status = tr_search_check(&resolved->search, config, error);
    if (status == TR_OK)
        status = resolve_alignment(config, &resolved->alignment, error);
    if (status != TR_OK)
        return status;
    if (resolved->on_token && (resolved->search.beam > 1 || resolved->search.alternatives))
        return tr_fail(error, TR_ERROR_ARGUMENT, "token: with %s, no token is final before the translation is complete",
                       resolved->search.beam > 1 ? "a beam" : "alternatives");
    resolved->max_length = resolved->max_length < limit ? resolved->max_length : limit;
    resolved->min_length = resolved->min_length < limit ? resolved->min_length : limit;
    return TR_OK;
}

tr_status tr_score_options_resolve(const tr_config *config, const tr_score_options *options, tr_score_options *resolved,
                                   tr_error *error)
{
    *resolved = options ? *options : tr_score_default_options();
    return resolve_alignment(config, &resolved->alignment, error);
}

bool tr_translate_options_same(const tr_translate_options *a, const tr_translate_options *b)
{
    return a->max_length == b->max_length && a->min_length == b->min_length && a->split == b->split &&
           a->scores == b->scores && a->loop_guard == b->loop_guard && is_same_alignment(a, b) &&
           tr_search_same(&a->search, &b->search);
}
