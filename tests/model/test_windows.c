/* Windows of the encoder's heads: which specifications are valid, and their effect on networks of each family. In the first
 * layer, whose queries and keys do not depend on windows, a head's weights inside a window are those of exact attention
 * divided by their sum. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../opening.h"
#include "model/config.h"

enum { HEADS = 4, LENGTH = 45, WINDOW = 3 };

static void test_parse(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        int windows[HEADS];
    } sound[] = {
        {"exact", {-1, -1, -1, -1}},        {"local:0", {0, 0, 0, 0}},
        {"local:64", {64, 64, 64, 64}},     {"local:5@2", {-1, 5, -1, -1}},
        {"local:5@2-4", {-1, 5, 5, 5}},     {"local:1@1,local:1048576@4", {1, -1, -1, 1048576}},
        {"local:7,exact@3", {7, 7, -1, 7}}, {"exact,local:2@1-1", {2, -1, -1, -1}},
    };
    static const char *const wrong[] = {
        "",           "local",      "local:",     "local:-1",    "local:1048577", "local:99999999999999999999",
        "local:3@",   "local:3@0",  "local:3@5",  "local:3@3-2", "local:3@2-5",   "local:3@1-",
        "local:3,",   "local:3 ",   "Local:3",    "exact@",      "local:3@1x",    "local:3.5",
        "exactlocal", "local:3@-1", "local:3@+1", "sparse",      "local:3@1,",    ",local:3"};
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++) {
        int windows[HEADS];
        assert_int_equal(tr_windows_parse(sound[i].text, HEADS, windows, NULL), TR_OK);
        assert_memory_equal(windows, sound[i].windows, sizeof windows);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int windows[HEADS];
        tr_error error;
        assert_int_equal(tr_windows_parse(wrong[i], HEADS, windows, &error), TR_ERROR_ARGUMENT);
        assert_non_null(strstr(error.message, "attention \""));
    }
}

static tr_model *open_with(const char *path, const char *attention)
{
    tr_model_options options = tr_model_default_options();
    tr_model *model;
    tr_error error;
    options.attention_windows = attention;
    options.compute = TR_COMPUTE_F32;
    if (tr_open_model(path, &options, &model, &error))
        fail_msg("%s", error.message);
    return model;
}

/* Attention of the encoder in all layers and heads on one source. */
static tr_score *watch(const tr_model *model, int threads)
{
    static int32_t source[LENGTH], target[2] = {5, 6};
    for (int i = 0; i < LENGTH; i++)
        source[i] = 4 + i * 7 % 40;
    tr_context *context = open_context(model, threads, 1);
    tr_error error;
    tr_score_options wanted = tr_score_default_options();
    wanted.encoder_attention = true;
    const tr_tokens sources = {source, LENGTH}, targets = {target, 2};
    tr_score *score;
    if (tr_score_ids(context, &sources, &targets, 1, &wanted, &score, &error))
        fail_msg("%s", error.message);
    tr_context_destroy(context);
    return score;
}

static const float *row_of(const tr_attention_map *map, int layer, int head, int row)
{
    return map->weights +
           (((size_t)layer * (size_t)map->heads + (size_t)head) * (size_t)map->rows + (size_t)row) * (size_t)map->columns;
}

/* In all layers, weights outside the window are zero, and those inside sum to 1. */
static void check_layers(const tr_attention_map *map, int head)
{
    for (int l = 0; l < map->layers; l++)
        for (int r = 0; r < map->rows; r++) {
            double total = 0;
            for (int c = 0; c < map->columns; c++) {
                const float weight = row_of(map, l, head, r)[c];
                assert_true(abs(r - c) <= WINDOW || weight == 0);
                total += weight;
            }
            assert_true(fabs(total - 1) < 1e-5);
        }
}

static void check_first_layer(const tr_attention_map *exact, const tr_attention_map *local, int head)
{
    for (int r = 0; r < exact->rows; r++) {
        const float *all = row_of(exact, 0, head, r), *some = row_of(local, 0, head, r);
        double total = 0;
        for (int c = 0; c < exact->columns; c++)
            total += abs(r - c) <= WINDOW ? all[c] : 0;
        for (int c = 0; c < exact->columns; c++)
            if (abs(r - c) <= WINDOW && total > 1e-30) /* otherwise the weights in the window are too small to compare */
                assert_true(fabs(all[c] / total - some[c]) < 1e-5);
    }
}

static void check_model(const char *path)
{
    tr_model *model = open_with(path, NULL), *wide = open_with(path, "local:100"), *local = open_with(path, "local:3"),
             *mixed = open_with(path, "local:3@2");
    tr_score *exact = watch(model, 1), *within = watch(wide, 2), *all = watch(local, 1), *again = watch(local, 2),
             *one = watch(mixed, 2);
    const tr_attention_map *map = &exact->encoder;
    const size_t layer = (size_t)map->heads * (size_t)map->rows * (size_t)map->columns, size = (size_t)map->layers * layer;
    assert_true(map->rows >= LENGTH && map->heads >= 2);
    /* a window that covers the whole source changes no bit, nor do threads */
    assert_memory_equal(map->weights, within->encoder.weights, size * sizeof(float));
    assert_memory_equal(exact->log_probabilities, within->log_probabilities, exact->count * sizeof(float));
    assert_memory_equal(all->encoder.weights, again->encoder.weights, size * sizeof(float));
    assert_memory_equal(all->log_probabilities, again->log_probabilities, all->count * sizeof(float));
    assert_memory_not_equal(exact->log_probabilities, all->log_probabilities, exact->count * sizeof(float));
    for (int h = 0; h < map->heads; h++) {
        check_layers(&all->encoder, h);
        check_first_layer(map, &all->encoder, h);
        if (h == 1)
            check_first_layer(map, &one->encoder, h);
        else
            assert_memory_equal(row_of(map, 0, h, 0), row_of(&one->encoder, 0, h, 0),
                                layer / (size_t)map->heads * sizeof(float));
    }
    check_layers(&one->encoder, 1);
    tr_score *scores[] = {exact, within, all, again, one};
    for (size_t i = 0; i < sizeof scores / sizeof *scores; i++)
        tr_score_array_free(scores[i], 1);
    tr_model_close(model), tr_model_close(wide), tr_model_close(local), tr_model_close(mixed);
}

static void test_networks(void **unused)
{
    (void)unused;
    static const char *const names[] = {"relu-1x1-f32", "gelu-4x2-bf16-untied", "t5-2x2-f32", "m2m100-1x3-f16"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s/model", TR_REFERENCE, names[i]);
        check_model(path);
    }
}

static void test_refused(void **unused)
{
    (void)unused;
    tr_model_options options = tr_model_default_options();
    tr_model *model;
    tr_error error;
    options.attention_windows = "local:3@1-99";
    assert_int_equal(tr_open_model(TR_REFERENCE "/relu-1x1-f32/model", &options, &model, &error), TR_ERROR_ARGUMENT);
    assert_null(model);
    assert_non_null(strstr(error.message, "attention \"local:3@1-99\": "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parse), cmocka_unit_test(test_networks),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
