/* The user's endpoint and token, as Hugging Face's own tools store them. */
#ifndef TR_HUB_TOKEN_H
#define TR_HUB_TOKEN_H

#include "util/error.h"

/* $HF_TOKEN, else the file that "hf auth login" writes. *token is allocated; NULL if there is none. */
tr_status tr_hub_token(char **token, tr_error *error);
/* wanted, else $HF_ENDPOINT, else https://huggingface.co, without a final slash; allocated. */
tr_status tr_hub_endpoint(const char *wanted, char **endpoint, tr_error *error);

#endif
