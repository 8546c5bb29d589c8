#include "cli/scores.h"

#include "cli/alignment.h"

#include <math.h>
#include <stdio.h>

bool cli_render_score(const cli_pair *pair, const tr_text_score *score, bool alignment, tr_buffer *out)
{
    char number[32];
    const int size = snprintf(number, sizeof number, "%.4f", (double)score->score.log_probability);
    if (!tr_buffer_append(out, number, (size_t)size))
        return false;
    if (alignment && (!tr_buffer_append(out, "\t", 1) || !cli_append_links(&score->score.alignment, out)))
        return false;
    return tr_buffer_append(out, pair->carriage_return ? "\r\n" : "\n", 1 + (size_t)pair->carriage_return);
}

/* Four digits behind the point, as in the plain form. */
static json_t *json_log(float value)
{
    return tr_json_number(round((double)value * 1e4) / 1e4);
}

static json_t *json_logs(const tr_score *score)
{
    json_t *array = json_array();
    for (size_t i = 0; i < score->count; i++)
        array = tr_json_append(array, json_log(score->log_probabilities[i]));
    return array;
}

static json_t *json_score(const cli_model *model, const cli_pair *pair, uint64_t number, const tr_text_score *score)
{
    json_t *o = tr_json_set(json_object(), "line", json_integer((json_int_t)number));
    o = tr_json_set(o, "source", tr_json_clean(pair->source, pair->source_size));
    o = tr_json_set(o, "target", tr_json_clean(pair->target, pair->target_size));
    o = tr_json_set(o, "score", json_log(score->score.log_probability));
    o = tr_json_set(o, "mean", json_log(score->score.mean_log_probability));
    o = tr_json_set(o, "minimum", json_log(score->score.min_log_probability));
    o = tr_json_set(o, "source_tokens", cli_json_pieces(model->model, false, &score->source));
    o = tr_json_set(o, "tokens", cli_json_pieces(model->model, true, &score->target));
    o = tr_json_set(o, "log_probabilities", json_logs(&score->score));
    o = tr_json_set(o, "alignment", cli_json_links(&score->score.alignment));
    if (score->source_spans)
        o = tr_json_set(o, "source_spans", cli_json_spans(score->source_spans, score->source.count));
    return score->target_spans ? tr_json_set(o, "spans", cli_json_spans(score->target_spans, score->target.count)) : o;
}

bool cli_render_score_json(const cli_model *model, const cli_pair *pair, uint64_t number, const tr_text_score *score,
                           tr_buffer *out)
{
    return tr_json_print(json_score(model, pair, number, score), JSON_COMPACT | JSON_REAL_PRECISION(9), out) &&
           tr_buffer_append(out, "\n", 1);
}
