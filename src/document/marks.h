/* The text of units with their marks, and translations as parts between these marks. */
#ifndef TR_DOCUMENT_MARKS_H
#define TR_DOCUMENT_MARKS_H

#include "document/format.h"

/* A unit's text. A zeroed struct is empty. */
typedef struct tr_marked_text {
    tr_buffer text;
    tr_buffer numbers; /* of uint32_t: those of its pieces, which marks in the text have */
    char letter;       /* of its marks; 0: they are left out, or there are none */
} tr_marked_text;

/* Sets *marked, whose memory is used again. False: out of memory. */
bool tr_unit_marked_text(const tr_document *document, const tr_unit *unit, tr_marked_text *marked);
void tr_marked_text_free(tr_marked_text *marked);

/* Sets *parts, of tr_part, to the parts of a translation, or of the text itself: each mark of the unit once, pairs one in
 * the other or side by side. Marks have no bytes yet. False: out of memory. */
bool tr_unit_parts(const tr_document *document, const tr_unit *unit, const tr_marked_text *marked, const char *text,
                   size_t size, tr_buffer *parts);

/* Makes a translation valid UTF-8 without NUL: what is not becomes U+FFFD, in clean. False: out of memory. */
bool tr_translation_clean(tr_document_translation *translation, tr_buffer *clean);

#endif
