/* Shortlists: Marian's binary file, whole and damaged in every way, and the same lists in a model file. */
#define _GNU_SOURCE
#include "gguf_damage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/engine.h"

#include "formats/gguf/gguf.h"
#include "formats/shortlist.h"

enum { LISTS = PIECES, WORDS = 2 * LISTS + 1, BYTES = 48 + 8 * (LISTS + 1) + 4 * WORDS };

/* The file's bytes as numbers: 8 each, then words of 4. */
typedef struct lists {
    uint64_t magic, checksum, first, best, offset_count, word_count, offsets[LISTS + 1];
    uint32_t words[WORDS];
} lists;

static uint64_t checksum_of(const void *data, size_t size)
{
    uint64_t seed = 0, word;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        memcpy(&word, (const char *)data + i, 8);
        seed ^= word + 0x9e3779b9 + (seed << 6) + (seed >> 2);
    }
    return seed;
}

static lists good_lists(void)
{
    lists l = {0xF11A48D5013417F5, 0, 2, 3, LISTS + 1, WORDS, {0}, {0}};
    for (uint64_t i = 0; i <= LISTS; i++)
        l.offsets[i] = 2 * i + (i == LISTS);
    for (uint32_t i = 0; i < WORDS; i++)
        l.words[i] = i * 5 % TARGET_PIECES;
    return l;
}

/* With the right checksum. */
static void write_lists(const char *name, lists *l, size_t size)
{
    unsigned char file[BYTES + 64] = {0};
    memcpy(file, l, size < BYTES ? size : BYTES);
    const uint64_t checksum = checksum_of(file + 16, size > 16 ? size - 16 : 0);
    memcpy(file + 8, &checksum, 8);
    write_file(name, file, size);
}

/* The model of the test, as SEPARATE makes it, with the shortlist lex.bin. */
static tr_status open_with(tr_package *package, tr_error *error)
{
    open_package(directory, package);
    return tr_package_shortlist(package, in_directory("lex.bin"), TR_LOAD_MAP, error);
}

/* Makes that model, and the package with it. */
static void make_with_lists(tr_package *package)
{
    tr_error error;
    lists l = good_lists();
    make_model(SEPARATE, "F32");
    write_lists("lex.bin", &l, BYTES);
    assert_int_equal(open_with(package, &error), TR_OK);
}

static void refuse(tr_status status, const char *needle)
{
    tr_package package;
    tr_error error = {0};
    const tr_status got = open_with(&package, &error);
    if (got != status || !strstr(error.message, needle) || strchr(error.message, '\n') ||
        strncmp(error.message, directory, strlen(directory)) != 0)
        fail_msg("status %d, \"%s\": not %d, \"%s\"", got, error.message, status, needle);
    assert_null(package.shortlist.offsets);
    tr_package_close(&package);
}

static void expect_lists(const tr_shortlist *s)
{
    const lists l = good_lists();
    assert_int_equal(s->first, 2);
    assert_int_equal(s->best, 3);
    assert_int_equal(s->sources, LISTS);
    assert_int_equal(s->count, WORDS);
    for (int i = 0; i <= LISTS; i++)
        assert_int_equal(s->offsets[i], l.offsets[i]);
    assert_memory_equal(s->words, l.words, sizeof l.words);
}

static void reads_marians_file(void **unused)
{
    (void)unused;
    tr_package package;
    tr_error error;
    make_with_lists(&package);
    expect_lists(&package.shortlist);
    assert_false(package.shortlist.shared);
    /* another one takes its place */
    assert_int_equal(tr_package_shortlist(&package, in_directory("lex.bin"), TR_LOAD_COPY, &error), TR_OK);
    expect_lists(&package.shortlist);
    tr_package_close(&package);
}

/* The lists in place of lex.bin must be refused. */
static void refuse_lists(lists *l, tr_status status, const char *needle)
{
    write_lists("lex.bin", l, BYTES);
    refuse(status, needle);
}

static void refuses_damage(void **unused)
{
    (void)unused;
    make_model(SEPARATE, "F32");
    lists good = good_lists(), l = good;
    for (size_t size = 0; size < BYTES; size++) { /* truncated anywhere, even with the right checksum */
        write_lists("lex.bin", &good, size);
        refuse(TR_ERROR_FORMAT, size < 8 ? "not a binary shortlist" : size < 48 ? "truncated" : "claims");
    }
    write_lists("lex.bin", &good, BYTES + 4);
    refuse(TR_ERROR_FORMAT, "claims");
    write_lists("lex.bin", &good, BYTES);
    size_t size;
    unsigned char *file = read_file(in_directory("lex.bin"), &size);
    for (size_t i = 0; i < BYTES / 8 * 8; i++) { /* any byte that the checksum covers */
        file[i] ^= 0x40;
        write_file("lex.bin", file, size);
        refuse(TR_ERROR_FORMAT, "");
        file[i] ^= 0x40;
    }
    free(file);
    static const uint64_t counts[] = {
        0, WORDS - 1, WORDS + 1, (uint64_t)1 << 31, (uint64_t)1 << 60, (uint64_t)1 << 62, UINT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        l = good;
        l.word_count = counts[i];
        refuse_lists(&l, TR_ERROR_FORMAT, "words");
        l = good;
        l.offset_count = counts[i];
        refuse_lists(&l, TR_ERROR_FORMAT, "offsets");
        l = good;
        l.first = counts[i] + TR_MAX_VOCABULARY;
        write_lists("lex.bin", &l, BYTES);
        if (l.first > TR_MAX_VOCABULARY)
            refuse(TR_ERROR_FORMAT, "out of range");
    }
}

static void refuses_nonsense(void **unused)
{
    (void)unused;
    make_model(SEPARATE, "F32");
    lists good = good_lists(), l = good;
    l.offsets[4] = 3; /* less than the 6 before it */
    refuse_lists(&l, TR_ERROR_FORMAT, "do not rise");
    l.offsets[4] = UINT64_MAX;
    refuse_lists(&l, TR_ERROR_FORMAT, "do not rise");
    l = good;
    l.offsets[0] = 1;
    refuse_lists(&l, TR_ERROR_FORMAT, "do not rise");
    l = good;
    l.offsets[LISTS]--;
    refuse_lists(&l, TR_ERROR_FORMAT, "do not rise");
    static const uint32_t words[] = {TARGET_PIECES, 1u << 31, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        l = good;
        l.words[5] = words[i];
        refuse_lists(&l, TR_ERROR_ARGUMENT, "not made for this model");
    }
    write_text("lex.bin", "un chien\tun cane 0.5\n");
    refuse(TR_ERROR_FORMAT, "not a binary shortlist");
    remove_file("lex.bin");
    refuse(TR_ERROR_IO, "lex.bin");
}

/* Lists for another number of source tokens; one fewer is accepted, as Transformers adds a padding token. */
static void refuses_other_vocabularies(void **unused)
{
    (void)unused;
    tr_package package;
    tr_error error;
    make_with_lists(&package);
    tr_config c = package.config;
    c.source_vocabulary = LISTS + 1;
    assert_int_equal(tr_shortlist_check(&package.shortlist, &c, &error), TR_OK);
    for (int other = LISTS - 1; other <= LISTS + 2; other += 3) {
        c.source_vocabulary = other;
        assert_int_equal(tr_shortlist_check(&package.shortlist, &c, &error), TR_ERROR_ARGUMENT);
        assert_non_null(strstr(error.message, "not made for this model"));
    }
    tr_package_close(&package);
}

/* The model file has the lists, whatever type its matrices have, and so has a file made from that one. */
static void goes_through_a_model_file(void **unused)
{
    (void)unused;
    static const tr_type types[] = {TR_TYPE_F32, TR_TYPE_I8, TR_TYPE_BF16};
    tr_package package, again;
    char path[2 * PATH_SIZE];
    make_with_lists(&package);
    strcpy(path, in_directory("with.gguf"));
    for (int i = 0; i < 3; i++) {
        write_package(&package, path, types[i]);
        open_package(path, &again);
        expect_lists(&again.shortlist);
        assert_false(again.shortlist.shared);
        tr_package_close(&package);
        package = again;
    }
    tr_package_close(&package);
}

static void refuses_a_damaged_model_file(void **unused)
{
    (void)unused;
    static const damage cases[] = {
        {"shortlist.words", -1, "x", 1, TR_ERROR_FORMAT, "shortlist.words: is missing"}, /* a tensor with an unknown name */
        {"shortlist.offsets", -1, "x", 1, TR_ERROR_FORMAT, "shortlist.offsets: is missing"},
        {"translate.shortlist.first", -1, "x", 1, TR_ERROR_FORMAT, "shortlist.first: is missing"},
        {"translate.shortlist.first", 4, "\377\377\377\377", 4, TR_ERROR_FORMAT, "shortlist.first"},
        {"shortlist.words", 12, "\0\0\0\0", 4, TR_ERROR_FORMAT, "must be I32"},
    };
    tr_package package;
    size_t size;
    make_with_lists(&package);
    write_package(&package, in_directory("with.gguf"), TR_TYPE_F32);
    tr_package_close(&package);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char *file = read_file(in_directory("with.gguf"), &size);
        apply_damage(file, size, &cases[i]);
        write_file("damaged.gguf", file, size);
        free(file);
        expect_failure(in_directory("damaged.gguf"), cases[i].status, cases[i].needle);
    }
    /* the ids */
    const lists l = good_lists();
    const uint32_t huge = UINT32_MAX;
    unsigned char *file = read_file(in_directory("with.gguf"), &size),
                  *at = memmem(file, size, l.words, 4 * sizeof *l.words);
    assert_non_null(at);
    memcpy(at + 4, &huge, 4);
    write_file("damaged.gguf", file, size);
    free(file);
    expect_failure(in_directory("damaged.gguf"), TR_ERROR_ARGUMENT, "not made for this model");
}

static void info_reports_the_shortlist(void **unused)
{
    (void)unused;
    tr_package package;
    tr_error error;
    tr_model_options options = tr_model_default_options();
    tr_model_info info;
    tr_model *model;
    char lex[2 * PATH_SIZE];
    make_with_lists(&package);
    strcpy(lex, in_directory("lex.bin"));
    package.source_spm = package.target_spm = (tr_bytes){NULL, 0}; /* they hold no real models */
    write_package(&package, in_directory("with.gguf"), TR_TYPE_F32);
    tr_shortlist_free(&package.shortlist);
    write_package(&package, in_directory("without.gguf"), TR_TYPE_F32);
    tr_package_close(&package);
    const struct {
        const char *file, *shortlist;
        bool has;
    } cases[] = {
        {"with.gguf", NULL, true},     {"with.gguf", "auto", true}, {"with.gguf", "off", false},
        {"without.gguf", NULL, false}, {"without.gguf", lex, true}, {"with.gguf", lex, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        options.shortlist = cases[i].shortlist;
        if (tr_open_model(in_directory(cases[i].file), &options, &model, &error))
            fail_msg("%s", error.message);
        tr_model_get_info(model, &info);
        assert_int_equal(info.has_shortlist, cases[i].has);
        tr_model_close(model);
    }
    options.shortlist = in_directory("config.json");
    assert_int_equal(tr_open_model(in_directory("with.gguf"), &options, &model, &error), TR_ERROR_FORMAT);
    assert_non_null(strstr(error.message, "config.json: is not a binary shortlist"));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(reads_marians_file),         TEST(refuses_damage),
        TEST(refuses_nonsense),           TEST(refuses_other_vocabularies),
        TEST(goes_through_a_model_file),  TEST(refuses_a_damaged_model_file),
        TEST(info_reports_the_shortlist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
