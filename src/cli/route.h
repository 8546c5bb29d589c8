/* Models from a folder (--models), detection of the source language (-s auto), and the choice between the two models that
 * come with the program. The usual case, one model between languages that are known, needs none of this. */
#ifndef TR_CLI_ROUTE_H
#define TR_CLI_ROUTE_H

#include "cli/model.h"

/* The models that texts go through: one, or two if they are translated by way of another language. */
typedef struct cli_route {
    cli_model models[TR_MAX_ROUTE_STEPS]; /* [count]; the second translates what the first gives */
    int count;
    tr_model_index *index; /* of --models; NULL: the model is named or a default one */
    char detected[32];     /* the source language of -s auto; "" without it */
    char reverse[TR_PATH]; /* of --rerank; "": none */
    char en_zh[TR_PATH];   /* the model beside the default one; "": there is none, or it is not asked */
    bool into_chinese;     /* it is the one that was opened */
} cli_route;

/* Indexes a folder of models, and prints its warnings. A folder without any model is a failure, with a message. */
int cli_models_open(tr_model_index **models, const char *folder, const cli_settings *settings);
void cli_models_warn(const tr_model_index *models, const cli_settings *settings); /* prints its warnings alone */

/* Checks the options that name models and languages, and indexes the folder, if there is one. */
int cli_route_find(cli_route *route, const cli_settings *settings);
/* Whether the text tells which of the two models beside each other translates it, since no language is named. */
bool cli_route_by_script(const cli_route *route, const cli_settings *settings);
/* Whether there are models beside the one that translates, among which may be the one that translates back. */
bool cli_route_has_pairs(const cli_route *route);
/* Whether the one that is open is right for this text. */
bool cli_route_fits(const cli_route *route, const cli_settings *settings, const char *text, size_t size);
/* Then opens the models, each with a context. text: a sample of the input, if one is needed, to detect its language from.
 * Prints a message on failure. */
int cli_route_open(cli_route *route, const cli_settings *settings, const char *text, size_t size);

#endif
