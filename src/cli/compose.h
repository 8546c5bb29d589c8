/* Word alignment over two models: from the first model's source to the second model's target, through the pivot text. */
#ifndef TR_CLI_COMPOSE_H
#define TR_CLI_COMPOSE_H

#include "api/engine.h"

/* Copies result, which is the translation of pivot's text, with the source tokens and spans of pivot, and composed links: a
 * source token is linked with a target token if both are linked with the same bytes of the pivot text. A link's weight is
 * the sum, over these bytes' tokens, of the products of both weights. Clear composed with tr_result_clear. False: out of
 * memory; then there is nothing to clear. */
bool cli_compose(const tr_result *pivot, const tr_result *result, tr_result *composed);

#endif
