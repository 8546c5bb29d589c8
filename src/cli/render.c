#include "cli/render.h"

#include "cli/alignment.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PRECISION = 9, NUMBER_SIZE = 320 }; /* digits that tell any float from any other; of any double */

/* ---------------------------------------------------------------------------------------------------------------- JSON */

static json_t *json_flags(unsigned flags)
{
    static const struct {
        unsigned flag;
        const char *name;
    } names[] = {{TR_FLAG_LOOP, "loop"},
                 {TR_FLAG_CUT, "cut"},
                 {TR_FLAG_INVALID_UTF8, "invalid_utf8"},
                 {TR_FLAG_MAX_LENGTH, "max_length"}};
    json_t *array = json_array();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (flags & names[i].flag)
            array = tr_json_append(array, json_string(names[i].name));
    return array;
}

static json_t *json_token_scores(const cli_answer *a)
{
    json_t *array = json_array();
    for (size_t i = 0; i < a->result->scored_count; i++) {
        const tr_scored_token *token = &a->result->scored[i];
        size_t size = 0;
        const char *piece = tr_target_piece(a->model, token->id, &size);
        json_t *pair = tr_json_append(json_array(), tr_json_clean(piece, size));
        pair = tr_json_append(pair, tr_json_number(token->log_probability));
        array = tr_json_append(array, pair);
    }
    return array;
}

/* Names as in translate score; "tokens" is how many there are. Spans NULL: tokens are all there is. */
static json_t *set_links(json_t *object, const tr_model *model, const tr_tokens *target, const tr_span *spans,
                         const tr_alignment *alignment)
{
    object = tr_json_set(object, "target_tokens", cli_json_pieces(model, true, target));
    object = tr_json_set(object, "alignment", cli_json_links(alignment));
    return spans ? tr_json_set(object, "spans", cli_json_spans(spans, target->count)) : object;
}

static json_t *set_alignment(json_t *object, const cli_answer *a)
{
    const tr_result *r = a->result;
    object = tr_json_set(object, "source_tokens", cli_json_pieces(a->first, false, &r->source));
    if (r->source_spans)
        object = tr_json_set(object, "source_spans", cli_json_spans(r->source_spans, r->source.count));
    return set_links(object, a->model, &r->target, r->target_spans, &r->alignment);
}

static json_t *json_hypotheses(const cli_form *form, const cli_answer *a)
{
    json_t *array = json_array();
    for (size_t i = 0; i < a->result->hypothesis_count; i++) {
        const tr_translation *h = &a->result->hypotheses[i];
        json_t *object = tr_json_set(json_object(), "text", tr_json_clean(h->text, h->size));
        object = tr_json_set(object, "score", tr_json_number(h->score));
        object = tr_json_set(object, "log_probability", tr_json_number(h->log_probability));
        object = tr_json_set(object, "tokens", json_integer(h->tokens));
        if (form->alignment)
            object = set_links(object, a->model, &h->target, h->target_spans, &h->alignment);
        array = tr_json_append(array, object);
    }
    return array;
}

static json_t *set_scores(json_t *object, const cli_answer *a)
{
    object = tr_json_set(object, "mean", tr_json_number(a->result->mean_log_probability));
    object = tr_json_set(object, "minimum", tr_json_number(a->result->min_log_probability));
    return tr_json_set(object, "token_scores", json_token_scores(a));
}

static json_t *json_answer(const cli_form *form, const cli_line *line, uint64_t number, const cli_answer *a)
{
    const tr_result *r = a->result;
    json_t *object = tr_json_set(json_object(), "line", json_integer((json_int_t)number));
    object = tr_json_set(object, "source", tr_json_clean(line->text, line->size));
    if (a->pivot)
        object = tr_json_set(object, "pivot", tr_json_clean(a->pivot->text, a->pivot->size));
    object = tr_json_set(object, "text", tr_json_clean(r->text, r->size));
    if (form->scores)
        object = tr_json_set(object, "score", tr_json_number(a->score));
    object = tr_json_set(object, "tokens", json_integer(r->target_tokens));
    if (form->scores)
        object = set_scores(object, a);
    if (form->alignment)
        object = set_alignment(object, a);
    if (form->n_best)
        object = tr_json_set(object, "hypotheses", json_hypotheses(form, a));
    return tr_json_set(object, "flags", json_flags(a->flags));
}

static bool render_json(const cli_form *form, const cli_line *line, uint64_t number, const cli_answer *a, tr_buffer *out)
{
    return tr_json_print(json_answer(form, line, number, a), JSON_COMPACT | JSON_REAL_PRECISION(PRECISION), out) &&
           tr_buffer_append(out, "\n", 1);
}

int cli_print_json(json_t *value, size_t flags)
{
    tr_buffer text = {0};
    const bool good = tr_json_print(value, flags, &text);
    if (good)
        puts(text.data);
    tr_buffer_free(&text);
    return good ? CLI_DONE : cli_fail_memory();
}

/* --------------------------------------------------------------------------------------------------------------- plain */

static void replace(char *text, size_t size, char from, char to)
{
    for (char *p = text; size && (p = memchr(p, from, (size_t)(text + size - p)));)
        *p++ = to;
}

void cli_keep_one_line(char *text, size_t size)
{
    replace(text, size, '\n', ' ');
}

void cli_fit(const cli_form *form, char *text, size_t size)
{
    const bool fields = form->scores || form->alignment || form->n_best;
    if (fields || !form->break_lines)
        cli_keep_one_line(text, size);
    if (fields)
        replace(text, size, '\t', ' ');
}

static bool append_text(const cli_form *form, const char *text, size_t size, tr_buffer *out)
{
    const size_t at = out->size;
    if (!tr_buffer_append(out, text, size))
        return false;
    cli_fit(form, out->data + at, size);
    return true;
}

static bool append_number(const char *before, float value, tr_buffer *out)
{
    char number[NUMBER_SIZE];
    snprintf(number, sizeof number, "%.6f", (double)value);
    return tr_buffer_string(out, before) && tr_buffer_string(out, number);
}

/* The fields behind a translation, and the end of its line. */
static bool end_line(const cli_form *form, const cli_line *line, float score, const tr_alignment *alignment, tr_buffer *out)
{
    return (!form->scores || append_number("\t", score, out)) &&
           (!form->alignment || (tr_buffer_append(out, "\t", 1) && cli_append_links(alignment, out))) &&
           tr_buffer_string(out, line->carriage_return ? "\r\n" : "\n");
}

/* line TAB rank TAB score TAB text. What needed no network is the only translation of itself. */
static bool render_list(const cli_form *form, const cli_line *line, uint64_t number, const cli_answer *a, tr_buffer *out)
{
    const tr_result *r = a->result;
    const tr_translation same = {.text = r->text, .size = r->size};
    const size_t count = r->hypothesis_count ? r->hypothesis_count : 1;
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        const tr_translation *h = r->hypothesis_count ? &r->hypotheses[i] : &same;
        char front[NUMBER_SIZE];
        snprintf(front, sizeof front, "%" PRIu64 "\t%zu\t", number, i + 1);
        good = append_number(front, h->score, out) && tr_buffer_append(out, "\t", 1) &&
               append_text(form, h->text, h->size, out) && end_line(form, line, h->log_probability, &h->alignment, out);
    }
    return good;
}

bool cli_render(const cli_form *form, const cli_line *line, uint64_t number, const cli_answer *a, tr_buffer *out)
{
    if (form->json)
        return render_json(form, line, number, a, out);
    if (form->n_best)
        return render_list(form, line, number, a, out);
    return append_text(form, a->result->text, a->result->size, out) &&
           end_line(form, line, a->score, &a->result->alignment, out);
}
