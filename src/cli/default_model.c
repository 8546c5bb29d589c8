/* Which model is meant where none is named. */
#define _GNU_SOURCE
#include "cli/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MODEL_NAME "zh-en.gguf"

/* Beside the program first, so that build trees and moved installations work; then where it was installed. */
bool cli_default_model(char path[TR_PATH])
{
    static const char *const beside[] = {"../share/translate/" MODEL_NAME, "../models/" MODEL_NAME};
    char folder[TR_PATH], candidate[TR_PATH];
    const bool known = tr_program_folder(folder, sizeof folder);
    for (int i = 0; known && i < 2; i++) {
        const int n = snprintf(candidate, sizeof candidate, "%s/%s", folder, beside[i]);
        if (n > 0 && n < TR_PATH && access(candidate, R_OK) == 0 && realpath(candidate, path))
            return true;
    }
    snprintf(path, TR_PATH, "%s", tr_default_model_path());
    return access(path, R_OK) == 0;
}

const char *cli_model_wanted(const cli_settings *settings)
{
    const char *variable = getenv("TRANSLATE_MODEL");
    return settings->model ? settings->model : variable && *variable ? variable : NULL;
}
