/* Sources beside their translations, in place of the document. */
#ifndef TR_DOCUMENT_PAIRS_H
#define TR_DOCUMENT_PAIRS_H

#include "document/format.h"

/* Writes a line, or an element, for each unit whose translation is another text: document->settings.pairs is "tsv" or "tmx".
 */
tr_status tr_document_write_pairs(const tr_document *document, const tr_document_source *source,
                                  const tr_document_sink *sink, tr_error *error);

#endif
