/* Names of repositories and their files, and how to encode them in addresses. */
#ifndef TR_HUB_NAMES_H
#define TR_HUB_NAMES_H

#include "util/buffer.h"
#include "util/error.h"

enum { TR_HUB_NAME = 97, TR_HUB_REVISION = 129, TR_HUB_LABEL = 2 * TR_HUB_NAME + TR_HUB_REVISION };

#define TR_HUB_DEFAULT_REVISION "main"

typedef struct tr_hub_name {
    char owner[TR_HUB_NAME], name[TR_HUB_NAME];
    char revision[TR_HUB_REVISION]; /* a branch, a tag or a commit */
    char label[TR_HUB_LABEL];       /* for messages: OWNER/NAME, with @REVISION if it is not the default */
} tr_hub_name;

/* text: [hf:]OWNER/NAME[@REVISION]. */
tr_status tr_hub_parse(const char *text, tr_hub_name *name, tr_error *error);

/* True for a relative path that stays in the folder it is put into: no empty part, none that is "." or "..", no backslash,
 * no control character, valid UTF-8, no part of more than 200 bytes, and no name that this program uses itself. */
bool tr_hub_safe(const char *path);

/* Appends text, with %XX for characters that have a meaning in an address; keeps slashes if keep_slashes. False: out of
 * memory. */
bool tr_hub_encode(tr_buffer *out, const char *text, bool keep_slashes);
bool tr_hub_decode(tr_buffer *out, const char *text); /* the inverse */

#endif
