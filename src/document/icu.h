/* ICU messages: "{count, plural, one {# file} other {# files}}". */
#ifndef TR_DOCUMENT_ICU_H
#define TR_DOCUMENT_ICU_H

#include "document/format.h"

/* Whether text is a message with a plural or select argument. escapes: JSON's stand in it. */
bool tr_icu_is_message(const char *text, size_t size, bool escapes);
/* Adds the units of such a message at begin .. end: each message inside an argument, and each text between arguments. The
 * arguments themselves stay as they are. */
tr_status tr_icu_units(tr_document *document, uint32_t style, size_t begin, size_t end, bool escapes, tr_error *error);

#endif
