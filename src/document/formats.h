/* The formats. */
#ifndef TR_DOCUMENT_FORMATS_H
#define TR_DOCUMENT_FORMATS_H

#include "document/format.h"

/* Names in alphabetical order, and the ends of the names of their files: in small letters, each between spaces. */
#define TR_DOCUMENT_FORMATS(X)                                                                                              \
    X(csv, " csv ")                                                                                                         \
    X(docx, " docx docm dotx dotm ")                                                                                        \
    X(epub, " epub ")                                                                                                       \
    X(html, " html htm xhtml ")                                                                                             \
    X(json, " json arb webmanifest jsonl ndjson ")                                                                          \
    X(markdown, " md markdown mdown mkd ")                                                                                  \
    X(odt, " odt ott odp otp ods ots odg ")                                                                                 \
    X(po, " po pot ")                                                                                                       \
    X(pptx, " pptx pptm ppsx ppsm potx potm ")                                                                              \
    X(srt, " srt ")                                                                                                         \
    X(text, " txt text ")                                                                                                   \
    X(tsv, " tsv tab ")                                                                                                     \
    X(vtt, " vtt ")                                                                                                         \
    X(xliff, " xlf xliff ")                                                                                                 \
    X(xlsx, " xlsx xlsm xltx xltm ")                                                                                        \
    X(xml, " xml svg resx resw dita dbk ")                                                                                  \
    X(yaml, " yaml yml ")

#define TR_DECLARE_FORMAT(name, extensions) extern const tr_document_format tr_format_##name;
TR_DOCUMENT_FORMATS(TR_DECLARE_FORMAT)
#undef TR_DECLARE_FORMAT

/* A part of others. */
extern const tr_document_format tr_format_metadata;

#endif
