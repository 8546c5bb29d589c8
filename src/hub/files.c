/* Lists of files and their digests. */
#include "hub/cache.h"

#include <stdlib.h>
#include <string.h>

bool tr_hub_files_add(tr_hub_files *files, const tr_hub_file *file)
{
    if (files->count == files->capacity) {
        const size_t capacity = files->capacity ? files->capacity * 2 : 16;
        tr_hub_file *larger = capacity > SIZE_MAX / sizeof *larger ? NULL : realloc(files->items, capacity * sizeof *larger);
        if (!larger)
            return false;
        files->items = larger;
        files->capacity = capacity;
    }
    const size_t size = strlen(file->name) + 1;
    char *name = malloc(size);
    if (!name)
        return false;
    files->items[files->count] = *file;
    files->items[files->count++].name = memcpy(name, file->name, size);
    return true;
}

void tr_hub_files_free(tr_hub_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->items[i].name);
    free(files->items);
    *files = (tr_hub_files){0};
}

const tr_hub_file *tr_hub_files_find(const tr_hub_files *files, const char *name)
{
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(files->items[i].name, name) == 0)
            return &files->items[i];
    return NULL;
}

bool tr_hub_set_digest(tr_hub_file *file, const char *hex)
{
    const size_t size = strlen(hex);
    if ((size != 64 && size != 40) || strspn(hex, "0123456789abcdefABCDEF") != size)
        return false;
    for (size_t i = 0; i <= size; i++)
        file->hex[i] = hex[i] >= 'A' && hex[i] <= 'F' ? (char)(hex[i] - 'A' + 'a') : hex[i];
    file->digest = size == 64 ? TR_HUB_SHA256 : TR_HUB_GIT_SHA1;
    return true;
}
