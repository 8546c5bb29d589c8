/* Hugging Face model directories as save_pretrained writes them: the families of models that are supported, and the readers
 * of their parts. */
#ifndef TR_IMPORT_HF_H
#define TR_IMPORT_HF_H

#include "import/directory.h"
#include "import/hf/languages.h"
#include "import/json.h"
#include "formats/package.h"

/* Which matrices are shared, from config.json. */
typedef struct tr_hf_ties {
    bool share_embeddings; /* source and target have one embedding */
    bool tie_output;       /* the output projection is the target embedding */
} tr_hf_ties;

typedef enum tr_hf_tokens {
    TR_HF_MARIAN,  /* vocab.json, target_vocab.json and source.spm, target.spm */
    TR_HF_PIECES,  /* spiece.model, whose piece numbers are the ids */
    TR_HF_WORDS,   /* vocab.json; tokens only, no text. Without it: ids only */
    TR_HF_FAIRSEQ, /* sentencepiece.bpe.model with a vocab.json, or ids that are the piece numbers plus 1; languages */
} tr_hf_tokens;

/* One family of models, a row of the table in config.c. */
typedef struct tr_hf_family {
    const char *type;         /* config.json's model_type: "marian" */
    const char *architecture; /* transformers' class: "MarianMTModel" */
    const char *format;       /* "Hugging Face Marian directory" */
    void (*shape)(tr_json_fields *settings, tr_config *config, tr_hf_ties *ties);
    tr_tensor_rename *renaming;
    int start_id, eos_id, pad_id; /* defaults where config.json has none */
    tr_hf_tokens tokens;
} tr_hf_family;

/* Fills config and copy_symbols from config.json and generation_config.json (NULL if absent) and finds the family. The
 * caller checks config against its bounds, and frees copy_symbols also after a failure. */
tr_status tr_hf_config(const json_t *settings, const json_t *generation, tr_config *config, tr_ids *copy_symbols,
                       tr_hf_ties *ties, const tr_hf_family **family, tr_error *error) TR_CHECKED;

#define TR_HF_FAIRSEQ_MODEL  "sentencepiece.bpe.model"
#define TR_HF_TOKENIZER_JSON "tokenizer.json"

/* Which files a directory has. They are looked up once, since that may fail. */
typedef struct tr_hf_files {
    bool config;         /* config.json */
    const char *weights; /* file of weights, or index of several, the first in the order of transformers'
                            modeling_utils.py; NULL: none */
    bool words;          /* vocab.json */
    bool source;         /* source.spm */
    bool pieces;         /* spiece.model */
    bool fairseq;        /* TR_HF_FAIRSEQ_MODEL */
    bool library;        /* TR_HF_TOKENIZER_JSON */
} tr_hf_files;

tr_status tr_hf_find_files(const tr_directory *d, tr_hf_files *files) TR_CHECKED;
tr_status tr_hf_find_weights(const tr_directory *d, const char **name) TR_CHECKED;

/* Fills format, architecture, config and copy_symbols of the package. Fails if config.json or the weights are missing. */
tr_status tr_hf_read_config(const tr_directory *d, const tr_hf_files *files, const tr_hf_family **family,
                            tr_hf_ties *ties) TR_CHECKED;

/* Map a family's tensor names to ours: see tr_tensor_rename. */
void tr_hf_rename_marian(const char *name, char out[TR_TENSOR_NAME]);
void tr_hf_rename_bart(const char *name, char out[TR_TENSOR_NAME]);
void tr_hf_rename_t5(const char *name, char out[TR_TENSOR_NAME]);

/* Fails if files of the family's tokenizer are missing. */
tr_status tr_hf_check_tokens(const tr_directory *d, const tr_hf_files *files, const tr_hf_family *family) TR_CHECKED;

/* Reads vocabularies, SentencePiece models and languages. */
tr_status tr_hf_read_tokens(const tr_directory *d, const tr_hf_files *files, const tr_hf_family *family) TR_CHECKED;

/* Reads traditional.tsv, rules that transformers ignores, if it is there. */
tr_status tr_hf_read_traditional(const tr_directory *d) TR_CHECKED;

/* Lists the tokens besides the pieces: those of tokenizer_config.json, else those of the tokenizer class from id first on.
 */
tr_status tr_hf_list_added(const tr_directory *d, const json_t *settings, const tr_hf_tokenizer *tokenizer, int32_t first,
                           tr_added *added) TR_CHECKED;

/* Reads a tokenizer.json of the tokenizers library that does what SentencePiece does (Unigram or BPE over words that begin
 * with "▁"). Fills the package's vocabulary and a SentencePiece model built from the JSON, and lists the special tokens. */
tr_status tr_hf_tokenizer_json(const json_t *root, const char *name, tr_package *package, tr_added *special,
                               tr_error *error);

/* A file of weights: safetensors, or written by torch.save. */
typedef struct tr_weight_file {
    const char *name; /* begins messages */
    tr_bytes bytes;
    bool mapped; /* bytes lie in the mapping of a file */
} tr_weight_file;

/* Adds the tensors of all files to weights under our names; tied matrices once. */
tr_status tr_hf_weights(const tr_weight_file *files, size_t count, tr_tensor_rename *renaming, tr_hf_ties ties,
                        tr_weights *weights, tr_error *error);

#endif
