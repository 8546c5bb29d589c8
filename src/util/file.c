#define _GNU_SOURCE
#include "util/file.h"

#include "util/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 18, TEMPORARY = 40 };

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

/* Page-aligned, and fresh pages need no clearing by us. MAP_FAILED without memory. */
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

tr_status tr_file_open(const char *path, tr_load load, tr_file *file, tr_error *error)
{
    *file = (tr_file){0};
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return fail_errno(error, path, "");
    struct stat st;
    tr_status status = TR_OK;
    if (fstat(descriptor, &st) < 0)
        status = fail_errno(error, path, "");
    else if (S_ISDIR(st.st_mode))
        status = tr_fail(error, TR_ERROR_IO, "%s: is a directory", path);
    else if (!S_ISREG(st.st_mode))
        status = tr_fail(error, TR_ERROR_IO, "%s: is not a regular file", path);
    else if ((uint64_t)st.st_size > SIZE_MAX / 2)
        status = tr_fail(error, TR_ERROR_MEMORY, "%s: too large for this machine", path);
    if (status == TR_OK && st.st_size > 0) {
        const size_t size = (size_t)st.st_size;
        void *data = load == TR_LOAD_MAP ? mmap(NULL, size, PROT_READ, MAP_SHARED, descriptor, 0) : map_memory(size);
        if (data == MAP_FAILED) {
            status = fail_errno(error, path, load == TR_LOAD_MAP ? "cannot map" : "cannot load");
        } else {
            *file = (tr_file){data, size, load == TR_LOAD_MAP};
            if (load == TR_LOAD_COPY)
                status = read_whole(descriptor, size, data, path, error);
        }
    }
    close(descriptor);
    if (status != TR_OK)
        tr_file_close(file);
    return status;
}

/* The whole pages of the file that hold the bytes. */
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

bool tr_file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* ------------------------------------------------------------------------------------------------------------- output */

static void output_free(tr_output *output)
{
    if (output->descriptor >= 0)
        close(output->descriptor);
    free(output->path);
    free(output->temporary);
    free(output->buffer);
    *output = (tr_output){.descriptor = -1};
}

tr_status tr_output_open(tr_output *output, const char *path, tr_error *error)
{
    *output = (tr_output){.descriptor = -1};
    const size_t length = strlen(path);
    output->path = strdup(path);
    output->temporary = malloc(length + TEMPORARY);
    output->buffer = malloc(BUFFER);
    if (!output->path || !output->temporary || !output->buffer) {
        output_free(output);
        return tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", path);
    }
    /* A name of our own instead of mkstemp, whose files are private whatever the umask says. */
    for (unsigned attempt = 0; output->descriptor < 0 && attempt < 100; attempt++) {
        snprintf(output->temporary, length + TEMPORARY, "%s.%ld-%u.tmp", path, (long)getpid(), attempt);
        output->descriptor = open(output->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (output->descriptor < 0 && errno != EEXIST)
            break;
    }
    if (output->descriptor < 0) {
        const tr_status status = fail_errno(error, path, "cannot write");
        free(output->temporary); /* not ours: nothing to remove */
        output->temporary = NULL;
        output_free(output);
        return status;
    }
    return TR_OK;
}

static tr_status write_all(tr_output *output, const void *data, size_t size, tr_error *error)
{
    const unsigned char *from = data;
    while (size) {
        const ssize_t n = write(output->descriptor, from, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(error, output->path, "cannot write");
        from += n;
        size -= (size_t)n;
    }
    return TR_OK;
}

static tr_status flush(tr_output *output, tr_error *error)
{
    const size_t filled = output->filled;
    output->filled = 0;
    return write_all(output, output->buffer, filled, error);
}

tr_status tr_output_write(tr_output *output, const void *data, size_t size, tr_error *error)
{
    output->written += size;
    if (size > BUFFER - output->filled) {
        const tr_status status = flush(output, error);
        if (status != TR_OK)
            return status;
        if (size >= BUFFER)
            return write_all(output, data, size, error);
    }
    if (size)
        memcpy(output->buffer + output->filled, data, size);
    output->filled += size;
    return TR_OK;
}

tr_status tr_output_pad(tr_output *output, size_t alignment, tr_error *error)
{
    static const unsigned char zeros[4096];
    size_t missing = (size_t)(-output->written & (alignment - 1));
    while (missing) {
        const size_t n = missing < sizeof zeros ? missing : sizeof zeros;
        const tr_status status = tr_output_write(output, zeros, n, error);
        if (status != TR_OK)
            return status;
        missing -= n;
    }
    return TR_OK;
}

tr_status tr_output_patch(tr_output *output, uint64_t offset, const void *data, size_t size, tr_error *error)
{
    tr_status status = flush(output, error);
    if (status == TR_OK && pwrite(output->descriptor, data, size, (off_t)offset) != (ssize_t)size)
        status = fail_errno(error, output->path, "cannot write");
    return status;
}

static tr_status flush_to_disk(tr_output *output, tr_error *error)
{
    const tr_status status = flush(output, error);
    if (status == TR_OK && fsync(output->descriptor) < 0 && errno != EINVAL)
        return fail_errno(error, output->path, "cannot write");
    return status;
}

tr_status tr_output_reread(tr_output *output, tr_output_take *take, void *argument, tr_error *error)
{
    tr_status status = flush_to_disk(output, error);
    if (status == TR_OK)
        posix_fadvise(output->descriptor, 0, 0, POSIX_FADV_DONTNEED); /* not what the system remembers of it */
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
    tr_status status = flush_to_disk(output, error);
    if (status == TR_OK && rename(output->temporary, output->path) < 0)
        status = fail_errno(error, output->path, "cannot write");
    if (status != TR_OK)
        unlink(output->temporary);
    output_free(output);
    return status;
}

void tr_output_abort(tr_output *output)
{
    if (output->temporary)
        unlink(output->temporary);
    output_free(output);
}
