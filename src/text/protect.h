/* What a translation must keep: which parts of a sentence the network does not see as they are, and whether its translations
 * have them.
 *
 * A protected span that stands in a sentence like a word becomes a stand-in, a short word that the network copies. The
 * translation must have each stand-in once; the span takes its place there. If no translation of a sentence has them all,
 * the sentence is translated again: with other stand-ins, and at last in pieces between its spans.
 *
 * The network does not see a pair of tags inside a sentence; alignments say around which words of the translation they go
 * (text/tags.h). */
#ifndef TR_TEXT_PROTECT_H
#define TR_TEXT_PROTECT_H

#include "text/plan.h"
#include "text/spans.h"
#include "text/terms.h"

/* Those that most networks copy. */
extern const tr_stand_ins tr_common_stand_ins;

/* Whether a translation has a word exactly once, as a word of its own. */
bool tr_is_copied(const char *name, const char *translation, size_t size);

/* The protection of texts of a pair. */
tr_protection tr_protection_of(const tr_language_pair *pair);

/* A span of a chunk, and its stand-in. */
typedef struct tr_stand_in_use {
    tr_kept_span span;
    int stand_in; /* index of tr_stand_ins, or of the numbers that stand for numbers; -1: it has none, see tr_has_stand_in */
} tr_stand_in_use;

/* Others are tags and marks, and digits that the network translates. */
static inline bool tr_has_stand_in(const tr_kept_span *span)
{
    return !tr_is_aligned(span) && span->kind != TR_SPAN_DIGITS;
}

/* The uses of a chunk: [chunk->use_count]. */
const tr_stand_in_use *tr_uses_of(const tr_text_chunk *chunk);

/* Appends what takes a use's place in the translation; plural: a term in its plural. */
bool tr_use_append(const tr_text_chunk *chunk, const char *text, const tr_stand_in_use *use, bool plural, tr_buffer *out);

/* Appends to the plan the uses of the spans between two bytes of a text. TR_ERROR_MEMORY */
tr_status tr_uses_add(tr_plan *plan, const tr_protection *protection, const char *text, const tr_kept_span *spans,
                      size_t count, size_t begin, size_t end, tr_text_chunk *chunk, tr_error *error);

/* Appends text[begin .. end) of a chunk as the network sees it. places (NULL, or [use_count]): out, the bytes
 * of `out` that stand for each span: its stand-in, with spaces that keep it apart from letters. The text may have no spans,
 * if it is in capitals. TR_ERROR_MEMORY */
tr_status tr_uses_mask(const tr_text_chunk *chunk, const char *text, size_t begin, size_t end, tr_buffer *out,
                       tr_span *places, tr_error *error);

/* A place in a translation that a use takes. */
typedef struct tr_use_place {
    size_t begin, end; /* bytes of the translation as the network wrote it; none for a tag */
    int use;
} tr_use_place;

/* What stands for a span where figures are looked for: U+FFFC. */
#define TR_BLANK "\xef\xbf\xbc"

/* Adds to the spans of a plan, in order, what else text[begin .. end) must keep: the terms of the glossary, Chinese and kana
 * words for a target language that has these, the numbers of English items, and Chinese digits that most vocabularies lack;
 * with figures, the numbers that a rule writes in the target language. Those that overlap a span are left out, but for
 * terms. TR_ERROR_MEMORY */
tr_status tr_add_language_spans(tr_plan *plan, const tr_protection *protection, const char *text, size_t begin, size_t end,
                                bool figures, tr_error *error);

/* Finds the stand-ins in a translation of a chunk. places [*count <= use_count]: those that are there once, in the order of
 * the translation. False: one is missing or comes twice, or a span is there without its stand-in. */
bool tr_uses_find(const tr_text_chunk *chunk, const char *text, const char *translation, size_t size, tr_use_place *places,
                  int *count);

#endif
