/* The formats. */
#ifndef TR_DOCUMENT_FORMATS_H
#define TR_DOCUMENT_FORMATS_H

#include "document/format.h"

/* Names in alphabetical order, and the ends of the names of their files: in small letters, each between spaces. */
#define TR_DOCUMENT_FORMATS(X) X(text, " txt text ")

#define TR_DECLARE_FORMAT(name, extensions) extern const tr_document_format tr_format_##name;
TR_DOCUMENT_FORMATS(TR_DECLARE_FORMAT)
#undef TR_DECLARE_FORMAT

#endif
