/* Which files of a repository a model needs. */
#ifndef TR_HUB_CHOOSE_H
#define TR_HUB_CHOOSE_H

#include "hub/cache.h"

enum { TR_HUB_MAX_FILES = 1000 };

/* Appends to chosen the files of listed that a model needs: the weights in the best form, and their companions; without them
 * the GGUF file. With a pattern ("*.gguf"): all files that match it. Only a pattern chooses files in inner folders. Messages
 * do not name the repository. */
tr_status tr_hub_choose(const tr_hub_files *listed, const char *pattern, tr_hub_files *chosen, tr_error *error);

#endif
