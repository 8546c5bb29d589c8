/* The readers of all formats, called by import.c. Each format has a function that recognises it, one that opens a model and
 * one that peeks at it. Messages begin with the path. */
#ifndef TR_IMPORT_READERS_H
#define TR_IMPORT_READERS_H

#include "formats/gguf/container.h"
#include "import/directory.h"

/* Recognise a directory by content. Hugging Face's is any with a config.json, Marian's has none. */
tr_status tr_is_argos(const char *path, bool *is, tr_error *error) TR_CHECKED;
tr_status tr_is_ctranslate2(const char *path, bool *is, tr_error *error) TR_CHECKED;
tr_status tr_is_hf(const char *path, bool *is, tr_error *error) TR_CHECKED;
tr_status tr_is_marian(const char *path, bool *is, tr_error *error) TR_CHECKED;

/* Recognise a file in memory; data must be a zip archive for tr_is_argos_archive. */
tr_status tr_is_argos_archive(const void *data, size_t size, bool *is, tr_error *error) TR_CHECKED;
tr_status tr_is_marian_file(const void *data, size_t size, bool *is, tr_error *error) TR_CHECKED;

/* Fill package. Nothing needs closing on failure. */
tr_status tr_open_argos(const char *path, tr_load load, tr_package *package, tr_error *error) TR_CHECKED;
tr_status tr_open_ctranslate2(const char *path, tr_load load, tr_package *package, tr_error *error) TR_CHECKED;
tr_status tr_open_hf(const char *path, tr_load load, tr_package *package, tr_error *error) TR_CHECKED;
tr_status tr_open_marian(const char *path, tr_load load, tr_package *package, tr_error *error) TR_CHECKED; /* or its file */

/* Fill format, name, languages and file_size of d->package, which the caller closes. d->path may be a file. */
tr_status tr_peek_argos(const tr_directory *d, bool *has_tokenizer) TR_CHECKED;
tr_status tr_peek_ctranslate2(const tr_directory *d, bool *has_tokenizer) TR_CHECKED;
tr_status tr_peek_hf(const tr_directory *d, bool *has_tokenizer) TR_CHECKED;
tr_status tr_peek_marian(const tr_directory *d, bool *has_tokenizer) TR_CHECKED;

/* GGUF files of llama.cpp, as in formats/import.h. */
tr_status tr_llama_read(const tr_gguf *gguf, tr_package *package, tr_error *error) TR_CHECKED;
tr_status tr_llama_peek(const tr_gguf *gguf, tr_package *package, tr_error *error) TR_CHECKED;

#endif
