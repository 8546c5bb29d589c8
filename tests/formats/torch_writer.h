/* Zip archives and pickles of tensors, valid or damaged as a test needs them, and how they must be read. */
#ifndef TORCH_WRITER_H
#define TORCH_WRITER_H

#include "fixture.h"
#include "util/buffer.h"

/* What an entry's headers say; a zeroed one is stored and valid. */
typedef struct zip_claims {
    bool deflate;
    int method;            /* instead of 0 or 8 */
    unsigned flags;        /* of both headers */
    uint64_t size, packed; /* instead of the true ones; from 2^32 on in a zip64 field */
    bool same_place;       /* the local header is that of the entry before */
    uint32_t offset;       /* of the local header, instead of the true one */
    bool wrong_checksum;
} zip_claims;

typedef struct zip_writer {
    tr_buffer file, directory;
    unsigned count;
    size_t last; /* local header of the entry before */
} zip_writer;

void zip_add(zip_writer *w, const char *name, size_t name_size, const void *data, size_t size, zip_claims claims);
/* The archive is then w->file. */
void zip_finish(zip_writer *w);
void zip_free(zip_writer *w);

/* Appends to a pickle. */
void pickle_bytes(tr_buffer *p, const char *bytes, size_t size);
void pickle_text(tr_buffer *p, const char *text);
void pickle_int(tr_buffer *p, int64_t value);

typedef struct tensor_claims {
    const char *type, *key; /* "FloatStorage", "0" */
    int64_t count, offset;
    int rank;
    int64_t shape[6], stride[6];
} tensor_claims;

void pickle_tensor(tr_buffer *p, const tensor_claims *t, bool legacy);

/* tr_pytorch_read must refuse data, in one line that contains needle, within a second and 50 MB; or find this number of
 * tensors. */
void expect_refused(const void *data, size_t size, tr_status status, const char *needle);
void expect_accepted(const void *data, size_t size, size_t tensors);

#endif
