/* Builds a SentencePiece model file from its parts, for models that only store these. The result is as untrusted as the
 * parts: check it with tr_spm_check. */
#ifndef TR_TOKENIZER_SPM_WRITE_H
#define TR_TOKENIZER_SPM_WRITE_H

#include "util/buffer.h"

/* The settings of a model. */
typedef struct tr_spm_settings {
    int model_type; /* TR_SPM_UNIGRAM */
    bool byte_fallback, add_dummy_prefix, remove_extra_whitespaces;
    const void *charsmap; /* normalisation rules; NULL: none */
    size_t charsmap_size;
} tr_spm_settings;

/* Appends the next piece; type is one of TR_SPM_TYPE_*. False: out of memory. */
bool tr_spm_write_piece(tr_buffer *file, const char *text, size_t size, float score, int type) TR_CHECKED;
bool tr_spm_write_settings(tr_buffer *file, const tr_spm_settings *settings) TR_CHECKED;

#endif
