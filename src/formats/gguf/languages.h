#ifndef TR_FORMATS_GGUF_LANGUAGES_H
#define TR_FORMATS_GGUF_LANGUAGES_H

#include "formats/gguf/container.h"
#include "formats/package.h"

/* Fills languages and special of a package that has its config. */
tr_status tr_gguf_read_languages(const tr_gguf *gguf, tr_package *package, tr_error *error);

#endif
