/* Language tokens of Hugging Face's multilingual tokenizers. */
#ifndef TR_FORMATS_HF_LANGUAGES_H
#define TR_FORMATS_HF_LANGUAGES_H

#include "formats/json.h"
#include "formats/package.h"
#include "formats/vocabularies.h"

/* What a class of tokenizers does with languages. */
typedef struct tr_hf_tokenizer {
    const char *name;                 /* transformers' class: "NllbTokenizer" */
    tr_language_place source, target; /* where the languages' tokens go */
    const char *codes;                /* languages in the order of their ids, separated by spaces */
    const char *around;               /* what a code has before and behind it in its token: "__" */
    bool mask;                        /* <mask> has the id behind them */
} tr_hf_tokenizer;

/* Chooses the class by tokenizer_config.json, else by the model's type, its files (words: a vocab.json) and its size. False:
 * the type has no languages. */
bool tr_hf_tokenizer_choose(tr_json_fields *settings, const char *model_type, bool words, int rows,
                            tr_hf_tokenizer *tokenizer);

/* Those of tokenizer_config.json's added_tokens_decoder (NULL: none): {"id": {"content": token}}. */
tr_status tr_hf_added_read(const json_t *tokens, int rows, tr_added *added, tr_error *error) TR_CHECKED;

/* Those of a class, numbered from first on. */
tr_status tr_hf_added_codes(const tr_hf_tokenizer *tokenizer, int32_t first, int rows, tr_added *added,
                            tr_error *error) TR_CHECKED;

/* Notes that none of the added tokens is text. */
tr_status tr_hf_added_special(const tr_added *added, tr_package *package, tr_error *error) TR_CHECKED;

/* The same, and which of them are languages. */
tr_status tr_hf_added_languages(const tr_added *added, const tr_hf_tokenizer *tokenizer, tr_package *package,
                                tr_error *error) TR_CHECKED;

#endif
