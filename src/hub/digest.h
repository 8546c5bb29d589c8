/* Digests of files, by OpenSSL's libcrypto. */
#ifndef TR_HUB_DIGEST_H
#define TR_HUB_DIGEST_H

#include "hub/cache.h"
#include "hub/hub.h"

/* Computes a digest of the file at path, as hexadecimal digits. size: bytes of the file, which git's digest includes. */
tr_status tr_hub_digest_file(const char *path, tr_hub_digest kind, uint64_t size, const tr_hub_options *options,
                             char hex[TR_HUB_HEX], tr_error *error);

#endif
