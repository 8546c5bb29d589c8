/* Tokens of bytes come only in sequences that are UTF-8 (tr_search_options.valid_utf8), in every search. The searches forbid
 * nearly all but tokens of bytes, which the model would write in any order. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../opening.h"
#include "../sanitized.h"
#include "api/model.h"
#include "decoding/rules.h"
#include "util/utf8.h"

enum { RUNS = SANITIZED ? 2 : 3 };
enum { SOURCES = 6, MOST = 40, LONGEST = 160 };

static tr_model *model;
static int32_t *not_bytes; /* [not_byte_count] all tokens but those of bytes, EOS and a few words */
static int32_t *not_high;  /* [not_high_count] all tokens but EOS and those of bytes from 80 on */
static size_t not_byte_count, not_high_count;

static int byte_at(const tr_config *c, int32_t id)
{
    for (int byte = 0; byte < 256; byte++)
        if (c->byte_ids[byte] == id)
            return byte;
    return -1;
}

/* ----------------------------------------------------------------------------------------------------------------- rule */

/* Whether two bytes begin a sequence of so many that is UTF-8 without NUL. Tries every way to complete them. */
static bool begins_utf8(const unsigned char bytes[2], size_t size)
{
    char text[8] = {(char)bytes[0], (char)bytes[1]};
    const int tails = size == 2 ? 1 : size == 3 ? 64 : 64 * 64;
    for (int tail = 0; tail < tails; tail++) {
        text[2] = (char)(0x80 + (tail & 63));
        text[3] = (char)(0x80 + (tail >> 6));
        if (tr_utf8_valid(text, size))
            return true;
    }
    return false;
}

/* Tokens of bytes one after the other, the same with two of them exchanged, or here and there. */
static tr_config make_config(int order)
{
    tr_config c = tr_config_default();
    c.target_vocabulary = 1000;
    c.has_bytes = true;
    c.bytes_in_order = order == 0;
    for (int byte = 0; byte < 256; byte++)
        c.byte_ids[byte] = order < 2 ? 3 + byte : 10 + (byte * 37 + 11) % 256 * 3;
    if (order == 1) {
        c.byte_ids[0xf0] = 3 + 0x98;
        c.byte_ids[0x98] = 3 + 0xf0;
    }
    return c;
}

/* The state and the whole characters of all sequences of up to two bytes, and of some longer ones. */
static void test_states(void **state)
{
    (void)state;
    for (int order = 0; order < 3; order++) {
        const tr_config c = make_config(order);
        for (int first = 0xc2; first <= 0xf4; first++)
            for (int second = 0x80; second < 0xc0; second++) {
                const unsigned char bytes[] = {(unsigned char)first, (unsigned char)second};
                const int32_t ids[] = {2, c.byte_ids[first], c.byte_ids[second]};
                const size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
                if (!begins_utf8(bytes, size))
                    continue;
                assert_int_equal(tr_utf8_state(&c, ids, 1), 0);
                assert_int_not_equal(tr_utf8_state(&c, ids, 2), 0);
                assert_int_equal(tr_utf8_state(&c, ids, 3) == 0, size == 2);
                assert_int_equal(tr_whole_characters(&c, ids, 2), 1);
                assert_int_equal(tr_whole_characters(&c, ids, 3), size == 2 ? 3 : 1);
            }
        const int32_t four[] = {c.byte_ids[0xf0], c.byte_ids[0x9f], c.byte_ids[0x98], c.byte_ids[0x80], c.byte_ids['a']};
        for (int count = 0; count <= 5; count++) {
            assert_int_equal(tr_whole_characters(&c, four, (size_t)count), count < 4 ? 0 : count);
            assert_int_equal(tr_utf8_state(&c, four, count) != 0, count > 0 && count < 4);
        }
    }
}

/* ------------------------------------------------------------------------------------------------------------- searches */

typedef struct search_kind {
    const char *name;
    int beam, n_best, ngram, min_length;
    bool sample, alternatives, scores;
    float temperature, top_p, penalty, patience;
} search_kind;

static const search_kind kinds[] = {
    {.name = "greedy"},
    {.name = "greedy with scores", .scores = true},
    {.name = "greedy, minimum length", .min_length = MOST},
    {.name = "beam 4", .beam = 4, .n_best = 4},
    {.name = "beam 4, patience, penalty", .beam = 4, .n_best = 4, .patience = 2, .penalty = 1.3F},
    {.name = "beam 3, no bigram twice", .beam = 3, .n_best = 2, .ngram = 2},
    {.name = "no token twice", .ngram = 1, .min_length = MOST},
    {.name = "beam 4, no token twice", .beam = 4, .n_best = 4, .ngram = 1, .min_length = MOST},
    {.name = "samples", .sample = true, .n_best = 4, .temperature = 3},
    {.name = "samples of the most likely", .sample = true, .n_best = 4, .temperature = 3, .top_p = 0.9F},
    {.name = "samples, no token twice", .sample = true, .n_best = 4, .temperature = 3, .ngram = 1, .min_length = MOST},
    {.name = "alternatives", .alternatives = true, .n_best = 4},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static tr_translate_options options_of(const search_kind *kind, bool valid)
{
    tr_translate_options o = tr_translate_default_options();
    o.max_length = MOST;
    o.min_length = kind->min_length;
    o.loop_guard = false;
    o.scores = kind->scores;
    o.search.valid_utf8 = valid;
    o.search.forbidden = not_bytes;
    o.search.forbidden_count = not_byte_count;
    o.search.beam = kind->beam ? kind->beam : 1;
    o.search.n_best = kind->n_best ? kind->n_best : 1;
    o.search.sample = kind->sample;
    o.search.alternatives = kind->alternatives;
    o.search.no_repeat_ngram = kind->ngram;
    o.search.temperature = kind->temperature > 0 ? kind->temperature : o.search.temperature;
    o.search.top_p = kind->top_p > 0 ? kind->top_p : o.search.top_p;
    o.search.repetition_penalty = kind->penalty > 0 ? kind->penalty : o.search.repetition_penalty;
    o.search.patience = kind->patience > 0 ? kind->patience : o.search.patience;
    return o;
}

static tr_tokens sources[SOURCES];

static tr_hypotheses *search(tr_context *context, const tr_tokens *prefixes, const tr_translate_options *o)
{
    tr_hypotheses *found;
    tr_error error;
    if (tr_search_tokens(context, sources, prefixes, SOURCES, o, &found, &error) != TR_OK)
        fail_msg("%s", error.message);
    return found;
}

/* Whether the tokens from number first on join to UTF-8 without NUL. */
static bool is_utf8(const int32_t *ids, size_t first, size_t count)
{
    char bytes[LONGEST];
    size_t size = 0;
    assert_true(count <= LONGEST);
    for (size_t i = first; i < count; i++) {
        const int byte = byte_at(&model->package.config, ids[i]);
        bytes[size++] = (char)(byte < 0 ? ' ' : byte);
    }
    return tr_utf8_valid(bytes, size);
}

/* The log-probabilities of what is left are those of its tokens, and of EOS if it is finished. */
static void check_sums(const tr_hypothesis *h, const char *name)
{
    double sum = 0;
    for (size_t t = 0; h->log_probabilities && t < h->count + h->finished; t++)
        sum += (double)h->log_probabilities[t];
    if (h->log_probabilities && fabs(sum - (double)h->log_probability) > 1e-3)
        fail_msg("%s: the sum is %g, not %g", name, (double)h->log_probability, sum);
}

static size_t count_broken(const tr_hypotheses *found, size_t prefix, const char *name)
{
    size_t broken = 0;
    for (size_t i = 0; i < SOURCES; i++)
        for (size_t h = 0; h < found[i].count; h++) {
            const tr_hypothesis *one = &found[i].items[h];
            char *text;
            assert_int_equal(tr_tokens_text(model, one->ids, one->count, &text, NULL, NULL), TR_OK);
            const bool good = is_utf8(one->ids, prefix, one->count);
            if (!prefix)
                assert_int_equal(good, !strstr(text, "\xef\xbf\xbd"));
            broken += !good;
            check_sums(one, name);
            free(text);
        }
    return broken;
}

static void check_same(const tr_hypotheses *a, const tr_hypotheses *b, const char *name)
{
    for (size_t i = 0; i < SOURCES; i++) {
        bool same = a[i].count == b[i].count;
        for (size_t h = 0; h < a[i].count && same; h++) {
            const tr_hypothesis *x = &a[i].items[h], *y = &b[i].items[h];
            same = x->count == y->count && memcmp(x->ids, y->ids, x->count * sizeof *x->ids) == 0 && x->score == y->score &&
                   x->finished == y->finished;
        }
        if (!same)
            fail_msg("%s: source %zu has other translations", name, i);
    }
}

static tr_context *make_context(int threads, int batch, int models)
{
    const tr_model *const more[] = {model};
    tr_context_options o = tr_context_default_options();
    tr_context *context;
    tr_error error;
    o.threads = threads;
    o.batch_size = batch;
    o.ensemble = more;
    o.ensemble_count = (size_t)models - 1;
    if (tr_make_context(model, &o, &context, &error) != TR_OK)
        fail_msg("%s", error.message);
    return context;
}

/* All searches, in batches of different sizes and on several threads. */
static void check_searches(int models, const tr_tokens *prefixes, size_t prefix)
{
    static const int threads[] = {1, 2, 3}, batches[] = {1, 16, 4};
    size_t broken = 0;
    tr_context *contexts[RUNS];
    tr_hypotheses *greedy = NULL;
    for (int r = 0; r < RUNS; r++)
        contexts[r] = make_context(threads[r], batches[r], models);
    for (int k = 0; k < KINDS; k += SANITIZED && k > 1 ? 2 : 1) {
        const char *name = kinds[k].name;
        tr_translate_options o = options_of(&kinds[k], true);
        tr_hypotheses *found[RUNS];
        for (int r = 0; r < RUNS; r++) {
            found[r] = search(contexts[r], prefixes, &o);
            check_same(found[0], found[r], name);
        }
        if (count_broken(found[0], prefix, name))
            fail_msg("%s: a translation of %d models is not UTF-8", name, models);
        o.search.valid_utf8 = false;
        tr_hypotheses *any = search(contexts[0], prefixes, &o);
        broken += count_broken(any, prefix, name);
        tr_hypotheses_free(any, SOURCES);
        if (k == 1) /* scores change no tokens */
            for (size_t i = 0; i < SOURCES; i++) {
                assert_int_equal(greedy[i].items[0].count, found[0][i].items[0].count);
                assert_memory_equal(greedy[i].items[0].ids, found[0][i].items[0].ids,
                                    greedy[i].items[0].count * sizeof(int32_t));
            }
        if (k == 0)
            greedy = found[0];
        for (int r = k == 0; r < RUNS; r++)
            tr_hypotheses_free(found[r], SOURCES);
    }
    tr_hypotheses_free(greedy, SOURCES);
    for (int r = 0; r < RUNS; r++)
        tr_context_destroy(contexts[r]);
    if (broken < 20) /* without valid_utf8 most are not: the test can fail */
        fail_msg("only %zu translations are not UTF-8 without it", broken);
}

static void test_searches(void **state)
{
    (void)state;
    check_searches(1, NULL, 0);
}

static void test_ensemble(void **state)
{
    (void)state;
    check_searches(2, NULL, 0);
}

/* A prefix that ends inside a character is completed. */
static void test_prefixes(void **state)
{
    static const unsigned char starts[][4] = {"\xc3", "\xe0", "\xe4\xb8", "\xed", "\xf0", "\xf4"};
    tr_tokens prefixes[SOURCES];
    int32_t ids[SOURCES][3];
    (void)state;
    for (size_t i = 0; i < SOURCES; i++) {
        prefixes[i] = (tr_tokens){ids[i], strlen((const char *)starts[i])};
        for (size_t t = 0; t < prefixes[i].count; t++)
            ids[i][t] = model->package.config.byte_ids[starts[i][t]];
    }
    const tr_translate_options o = options_of(&kinds[0], true), beam = options_of(&kinds[3], true);
    tr_context *context = make_context(2, 4, 1);
    for (int k = 0; k < 2; k++) {
        tr_hypotheses *found = search(context, prefixes, k ? &beam : &o);
        for (size_t i = 0; i < SOURCES; i++)
            assert_memory_equal(found[i].items[0].ids, ids[i], prefixes[i].count * sizeof(int32_t));
        assert_int_equal(count_broken(found, 0, "prefix"), 0);
        tr_hypotheses_free(found, SOURCES);
    }
    tr_context_destroy(context);
}

/* Rules against repetition can leave no byte that ends a character. */
static void test_no_token_left(void **state)
{
    static const int used[] = {0, 3, 10}; /* of kinds, without their minimum length */
    tr_context *context = make_context(2, 4, 1);
    size_t ended = 0;
    (void)state;
    for (size_t k = 0; k < sizeof used / sizeof *used; k++) {
        tr_translate_options o = options_of(&kinds[used[k]], true);
        o.search.forbidden = not_high;
        o.search.forbidden_count = not_high_count;
        o.search.no_repeat_ngram = 1;
        o.min_length = o.max_length = LONGEST;
        o.scores = true;
        tr_hypotheses *found = search(context, NULL, &o);
        assert_int_equal(count_broken(found, 0, kinds[used[k]].name), 0);
        for (size_t i = 0; i < SOURCES; i++)
            ended += found[i].items[0].count < LONGEST;
        tr_hypotheses_free(found, SOURCES);
    }
    tr_context_destroy(context);
    assert_true(ended > 0);
}

/* ----------------------------------------------------------------------------------------------------------- shortlists */

/* A list that is the same for all sources: ids below first, and EOS, "a" and bytes. */
static void with_list(int first, const char *bytes, void (*check)(void))
{
    const tr_config *c = &model->package.config;
    const int count = (int)strlen(bytes) + 2;
    int32_t *offsets = calloc((size_t)c->source_vocabulary + 1, sizeof *offsets);
    int32_t *words = calloc((size_t)count * (size_t)c->source_vocabulary, sizeof *words);
    assert_true(offsets && words);
    for (int s = 0; s < c->source_vocabulary; s++) {
        int32_t *own = words + (size_t)s * (size_t)count;
        own[0] = c->eos_id;
        own[1] = c->byte_ids['a'];
        for (int i = 2; i < count; i++)
            own[i] = c->byte_ids[(unsigned char)bytes[i - 2]];
        offsets[s + 1] = offsets[s] + count;
    }
    const tr_shortlist list = {.first = first,
                               .best = count,
                               .sources = c->source_vocabulary,
                               .offsets = offsets,
                               .words = words,
                               .count = offsets[c->source_vocabulary]};
    const tr_shortlist *before = model->shortlist;
    model->shortlist = &list;
    check();
    model->shortlist = before;
    free(offsets);
    free(words);
}

static void check_alone(void)
{
    check_searches(1, NULL, 0);
}

static bool has_byte(const tr_hypotheses *found, int least, int most)
{
    for (size_t i = 0; i < SOURCES; i++)
        for (size_t t = 0; t < found[i].items[0].count; t++) {
            const int byte = byte_at(&model->package.config, found[i].items[0].ids[t]);
            if (byte >= least && byte <= most)
                return true;
        }
    return false;
}

/* Where a shortlist lacks what ends a character, none begins. */
static void check_no_end(void)
{
    tr_context *context = make_context(2, 4, 1);
    for (int k = 0; k < KINDS; k += SANITIZED ? 3 : 1) {
        const tr_translate_options o = options_of(&kinds[k], true);
        tr_hypotheses *found = search(context, NULL, &o);
        assert_int_equal(count_broken(found, 0, kinds[k].name), 0);
        assert_false(has_byte(found, 0x80, 0xff));
        tr_hypotheses_free(found, SOURCES);
    }
    tr_context_destroy(context);
}

static void test_shortlists(void **state)
{
    char every[256];
    (void)state;
    for (int byte = 1; byte < 256; byte++)
        every[byte - 1] = (char)byte;
    every[255] = 0;
    with_list(0, every, check_alone);
    with_list(0, "\xf0\x9f\x98\x80\xe4\xbd\xa0 x", check_alone); /* an emoji and a character */
    with_list(0, "\xc3\xf0\xe4\xf4\xc0\xff", check_no_end);
}

/* -------------------------------------------------------------------------------------------------------------- streams */

static const char *const texts[SOURCES] = {"今天天气很好", "我们明天见",     "他说：“你好！”",
                                           "北京",         "谢谢大家的帮助", "老师在学校里教我们中文"};

typedef struct heard {
    char bytes[SOURCES][8 * MOST];
    size_t sizes[SOURCES];
    int tokens[SOURCES], stop_at;
} heard;

static int hear(void *argument, const tr_token_event *event)
{
    heard *h = argument;
    size_t *size = &h->sizes[event->text];
    assert_true(*size + event->size < sizeof h->bytes[0]);
    memcpy(h->bytes[event->text] + *size, event->bytes, event->size);
    *size += event->size;
    return ++h->tokens[event->text] == h->stop_at;
}

/* What a stream says is the text, wherever a limit or the caller ends it. */
static void test_streams(void **state)
{
    tr_context *context = make_context(2, 4, 1);
    size_t cut = 0;
    (void)state;
    for (int stop = 0; stop < 2; stop++)
        for (int length = 1; length <= 12; length++) {
            tr_translate_options o = options_of(&kinds[0], false);
            tr_result *results;
            tr_error error;
            heard h = {.stop_at = stop ? length : 0};
            o.min_length = o.max_length = stop ? MOST : length;
            o.search.forbidden = not_high;
            o.search.forbidden_count = not_high_count;
            o.protect = true;
            o.use_cache = false;
            o.on_token = hear;
            o.on_token_argument = &h;
            if (tr_translate_texts(context, texts, NULL, SOURCES, &o, &results, &error) != TR_OK)
                fail_msg("%s", error.message);
            for (int i = 0; i < SOURCES; i++) {
                assert_string_equal(h.bytes[i], results[i].text);
                assert_null(strstr(results[i].text, "\xef\xbf\xbd"));
                cut += results[i].flags & TR_FLAG_MAX_LENGTH && results[i].target_tokens < h.tokens[i];
            }
            tr_result_array_free(results, SOURCES);
        }
    tr_context_destroy(context);
    assert_true(cut > 0); /* some end inside a character */
}

/* ---------------------------------------------------------------------------------------------------------------- setup */

static int open_all(void **state)
{
    (void)state;
    model = open_model(TR_MODEL);
    const tr_config *c = &model->package.config;
    assert_true(c->has_bytes);
    not_bytes = malloc((size_t)c->target_vocabulary * sizeof *not_bytes);
    not_high = malloc((size_t)c->target_vocabulary * sizeof *not_high);
    assert_true(not_bytes && not_high);
    for (int32_t id = 0; id < c->target_vocabulary; id++) {
        if (byte_at(c, id) < 0 && id != c->eos_id && id % 997 != 0)
            not_bytes[not_byte_count++] = id;
        if (byte_at(c, id) < 0x80 && id != c->eos_id)
            not_high[not_high_count++] = id;
    }
    for (int i = 0; i < SOURCES; i++)
        assert_int_equal(tr_source_tokens(model, texts[i], strlen(texts[i]), &sources[i], NULL), TR_OK);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    for (int i = 0; i < SOURCES; i++)
        tr_tokens_free(&sources[i]);
    free(not_bytes);
    free(not_high);
    tr_model_close(model);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),     cmocka_unit_test(test_searches),      cmocka_unit_test(test_ensemble),
        cmocka_unit_test(test_prefixes),   cmocka_unit_test(test_no_token_left), cmocka_unit_test(test_streams),
        cmocka_unit_test(test_shortlists),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
