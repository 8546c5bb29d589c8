/* What the formats that are directories share: their files, JSON among them, and messages that begin with the path. */
#ifndef TR_FORMATS_DIRECTORY_H
#define TR_FORMATS_DIRECTORY_H

#include "formats/json.h"
#include "formats/package.h"
#include "util/folder.h"

/* A directory being opened into a package. */
typedef struct tr_directory {
    const char *path;
    tr_load load;
    tr_package *package;
    tr_error *error; /* not NULL */
} tr_directory;

tr_status tr_directory_has(const tr_directory *d, const char *name, bool *has) TR_CHECKED;
/* The first of count names that is there; NULL: none. */
tr_status tr_directory_find(const tr_directory *d, const char *const *names, size_t count, const char **found) TR_CHECKED;
/* Opens a file to look at what it is: empty where it is not there, or no regular file. */
tr_status tr_directory_open(const tr_directory *d, const char *name, tr_file *file) TR_CHECKED;
tr_status tr_directory_fail(const tr_directory *d, tr_status status, const char *what);
/* Puts the path before a failure's message; TR_OK: nothing happens. */
tr_status tr_directory_in(const tr_directory *d, tr_status status);

/* Parses a file; *root is a new reference, NULL on failure and for an optional file that is not there. The file is closed
 * again: what jansson makes of it is a copy. */
tr_status tr_directory_json(const tr_directory *d, const char *name, json_t **root) TR_CHECKED;
tr_status tr_directory_optional_json(const tr_directory *d, const char *name, json_t **root) TR_CHECKED;

/* Opens both SentencePiece models. Without a target one (target may be NULL), or where it is the same, the source's serves
 * both: decoding needs none. */
tr_status tr_directory_pieces(const tr_directory *d, const char *source, const char *target) TR_CHECKED;

/* Notes a language code; of unusual length it is none: left unknown. */
void tr_directory_language(const char *language, char out[TR_LANGUAGE]);
/* Takes source_lang and target_lang, or src_lang and tgt_lang, from the fields of tokenizer_config.json. */
void tr_directory_languages(tr_json_fields *fields, tr_package *package);

/* Adds the languages whose tokens, such as ">>fra<<" and "<2fr>", are spelled between open and close in one of the files: a
 * SentencePiece model, or a list of tokens in JSON or YAML. The file's bytes are searched, not parsed. */
tr_status tr_directory_find_languages(const tr_directory *d, const char *file, const char *open,
                                      const char *close) TR_CHECKED;

/* The directory's own name, unless it is "." or ".."; out must be a zeroed string. */
void tr_directory_name(const char *path, char *out, size_t size);

#endif
