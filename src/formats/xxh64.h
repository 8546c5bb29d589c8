/* XXH64 with seed 0 (Yann Collet, xxHash, doc/xxhash_spec.md), fed in parts of any size. */
#ifndef TR_FORMATS_XXH64_H
#define TR_FORMATS_XXH64_H

#include <stddef.h>
#include <stdint.h>

typedef struct tr_xxh64 {
    uint64_t lanes[4];
    uint64_t size;             /* bytes so far */
    unsigned char pending[32]; /* the first size % 32 of them wait */
} tr_xxh64;

void tr_xxh64_init(tr_xxh64 *hash);
void tr_xxh64_add(tr_xxh64 *hash, const void *data, size_t size);
uint64_t tr_xxh64_result(const tr_xxh64 *hash);

#endif
