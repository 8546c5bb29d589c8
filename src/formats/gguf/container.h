/* The GGUF container: header, metadata and tensor descriptions of a file in memory, all bounds checked. What the keys mean
 * is gguf.c's. Layout: ggml-org/ggml, docs/gguf.md. */
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

/* One metadata entry. data points at the value; in an array at the first element, behind type and count. */
typedef struct tr_gguf_entry {
    const char *key; /* not NUL-terminated */
    size_t key_size;
    tr_gguf_type type; /* of the value; of the elements if array */
    bool array;
    uint64_t count; /* elements; 1 for a scalar */
    const unsigned char *data;
} tr_gguf_entry;

typedef struct tr_gguf {
    const unsigned char *data;
    size_t size;
    tr_gguf_entry *entries;
    size_t count, capacity;
    tr_strmap index;
    uint64_t tensors;  /* by the header */
    size_t tensors_at; /* offset of their descriptions */
} tr_gguf;

/* Reads header and metadata of data[0..size), which must stay. translate.file_size, if it is there, must equal size. */
tr_status tr_gguf_parse(tr_gguf *gguf, const void *data, size_t size, tr_error *error);
void tr_gguf_free(tr_gguf *gguf);

/* Calls each with every tensor; its status ends the walk unless TR_OK. Tensors lie inside the file and are aligned. */
typedef tr_status tr_gguf_each(void *argument, const tr_tensor *tensor, tr_error *error);
tr_status tr_gguf_tensors(const tr_gguf *gguf, tr_gguf_each *each, void *argument, tr_error *error);

const tr_gguf_entry *tr_gguf_find(const tr_gguf *gguf, const char *key); /* NULL if absent */

/* A scalar integer or bool of any width as 64 bits; false if the entry is none or does not fit. */
bool tr_gguf_integer(const tr_gguf_entry *entry, int64_t *value);
bool tr_gguf_float(const tr_gguf_entry *entry, double *value); /* F32, F64 */
/* The string at *at inside an entry of strings, and *at moved behind it. at starts at entry->data; entry->count of them
 * are there, their bounds checked by tr_gguf_parse. */
const char *tr_gguf_string(const unsigned char **at, size_t *size);
int64_t tr_gguf_element(const tr_gguf_entry *entry, uint64_t i);     /* of an array of integers of at most 32 bits */
float tr_gguf_float_element(const tr_gguf_entry *entry, uint64_t i); /* of an array of F32 */

uint32_t tr_gguf_tensor_code(tr_type type); /* ggml_type */

#endif
