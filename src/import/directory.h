/* Helpers of the formats that are directories: finding and reading files, with messages that begin with the path. */
#ifndef TR_IMPORT_DIRECTORY_H
#define TR_IMPORT_DIRECTORY_H

#include "import/json.h"
#include "formats/package.h"
#include "util/folder.h"

/* A directory that is being read into a package. */
typedef struct tr_directory {
    const char *path;
    tr_load load;
    tr_package *package;
    tr_error *error; /* not NULL */
} tr_directory;

/* Sets *has to whether PATH/NAME exists. Fails if the system cannot tell. */
tr_status tr_directory_has(const tr_directory *d, const char *name, bool *has) TR_CHECKED;
/* Opens PATH/NAME (or PATH if name is NULL) and appends it to package->files. */
tr_status tr_directory_file(const tr_directory *d, const char *name, tr_bytes *bytes) TR_CHECKED;
/* Sets *found to the first of count names that exists; NULL: none. */
tr_status tr_directory_find(const tr_directory *d, const char *const *names, size_t count, const char **found) TR_CHECKED;
/* Opens a file outside the package. *file is empty if it does not exist or is no regular file. */
tr_status tr_directory_open(const tr_directory *d, const char *name, tr_file *file) TR_CHECKED;
tr_status tr_directory_fail(const tr_directory *d, tr_status status, const char *what);
/* Puts the path before the message of a failure; does nothing for TR_OK. */
tr_status tr_directory_in(const tr_directory *d, tr_status status);

/* Parses a file and closes it. *root is a new reference; NULL on failure, and if an optional file does not exist. */
tr_status tr_directory_json(const tr_directory *d, const char *name, json_t **root) TR_CHECKED;
tr_status tr_directory_optional_json(const tr_directory *d, const char *name, json_t **root) TR_CHECKED;

/* Opens both SentencePiece models. If there is no target model (target may be NULL) or it equals the source's, the source's
 * is used for both: decoding needs none. */
tr_status tr_directory_pieces(const tr_directory *d, const char *source, const char *target) TR_CHECKED;

/* Copies a language code, unless it is too long to be one. */
void tr_directory_language(const char *language, char out[TR_LANGUAGE]);
/* Reads source_lang and target_lang, or src_lang and tgt_lang, of tokenizer_config.json. */
void tr_directory_languages(tr_json_fields *fields, tr_package *package);

/* Adds the languages whose tokens, such as ">>fra<<" and "<2fr>", are spelled between open and close in one of the files: a
 * SentencePiece model, or a list of tokens in JSON or YAML. The file's bytes are searched, not parsed. */
tr_status tr_directory_find_languages(const tr_directory *d, const char *file, const char *open,
                                      const char *close) TR_CHECKED;

/* Reads the licence in the front matter of README.md, as Hugging Face's model cards have it. A card that is missing or
 * cannot be read is no error. */
void tr_directory_card(const tr_directory *d);

#endif
