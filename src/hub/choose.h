/* Which files of a repository a model needs. */
#ifndef TR_HUB_CHOOSE_H
#define TR_HUB_CHOOSE_H

#include "hub/cache.h"

enum { TR_HUB_MAX_FILES = 1000 };

/* Appends to chosen those files of listed that are needed: the weights in the first form that is there, and what belongs to
 * them; a GGUF file where there are no others. With a pattern ("*.gguf"): all that match it. The folders of a repository
 * are only looked into for a pattern. Messages lack the repository's name. */
tr_status tr_hub_choose(const tr_hub_files *listed, const char *pattern, tr_hub_files *chosen, tr_error *error);

#endif
