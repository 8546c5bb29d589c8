/* The network and greedy decoding against Hugging Face Transformers in f32: part by part, token by token, on tiny
 * models, at every kernel level. And against itself: alone, in batches, with several threads and at other levels the
 * bits are the same. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "decoding/decoding.h"
#include "kernels/dispatch.h"
#include "model/transformer.h"
#include "reference.h"
#include "util/team.h"

static const char *const fixture_names[] = {
    "relu-1x1-f32",  "swish-3x3-f16",  "gelu-4x2-bf16-untied", "swish-1x2-f16-forced", "relu-2x1-f32-odd",
    "mbart-2x2-f32", "m2m100-1x3-f16", "bart-2x1-bf16",        "t5-2x2-f32",           "t5-3x2-bf16-gated",
};

enum { FIXTURES = sizeof fixture_names / sizeof *fixture_names, MAX_LEVELS = 16, MAX_THREADS = 3, MAX_STEPS = 64 };

/* Largest error, relative to the largest value of the tensor or 1. Rounding gives about 1e-5 on these models; the project
 * promises 1e-3 for logits. */
static const float tolerance = 4e-5f;

/* The state of each test: a fixture and a kernel level. */
typedef struct setting {
    tr_reference *reference;
    const tr_kernels *kernels;
    tr_network *network;
} setting;

/* ------------------------------------------------------------------------------------------------------------- decoding */

/* Feeds all sentences at once. There is a barrier between accesses of the threads, so plain integers suffice. */
typedef struct job {
    tr_worker *worker;
    tr_sequence *sentences;
    int count, given, done;
    tr_decode_options options;
    tr_decode_callbacks feed;
    tr_status status[MAX_THREADS];
    tr_error error[MAX_THREADS];
} job;

static tr_sequence *next_sentence(void *argument, int room)
{
    job *j = argument;
    return j->given < j->count && j->sentences[j->given].source_length <= room ? &j->sentences[j->given++] : NULL;
}

static bool take_sentence(void *argument, tr_sequence *sequence)
{
    job *j = argument;
    j->done++;
    return sequence >= j->sentences && sequence < j->sentences + j->count;
}

static void run_member(void *argument, int member)
{
    job *j = argument;
    j->status[member] = tr_decode(j->worker, member, &j->options, &j->feed, &j->error[member]);
}

/* Decodes the lines order[0 .. count) with this number of threads. targets[i] belongs to order[i]. */
static void decode(const setting *s, const tr_reference_case *limits, const int *order, int count, int threads,
                   tr_trace_function *trace, void *argument, tr_sequence *sentences, int32_t (*targets)[MAX_STEPS])
{
    job j = {.sentences = sentences, .count = count, .options = {count, INT_MAX, limits->min_length, NULL, false}};
    j.feed = (tr_decode_callbacks){.next = next_sentence, .done = take_sentence, .argument = &j};
    tr_team *team = NULL;
    assert_true(limits->max_length <= MAX_STEPS && count <= TR_REFERENCE_LINES && threads <= MAX_THREADS);
    for (int i = 0; i < count; i++) {
        const tr_reference_line *line = &limits->lines[order[i]];
        sentences[i] = (tr_sequence){.source = line->source,
                                     .source_length = line->source_length,
                                     .max_length = limits->max_length,
                                     .target = targets[i]};
    }
    const tr_ensemble alone = tr_ensemble_of(s->network);
    if (tr_worker_create(&alone, threads, count, &j.worker, &j.error[0]) ||
        tr_team_create(threads, threads == 2 ? TR_THREADS_OPENMP : TR_THREADS_POSIX, &team, &j.error[0]))
        fail_msg("%s", j.error[0].message);
    tr_worker_set_trace(j.worker, trace, argument);
    const tr_status status = tr_team_run(team, run_member, &j, &j.error[0]);
    for (int m = 0; m < threads; m++)
        if (status || j.status[m])
            fail_msg("%s", j.error[0].message); /* the threads share one status; thread 0 writes the message */
    assert_int_equal(j.done, count);
    tr_team_destroy(team);
    tr_worker_destroy(j.worker);
}

static void check_tokens(const tr_reference_line *line, const tr_sequence *sequence, const char *name, int number)
{
    if (line->unclear)
        return;
    for (int i = 0; i < line->target_length && i < sequence->target_length; i++)
        if (line->target[i] != sequence->target[i])
            fail_msg("%s, sentence %d: token %d is %d, the reference's is %d", name, number, i, sequence->target[i],
                     line->target[i]);
    if (line->target_length != sequence->target_length || line->finished != sequence->finished)
        fail_msg("%s, sentence %d: %d tokens, finished %d; the reference has %d, finished %d", name, number,
                 sequence->target_length, sequence->finished, line->target_length, line->finished);
}

/* --------------------------------------------------------------------------------------------------------- part by part */

/* Compares the trace of one sentence with the reference; step is -1 during encoding. Keeps only the first difference. */
typedef struct follower {
    const setting *setting;
    int sentence, step;
    char problem[256];
} follower;

static bool is_forbidden(const tr_config *config, int id)
{
    for (int i = 0; i < config->forbidden_count; i++)
        if (config->forbidden[i] == id)
            return true;
    return false;
}

static void compare_tensor(follower *f, const tr_reference_tensor *t, const float *rows, bool logits)
{
    float largest = 1;
    for (int i = 0; i < t->rows * t->width; i++)
        largest = fmaxf(largest, fabsf(t->data[i]));
    for (int i = 0; i < t->rows * t->width; i++) {
        const int row = i / t->width, column = i % t->width;
        const bool forbidden = logits && is_forbidden(&f->setting->reference->package.config, column);
        const bool equal = forbidden ? rows[i] == -INFINITY : fabsf(rows[i] - t->data[i]) <= tolerance * largest;
        if (!equal) {
            snprintf(f->problem, sizeof f->problem, "step %d, %s, layer %d, row %d, column %d: %g, the reference has %g",
                     t->step, t->where, t->layer, row, column, (double)rows[i],
                     forbidden ? -(double)INFINITY : (double)t->data[i]);
            return;
        }
    }
}

static void follow_parts(void *argument, const char *where, int layer, const float *rows, int count, int width)
{
    follower *f = argument;
    f->step += strcmp(where, "target.embedding") == 0;
    tr_reference_tensor *t = tr_reference_find(f->setting->reference, f->sentence, f->step, where, layer);
    if (!t || f->problem[0])
        return;
    if (count != t->rows || width != t->width)
        snprintf(f->problem, sizeof f->problem, "step %d, %s, layer %d: [%d, %d], the reference has [%d, %d]", f->step,
                 where, layer, count, width, t->rows, t->width);
    else
        compare_tensor(f, t, rows, strcmp(where, "logits") == 0);
    t->seen = true;
}

/* no logits are computed for a forced token */
static bool is_optional(const setting *s, const tr_reference_tensor *t)
{
    return t->step == 0 && s->reference->package.config.forced_first_id >= 0 && strcmp(t->where, "logits") == 0;
}

static void test_parts(void **state)
{
    const setting *s = *state;
    tr_reference *r = s->reference;
    tr_sequence sequence;
    int32_t target[1][MAX_STEPS];
    assert_true(r->tensor_count > 0);
    for (size_t i = 0; i < r->tensor_count; i++)
        r->tensors[i].seen = false;
    for (int i = 0; i < r->count; i++) {
        follower f = {.setting = s, .sentence = i, .step = -1};
        decode(s, &r->cases[0], &i, 1, 1, follow_parts, &f, &sequence, target);
        if (f.problem[0])
            fail_msg("sentence %d, %s", i, f.problem);
    }
    for (size_t i = 0; i < r->tensor_count; i++) {
        const tr_reference_tensor *t = &r->tensors[i];
        if (!t->seen && !is_optional(s, t))
            fail_msg("sentence %d, step %d, %s, layer %d was not computed", t->sentence, t->step, t->where, t->layer);
    }
}

/* ------------------------------------------------------------------------------------------------------- token by token */

static void test_cases(void **state)
{
    const setting *s = *state;
    const tr_reference *r = s->reference;
    tr_sequence sentences[TR_REFERENCE_LINES];
    int32_t targets[TR_REFERENCE_LINES][MAX_STEPS];
    int order[TR_REFERENCE_LINES];
    for (int i = 0; i < r->count; i++)
        order[i] = i;
    for (size_t c = 0; c < r->case_count; c++) {
        decode(s, &r->cases[c], order, r->count, 1, NULL, NULL, sentences, targets);
        for (int i = 0; i < r->count; i++)
            check_tokens(&r->cases[c].lines[i], &sentences[i], r->cases[c].name, i);
    }
}

/* ------------------------------------------------------------------------------------------------------------ same bits */

/* All intermediate results of one sentence: the encoder's output, and the logits of each step. */
typedef struct course {
    float *encoded;           /* [source_length, d_model] */
    float *logits[MAX_STEPS]; /* each [vocabulary], or NULL if none were computed */
    int steps;
} course;

/* The intermediate results of a batch, which are recorded (a batch of one) or compared. */
typedef struct courses {
    const setting *setting;
    const int *order; /* indices of the sentences of the batch */
    int count, step;
    bool record;
    course *alone; /* [sentences of the fixture] */
    char problem[256];
} courses;

static float *keep(const float *rows, size_t count)
{
    float *copy = malloc(count * sizeof *copy);
    assert_non_null(copy);
    return memcpy(copy, rows, count * sizeof *copy);
}

static void follow_encoded(courses *c, const float *rows, int count, int width)
{
    const float *row = rows, *end = rows + (size_t)count * (size_t)width;
    for (int i = 0; i < c->count; i++) {
        const size_t size = (size_t)c->setting->reference->cases[0].lines[c->order[i]].source_length * (size_t)width;
        course *alone = &c->alone[c->order[i]];
        if (c->record)
            alone->encoded = keep(row, size);
        else if (row + size > end || memcmp(row, alone->encoded, size * sizeof *row) != 0)
            snprintf(c->problem, sizeof c->problem, "encoder rows of sentence %d differ", c->order[i]);
        row += size;
    }
}

static void follow_logits(courses *c, const float *rows, int width)
{
    const size_t size = (size_t)width;
    for (int i = 0, row = 0; i < c->count; i++) {
        course *alone = &c->alone[c->order[i]];
        if (c->record)
            alone->logits[c->step] = keep(rows, size);
        else if (c->step < alone->steps && alone->logits[c->step] &&
                 memcmp(rows + size * (size_t)row, alone->logits[c->step], size * sizeof *rows) != 0 && !c->problem[0])
            snprintf(c->problem, sizeof c->problem, "step %d: logits of sentence %d differ", c->step, c->order[i]);
        row += c->record || c->step < alone->steps; /* finished sentences have left the batch */
    }
}

static void follow_courses(void *argument, const char *where, int layer, const float *rows, int count, int width)
{
    courses *c = argument;
    const tr_config *config = &c->setting->reference->package.config;
    const bool last = config->final_norm ? strcmp(where, "encoder.output") == 0
                                         : strcmp(where, "encoder") == 0 && layer == config->encoder_layers - 1;
    c->step += strcmp(where, "target.embedding") == 0;
    if (last)
        follow_encoded(c, rows, count, width);
    if (strcmp(where, "logits") == 0 && c->step < MAX_STEPS)
        follow_logits(c, rows, width);
    if (c->record)
        c->alone[c->order[0]].steps = c->step + 1;
}

/* Each sentence alone: records its results, and compares tokens and largest logits with the reference. */
static course *record_courses(const setting *s)
{
    const tr_reference *r = s->reference;
    const tr_config *config = &r->package.config;
    course *alone = calloc((size_t)r->count, sizeof *alone);
    assert_non_null(alone);
    for (int i = 0; i < r->count; i++) {
        const tr_reference_line *line = &r->cases[0].lines[i];
        courses c = {.setting = s, .order = &i, .count = 1, .step = -1, .record = true, .alone = alone};
        tr_sequence sequence;
        int32_t target[1][MAX_STEPS];
        decode(s, &r->cases[0], &i, 1, 1, follow_courses, &c, &sequence, target);
        check_tokens(line, &sequence, "alone", i);
        assert_int_equal(alone[i].steps, line->maxima_count);
        assert_non_null(alone[i].encoded);
        for (int step = 0; step < line->maxima_count; step++) {
            float largest = -INFINITY;
            if (!alone[i].logits[step] && step == 0 && config->forced_first_id >= 0)
                continue;
            assert_non_null(alone[i].logits[step]);
            for (int id = 0; id < config->target_vocabulary; id++)
                largest = fmaxf(largest, alone[i].logits[step][id]);
            if (!(fabsf(largest - line->maxima[step]) <= tolerance * fmaxf(1, fabsf(largest))))
                fail_msg("sentence %d, step %d: the largest logit is %g, the reference's is %g", i, step, (double)largest,
                         (double)line->maxima[step]);
        }
    }
    return alone;
}

static void free_courses(course *alone, int count)
{
    for (int i = 0; i < count; i++) {
        free(alone[i].encoded);
        for (int step = 0; step < MAX_STEPS; step++)
            free(alone[i].logits[step]);
    }
    free(alone);
}

static void compare_batch(const setting *s, course *alone, const int *order, int count, int threads)
{
    courses c = {.setting = s, .order = order, .count = count, .step = -1, .alone = alone};
    tr_sequence sentences[TR_REFERENCE_LINES];
    int32_t targets[TR_REFERENCE_LINES][MAX_STEPS];
    decode(s, &s->reference->cases[0], order, count, threads, follow_courses, &c, sentences, targets);
    if (c.problem[0])
        fail_msg("batch of %d from sentence %d on, %d threads: %s", count, order[0], threads, c.problem);
    for (int i = 0; i < count; i++)
        check_tokens(&s->reference->cases[0].lines[order[i]], &sentences[i], "batch", order[i]);
}

static void test_same_bits(void **state)
{
    const setting *s = *state;
    const int count = s->reference->count;
    int forwards[TR_REFERENCE_LINES], backwards[TR_REFERENCE_LINES];
    course *alone = record_courses(s);
    for (int i = 0; i < count; i++) {
        forwards[i] = i;
        backwards[i] = count - 1 - i;
    }
    for (int threads = 1; threads <= MAX_THREADS; threads++) {
        compare_batch(s, alone, forwards, count, threads);
        compare_batch(s, alone, backwards, count, threads);
        for (int i = 0; i < count; i++)
            compare_batch(s, alone, &forwards[i], 1, threads);
    }
    free_courses(alone, count);
}

static void test_levels_agree(void **state)
{
    const setting *s = *state; /* all levels of one fixture, one after the other, ended by an empty one */
    course *first = NULL;
    for (; s->reference; s++) {
        if (!s->kernels->fused)
            continue;
        course *this = record_courses(s);
        for (int i = 0; first && i < s->reference->count; i++)
            for (int step = 0; step < first[i].steps; step++) {
                const size_t size = (size_t)s->reference->package.config.target_vocabulary * sizeof(float);
                if (first[i].logits[step] && memcmp(first[i].logits[step], this[i].logits[step], size) != 0)
                    fail_msg("%s: sentence %d, step %d: logits differ from the first level's", s->kernels->level, i, step);
            }
        if (first)
            free_courses(this, s->reference->count);
        else
            first = this;
    }
    if (!first)
        skip();
    free_courses(first, s[-1].reference->count);
}

/* ----------------------------------------------------------------------------------------------------------------- main */

typedef struct test_list {
    struct CMUnitTest tests[FIXTURES * (3 * MAX_LEVELS + 1)];
    char names[FIXTURES * (3 * MAX_LEVELS + 1)][80];
    size_t count;
} test_list;

static void add_test(test_list *list, CMUnitTestFunction function, const char *kind, const setting *s, const char *level)
{
    char *name = list->names[list->count];
    snprintf(name, sizeof list->names[0], "%s, %s: %s", s->reference->name, level, kind);
    list->tests[list->count++] = (struct CMUnitTest){name, function, NULL, NULL, (void *)(uintptr_t)s};
}

static void add_fixture(test_list *list, setting *settings, const char *name, const tr_kernels *const *kernels, int levels)
{
    tr_reference *reference = tr_reference_load(TR_FIXTURES, name);
    for (int i = 0; i < levels; i++) {
        setting *s = &settings[i];
        tr_error error;
        s->reference = reference;
        s->kernels = kernels[i];
        if (tr_network_create(&reference->package.config, &reference->package.weights, TR_COMPUTE_F32, s->kernels,
                              &s->network, &error)) {
            fprintf(stderr, "fixture %s: %s\n", name, error.message);
            exit(1);
        }
        add_test(list, test_parts, "part by part", s, s->kernels->level);
        add_test(list, test_cases, "token by token", s, s->kernels->level);
#if defined(TR_EMULATED) /* slow: only the best level */
        if (i < levels - 1)
            continue;
#endif
        add_test(list, test_same_bits, "same bits alone, in batches and with threads", s, s->kernels->level);
    }
    add_test(list, test_levels_agree, "same bits", settings, "fused levels");
}

int main(void)
{
    static test_list list;
    static setting settings[FIXTURES][MAX_LEVELS + 1];
    const tr_kernels *kernels[TR_LEVELS];
    const int levels = tr_kernels_available(kernels);
    for (int i = 0; i < FIXTURES; i++)
        add_fixture(&list, settings[i], fixture_names[i], kernels, levels);
    const int failed = _cmocka_run_group_tests("reference", list.tests, list.count, NULL, NULL);
    for (int i = 0; i < FIXTURES; i++) {
        for (int level = 0; level < levels; level++)
            tr_network_destroy(settings[i][level].network);
        tr_reference_free(settings[i][0].reference);
    }
    return failed != 0;
}
