#define _GNU_SOURCE
#include "util/partial_file.h"

#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tr_status fail_errno(tr_error *error, const char *path)
{
    return tr_fail(error, TR_ERROR_IO, "%s: cannot write: %s", path, strerror(errno));
}

tr_status tr_partial_file_open(tr_partial_file *part, const char *path, tr_error *error)
{
    struct stat st;
    *part = (tr_partial_file){.path = path};
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW;
    tr_status status = tr_open_regular(&part->descriptor, AT_FDCWD, path, flags, 0666, error);
    if (status == TR_OK && fstat(part->descriptor, &st) < 0)
        status = fail_errno(error, path);
    if (status == TR_OK)
        part->size = (uint64_t)st.st_size;
    else
        tr_partial_file_close(part);
    return status;
}

tr_status tr_partial_file_append(tr_partial_file *part, const void *data, size_t size, tr_error *error)
{
    const char *from = data;
    while (size) {
        const ssize_t n = write(part->descriptor, from, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(error, part->path);
        from += n;
        size -= (size_t)n;
        part->size += (uint64_t)n;
    }
    return TR_OK;
}

tr_status tr_partial_file_clear(tr_partial_file *part, tr_error *error)
{
    if (ftruncate(part->descriptor, 0) < 0)
        return fail_errno(error, part->path);
    part->size = 0;
    return TR_OK;
}

tr_status tr_partial_file_finish(tr_partial_file *part, tr_error *error)
{
    tr_status status = TR_OK;
    if (fsync(part->descriptor) < 0 && errno != EINVAL)
        status = fail_errno(error, part->path);
    tr_partial_file_close(part);
    return status;
}

void tr_partial_file_close(tr_partial_file *part)
{
    if (part->descriptor >= 0)
        close(part->descriptor);
    part->descriptor = -1;
}

void tr_file_remove(const char *path)
{
    unlink(path);
}
