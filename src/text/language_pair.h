/* The languages that a call translates between, as the tokens that the network gets for them: those around each source, and
 * those that each target begins with. */
#ifndef TR_TEXT_LANGUAGE_PAIR_H
#define TR_TEXT_LANGUAGE_PAIR_H

#include "decoding/decoding.h"
#include "formats/package.h"
#include "text/figures.h"
#include "tokenizer/scripts.h"
#include "tokenizer/tokenizer.h"

enum { TR_MAX_SOURCE_PREFIX = 3 }; /* tokens before a source: its start token, and two of languages */

typedef struct tr_language_pair {
    const tr_package *package;
    const tr_tokenizer *tokenizer; /* of the source; NULL: the caller gives tokens */
    int source, target;            /* indices of package->languages; -1: none, or unknown */
    tr_bytes traditional;          /* the package's rules, if the target is to have traditional characters */
    tr_scripts source_letters, target_letters;
    tr_figure_language source_figures, target_figures;
    bool source_unspaced, unspaced;       /* no space separates two sentences of the language: Chinese, Japanese */
    int32_t prefix[TR_MAX_SOURCE_PREFIX]; /* [prefix_count] before each source: its start token, language tokens */
    int prefix_count;
    int32_t eos_id; /* after each source; -1: the model was trained without it */
    int32_t suffix; /* a language token after that */
    bool has_suffix;
    int limit;              /* tokens of a source without those around it, at most */
    bool typed;             /* a text may begin with its target language's token: ">>fra<< text" */
    tr_decoder_start start; /* how each target begins */
} tr_language_pair;

/* Chooses the languages source and target (tokenizer/language_codes.h); NULL: the model's own. package and tokenizer must
 * outlive the pair. tokenizer NULL: sources are given as tokens, whose caller may give the language tokens, too; so a model
 * of several languages needs no name. max_positions: longest source of the network, in tokens. TR_ERROR_ARGUMENT: the model
 * does not have the language, or it must be named; or no token fits between those that the model needs. *pair is filled even
 * on failure. */
tr_status tr_language_pair_choose(const tr_package *package, const tr_tokenizer *tokenizer, int max_positions,
                                  const char *source, const char *target, tr_language_pair *pair, tr_error *error);

/* If text begins with a target language's token, returns its size in bytes, and *typed is the pair for the rest of the text.
 * Otherwise 0. */
size_t tr_language_pair_typed(const tr_language_pair *pair, const char *text, size_t size, tr_language_pair *typed);

/* How many tokens the network gets around each source, and how many of them after it. */
int tr_source_added(const tr_language_pair *pair);
int tr_source_added_after(const tr_language_pair *pair);

/* Checks a source that a caller gives as tokens. TR_ERROR_ARGUMENT names the source by its index. */
tr_status tr_source_check(const tr_language_pair *pair, const tr_tokens *source, size_t index, tr_error *error);

/* Writes a source and the tokens around it to ids, at most source->count + tr_source_added(pair) + 1; returns how many. An
 * empty source gets EOS even where the model was trained without it, since the network needs a token. */
int tr_source_lay_out(const tr_language_pair *pair, const tr_tokens *source, int32_t *ids);

#endif
