/* What a model on disk comes to, whatever its format: settings, tensors, vocabularies, tokenizer.
 * Each format is one file with one function that fills this struct. */
#ifndef TR_FORMATS_PACKAGE_H
#define TR_FORMATS_PACKAGE_H

#include "model/config.h"
#include "model/shortlist.h"
#include "model/weights.h"
#include "tokenizer/languages.h"
#include "tokenizer/vocabulary.h"
#include "util/buffer.h"
#include "util/file.h"

enum { TR_PACKAGE_FILES = 1024 }; /* at most */

typedef struct tr_bytes {
    const void *data; /* NULL if there is none */
    size_t size;
} tr_bytes;

struct tr_zip;

/* An archive that stands for a directory while a package is opened: PATH/NAME is its entry ROOT/NAME. */
typedef struct tr_archive {
    struct tr_zip *zip;
    const char *path, *root;
} tr_archive;

typedef struct tr_package {
    const char *format;                                              /* "GGUF", "CTranslate2 directory" */
    char architecture[32];                                           /* "marian" */
    char name[128];                                                  /* "" if unknown */
    char source_language[TR_LANGUAGE], target_language[TR_LANGUAGE]; /* "" if unknown */
    bool directory;                                                  /* published floats: compute auto means f32 */
    tr_config config;                                                /* checked */
    tr_weights weights;
    tr_vocabulary source, target_own; /* target_own is empty where both sides share one */
    const tr_vocabulary *target;      /* &source or &target_own */
    tr_languages languages;           /* none: one pair alone, or the texts say it themselves */
    tr_ids special;                   /* target ids that are no text, besides start, end, padding and unknown */
    tr_bytes source_spm, target_spm;  /* SentencePiece models */
    tr_bytes source_bpe;              /* or codes of subword-nmt; NULL, all of them: the model takes tokens only */
    tr_shortlist shortlist;           /* offsets NULL: there is none; checked */
    tr_file *files;                   /* what the pointers above point into */
    int file_count;
    tr_buffer read;            /* paths of all files that were opened, closed ones too, each with its NUL */
    const tr_archive *archive; /* what files are looked for in, in place of the file system; NULL once it is open */
    uint64_t file_size;        /* bytes of the weight files */
    bool has_checksum;         /* GGUF written by this project */
    uint64_t checksum;         /* as stored; see gguf.h */
} tr_package;

/* Recognises the format by content, and fills package. Nothing needs closing on failure. Messages begin with the path. */
tr_status tr_package_open(const char *path, tr_load load, tr_package *package, tr_error *error) TR_CHECKED;
void tr_package_close(tr_package *package);

/* Marks the tensors from number first on whose bytes lie in the mapping of a file. */
void tr_mark_mapped(tr_weights *weights, size_t first, tr_bytes mapping);
/* The same of all tensors and files of a package, once there will be no more. */
void tr_package_mark_mapped(tr_package *package);

/* Opens PATH/NAME (name may be NULL: PATH itself) into package->files. In an archive, what is stored there is used where it
 * lies, what is deflated becomes a file in memory. */
tr_status tr_package_file(tr_package *package, const char *path, const char *name, tr_load load, tr_bytes *bytes,
                          tr_error *error) TR_CHECKED;

/* Whether PATH/NAME is there: a third answer is failure. */
tr_status tr_package_has(const tr_package *package, const char *path, const char *name, bool *has,
                         tr_error *error) TR_CHECKED;

/* Checks a SentencePiece model that was made in memory, and makes it both sides', and its memory the package's. spm is then
 * empty, on failure as well. */
tr_status tr_package_keep_spm(tr_package *package, tr_buffer *spm, tr_error *error) TR_CHECKED;

/* Closes the file opened last, of which nothing is needed any more. */
void tr_package_close_last(tr_package *package);

/* Closes those files from number first on that neither weights nor SentencePiece models point into; of files in memory also
 * those of which weights take less than half, which are copied. */
void tr_package_close_unused(tr_package *package, int first);

/* Checks the config, that int8 matrices among the weights are whole, and that the embeddings have the rows that the config
 * counts. Formats call it once config and weights are there, before they allocate anything by the number of tokens. */
tr_status tr_package_check(const tr_package *package, tr_error *error);

typedef enum tr_format {
    TR_FORMAT_NONE,
    TR_FORMAT_GGUF,
    TR_FORMAT_ARGOS,
    TR_FORMAT_CTRANSLATE2,
    TR_FORMAT_MARIAN,
    TR_FORMAT_HF,
} tr_format;

/* The format of what is at a path, by content; none: whatever is there is no model. */
tr_status tr_package_recognise(const char *path, tr_format *format, tr_error *error) TR_CHECKED;

/* Whether a directory holds a CTranslate2 model, by content. */
tr_status tr_is_ctranslate2(const char *path, bool *is, tr_error *error) TR_CHECKED;
/* Whether a file is a model of Marian's; whether a directory holds one, and no config.json. */
tr_status tr_marian_recognise(const void *data, size_t size, bool *is, tr_error *error) TR_CHECKED;
tr_status tr_is_marian(const char *path, bool *is, tr_error *error) TR_CHECKED;

/* Whether a directory has a config.json, which Hugging Face's do. */
tr_status tr_is_hf(const char *path, bool *is, tr_error *error) TR_CHECKED;

/* Whether a directory, or a zip archive in memory, holds an Argos Translate package. */
tr_status tr_is_argos(const char *path, bool *is, tr_error *error) TR_CHECKED;
tr_status tr_is_argos_archive(const void *data, size_t size, bool *is, tr_error *error) TR_CHECKED;

/* One function per format; tr_package_open calls the right one. */
tr_status tr_open_gguf(const char *path, tr_load load, tr_package *package, tr_error *error);
tr_status tr_open_ctranslate2(const char *path, tr_load load, tr_package *package, tr_error *error);
tr_status tr_open_argos(const char *path, tr_load load, tr_package *package, tr_error *error);
/* path: of the directory, or of the model in it. */
tr_status tr_open_marian(const char *path, tr_load load, tr_package *package, tr_error *error);
tr_status tr_open_hf(const char *path, tr_load load, tr_package *package, tr_error *error);

#endif
