/* Finding and opening the model that the command line means. */
#ifndef TR_CLI_MODEL_H
#define TR_CLI_MODEL_H

#include "cli/cli.h"
#include "model/weights.h"

#include <translate/translate.h>

typedef struct cli_model {
    char path[TR_PATH];
    tr_model *model;
    tr_context *context;                   /* NULL where none was asked for */
    tr_model_info info;                    /* with an ensemble, lengths are what all of it can take */
    tr_model *others[TR_MAX_ENSEMBLE - 1]; /* [other_count] --ensemble */
    float weights[TR_MAX_ENSEMBLE];
    int other_count;
    double load_seconds; /* from open to ready */
} cli_model;

/* The path of the model that the settings mean, or of the default one. */
int cli_model_find(char path[TR_PATH], const cli_settings *settings);

/* The same of a name such as -m has. */
int cli_model_resolve(char path[TR_PATH], const char *name, const cli_settings *settings);

/* Finds the model and opens it, with a context if with_context. Prints a message on failure; then nothing needs closing. */
int cli_model_open(cli_model *model, const cli_settings *settings, bool with_context);
void cli_model_close(cli_model *model);
/* At the end of the program: leaves everything to the system, which takes it back faster than piece by piece. */
void cli_model_leave(cli_model *model);

const char *cli_type_name(tr_type type); /* of weights, as --compute spells it: "int8" */

#endif
