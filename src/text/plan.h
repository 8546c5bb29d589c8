/* From texts to what the network translates: a text becomes chunks (sentences, or pieces of sentences that are too long),
 * each a span of bytes and a list of token ids. */
#ifndef TR_TEXT_PLAN_H
#define TR_TEXT_PLAN_H

#include "text/language_pair.h"
#include "text/request.h"
#include "text/figures.h"
#include "tokenizer/scripts.h"

/* Tokens that a piece of a cut sentence has at most. Networks are trained on sentences of this length or less: on longer
 * pieces without marks they repeat themselves more often, and cost more a token (on Chinese text without marks, 128
 * takes 1.4 times the time of 64). */
enum { TR_PIECE_TOKENS = 64 };

/* Target tokens of such a piece at most: what is cut is often no text at all (encoded data, a listing), on which a network
 * would otherwise repeat itself up to the full length, piece after piece. For the same reason the translation of a piece
 * ends as soon as it repeats itself. */
enum { TR_PIECE_TARGET = 2 * TR_PIECE_TOKENS };

/* Attempts at a sentence with protected spans: the last one has pieces in place of stand-ins. In the one before, symbols
 * stand for numbers, too: a network may write every number in words, but it copies symbols. */
enum { TR_ATTEMPTS = 4, TR_ATTEMPT_WITH_SYMBOLS = TR_ATTEMPTS - 2 };

/* Spans of a chunk at most, and those of them that are not tags. */
enum { TR_CHUNK_SPANS = 24, TR_CHUNK_WORDS = 8 };

enum { TR_MAX_STAND_INS = 24, TR_STAND_IN_SIZE = 16 };

/* Words that a network copies, the best first. */
typedef struct tr_stand_ins {
    char names[TR_MAX_STAND_INS][TR_STAND_IN_SIZE];
    int count;
} tr_stand_ins;

/* What texts of a call must keep; see text/protect.h. */
typedef struct tr_protection {
    tr_scripts source, target;
    tr_figure_language from, to; /* how numbers are compared; both are TR_FIGURES_DIGITS, or none is */
    /* The stand-ins for this pair, when they are first needed. */
    tr_status (*find_stand_ins)(void *argument, const tr_stand_ins **found, tr_error *error);
    void *argument;
    const struct tr_glossary *terms; /* NULL: none */
    bool spaces;                     /* the target language has spaces where the source language has none */
    bool symbols;                    /* the model copies symbols, enough for a chunk */
    int attempt;                     /* 0 .. TR_ATTEMPTS - 1 */
} tr_protection;

/* What stands between the translations of two chunks where the text has no white space. */
typedef enum tr_chunk_spacing {
    TR_SPACING_TEXT,  /* a translation: a space */
    TR_SPACING_MARK,  /* a mark: a space, unless it is one that closes or opens */
    TR_SPACING_OPEN,  /* a tag that opens: a space before it */
    TR_SPACING_CLOSE, /* a tag that closes: a space after it */
    TR_SPACING_TIGHT, /* none */
} tr_chunk_spacing;

/* What the translations of a chunk have of what they must have. */
typedef enum tr_check {
    TR_CHECK_RIGHT,         /* one at least has all spans and numbers, or they are not checked */
    TR_CHECK_OTHER_NUMBERS, /* one at least has all spans */
    TR_CHECK_LOST_SPANS,
} tr_check;

typedef struct tr_text_chunk {
    const char *text;    /* whose chunk it is; see tr_text.data */
    size_t begin, end;   /* bytes of the text; the second and later pieces of a single character are empty */
    size_t ids;          /* index of its first id in tr_plan.ids */
    int length;          /* ids, with the tokens around the text's own */
    int tokens;          /* the text's own; 0: no token of the network (the bytes stay as they are) */
    int sentence;        /* of the text, that it is of */
    bool piece;          /* of a sentence that was cut */
    tr_tokens prefix;    /* what its target begins with; not owned */
    tr_request *request; /* set by tr_requests_make; NULL: the chunk has no tokens */
    /* With a tr_protection, else zero: */
    const struct tr_plan *plan;
    size_t first_use; /* its spans in plan->uses; see text/protect.h */
    int use_count;
    bool capitals;                /* it has rows of words in capitals, which the network sees in small letters */
    bool chinese;                 /* no tokens: Chinese of the text, which gets traditional characters */
    bool tagged;                  /* some of them are tags: its hypotheses need alignments */
    size_t written, written_size; /* of plan->written: what stands for a chunk without tokens; size 0: its own bytes */
    tr_chunk_spacing spacing;
    bool checked;   /* its translations are checked: it has stand-ins, tags or figures */
    bool stopped;   /* the caller ended its translation, which is not checked then */
    tr_check check; /* out, see tr_check_chunk */
    uint64_t kept;  /* out: bit r: the hypothesis of rank r is the best in that; 0: all are */
    bool flagged;   /* out: the translation that it has in the end says other numbers */
    /* What it became when it was translated again: [again_count] chunks; NULL: itself. */
    struct tr_text_chunk *const *again;
    size_t again_count;
} tr_text_chunk;

/* A zeroed struct is an empty plan. */
typedef struct tr_plan {
    tr_ids ids;
    tr_text_chunk *chunks; /* [count] */
    size_t count, capacity;
    tr_buffer spans;   /* of tr_kept_span: those of the text that is being planned */
    tr_buffer uses;    /* of tr_stand_in_use */
    tr_buffer written; /* texts that stand in translations in place of the source's */
    tr_figures figures;
    tr_buffer scratch;
    const tr_stand_ins *stand_ins; /* of its texts' pair; NULL: not needed yet */
} tr_plan;

/* A text and its chunks. */
typedef struct tr_text {
    const char *data; /* valid UTF-8: the caller's bytes, or clean */
    size_t size;
    char *clean;         /* owned, NULL if the caller's bytes were valid */
    size_t begin;        /* where the text begins after a language's token */
    size_t first, count; /* chunks in the plan */
    bool unspaced;       /* no space separates two sentences of its target language */
    int sentences;
    int passed;     /* of them: they have no letter of the source language, and stay as they are */
    unsigned flags; /* TR_FLAG_CUT, TR_FLAG_INVALID_UTF8 */
} tr_text;

void tr_plan_clear(tr_plan *plan); /* empties it, keeps the memory */
void tr_plan_free(tr_plan *plan);

/* Replaces invalid bytes of a text, splits it into sentences, cuts those that are too long (at clause marks, else at white
 * space, else between characters, else between tokens), and appends the chunks to the plan. Nothing but white space between
 * chunks is left out. protection: NULL: there is none. Time is linear in the size but for a small factor. text is filled
 * even on failure; several threads may plan texts of one pair, each in a plan of its own. */
tr_status tr_plan_text(tr_plan *plan, const tr_language_pair *pair, const tr_protection *protection, tr_split split,
                       const char *data, size_t size, tr_text *text, tr_error *error);
/* Plans the bytes begin .. end of a text once more, as one sentence. figures: numbers become stand-ins as well. part: a text
 * that shares the data of the first. */
tr_status tr_plan_again(tr_plan *plan, const tr_language_pair *pair, const tr_protection *protection, const tr_text *text,
                        size_t begin, size_t end, bool figures, tr_text *part, tr_error *error);
void tr_text_free(tr_text *text);

#endif
