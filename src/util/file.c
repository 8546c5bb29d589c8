#define _GNU_SOURCE
#include "util/file.h"

#include "util/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { BUFFER = 1 << 18, TEMPORARY = 40, LINKS = 40 };

static tr_status fail_errno(tr_error *error, const char *path, const char *what)
{
    return tr_fail(error, errno == ENOMEM ? TR_ERROR_MEMORY : TR_ERROR_IO, "%s: %s%s%s", path, what, *what ? ": " : "",
                   strerror(errno));
}

static tr_status read_whole(int descriptor, size_t size, unsigned char *to, const char *path, tr_error *error)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n = read(descriptor, to + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(error, path, "cannot read");
        if (n == 0)
            return tr_fail(error, TR_ERROR_IO, "%s: became shorter while it was read", path);
        done += (size_t)n;
    }
    return TR_OK;
}

/* Page-aligned memory, zeroed by the system. MAP_FAILED without memory. */
static void *map_memory(size_t size)
{
    void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data != MAP_FAILED)
        tr_huge_pages(data, size);
    return data;
}

tr_status tr_file_allocate(size_t size, tr_file *file, tr_error *error)
{
    *file = (tr_file){0};
    void *data = map_memory(size);
    if (data == MAP_FAILED)
        return tr_fail(error, TR_ERROR_MEMORY, "out of memory");
    *file = (tr_file){data, size, false};
    return TR_OK;
}

/* Returns the descriptor of a regular file, or -1 with errno: EISDIR; ENXIO: not a regular file; ELOOP: a link, with
 * O_NOFOLLOW; EMLINK: has another name, for writing. */
static int open_regular(int folder, const char *path, int flags, unsigned mode)
{
    struct stat st;
    const int descriptor = openat(folder, path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode);
    if (descriptor < 0)
        return -1;
    int problem = fstat(descriptor, &st) < 0 ? errno : S_ISDIR(st.st_mode) ? EISDIR : S_ISREG(st.st_mode) ? 0 : ENXIO;
    if (!problem && (flags & O_ACCMODE) != O_RDONLY && st.st_nlink > 1)
        problem = EMLINK;
    if (!problem)
        return descriptor;
    close(descriptor);
    if (flags & O_EXCL) /* just made by this call */
        unlinkat(folder, path, 0);
    errno = problem;
    return -1;
}

static tr_status fail_open(tr_error *error, const char *path, int flags)
{
    const char *what = (flags & O_ACCMODE) == O_RDONLY ? "" : "cannot write";
    switch (errno) {
    case EISDIR: return tr_fail(error, TR_ERROR_IO, "%s: is a directory", path);
    case ENXIO: return tr_fail(error, TR_ERROR_IO, "%s: is not a regular file", path);
    case EMLINK: return tr_fail(error, TR_ERROR_IO, "%s: is a hard link, the file has another name too", path);
    case ELOOP:
        if (flags & O_NOFOLLOW)
            return tr_fail(error, TR_ERROR_IO, "%s: is a symbolic link, which is not followed here", path);
    }
    return fail_errno(error, path, what);
}

tr_status tr_open_regular(int *descriptor, int folder, const char *path, int flags, unsigned mode, tr_error *error)
{
    *descriptor = open_regular(folder, path, flags, mode);
    return *descriptor >= 0 ? TR_OK : fail_open(error, path, flags);
}

/* Maps or reads an open file. */
static tr_status load_file(int descriptor, const char *path, tr_load load, tr_file *file, tr_error *error)
{
    struct stat st;
    if (fstat(descriptor, &st) < 0)
        return fail_errno(error, path, "");
    if ((uint64_t)st.st_size > SIZE_MAX / 2)
        return tr_fail(error, TR_ERROR_MEMORY, "%s: too large for this machine", path);
    if (st.st_size == 0)
        return TR_OK;
    const size_t size = (size_t)st.st_size;
    void *data = load == TR_LOAD_MAP ? mmap(NULL, size, PROT_READ, MAP_SHARED, descriptor, 0) : map_memory(size);
    if (data == MAP_FAILED)
        return fail_errno(error, path, load == TR_LOAD_MAP ? "cannot map" : "cannot load");
    *file = (tr_file){data, size, load == TR_LOAD_MAP};
    return load == TR_LOAD_COPY ? read_whole(descriptor, size, data, path, error) : TR_OK;
}

tr_status tr_file_find(const char *path, tr_load load, tr_file *file, bool *found, tr_error *error)
{
    *file = (tr_file){0};
    const int descriptor = open_regular(AT_FDCWD, path, O_RDONLY, 0);
    *found = descriptor >= 0;
    if (!*found)
        return errno == ENOENT || errno == ENOTDIR ? TR_OK : fail_open(error, path, O_RDONLY);
    const tr_status status = load_file(descriptor, path, load, file, error);
    close(descriptor);
    if (status != TR_OK)
        tr_file_close(file);
    return status;
}

tr_status tr_file_open(const char *path, tr_load load, tr_file *file, tr_error *error)
{
    bool found;
    const tr_status status = tr_file_find(path, load, file, &found, error);
    return status == TR_OK && !found ? fail_errno(error, path, "") : status;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

tr_status tr_file_is_named(int descriptor, const char *path, bool *named, tr_error *error)
{
    struct stat ours, there;
    *named = false;
    if (fstat(descriptor, &ours) < 0)
        return fail_errno(error, path, "");
    if (lstat(path, &there) < 0)
        return errno == ENOENT ? TR_OK : fail_errno(error, path, "");
    *named = same_file(&ours, &there);
    return TR_OK;
}

/* Gives madvise() the pages that hold the bytes. */
static void advise(const void *data, size_t size, int advice)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)data & ~(page - 1);
    if (size)
        madvise((void *)begin, (uintptr_t)data + size - begin, advice);
}

void tr_pages_populate(const void *data, size_t size)
{
#ifdef MADV_POPULATE_READ
    advise(data, size, MADV_POPULATE_READ);
#else
    (void)data, (void)size;
#endif
}

void tr_pages_drop(const void *data, size_t size)
{
    advise(data, size, MADV_DONTNEED);
}

bool tr_pages_equal(const void *a, const void *b, size_t size, bool mapped)
{
    enum { PART = 1 << 20 };
    const unsigned char *x = a, *y = b;
    bool equal = true;
    for (size_t n; equal && size; x += n, y += n, size -= n) {
        n = size < PART ? size : PART;
        equal = memcmp(x, y, n) == 0;
        if (mapped) {
            tr_pages_drop(x, n);
            tr_pages_drop(y, n);
        }
    }
    return equal;
}

void tr_file_close(tr_file *file)
{
    if (file->data)
        munmap((void *)file->data, file->size);
    *file = (tr_file){0};
}

bool tr_is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ------------------------------------------------------------------------------------------------------------- target */

/* Returns the target of the link at path, relative to the same folder as path; the caller frees it. NULL with errno on
 * failure; EINVAL: path is no link. */
static char *read_link(const char *path)
{
    char link[PATH_MAX];
    const ssize_t size = readlink(path, link, sizeof link);
    const char *slash = strrchr(path, '/');
    const size_t folder = size > 0 && *link != '/' && slash ? (size_t)(slash + 1 - path) : 0;
    if (size < 0 || size == sizeof link) {
        errno = size < 0 ? errno : ENAMETOOLONG;
        return NULL;
    }
    char *target = malloc(folder + (size_t)size + 1);
    if (target) {
        memcpy(target, path, folder);
        memcpy(target + folder, link, (size_t)size);
        target[folder + (size_t)size] = 0;
    }
    return target;
}

/* Returns path with links followed one after the other; the caller frees it. NULL with errno on failure. */
static char *follow_links(const char *path)
{
    char *at = strdup(path);
    for (int links = 0; at && links <= LINKS; links++) {
        char *next = read_link(at);
        if (!next && (errno == EINVAL || errno == ENOENT))
            return at;
        const int problem = errno;
        free(at);
        at = next;
        errno = next ? ELOOP : problem;
    }
    const int problem = errno;
    free(at);
    errno = problem;
    return NULL;
}

tr_status tr_target_find(tr_target *target, const char *path, tr_error *error)
{
    struct stat named, there;
    *target = (tr_target){.path = follow_links(path)};
    if (!target->path)
        return fail_errno(error, path, "cannot write");
    const bool leads = stat(path, &named) == 0;
    const int problem = errno;
    tr_status status = TR_OK;
    target->exists = lstat(target->path, &there) == 0;
    if (leads && S_ISDIR(named.st_mode))
        status = tr_fail(error, TR_ERROR_IO, "%s: is a directory", path);
    else if (leads && !S_ISREG(named.st_mode))
        status = tr_fail(error, TR_ERROR_IO, "%s: is not a regular file", path);
    else if (!leads && problem != ENOENT) {
        errno = problem;
        status = fail_errno(error, path, "cannot write");
    } else if (leads != target->exists || (leads && !same_file(&named, &there))) /* /proc has links to deleted files */
        status = tr_fail(error, TR_ERROR_IO, "%s: leads to a file that has no name", path);
    if (status != TR_OK)
        tr_target_free(target);
    else if (target->exists)
        target->mode = there.st_mode & 0777, target->user = there.st_uid, target->group = there.st_gid;
    return status;
}

unsigned tr_target_mode(const tr_target *target)
{
    return target->own ? target->mode : target->exists ? 0600 : 0666;
}

/* Copies the access control list of another file, or removes it if that has none. Returns false if it cannot be copied. */
static bool copy_list(int descriptor, const char *from)
{
    static const char name[] = "system.posix_acl_access";
    char list[4096];
    const ssize_t size = getxattr(from, name, list, sizeof list);
    if (size > 0)
        return fsetxattr(descriptor, name, list, (size_t)size, 0) == 0;
    const bool none = size == 0 || errno == ENODATA || errno == ENOTSUP;
    fremovexattr(descriptor, name); /* inherited from the folder */
    return none;
}

/* Gives a new file the owner and the permissions of the file that it replaces. If that is not allowed, fewer users may read
 * it, never more: group and others keep only the permissions that both had. */
static void take_over(int descriptor, const struct stat *ours, const tr_target *t)
{
    unsigned mode = t->mode;
    if (ours->st_uid != t->user || ours->st_gid != t->group)
        if (fchown(descriptor, t->user, t->group) < 0 && fchown(descriptor, (uid_t)-1, t->group) < 0)
            mode &= 0700 | (mode >> 3 & mode & 7) * 011;
    if (!copy_list(descriptor, t->path))
        mode &= ~070u;
    fchmod(descriptor, mode); /* if this fails, the file stays as private as it was made */
}

tr_status tr_target_replace(const tr_target *target, int descriptor, const char *from, tr_error *error)
{
    struct stat ours, there;
    tr_target now = *target;
    bool named;
    const tr_status status = tr_file_is_named(descriptor, from, &named, error);
    if (status != TR_OK)
        return status;
    if (!named)
        return tr_fail(error, TR_ERROR_IO, "%s: another file has taken its place", from);
    if (fstat(descriptor, &ours) < 0)
        return fail_errno(error, from, "cannot write");
    if (!target->own && lstat(target->path, &there) == 0 && S_ISREG(there.st_mode)) {
        now.exists = true; /* its mode may have changed since */
        now.mode = there.st_mode & 0777, now.user = there.st_uid, now.group = there.st_gid;
    }
    if (now.exists)
        take_over(descriptor, &ours, &now);
    if (fsync(descriptor) < 0 && errno != EINVAL)
        return fail_errno(error, from, "cannot write");
    return rename(from, target->path) < 0 ? fail_errno(error, target->path, "cannot write") : TR_OK;
}

void tr_target_free(tr_target *target)
{
    free(target->path);
    *target = (tr_target){0};
}

/* ------------------------------------------------------------------------------------------------------------- output */

/* Removes the temporary file, unless another file has taken its name. */
static void remove_temporary(const tr_output *output)
{
    bool named;
    if (output->temporary && tr_file_is_named(output->descriptor, output->temporary, &named, NULL) == TR_OK && named)
        unlink(output->temporary);
}

static void output_free(tr_output *output)
{
    if (output->descriptor >= 0)
        close(output->descriptor);
    tr_target_free(&output->target);
    free(output->path);
    free(output->temporary);
    free(output->buffer);
    *output = (tr_output){.descriptor = -1};
}

/* Creates the temporary file beside the target. */
static tr_status open_temporary(tr_output *output, tr_error *error)
{
    const char *beside = output->target.path;
    const size_t size = strlen(beside) + TEMPORARY;
    char *name = malloc(size);
    output->buffer = malloc(BUFFER);
    if (!name || !output->buffer) {
        free(name);
        return tr_fail_memory(error, output->path);
    }
    /* Not mkstemp, whose files are private whatever the umask says. */
    for (unsigned attempt = 0; output->descriptor < 0 && attempt < 100; attempt++) {
        snprintf(name, size, "%s.%ld-%u.tmp", beside, (long)getpid(), attempt);
        output->descriptor = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, tr_target_mode(&output->target));
        if (output->descriptor < 0 && errno != EEXIST)
            break;
    }
    if (output->descriptor >= 0) {
        output->temporary = name;
        return TR_OK;
    }
    const tr_status status = fail_errno(error, output->path, "cannot write");
    free(name); /* no file was made: nothing to remove */
    return status;
}

/* Opens an output for target, which it owns from now on, also on failure. */
static tr_status open_output(tr_output *output, const char *path, tr_target target, tr_error *error)
{
    *output = (tr_output){.descriptor = -1, .target = target, .path = strdup(path)};
    const tr_status status = output->path && target.path ? open_temporary(output, error) : tr_fail_memory(error, path);
    if (status != TR_OK)
        output_free(output);
    return status;
}

tr_status tr_output_open(tr_output *output, const char *path, tr_error *error)
{
    tr_target target;
    *output = (tr_output){.descriptor = -1};
    const tr_status status = tr_target_find(&target, path, error);
    return status == TR_OK ? open_output(output, path, target, error) : status;
}

tr_status tr_output_open_own(tr_output *output, const char *path, unsigned mode, tr_error *error)
{
    return open_output(output, path, (tr_target){.path = strdup(path), .own = true, .mode = mode}, error);
}

/* offset: of the first byte in the file; -1: after all that is written. */
static tr_status write_all(tr_output *output, off_t offset, const void *data, size_t size, tr_error *error)
{
    const unsigned char *from = data;
    while (size) {
        const ssize_t n =
            offset < 0 ? write(output->descriptor, from, size) : pwrite(output->descriptor, from, size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(error, output->path, "cannot write");
        from += n;
        size -= (size_t)n;
        offset += offset < 0 ? 0 : n;
    }
    return TR_OK;
}

static tr_status flush(tr_output *output, tr_error *error)
{
    const size_t filled = output->filled;
    output->filled = 0;
    return write_all(output, -1, output->buffer, filled, error);
}

tr_status tr_output_write(tr_output *output, const void *data, size_t size, tr_error *error)
{
    output->written += size;
    if (size > BUFFER - output->filled) {
        const tr_status status = flush(output, error);
        if (status != TR_OK)
            return status;
        if (size >= BUFFER)
            return write_all(output, -1, data, size, error);
    }
    if (size)
        memcpy(output->buffer + output->filled, data, size);
    output->filled += size;
    return TR_OK;
}

tr_status tr_output_patch(tr_output *output, uint64_t offset, const void *data, size_t size, tr_error *error)
{
    const tr_status status = flush(output, error);
    return status == TR_OK ? write_all(output, (off_t)offset, data, size, error) : status;
}

tr_status tr_output_reread(tr_output *output, tr_output_take *take, void *argument, tr_error *error)
{
    tr_status status = flush(output, error);
    if (status == TR_OK && fsync(output->descriptor) < 0 && errno != EINVAL)
        status = fail_errno(error, output->path, "cannot write");
    if (status == TR_OK)
        posix_fadvise(output->descriptor, 0, 0,
                      POSIX_FADV_DONTNEED); /* so that it is read from the disk, not from the page cache */
    for (uint64_t at = 0; status == TR_OK && at < output->written;) {
        const uint64_t left = output->written - at;
        const ssize_t n = pread(output->descriptor, output->buffer, left < BUFFER ? (size_t)left : BUFFER, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(error, output->path, "cannot read it again");
        if (n == 0)
            return tr_fail(error, TR_ERROR_IO, "%s: is shorter than what was written", output->path);
        status = take(argument, at, output->buffer, (size_t)n, error);
        at += (uint64_t)n;
    }
    return status;
}

tr_status tr_output_commit(tr_output *output, tr_error *error)
{
    tr_status status = flush(output, error);
    if (status == TR_OK)
        status = tr_target_replace(&output->target, output->descriptor, output->temporary, error);
    if (status != TR_OK)
        remove_temporary(output);
    output_free(output);
    return status;
}

void tr_output_abort(tr_output *output)
{
    remove_temporary(output);
    output_free(output);
}

/* opened: the status of opening output. */
static tr_status write_whole(tr_output *output, tr_status opened, const void *data, size_t size, tr_error *error)
{
    if (opened != TR_OK)
        return opened;
    const tr_status status = tr_output_write(output, data, size, error);
    if (status == TR_OK)
        return tr_output_commit(output, error);
    tr_output_abort(output);
    return status;
}

tr_status tr_file_write(const char *path, const void *data, size_t size, tr_error *error)
{
    tr_output output;
    return write_whole(&output, tr_output_open(&output, path, error), data, size, error);
}

tr_status tr_file_write_own(const char *path, unsigned mode, const void *data, size_t size, tr_error *error)
{
    tr_output output;
    return write_whole(&output, tr_output_open_own(&output, path, mode, error), data, size, error);
}

/* ----------------------------------------------------------------------------------------------------------------- paths */

tr_status tr_path_join(char path[TR_PATH], const char *folder, const char *name, tr_error *error)
{
    const int n = snprintf(path, TR_PATH, "%s/%s", folder, name);
    if (n > 0 && n < TR_PATH)
        return TR_OK;
    return tr_fail(error, TR_ERROR_IO, "%.200s/%.200s: %s", folder, name, strerror(ENAMETOOLONG));
}

void tr_path_name(const char *path, char *out, size_t size)
{
    size_t end = strlen(path);
    while (end > 0 && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    const size_t length = end - start;
    if (length < size && !(length <= 2 && strspn(path + start, ".") >= length)) {
        memcpy(out, path + start, length);
        out[length] = 0;
    }
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

static bool is_ours(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) && !(st.st_mode & S_IWOTH);
}

bool tr_file_is_trusted(const char *path)
{
    char folder[TR_PATH];
    const char *slash = strrchr(path, '/');
    const size_t size = slash ? (size_t)(slash - path) : 0;
    if (!size || size >= sizeof folder)
        return false;
    memcpy(folder, path, size);
    folder[size] = 0;
    return is_ours(path) && is_ours(folder);
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
