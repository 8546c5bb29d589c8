/* tr_translate_options.token: an event for each token as it is found, with the text that it adds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../opening.h"

static tr_model *model;

static const char *const texts[] = {
    "今天天气很好",
    "你好。再见！   谢谢你。",
    "",
    "  \t ",
    " 他说：“明天上午九点，我们在学校门口见。” \r",
    "第一行。\n第二行。\n\n第三行",
    "今天天气很好",
    "1. 北京是中国的首都。\u30002. 上海是中国最大的城市。",
    "你好。\u200b。你好。",
    "虽然他很累，但是他还是坚持把工作做完了；大家都觉得他非常了不起，可是他自己却什么也没有说。",
    "哈哈，哈哈，哈哈，哈哈，哈哈，哈哈，哈哈，哈哈", /* the translation loops */
};
enum { COUNT = sizeof texts / sizeof *texts, SENTENCES = 8, DRAWS = 3, TOKENS = 600, BYTES = 4096 };

/* One sentence, collected from its events. */
typedef struct heard {
    int steps;
    bool last, again;
    int32_t ids[TOKENS];
    float log_probabilities[TOKENS];
    char bytes[BYTES];
    size_t size;
} heard;

typedef struct listener {
    heard (*heard)[SENTENCES][DRAWS]; /* [COUNT] */
    int sentences[COUNT];
    atomic_bool busy; /* inside a callback */
    int calls, texts_ready, cancel_at, stop_at;
    bool fault;
} listener;

static void enter(listener *l)
{
    l->fault = l->fault || atomic_exchange(&l->busy, true);
}

static void leave(listener *l)
{
    atomic_store(&l->busy, false);
}

static bool is_valid(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size;) {
        const unsigned char c = (unsigned char)bytes[i];
        const size_t length = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        if ((c & 0xc0) == 0x80 || i + length > size)
            return false;
        i += length;
    }
    return true;
}

/* Runs on helper threads, where cmocka's asserts do not work. */
static int on_token(void *argument, const tr_token_event *s)
{
    listener *l = argument;
    enter(l);
    bool good = s->text < COUNT && s->sentence >= 0 && s->sentence < s->sentences && s->sentences <= SENTENCES &&
                s->sample >= 0 && s->sample < DRAWS && (int)s->text >= l->texts_ready && is_valid(s->bytes, s->size);
    if (good) {
        heard *h = &l->heard[s->text][s->sentence][s->sample];
        if (s->restarted && !h->again) /* the loop guard decodes the sentence again */
            *h = (heard){.again = true};
        good = s->step == h->steps && !h->last && s->restarted == h->again && h->size + s->size < BYTES && h->steps < TOKENS;
        if (good) {
            h->ids[h->steps] = s->id;
            h->log_probabilities[h->steps++] = s->log_probability;
            memcpy(h->bytes + h->size, s->bytes, s->size);
            h->size += s->size;
            h->last = s->last;
            l->sentences[s->text] = s->sentences;
        }
    }
    l->fault = l->fault || !good;
    l->calls++;
    leave(l);
    return l->calls == l->cancel_at ? -1 : s->step == l->stop_at;
}

static int on_progress(void *argument, const tr_progress *progress)
{
    (void)progress;
    enter(argument);
    leave(argument);
    return 0;
}

static int on_ready(void *argument, size_t first, const tr_result *results, size_t count)
{
    listener *l = argument;
    enter(l);
    for (size_t i = first; i < first + count; i++) /* all its events came before, up to the last */
        for (int s = 0; s < l->sentences[i]; s++)
            l->fault = l->fault || !l->heard[i][s][0].last || !results[i - first].text;
    l->texts_ready = (int)(first + count);
    leave(l);
    return 0;
}

static void start(listener *l)
{
    *l = (listener){.heard = calloc(COUNT, sizeof *l->heard), .stop_at = -1};
    assert_non_null(l->heard);
}

static tr_translate_options listening(listener *l)
{
    tr_translate_options o = tr_translate_default_options();
    o.max_length = 64;
    o.on_token = on_token;
    o.on_progress = on_progress;
    o.on_result = on_ready;
    o.on_token_argument = o.on_progress_argument = o.on_result_argument = l;
    o.protect = false;
    return o;
}

static tr_status translate(tr_context *context, const tr_translate_options *o, tr_result **results)
{
    tr_error error = {0};
    const tr_status status = tr_translate_texts(context, texts, NULL, COUNT, o, results, &error);
    if (status == TR_ERROR_CANCELLED)
        assert_non_null(strstr(error.message, "takes tokens"));
    return status;
}

/* The bytes of the sentences' events, concatenated, are the text except for white space at its end. */
static void check_text(const listener *l, size_t text, const tr_result *result)
{
    size_t at = 0;
    for (int s = 0; s < l->sentences[text]; s++) {
        const heard *h = &l->heard[text][s][0];
        assert_true(h->last && at + h->size <= result->size);
        assert_memory_equal(result->text + at, h->bytes, h->size);
        at += h->size;
    }
    for (; l->sentences[text] && at < result->size; at++) /* no text ends with a part that is passed through */
        assert_non_null(memchr(" \t\r\n", result->text[at], 4));
}

static void check_scores(const listener *l, size_t text, const tr_result *result)
{
    size_t at = 0;
    for (int s = 0; s < l->sentences[text]; s++) {
        const heard *h = &l->heard[text][s][0];
        for (int t = 0; t < h->steps; t++, at++) {
            assert_true(at < result->scored_count && result->scored[at].id == h->ids[t]);
            assert_true(result->scored[at].log_probability == h->log_probabilities[t]);
        }
    }
    assert_int_equal(at, l->sentences[text] ? result->scored_count : at);
}

/* With any threads and batch, text after text; the events do not change the results. */
static void steps_add_up_to_the_text(void **state)
{
    (void)state;
    static const char *const models[] = {TR_MODEL, TR_WORDS};
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        tr_model *other = open_model(models[m]);
        tr_context *quiet = open_context(other, 1, 1);
        tr_translate_options plain = tr_translate_default_options();
        plain.max_length = 64;
        plain.loop_guard = false;
        plain.protect = false;
        tr_result *expected;
        assert_int_equal(translate(quiet, &plain, &expected), TR_OK);
        for (int threads = 1; threads <= 3; threads++)
            for (int batch = 1; batch <= 16; batch *= 4) {
                listener l;
                start(&l);
                tr_context *context = open_context(other, threads, batch);
                tr_translate_options o = listening(&l);
                o.loop_guard = false;
                o.protect = false;
                o.scores = batch == 4;
                tr_result *results;
                assert_int_equal(translate(context, &o, &results), TR_OK);
                assert_false(l.fault);
                assert_true(l.calls > 100);
                for (size_t i = 0; i < COUNT; i++) {
                    assert_string_equal(results[i].text, expected[i].text);
                    check_text(&l, i, &results[i]);
                    if (o.scores && !(results[i].flags & TR_FLAG_REPEATED))
                        check_scores(&l, i, &results[i]);
                }
                assert_true(l.sentences[0] == 1 && l.sentences[1] == 3 && !l.sentences[2] && !l.sentences[3]);
                assert_true(l.sentences[6] == 1 && !(results[6].flags & TR_FLAG_REPEATED)); /* equal texts are not merged */
                tr_result_array_free(results, COUNT);
                tr_context_destroy(context);
                free(l.heard);
            }
        tr_result_array_free(expected, COUNT);
        tr_context_destroy(quiet);
        tr_model_close(other);
    }
}

/* Events have text of single pieces, if tokens are pieces. */
static void text_comes_with_its_tokens(void **state)
{
    (void)state;
    tr_context *context = open_context(model, 2, 1);
    listener l;
    start(&l);
    tr_translate_options o = listening(&l);
    o.search.beam = 1;
    l.cancel_at = 12; /* of the events of one sentence: one is in flight */
    tr_result *results;
    assert_int_equal(translate(context, &o, &results), TR_ERROR_CANCELLED);
    assert_null(results);
    size_t bytes = 0;
    for (size_t i = 0; i < COUNT; i++)
        for (int s = 0; s < SENTENCES; s++)
            bytes += l.heard[i][s][0].size;
    assert_int_equal(l.calls, 12);
    assert_true(bytes > 10);
    free(l.heard);
    start(&l);
    assert_int_equal(translate(context, &o, &results), TR_OK); /* the context stays usable */
    assert_false(l.fault);
    tr_result_array_free(results, COUNT);
    free(l.heard);
    tr_context_destroy(context);
}

/* A stopped sentence keeps the tokens so far, and has no further events. */
static void sentences_can_be_stopped(void **state)
{
    (void)state;
    tr_context *context = open_context(model, 2, 4);
    listener l;
    start(&l);
    tr_translate_options o = listening(&l);
    tr_result *cut, *whole;
    l.stop_at = 2;
    o.on_result = NULL; /* a stopped sentence has no event with `last` */
    o.scores = true;
    assert_int_equal(translate(context, &o, &cut), TR_OK);
    assert_false(l.fault);
    for (size_t i = 0; i < COUNT; i++) {
        if (!l.sentences[i])
            continue;
        assert_true(cut[i].target_tokens <= 3 * l.sentences[i] && cut[i].scored_count <= 3 * (size_t)l.sentences[i]);
        assert_int_equal(cut[i].scored[0].id, l.heard[i][0][0].ids[0]);
    }
    assert_true(cut[0].flags & TR_FLAG_MAX_LENGTH && cut[0].target_tokens == 3);
    free(l.heard);
    start(&l);
    o.on_result = on_ready;
    assert_int_equal(translate(context, &o, &whole), TR_OK);
    assert_true(whole[0].target_tokens > 3 && !(whole[0].flags & TR_FLAG_REPEATED));
    assert_false(l.fault);
    tr_result_array_free(cut, COUNT);
    tr_result_array_free(whole, COUNT);
    free(l.heard);
    tr_context_destroy(context);
}

/* A sentence that the loop guard decodes again has new events, the first of which says so. */
static void second_searches_are_reported(void **state)
{
    (void)state;
    tr_context *context = open_context(model, 2, 4);
    listener l;
    start(&l);
    tr_translate_options o = listening(&l);
    o.max_length = 512;
    tr_result *results;
    int again = 0;
    assert_int_equal(translate(context, &o, &results), TR_OK);
    assert_false(l.fault);
    for (size_t i = 0; i < COUNT; i++)
        for (int s = 0; s < l.sentences[i]; s++)
            again += l.heard[i][s][0].again;
    assert_true(again > 0 && results[COUNT - 1].flags & TR_FLAG_LOOP);
    tr_result_array_free(results, COUNT);
    free(l.heard);
    tr_context_destroy(context);
}

/* Every sample has events with its number; the samples are those of the result, in some order. */
static void every_sample_has_events(void **state)
{
    (void)state;
    tr_context *context = open_context(model, 2, 4);
    tr_model_info info;
    tr_model_get_info(model, &info);
    tr_tokens sources[COUNT], prefixes[COUNT];
    tr_error error;
    int32_t given[1] = {tr_target_id(model, "\xe2\x96\x81the", 6)};
    assert_true(given[0] >= 0);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(tr_source_tokens(model, texts[i], strlen(texts[i]), &sources[i], &error), TR_OK);
        prefixes[i] = (tr_tokens){given, (size_t)(i % 2)};
    }
    listener l;
    start(&l);
    tr_translate_options o = listening(&l);
    o.max_length = 30;
    o.search.sample = true;
    o.search.n_best = DRAWS;
    o.search.top_k = 40;
    tr_hypotheses *found;
    assert_int_equal(tr_search_tokens(context, sources, prefixes, COUNT, &o, &found, &error), TR_OK);
    assert_false(l.fault);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(l.sentences[i], 1);
        assert_int_equal(found[i].count, DRAWS);
        for (int d = 0; d < DRAWS; d++) {
            const heard *h = &l.heard[i][0][d];
            bool there = false;
            assert_true(h->last && (!(i % 2) || h->ids[0] == given[0]));
            for (int k = 0; k < DRAWS; k++) {
                const tr_hypothesis *f = &found[i].items[k];
                there = there ||
                        (f->count + f->finished == (size_t)h->steps && !memcmp(f->ids, h->ids, f->count * sizeof(int32_t)) &&
                         !memcmp(f->log_probabilities, h->log_probabilities, (size_t)h->steps * sizeof(float)));
            }
            assert_true(there);
        }
        tr_tokens_free(&sources[i]);
    }
    tr_hypotheses_free(found, COUNT);
    free(l.heard);
    tr_context_destroy(context);
}

static void beams_are_refused(void **state)
{
    (void)state;
    tr_context *context = open_context(model, 1, 1);
    listener l;
    start(&l);
    tr_error error;
    tr_result *results;
    tr_translate_options o = listening(&l);
    o.search.beam = 2;
    assert_int_equal(tr_translate_texts(context, texts, NULL, COUNT, &o, &results, &error), TR_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "token: with a beam"));
    o.search.beam = 1;
    o.search.alternatives = true;
    assert_int_equal(tr_translate_texts(context, texts, NULL, COUNT, &o, &results, &error), TR_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "token: with alternatives"));
    assert_int_equal(l.calls, 0);
    free(l.heard);
    tr_context_destroy(context);
}

static int set_up(void **state)
{
    (void)state;
    model = open_model(TR_MODEL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_model_close(model);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_add_up_to_the_text), cmocka_unit_test(text_comes_with_its_tokens),
        cmocka_unit_test(sentences_can_be_stopped), cmocka_unit_test(second_searches_are_reported),
        cmocka_unit_test(every_sample_has_events),  cmocka_unit_test(beams_are_refused),
    };
    return cmocka_run_group_tests_name("stream", tests, set_up, tear_down);
}
