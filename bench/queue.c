/* Measures a queue: bench/queue MODEL FILE, on one core best (taskset -c 0).
 *
 * 1. Sentences per second that 64 threads reach which submit one line at a time and wait for it, beside those of
 * tr_translate with all lines at once; the lines of FILE should differ.
 * 2. The time that a line of high priority takes while 10,000 lines of normal priority run, beside its time alone.
 * 3. CPU time and wake-ups of an idle queue in ten seconds. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <translate/translate.h>

enum { SUBMITTERS = 64, ROUNDS = 5, SHORT = 1000, LONG = 10000 };

static const char **lines;
static size_t line_count;
static tr_queue *queue;
static tr_options *one_thread, *high;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void check(tr_status status, const tr_error *error)
{
    if (status == TR_OK)
        return;
    fprintf(stderr, "queue: %s\n", error->message);
    exit(1);
}

static void read_lines(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t size = 0, capacity = 0;
    if (!file) {
        fprintf(stderr, "queue: %s cannot be opened\n", path);
        exit(1);
    }
    for (ssize_t length; (length = getline(&line, &size, file)) > 0;) {
        if (line_count == capacity) {
            capacity = capacity ? 2 * capacity : 1024;
            lines = realloc(lines, capacity * sizeof *lines);
        }
        if (line[length - 1] == '\n')
            line[length - 1] = 0;
        lines[line_count++] = strdup(line);
    }
    free(line);
    fclose(file);
}

/* ------------------------------------------------------------------------------------------------------------ throughput */

static atomic_size_t next_line;

static tr_event *translate_line(const char *line, const tr_options *options)
{
    tr_ticket ticket;
    tr_error error;
    check(tr_queue_submit(queue, &line, NULL, 1, options, &ticket, &error), &error);
    return tr_queue_wait(queue, ticket, -1);
}

static void *submit_lines(void *argument)
{
    (void)argument;
    for (size_t i; (i = atomic_fetch_add(&next_line, 1)) < line_count;)
        tr_event_free(translate_line(lines[i], NULL));
    return NULL;
}

static double by_queue(void)
{
    pthread_t threads[SUBMITTERS];
    const double begin = seconds();
    atomic_store(&next_line, 0);
    for (int t = 0; t < SUBMITTERS; t++)
        if (pthread_create(&threads[t], NULL, submit_lines, NULL) != 0)
            exit(1);
    for (int t = 0; t < SUBMITTERS; t++)
        pthread_join(threads[t], NULL);
    return (double)line_count / (seconds() - begin);
}

static double by_call(tr_context *context)
{
    tr_results *results;
    tr_error error;
    const double begin = seconds();
    check(tr_translate(context, lines, NULL, line_count, one_thread, &results, &error), &error);
    const double rate = (double)line_count / (seconds() - begin);
    tr_results_free(results);
    return rate;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure_throughput(const tr_model *model)
{
    double calls[ROUNDS], queues[ROUNDS];
    tr_context *context;
    tr_error error;
    check(tr_context_create(model, one_thread, &context, &error), &error);
    by_call(context);
    by_queue();
    for (int r = 0; r < ROUNDS; r++) {
        calls[r] = by_call(context);
        queues[r] = by_queue();
    }
    qsort(calls, ROUNDS, sizeof *calls, compare);
    qsort(queues, ROUNDS, sizeof *queues, compare);
    const double call = calls[ROUNDS / 2], mine = queues[ROUNDS / 2];
    printf("tr_translate %.0f sentences/s, %d submitters %.0f: %.3f\n", call, SUBMITTERS, mine, mine / call);
    tr_context_destroy(context);
}

/* --------------------------------------------------------------------------------------------------------------- latency */

static void measure_latency(const char *what, double times[], double *p50, double *p99)
{
    for (int i = 0; i < SHORT; i++) {
        const struct timespec pause = {.tv_nsec = 1000000 + i * 7919 % 3000000}; /* not in step with the batch */
        nanosleep(&pause, NULL);
        const double begin = seconds();
        tr_event_free(translate_line(lines[(size_t)i % 50 * (line_count / 50)], high));
        times[i] = seconds() - begin;
    }
    qsort(times, SHORT, sizeof *times, compare);
    *p50 = times[SHORT / 2] * 1e3;
    *p99 = times[SHORT * 99 / 100] * 1e3;
    printf("%s: p50 %.2f ms, p99 %.2f ms\n", what, *p50, *p99);
}

static void measure_priority(void)
{
    static double times[SHORT];
    static const char *many[LONG];
    double p50, p99, p50_beside, p99_beside;
    tr_ticket job;
    tr_error error;
    for (size_t i = 0; i < LONG; i++)
        many[i] = lines[i % line_count];
    measure_latency("a line alone", times, &p50, &p99);
    check(tr_queue_submit(queue, many, NULL, LONG, NULL, &job, &error), &error);
    measure_latency("beside 10,000 lines", times, &p50_beside, &p99_beside);
    printf("ratio: p50 %.2f, p99 %.2f; %s\n", p50_beside / p50, p99_beside / p99,
           tr_queue_cancel(queue, job) ? "the lines still ran" : "the lines were done before: measure again with more");
    for (tr_event *event; (event = tr_queue_wait(queue, job, -1));)
        tr_event_free(event);
}

static void measure_idle(void)
{
    struct rusage before, after;
    const struct timespec pause = {.tv_sec = 10};
    getrusage(RUSAGE_SELF, &before);
    nanosleep(&pause, NULL);
    getrusage(RUSAGE_SELF, &after);
    const double user = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1e6 +
                        (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec);
    const double kernel = (double)(after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1e6 +
                          (double)(after.ru_stime.tv_usec - before.ru_stime.tv_usec);
    printf("idle for 10 s: %.0f us of CPU time, %ld context switches, with this program's own sleep\n", user + kernel,
           after.ru_nvcsw - before.ru_nvcsw + after.ru_nivcsw - before.ru_nivcsw);
}

int main(int argc, char **argv)
{
    tr_model *model;
    tr_error error;
    if (argc != 3) {
        fprintf(stderr, "usage: queue MODEL FILE\n");
        return 2;
    }
    read_lines(argv[2]);
    if (line_count < 50) {
        fprintf(stderr, "queue: %s has fewer than 50 lines\n", argv[2]);
        return 1;
    }
    check(tr_model_open(argv[1], NULL, &model, &error), &error);
    check(tr_options_create(&one_thread, &error), &error);
    check(tr_options_set_int(one_thread, "threads", 1, &error), &error);
    check(tr_options_set_int(one_thread, "use_cache", 0, &error), &error);
    check(tr_options_create(&high, &error), &error);
    check(tr_options_set_string(high, "priority", "high", &error), &error);
    check(tr_queue_create(model, one_thread, &queue, &error), &error);
    measure_throughput(model);
    measure_priority();
    measure_idle();
    tr_queue_destroy(queue);
    tr_options_free(one_thread);
    tr_options_free(high);
    tr_model_close(model);
    for (size_t i = 0; i < line_count; i++)
        free((char *)(uintptr_t)lines[i]);
    free(lines);
    return 0;
}
