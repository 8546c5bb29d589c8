#include "reference.h"
#include "formats/open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void give_up(const char *name, const char *why)
{
    fprintf(stderr, "fixture %s: %s\n", name, why);
    exit(1);
}

static void *reserve(const char *name, size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        give_up(name, "out of memory");
    return memory;
}

static int number(const tr_reference *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value))
        give_up(r->name, key);
    return (int)json_integer_value(value);
}

static const json_t *list(const tr_reference *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_array(value))
        give_up(r->name, key);
    return value;
}

static int32_t *ids(const tr_reference *r, const json_t *object, const char *key, int *count)
{
    const json_t *array = list(r, object, key);
    *count = (int)json_array_size(array);
    int32_t *values = reserve(r->name, json_array_size(array), sizeof *values);
    for (int i = 0; i < *count; i++)
        values[i] = (int32_t)json_integer_value(json_array_get(array, (size_t)i));
    return values;
}

static void load_target(const tr_reference *r, const json_t *object, tr_reference_line *line)
{
    line->target = ids(r, object, "target", &line->target_length);
    line->finished = json_is_true(json_object_get(object, "finished"));
}

static void load_main(tr_reference *r)
{
    const json_t *sentences = list(r, r->json, "sentences");
    if (json_array_size(sentences) > TR_REFERENCE_LINES)
        give_up(r->name, "too many sentences");
    r->count = (int)json_array_size(sentences);
    r->cases[0].name = "main";
    r->cases[0].max_length = number(r, r->json, "max_length");
    for (int i = 0; i < r->count; i++) {
        const json_t *object = json_array_get(sentences, (size_t)i), *maxima = list(r, object, "maxima");
        tr_reference_line *line = &r->cases[0].lines[i];
        line->source = ids(r, object, "source", &line->source_length);
        load_target(r, object, line);
        line->maxima_count = (int)json_array_size(maxima);
        line->maxima = reserve(r->name, json_array_size(maxima), sizeof *line->maxima);
        for (int s = 0; s < line->maxima_count; s++)
            line->maxima[s] = (float)json_number_value(json_array_get(maxima, (size_t)s));
    }
}

static void load_case(const tr_reference *r, const json_t *object, tr_reference_case *limits)
{
    const json_t *sentences = list(r, object, "sentences");
    limits->name = json_string_value(json_object_get(object, "name"));
    limits->min_length = number(r, object, "min_length");
    limits->max_length = number(r, object, "max_length");
    if (!limits->name || json_array_size(sentences) != (size_t)r->count)
        give_up(r->name, "a case has another number of sentences");
    for (int i = 0; i < r->count; i++) {
        const json_t *sentence = json_array_get(sentences, (size_t)i);
        tr_reference_line *line = &limits->lines[i];
        line->source = r->cases[0].lines[i].source;
        line->source_length = r->cases[0].lines[i].source_length;
        line->unclear = json_is_null(sentence);
        if (!line->unclear)
            load_target(r, sentence, line);
    }
}

static void load_tensors(tr_reference *r, const char *path)
{
    const json_t *table = list(r, r->json, "tensors");
    tr_error error;
    if (tr_file_open(path, TR_LOAD_MAP, &r->floats, &error))
        give_up(r->name, error.message);
    r->tensor_count = json_array_size(table);
    r->tensors = reserve(r->name, r->tensor_count, sizeof *r->tensors);
    for (size_t i = 0; i < r->tensor_count; i++) {
        const json_t *row = json_array_get(table, i);
        tr_reference_tensor *t = &r->tensors[i];
        const size_t offset = (size_t)number(r, row, "offset");
        t->where = json_string_value(json_object_get(row, "where"));
        t->sentence = number(r, row, "sentence");
        t->step = number(r, row, "step");
        t->layer = number(r, row, "layer");
        t->rows = number(r, row, "rows");
        t->width = number(r, row, "width");
        if (!t->where || (offset + (size_t)t->rows * (size_t)t->width) * sizeof(float) > r->floats.size)
            give_up(r->name, "a tensor lies outside of expected.f32");
        t->data = (const float *)(const void *)r->floats.data + offset;
    }
}

static void load_expected(tr_reference *r, const char *folder)
{
    char path[1024];
    json_error_t problem;
    snprintf(path, sizeof path, "%s/%s/expected.json", folder, r->name);
    r->json = json_load_file(path, 0, &problem);
    if (!r->json)
        give_up(r->name, problem.text);
    const json_t *cases = list(r, r->json, "cases");
    r->case_count = 1 + json_array_size(cases);
    r->cases = reserve(r->name, r->case_count, sizeof *r->cases);
    load_main(r);
    for (size_t i = 1; i < r->case_count; i++)
        load_case(r, json_array_get(cases, i - 1), &r->cases[i]);
    snprintf(path, sizeof path, "%s/%s/expected.f32", folder, r->name);
    load_tensors(r, path);
}

tr_reference *tr_reference_load(const char *folder, const char *name)
{
    tr_reference *r = reserve(name, 1, sizeof *r);
    char path[1024];
    tr_error error;
    r->name = name;
    load_expected(r, folder);
    snprintf(path, sizeof path, "%s/%s/model", folder, name);
    if (tr_package_open(path, TR_LOAD_MAP, &r->package, &error))
        give_up(name, error.message);
    return r;
}

void tr_reference_free(tr_reference *r)
{
    for (size_t c = 0; c < r->case_count; c++)
        for (int i = 0; i < r->count; i++) {
            free(r->cases[c].lines[i].target);
            free(r->cases[c].lines[i].maxima);
            if (c == 0)
                free(r->cases[c].lines[i].source);
        }
    free(r->cases);
    free(r->tensors);
    json_decref(r->json);
    tr_file_close(&r->floats);
    tr_package_close(&r->package);
    free(r);
}

tr_reference_tensor *tr_reference_find(tr_reference *r, int sentence, int step, const char *where, int layer)
{
    for (size_t i = 0; i < r->tensor_count; i++) {
        tr_reference_tensor *t = &r->tensors[i];
        if (t->sentence == sentence && t->step == step && t->layer == layer && strcmp(t->where, where) == 0)
            return t;
    }
    return NULL;
}
