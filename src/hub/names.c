#include "hub/names.h"

#include "util/utf8.h"

#include <stdio.h>
#include <string.h>

enum { MAX_PART = 200 }; /* leaves room for ".part.tag" in the 255 bytes that file systems allow */

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

/* A word of a repository's name, as the hub allows them. */
static bool take_word(const char *text, size_t size, char out[TR_HUB_NAME])
{
    if (size == 0 || size >= TR_HUB_NAME || text[0] == '.' || text[0] == '-')
        return false;
    for (size_t i = 0; i < size; i++)
        if (!is_plain(text[i]))
            return false;
    memcpy(out, text, size);
    out[size] = 0;
    return true;
}

tr_status tr_hub_parse(const char *text, tr_hub_name *name, tr_error *error)
{
    *name = (tr_hub_name){.revision = TR_HUB_DEFAULT_REVISION};
    const char *at = strncmp(text, "hf:", 3) == 0 ? text + 3 : text;
    const size_t owner = strcspn(at, "/@");
    const size_t repository = at[owner] == '/' ? strcspn(at + owner + 1, "@") : 0;
    if (!take_word(at, owner, name->owner) || !take_word(at + owner + 1, repository, name->name))
        return tr_fail(error, TR_ERROR_ARGUMENT, "%s: is not the name of a repository, OWNER/NAME or OWNER/NAME@REVISION",
                       text);
    const char *rest = at + owner + 1 + repository;
    if (*rest && (strlen(rest + 1) >= TR_HUB_REVISION || !tr_hub_safe(rest + 1)))
        return tr_fail(error, TR_ERROR_ARGUMENT, "%s: what follows the @ is not the name of a branch, tag or commit", text);
    if (*rest)
        snprintf(name->revision, sizeof name->revision, "%s", rest + 1);
    const bool usual = strcmp(name->revision, TR_HUB_DEFAULT_REVISION) == 0;
    snprintf(name->label, sizeof name->label, "%s/%s%s%s", name->owner, name->name, usual ? "" : "@",
             usual ? "" : name->revision);
    return TR_OK;
}

static bool ends_with(const char *part, size_t size, const char *end)
{
    const size_t n = strlen(end);
    return size >= n && memcmp(part + size - n, end, n) == 0;
}

static bool safe_part(const char *part, size_t size)
{
    if (size == 0 || size > MAX_PART || (size == 1 && part[0] == '.') || (size == 2 && memcmp(part, "..", 2) == 0))
        return false;
    return strncmp(part, ".translate-pull", 15) != 0 && !ends_with(part, size, ".part") && !ends_with(part, size, ".tag");
}

bool tr_hub_safe(const char *path)
{
    const size_t size = strlen(path);
    if (size >= 1024 || !tr_utf8_valid(path, size))
        return false;
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)path[i] < 0x20 || path[i] == 0x7f || path[i] == '\\')
            return false;
    for (const char *part = path;; part++) {
        const size_t length = strcspn(part, "/");
        if (!safe_part(part, length))
            return false;
        part += length;
        if (!*part)
            return true;
    }
}

bool tr_hub_encode(tr_buffer *out, const char *text, bool keep_slashes)
{
    static const char digits[] = "0123456789ABCDEF";
    for (; *text; text++) {
        const unsigned char byte = (unsigned char)*text;
        const char code[] = {'%', digits[byte >> 4], digits[byte & 15]};
        const bool as_it_is = is_plain(*text) || (keep_slashes && *text == '/');
        if (!tr_buffer_append(out, as_it_is ? text : code, as_it_is ? 1 : sizeof code))
            return false;
    }
    return true;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool tr_hub_decode(tr_buffer *out, const char *text)
{
    while (*text) {
        const int high = *text == '%' ? hex_digit(text[1]) : -1, low = high < 0 ? -1 : hex_digit(text[2]);
        const char byte = (char)(high * 16 + low);
        if (!tr_buffer_append(out, low < 0 ? text : &byte, 1))
            return false;
        text += low < 0 ? 1 : 3;
    }
    return true;
}
