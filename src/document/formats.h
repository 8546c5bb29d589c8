/* The formats, one line for each. */
#ifndef TR_DOCUMENT_FORMATS_H
#define TR_DOCUMENT_FORMATS_H

#include "document/format.h"

extern const tr_document_format tr_format_text;

#endif
