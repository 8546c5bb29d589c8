/* The formats. */
#ifndef TR_DOCUMENT_FORMATS_H
#define TR_DOCUMENT_FORMATS_H

#include "document/format.h"

/* Names in alphabetical order; the ends of the names of their files, in small letters, each between spaces; and what the
 * command asks of a format. */
#define TR_DOCUMENT_FORMATS(X)                                                                                              \
    X(csv, " csv ", COLUMNS)                                                                                                \
    X(docx, " docx docm dotx dotm ", ZIPPED | BILINGUAL)                                                                    \
    X(epub, " epub ", ZIPPED | BILINGUAL)                                                                                   \
    X(html, " html htm xhtml ", BILINGUAL | LIMITED)                                                                        \
    X(json, " json arb webmanifest jsonl ndjson ", KEYS)                                                                    \
    X(markdown, " md markdown mdown mkd ", BILINGUAL | LIMITED)                                                             \
    X(odt, " odt ott odp otp ods ots odg ", ZIPPED)                                                                         \
    X(po, " po pot ", DOUBTS)                                                                                               \
    X(pptx, " pptx pptm ppsx ppsm potx potm ", ZIPPED)                                                                      \
    X(srt, " srt ", WIDTH | BILINGUAL)                                                                                      \
    X(text, " txt text ", BILINGUAL)                                                                                        \
    X(tsv, " tsv tab ", COLUMNS)                                                                                            \
    X(vtt, " vtt ", WIDTH | BILINGUAL)                                                                                      \
    X(xliff, " xlf xliff ", DOUBTS)                                                                                         \
    X(xlsx, " xlsx xlsm xltx xltm ", ZIPPED)                                                                                \
    X(xml, " xml rss atom svg resx resw dita dbk ", 0)                                                                      \
    X(yaml, " yaml yml ", KEYS | LIMITED)

#define TR_DECLARE_FORMAT(name, extensions, traits) extern const tr_document_format tr_format_##name;
TR_DOCUMENT_FORMATS(TR_DECLARE_FORMAT)
#undef TR_DECLARE_FORMAT

/* A part of others. */
extern const tr_document_format tr_format_metadata;

#endif
