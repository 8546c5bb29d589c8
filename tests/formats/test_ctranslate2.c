/* CTranslate2 directories: how the container and the variables are read, and what is refused. The models are written here;
 * tests/ctranslate2 has those of the real converters. */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/ctranslate2/ctranslate2.h"
#include "formats/int8.h"
#include "import/recognise.h"
#include "model/pack.h"
#include "util/buffer.h"

enum { MAX_VARIABLES = 128, MAX_ALIASES = 8, MAX_DATA = 4096, HEADS = 2, ROWS = 10, POSITIONS = 16 };

typedef struct variable {
    char name[96];
    unsigned rank, shape[5], type, bytes;
    unsigned char data[MAX_DATA];
    bool dropped;
} variable;

/* A file under construction. */
static struct {
    unsigned version, revision;
    const char *spec;
    variable variables[MAX_VARIABLES];
    unsigned count;
    const char *aliases[MAX_ALIASES][2];
    unsigned alias_count;
} model;

/* -------------------------------------------------------------------------------------------------------------- writing */

static variable *variable_of(const char *name)
{
    for (unsigned i = 0; i < model.count; i++)
        if (strcmp(model.variables[i].name, name) == 0)
            return &model.variables[i];
    assert_true(model.count < MAX_VARIABLES);
    variable *v = &model.variables[model.count++];
    memset(v, 0, sizeof *v);
    snprintf(v->name, sizeof v->name, "%s", name);
    return v;
}

/* Adds or changes a variable; values are small multiples of 1/64. */
static variable *put_floats(const char *name, unsigned rank, unsigned rows, unsigned columns)
{
    variable *v = variable_of(name);
    const unsigned elements = rank == 2 ? rows * columns : rank ? rows : 1;
    v->rank = rank;
    v->shape[0] = rows;
    v->shape[1] = columns;
    v->type = TR_CT2_F32;
    v->bytes = 4 * elements;
    assert_true(v->bytes <= MAX_DATA);
    for (unsigned i = 0; i < elements; i++) {
        const float value = (float)((int)((i * 7 + (unsigned)strlen(name)) % 33) - 16) / 64;
        memcpy(v->data + 4 * i, &value, 4);
    }
    return v;
}

static void put_scalar(const char *name, unsigned type, float value)
{
    static const unsigned sizes[] = {4, 1, 2, 4, 2, 2};
    variable *v = variable_of(name);
    const int whole = (int)value;
    v->rank = 0;
    v->type = type;
    v->bytes = sizes[type];
    memcpy(v->data, type == TR_CT2_F32 ? (const void *)&value : (const void *)&whole, v->bytes);
}

static void drop(const char *name)
{
    variable_of(name)->dropped = true;
}

static void put_linear(const char *name, unsigned outputs, unsigned inputs)
{
    char full[96];
    snprintf(full, sizeof full, "%s/weight", name);
    put_floats(full, 2, outputs, inputs);
    snprintf(full, sizeof full, "%s/bias", name);
    put_floats(full, 1, outputs, 0);
}

static void put_norm(const char *name)
{
    char full[96];
    snprintf(full, sizeof full, "%s/gamma", name);
    put_floats(full, 1, D_MODEL, 0);
    snprintf(full, sizeof full, "%s/beta", name);
    put_floats(full, 1, D_MODEL, 0);
}

static void put_attention(const char *side, const char *kind, bool self)
{
    char name[64];
    snprintf(name, sizeof name, "%s/layer_0/%s/linear_0", side, kind);
    put_linear(name, self ? 3 * D_MODEL : D_MODEL, D_MODEL);
    snprintf(name, sizeof name, "%s/layer_0/%s/linear_1", side, kind);
    put_linear(name, self ? D_MODEL : 2 * D_MODEL, D_MODEL);
    if (!self) {
        snprintf(name, sizeof name, "%s/layer_0/%s/linear_2", side, kind);
        put_linear(name, D_MODEL, D_MODEL);
    }
    snprintf(name, sizeof name, "%s/layer_0/%s/layer_norm", side, kind);
    put_norm(name);
}

static void put_side(const char *side)
{
    char name[64];
    const struct {
        const char *key;
        unsigned type;
        float value;
    } scalars[] = {{"num_heads", TR_CT2_I16, HEADS},
                   {"pre_norm", TR_CT2_I8, 0},
                   {"activation", TR_CT2_I8, 2},
                   {"scale_embeddings", TR_CT2_I8, 1}};
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        snprintf(name, sizeof name, "%s/%s", side, scalars[i].key);
        put_scalar(name, scalars[i].type, scalars[i].value);
    }
    put_attention(side, "self_attention", true);
    snprintf(name, sizeof name, "%s/layer_0/ffn/linear_0", side);
    put_linear(name, FFN, D_MODEL);
    snprintf(name, sizeof name, "%s/layer_0/ffn/linear_1", side);
    put_linear(name, D_MODEL, FFN);
    snprintf(name, sizeof name, "%s/layer_0/ffn/layer_norm", side);
    put_norm(name);
}

/* Marian's shape: post-norm, starting from zeros, one matrix for all three. */
static void make(void)
{
    model.version = 6;
    model.revision = 7;
    model.spec = "TransformerSpec";
    model.count = model.alias_count = 0;
    put_side("encoder");
    put_side("decoder");
    put_attention("decoder", "attention", false);
    put_floats("decoder/embeddings/weight", 2, ROWS, D_MODEL);
    put_floats("decoder/projection/bias", 1, ROWS, 0);
    put_floats("decoder/position_encodings/encodings", 2, POSITIONS, D_MODEL);
    put_scalar("decoder/start_from_zero_embedding", TR_CT2_I8, 1);
    model.aliases[model.alias_count][0] = "decoder/projection/weight";
    model.aliases[model.alias_count++][1] = "decoder/embeddings/weight";
    model.aliases[model.alias_count][0] = "encoder/embeddings_0/weight";
    model.aliases[model.alias_count++][1] = "decoder/embeddings/weight";
    model.aliases[model.alias_count][0] = "encoder/position_encodings/encodings";
    model.aliases[model.alias_count++][1] = "decoder/position_encodings/encodings";
    write_text("config.json", "{\"unk_token\": \"<unk>\", \"bos_token\": \"<s>\", \"eos_token\": \"</s>\", "
                              "\"decoder_start_token\": \"</s>\", \"add_source_bos\": false, \"add_source_eos\": false, "
                              "\"layer_norm_epsilon\": null}");
    write_text("shared_vocabulary.json", "[\"</s>\", \"<unk>\", \"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\"]");
}

static void number(tr_buffer *b, unsigned value, unsigned bytes)
{
    unsigned char little[4];
    for (unsigned i = 0; i < bytes; i++)
        little[i] = (unsigned char)(value >> 8 * i);
    assert_true(tr_buffer_append(b, little, bytes));
}

static void text(tr_buffer *b, const char *s)
{
    number(b, (unsigned)strlen(s) + 1, 2);
    assert_true(tr_buffer_append(b, s, strlen(s) + 1));
}

static void put_variable(tr_buffer *b, const variable *v)
{
    static const unsigned sizes[] = {4, 1, 2, 4, 2, 2};
    const bool typed = model.version >= 4;
    text(b, v->name);
    number(b, v->rank, 1);
    for (unsigned i = 0; i < v->rank; i++)
        number(b, v->shape[i], 4);
    number(b, typed ? v->type : sizes[v->type], 1);
    number(b, typed ? v->bytes : v->bytes / sizes[v->type], 4);
    assert_true(tr_buffer_append(b, v->data, v->bytes));
}

static tr_buffer build(void)
{
    tr_buffer b = {0};
    unsigned count = 0;
    number(&b, model.version, 4);
    if (model.version >= 2) {
        text(&b, model.spec);
        number(&b, model.revision, 4);
    }
    for (unsigned i = 0; i < model.count; i++)
        count += !model.variables[i].dropped;
    number(&b, count, 4);
    for (unsigned i = 0; i < model.count; i++)
        if (!model.variables[i].dropped)
            put_variable(&b, &model.variables[i]);
    if (model.version >= 3) {
        number(&b, model.alias_count, 4);
        for (unsigned i = 0; i < model.alias_count; i++) {
            text(&b, model.aliases[i][0]);
            text(&b, model.aliases[i][1]);
        }
    }
    return b;
}

static void write_model(void)
{
    tr_buffer b = build();
    write_file("model.bin", b.data, b.size);
    tr_buffer_free(&b);
}

static void refuse(tr_status status, const char *needle)
{
    write_model();
    expect_failure(directory, status, needle);
    make();
}

static const tr_tensor *tensor(const tr_package *p, const char *name)
{
    const tr_tensor *t = tr_weights_find(&p->weights, name);
    if (!t)
        fail_msg("%s is missing", name);
    return t;
}

/* --------------------------------------------------------------------------------------------------------- what it means */

static void test_marian(void **state)
{
    (void)state;
    tr_package p;
    make();
    write_model();
    open_package(directory, &p);
    const tr_config *c = &p.config;
    assert_string_equal(p.format, "CTranslate2 directory (version 6)");
    assert_true(p.directory && !c->no_source_eos && !c->pre_norm && !c->final_norm && !c->embedding_norm);
    assert_int_equal(c->d_model, D_MODEL);
    assert_int_equal(c->encoder_layers, 1);
    assert_int_equal(c->decoder_heads, HEADS);
    assert_int_equal(c->encoder_ffn, FFN);
    assert_int_equal(c->activation, TR_ACTIVATION_SWISH);
    assert_int_equal(c->positions, TR_POSITIONS_LEARNED);
    assert_int_equal(c->max_positions, POSITIONS);
    assert_true(c->embedding_scale == sqrtf(D_MODEL) && c->layer_norm_epsilon == 1e-5f);
    assert_int_equal(c->source_vocabulary, ROWS);
    assert_true(c->start_zeros);
    assert_int_equal(c->start_id, -1);
    assert_int_equal(c->forbidden_count, 0);
    assert_int_equal(c->eos_id, 0);
    assert_int_equal(c->unk_id, 1);
    const tr_tensor *embedding = tensor(&p, "token_embd.weight");
    const float *rows = embedding->data;
    assert_int_equal(embedding->shape[0], ROWS);
    assert_memory_equal(rows, variable_of("decoder/embeddings/weight")->data, 4 * ROWS * D_MODEL);
    assert_null(tr_weights_find(&p.weights, "output.weight"));
    assert_int_equal(tensor(&p, "output.bias")->shape[0], ROWS);
    assert_int_equal(p.source.size, ROWS);
    assert_ptr_equal(p.target, &p.source);
    assert_null(p.source_spm.data);
    tr_package_close(&p);
}

/* The parts of stacked matrices, wherever the file has them. */
static void test_stacked(void **state)
{
    (void)state;
    static const char *const parts[] = {"enc.blk.0.attn_q.weight", "enc.blk.0.attn_k.weight", "enc.blk.0.attn_v.weight",
                                        "dec.blk.0.cross_attn_k.bias", "dec.blk.0.cross_attn_v.bias"};
    for (int shift = 0; shift < 4; shift++) {
        tr_package p;
        make();
        char name[64];
        snprintf(name, sizeof name, "decoder/alignment_layer%.*s", shift, "/xx"); /* its length moves what follows */
        put_scalar(name, TR_CT2_I16, -1);
        const variable last = model.variables[model.count - 1], first = model.variables[0];
        model.variables[0] = last;
        model.variables[model.count - 1] = first;
        write_model();
        open_package(directory, &p);
        const variable *stacked = variable_of("encoder/layer_0/self_attention/linear_0/weight"),
                       *keys = variable_of("decoder/layer_0/attention/linear_1/bias");
        for (int i = 0; i < 5; i++) {
            const tr_tensor *t = tensor(&p, parts[i]);
            assert_int_equal(t->shape[0], D_MODEL);
            assert_memory_equal(t->data, (i < 3 ? stacked->data : keys->data) + t->bytes * (size_t)(i < 3 ? i : i - 3),
                                t->bytes);
        }
        tr_package_close(&p);
    }
}

/* Integers stay as they are, -128 among them; the scale is the inverse of CTranslate2's. */
static void test_int8(void **state)
{
    (void)state;
    tr_package p;
    tr_matrix m;
    float row[D_MODEL];
    make();
    variable *weight = put_floats("encoder/layer_0/self_attention/linear_0/weight", 2, 3 * D_MODEL, D_MODEL);
    weight->type = TR_CT2_I8;
    weight->bytes = 3 * D_MODEL * D_MODEL;
    for (int i = 0; i < 3 * D_MODEL * D_MODEL; i++)
        weight->data[i] = (unsigned char)(i * 37);
    variable *scale = put_floats("encoder/layer_0/self_attention/linear_0/weight_scale", 1, 3 * D_MODEL, 0);
    for (int i = 0; i < 3 * D_MODEL; i++)
        memcpy(scale->data + 4 * i, &(float){(float)(i + 1)}, 4);
    write_model();
    open_package(directory, &p);
    for (int part = 0; part < 3; part++) {
        char name[64];
        snprintf(name, sizeof name, "enc.blk.0.attn_%c.weight%s", "qkv"[part], TR_PACKED_PANELS);
        const tr_tensor *panels = tensor(&p, name);
        assert_int_equal(tr_packed_matrix(&p.weights, &p.config, panels, &m, NULL), TR_OK);
        assert_true(!m.data && m.outputs == D_MODEL && m.inputs == D_MODEL); /* nothing is computed yet */
        unsigned char made[(D_MODEL + TR_PANEL - 1) / TR_PANEL * TR_PANEL * D_MODEL];
        int32_t sums[D_MODEL];
        assert_int_equal(panels->bytes, sizeof made);
        tr_tensor_copy(panels, 0, sizeof made, made);
        snprintf(name, sizeof name, "enc.blk.0.attn_%c.weight%s", "qkv"[part], TR_PACKED_COLSUM);
        tr_tensor_copy(tensor(&p, name), 0, D_MODEL, sums);
        m.data = made;
        for (int o = 0; o < D_MODEL; o++) {
            const int8_t *q = (const int8_t *)weight->data + (part * D_MODEL + o) * D_MODEL;
            int32_t sum = 0;
            tr_unpack_output(&m, o, row);
            for (int i = 0; i < D_MODEL; i++) {
                assert_true(row[i] == (float)q[i] * (1 / (float)(part * D_MODEL + o + 1)));
                sum += q[i];
            }
            assert_int_equal(sums[o], sum);
        }
    }
    tr_package_close(&p);
    static const float bad[] = {0, -1, INFINITY, NAN, 1e-45f};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memcpy(variable_of("encoder/layer_0/self_attention/linear_0/weight_scale")->data + 8, &bad[i], 4);
        write_model();
        expect_failure(directory, TR_ERROR_FORMAT, "has a scale that is not a positive number");
    }
    drop("encoder/layer_0/self_attention/linear_0/weight_scale");
    refuse(TR_ERROR_FORMAT, "linear_0/weight: has no scale");
}

/* int16 becomes f32; without a scale it is 1000, as in the first models. */
static void test_int16(void **state)
{
    (void)state;
    for (int scaled = 0; scaled < 2; scaled++) {
        tr_package p;
        make();
        variable *v = put_floats("decoder/layer_0/ffn/linear_1/weight", 2, D_MODEL, FFN);
        v->type = TR_CT2_I16;
        v->bytes = 2 * D_MODEL * FFN;
        memset(v->data, 0, v->bytes);
        memcpy(v->data, (int16_t[]){-32768, 500}, 4);
        if (scaled)
            put_scalar("decoder/layer_0/ffn/linear_1/weight_scale", TR_CT2_F32, 8);
        write_model();
        open_package(directory, &p);
        float f[2];
        const float inverse = 1 / (scaled ? 8.0f : 1000.0f);
        tr_tensor_to_f32(tensor(&p, "dec.blk.0.ffn_down.weight"), 0, 2, f);
        assert_true(f[0] == -32768 * inverse && f[1] == 500 * inverse);
        tr_package_close(&p);
    }
}

/* The same network, as older versions store it. */
static void test_older(void **state)
{
    (void)state;
    tr_package p;
    make();
    model.version = 5;
    model.revision = 4;
    remove_file("config.json");
    remove_file("shared_vocabulary.json");
    write_text("source_vocabulary.txt", "s\r\n</s>\r\n<U>\r\n");
    write_text("target_vocabulary.txt", "t\n</s>\n\n<s>\r\n");
    drop("encoder/num_heads");
    drop("decoder/num_heads");
    put_scalar("num_heads", TR_CT2_I8, HEADS);
    drop("encoder/scale_embeddings");
    drop("decoder/scale_embeddings");
    put_scalar("decoder/embeddings/multiply_by_sqrt_depth", TR_CT2_I8, 0);
    put_scalar("encoder/embeddings_0/multiply_by_sqrt_depth", TR_CT2_I8, 0);
    put_scalar("decoder/start_from_zero_embedding", TR_CT2_I8, 0);
    put_scalar("with_target_bos", TR_CT2_I8, 0);
    put_scalar("with_source_eos", TR_CT2_I8, 1);
    variable *unk = variable_of("unk_token");
    *unk = (variable){.name = "unk_token", .rank = 1, .shape = {3}, .type = TR_CT2_I8, .bytes = 3, .data = "<U>"};
    write_model();
    open_package(directory, &p);
    assert_int_equal(p.config.decoder_heads, HEADS);
    assert_true(p.config.embedding_scale == 1 && !p.config.no_source_eos);
    assert_int_equal(p.config.unk_id, 2); /* CR is no part of the source's tokens, as not all lines have one */
    assert_int_equal(p.config.eos_id, 1);
    assert_int_equal(p.config.start_id, 1);
    assert_int_equal(p.config.target_vocabulary, ROWS);
    assert_int_equal(p.target->size, ROWS);
    assert_null(p.target->pieces[2].data);
    assert_memory_equal(p.target->pieces[3].data, "<s>\r", 4); /* but of the target's, as all lines have one */
    assert_null(p.target->pieces[4].data);                     /* the list ends here, and the embedding has more rows */
    tr_package_close(&p);
    put_scalar("with_source_bos", TR_CT2_I8, 1);
    write_model();
    expect_failure(directory, TR_ERROR_FORMAT, "bos_token <s>: is not in the vocabulary");
    variable *bos = variable_of("bos_token");
    *bos = (variable){.name = "bos_token", .rank = 1, .shape = {1}, .type = TR_CT2_I8, .bytes = 1, .data = "s"};
    write_model();
    open_package(directory, &p);
    assert_int_equal(p.config.source_start_id, 0);
    assert_false(p.config.no_source_eos);
    tr_package_close(&p);
    put_scalar("with_source_eos", TR_CT2_I8, 0); /* both flags count where add_source_bos is set */
    write_model();
    open_package(directory, &p);
    assert_true(p.config.source_start_id == 0 && p.config.no_source_eos);
    tr_package_close(&p);
    drop("with_source_bos");
    drop("bos_token");
    put_scalar("user_decoder_start_tokens", TR_CT2_I8, 1);
    write_model();
    expect_failure(directory, TR_ERROR_UNSUPPORTED, "decoder_start_token");
    remove_file("source_vocabulary.txt");
    expect_failure(directory, TR_ERROR_FORMAT, "a vocabulary is missing");
}

/* Without a table, positions are computed. A model without add_source_eos that starts with <s> has sources without EOS. */
static void test_computed(void **state)
{
    (void)state;
    tr_package p;
    make();
    drop("decoder/position_encodings/encodings");
    drop("decoder/start_from_zero_embedding");
    model.alias_count--;
    write_text("config.json", "{\"layer_norm_epsilon\": 0.125}");
    write_text("shared_vocabulary.json", "[\"</s>\", \"<unk>\", \"<s>\"]");
    write_model();
    open_package(directory, &p);
    assert_true(p.config.no_source_eos && p.config.layer_norm_epsilon == 0.125f);
    assert_int_equal(p.config.start_id, 2);
    assert_int_equal(p.config.positions, TR_POSITIONS_STRETCHED);
    assert_int_equal(p.config.position_offset, 1);
    assert_int_equal(p.config.max_positions, 1024);
    assert_null(tr_weights_find(&p.weights, "dec.position_embd.weight"));
    tr_package_close(&p);
}

/* ---------------------------------------------------------------------------------------------------- what it is told by */

static void test_detection(void **state)
{
    (void)state;
    tr_package p;
    make();
    write_model();
    write_text("model.safetensors", "no weights");
    open_package(directory, &p); /* config.json is CTranslate2's */
    tr_package_close(&p);
    write_text("config.json", "{\"model_type\": \"marian\"}");
    expect_failure(directory, TR_ERROR_FORMAT, "vocab.json is missing");
    remove_file("model.safetensors");
    open_package(directory, &p); /* and so are the weights, whichever program wrote config.json */
    tr_package_close(&p);
    expect_failure(in_directory("model.bin"), TR_ERROR_UNSUPPORTED, "CTranslate2");
    write_text("model.bin", "something else");
    expect_failure(directory, TR_ERROR_FORMAT, "model.safetensors is missing");
    make();
    write_model();
    write_text("source.spm", "pieces");
    open_package(directory, &p);
    assert_memory_equal(p.source_spm.data, "pieces", 6);
    tr_package_close(&p);
}

/* ------------------------------------------------------------------------------------------------------- what is refused */

static void test_unsupported(void **state)
{
    (void)state;
    make();
    put_floats("encoder/layer_0/self_attention/relative_position_keys", 2, 9, D_MODEL / HEADS);
    refuse(TR_ERROR_UNSUPPORTED, "relative positions");
    put_floats("encoder/layer_0/self_attention/relative_attention_bias", 2, 4, HEADS);
    refuse(TR_ERROR_UNSUPPORTED, "relative_attention_bias: the other side has none");
    put_scalar("decoder/alibi", TR_CT2_I8, 1);
    refuse(TR_ERROR_UNSUPPORTED, "ALiBi");
    put_scalar("decoder/layer_0/self_attention/head_dim", TR_CT2_I32, D_MODEL);
    refuse(TR_ERROR_UNSUPPORTED, "heads of several sizes");
    put_scalar("encoder/layer_0/self_attention/queries_scale", TR_CT2_F32, 1);
    refuse(TR_ERROR_UNSUPPORTED, "queries");
    put_linear("encoder/layer_0/ffn/linear_0_noact", FFN, D_MODEL);
    refuse(TR_ERROR_UNSUPPORTED, "linear_0_noact/weight: the other side has none");
    drop("decoder/layer_0/self_attention/layer_norm/beta");
    refuse(TR_ERROR_UNSUPPORTED, "beta: the other side has none");
    put_scalar("encoder/activation", TR_CT2_I8, 4);
    put_scalar("decoder/activation", TR_CT2_I8, 4);
    refuse(TR_ERROR_UNSUPPORTED, "approximation of gelu");
    put_scalar("encoder/activation", TR_CT2_I8, 0);
    refuse(TR_ERROR_UNSUPPORTED, "encoder and decoder differ");
    put_scalar("encoder/scale_embeddings", TR_CT2_F32, 3);
    refuse(TR_ERROR_UNSUPPORTED, "scale_embeddings");
    put_scalar("decoder/novelty", TR_CT2_I8, 0);
    refuse(TR_ERROR_UNSUPPORTED, "decoder/novelty: is not known");
    model.spec = "WhisperSpec";
    refuse(TR_ERROR_UNSUPPORTED, "WhisperSpec");
    model.revision = 8;
    refuse(TR_ERROR_UNSUPPORTED, "revision 8");
    model.version = 7;
    refuse(TR_ERROR_UNSUPPORTED, "version 7");
}

static void test_inconsistent(void **state)
{
    (void)state;
    make();
    drop("decoder/layer_0/ffn/linear_1/weight");
    refuse(TR_ERROR_FORMAT, "linear_1/weight: is missing");
    put_scalar("encoder/num_heads", TR_CT2_I16, 3);
    refuse(TR_ERROR_UNSUPPORTED, "for each head");
    put_scalar("encoder/num_heads", TR_CT2_I16, 0);
    refuse(TR_ERROR_FORMAT, "num_heads");
    put_scalar("decoder/pre_norm", TR_CT2_F32, 0.5f);
    refuse(TR_ERROR_FORMAT, "whole number");
    put_floats("decoder/num_heads", 1, 2, 0);
    refuse(TR_ERROR_FORMAT, "must be one number");
    put_floats("decoder/layer_0/attention/linear_1/bias", 1, 2 * D_MODEL + 1, 0);
    refuse(TR_ERROR_FORMAT, "cannot be divided");
    put_floats("decoder/projection/bias", 1, ROWS + 1, 0);
    refuse(TR_ERROR_FORMAT, "another number of rows");
    put_floats("decoder/embeddings/weight", 1, ROWS, 0);
    refuse(TR_ERROR_FORMAT, "must be a matrix");
    variable_of("encoder/layer_0/ffn/linear_0/weight")->type = TR_CT2_I32;
    refuse(TR_ERROR_FORMAT, "int32");
    write_text("shared_vocabulary.json", "[\"</s>\", \"<unk>\", \"</s>\"]");
    refuse(TR_ERROR_FORMAT, "have the same piece");
    write_text("shared_vocabulary.json", "[\"a\", \"<unk>\"]");
    refuse(TR_ERROR_FORMAT, "eos_token </s>: is not in the vocabulary");
    write_text("shared_vocabulary.json", "[]");
    refuse(TR_ERROR_FORMAT, "shared_vocabulary.json: is empty");
    write_text("shared_vocabulary.json", "{\"</s>\": 0}");
    refuse(TR_ERROR_FORMAT, "is not a JSON list");
    write_text("shared_vocabulary.json", "[\"</s>\", 1]");
    refuse(TR_ERROR_FORMAT, "token 1 is not a string");
    write_text("shared_vocabulary.json",
               "[\"0\",\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\",\"</s>\"]");
    refuse(TR_ERROR_FORMAT, "has 13 tokens, but the embedding has 10 rows");
}

static void test_aliases(void **state)
{
    (void)state;
    make();
    model.aliases[0][1] = "decoder/projection/weight"; /* itself */
    refuse(TR_ERROR_FORMAT, "is not defined before it");
    model.aliases[0][1] = "encoder/embeddings_0/weight"; /* a circle of two */
    model.aliases[1][1] = "decoder/projection/weight";
    refuse(TR_ERROR_FORMAT, "is not defined before it");
    model.aliases[2][1] = "nothing";
    refuse(TR_ERROR_FORMAT, "stands for nothing");
    model.aliases[2][0] = "decoder/embeddings/weight";
    refuse(TR_ERROR_FORMAT, "decoder/embeddings/weight: is there twice");
    memcpy(model.variables[1].name, model.variables[0].name, sizeof model.variables[0].name);
    refuse(TR_ERROR_FORMAT, "is there twice");
}

static void read_bytes(const void *data, size_t size, tr_status status, const char *needle)
{
    void *copy = malloc(size ? size : 1); /* with exactly this size, so that a read beyond it is seen */
    tr_ct2_model read;
    tr_error error = {0};
    assert_non_null(copy);
    memcpy(copy, data, size);
    const tr_status found = tr_ct2_read((tr_bytes){copy, size}, &read, &error);
    if (found != status || !strstr(error.message, needle))
        fail_msg("%zu bytes: wanted \"%s\", got \"%s\"", size, needle, error.message);
    tr_is_ct2_file(copy, size);
    if (found == TR_OK)
        tr_ct2_free(&read);
    free(copy);
}

static void test_truncated(void **state)
{
    (void)state;
    for (unsigned version = 1; version <= 6; version++) {
        make();
        model.version = version;
        tr_buffer b = build();
        for (size_t size = 0; size < b.size; size += size < 2000 || b.size - size < 500 ? 1 : 37)
            read_bytes(b.data, size, TR_ERROR_FORMAT, "is truncated");
        tr_buffer_free(&b);
    }
}

/* The beginning of a version 6 file, to which tests append false sizes. */
static tr_buffer head(unsigned count)
{
    tr_buffer b = {0};
    number(&b, 6, 4);
    text(&b, "TransformerSpec");
    number(&b, 7, 4);
    number(&b, count, 4);
    return b;
}

static void test_claims(void **state)
{
    (void)state;
    static const struct {
        unsigned rank, shape[4], type, bytes;
        const char *needle;
    } cases[] = {
        {255, {1, 1, 1, 1}, 0, 4, "has 255 dimensions"},
        {5, {1, 1, 1, 1}, 0, 4, "has 5 dimensions"},
        {4, {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}, 0, 4, "do not fit its shape"},
        {4, {1u << 31, 1u << 31, 4, 1}, 0, 0, "do not fit its shape"}, /* 2^64 elements */
        {2, {1u << 31, 1u << 31, 0, 0}, 0, 0, "do not fit its shape"}, /* 2^64 bytes */
        {1, {UINT32_MAX}, 1, UINT32_MAX, "is truncated"},
        {2, {2, 0}, 0, 4, "do not fit its shape"},
        {1, {1}, 6, 4, "type 6 is unknown"},
        {1, {1}, 255, 4, "type 255 is unknown"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tr_buffer b = head(100000);
        text(&b, "name");
        number(&b, cases[i].rank, 1);
        for (unsigned k = 0; k < cases[i].rank && k < 4; k++)
            number(&b, cases[i].shape[k], 4);
        number(&b, cases[i].type, 1);
        number(&b, cases[i].bytes, 4);
        number(&b, 0, 4);
        read_bytes(b.data, b.size, TR_ERROR_FORMAT, cases[i].needle);
        tr_buffer_free(&b);
    }
    tr_buffer many = head(UINT32_MAX);
    read_bytes(many.data, many.size, TR_ERROR_FORMAT, "claims 4294967295 variables");
    tr_buffer_free(&many);
    static const unsigned lengths[] = {0, 3, 4, 65535};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) { /* of "n\0me" and its NUL */
        tr_buffer b = head(1);
        number(&b, lengths[i], 2);
        assert_true(tr_buffer_append(&b, "n\0me", 5));
        read_bytes(b.data, b.size, TR_ERROR_FORMAT, lengths[i] == 65535 ? "is truncated" : "is not a string");
        tr_buffer_free(&b);
    }
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_marian),       TEST(test_stacked),  TEST(test_int8),      TEST(test_int16),
        TEST(test_older),        TEST(test_computed), TEST(test_detection), TEST(test_unsupported),
        TEST(test_inconsistent), TEST(test_aliases),  TEST(test_truncated), TEST(test_claims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
