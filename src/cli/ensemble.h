/* --ensemble: further models that decode together with that of -m. */
#ifndef TR_CLI_ENSEMBLE_H
#define TR_CLI_ENSEMBLE_H

#include "cli/model.h"

/* Opens them as -m's was opened, and says so in the context's options, which point into model. Prints a message on failure.
 */
int cli_ensemble_open(cli_model *model, const cli_settings *settings, const tr_model_options *options,
                      tr_context_options *context);
void cli_ensemble_close(cli_model *model);

#endif
