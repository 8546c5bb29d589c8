/* Text to token ids and back, exactly as Hugging Face's MarianTokenizer does it: SentencePiece cuts text into pieces, the
 * vocabulary maps pieces to ids. Decoding only needs the vocabulary. Where a model has words in place of
 * SentencePiece, those cut the text (tokenizer/words.h). Two deliberate differences: special tokens are not
 * recognised inside a text ("</s>" typed by a user is five ordinary characters), and a leading ">>lang<<" is one token only
 * if the vocabulary has it. */
#ifndef TR_TOKENIZER_TOKENIZER_H
#define TR_TOKENIZER_TOKENIZER_H

#include "tokenizer/vocabulary.h"
#include "tokenizer/words.h"
#include "util/buffer.h"

#include "util/types.h"

typedef struct tr_tokenizer tr_tokenizer; /* shared by threads */

typedef struct tr_tokenizer_parts {
    const void *source_spm; /* a SentencePiece model file's bytes; need not outlive the call */
    size_t source_spm_size;
    const tr_vocabulary *source, *target; /* must outlive the tokenizer; may be the same */
    int unk_id;                           /* of the source vocabulary; -1: unknown pieces are an error */
    const int32_t *special;               /* target ids that decode to nothing: start, EOS, padding; -1 is ignored */
    size_t special_count;
    tr_words *words; /* in place of source_spm; the tokenizer takes ownership, also on failure */
} tr_tokenizer_parts;

/* Checks the SentencePiece file (tokenizer/spm_check.h). With words, ignores it. */
tr_status tr_tokenizer_create(const tr_tokenizer_parts *parts, tr_tokenizer **tokenizer, tr_error *error);
void tr_tokenizer_destroy(tr_tokenizer *tokenizer); /* NULL is allowed */

/* Tells that texts of so many bytes will be encoded soon (tr_spm_expect). */
tr_status tr_tokenizer_expect(const tr_tokenizer *tokenizer, size_t bytes, tr_error *error);

/* Tells that parts of this text between spaces will be encoded soon (tr_spm_share). */
void tr_tokenizer_share(const tr_tokenizer *tokenizer, const char *text, size_t size);

/* Appends the ids of text, without EOS. text must be valid UTF-8 without NUL (tr_utf8_clean). On failure ids is unchanged.
 * A text of more than 64 KiB is encoded in parts, cut before a space if possible: SentencePiece's time grows with the square
 * of a run of unknown characters, and its memory is 100 times the text. */
tr_status tr_tokenizer_encode(const tr_tokenizer *tokenizer, const char *text, size_t size, tr_ids *ids, tr_error *error);

/* Does the same and sets *spans to the bytes of text that each appended id stands for. The caller frees *spans; it is NULL
 * on failure. A span does not include white space before a word. All byte pieces of a character have its span. With BPE
 * codes, a token that differs from the text has an empty span, since Moses normalises some characters. */
tr_status tr_tokenizer_encode_spans(const tr_tokenizer *tokenizer, const char *text, size_t size, tr_ids *ids,
                                    tr_span **spans, tr_error *error);

/* Appends the text of target ids: "▁" becomes a space, byte pieces <0x..> are joined to characters (invalid UTF-8 and NUL
 * become U+FFFD), special and unknown tokens are left out, white space at both ends is dropped. With BPE codes, pieces are
 * joined to words and words to a text instead. */
tr_status tr_tokenizer_decode(const tr_tokenizer *tokenizer, const int32_t *ids, size_t count, tr_buffer *text,
                              tr_error *error);

/* Does the same and sets spans [count] to the bytes of each id's text, relative to the start of the appended text. Ids that
 * decode to nothing have empty spans; all byte pieces of a character have its span. */
tr_status tr_tokenizer_decode_spans(const tr_tokenizer *tokenizer, const int32_t *ids, size_t count, tr_buffer *text,
                                    tr_span *spans, tr_error *error);

/* Incremental detokenizer: emits the bytes of a text sequence of tokens as soon as no later token can change them. All
 * emitted bytes together equal the result of tr_tokenizer_decode. A zeroed struct has no tokens. */
typedef struct tr_incremental_text {
    tr_buffer text;  /* the newest text, with white space that is held back at its end */
    tr_span emitted; /* the part of text that the newest token added */
    bool started;    /* something was emitted */
    bool only_whole; /* a character that the last token leaves incomplete is left out, instead of U+FFFD */
    tr_buffer bytes; /* of an incomplete character */
    tr_ids ids;      /* with BPE codes: all ids, whose text is emitted at the end */
} tr_incremental_text;

/* Adds a token (-1: none) and decodes what can be emitted; last: no token follows. The new bytes are text->text
 * from text->emitted.begin to text->emitted.end. */
tr_status tr_tokenizer_decode_next(const tr_tokenizer *tokenizer, tr_incremental_text *text, int32_t id, bool last,
                                   tr_error *error);
void tr_incremental_text_free(tr_incremental_text *text);

#endif
