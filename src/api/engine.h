/* The library's functions with plain structures, as the command and the tests call them; interface.c puts the public
 * interface on top. */
#ifndef TR_API_ENGINE_H
#define TR_API_ENGINE_H

#include "util/types.h"

/* Opens a model as it was published: a GGUF file, a directory of Hugging Face, Marian, CTranslate2 or Firefox,
 * or an Argos package. The contents decide which it is, not the name. On success *model is for tr_model_close.
 *
 * TR_ERROR_IO           A file cannot be opened or read.
 * TR_ERROR_FORMAT       A file is damaged, incomplete or contradictory. The message names the file and the tensor or field.
 * TR_ERROR_UNSUPPORTED  The file holds another kind of network, or is no translation model.
 * TR_ERROR_NUMERIC      A weight is not a finite number, and is to be rounded to int8.
 * TR_ERROR_ARGUMENT     An option is out of range, this CPU does not run the kernel level, or the shortlist was made for
 *                       other vocabularies. */
tr_status tr_open_model(const char *path, const tr_model_options *options, tr_model **model, tr_error *error);

/* As tr_model_open, for size bytes of a GGUF file in memory. With TR_LOAD_MAP, the default, the model uses the bytes where
 * they are: they must not change, and outlive the model. Bytes at an address that is not divisible by 64 are copied, and
 * with TR_LOAD_COPY all are.
 *
 * TR_ERROR_UNSUPPORTED  As there, or the bytes are not those of a GGUF file. */
tr_status tr_open_model_memory(const void *data, size_t size, const tr_model_options *options, tr_model **model,
                               tr_error *error);

/* Fills *info. The strings live as long as the model. */
void tr_model_get_info(const tr_model *model, tr_model_info *info);

/* Fills *entry with the model number index; models are sorted by name. Returns false if index is too large. */
bool tr_model_index_get(const tr_model_index *models, size_t index, tr_model_entry *entry);

/* Finds the models that translate from source to target, which are as in tr_translate_options. The strings of
 * *route live as long as the index.
 *
 * The route is one model if any model has the pair. Among several, the order is: the model whose languages are
 * nearest to the wanted ones in script and region; a model for a single pair; the larger file; the name. If no
 * model has the pair, the route is two models with English in between. If English does not lead there, the
 * language in between is the one with the nearest languages, then with the fewest and smallest files, then the
 * first code in alphabetical order.
 *
 * TR_ERROR_ARGUMENT  There is no route. The message lists the languages that source leads to and that target is reached
 *                    from. */
tr_status tr_find_route(const tr_model_index *models, const char *source, const char *target, tr_route *route,
                        tr_error *error);

/* Creates the working memory for one caller: key/value caches, activations, helper threads, and a cache of
 * translated texts. Memory is allocated when it is
 * needed and kept until tr_context_destroy. The model must outlive the context.
 *
 * TR_ERROR_ARGUMENT  An option is out of range, or the models of the ensemble differ in what they must agree in. */
tr_status tr_make_context(const tr_model *model, const tr_context_options *options, tr_context **context, tr_error *error);

/* Translates count texts together, in batches. On success *results is an array of count results in the same
 * order; free it with tr_result_array_free(*results, count). On failure there are no results, and the context can be
 * used again.
 *
 * sizes: the bytes of each text, or NULL if the texts are NUL-terminated. A text of 0 bytes may be NULL.
 *
 * White space around a text and between its sentences is kept. Where two sentences have none in between, as in
 * Chinese, one space separates their translations; in Chinese and Japanese none does, also where the sentences
 * have one or two. A blank text is returned as it is, and so is a sentence without tokens. A call should have many
 * texts, up to some thousands, to keep all threads busy.
 *
 * TR_ERROR_ARGUMENT   The model has no tokenizer, an option is out of range, or a text is NULL.
 * TR_ERROR_NUMERIC    The network produced NaN.
 * TR_ERROR_CANCELLED  A callback cancelled the call. */
tr_status tr_translate_texts(tr_context *context, const char *const *texts, const size_t *sizes, size_t count,
                             const tr_translate_options *options, tr_result **results, tr_error *error);

/* Frees an array of count results and all that they hold. NULL is allowed. */
void tr_result_array_free(tr_result *results, size_t count);

/* Source token ids of one text, without EOS and language tokens. The text is one sentence: it is not split.
 * Free *tokens with tr_tokens_free.
 *
 * TR_ERROR_ARGUMENT  The model has no tokenizer. */
tr_status tr_source_tokens(const tr_model *model, const char *text, size_t size, tr_tokens *tokens, tr_error *error);

/* Target token ids of one text in the target language, for prefixes and scores. The first call loads the target
 * tokenizer.
 *
 * TR_ERROR_ARGUMENT     The model has no tokenizer.
 * TR_ERROR_UNSUPPORTED  The model has no tokenizer for its target language.
 * TR_ERROR_FORMAT       The target tokenizer is damaged. */
tr_status tr_target_tokens(const tr_model *model, const char *text, size_t size, tr_tokens *tokens, tr_error *error);

/* The text of count target token ids. Start, EOS and padding tokens are left out. *text is NUL-terminated, for
 * tr_free; *size is its bytes without the NUL (size may be NULL).
 *
 * TR_ERROR_ARGUMENT  The model has no tokenizer, or an id is outside its vocabulary. */
tr_status tr_tokens_text(const tr_model *model, const int32_t *ids, size_t count, char **text, size_t *size,
                         tr_error *error);

/* Translates count sources, given as token ids without EOS (the library appends it). On success *outputs is an
 * array of count targets, without EOS; free it and all that it holds with tr_tokens_array_free(*outputs,
 * count).
 *
 * An empty source is allowed. If options name languages, the library adds their tokens to sources and targets;
 * otherwise the caller has to. min_length == max_length forces exactly that many tokens. Nothing is split,
 * cached or guarded against loops: every source is computed.
 *
 * TR_ERROR_ARGUMENT   A source has more tokens than tr_model_info.max_source_length (EOS and language tokens count), an
 *                     id is outside the vocabulary, or an option is out of range.
 * TR_ERROR_NUMERIC    The network produced NaN.
 * TR_ERROR_CANCELLED  A callback cancelled the call. */
tr_status tr_translate_ids(tr_context *context, const tr_tokens *sources, size_t count, const tr_translate_options *options,
                           tr_tokens **outputs, tr_error *error);

/* As tr_translate_tokens, with all that the search finds: on success (*outputs)[i] holds the hypotheses of
 * sources[i]. Free with tr_hypotheses_free(*outputs, count).
 *
 * prefixes: NULL, or count lists of tokens that the targets begin with, after the language token if there is
 * one. They are part of the hypotheses.
 *
 * Errors as tr_translate_tokens, and
 * TR_ERROR_ARGUMENT  A prefix has more tokens than max_length, an id outside the target vocabulary, or EOS. */
tr_status tr_search_tokens(tr_context *context, const tr_tokens *sources, const tr_tokens *prefixes, size_t count,
                           const tr_translate_options *options, tr_hypotheses **outputs, tr_error *error);

/* Frees an array of count items and all that they hold. NULL is allowed. */
void tr_hypotheses_free(tr_hypotheses *hypotheses, size_t count);

/* Frees the ids of one tr_tokens, which the caller owns, and empties it. NULL is allowed. */
void tr_tokens_free(tr_tokens *tokens);

/* Frees an array of count tr_tokens and their ids. NULL is allowed. */
void tr_tokens_array_free(tr_tokens *tokens, size_t count);

/* Scores count targets as translations of count sources, all given as token ids without EOS. On success *scores
 * is an array of count scores; free it with tr_score_array_free(*scores, count).
 *
 * All positions of a target are computed at once (forced decoding), which takes a fraction of the time of
 * translating. The log-probabilities have the same bits as those of step-by-step decoding. They are normalised
 * over all target tokens: shortlists and forbidden tokens have no effect. The score of a pair does not depend
 * on other pairs, threads or batches.
 *
 * If the decoder is given the target's first token (a language), that token is part of targets, as it is part
 * of what tr_translate_tokens returns. It has probability 1, and any other token in its place has probability
 * 0. Empty sources and targets are allowed.
 *
 * TR_ERROR_ARGUMENT   An option is out of range, a source is too long (as in tr_translate_tokens), a target with its EOS
 *                     has more than tr_model_info.max_target_length tokens, or an id is outside its vocabulary. The
 *                     message names the pair.
 * TR_ERROR_NUMERIC    The network produced NaN.
 * TR_ERROR_CANCELLED  The callback cancelled the call. */
tr_status tr_score_ids(tr_context *context, const tr_tokens *sources, const tr_tokens *targets, size_t count,
                       const tr_score_options *options, tr_score **scores, tr_error *error);

/* Frees an array of count scores and all that they hold. NULL is allowed. */
void tr_score_array_free(tr_score *scores, size_t count);

/* As tr_score_tokens, for texts. Each text is one sentence: it is not split. Sizes are as in tr_translate. Free
 * *scores with tr_text_scores_free(*scores, count).
 *
 * Errors as tr_score_tokens, and
 * TR_ERROR_ARGUMENT     The model has no tokenizer, or a text is NULL.
 * TR_ERROR_UNSUPPORTED  The model has no tokenizer for its target language.
 * TR_ERROR_FORMAT       The target tokenizer is damaged. */
tr_status tr_score_text_pairs(tr_context *context, const char *const *sources, const size_t *source_sizes,
                              const char *const *targets, const size_t *target_sizes, size_t count,
                              const tr_score_options *options, tr_text_score **scores, tr_error *error);

/* Frees an array of count scores and all that they hold. NULL is allowed. */
void tr_text_scores_free(tr_text_score *scores, size_t count);

/* As tr_tokenize (or, with target, tr_tokenize_target) and tr_detokenize, with the bytes of the text that each
 * token stands for. *spans is [tokens->count], for tr_free; spans is an array of count that the caller
 * provides. A span does not include the white space before the token. It is empty if the token stands for no
 * text, and for Moses tokens that the text shows in another form. */
tr_status tr_tokenize_spans(const tr_model *model, bool target, const char *text, size_t size, tr_tokens *tokens,
                            tr_span **spans, tr_error *error);
tr_status tr_detokenize_spans(const tr_model *model, const int32_t *ids, size_t count, char **text, size_t *size,
                              tr_span *spans, tr_error *error);

/* What a queue takes at once. */
tr_queue_options tr_queue_limits(const tr_queue *queue);
/* How many sentences are being decoded, and how many the batches of all threads have room for; urgent ones come on top. */
void tr_queue_fill(tr_queue *queue, size_t *sentences, size_t *places);

#endif
