/* Scored pairs as they are printed: a number, or JSON. */
#ifndef TR_CLI_SCORES_H
#define TR_CLI_SCORES_H

#include "cli/model.h"
#include "util/buffer.h"

/* A pair: two fields of a line. */
typedef struct cli_pair {
    const char *source, *target;
    size_t source_size, target_size;
    bool carriage_return;
} cli_pair;

/* False: memory is short. spans of text may be NULL. */
bool cli_render_score(const cli_pair *pair, const tr_text_score *score, bool alignment, tr_buffer *out) TR_CHECKED;
bool cli_render_score_json(const cli_model *model, const cli_pair *pair, uint64_t number, const tr_text_score *score,
                           tr_buffer *out) TR_CHECKED;

#endif
