/* The GGUF container: header, metadata and tensor descriptions of a file in memory, with all bounds checked. gguf.c and
 * llama.c know what the keys mean. Layout: ggml-org/ggml, docs/gguf.md. */
#ifndef TR_FORMATS_GGUF_CONTAINER_H
#define TR_FORMATS_GGUF_CONTAINER_H

#include "model/weights.h"

enum { TR_GGUF_VERSION = 3, TR_GGUF_ALIGNMENT = 64, TR_GGUF_DEFAULT_ALIGNMENT = 32 };

typedef enum tr_gguf_type {
    TR_GGUF_U8,
    TR_GGUF_I8,
    TR_GGUF_U16,
    TR_GGUF_I16,
    TR_GGUF_U32,
    TR_GGUF_I32,
    TR_GGUF_F32,
    TR_GGUF_BOOL,
    TR_GGUF_STRING,
    TR_GGUF_ARRAY,
    TR_GGUF_U64,
    TR_GGUF_I64,
    TR_GGUF_F64,
    TR_GGUF_TYPES,
} tr_gguf_type;

/* One metadata entry. */
typedef struct tr_gguf_entry {
    const char *key; /* not NUL-terminated */
    size_t key_size;
    tr_gguf_type type; /* of the value; of the elements if array */
    bool array;
    uint64_t count;            /* elements; 1 for a scalar */
    const unsigned char *data; /* the value; in an array the first element */
} tr_gguf_entry;

typedef struct tr_gguf {
    const unsigned char *data;
    size_t size;
    tr_gguf_entry *entries;
    size_t count, capacity;
    tr_strmap index;
    uint64_t tensors;  /* number of tensors, from the header */
    size_t tensors_at; /* offset of their descriptions */
} tr_gguf;

/* Reads header and metadata of data[0..size), which must outlive gguf. If the key translate.file_size is present, its value
 * must equal size. On failure nothing needs freeing. */
tr_status tr_gguf_parse(tr_gguf *gguf, const void *data, size_t size, tr_error *error) TR_CHECKED;
void tr_gguf_free(tr_gguf *gguf);

/* ------------------------------------------------------------------------------------------------------------- tensors */

/* An iterator over the tensors of a file. */
typedef struct tr_gguf_tensors {
    const tr_gguf *gguf;
    size_t alignment, data_at; /* data_at: offset of the tensors' data */
    size_t at;                 /* offset of the next description */
    uint64_t left;             /* tensors that are still to come */
} tr_gguf_tensors;

/* Sets the iterator to the first tensor, and checks all descriptions. */
tr_status tr_gguf_tensors_begin(const tr_gguf *gguf, tr_gguf_tensors *tensors, tr_error *error) TR_CHECKED;
/* Reads the next tensor. Its data lies inside the file and is aligned. False: there is none, or *status, which may also be
 * the caller's, is not TR_OK. */
bool tr_gguf_tensors_next(tr_gguf_tensors *tensors, tr_tensor *tensor, tr_status *status, tr_error *error);

uint32_t tr_gguf_tensor_code(tr_type type); /* ggml_type */

/* -------------------------------------------------------------------------------------------------------------- values */

const tr_gguf_entry *tr_gguf_find(const tr_gguf *gguf, const char *key); /* NULL if absent */

/* A scalar integer or bool of any width as 64 bits. False: the entry is something else, or the value does not fit. */
bool tr_gguf_integer(const tr_gguf_entry *entry, int64_t *value);
/* Returns the string at *at in an entry of strings and moves *at to the next one. Start with *at = entry->data;
 * tr_gguf_parse has checked the bounds of all entry->count strings. */
const char *tr_gguf_string(const unsigned char **at, size_t *size);
int64_t tr_gguf_element(const tr_gguf_entry *entry, uint64_t i);     /* of an array of integers of at most 32 bits */
float tr_gguf_float_element(const tr_gguf_entry *entry, uint64_t i); /* of an array of F32 */

/* Fails with TR_ERROR_FORMAT and the message "key KEY: WHY". */
tr_status tr_gguf_fail_key(tr_error *error, const char *key, const char *why);

typedef enum tr_gguf_kind {
    TR_GGUF_SIZE,  /* int >= 0, stored as u32 */
    TR_GGUF_TOKEN, /* int, -1 for none, stored as i32 */
    TR_GGUF_FLAG,  /* bool */
    TR_GGUF_REAL,  /* float, stored as f32 */
} tr_gguf_kind;

/* A field of tr_config, or of another struct, and the key that holds it. */
typedef struct tr_gguf_field {
    const char *key;
    tr_gguf_kind kind;
    bool required; /* if false and the key is absent, the field keeps its value */
    size_t offset; /* in the struct */
    bool later;    /* introduced after the first files: written only if it differs from the default */
} tr_gguf_field;

/* Stores the value of each field's key at its offset in *to. Messages begin with the key. */
tr_status tr_gguf_read_fields(const tr_gguf *gguf, const tr_gguf_field *fields, size_t count, void *to,
                              tr_error *error) TR_CHECKED;

/* Copies a string value with its NUL to out[size]; an absent key leaves out unchanged. */
tr_status tr_gguf_read_string(const tr_gguf *gguf, const char *key, char *out, size_t size, tr_error *error) TR_CHECKED;

/* Finds an array of ids below limit; *ids is NULL if it is absent. */
tr_status tr_gguf_find_ids(const tr_gguf *gguf, const char *key, int limit, const tr_gguf_entry **ids,
                           tr_error *error) TR_CHECKED;

#endif
