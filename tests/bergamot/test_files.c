/* Directories of Firefox's and translateLocally's files that are incomplete, compressed, damaged, or of another kind of
 * int8: each is refused with one line that says so. */
#define _GNU_SOURCE
#include "../formats/fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/shortlist.h"

#define FIREFOX "ssru-one-lex"
#define MODEL   "model.enzh.intgemm.alphas.bin"
#define LEX     "lex.50.50.enzh.s2t.bin"
#define VOCAB   "vocab.enzh.spm"

static void make_firefox(void)
{
    copy_fixture(FIREFOX, MODEL, MODEL);
    copy_fixture(FIREFOX, LEX, LEX);
    copy_fixture(FIREFOX, VOCAB, VOCAB);
}

/* Offsets of an item's header, and of its data, in a model. */
typedef struct item {
    unsigned char *header, *data;
    uint64_t bytes;
} item;

static uint64_t u64_at(const unsigned char *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

static item find_item(unsigned char *model, const char *wanted)
{
    const uint64_t count = u64_at(model + 8);
    unsigned char *names = model + 16 + 32 * count, *at = names;
    uint64_t before = 0, shapes = 0, found = count;
    item result = {NULL, NULL, 0};
    for (uint64_t i = 0; i < count; i++) {
        const unsigned char *header = model + 16 + 32 * i;
        if (strcmp((const char *)at, wanted) == 0)
            found = i;
        before += i < found ? u64_at(header + 24) : 0;
        shapes += 4 * u64_at(header + 16);
        at += u64_at(header);
    }
    assert_true(found < count);
    result.header = model + 16 + 32 * found;
    result.bytes = u64_at(result.header + 24);
    result.data = at + shapes;
    result.data += 8 + u64_at(result.data) + before;
    return result;
}

/* The model with bytes of an item replaced: in its data, counted from the end if offset is negative, or in its type. */
static void patch_item(const char *name, ptrdiff_t offset, const void *bytes, size_t size)
{
    size_t total;
    unsigned char *model = read_fixture(FIREFOX, MODEL, &total);
    const item i = find_item(model, name);
    memcpy(i.data + offset, bytes, size);
    write_file(MODEL, model, total);
    free(model);
}

static void patch_type(const char *name, uint64_t type)
{
    size_t total;
    unsigned char *model = read_fixture(FIREFOX, MODEL, &total);
    memcpy(find_item(model, name).header + 8, &type, sizeof type);
    write_file(MODEL, model, total);
    free(model);
}

static tr_package open_whole(void)
{
    tr_package package;
    open_package(directory, &package);
    assert_string_equal(package.format, "Bergamot model");
    return package;
}

static void takes_the_files_as_they_are_named(void **unused)
{
    (void)unused;
    make_firefox();
    tr_package package = open_whole();
    assert_non_null(package.shortlist.offsets);
    assert_true(package.shortlist.shared);
    assert_string_equal(package.source_language, "en");
    tr_package_close(&package);
    /* the model itself may be named instead */
    open_package(in_directory(MODEL), &package);
    assert_non_null(package.shortlist.offsets);
    tr_package_close(&package);
    /* another pair's shortlist does no harm; a directory without one has none */
    copy_fixture(FIREFOX, LEX, "lex.50.50.enfr.s2t.bin");
    package = open_whole();
    tr_package_close(&package);
    remove_file("lex.50.50.enfr.s2t.bin");
    remove_file(LEX);
    package = open_whole();
    assert_null(package.shortlist.offsets);
    tr_package_close(&package);
    /* the only one in the directory, whatever its name */
    copy_fixture(FIREFOX, LEX, "lex.s2t.bin");
    package = open_whole();
    assert_non_null(package.shortlist.offsets);
    tr_package_close(&package);
    copy_fixture(FIREFOX, LEX, "lex.50.50.enfr.s2t.bin");
    expect_failure(directory, TR_ERROR_ARGUMENT, "holds several shortlists");
}

static void refuses_compressed_files(void **unused)
{
    (void)unused;
    static const char *const files[] = {MODEL, VOCAB, LEX};
    for (int i = 0; i < 3; i++)
        for (int zst = 0; zst < 2; zst++) {
            char name[PATH_SIZE];
            make_firefox();
            remove_file(files[i]);
            snprintf(name, sizeof name, "%s.%s", files[i], zst ? "zst" : "gz");
            write_text(name, "\x1f\x8b");
            expect_failure(directory, TR_ERROR_UNSUPPORTED,
                           zst ? "unpack it first, with unzstd" : "unpack it first, with gunzip");
            remove_file(name);
        }
}

static void names_missing_files(void **unused)
{
    (void)unused;
    make_firefox();
    remove_file(VOCAB);
    expect_failure(directory, TR_ERROR_FORMAT, "its vocabularies are missing");
    static const char *const files[] = {"config.intgemm8bitalpha.yml", "model.intgemm.alphas.bin", "vocab.spm"};
    remove_file(MODEL);
    remove_file(LEX);
    for (int i = 0; i < 3; i++)
        copy_fixture("package", files[i], files[i]);
    expect_failure(directory, TR_ERROR_FORMAT, "the shortlist that its options name is missing");
    copy_fixture("package", "lex.s2t.bin", "lex.s2t.bin");
    tr_package package = open_whole();
    assert_non_null(package.shortlist.offsets);
    tr_package_close(&package);
}

static void refuses_damaged_matrices(void **unused)
{
    (void)unused;
    static const char *const matrix = "encoder_l1_self_Wq", *const scale = "encoder_l1_self_Wq_QuantMultA";
    const float bad[] = {0, -1, NAN, INFINITY};
    make_firefox();
    for (int i = 0; i < 4; i++) {
        patch_item(scale, 0, &bad[i], sizeof *bad);
        expect_failure(directory, TR_ERROR_FORMAT, "must be one number above 0");
        patch_item(matrix, 64 * 64, &bad[i], sizeof *bad); /* the multiplier after its integers */
        expect_failure(directory, TR_ERROR_FORMAT, "has no multiplier above 0");
        patch_item("Wemb_QuantMultA", 1, &bad[i], sizeof *bad);
        expect_failure(directory, TR_ERROR_FORMAT, "must be one number above 0");
    }
    patch_type(scale, 0x0402);
    expect_failure(directory, TR_ERROR_FORMAT, "must be one number above 0");
}

static void refuses_other_integers(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t type;
        const char *says;
    } types[] = {
        {0x10001, "intgemm of marian-nmt"}, {0x0801, "FBGEMM"}, {0x1801, "FBGEMM"}, {0x0101, "which no weight has"}};
    make_firefox();
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        patch_type("encoder_l1_ffn_W1", types[i].type);
        expect_failure(directory, TR_ERROR_UNSUPPORTED, types[i].says);
    }
    patch_type("encoder_l1_self_bq", 0x4101); /* a vector is never quantised */
    expect_failure(directory, TR_ERROR_UNSUPPORTED, "");
}

/* Lists for another vocabulary, or a file that is no shortlist under the right name. */
static void refuses_other_shortlists(void **unused)
{
    (void)unused;
    make_firefox();
    write_text(LEX, "the\tle 0.5\n");
    expect_failure(directory, TR_ERROR_FORMAT, "is not a binary shortlist");
    size_t size;
    unsigned char *lex = read_fixture(FIREFOX, LEX, &size);
    write_file(LEX, lex, size - 4);
    expect_failure(directory, TR_ERROR_FORMAT, LEX);
    lex[60] ^= 1;
    write_file(LEX, lex, size);
    expect_failure(directory, TR_ERROR_FORMAT, "checksum");
    free(lex);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(takes_the_files_as_they_are_named), TEST(refuses_compressed_files), TEST(names_missing_files),
        TEST(refuses_damaged_matrices),          TEST(refuses_other_integers),   TEST(refuses_other_shortlists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
