/* SipHash-2-4 (Aumasson and Bernstein, 2012): a hash with a secret key, so that who chooses the data cannot find data with
 * equal hashes. */
#ifndef TR_UTIL_SIPHASH_H
#define TR_UTIL_SIPHASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

typedef struct tr_siphash_key {
    uint64_t words[2];
} tr_siphash_key;

/* A random key of the system. Returns false if it gives none. */
bool tr_siphash_choose(tr_siphash_key *key) TR_CHECKED;
uint64_t tr_siphash(const tr_siphash_key *key, const void *data, size_t size);

#endif
