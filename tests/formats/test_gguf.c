/* The GGUF file: round trips, checksum, damage of every kind. */
#define _GNU_SOURCE
#include "gguf_damage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf/gguf.h"
#include "formats/xxh64.h"
#include "util/buffer.h"

static const char *const type_names[] = {"F32", "F16", "BF16"}; /* by tr_type */

/* --------------------------------------------------------------------------------------------------------- round trips */

static void expect_same_tensors(const tr_weights *a, const tr_weights *b, tr_type type)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const tr_tensor *x = a->tensors[i], *y = tr_weights_find(b, x->name);
        assert_non_null(y);
        assert_int_equal(x->rank, y->rank);
        assert_memory_equal(x->shape, y->shape, sizeof x->shape);
        assert_int_equal(y->type, x->rank == 2 ? type : TR_TYPE_F32);
        assert_int_equal((uintptr_t)y->data % 64, 0);
        for (size_t j = 0; j < tr_tensor_elements(x); j++) {
            float u, v;
            tr_tensor_to_f32(x, j, 1, &u);
            tr_tensor_to_f32(y, j, 1, &v);
            assert_true(u == v); /* the fixture's weights are exact in every type */
        }
    }
}

static void expect_same_vocabulary(const tr_vocabulary *a, const tr_vocabulary *b)
{
    assert_int_equal(a->size, b->size);
    for (size_t i = 0; i < a->size; i++) {
        assert_int_equal(a->pieces[i].size, b->pieces[i].size);
        if (a->pieces[i].size)
            assert_memory_equal(a->pieces[i].data, b->pieces[i].data, a->pieces[i].size);
        else
            assert_true(!a->pieces[i].data && !b->pieces[i].data);
    }
}

static void expect_same_bytes(tr_bytes a, tr_bytes b)
{
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
}

/* The struct has padding, so field by field. */
static void expect_same_config(const tr_config *a, const tr_config *b)
{
#define SAME(field) assert_true(a->field == b->field)
    SAME(d_model), SAME(encoder_layers), SAME(decoder_layers), SAME(encoder_heads), SAME(decoder_heads);
    SAME(encoder_ffn), SAME(decoder_ffn), SAME(source_vocabulary), SAME(target_vocabulary), SAME(max_positions);
    SAME(position_offset), SAME(positions), SAME(activation), SAME(pre_norm), SAME(final_norm), SAME(embedding_norm);
    SAME(embedding_scale), SAME(layer_norm_epsilon), SAME(start_id), SAME(eos_id), SAME(pad_id), SAME(unk_id);
    SAME(forced_first_id), SAME(forced_last_id), SAME(forbidden_count);
    SAME(encoder_ffn_depth), SAME(decoder_ffn_depth), SAME(post_norm), SAME(unnormalised_kv), SAME(no_output_projection);
    SAME(start_zeros), SAME(mixer), SAME(ssru_projection), SAME(aan_ffn), SAME(aan_depth);
    SAME(aan_activation), SAME(aan_ungated);
    assert_memory_equal(a->forbidden, b->forbidden, sizeof a->forbidden);
}

static void expect_same(const tr_package *a, const tr_package *b, tr_type type)
{
    expect_same_config(&a->config, &b->config);
    expect_same_tensors(&a->weights, &b->weights, type);
    expect_same_vocabulary(&a->source, &b->source);
    expect_same_vocabulary(a->target, b->target);
    assert_int_equal(a->target == &a->source, b->target == &b->source);
    expect_same_bytes(a->source_spm, b->source_spm);
    expect_same_bytes(a->target_spm, b->target_spm);
    assert_string_equal(a->architecture, b->architecture);
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->source_language, b->source_language);
    assert_string_equal(a->target_language, b->target_language);
}

static void round_trip(fixture_ties ties, tr_type from, tr_type to)
{
    tr_package original, first, second;
    tr_error error;
    uint64_t checksum;
    char path[2 * PATH_SIZE], again[2 * PATH_SIZE];
    make_model(ties, type_names[from]);
    strcpy(path, in_directory("first.gguf"));
    strcpy(again, in_directory("second.gguf"));
    open_package(directory, &original);
    write_package(&original, path, to);
    open_package(path, &first);
    expect_same(&original, &first, to);
    assert_true(first.has_checksum && !first.directory);
    assert_int_equal(tr_gguf_verify(path, &checksum, &error), TR_OK);
    assert_true(checksum == first.checksum);
    write_package(&first, again, to); /* a file written from a file is the same file */
    open_package(again, &second);
    expect_same(&first, &second, to);
    assert_int_equal(first.file_size, second.file_size);
    assert_memory_equal(first.files[0].data, second.files[0].data, first.files[0].size);
    tr_package_close(&original);
    tr_package_close(&first);
    tr_package_close(&second);
}

static void test_round_trips(void **state)
{
    (void)state;
    for (int ties = SHARED; ties <= UNTIED; ties++)
        for (int from = TR_TYPE_F32; from <= TR_TYPE_BF16; from++)
            for (int to = TR_TYPE_F32; to <= TR_TYPE_BF16; to++)
                round_trip((fixture_ties)ties, (tr_type)from, (tr_type)to);
}

/* What no Marian directory has: learned positions (kept in f32), norms, names of the longest kind. */
static void test_other_settings(void **state)
{
    (void)state;
    tr_package original, back;
    make_model(SEPARATE, "F32");
    open_package(directory, &original);
    tr_config *c = &original.config;
    c->positions = TR_POSITIONS_LEARNED, c->position_offset = 2, c->pre_norm = c->final_norm = c->embedding_norm = true;
    c->layer_norm_epsilon = 1e-6f, c->activation = TR_ACTIVATION_GELU_TANH, c->unk_id = c->forced_last_id = -1;
    c->forbidden_count = 0;
    memset(c->forbidden, 0, sizeof c->forbidden);
    c->encoder_ffn_depth = 1, c->decoder_ffn_depth = 3, c->post_norm = c->no_output_projection = c->start_zeros = true;
    c->start_id = -1, c->mixer = TR_MIXER_AAN, c->aan_ffn = 5, c->aan_depth = 4;
    c->aan_activation = TR_ACTIVATION_SWISH, c->aan_ungated = c->unnormalised_kv = c->ssru_projection = true;
    static float table[18][D_MODEL];
    table[3][3] = 0.1f; /* not exact in f16 */
    tr_tensor positions = {
        .name = "enc.position_embd.weight", .rank = 2, .shape = {18, D_MODEL}, .data = table, .bytes = sizeof table};
    assert_int_equal(tr_weights_add(&original.weights, &positions, NULL), TR_OK);
    static const tr_type types[] = {TR_TYPE_F16, TR_TYPE_I8};
    for (int i = 0; i < 2; i++) {
        write_package(&original, in_directory("m.gguf"), types[i]);
        open_package(in_directory("m.gguf"), &back);
        expect_same_config(c, &back.config);
        const tr_tensor *stored = tr_weights_find(&back.weights, positions.name);
        assert_int_equal(stored->type, TR_TYPE_F32);
        assert_memory_equal(stored->data, table, sizeof table);
        tr_package_close(&back);
    }
    tr_package_close(&original);
}

typedef struct watch {
    uint64_t last, total;
    int calls, stop_at;
} watch;

static int watch_progress(void *argument, uint64_t done, uint64_t total)
{
    watch *w = argument;
    assert_true(done >= w->last && done <= total);
    w->last = done;
    w->total = total;
    return ++w->calls == w->stop_at;
}

/* A failure leaves an older file unchanged, and no other file. */
static void test_writing(void **state)
{
    (void)state;
    tr_package package;
    tr_error error;
    size_t size;
    make_model(SHARED, "F32");
    open_package(directory, &package);
    const char *path = in_directory("m.gguf");
    watch w = {0};
    assert_int_equal(tr_gguf_write(&package, path, TR_TYPE_F32, watch_progress, &w, &error), TR_OK);
    free(read_file(path, &size));
    assert_true(w.last == size && w.total == size && w.calls > 10);
    write_text("m.gguf", "old");
    w = (watch){.stop_at = 5};
    assert_int_equal(tr_gguf_write(&package, path, TR_TYPE_F32, watch_progress, &w, &error), TR_ERROR_CANCELLED);
    free(read_file(path, &size));
    assert_int_equal(size, 3);
    assert_false(has_leftovers("m.gguf."));
    assert_int_equal(tr_gguf_write(&package, in_directory("no/m.gguf"), TR_TYPE_F32, NULL, NULL, &error), TR_ERROR_IO);
    assert_int_equal(tr_gguf_write(&package, path, TR_TYPE_I32, NULL, NULL, &error), TR_ERROR_ARGUMENT);
    float *weight = (float *)tr_weights_find(&package.weights, "enc.blk.0.ffn_up.weight")->data; /* a private copy */
    weight[7] = 1e6f;
    assert_int_equal(tr_gguf_write(&package, path, TR_TYPE_F16, NULL, NULL, &error), TR_ERROR_NUMERIC);
    assert_non_null(strstr(error.message, "enc.blk.0.ffn_up.weight"));
    assert_int_equal(tr_gguf_write(&package, path, TR_TYPE_BF16, NULL, NULL, &error), TR_OK);
    weight[7] = INFINITY; /* it existed before: it is not checked */
    assert_int_equal(tr_gguf_write(&package, path, TR_TYPE_F16, NULL, NULL, &error), TR_OK);
    tr_package_close(&package);
}

/* -------------------------------------------------------------------------------------------------------------- XXH64 */

static uint64_t hash_in_parts(const unsigned char *data, size_t size, size_t part)
{
    tr_xxh64 hash;
    tr_xxh64_init(&hash);
    for (size_t at = 0; at < size; at += part)
        tr_xxh64_add(&hash, data + at, size - at < part ? size - at : part);
    return tr_xxh64_result(&hash);
}

/* Expected values from libxxhash 0.8.1. */
static void test_xxh64(void **state)
{
    (void)state;
    unsigned char data[101];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 7 + 3);
    static const struct {
        size_t size;
        uint64_t hash;
    } cases[] = {{0, 0xef46db3751d8e999},  {1, 0x1f25c8d0bc1f4bb6},  {3, 0x31d2363f52e564c9},  {4, 0x9bb64b7d66ee9fda},
                 {7, 0x9a7b149959ce60d8},  {8, 0xdab99d95c6f90092},  {12, 0xd52e407833af5133}, {31, 0xa2aa5f33cc4a6119},
                 {32, 0x23c3c17ef790fd97}, {33, 0x50a7cfc7ba588784}, {63, 0x5e3e54b431c7493c}, {64, 0x0eb64b3ef6eeb01f},
                 {79, 0x47689d5802ef60f9}, {101, 0xbad4d3bf033bda4c}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t part = 1; part < 102; part++)
            assert_true(hash_in_parts(data, cases[i].size, part) == cases[i].hash);
}

/* ------------------------------------------------------------------------------------------------------------- damage */

static unsigned char *make_file(fixture_ties ties, tr_type type, size_t *size)
{
    tr_package package;
    make_model(ties, "F16");
    open_package(directory, &package);
    write_package(&package, in_directory("m.gguf"), type);
    tr_package_close(&package);
    return read_file(in_directory("m.gguf"), size);
}

static void check_truncated(tr_type type)
{
    size_t size;
    tr_error error;
    char expected[64];
    unsigned char *file = make_file(SHARED, type, &size);
    snprintf(expected, sizeof expected, "must have %zu", size);
    for (size_t length = 0; length < size; length++) {
        assert_int_equal(read_copy(file, length, &error), TR_ERROR_FORMAT);
        if (length > 256)
            assert_non_null(strstr(error.message, expected));
    }
    write_file("m.gguf", file, size - 1);
    expect_failure(in_directory("m.gguf"), TR_ERROR_FORMAT, "is truncated: the file has");
    assert_int_equal(tr_gguf_verify(in_directory("m.gguf"), NULL, &error), TR_ERROR_FORMAT);
    file = realloc(file, size + 1);
    write_file("m.gguf", file, size + 1);
    expect_failure(in_directory("m.gguf"), TR_ERROR_FORMAT, "is damaged: the file has");
    free(file);
}

static void test_truncated(void **state)
{
    (void)state;
    check_truncated(TR_TYPE_F16);
    check_truncated(TR_TYPE_I8);
}

static void check_bit_flips(tr_type type)
{
    size_t size;
    tr_error error;
    unsigned char *file = make_file(UNTIED, type, &size);
    const unsigned char *data = memmem(file, size, "source pieces", 13); /* the first tensor */
    const size_t header = (size_t)(data - file);
    assert_true(flip_bits(file, size, header, 40000) > 1000);
    assert_int_equal(read_copy(file, size, &error), TR_OK);
    for (size_t at = 0; at < size; at += 97) { /* any flip is found by the checksum */
        file[at] ^= 1;
        write_file("m.gguf", file, size);
        assert_int_not_equal(tr_gguf_verify(in_directory("m.gguf"), NULL, &error), TR_OK);
        file[at] ^= 1;
    }
    free(file);
}

static void test_bit_flips(void **state)
{
    (void)state;
    check_bit_flips(TR_TYPE_F16);
    check_bit_flips(TR_TYPE_I8);
}

static void damage_file(tr_type type, const damage *cases, size_t count)
{
    size_t size;
    unsigned char *file = make_file(SHARED, type, &size);
    check_damage(file, size, cases, count);
    free(file);
}

static void test_damage(void **state)
{
    (void)state;
#define HUGE_NUMBER "\xff\xff\xff\xff\xff\xff\xff\x7f"
#define ALL_ONES    "\xff\xff\xff\xff\xff\xff\xff\xff"
    static const damage cases[] = {
        {"GGUF", 0, "\1\0\0\0", 4, TR_ERROR_UNSUPPORTED, "GGUF version 1"},
        {"GGUF", 0, "\0\0\0\3", 4, TR_ERROR_UNSUPPORTED, "big-endian"},
        {"GGUF", 4, HUGE_NUMBER, 8, TR_ERROR_FORMAT, "number of tensors"},
        {"GGUF", 12, HUGE_NUMBER, 8, TR_ERROR_FORMAT, "metadata reaches"},
        {"GGUF", 20, ALL_ONES, 8, TR_ERROR_FORMAT, "metadata"}, /* length of the first key */
        {"general.architecture", 0, "\15", 1, TR_ERROR_FORMAT, "unknown type"},
        {"general.architecture", 4, ALL_ONES, 8, TR_ERROR_FORMAT, "key general.architecture"},
        {"general.alignment", 4, "\0\0\0\0", 4, TR_ERROR_FORMAT, "power of two"},
        {"general.alignment", 4, "\1\0\0\0", 4, TR_ERROR_FORMAT, "power of two"},
        {"general.alignment", 4, "\60\0\0\0", 4, TR_ERROR_FORMAT, "power of two"},
        {"translate.d_mode", 0, "x", 1, TR_ERROR_FORMAT, "translate.d_model: is missing"},
        {"translate.d_model", 4, "\0\0\0\0", 4, TR_ERROR_FORMAT, "d_model is 0"},
        {"translate.d_model", 4, "\xff\xff\xff\xff", 4, TR_ERROR_FORMAT, "translate.d_model"},
        {"translate.d_model", 4, "\12\0\0\0", 4, TR_ERROR_FORMAT, "not divisible"},
        {"translate.d_model", 0, "\6\0\0\0", 4, TR_ERROR_FORMAT, "translate.d_model: is not a whole number"},
        {"translate.source_vocabulary", 4, "\0\0\0\200", 4, TR_ERROR_FORMAT, "source_vocabulary"}, /* 2^31 */
        {"translate.source_vocabulary", 4, "\377\377\377\0", 4, TR_ERROR_FORMAT, "has 11 rows"},
        {"translate.embedding_scale", 4, "\0\0\300\177", 4, TR_ERROR_FORMAT, "embedding_scale is"},
        {"translate.layer_norm_epsilon", 4, "\0\0\300\377", 4, TR_ERROR_FORMAT, "layer_norm_epsilon is"},
        {"translate.pre_norm", 4, "\2", 1, TR_ERROR_FORMAT, "pre_norm: is neither"},
        {"translate.start_id", 4, "\377\377\377\377", 4, TR_ERROR_FORMAT, "start_id is -1"},
        {"translate.activation", 12, "mish", 4, TR_ERROR_UNSUPPORTED, "mish"},
        {"translate.positions", 12, "rotary    ", 10, TR_ERROR_UNSUPPORTED, "rotary"},
        {"translate.version", 4, "\2", 1, TR_ERROR_UNSUPPORTED, "translate.version: 2"},
        {"translate.forbidden", 16, "\377\377\377\377", 4, TR_ERROR_FORMAT, "translate.forbidden"},
        {"translate.forbidden", 8, "\0\0\0\100", 4, TR_ERROR_FORMAT, "translate.forbidden"},
        {"tokenizer.ggml.tokens", 8, ALL_ONES, 8, TR_ERROR_FORMAT, "tokenizer.ggml.tokens"},
        {"tokenizer.ggml.tokens", 16, "\0\0\0\100", 4, TR_ERROR_FORMAT, "tokenizer.ggml.tokens"},
        {"tokenizer.ggml.token", 0, "x", 1, TR_ERROR_FORMAT, "tokenizer.ggml.tokens: is missing"},
        {"\342\226\201pc", 8, "\342\226\201pc", 5, TR_ERROR_FORMAT, "tokenizer.ggml.tokens"}, /* a piece twice */
        {"token_embd.weight", 0, "\5\0\0\0", 4, TR_ERROR_FORMAT, "5 dimensions"},
        {"token_embd.weight", 0, "\0\0\0\0", 4, TR_ERROR_FORMAT, "0 dimensions"},
        {"token_embd.weight", 4, ALL_ONES, 8, TR_ERROR_FORMAT, "token_embd.weight: has an impossible size"},
        {"token_embd.weight", 4, "\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0", 16, TR_ERROR_FORMAT, "token_embd.weight: its size"},
        {"token_embd.weight", 4, "\0", 1, TR_ERROR_FORMAT, "token_embd.weight: its size is 0"},
        {"token_embd.weight", 4, "\4", 1, TR_ERROR_FORMAT, "must be [11, 8]"},
        {"token_embd.weight", 12, "\12", 1, TR_ERROR_FORMAT, "has 10 rows"},
        {"token_embd.weight", 20, "\20", 1, TR_ERROR_UNSUPPORTED, "type IQ2_XXS"},
        {"token_embd.weight", 20, "\14", 1, TR_ERROR_FORMAT, "not whole blocks of Q4_K"},
        {"token_embd.weight", 20, "\377", 1, TR_ERROR_UNSUPPORTED, "type 255 is unknown"},
        {"token_embd.weight", 24, "\1", 1, TR_ERROR_FORMAT, "not a multiple of 64"},
        {"token_embd.weight", 24, "\0\0\0\0\1", 5, TR_ERROR_FORMAT, "outside the file"},
        {"token_embd.weight", 24, "\300\377\377\377\377\377\377\377", 8, TR_ERROR_FORMAT, "outside the file"},
        {"token_embd.weigh", 0, "x", 1, TR_ERROR_FORMAT, "tensor token_embd.weight"},
        {"token_embd.weight", -25, ALL_ONES, 8, TR_ERROR_FORMAT, "list of tensors"},
        {"translate.source.spm", 12, "\0", 1, TR_ERROR_FORMAT, "translate.source.spm: must be I8"},
    };
    damage_file(TR_TYPE_F16, cases, sizeof cases / sizeof *cases);
}

static void test_damage_to_int8(void **state)
{
    (void)state;
    static const damage cases[] = {
        {"token_embd.weight.k4n16", 4, "\40", 1, TR_ERROR_FORMAT, "token_embd.weight.k4n16: must be [outputs / 16"},
        {"token_embd.weight.k4n16", 12, "\1", 1, TR_ERROR_FORMAT, "token_embd.weight.k4n16: must be [11, 8]"},
        {"token_embd.weight.k4n16", 12, "\3", 1, TR_ERROR_FORMAT, "token_embd.weight.k4n16: must be [11, 8]"},
        {"token_embd.weight.k4n16", 20, "\2", 1, TR_ERROR_FORMAT, "token_embd.weight.k4n16: must be [outputs / 16"},
        {"token_embd.weight.k4n16", 20, ALL_ONES, 7, TR_ERROR_FORMAT, "token_embd.weight.k4n16: its size"},
        {"token_embd.weight.k4n16", 0, "\2\0\0\0\x40\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\x18\0\0\0\0\0\0\0", 28, TR_ERROR_FORMAT,
         ""}, /* two dimensions: the next description begins eight bytes early */
        {"token_embd.weight.k4n16", 28, "\1", 1, TR_ERROR_FORMAT, "token_embd.weight.k4n16: must be [outputs / 16"},
        {"token_embd.weight.k4n1", 0, "7", 1, TR_ERROR_FORMAT,
         "tensor token_embd.weight (or enc.token_embd.weight): is missing"},
        {"token_embd.weight.scal", 0, "x", 1, TR_ERROR_FORMAT, "token_embd.weight.scale: is missing beside"},
        {"token_embd.weight.scale", 4, "\12", 1, TR_ERROR_FORMAT, "token_embd.weight.colsum: has 11 elements"},
        {"token_embd.weight.scale", 4, "\21", 1, TR_ERROR_FORMAT, "token_embd.weight.k4n16: must be [outputs / 16"},
        {"token_embd.weight.scale", 12, "\32", 1, TR_ERROR_FORMAT, "token_embd.weight.scale: must be a vector of type f32"},
        {"token_embd.weight.colsu", 0, "x", 1, TR_ERROR_FORMAT, "token_embd.weight.colsum: is missing beside"},
        {"token_embd.weight.colsum", 4, "\12", 1, TR_ERROR_FORMAT, "token_embd.weight.colsum: has 10 elements"},
        {"token_embd.weight.colsum", 12, "\0", 1, TR_ERROR_FORMAT, "token_embd.weight.colsum: must be a vector of type i32"},
        {"enc.blk.1.ffn_down.weight.scal", 0, "x", 1, TR_ERROR_FORMAT, "enc.blk.1.ffn_down.weight.scale: is missing beside"},
        {"enc.blk.1.ffn_down.weight.colsum", 4, "\7", 1, TR_ERROR_FORMAT, "enc.blk.1.ffn_down.weight.colsum: has 7"},
    };
    damage_file(TR_TYPE_I8, cases, sizeof cases / sizeof *cases);
}

static void rename_in_file(const char *from, const char *to)
{
    size_t size;
    unsigned char *file = make_file(SHARED, TR_TYPE_F16, &size);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(find_text(file, size, from), to, strlen(to));
    write_file("m.gguf", file, size);
    free(file);
}

static void test_duplicates(void **state)
{
    (void)state;
    rename_in_file("translate.encoder_ffn", "translate.decoder_ffn");
    expect_failure(in_directory("m.gguf"), TR_ERROR_FORMAT, "translate.decoder_ffn: is there twice");
    rename_in_file("enc.blk.0.attn_q.bias", "enc.blk.0.attn_k.bias");
    expect_failure(in_directory("m.gguf"), TR_ERROR_FORMAT, "enc.blk.0.attn_k.bias: is there twice");
}

/* Files of other writers have neither size nor checksum. */
static void test_without_checksum(void **state)
{
    (void)state;
    tr_package package;
    tr_error error;
    size_t size;
    unsigned char *file = make_file(SHARED, TR_TYPE_F16, &size);
    memcpy(find_text(file, size, "translate.file_size"), "somebody", 8);
    memcpy(find_text(file, size, "translate.checksum"), "somebody", 8);
    write_file("m.gguf", file, size);
    free(file);
    open_package(in_directory("m.gguf"), &package);
    assert_false(package.has_checksum);
    tr_package_close(&package);
    assert_int_equal(tr_gguf_verify(in_directory("m.gguf"), NULL, &error), TR_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "no size and checksum"));
    assert_int_equal(tr_gguf_verify(in_directory("absent.gguf"), NULL, &error), TR_ERROR_IO);
    assert_int_equal(tr_gguf_verify(in_directory("vocab.json"), NULL, &error), TR_ERROR_FORMAT);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_round_trips), TEST(test_other_settings),   TEST(test_writing), cmocka_unit_test(test_xxh64),
        TEST(test_truncated),   TEST(test_bit_flips),        TEST(test_damage),  TEST(test_damage_to_int8),
        TEST(test_duplicates),  TEST(test_without_checksum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
