/* Forced decoding against Hugging Face Transformers (make_expected.py), against step-by-step decoding for every kind of
 * decoder, and against itself with other threads, batches and levels; and errors of callers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../engine_fixture.h"
#include "formats/open.h"
#include "kernels/kernels.h"

static const char *const names[] = {"relu-1x1-f32",     "swish-3x3-f16",    "gelu-4x2-bf16-untied", "swish-1x2-f16-forced",
                                    "relu-2x1-f32-odd", "mbart-2x2-f32",    "bart-2x1-bf16",        "m2m100-1x3-f16",
                                    "t5-2x2-f32",       "t5-3x2-bf16-gated"};

static const char *model_of(const char *name)
{
    return path_in(TR_REFERENCE, name, "/model");
}

/* --------------------------------------------------------------------------------------------------------------- pairs */

/* Contents of a file of expected/; sources without EOS. */
typedef struct pairs {
    json_t *json;
    size_t count;
    tr_tokens *sources, *targets;
} pairs;

static pairs read_pairs(const char *name)
{
    json_error_t problem;
    pairs p = {.json = json_load_file(path_in(TR_EXPECTED, name, ".json"), 0, &problem)};
    if (!p.json)
        fail_msg("%s: %s", name, problem.text);
    p.count = json_array_size(p.json);
    p.sources = calloc(p.count, sizeof *p.sources);
    p.targets = calloc(p.count, sizeof *p.targets);
    for (size_t i = 0; i < p.count; i++) {
        const json_t *pair = json_array_get(p.json, i);
        p.sources[i] = read_ids(pair, "source");
        p.sources[i].count--;
        p.targets[i] = read_ids(pair, "target");
    }
    return p;
}

static void free_pairs(pairs *p)
{
    tr_tokens_array_free(p->sources, p->count);
    tr_tokens_array_free(p->targets, p->count);
    json_decref(p->json);
}

static tr_score *score(tr_context *context, const pairs *p, const tr_score_options *options)
{
    tr_score *scores;
    tr_error error;
    if (tr_score_ids(context, p->sources, p->targets, p->count, options, &scores, &error))
        fail_msg("%s", error.message);
    return scores;
}

static void expect_near(const char *name, size_t pair, const char *what, size_t at, float got, double wanted, double within)
{
    if (!(fabs((double)got - wanted) <= within))
        fail_msg("%s, pair %zu: %s %zu is %.6f, the reference's %.6f", name, pair, what, at, (double)got, wanted);
}

/* If the model forces the first token, its probability is 1. */
static double compare_logs(const char *name, size_t pair, const json_t *wanted, const tr_score *score, bool given,
                           double within)
{
    double most = 0;
    assert_int_equal(score->count, json_array_size(wanted));
    for (size_t t = given; t < score->count; t++) {
        const double value = json_number_value(json_array_get(wanted, t));
        expect_near(name, pair, "log-probability", t, score->log_probabilities[t], value, within);
        most = fmax(most, fabs((double)score->log_probabilities[t] - value));
    }
    return most;
}

static void compare_map(const char *name, size_t pair, const char *what, const json_t *wanted, const tr_attention_map *map)
{
    const size_t layers = (size_t)map->layers, heads = (size_t)map->heads, rows = (size_t)map->rows,
                 columns = (size_t)map->columns;
    assert_non_null(map->weights);
    assert_int_equal(json_array_size(wanted), layers);
    const json_t *layer = json_array_get(wanted, 0), *head = json_array_get(layer, 0), *row = json_array_get(head, 0);
    assert_int_equal(json_array_size(layer), heads);
    assert_int_equal(json_array_size(head), rows);
    assert_int_equal(json_array_size(row), columns);
    for (size_t i = 0; i < layers * heads * rows * columns; i++) {
        layer = json_array_get(wanted, i / (heads * rows * columns));
        head = json_array_get(layer, i / (rows * columns) % heads);
        row = json_array_get(head, i / columns % rows);
        expect_near(name, pair, what, i, map->weights[i], json_number_value(json_array_get(row, i % columns)), 1e-4);
    }
}

/* ------------------------------------------------------------------------------------------------------ Hugging Face's */

static bool is_given(const char *name)
{
    return strcmp(name, "swish-1x2-f16-forced") == 0 || strcmp(name, "mbart-2x2-f32") == 0;
}

static void test_reference(void **state)
{
    const char *name = *(const char *const *)*state;
    pairs p = read_pairs(name);
    tr_model *model;
    tr_context *context = open_way(model_of(name), (way){.compute = TR_COMPUTE_F32, .threads = 2}, &model);
    tr_score_options options = tr_score_default_options();
    tr_score *plain = score(context, &p, &options);
    options.encoder_attention = options.decoder_attention = options.cross_attention = true;
    tr_score *watched = score(context, &p, &options);
    bool maps = false;
    double most = 0;
    for (size_t i = 0; i < p.count; i++) {
        const json_t *pair = json_array_get(p.json, i), *wanted = json_object_get(pair, "log_probabilities");
        most = fmax(most, compare_logs(name, i, wanted, &plain[i], is_given(name), 1e-4));
        assert_memory_equal(plain[i].log_probabilities, watched[i].log_probabilities, plain[i].count * sizeof(float));
        assert_null(plain[i].cross.weights);
        if (!json_object_get(pair, "cross"))
            continue;
        compare_map(name, i, "encoder attention", json_object_get(pair, "encoder"), &watched[i].encoder);
        compare_map(name, i, "decoder attention", json_object_get(pair, "decoder"), &watched[i].decoder);
        compare_map(name, i, "cross-attention", json_object_get(pair, "cross"), &watched[i].cross);
        maps = true;
    }
    print_message("%s: log-probabilities within %.1e of the reference's\n", name, most);
    assert_true(maps);
    tr_score_array_free(plain, p.count);
    tr_score_array_free(watched, p.count);
    tr_context_destroy(context);
    tr_model_close(model);
    free_pairs(&p);
}

/* In int8 the log-probabilities differ, but little on average. */
static void test_int8(void **state)
{
    const char *name = *(const char *const *)*state;
    pairs p = read_pairs(name);
    tr_model *model;
    tr_context *context = open_way(model_of(name), (way){.compute = TR_COMPUTE_INT8, .threads = 2}, &model);
    tr_score *scores = score(context, &p, NULL);
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < p.count; i++) {
        const json_t *wanted = json_object_get(json_array_get(p.json, i), "log_probabilities");
        for (size_t t = is_given(name); t < scores[i].count; t++, count++)
            sum += fabs((double)scores[i].log_probabilities[t] - json_number_value(json_array_get(wanted, t)));
    }
    print_message("%s: log-probabilities in int8 are off by %.3f on average\n", name, sum / (double)count);
    assert_true(sum / (double)count < 1); /* with logits of up to a hundred */
    tr_score_array_free(scores, p.count);
    tr_context_destroy(context);
    tr_model_close(model);
    free_pairs(&p);
}

/* -------------------------------------------------------------------------------------------------------- the same bits */

static void expect_same_map(const tr_attention_map *a, const tr_attention_map *b)
{
    assert_int_equal(a->weights != NULL, b->weights != NULL);
    if (a->weights)
        assert_memory_equal(a->weights, b->weights,
                            sizeof(float) * (size_t)a->layers * (size_t)a->heads * (size_t)a->rows * (size_t)a->columns);
}

static void expect_same(const tr_score *a, const tr_score *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(a[i].count, b[i].count);
        assert_memory_equal(a[i].log_probabilities, b[i].log_probabilities, a[i].count * sizeof(float));
        assert_memory_equal(&a[i].log_probability, &b[i].log_probability, sizeof(float));
        expect_same_map(&a[i].encoder, &b[i].encoder);
        expect_same_map(&a[i].decoder, &b[i].decoder);
        expect_same_map(&a[i].cross, &b[i].cross);
        assert_int_equal(a[i].alignment.count, b[i].alignment.count);
        assert_memory_equal(a[i].alignment.links, b[i].alignment.links, a[i].alignment.count * sizeof *a[i].alignment.links);
    }
}

static void same_bits(const char *name, tr_compute compute)
{
    pairs p = read_pairs(name);
    tr_score_options options = tr_score_default_options();
    options.encoder_attention = options.decoder_attention = options.cross_attention = options.align = true;
    tr_model *model;
    tr_context *context = open_way(model_of(name), (way){.compute = compute, .threads = 1, .batch_size = 1}, &model);
    tr_score *alone = score(context, &p, &options);
    tr_context_destroy(context);
    tr_model_close(model);
    const way ways[] = {
        {.compute = compute, .threads = 3, .batch_size = 1},
        {.compute = compute, .threads = 2, .batch_size = 3},
        {.compute = compute, .threads = 1, .batch_size = 32},
        {.compute = compute, .threads = 2, .batch_size = 32, .cpu = compute == TR_COMPUTE_INT8 ? "portable" : NULL}};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        context = open_way(model_of(name), ways[w], &model);
        tr_score *other = score(context, &p, &options);
        expect_same(alone, other, p.count);
        tr_score_array_free(other, p.count);
        tr_context_destroy(context);
        tr_model_close(model);
    }
    tr_score_array_free(alone, p.count);
    free_pairs(&p);
}

static void test_same_bits(void **state)
{
    const char *name = *(const char *const *)*state;
    same_bits(name, TR_COMPUTE_F32);
    same_bits(name, TR_COMPUTE_INT8);
}

/* -------------------------------------------------------------------------------------------------------- step by step */

enum { SOURCES = 6, LONGEST = 11 };

/* The log-probabilities of a search, step by step, are the same bits as those of forced decoding. */
static void expect_steps(const char *path, tr_compute compute, int beam, const tr_tokens *sources)
{
    tr_model *model;
    tr_context *context = open_way(path, (way){.compute = compute, .threads = 2, .shortlist = "off"}, &model);
    tr_translate_options search = tr_translate_default_options();
    tr_score_options options = tr_score_default_options();
    tr_hypotheses *found;
    tr_score *score;
    tr_error error;
    search.max_length = 20;
    search.scores = true;
    search.search.beam = search.search.n_best = beam;
    if (tr_search_tokens(context, sources, NULL, SOURCES, &search, &found, &error))
        fail_msg("%s: %s", path, error.message);
    for (size_t i = 0; i < SOURCES; i++)
        for (size_t h = 0; h < found[i].count; h++) {
            const tr_hypothesis *hypothesis = &found[i].items[h];
            const tr_tokens target = {hypothesis->ids, hypothesis->count};
            options.no_end = !hypothesis->finished;
            if (tr_score_ids(context, &sources[i], &target, 1, &options, &score, &error))
                fail_msg("%s: %s", path, error.message);
            assert_int_equal(score->count, hypothesis->count + hypothesis->finished);
            for (size_t t = 0; t < score->count; t++)
                expect_near(path, i, "log-probability", t, score->log_probabilities[t],
                            (double)hypothesis->log_probabilities[t], 0);
            tr_score_array_free(score, 1);
        }
    tr_hypotheses_free(found, SOURCES);
    tr_context_destroy(context);
    tr_model_close(model);
}

static void test_steps(void **state)
{
    const char *path = *(const char *const *)*state;
    tr_error error;
    tr_package package;
    if (tr_package_open(path, TR_LOAD_MAP, &package, &error))
        fail_msg("%s", error.message);
    const int vocabulary = package.config.source_vocabulary;
    tr_package_close(&package);
    int32_t ids[SOURCES][LONGEST];
    tr_tokens sources[SOURCES];
    for (int i = 0; i < SOURCES; i++) {
        sources[i] = (tr_tokens){ids[i], (size_t)(1 + 2 * i)};
        for (int t = 0; t < LONGEST; t++)
            ids[i][t] = (int32_t)((i * 53 + t * 37 + 11) % vocabulary);
    }
    for (int beam = 1; beam <= 5; beam += 4) {
        expect_steps(path, TR_COMPUTE_F32, beam, sources);
        expect_steps(path, TR_COMPUTE_INT8, beam, sources);
    }
}

/* ----------------------------------------------------------------------------------------------------------- bad input */

static tr_context *plain_context;

static int open_plain(void **state)
{
    static tr_model *model;
    *state = &model;
    plain_context = open_way(model_of("relu-1x1-f32"), (way){.compute = TR_COMPUTE_F32, .threads = 1}, &model);
    return 0;
}

static int close_plain(void **state)
{
    tr_context_destroy(plain_context);
    tr_model_close(*(tr_model **)*state);
    return 0;
}

static void refuse(const tr_tokens *sources, const tr_tokens *targets, size_t count, const tr_score_options *options,
                   const char *says)
{
    tr_score *scores = (tr_score *)sizeof *scores;
    tr_error error = {0};
    assert_int_equal(tr_score_ids(plain_context, sources, targets, count, options, &scores, &error), TR_ERROR_ARGUMENT);
    assert_null(scores);
    if (!strstr(error.message, says))
        fail_msg("\"%s\" does not say \"%s\"", error.message, says);
}

static void test_bad_input(void **state)
{
    (void)state;
    int32_t good[64] = {1, 2, 3}, bad[] = {5, 203}, negative[] = {-1};
    const tr_tokens fine[] = {{good, 3}, {good, 3}};
    tr_score_options options = tr_score_default_options();
    refuse(fine, (tr_tokens[]){{good, 3}, {bad, 2}}, 2, NULL, "target 1: token 1 is 203, not an id below 203");
    refuse(fine, (tr_tokens[]){{negative, 1}}, 1, NULL, "target 0: token 0 is -1");
    refuse((tr_tokens[]){{bad, 2}}, fine, 1, NULL, "source 0: token 1 is 203");
    refuse(fine, (tr_tokens[]){{good, 48}}, 1, NULL, "target 0: 48 tokens and EOS, but the model takes 48");
    refuse((tr_tokens[]){{good, 48}}, fine, 1, NULL, "source 0: 48 tokens and EOS, but the model takes 48");
    refuse(fine, (tr_tokens[]){{NULL, 1}}, 1, NULL, "target 0: its ids are NULL");
    refuse(NULL, fine, 1, NULL, "sources is NULL");
    refuse(fine, NULL, 1, NULL, "targets is NULL");
    options.no_end = true;
    refuse(fine, (tr_tokens[]){{good, 49}}, 1, &options, "target 0: 49 tokens, but the model takes 48");
    options = tr_score_default_options();
    options.alignment.layer = 1;
    refuse(fine, fine, 1, &options, "alignment layer: 1 is not below 1");
    options.alignment = (tr_align_options){-2, 0, 1};
    refuse(fine, fine, 1, &options, "alignment layer: -2");
    options.alignment = (tr_align_options){0, 3, 1};
    refuse(fine, fine, 1, &options, "alignment head: 3 is not below 3");
    options.alignment = (tr_align_options){0, 0, 1.5f};
    refuse(fine, fine, 1, &options, "alignment threshold: 1.5 is not between 0 and 1");
    options.alignment = (tr_align_options){0, 0, NAN};
    refuse(fine, fine, 1, &options, "alignment threshold: ");
    options = tr_score_default_options();
    options.source_language = "tlh";
    tr_score *scores;
    assert_int_equal(tr_score_ids(NULL, fine, fine, 1, NULL, &scores, NULL), TR_ERROR_ARGUMENT);
    assert_int_equal(tr_score_ids(plain_context, fine, fine, 1, NULL, NULL, NULL), TR_ERROR_ARGUMENT);
    /* the context stays usable */
    assert_int_equal(tr_score_ids(plain_context, fine, fine, 2, NULL, &scores, NULL), TR_OK);
    assert_int_equal(scores[1].count, 4);
    tr_score_array_free(scores, 2);
}

static void test_little(void **state)
{
    (void)state;
    int32_t good[48] = {1, 2, 3};
    tr_score_options options = tr_score_default_options();
    options.cross_attention = options.align = true;
    const tr_tokens sources[] = {{NULL, 0}, {good, 3}, {good, 47}}, targets[] = {{good, 2}, {NULL, 0}, {good, 47}};
    tr_score *scores;
    assert_int_equal(tr_score_ids(plain_context, NULL, NULL, 0, NULL, &scores, NULL), TR_OK);
    tr_score_array_free(scores, 0);
    assert_int_equal(tr_score_ids(plain_context, sources, targets, 3, &options, &scores, NULL), TR_OK);
    assert_int_equal(scores[0].count, 3);
    assert_int_equal(scores[0].alignment.count, 0); /* an empty source has no links */
    assert_int_equal(scores[1].count, 1);
    assert_int_equal(scores[1].alignment.count, 0);
    assert_int_equal(scores[2].count, 48);
    assert_int_equal(scores[2].alignment.count, 47);
    tr_score_array_free(scores, 3);
    options.no_end = true; /* then an empty target has no tokens at all */
    assert_int_equal(tr_score_ids(plain_context, sources, targets, 2, &options, &scores, NULL), TR_OK);
    assert_int_equal(scores[0].count, 2);
    assert_int_equal(scores[1].count, 0);
    assert_true(scores[1].log_probability == 0);
    tr_score_array_free(scores, 2);
    options.no_scores = true;
    assert_int_equal(tr_score_ids(plain_context, sources, targets, 1, &options, &scores, NULL), TR_OK);
    assert_null(scores[0].log_probabilities);
    assert_non_null(scores[0].cross.weights);
    tr_score_array_free(scores, 1);
    tr_score_array_free(NULL, 0);
}

/* --------------------------------------------------------------------------------------------------------------- texts */

/* Checks a text's tokens and spans, and those of the text that the tokens decode to. */
static void check_spans(const tr_model *model, bool target, const char *text)
{
    tr_tokens tokens;
    tr_span *spans;
    tr_error error;
    char *joined;
    size_t size, end = 0;
    if (tr_tokenize_spans(model, target, text, strlen(text), &tokens, &spans, &error))
        fail_msg("%s", error.message);
    for (size_t i = 0; i < tokens.count; i++) {
        assert_true(spans[i].begin <= spans[i].end && spans[i].end <= strlen(text));
        assert_true(spans[i].begin >= end && (spans[i].begin == spans[i].end || text[spans[i].begin] != ' '));
        end = spans[i].end;
    }
    free(spans);
    if (!target)
        goto done;
    spans = malloc((tokens.count + 1) * sizeof *spans);
    if (tr_detokenize_spans(model, tokens.ids, tokens.count, &joined, &size, spans, &error))
        fail_msg("%s", error.message);
    assert_string_equal(joined, text);
    for (size_t i = 0; i < tokens.count; i++) {
        size_t length;
        const char *piece = tr_target_piece(model, tokens.ids[i], &length);
        const bool space = length >= 3 && memcmp(piece, "\xe2\x96\x81", 3) == 0;
        assert_int_equal(spans[i].end - spans[i].begin, length - (space ? 3 : 0));
        assert_memory_equal(joined + spans[i].begin, piece + (space ? 3 : 0), length - (space ? 3 : 0));
    }
    tr_free(joined);
    free(spans);
done:
    tr_tokens_free(&tokens);
}

static void test_texts(void **state)
{
    tr_model *model = *(tr_model **)*state;
    static const char *const sources[] = {"bada legumi fo.", "", "  se pa  tobu "}, *const targets[] = {"ro bemi.",
                                                                                                        "fo sela tu", ""};
    tr_score_options options = tr_score_default_options();
    tr_text_score *texts;
    tr_score *scores;
    tr_error error;
    options.align = true;
    if (tr_score_text_pairs(plain_context, sources, NULL, targets, NULL, 3, &options, &texts, &error))
        fail_msg("%s", error.message);
    for (size_t i = 0; i < 3; i++) {
        const tr_text_score *t = &texts[i];
        tr_tokens source, target;
        assert_int_equal(tr_source_tokens(model, sources[i], strlen(sources[i]), &source, NULL), TR_OK);
        assert_int_equal(tr_target_tokens(model, targets[i], strlen(targets[i]), &target, NULL), TR_OK);
        assert_true(same_ids(&source, &t->source) && same_ids(&target, &t->target));
        assert_int_equal(tr_score_ids(plain_context, &source, &target, 1, &options, &scores, NULL), TR_OK);
        expect_same(scores, &t->score, 1);
        assert_int_equal(t->score.alignment.count, source.count ? target.count : 0);
        tr_score_array_free(scores, 1);
        tr_tokens_free(&source);
        tr_tokens_free(&target);
        check_spans(model, false, sources[i]);
        check_spans(model, true, targets[i]);
    }
    tr_text_scores_free(texts, 3);
    const char *missing[] = {"ro", NULL};
    assert_int_equal(tr_score_text_pairs(plain_context, sources, NULL, missing, NULL, 2, NULL, &texts, &error),
                     TR_ERROR_ARGUMENT);
    assert_null(texts);
    assert_non_null(strstr(error.message, "target 1 is NULL"));
    assert_int_equal(
        tr_score_text_pairs(plain_context, sources, NULL, (const char *[]){"\xff"}, NULL, 1, NULL, &texts, &error), TR_OK);
    assert_int_equal(texts->flags, TR_FLAG_INVALID_UTF8);
    tr_text_scores_free(texts, 1);
    assert_int_equal(tr_score_text_pairs(NULL, NULL, NULL, NULL, NULL, 0, NULL, &texts, NULL), TR_ERROR_ARGUMENT);
    assert_int_equal(tr_tokenize_spans(model, false, NULL, 1, &(tr_tokens){0}, &(tr_span *){0}, NULL), TR_ERROR_ARGUMENT);
    assert_int_equal(tr_detokenize_spans(model, (int32_t[]){9999}, 1, &(char *){0}, NULL, &(tr_span){0, 0}, NULL),
                     TR_ERROR_ARGUMENT);
}

/* ----------------------------------------------------------------------------------------------------------- alignment */

/* Links equal those computed from the attention maps of the same call: mean, one head, threshold. */
static void test_alignment(void **state)
{
    (void)state;
    pairs p = read_pairs("gelu-4x2-bf16-untied");
    tr_model *model;
    tr_context *context = open_way(model_of("gelu-4x2-bf16-untied"), (way){.threads = 2}, &model);
    static const tr_align_options wanted[] = {{TR_ALIGN_AUTO, TR_ALIGN_AUTO, 1}, {0, 5, 1}, {1, TR_ALIGN_MEAN, 0.2f}};
    for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++) {
        tr_score_options options = tr_score_default_options();
        options.align = true;
        options.no_scores = w == 1; /* links do not depend on scores */
        options.alignment = wanted[w];
        tr_score *guided = score(context, &p, &options);
        options.cross_attention = true;
        tr_score *mapped = score(context, &p, &options);
        for (size_t i = 0; i < p.count; i++) {
            const tr_attention_map *map = &mapped[i].cross;
            const tr_alignment *links = &guided[i].alignment;
            assert_int_equal(links->count, mapped[i].alignment.count);
            assert_memory_equal(links->links, mapped[i].alignment.links, links->count * sizeof *links->links);
            const int layer = wanted[w].layer < 0 ? map->layers - 1 : wanted[w].layer,
                      heads = wanted[w].head < 0 ? map->heads : 1;
            size_t count = 0;
            for (int s = 0; s < (int)p.sources[i].count; s++)
                for (int t = 0; t < (int)p.targets[i].count; t++) {
                    float best = -1, here = -1;
                    int at = -1;
                    for (int c = 0; c < (int)p.sources[i].count; c++) {
                        float sum = 0;
                        for (int h = 0; h < heads; h++)
                            sum += map->weights[(((size_t)layer * (size_t)map->heads +
                                                  (size_t)(wanted[w].head < 0 ? h : wanted[w].head)) *
                                                     (size_t)map->rows +
                                                 (size_t)t) *
                                                    (size_t)map->columns +
                                                (size_t)c];
                        if (sum > best)
                            best = sum, at = c;
                        if (c == s)
                            here = sum / (float)heads;
                    }
                    const bool linked = wanted[w].threshold < 1 ? here > wanted[w].threshold : at == s;
                    if (!linked)
                        continue;
                    assert_true(count < links->count);
                    assert_int_equal(links->links[count].source, s);
                    assert_int_equal(links->links[count].target, t);
                    assert_true(fabsf(links->links[count].weight - here) < 1e-6f);
                    count++;
                }
            assert_int_equal(count, links->count);
        }
        tr_score_array_free(guided, p.count);
        tr_score_array_free(mapped, p.count);
    }
    tr_context_destroy(context);
    tr_model_close(model);
    free_pairs(&p);
}

/* The alignment layer and head are settings of Marian's models, and of model files made from them. */
static void test_guided(void **state)
{
    (void)state;
    static const char *const folders[] = {TR_MARIAN "/guided", TR_MARIAN "/average-d-pre-norm"};
    static const int layers[] = {1, -1}; /* -1: the last */
    char path[] = TEMPORARY_FILE;
    for (size_t i = 0; i < 2; i++) {
        tr_package package;
        tr_error error;
        assert_int_equal(tr_package_open(folders[i], TR_LOAD_MAP, &package, &error), TR_OK);
        const int layer = layers[i] < 0 ? package.config.decoder_layers : layers[i];
        assert_true(package.config.decoder_layers > 1);
        assert_int_equal(package.config.alignment_layer, layer);
        assert_int_equal(package.config.alignment_head, 1);
        tr_package_close(&package);
        strcpy(path, TEMPORARY_FILE);
        convert_to_temporary(folders[i], TR_TYPE_F32, path);
        int32_t ids[] = {3, 4, 5, 6, 7};
        const tr_tokens tokens = {ids, 5};
        tr_score *guided, *named;
        tr_model *model;
        tr_context *context = open_way(path, (way){.threads = 1}, &model);
        tr_score_options options = tr_score_default_options();
        options.align = true;
        options.alignment.threshold = 0;
        assert_int_equal(tr_score_ids(context, &tokens, &tokens, 1, &options, &guided, &error), TR_OK);
        options.alignment.layer = layer - 1;
        options.alignment.head = 0;
        assert_int_equal(tr_score_ids(context, &tokens, &tokens, 1, &options, &named, &error), TR_OK);
        expect_same(guided, named, 1);
        tr_score_array_free(named, 1);
        options.alignment.head = TR_ALIGN_MEAN;
        assert_int_equal(tr_score_ids(context, &tokens, &tokens, 1, &options, &named, &error), TR_OK);
        assert_true(guided->alignment.count == 25 && named->alignment.count == 25);
        assert_memory_not_equal(guided->alignment.links, named->alignment.links, 25 * sizeof(tr_link));
        tr_score_array_free(guided, 1);
        tr_score_array_free(named, 1);
        tr_context_destroy(context);
        tr_model_close(model);
        remove(path);
    }
}

int main(void)
{
    static const char *const decoders[] = {TR_REFERENCE "/gelu-4x2-bf16-untied/model",
                                           TR_REFERENCE "/mbart-2x2-f32/model",
                                           TR_REFERENCE "/t5-2x2-f32/model",
                                           TR_MARIAN "/plain-npz",
                                           TR_MARIAN "/pre-norm",
                                           TR_MARIAN "/pre-norm-bare",
                                           TR_MARIAN "/ssru",
                                           TR_MARIAN "/ssru-projection-pre-norm",
                                           TR_MARIAN "/average",
                                           TR_MARIAN "/average-both-norms",
                                           TR_MARIAN "/average-depth-4-d",
                                           TR_MARIAN "/tied-layers",
                                           TR_MARIAN "/guided",
                                           TR_BERGAMOT "/ssru-two",
                                           TR_BERGAMOT "/attention-two-lex"};
    static const fixture_test kinds[] = {{"reference", test_reference}, {"int8", test_int8}, {"same bits", test_same_bits}};
    enum { DECODERS = sizeof decoders / sizeof *decoders };
    struct CMUnitTest others[DECODERS + 5] = {
        {"bad input", test_bad_input, open_plain, close_plain, NULL},
        {"little", test_little, open_plain, close_plain, NULL},
        {"alignment", test_alignment, NULL, NULL, NULL},
        {"texts", test_texts, open_plain, close_plain, NULL},
        {"guided", test_guided, NULL, NULL, NULL},
    };
    for (size_t i = 0; i < DECODERS; i++)
        others[5 + i] = (struct CMUnitTest){strrchr(decoders[i], '/'), test_steps, NULL, NULL, (void *)&decoders[i]};
    return run_fixture_suite(&(fixture_suite){"scores", names, sizeof names / sizeof *names, sizeof *names, kinds,
                                              sizeof kinds / sizeof *kinds, others, DECODERS + 5});
}
