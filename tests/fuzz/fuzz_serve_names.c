/* libFuzzer target: the name of a document, and after a NUL the code or name of a language, as clients send them. */
#include <stdlib.h>
#include <string.h>

#include "serve/file_names.h"
#include "serve/languages.h"
#include "util/utf8.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* A header: one line of ASCII, with the quotes around the first name alone. */
static void check_disposition(const char *name)
{
    tr_buffer out = {0};
    size_t quotes = 0;
    if (!file_name_disposition(name, &out))
        abort();
    for (const char *c = out.data; *c; c++) {
        quotes += *c == '"';
        if (*c < ' ' || *c > '~')
            __builtin_trap();
    }
    if (quotes != 2)
        __builtin_trap();
    tr_buffer_free(&out);
}

static void check_name(const char *given, const char *language)
{
    char *const name = file_name_clean(given), *const translated = name ? file_name_translated(name, language) : NULL;
    if (!name || !translated)
        abort();
    if (!*name || strlen(name) > 255 || *name == '.' || strpbrk(name, "/\\:\n\r") || !tr_utf8_valid(name, strlen(name)) ||
        !strstr(translated, language) || strchr(file_name_type(translated), '\n'))
        __builtin_trap();
    check_disposition(translated);
    free(name);
    free(translated);
}

static void check_language(const char *given, char code[LANGUAGE])
{
    char again[LANGUAGE];
    memcpy(code, "en", 3);
    if (!language_of(given, code)) {
        memcpy(code, "en", 3);
        return;
    }
    if (!*code || strlen(code) >= LANGUAGE ||
        strspn(code, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != strlen(code))
        __builtin_trap();
    if (!language_of(code, again) || strcmp(code, again) != 0 || !language_same(code, again) || !*language_name(code) ||
        !*language_chinese_name(code))
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char *const text = malloc(size + 2), code[LANGUAGE];
    if (!text)
        abort();
    if (size)
        memcpy(text, data, size);
    text[size] = text[size + 1] = 0;
    const size_t length = strlen(text);
    check_language(length < size ? text + length + 1 : text, code);
    check_name(text, code);
    free(text);
    return 0;
}
