/* Tokens written as text: pieces, or their numbers, separated by spaces. */
#ifndef TR_CLI_PIECES_H
#define TR_CLI_PIECES_H

#include "cli/model.h"
#include "util/buffer.h"

typedef enum cli_side { CLI_SOURCE, CLI_TARGET } cli_side;

/* Appends the ids of the pieces in text. One that the vocabulary lacks becomes the model's unknown token; if it has none,
 * a message names the piece and where (a line's number, 0: none) it is. */
int cli_parse_pieces(const cli_model *model, cli_side side, const char *text, size_t size, uint64_t line, tr_ids *ids);
/* Appends the numbers in text, each checked against the vocabulary. */
int cli_parse_ids(const cli_model *model, cli_side side, const char *text, size_t size, uint64_t line, tr_ids *ids);

/* Appends pieces, or numbers, with a space between two. False: out of memory. */
bool cli_print_pieces(const cli_model *model, cli_side side, const int32_t *ids, size_t count, tr_buffer *out) TR_CHECKED;
bool cli_print_ids(const int32_t *ids, size_t count, tr_buffer *out) TR_CHECKED;

#endif
