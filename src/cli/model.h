/* Finding and opening the model of the command line, and those of --ensemble. */
#ifndef TR_CLI_MODEL_H
#define TR_CLI_MODEL_H

#include "cli/cli.h"
#include "model/weights.h"

#include "api/engine.h"

typedef struct cli_model {
    char path[TR_PATH];
    const char *source, *target; /* languages to translate between; NULL: the model's default */
    tr_model *model;
    tr_context *context;                   /* NULL if none was asked for */
    tr_model_info info;                    /* with an ensemble, lengths are what all of its models can take */
    tr_model *others[TR_MAX_ENSEMBLE - 1]; /* [other_count] --ensemble */
    float weights[TR_MAX_ENSEMBLE];        /* [1 + other_count] */
    int other_count;
    tr_model *reverse;   /* --rerank; NULL: none */
    double load_seconds; /* from open to ready */
} cli_model;

/* Stores the path of a model of that name, a path or hf:OWNER/NAME. Prints a message on failure. */
int cli_model_resolve(char path[TR_PATH], const char *name, const cli_settings *settings);
const char *cli_model_wanted(const cli_settings *settings); /* --model, else $TRANSLATE_MODEL; NULL: the default model */
/* Finds the default model. False: there is none. */
bool cli_default_model(char path[TR_PATH]);
/* Finds the model for the other direction, en-zh.gguf, beside it. False: there is none. */
bool cli_opposite_model(char path[TR_PATH]);
/* Makes options of a model those of the one that ranks its translations: what they say of its tokens does not hold there. */
void cli_reverse_options(tr_model_options *options);
bool cli_is_language(const char *code, const char *language); /* en-GB is "en"; NULL is none */
/* Whether languages are named, NULL: this one is not, and the model for the other direction is the one between them. */
bool cli_is_into_chinese(const char *source, const char *target);
/* Stores the path of the model that the settings name, or of the default one for their languages. hf:... models that are
 * not in the cache are downloaded. Prints a message on failure. */
int cli_model_find(char path[TR_PATH], const cli_settings *settings);

/* Finds and opens the model; if with_context, with a context, --ensemble, and the model settings->reverse.
 * Prints a message on failure; then nothing needs closing. */
int cli_model_open(cli_model *model, const cli_settings *settings, bool with_context);
void cli_model_close(cli_model *model);
/* For the end of the program: frees nothing, because the system is faster at that. */
void cli_model_leave(cli_model *model);

/* The folder of models that settings name: --models, else $TRANSLATE_MODELS if a language is given and no model; else NULL.
 */
const char *cli_models_folder(const cli_settings *settings);
bool cli_detects(const cli_settings *settings); /* -s auto */

const char *cli_type_name(tr_type type); /* as --compute spells it: "int8" */

#endif
