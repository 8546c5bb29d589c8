#include "formats/xxh64.h"

#include <string.h>

static const uint64_t prime1 = 0x9e3779b185ebca87, prime2 = 0xc2b2ae3d27d4eb4f, prime3 = 0x165667b19e3779f9,
                      prime4 = 0x85ebca77c2b2ae63, prime5 = 0x27d4eb2f165667c5;

enum { STRIPE = 32 };

static uint64_t rotate(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

/* Compilers turn this into one load on a little-endian machine. */
static uint64_t load(const unsigned char *p, int bytes)
{
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++)
        x |= (uint64_t)p[i] << 8 * i;
    return x;
}

static uint64_t load64(const unsigned char *p)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
#else
    return load(p, 8);
#endif
}

static uint64_t mix(uint64_t lane, uint64_t input)
{
    return rotate(lane + input * prime2, 31) * prime1;
}

void tr_xxh64_init(tr_xxh64 *hash)
{
    *hash = (tr_xxh64){.lanes = {prime1 + prime2, prime2, 0, -prime1}};
}

static void consume(tr_xxh64 *hash, const unsigned char *p, size_t stripes)
{
    uint64_t a = hash->lanes[0], b = hash->lanes[1], c = hash->lanes[2], d = hash->lanes[3];
    for (; stripes; stripes--, p += STRIPE) {
        a = mix(a, load64(p));
        b = mix(b, load64(p + 8));
        c = mix(c, load64(p + 16));
        d = mix(d, load64(p + 24));
    }
    hash->lanes[0] = a, hash->lanes[1] = b, hash->lanes[2] = c, hash->lanes[3] = d;
}

void tr_xxh64_add(tr_xxh64 *hash, const void *data, size_t size)
{
    if (size == 0)
        return;
    const unsigned char *p = data;
    const size_t waiting = hash->size % STRIPE;
    hash->size += size;
    if (waiting) {
        const size_t missing = STRIPE - waiting, n = size < missing ? size : missing;
        memcpy(hash->pending + waiting, p, n);
        p += n;
        size -= n;
        if (n < missing)
            return;
        consume(hash, hash->pending, 1);
    }
    consume(hash, p, size / STRIPE);
    memcpy(hash->pending, p + size / STRIPE * STRIPE, size % STRIPE);
}

uint64_t tr_xxh64_result(const tr_xxh64 *hash)
{
    const uint64_t *v = hash->lanes;
    uint64_t h = prime5;
    if (hash->size >= STRIPE) {
        h = rotate(v[0], 1) + rotate(v[1], 7) + rotate(v[2], 12) + rotate(v[3], 18);
        for (int i = 0; i < 4; i++)
            h = (h ^ mix(0, v[i])) * prime1 + prime4;
    }
    h += hash->size;
    const unsigned char *p = hash->pending, *end = p + hash->size % STRIPE;
    for (; end - p >= 8; p += 8)
        h = rotate(h ^ mix(0, load(p, 8)), 27) * prime1 + prime4;
    if (end - p >= 4) {
        h = rotate(h ^ load(p, 4) * prime1, 23) * prime2 + prime3;
        p += 4;
    }
    for (; p < end; p++)
        h = rotate(h ^ *p * prime5, 11) * prime1;
    h = (h ^ (h >> 33)) * prime2;
    h = (h ^ (h >> 29)) * prime3;
    return h ^ (h >> 32);
}
