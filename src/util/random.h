/* Numbers drawn by counters in place of a generator's state (Salmon et al., 2011): a key is made of whatever a draw shall
 * depend on, one number after the other, and is itself the drawn 64 bits. The same everywhere. */
#ifndef TR_UTIL_RANDOM_H
#define TR_UTIL_RANDOM_H

#include <stdint.h>

/* The finalizer of SplitMix64 (Steele et al., 2014): every bit of the result depends on every bit of x. */
static inline uint64_t tr_random_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t tr_random_key(uint64_t seed)
{
    return tr_random_mix(seed + 0x9e3779b97f4a7c15u);
}

static inline uint64_t tr_random_add(uint64_t key, uint64_t x)
{
    return tr_random_mix(key + 0x9e3779b97f4a7c15u + tr_random_mix(x));
}

#endif
