/* GGUF files of llama.cpp's converter: the numbers of each block type are bit for bit those of the gguf package; tokens are
 * those that Transformers decodes with these numbers (make_models.py), from the file and from model files converted from it;
 * texts have the tokens of the SentencePiece model that the converter read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../engine_fixture.h"
#include "../formats/fixture.h"
#include "formats/gguf/blocks.h"
#include "formats/int8.h"

enum { TEXTS = 32, LINES = 40, BLOCK_TYPES = 12 };

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

/* ------------------------------------------------------------------------------------------------------------- blocks */

/* Reading any part of a tensor gives the same numbers. */
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
    unsigned char *data = read_file(TR_FIXTURES "/blocks.bin", &size);
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

static expectation expectation_of(const fixture *f)
{
    return read_expectation(fixture_path(f->name, ".json"), LINES, LINES);
}

static void test_exact(void **state)
{
    const fixture *f = *state;
    expectation e = expectation_of(f);
    tr_tokens *targets = lines_ids(&e, "target");
    for (tr_load load = TR_LOAD_MAP; load <= TR_LOAD_COPY; load++)
        expect_targets(fixture_path(f->name, ".gguf"), (way){.load = load, .compute = TR_COMPUTE_F32}, &e, targets);
    tr_tokens_array_free(targets, e.count);
    free_expectation(&e);
}

/* By default, block types are computed in int8, and floats as they are stored. */
static void test_stored(void **state)
{
    const fixture *f = *state;
    expectation e = expectation_of(f);
    const tr_compute said[] = {TR_COMPUTE_F32, TR_COMPUTE_F16, TR_COMPUTE_BF16, TR_COMPUTE_INT8};
    const char *path = fixture_path(f->name, ".gguf");
    tr_tokens *asked = translate_sources(path, (way){.compute = said[f->type]}, &e);
    expect_targets(path, (way){.compute = TR_COMPUTE_AUTO}, &e, asked);
    tr_tokens_array_free(asked, e.count);
    free_expectation(&e);
}

/* The parts of a converted file besides its weights. */
static void check_converted_parts(const fixture *f, tr_type type)
{
    char path[] = TEMPORARY_FILE;
    tr_package package, converted;
    convert_to_temporary(fixture_path(f->name, ".gguf"), type, path);
    open_package(fixture_path(f->name, ".gguf"), &package);
    open_package(path, &converted);
    assert_memory_equal(&package.config, &converted.config, sizeof package.config);
    assert_int_equal(package.source_spm.size, converted.source_spm.size);
    assert_memory_equal(package.source_spm.data, converted.source_spm.data, package.source_spm.size);
    tr_package_close(&package);
    tr_package_close(&converted);
    unlink(path);
}

static void test_converted(void **state)
{
    const fixture *f = *state;
    expectation e = expectation_of(f);
    for (tr_type type = TR_TYPE_F32; type <= TR_TYPE_I8; type++)
        check_converted_parts(f, type);
    expect_all_converted(fixture_path(f->name, ".gguf"), &e);
    /* the numbers of blocks are rounded like f32 */
    expect_converted(fixture_path(f->name, ".gguf"), TR_TYPE_F32, TR_COMPUTE_INT8, &e);
    free_expectation(&e);
}

/* ------------------------------------------------------------------------------------------------------ what is found */

static void test_found(void **state)
{
    const fixture *f = *state;
    tr_package p;
    open_package(fixture_path(f->name, ".gguf"), &p); /* TR_LOAD_COPY */
    const tr_config *c = &p.config;
    assert_int_equal(tr_lossless_type(&p.weights), f->type);
    assert_string_equal(p.format, "GGUF of llama.cpp");
    assert_string_equal(p.architecture, "t5");
    assert_string_equal(p.name, "A tiny T5");
    assert_true(!p.directory && p.target == &p.source && !p.has_checksum);
    assert_true(c->gated == f->gated && c->activation == (f->gated ? TR_ACTIVATION_GELU_TANH : TR_ACTIVATION_RELU));
    assert_true(f->tied ? c->logits_scale < 0.25f : c->logits_scale == 1);
    assert_true((tr_weights_find(&p.weights, "output.weight") == NULL) == f->tied);
    const bool madlad = strncmp(f->name, "madlad", 6) == 0;
    assert_int_equal(c->start_id, 0);
    assert_int_equal(c->eos_id, madlad ? 2 : 1);
    assert_int_equal(c->pad_id, madlad ? 1 : 0);
    assert_int_equal(c->unk_id, madlad ? 0 : 2);
    assert_int_equal(p.source.size, c->source_vocabulary);
    assert_non_null(p.source.pieces[99].data);
    assert_null(p.source.pieces[100].data); /* the converter's filler token */
    tr_package_close(&p);
}

static void test_texts(void **state)
{
    const fixture *f = *state;
    expectation e = expectation_of(f);
    tr_model *model;
    tr_context *context = open_way(fixture_path(f->name, ".gguf"), (way){0}, &model);
    const json_t *texts = json_object_get(e.json, "texts");
    assert_int_equal(json_array_size(texts), TEXTS);
    for (size_t i = 0; i < TEXTS; i++) {
        const json_t *text = json_object_get(json_array_get(texts, i), "text");
        tr_tokens wanted = read_ids(json_array_get(texts, i), "ids"), got;
        tr_error error;
        if (tr_source_tokens(model, json_string_value(text), json_string_length(text), &got, &error))
            fail_msg("%s", error.message);
        expect_ids(json_string_value(text), i, &got, &wanted);
        tr_tokens_free(&wanted);
        tr_tokens_free(&got);
    }
    tr_context_destroy(context);
    tr_model_close(model);
    free_expectation(&e);
}

int main(void)
{
    static const fixture_test kinds[] = {{"exact", test_exact},
                                         {"stored", test_stored},
                                         {"converted", test_converted},
                                         {"found", test_found},
                                         {"texts", test_texts}};
    const struct CMUnitTest others[] = {cmocka_unit_test(test_blocks)};
    return run_fixture_suite(&(fixture_suite){"llama", fixtures, sizeof fixtures / sizeof *fixtures, sizeof *fixtures, kinds,
                                              sizeof kinds / sizeof *kinds, others, 1});
}
