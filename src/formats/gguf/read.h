/* Reads a GGUF model: one of this project, or one of llama.cpp (formats/import.h), which its keys tell apart. */
#ifndef TR_FORMATS_GGUF_READ_H
#define TR_FORMATS_GGUF_READ_H

#include "formats/package.h"

/* True if a file begins like a GGUF file. */
bool tr_gguf_recognise(const void *data, size_t size);

/* Fills package; nothing needs closing on failure. Messages begin with the path. */
tr_status tr_gguf_open(const char *path, tr_load load, tr_package *package, tr_error *error) TR_CHECKED;

/* Fills config, tensors, vocabularies and SentencePiece models, which point into data (64-byte aligned). The caller closes
 * package, also on failure. Messages do not name the file. */
tr_status tr_gguf_read(const void *data, size_t size, tr_package *package, tr_error *error);

/* Fills format, name, languages and file_size of package, which the caller closes. Messages begin with the path. */
tr_status tr_gguf_peek(const char *path, tr_package *package, bool *has_tokenizer, tr_error *error) TR_CHECKED;

#endif
