/* Protected spans: what must come out of a translation as it went in. */
#ifndef TR_TEXT_SPANS_H
#define TR_TEXT_SPANS_H

#include "util/buffer.h"

typedef enum tr_span_kind {
    TR_SPAN_WORD,   /* stands in the sentence like a word: an address, a path, code, an identifier, a placeholder */
    TR_SPAN_PRINTF, /* the same, and keeps its place among its kind: %s %d */
    TR_SPAN_MARK,   /* stands beside the words: emoji, line codes, signs that the vocabulary lacks */
    TR_SPAN_OPEN,   /* a tag, <b>; also ** and [ of Markdown */
    TR_SPAN_CLOSE,  /* </b>; ** and ](address) */
    TR_SPAN_EMPTY,  /* <br/>, <img …>, comments */
    TR_SPAN_DIGITS, /* 二〇二四, １２, 叁佰: the network sees 2024, 12, 三百 */
} tr_span_kind;

/* What the network sees in place of a span. */
typedef enum tr_stand_in_kind { TR_STAND_IN_WORD, TR_STAND_IN_NUMBER, TR_STAND_IN_PERCENT } tr_stand_in_kind;

/* Bytes begin .. end of a text. */
typedef struct tr_kept_span {
    size_t begin, end;
    tr_span_kind kind;
    bool inside;    /* MARK: stands inside a sentence, between words */
    size_t partner; /* OPEN, CLOSE: where the other tag of the pair begins; SIZE_MAX: there is none, see tr_tags_pair
                       (text/tags.h) */
    tr_stand_in_kind stand_in;
    bool is_written;              /* what takes its place in the translation is not the span itself, but */
    bool is_term;                 /* of the glossary */
    bool is_target;               /* words of the target language, which may well come in the translation, too */
    size_t written, written_size; /* bytes of tr_plan.written */
} tr_kept_span;

/* Appends the protected spans of a text, in order and none overlapping: URLs, mail addresses, paths, `code`, tags, entities,
 * placeholders ({x}, {{x}}, ${x}, %s, %1$d, %(name)s), identifiers, numbers of telephones and accounts, hashtags, @names,
 * emoji; ** and links of Markdown. None crosses a line break. text: valid UTF-8. spans: of tr_kept_span. Linear in the size.
 * TR_ERROR_MEMORY */
tr_status tr_spans_find(const char *text, size_t size, tr_buffer *spans, tr_error *error);

static inline bool tr_is_tag(const tr_kept_span *span)
{
    return span->kind == TR_SPAN_OPEN || span->kind == TR_SPAN_CLOSE;
}

/* Whether 万, 亿 and the like follow a number that ends at text[at]: they make another one of it. */
bool tr_has_number_unit(const char *text, size_t size, size_t at);

/* Of a chunk's spans: alignments say where it goes. */
static inline bool tr_is_aligned(const tr_kept_span *span)
{
    return tr_is_tag(span) || span->kind == TR_SPAN_MARK;
}

#endif
