/* The models that lines go through, one behind the other: in the ordinary case there is one. */
#ifndef TR_CLI_CHAIN_H
#define TR_CLI_CHAIN_H

#include "cli/model.h"

typedef struct cli_link {
    cli_model model;
    const char *source, *target; /* what it is told; NULL: it chooses */
} cli_link;

typedef struct cli_chain {
    cli_link links[TR_MAX_ROUTE_STEPS];
    int count;
    tr_model_index *models; /* the folder that they come from; NULL: one model, named or by default */
    char detected[32];      /* the source's language where that was to be found out; "" else */
} cli_chain;

/* The folder of models that the settings mean: --models, else $TRANSLATE_MODELS where a language is named and no model is;
 * NULL: none. */
const char *cli_models_folder(const cli_settings *settings);
/* Indexes a folder, and prints its warnings; one without any model is a failure. */
int cli_models_open(tr_model_index **models, const char *folder, const cli_settings *settings);
void cli_models_warn(const tr_model_index *models, const cli_settings *settings); /* its warnings alone */

bool cli_detects(const cli_settings *settings); /* -s auto */

/* Checks what the settings ask for, and indexes the folder if they mean one. */
int cli_chain_find(cli_chain *chain, const cli_settings *settings);
/* Then opens the models, each with a context. text is what the language is to be detected from. Prints a message on
 * failure. */
int cli_chain_open(cli_chain *chain, const cli_settings *settings, const char *text, size_t size);
/* At the end of the program; see cli_model_leave. */
void cli_chain_leave(cli_chain *chain);

#endif
