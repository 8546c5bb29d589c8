#include "text/sources.h"

#include <string.h>

int tr_source_marks(const tr_config *config, const tr_pair *pair)
{
    return pair->prefix_count + tr_source_marks_behind(config, pair);
}

int tr_source_marks_behind(const tr_config *config, const tr_pair *pair)
{
    return !config->no_source_eos + pair->has_suffix;
}

tr_status tr_source_check(const tr_config *config, const tr_pair *pair, const tr_tokens *source, size_t index,
                          tr_error *error)
{
    const int marks = tr_source_marks(config, pair);
    if (!source->ids && source->count)
        return tr_fail(error, TR_ERROR_ARGUMENT, "source %zu: its ids are NULL", index);
    if (source->count > (size_t)config->max_positions || (int)source->count > config->max_positions - marks)
        return tr_fail(error, TR_ERROR_ARGUMENT, "source %zu: %zu tokens%s, but the model takes %d", index, source->count,
                       marks == 0   ? ""
                       : marks == 1 ? " and the end mark"
                                    : " and those of end and language",
                       config->max_positions);
    for (size_t i = 0; i < source->count; i++)
        if (source->ids[i] < 0 || source->ids[i] >= config->source_vocabulary)
            return tr_fail(error, TR_ERROR_ARGUMENT, "source %zu: token %zu is %d, not an id below %d", index, i,
                           (int)source->ids[i], config->source_vocabulary);
    return TR_OK;
}

int tr_source_lay_out(const tr_config *config, const tr_pair *pair, const tr_tokens *source, int32_t *to)
{
    int n = 0;
    for (int i = 0; i < pair->prefix_count; i++)
        to[n++] = pair->prefix[i];
    if (source->count)
        memcpy(to + n, source->ids, source->count * sizeof *to);
    n += (int)source->count;
    if (!config->no_source_eos || source->count == 0)
        to[n++] = config->eos_id;
    if (pair->has_suffix)
        to[n++] = pair->suffix;
    return n;
}
