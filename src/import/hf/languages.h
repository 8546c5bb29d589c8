/* Language tokens of Hugging Face's multilingual tokenizers. */
#ifndef TR_IMPORT_HF_LANGUAGES_H
#define TR_IMPORT_HF_LANGUAGES_H

#include "import/json.h"
#include "formats/package.h"
#include "import/vocabularies.h"

/* How a class of tokenizers marks languages. */
typedef struct tr_hf_tokenizer {
    const char *name;                 /* transformers' class: "NllbTokenizer" */
    tr_language_place source, target; /* where the languages' tokens go */
    const char *codes;                /* languages in the order of their ids, separated by spaces */
    const char *around;               /* encloses a code in its token: "__" */
    bool mask;                        /* <mask> has the id after them */
} tr_hf_tokenizer;

/* Chooses the class by tokenizer_config.json, else by the model's type, its files (words: it has a vocab.json) and its size.
 * False: models of this type have no languages. */
bool tr_hf_tokenizer_choose(tr_json_fields *settings, const char *model_type, bool words, int rows,
                            tr_hf_tokenizer *tokenizer);

/* Reads the added_tokens_decoder of tokenizer_config.json, {"id": {"content": token}}; NULL: none. */
tr_status tr_hf_added_read(const json_t *tokens, int rows, tr_added *added, tr_error *error) TR_CHECKED;

/* Adds the language tokens of a class, with ids from first on. */
tr_status tr_hf_added_codes(const tr_hf_tokenizer *tokenizer, int32_t first, int rows, tr_added *added,
                            tr_error *error) TR_CHECKED;

/* Appends the added tokens to package->special. */
tr_status tr_hf_added_special(const tr_added *added, tr_package *package, tr_error *error) TR_CHECKED;

/* Does the same and fills package->languages from those that are language tokens. */
tr_status tr_hf_added_languages(const tr_added *added, const tr_hf_tokenizer *tokenizer, tr_package *package,
                                tr_error *error) TR_CHECKED;

#endif
