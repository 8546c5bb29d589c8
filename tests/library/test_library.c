/* The public interface on the small model. The words of translations are not checked here (tests/default_model does that),
 * but that they do not depend on threads, batches, neighbours and repetitions. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "api/engine.h"

static const char *const texts[] = {
    "今天天气很好",
    "你好。再见！",
    "",
    "  \t ",
    " 他说：“明天上午九点，我们在学校门口见。” \r",
    "第一行。\n第二行。\n\n第三行",
    "今天天气很好",
    "1. 北京是中国的首都。\u30002. 上海是中国最大的城市。",
    "我的电脑装的是Windows 11，你的呢？",
    "😀\u200b",
    "Hello, world! This is not Chinese.",
    "谢谢",
    "虽然他很累，但是他还是坚持把工作做完了；大家都觉得他非常了不起，可是他自己却什么也没有说。",
    "你好。你好。你好。",
};
enum { COUNT = sizeof texts / sizeof *texts };

static tr_model *model;
static tr_result *reference; /* [COUNT], one thread, one sentence at a time */

static tr_context *make_context(int threads, int batch_size, tr_thread_backend backend)
{
    tr_context_options options = tr_context_default_options();
    tr_context *context;
    tr_error error;
    options.threads = threads;
    options.batch_size = batch_size;
    options.backend = backend;
    if (tr_make_context(model, &options, &context, &error))
        fail_msg("%s", error.message);
    return context;
}

static tr_result *translate(tr_context *context, const char *const *lines, const size_t *sizes, size_t count,
                            const tr_translate_options *options)
{
    tr_result *results;
    tr_error error;
    if (tr_translate_texts(context, lines, sizes, count, options, &results, &error))
        fail_msg("%s", error.message);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(strlen(results[i].text), results[i].size);
    return results;
}

/* Equal but for TR_FLAG_REPEATED. */
static void check_equal(const tr_result *got, const tr_result *expected, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(got[i].text, expected[i].text);
        assert_int_equal(got[i].sentences, expected[i].sentences);
        assert_int_equal(got[i].source_tokens, expected[i].source_tokens);
        assert_int_equal(got[i].target_tokens, expected[i].target_tokens);
        assert_int_equal(got[i].flags & ~TR_FLAG_REPEATED, expected[i].flags & ~TR_FLAG_REPEATED);
    }
}

static void expect_failure(tr_status status, const tr_error *error, tr_status expected, const char *part)
{
    assert_int_equal(status, expected);
    assert_int_equal(error->status, expected);
    if (!strstr(error->message, part))
        fail_msg("\"%s\" does not say \"%s\"", error->message, part);
    assert_null(strchr(error->message, '\n'));
    assert_int_not_equal(error->message[0], ':'); /* the message names something */
}

static int set_up(void **state)
{
    (void)state;
    tr_error error;
    if (tr_open_model(TR_MODEL, NULL, &model, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return -1;
    }
    tr_context *context = make_context(1, 1, TR_THREADS_OPENMP);
    reference = translate(context, texts, NULL, COUNT, NULL);
    tr_context_destroy(context);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_result_array_free(reference, COUNT);
    tr_model_close(model);
    return 0;
}

/* ------------------------------------------------------------------------------------------------------- translation */

static void threads_and_batches_change_nothing(void **state)
{
    (void)state;
    static const int settings[][2] = {{1, 32}, {2, 1}, {2, 2}, {2, 32}, {3, 5}, {16, 32}}; /* threads, batch size */
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++)
        for (int backend = TR_THREADS_OPENMP; backend <= TR_THREADS_POSIX; backend++) {
            tr_context *context = make_context(settings[s][0], settings[s][1], (tr_thread_backend)backend);
            for (int reuse = 0; reuse < 2; reuse++) {
                tr_translate_options options = tr_translate_default_options();
                options.use_cache = reuse;
                tr_result *results = translate(context, texts, NULL, COUNT, &options);
                check_equal(results, reference, COUNT);
                tr_result_array_free(results, COUNT);
            }
            tr_context_destroy(context);
        }
}

static void texts_do_not_depend_on_each_other(void **state)
{
    (void)state;
    tr_context *context = make_context(2, 32, TR_THREADS_OPENMP);
    tr_translate_options options = tr_translate_default_options();
    options.use_cache = false;
    for (size_t i = 0; i < COUNT; i++) {
        tr_result *result = translate(context, &texts[i], NULL, 1, &options);
        check_equal(result, &reference[i], 1);
        tr_result_array_free(result, 1);
    }
    tr_context_destroy(context);
}

static void white_space_and_blank_texts_are_kept(void **state)
{
    (void)state;
    assert_string_equal(reference[2].text, "");
    assert_string_equal(reference[3].text, "  \t ");
    assert_int_equal(reference[3].sentences, 0);
    assert_int_equal(reference[4].text[0], ' ');
    assert_string_equal(reference[4].text + reference[4].size - 2, " \r");
    const char *first = strchr(reference[5].text, '\n');
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "\n\n"));
    assert_int_equal(reference[5].sentences, 3);
    assert_non_null(strstr(reference[7].text, "\u3000"));
    assert_int_equal(reference[1].sentences, 2);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(reference[i].flags & ~(TR_FLAG_REPEATED | TR_FLAG_NUMBER | TR_FLAG_PASSED_THROUGH), 0);
}

/* Several sentences give what each gives alone, with a space between them. */
static void sentences_are_translated_one_by_one(void **state)
{
    (void)state;
    static const char *const parts[] = {"你好。", "再见！"};
    tr_context *context = make_context(1, 32, TR_THREADS_OPENMP);
    tr_result *alone = translate(context, parts, NULL, 2, NULL);
    char joined[1024];
    snprintf(joined, sizeof joined, "%s %s", alone[0].text, alone[1].text);
    assert_string_equal(reference[1].text, joined);
    tr_result_array_free(alone, 2);
    tr_translate_options options = tr_translate_default_options();
    options.split = TR_SPLIT_NEVER;
    tr_result *whole = translate(context, &texts[1], NULL, 1, &options);
    assert_int_equal(whole->sentences, 1);
    assert_true(whole->source_tokens > 0 && whole->target_tokens > 0);
    tr_result_array_free(whole, 1);
    tr_context_destroy(context);
}

static void repeated_texts_are_flagged(void **state)
{
    (void)state;
    assert_int_equal(reference[0].flags, 0);
    assert_int_equal(reference[6].flags, TR_FLAG_REPEATED);
    assert_string_equal(reference[6].text, reference[0].text);
    tr_context *context = make_context(1, 32, TR_THREADS_OPENMP);
    tr_translate_options options = tr_translate_default_options();
    for (int call = 0; call < 3; call++) {
        options.max_length = call < 2 ? 512 : 2;
        tr_result *result = translate(context, texts, NULL, 1, &options);
        /* other options, another translation */
        assert_int_equal(result->flags, call == 0 ? 0 : call == 1 ? TR_FLAG_REPEATED : TR_FLAG_MAX_LENGTH);
        tr_result_array_free(result, 1);
    }
    options.use_cache = false;
    tr_result *result = translate(context, (const char *const[]){texts[0], texts[0]}, NULL, 2, &options);
    assert_int_equal((result[0].flags | result[1].flags) & TR_FLAG_REPEATED, 0);
    tr_result_array_free(result, 2);
    tr_context_destroy(context);
}

static void bad_bytes_are_replaced_and_flagged(void **state)
{
    (void)state;
    static const char bad[] = "今天\xff天气\0很好\xe4\xbd";
    static const char good[] = "今天\ufffd天气\ufffd很好\ufffd";
    const char *const both[] = {bad, good};
    const size_t sizes[] = {sizeof bad - 1, sizeof good - 1};
    tr_context *context = make_context(1, 32, TR_THREADS_OPENMP);
    tr_result *results = translate(context, both, sizes, 2, NULL);
    assert_int_equal(results[0].flags, TR_FLAG_INVALID_UTF8);
    assert_int_equal(results[1].flags, 0);
    assert_string_equal(results[0].text, results[1].text);
    tr_result_array_free(results, 2);
    tr_context_destroy(context);
}

static void lengths_are_kept(void **state)
{
    (void)state;
    tr_context *context = make_context(2, 4, TR_THREADS_OPENMP);
    tr_translate_options options = tr_translate_default_options();
    options.max_length = 3;
    tr_result *results = translate(context, texts, NULL, COUNT, &options);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(results[i].target_tokens <= 3 * results[i].sentences);
    assert_int_equal(results[0].flags, TR_FLAG_MAX_LENGTH);
    tr_result_array_free(results, COUNT);
    tr_tokens sources[COUNT], *outputs;
    tr_error error;
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(tr_source_tokens(model, texts[i], strlen(texts[i]), &sources[i], &error), TR_OK);
    static const int lengths[] = {1, 17, 40};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        options.min_length = options.max_length = lengths[l];
        assert_int_equal(tr_translate_ids(context, sources, COUNT, &options, &outputs, &error), TR_OK);
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(outputs[i].count, lengths[l]);
        tr_tokens_array_free(outputs, COUNT);
    }
    options.max_length = 512;
    options.min_length = 20;
    assert_int_equal(tr_translate_ids(context, sources, COUNT, &options, &outputs, &error), TR_OK);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(outputs[i].count >= 20);
        tr_tokens_free(&sources[i]);
    }
    tr_tokens_array_free(outputs, COUNT);
    tr_context_destroy(context);
}

/* ---------------------------------------------------------------------------------------------------------- long input */

static char *repeat(const char *unit, size_t size)
{
    const size_t length = strlen(unit);
    char *text = malloc(size + length + 1);
    assert_non_null(text);
    size_t n = 0;
    for (; n < size; n += length)
        memcpy(text + n, unit, length);
    text[n] = 0;
    return text;
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    char *marked = repeat("我们去公园散步，", 20000), *bare = repeat("天气", 6000), *spaces = repeat(" ", 10000);
    char *pair = malloc(strlen(spaces) + 16);
    sprintf(pair, "你好。%s谢谢", spaces);
    const char *const lines[] = {marked, bare, spaces, pair};
    tr_context *context = make_context(2, 32, TR_THREADS_OPENMP);
    tr_translate_options options = tr_translate_default_options();
    options.max_length = 150;
    tr_result *results = translate(context, lines, NULL, 4, &options);
    assert_true(results[0].flags & TR_FLAG_CUT);
    assert_true(results[1].flags & TR_FLAG_CUT);
    assert_int_equal(results[0].sentences, 1);
    assert_true(results[0].source_tokens > 512);
    assert_string_equal(results[2].text, spaces);
    assert_int_equal(results[3].flags, 0);
    assert_non_null(strstr(results[3].text, spaces));
    tr_result_array_free(results, 4);
    tr_context_destroy(context);
    free(marked);
    free(bare);
    free(spaces);
    free(pair);
}

/* -------------------------------------------------------------------------------------------------------------- progress */

typedef struct watch {
    tr_progress last;
    int calls, stop_at;
} watch;

static int watch_progress(void *argument, const tr_progress *progress)
{
    watch *w = argument;
    assert_true(progress->texts_done >= w->last.texts_done && progress->texts_done <= progress->texts);
    assert_true(progress->source_tokens >= w->last.source_tokens && progress->target_tokens >= w->last.target_tokens);
    w->last = *progress;
    return ++w->calls == w->stop_at;
}

static void progress_ends_at_the_total(void **state)
{
    (void)state;
    watch w = {.stop_at = -1};
    tr_translate_options options = tr_translate_default_options();
    options.on_progress = watch_progress;
    options.on_progress_argument = &w;
    tr_context *context = make_context(2, 2, TR_THREADS_POSIX);
    tr_result *results = translate(context, texts, NULL, COUNT, &options);
    assert_true(w.calls > 1);
    assert_int_equal(w.last.texts, COUNT);
    assert_int_equal(w.last.texts_done, COUNT);
    tr_result_array_free(results, COUNT);
    tr_context_destroy(context);
}

static void callback_cancels(void **state)
{
    (void)state;
    tr_translate_options options = tr_translate_default_options();
    tr_context *context = make_context(2, 1, TR_THREADS_OPENMP);
    watch w = {.stop_at = 1};
    tr_result *results = (tr_result *)texts;
    tr_error error;
    options.on_progress = watch_progress;
    options.on_progress_argument = &w;
    tr_status status = tr_translate_texts(context, texts, NULL, COUNT, &options, &results, &error);
    expect_failure(status, &error, TR_ERROR_CANCELLED, "cancelled");
    assert_null(results);
    assert_int_equal(w.calls, 1);
    results = translate(context, texts, NULL, COUNT, NULL); /* the context stays usable */
    check_equal(results, reference, COUNT);
    tr_result_array_free(results, COUNT);
    tr_context_destroy(context);
}

static void *cancel_often(void *argument)
{
    tr_context *context = argument;
    for (int i = 0; i < 20000; i++) {
        tr_context_cancel(context);
        sched_yield();
    }
    return NULL;
}

static int cancel_here(void *argument, const tr_progress *progress)
{
    (void)progress;
    tr_context_cancel(argument);
    return 0;
}

/* The call that runs ends, the next one does not. */
static void context_cancels(void **state)
{
    (void)state;
    tr_translate_options options = tr_translate_default_options();
    tr_context *context = make_context(2, 1, TR_THREADS_POSIX);
    tr_result *results;
    tr_error error;
    options.on_progress = cancel_here;
    options.on_progress_argument = context;
    tr_status status = tr_translate_texts(context, texts, NULL, COUNT, &options, &results, &error);
    expect_failure(status, &error, TR_ERROR_CANCELLED, "cancelled");
    tr_context_cancel(context);
    tr_context_cancel(NULL);
    results = translate(context, texts, NULL, COUNT, NULL);
    check_equal(results, reference, COUNT);
    tr_result_array_free(results, COUNT);
    pthread_t thread;
    int cancelled = 0;
    options = tr_translate_default_options();
    options.use_cache = false;
    assert_int_equal(pthread_create(&thread, NULL, cancel_often, context), 0);
    for (int i = 0; i < 20; i++) {
        status = tr_translate_texts(context, texts, NULL, COUNT, &options, &results, &error);
        cancelled += status == TR_ERROR_CANCELLED;
        assert_true(status == TR_OK || status == TR_ERROR_CANCELLED);
        tr_result_array_free(results, COUNT);
    }
    pthread_join(thread, NULL);
    assert_true(cancelled > 0);
    tr_context_destroy(context);
}

/* ------------------------------------------------------------------------------------------------------ results in order */

/* The results of the callbacks. They come from several threads, but one at a time, so plain integers suffice. */
typedef struct taker {
    const tr_result *at[COUNT]; /* address of each result */
    char *text[COUNT];          /* a copy of its text */
    size_t taken;
    int calls, stop_at;
    bool inside, wrong;
} taker;

static int take_results(void *argument, size_t first, const tr_result *results, size_t count)
{
    taker *t = argument;
    t->wrong |= t->inside || first != t->taken || !count || first + count > COUNT;
    t->inside = true;
    for (size_t i = 0; !t->wrong && i < count; i++, t->taken++) {
        t->at[t->taken] = &results[i];
        t->text[t->taken] = strdup(results[i].text);
    }
    t->inside = false;
    return ++t->calls == t->stop_at;
}

static void free_taker(taker *t)
{
    for (size_t i = 0; i < t->taken; i++)
        free(t->text[i]);
}

static void results_come_in_order_as_they_are_done(void **state)
{
    (void)state;
    static const int settings[][2] = {{1, 1}, {1, 32}, {2, 1}, {2, 3}, {3, 2}, {9, 32}}; /* threads, batch size */
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++)
        for (int backend = TR_THREADS_OPENMP; backend <= TR_THREADS_POSIX; backend++) {
            tr_context *context = make_context(settings[s][0], settings[s][1], (tr_thread_backend)backend);
            tr_translate_options options = tr_translate_default_options();
            for (int again = 0; again < 2; again++) {
                taker t = {.stop_at = -1};
                options.on_result = take_results;
                options.on_result_argument = &t;
                tr_result *results = translate(context, texts, NULL, COUNT, &options);
                assert_false(t.wrong);
                assert_int_equal(t.taken, COUNT);
                for (size_t i = 0; i < COUNT; i++) {
                    assert_ptr_equal(t.at[i], &results[i]); /* the results have not moved */
                    assert_string_equal(t.text[i], reference[i].text);
                }
                if (again) /* all texts are in the cache: one call */
                    assert_int_equal(t.calls, 1);
                else if (settings[s][1] == 1) /* with one thread and batch size 1, one sentence after the other */
                    assert_true(t.calls > 1); /* a sentence with a number may be translated again, and others wait */
                check_equal(results, reference, COUNT);
                tr_result_array_free(results, COUNT);
                free_taker(&t);
            }
            tr_context_destroy(context);
        }
}

static void result_callback_can_cancel(void **state)
{
    (void)state;
    for (int stop_at = 1; stop_at <= 3; stop_at++) {
        /* the number of calls depends on the threads, unless there is one thread with one sentence at a time */
        tr_context *context = stop_at == 1 ? make_context(2, 2, TR_THREADS_POSIX) : make_context(1, 1, TR_THREADS_POSIX);
        tr_translate_options options = tr_translate_default_options();
        taker t = {.stop_at = stop_at};
        tr_result *results = (tr_result *)texts;
        tr_error error;
        options.on_result = take_results;
        options.on_result_argument = &t;
        const tr_status status = tr_translate_texts(context, texts, NULL, COUNT, &options, &results, &error);
        expect_failure(status, &error, TR_ERROR_CANCELLED, "cancelled");
        assert_null(results);
        assert_false(t.wrong);
        assert_int_equal(t.calls, stop_at);
        for (size_t i = 0; i < t.taken; i++)
            assert_string_equal(t.text[i], reference[i].text);
        free_taker(&t);
        results = translate(context, texts, NULL, COUNT, NULL); /* the context stays usable */
        check_equal(results, reference, COUNT);
        tr_result_array_free(results, COUNT);
        tr_context_destroy(context);
    }
}

/* Results that need no computing are delivered before anything is computed. */
static void blank_texts_are_ready_at_once(void **state)
{
    (void)state;
    static const char *const blank[] = {"", " ", "\n", "", " \r"};
    tr_context *context = make_context(2, 32, TR_THREADS_POSIX);
    tr_translate_options options = tr_translate_default_options();
    taker t = {.stop_at = -1};
    options.on_result = take_results;
    options.on_result_argument = &t;
    tr_result *results = translate(context, blank, NULL, 5, &options);
    assert_int_equal(t.calls, 1);
    assert_int_equal(t.taken, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(t.text[i], blank[i]);
    tr_result_array_free(results, 5);
    free_taker(&t);
    tr_context_destroy(context);
}

/* --------------------------------------------------------------------------------------------------------- idle contexts */

static double cpu_milliseconds(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return 1e3 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-3 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void sleep_milliseconds(long milliseconds)
{
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* An idle context takes no CPU time between calls: with the default options its threads sleep at once. */
static void idle_threads_sleep(void **state)
{
    (void)state;
    static const int settings[][2] = {{2, 1}, {2, 32}, {5, 32}}; /* threads, batch size */
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
        tr_context_options options = tr_context_default_options();
        tr_context *context;
        options.threads = settings[s][0];
        options.batch_size = settings[s][1];
        assert_int_equal(tr_make_context(model, &options, &context, NULL), TR_OK);
        tr_result *results = translate(context, texts, NULL, COUNT, NULL);
        tr_result_array_free(results, COUNT);
        sleep_milliseconds(5);
        const double before = cpu_milliseconds();
        sleep_milliseconds(500);
        const double used = cpu_milliseconds() - before;
        if (used > 3)
            fail_msg("%d threads, batch size %d: %.1f ms of CPU time in 500 ms of rest", settings[s][0], settings[s][1],
                     used);
        tr_context_destroy(context);
    }
}

/* --------------------------------------------------------------------------------------------------------------- tokens */

static void tokens_and_text_agree(void **state)
{
    (void)state;
    tr_context *context = make_context(1, 32, TR_THREADS_OPENMP);
    tr_tokens source, *target;
    tr_error error;
    char *text;
    size_t size, piece_size;
    assert_int_equal(tr_source_tokens(model, texts[0], strlen(texts[0]), &source, &error), TR_OK);
    assert_int_equal(source.count, reference[0].source_tokens);
    assert_int_equal(tr_translate_ids(context, &source, 1, NULL, &target, &error), TR_OK);
    assert_int_equal(target->count, reference[0].target_tokens);
    assert_int_equal(tr_tokens_text(model, target->ids, target->count, &text, &size, &error), TR_OK);
    assert_string_equal(text, reference[0].text);
    assert_int_equal(size, strlen(text));
    for (size_t i = 0; i < source.count; i++) {
        const char *piece = tr_source_piece(model, source.ids[i], &piece_size);
        assert_non_null(piece);
        assert_int_equal(tr_source_id(model, piece, piece_size), source.ids[i]);
    }
    assert_null(tr_source_piece(model, -1, &piece_size));
    assert_null(tr_target_piece(model, 1 << 30, NULL));
    assert_int_equal(tr_target_id(model, "no such piece", 13), -1);
    tr_free(text);
    tr_tokens_free(&source);
    tr_tokens_array_free(target, 1);
    const tr_tokens empty = {NULL, 0};
    assert_int_equal(tr_translate_ids(context, &empty, 1, NULL, &target, &error), TR_OK);
    tr_tokens_array_free(target, 1);
    assert_int_equal(tr_translate_ids(context, NULL, 0, NULL, &target, &error), TR_OK);
    tr_tokens_array_free(target, 0);
    assert_int_equal(tr_tokens_text(model, NULL, 0, &text, NULL, &error), TR_OK);
    assert_string_equal(text, "");
    tr_free(text);
    tr_context_destroy(context);
}

static void info_is_filled(void **state)
{
    (void)state;
    tr_model_info info;
    tr_model_get_info(model, &info);
    assert_string_equal(info.architecture, "marian");
    assert_string_equal(info.source_language, "zh");
    assert_string_equal(info.target_language, "en");
    assert_true(info.d_model > 0 && info.encoder_layers > 0 && info.max_source_length > 1 && info.has_tokenizer);
    assert_true(info.parameters > 0 && info.file_size > 0 && info.eos_id >= 0 && *info.cpu && *info.compute);
}

/* --------------------------------------------------------------------------------------------------------------- errors */

static void bad_models_are_refused(void **state)
{
    (void)state;
    tr_model *none = model;
    tr_error error;
    tr_model_options options = tr_model_default_options();
    expect_failure(tr_open_model("no/such/file.gguf", NULL, &none, &error), &error, TR_ERROR_IO, "no/such/file.gguf");
    assert_null(none);
    expect_failure(tr_open_model(NULL, NULL, &none, &error), &error, TR_ERROR_ARGUMENT, "path");
    expect_failure(tr_open_model("", NULL, &none, &error), &error, TR_ERROR_ARGUMENT, "tr_model_open: path is empty");
    assert_int_not_equal(tr_open_model("/dev/null", NULL, &none, NULL), TR_OK);
    assert_int_not_equal(tr_open_model("/", NULL, &none, &error), TR_OK);
    options.cpu = "z80";
    expect_failure(tr_open_model(TR_MODEL, &options, &none, &error), &error, TR_ERROR_ARGUMENT, "z80");
    options.cpu = NULL;
    options.load = (tr_load)7;
    expect_failure(tr_open_model(TR_MODEL, &options, &none, &error), &error, TR_ERROR_ARGUMENT, "load");
    options.load = TR_LOAD_MAP;
    options.compute = (tr_compute)99;
    expect_failure(tr_open_model(TR_MODEL, &options, &none, &error), &error, TR_ERROR_ARGUMENT, "compute");
    options = tr_model_default_options();
    options.shortlist = "";
    expect_failure(tr_open_model(TR_MODEL, &options, &none, &error), &error, TR_ERROR_ARGUMENT, "shortlist is empty");
    tr_model_close(NULL);
}

static void a_copied_model_translates_alike(void **state)
{
    (void)state;
    tr_model *shared = model, *copy;
    tr_model_options options = tr_model_default_options();
    options.load = TR_LOAD_COPY;
    tr_error error;
    assert_int_equal(tr_open_model(TR_MODEL, &options, &copy, &error), TR_OK);
    model = copy;
    tr_context *context = make_context(1, 32, TR_THREADS_OPENMP);
    tr_result *results = translate(context, texts, NULL, COUNT, NULL);
    check_equal(results, reference, COUNT);
    tr_result_array_free(results, COUNT);
    tr_context_destroy(context);
    tr_model_close(copy);
    model = shared;
}

static void expect_alike(const void *data, size_t size, tr_load load, void *owned)
{
    tr_model *shared = model;
    tr_model_options options = tr_model_default_options();
    tr_error error;
    options.load = load;
    if (tr_open_model_memory(data, size, &options, &model, &error) != TR_OK)
        fail_msg("%s", error.message);
    free(owned);
    tr_context *context = make_context(1, 32, TR_THREADS_POSIX);
    tr_result *results = translate(context, texts, NULL, COUNT, NULL);
    check_equal(results, reference, COUNT);
    tr_result_array_free(results, COUNT);
    tr_context_destroy(context);
    tr_model_close(model);
    model = shared;
}

static void models_in_memory_translate_alike(void **state)
{
    (void)state;
    FILE *file = fopen(TR_MODEL, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t)ftell(file);
    char *data = aligned_alloc(64, (size + 128) / 64 * 64), *shifted = malloc(size + 1), *copy = malloc(size);
    assert_true(data && shifted && copy);
    rewind(file);
    assert_int_equal(fread(data, 1, size, file), size);
    fclose(file);
    memcpy(shifted + 1, data, size);
    memcpy(copy, data, size);
    expect_alike(data, size, TR_LOAD_MAP, NULL);
    expect_alike(shifted + 1, size, TR_LOAD_MAP, shifted);
    expect_alike(copy, size, TR_LOAD_COPY, copy);
    tr_model *none = model;
    tr_error error;
    expect_failure(tr_open_model_memory(NULL, 0, NULL, &none, &error), &error, TR_ERROR_ARGUMENT, "data is NULL");
    assert_null(none);
    expect_failure(tr_open_model_memory(data, 3, NULL, &none, &error), &error, TR_ERROR_UNSUPPORTED, "memory: ");
    expect_failure(tr_open_model_memory(data, size / 2, NULL, &none, &error), &error, TR_ERROR_FORMAT, "memory: ");
    data[0] = 'g';
    expect_failure(tr_open_model_memory(data, size, NULL, &none, &error), &error, TR_ERROR_UNSUPPORTED, "GGUF");
    free(data);
}

static void the_program_asks_about_the_library(void **state)
{
    (void)state;
    char version[64];
    snprintf(version, sizeof version, "%d.%d.%d", TR_VERSION_MAJOR, TR_VERSION_MINOR, TR_VERSION_PATCH);
    assert_string_equal(version, TR_PROJECT_VERSION);
    assert_string_equal(tr_version(), TR_PROJECT_VERSION);
    assert_string_equal(tr_default_model_path(), TR_DEFAULT_MODEL);
    assert_string_equal(tr_cpu_level(0), "portable");
    assert_null(tr_cpu_level(-1));
    int count = 0;
    for (; tr_cpu_level(count); count++) {
        tr_model_options options = tr_model_default_options();
        tr_model *at_level;
        tr_model_info info;
        options.cpu = tr_cpu_level(count);
        assert_int_equal(tr_open_model(TR_MODEL, &options, &at_level, NULL), TR_OK);
        tr_model_get_info(at_level, &info);
        assert_string_equal(info.cpu, options.cpu);
        tr_model_close(at_level);
    }
    assert_null(tr_cpu_level(count + 1));
}

/* Without a memory of texts each one is computed again. */
static void the_cache_has_a_size(void **state)
{
    (void)state;
    for (int kept = 0; kept < 2; kept++) {
        tr_context_options options = tr_context_default_options();
        tr_context *context;
        options.threads = 1;
        options.cache_bytes *= (size_t)kept;
        assert_int_equal(tr_make_context(model, &options, &context, NULL), TR_OK);
        for (int again = 0; again < 2; again++) {
            tr_result *results = translate(context, texts, NULL, 1, NULL);
            assert_int_equal((results[0].flags & TR_FLAG_REPEATED) != 0, kept && again);
            tr_result_array_free(results, 1);
        }
        tr_context_destroy(context);
    }
}

static void bad_contexts_are_refused(void **state)
{
    (void)state;
    static const struct {
        int threads, batch_size, backend;
        const char *part;
    } cases[] = {{-1, 32, 0, "threads"},   {1 << 20, 32, 0, "threads"},   {1, 0, 0, "batch_size"},
                 {1, -5, 0, "batch_size"}, {1, 1 << 30, 0, "batch_size"}, {1, 32, 5, "backend"}};
    tr_context *context;
    tr_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tr_context_options options = {
            .threads = cases[i].threads, .batch_size = cases[i].batch_size, .backend = (tr_thread_backend)cases[i].backend};
        context = (tr_context *)&error;
        expect_failure(tr_make_context(model, &options, &context, &error), &error, TR_ERROR_ARGUMENT, cases[i].part);
        assert_null(context);
    }
    expect_failure(tr_make_context(NULL, NULL, &context, &error), &error, TR_ERROR_ARGUMENT, "model");
    tr_context_destroy(NULL);
    tr_result_array_free(NULL, 0);
    tr_tokens_array_free(NULL, 0);
    tr_tokens_free(NULL);
    tr_free(NULL);
}

static void bad_calls_are_refused(void **state)
{
    (void)state;
    static const struct {
        int max_length, min_length, split;
        const char *part;
    } cases[] = {{0, 0, 0, "max_length"},
                 {-1, 0, 0, "max_length"},
                 {5, 6, 0, "min_length"},
                 {5, -1, 0, "min_length"},
                 {5, 5, 3, "split"}};
    tr_context *context = make_context(1, 32, TR_THREADS_OPENMP);
    tr_result *results;
    tr_tokens *outputs;
    tr_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tr_translate_options options = tr_translate_default_options();
        options.max_length = cases[i].max_length;
        options.min_length = cases[i].min_length;
        options.split = (tr_split)cases[i].split;
        expect_failure(tr_translate_texts(context, texts, NULL, 1, &options, &results, &error), &error, TR_ERROR_ARGUMENT,
                       cases[i].part);
        assert_null(results);
    }
    const char *const hole[] = {"a", NULL};
    expect_failure(tr_translate_texts(context, hole, NULL, 2, NULL, &results, &error), &error, TR_ERROR_ARGUMENT, "text 1");
    expect_failure(tr_translate_texts(NULL, texts, NULL, 1, NULL, &results, &error), &error, TR_ERROR_ARGUMENT, "context");
    results = translate(context, hole, (const size_t[]){1, 0}, 2, NULL); /* zero bytes need no pointer */
    assert_string_equal(results[1].text, "");
    tr_result_array_free(results, 2);
    results = translate(context, NULL, NULL, 0, NULL);
    tr_result_array_free(results, 0);
    int32_t ids[2000] = {0};
    tr_tokens source = {ids, 2000};
    expect_failure(tr_translate_ids(context, &source, 1, NULL, &outputs, &error), &error, TR_ERROR_ARGUMENT, "source 0");
    source.count = 2;
    ids[1] = -1;
    expect_failure(tr_translate_ids(context, &source, 1, NULL, &outputs, &error), &error, TR_ERROR_ARGUMENT, "token 1");
    ids[1] = 1 << 30;
    expect_failure(tr_translate_ids(context, &source, 1, NULL, &outputs, &error), &error, TR_ERROR_ARGUMENT, "token 1");
    assert_null(outputs);
    assert_int_equal(tr_translate_ids(context, &source, 1, NULL, &outputs, NULL), TR_ERROR_ARGUMENT);
    tr_context_destroy(context);
}

/* ---------------------------------------------------------------------------------------------------- threads and fork */

static void *translate_everything(void *argument)
{
    int *good = argument;
    tr_context_options options = tr_context_default_options();
    tr_context *context;
    tr_result *results;
    options.threads = 2;
    options.backend = TR_THREADS_POSIX;
    options.batch_size = 3;
    if (tr_make_context(model, &options, &context, NULL))
        return NULL;
    *good = 1;
    for (int round = 0; round < 2; round++) {
        if (tr_translate_texts(context, texts, NULL, COUNT, NULL, &results, NULL)) {
            *good = 0;
            break;
        }
        for (size_t i = 0; i < COUNT; i++)
            *good = *good && !strcmp(results[i].text, reference[i].text);
        tr_result_array_free(results, COUNT);
    }
    tr_context_destroy(context);
    return NULL;
}

/* The first texts of a model are tokenized with a part of its pieces. */
static void the_first_text_of_a_model_translates_alike(void **state)
{
    (void)state;
    tr_model *const shared = model;
    for (int i = 0; i < COUNT; i++) {
        tr_error error;
        assert_int_equal(tr_open_model(TR_MODEL, NULL, &model, &error), TR_OK);
        tr_context *context = make_context(1, 1, TR_THREADS_OPENMP);
        tr_result *first = translate(context, &texts[i], NULL, 1, NULL);
        check_equal(first, &reference[i], 1);
        tr_result_array_free(first, 1);
        tr_context_destroy(context);
        tr_model_close(model);
    }
    model = shared;
}

static void threads_share_a_model(void **state)
{
    (void)state;
    enum { THREADS = 6 };
    pthread_t threads[THREADS];
    int good[THREADS] = {0};
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, translate_everything, &good[t]), 0);
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        assert_true(good[t]);
    }
}

/* A child process may use its parent's model; its contexts are its own, on POSIX threads. */
static void a_child_translates(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* ThreadSanitizer does not follow a child that starts threads */
#endif
    tr_context *before = make_context(2, 4, TR_THREADS_POSIX);
    tr_result *results = translate(before, texts, NULL, COUNT, NULL);
    tr_result_array_free(results, COUNT);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int good = 0;
        alarm(60);
        translate_everything(&good);
        _exit(good ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    results = translate(before, texts, NULL, COUNT, NULL);
    check_equal(results, reference, COUNT);
    tr_result_array_free(results, COUNT);
    tr_context_destroy(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_batches_change_nothing),
        cmocka_unit_test(texts_do_not_depend_on_each_other),
        cmocka_unit_test(white_space_and_blank_texts_are_kept),
        cmocka_unit_test(sentences_are_translated_one_by_one),
        cmocka_unit_test(repeated_texts_are_flagged),
        cmocka_unit_test(bad_bytes_are_replaced_and_flagged),
        cmocka_unit_test(lengths_are_kept),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(progress_ends_at_the_total),
        cmocka_unit_test(callback_cancels),
        cmocka_unit_test(context_cancels),
        cmocka_unit_test(results_come_in_order_as_they_are_done),
        cmocka_unit_test(result_callback_can_cancel),
        cmocka_unit_test(blank_texts_are_ready_at_once),
        cmocka_unit_test(idle_threads_sleep),
        cmocka_unit_test(tokens_and_text_agree),
        cmocka_unit_test(info_is_filled),
        cmocka_unit_test(bad_models_are_refused),
        cmocka_unit_test(a_copied_model_translates_alike),
        cmocka_unit_test(models_in_memory_translate_alike),
        cmocka_unit_test(the_program_asks_about_the_library),
        cmocka_unit_test(the_cache_has_a_size),
        cmocka_unit_test(bad_contexts_are_refused),
        cmocka_unit_test(bad_calls_are_refused),
        cmocka_unit_test(the_first_text_of_a_model_translates_alike),
        cmocka_unit_test(threads_share_a_model),
        cmocka_unit_test(a_child_translates),
    };
    return cmocka_run_group_tests_name("library", tests, set_up, tear_down);
}
