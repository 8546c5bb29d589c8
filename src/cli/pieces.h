/* Tokens and alignments as text: pieces, numbers of tokens, or pairs of them, separated by spaces. */
#ifndef TR_CLI_PIECES_H
#define TR_CLI_PIECES_H

#include "cli/model.h"
#include "util/buffer.h"

typedef enum cli_side { CLI_SOURCE, CLI_TARGET } cli_side;

/* Appends the ids of the pieces in text. A piece that the vocabulary lacks becomes the model's unknown token; if the model
 * has none, prints a message with the piece and the line's number (0: none). */
int cli_parse_pieces(const cli_model *model, cli_side side, const char *text, size_t size, uint64_t line, tr_ids *ids);
/* Appends the numbers in text, each checked against the vocabulary. */
int cli_parse_ids(const cli_model *model, cli_side side, const char *text, size_t size, uint64_t line, tr_ids *ids);

/* These append pieces, numbers, or the links of an alignment as pairs S-T (Pharaoh format). False: out of memory. */
bool cli_print_pieces(const cli_model *model, cli_side side, const int32_t *ids, size_t count, tr_buffer *out) TR_CHECKED;
bool cli_print_ids(const int32_t *ids, size_t count, tr_buffer *out) TR_CHECKED;
bool cli_print_links(const tr_alignment *alignment, tr_buffer *out) TR_CHECKED;

#endif
