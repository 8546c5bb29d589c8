/* model.bin, the container: little-endian, nothing aligned. A string is a u16 length, its bytes and the NUL that it counts.
 *
 *     u32 version, from 2 on: string spec, u32 revision
 *     u32 count, count times {string name, u8 rank, u32 size[rank], u8 type, u32 bytes, data}
 *     from 3 on: u32 count, count times {string alias, string name}
 *
 * Before version 4, the u8 is the size of an element, and the u32 the number of elements. */
#include "import/ctranslate2/ctranslate2.h"

#include <stdlib.h>
#include <string.h>

#include "util/numbers.h"

enum { NEWEST_VERSION = 6, NEWEST_REVISION = 7, TYPED_VERSION = 4, ALIASES_VERSION = 3, SPEC_VERSION = 2 };

static const unsigned type_sizes[TR_CT2_TYPES] = {4, 1, 2, 4, 2, 2};

/* After the first failure all reads return 0. */
typedef struct reader {
    const unsigned char *data;
    uint64_t size, at;
    tr_ct2_model *model;
    tr_status status;
    tr_error *error;
} reader;

/* ------------------------------------------------------------------------------------------------------------- values */

static const unsigned char *take_bytes(reader *r, uint64_t bytes, const char *what)
{
    if (r->status != TR_OK)
        return NULL;
    if (bytes > r->size - r->at) {
        r->status =
            tr_fail(r->error, TR_ERROR_FORMAT, "is truncated: %.100s needs %llu bytes at byte %llu, the file has %llu", what,
                    (unsigned long long)bytes, (unsigned long long)r->at, (unsigned long long)r->size);
        return NULL;
    }
    const unsigned char *data = r->data + r->at;
    r->at += bytes;
    return data;
}

static uint32_t take_number(reader *r, unsigned bytes, const char *what)
{
    const unsigned char *data = take_bytes(r, bytes, what);
    uint32_t value = 0;
    for (unsigned i = 0; data && i < bytes; i++)
        value |= (uint32_t)data[i] << 8 * i;
    return value;
}

/* Returns "" on failure. */
static const char *take_string(reader *r, const char *what)
{
    const uint64_t begin = r->at;
    const uint32_t size = take_number(r, 2, what);
    const unsigned char *text = take_bytes(r, size, what);
    if (r->status == TR_OK && (size == 0 || memchr(text, 0, size) != text + size - 1))
        r->status = tr_fail(r->error, TR_ERROR_FORMAT, "%s at byte %llu is not a string that ends in NUL", what,
                            (unsigned long long)begin);
    return r->status == TR_OK ? (const char *)text : "";
}

/* --------------------------------------------------------------------------------------------------------------- names */

/* Grows an array so that one more element fits. */
static bool reserve_one(void **array, uint32_t count, uint32_t *capacity, size_t element)
{
    if (count < *capacity)
        return true;
    if (*capacity > UINT32_MAX / 2)
        return false;
    const uint32_t larger = *capacity ? 2 * *capacity : 64;
    void *moved = realloc(*array, larger * element);
    if (!moved)
        return false;
    *array = moved;
    *capacity = larger;
    return true;
}

static void fail_memory(reader *r)
{
    r->status = tr_fail(r->error, TR_ERROR_MEMORY, "out of memory");
}

/* Keeps a name that is not in the file, to be freed with the model. */
static const char *keep_text(reader *r, char *text)
{
    tr_ct2_model *m = r->model;
    void *texts = m->texts;
    if (!text || !reserve_one(&texts, m->text_count, &m->text_capacity, sizeof *m->texts)) {
        m->texts = texts;
        free(text);
        fail_memory(r);
        return "";
    }
    m->texts = texts;
    return m->texts[m->text_count++] = text;
}

/* Gives a variable a name. */
static void add_name(reader *r, const char *text, uint32_t variable, bool implied)
{
    tr_ct2_model *m = r->model;
    void *names = m->names;
    if (r->status != TR_OK)
        return;
    const bool room = reserve_one(&names, m->name_count, &m->name_capacity, sizeof *m->names);
    m->names = names;
    const int32_t id = (int32_t)m->name_count, stored = room ? tr_strmap_add(&m->index, text, strlen(text), id) : -1;
    if (stored < 0)
        fail_memory(r);
    else if (stored != id)
        r->status = tr_fail(r->error, TR_ERROR_FORMAT, "variable %.100s: is there twice", text);
    else
        m->names[m->name_count++] = (tr_ct2_name){text, variable, false, implied};
}

static tr_ct2_name *find_name(const tr_ct2_model *m, const char *text)
{
    const int32_t i = tr_strmap_find(&m->index, text, strlen(text));
    return i < 0 ? NULL : &m->names[i];
}

/* The first occurrence of from, if there is one, becomes to; name has room. */
static void replace(char *name, const char *from, const char *to)
{
    char *at = strstr(name, from);
    if (!at)
        return;
    const size_t old = strlen(from), new = strlen(to);
    memmove(at + new, at + old, strlen(at + old) + 1);
    memcpy(at, to, new);
}

/* Revision 1 has the names of OpenNMT-tf's variables ("transformer/encoder/layer_0/multi_head/conv1d/kernel:0"). */
static const char *rename_revision_1(reader *r, const char *text)
{
    static const struct {
        const char *from, *to;
    } renamed[] = {
        {"transformer/", ""},
        {":0", ""},
        {"w_embs", "embeddings/weight"},
        {"kernel", "weight"},
        {"LayerNorm", "layer_norm"},
        {"dense", "projection"},
        {"conv1d_", "linear_"},
        {"conv1d", "linear_0"},
    };
    enum { GROWTH = 64 }; /* all that the replacements add, and a NUL */
    if (r->status != TR_OK)
        return text;
    char *name = malloc(strlen(text) + GROWTH);
    if (!name)
        return keep_text(r, NULL);
    strcpy(name, text);
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        replace(name, renamed[i].from, renamed[i].to);
    if (strstr(name, "encoder")) {
        replace(name, "multi_head", "self_attention");
    } else {
        replace(name, "masked_multi_head", "self_attention");
        replace(name, "multi_head", "attention");
    }
    return keep_text(r, name);
}

/* ----------------------------------------------------------------------------------------------------------- variables */

static tr_ct2_type type_of(reader *r, const char *name, uint32_t code)
{
    static const tr_ct2_type by_size[] = {TR_CT2_TYPES, TR_CT2_I8, TR_CT2_I16, TR_CT2_TYPES, TR_CT2_F32};
    const bool typed = r->model->version >= TYPED_VERSION;
    const tr_ct2_type type = typed ? (code < TR_CT2_TYPES ? (tr_ct2_type)code : TR_CT2_TYPES)
                                   : (code < sizeof by_size / sizeof *by_size ? by_size[code] : TR_CT2_TYPES);
    if (type < TR_CT2_TYPES)
        return type;
    if (r->status == TR_OK)
        r->status = tr_fail(r->error, TR_ERROR_FORMAT,
                            typed ? "variable %.100s: type %u is unknown"
                                  : "variable %.100s: elements of %u bytes are of no known type",
                            name, (unsigned)code);
    return TR_CT2_F32;
}

static void read_shape(reader *r, tr_ct2_variable *v)
{
    const uint32_t rank = take_number(r, 1, v->name);
    if (r->status == TR_OK && rank > TR_MAX_RANK)
        r->status = tr_fail(r->error, TR_ERROR_FORMAT, "variable %.100s: has %u dimensions, must be at most %d", v->name,
                            (unsigned)rank, TR_MAX_RANK);
    v->rank = r->status == TR_OK ? (int)rank : 0;
    for (int i = 0; i < v->rank; i++)
        v->shape[i] = take_number(r, 4, v->name);
}

static void read_payload(reader *r, tr_ct2_variable *v)
{
    const uint32_t code = take_number(r, 1, v->name);
    v->type = type_of(r, v->name, code);
    const unsigned element = type_sizes[v->type];
    v->bytes = (uint64_t)take_number(r, 4, v->name) * (r->model->version < TYPED_VERSION ? element : 1);
    v->data = take_bytes(r, v->bytes, v->name);
    uint64_t wanted = element;
    for (int i = 0; i < v->rank; i++) { /* UINT64_MAX stands for too many: no file has as many bytes */
        const uint64_t size = (uint64_t)v->shape[i];
        wanted = size && wanted > UINT64_MAX / size ? UINT64_MAX : wanted * size;
    }
    if (r->status == TR_OK && wanted != v->bytes)
        r->status = tr_fail(r->error, TR_ERROR_FORMAT, "variable %.100s: has %llu bytes, which do not fit its shape",
                            v->name, (unsigned long long)v->bytes);
}

static void read_variable(reader *r)
{
    tr_ct2_model *m = r->model;
    void *variables = m->variables;
    tr_ct2_variable v = {.name = take_string(r, "the name of a variable"), .parts = -1};
    if (m->revision == 1)
        v.name = rename_revision_1(r, v.name);
    read_shape(r, &v);
    read_payload(r, &v);
    if (r->status != TR_OK)
        return;
    if (!reserve_one(&variables, m->count, &m->capacity, sizeof *m->variables))
        fail_memory(r);
    m->variables = variables;
    if (r->status != TR_OK)
        return;
    m->variables[m->count] = v;
    add_name(r, v.name, m->count++, false);
}

/* ------------------------------------------------------------------------------------------------------------- aliases */

static char *join(const char *text, const char *suffix)
{
    const size_t size = strlen(text), more = strlen(suffix) + 1;
    char *joined = malloc(size + more);
    if (joined) {
        memcpy(joined, text, size);
        memcpy(joined + size, suffix, more);
    }
    return joined;
}

/* ALIAS_scale stands for NAME_scale, where there is one. */
static void add_scale_alias(reader *r, const char *alias, const char *name)
{
    char *scale = join(name, "_scale");
    if (!scale) {
        fail_memory(r);
        return;
    }
    const tr_ct2_name *stored = find_name(r->model, scale);
    free(scale);
    if (!stored)
        return;
    const uint32_t variable = stored->variable;
    const char *text = keep_text(r, join(alias, "_scale"));
    if (r->status == TR_OK && !find_name(r->model, text))
        add_name(r, text, variable, true);
}

/* The target of an alias must be a name that was defined before it, so aliases cannot form a cycle. */
static void read_alias(reader *r)
{
    const char *alias = take_string(r, "an alias"), *name = take_string(r, "what an alias stands for");
    const tr_ct2_name *target = r->status == TR_OK ? find_name(r->model, name) : NULL;
    if (r->status != TR_OK)
        return;
    if (!target) {
        r->status = tr_fail(r->error, TR_ERROR_FORMAT, "alias %.100s: stands for %.100s, which is not defined before it",
                            alias, name);
        return;
    }
    add_name(r, alias, target->variable, false);
    r->model->aliases++;
    if (r->status == TR_OK)
        add_scale_alias(r, alias, name);
}

/* ---------------------------------------------------------------------------------------------------------------- file */

static void read_head(reader *r)
{
    tr_ct2_model *m = r->model;
    m->version = take_number(r, 4, "the version");
    m->spec = "";
    m->revision = 1;
    if (r->status == TR_OK && (m->version < 1 || m->version > NEWEST_VERSION))
        r->status = tr_fail(r->error, TR_ERROR_UNSUPPORTED, "version %u of the file is not known, only 1 to %d",
                            (unsigned)m->version, NEWEST_VERSION);
    if (m->version >= SPEC_VERSION) {
        m->spec = take_string(r, "the kind of model");
        m->revision = take_number(r, 4, "the revision");
    }
    if (r->status == TR_OK && (m->revision < 1 || m->revision > NEWEST_REVISION) && strcmp(m->spec, "TransformerSpec") == 0)
        r->status = tr_fail(r->error, TR_ERROR_UNSUPPORTED, "revision %u of %.60s is not known, only 1 to %d",
                            (unsigned)m->revision, m->spec, NEWEST_REVISION);
}

/* Of variables, of aliases: no more than a network of TR_MAX_LAYERS layers has by far, so that a file of nothing but names
 * costs little. */
static uint32_t read_count(reader *r, const char *what)
{
    enum { MOST = 1 << 17 };
    const uint32_t count = take_number(r, 4, what);
    if (count > MOST)
        r->status =
            tr_fail(r->error, TR_ERROR_FORMAT, "claims %u %s, more than the %d that are read", (unsigned)count, what, MOST);
    return count;
}

tr_status tr_ct2_read(tr_bytes file, tr_ct2_model *model, tr_error *error)
{
    reader r = {.data = file.data, .size = file.size, .model = model, .error = error};
    *model = (tr_ct2_model){0};
    if (!tr_strmap_init(&model->index, 512))
        fail_memory(&r);
    read_head(&r);
    const uint32_t count = read_count(&r, "variables");
    for (uint32_t i = 0; r.status == TR_OK && i < count; i++)
        read_variable(&r);
    const uint32_t aliases = model->version >= ALIASES_VERSION ? read_count(&r, "aliases") : 0;
    for (uint32_t i = 0; r.status == TR_OK && i < aliases; i++)
        read_alias(&r);
    if (r.status != TR_OK)
        tr_ct2_free(model);
    return r.status;
}

void tr_ct2_free(tr_ct2_model *model)
{
    for (uint32_t i = 0; i < model->text_count; i++)
        free(model->texts[i]);
    free(model->texts);
    free(model->names);
    free(model->variables);
    tr_strmap_free(&model->index);
    *model = (tr_ct2_model){0};
}

/* ------------------------------------------------------------------------------------------------------------- look-up */

tr_ct2_variable *tr_ct2_find(tr_ct2_model *model, const char *name)
{
    tr_ct2_name *found = find_name(model, name);
    if (!found)
        return NULL;
    found->used = true;
    return &model->variables[found->variable];
}

bool tr_ct2_has(const tr_ct2_model *model, const char *name)
{
    return find_name(model, name) != NULL;
}

bool tr_ct2_is_floating(tr_ct2_type type)
{
    return type == TR_CT2_F32 || type == TR_CT2_F16 || type == TR_CT2_BF16;
}

bool tr_ct2_scalar(const tr_ct2_variable *v, double *value)
{
    uint32_t bits = 0;
    float real;
    if (v->rank != 0)
        return false;
    for (unsigned i = 0; i < type_sizes[v->type]; i++)
        bits |= (uint32_t)v->data[i] << 8 * i;
    memcpy(&real, &bits, sizeof real);
    switch (v->type) {
    case TR_CT2_F32: *value = (double)real; break;
    case TR_CT2_F16: *value = (double)tr_f16_to_f32((uint16_t)bits); break;
    case TR_CT2_BF16: *value = (double)tr_bf16_to_f32((uint16_t)bits); break;
    case TR_CT2_I8: *value = (int8_t)bits; break;
    case TR_CT2_I16: *value = (int16_t)bits; break;
    case TR_CT2_I32: *value = (int32_t)bits; break;
    case TR_CT2_TYPES: return false;
    }
    return true;
}
