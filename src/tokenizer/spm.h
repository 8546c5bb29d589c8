/* A SentencePiece model file in use. SentencePiece takes milliseconds to load one, as it builds an index of all pieces, and
 * a short text needs a few of them: the first short texts are encoded with models that hold only the pieces that occur in
 * them, and the whole model is loaded when there is more to do. The result is the same. */
#ifndef TR_TOKENIZER_SPM_H
#define TR_TOKENIZER_SPM_H

#include "tokenizer/vocabulary.h"

typedef struct tr_spm tr_spm; /* shared by threads */

/* Checks the file (tokenizer/spm_check.h); data need not outlive the call. What only SentencePiece itself would refuse in
 * the whole file is an error of the first text that needs the whole. */
tr_status tr_spm_create(const void *data, size_t size, tr_spm **spm, tr_error *error) TR_CHECKED;
void tr_spm_destroy(tr_spm *spm); /* NULL is allowed */

/* Loads the whole model now, if texts of so many bytes, soon to be encoded, make that the faster way. */
tr_status tr_spm_expect(tr_spm *spm, size_t bytes, tr_error *error) TR_CHECKED;

/* Tells that parts of this text between spaces will be encoded: they share the loading of their pieces, if that helps. */
void tr_spm_share(tr_spm *spm, const char *text, size_t size);

bool tr_spm_is_whole(tr_spm *spm); /* whether the whole model is loaded */

/* As tr_sentencepiece_encode. */
tr_status tr_spm_encode(tr_spm *spm, const char *text, size_t size, const tr_vocabulary *vocabulary, int unk_id, tr_ids *ids,
                        tr_buffer *spans, tr_error *error) TR_CHECKED;

#endif
