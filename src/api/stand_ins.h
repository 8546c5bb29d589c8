/* Words that a model copies from the source to its translations: what protected spans become for it (text/protect.h). */
#ifndef TR_API_STAND_INS_H
#define TR_API_STAND_INS_H

#include "api/model.h"
#include "text/protect.h"

/* Those of a pair of languages of a model: the symbols that its file names (translate.copy_symbols), else the words
 * (translate.stand_ins), else what a short trial finds when they are first asked for. Any thread; they live as long as the
 * model. */
tr_status tr_model_stand_ins(const tr_model *model, const tr_language_pair *pair, const tr_stand_ins **found,
                             tr_error *error);

/* Writes the words that a model with one pair of languages copies to words [size], separated by spaces: what
 * tr_package.stand_ins holds. TR_ERROR_ARGUMENT: the model has no tokenizer. TR_ERROR_UNSUPPORTED: it has several languages,
 * or names symbols. */
tr_status tr_model_find_stand_ins(const tr_model *model, char *words, size_t size, tr_error *error);

/* Frees the list of a model. */
void tr_stand_ins_free(tr_pair_stand_ins *list);

#endif
