/* A GGUF model from memory: what tr_open_gguf does behind opening the file. */
#ifndef TR_FORMATS_GGUF_READ_H
#define TR_FORMATS_GGUF_READ_H

#include "formats/package.h"

/* Fills config, tensors, vocabularies and SentencePiece models, which point into data (64-byte aligned). On failure package
 * is to be closed by the caller. Messages do not name the file. */
tr_status tr_gguf_read(const void *data, size_t size, tr_package *package, tr_error *error);

#endif
