#include "cli/scores.h"

#include "cli/alignment.h"
#include "util/utf8.h"

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

/* JSON has no infinity: null. Four digits behind the point, as in the plain form. */
static json_t *json_log(float value)
{
    return isfinite(value) ? json_real(round((double)value * 1e4) / 1e4) : json_null();
}

static json_t *json_logs(const tr_score *score)
{
    json_t *array = json_array();
    for (size_t i = 0; i < score->count; i++)
        json_array_append_new(array, json_log(score->log_probabilities[i]));
    return array;
}

static json_t *json_text(const char *text, size_t size)
{
    tr_buffer clean = {0};
    json_t *string = NULL;
    if (tr_utf8_clean(text, size, &clean))
        string = json_stringn(clean.data ? clean.data : "", clean.size);
    tr_buffer_free(&clean);
    return string;
}

static int append_to_buffer(const char *data, size_t size, void *buffer)
{
    return tr_buffer_append(buffer, data, size) ? 0 : -1;
}

bool cli_render_score_json(const cli_model *model, const cli_pair *pair, uint64_t number, const tr_text_score *score,
                           tr_buffer *out)
{
    json_t *o = json_object();
    const struct {
        const char *name;
        json_t *value; /* NULL: memory is short, or left out */
        bool wanted;
    } members[] = {
        {"line", json_integer((json_int_t)number), true},
        {"source", json_text(pair->source, pair->source_size), true},
        {"target", json_text(pair->target, pair->target_size), true},
        {"score", json_log(score->score.log_probability), true},
        {"mean", json_log(score->score.mean), true},
        {"minimum", json_log(score->score.least), true},
        {"source_tokens", cli_json_pieces(model->model, false, &score->source), true},
        {"tokens", cli_json_pieces(model->model, true, &score->target), true},
        {"log_probabilities", json_logs(&score->score), true},
        {"alignment", cli_json_links(&score->score.alignment), true},
        {"source_spans", score->source_spans ? cli_json_spans(score->source_spans, score->source.count) : NULL,
         score->source_spans},
        {"spans", score->target_spans ? cli_json_spans(score->target_spans, score->target.count) : NULL,
         score->target_spans},
    };
    bool good = o;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) /* each value is the object's, or gone */
        if (members[i].wanted)
            good = json_object_set_new(o, members[i].name, members[i].value) == 0 && good;
    good = good && json_dump_callback(o, append_to_buffer, out, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0 &&
           tr_buffer_append(out, "\n", 1);
    json_decref(o);
    return good;
}
