/* Folders of models on disk: what the index finds without opening the models equals what they say when they are open. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../engine_fixture.h"
#include "../scratch.h"
#include "formats/open.h"
#include "util/folder.h"
#include "util/utf8.h"

int run_folder_tests(void);

#define MARIAN TR_TESTS "/reference/fixtures/relu-1x1-f32/model"
#define LARGER TR_TESTS "/reference/fixtures/gelu-4x2-bf16-untied/model"

static char folder[] = "models-XXXXXX";

static void join(char path[TR_PATH], const char *name)
{
    assert_int_equal(tr_path_join(path, folder, name, NULL), TR_OK);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* A directory with links to all files of another one, but a tokenizer_config.json of its own (NULL: none). */
static void add(const char *name, const char *model, const char *settings)
{
    char path[TR_PATH], from[TR_PATH], to[TR_PATH];
    tr_folder_names names;
    join(path, name);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(tr_folder_list(model, &names, NULL), TR_OK);
    assert_true(names.count > 0);
    for (size_t i = 0; i < names.count; i++) {
        tr_path_join(from, model, names.names[i], NULL);
        tr_path_join(to, path, names.names[i], NULL);
        if (strcmp(names.names[i], "tokenizer_config.json") != 0)
            assert_int_equal(symlink(from, to), 0);
    }
    tr_folder_names_free(&names);
    tr_path_join(to, path, "tokenizer_config.json", NULL);
    if (settings)
        write_file(to, settings);
}

static void link_to(const char *name, const char *target)
{
    char path[TR_PATH];
    join(path, name);
    assert_int_equal(symlink(target, path), 0);
}

static void convert(const char *model, const char *name)
{
    char path[TR_PATH];
    join(path, name);
    convert_model(model, TR_TYPE_F32, path);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return remove_tree(folder);
}

static tr_model_index *open_models(size_t count, size_t warnings)
{
    tr_model_index *models;
    tr_error error;
    const char *warning;
    if (tr_model_index_open(folder, &models, &error))
        fail_msg("%s", error.message);
    size_t n = 0;
    while ((warning = tr_model_index_warning(models, n))) {
        assert_memory_equal(warning, folder, strlen(folder));
        n++;
    }
    assert_int_equal(tr_model_index_count(models), count);
    assert_int_equal(n, warnings);
    return models;
}

static void has_warning(const tr_model_index *models, const char *name, const char *why)
{
    char begin[TR_PATH];
    const char *warning;
    snprintf(begin, sizeof begin, "%s/%s: ", folder, name);
    for (size_t i = 0; (warning = tr_model_index_warning(models, i)); i++)
        if (strncmp(warning, begin, strlen(begin)) == 0) {
            if (!strstr(warning, why))
                fail_msg("%s: does not say '%s'", warning, why);
            return;
        }
    fail_msg("no warning on %s", name);
}

static void is_entry(const tr_model_index *models, size_t i, const char *name, const char *source, const char *target)
{
    tr_model_entry entry;
    assert_true(tr_model_index_get(models, i, &entry));
    assert_string_equal(entry.name, name);
    assert_string_equal(tr_model_index_source(models, i, 0), source);
    assert_string_equal(tr_model_index_target(models, i, 0), target);
    assert_true(entry.file_size > 0);
    assert_null(tr_model_index_source(models, i, entry.sources));
    assert_null(tr_model_index_target(models, i, entry.targets));
}

/* -------------------------------------------------------------------------------------------------------------- peeking */

static void check_peek(const char *path)
{
    tr_peek peek;
    tr_package package;
    tr_error error;
    if (tr_package_peek(path, &peek, &error) || tr_package_open(path, TR_LOAD_MAP, &package, &error))
        fail_msg("%s", error.message);
    assert_string_equal(peek.format, package.format);
    assert_string_equal(peek.name, package.name);
    assert_string_equal(peek.source_language, package.source_language);
    assert_string_equal(peek.target_language, package.target_language);
    assert_int_equal(peek.has_tokenizer, package.source_spm.data != NULL);
    if (!tr_ends_with(path, ".argosmodel")) /* peek gives the packed size */
        assert_int_equal(peek.file_size, package.file_size);
    assert_int_equal(peek.languages.count, package.languages.count);
    assert_int_equal(peek.languages.source, package.languages.source);
    assert_int_equal(peek.languages.target, package.languages.target);
    for (size_t i = 0; i < peek.languages.count; i++) {
        bool found = false; /* the order may differ */
        for (size_t k = 0; !found && k < package.languages.count; k++)
            found = strcmp(peek.languages.items[i].code, package.languages.items[k].code) == 0;
        if (!found)
            fail_msg("%s: %s", path, peek.languages.items[i].code);
    }
    tr_peek_free(&peek);
    tr_package_close(&package);
}

static void test_peek_is_open(void **state)
{
    static const char *const models[] = {
        "languages/fixtures/m2m100/model",
        "languages/fixtures/madlad/model",
        "languages/fixtures/marian-many/model",
        "languages/fixtures/mbart25/model",
        "languages/fixtures/mbart50/model",
        "languages/fixtures/nllb/model",
        "languages/fixtures/nllb-legacy/model",
        "languages/fixtures/plbart/model",
        "languages/fixtures/small100/model",
        "reference/fixtures/relu-1x1-f32/model",
        "reference/fixtures/bart-2x1-bf16/model",
        "reference/fixtures/mbart-2x2-f32/model",
        "reference/fixtures/t5-2x2-f32/model",
        "ctranslate2/fixtures/marian-int8",
        "ctranslate2/fixtures/version-1-float32",
        "ctranslate2/fixtures/opennmt-float32",
        "ctranslate2/fixtures/marian-untied-int8",
        "marian/fixtures/plain-npz",
        "marian/fixtures/spm",
        "marian/fixtures/spm-two",
        "marian/fixtures/ssru-bin",
        "marian/fixtures/untied",
        "llama/fixtures/madlad-q8_0.gguf",
        "llama/fixtures/t5-f32.gguf",
        "argos/fixtures/deflated-int8.argosmodel",
        "argos/fixtures/stored-float32.argosmodel",
        "argos/fixtures/folder",
    };
    char path[TR_PATH];
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        assert_int_equal(tr_path_join(path, TR_TESTS, models[i], NULL), TR_OK);
        check_peek(path);
        convert(path, "model.gguf");
        join(path, "model.gguf");
        check_peek(path);
        assert_int_equal(unlink(path), 0);
    }
}

/* -------------------------------------------------------------------------------------------------------------- folders */

static void test_names_and_settings(void **state)
{
    (void)state;
    add("a-settings-de-fr", MARIAN, "{\"source_lang\": \"zho\", \"target_lang\": \"eng\"}");
    add("b-opus-mt-fr-en", MARIAN, "{}");
    add("c-half-fr-de", MARIAN, "{\"source_lang\": \"ru\"}");
    add("d-several", MARIAN, "{\"source_lang\": \"cat+oci+spa\", \"target_lang\": \"en\"}");
    add("enzh", MARIAN, NULL);
    convert(MARIAN, "f.ja-en.gguf"); /* the fixture names its languages xx and yy */
    link_to("g", "a-settings-de-fr");
    link_to("h-opus-mt-en-ROMANCE", TR_TESTS "/languages/fixtures/marian-many/model");
    link_to("i", TR_TESTS "/languages/fixtures/madlad/model");
    tr_model_index *m = open_models(9, 0);
    is_entry(m, 0, "a-settings-de-fr", "zho", "eng");
    is_entry(m, 1, "b-opus-mt-fr-en", "fr", "en");
    is_entry(m, 2, "c-half-fr-de", "ru", "de");
    is_entry(m, 3, "d-several", "cat", "en");
    assert_string_equal(tr_model_index_source(m, 3, 2), "spa");
    is_entry(m, 4, "enzh", "en", "zh");
    is_entry(m, 5, "f.ja-en.gguf", "xx", "yy");
    is_entry(m, 6, "g", "zho", "eng");
    is_entry(m, 7, "h-opus-mt-en-ROMANCE", "en", "fra");
    is_entry(m, 8, "i", "en", "en");
    assert_null(tr_model_index_source(m, 9, 0));
    assert_null(tr_model_index_target(m, 9, 0));
    tr_model_index_close(m);
}

static void test_multilingual(void **state)
{
    tr_model_entry entry;
    tr_route route;
    (void)state;
    link_to("nllb", TR_TESTS "/languages/fixtures/nllb/model");
    convert(TR_TESTS "/languages/fixtures/nllb/model", "packed.gguf");
    tr_model_index *m = open_models(2, 0);
    for (size_t i = 0; i < 2; i++) {
        assert_true(tr_model_index_get(m, i, &entry));
        assert_int_equal(entry.sources, 202);
        assert_int_equal(entry.targets, 202);
    }
    assert_int_equal(tr_find_route(m, "fr", "zh-TW", &route, NULL), TR_OK);
    assert_int_equal(route.count, 1);
    assert_string_equal(route.steps[0].source, "fra_Latn");
    assert_string_equal(route.steps[0].target, "zho_Hant");
    assert_int_equal(tr_find_route(m, "zh", "zh-TW", &route, NULL), TR_OK);
    tr_model_index_close(m);
}

static void truncate_to(const char *name, off_t size)
{
    char path[TR_PATH];
    join(path, name);
    assert_int_equal(truncate(path, size), 0);
}

static void replace_file(const char *directory, const char *name, const char *text)
{
    char inside[TR_PATH], path[TR_PATH];
    join(inside, directory);
    tr_path_join(path, inside, name, NULL);
    unlink(path);
    if (text)
        write_file(path, text);
}

/* Replaces a link by the first half of its file. */
static void cut_file(const char *directory, const char *name, const char *from)
{
    char inside[TR_PATH], path[TR_PATH];
    tr_file file;
    join(inside, directory);
    tr_path_join(path, inside, name, NULL);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(tr_file_open(from, TR_LOAD_MAP, &file, NULL), TR_OK);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(file.data, 1, file.size / 2, f), file.size / 2);
    assert_int_equal(fclose(f), 0);
    tr_file_close(&file);
}

static void test_what_is_left_out(void **state)
{
    static const char *const broken[] = {"no-config-fr-en", "no-weights-fr-en", "pointer-fr-en", "no-pieces-fr-en",
                                         "other-type-fr-en"};
    char path[TR_PATH];
    (void)state;
    add("good-de-en", MARIAN, "{}");
    add("unknown", MARIAN, "{}");
    add("group-ROMANCE-en", MARIAN, "{\"source_lang\": \"ROMANCE\", \"target_lang\": \"en\"}");
    add("tokens-fr-en", TR_TESTS "/reference/fixtures/bart-2x1-bf16/model", NULL);
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        add(broken[i], MARIAN, "{}");
    replace_file(broken[0], "config.json", "{ \"d_model\": ");
    replace_file(broken[1], "model.safetensors", NULL);
    replace_file(broken[2], "model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n");
    replace_file(broken[3], "source.spm", NULL);
    replace_file(broken[4], "config.json", "{\"model_type\": \"bert\"}");
    add("settings-fr-en", MARIAN, "[]");
    add("ct2-fr-en", TR_TESTS "/ctranslate2/fixtures/marian-int8", NULL);
    replace_file("ct2-fr-en", "model.bin", NULL);
    add("ct2-tokens-fr-en", TR_TESTS "/ctranslate2/fixtures/marian-int8", NULL);
    add("ct2-cut-fr-en", TR_TESTS "/ctranslate2/fixtures/marian-int8", NULL);
    cut_file("ct2-cut-fr-en", "model.bin", TR_TESTS "/ctranslate2/fixtures/marian-int8/model.bin");
    convert(MARIAN, "cut.fr-en.gguf");
    truncate_to("cut.fr-en.gguf", 5000);
    join(path, "text.gguf");
    write_file(path, "not a model\n");
    link_to("dangling", "nowhere");
    link_to("loop-to-itself", "loop-to-itself");
    /* ignored without a warning */
    link_to("loop", ".");
    link_to(".hidden", MARIAN);
    join(path, "README.md");
    write_file(path, "GGU");
    join(path, "fifo");
    assert_int_equal(mkfifo(path, 0666), 0);
    join(path, "folder");
    assert_int_equal(mkdir(path, 0777), 0);

    tr_model_index *m = open_models(1, 16);
    is_entry(m, 0, "good-de-en", "de", "en");
    has_warning(m, "unknown", "say which language it translates from");
    has_warning(m, "group-ROMANCE-en", "say which language it translates from");
    has_warning(m, "tokens-fr-en", "no tokenizer");
    has_warning(m, broken[0], "config.json");
    has_warning(m, broken[1], "model.safetensors is missing");
    has_warning(m, broken[2], "Git LFS");
    has_warning(m, broken[3], "source.spm is missing");
    has_warning(m, broken[4], "bert");
    has_warning(m, "settings-fr-en", "tokenizer_config.json");
    has_warning(m, "ct2-fr-en", "model.bin, are missing");
    has_warning(m, "ct2-tokens-fr-en", "no tokenizer");
    has_warning(m, "ct2-cut-fr-en", "is truncated");
    has_warning(m, "cut.fr-en.gguf", "truncated");
    has_warning(m, "text.gguf", "has the name of a GGUF file");
    has_warning(m, "dangling", "No such file");
    has_warning(m, "loop-to-itself", "symbolic links");
    tr_model_index_close(m);
}

static void test_no_folder(void **state)
{
    tr_model_index *m = (tr_model_index *)folder;
    tr_error error;
    (void)state;
    assert_int_equal(tr_model_index_open("/nowhere/at/all", &m, &error), TR_ERROR_IO);
    assert_null(m);
    assert_int_equal(tr_model_index_open(MARIAN "/config.json", &m, &error), TR_ERROR_IO);
    assert_int_equal(tr_model_index_open(NULL, &m, &error), TR_ERROR_ARGUMENT);
    assert_int_equal(tr_model_index_open("", &m, &error), TR_ERROR_ARGUMENT);
    assert_string_equal(error.message, "tr_model_index_open: folder is empty");
    assert_int_equal(tr_model_index_open(folder, NULL, &error), TR_ERROR_ARGUMENT);
    tr_model_index_close(open_models(0, 0));
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A hundred models; the best time of several rounds, as the machine has other load. */
static void test_is_quick(void **state)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(TR_EMULATED)
    const double limit = 5;
#else
    const double limit = 0.2;
#endif
    enum { MODELS = 100, ROUNDS = 5 };
    char name[64];
    double best = 1e9;
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        snprintf(name, sizeof name, "opus-mt-%c%c%c-en", 'b' + i / 10, 'b' + i % 10, 'b');
        add(name, i % 2 ? MARIAN : LARGER, "{}");
    }
    for (int i = 0; i < ROUNDS; i++) {
        const double start = now();
        tr_model_index_close(open_models(MODELS, 0));
        best = now() - start < best ? now() - start : best;
    }
    if (best > limit)
        fail_msg("indexing %d models took %.3f s", MODELS, best);
}

int run_folder_tests(void)
{
#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_peek_is_open),     WITH_FOLDER(test_names_and_settings), WITH_FOLDER(test_multilingual),
        WITH_FOLDER(test_what_is_left_out), WITH_FOLDER(test_no_folder),          WITH_FOLDER(test_is_quick),
    };
    return cmocka_run_group_tests_name("folder", tests, NULL, NULL);
}
