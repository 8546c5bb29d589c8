/* Sequences enter and leave a batch: whatever the batch's size, its limits, the threads and the other sequences, each gets
 * the result that it gets alone. On tiny models, with sources of all lengths and limits that end some targets early. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../sanitized.h"
#include "decoding/decoding.h"
#include "kernels/dispatch.h"
#include "formats/open.h"
#include "model/transformer.h"
#include "util/team.h"

enum { SENTENCES = 32, MAX_THREADS = 3 };

static const struct {
    const char *fixture;
    tr_compute compute;
} models[] = {
    {"relu-1x1-f32/model", TR_COMPUTE_F32},
    {"swish-1x2-f16-forced/model", TR_COMPUTE_F32},
    {"gelu-4x2-bf16-untied/model", TR_COMPUTE_INT8},
    {"mbart-2x2-f32/model", TR_COMPUTE_INT8},
};

typedef struct model {
    tr_package package;
    tr_network *network;
} model;

static void open_model(model *m, size_t index)
{
    const tr_kernels *kernels;
    tr_error error;
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", TR_FIXTURES, models[index].fixture);
    if (tr_package_open(path, TR_LOAD_MAP, &m->package, &error) || tr_kernels_select(NULL, &kernels, &error) ||
        tr_network_create(&m->package.config, &m->package.weights, models[index].compute, kernels, &m->network, &error))
        fail_msg("%s", error.message);
}

static void close_model(model *m)
{
    tr_network_destroy(m->network);
    tr_package_close(&m->package);
}

static uint32_t state_of_chance = 1;

static int chance(int below)
{
    state_of_chance = state_of_chance * 1664525 + 1013904223;
    return (int)((state_of_chance >> 8) % (uint32_t)below);
}

/* ------------------------------------------------------------------------------------------------------------ sentences */

/* Sentences, where their targets go, and what the feed has seen. Only thread 0 calls the feed, so plain integers suffice. */
typedef struct text {
    tr_sequence sentences[SENTENCES];
    int32_t *memory;
    int given, done, times_done[SENTENCES];
    int in_flight, tokens, most, most_tokens; /* now, and their limits */
    int stop_after;                           /* sentences; after them, done returns false */
    bool broken;                              /* a limit was exceeded */
    atomic_bool stop;
} text;

static text *make_text(const tr_config *c, int min_length, int max_length)
{
    text *t = calloc(1, sizeof *t);
    assert_non_null(t);
    const size_t width = (size_t)c->max_positions;
    t->memory = calloc(2 * SENTENCES * width, sizeof *t->memory);
    assert_non_null(t->memory);
    state_of_chance = 1;
    const int most = c->max_positions < 48 ? c->max_positions : 48;
    for (int i = 0; i < SENTENCES; i++) {
        int32_t *source = t->memory + 2 * (size_t)i * width;
        /* EOS alone, the longest, and lengths between, mostly short */
        const int length = i == 3 ? 1 : i == 7 ? c->max_positions : 1 + chance(chance(4) ? 9 : most);
        for (int k = 0; k < length - 1; k++)
            source[k] = chance(c->source_vocabulary);
        source[length - 1] = c->eos_id;
        const int room = max_length - min_length;
        t->sentences[i] = (tr_sequence){.source = source,
                                        .source_length = length,
                                        .max_length = i % 3 || !room ? max_length : min_length + 1 + chance(room),
                                        .stop_loops = i % 5 == 0,
                                        .target = source + width};
    }
    t->most = t->most_tokens = INT_MAX;
    t->stop_after = INT_MAX;
    return t;
}

static void free_text(text *t)
{
    free(t->memory);
    free(t);
}

static tr_sequence *next_sentence(void *argument, int room)
{
    text *t = argument;
    if (t->given == SENTENCES || t->sentences[t->given].source_length > room)
        return NULL;
    tr_sequence *seq = &t->sentences[t->given++];
    t->in_flight++;
    t->tokens += seq->source_length;
    t->broken |= t->in_flight > t->most || (t->in_flight > 1 && t->tokens > t->most_tokens);
    return seq;
}

static bool take_sentence(void *argument, tr_sequence *sequence)
{
    text *t = argument;
    t->in_flight--;
    t->tokens -= sequence->source_length;
    t->times_done[sequence - t->sentences]++;
    return ++t->done < t->stop_after;
}

/* ------------------------------------------------------------------------------------------------------------- decoding */

typedef struct run {
    tr_worker *worker;
    tr_decode_options options;
    tr_decode_callbacks feed;
    tr_status status[MAX_THREADS];
    tr_error error;
} run;

static void run_member(void *argument, int member)
{
    run *r = argument;
    r->status[member] = tr_decode(r->worker, member, &r->options, &r->feed, member ? NULL : &r->error);
}

static tr_status decode(tr_worker *worker, int threads, tr_decode_options options, text *t, tr_error *error)
{
    run r = {.worker = worker,
             .options = options,
             .feed = {.next = next_sentence, .done = take_sentence, .argument = t, .stop = &t->stop}};
    tr_team *team;
    t->most = options.rows;
    t->most_tokens = options.tokens;
    tr_worker_set_threads(worker, threads);
    assert_int_equal(tr_team_create(threads, TR_THREADS_POSIX, &team, NULL), TR_OK);
    assert_int_equal(tr_team_run(team, run_member, &r, NULL), TR_OK);
    tr_team_destroy(team);
    for (int m = 1; m < threads; m++)
        assert_int_equal(r.status[m], r.status[0]);
    if (error)
        *error = r.error;
    return r.status[0];
}

static tr_worker *make_worker(const tr_network *network, int threads, int batch_size)
{
    tr_worker *worker;
    tr_error error;
    const tr_ensemble alone = tr_ensemble_of(network);
    if (tr_worker_create(&alone, threads, batch_size, &worker, &error))
        fail_msg("%s", error.message);
    return worker;
}

static void check_same(const text *alone, const text *t, tr_decode_options o, int threads)
{
    assert_int_equal(t->done, SENTENCES);
    assert_false(t->broken);
    for (int i = 0; i < SENTENCES; i++) {
        const tr_sequence *a = &alone->sentences[i], *b = &t->sentences[i];
        assert_int_equal(t->times_done[i], 1);
        if (a->target_length != b->target_length || a->finished != b->finished ||
            memcmp(a->target, b->target, (size_t)a->target_length * sizeof *a->target) != 0)
            fail_msg("%d rows, %d tokens, from %d on, %d threads: sentence %d has %d tokens, alone %d, or other ones",
                     o.rows, o.tokens, o.min_length, threads, i, b->target_length, a->target_length);
    }
}

/* Some targets end with EOS, some at their limit, some with a loop, at different times; otherwise the test would show
 * nothing. */
static void check_variety(const text *alone, int min_length, int max_length)
{
    int finished = 0, shorter = 0;
    for (int i = 0; i < SENTENCES; i++) {
        const tr_sequence *seq = &alone->sentences[i];
        assert_true(seq->target_length >= min_length && seq->target_length <= seq->max_length);
        finished += seq->finished;
        shorter += seq->target_length < max_length;
    }
    if (min_length < max_length)
        assert_true(shorter > 3 && finished < SENTENCES);
}

/* shortlist: NULL, or one for every sentence. */
static void check_limits(const tr_network *network, const tr_shortlist *shortlist, int min_length, int max_length)
{
    static const int rows[] = {1, 3, 8, 32}, tokens[] = {INT_MAX, 40};
    tr_worker *worker = make_worker(network, MAX_THREADS, 32);
    if (shortlist)
        assert_int_equal(tr_worker_set_shortlist(worker, shortlist, NULL), TR_OK);
    text *alone = make_text(&network->config, min_length, max_length);
    assert_int_equal(decode(worker, 1, (tr_decode_options){1, INT_MAX, min_length, NULL, false}, alone, NULL), TR_OK);
    check_variety(alone, min_length, max_length);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r += SANITIZED ? 2 : 1)
        for (size_t b = 0; b < sizeof tokens / sizeof *tokens; b++)
            for (int threads = 1; threads <= (r == 2 ? MAX_THREADS : 1); threads += SANITIZED ? MAX_THREADS - 1 : 1) {
                const tr_decode_options o = {rows[r], tokens[b], min_length, NULL, false};
                text *t = make_text(&network->config, min_length, max_length);
                assert_int_equal(decode(worker, threads, o, t, NULL), TR_OK);
                check_same(alone, t, o, threads);
                free_text(t);
            }
    free_text(alone);
    tr_worker_destroy(worker);
}

static void batches_change_nothing(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        model m;
        open_model(&m, i);
        const int most = m.package.config.max_positions < 30 ? m.package.config.max_positions : 30;
        check_limits(m.network, NULL, 0, most);
        check_limits(m.network, NULL, 5, most);
        check_limits(m.network, NULL, 9, 9);
        close_model(&m);
    }
}

/* ------------------------------------------------------------------------------------------------------------ shortlists */

enum { EACH = 5 };

/* Lists of 0 to EACH - 1 target ids; EOS is among the ids that are always allowed, unless first is 0. */
static tr_shortlist make_shortlist(const tr_config *c, int first, bool shared)
{
    int32_t *memory = calloc((size_t)c->source_vocabulary * (EACH + 1) + 1, sizeof *memory), count = 0;
    int32_t *words = memory + c->source_vocabulary + 1;
    assert_non_null(memory);
    for (int s = 0; s < c->source_vocabulary; s++) {
        for (int k = 0; k < s % EACH; k++)
            words[count++] = chance(c->target_vocabulary);
        memory[s + 1] = count;
    }
    return (tr_shortlist){first, EACH, c->source_vocabulary, memory, words, count, memory, shared};
}

/* The rule of model/shortlist.h, implemented in another way. */
static void allow(const tr_shortlist *s, const tr_sequence *sequence, int vocabulary, bool *allowed)
{
    int count = 0;
    for (int id = 0; id < vocabulary; id++) {
        allowed[id] = id < s->first;
        for (int t = 0; t < sequence->source_length; t++) {
            const int32_t source = sequence->source[t];
            allowed[id] |= s->shared && source == id;
            for (int32_t w = s->offsets[source]; w < s->offsets[source + 1]; w++)
                allowed[id] |= s->words[w] == id;
        }
        count += allowed[id];
    }
    for (int id = s->first; id < vocabulary && count % 8; id++) {
        count += !allowed[id];
        allowed[id] = true;
    }
}

/* The logits of one sentence, step by step. */
typedef struct watch {
    const tr_network *network;
    bool *allowed;
    int32_t chosen[64]; /* the best allowed token of each step */
    int steps, min_length;
} watch;

static void watch_logits(void *argument, const char *where, int layer, const float *rows, int count, int width)
{
    watch *w = argument;
    (void)layer;
    if (strcmp(where, "logits") != 0)
        return;
    assert_int_equal(count, 1);
    int best = -1;
    for (int id = 0; id < width; id++) {
        const bool end = id == w->network->config.eos_id && w->steps < w->min_length;
        if (w->allowed[id] && !end && rows[id] > -INFINITY && (best < 0 || rows[id] > rows[best]))
            best = id;
    }
    w->chosen[w->steps++] = best;
}

/* One sentence at a time, compared with the whole output projection. */
static void check_allowed(const model *m, const tr_shortlist *shortlist, int min_length, int max_length)
{
    const tr_config *c = &m->package.config;
    tr_worker *worker = make_worker(m->network, 1, 1);
    watch w = {m->network, calloc((size_t)c->target_vocabulary, sizeof(bool)), {0}, 0, min_length};
    assert_non_null(w.allowed);
    assert_int_equal(tr_worker_set_shortlist(worker, shortlist, NULL), TR_OK);
    tr_worker_set_trace(worker, watch_logits, &w);
    for (int i = 0; i < SENTENCES; i++) {
        text *t = make_text(c, min_length, max_length);
        t->given = i; /* only this one */
        t->stop_after = 1;
        w.steps = 0;
        allow(shortlist, &t->sentences[i], c->target_vocabulary, w.allowed);
        assert_int_equal(decode(worker, 1, (tr_decode_options){1, INT_MAX, min_length, NULL, false}, t, NULL),
                         TR_ERROR_CANCELLED);
        const tr_sequence *seq = &t->sentences[i];
        const int forced = c->forced_first_id >= 0; /* no logits are computed for it */
        assert_int_equal(w.steps, seq->target_length + seq->finished - forced);
        for (int k = 0; k < w.steps; k++) {
            const int32_t token = k + forced < seq->target_length ? seq->target[k + forced] : c->eos_id;
            assert_int_equal(token, w.chosen[k] < 0 ? c->eos_id : w.chosen[k]);
        }
        free_text(t);
    }
    free(w.allowed);
    tr_worker_destroy(worker);
}

static void shortlists_allow_what_they_say(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        model m;
        open_model(&m, i);
        const tr_config *c = &m.package.config;
        for (int kind = 0; kind < 4; kind++) {
            const int first = kind == 0 ? 0 : kind == 1 ? c->target_vocabulary + 9 : 7;
            tr_shortlist s = make_shortlist(c, first, kind == 3 && c->source_vocabulary == c->target_vocabulary);
            check_allowed(&m, &s, 0, 20);
            check_allowed(&m, &s, c->forced_first_id >= 0 ? 0 : 6, 20);
            free(s.owned);
        }
        tr_shortlist s = make_shortlist(c, 7, false);
        check_limits(m.network, &s, 0, 20);
        check_limits(m.network, &s, 5, 20);
        free(s.owned);
        close_model(&m);
    }
}

/* ------------------------------------------------------------------------------------------------------------- failures */

static void expect_failure(tr_worker *worker, int threads, int rows, text *t, tr_status expected, const char *part)
{
    tr_error error;
    assert_int_equal(decode(worker, threads, (tr_decode_options){rows, INT_MAX, 0, NULL, false}, t, &error), expected);
    assert_int_equal(error.status, expected);
    if (!strstr(error.message, part))
        fail_msg("\"%s\" does not say \"%s\"", error.message, part);
    free_text(t);
}

/* Each kind of failure with one and with several threads; afterwards the worker works as before. */
static void failures_end_it_and_leave_the_worker_usable(void **unused)
{
    (void)unused;
    model m;
    open_model(&m, 0);
    const tr_config *c = &m.package.config;
    tr_worker *worker = make_worker(m.network, MAX_THREADS, 8);
    text *alone = make_text(c, 0, 20);
    assert_int_equal(decode(worker, 1, (tr_decode_options){1, INT_MAX, 0, NULL, false}, alone, NULL), TR_OK);
    for (int threads = 1; threads <= MAX_THREADS; threads++) {
        text *t = make_text(c, 0, 20);
        t->stop_after = 11;
        expect_failure(worker, threads, 8, t, TR_ERROR_CANCELLED, "cancelled");
        t = make_text(c, 0, 20);
        atomic_store(&t->stop, true);
        expect_failure(worker, threads, 8, t, TR_ERROR_CANCELLED, "cancelled");
        t = make_text(c, 0, 20);
        t->memory[2 * 25 * c->max_positions] = c->source_vocabulary; /* the first token of sentence 25 */
        expect_failure(worker, threads, 8, t, TR_ERROR_ARGUMENT, "vocabulary");
        t = make_text(c, 0, 20);
        t->sentences[20].source_length = c->max_positions + 1;
        expect_failure(worker, threads, 8, t, TR_ERROR_ARGUMENT, "more tokens");
        t = make_text(c, 0, 20);
        t->sentences[20].max_length = c->max_positions + 1;
        expect_failure(worker, threads, 8, t, TR_ERROR_ARGUMENT, "maximum length");
        expect_failure(worker, threads, 9, make_text(c, 0, 20), TR_ERROR_ARGUMENT, "number of sentences");
        t = make_text(c, 0, 20);
        const tr_decode_options o = {8, INT_MAX, 0, NULL, false};
        assert_int_equal(decode(worker, threads, o, t, NULL), TR_OK);
        check_same(alone, t, o, threads);
        free_text(t);
    }
    free_text(alone);
    tr_worker_destroy(worker);
    close_model(&m);
}

/* Logits that are NaN: a network whose last LayerNorm has a damaged factor. */
static void damaged_weights_are_reported(void **unused)
{
    (void)unused;
    model m;
    open_model(&m, 0);
    const tr_config *c = &m.package.config;
    tr_network damaged = *m.network;
    float *gamma = calloc((size_t)c->d_model, sizeof *gamma);
    damaged.decoder = calloc((size_t)c->decoder_layers, sizeof *damaged.decoder);
    assert_true(gamma && damaged.decoder);
    memcpy(damaged.decoder, m.network->decoder, (size_t)c->decoder_layers * sizeof *damaged.decoder);
    gamma[1] = NAN;
    tr_layer *last = &damaged.decoder[c->decoder_layers - 1];
    last->sublayers[last->count - 1].norms.after.gamma = gamma;
    if (c->final_norm)
        damaged.target.final_norm.gamma = gamma;
    tr_worker *worker = make_worker(&damaged, MAX_THREADS, 8);
    for (int threads = 1; threads <= MAX_THREADS; threads++)
        expect_failure(worker, threads, 8, make_text(c, 0, 20), TR_ERROR_NUMERIC, "no valid numbers");
    tr_worker_destroy(worker);
    free(gamma);
    free(damaged.decoder);
    close_model(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_change_nothing),
        cmocka_unit_test(shortlists_allow_what_they_say),
        cmocka_unit_test(failures_end_it_and_leave_the_worker_usable),
        cmocka_unit_test(damaged_weights_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
