/* Documents that are zip archives of XML: office formats and e-books. */
#ifndef TR_DOCUMENT_ZIPPED_H
#define TR_DOCUMENT_ZIPPED_H

#include "document/format.h"

/* Parts of an archive that become members. */
typedef struct tr_zipped_part {
    const char *name;                 /* # stands for a number, or for nothing */
    const tr_document_format *format; /* NULL: it only must be there */
    const char *missing;              /* what the document then is not: "Word document"; NULL: the part may be missing */
} tr_zipped_part;

/* Opens the archive that the document is. */
tr_status tr_zipped_open(tr_document *document, tr_error *error);
/* Adds all parts of this kind as members, those with smaller numbers first. */
tr_status tr_zipped_add(tr_document *document, const tr_zipped_part *part, tr_error *error);
/* Opens the archive and adds the parts up to one without name. */
tr_status tr_zipped_read(tr_document *document, const tr_zipped_part *parts, tr_error *error);
/* Adds one entry as a member, unless it is one already. *member: NULL if there is no such entry. */
tr_status tr_zipped_member(tr_document *document, const char *name, const tr_document_format *format, tr_document **member,
                           tr_error *error);
/* The contents of an entry, which live as long as the document. *data: NULL if there is no such entry. */
tr_status tr_zipped_contents(tr_document *document, const char *name, const char **data, size_t *size, tr_error *error);

/* The functions of such formats. The archive has the same entries in the same order; what has not changed is copied as it
 * was compressed. */
tr_status tr_zipped_write(const tr_document *document, const tr_document_source *source, const tr_document_sink *sink,
                          tr_error *error);
void tr_zipped_close(void *state);

#endif
