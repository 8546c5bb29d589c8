/* Reads a GGUF model from memory: one of this project, or one of llama.cpp, which its keys tell apart. */
#ifndef TR_FORMATS_GGUF_READ_H
#define TR_FORMATS_GGUF_READ_H

#include "formats/gguf/container.h"
#include "formats/package.h"

/* Fills config, tensors, vocabularies and SentencePiece models, which point into data (64-byte aligned). The caller closes
 * package, also on failure. Messages do not name the file. */
tr_status tr_gguf_read(const void *data, size_t size, tr_package *package, tr_error *error);

/* Does the same for a file of llama.cpp's converter. tr_gguf_is_llama: its architecture is supported. */
bool tr_gguf_is_llama(const char *architecture);
tr_status tr_gguf_read_llama(const tr_gguf *gguf, tr_package *package, tr_error *error);

/* Fills format and languages only. */
tr_status tr_gguf_peek_llama(const tr_gguf *gguf, tr_package *package, tr_error *error);

#endif
