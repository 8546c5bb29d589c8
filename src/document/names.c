/* The names of the formats, which the program knows without loading them. */
#include "document/formats.h"
#include "document/module.h"

#include <string.h>

enum { MAX_EXTENSION = 16 };

enum {
    ZIPPED = TR_DOCUMENT_ZIPPED,
    DOUBTS = TR_DOCUMENT_DOUBTS,
    COLUMNS = TR_DOCUMENT_COLUMNS,
    KEYS = TR_DOCUMENT_KEYS,
    WIDTH = TR_DOCUMENT_WIDTH,
    BILINGUAL = TR_DOCUMENT_BILINGUAL,
    LIMITED = TR_DOCUMENT_LIMITED
};

#define NAME(name, extensions, traits) {#name, extensions, traits},
static const struct {
    const char *name, *extensions;
    unsigned traits;
} names[] = {TR_DOCUMENT_FORMATS(NAME)};
enum { NAMES = sizeof names / sizeof *names };

const char *tr_document_format_name(size_t index)
{
    return index < NAMES ? names[index].name : NULL;
}

const char *tr_document_find_format(const char *path)
{
    char extension[MAX_EXTENSION] = " ";
    const char *dot = path ? strrchr(path, '.') : NULL;
    const size_t size = dot && !strchr(dot, '/') ? strlen(dot + 1) : 0;
    if (!size || size > MAX_EXTENSION - 3)
        return NULL;
    for (size_t i = 0; i < size; i++)
        extension[i + 1] = (char)(tr_is_ascii_capital(dot[i + 1]) ? dot[i + 1] | 0x20 : dot[i + 1]);
    extension[size + 1] = ' ';
    for (size_t i = 0; i < NAMES; i++)
        if (strstr(names[i].extensions, extension))
            return names[i].name;
    return NULL;
}

unsigned tr_document_traits(const char *format)
{
    for (size_t i = 0; format && i < NAMES; i++)
        if (strcmp(names[i].name, format) == 0)
            return names[i].traits;
    return 0;
}
