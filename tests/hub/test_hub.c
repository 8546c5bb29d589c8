/* Names of repositories and files, and which files a model needs. */
#include "hub/choose.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void test_parse(void **state)
{
    (void)state;
    static const struct {
        const char *text, *owner, *name, *revision, *label;
    } good[] = {
        {"Helsinki-NLP/opus-mt-zh-en", "Helsinki-NLP", "opus-mt-zh-en", "main", "Helsinki-NLP/opus-mt-zh-en"},
        {"hf:a/b", "a", "b", "main", "a/b"},
        {"a/b@main", "a", "b", "main", "a/b"},
        {"a/b_1.0@refs/pr/2", "a", "b_1.0", "refs/pr/2", "a/b_1.0@refs/pr/2"},
    };
    static const char *const bad[] = {
        "",     "a",    "a/",         "/b",     "a/b/c",    "hf:hf:a/b", "a/..", "../b",
        "a /b", "a/b@", "a/b@x/../y", "a/b@/x", "a/b@x\ny", "a@b",       "-a/b", "https://huggingface.co/a/b"};
    tr_hub_name name;
    tr_error error;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(tr_hub_parse(good[i].text, &name, &error), TR_OK);
        assert_string_equal(name.owner, good[i].owner);
        assert_string_equal(name.name, good[i].name);
        assert_string_equal(name.revision, good[i].revision);
        assert_string_equal(name.label, good[i].label);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(tr_hub_parse(bad[i], &name, &error), TR_ERROR_ARGUMENT);
    char longest[400];
    for (size_t size = 1; size < sizeof longest; size++) { /* of the owner, the name and the revision */
        memset(longest, 'x', size);
        longest[size] = 0;
        assert_int_equal(tr_hub_parse(longest, &name, &error), TR_ERROR_ARGUMENT);
        memcpy(longest, "a/", size < 2 ? size : 2);
        assert_int_equal(tr_hub_parse(longest, &name, &error),
                         size > 2 && size < 2 + TR_HUB_NAME ? TR_OK : TR_ERROR_ARGUMENT);
        memcpy(longest, "a/b@", size < 4 ? size : 4);
        const bool fits = size == 3 || (size > 4 && size < 4 + TR_HUB_REVISION);
        assert_int_equal(tr_hub_parse(longest, &name, &error), fits ? TR_OK : TR_ERROR_ARGUMENT);
    }
}

static void test_safe(void **state)
{
    (void)state;
    static const char *const good[] = {"config.json", "a/b/c.spm", "..a", "a..", "...", "模型.spm", ".hidden", "a b", "a:b"};
    static const char *const bad[] = {"",
                                      ".",
                                      "..",
                                      "/a",
                                      "a/",
                                      "a//b",
                                      "a/../b",
                                      "a/..",
                                      "../a",
                                      "./a",
                                      "a\\b",
                                      "a\nb",
                                      "a\x7f",
                                      "\xff",
                                      "a\xc3",
                                      "a.part",
                                      "a.part.tag",
                                      ".translate-pull.json",
                                      "d/.translate-pull.lock"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(tr_hub_safe(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(tr_hub_safe(bad[i]));
}

static void test_encode(void **state)
{
    (void)state;
    tr_buffer out = {0}, back = {0};
    assert_true(tr_hub_encode(&out, "a/b c?#%é.x", false));
    assert_string_equal(out.data, "a%2Fb%20c%3F%23%25%C3%A9.x");
    assert_true(tr_hub_decode(&back, out.data));
    assert_string_equal(back.data, "a/b c?#%é.x");
    tr_buffer_clear(&out);
    tr_buffer_clear(&back);
    assert_true(tr_hub_encode(&out, "a/b", true) && tr_hub_decode(&back, "%%4%zz%4"));
    assert_string_equal(out.data, "a/b");
    assert_string_equal(back.data, "%%4%zz%4");
    tr_buffer_free(&out);
    tr_buffer_free(&back);
}

static void test_digest(void **state)
{
    (void)state;
    tr_hub_file file = {0};
    char hex[80];
    memset(hex, 'A', sizeof hex);
    hex[64] = 0;
    assert_true(tr_hub_set_digest(&file, hex));
    assert_int_equal(file.digest, TR_HUB_SHA256);
    assert_int_equal(file.hex[63], 'a');
    hex[40] = 0;
    assert_true(tr_hub_set_digest(&file, hex));
    assert_int_equal(file.digest, TR_HUB_GIT_SHA1);
    hex[39] = 'g';
    assert_false(tr_hub_set_digest(&file, hex));
    hex[39] = 0;
    assert_false(tr_hub_set_digest(&file, hex));
    assert_false(tr_hub_set_digest(&file, ""));
}

/* names: separated by spaces. */
static tr_hub_files list_of(const char *names)
{
    tr_hub_files files = {0};
    char name[64];
    while (*names) {
        const size_t size = strcspn(names, " ");
        snprintf(name, sizeof name, "%.*s", (int)size, names);
        assert_true(tr_hub_files_add(&files, &(tr_hub_file){.name = name, .size = TR_HUB_UNKNOWN}));
        names += size + strspn(names + size, " ");
    }
    return files;
}

static void check_choice(const char *listed, const char *pattern, tr_status wanted, const char *chosen)
{
    tr_hub_files all = list_of(listed), expected = list_of(chosen), got = {0};
    tr_error error = {.message = ""};
    assert_int_equal(tr_hub_choose(&all, pattern, &got, &error), wanted);
    if (wanted == TR_OK) {
        for (size_t i = 0; i < expected.count; i++)
            if (!tr_hub_files_find(&got, expected.items[i].name))
                fail_msg("%s was not chosen of %s", expected.items[i].name, listed);
        assert_int_equal(got.count, expected.count);
    }
    tr_hub_files_free(&all);
    tr_hub_files_free(&expected);
    tr_hub_files_free(&got);
}

static void test_choose(void **state)
{
    (void)state;
    static const struct {
        const char *listed, *pattern;
        tr_status status;
        const char *chosen;
    } cases[] = {
        /* Marian: OPUS-MT as it was published, and with safetensors */
        {".gitattributes README.md config.json generation_config.json pytorch_model.bin rust_model.ot tf_model.h5 "
         "source.spm "
         "target.spm tokenizer_config.json vocab.json",
         NULL, TR_OK,
         "config.json generation_config.json pytorch_model.bin source.spm target.spm tokenizer_config.json vocab.json"},
        {"config.json pytorch_model.bin model.safetensors vocab.json target_vocab.json", NULL, TR_OK,
         "config.json model.safetensors vocab.json target_vocab.json"},
        /* NLLB, T5 */
        {"config.json model.safetensors.index.json model-00001-of-00002.safetensors model-00002-of-00002.safetensors "
         "pytorch_model.bin sentencepiece.bpe.model tokenizer.json special_tokens_map.json flax_model.msgpack",
         NULL, TR_OK,
         "config.json model.safetensors.index.json model-00001-of-00002.safetensors model-00002-of-00002.safetensors "
         "sentencepiece.bpe.model tokenizer.json special_tokens_map.json"},
        {"config.json pytorch_model.bin.index.json pytorch_model-00001-of-00001.bin spiece.model", NULL, TR_OK,
         "config.json pytorch_model.bin.index.json pytorch_model-00001-of-00001.bin spiece.model"},
        {"config.json model.safetensors.index.json", NULL, TR_ERROR_FORMAT, ""},
        /* CTranslate2 */
        {"config.json model.bin shared_vocabulary.txt sentencepiece.model README.md", NULL, TR_OK,
         "config.json model.bin shared_vocabulary.txt sentencepiece.model"},
        {"config.json model.bin source_vocabulary.json target_vocabulary.json", NULL, TR_OK,
         "config.json model.bin source_vocabulary.json target_vocabulary.json"},
        /* GGUF */
        {"README.md a.gguf", NULL, TR_OK, "a.gguf"},
        {"config.json a.gguf", NULL, TR_OK, "a.gguf"},
        {"config.json model.safetensors a.gguf", NULL, TR_OK, "config.json model.safetensors"},
        {"a.gguf b.gguf", NULL, TR_ERROR_ARGUMENT, ""},
        {"sub/a.gguf", NULL, TR_ERROR_UNSUPPORTED, ""},
        {"a.gguf sub/b.gguf config.json", "*.gguf", TR_OK, "a.gguf sub/b.gguf"},
        {"a.gguf sub/b.gguf config.json", "sub/*", TR_OK, "sub/b.gguf"},
        {"a.gguf .hidden.gguf", "*.gguf", TR_OK, "a.gguf"},
        {"a.gguf", "*.none", TR_ERROR_ARGUMENT, ""},
        /* nothing to run */
        {"", NULL, TR_ERROR_UNSUPPORTED, ""},
        {"config.json vocab.json", NULL, TR_ERROR_UNSUPPORTED, ""},
        {"model.safetensors vocab.json", NULL, TR_ERROR_UNSUPPORTED, ""},
        {"config.json onnx/model.safetensors", NULL, TR_ERROR_UNSUPPORTED, ""},
        {"config.json config.json model.bin", NULL, TR_OK, "config.json model.bin"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_choice(cases[i].listed, cases[i].pattern, cases[i].status, cases[i].chosen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),  cmocka_unit_test(test_safe),   cmocka_unit_test(test_encode),
        cmocka_unit_test(test_digest), cmocka_unit_test(test_choose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
