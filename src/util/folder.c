#define _GNU_SOURCE
#include "util/folder.h"

#include "util/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

/* Makes all folders above path. */
static tr_status make_above(const char *path, tr_error *error)
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
    const tr_status status = make_above(path, error);
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

/* Adds the entries of a folder, and closes it. */
static tr_status list_names(DIR *folder, const char *path, tr_folder_names *names, tr_error *error)
{
    const struct dirent *entry;
    bool memory = true;
    errno = 0;
    while (memory && (entry = readdir(folder))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            memory = add_name(names, entry->d_name);
        errno = 0;
    }
    const int problem = errno;
    closedir(folder);
    if (!memory)
        return tr_fail_memory(error, path);
    errno = problem;
    if (problem)
        return fail_errno(error, path, "cannot be read");
    if (names->count)
        qsort(names->names, names->count, sizeof *names->names, by_bytes);
    return TR_OK;
}

tr_status tr_folder_list(const char *path, tr_folder_names *names, tr_error *error)
{
    *names = (tr_folder_names){0};
    DIR *folder = opendir(path);
    if (!folder)
        return errno == ENOENT ? TR_OK : fail_errno(error, path, "cannot be read");
    return list_names(folder, path, names, error);
}

tr_status tr_folder_entries(const tr_folder *folder, tr_folder_names *names, tr_error *error)
{
    *names = (tr_folder_names){0};
    const int again =
        openat(folder->descriptor, ".",
               O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* a descriptor of its own, since readdir() moves its position */
    DIR *opened = again < 0 ? NULL : fdopendir(again);
    if (opened)
        return list_names(opened, folder->path, names, error);
    const tr_status status = fail_errno(error, folder->path, "cannot be read");
    if (again >= 0)
        close(again);
    return status;
}

void tr_folder_names_free(tr_folder_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
    *names = (tr_folder_names){0};
}

/* ----------------------------------------------------------------------------------------------------- by descriptors */

enum { FOLDER = O_RDONLY | O_DIRECTORY | O_CLOEXEC };

tr_status tr_folder_open(tr_folder *folder, const char *path, tr_error *error)
{
    const int size = snprintf(folder->path, sizeof folder->path, "%s", path);
    folder->descriptor = size < TR_PATH ? open(path, FOLDER) : -1;
    if (size >= TR_PATH)
        return tr_fail(error, TR_ERROR_IO, "%.400s: %s", path, strerror(ENAMETOOLONG));
    return folder->descriptor >= 0 || errno == ENOENT ? TR_OK : fail_errno(error, path, "cannot be read");
}

void tr_folder_close(tr_folder *folder)
{
    if (folder->descriptor >= 0)
        close(folder->descriptor);
    folder->descriptor = -1;
}

/* Replaces *descriptor by that of the folder `name` in it, or -1 if there is none; closes the old one. path: for messages.
 */
static tr_status enter_one(int *descriptor, const char *name, const char *path, bool make, tr_error *error)
{
    struct stat st;
    const int above = *descriptor;
    const bool failed = make && mkdirat(above, name, 0777) < 0 && errno != EEXIST;
    int problem = failed ? errno : 0;
    *descriptor = failed ? -1 : openat(above, name, FOLDER | O_NOFOLLOW);
    if (*descriptor < 0 && !failed)
        problem = errno;
    const bool there = problem && fstatat(above, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    close(above);
    if (there && S_ISLNK(st.st_mode))
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "%s: is a symbolic link, which is not followed here", path);
    if (!problem || (!make && (problem == ENOENT || problem == ENOTDIR)))
        return TR_OK;
    errno = problem;
    return fail_errno(error, path, make ? "cannot be made" : "cannot be read");
}

tr_status tr_folder_enter(tr_folder *inner, const tr_folder *folder, const char *name, bool make, tr_error *error)
{
    char part[NAME_MAX + 1];
    tr_status status = tr_path_join(inner->path, folder->path, name, error);
    const size_t before = strlen(folder->path) + 1;
    inner->descriptor = -1;
    if (status != TR_OK)
        return status;
    inner->descriptor = openat(folder->descriptor, ".", FOLDER);
    if (inner->descriptor < 0)
        return fail_errno(error, folder->path, "cannot be read");
    for (const char *at = name; status == TR_OK && *at && inner->descriptor >= 0; at += *at == '/') {
        const size_t size = strcspn(at, "/");
        const size_t end = before + (size_t)(at + size - name);
        const char ending = inner->path[end];
        inner->path[end] = 0;
        if (size < sizeof part) {
            snprintf(part, sizeof part, "%.*s", (int)size, at);
            status = enter_one(&inner->descriptor, part, inner->path, make, error);
        } else {
            tr_folder_close(inner);
            status = tr_fail(error, TR_ERROR_IO, "%s: %s", inner->path, strerror(ENAMETOOLONG));
        }
        inner->path[end] = ending;
        at += size;
    }
    return status;
}

static bool measure(int folder, int depth, tr_folder_sum *sum);

/* Returns false with errno set on failure. */
static bool measure_entry(int folder, const char *name, int depth, tr_folder_sum *sum)
{
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT; /* removed meanwhile */
    const size_t before = sum->count;
    if (S_ISDIR(st.st_mode) && depth < MAX_DEPTH) {
        const int inner = openat(folder, name, FOLDER | O_NOFOLLOW);
        if (inner < 0 ? errno != ENOENT && errno != ENOTDIR : !measure(inner, depth + 1, sum))
            return false;
    }
    sum->count += sum->count == before; /* a folder counts only if it is empty */
    if (S_ISREG(st.st_mode))
        sum->bytes += (uint64_t)st.st_size;
    return true;
}

/* Adds all that is in a folder, and closes it. Returns false with errno set on failure. */
static bool measure(int folder, int depth, tr_folder_sum *sum)
{
    const struct dirent *entry;
    DIR *opened = fdopendir(folder);
    bool good = opened != NULL;
    while (good && (errno = 0, entry = readdir(opened)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            good = measure_entry(folder, entry->d_name, depth, sum);
    const int problem = errno;
    if (opened)
        closedir(opened);
    else
        close(folder);
    errno = problem;
    return good && !problem;
}

tr_status tr_folder_measure(const tr_folder *folder, tr_folder_sum *sum, tr_error *error)
{
    *sum = (tr_folder_sum){0};
    const int again = openat(folder->descriptor, ".", FOLDER);
    if (again < 0 || !measure(again, 0, sum))
        return fail_errno(error, folder->path, "cannot be read");
    return TR_OK;
}

/* Opens the folder of the last part of name, and sets *last to that part. */
static tr_status enter_above(tr_folder *inner, const tr_folder *folder, const char *name, const char **last, tr_error *error)
{
    char above[TR_PATH];
    const char *slash = strrchr(name, '/');
    *last = slash ? slash + 1 : name;
    inner->descriptor = -1;
    if (slash && slash - name >= TR_PATH)
        return tr_fail(error, TR_ERROR_IO, "%.200s: %s", name, strerror(ENAMETOOLONG));
    snprintf(above, sizeof above, "%.*s", slash ? (int)(slash - name) : 0, name);
    return tr_folder_enter(inner, folder, above, false, error);
}

static tr_status fail_inside(tr_error *error, const tr_folder *folder, const char *name, const char *what)
{
    char path[TR_PATH];
    snprintf(path, sizeof path, "%.2000s/%.1000s", folder->path, name);
    return fail_errno(error, path, what);
}

/* Opens the folder that contains name, sets *last to its last part, and *found and *size if that is a regular file. */
static tr_status find_file(tr_folder *above, const tr_folder *folder, const char *name, const char **last, uint64_t *size,
                           bool *found, tr_error *error)
{
    struct stat st;
    *found = false;
    *size = 0;
    const tr_status status = enter_above(above, folder, name, last, error);
    if (status != TR_OK || above->descriptor < 0)
        return status == TR_ERROR_UNSUPPORTED ? TR_OK : status; /* beyond a link: not in this folder */
    if (fstatat(above->descriptor, *last, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT || errno == ENAMETOOLONG ? TR_OK : fail_inside(error, folder, name, "cannot be looked at");
    *found = S_ISREG(st.st_mode);
    *size = *found ? (uint64_t)st.st_size : 0;
    return TR_OK;
}

tr_status tr_folder_size(const tr_folder *folder, const char *name, uint64_t *size, bool *found, tr_error *error)
{
    tr_folder above;
    const char *last;
    const tr_status status = find_file(&above, folder, name, &last, size, found, error);
    tr_folder_close(&above);
    return status;
}

static tr_status read_to_end(int file, const tr_folder *folder, const char *name, tr_buffer *content, tr_error *error)
{
    enum { BLOCK = 1 << 16 };
    for (;;) {
        if (!tr_buffer_reserve(content, BLOCK))
            return tr_fail_memory(error, name);
        const ssize_t n = read(file, content->data + content->size, BLOCK);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_inside(error, folder, name, "cannot be read");
        content->size += (size_t)n;
        content->data[content->size] = 0;
        if (n == 0)
            return TR_OK;
    }
}

tr_status tr_folder_read(const tr_folder *folder, const char *name, tr_buffer *content, bool *found, tr_error *error)
{
    tr_folder above;
    const char *last;
    uint64_t size;
    int file;
    *content = (tr_buffer){0};
    tr_status status = find_file(&above, folder, name, &last, &size, found, error);
    if (status == TR_OK && *found) {
        status = tr_open_regular(&file, above.descriptor, last, O_RDONLY | O_NOFOLLOW, 0, error);
        if (status == TR_OK) {
            status = read_to_end(file, folder, name, content, error);
            close(file);
        } else {
            status = tr_fail_in(error, status, above.path);
        }
    }
    tr_folder_close(&above);
    return status;
}

tr_status tr_folder_rename(const tr_folder *folder, const char *from, const char *to, tr_error *error)
{
    tr_folder above;
    const char *old;
    const char *slash = strrchr(to, '/');
    tr_status status = enter_above(&above, folder, from, &old, error);
    errno = ENOENT;
    if (status == TR_OK &&
        (above.descriptor < 0 || renameat(above.descriptor, old, above.descriptor, slash ? slash + 1 : to) < 0))
        status = fail_inside(error, folder, to, "cannot write");
    tr_folder_close(&above);
    return status;
}

tr_status tr_folder_unlink(const tr_folder *folder, const char *name, tr_folder_sum *removed, tr_error *error)
{
    struct stat st;
    tr_folder inner;
    const char *last;
    tr_status status = enter_above(&inner, folder, name, &last, error);
    if (status == TR_ERROR_UNSUPPORTED)
        return TR_OK; /* beyond a link: not in this folder */
    const bool looked = inner.descriptor >= 0 && fstatat(inner.descriptor, last, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (inner.descriptor >= 0 && (!looked || (!S_ISDIR(st.st_mode) && unlinkat(inner.descriptor, last, 0) < 0))) {
        if (errno != ENOENT)
            status = fail_inside(error, folder, name, "cannot be removed");
    } else if (looked && !S_ISDIR(st.st_mode)) {
        removed->bytes += S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
        removed->count++;
    }
    tr_folder_close(&inner);
    return status;
}

void tr_folder_prune(const tr_folder *folder, const char *name)
{
    char left[TR_PATH];
    bool removed = snprintf(left, sizeof left, "%s", name) < TR_PATH;
    while (removed && *left) {
        tr_folder inner;
        const char *last;
        removed = enter_above(&inner, folder, left, &last, NULL) == TR_OK && inner.descriptor >= 0 &&
                  unlinkat(inner.descriptor, last, AT_REMOVEDIR) == 0;
        tr_folder_close(&inner);
        left[last > left + 1 ? last - left - 1 : 0] = 0;
    }
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

/* Whether the open lock file still has its name. The holder of a lock removes the file before it frees the lock, so that
 * another process may have opened the removed file. Returns false with errno 0 if the name is gone or names another file,
 * otherwise false with errno. */
static bool still_named(int descriptor, int folder, const char *name)
{
    struct stat a, b;
    if (fstat(descriptor, &a) < 0)
        return false;
    if (fstatat(folder, name, &b, AT_SYMLINK_NOFOLLOW) < 0) {
        errno = errno == ENOENT ? 0 : errno;
        return false;
    }
    errno = 0;
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

tr_status tr_lock_try(tr_lock *lock, const tr_folder *folder, const char *name, bool *taken, tr_error *error)
{
    int descriptor;
    *taken = false;
    *lock = (tr_lock){-1, folder, name};
    tr_status status = tr_open_regular(&descriptor, folder->descriptor, name, O_RDWR | O_CREAT | O_NOFOLLOW, 0666, error);
    if (status != TR_OK)
        return tr_fail_in(error, status, folder->path);
    *taken = flock(descriptor, LOCK_EX | LOCK_NB) == 0 && still_named(descriptor, folder->descriptor, name);
    if (*taken) {
        lock->descriptor = descriptor;
        return TR_OK;
    }
    if (errno && errno != EWOULDBLOCK && errno != EINTR)
        status = fail_errno(error, folder->path, "cannot be locked");
    close(descriptor);
    return status;
}

void tr_lock_release(tr_lock *lock)
{
    if (lock->descriptor < 0)
        return;
    unlinkat(lock->folder->descriptor, lock->name, 0);
    close(lock->descriptor);
    lock->descriptor = -1;
}
