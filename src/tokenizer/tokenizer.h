/* Text to token ids and back, exactly as Hugging Face's MarianTokenizer does it:
 * SentencePiece cuts text into pieces, the vocabulary maps pieces to ids. Decoding needs the vocabulary alone.
 * Or as Argos Translate does it where there are BPE codes in place of a SentencePiece model (tokenizer/words.h).
 * Two deliberate differences: special tokens are not recognised inside a text ("</s>" typed by a user is five ordinary
 * characters), and a leading ">>lang<<" is taken as one token only if the vocabulary has it. */
#ifndef TR_TOKENIZER_TOKENIZER_H
#define TR_TOKENIZER_TOKENIZER_H

#include "tokenizer/vocabulary.h"
#include "util/buffer.h"

#include <translate/translate.h>

typedef struct tr_tokenizer tr_tokenizer; /* immutable, shared by threads */

typedef struct tr_tokenizer_parts {
    const void *source_spm; /* a SentencePiece model file's bytes; need not outlive the call */
    size_t source_spm_size;
    const tr_vocabulary *source, *target; /* must outlive the tokenizer; may be the same */
    int unk_id;                           /* of the source vocabulary; -1: unknown pieces are an error */
    const int32_t *special;               /* target ids that decode to nothing: start, end, padding; -1 among them is none */
    size_t special_count;
    const void *source_bpe; /* or, in place of source_spm, a file of BPE codes */
    size_t source_bpe_size;
    const char *source_language, *target_language; /* codes, for words; "" where unknown */
} tr_tokenizer_parts;

/* Checks the SentencePiece file first (tokenizer/spm_check.h), then loads it. Where there are BPE codes, source_spm is not
 * looked at, and no language but their words' is known. */
tr_status tr_tokenizer_create(const tr_tokenizer_parts *parts, tr_tokenizer **tokenizer, tr_error *error);
void tr_tokenizer_destroy(tr_tokenizer *tokenizer); /* NULL is allowed */

/* Appends the ids of text, without an end mark. text must be valid UTF-8 without NUL (tr_utf8_clean).
 * A text of more than 64 KiB is encoded in parts, cut before a space where there is one: the library's time grows with the
 * square of a run of unknown characters, and its memory is 100 times the text. On failure ids is as before. */
tr_status tr_tokenizer_encode(const tr_tokenizer *tokenizer, const char *text, size_t size, tr_ids *ids, tr_error *error);

/* The same, and where in the text each of the appended ids comes from: *spans, to be freed, has one for each; NULL on
 * failure. White space in front of a word is no part of its token; bytes of one character have its span each. Of words that
 * BPE codes cut, a token that the text does not show as it is (Moses writes some characters in another way) has an empty
 * span. */
tr_status tr_tokenizer_encode_spans(const tr_tokenizer *tokenizer, const char *text, size_t size, tr_ids *ids,
                                    tr_span **spans, tr_error *error);

/* Appends the text of target ids: "▁" is a space, byte pieces <0x..> are joined to characters (a byte of invalid UTF-8
 * becomes U+FFFD, as does NUL), special and unknown tokens are left out, white space at both ends is dropped. With BPE codes
 * pieces are put together to words, and words to a text, instead. */
tr_status tr_tokenizer_decode(const tr_tokenizer *tokenizer, const int32_t *ids, size_t count, tr_buffer *text,
                              tr_error *error);

/* The same, and where in what was appended each id's text is: spans [count]. Ids that decode to nothing have empty spans;
 * bytes of one character have its span each. */
tr_status tr_tokenizer_decode_spans(const tr_tokenizer *tokenizer, const int32_t *ids, size_t count, tr_buffer *text,
                                    tr_span *spans, tr_error *error);

/* A text that grows token by token: the bytes that tr_tokenizer_decode makes of all tokens, told as soon as none behind them
 * can change them. A zeroed struct has no tokens. */
typedef struct tr_incremental_text {
    tr_buffer text;  /* what is decoded: white space that may be the end, and */
    tr_span emitted; /* what the newest token added */
    bool started;    /* something was told */
    tr_buffer bytes; /* of a character that is not complete */
    tr_ids ids;      /* of words, whose text depends on all of them: it is told at the end */
} tr_incremental_text;

/* One token more (-1: none), and whether it is the last one; growing->text has in growing->told what that adds. */
tr_status tr_tokenizer_decode_next(const tr_tokenizer *tokenizer, tr_incremental_text *growing, int32_t id, bool last,
                                   tr_error *error);
void tr_incremental_text_free(tr_incremental_text *growing);

#endif
