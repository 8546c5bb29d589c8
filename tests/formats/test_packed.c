/* int8 matrices: packing and unpacking. */
#define _GNU_SOURCE
#include "fixture.h"
#include "kernels/dispatch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf/gguf.h"
#include "formats/int8.h"
#include "model/pack.h"

static const char *const type_names[] = {"F32", "F16", "BF16"}; /* by tr_type */

static const tr_tensor *find_part(const tr_package *package, const char *name, const char *suffix)
{
    const tr_tensor *t = tr_weights_part(&package->weights, name, suffix);
    if (!t)
        fail_msg("%s%s is missing", name, suffix);
    return t;
}

/* Each weight is at most half a step off, padding is zero, sums are right, the largest weight is at the end of the range. */
static void expect_packed(const tr_package *package, const tr_tensor *plain)
{
    const int outputs = (int)plain->shape[0], inputs = (int)plain->shape[1];
    const tr_tensor *panels = find_part(package, plain->name, TR_PACKED_PANELS),
                    *scales = find_part(package, plain->name, TR_PACKED_SCALE);
    const tr_tensor *colsums = find_part(package, plain->name, TR_PACKED_COLSUM);
    const int8_t *q = panels->data;
    const float *scale = scales->data;
    const int32_t *colsum = colsums->data;
    const int groups = (inputs + 3) / 4, slots = (outputs + 15) / 16 * 16;
    assert_true(panels->type == TR_TYPE_I8 && panels->rank == 3 && panels->shape[0] == slots / 16 &&
                panels->shape[1] == groups && panels->shape[2] == 64);
    assert_true(scales->type == TR_TYPE_F32 && scales->rank == 1 && scales->shape[0] == outputs);
    assert_true(colsums->type == TR_TYPE_I32 && colsums->rank == 1 && colsums->shape[0] == outputs);
    assert_true((uintptr_t)q % 64 == 0);
    for (int o = 0; o < slots; o++) {
        int32_t sum = 0, most = 0;
        for (int i = 0; i < 4 * groups; i++) {
            const int8_t found = q[((o / 16) * groups + i / 4) * 64 + o % 16 * 4 + i % 4];
            float w = 0;
            if (o < outputs && i < inputs)
                tr_tensor_to_f32(plain, (size_t)(o * inputs + i), 1, &w);
            assert_true(found >= -127 &&
                        fabsf(w - (float)found * (o < outputs ? scale[o] : 1)) <= (o < outputs ? scale[o] * 0.50001f : 0));
            sum += found;
            most = abs(found) > most ? abs(found) : most;
        }
        assert_int_equal(sum, o < outputs ? colsum[o] : 0);
        assert_true(o >= outputs || most == 127 || (most == 0 && scale[o] == 0));
    }
    assert_null(tr_weights_find(&package->weights, plain->name));
}

static void expect_file(const char *path, const unsigned char *expected, size_t size)
{
    size_t found;
    unsigned char *file = read_file(path, &found);
    assert_int_equal(found, size);
    assert_memory_equal(file, expected, size);
    free(file);
}

/* The file is the same for every floating type (the weights are exact in each), and for every way of conversion. */
static unsigned char *pack_model(fixture_ties ties, tr_type from, size_t *size)
{
    tr_package original, wide, packed;
    make_model(ties, type_names[from]);
    open_package(directory, &original);
    write_package(&original, in_directory("packed.gguf"), TR_TYPE_I8);
    unsigned char *file = read_file(in_directory("packed.gguf"), size);
    open_package(in_directory("packed.gguf"), &packed);
    size_t tensors = 0;
    for (size_t i = 0; i < original.weights.count; i++) {
        const tr_tensor *t = original.weights.tensors[i];
        tensors += t->rank == 2 ? 3 : 1;
        if (t->rank == 2)
            expect_packed(&packed, t);
        else
            assert_int_equal(tr_weights_find(&packed.weights, t->name)->type, TR_TYPE_F32);
    }
    assert_int_equal(packed.weights.count, tensors);
    assert_true(tr_lossless_type(&packed.weights) == TR_TYPE_I8 && tr_lossless_type(&original.weights) == from);
    assert_int_equal(tr_gguf_verify(in_directory("packed.gguf"), NULL, NULL), TR_OK);
    write_package(&packed, in_directory("again.gguf"), TR_TYPE_I8);
    expect_file(in_directory("again.gguf"), file, *size);
    write_package(&original, in_directory("wide.gguf"), TR_TYPE_F32);
    open_package(in_directory("wide.gguf"), &wide);
    write_package(&wide, in_directory("again.gguf"), TR_TYPE_I8);
    expect_file(in_directory("again.gguf"), file, *size);
    tr_package_close(&original);
    tr_package_close(&wide);
    tr_package_close(&packed);
    return file;
}

static void test_packing(void **state)
{
    (void)state;
    for (int ties = SHARED; ties <= UNTIED; ties++) {
        size_t size, other_size;
        unsigned char *file = pack_model((fixture_ties)ties, TR_TYPE_F32, &size);
        for (int from = TR_TYPE_F16; from <= TR_TYPE_BF16; from++) {
            unsigned char *other = pack_model((fixture_ties)ties, (tr_type)from, &other_size);
            assert_int_equal(size, other_size);
            assert_memory_equal(file, other, size);
            free(other);
        }
        free(file);
    }
}

/* Unpacked to floats, a matrix has its shape again, and the values scale times integer, rounded once; packed again, it has
 * the same integers. */
static void test_unpacking(void **state)
{
    (void)state;
    size_t size;
    tr_package original, packed, plain, again;
    free(pack_model(UNTIED, TR_TYPE_F32, &size));
    open_package(directory, &original);
    open_package(in_directory("packed.gguf"), &packed);
    for (tr_type type = TR_TYPE_F32; type <= TR_TYPE_BF16; type++) {
        write_package(&packed, in_directory("plain.gguf"), type);
        open_package(in_directory("plain.gguf"), &plain);
        write_package(&plain, in_directory("again.gguf"), TR_TYPE_I8);
        open_package(in_directory("again.gguf"), &again);
        assert_int_equal(plain.weights.count, original.weights.count);
        for (size_t i = 0; i < original.weights.count; i++) {
            const tr_tensor *t = original.weights.tensors[i], *found = tr_weights_find(&plain.weights, t->name);
            tr_matrix m;
            float row[FFN], expected[FFN], rounded[FFN];
            assert_true(found && found->rank == t->rank && memcmp(found->shape, t->shape, sizeof t->shape) == 0);
            assert_int_equal(found->type, t->rank == 2 ? type : TR_TYPE_F32);
            if (t->rank != 2)
                continue;
            const size_t inputs = (size_t)t->shape[1];
            const tr_tensor *panels = find_part(&packed, t->name, TR_PACKED_PANELS),
                            *repacked = find_part(&again, t->name, TR_PACKED_PANELS);
            assert_int_equal(tr_packed_matrix(&packed.weights, &packed.config, panels, &m, NULL), TR_OK);
            for (size_t o = 0; o < (size_t)t->shape[0]; o++) {
                tr_unpack_output(&m, (int)o, expected);
                tr_from_f32(type, expected, inputs, rounded);
                assert_memory_equal((const char *)found->data + o * inputs * tr_type_size(type), rounded,
                                    inputs * tr_type_size(type));
                tr_tensor_to_f32(found, o * inputs, inputs, row);
                for (size_t k = 0; k < inputs; k++)
                    assert_true(fabsf(row[k] - expected[k]) <= fabsf(expected[k]) / 256);
            }
            if (type != TR_TYPE_BF16) /* eight bits do not distinguish 127 steps everywhere */
                assert_memory_equal(repacked->data, panels->data, panels->bytes);
        }
        tr_package_close(&plain);
        tr_package_close(&again);
    }
    tr_package_close(&original);
    tr_package_close(&packed);
}

static void add_matrix(tr_package *package, const char *name, int64_t outputs, int64_t inputs, const float *data)
{
    tr_tensor t = {.rank = 2, .shape = {outputs, inputs}, .data = data};
    t.bytes = (size_t)(outputs * inputs) * sizeof *data;
    strcpy(t.name, name);
    assert_int_equal(tr_weights_add(&package->weights, &t, NULL), TR_OK);
}

/* Shapes that do not fill their panels; a vector with two dimensions, which is no matrix; a matrix of zeros. */
static void test_packing_odd_shapes(void **state)
{
    (void)state;
    static float weights[17 * 5], zeros[3 * D_MODEL];
    tr_package original, packed, plain;
    for (int i = 0; i < 17 * 5; i++)
        weights[i] = (float)((i * 37) % 101 - 50) / 7;
    make_model(SHARED, "F32");
    open_package(directory, &original);
    original.config.decoder_ffn = 5;
    add_matrix(&original, "dec.blk.7.ffn_down.weight", 17, 5, weights);
    add_matrix(&original, "dec.blk.7.attn_q.weight", 3, D_MODEL, zeros);
    add_matrix(&original, "dec.blk.7.attn_norm.weight", 1, 5, weights);
    write_package(&original, in_directory("m.gguf"), TR_TYPE_I8);
    open_package(in_directory("m.gguf"), &packed);
    expect_packed(&packed, tr_weights_find(&original.weights, "dec.blk.7.ffn_down.weight"));
    expect_packed(&packed, tr_weights_find(&original.weights, "dec.blk.7.attn_q.weight"));
    const tr_tensor *norm = tr_weights_find(&packed.weights, "dec.blk.7.attn_norm.weight");
    assert_true(norm && norm->type == TR_TYPE_F32 && norm->rank == 2);
    write_package(&packed, in_directory("plain.gguf"), TR_TYPE_F16);
    open_package(in_directory("plain.gguf"), &plain);
    const tr_tensor *down = tr_weights_find(&plain.weights, "dec.blk.7.ffn_down.weight");
    assert_true(down && down->rank == 2 && down->shape[0] == 17 && down->shape[1] == 5);
    assert_int_equal(tr_weights_find(&plain.weights, "dec.blk.7.attn_norm.weight")->type, TR_TYPE_F32);
    tr_package_close(&original);
    tr_package_close(&packed);
    tr_package_close(&plain);
}

/* Panels without a screen get the same screen when they are written. */
static void expect_same_screen(const tr_package *packed, const tr_tensor *screen)
{
    tr_package without = *packed, again;
    without.weights = (tr_weights){0};
    for (size_t i = 0; i < packed->weights.count; i++) {
        tr_tensor tensor = *packed->weights.tensors[i];
        tensor.owned = false;
        if (strcmp(tensor.name, screen->name) != 0)
            assert_int_equal(tr_weights_add(&without.weights, &tensor, NULL), TR_OK);
    }
    write_package(&without, in_directory("again.gguf"), TR_TYPE_I8);
    open_package(in_directory("again.gguf"), &again);
    const tr_tensor *made = tr_weights_find(&again.weights, screen->name);
    assert_true(made && made->bytes == screen->bytes);
    assert_memory_equal(made->data, screen->data, screen->bytes);
    assert_int_equal(again.weights.count, packed->weights.count);
    tr_package_close(&again);
    tr_weights_free(&without.weights);
}

/* The file has a 4-bit copy of a large output matrix; made panel by panel, it equals that of the whole matrix. */
static void test_screen(void **state)
{
    (void)state;
    enum { OUTPUTS = 9001, INPUTS = 234, PANELS = (OUTPUTS + 15) / 16 };
    float *weights = malloc((size_t)OUTPUTS * INPUTS * sizeof *weights);
    const size_t panel_bytes = (size_t)tr_screen_lines(INPUTS) * 64;
    unsigned char *coarse = malloc(panel_bytes);
    tr_package original, packed, plain;
    const tr_kernels *kernels;
    tr_matrix m;
    assert_int_equal(tr_kernels_select("portable", &kernels, NULL), TR_OK);
    for (int i = 0; i < OUTPUTS * INPUTS; i++)
        weights[i] = (float)((i % 10007 * 7919) % 10007 - 5000) / 3000;
    make_model(SHARED, "F32");
    open_package(directory, &original);
    original.config.decoder_ffn = INPUTS; /* which determines the inputs of the second matrix */
    add_matrix(&original, "output.weight", OUTPUTS, INPUTS, weights);
    add_matrix(&original, "dec.blk.7.ffn_down.weight", OUTPUTS, INPUTS, weights);
    write_package(&original, in_directory("m.gguf"), TR_TYPE_I8);
    open_package(in_directory("m.gguf"), &packed);
    assert_null(tr_weights_find(&packed.weights, "dec.blk.7.ffn_down.weight.k8n16"));
    assert_null(tr_weights_find(&packed.weights, "token_embd.weight.k8n16"));
    const tr_tensor *screen = find_part(&packed, "output.weight", TR_SCREEN_PANELS);
    assert_true(screen->type == TR_TYPE_I8 && screen->rank == 3 && screen->shape[0] == PANELS &&
                screen->shape[1] == (INPUTS + 7) / 8 + 1 && screen->shape[2] == 64);
    const tr_tensor *panels = find_part(&packed, "dec.blk.7.ffn_down.weight", TR_PACKED_PANELS); /* the same weights */
    assert_int_equal(tr_packed_matrix(&packed.weights, &packed.config, panels, &m, NULL), TR_OK);
    assert_int_equal(m.inputs, INPUTS);
    for (int p = 0; p < PANELS; p++) {
        kernels->screen_pack(&m, 16 * p, coarse);
        assert_memory_equal((const char *)screen->data + (size_t)p * panel_bytes, coarse, panel_bytes);
    }
    expect_same_screen(&packed, screen);
    write_package(&packed, in_directory("plain.gguf"), TR_TYPE_BF16);
    open_package(in_directory("plain.gguf"), &plain);
    assert_int_equal(plain.weights.count, original.weights.count);
    tr_package_close(&original);
    tr_package_close(&packed);
    tr_package_close(&plain);
    free(weights);
    free(coarse);
}

/* Adds a matrix that cannot be packed; the file must be removed. */
static void expect_unpackable(const char *name, int64_t outputs, int64_t inputs, const float *data, tr_status status,
                              const char *needle)
{
    tr_package package;
    tr_error error;
    make_model(SHARED, "F32");
    open_package(directory, &package);
    add_matrix(&package, name, outputs, inputs, data);
    assert_int_equal(tr_gguf_write(&package, in_directory("bad.gguf"), TR_TYPE_I8, NULL, NULL, &error), status);
    if (!strstr(error.message, name) || !strstr(error.message, needle) || strchr(error.message, '\n'))
        fail_msg("%s", error.message);
    assert_false(has_leftovers("bad.gguf"));
    tr_package_close(&package);
}

static void test_unpackable(void **state)
{
    (void)state;
    float *data = calloc(TR_I8_INPUTS + 1, sizeof *data);
    expect_unpackable("a.weight", 1, TR_I8_INPUTS + 1, data, TR_ERROR_UNSUPPORTED, "too large for int8");
    expect_unpackable("a_name_of_so_many_letters_that_none_can_follow_its.weight", 2, 2, data, TR_ERROR_UNSUPPORTED,
                      "too long");
    expect_unpackable("a.weight", 0, 4, data, TR_ERROR_FORMAT, "is empty");
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        data[50] = bad[i]; /* in the second panel */
        expect_unpackable("a.weight", 20, 3, data, TR_ERROR_NUMERIC, "is not finite");
    }
    free(data);
}

/* A file that has a matrix both as floats and in int8 is refused. */
static void test_matrix_twice(void **state)
{
    (void)state;
    static float matrix[D_MODEL * D_MODEL];
    tr_package package;
    make_model(SHARED, "F32");
    open_package(directory, &package);
    write_package(&package, in_directory("m.gguf"), TR_TYPE_I8);
    tr_package_close(&package);
    open_package(in_directory("m.gguf"), &package);
    add_matrix(&package, "enc.blk.0.attn_k.other_", D_MODEL, D_MODEL, matrix); /* no matrix by its name, so not packed */
    write_package(&package, in_directory("twice.gguf"), TR_TYPE_I8);
    tr_package_close(&package);
    size_t size;
    unsigned char *file = read_file(in_directory("twice.gguf"), &size);
    unsigned char *name = memmem(file, size, "enc.blk.0.attn_k.other_", 23);
    assert_non_null(name);
    memcpy(name, "enc.blk.0.attn_k.weight", 23);
    write_file("twice.gguf", file, size);
    free(file);
    expect_failure(in_directory("twice.gguf"), TR_ERROR_FORMAT, "enc.blk.0.attn_k.weight: is there twice");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_packing),    TEST(test_unpacking),    TEST(test_packing_odd_shapes),
        TEST(test_unpackable), TEST(test_matrix_twice), TEST(test_screen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
