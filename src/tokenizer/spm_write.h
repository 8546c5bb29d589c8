/* Writes a SentencePiece model file from what it holds, for models that keep a tokenizer's parts only. The result is as
 * little to be trusted as the parts are: tr_spm_check is for both. */
#ifndef TR_TOKENIZER_SPM_WRITE_H
#define TR_TOKENIZER_SPM_WRITE_H

#include "util/buffer.h"

/* What a model has besides its pieces. */
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
