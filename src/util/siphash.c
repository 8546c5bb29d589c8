#define _GNU_SOURCE
#include "util/siphash.h"

#include <sys/random.h>

bool tr_siphash_choose(tr_siphash_key *key)
{
    return getrandom(key, sizeof *key, 0) == sizeof *key;
}

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static void mix(uint64_t v[4], int rounds)
{
    for (int i = 0; i < rounds; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32) + v[3];
        v[2] += v[1];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static void add_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    mix(v, 2);
    v[0] ^= word;
}

static uint64_t load_word(const unsigned char *at, size_t size)
{
    uint64_t word = 0;
    for (size_t i = 0; i < size; i++)
        word |= (uint64_t)at[i] << 8 * i;
    return word;
}

uint64_t tr_siphash(const tr_siphash_key *key, const void *data, size_t size)
{
    const uint64_t a = key->words[0], b = key->words[1];
    uint64_t v[4] = {a ^ 0x736f6d6570736575, b ^ 0x646f72616e646f6d, a ^ 0x6c7967656e657261, b ^ 0x7465646279746573};
    const unsigned char *at = data;
    size_t left = size;
    for (; left >= 8; at += 8, left -= 8)
        add_word(v, load_word(at, 8));
    add_word(v, load_word(at, left) | (uint64_t)size << 56);
    v[2] ^= 0xff;
    mix(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
