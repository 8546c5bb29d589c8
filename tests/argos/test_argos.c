/* Argos Translate packages, zipped and installed: pieces, tokens and texts as Argos gets them from SentencePiece, or from
 * sacremoses and subword-nmt, and CTranslate2 (make_models.py), from the package and from model files converted from it; and
 * packages that are refused. */
#define _POSIX_C_SOURCE 200809L
#include "../engine_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/int8.h"
#include "formats/open.h"

enum { LEAST_LINES = 24, MOST_LINES = 64 };

typedef struct fixture {
    const char *path, *json;
    tr_type type;
    const char *name; /* the language pair that the package states */
    bool prefix;
    const char *source, *target; /* NULL: aa, de */
} fixture;

static const fixture fixtures[] = {
    {"deflated-int8.argosmodel", "deflated-int8.json", TR_TYPE_I8, "translate-aa_de-1_0", false, NULL, NULL},
    {"folder", "deflated-int8.json", TR_TYPE_I8, "folder", false, NULL, NULL},
    {"stored-float32.argosmodel", "stored-float32.json", TR_TYPE_F32, "translate-aa_de-1_0", false, NULL, NULL},
    {"prefix-float16.argosmodel", "prefix-float16.json", TR_TYPE_F16, "translate-aa_de-1_0", true, NULL, NULL},
    {"bpe-en-de.argosmodel", "bpe-en-de.json", TR_TYPE_I8, "translate-en_de-1_0", false, "en", "de"},
    {"bpe-ru-en.argosmodel", "bpe-ru-en.json", TR_TYPE_F16, "translate-ru_en-1_0", false, "ru", "en"},
    {"bpe-zh-fr.argosmodel", "bpe-zh-fr.json", TR_TYPE_I8, "translate-zh_fr-1_0", false, "zh", "fr"},
    {"bpe-fr-ru.argosmodel", "bpe-fr-ru.json", TR_TYPE_F32, "translate-fr_ru-1_0", false, "fr", "ru"},
};

enum { FIXTURES = sizeof fixtures / sizeof *fixtures };

static const char *in_fixtures(const char *name)
{
    return fixture_path(name, "");
}

static void check_pieces(const tr_model *model, const json_t *line, tr_tokens *source)
{
    const char *text = json_string_value(json_object_get(line, "text"));
    const json_t *pieces = json_object_get(line, "pieces");
    tr_error error;
    if (tr_source_tokens(model, text, strlen(text), source, &error))
        fail_msg("%s", error.message);
    if (source->count != json_array_size(pieces))
        fail_msg("%s: %zu pieces, not %zu", text, source->count, json_array_size(pieces));
    for (size_t k = 0; k < source->count; k++) {
        size_t size;
        const char *piece = tr_source_piece(model, source->ids[k], &size),
                   *wanted = json_string_value(json_array_get(pieces, k));
        if (size != strlen(wanted) || memcmp(piece, wanted, size) != 0)
            fail_msg("%s: piece %zu is %.*s, not %s", text, k, (int)size, piece, wanted);
    }
}

/* Texts for which the fixture has only their pieces. */
static void check_pieces_alone(const tr_model *model, const expectation *e)
{
    const json_t *texts = json_object_get(e->json, "pieces");
    for (size_t i = 0; i < json_array_size(texts); i++) {
        tr_tokens source;
        check_pieces(model, json_array_get(texts, i), &source);
        tr_tokens_free(&source);
    }
}

static void check_tokens(tr_context *context, const expectation *e, const tr_tokens *sources,
                         const tr_translate_options *options)
{
    tr_tokens *outputs, *wanted = lines_ids(e, "tokens");
    tr_error error;
    if (tr_translate_ids(context, sources, e->count, options, &outputs, &error))
        fail_msg("%s", error.message);
    for (size_t i = 0; i < e->count; i++)
        expect_ids("tokens", i, &outputs[i], &wanted[i]);
    tr_tokens_array_free(outputs, e->count);
    tr_tokens_array_free(wanted, e->count);
}

static void check_as_argos(const char *path, tr_load load, const char *json)
{
    expectation e = read_expectation(in_fixtures(json), LEAST_LINES, MOST_LINES);
    tr_translate_options options = tr_translate_default_options();
    tr_tokens sources[MOST_LINES];
    tr_model *model;
    tr_context *context = open_way(path, (way){.compute = TR_COMPUTE_F32, .load = load}, &model);
    options.max_length = e.max_length;
    options.split = TR_SPLIT_NEVER;
    options.loop_guard = false; /* random networks loop */
    options.protect = false;
    for (size_t i = 0; i < e.count; i++)
        check_pieces(model, json_array_get(e.lines, i), &sources[i]);
    check_pieces_alone(model, &e);
    check_tokens(context, &e, sources, &options);
    assert_int_equal(expect_texts(context, &options, &e, "text", "value"), e.count);
    for (size_t i = 0; i < e.count; i++)
        tr_tokens_free(&sources[i]);
    tr_context_destroy(context);
    tr_model_close(model);
    free_expectation(&e);
}

static void test_exact(void **state)
{
    const fixture *f = *state;
    check_as_argos(in_fixtures(f->path), TR_LOAD_MAP, f->json);
    check_as_argos(in_fixtures(f->path), TR_LOAD_COPY, f->json);
}

static void test_found(void **state)
{
    const fixture *f = *state;
    tr_package p;
    tr_error error;
    if (tr_package_open(in_fixtures(f->path), TR_LOAD_MAP, &p, &error))
        fail_msg("%s", error.message);
    assert_string_equal(p.format, "Argos Translate package");
    assert_string_equal(p.name, f->name);
    assert_string_equal(p.source_language, f->source ? f->source : "aa");
    assert_string_equal(p.target_language, f->target ? f->target : "de");
    assert_true((p.source_bpe.data != NULL) == (f->source != NULL) && (p.source_spm.data != NULL) == (f->source == NULL));
    assert_int_equal(tr_lossless_type(&p.weights), f->type);
    assert_true(p.directory == (f->type != TR_TYPE_I8) && !p.archive && p.config.no_source_eos);
    assert_int_equal(p.config.forced_first_id, f->prefix ? 90 : -1);
    tr_package_close(&p);
}

static void test_converted(void **state)
{
    const fixture *f = *state;
    char path[] = TEMPORARY_FILE;
    convert_to_temporary(in_fixtures(f->path), f->type, path);
    check_as_argos(path, TR_LOAD_MAP, f->json);
    unlink(path);
}

static const struct bad {
    const char *name;
    tr_status status;
    const char *needle;
} bad[] = {
    {"no-model", TR_ERROR_FORMAT, "/model/model.bin: is not in the archive"},
    {"no-vocabulary", TR_ERROR_FORMAT, "/model: a vocabulary is missing"},
    {"no-tokenizer", TR_ERROR_FORMAT, "sentencepiece.model is missing, and so is bpe.model"},
    {"bpe-empty", TR_ERROR_FORMAT, "bpe.model: BPE codes: hold no pairs of symbols"},
    {"bpe-none", TR_ERROR_FORMAT, "bpe.model: BPE codes: hold no pairs of symbols"},
    {"bpe-version", TR_ERROR_UNSUPPORTED, "bpe.model: BPE codes: line 1: #version: 0.3: is not a known version"},
    {"bpe-line", TR_ERROR_FORMAT, "bpe.model: BPE codes: line 3: must be two symbols with a space between them"},
    {"bpe-half", TR_ERROR_FORMAT, "bpe.model: BPE codes: line 2: must be two symbols with a space between them"},
    {"bpe-gap", TR_ERROR_FORMAT, "bpe.model: BPE codes: line 2: must be two symbols with a space between them"},
    {"bpe-binary", TR_ERROR_FORMAT, "bpe.model: BPE codes: are not UTF-8 text"},
    {"two-folders", TR_ERROR_FORMAT, "entry other/metadata.json: a second folder with a metadata.json"},
    {"leads-out", TR_ERROR_FORMAT, "entry ../evil: leads out of the package"},
    {"leads-out-inside", TR_ERROR_FORMAT, "entry translate-aa_de-1_0/../../evil: leads out of the package"},
    {"sbd", TR_ERROR_UNSUPPORTED, "metadata.json: type is not translate"},
    {"prefix", TR_ERROR_FORMAT, "metadata.json: target_prefix __xx__ is not in the vocabulary"},
    {"metadata", TR_ERROR_FORMAT, "metadata.json: from_code"},
    {"json", TR_ERROR_FORMAT, "metadata.json"},
    {"bomb", TR_ERROR_FORMAT, "more than 8 times the archive's size"},
    {"encrypted", TR_ERROR_UNSUPPORTED, "model/model.bin: is encrypted"},
};

static void expect_refused(const char *path, tr_status status, const char *needle)
{
    tr_package package;
    tr_error error = {0};
    const tr_status got = tr_package_open(path, TR_LOAD_MAP, &package, &error);
    if (got != status || !strstr(error.message, needle) || strncmp(error.message, path, strlen(path)) != 0 ||
        strchr(error.message, '\n'))
        fail_msg("status %d, must be %d with \"%s\": %s", (int)got, (int)status, needle, error.message);
    assert_true(package.file_count == 0 && package.files == NULL);
}

static void test_bad(void **state)
{
    (void)state;
    char name[80];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(name, sizeof name, "bad-%s.argosmodel", bad[i].name);
        expect_refused(in_fixtures(name), bad[i].status, bad[i].needle);
    }
}

static void write_file(const char *path, const unsigned char *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* A package that is truncated anywhere is refused. One with a changed byte is refused, or the byte is not used. */
static void test_damaged(void **state)
{
    (void)state;
#ifdef TR_EMULATED
    enum { STEP = 1999 };
#else
    enum { STEP = 67 };
#endif
    char path[] = TEMPORARY_FILE;
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    FILE *file = fopen(in_fixtures("deflated-int8.argosmodel"), "rb");
    static unsigned char data[1 << 16];
    const size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    assert_true(size > 20000 && size < sizeof data);
    int refused = 0, tried = 0;
    for (size_t at = 1; at < size; at += STEP, tried++) {
        tr_package package;
        tr_error error = {0};
        write_file(path, data, at);
        assert_int_not_equal(tr_package_open(path, TR_LOAD_MAP, &package, &error), TR_OK);
        assert_true(*error.message && !strchr(error.message, '\n'));
        data[at] ^= 0x55;
        write_file(path, data, size);
        if (tr_package_open(path, TR_LOAD_MAP, &package, &error) == TR_OK)
            tr_package_close(&package);
        else
            refused++;
        data[at] ^= 0x55;
    }
    unlink(path);
    assert_true(refused > tried * 9 / 10);
}

int main(void)
{
    static const fixture_test kinds[] = {{"exact", test_exact}, {"found", test_found}, {"converted", test_converted}};
    const struct CMUnitTest others[] = {cmocka_unit_test(test_bad), cmocka_unit_test(test_damaged)};
    return run_fixture_suite(&(fixture_suite){.name = "argos",
                                              .fixtures = fixtures,
                                              .count = FIXTURES,
                                              .size = sizeof *fixtures,
                                              .kinds = kinds,
                                              .kind_count = sizeof kinds / sizeof *kinds,
                                              .others = others,
                                              .other_count = sizeof others / sizeof *others});
}
