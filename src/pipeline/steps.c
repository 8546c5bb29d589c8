#include "pipeline/steps.h"

#include <stdlib.h>

static tr_status out_of_memory(tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "translation: out of memory");
}

tr_status tr_steps_init(tr_steps *steps, const tr_translate_options *options, const tr_tokenizer *tokenizer, int32_t end_id,
                        size_t units, tr_error *error)
{
    *steps = (tr_steps){.options = options, .tokenizer = tokenizer, .end_id = end_id};
    if (!options->token)
        return TR_OK;
    steps->draws = (size_t)options->search.n_best;
    steps->told = calloc(units ? units * steps->draws : 1, sizeof *steps->told);
    if (!steps->told)
        return out_of_memory(error);
    steps->count = units * steps->draws;
    return TR_OK;
}

void tr_steps_free(tr_steps *steps)
{
    for (size_t i = 0; i < steps->count; i++)
        tr_growing_free(&steps->told[i].text);
    free(steps->told);
    tr_buffer_free(&steps->spoken);
    *steps = (tr_steps){0};
}

static tr_told *told_of(const tr_steps *steps, size_t unit, const tr_step *step)
{
    return &steps->told[unit * steps->draws + (size_t)step->draw];
}

tr_status tr_steps_add(tr_steps *steps, size_t unit, const tr_step *step, bool *begins, tr_error *error)
{
    tr_told *told = told_of(steps, unit, step);
    if (step->step == 0) { /* anew, perhaps */
        tr_growing_free(&told->text);
        told->begun = false;
    }
    const int32_t id = step->id == steps->end_id ? -1 : step->id;
    const tr_status status =
        steps->tokenizer ? tr_tokenizer_grow(steps->tokenizer, &told->text, id, step->last, error) : TR_OK;
    *begins = steps->tokenizer && !told->begun && (step->last || told->text.told.first < told->text.told.last);
    return status;
}

tr_status tr_steps_tell(tr_steps *steps, size_t unit, const tr_step *step, tr_token_step *told, const tr_buffer *front,
                        bool space, bool *stop, tr_error *error)
{
    const tr_translate_options *o = steps->options;
    tr_told *own = told_of(steps, unit, step);
    const tr_span added = own->text.told;
    const size_t size = added.last - added.first;
    tr_buffer *out = &steps->spoken;
    tr_buffer_clear(out);
    if ((front && (!tr_buffer_append(out, front->data, front->size) || (space && size && !tr_buffer_string(out, " ")))) ||
        (size && !tr_buffer_append(out, own->text.text.data + added.first, size)))
        return out_of_memory(error);
    own->begun = own->begun || front;
    told->draw = step->draw;
    told->step = step->step;
    told->id = step->id;
    told->log_probability = step->log_probability;
    told->last = step->last;
    told->bytes = out->size ? out->data : "";
    told->size = out->size;
    const int answer = o->token(o->token_argument, told);
    *stop = answer > 0;
    steps->stopped = steps->stopped || (answer > 0 && !step->last);
    if (step->last)
        tr_growing_free(&own->text);
    return answer >= 0 ? TR_OK
                       : tr_fail(error, TR_ERROR_CANCELLED, "translation: cancelled by the callback that takes tokens");
}
