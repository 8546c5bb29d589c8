/* GGUF files of llama.cpp's converter: the numbers of each block type bit for bit as the gguf package has them; token for
 * token what Transformers decodes with those numbers (make_models.py), from the file and from model files converted from it;
 * texts cut as SentencePiece cuts them with the model that the converter took apart. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>
#include <translate/translate.h>

#include "../json_ids.h"
#include "formats/gguf/gguf.h"
#include "formats/gguf/blocks.h"
#include "formats/packed.h"

enum { PATH = 512, MAX_LINES = 64, TEXTS = 32, LINES = 40, BLOCK_TYPES = 12 };

typedef struct fixture {
    const char *name;
    tr_type type; /* of a file converted from it */
    bool gated, tied;
} fixture;

static const fixture fixtures[] = {
    {"t5-f32", TR_TYPE_F32, false, true},         {"t5-f16-doubled", TR_TYPE_F16, false, true},
    {"t5-bf16-gated", TR_TYPE_BF16, true, false}, {"madlad-q8_0", TR_TYPE_I8, true, false},
    {"t5-small-blocks", TR_TYPE_I8, true, false}, {"t5-tied-blocks", TR_TYPE_I8, false, true},
    {"t5-large-blocks", TR_TYPE_I8, true, false},
};

enum { FIXTURES = sizeof fixtures / sizeof *fixtures };

/* ------------------------------------------------------------------------------------------------------------- blocks */

static unsigned char *read_whole(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s: is missing", path);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*size);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *size, file), *size);
    fclose(file);
    return data;
}

/* Every way of asking for a part gives the same numbers. */
static void check_parts(const tr_tensor *t, const float *numbers)
{
    const size_t elements = (size_t)tr_tensor_elements(t);
    for (size_t first = 0; first < elements; first += 37) {
        float some[600];
        for (size_t count = 1; count <= 600 && first + count <= elements; count += 149) {
            tr_tensor_to_f32(t, first, count, some);
            assert_memory_equal(some, numbers + first, count * sizeof *some);
        }
    }
}

static void test_blocks(void **state)
{
    (void)state;
    size_t size;
    int types = 0;
    unsigned char *data = read_whole(TR_FIXTURES "/blocks.bin", &size);
    for (size_t at = 0; at < size; types++) {
        uint32_t head[4]; /* type, elements, bytes, blocks */
        memcpy(head, data + at, sizeof head);
        const tr_blocks *blocks = tr_gguf_blocks(head[0]);
        assert_non_null(blocks);
        assert_true(blocks->elements == head[1] && blocks->bytes == head[2] && head[1] <= TR_MAX_BLOCK);
        const size_t elements = (size_t)head[1] * head[3], bytes = (size_t)head[2] * head[3];
        const tr_tensor t = {.type = TR_TYPE_BLOCKS,
                             .rank = 2,
                             .shape = {head[3], head[1]},
                             .data = data + at + sizeof head,
                             .bytes = bytes,
                             .blocks = blocks};
        float *got = malloc(elements * sizeof *got), *numbers = malloc(elements * sizeof *numbers);
        assert_true(got && numbers && at + sizeof head + bytes + elements * sizeof *got <= size);
        memcpy(numbers, data + at + sizeof head + bytes, elements * sizeof *numbers);
        tr_tensor_to_f32(&t, 0, elements, got);
        for (size_t i = 0; i < elements; i++)
            if (memcmp(&got[i], &numbers[i], sizeof *got) != 0 && (got[i] != 0 || numbers[i] != 0))
                fail_msg("%s: number %zu is %a, must be %a", blocks->name, i, (double)got[i], (double)numbers[i]);
        check_parts(&t, got);
        free(got);
        free(numbers);
        at += sizeof head + bytes + elements * sizeof *numbers;
    }
    assert_int_equal(types, BLOCK_TYPES);
    free(data);
}

/* -------------------------------------------------------------------------------------------------------- translations */

/* What Transformers made of a fixture's lines. */
typedef struct expectation {
    json_t *json;
    int max_length;
    tr_tokens sources[MAX_LINES], targets[MAX_LINES];
} expectation;

static const char *path_of(const fixture *f, const char *suffix)
{
    static char path[PATH];
    snprintf(path, sizeof path, "%s/%s.%s", TR_FIXTURES, f->name, suffix);
    return path;
}

static expectation read_expectation(const fixture *f)
{
    json_error_t problem;
    expectation e = {.json = json_load_file(path_of(f, "json"), 0, &problem)};
    const json_t *lines = json_object_get(e.json, "lines");
    if (json_array_size(lines) != LINES)
        fail_msg("%s: %s", f->name, e.json ? "no 40 lines" : problem.text);
    e.max_length = (int)json_integer_value(json_object_get(e.json, "max_length"));
    for (size_t i = 0; i < LINES; i++) {
        e.sources[i] = read_ids(json_array_get(lines, i), "source");
        e.targets[i] = read_ids(json_array_get(lines, i), "target");
    }
    return e;
}

static void free_expectation(expectation *e)
{
    for (size_t i = 0; i < LINES; i++) {
        free(e->sources[i].ids);
        free(e->targets[i].ids);
    }
    json_decref(e->json);
}

static bool equal(const tr_tokens *a, const tr_tokens *b)
{
    return a->count == b->count && (a->count == 0 || memcmp(a->ids, b->ids, a->count * sizeof *a->ids) == 0);
}

static tr_model *open_model(const char *path, tr_load load, tr_compute compute)
{
    tr_model_options options = tr_model_default_options();
    tr_model *model;
    tr_error error;
    options.load = load;
    options.compute = compute;
    if (tr_model_open(path, &options, &model, &error))
        fail_msg("%s", error.message);
    return model;
}

/* To be freed with tr_tokens_array_free. */
static tr_tokens *translate(const char *path, tr_load load, tr_compute compute, const expectation *e)
{
    tr_translate_options settings = tr_translate_default_options();
    tr_model *model = open_model(path, load, compute);
    tr_context *context = NULL;
    tr_tokens *outputs = NULL;
    tr_error error;
    settings.max_length = e->max_length;
    if (tr_context_create(model, NULL, &context, &error) ||
        tr_translate_tokens(context, e->sources, LINES, &settings, &outputs, &error))
        fail_msg("%s", error.message);
    tr_context_destroy(context);
    tr_model_close(model);
    return outputs;
}

static void test_exact(void **state)
{
    const fixture *f = *state;
    expectation e = read_expectation(f);
    for (tr_load load = TR_LOAD_MAP; load <= TR_LOAD_COPY; load++) {
        tr_tokens *outputs = translate(path_of(f, "gguf"), load, TR_COMPUTE_F32, &e);
        for (size_t i = 0; i < LINES; i++)
            if (!equal(&outputs[i], &e.targets[i]))
                fail_msg("line %zu differs", i);
        tr_tokens_array_free(outputs, LINES);
    }
    free_expectation(&e);
}

/* Blocks are computed in int8 unless told otherwise; floats as they are stored. */
static void test_stored(void **state)
{
    const fixture *f = *state;
    expectation e = read_expectation(f);
    const tr_compute said[] = {TR_COMPUTE_F32, TR_COMPUTE_F16, TR_COMPUTE_BF16, TR_COMPUTE_INT8};
    tr_tokens *outputs = translate(path_of(f, "gguf"), TR_LOAD_MAP, TR_COMPUTE_AUTO, &e);
    tr_tokens *asked = translate(path_of(f, "gguf"), TR_LOAD_MAP, said[f->type], &e);
    for (size_t i = 0; i < LINES; i++)
        if (!equal(&outputs[i], &asked[i]))
            fail_msg("line %zu is not computed in %s", i, tr_type_name(f->type));
    tr_tokens_array_free(outputs, LINES);
    tr_tokens_array_free(asked, LINES);
    free_expectation(&e);
}

/* The file made from a file translates as that does. */
static void check_converted(const fixture *f, tr_type type, tr_compute compute)
{
    char path[] = "/tmp/test_llama.XXXXXX";
    tr_package package, converted;
    tr_error error;
    expectation e = read_expectation(f);
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    if (tr_package_open(path_of(f, "gguf"), TR_LOAD_MAP, &package, &error) ||
        tr_gguf_write(&package, path, type, NULL, NULL, &error) || tr_package_open(path, TR_LOAD_MAP, &converted, &error))
        fail_msg("%s", error.message);
    assert_memory_equal(&package.config, &converted.config, sizeof package.config);
    assert_int_equal(package.source_spm.size, converted.source_spm.size);
    assert_memory_equal(package.source_spm.data, converted.source_spm.data, package.source_spm.size);
    tr_package_close(&package);
    tr_package_close(&converted);
    tr_tokens *direct = translate(path_of(f, "gguf"), TR_LOAD_MAP, compute, &e),
              *outputs = translate(path, TR_LOAD_MAP, compute, &e);
    unlink(path);
    for (size_t i = 0; i < LINES; i++)
        if (!equal(&outputs[i], &direct[i]))
            fail_msg("line %zu differs in a file of %s", i, tr_type_name(type));
    tr_tokens_array_free(direct, LINES);
    tr_tokens_array_free(outputs, LINES);
    free_expectation(&e);
}

static void test_converted(void **state)
{
    const fixture *f = *state;
    check_converted(f, TR_TYPE_F32, TR_COMPUTE_F32);
    check_converted(f, TR_TYPE_F32, TR_COMPUTE_INT8); /* blocks are rounded as their numbers in f32 are */
    check_converted(f, TR_TYPE_I8, TR_COMPUTE_INT8);
    check_converted(f, TR_TYPE_F16, TR_COMPUTE_F16);
    check_converted(f, TR_TYPE_BF16, TR_COMPUTE_BF16);
}

/* ------------------------------------------------------------------------------------------------------ what is found */

static void test_found(void **state)
{
    const fixture *f = *state;
    tr_package p;
    tr_error error;
    if (tr_package_open(path_of(f, "gguf"), TR_LOAD_COPY, &p, &error))
        fail_msg("%s", error.message);
    const tr_config *c = &p.config;
    assert_int_equal(tr_stored_type(&p), f->type);
    assert_string_equal(p.format, "GGUF of llama.cpp");
    assert_string_equal(p.architecture, "t5");
    assert_string_equal(p.name, "A tiny T5");
    assert_true(!p.directory && p.target == &p.source && !p.has_checksum);
    assert_true(c->gated == f->gated && c->activation == (f->gated ? TR_ACTIVATION_GELU_TANH : TR_ACTIVATION_RELU));
    assert_true(f->tied ? c->logits_scale < 0.25f : c->logits_scale == 1);
    assert_true((tr_weights_find(&p.weights, "output.weight") == NULL) == f->tied);
    const bool madlad = strncmp(f->name, "madlad", 6) == 0;
    assert_int_equal(c->start_id, 0);
    assert_int_equal(c->end_id, madlad ? 2 : 1);
    assert_int_equal(c->pad_id, madlad ? 1 : 0);
    assert_int_equal(c->unk_id, madlad ? 0 : 2);
    assert_int_equal(p.source.size, c->source_vocabulary);
    assert_non_null(p.source.pieces[99].data);
    assert_null(p.source.pieces[100].data); /* the converter's filler */
    tr_package_close(&p);
}

static void test_texts(void **state)
{
    const fixture *f = *state;
    expectation e = read_expectation(f);
    tr_model *model = open_model(path_of(f, "gguf"), TR_LOAD_MAP, TR_COMPUTE_AUTO);
    const json_t *texts = json_object_get(e.json, "texts");
    assert_int_equal(json_array_size(texts), TEXTS);
    for (size_t i = 0; i < TEXTS; i++) {
        const json_t *text = json_object_get(json_array_get(texts, i), "text");
        tr_tokens wanted = read_ids(json_array_get(texts, i), "ids"), got;
        tr_error error;
        if (tr_tokenize(model, json_string_value(text), json_string_length(text), &got, &error))
            fail_msg("%s", error.message);
        if (!equal(&got, &wanted))
            fail_msg("text %zu: %s", i, json_string_value(text));
        free(wanted.ids);
        tr_tokens_free(&got);
    }
    tr_model_close(model);
    free_expectation(&e);
}

int main(void)
{
    static struct CMUnitTest tests[5 * FIXTURES + 1];
    static char names[5 * FIXTURES][64];
    static const struct {
        const char *what;
        CMUnitTestFunction function;
    } kinds[] = {{"exact", test_exact},
                 {"stored", test_stored},
                 {"converted", test_converted},
                 {"found", test_found},
                 {"texts", test_texts}};
    size_t count = 0;
    for (size_t i = 0; i < FIXTURES; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++, count++) {
            snprintf(names[count], sizeof names[count], "%s: %s", fixtures[i].name, kinds[k].what);
            tests[count] = (struct CMUnitTest){names[count], kinds[k].function, NULL, NULL, (void *)(uintptr_t)&fixtures[i]};
        }
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_blocks);
    return _cmocka_run_group_tests("llama", tests, count, NULL, NULL) != 0;
}
