/* Times attention as a library: attention [OPTION...] LENGTH KIND... calls the kinds alternately, round by round, and prints
 * a line of JSON for each: its time, its memory, and its distance from exact attention. It uses only the public header. */
#define _GNU_SOURCE
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "attention_inputs.h"

static const char usage[] =
    "usage: attention [OPTION...] LENGTH KIND...\n"
    "kinds: exact local:WINDOW block-sparse:BLOCK,LOCAL,RANDOM,GLOBAL linear low-rank:RANK pool:KEYS\n"
    "  -n, --heads N      heads (8)\n"
    "  -s, --size N       size of a head (64)\n"
    "  -t, --threads N    threads (all)\n"
    "  -e, --element TYPE of the inputs, f32 or bf16 (f32)\n"
    "  -c, --causal       queries attend only to keys up to their own position\n"
    "  -r, --rounds N     timed rounds, after one that is not counted (5)\n"
    "  -f, --follow       in place of --rounds: one round for each line of input, until an empty line\n"
    "  -d, --near N       inputs whose queries attend to about N positions around them, in place of noise\n"
    "  -x, --no-error     do not compare with exact attention\n"
    "  -p, --pattern      show which keys (across) the queries (down) of the first head attend to, and exit\n";

enum { LEAST_NANOSECONDS = 10000000, MOST_ROUNDS = 4096 };

typedef struct settings {
    int64_t length, heads, size, rounds;
    int threads;
    tr_element element;
    bool causal, follow, compare, pattern;
    double near;
} settings;

/* One kind under measurement. */
typedef struct run {
    const char *name;
    tr_attention_options options;
    float *projection;  /* of low-rank: [rank, length] */
    double *seconds;    /* [rounds] seconds of a call */
    int64_t working;    /* bytes, as the library reports */
    int64_t grown;      /* kB by which the first call increased the peak memory of the process */
    double error, most; /* |out - exact| / |exact|, and the greatest difference */
} run;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Peak memory of this process in kB (getrusage() would include that of the program which started it). */
static int64_t peak_memory(void)
{
    char line[256];
    long long peak = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "VmHWM: %lld", &peak);
    if (f)
        fclose(f);
    return peak;
}

/* ----------------------------------------------------------------------------------------------------------- arguments */

static int64_t number(const char *what, const char *text, int64_t least)
{
    char *end;
    const long long n = strtoll(text, &end, 10);
    if (end == text || *end || n < least || n > 1 << 24)
        stop(what, "is no such number");
    return n;
}

static void parse_kind(const settings *s, const char *text, run *r)
{
    tr_attention_options *o = &r->options;
    long long a, b, c, d;
    int end = 0;
    *r = (run){.name = text, .options = {.threads = s->threads}};
    if (strcmp(text, "exact") == 0) {
        o->kind = TR_ATTENTION_EXACT;
    } else if (strcmp(text, "linear") == 0) {
        o->kind = TR_ATTENTION_LINEAR;
    } else if (sscanf(text, "local:%lld%n", &a, &end) == 1 && !text[end]) {
        o->kind = TR_ATTENTION_LOCAL;
        o->window = a;
    } else if (sscanf(text, "block-sparse:%lld,%lld,%lld,%lld%n", &a, &b, &c, &d, &end) == 4 && !text[end]) {
        o->kind = TR_ATTENTION_BLOCK_SPARSE;
        o->block = a;
        o->local_blocks = b;
        o->random_blocks = c;
        o->global_tokens = d;
    } else if (sscanf(text, "low-rank:%lld%n", &a, &end) == 1 && !text[end] && a > 0 && a <= 1 << 16) {
        o->kind = TR_ATTENTION_LOW_RANK;
        o->rank = a;
        o->key_projection = o->value_projection = r->projection =
            noise(5, (size_t)(a * s->length), 1 / sqrt((double)s->length)); /* as before training */
    } else if (sscanf(text, "pool:%lld%n", &a, &end) == 1 && !text[end]) {
        o->kind = TR_ATTENTION_LOW_RANK;
        o->pool = a;
    } else {
        stop(text, "there is no such kind (see --help)");
    }
    r->seconds = allocate(MOST_ROUNDS, sizeof *r->seconds);
}

static settings parse_options(int argc, char **argv)
{
    static const struct option options[] = {
        {"heads", required_argument, NULL, 'n'},   {"size", required_argument, NULL, 's'},
        {"threads", required_argument, NULL, 't'}, {"element", required_argument, NULL, 'e'},
        {"causal", no_argument, NULL, 'c'},        {"rounds", required_argument, NULL, 'r'},
        {"follow", no_argument, NULL, 'f'},        {"near", required_argument, NULL, 'd'},
        {"no-error", no_argument, NULL, 'x'},      {"pattern", no_argument, NULL, 'p'},
        {"help", no_argument, NULL, 'h'},          {0}};
    settings s = {.heads = 8, .size = 64, .rounds = 5, .compare = true};
    for (int option; (option = getopt_long(argc, argv, "n:s:t:e:cr:fd:xph", options, NULL)) != -1;) {
        switch (option) {
        case 'n': s.heads = number("--heads", optarg, 1); break;
        case 's': s.size = number("--size", optarg, 1); break;
        case 't': s.threads = (int)number("--threads", optarg, 0); break;
        case 'e':
            if (strcmp(optarg, "f32") != 0 && strcmp(optarg, "bf16") != 0)
                stop("--element", "is f32 or bf16");
            s.element = strcmp(optarg, "f32") == 0 ? TR_ELEMENT_F32 : TR_ELEMENT_BF16;
            break;
        case 'c': s.causal = true; break;
        case 'r': s.rounds = number("--rounds", optarg, 0); break;
        case 'f': s.follow = true; break;
        case 'd': s.near = (double)number("--near", optarg, 1); break;
        case 'x': s.compare = false; break;
        case 'p': s.pattern = true; break;
        case 'h': fputs(usage, stdout); exit(0);
        default: fputs(usage, stderr); exit(2);
        }
    }
    if (argc - optind < 2) {
        fputs(usage, stderr);
        exit(2);
    }
    if (s.rounds > MOST_ROUNDS)
        stop("--rounds", "are too many");
    s.length = number("LENGTH", argv[optind], 1);
    return s;
}

/* ----------------------------------------------------------------------------------------------------------- measuring */

static void show_pattern(const tr_attention_shape *shape, const run *r)
{
    tr_error error;
    bool *allowed = allocate((size_t)(shape->queries * shape->keys), sizeof *allowed);
    if (tr_attention_pattern(shape, &r->options, 0, 0, allowed, &error))
        stop(r->name, error.message);
    puts(r->name);
    for (int64_t i = 0; i < shape->queries; i++) {
        for (int64_t j = 0; j < shape->keys; j++)
            putchar(allowed[i * shape->keys + j] ? '#' : '.');
        putchar('\n');
    }
    free(allowed);
}

typedef struct problem {
    tr_attention_shape shape;
    tr_attention_mask mask;
    tr_element element;
    void *q, *k, *v;
    float *out;
} problem;

static void call(const problem *p, const run *r)
{
    tr_error error;
    if (tr_attention_forward(&p->shape, &r->options, &p->mask, p->element, p->q, p->k, p->v, p->out, NULL, &error))
        stop(r->name, error.message);
}

/* Makes the first call, and measures its memory and error. exact [heads, length, size] may be NULL. */
static void first_call(const problem *p, run *r, const float *exact, size_t count)
{
    tr_error error;
    const int64_t before = peak_memory();
    call(p, r);
    r->grown = peak_memory() - before;
    if (tr_attention_memory(&p->shape, &r->options, &p->mask, &r->working, &error))
        stop(r->name, error.message);
    double difference = 0, whole = 0;
    for (size_t i = 0; exact && i < count; i++) {
        const double d = fabs((double)p->out[i] - exact[i]);
        difference += d * d;
        whole += (double)exact[i] * exact[i];
        r->most = d > r->most ? d : r->most;
    }
    r->error = whole > 0 ? sqrt(difference / whole) : 0;
}

/* Seconds of a call: the mean over as many calls as take LEAST_NANOSECONDS. */
static double timed_call(const problem *p, const run *r)
{
    const double start = now();
    double taken;
    int calls = 0;
    do {
        call(p, r);
        calls++;
        taken = now() - start;
    } while (taken < 1e-9 * LEAST_NANOSECONDS);
    return taken / calls;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const settings *s, run *r, int rounds)
{
    qsort(r->seconds, (size_t)rounds, sizeof *r->seconds, ascending);
    const double median = rounds == 0 ? 0 : (r->seconds[(rounds - 1) / 2] + r->seconds[rounds / 2]) / 2;
    printf("{\"kind\": \"%s\", \"length\": %lld, \"heads\": %lld, \"size\": %lld, \"threads\": %d, \"element\": \"%s\", "
           "\"causal\": %s, \"rounds\": %d, ",
           r->name, (long long)s->length, (long long)s->heads, (long long)s->size, s->threads,
           s->element == TR_ELEMENT_F32 ? "f32" : "bf16", s->causal ? "true" : "false", rounds);
    if (rounds > 0)
        printf("\"median_ms\": %.6f, \"best_ms\": %.6f, ", 1e3 * median, 1e3 * r->seconds[0]);
    if (s->compare)
        printf("\"error\": %.3e, \"largest_error\": %.3e, ", r->error, r->most);
    printf("\"working_bytes\": %lld, \"grown_kb\": %lld, \"peak_rss_kb\": %lld}\n", (long long)r->working,
           (long long)r->grown, (long long)peak_memory());
}

/* Whether there is another round. With --follow, ends the output of the previous round first. */
static bool next_round(const settings *s, int rounds)
{
    char line[16];
    if (!s->follow)
        return rounds < s->rounds;
    putchar('\n');
    fflush(stdout);
    return rounds < MOST_ROUNDS && fgets(line, sizeof line, stdin) != NULL;
}

static int measure(const settings *s, const problem *p, run *runs, int count)
{
    int rounds = 0;
    for (; next_round(s, rounds); rounds++) {
        for (int i = 0; i < count; i++)
            runs[i].seconds[rounds] = timed_call(p, &runs[i]);
    }
    return rounds;
}

/* Inputs of s, and exact attention of them before they are rounded to the element type. */
static float *prepare(const settings *s, problem *p, const run *exact, size_t count)
{
    float *q = noise(1, count, 1), *k = noise(2, count, 1), *v = noise(3, count, 1), *reference = NULL;
    if (s->near > 0)
        look_nearby(s->near, s->heads, s->length, s->size, q, k);
    if (s->compare) {
        *p = (problem){p->shape, p->mask, TR_ELEMENT_F32, q, k, v, reference = allocate(count, sizeof *reference)};
        call(p, exact);
    }
    p->element = s->element;
    p->q = as_element(s->element, q, count);
    p->k = as_element(s->element, k, count);
    p->v = as_element(s->element, v, count);
    p->out = noise(4, count, 1);
    return reference;
}

int main(int argc, char **argv)
{
    const settings s = parse_options(argc, argv);
    const int count = argc - optind - 1;
    const size_t elements = (size_t)(s.heads * s.length * s.size);
    const run exact = {.name = "exact", .options = {.threads = s.threads}};
    run *runs = allocate((size_t)count, sizeof *runs);
    problem p = {
        .shape = {.batch = 1, .heads = s.heads, .queries = s.length, .keys = s.length, .d_k = s.size, .d_v = s.size},
        .mask = {.causal = s.causal}};
    for (int i = 0; i < count; i++)
        parse_kind(&s, argv[optind + 1 + i], &runs[i]);
    if (s.pattern) {
        for (int i = 0; i < count; i++)
            show_pattern(&p.shape, &runs[i]);
    } else {
        float *reference = prepare(&s, &p, &exact, elements);
        problem tiny = p; /* loads the library and starts its threads, so that first_call() measures only the call */
        tiny.shape.queries = tiny.shape.keys = 1;
        call(&tiny, &exact);
        for (int i = 0; i < count; i++)
            first_call(&p, &runs[i], reference, elements);
        const int rounds = measure(&s, &p, runs, count);
        for (int i = 0; i < count; i++)
            print(&s, &runs[i], rounds);
        free(p.q);
        free(p.k);
        free(p.v);
        free(p.out);
        free(reference);
    }
    for (int i = 0; i < count; i++) {
        free(runs[i].projection);
        free(runs[i].seconds);
    }
    free(runs);
    return 0;
}
