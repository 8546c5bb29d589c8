/* Which model is meant where none is named. */
#define _GNU_SOURCE
#include "cli/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Beside the program first, so that build trees and moved installations work; then where it was installed. */
bool cli_default_model(const char *name, char path[TR_PATH])
{
    static const char *const beside[] = {"../share/translate", "../models"};
    char program[TR_PATH], folder[TR_PATH];
    const bool known = tr_program_folder(program, sizeof program);
    for (int i = 0; known && i < 2; i++) {
        int n = snprintf(path, TR_PATH, "%s/%s", program, beside[i]);
        if (n < 0 || n >= TR_PATH || !realpath(path, folder))
            continue;
        n = snprintf(path, TR_PATH, "%s/%s", folder, name);
        if (n > 0 && n < TR_PATH && access(path, R_OK) == 0)
            return true;
    }
    const char *const installed = tr_default_model_path();
    const int folder_size = (int)(strrchr(installed, '/') - installed);
    const int n = snprintf(path, TR_PATH, "%.*s/%s", folder_size, installed, name);
    return n > 0 && n < TR_PATH && access(path, R_OK) == 0;
}

const char *cli_model_wanted(const cli_settings *settings)
{
    const char *variable = getenv("TRANSLATE_MODEL");
    return settings->model ? settings->model : variable && *variable ? variable : NULL;
}
