/* Zip archives in memory, by minizip: entries, and their contents where they lie in the archive or, if they are deflated,
 * inflated. Not for several threads at a time. */
#ifndef TR_FORMATS_ZIP_H
#define TR_FORMATS_ZIP_H

#include "util/error.h"

enum {
    TR_ZIP_ENTRIES = 1 << 16, /* entries that an archive may have */
    TR_ZIP_NAME = 256,        /* bytes of a name, its NUL counted */
    /* An archive's entries may be inflated to this many times its size, and some bytes more, altogether. Weights are noise:
     * they hardly become smaller, and a third of their size if they are halves stored as floats. */
    TR_ZIP_RATIO = 8,
    TR_ZIP_MORE = 16 << 20,
};

typedef struct tr_zip_entry {
    const char *name;
    uint64_t size;             /* of the contents, as claimed */
    const unsigned char *data; /* the contents in the archive; NULL: they are deflated, or of a kind that is not read */
} tr_zip_entry;

typedef struct tr_zip tr_zip;

/* Lists an archive, which must stay. TR_ERROR_FORMAT: it is damaged, two entries have one name or lie over each other. */
tr_status tr_zip_open(const void *data, size_t size, tr_zip **zip, tr_error *error) TR_CHECKED;
void tr_zip_close(tr_zip *zip); /* NULL is allowed */

/* The entries, in the archive's order. */
const tr_zip_entry *tr_zip_entries(const tr_zip *zip, size_t *count);
const tr_zip_entry *tr_zip_find(const tr_zip *zip, const char *name); /* NULL if there is none */

/* Whether an entry without data may be inflated: what it claims is possible, and within what an archive may become.
 * TR_ERROR_UNSUPPORTED: encrypted, or compressed in another way. */
tr_status tr_zip_check(const tr_zip *zip, const tr_zip_entry *entry, tr_error *error) TR_CHECKED;

/* Inflates an entry that tr_zip_check accepted to entry->size bytes, and compares their checksum. */
tr_status tr_zip_inflate_to(tr_zip *zip, const tr_zip_entry *entry, void *to, tr_error *error) TR_CHECKED;

/* Both, into *contents, which the caller frees. */
tr_status tr_zip_inflate(tr_zip *zip, const tr_zip_entry *entry, void **contents, tr_error *error) TR_CHECKED;

#endif
