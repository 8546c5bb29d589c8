/* The import part: models of every other program, and BPE in place of SentencePiece. Only this part needs libraries for
 * JSON, YAML and zip archives. */
#ifndef TR_FORMATS_IMPORT_H
#define TR_FORMATS_IMPORT_H

#include "formats/gguf/container.h"
#include "formats/package.h"
#include "tokenizer/words.h"

typedef struct tr_import {
    /* Opens a model that is no GGUF file, as tr_package_open does. */
    tr_status (*open)(const char *path, tr_load load, tr_package *package, tr_error *error);
    /* Fills format, name, languages and file_size of package, which the caller closes. Sets *found to whether path holds a
     * model. Messages begin with the path. */
    tr_status (*peek)(const char *path, tr_package *package, bool *found, bool *has_tokenizer, tr_error *error);
    /* Fill package, or format and languages only, from a GGUF file of llama.cpp. Messages do not name the file. */
    tr_status (*read_llama)(const tr_gguf *gguf, tr_package *package, tr_error *error);
    tr_status (*peek_llama)(const tr_gguf *gguf, tr_package *package, tr_error *error);
    /* Makes a tokenizer of codes of subword-nmt. source, target: language codes, "" if unknown. Nothing needs to outlive the
     * call. */
    tr_status (*create_words)(tr_bytes codes, const char *source, const char *target, tr_words **words, tr_error *error);
} tr_import;

/* NULL: this build has none (meson -Dimport=disabled). */
const tr_import *tr_import_part(void);

#endif
