#define _GNU_SOURCE
#include "fixture.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/gguf/gguf.h"
#include "formats/open.h"
#include "util/buffer.h"

char directory[PATH_SIZE];

/* --------------------------------------------------------------------------------------------------------------- files */

int set_up(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%.200s/translate-formats-XXXXXX", base && *base ? base : "/tmp");
    return mkdtemp(directory) ? 0 : -1;
}

static void for_each_file(void (*each)(const char *name, void *argument), void *argument)
{
    DIR *stream = opendir(directory);
    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            each(entry->d_name, argument);
    if (stream)
        closedir(stream);
}

static void remove_each(const char *name, void *argument)
{
    (void)argument;
    remove_file(name);
}

int tear_down(void **state)
{
    (void)state;
    for_each_file(remove_each, NULL);
    return rmdir(directory);
}

const char *in_directory(const char *name)
{
    static char paths[4][2 * PATH_SIZE];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof *paths, "%s/%s", directory, name);
    return path;
}

void write_file(const char *name, const void *data, size_t size)
{
    FILE *file = fopen(in_directory(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

unsigned char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s: is missing", path);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *size, file), *size);
    fclose(file);
    return data;
}

void remove_file(const char *name)
{
    unlink(in_directory(name));
}

#ifdef TR_FIXTURES
unsigned char *read_fixture(const char *folder, const char *file, size_t *size)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s/%s", TR_FIXTURES, folder, file);
    return read_file(path, size);
}

void copy_fixture(const char *folder, const char *file, const char *name)
{
    size_t size;
    unsigned char *data = read_fixture(folder, file, &size);
    write_file(name, data, size);
    free(data);
}
#endif

typedef struct search {
    const char *prefix;
    bool found;
} search;

static void match_prefix(const char *name, void *argument)
{
    search *s = argument;
    s->found = s->found || strncmp(name, s->prefix, strlen(s->prefix)) == 0;
}

bool has_leftovers(const char *prefix)
{
    search s = {prefix, false};
    for_each_file(match_prefix, &s);
    return s.found;
}

/* ---------------------------------------------------------------------------------------------------------------- JSON */

static void dump(const char *name, json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);
    assert_non_null(text);
    write_text(name, text);
    free(text);
    json_decref(json);
}

/* Takes the reference to json. */
static json_t *patched(json_t *json, const char *patch)
{
    json_error_t problem;
    json_t *changes = json_loads(patch, 0, &problem);
    assert_non_null(json);
    assert_non_null(changes);
    const char *key;
    json_t *value;
    json_object_foreach(changes, key, value)
    {
        if (json_is_null(value))
            json_object_del(json, key);
        else
            json_object_set(json, key, value);
    }
    json_decref(changes);
    return json;
}

void patch_json(const char *name, const char *patch)
{
    dump(name, patched(json_load_file(in_directory(name), 0, NULL), patch));
}

/* --------------------------------------------------------------------------------------------------------- safetensors */

/* Spaces after the header let the data begin at this remainder of 8. */
static void store_header(const char *header, size_t remainder, const void *data, size_t size)
{
    const size_t spaces = (remainder - strlen(header)) & 7;
    tr_buffer file = {0};
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)(strlen(header) + spaces) >> 8 * i);
    assert_true(tr_buffer_append(&file, length, 8) && tr_buffer_string(&file, header) &&
                tr_buffer_append(&file, "       ", spaces) && tr_buffer_append(&file, data, size));
    write_file("model.safetensors", file.data, file.size);
    tr_buffer_free(&file);
}

void write_safetensors(const char *header, size_t data)
{
    void *zeros = calloc(1, data + 1);
    store_header(header, 0, zeros, data);
    free(zeros);
}

void patch_header_at(const char *patch, size_t remainder)
{
    size_t size;
    unsigned char *file = read_file(in_directory("model.safetensors"), &size);
    uint64_t length = 0;
    memcpy(&length, file, 4);
    json_t *header = patched(json_loadb((char *)file + 8, (size_t)length, 0, NULL), patch);
    char *text = json_dumps(header, JSON_COMPACT);
    store_header(text, remainder, file + 8 + length, size - 8 - (size_t)length);
    free(text);
    json_decref(header);
    free(file);
}

void patch_header(const char *patch)
{
    patch_header_at(patch, 0);
}

typedef struct weights {
    json_t *header;
    tr_buffer data;
    const char *type;
    uint32_t seed;
} weights;

/* cols 0: a vector. */
static void add(weights *w, const char *name, int rows, int cols)
{
    const tr_type type = w->type[0] == 'B' ? TR_TYPE_BF16 : w->type[1] == '1' ? TR_TYPE_F16 : TR_TYPE_F32;
    const size_t begin = w->data.size, count = (size_t)rows * (size_t)(cols ? cols : 1);
    for (size_t i = 0; i < count; i++) {
        w->seed = w->seed * 1664525 + 1013904223;
        const float x = (float)((int)(w->seed >> 24) - 128) / 64;
        unsigned char stored[4];
        tr_from_f32(type, &x, 1, stored);
        assert_true(tr_buffer_append(&w->data, stored, tr_type_size(type)));
    }
    json_t *shape = cols ? json_pack("[i,i]", rows, cols) : json_pack("[i]", rows);
    json_object_set_new(
        w->header, name,
        json_pack("{s:s,s:o,s:[i,i]}", "dtype", w->type, "shape", shape, "data_offsets", (int)begin, (int)w->data.size));
}

static void add_linear(weights *w, const char *prefix, const char *name, int rows, int cols)
{
    char full[256];
    snprintf(full, sizeof full, "%s%s.weight", prefix, name);
    add(w, full, rows, cols);
    snprintf(full, sizeof full, "%s%s.bias", prefix, name);
    add(w, full, rows, 0);
}

static void add_attention(weights *w, const char *prefix, const char *name)
{
    static const char *const parts[] = {"q_proj", "k_proj", "v_proj", "out_proj"};
    char full[64];
    for (int i = 0; i < 4; i++) {
        snprintf(full, sizeof full, "%s.%s", name, parts[i]);
        add_linear(w, prefix, full, D_MODEL, D_MODEL);
    }
    snprintf(full, sizeof full, "%s_layer_norm", name);
    add_linear(w, prefix, full, D_MODEL, 0);
}

static void add_layer(weights *w, bool decoder, int layer)
{
    char prefix[64];
    snprintf(prefix, sizeof prefix, "model.%s.layers.%d.", decoder ? "decoder" : "encoder", layer);
    add_attention(w, prefix, "self_attn");
    if (decoder)
        add_attention(w, prefix, "encoder_attn");
    add_linear(w, prefix, "fc1", FFN, D_MODEL);
    add_linear(w, prefix, "fc2", D_MODEL, FFN);
    add_linear(w, prefix, "final_layer_norm", D_MODEL, 0);
}

static void make_weights(fixture_ties ties, const char *type)
{
    weights w = {.header = json_object(), .type = type, .seed = 1};
    if (ties == SHARED) {
        add(&w, "model.shared.weight", PIECES, D_MODEL);
    } else {
        add(&w, "model.encoder.embed_tokens.weight", PIECES, D_MODEL);
        add(&w, "model.decoder.embed_tokens.weight", TARGET_PIECES, D_MODEL);
    }
    if (ties == UNTIED)
        add(&w, "lm_head.weight", TARGET_PIECES, D_MODEL);
    add(&w, "final_logits_bias", 1, ties == SHARED ? PIECES : TARGET_PIECES);
    add(&w, "model.encoder.embed_positions.weight", 4, D_MODEL); /* old files have it; it is not read */
    for (int i = 0; i < ENCODER_LAYERS; i++)
        add_layer(&w, false, i);
    for (int i = 0; i < DECODER_LAYERS; i++)
        add_layer(&w, true, i);
    json_object_set_new(w.header, "__metadata__", json_pack("{s:s}", "format", "pt"));
    char *header = json_dumps(w.header, JSON_COMPACT);
    store_header(header, 0, w.data.data, w.data.size);
    tr_buffer_free(&w.data);
    free(header);
    json_decref(w.header);
}

/* --------------------------------------------------------------------------------------------------------------- model */

static void make_vocabulary(const char *name, int pieces)
{
    json_t *json = json_object();
    json_object_set_new(json, "</s>", json_integer(0));
    json_object_set_new(json, "<unk>", json_integer(1));
    for (int i = 2; i < pieces - 1; i++) {
        char piece[16];
        snprintf(piece, sizeof piece, "\xe2\x96\x81p%c", 'a' + i);
        json_object_set_new(json, piece, json_integer(i));
    }
    json_object_set_new(json, "<pad>", json_integer(pieces - 1));
    dump(name, json);
}

void make_model(fixture_ties ties, const char *type)
{
    const bool shared = ties == SHARED;
    const int pad = (shared ? PIECES : TARGET_PIECES) - 1;
    dump("config.json",
         json_pack("{s:s,s:[s],s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:s,s:b,s:b,s:b,s:i,s:i,s:i,s:b}", "model_type",
                   "marian", "architectures", "MarianMTModel", "d_model", D_MODEL, "encoder_layers", ENCODER_LAYERS,
                   "decoder_layers", DECODER_LAYERS, "encoder_attention_heads", 2, "decoder_attention_heads", 4,
                   "encoder_ffn_dim", FFN, "decoder_ffn_dim", FFN, "vocab_size", PIECES, "decoder_vocab_size",
                   shared ? PIECES : TARGET_PIECES, "max_position_embeddings", 16, "activation_function", "gelu",
                   "scale_embedding", 1, "share_encoder_decoder_embeddings", shared, "tie_word_embeddings", ties != UNTIED,
                   "pad_token_id", pad, "eos_token_id", 0, "decoder_start_token_id", pad, "normalize_before", 1));
    dump("generation_config.json", json_pack("{s:[[i],[i]],s:i,s:[i],s:i}", "bad_words_ids", pad, 0, "forced_bos_token_id",
                                             3, "eos_token_id", 0, "forced_eos_token_id", 0));
    dump("tokenizer_config.json",
         json_pack("{s:s,s:s,s:b}", "source_lang", "zh", "target_lang", "en", "separate_vocabs", !shared));
    make_vocabulary("vocab.json", PIECES);
    if (!shared)
        make_vocabulary("target_vocab.json", TARGET_PIECES);
    write_text("source.spm", "source pieces");
    write_text("target.spm", shared ? "source pieces" : "target pieces");
    make_weights(ties, type);
}

void open_package(const char *path, tr_package *package)
{
    tr_error error;
    if (tr_package_open(path, TR_LOAD_COPY, package, &error) != TR_OK)
        fail_msg("%s", error.message);
}

void write_package(const tr_package *package, const char *path, tr_type type)
{
    tr_error error;
    if (tr_gguf_write(package, path, type, NULL, NULL, &error) != TR_OK)
        fail_msg("%s", error.message);
}

void expect_failure(const char *path, tr_status status, const char *needle)
{
    for (int load = TR_LOAD_MAP; load <= TR_LOAD_COPY; load++) {
        tr_error error = {0};
        tr_package package;
        const tr_status found = tr_package_open(path, (tr_load)load, &package, &error);
        if (found == TR_OK)
            tr_package_close(&package);
        if (found != status || found != error.status || !strstr(error.message, needle) || strchr(error.message, '\n') ||
            strncmp(error.message, path, strlen(path)) != 0)
            fail_msg("%s: wanted %s \"%s\", got %s \"%s\"", path, tr_status_name(status), needle, tr_status_name(found),
                     error.message);
        assert_int_equal(tr_package_open(path, (tr_load)load, &package, NULL), status);
    }
}
