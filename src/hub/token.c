/* The user's endpoint and token, where the hub's own tools keep them. */
#include "hub/token.h"

#include "util/file.h"
#include "util/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static bool token_file(char path[TR_PATH])
{
    const char *file = variable("HF_TOKEN_PATH"), *hub = variable("HF_HOME");
    const char *cache = variable("XDG_CACHE_HOME"), *home = variable("HOME");
    if (file)
        return snprintf(path, TR_PATH, "%s", file) < TR_PATH;
    if (hub)
        return tr_path_join(path, hub, "token", NULL) == TR_OK;
    if (cache)
        return tr_path_join(path, cache, "huggingface/token", NULL) == TR_OK;
    return home && tr_path_join(path, home, ".cache/huggingface/token", NULL) == TR_OK;
}

/* A copy without white space around it; NULL if nothing is left or memory ran out. */
static char *trimmed(const char *text, size_t size)
{
    while (size && strchr(" \t\r\n", text[size - 1]))
        size--;
    while (size && strchr(" \t\r\n", *text))
        text++, size--;
    char *copy = size ? malloc(size + 1) : NULL;
    if (copy) {
        memcpy(copy, text, size);
        copy[size] = 0;
    }
    return copy;
}

tr_status tr_hub_token(char **token, tr_error *error)
{
    char path[TR_PATH];
    tr_file file;
    const char *given = variable("HF_TOKEN");
    *token = NULL;
    if (given) {
        *token = trimmed(given, strlen(given));
    } else if (token_file(path) && tr_file_exists(path)) {
        const tr_status status = tr_file_open(path, TR_LOAD_COPY, &file, error);
        if (status != TR_OK)
            return status;
        *token = file.size < 4096 ? trimmed((const char *)file.data, file.size) : NULL;
        tr_file_close(&file);
    }
    for (const char *c = *token ? *token : ""; *c; c++)
        if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7f) {
            free(*token);
            *token = NULL;
            return tr_fail(error, TR_ERROR_ARGUMENT, "%s: is not a token: there is a strange character in it",
                           given ? "HF_TOKEN" : path);
        }
    return TR_OK;
}

tr_status tr_hub_endpoint(const char *wanted, char **endpoint, tr_error *error)
{
    const char *from = wanted ? wanted : variable("HF_ENDPOINT");
    if (!from)
        from = "https://huggingface.co";
    *endpoint = NULL;
    if (strncmp(from, "https://", 8) != 0 && strncmp(from, "http://", 7) != 0)
        return tr_fail(error, TR_ERROR_ARGUMENT, "HF_ENDPOINT: '%s' is not an address: it begins with https://", from);
    size_t size = strlen(from);
    while (size && from[size - 1] == '/')
        size--;
    *endpoint = trimmed(from, size);
    return *endpoint ? TR_OK : tr_fail(error, TR_ERROR_MEMORY, "HF_ENDPOINT: out of memory");
}
