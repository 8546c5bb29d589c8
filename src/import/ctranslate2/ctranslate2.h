/* Readers of the parts of a CTranslate2 model directory. Facts: OpenNMT/CTranslate2, python/ctranslate2/specs (what a
 * converter writes) and src/models (how the engine reads it); docs/formats.md has the table of names. */
#ifndef TR_IMPORT_CTRANSLATE2_H
#define TR_IMPORT_CTRANSLATE2_H

#include "import/directory.h"
#include "import/json.h"
#include "formats/package.h"

/* --------------------------------------------------------------------------------------------- model.bin: the variables */

/* Numbers of the file, from version 4 on. */
typedef enum tr_ct2_type {
    TR_CT2_F32,
    TR_CT2_I8,
    TR_CT2_I16,
    TR_CT2_I32,
    TR_CT2_F16,
    TR_CT2_BF16,
    TR_CT2_TYPES,
} tr_ct2_type;

typedef struct tr_ct2_variable {
    const char *name; /* for messages; aliases may name it, too */
    tr_ct2_type type;
    int rank; /* 0: a scalar */
    int64_t shape[TR_MAX_RANK];
    const unsigned char *data; /* in the file, at any address */
    uint64_t bytes;            /* = elements * size of type */
    bool mapped;               /* data lies in the mapping of a file */
    int32_t parts;             /* for weights.c: tensors made of it; -1: not looked at yet */
} tr_ct2_variable;

/* A name of a variable, its own or an alias. */
typedef struct tr_ct2_name {
    const char *text;
    uint32_t variable;
    bool used;    /* the variable was read under this name */
    bool implied; /* ALIAS_scale, which files leave out */
} tr_ct2_name;

typedef struct tr_ct2_model {
    uint32_t version, revision; /* of the container, of the network's layout */
    const char *spec;           /* "TransformerSpec"; "" in version 1 */
    uint32_t aliases;
    tr_ct2_variable *variables;
    uint32_t count, capacity;
    tr_ct2_name *names;
    uint32_t name_count, name_capacity;
    tr_strmap index; /* of names */
    char **texts;    /* names that are not in the file */
    uint32_t text_count, text_capacity;
} tr_ct2_model;

/* Fills a zeroed model, which points into file. */
tr_status tr_ct2_read(tr_bytes file, tr_ct2_model *model, tr_error *error);
void tr_ct2_free(tr_ct2_model *model);

/* Returns NULL if absent; marks the name as used. */
tr_ct2_variable *tr_ct2_find(tr_ct2_model *model, const char *name);
bool tr_ct2_has(const tr_ct2_model *model, const char *name);

bool tr_ct2_is_floating(tr_ct2_type type);
/* Reads a scalar of any type. False: the variable is no scalar. */
bool tr_ct2_scalar(const tr_ct2_variable *variable, double *value);

/* -------------------------------------------------------------------------------------------------- settings, weights */

/* Settings from config.json or, before version 6, from variables. */
typedef struct tr_ct2_settings {
    tr_piece unk, bos, eos;
    tr_piece start; /* data NULL: each sentence must bring its own */
    bool source_bos, source_eos;
    float epsilon; /* -1: the default */
} tr_ct2_settings;

/* Strings point into json (NULL: no config.json) or into the file. */
tr_status tr_ct2_settings_read(tr_ct2_model *model, const json_t *json, tr_ct2_settings *settings, tr_error *error);

/* Fills config, without token ids. TR_ERROR_UNSUPPORTED names a setting that is not supported. */
tr_status tr_ct2_config(tr_ct2_model *model, const tr_ct2_settings *settings, tr_config *config, tr_error *error);

/* The name of the encoder's embedding, which in newer models is an element of a list. */
const char *tr_ct2_source_embedding(const tr_ct2_model *model);
/* True if the decoder's first input is zeros in place of a token's embedding, as in Marian. */
bool tr_ct2_starts_from_zero(tr_ct2_model *model);

/* Fills the token ids of config from the vocabularies. */
tr_status tr_ct2_ids(const tr_ct2_settings *settings, const tr_vocabulary *source, const tr_vocabulary *target,
                     bool from_zero, tr_config *config, tr_error *error);

/* Adds all tensors of the network under our names. Fails if a variable is left over. */
tr_status tr_ct2_weights(tr_ct2_model *model, const tr_config *config, tr_weights *weights, tr_error *error);

/* Reads the network and the vocabularies of a directory into its package, without a tokenizer. */
tr_status tr_ct2_open(const tr_directory *d);

#endif
