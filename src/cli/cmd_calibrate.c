/* translate calibrate: finds the mean log-probability below which translations are probably wrong, on a text with
 * references. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lines.h"
#include "cli/model.h"
#include "util/utf8.h"

enum { CHUNK_LINES = 4096, CHUNK_BYTES = 1 << 22, LONGEST_GRAM = 6, BETA = 2 };

/* A translation: how sure the model is, and how good it is. */
typedef struct judged {
    float mean;
    bool wrong;
} judged;

typedef struct calibration {
    const cli_settings *settings;
    cli_model model;
    judged *items; /* [count] */
    size_t count, capacity;
    uint64_t line;
} calibration;

/* ------------------------------------------------------------------------------------------------------------------ chrF */

/* The characters of a text without white space, as code points. */
static size_t characters_of(const char *text, size_t size, int32_t *characters)
{
    size_t count = 0, length;
    for (size_t at = 0; at < size; at += length) {
        const int32_t c = tr_character(text, size, at, &length);
        if (!tr_is_space(c))
            characters[count++] = c;
    }
    return count;
}

static uint64_t hash_of(const int32_t *gram, int n)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < n; i++)
        hash = (hash ^ (uint32_t)gram[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static int compare_hashes(const void *a, const void *b)
{
    const uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;
    return (p > q) - (p < q);
}

static void sort_grams(const int32_t *characters, size_t count, int n, uint64_t *grams)
{
    for (size_t i = 0; i + (size_t)n <= count; i++)
        grams[i] = hash_of(characters + i, n);
    qsort(grams, count - (size_t)n + 1, sizeof *grams, compare_hashes);
}

static size_t count_common(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count)
{
    size_t common = 0;
    for (size_t i = 0, k = 0; i < a_count && k < b_count;) {
        if (a[i] == b[k]) {
            common++;
            i++;
            k++;
        } else if (a[i] < b[k]) {
            i++;
        } else {
            k++;
        }
    }
    return common;
}

/* chrF of a translation, 0 .. 100 (Popović, 2015): n-grams of 1 to 6 characters, recall weighs twice as much. Below 0: out
 * of memory. */
static double chrf(const char *text, size_t size, const char *reference, size_t reference_size)
{
    int32_t *own = malloc((size + reference_size + 1) * sizeof *own);
    uint64_t *grams = malloc((size + reference_size + 1) * sizeof *grams);
    double precision = 0, recall = 0;
    int orders = 0;
    if (own && grams) {
        int32_t *other = own + size;
        const size_t count = characters_of(text, size, own), other_count = characters_of(reference, reference_size, other);
        for (int n = 1; n <= LONGEST_GRAM && count >= (size_t)n && other_count >= (size_t)n; n++, orders++) {
            const size_t a = count - (size_t)n + 1, b = other_count - (size_t)n + 1;
            sort_grams(own, count, n, grams);
            sort_grams(other, other_count, n, grams + size);
            const double common = (double)count_common(grams, a, grams + size, b);
            precision += common / (double)a;
            recall += common / (double)b;
        }
    }
    const bool good = own && grams;
    free(own);
    free(grams);
    if (!good)
        return -1;
    if (!orders || precision + recall <= 0)
        return 0;
    precision /= orders;
    recall /= orders;
    return 100 * (1 + BETA * BETA) * precision * recall / (BETA * BETA * precision + recall);
}

/* --------------------------------------------------------------------------------------------------------- translations */

static bool add_judged(calibration *c, judged item)
{
    if (c->count == c->capacity) {
        const size_t larger = c->capacity ? c->capacity * 2 : 1024;
        judged *moved = realloc(c->items, larger * sizeof *moved);
        if (!moved)
            return false;
        c->items = moved;
        c->capacity = larger;
    }
    c->items[c->count++] = item;
    return true;
}

/* SOURCE TAB REFERENCE */
static int judge_lines(calibration *c, const cli_line *lines, size_t count)
{
    const char **texts = calloc(count, sizeof *texts);
    size_t *sizes = calloc(count, sizeof *sizes);
    int status = texts && sizes ? CLI_DONE : cli_fail_memory();
    for (size_t i = 0; i < count && !status; i++) {
        const char *tab = memchr(lines[i].text, '\t', lines[i].size);
        texts[i] = lines[i].text;
        sizes[i] = tab ? (size_t)(tab - lines[i].text) : 0;
        if (!tab)
            status = cli_fail("line %" PRIu64 ": no TAB; a line is a source, a TAB and a reference", c->line + i + 1);
    }
    tr_translate_options options = tr_translate_default_options();
    tr_result *results = NULL;
    tr_error error;
    options.scores = true;
    options.source_language = c->settings->source;
    options.target_language = c->settings->target;
    if (!status && tr_translate_texts(c->model.context, texts, sizes, count, &options, &results, &error))
        status = cli_fail_error(&error);
    for (size_t i = 0; i < count && !status; i++) {
        const char *reference = lines[i].text + sizes[i] + 1;
        if (!results[i].target_tokens)
            continue;
        const double value = chrf(results[i].text, results[i].size, reference, lines[i].size - sizes[i] - 1);
        if (value < 0 || !add_judged(c, (judged){results[i].mean_log_probability, value < (double)c->settings->wrong_below}))
            status = cli_fail_memory();
    }
    tr_result_array_free(results, count);
    free(texts);
    free(sizes);
    c->line += count;
    return status;
}

static int judge_all(calibration *c, cli_reader *reader)
{
    for (;;) {
        const cli_line *lines;
        size_t count;
        int status = cli_reader_next(reader, CHUNK_LINES, CHUNK_BYTES, &lines, &count);
        if (!status && count)
            status = judge_lines(c, lines, count);
        if (status || !count)
            return status;
    }
}

/* A row for each threshold, and the one at which precision and recall are balanced best (F1). */
static int print_thresholds(const calibration *c)
{
    double best = 0, best_score = -1;
    size_t wrong = 0;
    for (size_t i = 0; i < c->count; i++)
        wrong += c->items[i].wrong;
    if (!wrong || wrong == c->count)
        return cli_fail("%zu of %zu translations have a chrF below %g; give more lines, or another --wrong-below", wrong,
                        c->count, (double)c->settings->wrong_below);
    printf("%zu translations, %zu with a chrF below %g\nthreshold  doubtful  precision  recall\n", c->count, wrong,
           (double)c->settings->wrong_below);
    for (int step = 40; step >= 1; step--) {
        const double threshold = -0.05 * step;
        size_t doubtful = 0, right = 0;
        for (size_t i = 0; i < c->count; i++)
            if ((double)c->items[i].mean < threshold) {
                doubtful++;
                right += c->items[i].wrong;
            }
        if (!doubtful)
            continue;
        const double precision = (double)right / (double)doubtful, recall = (double)right / (double)wrong;
        const double score = right ? 2 * precision * recall / (precision + recall) : 0;
        printf("%9.2f  %8zu  %9.3f  %6.3f\n", threshold, doubtful, precision, recall);
        if (score > best_score) {
            best_score = score;
            best = threshold;
        }
    }
    printf("best balance: %.2f\n", best);
    return CLI_DONE;
}

int cli_calibrate(const cli_settings *settings)
{
    calibration c = {.settings = settings};
    cli_reader reader = {.descriptor = -1};
    int status = cli_reader_open(&reader, settings, settings->input);
    if (!status)
        status = cli_model_open(&c.model, settings, true);
    if (!status)
        status = judge_all(&c, &reader);
    if (!status)
        status = print_thresholds(&c);
    cli_reader_close(&reader);
    cli_model_close(&c.model);
    free(c.items);
    return status;
}
