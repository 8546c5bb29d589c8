/* Vocabularies as most formats have them: a table of words, a list of tokens, or the pieces of a SentencePiece model. */
#ifndef TR_FORMATS_VOCABULARIES_H
#define TR_FORMATS_VOCABULARIES_H

#include "formats/json.h"
#include "formats/package.h"

/* Tokens that are no pieces: their ids, and their texts, each with its NUL, from starts[i] on. A zeroed struct: none. */
typedef struct tr_added {
    tr_ids ids, starts;
    tr_buffer text;
} tr_added;

tr_status tr_added_add(tr_added *added, int32_t id, const char *text, size_t size, tr_error *error) TR_CHECKED;
void tr_added_free(tr_added *added);

/* A vocab.json, {piece: id}, and tokens beside it (NULL: none), as a vocabulary of rows ids. Messages begin with name. */
tr_status tr_vocabulary_of_words(const json_t *json, const char *name, int rows, const tr_added *added,
                                 tr_vocabulary *vocabulary, tr_error *error) TR_CHECKED;

/* A vocabulary from a list of tokens, in JSON or a token a line, of at most rows tokens. Messages begin with name. */
tr_status tr_vocabulary_of_list(tr_bytes file, const char *name, int rows, tr_vocabulary *vocabulary,
                                tr_error *error) TR_CHECKED;

/* The pieces of a SentencePiece model, and tokens beside them (NULL: none), as a vocabulary of rows ids. Ids are the pieces'
 * numbers, or, in fairseq's way, one more, with its own four tokens in front. */
tr_status tr_vocabulary_of_pieces(tr_bytes spm, int rows, bool fairseq, const tr_added *added, tr_vocabulary *vocabulary,
                                  tr_error *error) TR_CHECKED;
tr_status tr_count_pieces(tr_bytes spm, int32_t *count, tr_error *error) TR_CHECKED;

#endif
