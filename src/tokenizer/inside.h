/* What a tokenizer holds. */
#ifndef TR_TOKENIZER_INSIDE_H
#define TR_TOKENIZER_INSIDE_H

#include "tokenizer/sentencepiece.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/words.h"

struct tr_tokenizer {
    tr_sentencepiece *spm;
    tr_words *words; /* in place of spm, else NULL */
    const tr_vocabulary *source, *target;
    int unk_id;
    bool bytes;             /* the target vocabulary has byte pieces */
    unsigned char silent[]; /* a bit for each target id: it decodes to nothing */
};

enum { TR_BYTE_PIECE = 6 }; /* bytes of "<0x4F>" */
/* The byte that such a piece stands for; -1 for other pieces. */
int tr_piece_byte(tr_piece piece);

#endif
