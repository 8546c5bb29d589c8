#include "api/search.h"

#include <stddef.h>

tr_search_options tr_search_default_options(void)
{
    return (tr_search_options){.beam = 1,
                               .n_best = 1,
                               .length_penalty = 1,
                               .patience = 1,
                               .stopping = TR_STOP_HEURISTIC,
                               .temperature = 1,
                               .top_p = 1,
                               .repetition_penalty = 1};
}

/* ------------------------------------------------------------------------------------------------------- single fields */

static tr_status check_whole(const char *name, int value, int least, int most, tr_error *error)
{
    if (value >= least && value <= most)
        return TR_OK;
    return tr_fail(error, TR_ERROR_ARGUMENT, "%s: %d is not between %d and %d", name, value, least, most);
}

static tr_status check_number(const char *name, float value, float least, float most, tr_error *error)
{
    if (value >= least && value <= most) /* not NaN */
        return TR_OK;
    return tr_fail(error, TR_ERROR_ARGUMENT, "%s: %g is not between %g and %g", name, (double)value, (double)least,
                   (double)most);
}

static tr_status check_wholes(const tr_search_options *s, tr_error *error)
{
    const bool many = s->sample || s->alternatives;
    const struct {
        const char *name;
        int value, least, most;
    } fields[] = {
        {"beam", s->beam, 1, TR_MAX_BEAM},
        {"n_best", s->n_best, 1, many ? TR_MAX_BEAM : s->beam},
        {"top_k", s->top_k, 0, TR_MAX_TOP_K},
        {"no_repeat_ngram", s->no_repeat_ngram, 0, 64},
        {"max_length_more", s->max_length_offset, 0, TR_MAX_POSITIONS},
        {"stopping", (int)s->stopping, TR_STOP_HEURISTIC, TR_STOP_NEVER},
    };
    tr_status status = TR_OK;
    for (size_t i = 0; i < sizeof fields / sizeof *fields && status == TR_OK; i++)
        status = check_whole(fields[i].name, fields[i].value, fields[i].least, fields[i].most, error);
    return status;
}

static tr_status check_numbers(const tr_search_options *s, tr_error *error)
{
    const struct {
        const char *name;
        float value, least, most;
    } fields[] = {
        {"length_penalty", s->length_penalty, -10, 10},
        {"coverage_penalty", s->coverage_penalty, 0, 10},
        {"patience", s->patience, 1, 10},
        {"temperature", s->temperature, 0.01f, 100},
        {"top_p", s->top_p, 1e-6f, 1},
        {"repetition_penalty", s->repetition_penalty, 1, 100},
        {"max_length_factor", s->max_length_factor, 0, 1e6f},
        {"alternatives_min", s->alternatives_min, 0, 1},
    };
    tr_status status = TR_OK;
    for (size_t i = 0; i < sizeof fields / sizeof *fields && status == TR_OK; i++)
        status = check_number(fields[i].name, fields[i].value, fields[i].least, fields[i].most, error);
    return status;
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

/* ----------------------------------------------------------------------------------------------------------- all fields */

static tr_status check_together(const tr_search_options *s, tr_error *error)
{
    if (s->sample && s->beam > 1)
        return tr_fail(error, TR_ERROR_ARGUMENT, "sample: it goes with beam 1 only, not %d", s->beam);
    if (s->sample && s->alternatives)
        return tr_fail(error, TR_ERROR_ARGUMENT, "alternatives: they do not go with sampling");
    return TR_OK;
}

tr_status tr_search_check(const tr_search_options *search, const tr_config *config, tr_error *error)
{
    tr_status status = check_wholes(search, error);
    if (status == TR_OK)
        status = check_numbers(search, error);
    if (status == TR_OK)
        status = check_forbidden(search, config, error);
    return status == TR_OK ? check_together(search, error) : status;
}

bool tr_search_same(const tr_search_options *a, const tr_search_options *b)
{
    return a->beam == b->beam && a->n_best == b->n_best && a->length_penalty == b->length_penalty &&
           a->coverage_penalty == b->coverage_penalty && a->patience == b->patience && a->stopping == b->stopping &&
           a->sample == b->sample && a->temperature == b->temperature && a->top_k == b->top_k && a->top_p == b->top_p &&
           a->seed == b->seed && a->no_repeat_ngram == b->no_repeat_ngram &&
           a->repetition_penalty == b->repetition_penalty && a->forbid_unknown == b->forbid_unknown && !a->forbidden_count &&
           !b->forbidden_count && a->max_length_factor == b->max_length_factor &&
           a->max_length_offset == b->max_length_offset && a->alternatives == b->alternatives &&
           a->alternatives_min == b->alternatives_min;
}
