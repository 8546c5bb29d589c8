/* Alignments: what the options ask for, and how they are printed. */
#ifndef TR_CLI_ALIGNMENT_H
#define TR_CLI_ALIGNMENT_H

#include "cli/model.h"
#include "formats/json.h"
#include "util/buffer.h"

/* CLI_USAGE with a message where --alignment is missing. */
int cli_alignment_check(const cli_settings *settings);
/* What the library is told; prints a message where the model has no such layer or head. */
int cli_alignment_options(const cli_settings *settings, const cli_model *model, tr_align_options *options);

/* Pairs S-T, in the form of Pharaoh. False: memory is short. */
bool cli_append_links(const tr_alignment *alignment, tr_buffer *out) TR_CHECKED;

/* The same as [[S, T], ...], spans as [[first, last], ...], and tokens by their pieces; NULL: memory is short. */
json_t *cli_json_links(const tr_alignment *alignment) TR_CHECKED;
json_t *cli_json_spans(const tr_span *spans, size_t count) TR_CHECKED;
json_t *cli_json_pieces(const tr_model *model, bool target, const tr_tokens *tokens) TR_CHECKED;

#endif
