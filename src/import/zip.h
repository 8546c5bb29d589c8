/* Zip archives in memory, by minizip. Stored entries are used where they lie in the archive, deflated ones are inflated.
 * Archives are written into buffers. Not thread-safe. */
#ifndef TR_IMPORT_ZIP_H
#define TR_IMPORT_ZIP_H

#include "util/buffer.h"

enum {
    TR_ZIP_ENTRIES = 1 << 16, /* entries that an archive may have */
    TR_ZIP_NAME = 256,        /* bytes of a name with its NUL */
    /* All entries together may be inflated to RATIO times the archive's size plus MORE bytes. Weights hardly shrink when
     * deflated, and at best to a third, for half-precision numbers stored as floats. */
    TR_ZIP_RATIO = 8,
    TR_ZIP_MORE = 16 << 20,
};

typedef struct tr_zip_entry {
    const char *name;
    uint64_t size;             /* of the contents, as the archive claims */
    const unsigned char *data; /* the contents in the archive; NULL: they are deflated or unsupported */
} tr_zip_entry;

typedef struct tr_zip tr_zip;

/* Lists an archive, which must outlive zip. TR_ERROR_FORMAT: it is damaged, or two entries have the same name or overlap. */
tr_status tr_zip_open(const void *data, size_t size, tr_zip **zip, tr_error *error) TR_CHECKED;
void tr_zip_close(tr_zip *zip); /* NULL is allowed */

/* The entries, in the archive's order. */
const tr_zip_entry *tr_zip_entries(const tr_zip *zip, size_t *count);
const tr_zip_entry *tr_zip_find(const tr_zip *zip, const char *name); /* NULL if there is none */

/* Checks that an entry without data may be inflated: the size it claims is possible and within the archive's limit.
 * TR_ERROR_UNSUPPORTED: it is encrypted, or compressed by another method. */
tr_status tr_zip_check(const tr_zip *zip, const tr_zip_entry *entry, tr_error *error) TR_CHECKED;

/* Inflates an entry that tr_zip_check accepted to entry->size bytes, and compares their checksum. */
tr_status tr_zip_inflate_to(tr_zip *zip, const tr_zip_entry *entry, void *to, tr_error *error) TR_CHECKED;

/* Checks and inflates an entry into *contents, which the caller frees. */
tr_status tr_zip_inflate(tr_zip *zip, const tr_zip_entry *entry, void **contents, tr_error *error) TR_CHECKED;

/* Lets entries be inflated to any size: the caller has a limit of its own. */
void tr_zip_lift_limit(tr_zip *zip);

/* ------------------------------------------------------------------------------------------------------------- writing */

/* An archive that minizip builds at the end of a buffer. */
typedef struct tr_zip_output {
    tr_buffer *out;
    size_t begin; /* of the archive in out */
    size_t at;    /* from begin: minizip goes back to fill in sizes */
} tr_zip_output;

/* Begins an archive: a zipFile for minizip's functions; NULL: out of memory. output must outlive it. */
void *tr_zip_create(tr_zip_output *output, tr_buffer *out) TR_CHECKED;

/* What an entry becomes. */
typedef struct tr_zip_contents {
    const char *data; /* [size]; NULL: what it was, byte for byte as it was compressed */
    size_t size;
} tr_zip_contents;

/* Appends the archive with other contents[i] of entry i: entries keep their order, names, dates, attributes and methods.
 * TR_ERROR_UNSUPPORTED: an entry is encrypted, compressed by another method, or of 4 GiB. */
tr_status tr_zip_rewrite(tr_zip *zip, const tr_zip_contents *contents, tr_buffer *out, tr_error *error) TR_CHECKED;

#endif
