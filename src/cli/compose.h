/* Alignments over two models: the first one's source with the second one's target, by the text between them. */
#ifndef TR_CLI_COMPOSE_H
#define TR_CLI_COMPOSE_H

#include <translate/translate.h>

/* A copy of result, which was made of pivot's text, with source tokens and spans of pivot, and links composed: a source
 * token is linked with a target token where both are linked with the same bytes of the text between. Weights are the sum
 * over those of products. False: memory is short; composed is to be cleared (tr_result_clear) otherwise. */
bool cli_compose(const tr_result *pivot, const tr_result *result, tr_result *composed);

#endif
