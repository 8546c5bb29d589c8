/* Numbers in a SentencePiece model file: fields and values of sentencepiece_model.proto, and protobuf's wire types. */
#ifndef TR_TOKENIZER_SPM_FIELDS_H
#define TR_TOKENIZER_SPM_FIELDS_H

enum {
    TR_SPM_MODEL_PIECE = 1,
    TR_SPM_MODEL_TRAINER = 2,
    TR_SPM_MODEL_NORMALIZER = 3,
    TR_SPM_MODEL_SELF_TEST = 4,
    TR_SPM_MODEL_DENORMALIZER = 5
};
enum { TR_SPM_PIECE_TEXT = 1, TR_SPM_PIECE_SCORE = 2, TR_SPM_PIECE_TYPE = 3 };
enum { TR_SPM_TRAINER_MODEL_TYPE = 3, TR_SPM_TRAINER_BYTE_FALLBACK = 35 };
enum { TR_SPM_NORMALIZER_CHARSMAP = 2, TR_SPM_NORMALIZER_DUMMY_PREFIX = 3, TR_SPM_NORMALIZER_EXTRA_SPACES = 4 };

/* Types of pieces; GGUF's tokenizer.ggml.token_type has the same numbers. */
enum {
    TR_SPM_TYPE_NORMAL = 1,
    TR_SPM_TYPE_UNKNOWN = 2,
    TR_SPM_TYPE_CONTROL = 3,
    TR_SPM_TYPE_USER_DEFINED = 4,
    TR_SPM_TYPE_UNUSED = 5,
    TR_SPM_TYPE_BYTE = 6
};
enum { TR_SPM_UNIGRAM = 1, TR_SPM_BPE = 2, TR_SPM_CHAR = 4 }; /* WORD lies between them */

/* Groups (3 and 4) occur in no model. */
enum { TR_SPM_WIRE_VARINT = 0, TR_SPM_WIRE_64 = 1, TR_SPM_WIRE_BYTES = 2, TR_SPM_WIRE_32 = 5 };

#endif
