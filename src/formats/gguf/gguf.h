/* The project's model file: GGUF version 3 (ggml-org/ggml, docs/gguf.md), alignment 64. docs/formats.md has the tables of
 * its keys and tensors. tr_gguf_open in read.h reads it. */
#ifndef TR_FORMATS_GGUF_H
#define TR_FORMATS_GGUF_H

#include "formats/package.h"

/* Called while tensors are written; a return value other than 0 stops with TR_ERROR_CANCELLED. */
typedef int tr_gguf_progress(void *argument, uint64_t bytes_done, uint64_t bytes);

/* Writes package to path: matrices as type (F32, F16, BF16, or I8 in panels), other tensors as F32. The file is read again
 * and compared before it appears under its name, complete or not at all. TR_ERROR_NUMERIC: type cannot hold a weight. Needs
 * little memory (encode.h). */
tr_status tr_gguf_write(const tr_package *package, const char *path, tr_type type, tr_gguf_progress *progress,
                        void *argument, tr_error *error);

/* Compares size and checksum stored in a file with its content, and sets *checksum (may be NULL) to that of the content.
 * TR_ERROR_FORMAT: they differ, or the file has none. */
tr_status tr_gguf_verify(const char *path, uint64_t *checksum, tr_error *error);

#endif
