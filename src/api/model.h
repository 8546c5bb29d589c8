/* The model that a tr_model handle stands for, and its tokenizers. */
#ifndef TR_API_MODEL_H
#define TR_API_MODEL_H

#include "api/engine.h"
#include <stdatomic.h>

#include "formats/package.h"
#include "model/network.h"
#include "tokenizer/tokenizer.h"

typedef struct tr_pair_stand_ins tr_pair_stand_ins; /* api/stand_ins.h */

struct tr_model {
    char *path;         /* that it was opened by, for messages */
    tr_package package; /* the network, the tokenizers and the shortlist point into it */
    tr_network *network;
    tr_tokenizer *tokenizer;                  /* NULL: the model takes tokens only */
    _Atomic(tr_tokenizer *) target_tokenizer; /* see tr_model_target_tokenizer; NULL: not made yet */
    _Atomic(tr_pair_stand_ins *) stand_ins;   /* those of the pairs that were asked for */
    const tr_shortlist *shortlist;            /* NULL: any token can come */
    const char *compute;                      /* the type that matrix products compute in: "f32", "int8" */
};

/* Makes the tokenizer from texts to source ids and from target ids to texts; NULL in *tokenizer: the package takes tokens
 * only. It points into the package. */
tr_status tr_source_tokenizer(const tr_package *package, tr_tokenizer **tokenizer, tr_error *error);

/* Makes the tokenizer from texts to target ids, and back. NULL in *tokenizer as well where words are cut by BPE codes, which
 * are the source's. */
tr_status tr_target_tokenizer(const tr_package *package, tr_tokenizer **tokenizer, tr_error *error);

/* The model's own target tokenizer; made when it is first asked for, since translating needs none. Any thread.
 * TR_ERROR_ARGUMENT: the model has no tokenizer. TR_ERROR_UNSUPPORTED: it cannot tokenise target texts. */
tr_status tr_model_target_tokenizer(const tr_model *model, const tr_tokenizer **tokenizer, tr_error *error);

/* TR_ERROR_ARGUMENT if the model has no tokenizer. */
tr_status tr_model_needs_tokenizer(const tr_model *model, tr_error *error);

#endif
