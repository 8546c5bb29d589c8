#include "cli/json.h"

#include <stdio.h>

enum { PRECISION = 9 }; /* digits that distinguish all floats */

/* --------------------------------------------------------------------------------------------------------------- parts */

json_t *cli_json_links(const tr_alignment *alignment)
{
    json_t *array = json_array();
    for (size_t i = 0; i < alignment->count; i++)
        array = tr_json_append(array, json_pack("[i,i]", (int)alignment->links[i].source, (int)alignment->links[i].target));
    return array;
}

json_t *cli_json_spans(const tr_span *spans, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        array = tr_json_append(array, json_pack("[I,I]", (json_int_t)spans[i].begin, (json_int_t)spans[i].end));
    return array;
}

json_t *cli_json_pieces(const tr_model *model, bool target, const tr_tokens *tokens)
{
    json_t *array = json_array();
    for (size_t i = 0; i < tokens->count; i++) {
        size_t size = 0;
        const char *piece =
            target ? tr_target_piece(model, tokens->ids[i], &size) : tr_source_piece(model, tokens->ids[i], &size);
        array = tr_json_append(array, tr_json_text(piece ? piece : "<unk>", piece ? size : 5, "<unk>"));
    }
    return array;
}

/* --------------------------------------------------------------------------------------------------------- translations */

static json_t *json_flags(unsigned flags)
{
    static const struct {
        unsigned flag;
        const char *name;
    } names[] = {{TR_FLAG_LOOP, "loop"},
                 {TR_FLAG_CUT, "cut"},
                 {TR_FLAG_INVALID_UTF8, "invalid_utf8"},
                 {TR_FLAG_MAX_LENGTH, "max_length"},
                 {TR_FLAG_NUMBER, "number"},
                 {TR_FLAG_PASSED_THROUGH, "passed_through"},
                 {TR_FLAG_DOUBTFUL, "doubtful"}};
    json_t *array = json_array();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (flags & names[i].flag)
            array = tr_json_append(array, json_string(names[i].name));
    return array;
}

static json_t *json_token_scores(const cli_translation *t)
{
    json_t *array = json_array();
    for (size_t i = 0; i < t->result->scored_count; i++) {
        const tr_scored_token *token = &t->result->scored[i];
        size_t size = 0;
        const char *piece = tr_target_piece(t->target_model, token->id, &size);
        json_t *pair = tr_json_append(json_array(), tr_json_clean(piece, size));
        pair = tr_json_append(pair, tr_json_number(token->log_probability));
        array = tr_json_append(array, pair);
    }
    return array;
}

/* The keys are those of translate score, except that "tokens" is a number here. spans NULL: with --tokens. */
static json_t *set_links(json_t *object, const tr_model *model, const tr_tokens *target, const tr_span *spans,
                         const tr_alignment *alignment)
{
    object = tr_json_set(object, "target_tokens", cli_json_pieces(model, true, target));
    object = tr_json_set(object, "alignment", cli_json_links(alignment));
    return spans ? tr_json_set(object, "spans", cli_json_spans(spans, target->count)) : object;
}

static json_t *set_alignment(json_t *object, const cli_translation *t)
{
    const tr_result *r = t->result;
    object = tr_json_set(object, "source_tokens", cli_json_pieces(t->source_model, false, &r->source));
    if (r->source_spans)
        object = tr_json_set(object, "source_spans", cli_json_spans(r->source_spans, r->source.count));
    return set_links(object, t->target_model, &r->target, r->target_spans, &r->alignment);
}

static json_t *json_hypotheses(const cli_translation *t, bool alignment)
{
    json_t *array = json_array();
    for (size_t i = 0; i < t->result->hypothesis_count; i++) {
        const tr_translation *h = &t->result->hypotheses[i];
        json_t *object = tr_json_set(json_object(), "text", tr_json_clean(h->text, h->size));
        object = tr_json_set(object, "score", tr_json_number(h->score));
        object = tr_json_set(object, "log_probability", tr_json_number(h->log_probability));
        object = tr_json_set(object, "tokens", json_integer(h->tokens));
        if (alignment)
            object = set_links(object, t->target_model, &h->target, h->target_spans, &h->alignment);
        array = tr_json_append(array, object);
    }
    return array;
}

static json_t *set_scores(json_t *object, const cli_translation *t)
{
    object = tr_json_set(object, "mean", tr_json_number(t->result->mean_log_probability));
    object = tr_json_set(object, "minimum", tr_json_number(t->result->min_log_probability));
    return tr_json_set(object, "token_scores", json_token_scores(t));
}

static json_t *json_translation(const cli_settings *s, const cli_translation *t)
{
    const tr_result *r = t->result;
    json_t *object = tr_json_set(json_object(), "line", json_integer((json_int_t)t->number));
    object = tr_json_set(object, "source", tr_json_clean(t->line->text, t->line->size));
    if (t->pivot)
        object = tr_json_set(object, "pivot", tr_json_clean(t->pivot->text, t->pivot->size));
    object = tr_json_set(object, "text", tr_json_clean(r->text, r->size));
    if (s->scores)
        object = tr_json_set(object, "score", tr_json_number(t->score));
    object = tr_json_set(object, "tokens", json_integer(r->target_tokens));
    if (s->scores)
        object = set_scores(object, t);
    if (s->alignment)
        object = set_alignment(object, t);
    if (s->search.n_best > 1)
        object = tr_json_set(object, "hypotheses", json_hypotheses(t, s->alignment));
    return tr_json_set(object, "flags", json_flags(t->flags));
}

bool cli_json_translation(const cli_settings *settings, const cli_translation *translation, tr_buffer *out)
{
    return tr_json_print(json_translation(settings, translation), JSON_COMPACT | JSON_REAL_PRECISION(PRECISION), out) &&
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
