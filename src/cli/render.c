#include "cli/render.h"

#include "cli/alignment.h"
#include "util/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PRECISION = 9, NUMBER_SIZE = 320 }; /* digits that tell any float from any other; of any double */

/* ---------------------------------------------------------------------------------------------------------------- JSON */

static int append_to_buffer(const char *data, size_t size, void *buffer)
{
    return tr_buffer_append(buffer, data, size) ? 0 : -1;
}

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
            json_array_append_new(array, json_string(names[i].name));
    return array;
}

/* Any bytes: what is no UTF-8 becomes U+FFFD. */
static json_t *json_bytes(const char *text, size_t size)
{
    tr_buffer clean = {0};
    json_t *string = tr_utf8_clean(text, size, &clean) ? json_stringn(clean.data ? clean.data : "", clean.size) : NULL;
    tr_buffer_free(&clean);
    return string;
}

/* JSON has no infinities: null is what the network holds for impossible. */
static json_t *json_float(float value)
{
    return isfinite(value) ? json_real((double)value) : json_null();
}

static json_t *json_token_scores(const cli_answer *a)
{
    json_t *array = json_array();
    for (size_t i = 0; i < a->result->scored_count; i++) {
        const tr_scored_token *token = &a->result->scored[i];
        size_t size;
        const char *piece = tr_target_piece(a->model, token->id, &size);
        json_t *pair = json_array();
        json_array_append_new(pair, json_bytes(piece ? piece : "", size));
        json_array_append_new(pair, json_float(token->log_probability));
        json_array_append_new(array, pair);
    }
    return array;
}

/* Names as in translate score; "tokens" is how many there are. Spans NULL: tokens are all there is. */
static bool set_links(json_t *object, const tr_model *model, const tr_tokens *target, const tr_span *spans,
                      const tr_alignment *alignment)
{
    return json_object_set_new(object, "target_tokens", cli_json_pieces(model, true, target)) == 0 &&
           json_object_set_new(object, "alignment", cli_json_links(alignment)) == 0 &&
           (!spans || json_object_set_new(object, "spans", cli_json_spans(spans, target->count)) == 0);
}

static bool set_alignment(json_t *object, const cli_answer *a)
{
    const tr_result *r = a->result;
    return json_object_set_new(object, "source_tokens", cli_json_pieces(a->first, false, &r->source)) == 0 &&
           (!r->source_spans ||
            json_object_set_new(object, "source_spans", cli_json_spans(r->source_spans, r->source.count)) == 0) &&
           set_links(object, a->model, &r->target, r->target_spans, &r->alignment);
}

static json_t *json_hypotheses(const cli_form *form, const cli_answer *a)
{
    json_t *array = json_array();
    for (size_t i = 0; i < a->result->hypothesis_count; i++) {
        const tr_translation *h = &a->result->hypotheses[i];
        json_t *object = json_object();
        json_object_set_new(object, "text", json_bytes(h->text, h->size));
        json_object_set_new(object, "score", json_float(h->score));
        json_object_set_new(object, "log_probability", json_float(h->log_probability));
        json_object_set_new(object, "tokens", json_integer(h->tokens));
        if (form->alignment)
            set_links(object, a->model, &h->target, h->target_spans, &h->alignment);
        json_array_append_new(array, object);
    }
    return array;
}

static bool set_scores(json_t *object, const cli_answer *a)
{
    return json_object_set_new(object, "mean", json_float(a->result->mean)) == 0 &&
           json_object_set_new(object, "minimum", json_float(a->result->minimum)) == 0 &&
           json_object_set_new(object, "token_scores", json_token_scores(a)) == 0;
}

static bool render_json(const cli_form *form, const cli_line *line, uint64_t number, const cli_answer *a, tr_buffer *out)
{
    json_t *object = json_object();
    const tr_result *r = a->result;
    const bool good =
        object && json_object_set_new(object, "line", json_integer((json_int_t)number)) == 0 &&
        json_object_set_new(object, "source", json_bytes(line->text, line->size)) == 0 &&
        (!a->pivot || json_object_set_new(object, "pivot", json_stringn(a->pivot->text, a->pivot->size)) == 0) &&
        json_object_set_new(object, "text", json_bytes(r->text, r->size)) == 0 &&
        (!form->scores || json_object_set_new(object, "score", json_float(a->score)) == 0) &&
        json_object_set_new(object, "tokens", json_integer(r->target_tokens)) == 0 &&
        (!form->scores || set_scores(object, a)) && (!form->alignment || set_alignment(object, a)) &&
        (!form->n_best || json_object_set_new(object, "hypotheses", json_hypotheses(form, a)) == 0) &&
        json_object_set_new(object, "flags", json_flags(a->flags)) == 0 &&
        json_dump_callback(object, append_to_buffer, out, JSON_COMPACT | JSON_REAL_PRECISION(PRECISION)) == 0 &&
        tr_buffer_append(out, "\n", 1);
    json_decref(object);
    return good;
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
