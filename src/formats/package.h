/* What the reader of any format makes of a model on disk: settings, tensors, vocabularies, tokenizers, and the files that
 * these point into. open.h opens one. */
#ifndef TR_FORMATS_PACKAGE_H
#define TR_FORMATS_PACKAGE_H

#include "model/config.h"
#include "model/shortlist.h"
#include "model/weights.h"
#include "tokenizer/vocabulary.h"
#include "util/buffer.h"
#include "util/file.h"

enum { TR_PACKAGE_FILES = 1024 }; /* files that a package may open */

/* What stands for a directory while a package is opened: a path of a file names an entry. */
typedef struct tr_archive tr_archive;
struct tr_archive {
    bool (*has)(const tr_archive *archive, const char *path);
    /* Leaves file empty if the entry is used where it lies: there is nothing to close. */
    tr_status (*open)(const tr_archive *archive, const char *path, tr_file *file, tr_bytes *bytes, tr_error *error);
};

/* What a model's author tells readers; "" where it is unknown. UTF-8. */
typedef struct tr_about {
    char license[64];      /* "cc-by-4.0" */
    char date[32];         /* of the model, as its author writes it */
    char description[512]; /* what it is for */
} tr_about;

typedef struct tr_package {
    const char *format;    /* "GGUF", "CTranslate2 directory" */
    char architecture[32]; /* "marian" */
    char name[128];        /* "" if unknown */
    tr_about about;
    char source_language[TR_LANGUAGE], target_language[TR_LANGUAGE]; /* "" if unknown */
    bool directory;                                                  /* published floats: compute auto means f32 */
    tr_config config;                                                /* checked */
    tr_weights weights;
    tr_vocabulary source, target_own; /* target_own is empty if source and target share one */
    const tr_vocabulary *target;      /* &source or &target_own */
    tr_languages languages;           /* empty: one language pair, or the text itself names the language */
    tr_ids special;                   /* target ids without text, besides start, EOS, padding and unknown */
    tr_ids copy_symbols;              /* source ids that the network copies, in order of use; empty: unknown */
    char stand_ins[256];              /* words that it copies, separated by spaces, the best first; "": unknown */
    tr_bytes source_spm, target_spm;  /* SentencePiece models */
    tr_bytes source_bpe;              /* or codes of subword-nmt. Without all three the model only takes tokens */
    tr_bytes traditional;             /* rules for Chinese in traditional characters (tokenizer/traditional.h), checked */
    tr_shortlist shortlist;           /* checked; offsets is NULL if absent */
    tr_file *files;                   /* [file_count] what the pointers above point into */
    int file_count;
    tr_buffer read;            /* paths of all files that were opened, closed ones too, each followed by its NUL */
    const tr_archive *archive; /* read files from here, not from the file system; NULL once the package is open */
    uint64_t file_size;        /* bytes of the weight files */
    bool has_checksum;         /* the file is a GGUF file written by this project */
    uint64_t checksum;         /* as stored; tr_gguf_verify compares it */
} tr_package;

/* Frees everything that a package owns and zeroes it; a zeroed package is allowed. */
void tr_package_close(tr_package *package);

/* Sets mapped for the tensors from number first on whose bytes lie in the mapping of a file. */
void tr_mark_mapped(tr_weights *weights, size_t first, tr_bytes mapping);
/* Sets mapped for all tensors of a package that has all its tensors and files. */
void tr_package_mark_mapped(tr_package *package);

/* Opens a file and appends it to package->files. In an archive, a stored entry is used where it lies and a deflated one is
 * inflated into memory. Messages begin with the path. */
tr_status tr_package_file(tr_package *package, const char *path, tr_load load, tr_bytes *bytes, tr_error *error) TR_CHECKED;

/* Checks a SentencePiece model made in memory and uses it for source and target. The package takes ownership of the memory;
 * spm is empty afterwards, also on failure. */
tr_status tr_package_keep_spm(tr_package *package, tr_buffer *spm, tr_error *error) TR_CHECKED;

/* Closes the file opened last; nothing may point into it. */
void tr_package_close_last(tr_package *package);

/* Closes those files from number first on that neither weights nor tokenizers point into. A file in memory of which weights
 * use less than half is closed, too: its weights are copied. */
void tr_package_close_unused(tr_package *package, int first);

/* Checks the config, that int8 matrices are complete, and that the embeddings have as many rows as the config says. Readers
 * call it once config and weights are filled, before they allocate anything by the number of tokens. */
tr_status tr_package_check(const tr_package *package, tr_error *error) TR_CHECKED;

#endif
