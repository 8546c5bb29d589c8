/* Python's pickles, as far as torch.save writes them for tensors. A pickle is a program for a machine with a stack and a
 * memo. This machine knows numbers, texts, tuples, lists, dicts and the few functions that build a tensor, whose arguments
 * it records. It executes nothing: any other function or class that a pickle names is an error. */
#ifndef TR_IMPORT_PICKLE_H
#define TR_IMPORT_PICKLE_H

#include "model/weights.h"
#include "util/buffer.h"

/* Limits; a network of 10,000 tensors needs about a quarter of each. */
enum {
    TR_PICKLE_SIZE = 16 << 20,    /* bytes */
    TR_PICKLE_STACK = 1 << 16,    /* values */
    TR_PICKLE_MEMO = 1 << 18,     /* values */
    TR_PICKLE_ITEMS = 1 << 19,    /* of all tuples */
    TR_PICKLE_PAIRS = 1 << 18,    /* of all lists and dicts */
    TR_PICKLE_CHAINS = 1 << 17,   /* lists and dicts */
    TR_PICKLE_STORAGES = 1 << 16, /* references to storages */
    TR_PICKLE_TENSORS = 1 << 16,
};

typedef enum tr_pickle_kind {
    TR_PICKLE_NONE,
    TR_PICKLE_BOOL,
    TR_PICKLE_INT,
    TR_PICKLE_LONG, /* a whole number of more than 8 bytes */
    TR_PICKLE_FLOAT,
    TR_PICKLE_TEXT,
    TR_PICKLE_TUPLE,
    TR_PICKLE_LIST,
    TR_PICKLE_DICT, /* OrderedDict, too */
    TR_PICKLE_STORAGE,
    TR_PICKLE_TENSOR, /* Parameter, too */
    TR_PICKLE_GLOBAL, /* a known function or class */
    TR_PICKLE_MARK,   /* inside the machine only */
} tr_pickle_kind;

/* Values refer to each other by index, so a value that a pickle uses many times is stored once. */
typedef struct tr_pickle_value {
    uint32_t kind; /* tr_pickle_kind */
    uint32_t size; /* bytes of a text or long, elements of a tuple */
    union {
        int64_t integer;  /* bool, int */
        const char *text; /* text; long, in little-endian order: in the pickle, without a NUL */
        size_t index;     /* tuple: index of its first item; else index in the table of its kind */
    } as;
} tr_pickle_value;

/* An element of a list (without key) or of a dict. */
typedef struct tr_pickle_pair {
    tr_pickle_value key, value;
    size_t next; /* index + 1; 0: the last */
} tr_pickle_pair;

/* Element types of torch. */
typedef struct tr_torch_type {
    const char *storage, *name; /* "FloatStorage", "F32" */
    uint32_t size;              /* bytes of an element */
    bool floating;              /* has a tr_type: */
    tr_type type;
} tr_torch_type;

/* The elements that tensors are views of. A storage shared by several tensors is listed several times with the same key. */
typedef struct tr_pickle_storage {
    const char *key; /* not NUL-terminated */
    uint32_t key_size;
    uint64_t count; /* elements */
    const tr_torch_type *type;
} tr_pickle_storage;

typedef struct tr_pickle_tensor {
    size_t storage;  /* index */
    uint64_t offset; /* elements */
    uint32_t rank;   /* may be larger than TR_MAX_RANK: shape and stride then hold the first sizes */
    int64_t shape[TR_MAX_RANK], stride[TR_MAX_RANK]; /* each >= 0; elements; not compared with the storage */
} tr_pickle_tensor;

typedef struct tr_pickle {
    tr_pickle_value root;
    size_t size;                                       /* bytes of the pickle */
    tr_buffer items, pairs, chains, storages, tensors; /* the tables */
} tr_pickle;

/* Reads the pickle at the beginning of data[0..size), which must outlive it: texts point into it. Nothing needs freeing on
 * failure. TR_ERROR_UNSUPPORTED: it names a function or class that weights do not need. */
tr_status tr_pickle_read(const void *data, size_t size, tr_pickle *pickle, tr_error *error);
void tr_pickle_free(tr_pickle *pickle); /* a zeroed one is allowed */

const tr_pickle_value *tr_pickle_items(const tr_pickle *pickle, const tr_pickle_value *tuple);
/* Returns the element after before (NULL: the first) of a list or dict; NULL after the last. */
const tr_pickle_pair *tr_pickle_next(const tr_pickle *pickle, const tr_pickle_value *of, const tr_pickle_pair *before);
/* The value of a dict's last element of this name; NULL: none, or dict is not a dict. */
const tr_pickle_value *tr_pickle_find(const tr_pickle *pickle, const tr_pickle_value *dict, const char *name);
const tr_pickle_storage *tr_pickle_storages(const tr_pickle *pickle, size_t *count);
const tr_pickle_tensor *tr_pickle_tensors(const tr_pickle *pickle, size_t *count);

bool tr_pickle_is_text(const tr_pickle_value *value, const char *text);

#endif
