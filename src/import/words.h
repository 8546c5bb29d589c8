/* The tokenizer of models that were trained on words as Moses cuts them, in place of SentencePiece: BPE codes cut each word
 * into pieces, all but the last of which end in "@@". Argos Translate does the same with its bpe.model. */
#ifndef TR_IMPORT_WORDS_H
#define TR_IMPORT_WORDS_H

#include "formats/package.h"
#include "tokenizer/words.h"

/* codes: a file for tr_bpe_create. source, target: language codes, "" if unknown. Nothing needs to outlive the call. */
tr_status tr_words_create(tr_bytes codes, const char *source, const char *target, tr_words **words,
                          tr_error *error) TR_CHECKED;

/* Finds the pieces of words in the text that they come from, one after the other. Start with text and size alone. */
typedef struct tr_piece_finder {
    const char *text; /* [size] valid UTF-8 */
    size_t size;
    size_t at;        /* end of the last piece found */
    bool inside_word; /* the next piece continues a word */
} tr_piece_finder;

/* Returns the bytes of the next piece, without leading white space. The span is empty if the text does not show the piece as
 * it is, such as a plain quote that Moses wrote for a typographic one; pieces after it are found again. */
tr_span tr_piece_finder_next(tr_piece_finder *finder, const char *piece, size_t size);

#endif
