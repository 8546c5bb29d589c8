/* The metadata keys that GGUF's reader and writer share; docs/formats.md describes each. */
#ifndef TR_FORMATS_GGUF_KEYS_H
#define TR_FORMATS_GGUF_KEYS_H

#include "formats/gguf/container.h"

#define TR_KEY_FILE_SIZE          "translate.file_size"
#define TR_KEY_CHECKSUM           "translate.checksum"
#define TR_KEY_VERSION            "translate.version"
#define TR_KEY_ACTIVATION         "translate.activation"
#define TR_KEY_POSITIONS          "translate.positions"
#define TR_KEY_NORM               "translate.norm"
#define TR_KEY_HISTORY            "translate.history"
#define TR_KEY_AVERAGE_ACTIVATION "translate.average_activation"
#define TR_KEY_FORBIDDEN          "translate.forbidden"
#define TR_KEY_SOURCE_LANGUAGE    "translate.source_language"
#define TR_KEY_TARGET_LANGUAGE    "translate.target_language"
#define TR_KEY_LANGUAGES          "translate.languages"
#define TR_KEY_LANGUAGE_IDS       "translate.language_ids"
#define TR_KEY_SOURCE_PLACE       "translate.source_language_place"
#define TR_KEY_TARGET_PLACE       "translate.target_language_place"
#define TR_KEY_SPECIAL            "translate.special"
#define TR_KEY_COPY_SYMBOLS       "translate.copy_symbols"
#define TR_KEY_STAND_INS          "translate.stand_ins"
#define TR_KEY_TOKENS             "tokenizer.ggml.tokens"
#define TR_KEY_TARGET_TOKENS      "translate.target.tokens"
#define TR_KEY_ARCHITECTURE       "general.architecture"
#define TR_KEY_NAME               "general.name"
#define TR_KEY_LICENSE            "general.license"
#define TR_KEY_DESCRIPTION        "general.description"
#define TR_KEY_DATE               "translate.date"
#define TR_KEY_ALIGNMENT          "general.alignment"
#define TR_KEY_FILE_TYPE          "general.file_type"

#define TR_KEY_SHORTLIST_FIRST "translate.shortlist.first"
#define TR_KEY_SHORTLIST_BEST  "translate.shortlist.best"

/* The arrays of a shortlist (model/shortlist.h), i32. */
#define TR_TENSOR_SHORTLIST_OFFSETS "shortlist.offsets"
#define TR_TENSOR_SHORTLIST_WORDS   "shortlist.words"

/* The target ids that the model may produce (config.allowed), i32. */
#define TR_TENSOR_ALLOWED "output.allowed"

/* SentencePiece models and BPE codes, stored as tensors of bytes. */
#define TR_TENSOR_SOURCE_SPM  "translate.source.spm"
#define TR_TENSOR_TARGET_SPM  "translate.target.spm"
#define TR_TENSOR_SOURCE_BPE  "translate.source.bpe"
#define TR_TENSOR_TRADITIONAL "translate.target.traditional"

enum { TR_LAYOUT_VERSION = 1 }; /* of these keys: raised when an older reader would misread a file */

/* The fields of tr_config in files that this program writes. */
extern const tr_gguf_field tr_gguf_fields[];
extern const size_t tr_gguf_field_count;

#endif
