/* What the index of a folder of models holds. */
#ifndef TR_API_MODEL_INDEX_H
#define TR_API_MODEL_INDEX_H

#include "api/engine.h"
#include "formats/open.h"

typedef struct tr_indexed {
    char *path;
    const char *name; /* in path */
    tr_peek peek;
    tr_languages sources, targets; /* codes alone */
} tr_indexed;

struct tr_model_index {
    char *folder;
    tr_indexed *items;
    size_t count;
    char **warnings;
    size_t warning_count;
};

/* The languages of the model at path, as tr_model_index_open finds them. On failure nothing needs freeing;
 * item->peek.not_a_model tells then whether it is no model at all. */
tr_status tr_models_look(const char *path, tr_indexed *item, tr_error *error);
void tr_models_forget(tr_indexed *item);

/* As tr_model_index_open, but with the model at path alone. One that cannot be used is an error. */
tr_status tr_model_index_of_one(const char *path, tr_model_index **models, tr_error *error);

#endif
