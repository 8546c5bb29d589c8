/* The server's own interface: what the library knows of a translation, and tokens as they are found. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/results.h"
#include "serve/glossaries.h"
#include "serve/languages.h"
#include "serve/models.h"
#include "serve/routes.h"
#include "serve/translation.h"

enum { LONGEST_PREFIX = 4096 }; /* bytes: no sentence has more */

json_t *v1_error(unsigned status, const char *message)
{
    static const struct {
        unsigned status;
        const char *code;
    } codes[] = {{400, "bad_request"}, {403, "forbidden"},        {404, "not_found"}, {405, "method_not_allowed"},
                 {409, "not_ready"},   {413, "too_large"},        {429, "too_many"},  {500, "internal"},
                 {503, "unavailable"}, {504, "deadline_exceeded"}};
    const char *code = "error";
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].status == status)
            code = codes[i].code;
    return json_pack("{s: {s: s, s: s}}", "error", "code", code, "message", message);
}

/* --------------------------------------------------------------------------------------------------------------- options */

/* Fields that are the library's options of the same name. */
static const struct {
    const char *name;
    bool real;
    double low, high;
} numbers[] = {
    {"beam", false, 1, 64},
    {"n_best", false, 1, 64},
    {"max_length", false, 1, 4096},
    {"length_penalty", true, -10, 10},
    {"sample", false, 0, 1},
    {"temperature", true, 0.01, 100},
    {"top_k", false, 0, 1024},
    {"top_p", true, 0.001, 1},
    {"seed", false, 0, 1e15},
    {"no_repeat_ngram", false, 0, 64},
    {"repetition_penalty", true, 1, 100},
    {"scores", false, 0, 1},
    {"align", false, 0, 1},
    {"doubtful", false, 0, 1},
    {"protect", false, 0, 1},
    {"loop_guard", false, 0, 1},
};

/* False: it has been answered. */
static bool set_number(request *r, tr_options *o, const char *name, bool real, double low, double high)
{
    const json_t *const value = json_object_get(r->fields, name);
    tr_error error;
    if (!value || json_is_null(value))
        return true;
    const bool flag = low == 0 && high == 1 && (json_is_boolean(value) || request_flag(r, name));
    const char *const text = json_string_value(value); /* of a form */
    char *end = NULL;
    const double number = flag ? request_flag(r, name) : text ? strtod(text, &end) : json_number_value(value);
    const bool right = flag || (text ? *text && !*end : json_is_number(value));
    if (!right || (!real && number != floor(number)) || !(number >= low && number <= high)) {
        answer_error(r, 400, "%s: must be %s from %g to %g", name, real ? "a number" : "a whole number", low, high);
        return false;
    }
    const tr_status status =
        real ? tr_options_set_float(o, name, number, &error) : tr_options_set_int(o, name, (int64_t)number, &error);
    if (status != TR_OK)
        answer_failure(r, &error);
    return status == TR_OK;
}

/* NULL: it has been answered. */
static tr_options *read_options(request *r)
{
    tr_options *o;
    tr_error error;
    if (tr_options_create(&o, &error)) {
        answer_failure(r, &error);
        return NULL;
    }
    bool good = true;
    for (size_t i = 0; good && i < sizeof numbers / sizeof *numbers; i++)
        good = set_number(r, o, numbers[i].name, numbers[i].real, numbers[i].low, numbers[i].high);
    if (good)
        return o;
    tr_options_free(o);
    return NULL;
}

/* --------------------------------------------------------------------------------------------------------------- results */

static json_t *flags_of(unsigned flags)
{
    json_t *const list = json_array();
    for (size_t i = 0; i < TR_FLAG_NAMES; i++)
        if (flags & tr_flag_names[i].flag)
            json_array_append_new(list, json_string(tr_flag_names[i].name));
    return list;
}

/* For each byte of a text the number of characters before it: [size + 1]. */
static uint32_t *count_characters(const char *data, size_t size)
{
    uint32_t *const counts = malloc((size + 1) * sizeof *counts);
    uint32_t count = 0;
    for (size_t i = 0; counts && i <= size; i++) {
        counts[i] = count;
        count += i < size && ((unsigned char)data[i] & 0xc0) != 0x80;
    }
    return counts;
}

/* A text whose places are told in bytes and in characters. */
typedef struct side {
    size_t size;
    uint32_t *characters;
} side;

/* NULL: there is none. */
static json_t *place_of(const side *s, const tr_span *spans, size_t count, int64_t index)
{
    if (index < 0 || (size_t)index >= count || spans[index].end > s->size)
        return NULL;
    const tr_span span = spans[index];
    return json_pack("{s: [I, I], s: [I, I]}", "bytes", (json_int_t)span.begin, (json_int_t)span.end, "characters",
                     (json_int_t)s->characters[span.begin], (json_int_t)s->characters[span.end]);
}

/* Appends both places and what else is known of them; nothing if a place is missing. All are taken. */
static void append_places(json_t *list, json_t *source, json_t *target, const char *name, json_t *more)
{
    if (source && target)
        json_array_append_new(list, json_pack("{s: O, s: O, s: O}", "source", source, "target", target, name, more));
    json_decref(source);
    json_decref(target);
    json_decref(more);
}

/* Links between the places of both texts. */
static json_t *alignment_of(const tr_results *results, const side *source, const side *target)
{
    size_t count, sources, targets;
    const tr_link *const links = tr_results_links(results, 0, 0, &count);
    const tr_span *const from = tr_results_source_spans(results, 0, &sources);
    const tr_span *const to = tr_results_target_spans(results, 0, 0, &targets);
    json_t *const list = json_array();
    for (size_t i = 0; i < count; i++)
        append_places(list, place_of(source, from, sources, links[i].source), place_of(target, to, targets, links[i].target),
                      "weight", json_real((double)links[i].weight));
    return list;
}

static json_t *sentences_of(const tr_results *results, const side *source, const side *target)
{
    size_t count;
    const tr_span *const from = tr_results_source_sentences(results, 0, &count);
    const tr_span *const to = tr_results_target_sentences(results, 0, &count);
    json_t *const list = json_array();
    for (size_t i = 0; i < count; i++)
        append_places(list, place_of(source, from, count, (int64_t)i), place_of(target, to, count, (int64_t)i), "flags",
                      flags_of((unsigned)tr_results_sentence_int(results, 0, i, "flags")));
    return list;
}

/* What tells places in both texts. */
static void add_places(request *r, json_t *o, const translated *t, const source_text *from)
{
    const bool align = request_flag(r, "align"), sentences = request_flag(r, "sentences");
    if (!t->direct || (!align && !sentences))
        return;
    const side source = {from->size, count_characters(from->data, from->size)};
    const side target = {t->size, count_characters(t->text, t->size)};
    if (source.characters && target.characters && align)
        json_object_set_new(o, "alignment", alignment_of(t->results, &source, &target));
    if (source.characters && target.characters && sentences)
        json_object_set_new(o, "sentences", sentences_of(t->results, &source, &target));
    free(source.characters);
    free(target.characters);
}

static json_t *hypotheses_of(const translated *t)
{
    json_t *const list = json_array();
    const int64_t count = tr_results_int(t->results, 0, "hypotheses");
    for (int64_t h = 0; h < count; h++)
        json_array_append_new(list,
                              json_pack("{s: s, s: f}", "text", tr_results_hypothesis_text(t->results, 0, (size_t)h, NULL),
                                        "score", tr_results_hypothesis_float(t->results, 0, (size_t)h, "score")));
    return list;
}

static void add_details(request *r, json_t *o, const translated *t, const source_text *from)
{
    const bool direct = request_text(r, "format") == NULL || strcmp(request_text(r, "format"), "text") == 0;
    if (!t->results || !direct)
        return;
    json_object_set_new(o, "source_tokens", json_integer(tr_results_int(t->results, 0, "source_tokens")));
    json_object_set_new(o, "target_tokens", json_integer(tr_results_int(t->results, 0, "target_tokens")));
    if (request_flag(r, "scores")) {
        static const char *const names[] = {"score", "mean_log_probability", "min_log_probability"};
        for (size_t i = 0; i < 3; i++)
            json_object_set_new(o, names[i], json_real(tr_results_float(t->results, 0, names[i])));
    }
    if (request_number(r, "n_best", 1, NULL) > 1)
        json_object_set_new(o, "hypotheses", hypotheses_of(t));
    add_places(r, o, t, from);
}

static json_t *result_of(request *r, const translated *t, const source_text *from)
{
    json_t *const o = json_pack("{s: o, s: s, s: s, s: o}", "text", json_stringn(t->text, t->size), "source", t->source,
                                "target", t->target, "flags", flags_of(t->flags));
    if (!o)
        return NULL;
    if (t->confidence >= 0)
        json_object_set_new(o, "confidence", json_integer(t->confidence));
    if (t->alternative_count) {
        json_t *const list = json_array();
        for (size_t i = 0; i < t->alternative_count; i++)
            json_array_append_new(list, json_string(t->alternatives[i]));
        json_object_set_new(o, "alternatives", list);
    }
    add_details(r, o, t, from);
    return o;
}

/* ----------------------------------------------------------------------------------------------------------------- calls */

static void begin_events(request *r)
{
    if (!answer_has_begun(r))
        answer_begin(r, 200, "text/event-stream");
}

/* A token that adds no whole character is not sent; a sentence that is decoded again begins anew. */
static void on_token(request *r, const tr_token_event *token)
{
    const bool again = token->restarted && token->step == 0;
    begin_events(r);
    if (again || token->size || token->last)
        answer_event(r, "token",
                     json_pack("{s: i, s: i, s: o, s: b, s: b}", "sentence", token->sentence, "sentences", token->sentences,
                               "text", json_stringn(token->size ? token->bytes : "", token->size), "restarted", again,
                               "last", token->last));
}

static void on_translated(request *r, const translated *results, size_t count)
{
    source_text *texts;
    size_t given;
    bool list;
    if (!request_texts(r, "text", &texts, &given, &list)) {
        answer_error(r, 503, "out of memory");
        return;
    }
    json_t *const found = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(found, result_of(r, &results[i], &texts[i]));
    free(texts);
    json_t *const answer = json_pack("{s: o}", "translations", found);
    if (!request_flag(r, "stream")) {
        answer_json(r, 200, answer);
        return;
    }
    begin_events(r);
    answer_event(r, "done", answer);
    answer_end(r);
}

/* False: it is neither true nor false, which has been answered. */
static bool check_flag(request *r, const char *name)
{
    if (request_is_flag(r, name))
        return true;
    answer_error(r, 400, "%s: must be true or false", name);
    return false;
}

/* Reads what the fields say, but the glossary and the library's options. False: it is wrong, which has been answered. */
static bool read_fields(request *r, size_t count, translation_options *o)
{
    const char *const format = request_text(r, "format"), *const priority = request_text(r, "priority");
    const bool stream = request_flag(r, "stream"), html = format && strcmp(format, "html") == 0;
    const json_t *const beam = json_object_get(r->fields, "beam");
    const int64_t n_best = request_number(r, "n_best", 1, NULL);
    bool valid, known;
    const int64_t deadline = request_number(r, "deadline_ms", 0, &valid);
    const int64_t alternatives = request_number(r, "alternatives", 0, &known);
    *o = (translation_options){.source = request_text(r, "source"),
                               .target = request_text(r, "target"),
                               .html = html,
                               .alternatives = (int)alternatives,
                               .bulk = priority && strcmp(priority, "low") == 0,
                               .deadline = (int)deadline,
                               .ranks = request_flag(r, "rerank"),
                               .has_beam = beam && !json_is_null(beam),
                               .least_beam =
                                   n_best < 1 || n_best > TR_MAX_BEAM || request_flag(r, "sample") ? 1 : (int)n_best,
                               .on_token = stream ? on_token : NULL};
    if (!request_option(r, "prefix", &o->prefix) || !check_flag(r, "stream") || !check_flag(r, "sentences") ||
        !check_flag(r, "rerank"))
        return false;
    if (!o->target)
        answer_error(r, 400, "target: is missing");
    else if (!valid || deadline < 0 || deadline > 3600000)
        answer_error(r, 400, "deadline_ms: must be a whole number from 0 to 3600000");
    else if (!known || alternatives < 0 || alternatives > INT_MAX)
        answer_error(r, 400, "alternatives: must be a whole number");
    else if (format && !html && strcmp(format, "text") != 0)
        answer_error(r, 400, "format: must be text or html");
    else if (priority && !o->bulk && strcmp(priority, "normal") != 0)
        answer_error(r, 400, "priority: must be normal or low");
    else if (stream && (count != 1 || html || alternatives))
        answer_error(r, 400, "stream: needs one text, without format html and alternatives");
    else if (o->prefix && (count != 1 || html))
        answer_error(r, 400, "prefix: needs one text, without format html");
    else if (o->prefix && strlen(o->prefix) > LONGEST_PREFIX)
        answer_error(r, 400, "prefix: has more than %d bytes", LONGEST_PREFIX);
    else if (o->ranks && (alternatives || request_flag(r, "sample")))
        answer_error(r, 400, "rerank: not together with %s", alternatives ? "alternatives" : "sample");
    else if (o->ranks && request_number(r, "beam", 0, NULL) == 1)
        answer_error(r, 400, "rerank: needs several translations to choose from; omit beam");
    else if (alternatives && n_best > 1)
        answer_error(r, 400, "alternatives: not together with n_best");
    else
        return true;
    return false;
}

/* Takes the glossary that the fields name, or their terms. False: it is wrong, which has been answered. */
static bool take_glossary(request *r, translation_options *o)
{
    const char *id;
    dictionary *terms;
    if (!request_option(r, "glossary", &id) || !glossaries_read_terms(r, &terms))
        return false;
    if (id && terms)
        answer_error(r, 400, "glossary: not together with terms");
    else if (id && !o->source)
        answer_error(r, 400, "glossary: needs a source language");
    else if (id && !(terms = glossaries_take(r, id, o->source, o->target)))
        answer_error(r, 404, "glossary: there is no %.60s for these languages", id);
    else {
        o->glossary = terms;
        return true;
    }
    dictionary_release(terms);
    return false;
}

static void translate(request *r)
{
    source_text *texts;
    size_t count;
    translation_options o;
    if (!request_texts(r, "text", &texts, &count, NULL)) {
        answer_error(r, 400, "text: must be a text or a list of texts");
        return;
    }
    if (read_fields(r, count, &o) && take_glossary(r, &o)) {
        if ((o.more = read_options(r)))
            translate_texts(r, texts, count, &o, on_translated);
        dictionary_release(o.glossary);
    }
    free(texts);
}

static void list_models(request *r)
{
    answer_json(r, 200, json_pack("{s: o}", "models", models_list(r->server->models)));
}

static void list_glossaries(request *r)
{
    answer_json(r, 200, json_pack("{s: o}", "glossaries", glossaries_names(r->server->glossaries)));
}

static void list_languages(request *r)
{
    json_t *const list = json_array();
    const json_t *const sources = models_sources(r->server->models);
    for (size_t i = 0; i < json_array_size(sources); i++) {
        const char *const code = json_string_value(json_array_get(sources, i));
        json_array_append_new(list, json_pack("{s: s, s: s, s: s, s: O}", "code", code, "name", language_name(code),
                                              "chinese_name", language_chinese_name(code), "targets",
                                              models_targets_of(r->server->models, code)));
    }
    answer_json(r, 200, json_pack("{s: o}", "languages", list));
}

/* Whether requests are accepted: a proxy asks. */
static void ready(request *r)
{
    if (r->server->stopping)
        answer_error(r, 503, "the server is being stopped");
    else if (models_fullest(r->server->models) < (size_t)r->server->settings->queue_limit)
        answer_json(r, 200, json_pack("{s: s}", "status", "ready"));
    else
        answer_error(r, 503, "the queue is full");
}

const route v1_routes[] = {
    {"POST", "/v1/translate", translate, v1_error, 0},
    {"GET", "/v1/models", list_models, v1_error, ROUTE_FREE},
    {"GET", "/v1/glossaries", list_glossaries, v1_error, ROUTE_FREE},
    {"GET", "/v1/languages", list_languages, v1_error, ROUTE_OPEN | ROUTE_FREE},
    {"GET", "/ready", ready, v1_error, ROUTE_OPEN | ROUTE_FREE},
    {0},
};
