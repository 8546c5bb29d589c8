#define _GNU_SOURCE
#include "torch_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <zlib.h>

#include "import/pytorch/pytorch.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static void put(tr_buffer *b, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        const unsigned char byte = i < 8 ? (unsigned char)(value >> 8 * i) : 0;
        assert_true(tr_buffer_append(b, &byte, 1));
    }
}

/* ----------------------------------------------------------------------------------------------------------------- zip */

/* Raw deflate; to be freed. */
static unsigned char *deflated(const void *data, size_t size, size_t *packed)
{
    z_stream stream = {.next_in = (unsigned char *)data, .avail_in = (uInt)size};
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY), Z_OK);
    const size_t room = deflateBound(&stream, (uLong)size);
    unsigned char *out = malloc(room);
    assert_non_null(out);
    stream.next_out = out;
    stream.avail_out = (uInt)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    *packed = stream.total_out;
    deflateEnd(&stream);
    return out;
}

static uint32_t field(uint64_t value)
{
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* Version to the extra field's length: what both headers have. */
static void put_header(tr_buffer *b, const zip_claims *c, uint32_t checksum, size_t name_size, int extra)
{
    put(b, extra ? 45 : 20, 2);
    put(b, c->flags, 2);
    put(b, (uint64_t)c->method, 2);
    put(b, 0, 4); /* time */
    put(b, checksum, 4);
    put(b, field(c->packed), 4);
    put(b, field(c->size), 4);
    put(b, name_size, 2);
    put(b, (uint64_t)extra, 2);
}

static void put_large(tr_buffer *b, const zip_claims *c, int extra)
{
    if (!extra)
        return;
    put(b, 1, 2);
    put(b, (uint64_t)extra - 4, 2);
    if (c->size > UINT32_MAX)
        put(b, c->size, 8);
    if (c->packed > UINT32_MAX)
        put(b, c->packed, 8);
}

void zip_add(zip_writer *w, const char *name, size_t name_size, const void *data, size_t size, zip_claims claims)
{
    size_t packed = size;
    unsigned char *memory = claims.deflate ? deflated(data, size, &packed) : NULL;
    claims.method = claims.method ? claims.method : claims.deflate ? 8 : 0;
    claims.size = claims.size ? claims.size : size;
    claims.packed = claims.packed ? claims.packed : packed;
    const uint32_t checksum = (uint32_t)crc32(0, data, (uInt)size) ^ claims.wrong_checksum;
    const int large = 8 * ((claims.size > UINT32_MAX) + (claims.packed > UINT32_MAX)), extra = large ? large + 4 : 0;
    if (!claims.same_place) {
        w->last = w->file.size;
        put(&w->file, 0x04034b50, 4);
        put_header(&w->file, &claims, checksum, name_size, extra);
        pickle_bytes(&w->file, name, name_size);
        put_large(&w->file, &claims, extra);
        pickle_bytes(&w->file, memory ? (char *)memory : data, packed);
    }
    put(&w->directory, 0x02014b50, 4);
    put(&w->directory, 45, 2);
    put_header(&w->directory, &claims, checksum, name_size, extra);
    put(&w->directory, 0, 10); /* comment, disk, attributes */
    put(&w->directory, claims.offset ? claims.offset : w->last, 4);
    pickle_bytes(&w->directory, name, name_size);
    put_large(&w->directory, &claims, extra);
    w->count++;
    free(memory);
}

void zip_finish(zip_writer *w)
{
    const size_t begin = w->file.size;
    pickle_bytes(&w->file, w->directory.data, w->directory.size);
    if (w->count >= 0xffff) {
        const size_t end = w->file.size;
        put(&w->file, 0x06064b50, 4);
        put(&w->file, 44, 8);
        put(&w->file, 45 | 45 << 16, 4);
        put(&w->file, 0, 8); /* disks */
        put(&w->file, w->count, 8);
        put(&w->file, w->count, 8);
        put(&w->file, end - begin, 8);
        put(&w->file, begin, 8);
        put(&w->file, 0x07064b50, 4);
        put(&w->file, 0, 4);
        put(&w->file, end, 8);
        put(&w->file, 1, 4);
    }
    put(&w->file, 0x06054b50, 4);
    put(&w->file, 0, 4); /* disks */
    put(&w->file, w->count > 0xffff ? 0xffff : w->count, 2);
    put(&w->file, w->count > 0xffff ? 0xffff : w->count, 2);
    put(&w->file, w->directory.size, 4);
    put(&w->file, begin, 4);
    put(&w->file, 0, 2);
}

void zip_free(zip_writer *w)
{
    tr_buffer_free(&w->file);
    tr_buffer_free(&w->directory);
    *w = (zip_writer){0};
}

/* -------------------------------------------------------------------------------------------------------------- pickle */

void pickle_bytes(tr_buffer *p, const char *bytes, size_t size)
{
    assert_true(tr_buffer_append(p, bytes, size));
}

void pickle_text(tr_buffer *p, const char *text)
{
    put(p, 'X', 1);
    put(p, strlen(text), 4);
    pickle_bytes(p, text, strlen(text));
}

void pickle_int(tr_buffer *p, int64_t value)
{
    put(p, 0x8a, 1);
    put(p, 8, 1);
    put(p, (uint64_t)value, 8);
}

static void pickle_sizes(tr_buffer *p, int rank, const int64_t *sizes)
{
    put(p, '(', 1);
    for (int i = 0; i < rank; i++)
        pickle_int(p, sizes[i]);
    put(p, 't', 1);
}

void pickle_tensor(tr_buffer *p, const tensor_claims *t, bool legacy)
{
    assert_true(tr_buffer_string(p, "ctorch._utils\n_rebuild_tensor_v2\n(("));
    pickle_text(p, "storage");
    assert_true(tr_buffer_string(p, "ctorch\n") && tr_buffer_string(p, t->type) && tr_buffer_string(p, "\n"));
    pickle_text(p, t->key);
    pickle_text(p, "cpu");
    pickle_int(p, t->count);
    assert_true(tr_buffer_string(p, legacy ? "NtQ" : "tQ"));
    pickle_int(p, t->offset);
    pickle_sizes(p, t->rank, t->shape);
    pickle_sizes(p, t->rank, t->stride);
    pickle_bytes(p,
                 "\x89"
                 "ccollections\nOrderedDict\n)RtR",
                 1 + 29);
}

static void rename_all(const char *name, char out[TR_TENSOR_NAME])
{
    snprintf(out, TR_TENSOR_NAME, "%s", name);
}

/* ------------------------------------------------------------------------------------------------------------- judging */

static long peak_kilobytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

void expect_refused(const void *data, size_t size, tr_status status, const char *needle)
{
    struct timespec begin, end;
    tr_weights weights = {0};
    tr_error error = {0};
    const long before = peak_kilobytes();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    const tr_status found = tr_pytorch_read(data, size, rename_all, &weights, &error);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    tr_weights_free(&weights);
    if (found != status || !strstr(error.message, needle) || strchr(error.message, '\n'))
        fail_msg("wanted %s \"%s\", got %s \"%s\"", tr_status_name(status), needle, tr_status_name(found), error.message);
    if (!SANITIZED) {
        assert_true((double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9 < 1);
        assert_true(peak_kilobytes() - before < 50000);
    }
}

void expect_accepted(const void *data, size_t size, size_t tensors)
{
    tr_weights weights = {0};
    tr_error error = {0};
    if (tr_pytorch_read(data, size, rename_all, &weights, &error) != TR_OK)
        fail_msg("%s", error.message);
    assert_int_equal(weights.count, tensors);
    tr_weights_free(&weights);
}
