/* The file in which minizip builds an archive: a buffer. */
#include "import/zip.h"

#include <string.h>
#include <zip.h>

static size_t end_of(const tr_zip_output *m)
{
    return m->out->size - m->begin;
}

static voidpf ZCALLBACK open_memory(voidpf opaque, const void *name, int mode)
{
    (void)name;
    (void)mode;
    return opaque;
}

static uLong ZCALLBACK read_memory(voidpf opaque, voidpf stream, void *to, uLong size)
{
    tr_zip_output *m = stream;
    (void)opaque;
    const size_t left = end_of(m) - m->at;
    const size_t n = size < left ? size : left;
    if (n)
        memcpy(to, m->out->data + m->begin + m->at, n);
    m->at += n;
    return (uLong)n;
}

static uLong ZCALLBACK write_memory(voidpf opaque, voidpf stream, const void *from, uLong size)
{
    tr_zip_output *m = stream;
    (void)opaque;
    const size_t over = end_of(m) - m->at; /* bytes to overwrite */
    const size_t n = size < over ? size : over;
    if (n)
        memcpy(m->out->data + m->begin + m->at, from, n);
    if (!tr_buffer_append(m->out, (const char *)from + n, size - n))
        return 0;
    m->at += size;
    return size;
}

static ZPOS64_T ZCALLBACK tell_memory(voidpf opaque, voidpf stream)
{
    (void)opaque;
    return ((tr_zip_output *)stream)->at;
}

/* An offset may be negative: it then wraps, and so does the sum. */
static long ZCALLBACK seek_memory(voidpf opaque, voidpf stream, ZPOS64_T offset, int origin)
{
    tr_zip_output *m = stream;
    (void)opaque;
    const uint64_t from = origin == ZLIB_FILEFUNC_SEEK_SET ? 0 : origin == ZLIB_FILEFUNC_SEEK_CUR ? m->at : end_of(m);
    if (from + offset > end_of(m))
        return -1;
    m->at = (size_t)(from + offset);
    return 0;
}

static int ZCALLBACK close_memory(voidpf opaque, voidpf stream)
{
    (void)opaque;
    (void)stream;
    return 0;
}

void *tr_zip_create(tr_zip_output *output, tr_buffer *out)
{
    *output = (tr_zip_output){.out = out, .begin = out->size};
    zlib_filefunc64_def functions = {.zopen64_file = open_memory,
                                     .zread_file = read_memory,
                                     .zwrite_file = write_memory,
                                     .ztell64_file = tell_memory,
                                     .zseek64_file = seek_memory,
                                     .zclose_file = close_memory,
                                     .zerror_file = close_memory, /* no error function: writes report errors themselves */
                                     .opaque = output};
    return zipOpen2_64("", APPEND_STATUS_CREATE, NULL, &functions);
}
