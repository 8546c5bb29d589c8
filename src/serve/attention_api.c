/* POST /v1/attention: the attention weights of one text and its translation, for programs that draw or study them. */
#define _GNU_SOURCE
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/model.h"
#include "serve/keys.h"
#include "serve/languages.h"
#include "serve/loop.h"
#include "serve/models.h"
#include "serve/routes.h"
#include "serve/translation.h"
#include "text/language_pair.h"
#include "util/buffer.h"

enum {
    PARTS_OF_MODEL = 3,
    MOST_TOKENS = 128,      /* of each side */
    MOST_WEIGHTS = 1 << 20, /* of an answer, which has up to seven bytes for each */
};

static const struct {
    const char *name, *option;
} parts[PARTS_OF_MODEL] = {{"encoder", "encoder_attention"}, {"decoder", "decoder_attention"}, {"cross", "cross_attention"}};

/* A request on its way: the loop and one work in a thread take turns. */
typedef struct look {
    server *server;
    request *request; /* NULL: it was answered, or the client left */
    char source[LANGUAGE], target[LANGUAGE];
    char *text, *translation; /* translation NULL: to be made */
    bool wanted[PARTS_OF_MODEL];
    way way; /* of one model */
    tr_context *context;
    loop_timer deadline;
    /* Of the thread while it runs. */
    atomic_bool given_up; /* set by the loop */
    tr_options *options;
    int32_t *ids; /* [id_count] of the source, with the tokens that the network gets around it */
    size_t id_count;
    tr_scores *scores;
    tr_buffer answer;
    tr_error error;
} look;

/* ------------------------------------------------------------------------------------------------------------ the thread */

static tr_status set_options(look *l)
{
    static const struct {
        const char *name;
        int value;
    } numbers[] = {{"use_cache", 0}, {"max_length", MOST_TOKENS}, {"no_scores", 1}};
    tr_status status = tr_options_create(&l->options, &l->error);
    for (size_t i = 0; status == TR_OK && i < sizeof numbers / sizeof *numbers; i++)
        status = tr_options_set_int(l->options, numbers[i].name, numbers[i].value, &l->error);
    for (size_t i = 0; status == TR_OK && i < PARTS_OF_MODEL; i++)
        status = tr_options_set_int(l->options, parts[i].option, l->wanted[i], &l->error);
    if (status == TR_OK)
        status = tr_options_set_int(l->options, "beam", l->server->settings->search.beam, &l->error);
    if (status == TR_OK)
        status = tr_options_set_string(l->options, "split", "never", &l->error);
    if (status == TR_OK)
        status = tr_options_set_string(l->options, "source_language", l->way.steps[0].source, &l->error);
    if (status == TR_OK)
        status = tr_options_set_string(l->options, "target_language", l->way.steps[0].target, &l->error);
    return status;
}

/* Counts the tokens of a side; too many are an error. ids may be NULL. */
static tr_status count_tokens(look *l, tr_token_side side, const char *name, const char *text, int32_t **ids, size_t *count)
{
    int32_t *found;
    tr_status status =
        tr_tokenize(served_model(l->way.steps[0].model), side, text, strlen(text), &found, count, NULL, &l->error);
    if (status != TR_OK)
        return status;
    if (*count > MOST_TOKENS)
        status = tr_fail(&l->error, TR_ERROR_ARGUMENT, "%s: has %zu tokens, more than %d", name, *count, MOST_TOKENS);
    if (status == TR_OK && ids)
        *ids = found;
    else
        tr_free(found);
    return status;
}

/* The source as the network gets it. */
static tr_status lay_out_source(look *l)
{
    const tr_model *const model = served_model(l->way.steps[0].model);
    tr_language_pair pair;
    int32_t *own = NULL;
    size_t count;
    tr_status status = tr_language_pair_choose(&model->package, model->tokenizer, model->package.config.max_positions,
                                               l->way.steps[0].source, l->way.steps[0].target, &pair, &l->error);
    if (status == TR_OK)
        status = count_tokens(l, TR_SOURCE, "text", l->text, &own, &count);
    if (status == TR_OK && !count)
        status = tr_fail(&l->error, TR_ERROR_ARGUMENT, "text: has no tokens");
    if (status == TR_OK && !(l->ids = calloc(count + (size_t)tr_source_added(&pair) + 1, sizeof *l->ids)))
        status = tr_fail_memory(&l->error, "attention");
    if (status == TR_OK)
        l->id_count = (size_t)tr_source_lay_out(&pair, &(tr_tokens){own, count}, l->ids);
    tr_free(own);
    return status;
}

static tr_status translate(look *l)
{
    tr_results *results;
    const char *const text = l->text;
    const tr_status status = tr_translate(l->context, &text, NULL, 1, l->options, &results, &l->error);
    if (status != TR_OK)
        return status;
    l->translation = strdup(tr_results_text(results, 0, NULL));
    tr_results_free(results);
    return l->translation ? TR_OK : tr_fail_memory(&l->error, "attention");
}

/* Before the weights are computed. The target has a language token and EOS besides. */
static tr_status check_size(look *l)
{
    const tr_model *const model = served_model(l->way.steps[0].model);
    size_t count;
    const tr_status status = count_tokens(l, TR_TARGET, "translation", l->translation, NULL, &count);
    const size_t rows = l->id_count, steps = count + 2;
    const size_t encoder = (size_t)(tr_model_int(model, "encoder_layers") * tr_model_int(model, "encoder_heads"));
    const size_t decoder = (size_t)(tr_model_int(model, "decoder_layers") * tr_model_int(model, "decoder_heads"));
    if (status != TR_OK)
        return status;
    const size_t weights = l->wanted[0] * encoder * rows * rows + l->wanted[1] * decoder * steps * steps +
                           l->wanted[2] * decoder * steps * rows;
    if (weights > MOST_WEIGHTS)
        return tr_fail(&l->error, TR_ERROR_ARGUMENT,
                       "parts: have %zu weights, more than %d: ask for fewer, or a shorter text", weights, MOST_WEIGHTS);
    return TR_OK;
}

static tr_status compute(look *l)
{
    tr_status status = set_options(l);
    if (status == TR_OK)
        status = lay_out_source(l);
    if (status == TR_OK && !l->translation && !atomic_load(&l->given_up))
        status = translate(l);
    if (status == TR_OK && atomic_load(&l->given_up))
        status = tr_fail(&l->error, TR_ERROR_CANCELLED, "the request was given up");
    if (status == TR_OK)
        status = check_size(l);
    const char *const text = l->text, *const translation = l->translation;
    if (status == TR_OK)
        status = tr_score_texts(l->context, &text, NULL, &translation, NULL, 1, l->options, &l->scores, &l->error);
    return status;
}

/* --------------------------------------------------------------------------------------------------------- what it writes
 */

static json_t *piece_of(const tr_model *model, tr_token_side side, int32_t id)
{
    size_t size = 0;
    const char *const piece = side == TR_SOURCE ? tr_source_piece(model, id, &size) : tr_target_piece(model, id, &size);
    json_t *const json = piece ? json_stringn(piece, size) : NULL;
    return json_pack("{s: o}", "piece", json ? json : json_string("\xef\xbf\xbd"));
}

static int add_place(json_t *token, const char *text, tr_span span)
{
    const json_int_t begin = (json_int_t)text_characters(text, span.begin);
    const json_int_t end = (json_int_t)text_characters(text, span.end);
    json_t *const place =
        json_pack("{s: [I, I], s: [I, I]}", "bytes", (json_int_t)span.begin, (json_int_t)span.end, "characters", begin, end);
    const int failed = place ? json_object_update(token, place) : -1;
    json_decref(place);
    return failed;
}

/* The tokens of a side in the order of rows and columns. Those around the text's own have no place in it. */
static json_t *tokens_of(const look *l, tr_token_side side)
{
    const tr_model *const model = served_model(l->way.steps[0].model);
    const char *const text = side == TR_SOURCE ? l->text : l->translation;
    size_t own, count = l->id_count;
    const int32_t *const ids = tr_scores_ids(l->scores, 0, side, &own);
    const tr_span *const spans = tr_scores_spans(l->scores, 0, side, NULL);
    const size_t first = side == TR_SOURCE ? (size_t)tr_scores_int(l->scores, 0, "first_source") : 0;
    if (side == TR_TARGET)
        count = (size_t)tr_scores_int(l->scores, 0, "tokens");
    json_t *const list = json_array();
    for (size_t i = 0; i < count; i++) {
        const int32_t other = side == TR_SOURCE ? l->ids[i] : (int32_t)tr_model_int(model, "eos_id");
        const bool is_own = i >= first && i - first < own;
        json_t *const token = piece_of(model, side, is_own ? ids[i - first] : other);
        if ((is_own && token && add_place(token, text, spans[i - first])) || json_array_append_new(list, token)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* With four digits, as short as they can be. */
static bool append_weight(tr_buffer *out, float weight)
{
    char text[16];
    const long rounded = lroundf(weight * 10000);
    int size = snprintf(text, sizeof text, rounded < 10000 ? "0.%04ld" : "1.0", rounded);
    while (text[size - 1] == '0' && text[size - 2] != '.')
        size--;
    return rounded > 0 ? tr_buffer_append(out, text, (size_t)size) : tr_buffer_append(out, "0", 1);
}

/* A map as lists in lists: [layers][heads][rows][columns]. */
static bool append_map(tr_buffer *out, const float *weights, const int64_t sizes[4])
{
    const int64_t all = sizes[0] * sizes[1] * sizes[2] * sizes[3];
    bool good = true;
    for (int64_t i = 0; good && i < all; i++) {
        int64_t inner = 1;
        if (i)
            good = tr_buffer_append(out, ",", 1);
        for (int d = 3; good && d >= 0 && i % (inner *= sizes[d]) == 0; d--)
            good = tr_buffer_append(out, "[", 1);
        good = good && append_weight(out, weights[i]);
        inner = 1;
        for (int d = 3; good && d >= 0 && (i + 1) % (inner *= sizes[d]) == 0; d--)
            good = tr_buffer_append(out, "]", 1);
    }
    return good;
}

static bool append_maps(look *l)
{
    bool good = true;
    for (size_t i = 0; good && i < PARTS_OF_MODEL; i++) {
        int64_t sizes[4];
        const float *const weights = tr_scores_attention(l->scores, 0, parts[i].name, sizes);
        if (l->wanted[i])
            good = tr_buffer_string(&l->answer, ",\"") && tr_buffer_string(&l->answer, parts[i].name) &&
                   tr_buffer_string(&l->answer, "\":") &&
                   (weights ? append_map(&l->answer, weights, sizes) : tr_buffer_string(&l->answer, "null"));
    }
    return good;
}

/* The weights are too many for JSON values: they are written into the text. */
static tr_status write_answer(look *l)
{
    json_t *const head =
        json_pack("{s: s, s: s, s: s, s: {s: o, s: o}}", "translation", l->translation, "source", l->source, "target",
                  l->target, "tokens", "source", tokens_of(l, TR_SOURCE), "target", tokens_of(l, TR_TARGET));
    char *const text = head ? json_dumps(head, ANSWER_JSON) : NULL;
    json_decref(head);
    const bool good = text && tr_buffer_append(&l->answer, text, strlen(text) - 1) && append_maps(l) &&
                      tr_buffer_append(&l->answer, "}", 1);
    free(text);
    return good ? TR_OK : tr_fail_memory(&l->error, "attention");
}

static void look_at(void *argument)
{
    look *const l = argument;
    tr_status status = compute(l);
    if (status == TR_OK)
        status = write_answer(l);
    l->error.status = status;
}

/* -------------------------------------------------------------------------------------------------------------- the loop */

static void free_look(look *l)
{
    loop_forget(l->server->loop, &l->deadline);
    tr_scores_free(l->scores);
    tr_context_destroy(l->context);
    tr_options_free(l->options);
    way_release(&l->way);
    tr_buffer_free(&l->answer);
    free(l->ids);
    free(l->text);
    free(l->translation);
    free(l);
}

static void give_up(void *argument)
{
    look *const l = argument;
    l->request = NULL;
    atomic_store(&l->given_up, true);
    tr_context_cancel(l->context);
}

static void fail(look *l, const tr_error *error)
{
    request *const r = l->request;
    if (!r)
        return;
    request_on_leave(r, NULL, NULL);
    give_up(l);
    answer_failure(r, error);
}

static void be_late(void *argument)
{
    fail(argument, &(tr_error){TR_ERROR_DEADLINE, "the deadline is over"});
}

static void looked(void *argument)
{
    look *const l = argument;
    request *const r = l->request;
    if (r && l->error.status == TR_OK) {
        request_on_leave(r, NULL, NULL);
        answer_memory(r, 200, "application/json", l->answer.data, l->answer.size);
        l->answer = (tr_buffer){0};
    }
    if (l->error.status != TR_OK)
        fail(l, &l->error);
    free_look(l);
}

static void model_opened(void *argument, const tr_error *error)
{
    look *const l = argument;
    tr_options *options = NULL;
    tr_fail(&l->error, TR_ERROR_CANCELLED, "the server ends"); /* if it is not run */
    if (error) {
        l->error = *error;
    } else if (l->request && tr_options_create(&options, &l->error) == TR_OK &&
               tr_options_set_int(options, "threads", 1, &l->error) == TR_OK &&
               tr_options_set_int(options, "batch_size", 1, &l->error) == TR_OK &&
               tr_context_create(served_model(l->way.steps[0].model), options, &l->context, &l->error) == TR_OK) {
        tr_fail(&l->error, TR_ERROR_CANCELLED, "the server ends");
        if (loop_work_apart(l->server->loop, LOOP_ATTENTION, look_at, looked, l)) {
            tr_options_free(options);
            return;
        }
        tr_fail(&l->error, TR_ERROR_FULL, "too many requests wait for attention weights at this moment");
    }
    tr_options_free(options);
    fail(l, &l->error);
    free_look(l);
}

/* -------------------------------------------------------------------------------------------------------------- requests */

/* Sets the parts that the request names. False: it has been answered. */
static bool read_parts(request *r, bool wanted[PARTS_OF_MODEL])
{
    source_text *names = NULL;
    size_t count, known = 0;
    const json_t *const field = json_object_get(r->fields, "parts");
    memset(wanted, 0, PARTS_OF_MODEL * sizeof *wanted);
    if (!field || json_is_null(field)) {
        wanted[2] = true;
        return true;
    }
    if (!request_texts(r, "parts", &names, &count, NULL))
        count = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t p = 0; p < PARTS_OF_MODEL; p++)
            if (strcmp(names[i].data, parts[p].name) == 0) {
                wanted[p] = true;
                known++;
            }
    free(names);
    if (count && known == count)
        return true;
    answer_error(r, 400, "parts: must be a list of encoder, decoder and cross");
    return false;
}

/* False: it has been answered. */
static bool find_model(request *r, look *l, const char *source, const char *target)
{
    tr_error error;
    detected found;
    if (!language_of(target, l->target)) {
        answer_error(r, 400, "target: %.40s is no language", target);
        return false;
    }
    if (!source || !*source || strcmp(source, "auto") == 0) {
        language_detect(r->server, l->text, strlen(l->text), l->target, &found);
        memcpy(l->source, found.code, sizeof l->source);
    } else if (!language_of(source, l->source)) {
        answer_error(r, 400, "source: %.40s is no language", source);
        return false;
    }
    if (models_find(r->server->models, l->source, l->target, false, &l->way, &error) != TR_OK)
        answer_failure(r, &error);
    else if (l->way.count != 1)
        answer_error(r, 400, "two models translate from %s to %s, which have no common attention", l->source, l->target);
    else
        return true;
    return false;
}

static bool may_begin(request *r, look *l, const char *source, const char *target)
{
    return read_parts(r, l->wanted) && find_model(r, l, source, target) &&
           keys_take(r->server->keys, r,
                     text_characters(l->text, strlen(l->text)) +
                         (l->translation ? text_characters(l->translation, strlen(l->translation)) : 0));
}

static void show_attention(request *r)
{
    const char *text, *translation, *source, *target;
    if (!request_option(r, "text", &text) || !request_option(r, "translation", &translation) ||
        !request_option(r, "source", &source) || !request_option(r, "target", &target))
        return;
    if (!text || !target) {
        answer_error(r, 400, "%s: is missing", text ? "target" : "text");
        return;
    }
    look *const l = calloc(1, sizeof *l);
    if (!l) {
        answer_error(r, 503, "out of memory");
        return;
    }
    *l = (look){.server = r->server, .text = strdup(text), .translation = translation ? strdup(translation) : NULL};
    if (!l->text || (translation && !l->translation)) {
        answer_error(r, 503, "out of memory");
    } else if (may_begin(r, l, source, target)) {
        const int seconds = r->server->settings->timeout;
        l->request = r;
        request_on_leave(r, give_up, l);
        if (seconds > 0)
            loop_after(r->server->loop, &l->deadline, (unsigned)seconds * 1000, be_late, l);
        served_open(l->way.steps[0].model, model_opened, l);
        return;
    }
    free_look(l);
}

const route attention_routes[] = {
    {"POST", "/v1/attention", show_attention, v1_error, 0},
    {0},
};
