#define _GNU_SOURCE
#include "util/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { MAX_DEPTH = 32 };

static tr_status fail_errno(tr_error *error, const char *path, const char *what)
{
    return tr_fail(error, errno == ENOMEM ? TR_ERROR_MEMORY : TR_ERROR_IO, "%s: %s: %s", path, what, strerror(errno));
}

tr_status tr_path_join(char path[TR_PATH], const char *folder, const char *name, tr_error *error)
{
    const int n = snprintf(path, TR_PATH, "%s/%s", folder, name);
    if (n > 0 && n < TR_PATH)
        return TR_OK;
    return tr_fail(error, TR_ERROR_IO, "%.200s/%.200s: %s", folder, name, strerror(ENAMETOOLONG));
}

/* ------------------------------------------------------------------------------------------------------------- making */

static tr_status make_one(const char *path, tr_error *error)
{
    struct stat st;
    if (mkdir(path, 0777) == 0)
        return TR_OK;
    const int problem = errno;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return TR_OK;
    errno = problem == EEXIST ? ENOTDIR : problem;
    return fail_errno(error, path, "cannot be made");
}

tr_status tr_folder_make_above(const char *path, tr_error *error)
{
    char part[TR_PATH];
    for (size_t i = 1; path[i]; i++) {
        if (path[i] != '/' || path[i - 1] == '/')
            continue;
        if (i >= sizeof part)
            return tr_fail(error, TR_ERROR_IO, "%.400s: %s", path, strerror(ENAMETOOLONG));
        memcpy(part, path, i);
        part[i] = 0;
        const tr_status status = make_one(part, error);
        if (status != TR_OK)
            return status;
    }
    return TR_OK;
}

tr_status tr_folder_make(const char *path, tr_error *error)
{
    const tr_status status = tr_folder_make_above(path, error);
    return status == TR_OK ? make_one(path, error) : status;
}

void tr_folder_drop_empty(const char *path)
{
    rmdir(path);
}

/* ------------------------------------------------------------------------------------------------------------ listing */

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add_name(tr_folder_names *names, const char *name)
{
    if ((names->count & (names->count + 1)) == 0) { /* room for 1, 3, 7, 15, ... */
        char **larger = realloc(names->names, (names->count * 2 + 1) * sizeof *larger);
        if (!larger)
            return false;
        names->names = larger;
    }
    names->names[names->count] = strdup(name);
    return names->names[names->count] && ++names->count;
}

tr_status tr_folder_list(const char *path, tr_folder_names *names, tr_error *error)
{
    *names = (tr_folder_names){0};
    DIR *folder = opendir(path);
    if (!folder)
        return errno == ENOENT ? TR_OK : fail_errno(error, path, "cannot be read");
    const struct dirent *entry;
    bool memory = true;
    while (memory && (entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            memory = add_name(names, entry->d_name);
    closedir(folder);
    if (!memory)
        return tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", path);
    if (names->count)
        qsort(names->names, names->count, sizeof *names->names, by_bytes);
    return TR_OK;
}

void tr_folder_names_free(tr_folder_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
    *names = (tr_folder_names){0};
}

/* ------------------------------------------------------------------------------------------------------------ walking */

typedef struct walk {
    uint64_t bytes;
    bool remove;
    tr_error *error;
} walk;

static tr_status walk_folder(walk *w, const char *path, int depth);

static tr_status walk_entry(walk *w, const char *path, int depth)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? TR_OK : fail_errno(w->error, path, "cannot be read");
    if (S_ISDIR(st.st_mode))
        return walk_folder(w, path, depth + 1);
    if (S_ISREG(st.st_mode))
        w->bytes += (uint64_t)st.st_size;
    if (w->remove && unlink(path) < 0 && errno != ENOENT)
        return fail_errno(w->error, path, "cannot be removed");
    return TR_OK;
}

static tr_status walk_folder(walk *w, const char *path, int depth)
{
    if (depth >= MAX_DEPTH)
        return tr_fail(w->error, TR_ERROR_IO, "%s: is nested too deep", path);
    tr_folder_names names;
    tr_status status = tr_folder_list(path, &names, w->error);
    char *inner = malloc(TR_PATH); /* not on the stack, once a level */
    if (status == TR_OK && !inner)
        status = tr_fail(w->error, TR_ERROR_MEMORY, "%s: out of memory", path);
    for (size_t i = 0; status == TR_OK && i < names.count; i++) {
        status = tr_path_join(inner, path, names.names[i], w->error);
        if (status == TR_OK)
            status = walk_entry(w, inner, depth);
    }
    tr_folder_names_free(&names);
    free(inner);
    if (status == TR_OK && w->remove && rmdir(path) < 0 && errno != ENOENT)
        return fail_errno(w->error, path, "cannot be removed");
    return status;
}

uint64_t tr_folder_bytes(const char *path)
{
    walk w = {0};
    walk_folder(&w, path, 0);
    return w.bytes;
}

tr_status tr_folder_remove(const char *path, tr_error *error)
{
    walk w = {.remove = true, .error = error};
    return walk_folder(&w, path, 0);
}

bool tr_folder_space(const char *path, uint64_t *bytes)
{
    char above[TR_PATH];
    struct statvfs fs;
    if (snprintf(above, sizeof above, "%s", path) >= (int)sizeof above)
        return false;
    while (statvfs(above, &fs) < 0) {
        char *slash = strrchr(above, '/');
        if (errno != ENOENT || strcmp(above, ".") == 0 || slash == above)
            return false;
        if (slash)
            *slash = 0;
        else
            snprintf(above, sizeof above, ".");
    }
    const uint64_t blocks = fs.f_bavail, size = fs.f_frsize ? fs.f_frsize : fs.f_bsize;
    *bytes = size && blocks > UINT64_MAX / size ? UINT64_MAX : blocks * size;
    return true;
}

/* -------------------------------------------------------------------------------------------------------------- locks */

/* A holder removes the file while it still has the lock: whoever opened it before then must look again. */
static bool still_named(int descriptor, const char *path)
{
    struct stat a, b;
    return fstat(descriptor, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

tr_status tr_lock_try(tr_lock *lock, const char *path, bool *taken, tr_error *error)
{
    *taken = false;
    *lock = (tr_lock){.descriptor = -1};
    const int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0)
        return fail_errno(error, path, "cannot write");
    const bool locked = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    tr_status status = TR_OK;
    if (!locked && errno != EWOULDBLOCK && errno != EINTR)
        status = fail_errno(error, path, "cannot be locked");
    if (locked && still_named(descriptor, path)) {
        snprintf(lock->path, sizeof lock->path, "%s", path);
        lock->descriptor = descriptor;
        *taken = true;
    } else {
        close(descriptor);
    }
    return status;
}

void tr_lock_release(tr_lock *lock)
{
    if (lock->descriptor < 0)
        return;
    unlink(lock->path);
    close(lock->descriptor);
    lock->descriptor = -1;
}
