/* A tokenizer from files: a SentencePiece model and a vocab.json. Every failure ends the test. */
#ifndef TR_TEST_TOKENIZER_FIXTURE_H
#define TR_TEST_TOKENIZER_FIXTURE_H

#include "tokenizer/tokenizer.h"
#include "util/file.h"

typedef struct fixture {
    tr_file spm;
    tr_vocabulary vocabulary;
    tr_tokenizer *tokenizer;
} fixture;

tr_file fixture_file(const char *path);
void fixture_vocabulary(const char *path, tr_vocabulary *vocabulary);
/* "</s>" and "<pad>" are the special tokens, "<unk>" the unknown one. */
void fixture_open(const char *spm_path, const char *vocabulary_path, fixture *f);
void fixture_close(fixture *f);

#endif
