#include "fixture.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(bool good, const char *what, const char *why)
{
    if (good)
        return;
    fprintf(stderr, "%s: %s\n", what, why);
    abort();
}

tr_file fixture_file(const char *path)
{
    tr_file file;
    tr_error error = {0};
    require(tr_file_open(path, TR_LOAD_COPY, &file, &error) == TR_OK, path, error.message);
    return file;
}

void fixture_vocabulary(const char *path, tr_vocabulary *vocabulary)
{
    json_error_t why;
    json_t *const root = json_load_file(path, 0, &why), *value;
    require(json_is_object(root), path, why.text);
    size_t bytes = 0, size = 0;
    const char *key;
    json_object_foreach(root, key, value)
    {
        bytes += strlen(key);
        if ((size_t)json_integer_value(value) >= size)
            size = (size_t)json_integer_value(value) + 1;
    }
    tr_piece *const pieces = calloc(size, sizeof *pieces);
    char *const text = malloc(bytes + 1), *at = text;
    require(pieces && text, path, "out of memory");
    json_object_foreach(root, key, value)
    {
        const size_t length = strlen(key);
        pieces[json_integer_value(value)] = (tr_piece){at, (uint32_t)length};
        memcpy(at, key, length);
        at += length;
    }
    json_decref(root);
    tr_error error = {0};
    require(tr_vocabulary_init(vocabulary, pieces, size, text, &error) == TR_OK, path, error.message);
}

void fixture_open(const char *spm_path, const char *vocabulary_path, fixture *f)
{
    tr_error error = {0};
    f->spm = fixture_file(spm_path);
    fixture_vocabulary(vocabulary_path, &f->vocabulary);
    const int32_t special[] = {tr_vocabulary_find(&f->vocabulary, "</s>", 4),
                               tr_vocabulary_find(&f->vocabulary, "<pad>", 5)};
    const tr_tokenizer_parts parts = {
        .source_spm = f->spm.data,
        .source_spm_size = f->spm.size,
        .source = &f->vocabulary,
        .target = &f->vocabulary,
        .unk_id = tr_vocabulary_find(&f->vocabulary, "<unk>", 5),
        .special = special,
        .special_count = sizeof special / sizeof *special,
    };
    require(tr_tokenizer_create(&parts, &f->tokenizer, &error) == TR_OK, spm_path, error.message);
}

void fixture_close(fixture *f)
{
    tr_tokenizer_destroy(f->tokenizer);
    tr_vocabulary_free(&f->vocabulary);
    tr_file_close(&f->spm);
}
