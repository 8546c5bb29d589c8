/* Vocabularies as several formats store them: a table of words, a list of tokens, or the pieces of a SentencePiece model. */
#ifndef TR_IMPORT_VOCABULARIES_H
#define TR_IMPORT_VOCABULARIES_H

#include "import/json.h"
#include "formats/package.h"

/* Tokens that are added to a tokenizer's pieces: ids, and texts in text from starts[i] on, each with its NUL. A zeroed
 * struct has none. */
typedef struct tr_added {
    tr_ids ids, starts;
    tr_buffer text;
} tr_added;

tr_status tr_added_add(tr_added *added, int32_t id, const char *text, size_t size, tr_error *error) TR_CHECKED;
void tr_added_free(tr_added *added);

/* Builds a vocabulary of rows ids from a vocab.json, {piece: id}, and added tokens (NULL: none). Messages begin with name.
 */
tr_status tr_vocabulary_of_words(const json_t *json, const char *name, int rows, const tr_added *added,
                                 tr_vocabulary *vocabulary, tr_error *error) TR_CHECKED;

/* Builds a vocabulary of rows ids from a list of at most rows tokens, in JSON or one on each line; ids behind it have no
 * piece. Messages begin with name. */
tr_status tr_vocabulary_of_list(tr_bytes file, const char *name, int rows, tr_vocabulary *vocabulary,
                                tr_error *error) TR_CHECKED;

/* Builds a vocabulary of rows ids from the pieces of a SentencePiece model and added tokens (NULL: none). Ids are the piece
 * numbers; with fairseq, the piece numbers plus 1 after fairseq's own four tokens. */
tr_status tr_vocabulary_of_pieces(tr_bytes spm, int rows, bool fairseq, const tr_added *added, tr_vocabulary *vocabulary,
                                  tr_error *error) TR_CHECKED;
tr_status tr_count_pieces(tr_bytes spm, int32_t *count, tr_error *error) TR_CHECKED;

#endif
