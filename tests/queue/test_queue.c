/* tr_queue: what it gives is what tr_translate gives, each ticket ends exactly once, and priorities, order, deadlines and
 * limits are kept. */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "../opening.h"
#include "../sanitized.h"
#include "api/model.h"
#include "decoding/decoding.h"

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
    "虽然他很累，但是他还是坚持把工作做完了；大家都觉得他非常了不起，可是他自己却什么也没有说。",
    "哈哈，哈哈，哈哈，哈哈，哈哈，哈哈，哈哈，哈哈", /* the translation loops */
    "bad \xff bytes。",
};
enum { COUNT = sizeof texts / sizeof *texts };

static tr_queue *open_queue(int threads, int batch_size)
{
    tr_queue *queue;
    tr_error error;
    tr_options options = tr_default_options();
    options.context.threads = threads;
    options.context.batch_size = batch_size;
    assert_int_equal(tr_queue_create(model, &options, &queue, &error), TR_OK);
    return queue;
}

static tr_ticket submit(tr_queue *queue, const char *const *list, size_t count, const tr_translate_options *translate,
                        const tr_submit_options *how)
{
    tr_options options = tr_default_options();
    tr_ticket ticket;
    tr_error error;
    if (translate)
        options.translate = *translate;
    options.prefix_count = options.translate.prefixes ? count : 0;
    if (how)
        options.submit = *how;
    if (tr_queue_submit(queue, list, NULL, count, &options, &ticket, &error) != TR_OK)
        fail_msg("%s", error.message);
    assert_true(ticket != 0);
    return ticket;
}

/* The engine's result in an event. */
static const tr_result *translation(const tr_event *event)
{
    const tr_results *results = tr_event_results(event);
    return results ? results->texts : NULL;
}

static tr_result *translate(const tr_translate_options *options)
{
    tr_context *context;
    tr_result *results;
    tr_error error;
    assert_int_equal(tr_make_context(model, NULL, &context, &error), TR_OK);
    assert_int_equal(tr_translate_texts(context, texts, NULL, COUNT, options, &results, &error), TR_OK);
    tr_context_destroy(context);
    return results;
}

static void compare_alignments(const tr_alignment *a, const tr_alignment *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_int_equal(a->links[i].source, b->links[i].source);
        assert_int_equal(a->links[i].target, b->links[i].target);
        assert_true(a->links[i].weight == b->links[i].weight);
    }
}

static void compare_results(const tr_result *a, const tr_result *b)
{
    assert_string_equal(a->text, b->text);
    assert_int_equal(a->size, b->size);
    assert_int_equal(a->sentences, b->sentences);
    assert_int_equal(a->source_tokens, b->source_tokens);
    assert_int_equal(a->target_tokens, b->target_tokens);
    assert_int_equal(a->flags | TR_FLAG_REPEATED, b->flags | TR_FLAG_REPEATED);
    assert_true(a->score == b->score && a->min_log_probability == b->min_log_probability);
    assert_int_equal(a->hypothesis_count, b->hypothesis_count);
    for (size_t h = 0; h < a->hypothesis_count; h++) {
        assert_string_equal(a->hypotheses[h].text, b->hypotheses[h].text);
        assert_true(a->hypotheses[h].score == b->hypotheses[h].score);
    }
    compare_alignments(&a->alignment, &b->alignment);
}

/* All texts in one submission, and each in one of its own, for several kinds of options at once. */
static void test_results(void **state)
{
    enum { KINDS = 6 };
    tr_translate_options kinds[KINDS];
    tr_result *expected[KINDS];
    tr_ticket together[KINDS], alone[KINDS][COUNT];
    const tr_submit_options ordered = {.priority = TR_PRIORITY_NORMAL, .ordered = true};
    const int32_t forbidden[] = {5, 9, 11};
    (void)state;
    for (int k = 0; k < KINDS; k++)
        kinds[k] = tr_translate_default_options();
    kinds[1].search.beam = 4;
    kinds[1].search.n_best = 3;
    kinds[2].scores = kinds[2].align = true;
    kinds[3].search.sample = true;
    kinds[3].search.n_best = 2;
    kinds[4].search.forbidden = forbidden;
    kinds[4].search.forbidden_count = sizeof forbidden / sizeof *forbidden;
    kinds[5].max_length = 7;
    for (int k = 0; k < KINDS; k++)
        expected[k] = translate(&kinds[k]);
    for (int threads = 1; threads <= 3; threads += 2) {
        tr_queue *queue = open_queue(threads, threads == 1 ? 32 : 3);
        for (int k = 0; k < KINDS; k++) {
            together[k] = submit(queue, texts, COUNT, &kinds[k], &ordered);
            for (int i = 0; i < COUNT; i++) {
                const tr_submit_options how = {.priority = (tr_priority)(i % 3)};
                alone[k][i] = submit(queue, &texts[i], 1, &kinds[k], &how);
            }
        }
        for (int k = 0; k < KINDS; k++)
            for (int i = 0; i < COUNT; i++) {
                tr_event *one = tr_queue_wait(queue, alone[k][i], -1), *event = tr_queue_wait(queue, together[k], -1);
                assert_non_null(one);
                assert_non_null(event);
                assert_int_equal(tr_event_status(event), TR_OK);
                assert_int_equal(tr_event_text(event), i);
                assert_int_equal(tr_event_last(event), i + 1 == COUNT);
                assert_true(tr_event_last(one));
                compare_results(translation(event), &expected[k][i]);
                compare_results(translation(one), &expected[k][i]);
                assert_null(tr_queue_wait(queue, alone[k][i], -1)); /* it is over */
                tr_event_free(one);
                tr_event_free(event);
            }
        tr_queue_destroy(queue);
    }
    for (int k = 0; k < KINDS; k++)
        tr_result_array_free(expected[k], COUNT);
}

/* Sources that are tokens, with and without prefixes. */
static void test_sources(void **state)
{
    enum { SOURCES = 12 };
    int32_t ids[SOURCES][6];
    const int32_t *sources[SOURCES], *prefixes[SOURCES];
    size_t counts[SOURCES], prefix_counts[SOURCES], count;
    tr_context *context;
    tr_results *expected;
    tr_ticket ticket;
    tr_error error;
    (void)state;
    assert_int_equal(tr_context_create(model, NULL, &context, &error), TR_OK);
    tr_queue *queue = open_queue(2, 4);
    for (int i = 0; i < SOURCES; i++) {
        for (int t = 0; t < 6; t++)
            ids[i][t] = 20 + (i * 37 + t * 11) % 900;
        sources[i] = prefixes[i] = ids[i];
        counts[i] = (size_t)i % 7;
        prefix_counts[i] = (size_t)i % 3;
    }
    tr_options options = tr_default_options();
    options.submit.ordered = options.translate.scores = options.translate.align = true;
    for (int with = 0; with < 2; with++) {
        assert_int_equal(tr_translate_tokens(context, sources, counts, with ? prefixes : NULL, prefix_counts, SOURCES,
                                             &options, &expected, &error),
                         TR_OK);
        assert_int_equal(tr_queue_submit_tokens(queue, sources, counts, with ? prefixes : NULL, prefix_counts, SOURCES,
                                                &options, &ticket, &error),
                         TR_OK);
        for (size_t i = 0; i < SOURCES; i++) {
            tr_event *event = tr_queue_wait(queue, ticket, -1);
            const tr_results *results = tr_event_results(event);
            size_t links, wanted;
            const int32_t *target = tr_results_target_ids(results, 0, 0, &count);
            const int32_t *same = tr_results_target_ids(expected, i, 0, &wanted);
            assert_int_equal(count, wanted);
            assert_memory_equal(target, same, count * sizeof *target);
            assert_true(tr_results_hypothesis_float(results, 0, 0, "score") ==
                        tr_results_hypothesis_float(expected, i, 0, "score"));
            tr_results_links(results, 0, 0, &links);
            tr_results_links(expected, i, 0, &wanted);
            assert_int_equal(links, wanted);
            assert_null(tr_results_text(results, 0, NULL));
            tr_event_free(event);
        }
        tr_results_free(expected);
    }
    ids[3][1] = -1;
    assert_int_equal(tr_queue_submit_tokens(queue, sources, counts, NULL, NULL, SOURCES, NULL, &ticket, &error),
                     TR_ERROR_ARGUMENT);
    tr_queue_destroy(queue);
    tr_context_destroy(context);
}

/* ------------------------------------------------------------------------------------------------------------- tokens */

static void test_tokens(void **state)
{
    tr_result *expected = translate(NULL);
    tr_queue *queue = open_queue(2, 4);
    const tr_submit_options how = {.priority = TR_PRIORITY_NORMAL, .tokens = true};
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        char text[4096] = "";
        size_t tokens = 0;
        const tr_ticket ticket = submit(queue, &texts[i], 1, NULL, &how);
        for (bool last = false; !last;) {
            tr_event *event = tr_queue_wait(queue, ticket, -1);
            assert_non_null(event);
            const tr_token_event *token = tr_event_token(event);
            last = tr_event_last(event);
            assert_int_equal(last, token == NULL);
            if (token && expected[i].sentences == 1 && !(expected[i].flags & TR_FLAG_LOOP))
                strncat(text, token->bytes, sizeof text - strlen(text) - 1);
            tokens += token != NULL;
            if (last)
                compare_results(translation(event), &expected[i]);
            tr_event_free(event);
        }
        assert_true(tokens >= (size_t)expected[i].target_tokens);
        if (text[0]) /* white space after the last sentence is not part of any token */
            assert_memory_equal(text, expected[i].text, strlen(text));
    }
    tr_queue_destroy(queue);
    tr_result_array_free(expected, COUNT);
}

/* ----------------------------------------------------------------------------------------------- limits and deadlines */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void test_limits(void **state)
{
    tr_queue *queue;
    tr_error error;
    tr_ticket ticket, other;
    tr_options options = tr_default_options();
    const char *const two[] = {texts[0], texts[0]};
    char large[101];
    const char *pointer = large;
    const size_t size = sizeof large;
    (void)state;
    options.context.threads = 1;
    options.queue = (tr_queue_options){.max_texts = 2, .max_bytes = 100};
    memset(large, 'a', sizeof large);
    assert_int_equal(tr_queue_create(model, &options, &queue, &error), TR_OK);
    assert_int_equal(tr_queue_submit(queue, texts, NULL, 3, NULL, &ticket, &error), TR_ERROR_ARGUMENT);
    assert_int_equal(tr_queue_submit(queue, &pointer, &size, 1, NULL, &ticket, &error), TR_ERROR_ARGUMENT);
    assert_int_equal(tr_queue_submit(queue, texts, NULL, 0, NULL, &ticket, &error), TR_ERROR_ARGUMENT);
    assert_int_equal(tr_queue_submit(queue, two, NULL, 2, NULL, &ticket, &error), TR_OK);
    assert_int_equal(tr_queue_submit(queue, two, NULL, 1, NULL, &other, &error), TR_ERROR_FULL);
    assert_int_equal(other, 0);
    for (int i = 0; i < 2; i++) { /* the places are free when the events are taken */
        tr_event_free(tr_queue_wait(queue, ticket, -1));
        assert_int_equal(tr_queue_submit(queue, two, NULL, 1, NULL, &other, &error), TR_OK);
    }
    assert_false(tr_queue_cancel(queue, ticket));
    assert_false(tr_queue_cancel(queue, 0));
    assert_false(tr_queue_cancel(queue, UINT64_MAX));
    assert_null(tr_queue_wait(queue, ticket, -1));
    assert_true(tr_event_status(NULL) == TR_ERROR_ARGUMENT && !tr_event_ticket(NULL) && !tr_event_results(NULL) &&
                !tr_event_last(NULL) && !tr_event_token(NULL));
    assert_true(!tr_queue_poll(NULL) && !tr_queue_wait(NULL, 1, 0) && tr_queue_fd(NULL) == -1 && !tr_queue_cancel(NULL, 1));
    assert_int_equal(tr_queue_submit(NULL, two, NULL, 1, NULL, &other, &error), TR_ERROR_ARGUMENT);
    assert_int_equal(tr_queue_submit(queue, NULL, NULL, 1, NULL, &other, &error), TR_ERROR_ARGUMENT);
    assert_int_equal(tr_queue_submit(queue, two, NULL, 1, NULL, NULL, &error), TR_ERROR_ARGUMENT);
    tr_queue_destroy(queue);
}

/* A long job is given up at its deadline, and what was done before stays. */
static void test_deadline(void **state)
{
    enum { MANY = 4000 };
    const char **many = malloc(MANY * sizeof *many);
    tr_queue *queue = open_queue(1, 32);
    const tr_submit_options how = {.priority = TR_PRIORITY_NORMAL, .deadline = 100};
    size_t done = 0;
    (void)state;
    for (int i = 0; i < MANY; i++)
        many[i] = texts[8];
    const double begin = seconds();
    const tr_ticket ticket = submit(queue, many, MANY, NULL, &how);
    for (bool last = false; !last; done++) {
        tr_event *event = tr_queue_wait(queue, ticket, -1);
        last = tr_event_last(event);
        if (last) {
            assert_int_equal(tr_event_status(event), TR_ERROR_DEADLINE);
            assert_true(tr_event_text(event) == SIZE_MAX);
            assert_string_equal(tr_event_message(event), "deadline");
            assert_null(translation(event));
        }
        tr_event_free(event);
    }
    assert_true(done < MANY && seconds() - begin >= 0.1);
    tr_event *event = tr_queue_wait(queue, submit(queue, texts, 1, NULL, &how), -1); /* the queue goes on */
    assert_int_equal(tr_event_status(event), TR_OK);
    tr_event_free(event);
    tr_queue_destroy(queue);
    free(many);
}

/* A single text of high priority is done long before a job that came earlier. */
static void test_priority(void **state)
{
    enum { MANY = 2000 };
    const char **many = malloc(MANY * sizeof *many);
    tr_queue *queue = open_queue(1, 32);
    const tr_submit_options high = {.priority = TR_PRIORITY_HIGH};
    (void)state;
    for (int i = 0; i < MANY; i++)
        many[i] = texts[8];
    const tr_ticket job = submit(queue, many, MANY, NULL, NULL);
    tr_event_free(tr_queue_wait(queue, job, -1)); /* it has begun */
    for (int i = 0; i < 10; i++) {
        tr_event *event = tr_queue_wait(queue, submit(queue, texts, 1, NULL, &high), -1);
        assert_int_equal(tr_event_status(event), TR_OK);
        tr_event_free(event);
    }
    assert_true(tr_queue_cancel(queue, job));
    size_t rest = 0;
    for (bool last = false; !last; rest++) {
        tr_event *event = tr_queue_wait(queue, job, -1);
        last = tr_event_last(event);
        assert_int_equal(tr_event_status(event), last ? TR_ERROR_CANCELLED : TR_OK);
        tr_event_free(event);
    }
    assert_true(rest < MANY - 1);
    tr_queue_destroy(queue);
    free(many);
}

/* Long texts that are refused when they are begun, one after the other, hold up neither a short text nor deadlines. */
static void test_refused(void **state)
{
    enum { MANY = 200, SIZE = 90000 };
    char *const text = malloc(SIZE + 1);
    const char *many[MANY], *prefixes[MANY];
    tr_translate_options options = tr_default_options().translate;
    const tr_submit_options late = {.priority = TR_PRIORITY_LOW, .deadline = 100}, low = {.priority = TR_PRIORITY_LOW};
    tr_queue *queue = open_queue(1, 32);
    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = "今天天气"[i % 12];
    text[SIZE] = 0;
    for (int i = 0; i < MANY; i++) {
        many[i] = text;
        prefixes[i] = "Hello";
    }
    options.prefixes = prefixes;
    const tr_ticket tickets[] = {submit(queue, many, MANY, &options, &late), submit(queue, many, MANY, &options, &low)};
    for (int t = 0; t < 2; t++) {
        size_t count = 1;
        tr_event *event = tr_queue_wait(queue, t ? submit(queue, texts, 1, NULL, NULL) : tickets[0], -1);
        if (t) {
            assert_int_equal(tr_event_status(event), TR_OK);
            tr_event_free(event);
            assert_true(tr_queue_cancel(queue, tickets[1]));
            event = tr_queue_wait(queue, tickets[1], -1);
        }
        for (; !tr_event_last(event); count++) {
            assert_int_equal(tr_event_status(event), TR_ERROR_ARGUMENT);
            tr_event_free(event);
            event = tr_queue_wait(queue, tickets[t], -1);
        }
        assert_int_equal(tr_event_status(event), t ? TR_ERROR_CANCELLED : TR_ERROR_DEADLINE);
        assert_true(count < MANY);
        tr_event_free(event);
    }
    tr_queue_destroy(queue);
    free(text);
}

static size_t filled(tr_queue *queue)
{
    size_t sentences, places;
    tr_queue_fill(queue, &sentences, &places);
    assert_int_equal(places, 8);
    return sentences;
}

/* Batches become full while there is enough to do, and are empty in the end. */
static void test_fill(void **state)
{
    enum { MANY = 500 };
    const char *many[MANY];
    tr_queue *queue = open_queue(2, 4);
    (void)state;
    for (int i = 0; i < MANY; i++)
        many[i] = texts[8];
    assert_int_equal(filled(queue), 0);
    const tr_ticket job = submit(queue, many, MANY, NULL, NULL);
    size_t most = 0;
    for (bool last = false; !last;) {
        tr_event *event = tr_queue_wait(queue, job, -1);
        const size_t now = filled(queue);
        last = tr_event_last(event);
        most = now > most ? now : most;
        assert_true(now <= 8);
        tr_event_free(event);
    }
    assert_int_equal(most, 8);
    assert_int_equal(filled(queue), 0);
    tr_queue_destroy(queue);
}

static void test_descriptor(void **state)
{
    tr_queue *queue = open_queue(1, 4);
    struct pollfd descriptor = {.fd = tr_queue_fd(queue), .events = POLLIN};
    (void)state;
    assert_true(descriptor.fd >= 0);
    for (int round = 0; round < 3; round++) {
        size_t got = 0;
        assert_int_equal(poll(&descriptor, 1, 0), 0);
        assert_null(tr_queue_poll(queue));
        assert_null(tr_queue_wait(queue, 0, 1));
        submit(queue, texts, COUNT, NULL, NULL);
        while (got < COUNT) {
            assert_int_equal(poll(&descriptor, 1, 60000), 1);
            for (tr_event *event; (event = tr_queue_poll(queue)); got++)
                tr_event_free(event);
        }
    }
    tr_queue_destroy(queue);
}

/* ---------------------------------------------------------------------------------------------------------- cancelling */

enum { SEQUENCES = 3, CANCEL_AT = 9 };

typedef struct decoding {
    tr_sequence sequences[SEQUENCES];
    atomic_bool cancel;
    int given, steps, done_at[SEQUENCES], counts[SEQUENCES];
    int32_t targets[SEQUENCES][40];
    bool cancels;
} decoding;

static tr_sequence *give_sequence(void *argument, int max_tokens)
{
    decoding *d = argument;
    (void)max_tokens;
    return d->given < SEQUENCES ? &d->sequences[d->given++] : NULL;
}

static bool before_step(void *argument)
{
    decoding *d = argument;
    if (++d->steps == CANCEL_AT && d->cancels)
        atomic_store(&d->cancel, true);
    return true;
}

static bool take_sequence(void *argument, tr_sequence *sequence)
{
    decoding *d = argument;
    const int i = (int)(sequence - d->sequences);
    d->done_at[i] = d->steps;
    d->counts[i] = sequence->cancelled ? -1 : sequence->target_length;
    return true;
}

static void decode(tr_worker *worker, bool cancels, decoding *d)
{
    static const int32_t source[] = {20, 25, 31, 44, 52};
    const tr_decode_callbacks callbacks = {.next = give_sequence, .done = take_sequence, .argument = d, .step = before_step};
    const tr_decode_options options = {SEQUENCES, 4096, 30, NULL, false}; /* exactly 30 tokens */
    tr_error error;
    memset(d, 0, sizeof *d);
    d->cancels = cancels;
    for (int i = 0; i < SEQUENCES; i++)
        d->sequences[i] = (tr_sequence){.source = source + i % 2,
                                        .source_length = 4,
                                        .max_length = 30,
                                        .target = d->targets[i],
                                        .cancel = i == 1 ? &d->cancel : NULL};
    assert_int_equal(tr_decode(worker, 0, &options, &callbacks, &error), TR_OK);
}

/* A sentence leaves its batch before the step that follows the cancelling; the others are as without it. */
static void test_cancel_step(void **state)
{
    const tr_ensemble models = tr_ensemble_of(model->network);
    static decoding whole, cancelled;
    tr_worker *worker;
    tr_error error;
    (void)state;
    for (int beam = 1; beam <= 4; beam += 3) {
        tr_search_options search = tr_search_default_options();
        search.beam = beam;
        assert_int_equal(tr_worker_create(&models, 1, SEQUENCES, &worker, &error), TR_OK);
        assert_int_equal(tr_worker_set_search(worker, &search, false, &error), TR_OK);
        decode(worker, false, &whole);
        decode(worker, true, &cancelled);
        assert_int_equal(cancelled.done_at[1], CANCEL_AT);
        assert_int_equal(cancelled.counts[1], -1);
        for (int i = 0; i < SEQUENCES; i += 2) {
            assert_true(whole.counts[i] == 30 && cancelled.counts[i] == 30 && cancelled.done_at[i] > CANCEL_AT);
            assert_memory_equal(whole.targets[i], cancelled.targets[i], 30 * sizeof(int32_t));
        }
        decode(worker, false, &cancelled); /* all memory is there again */
        assert_memory_equal(whole.targets, cancelled.targets, sizeof whole.targets);
        tr_worker_destroy(worker);
    }
}

/* ---------------------------------------------------------------------------------------------------------- callbacks */

typedef struct receiver {
    tr_queue *queue;
    atomic_int events, last;
    atomic_bool busy, fault;
    const atomic_bool *release; /* NULL, or its callback lasts until this is true */
} receiver;

static void receive(void *argument, const tr_event *event)
{
    receiver *r = argument;
    const struct timespec pause = {.tv_nsec = 1000000};
    if (atomic_exchange(&r->busy, true))
        atomic_store(&r->fault, true);
    while (r->release && !atomic_load(r->release))
        nanosleep(&pause, NULL);
    atomic_fetch_add(&r->events, 1);
    atomic_store(&r->busy, false);
    if (tr_event_last(event))
        atomic_fetch_add(&r->last, 1);
}

/* A slow callback holds up nobody else. */
static void test_callbacks(void **state)
{
    enum { RECEIVERS = 4 };
    receiver receivers[RECEIVERS + 1] = {0};
    atomic_bool release = false;
    tr_queue *queue = open_queue(2, 4);
    (void)state;
    for (int i = 0; i <= RECEIVERS; i++) {
        receivers[i].release = i ? NULL : &release;
        const tr_submit_options how = {
            .priority = TR_PRIORITY_NORMAL, .on_event = receive, .on_event_argument = &receivers[i], .tokens = i == 2};
        const tr_ticket ticket = submit(queue, texts, COUNT, NULL, &how);
        assert_null(tr_queue_wait(queue, ticket, -1));
    }
    const double begin = seconds();
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 1; i <= RECEIVERS; i++)
        while (!atomic_load(&receivers[i].last) && seconds() - begin < 200)
            nanosleep(&pause, NULL);
    assert_int_equal(atomic_load(&receivers[0].last), 0);
    for (int i = 1; i <= RECEIVERS; i++) {
        assert_int_equal(atomic_load(&receivers[i].last), 1);
        assert_true(i == 2 ? receivers[i].events > COUNT : receivers[i].events == COUNT);
        assert_false(atomic_load(&receivers[i].fault));
    }
    atomic_store(&release, true);
    tr_queue_destroy(queue); /* waits for the callback that runs */
}

/* ----------------------------------------------------------------------------------------- random submits and cancels */

enum { THREADS = 8 };

typedef struct soak {
    tr_queue *queue;
    unsigned seed;
    int submissions;
    atomic_int *open;
    size_t ended, cancelled;
    bool fault;
} soak;

static unsigned draw(unsigned *seed, unsigned limit)
{
    *seed = *seed * 1664525U + 1013904223U;
    return (*seed >> 8) % limit;
}

static void end_event(void *argument, const tr_event *event)
{
    if (tr_event_last(event))
        atomic_fetch_add((atomic_int *)argument, 1);
}

/* Takes all events of a ticket: exactly one is the last. */
static void drain(soak *s, tr_ticket ticket)
{
    int last = 0;
    for (tr_event *event; (event = tr_queue_wait(s->queue, ticket, -1)); tr_event_free(event)) {
        last += tr_event_last(event);
        s->cancelled += tr_event_status(event) == TR_ERROR_CANCELLED;
    }
    s->ended++;
    s->fault = s->fault || last != 1;
}

static void *soak_thread(void *argument)
{
    enum { OPEN = 16 };
    soak *s = argument;
    tr_ticket tickets[OPEN];
    int held = 0, called = 0;
    atomic_int over = 0;
    for (int i = 0; i < s->submissions; i++) {
        const size_t first = draw(&s->seed, COUNT), count = 1 + draw(&s->seed, 3);
        tr_options options = tr_default_options();
        options.translate.max_length = draw(&s->seed, 4) ? 12 : 3;
        options.translate.search.beam = draw(&s->seed, 16) ? 1 : 2;
        const bool calls = !draw(&s->seed, 4);
        const tr_submit_options how = {.priority = (tr_priority)draw(&s->seed, 3),
                                       .deadline = draw(&s->seed, 8) ? 0 : 1 + draw(&s->seed, 5),
                                       .ordered = !draw(&s->seed, 2),
                                       .tokens = options.translate.search.beam == 1 && !draw(&s->seed, 8),
                                       .on_event = calls ? end_event : NULL,
                                       .on_event_argument = &over};
        options.submit = how;
        tr_ticket ticket;
        const tr_status status =
            tr_queue_submit(s->queue, texts + (first + count <= COUNT ? first : 0), NULL, count, &options, &ticket, NULL);
        s->fault = s->fault || status != TR_OK;
        if (status != TR_OK)
            break;
        if (calls) {
            called++;
            if (draw(&s->seed, 2))
                tr_queue_cancel(s->queue, ticket);
            s->ended++;
        } else {
            tickets[held++] = ticket;
        }
        if (held && draw(&s->seed, 2)) /* one of those that are open, which may be over */
            tr_queue_cancel(s->queue, tickets[draw(&s->seed, (unsigned)held)]);
        while (held == OPEN || (held && !draw(&s->seed, 4))) {
            const unsigned at = draw(&s->seed, (unsigned)held);
            drain(s, tickets[at]);
            tickets[at] = tickets[--held];
        }
    }
    while (held)
        drain(s, tickets[--held]);
    const struct timespec pause = {.tv_nsec = 1000000};
    while (atomic_load(&over) < called)
        nanosleep(&pause, NULL);
    s->fault = s->fault || atomic_load(&over) != called;
    return NULL;
}

static long resident_pages(void)
{
    long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &total, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return resident;
}

static void run_soak(tr_queue *queue, int submissions, unsigned seed)
{
    pthread_t threads[THREADS];
    soak soaks[THREADS];
    for (int t = 0; t < THREADS; t++) {
        soaks[t] = (soak){.queue = queue, .seed = seed + (unsigned)t, .submissions = submissions / THREADS};
        assert_int_equal(pthread_create(&threads[t], NULL, soak_thread, &soaks[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        assert_false(soaks[t].fault);
        assert_int_equal(soaks[t].ended, submissions / THREADS);
    }
}

/* TR_QUEUE_SUBMISSIONS: how many, in place of some thousand. */
static void test_soak(void **state)
{
    const char *wanted = getenv("TR_QUEUE_SUBMISSIONS");
    const int usual = SANITIZED ? 1000 : 4000;
    const int submissions = wanted ? atoi(wanted) : usual;
    tr_queue *queue = open_queue(2, 8);
    (void)state;
    run_soak(queue, submissions / 4, 1);
    const long before = resident_pages();
    run_soak(queue, submissions, 100);
    const long after = resident_pages();
    if (wanted)
        printf("%d submissions: %ld pages before, %ld after\n", submissions, before, after);
    tr_queue_destroy(queue);
}

/* Nothing is lost if a queue is destroyed while it works. */
static void test_destroy(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        receiver r = {0};
        const tr_submit_options how = {
            .priority = TR_PRIORITY_NORMAL, .on_event = receive, .on_event_argument = &r, .tokens = true};
        tr_queue *queue = open_queue(1 + i % 3, 4);
        tr_translate_options align = tr_translate_default_options();
        align.align = true;
        submit(queue, texts, COUNT, &align, NULL);
        submit(queue, texts, COUNT, NULL, &how);
        const struct timespec pause = {.tv_nsec = i * 2000000};
        nanosleep(&pause, NULL);
        tr_queue_destroy(queue);
    }
    tr_queue_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results),  cmocka_unit_test(test_sources),    cmocka_unit_test(test_cancel_step),
        cmocka_unit_test(test_tokens),   cmocka_unit_test(test_limits),     cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_priority), cmocka_unit_test(test_descriptor), cmocka_unit_test(test_callbacks),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_soak),       cmocka_unit_test(test_destroy),
        cmocka_unit_test(test_fill),
    };
    tr_error error;
    model = NULL;
    if (tr_open_model(TR_MODEL, NULL, &model, &error) != TR_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    tr_model_close(model);
    return failures;
}
