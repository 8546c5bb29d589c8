/* Pairs of tags in translations: <b>…</b> around the words that translate those of the source. */
#ifndef TR_TEXT_TAGS_H
#define TR_TEXT_TAGS_H

#include "text/protect.h"

/* Sets the partners of tags, and which marks stand inside a sentence: pairs that have only words, such marks and such pairs
 * between them. Others cut a sentence. Pairs lie one in the other or side by side. Marks that are brackets become tags, and
 * those in quotes or brackets words. text [size]: where begin and end count from. */
void tr_tags_pair(const char *text, size_t size, tr_kept_span *spans, size_t count);

/* A translation of a chunk with tags, and how it is aligned. */
typedef struct tr_tagged {
    const char *translation;
    size_t size;
    const tr_span *source; /* [source_count] the bytes of the text of each source token */
    size_t source_count;
    const tr_span *target; /* [target_count] the bytes of the translation of each target token */
    size_t target_count;
    const tr_alignment *alignment;
} tr_tagged;

/* Adds the places of the chunk's tags and marks to those of its stand-ins: places [*count] becomes [use_count], all in
 * order. A pair goes around the run of whole words that has the most tokens aligned with its own, less those aligned with
 * others; inside the pair that it lies in, and not across others. If no token is aligned, it goes around the word that
 * attends to its own most, or stands without words after what is aligned with the tokens before it, and so do marks.
 * TR_ERROR_MEMORY */
tr_status tr_tags_place(const tr_text_chunk *chunk, const char *text, const tr_tagged *tagged, tr_use_place *places,
                        int *count, tr_error *error);

#endif
