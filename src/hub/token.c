/* The user's endpoint and token, as Hugging Face's own tools store them. */
#define _GNU_SOURCE
#include "hub/token.h"

#include "util/file.h"
#include "util/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* *copy: without white space around it; NULL if nothing is left. */
static tr_status trim(const char *text, size_t size, char **copy, tr_error *error)
{
    while (size && strchr(" \t\r\n", text[size - 1]))
        size--;
    while (size && strchr(" \t\r\n", *text))
        text++, size--;
    *copy = size ? malloc(size + 1) : NULL;
    if (!size)
        return TR_OK;
    if (!*copy)
        return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    memcpy(*copy, text, size);
    (*copy)[size] = 0;
    return TR_OK;
}

/* Reads the token file of Hugging Face's own tools. If the home folder belongs to another user, as under sudo, there is
 * none. */
static tr_status read_token(const char *path, char **token, tr_error *error)
{
    tr_file file;
    bool found;
    if (!variable("HF_TOKEN_PATH") && !variable("HF_HOME") && access(path, F_OK) < 0 && errno == EACCES)
        return TR_OK;
    tr_status status = tr_file_find(path, TR_LOAD_COPY, &file, &found, error);
    if (status != TR_OK || !found)
        return status;
    if (file.size < 4096)
        status = trim((const char *)file.data, file.size, token, error);
    else
        status = tr_fail(error, TR_ERROR_ARGUMENT, "%s: is not a token: it is too long", path);
    tr_file_close(&file);
    return status;
}

tr_status tr_hub_token(char **token, tr_error *error)
{
    char path[TR_PATH];
    tr_status status = TR_OK;
    const char *given = variable("HF_TOKEN");
    *token = NULL;
    if (given)
        status = trim(given, strlen(given), token, error);
    else if (token_file(path))
        status = read_token(path, token, error);
    for (const char *c = *token ? *token : ""; *c; c++)
        if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7f) {
            free(*token);
            *token = NULL;
            return tr_fail(error, TR_ERROR_ARGUMENT, "%s: is not a token: it has an invalid character",
                           given ? "HF_TOKEN" : path);
        }
    return status;
}

tr_status tr_hub_endpoint(const char *wanted, char **endpoint, tr_error *error)
{
    const char *from = wanted ? wanted : variable("HF_ENDPOINT");
    if (!from)
        from = "https://huggingface.co";
    *endpoint = NULL;
    if (strncmp(from, "https://", 8) != 0 && strncmp(from, "http://", 7) != 0)
        return tr_fail(error, TR_ERROR_ARGUMENT, "HF_ENDPOINT: '%s' is not an address; one begins with https://", from);
    size_t size = strlen(from);
    while (size && from[size - 1] == '/')
        size--;
    return trim(from, size, endpoint, error);
}
