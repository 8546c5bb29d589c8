/* Hugging Face directories of all families: the package has the right settings, and a model file made from it is equal. */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *architecture, *format;
    tr_positions positions;
    bool text; /* it has a tokenizer */
} models[] = {
    {"relu-1x1-f32", "marian", "Hugging Face Marian directory", TR_POSITIONS_SINUSOIDAL, true},
    {"bart-2x1-bf16", "bart", "Hugging Face BART directory", TR_POSITIONS_LEARNED, false},
    {"mbart-2x2-f32", "mbart", "Hugging Face mBART directory", TR_POSITIONS_LEARNED, false},
    {"m2m100-1x3-f16", "m2m_100", "Hugging Face M2M100 directory", TR_POSITIONS_STRETCHED, false},
    {"t5-2x2-f32", "t5", "Hugging Face T5 directory", TR_POSITIONS_RELATIVE, true},
    {"t5-3x2-bf16-gated", "t5", "Hugging Face T5 directory", TR_POSITIONS_RELATIVE, true},
};

enum { MODELS = sizeof models / sizeof *models };

static void open_fixture(const char *name, tr_package *package)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s/model", TR_FIXTURES, name);
    open_package(path, package);
}

static void test_found(void **state)
{
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        tr_package p;
        open_fixture(models[i].name, &p);
        assert_string_equal(p.architecture, models[i].architecture);
        assert_string_equal(p.format, models[i].format);
        assert_int_equal(p.config.positions, models[i].positions);
        assert_true(p.directory && p.target == &p.source);
        assert_true((p.source_spm.data != NULL) == models[i].text);
        tr_package_close(&p);
    }
}

/* T5's ids are those of SentencePiece; the embedding has more rows, which have no pieces. */
static void test_pieces(void **state)
{
    (void)state;
    static const char *const first[] = {"<pad>", "</s>", "<unk>"};
    tr_package p;
    open_fixture("t5-2x2-f32", &p);
    assert_int_equal(p.source.size, p.config.source_vocabulary);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(p.source.pieces[i].size, strlen(first[i]));
        assert_memory_equal(p.source.pieces[i].data, first[i], strlen(first[i]));
    }
    assert_int_equal(p.config.unk_id, 2);
    assert_non_null(p.source.pieces[99].data);
    assert_null(p.source.pieces[100].data);
    tr_package_close(&p);
}

static void expect_same_tensors(const tr_package *a, const tr_package *b)
{
    assert_int_equal(a->weights.count, b->weights.count);
    for (size_t i = 0; i < a->weights.count; i++) {
        const tr_tensor *t = a->weights.tensors[i], *u = tr_weights_find(&b->weights, t->name);
        assert_non_null(u);
        assert_int_equal(t->rank, u->rank);
        for (uint64_t k = 0; k < tr_tensor_elements(t); k++) {
            float x, y;
            tr_tensor_to_f32(t, (size_t)k, 1, &x);
            tr_tensor_to_f32(u, (size_t)k, 1, &y);
            assert_true(x == y);
        }
    }
}

static void test_model_files(void **state)
{
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        tr_package p, plain, packed;
        open_fixture(models[i].name, &p);
        write_package(&p, in_directory("plain.gguf"), TR_TYPE_F32);
        write_package(&p, in_directory("packed.gguf"), TR_TYPE_I8);
        open_package(in_directory("plain.gguf"), &plain);
        open_package(in_directory("packed.gguf"), &packed);
        assert_memory_equal(&p.config, &plain.config, sizeof p.config);
        assert_memory_equal(&p.config, &packed.config, sizeof p.config);
        assert_string_equal(plain.architecture, p.architecture);
        assert_int_equal(plain.source.size, p.source.size);
        expect_same_tensors(&p, &plain);
        tr_package_close(&p);
        tr_package_close(&plain);
        tr_package_close(&packed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test_setup_teardown(test_model_files, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
