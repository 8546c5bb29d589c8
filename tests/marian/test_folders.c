/* Folders of Marian's files: which of them belong together, and what is refused because one is missing or does not fit. */
#include "files.h"

#include <stdlib.h>
#include <string.h>

#define ZERO "\xe2\x96\x81\x30" /* the first piece of most fixtures, a space symbol and a 0 */

static void refuse_model(tr_status wanted, const char *needle)
{
    expect_failure(directory, wanted, needle);
}

/* Items of unsupported types are refused, each by name. */
static void test_types(void **state)
{
    (void)state;
    static const struct {
        uint64_t type;
        tr_status wanted;
        const char *needle;
    } types[] = {{0x4101, TR_ERROR_FORMAT, "no multiplier above 0"}, {0x4102, TR_ERROR_UNSUPPORTED, "intgemm integers"},
                 {0x10001, TR_ERROR_UNSUPPORTED, "one kind of CPU"}, {0x0802, TR_ERROR_UNSUPPORTED, "FBGEMM"},
                 {0x1801, TR_ERROR_UNSUPPORTED, "FBGEMM"},           {0x2801, TR_ERROR_UNSUPPORTED, "FBGEMM"},
                 {0x0104, TR_ERROR_UNSUPPORTED, "type 0x104"}};
    copy_fixture("plain-bin", "vocab.yml", "vocab.yml");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        model_file m = load("plain-bin", "model.bin");
        put_u64(&m, header_of(0) + TYPE, types[i].type);
        write_file("model.bin", m.data, m.size);
        free(m.data);
        refuse_model(types[i].wanted, types[i].needle);
    }
}

/* Items that are missing or unknown. */
static void test_items(void **state)
{
    (void)state;
    copy_fixture("plain-bin", "vocab.yml", "vocab.yml");
    model_file m = load("plain-bin", "model.bin");
    const size_t first = header_of((size_t)u64_at(&m, 8));
    m.data[first] = 'w'; /* Wemb */
    write_file("model.bin", m.data, m.size);
    refuse_model(TR_ERROR_FORMAT, "item Wemb: is missing");
    free(m.data);
    zip_writer w = {0};
    add_npy(&w, "special:model.yml.npy", 1, NPY("|i1", "False", "(4,)"), 4, false);
    zip_finish(&w);
    remove_file("model.bin");
    write_file("model.npz", w.file.data, w.file.size);
    zip_free(&w);
    refuse_model(TR_ERROR_FORMAT, "special:model.yml: is empty");
}

static void expect_model(const char *path, const char *first_piece, bool text)
{
    tr_package package;
    open_package(path, &package);
    assert_string_equal(package.format, "Marian model");
    assert_true(package.target->size > 2 && (text == (package.source_spm.data != NULL)));
    assert_memory_equal(package.source.pieces[2].data, first_piece, package.source.pieces[2].size);
    tr_package_close(&package);
}

/* A package of OPUS-MT: a yml file names the model and the vocabularies by their paths on another machine. */
static void test_opus(void **state)
{
    (void)state;
    copy_fixture("plain-npz", "model.npz", "opus.npz.best-perplexity.npz");
    copy_fixture("plain-npz", "vocab.yml", "opus.vocab.yml");
    copy_fixture("spm", "vocab.spm", "source.spm");
    copy_fixture("spm", "vocab.spm", "target.spm");
    expect_model(directory, ZERO, true); /* found by name */
    write_text("decoder.yml", "models:\n  - /home/someone/opus.npz.best-perplexity.npz\nvocabs:\n  - ../opus.vocab.yml\n"
                              "  - /x/opus.vocab.yml\nbeam-size: 6\n");
    copy_fixture("plain-npz", "vocab.yml", "vocab.src.yml"); /* no longer found by name */
    expect_model(directory, ZERO, true);
    expect_model(in_directory("opus.npz.best-perplexity.npz"), ZERO, true);
    write_text("decoder.yml", "models: [a.npz, b.npz]\nvocabs: [opus.vocab.yml, opus.vocab.yml]\n");
    refuse_model(TR_ERROR_UNSUPPORTED, "several models");
    write_text("decoder.yml", "models: &m [a.npz]\nother: *m\n");
    refuse_model(TR_ERROR_UNSUPPORTED, "anchor");
}

static void test_vocabularies(void **state)
{
    (void)state;
    copy_fixture("tied-target", "model.npz", "model.npz");
    refuse_model(TR_ERROR_FORMAT, "its vocabularies are missing");
    copy_fixture("tied-target", "vocab.src.yml", "vocab.de.yml");
    copy_fixture("tied-target", "vocab.trg.yml", "vocab.en.yml");
    refuse_model(TR_ERROR_FORMAT, "or there are several"); /* ambiguous */
    write_text("model.npz.decoder.yml", "models: [model.npz]\nvocabs: [vocab.de.yml, vocab.en.yml]\n");
    expect_model(directory, "s0", false);
    remove_file("model.npz.decoder.yml");
    remove_file("vocab.de.yml");
    remove_file("vocab.en.yml");
    write_text("srcvocab.json",
               "{\"</s>\": 0, \"<unk>\": 1, \"s0\": 2, \"far\": 1000}"); /* not in the embedding's rows: ignored */
    write_text("trgvocab.yml", "eos: 0\nUNK: 1\nt0: 2\n");               /* Nematus' names */
    expect_model(directory, "s0", false);
    write_text("srcvocab.json", "{\"<unk>\": 0, \"</s>\": 1, \"s0\": 2}");
    refuse_model(TR_ERROR_UNSUPPORTED, "EOS (</s>)");
    write_text("srcvocab.json", "{\"a\": 0, \"b\": 1, \"s0\": 2}");
    refuse_model(TR_ERROR_FORMAT, "has no token </s>");
    write_text("srcvocab.json", "{\"</s>\": 0, \"<unk>\": 1, \"s0\": 1}");
    refuse_model(TR_ERROR_FORMAT, "share id 1");
    write_text("srcvocab.json", "{\"</s>\": 0, \"<unk>\": 1, \"s0\": -1}");
    refuse_model(TR_ERROR_FORMAT, "not a whole number");
    write_text("srcvocab.json", "[]");
    refuse_model(TR_ERROR_FORMAT, "srcvocab.json");
}

/* Vocabularies of another size than the model's. */
static void test_pieces(void **state)
{
    (void)state;
    copy_fixture("plain-npz", "model.npz", "model.npz");
    copy_fixture("spm", "vocab.spm", "vocab.spm");
    refuse_model(TR_ERROR_FORMAT, "has more pieces than the embedding's 48 rows");
    write_text("vocab.spm", "no protobuf");
    refuse_model(TR_ERROR_FORMAT, "vocab.spm");
}

static void test_several(void **state)
{
    (void)state;
    copy_fixture("plain-npz", "model.npz", "a.npz");
    copy_fixture("plain-npz", "model.npz", "b.npz");
    copy_fixture("plain-npz", "vocab.yml", "vocab.yml");
    refuse_model(TR_ERROR_ARGUMENT, "several models (a.npz, b.npz)");
    expect_model(in_directory("b.npz"), ZERO, false);
    copy_fixture("plain-npz", "model.npz", "model.npz"); /* the usual name has precedence */
    expect_model(directory, ZERO, false);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_types), TEST(test_items), TEST(test_opus), TEST(test_vocabularies), TEST(test_pieces), TEST(test_several),
    };
    return cmocka_run_group_tests_name("marian folders", tests, NULL, NULL);
}
