/* A GGUF model from memory: what tr_open_gguf does behind opening the file. A file of llama.cpp is told by its keys. */
#ifndef TR_FORMATS_GGUF_READ_H
#define TR_FORMATS_GGUF_READ_H

#include "formats/gguf/container.h"
#include "formats/package.h"

/* Fills config, tensors, vocabularies and SentencePiece models, which point into data (64-byte aligned). On failure package
 * is to be closed by the caller. Messages do not name the file. */
tr_status tr_gguf_read(const void *data, size_t size, tr_package *package, tr_error *error);

/* The same of a file made by llama.cpp's converter, whose architecture tr_gguf_is_llama took for one that is read. */
bool tr_gguf_is_llama(const char *architecture);
tr_status tr_gguf_read_llama(const tr_gguf *gguf, tr_package *package, tr_error *error);

/* Its format and languages alone. */
tr_status tr_gguf_peek_llama(const tr_gguf *gguf, tr_package *package, tr_error *error);

#endif
