/* Opening a model of any format, which is recognised by content. */
#ifndef TR_FORMATS_OPEN_H
#define TR_FORMATS_OPEN_H

#include "formats/package.h"

/* Opens the model at path, a file or a directory, and fills package, to be closed with tr_package_close. Nothing needs
 * closing on failure. Messages begin with the path and say what the path holds if it is no model. */
tr_status tr_package_open(const char *path, tr_load load, tr_package *package, tr_error *error) TR_CHECKED;

/* The same for the bytes of a GGUF file. TR_LOAD_COPY: they are copied. TR_LOAD_MAP: they are used where they are, if they
 * lie at a multiple of 64, and must outlive the package. Messages begin with "memory". */
tr_status tr_package_open_memory(tr_bytes bytes, tr_load load, tr_package *package, tr_error *error) TR_CHECKED;

/* What can be said of a model without reading its weights, vocabularies and tokenizers. */
typedef struct tr_peek {
    const char *format;
    char name[128];                                                  /* "" if unknown */
    char source_language[TR_LANGUAGE], target_language[TR_LANGUAGE]; /* "" if the settings do not say */
    tr_languages languages;                                          /* those that have tokens; ids are not filled */
    bool has_tokenizer;
    bool traditional;   /* it writes Chinese in traditional characters if it is asked to */
    uint64_t file_size; /* bytes of the weight files */
    bool not_a_model;   /* on failure: the path holds something else, not a damaged model */
} tr_peek;

/* Recognises the format as tr_package_open does. TR_OK does not promise that weights and vocabularies are complete. Free
 * *peek with tr_peek_free; on failure nothing needs freeing. Messages begin with the path. */
tr_status tr_package_peek(const char *path, tr_peek *peek, tr_error *error) TR_CHECKED;
void tr_peek_free(tr_peek *peek);

#endif
