/* What formats of keys and values share: which values are translated. */
#ifndef TR_DOCUMENT_KEYS_H
#define TR_DOCUMENT_KEYS_H

#include "document/bytes.h"

/* Where a value is, as far as settings.keys asks for it. A zeroed struct is the root. */
typedef struct tr_key_path {
    uint64_t dead; /* bit i: pattern i cannot match any more */
    uint32_t depth;
    bool selected;
} tr_key_path;

/* settings.keys is a list of patterns with commas between them: the name of a key, at any depth; or a path of names with
 * dots between them from the root, where * stands for any key and for the elements of an array. Both select what is inside,
 * too. */

/* Fails if there are more patterns than a tr_key_path can follow. */
tr_status tr_keys_check(const tr_document *document, tr_error *error);
/* The path of a value with this key inside `around`; key NULL: of an array's element. */
tr_key_path tr_keys_enter(const tr_document *document, const tr_key_path *around, const char *key, size_t size);

/* Whether a value is something that people read, as far as can be told: no identifier, address, path, number, date, color.
 */
bool tr_looks_like_text(const char *text, size_t size);
/* Whether a value is to be translated. A pattern of dates is not, whatever the keys: "%Y年%m月%d日". */
bool tr_keys_translate(const tr_document *document, const tr_key_path *path, const char *text, size_t size);

/* Whether the value of this key at the root names the document's language. */
bool tr_is_language_key(const char *key, size_t size);
/* Makes bytes begin .. end, which append(...) wrote, the name of the language that is translated to. style: for append. */
tr_status tr_edit_language(tr_document *document, size_t begin, size_t end,
                           bool (*append)(const char *text, size_t size, uint32_t style, tr_buffer *out), uint32_t style,
                           tr_error *error);

/* Whether the document is ASCII and has \u escapes: what is written into it should be so, too. */
bool tr_is_escaped(const tr_document *document);

#endif
