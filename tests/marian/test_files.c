/* Marian's files, valid and hostile: each of the latter must be refused in one line, at once. Most are made from a fixture
 * by changing a few bytes. */
#include "files.h"

#include <stdlib.h>
#include <string.h>

#include "import/marian/marian.h"
#include "import/yaml.h"
#include "util/clock.h"

/* ------------------------------------------------------------------------------------------------------- .bin container */

/* Offsets of the shapes, and of the gap after them. */
static size_t shapes_at(const model_file *m)
{
    size_t at = header_of((size_t)u64_at(m, 8));
    for (size_t i = 0; i < u64_at(m, 8); i++)
        at += (size_t)u64_at(m, header_of(i) + NAME_LENGTH);
    return at;
}

static size_t gap_at(const model_file *m)
{
    size_t at = shapes_at(m);
    for (size_t i = 0; i < u64_at(m, 8); i++)
        at += 4 * (size_t)u64_at(m, header_of(i) + RANK);
    return at;
}

static tr_status read_bin(const void *data, size_t size, tr_error *error)
{
    tr_marian_items items = {0};
    const tr_status status = tr_marian_bin_read((tr_bytes){data, size}, &items, error);
    tr_marian_items_free(&items);
    return status;
}

static void refuse_bin(const model_file *m, tr_status wanted, const char *needle)
{
    tr_error error = {0};
    const uint64_t start = tr_nanoseconds();
    expect_message(&error, read_bin(m->data, m->size, &error), wanted, needle);
    assert_true(tr_nanoseconds() - start < 1000000000);
}

/* The fixture with 8 bytes changed. */
static void refuse_u64(size_t at, uint64_t value, tr_status wanted, const char *needle)
{
    model_file m = load("plain-bin", "model.bin");
    put_u64(&m, at, value);
    refuse_bin(&m, wanted, needle);
    free(m.data);
}

static void test_bin_numbers(void **state)
{
    (void)state;
    refuse_u64(0, 2, TR_ERROR_UNSUPPORTED, "version 2");
    refuse_u64(8, (uint64_t)1 << 60, TR_ERROR_FORMAT, "the list of items");
    refuse_u64(8, UINT64_MAX, TR_ERROR_FORMAT, "the list of items");
    refuse_u64(header_of(3) + NAME_LENGTH, (uint64_t)1 << 63, TR_ERROR_FORMAT, "item 3: has a name");
    refuse_u64(header_of(3) + NAME_LENGTH, 0, TR_ERROR_FORMAT, "item 3: has a name");
    refuse_u64(header_of(3) + NAME_LENGTH, 256, TR_ERROR_FORMAT, "");
    refuse_u64(header_of(3) + RANK, (uint64_t)1 << 62, TR_ERROR_UNSUPPORTED, "dimensions");
    refuse_u64(header_of(3) + RANK, 0, TR_ERROR_UNSUPPORTED, "dimensions");
    refuse_u64(header_of(3) + RANK, 5, TR_ERROR_UNSUPPORTED, "dimensions");
    refuse_u64(header_of(3) + DATA_LENGTH, UINT64_MAX, TR_ERROR_FORMAT, "lies beyond its end");
    refuse_u64(header_of(3) + DATA_LENGTH, (uint64_t)INT64_MAX, TR_ERROR_FORMAT, "lies beyond its end");
    refuse_u64(header_of(3) + DATA_LENGTH, 0, TR_ERROR_FORMAT, "needs more than the 0 bytes");
    refuse_u64(header_of(3) + TYPE, 0x04ff, TR_ERROR_FORMAT, "needs more than");
}

static void test_bin_shapes(void **state)
{
    (void)state;
    static const struct {
        int32_t first, second;
        const char *needle;
    } shapes[] = {{INT32_MAX, INT32_MAX, "needs more than"},
                  {-1, -1, "has a size of -1"},
                  {0, 12, "has a size of 0"},
                  {INT32_MIN, 1, "has a size of"},
                  {1, INT32_MAX, "needs more than"}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        model_file m = load("plain-bin", "model.bin");
        memcpy(m.data + shapes_at(&m), &shapes[i].first, 4);
        memcpy(m.data + shapes_at(&m) + 4, &shapes[i].second, 4);
        refuse_bin(&m, TR_ERROR_FORMAT, shapes[i].needle);
        free(m.data);
    }
    model_file m = load("plain-bin", "model.bin");
    put_u64(&m, gap_at(&m), UINT64_MAX);
    refuse_bin(&m, TR_ERROR_FORMAT, "the beginning of the data");
    free(m.data);
}

static void test_bin_names(void **state)
{
    (void)state;
    model_file m = load("plain-bin", "model.bin");
    const size_t first = header_of((size_t)u64_at(&m, 8)), length = (size_t)u64_at(&m, header_of(0));
    assert_string_equal((char *)m.data + first, "Wemb");
    m.data[first + length - 1] = 'x';
    refuse_bin(&m, TR_ERROR_FORMAT, "NUL");
    m.data[first + length - 1] = 0;
    m.data[first + 1] = 0;
    refuse_bin(&m, TR_ERROR_FORMAT, "NUL");
    free(m.data);
    m = load("plain-bin", "model.bin");
    unsigned char *bq = NULL, *bk = NULL; /* names of equal length */
    for (size_t at = first; at < shapes_at(&m); at += strlen((char *)m.data + at) + 1) {
        bk = strcmp((char *)m.data + at, "encoder_l1_self_bk") == 0 ? m.data + at : bk;
        bq = strcmp((char *)m.data + at, "encoder_l1_self_bq") == 0 ? m.data + at : bq;
    }
    assert_true(bq && bk);
    strcpy((char *)bq, (char *)bk);
    refuse_bin(&m, TR_ERROR_FORMAT, "encoder_l1_self_bk: is there twice");
    free(m.data);
}

/* A file that is truncated anywhere is refused, and nothing after its end is read (which sanitizers see). */
static void test_bin_cut(void **state)
{
    (void)state;
    const model_file m = load("plain-bin", "model.bin");
    for (size_t size = 0; size < m.size; size += size < 4096 ? 7 : 997) {
        unsigned char *part = malloc(size + 1);
        tr_error error;
        assert_non_null(part);
        memcpy(part, m.data, size);
        expect_message(&error, read_bin(part, size, &error), TR_ERROR_FORMAT, "truncated");
        free(part);
    }
    free(m.data);
}

/* ----------------------------------------------------------------------------------------------------------------- .npz */

static tr_status read_npz(zip_writer *w, tr_error *error)
{
    tr_marian_items items = {0};
    zip_finish(w);
    const tr_status status = tr_npz_read((tr_bytes){w->file.data, w->file.size}, &items, error);
    tr_marian_items_free(&items);
    zip_free(w);
    return status;
}

static void test_npz_headers(void **state)
{
    (void)state;
    static const struct {
        int version;
        const char *header;
        size_t bytes;
        tr_status wanted;
        const char *needle;
    } cases[] = {
        {1, NPY("<f4", "False", "(3, 4)"), 48, TR_OK, ""},
        {2, NPY("<f2", "False", "(3,)"), 6, TR_OK, ""},
        {3, NPY("|i1", "False", "(1, 2, 3)"), 6, TR_OK, ""},
        {1, NPY("<i4", "True", "(3,)"), 12, TR_OK, ""}, /* with one dimension, the order of axes does not matter */
        {1, NPY("<f4", "False", "()"), 4, TR_OK, ""},
        {1, "{'shape': (1,), 'fortran_order': False, 'descr': '<f4'}", 4, TR_OK, ""},
        {4, NPY("<f4", "False", "(3, 4)"), 48, TR_ERROR_UNSUPPORTED, "version 4"},
        {0, NPY("<f4", "False", "(3, 4)"), 48, TR_ERROR_UNSUPPORTED, "version 0"},
        {1, NPY("<f4", "True", "(3, 4)"), 48, TR_ERROR_UNSUPPORTED, "Fortran"},
        {1, NPY("<f8", "False", "(3, 4)"), 96, TR_ERROR_UNSUPPORTED, "type <f8"},
        {1, NPY(">f4", "False", "(3, 4)"), 48, TR_ERROR_UNSUPPORTED, "type >f4"},
        {1, NPY("|O", "False", "(3, 4)"), 48, TR_ERROR_UNSUPPORTED, "type |O"},
        {1, NPY("<f4", "False", "(3, 4)"), 47, TR_ERROR_FORMAT, "needs more than the 47 bytes"},
        {1, NPY("<f4", "False", "(999999999999999999, 999999999999999999)"), 48, TR_ERROR_FORMAT, "needs more than"},
        {1, NPY("<f4", "False", "(99999999999999999999,)"), 48, TR_ERROR_FORMAT, "damaged"},
        {1, NPY("<f4", "False", "(4611686018427387904, 4)"), 48, TR_ERROR_FORMAT, "damaged"},
        {1, NPY("<f4", "False", "(-1, 4)"), 48, TR_ERROR_FORMAT, "damaged"},
        {1, NPY("<f4", "False", "(0, 4)"), 48, TR_ERROR_FORMAT, "has a size of 0"},
        {1, NPY("<f4", "False", "(1, 1, 1, 1, 1)"), 48, TR_ERROR_FORMAT, "damaged"},
        {1, NPY("<f4", "False", "(3 4)"), 48, TR_ERROR_FORMAT, "damaged"},
        {1, NPY("<f4", "Maybe", "(3, 4)"), 48, TR_ERROR_FORMAT, "damaged"},
        {1, "{'descr': '<f4', 'shape': (3,)}", 48, TR_ERROR_FORMAT, "damaged"},
        {1, "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", 48, TR_ERROR_FORMAT, "damaged"},
        {1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}", 48, TR_ERROR_FORMAT, "damaged"},
        {1, "{'descr': '<f4", 48, TR_ERROR_FORMAT, "damaged"},
        {1, "", 48, TR_ERROR_FORMAT, "damaged"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int deflate = 0; deflate < 2; deflate++) {
            zip_writer w = {0};
            tr_error error = {0};
            add_npy(&w, "decoder.npy", cases[i].version, cases[i].header, cases[i].bytes, deflate);
            expect_message(&error, read_npz(&w, &error), cases[i].wanted, cases[i].needle);
        }
}

static void test_npz_archives(void **state)
{
    (void)state;
    zip_writer w = {0};
    tr_error error = {0};
    zip_add(&w, "a.txt", 5, "text", 4, (zip_claims){0});
    expect_message(&error, read_npz(&w, &error), TR_ERROR_UNSUPPORTED, "a.txt: is not an .npy file");
    zip_add(&w, "a.npy", 5, "text", 4, (zip_claims){0});
    expect_message(&error, read_npz(&w, &error), TR_ERROR_FORMAT, "item a: is not an .npy file");
    zip_add(&w, "a.npy", 5, "\x93NUMPY\1\0\xff\xff{", 11, (zip_claims){0});
    expect_message(&error, read_npz(&w, &error), TR_ERROR_FORMAT, "its header is truncated");
    zip_add(&w, "a.npy", 5, "\x93NUMPY\2\0\xff\xff\xff\xff{", 13, (zip_claims){0});
    expect_message(&error, read_npz(&w, &error), TR_ERROR_FORMAT, "its header is truncated");
    zip_add(&w, "a.npy", 5, "\x93NUMPY\2\0\xff\xff", 10, (zip_claims){0});
    expect_message(&error, read_npz(&w, &error), TR_ERROR_FORMAT, "its header is truncated");
    add_npy(&w, "a.npy", 1, NPY("<f4", "False", "(1,)"), 4, false);
    add_npy(&w, "a.npy", 1, NPY("<f4", "False", "(1,)"), 4, false);
    expect_message(&error, read_npz(&w, &error), TR_ERROR_FORMAT, "a.npy");
    add_npy(&w, "a.npy", 1, NPY("<f4", "False", "(16777216,)"), (size_t)64 << 20, true); /* a zip bomb */
    expect_message(&error, read_npz(&w, &error), TR_ERROR_FORMAT, "times the archive's size");
    const model_file m = load("plain-npz", "model.npz");
    for (size_t size = 0; size < m.size; size += 997) {
        tr_marian_items items = {0};
        const tr_status status = tr_npz_read((tr_bytes){m.data, size}, &items, &error);
        expect_message(&error, status, TR_ERROR_FORMAT, "truncated");
        tr_marian_items_free(&items);
    }
    free(m.data);
}

/* ----------------------------------------------------------------------------------------------------------------- YAML */

static void refuse_bytes(const char *text, size_t size, tr_status wanted, const char *needle)
{
    json_t *root;
    tr_error error = {0};
    const uint64_t start = tr_nanoseconds();
    const tr_status status = tr_yaml_parse(text, size, "file.yml", &root, &error);
    expect_message(&error, status, wanted, needle);
    assert_null(root);
    assert_true(tr_nanoseconds() - start < 1000000000 && strncmp(error.message, "file.yml: ", 10) == 0);
}

static void refuse_yaml(const char *text, tr_status wanted, const char *needle)
{
    refuse_bytes(text, strlen(text), wanted, needle);
}

static void test_yaml(void **state)
{
    (void)state;
    static const text_case cases[] = {
        {"", TR_ERROR_FORMAT, "is empty"},
        {"# nothing\n", TR_ERROR_FORMAT, "is not a YAML mapping"},
        {"- a\n- b\n", TR_ERROR_FORMAT, "is not a YAML mapping"},
        {"just words\n", TR_ERROR_FORMAT, "is not a YAML mapping"},
        {"a: 1\na: 2\n", TR_ERROR_FORMAT, "line 2: a key is there twice"},
        {"a: &x [1]\nb: *x\n", TR_ERROR_UNSUPPORTED, "anchor"},
        {"a: &x {b: 1}\n", TR_ERROR_UNSUPPORTED, "anchor"},
        {"a: &x 1\n", TR_ERROR_UNSUPPORTED, "anchor"},
        {"a: *x\n", TR_ERROR_UNSUPPORTED, "alias"},
        {"a: 1\n---\nb: 2\n", TR_ERROR_UNSUPPORTED, "second document"},
        {"{a: 1}: 2\n", TR_ERROR_UNSUPPORTED, "a key is not a scalar"},
        {"[a]: 2\n", TR_ERROR_UNSUPPORTED, "a key is not a scalar"},
        {"a: [[[[[[[[[[1]]]]]]]]]]\n", TR_ERROR_UNSUPPORTED, "nested too deep"},
        {"a: \"x\\0y\"\n", TR_ERROR_FORMAT, "NUL"},
        {"a: [1, 2\n", TR_ERROR_FORMAT, "is not valid YAML"},
        {"a: \xff\xfe\n", TR_ERROR_FORMAT, "is not valid YAML"},
        {"a: 'open\n", TR_ERROR_FORMAT, "is not valid YAML"},
        {"a: \tb: c\n", TR_ERROR_FORMAT, "is not valid YAML"},
    };
    refuse_each(refuse_yaml, cases, sizeof cases / sizeof *cases);
    enum { MANY = 1 << 20 };
    char *many = malloc(MANY);
    assert_non_null(many);
    static const char openings[] = "[{-\"";
    for (size_t i = 0; openings[i]; i++) {
        memset(many, openings[i], MANY);
        refuse_bytes(many, MANY, openings[i] == '[' || openings[i] == '{' ? TR_ERROR_UNSUPPORTED : TR_ERROR_FORMAT, "");
    }
    for (size_t i = 0; i < MANY; i++)
        many[i] = "- "[i % 2];
    refuse_bytes(many, MANY, TR_ERROR_UNSUPPORTED, "nested too deep");
    free(many);
}

static void test_yaml_values(void **state)
{
    (void)state;
    static const char text[] =
        "whole: -12\nreal: 0.5\nyes: true\nno: false\nnothing:\nquoted: \"12\"\n"
        "word: v1.9\nlist:\n  - 1\n  - two\nempty: []\n\"\\u4eca\": 3\nhuge: 99999999999999999999999999\n"
        "dots: ...\nplus: +7\nsmall: 1e-5\nempty map: {}\n";
    json_t *root;
    tr_error error = {0};
    const tr_status status = tr_yaml_parse(text, sizeof text - 1, "file.yml", &root, &error);
    if (status != TR_OK)
        fail_msg("%s", error.message);
    json_t *wanted =
        json_pack("{s:i, s:f, s:b, s:b, s:n, s:s, s:s, s:[i, s], s:[], s:i, s:f, s:s, s:i, s:f, s:{}}", "whole", -12, "real",
                  0.5, "yes", 1, "no", 0, "nothing", "quoted", "12", "word", "v1.9", "list", 1, "two", "empty",
                  "\xe4\xbb\x8a", 3, "huge", 1e26, "dots", "...", "plus", 7, "small", 1e-5, "empty map");
    assert_non_null(wanted);
    const bool equal = json_equal(root, wanted);
    tr_buffer shown = {0};
    assert_true(tr_json_print(root, 0, &shown));
    if (!equal)
        fail_msg("%s", shown.data);
    tr_buffer_free(&shown);
    json_decref(wanted);
}

/* ------------------------------------------------------------------------------------------------------------- settings */

/* Options beside those that all models have. */
static void refuse_options(const char *text, tr_status wanted, const char *needle)
{
    json_t *yml;
    tr_config config;
    tr_error error = {0};
    tr_marian_items items = {0};
    tr_marian_layout *layout = calloc(1, sizeof *layout);
    assert_non_null(layout);
    assert_int_equal(tr_yaml_parse(text, strlen(text), "options", &yml, &error), TR_OK);
    const json_t *type = json_object_get(yml, "type");
    if (!type)
        yml = tr_json_set(yml, "type", json_string("transformer"));
    if (!json_object_get(yml, "dim-vocabs"))
        yml = tr_json_set(yml, "dim-vocabs", json_pack("[i, i]", 10, 10));
    tr_status status = tr_marian_config(yml, &items, &config, layout, &error);
    config.eos_id = 0;
    if (status == TR_OK)
        status = tr_config_check(&config, &error);
    expect_message(&error, status, wanted, needle);
    json_decref(yml);
    free(layout);
}

static void test_options(void **state)
{
    (void)state;
    static const text_case cases[] = {
        {"dim-emb: 64", TR_OK, ""},
        {"type: s2s", TR_ERROR_UNSUPPORTED, "type s2s"},
        {"type: amun", TR_ERROR_UNSUPPORTED, "type amun"},
        {"type: nematus", TR_ERROR_UNSUPPORTED, "type nematus"},
        {"type: transformer-new", TR_ERROR_UNSUPPORTED, "type transformer-new"},
        {"type: 5", TR_ERROR_FORMAT, "type"},
        {"ulr: true", TR_ERROR_UNSUPPORTED, "ulr is set"},
        {"transformer-pool: true", TR_ERROR_UNSUPPORTED, "transformer-pool is set"},
        {"right-left: true", TR_ERROR_UNSUPPORTED, "right-left is set"},
        {"right-left: 1", TR_ERROR_FORMAT, "right-left"},
        {"transformer-train-positions: true", TR_ERROR_UNSUPPORTED, "transformer-train-positions is set"},
        {"transformer-attention-mask: alibi", TR_ERROR_UNSUPPORTED, "transformer-attention-mask"},
        {"lemma-dim-emb: 32", TR_ERROR_UNSUPPORTED, "lemma-dim-emb"},
        {"input-types: [class]", TR_ERROR_UNSUPPORTED, "input-types"},
        {"transformer-preprocess: h", TR_ERROR_UNSUPPORTED, "highway"},
        {"transformer-postprocess: dhn", TR_ERROR_UNSUPPORTED, "highway"},
        {"transformer-postprocess: dxn", TR_ERROR_UNSUPPORTED, "not known"},
        {"transformer-postprocess: dn", TR_ERROR_UNSUPPORTED, "adds no residual"},
        {"transformer-postprocess: dna", TR_ERROR_UNSUPPORTED, "after a norm"},
        {"transformer-postprocess: dann", TR_ERROR_UNSUPPORTED, "normalises twice"},
        {"transformer-postprocess: da", TR_ERROR_UNSUPPORTED, "have no norm"},
        {"transformer-preprocess: r", TR_ERROR_UNSUPPORTED, "mixes"},
        {"transformer-preprocess: a", TR_ERROR_UNSUPPORTED, "nothing to add"},
        {"transformer-postprocess-top: a", TR_ERROR_UNSUPPORTED, "adds the embeddings"},
        {"transformer-ffn-activation: mish", TR_ERROR_UNSUPPORTED, "transformer-ffn-activation"},
        {"transformer-decoder-autoreg: fsmn", TR_ERROR_UNSUPPORTED, "transformer-decoder-autoreg"},
        {"{transformer-decoder-autoreg: rnn, dec-cell: gru}", TR_ERROR_UNSUPPORTED, "dec-cell is not ssru"},
        {"{transformer-decoder-autoreg: rnn, dec-cell: ssru, layer-normalization: true}", TR_ERROR_UNSUPPORTED,
         "layer-normalization"},
        {"{transformer-decoder-autoreg: average-attention, transformer-aan-depth: 0}", TR_ERROR_FORMAT, "aan_depth"},
        {"{transformer-decoder-autoreg: average-attention, transformer-dim-aan: -4}", TR_ERROR_FORMAT, "aan_ffn"},
        {"transformer-tied-layers: 3", TR_ERROR_FORMAT, "is not a list"},
        {"transformer-tied-layers: [1, 1, 1]", TR_ERROR_FORMAT, "as many layers"},
        {"{dec-depth: 2, transformer-tied-layers: [1, 0]}", TR_ERROR_FORMAT, "something else than layers"},
        {"{dec-depth: 2, transformer-tied-layers: [1, x]}", TR_ERROR_FORMAT, "something else than layers"},
        {"dim-vocabs: [10, 10, 10]", TR_ERROR_UNSUPPORTED, "dim-vocabs"},
        {"dim-vocabs: [10, -1]", TR_ERROR_FORMAT, "dim-vocabs"},
        {"dim-vocabs: [10, 9223372036854775807]", TR_ERROR_FORMAT, "dim-vocabs"},
        {"dim-vocabs: [0, 0]", TR_ERROR_FORMAT, "source_vocabulary"},
        {"dim-emb: 9223372036854775807", TR_ERROR_FORMAT, "dim-emb"},
        {"dim-emb: 2147483647", TR_ERROR_FORMAT, "d_model"},
        {"dim-emb: -1", TR_ERROR_FORMAT, "d_model"},
        {"enc-depth: 2000000000", TR_ERROR_FORMAT, "encoder_layers"},
        {"dec-depth: 0", TR_ERROR_FORMAT, "decoder_layers"},
        {"transformer-heads: 7", TR_ERROR_FORMAT, "heads"},
        {"transformer-ffn-depth: 1000", TR_ERROR_FORMAT, "ffn_depth"},
    };
    refuse_each(refuse_options, cases, sizeof cases / sizeof *cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bin_numbers), cmocka_unit_test(test_bin_shapes),  cmocka_unit_test(test_bin_names),
        cmocka_unit_test(test_bin_cut),     cmocka_unit_test(test_npz_headers), cmocka_unit_test(test_npz_archives),
        cmocka_unit_test(test_yaml),        cmocka_unit_test(test_yaml_values), cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests_name("marian files", tests, NULL, NULL);
}
