/* A Marian directory whose weights torch.save wrote, or that are divided among several files, is the same model as one with
 * model.safetensors: the same tensors bit for bit, the same tokens. Fixtures: make_torch.py. */
#include "api/engine.h"
#include "fixture.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf/gguf.h"
#include "import/hf/hf.h"
#include "formats/open.h"
#include "import/pytorch/pytorch.h"

static const char *const type_names[] = {"f32", "f16", "bf16"};

/* Copies a fixture into the test's directory under another name. */
static void copy(const char *from, const char *name)
{
    copy_fixture(".", from, name);
}

static void copy_model(void)
{
    static const char *const names[] = {
        "config.json", "generation_config.json", "tokenizer_config.json", "vocab.json", "source.spm", "target.spm"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char from[64];
        snprintf(from, sizeof from, "model/%s", names[i]);
        copy(from, names[i]);
    }
}

static void copy_weights(const char *form, const char *type, const char *suffix, const char *name)
{
    char from[64];
    snprintf(from, sizeof from, "%s%s%s", form, type, suffix);
    copy(from, name);
}

static void copy_shards(const char *stem, const char *suffix)
{
    char name[64], from[80];
    for (int i = 1; i <= 5; i++) {
        snprintf(name, sizeof name, "%s-0000%d-of-00005%s", stem, i, suffix);
        snprintf(from, sizeof from, "shards/%s", name);
        copy(from, name);
    }
    snprintf(name, sizeof name, "%s%s.index.json", stem, suffix);
    snprintf(from, sizeof from, "shards/%s", name);
    copy(from, name);
}

static void expect_same(const tr_weights *wanted, const tr_weights *found)
{
    assert_true(wanted->count > 0);
    assert_int_equal(wanted->count, found->count);
    for (size_t i = 0; i < wanted->count; i++) {
        const tr_tensor *a = wanted->tensors[i], *b = tr_weights_find(found, a->name);
        if (!b)
            fail_msg("%s is missing", a->name);
        assert_int_equal(a->type, b->type);
        assert_int_equal(a->rank, b->rank);
        assert_memory_equal(a->shape, b->shape, sizeof a->shape);
        assert_int_equal(a->bytes, b->bytes);
        if (memcmp(a->data, b->data, a->bytes) != 0)
            fail_msg("%s has other bytes", a->name);
    }
}

static void expect_same_as_safetensors(const char *type, tr_package *found)
{
    tr_package wanted;
    copy_weights("", type, ".safetensors", "model.safetensors");
    open_package(directory, &wanted);
    expect_same(&wanted.weights, &found->weights);
    tr_package_close(&wanted);
    tr_package_close(found);
    remove_file("model.safetensors");
}

static void test_forms(void **state)
{
    (void)state;
    static const char *const forms[] = {"zip-", "legacy-"};
    copy_model();
    for (int form = 0; form < 2; form++)
        for (int type = 0; type < 3; type++)
            for (int load = TR_LOAD_MAP; load <= TR_LOAD_COPY; load++) {
                tr_package p;
                tr_error error;
                copy_weights(forms[form], type_names[type], ".bin", "pytorch_model.bin");
                if (tr_package_open(directory, (tr_load)load, &p, &error))
                    fail_msg("%s", error.message);
                assert_null(tr_weights_find(&p.weights, "output.weight")); /* one storage, four names */
                assert_non_null(tr_weights_find(&p.weights, "token_embd.weight"));
                assert_true(p.file_size > 20000);
                expect_same_as_safetensors(type_names[type], &p);
            }
}

static void test_views(void **state)
{
    (void)state;
    tr_package p;
    copy_model();
    copy("views.bin", "pytorch_model.bin");
    open_package(directory, &p);
    expect_same_as_safetensors("f32", &p);
}

static void test_shards(void **state)
{
    (void)state;
    tr_package p;
    copy_model();
    copy_shards("model", ".safetensors");
    open_package(directory, &p);
    assert_int_equal(p.file_count, 5 + 1); /* the SentencePiece models are equal */
    expect_same_as_safetensors("f32", &p);
    remove_file("model.safetensors.index.json");
    copy_shards("pytorch_model", ".bin");
    open_package(directory, &p);
    expect_same_as_safetensors("f32", &p);
}

/* Tensors are aligned for their elements at whatever address the file is mapped. */
static void test_addresses(void **state)
{
    (void)state;
    static const char *const files[] = {"zip-f32.bin", "legacy-f32.bin", "legacy-bf16.bin", "zip-f16.bin"};
    for (int f = 0; f < 4; f++)
        for (size_t shift = 0; shift < 8; shift++) {
            const char *type = strchr(files[f], '-') + 1;
            char path[PATH_SIZE];
            size_t size, plain_size;
            snprintf(path, sizeof path, "%s/%s", TR_FIXTURES, files[f]);
            unsigned char *data = read_file(path, &size), *shifted = malloc(size + shift);
            snprintf(path, sizeof path, "%s/%.*s.safetensors", TR_FIXTURES, (int)strcspn(type, "."), type);
            unsigned char *plain = read_file(path, &plain_size);
            assert_non_null(shifted);
            memcpy(shifted + shift, data, size);
            const tr_weight_file wanted = {"wanted", {plain, plain_size}, false},
                                 found = {"found", {shifted + shift, size}, false};
            tr_weights a = {0}, b = {0};
            tr_error error;
            if (tr_hf_weights(&wanted, 1, tr_hf_rename_marian, (tr_hf_ties){true, true}, &a, &error) ||
                tr_hf_weights(&found, 1, tr_hf_rename_marian, (tr_hf_ties){true, true}, &b, &error))
                fail_msg("%s", error.message);
            expect_same(&a, &b);
            tr_weights_free(&a);
            tr_weights_free(&b);
            free(plain);
            free(shifted);
            free(data);
        }
}

/* model.safetensors has precedence, then its index, pytorch_model.bin, its index; the rest is not even opened. */
static void test_preference(void **state)
{
    (void)state;
    static const char *const names[] = {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                                        "pytorch_model.bin.index.json"};
    copy_model();
    for (int i = 3; i >= 0; i--) {
        write_text(names[i], "x");
        expect_failure(directory, TR_ERROR_FORMAT, names[i]);
    }
    for (int i = 0; i < 4; i++)
        remove_file(names[i]);
    expect_failure(directory, TR_ERROR_FORMAT, "model.safetensors is missing");
}

/* ------------------------------------------------------------------------------------------------------------- tokens */

static json_t *expected(void)
{
    json_t *json = json_load_file(TR_FIXTURES "/expected.json", 0, NULL);
    assert_non_null(json);
    return json;
}

static tr_tokens *load_tokens(const json_t *lists)
{
    tr_tokens *tokens = calloc(json_array_size(lists), sizeof *tokens);
    assert_non_null(tokens);
    for (size_t i = 0; i < json_array_size(lists); i++) {
        const json_t *list = json_array_get(lists, i);
        tokens[i].count = json_array_size(list);
        tokens[i].ids = malloc((tokens[i].count + 1) * sizeof *tokens[i].ids);
        assert_non_null(tokens[i].ids);
        for (size_t j = 0; j < tokens[i].count; j++)
            tokens[i].ids[j] = (int32_t)json_integer_value(json_array_get(list, j));
    }
    return tokens;
}

static void expect_tokens(const tr_tokens *sources, const tr_tokens *targets, size_t count, int max_length)
{
    tr_model *model;
    tr_context *context;
    tr_tokens *found;
    tr_error error;
    tr_translate_options options = tr_translate_default_options();
    options.max_length = max_length;
    if (tr_open_model(directory, NULL, &model, &error) || tr_make_context(model, NULL, &context, &error) ||
        tr_translate_ids(context, sources, count, &options, &found, &error))
        fail_msg("%s", error.message);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(found[i].count, targets[i].count);
        assert_memory_equal(found[i].ids, targets[i].ids, targets[i].count * sizeof *targets[i].ids);
    }
    tr_tokens_array_free(found, count);
    tr_context_destroy(context);
    tr_model_close(model);
}

/* Transformers' tokens, from each kind of weight file. */
static void test_tokens(void **state)
{
    (void)state;
    json_t *json = expected();
    const size_t count = json_array_size(json_object_get(json, "sources"));
    const int max_length = (int)json_integer_value(json_object_get(json, "max_length"));
    tr_tokens *sources = load_tokens(json_object_get(json, "sources")),
              *targets = load_tokens(json_object_get(json, "targets"));
    static const char *const weights[] = {"zip-f32.bin", "zip-bf16.bin", "legacy-f32.bin", "legacy-f16.bin", "views.bin"};
    copy_model();
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        copy(weights[i], "pytorch_model.bin");
        expect_tokens(sources, targets, count, max_length);
    }
    copy("f32.safetensors", "model.safetensors");
    expect_tokens(sources, targets, count, max_length);
    remove_file("model.safetensors");
    copy_shards("pytorch_model", ".bin");
    remove_file("pytorch_model.bin");
    expect_tokens(sources, targets, count, max_length);
    tr_tokens_array_free(sources, count);
    tr_tokens_array_free(targets, count);
    json_decref(json);
}

/* The model file made of them has the same tensors, packed or not. */
static void test_convert(void **state)
{
    (void)state;
    static const tr_type types[] = {TR_TYPE_F32, TR_TYPE_I8};
    copy_model();
    for (int t = 0; t < 2; t++) {
        tr_package p;
        size_t size, other_size;
        copy("f32.safetensors", "model.safetensors");
        open_package(directory, &p);
        write_package(&p, in_directory("a.gguf"), types[t]);
        tr_package_close(&p);
        remove_file("model.safetensors");
        copy("legacy-f32.bin", "pytorch_model.bin");
        open_package(directory, &p);
        write_package(&p, in_directory("b.gguf"), types[t]);
        tr_package_close(&p);
        tr_package a, b;
        open_package(in_directory("a.gguf"), &a);
        open_package(in_directory("b.gguf"), &b);
        expect_same(&a.weights, &b.weights);
        tr_package_close(&a);
        tr_package_close(&b);
        unsigned char *one = read_file(in_directory("a.gguf"), &size),
                      *other = read_file(in_directory("b.gguf"), &other_size);
        assert_int_equal(size, other_size);
        free(one);
        free(other);
    }
}

/* --------------------------------------------------------------------------------------------------------------- index */

static void test_index(void **state)
{
    (void)state;
    static const struct {
        const char *index, *needle;
        tr_status status;
    } cases[] = {
        {"{}", "index.json: has no weight_map", TR_ERROR_FORMAT},
        {"{\"weight_map\": {}}", "has no weight_map", TR_ERROR_FORMAT},
        {"{\"weight_map\": [\"a\"]}", "has no weight_map", TR_ERROR_FORMAT},
        {"{\"weight_map\": {\"t\": 3}}", "tensor t: what it has is not the name", TR_ERROR_FORMAT},
        {"{\"weight_map\": {\"t\": \"\"}}", "is not the name", TR_ERROR_FORMAT},
        {"{\"weight_map\": {\"t\": \"/etc/passwd\"}}", "/etc/passwd is not the name", TR_ERROR_FORMAT},
        {"{\"weight_map\": {\"t\": \"../model.safetensors\"}}", "../model.safetensors is not the name", TR_ERROR_FORMAT},
        {"{\"weight_map\": {\"t\": \"a\\\\b\"}}", "is not the name", TR_ERROR_FORMAT},
        {"{\"weight_map\": {\"t\": \"..\"}}", "is not the name", TR_ERROR_FORMAT},
        {"{\"weight_map\": {\"t\": \"absent.bin\"}}", "absent.bin: No such file", TR_ERROR_IO},
        {"{\"weight_map\": {\"t\": \".\"}}", "is a directory", TR_ERROR_IO},
        {"{\"weight_map\": {\"t\": \"source.spm\"}}", "source.spm: header", TR_ERROR_FORMAT},
        {"{\"weight_map\": {\"t\": \"pytorch_model.bin.index.json\"}}", "index.json: header", TR_ERROR_FORMAT},
        {"[", "is not valid JSON", TR_ERROR_FORMAT},
    };
    copy_model();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text("pytorch_model.bin.index.json", cases[i].index);
        expect_failure(directory, cases[i].status, cases[i].needle);
    }
    copy_shards("pytorch_model", ".bin");
    remove_file("pytorch_model-00003-of-00005.bin");
    expect_failure(directory, TR_ERROR_IO, "pytorch_model-00003-of-00005.bin: No such file");
    copy("shards/pytorch_model-00002-of-00005.bin", "pytorch_model-00003-of-00005.bin"); /* its tensors, twice */
    expect_failure(directory, TR_ERROR_FORMAT, "pytorch_model-00003-of-00005.bin: tensor");
    expect_failure(directory, TR_ERROR_FORMAT, "is there twice");
}

/* More files than any model has. */
static void test_many_files(void **state)
{
    (void)state;
    json_t *map = json_object();
    copy_model();
    for (int i = 0; i < TR_PACKAGE_FILES + 1; i++) {
        char name[32];
        snprintf(name, sizeof name, "shard-%d", i);
        map = tr_json_set(map, name, json_string(name));
        write_text(name, "x");
    }
    tr_buffer text = {0};
    assert_true(tr_json_print(json_pack("{s:o}", "weight_map", map), JSON_COMPACT, &text));
    write_text("pytorch_model.bin.index.json", text.data);
    tr_buffer_free(&text);
    expect_failure(directory, TR_ERROR_UNSUPPORTED, "more than 1024 files");
}

/* ------------------------------------------------------------------------------------------------------------- damage */

static const char *const damaged_files[] = {"zip-bf16.bin", "legacy-f16.bin", "views.bin"};

static void test_truncated(void **state)
{
    (void)state;
    copy_model();
    for (int f = 0; f < 3; f++) {
        size_t size;
        unsigned char *file = read_fixture(".", damaged_files[f], &size);
        for (size_t length = 0; length < size; length += length < 64 || size - length < 64 ? 1 : 211) {
            write_file("pytorch_model.bin", file, length);
            expect_failure(directory, TR_ERROR_FORMAT, "pytorch_model.bin: ");
        }
        free(file);
    }
}

/* Any byte may be wrong: the result is a model or a message. The file is in memory of exactly its size, so that sanitizers
 * see reads beyond it. */
static void test_flipped(void **state)
{
    (void)state;
    uint32_t chance = 1;
    for (int f = 0; f < 3; f++) {
        size_t size;
        unsigned char *file = read_fixture(".", damaged_files[f], &size);
        for (int round = 0; round < 3000; round++) {
            chance = chance * 1664525 + 1013904223;
            const size_t at = (chance >> 8) % (round % 2 ? size : 9000);
            const unsigned char before = file[at];
            chance = chance * 1664525 + 1013904223;
            file[at] = (unsigned char)(chance >> 24);
            const tr_weight_file one = {"file", {file, size}, false};
            tr_weights weights = {0};
            tr_error error = {0};
            if (tr_hf_weights(&one, 1, tr_hf_rename_marian, (tr_hf_ties){true, true}, &weights, &error) != TR_OK)
                assert_true(*error.message && !strchr(error.message, '\n'));
            tr_weights_free(&weights);
            file[at] = before;
        }
        free(file);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_forms),      TEST(test_views),     TEST(test_shards),  TEST(test_addresses),
        TEST(test_preference), TEST(test_tokens),    TEST(test_convert), TEST(test_index),
        TEST(test_many_files), TEST(test_truncated), TEST(test_flipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
