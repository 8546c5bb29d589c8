/* What a model is, quickly: its settings and languages, without weights, vocabularies and tokenizers. */
#ifndef TR_FORMATS_PEEK_H
#define TR_FORMATS_PEEK_H

#include "formats/directory.h"
#include "formats/package.h"

typedef struct tr_peek {
    const char *format;
    char name[128];                                                  /* "" if unknown */
    char source_language[TR_LANGUAGE], target_language[TR_LANGUAGE]; /* "" if the settings do not say */
    tr_languages languages;                                          /* that it has tokens for; their ids are not known */
    bool has_tokenizer;
    uint64_t file_size; /* of the weight files */
    bool foreign;       /* on failure: it is no model at all, nor was meant to be one */
} tr_peek;

/* Recognises the format as tr_package_open does. TR_OK does not promise that weights and vocabularies are whole. On failure
 * nothing needs freeing; messages begin with the path. */
tr_status tr_package_peek(const char *path, tr_peek *peek, tr_error *error) TR_CHECKED;
void tr_peek_free(tr_peek *peek);

/* One function per format, as in package.h. They fill format, name, languages and file_size of d->package and may leave
 * files open. d->path may be a file. */
tr_status tr_peek_gguf(const tr_directory *d, bool *has_tokenizer);
tr_status tr_peek_ctranslate2(const tr_directory *d, bool *has_tokenizer);
tr_status tr_peek_argos(const tr_directory *d, bool *has_tokenizer);
tr_status tr_peek_marian(const tr_directory *d, bool *has_tokenizer);
tr_status tr_peek_hf(const tr_directory *d, bool *has_tokenizer);

#endif
