#include "serve/metrics.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "serve/cache.h"
#include "serve/models.h"
#include "util/buffer.h"

static const double bounds[] = {.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}; /* seconds */
enum { BOUNDS = sizeof bounds / sizeof *bounds };

typedef struct answer_count {
    const route *route; /* NULL: no route had the path */
    unsigned status;
    double count;
} answer_count;

typedef struct answer_times {
    const route *route;
    double counts[BOUNDS + 1]; /* up to each bound, but above the one before; and above the last */
    double seconds;
} answer_times;

/* Numbers are doubles, as Prometheus has them. */
struct metrics {
    answer_count *counts; /* [count_count] */
    answer_times *times;  /* [time_count] */
    size_t count_count, time_count;
    double left, source_tokens, target_tokens, sentences, hits, misses;
    double started; /* seconds since 1970 */
};

metrics *metrics_create(void)
{
    metrics *m = calloc(1, sizeof *m);
    if (m)
        m->started = (double)time(NULL);
    return m;
}

void metrics_free(metrics *m)
{
    if (!m)
        return;
    free(m->counts);
    free(m->times);
    free(m);
}

/* The place of an answer in both lists, which are as long as there are routes and kinds of answers. NULL: out of memory. */
static answer_count *find_count(metrics *m, const route *answered, unsigned status)
{
    for (size_t i = 0; i < m->count_count; i++)
        if (m->counts[i].route == answered && m->counts[i].status == status)
            return &m->counts[i];
    answer_count *list = realloc(m->counts, (m->count_count + 1) * sizeof *list);
    if (!list)
        return NULL;
    m->counts = list;
    list[m->count_count] = (answer_count){answered, status, 0};
    return &list[m->count_count++];
}

static answer_times *find_times(metrics *m, const route *answered)
{
    for (size_t i = 0; i < m->time_count; i++)
        if (m->times[i].route == answered)
            return &m->times[i];
    answer_times *list = realloc(m->times, (m->time_count + 1) * sizeof *list);
    if (!list)
        return NULL;
    m->times = list;
    list[m->time_count] = (answer_times){.route = answered};
    return &list[m->time_count++];
}

void metrics_answered(metrics *m, const route *answered, unsigned status, double seconds)
{
    answer_count *count = find_count(m, answered, status);
    answer_times *times = find_times(m, answered);
    size_t bound = 0;
    while (bound < BOUNDS && seconds > bounds[bound])
        bound++;
    if (count)
        count->count++;
    if (times) {
        times->counts[bound]++;
        times->seconds += seconds;
    }
}

void metrics_left(metrics *m)
{
    m->left++;
}

void metrics_translated(metrics *m, int64_t source_tokens, int64_t target_tokens, int64_t sentences)
{
    m->source_tokens += (double)source_tokens;
    m->target_tokens += (double)target_tokens;
    m->sentences += (double)sentences;
}

void metrics_cached(metrics *m, bool hit)
{
    *(hit ? &m->hits : &m->misses) += 1;
}

/* ------------------------------------------------------------------------------------------------------------------ text */

typedef struct page {
    tr_buffer text;
    bool good; /* false: out of memory */
} page;

static void print(page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* At most 255 characters. */
static void print(page *p, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    p->good = p->good && tr_buffer_string(&p->text, text);
}

static void print_header(page *p, const char *name, const char *type, const char *help)
{
    print(p, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void print_number(page *p, const char *name, const char *type, const char *help, double value)
{
    print_header(p, name, type, help);
    print(p, "%s %.15g\n", name, value);
}

static void print_quoted(page *p, const char *value)
{
    print(p, "\"");
    for (; p->good && *value; value++) {
        const char *escaped = *value == '\n' ? "\\n" : *value == '"' ? "\\\"" : *value == '\\' ? "\\\\" : NULL;
        p->good = escaped ? tr_buffer_string(&p->text, escaped) : tr_buffer_append(&p->text, value, 1);
    }
    print(p, "\"");
}

/* The beginning of a list of labels. */
static void print_route(page *p, const char *name, const route *answered)
{
    print(p, "%s{method=\"%s\",route=\"%s\"", name, answered ? answered->method : "", answered ? answered->path : "");
}

static void print_times(page *p, const answer_times *times)
{
    double count = 0;
    for (int i = 0; i < BOUNDS; i++) {
        count += times->counts[i];
        print_route(p, "translate_request_seconds_bucket", times->route);
        print(p, ",le=\"%g\"} %.15g\n", bounds[i], count);
    }
    count += times->counts[BOUNDS];
    print_route(p, "translate_request_seconds_bucket", times->route);
    print(p, ",le=\"+Inf\"} %.15g\n", count);
    print_route(p, "translate_request_seconds_sum", times->route);
    print(p, "} %.15g\n", times->seconds);
    print_route(p, "translate_request_seconds_count", times->route);
    print(p, "} %.15g\n", count);
}

static void print_requests(page *p, const server *s)
{
    const metrics *m = s->metrics;
    print_header(p, "translate_requests_total", "counter", "Answered requests.");
    for (size_t i = 0; i < m->count_count; i++) {
        print_route(p, "translate_requests_total", m->counts[i].route);
        print(p, ",status=\"%u\"} %.15g\n", m->counts[i].status, m->counts[i].count);
    }
    print_header(p, "translate_request_seconds", "histogram", "Time from a request's first byte to its answer.");
    for (size_t i = 0; i < m->time_count; i++)
        print_times(p, &m->times[i]);
    print_number(p, "translate_requests_open", "gauge", "Requests that are not answered yet.",
                 (double)http_open_requests(s->http));
    print_number(p, "translate_requests_abandoned_total", "counter", "Requests whose clients went away before the answer.",
                 m->left);
}

static void print_model(page *p, const char *name, const json_t *model, double value)
{
    const char *file = json_string_value(json_object_get(model, "name"));
    print(p, "%s{model=", name);
    print_quoted(p, file ? file : "");
    print(p, "} %.15g\n", value);
}

static void print_models(page *p, const server *s)
{
    json_t *list = models_list(s->models);
    const json_t *model;
    size_t sentences, places;
    models_fill(s->models, &sentences, &places);
    print_number(p, "translate_texts_waiting", "gauge", "Texts in the queues of the models.",
                 (double)models_waiting(s->models));
    print_number(p, "translate_batch_sentences", "gauge", "Sentences that are being decoded.", (double)sentences);
    print_number(p, "translate_batch_places", "gauge", "Sentences that could be decoded side by side.", (double)places);
    print_header(p, "translate_model_open", "gauge", "Whether a model is in memory.");
    for (size_t i = 0; (model = json_array_get(list, i)); i++)
        print_model(p, "translate_model_open", model, json_is_true(json_object_get(model, "open")));
    print_header(p, "translate_model_bytes", "gauge", "Size of a model's file.");
    for (size_t i = 0; (model = json_array_get(list, i)); i++)
        print_model(p, "translate_model_bytes", model, json_number_value(json_object_get(model, "bytes")));
    json_decref(list);
}

static void print_work(page *p, const server *s)
{
    const metrics *m = s->metrics;
    print_number(p, "translate_source_tokens_total", "counter", "Tokens of translated texts.", m->source_tokens);
    print_number(p, "translate_target_tokens_total", "counter", "Tokens of translations.", m->target_tokens);
    print_number(p, "translate_sentences_total", "counter", "Translated sentences.", m->sentences);
    if (!s->cache)
        return;
    print_number(p, "translate_cache_hits_total", "counter", "Texts whose translation was in the cache.", m->hits);
    print_number(p, "translate_cache_misses_total", "counter", "Texts whose translation was not.", m->misses);
    print_number(p, "translate_cache_bytes", "gauge", "Memory of the cache.", (double)cache_bytes(s->cache));
    print_number(p, "translate_cache_entries", "gauge", "Translations in the cache.", (double)cache_count(s->cache));
}

/* 0: the system does not tell. */
static double resident_bytes(void)
{
    unsigned long all, resident = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f)
        return 0;
    if (fscanf(f, "%lu %lu", &all, &resident) != 2)
        resident = 0;
    fclose(f);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* Under the names that all programs use. */
static void print_process(page *p, const metrics *m)
{
    print_number(p, "process_resident_memory_bytes", "gauge", "Resident memory.", resident_bytes());
    print_number(p, "process_start_time_seconds", "gauge", "Start, in seconds since 1970.", m->started);
}

void metrics_handle(request *r)
{
    page p = {.good = true};
    print_requests(&p, r->server);
    print_models(&p, r->server);
    print_work(&p, r->server);
    print_process(&p, r->server->metrics);
    if (!p.good)
        tr_buffer_free(&p.text);
    answer_memory(r, 200, "text/plain; version=0.0.4; charset=utf-8", p.text.data, p.good ? p.text.size : 1);
}
