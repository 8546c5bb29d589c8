/* What changes the logits before a token is chosen: tokens that never come, tokens that may not come next in a row, and
 * tokens that are less likely because they came before. */
#ifndef TR_DECODING_RULES_H
#define TR_DECODING_RULES_H

#include "decoding/search.h"
#include "decoding/shortlist.h"

/* 80..BF; A0..BF after E0; 80..9F after ED; 90..BF after F0; 80..8F after F4 (Unicode 15, table 3-7). */
enum { TR_UTF8_STATES = 6 };

/* The tokens that never come, by the models' settings and the search's options, and the biases of the output projection that
 * see to it: -inf for these tokens. */
typedef struct tr_forbidden {
    int32_t *ids; /* [count] */
    int count;
    const float *bias; /* [outputs] the network's own, which forbids what the model's settings do, or own_bias */
    float *own_bias;   /* NULL: the search forbids nothing more */
    float *bias_without_eos;
    bool by_options; /* the search's options forbid something, besides what valid_utf8 does */
    bool valid_utf8;
    /* With valid_utf8 and tokens of bytes, else NULL: [outputs] each. bias is that between two characters then. */
    float *shortlist_bias;            /* the same for shortlists, which may lack the bytes that end a character */
    float *utf8_bias[TR_UTF8_STATES]; /* inside a character; 0 is not used */
    int first_byte, last_byte;        /* outputs of bytes, at least and at most */
} tr_forbidden;

/* Where a hypothesis stands in a character that it writes in bytes: 0: between two, else a number of the bytes that may
 * come. tokens [count]: its tokens. */
int tr_utf8_state(const tr_config *config, const int32_t *tokens, int count);
/* How many of the tokens are left without an incomplete character at their end. */
size_t tr_whole_characters(const tr_config *config, const int32_t *tokens, size_t count);

/* Allocates and fills it for a search; a call before is undone. */
tr_status tr_forbidden_init(tr_forbidden *f, const tr_ensemble *models, const tr_search_options *options, tr_error *error);
void tr_forbidden_free(tr_forbidden *f); /* a zeroed struct is allowed */

/* The rules for one row of a step. */
typedef struct tr_logits_rules {
    bool skip;                            /* the row's token is known, its logits are not computed */
    const tr_shortlist_output *shortlist; /* NULL: any token can come */
    int utf8_state;                       /* see tr_utf8_state */
    uint32_t strays;                      /* see tr_slot */
    int32_t banned_eos;                   /* EOS, where it is too early; else -1 */
    const int32_t *banned;                /* [banned_count] tokens that may not come */
    int banned_count;
    const int32_t *seen; /* [seen_count] tokens under the repetition penalty */
    float *seen_logits;  /* [seen_count] their logits; -inf before they are computed, and for repeats */
    int seen_count;
    float penalty;
} tr_logits_rules;

/* The number of target tokens that are known before the search: the first token of tr_decoder_start, and the prefix. */
int tr_known_tokens(const tr_search *s, const tr_sequence *seq);
/* The known token number i, from 0 on. */
int32_t tr_known_token(const tr_search *s, const tr_sequence *seq, int i);

/* The copy symbols that a sentence's source lacks: bit i for config.copy_symbols[i]. For texts (options.valid_utf8)
 * searches for candidates leave them out; a greedy one notes that one came (tr_sequence.strayed). */
uint32_t tr_stray_symbols(const tr_config *config, const tr_sequence *seq);
bool tr_is_stray(const tr_config *config, uint32_t strays, int32_t id);

/* Whether a sentence has a repetition penalty or an n-gram rule, from its own settings or those of the search, or is to have
 * no strays. */
bool tr_has_constraints(const tr_search *s, const tr_sequence *seq);
/* The rules for a hypothesis's next token. banned and seen_logits [positions] are memory for them. */
tr_logits_rules tr_rules_for(const tr_search *s, const tr_slot *slot, const tr_live_hyp *hyp,
                             const tr_shortlist_output *shortlist, int32_t *banned, float *seen_logits);

#endif
