/* A model's list of allowed tokens: its file keeps it; damaged lists are refused; decoding with only the allowed outputs
 * equals decoding with all outputs and the others forbidden. */
#define _GNU_SOURCE
#include "gguf_damage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sanitized.h"
#include "api/engine.h"
#include "api/model.h"

enum { SENTENCES = 24, LONGEST = 12, TARGET = 24 };

static uint32_t state_of_chance = 1;

static int chance(int below)
{
    state_of_chance = state_of_chance * 1664525 + 1013904223;
    return (int)((state_of_chance >> 8) % (uint32_t)below);
}

/* About one of `every` tokens, EOS, and the tokens that every target begins with. */
static int32_t *make_list(const tr_config *c, int every, int *count)
{
    int32_t *ids = calloc((size_t)c->target_vocabulary, sizeof *ids);
    assert_non_null(ids);
    *count = 0;
    for (int id = 0; id < c->target_vocabulary; id++)
        if (id == c->eos_id || id == c->forced_first_id || chance(every) == 0)
            ids[(*count)++] = id;
    return ids;
}

/* Writes the package with such a list as FILE in the directory; returns the list, for free(). */
static int32_t *write_with_list(const char *path, tr_type type, int every, int *count)
{
    tr_package package;
    open_package(path, &package);
    int32_t *ids = make_list(&package.config, every, count);
    package.config.allowed = ids;
    package.config.allowed_count = *count;
    write_package(&package, in_directory("model.gguf"), type);
    tr_package_close(&package);
    return ids;
}

/* ---------------------------------------------------------------------------------------------------------------- file */

static void file_keeps_the_list(void **unused)
{
    (void)unused;
    int count;
    make_model(SEPARATE, "F32");
    int32_t *ids = write_with_list(directory, TR_TYPE_F32, 2, &count);
    tr_package package;
    open_package(in_directory("model.gguf"), &package);
    assert_int_equal(package.config.allowed_count, count);
    assert_memory_equal(package.config.allowed, ids, (size_t)count * sizeof *ids);
    /* and again from that file to another one */
    write_package(&package, in_directory("again.gguf"), TR_TYPE_I8);
    tr_package_close(&package);
    open_package(in_directory("again.gguf"), &package);
    assert_int_equal(package.config.allowed_count, count);
    assert_memory_equal(package.config.allowed, ids, (size_t)count * sizeof *ids);
    tr_package_close(&package);
    free(ids);
}

static void refuses_damage(void **unused)
{
    (void)unused;
    tr_package package;
    size_t size;
    int32_t ids[] = {0, 1, 2, 3, 5, 7};
    make_model(SEPARATE, "F32");
    open_package(directory, &package);
    ids[0] = package.config.eos_id == 0 ? 0 : ids[0];
    package.config.allowed = ids;
    package.config.allowed_count = sizeof ids / sizeof *ids;
    write_package(&package, in_directory("model.gguf"), TR_TYPE_F32);
    const int end = package.config.eos_id;
    tr_package_close(&package);
    unsigned char *data = read_file(in_directory("model.gguf"), &size);
    unsigned char *list = memmem(data, size, ids, sizeof ids);
    assert_non_null(list);
    const struct {
        int place;
        int32_t id;
        const char *needle;
    } cases[] = {{5, TARGET_PIECES, "allowed tokens: 9 is not one of the 9 tokens"},
                 {5, -1, "allowed tokens: -1 is not one of"},
                 {5, INT32_MIN, "is not one of"},
                 {4, 3, "they are not ascending at 3"},
                 {4, 8, "they are not ascending at 7"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(list + 4 * cases[i].place, &cases[i].id, 4);
        expect_refused_copy(data, size, TR_ERROR_FORMAT, cases[i].needle);
        memcpy(list, ids, sizeof ids);
    }
    /* without EOS */
    int32_t others[6] = {0};
    for (int id = 0, n = 0; n < 6; id++)
        if (id != end)
            others[n++] = id;
    memcpy(list, others, sizeof others);
    expect_refused_copy(data, size, TR_ERROR_FORMAT, "EOS");
    memcpy(list, ids, sizeof ids);
    const damage shapes[] = {{"output.allowed", 0, "\2\0\0\0", 4, TR_ERROR_FORMAT, NULL},                   /* rank */
                             {"output.allowed", 4, "\0\0\0\0", 4, TR_ERROR_FORMAT, "truncated or damaged"}, /* length */
                             {"output.allowed", 12, "\0\0\0\0", 4, TR_ERROR_FORMAT, "must be I32"}};        /* type */
    check_damage(data, size, shapes, sizeof shapes / sizeof *shapes);
    free(data);
}

/* ------------------------------------------------------------------------------------------------------------- decoding */

typedef struct pair {
    tr_model *cut, *whole; /* the same network; in whole, a bias forbids what is not in the list */
} pair;

static tr_model *open_model(bool all_tokens, const char *shortlist)
{
    tr_model_options options = tr_model_default_options();
    tr_model *model;
    tr_error error;
    options.full_vocabulary = all_tokens;
    options.shortlist = shortlist;
    if (tr_open_model(in_directory("model.gguf"), &options, &model, &error))
        fail_msg("%s", error.message);
    return model;
}

static pair open_pair(const int32_t *ids, int count, const char *shortlist)
{
    const pair p = {open_model(false, shortlist), open_model(true, shortlist)};
    const tr_network *cut = p.cut->network, *whole = p.whole->network;
    tr_model_info info;
    tr_model_get_info(p.cut, &info);
    assert_int_equal(info.vocabulary_subset, count);
    tr_model_get_info(p.whole, &info);
    assert_int_equal(info.vocabulary_subset, 0);
    assert_int_equal(cut->output.weight.outputs, count);
    assert_int_equal(whole->output.weight.outputs, whole->config.target_vocabulary);
    /* the network's own; probabilities are normalised over the second */
    float *bias = (float *)whole->output.bias, *plain = (float *)whole->output_bias;
    int next = 0;
    for (int id = 0; id < whole->config.target_vocabulary; id++) {
        const bool allowed = next < count && ids[next] == id;
        assert_int_equal(tr_network_output(cut, id), allowed ? next : -1);
        if (allowed)
            assert_int_equal(tr_network_token(cut, next++), id);
        else
            bias[id] = plain[id] = -INFINITY;
    }
    return p;
}

static void close_pair(pair *p)
{
    tr_model_close(p->cut);
    tr_model_close(p->whole);
}

static void fill_sources(const tr_config *c, tr_tokens *sources, int32_t memory[SENTENCES][LONGEST])
{
    for (int i = 0; i < SENTENCES; i++) {
        sources[i] = (tr_tokens){memory[i], (size_t)(i % (LONGEST + 1))};
        for (size_t k = 0; k < sources[i].count; k++)
            memory[i][k] = chance(c->source_vocabulary);
    }
}

static tr_tokens *decode(const tr_model *model, const tr_tokens *sources, int threads, int batch, int min_length, int beam)
{
    tr_context_options options = tr_context_default_options();
    tr_translate_options translation = tr_translate_default_options();
    tr_context *context;
    tr_tokens *outputs = NULL;
    tr_error error;
    options.threads = threads;
    options.batch_size = batch;
    translation.max_length = TARGET;
    translation.min_length = min_length;
    translation.search.beam = beam;
    if (tr_make_context(model, &options, &context, &error) ||
        tr_translate_ids(context, sources, SENTENCES, &translation, &outputs, &error))
        fail_msg("%s", error.message);
    tr_context_destroy(context);
    return outputs;
}

static bool contains(const int32_t *ids, int count, int32_t id)
{
    int i = 0;
    while (i < count && ids[i] != id)
        i++;
    return i < count;
}

static void compare(const pair *p, const int32_t *ids, int count)
{
    static const struct {
        int threads, batch, min_length, beam;
    } ways[] = {{1, 1, 0, 1}, {1, 8, 5, 1}, {3, 1, 0, 1}, {2, 16, TARGET, 1}, {1, 8, 0, 4}, {2, 1, 5, 3}};
    int32_t memory[SENTENCES][LONGEST];
    tr_tokens sources[SENTENCES];
    fill_sources(&p->cut->network->config, sources, memory);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w += SANITIZED ? 2 : 1) {
        tr_tokens *got = decode(p->cut, sources, ways[w].threads, ways[w].batch, ways[w].min_length, ways[w].beam);
        tr_tokens *expected = decode(p->whole, sources, 1, 1, ways[w].min_length, ways[w].beam);
        size_t tokens = 0;
        for (int i = 0; i < SENTENCES; i++) {
            assert_int_equal(got[i].count, expected[i].count);
            tokens += got[i].count;
            for (size_t k = 0; k < got[i].count; k++) {
                assert_int_equal(got[i].ids[k], expected[i].ids[k]);
                assert_true(contains(ids, count, got[i].ids[k]));
            }
        }
        assert_true(tokens >= (size_t)SENTENCES * (size_t)ways[w].min_length);
        tr_tokens_array_free(got, SENTENCES);
        tr_tokens_array_free(expected, SENTENCES);
    }
}

static void check_model(const char *path, tr_type type, int every, const char *shortlist)
{
    int count;
    int32_t *ids = write_with_list(path, type, every, &count);
    pair p = open_pair(ids, count, shortlist);
    compare(&p, ids, count);
    close_pair(&p);
    free(ids);
}

static void cut_is_forbidding(void **unused)
{
    static const char *const fixtures[] = {"relu-2x1-f32-odd", "gelu-4x2-bf16-untied", "mbart-2x2-f32", "t5-2x2-f32"};
    static const tr_type types[] = {TR_TYPE_F32, TR_TYPE_BF16, TR_TYPE_I8};
    (void)unused;
    for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            char path[PATH_SIZE];
            snprintf(path, sizeof path, "%s/%s/model", TR_FIXTURES, fixtures[i]);
            check_model(path, types[t], 2 + (int)t, NULL);
        }
}

/* The default model has a 4-bit copy of its output matrix, which the first steps do not use. */
static void cut_is_forbidding_screened(void **unused)
{
    (void)unused;
    check_model(TR_DEFAULT_MODEL, TR_TYPE_I8, 3, NULL);
    tr_model *model = open_model(false, NULL);
    assert_non_null(model->network->screen);
    assert_int_equal(model->network->screen->exact->outputs, model->network->output.weight.outputs);
    tr_model_close(model);
    check_model(TR_DEFAULT_MODEL, TR_TYPE_F32, 2, NULL); /* whose copy is made */
}

/* A shortlist file of Marian: the first 40 ids, and a dozen for each source token. */
static void write_shortlist(const char *name, int sources, int targets)
{
    enum { FIRST = 40, EACH = 12, HEADER = 6 };
    const size_t words = (size_t)sources * EACH, size = HEADER * 8 + ((size_t)sources + 1) * 8 + words * 4;
    unsigned char *file = calloc(1, size);
    assert_non_null(file);
    uint64_t head[HEADER] = {0xF11A48D5013417F5, 0, FIRST, EACH, (uint64_t)sources + 1, words}, word;
    for (int s = 0; s <= sources; s++)
        memcpy(file + HEADER * 8 + 8 * (size_t)s, &(uint64_t){(uint64_t)s * EACH}, 8);
    for (size_t w = 0; w < words; w++)
        memcpy(file + size - 4 * (words - w), &(uint32_t){(uint32_t)chance(targets)}, 4);
    memcpy(file, head, sizeof head);
    for (size_t i = 16; i + 8 <= size; i += 8) {
        memcpy(&word, file + i, 8);
        head[1] ^= word + 0x9e3779b9 + (head[1] << 6) + (head[1] >> 2);
    }
    memcpy(file, head, sizeof head);
    write_file(name, file, size);
    free(file);
}

static void shortlists_meet_the_list(void **unused)
{
    (void)unused;
    tr_package package;
    open_package(TR_DEFAULT_MODEL, &package);
    write_shortlist("lex.bin", package.config.source_vocabulary, package.config.target_vocabulary);
    tr_package_close(&package);
    check_model(TR_DEFAULT_MODEL, TR_TYPE_I8, 2, in_directory("lex.bin"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(file_keeps_the_list, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cut_is_forbidding, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cut_is_forbidding_screened, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shortlists_meet_the_list, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
