/* Which model is meant where none is named. */
#define _GNU_SOURCE
#include "cli/model.h"

#include "tokenizer/language_codes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL_NAME "zh-en.gguf"

/* Beside the program first, so that build trees and moved installations work; then where it was installed. The file may be a
 * link: what else the folder holds is found, too. */
bool cli_default_model(char path[TR_PATH])
{
    static const char *const beside[] = {"../share/translate", "../models"};
    char program[TR_PATH], folder[TR_PATH];
    const bool known = tr_program_folder(program, sizeof program);
    for (int i = 0; known && i < 2; i++) {
        int n = snprintf(path, TR_PATH, "%s/%s", program, beside[i]);
        if (n < 0 || n >= TR_PATH || !realpath(path, folder))
            continue;
        n = snprintf(path, TR_PATH, "%s/" MODEL_NAME, folder);
        if (n > 0 && n < TR_PATH && access(path, R_OK) == 0)
            return true;
    }
    snprintf(path, TR_PATH, "%s", tr_default_model_path());
    return access(path, R_OK) == 0;
}

bool cli_opposite_model(char path[TR_PATH])
{
    static const char name[] = "en-zh.gguf";
    char *slash;
    if (!cli_default_model(path) || !(slash = strrchr(path, '/')) || (size_t)(slash + 1 - path) + strlen(name) >= TR_PATH)
        return false;
    strcpy(slash + 1, name);
    return access(path, R_OK) == 0;
}

void cli_reverse_options(tr_model_options *options)
{
    options->shortlist = "off";
    options->full_vocabulary = false;
    options->attention_windows = NULL;
}

bool cli_is_language(const char *code, const char *language)
{
    char base[4];
    return code && tr_language_base(code, base) && strcmp(base, language) == 0;
}

bool cli_is_into_chinese(const char *source, const char *target)
{
    return (source || target) && (!source || cli_is_language(source, "en")) && (!target || cli_is_language(target, "zh"));
}

const char *cli_model_wanted(const cli_settings *settings)
{
    const char *variable = getenv("TRANSLATE_MODEL");
    return settings->model ? settings->model : variable && *variable ? variable : NULL;
}
