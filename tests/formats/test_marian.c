/* Hugging Face Marian directories: how they are read, and what is refused. */
#include "fixture.h"
#include "formats/open.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void open_model(tr_package *package)
{
    tr_error error;
    if (tr_package_open(directory, TR_LOAD_MAP, package, &error) != TR_OK)
        fail_msg("%s", error.message);
}

static void expect_shape(const tr_package *package, const char *name, int rank, int rows, int cols)
{
    const tr_tensor *tensor = tr_weights_find(&package->weights, name);
    if (!tensor)
        fail_msg("%s is missing", name);
    assert_int_equal(tensor->rank, rank);
    assert_int_equal(tensor->shape[0], rows);
    if (rank > 1)
        assert_int_equal(tensor->shape[1], cols);
}

static void test_shared(void **state)
{
    (void)state;
    tr_package p;
    make_model(SHARED, "F32");
    open_model(&p);
    const tr_config *c = &p.config;
    assert_true(p.directory && !p.has_checksum);
    assert_string_equal(p.architecture, "marian");
    assert_string_equal(p.name, strrchr(directory, '/') + 1);
    assert_string_equal(p.source_language, "zh");
    assert_string_equal(p.target_language, "en");
    assert_int_equal(c->d_model, D_MODEL);
    assert_int_equal(c->encoder_layers, ENCODER_LAYERS);
    assert_int_equal(c->decoder_layers, DECODER_LAYERS);
    assert_int_equal(c->encoder_heads, 2);
    assert_int_equal(c->decoder_heads, 4);
    assert_int_equal(c->encoder_ffn, FFN);
    assert_int_equal(c->source_vocabulary, PIECES);
    assert_int_equal(c->target_vocabulary, PIECES);
    assert_int_equal(c->max_positions, 16);
    assert_int_equal(c->activation, TR_ACTIVATION_GELU);
    assert_int_equal(c->positions, TR_POSITIONS_SINUSOIDAL);
    assert_true(c->embedding_scale == sqrtf(D_MODEL) && c->layer_norm_epsilon == 1e-5f);
    assert_false(c->pre_norm || c->final_norm || c->embedding_norm); /* normalize_before is ignored */
    assert_int_equal(c->start_id, PIECES - 1);
    assert_int_equal(c->eos_id, 0);
    assert_int_equal(c->pad_id, PIECES - 1);
    assert_int_equal(c->unk_id, 1);
    assert_int_equal(c->forced_first_id, 3);
    assert_int_equal(c->forced_last_id, 0);
    assert_int_equal(c->forbidden_count, 1); /* EOS is removed from the forbidden tokens */
    assert_int_equal(c->forbidden[0], PIECES - 1);
    expect_shape(&p, "token_embd.weight", 2, PIECES, D_MODEL);
    expect_shape(&p, "output.bias", 1, PIECES, 0);
    expect_shape(&p, "enc.blk.1.attn_q.weight", 2, D_MODEL, D_MODEL);
    expect_shape(&p, "enc.blk.0.attn_o.bias", 1, D_MODEL, 0);
    expect_shape(&p, "enc.blk.0.attn_norm.weight", 1, D_MODEL, 0);
    expect_shape(&p, "dec.blk.0.cross_attn_k.weight", 2, D_MODEL, D_MODEL);
    expect_shape(&p, "dec.blk.0.cross_attn_norm.bias", 1, D_MODEL, 0);
    expect_shape(&p, "dec.blk.0.ffn_up.weight", 2, FFN, D_MODEL);
    expect_shape(&p, "dec.blk.0.ffn_down.weight", 2, D_MODEL, FFN);
    expect_shape(&p, "dec.blk.0.ffn_norm.bias", 1, D_MODEL, 0);
    assert_int_equal(p.weights.count, 2 + 16 * ENCODER_LAYERS + 26 * DECODER_LAYERS);
    assert_ptr_equal(p.target, &p.source);
    assert_int_equal(p.source.size, PIECES);
    assert_int_equal(tr_vocabulary_find(&p.source, "<pad>", 5), PIECES - 1);
    assert_int_equal(p.source_spm.size, strlen("source pieces"));
    assert_ptr_equal(p.source_spm.data, p.target_spm.data); /* equal files are opened once */
    tr_package_close(&p);
    assert_int_equal(p.file_count, 0);
}

static void test_separate(void **state)
{
    (void)state;
    tr_package p;
    make_model(SEPARATE, "BF16");
    open_model(&p);
    expect_shape(&p, "enc.token_embd.weight", 2, PIECES, D_MODEL);
    expect_shape(&p, "dec.token_embd.weight", 2, TARGET_PIECES, D_MODEL);
    assert_null(tr_weights_find(&p.weights, "output.weight"));
    assert_ptr_equal(p.target, &p.target_own);
    assert_int_equal(p.target->size, TARGET_PIECES);
    assert_memory_equal(p.target_spm.data, "target pieces", p.target_spm.size);
    tr_package_close(&p);
}

static void test_untied(void **state)
{
    (void)state;
    tr_package p;
    make_model(UNTIED, "F16");
    open_model(&p);
    expect_shape(&p, "output.weight", 2, TARGET_PIECES, D_MODEL);
    tr_package_close(&p);
    patch_header("{\"lm_head.weight\": null}");
    expect_failure(directory, TR_ERROR_FORMAT, "lm_head.weight: is missing");
}

/* A tied matrix may have any of its names in the file; equal copies are dropped. */
static void test_ties(void **state)
{
    (void)state;
    tr_package p;
    char patch[512];
    const char *shape = "{\"dtype\":\"F32\",\"shape\":[11,8],\"data_offsets\":[0,352]}";
    make_model(SHARED, "F32");
    snprintf(patch, sizeof patch, "{\"lm_head.weight\":%s,\"model.decoder.embed_tokens.weight\":%s}", shape, shape);
    patch_header(patch);
    open_model(&p);
    assert_null(tr_weights_find(&p.weights, "output.weight"));
    assert_null(tr_weights_find(&p.weights, "dec.token_embd.weight"));
    tr_package_close(&p);
    patch_header("{\"model.shared.weight\": null}");
    open_model(&p);
    expect_shape(&p, "token_embd.weight", 2, PIECES, D_MODEL);
    tr_package_close(&p);
    snprintf(patch, sizeof patch, "{\"model.decoder.embed_tokens.weight\": null, \"model.shared.weight\":%s, %s}", shape,
             "\"lm_head.weight\":{\"dtype\":\"F32\",\"shape\":[11,8],\"data_offsets\":[352,704]}");
    patch_header(patch); /* other bytes than the embedding's: not tied after all */
    open_model(&p);
    expect_shape(&p, "output.weight", 2, PIECES, D_MODEL);
    tr_package_close(&p);
    patch_header("{\"lm_head.weight\": null, \"model.shared.weight\": null}");
    expect_failure(directory, TR_ERROR_FORMAT, "model.shared.weight: is missing");
}

/* Old writers did not pad the header: data is at odd addresses, and valid. */
static void test_misaligned(void **state)
{
    (void)state;
    tr_package aligned, odd;
    make_model(SHARED, "F32");
    assert_int_equal(tr_package_open(directory, TR_LOAD_COPY, &aligned, NULL), TR_OK);
    for (size_t remainder = 0; remainder < 8; remainder++) {
        patch_header_at("{}", remainder);
        open_model(&odd);
        for (size_t t = 0; t < odd.weights.count; t++) {
            const tr_tensor *a = tr_weights_find(&aligned.weights, odd.weights.tensors[t]->name);
            assert_memory_equal(a->data, odd.weights.tensors[t]->data, a->bytes);
        }
        tr_package_close(&odd);
    }
    tr_package_close(&aligned);
}

/* Without generation_config.json, config.json lists forced and forbidden tokens. */
static void test_generation(void **state)
{
    (void)state;
    tr_package p;
    make_model(SHARED, "F32");
    patch_json("config.json", "{\"bad_words_ids\": [[4]], \"forced_bos_token_id\": 5}");
    open_model(&p);
    assert_int_equal(p.config.forbidden[0], PIECES - 1);
    tr_package_close(&p);
    patch_json("generation_config.json",
               "{\"eos_token_id\": [2], \"decoder_start_token_id\": 6, \"suppress_tokens\": [7, 7]}");
    open_model(&p);
    assert_int_equal(p.config.eos_id, 2);
    assert_int_equal(p.config.start_id, 6);
    assert_int_equal(p.config.forbidden_count, 3);
    tr_package_close(&p);
    remove_file("generation_config.json");
    open_model(&p);
    assert_int_equal(p.config.forbidden_count, 1);
    assert_int_equal(p.config.forbidden[0], 4);
    assert_int_equal(p.config.forced_first_id, 5);
    assert_int_equal(p.config.forced_last_id, -1);
    assert_int_equal(p.config.start_id, PIECES - 1);
    tr_package_close(&p);
}

static void test_copy_symbols(void **state)
{
    (void)state;
    tr_package p;
    make_model(SHARED, "F32");
    open_model(&p);
    assert_int_equal(p.copy_symbols.size, 0);
    tr_package_close(&p);
    patch_json("config.json", "{\"copy_symbols\": [7, 5]}");
    open_model(&p);
    assert_int_equal(p.copy_symbols.size, 2);
    assert_int_equal(p.copy_symbols.data[0], 7);
    assert_int_equal(p.copy_symbols.data[1], 5);
    tr_package_close(&p);
}

/* Embedding rows beyond the vocabulary are ids without a piece. */
static void test_holes(void **state)
{
    (void)state;
    tr_package p;
    make_model(SHARED, "F32");
    patch_json("vocab.json", "{\"<pad>\": null, \"\xe2\x96\x81pe\": null, \"\": 4}");
    open_model(&p);
    assert_int_equal(p.source.size, PIECES);
    assert_null(p.source.pieces[PIECES - 1].data);
    assert_null(p.source.pieces[4].data);
    assert_int_equal(p.source.pieces[5].size, 5);
    tr_package_close(&p);
}

static void test_missing_files(void **state)
{
    (void)state;
    static const struct {
        const char *name, *needle;
        tr_status status;
    } cases[] = {
        {"config.json", "config.json is missing", TR_ERROR_UNSUPPORTED},
        {"model.safetensors", "model.safetensors is missing", TR_ERROR_FORMAT},
        {"vocab.json", "vocab.json is missing", TR_ERROR_FORMAT},
        {"source.spm", "source.spm is missing", TR_ERROR_FORMAT},
        {"target_vocab.json", "target_vocab.json", TR_ERROR_IO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_model(SEPARATE, "F32");
        remove_file(cases[i].name);
        expect_failure(directory, cases[i].status, cases[i].needle);
        if (strcmp(cases[i].name, "target_vocab.json") != 0)
            continue;
        make_model(SEPARATE, "F32");
        tr_package p; /* these two may be missing */
        remove_file("target.spm");
        remove_file("tokenizer_config.json");
        patch_json("config.json", "{\"decoder_vocab_size\": null}");
        expect_failure(directory, TR_ERROR_FORMAT, "has 9 rows, but the vocabulary size is 11");
        make_model(SHARED, "F32");
        remove_file("target.spm");
        remove_file("tokenizer_config.json");
        open_model(&p);
        assert_string_equal(p.source_language, "");
        tr_package_close(&p);
    }
    remove_file("model.safetensors");
    write_text("pytorch_model.bin", "PK");
    expect_failure(directory, TR_ERROR_FORMAT, "pytorch_model.bin: is not a file of torch.save");
    write_text("pytorch_model.bin", "version https://git-lfs.github.com/spec/v1\n");
    expect_failure(directory, TR_ERROR_FORMAT, "pytorch_model.bin: is a Git LFS pointer");
}

static void test_hostile_json(void **state)
{
    (void)state;
    static const struct {
        const char *file, *patch, *needle;
        tr_status status;
    } cases[] = {
        {"config.json", "{\"model_type\": \"nllb-moe\"}", "model_type nllb-moe", TR_ERROR_UNSUPPORTED},
        {"config.json", "{\"model_type\": null}", "model_type", TR_ERROR_UNSUPPORTED},
        {"config.json", "{\"model_type\": 3}", "model_type is not a string", TR_ERROR_FORMAT},
        {"config.json", "{\"architectures\": [\"MarianForCausalLM\"]}", "MarianForCausalLM", TR_ERROR_UNSUPPORTED},
        {"config.json", "{\"d_model\": 1e308}", "config.json: d_model is out of range", TR_ERROR_FORMAT},
        {"config.json", "{\"d_model\": 8.5}", "config.json: d_model is not a whole number", TR_ERROR_FORMAT},
        {"config.json", "{\"d_model\": 8589934592}", "d_model is out of range", TR_ERROR_FORMAT},
        {"config.json", "{\"d_model\": -8}", "d_model is -8", TR_ERROR_FORMAT},
        {"config.json", "{\"d_model\": 10}", "d_model 10 is not divisible by decoder_heads 4", TR_ERROR_FORMAT},
        {"config.json", "{\"d_model\": 16}", "must be [11, 16]", TR_ERROR_FORMAT},
        {"config.json", "{\"encoder_attention_heads\": 0}", "encoder_heads is 0", TR_ERROR_FORMAT},
        {"config.json", "{\"encoder_layers\": \"two\"}", "encoder_layers is not a whole", TR_ERROR_FORMAT},
        {"config.json", "{\"vocab_size\": 2147483647}", "source_vocabulary is 2147483647", TR_ERROR_FORMAT},
        {"config.json", "{\"vocab_size\": 16000000}", "has 11 rows", TR_ERROR_FORMAT},
        {"config.json", "{\"vocab_size\": 10}", "bad_words_ids holds something", TR_ERROR_FORMAT},
        {"config.json", "{\"activation_function\": \"mish\"}", "mish", TR_ERROR_UNSUPPORTED},
        {"config.json", "{\"copy_symbols\": 3}", "copy_symbols is not a list", TR_ERROR_FORMAT},
        {"config.json", "{\"copy_symbols\": [1, 11]}", "copy_symbols holds something", TR_ERROR_FORMAT},
        {"config.json", "{\"copy_symbols\": [-1]}", "copy_symbols holds something", TR_ERROR_FORMAT},
        {"config.json", "{\"copy_symbols\": [4294967296]}", "copy_symbols holds something", TR_ERROR_FORMAT},
        {"config.json", "{\"copy_symbols\": [0,1,2,3,4,5,6,7,8,9,10,0]}", "holds more ids", TR_ERROR_FORMAT},
        {"config.json", "{\"scale_embedding\": 1}", "scale_embedding is neither", TR_ERROR_FORMAT},
        {"generation_config.json", "{\"bad_words_ids\": [[1, 2]]}", "bad_words_ids holds a sequence", TR_ERROR_UNSUPPORTED},
        {"generation_config.json", "{\"bad_words_ids\": [3]}", "bad_words_ids must be", TR_ERROR_FORMAT},
        {"generation_config.json", "{\"bad_words_ids\": [[11]]}", "bad_words_ids holds something", TR_ERROR_FORMAT},
        {"generation_config.json", "{\"bad_words_ids\": 3}", "bad_words_ids is not a list", TR_ERROR_FORMAT},
        {"generation_config.json", "{\"eos_token_id\": [0, 1]}", "eos_token_id lists several", TR_ERROR_UNSUPPORTED},
        {"generation_config.json", "{\"eos_token_id\": 11}", "eos_id is 11", TR_ERROR_FORMAT},
        {"generation_config.json", "{\"decoder_start_token_id\": -3}", "start_id is -3", TR_ERROR_FORMAT},
        {"generation_config.json", "{\"forced_bos_token_id\": 1.5}", "forced_bos_token_id is not", TR_ERROR_FORMAT},
        {"tokenizer_config.json", "{\"separate_vocabs\": \"no\"}", "separate_vocabs", TR_ERROR_FORMAT},
        {"tokenizer_config.json", "{\"source_lang\": 7}", "source_lang is not a string", TR_ERROR_FORMAT},
        {"vocab.json", "{\"x\": 11}", "vocab.json: piece x has id 11, but the embedding has 11 rows", TR_ERROR_FORMAT},
        {"vocab.json", "{\"x\": 2147483648}", "has id 2147483648", TR_ERROR_FORMAT},
        {"vocab.json", "{\"x\": -1}", "the id of piece x", TR_ERROR_FORMAT},
        {"vocab.json", "{\"x\": 1e308}", "the id of piece x", TR_ERROR_FORMAT},
        {"vocab.json", "{\"x\": \"1\"}", "the id of piece x", TR_ERROR_FORMAT},
        {"vocab.json", "{\"x\\ny\": 3}", "pieces x?y and", TR_ERROR_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_model(SHARED, "F32");
        patch_json(cases[i].file, cases[i].patch);
        expect_failure(directory, cases[i].status, cases[i].needle);
    }
}

static void test_broken_json(void **state)
{
    (void)state;
    static const char *const files[] = {"config.json", "generation_config.json", "tokenizer_config.json", "vocab.json"};
    static const char *const broken[] = {
        "",
        "{",
        "[]",
        "3",
        "{\"d_model\": NaN}",
        "{\"a\": 1, \"a\": 1}",
        "{\"a\": 1e999}",
        "{\"a\\u0000b\": 1}",
        "{\"\xff\": 1}",
        "{} {}",
    };
    char deep[10001];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        make_model(SHARED, "F32");
        for (size_t j = 0; j < sizeof broken / sizeof *broken; j++) {
            write_text(files[i], broken[j]);
            expect_failure(directory, TR_ERROR_FORMAT, files[i]);
        }
        write_text(files[i], deep);
        expect_failure(directory, TR_ERROR_FORMAT, files[i]);
    }
}

static void test_hostile_header(void **state)
{
    (void)state;
#define SHARED_AS(description) "{\"model.shared.weight\": " description "}"
    static const struct {
        const char *patch, *needle;
        tr_status status;
    } cases[] = {
        {SHARED_AS("7"), "has no description", TR_ERROR_FORMAT},
        {SHARED_AS("{}"), "has no dtype", TR_ERROR_FORMAT},
        {SHARED_AS("{\"dtype\":\"I64\",\"shape\":[11,8],\"data_offsets\":[0,704]}"), "type I64", TR_ERROR_UNSUPPORTED},
        {SHARED_AS("{\"dtype\":\"F32\",\"data_offsets\":[0,352]}"), "has no shape", TR_ERROR_FORMAT},
        {SHARED_AS("{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}"), "0 dimensions", TR_ERROR_FORMAT},
        {SHARED_AS("{\"dtype\":\"F32\",\"shape\":[1,1,1,11,8],\"data_offsets\":[0,352]}"), "5 dimensions", TR_ERROR_FORMAT},
        {SHARED_AS("{\"dtype\":\"F32\",\"shape\":[-11,-8],\"data_offsets\":[0,352]}"), "not a whole", TR_ERROR_FORMAT},
        {SHARED_AS("{\"dtype\":\"F32\",\"shape\":[11,8.0],\"data_offsets\":[0,352]}"), "not a whole", TR_ERROR_FORMAT},
        {SHARED_AS("{\"dtype\":\"F32\",\"shape\":[11,8],\"data_offsets\":[0,351]}"), "token_embd.weight", TR_ERROR_FORMAT},
        {SHARED_AS("{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}"), "bytes",
         TR_ERROR_FORMAT},
        {SHARED_AS("{\"dtype\":\"F32\",\"shape\":[11,8],\"data_offsets\":[352,0]}"), "contradict", TR_ERROR_FORMAT},
        {SHARED_AS("{\"dtype\":\"F32\",\"shape\":[11,8],\"data_offsets\":[-352,0]}"), "contradict", TR_ERROR_FORMAT},
        {SHARED_AS("{\"dtype\":\"F32\",\"shape\":[11,8],\"data_offsets\":[352]}"), "data_offsets", TR_ERROR_FORMAT},
        {SHARED_AS("{\"dtype\":\"F32\",\"shape\":[11,8],\"data_offsets\":[9000000,9000352]}"), "truncated", TR_ERROR_FORMAT},
        {SHARED_AS("{\"dtype\":\"F32\",\"shape\":[11,8],\"data_offsets\":[9223372036854775455,9223372036854775807]}"),
         "truncated", TR_ERROR_FORMAT},
        {SHARED_AS("{\"dtype\":\"F32\",\"shape\":[8,11],\"data_offsets\":[0,352]}"), "must be [11, 8]", TR_ERROR_FORMAT},
        {SHARED_AS("{\"dtype\":\"F32\",\"shape\":[88],\"data_offsets\":[0,352]}"), "must be [11, 8]", TR_ERROR_FORMAT},
        {SHARED_AS("{\"dtype\":\"F32\",\"shape\":[10,8],\"data_offsets\":[0,320]}"), "has 10 rows", TR_ERROR_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_model(SHARED, "F32");
        patch_header(cases[i].patch);
        expect_failure(directory, cases[i].status, cases[i].needle);
    }
    write_safetensors("{\"a\": {}, \"a\": {}}", 16);
    expect_failure(directory, TR_ERROR_FORMAT, "duplicate");
    write_file("model.safetensors", "\xff\xff\xff\xff\xff\xff\xff\xff{}", 10);
    expect_failure(directory, TR_ERROR_FORMAT, "longer than the file");
    write_file("model.safetensors", "\3\0\0\0\0\0\0\0{}", 10);
    expect_failure(directory, TR_ERROR_FORMAT, "longer than the file");
    write_file("model.safetensors", "\0\0\0\0\0\0\0\0", 8);
    expect_failure(directory, TR_ERROR_FORMAT, "is empty");
}

static void test_truncated(void **state)
{
    (void)state;
    size_t size;
    make_model(SHARED, "F16");
    unsigned char *file = read_file(in_directory("model.safetensors"), &size);
    for (size_t length = 0; length < size; length += length < 64 ? 1 : 61) {
        write_file("model.safetensors", file, length);
        expect_failure(directory, TR_ERROR_FORMAT, "model.safetensors");
    }
    free(file);
}

static void test_foreign_files(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *needle;
        size_t size;
        tr_status status;
    } cases[] = {
        {"", "is empty", 0, TR_ERROR_FORMAT},
        {"GG", "is truncated", 2, TR_ERROR_UNSUPPORTED},
        {"PK\3\4xxxxxxxx", "zip archive", 12, TR_ERROR_UNSUPPORTED},
        {"\x80\2xxxxxxxx", "pickle", 10, TR_ERROR_UNSUPPORTED},
        {"\x1f\x8bxxxxxxxx", "compressed", 10, TR_ERROR_UNSUPPORTED},
        {"version https://git-lfs.github.com", "Git LFS", 34, TR_ERROR_UNSUPPORTED},
        {"{\"model_type\": \"marian\"}", "JSON", 24, TR_ERROR_UNSUPPORTED},
        {"just some text", "is not a model file", 14, TR_ERROR_UNSUPPORTED},
        {"x", "is not a model file", 1, TR_ERROR_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file("foreign", cases[i].bytes, cases[i].size);
        expect_failure(in_directory("foreign"), cases[i].status, cases[i].needle);
    }
    make_model(SHARED, "F32");
    expect_failure(in_directory("model.safetensors"), TR_ERROR_UNSUPPORTED, "give its directory");
    expect_failure(in_directory("absent"), TR_ERROR_IO, "No such file");
    expect_failure("/dev/null", TR_ERROR_IO, "not a regular file");
    expect_failure("", TR_ERROR_IO, "");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_shared),        TEST(test_separate),      TEST(test_untied),       TEST(test_ties),
        TEST(test_misaligned),    TEST(test_generation),    TEST(test_copy_symbols), TEST(test_holes),
        TEST(test_missing_files), TEST(test_hostile_json),  TEST(test_broken_json),  TEST(test_hostile_header),
        TEST(test_truncated),     TEST(test_foreign_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
