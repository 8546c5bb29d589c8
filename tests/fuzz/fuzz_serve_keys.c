/* libFuzzer target: a file of API keys. What is accepted lets its keys in, and no others. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory_file.h"
#include "serve/keys.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static unsigned answered;

const char *request_address(const request *r)
{
    (void)r;
    return "192.0.2.1";
}

void answer_header(request *r, const char *name, const char *value)
{
    (void)r, (void)name, (void)value;
}

void answer_error(request *r, unsigned status, const char *format, ...)
{
    (void)r, (void)format;
    answered = status;
}

void cli_warn(const cli_settings *settings, const char *format, ...)
{
    (void)settings, (void)format;
}

/* Whether the key of a line is let in. */
static bool is_known(keys *k, const char *line, size_t size)
{
    static const route closed = {.path = "/"};
    char key[300] = "";
    const size_t begin = strspn(line, " \t\r\f\v");
    size_t end = begin;
    while (end < size && !strchr(" \t\r\f\v\n", line[end]))
        end++;
    if (end == begin || line[begin] == '#')
        return true;
    memcpy(key, line + begin, end - begin < sizeof key ? end - begin : sizeof key - 1);
    request r = {.route = &closed, .key = key};
    answered = 0;
    return keys_know(k, &r) && (keys_allow(k, &r) || answered == 429);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    cli_settings settings = {.api_keys = memory_file(data, size), .rate_limit = 1};
    const server s = {.settings = &settings};
    tr_error error;
    keys *const k = keys_create(&s, &error);
    if (!k && (strchr(error.message, '\n') || !strstr(error.message, settings.api_keys)))
        __builtin_trap();
    char *const text = k ? malloc(size + 1) : NULL;
    if (text) {
        memcpy(text, data, size);
        text[size] = 0;
        for (char *line = text, *next; line < text + size; line = next) {
            char *const newline = memchr(line, '\n', (size_t)(text + size - line));
            next = newline ? newline + 1 : text + size;
            if (!is_known(k, line, (size_t)((newline ? newline : next) - line)))
                __builtin_trap();
        }
        request r = {.route = &(const route){.path = "/"}, .key = "\x01"};
        if (keys_know(k, &r))
            __builtin_trap();
    }
    free(text);
    keys_free(k);
    return 0;
}
