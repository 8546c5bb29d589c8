#define _GNU_SOURCE
#include "util/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

tr_status tr_path_join(char path[TR_PATH], const char *folder, const char *name, tr_error *error)
{
    const int n = snprintf(path, TR_PATH, "%s/%s", folder, name);
    if (n > 0 && n < TR_PATH)
        return TR_OK;
    return tr_fail(error, TR_ERROR_IO, "%.200s/%.200s: %s", folder, name, strerror(ENAMETOOLONG));
}

tr_status tr_path_look(const char *path, tr_path_kind *kind, tr_error *error)
{
    struct stat st;
    *kind = TR_PATH_NOTHING;
    if (stat(path, &st) == 0)
        *kind = S_ISREG(st.st_mode) ? TR_PATH_FILE : S_ISDIR(st.st_mode) ? TR_PATH_DIRECTORY : TR_PATH_OTHER;
    else if (errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG) /* no file can have a name that is too long */
        return tr_fail(error, errno == ENOMEM ? TR_ERROR_MEMORY : TR_ERROR_IO, "%s: %s", path, strerror(errno));
    return TR_OK;
}

bool tr_program_folder(char *folder, size_t size)
{
    const ssize_t n = readlink("/proc/self/exe", folder, size - 1);
    if (n <= 0 || (size_t)n >= size - 1)
        return false;
    folder[n] = 0;
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = 0;
    return slash != NULL;
}

bool tr_file_runs(const char *path)
{
    return access(path, X_OK) == 0;
}
