/* Hugging Face model directories, as save_pretrained leaves them: the families that are read, and their parts from
 * memory. */
#ifndef TR_FORMATS_HF_H
#define TR_FORMATS_HF_H

#include "formats/directory.h"
#include "formats/hf/languages.h"
#include "formats/json.h"
#include "formats/package.h"

/* What config.json says besides the network's shape. */
typedef struct tr_hf_ties {
    bool share_embeddings; /* both sides have one embedding */
    bool tie_output;       /* the output projection is the target embedding */
} tr_hf_ties;

typedef enum tr_hf_tokens {
    TR_HF_MARIAN,  /* vocab.json, target_vocab.json and source.spm, target.spm */
    TR_HF_PIECES,  /* spiece.model, whose numbers are the ids */
    TR_HF_WORDS,   /* vocab.json; tokens only, no text */
    TR_HF_FAIRSEQ, /* sentencepiece.bpe.model, with a vocab.json or ids that are one more than its numbers; languages */
} tr_hf_tokens;

/* One family of models: a row of a table, in the place of code that asks which model it has. */
typedef struct tr_hf_family {
    const char *type;         /* config.json's model_type: "marian" */
    const char *architecture; /* the class that is run: "MarianMTModel" */
    const char *format;       /* "Hugging Face Marian directory" */
    void (*shape)(tr_json_fields *settings, tr_config *config, tr_hf_ties *ties);
    tr_tensor_rename *renaming;
    int start_id, end_id, pad_id; /* what config.json need not say */
    tr_hf_tokens tokens;
} tr_hf_family;

/* Fills config from config.json and generation_config.json (NULL if there is none), and finds the family. Not checked
 * against bounds yet. */
tr_status tr_hf_config(const json_t *settings, const json_t *generation, tr_config *config, tr_hf_ties *ties,
                       const tr_hf_family **family, tr_error *error) TR_CHECKED;

#define TR_HF_FAIRSEQ_MODEL  "sentencepiece.bpe.model"
#define TR_HF_TOKENIZER_JSON "tokenizer.json"

/* Which of a directory's files are there: looked up once, where that may fail. */
typedef struct tr_hf_files {
    bool config;         /* config.json */
    const char *weights; /* what they are taken from, in transformers' order (modeling_utils.py); NULL: there are none. An
                            index names the files that the weights are divided among */
    bool words;          /* vocab.json */
    bool source;         /* source.spm */
    bool pieces;         /* spiece.model */
    bool fairseq;        /* TR_HF_FAIRSEQ_MODEL */
    bool library;        /* TR_HF_TOKENIZER_JSON */
} tr_hf_files;

tr_status tr_hf_look(const tr_directory *d, tr_hf_files *files) TR_CHECKED;
tr_status tr_hf_find_weights(const tr_directory *d, const char **name) TR_CHECKED;

/* Format, architecture and config of a directory's package, once config.json and weights are known to be there. */
tr_status tr_hf_read_config(const tr_directory *d, const tr_hf_files *files, const tr_hf_family **family,
                            tr_hf_ties *ties) TR_CHECKED;

/* Their names for tensors: see tr_tensor_rename. */
void tr_hf_rename_marian(const char *name, char out[TR_TENSOR_NAME]);
void tr_hf_rename_bart(const char *name, char out[TR_TENSOR_NAME]);
void tr_hf_rename_t5(const char *name, char out[TR_TENSOR_NAME]);

/* Says what is missing of the family's tokenizer, before anything is read. */
tr_status tr_hf_check_tokens(const tr_directory *d, const tr_hf_files *files, const tr_hf_family *family) TR_CHECKED;

/* Reads it: vocabularies, SentencePiece models, languages. */
tr_status tr_hf_read_tokens(const tr_directory *d, const tr_hf_files *files, const tr_hf_family *family) TR_CHECKED;

/* The tokens besides the pieces: as tokenizer_config.json lists them, else those of the class, from id first on. */
tr_status tr_hf_list_added(const tr_directory *d, const json_t *settings, const tr_hf_tokenizer *tokenizer, int32_t first,
                           tr_added *added) TR_CHECKED;

/* A tokenizer.json of the tokenizers library whose parts are those that SentencePiece has (Unigram or BPE over words that
 * begin with "▁"): fills the package's vocabulary and its SentencePiece model, which is made anew of them, and lists the
 * added tokens that are special. */
tr_status tr_hf_tokenizer_json(const json_t *root, const char *name, tr_package *package, tr_added *special,
                               tr_error *error);

/* A file of weights: safetensors, or what torch.save wrote. */
typedef struct tr_weight_file {
    const char *name; /* begins the messages on it */
    tr_bytes bytes;
    bool mapped; /* bytes lie in the mapping of a file */
} tr_weight_file;

/* Adds the tensors of all files to weights under our names; what is tied is there once. */
tr_status tr_hf_weights(const tr_weight_file *files, size_t count, tr_tensor_rename *renaming, tr_hf_ties ties,
                        tr_weights *weights, tr_error *error);

#endif
