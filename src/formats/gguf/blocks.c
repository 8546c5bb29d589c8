#include "formats/gguf/blocks.h"

#include "util/numbers.h"

/* Elements of the two kinds of block: the older one has a factor (and a least value, in the _1) for all, the K kind has a
 * factor for each 16 or 32, itself a whole number. */
enum { SMALL = 32, LARGE = 256 };

static float half_at(const unsigned char *p)
{
    return tr_f16_to_f32((uint16_t)(p[0] | p[1] << 8));
}

static int nibble(unsigned char byte, int high)
{
    return byte >> 4 * high & 15;
}

/* -------------------------------------------------------------------------------------------------------- blocks of 32 */

/* Element i of 32 in nibbles: the low ones are the first 16. */
static int nibble_of_32(const unsigned char *q, int i)
{
    return nibble(q[i % 16], i / 16);
}

/* Bit i of a little-endian number. */
static int bit_at(const unsigned char *p, int i)
{
    return p[i / 8] >> i % 8 & 1;
}

/* d, q[16] */
static void read_q4_0(const unsigned char *block, float *out)
{
    const float d = half_at(block);
    for (int i = 0; i < SMALL; i++)
        out[i] = d * (float)(nibble_of_32(block + 2, i) - 8);
}

/* d, m, q[16] */
static void read_q4_1(const unsigned char *block, float *out)
{
    const float d = half_at(block), m = half_at(block + 2);
    for (int i = 0; i < SMALL; i++)
        out[i] = d * (float)nibble_of_32(block + 4, i) + m;
}

/* d, fifth bits[4], q[16] */
static void read_q5_0(const unsigned char *block, float *out)
{
    const float d = half_at(block);
    for (int i = 0; i < SMALL; i++)
        out[i] = d * (float)((nibble_of_32(block + 6, i) | bit_at(block + 2, i) << 4) - 16);
}

/* d, m, fifth bits[4], q[16] */
static void read_q5_1(const unsigned char *block, float *out)
{
    const float d = half_at(block), m = half_at(block + 2);
    for (int i = 0; i < SMALL; i++)
        out[i] = d * (float)(nibble_of_32(block + 8, i) | bit_at(block + 4, i) << 4) + m;
}

/* d, q[32] */
static void read_q8_0(const unsigned char *block, float *out)
{
    const float d = half_at(block);
    for (int i = 0; i < SMALL; i++)
        out[i] = (float)(int8_t)block[2 + i] * d;
}

static const int8_t nonlinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/* d, q[16] */
static void read_iq4_nl(const unsigned char *block, float *out)
{
    const float d = half_at(block);
    for (int i = 0; i < SMALL; i++)
        out[i] = d * (float)nonlinear[nibble_of_32(block + 2, i)];
}

/* ------------------------------------------------------------------------------------------------------- blocks of 256 */

/* Element i of 256 in pairs of bits: of each 128, the lowest pairs of 32 bytes are the first 32. */
static int pair_of_256(const unsigned char *q, int i)
{
    return q[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
}

/* The same in nibbles: of each 64, the low ones of 32 bytes are the first 32. */
static int nibble_of_256(const unsigned char *q, int i)
{
    return nibble(q[i / 64 * 32 + i % 32], i % 64 / 32);
}

/* The same in single bits: those of 32 bytes, the lowest first. */
static int bit_of_256(const unsigned char *q, int i)
{
    return q[i % 32] >> i / 32 & 1;
}

/* scales and least values[16] in nibbles, q[64], d, dmin */
static void read_q2_k(const unsigned char *block, float *out)
{
    const float d = half_at(block + 80), least = half_at(block + 82);
    for (int j = 0; j < LARGE / 16; j++) {
        const float scale = d * (float)nibble(block[j], 0), m = least * (float)nibble(block[j], 1);
        for (int i = 16 * j; i < 16 * j + 16; i++)
            out[i] = scale * (float)pair_of_256(block + 16, i) - m;
    }
}

/* Scale j of 16, of 6 bits: its low 4 in nibbles of the first 8 bytes, its high 2 in pairs of the last 4. */
static int q3_k_scale(const unsigned char *s, int j)
{
    return (nibble(s[j % 8], j / 8) | (s[8 + j % 4] >> j / 4 * 2 & 3) << 4) - 32;
}

/* third bits[32], set where nothing is to be subtracted, q[64], scales[12], d */
static void read_q3_k(const unsigned char *block, float *out)
{
    const float d = half_at(block + 108);
    for (int j = 0; j < LARGE / 16; j++) {
        const float scale = d * (float)q3_k_scale(block + 96, j);
        for (int i = 16 * j; i < 16 * j + 16; i++)
            out[i] = scale * (float)(pair_of_256(block + 32, i) - (bit_of_256(block, i) ? 0 : 4));
    }
}

/* Scale j of 8 and its least value, of 6 bits each: the first four of either in the low bits of 4 bytes, whose highest two
 * belong to the last four; their low nibbles are in the last 4 bytes. */
static void q4_k_scale(const unsigned char *s, int j, int *scale, int *least)
{
    if (j < 4) {
        *scale = s[j] & 63;
        *least = s[j + 4] & 63;
    } else {
        *scale = nibble(s[j + 4], 0) | s[j - 4] >> 6 << 4;
        *least = nibble(s[j + 4], 1) | s[j] >> 6 << 4;
    }
}

/* d, dmin, scales[12], then, if fifth is set, fifth bits[32]; q[128] */
static void read_q4_or_q5_k(const unsigned char *block, bool fifth, float *out)
{
    const float d = half_at(block), dmin = half_at(block + 2);
    const unsigned char *q = block + (fifth ? 48 : 16);
    for (int j = 0; j < LARGE / 32; j++) {
        int whole, whole_least;
        q4_k_scale(block + 4, j, &whole, &whole_least);
        const float scale = d * (float)whole, m = dmin * (float)whole_least;
        for (int i = 32 * j; i < 32 * j + 32; i++)
            out[i] = scale * (float)(nibble_of_256(q, i) | (fifth ? bit_of_256(block + 16, i) << 4 : 0)) - m;
    }
}

static void read_q4_k(const unsigned char *block, float *out)
{
    read_q4_or_q5_k(block, false, out);
}

static void read_q5_k(const unsigned char *block, float *out)
{
    read_q4_or_q5_k(block, true, out);
}

/* low nibbles[128], of each 128 elements in 64 bytes; high pairs[64], scales[16], d */
static void read_q6_k(const unsigned char *block, float *out)
{
    const float d = half_at(block + 208);
    for (int j = 0; j < LARGE / 16; j++) {
        const float scale = d * (float)(int8_t)block[192 + j];
        for (int i = 16 * j; i < 16 * j + 16; i++) {
            const int low = nibble(block[i / 128 * 64 + i % 64], i % 128 / 64);
            out[i] = scale * (float)((low | pair_of_256(block + 128, i) << 4) - 32);
        }
    }
}

/* d, high pairs of the 8 scales[2], their low nibbles[4], q[128], of each 32 elements in 16 bytes */
static void read_iq4_xs(const unsigned char *block, float *out)
{
    const float d = half_at(block);
    for (int j = 0; j < LARGE / 32; j++) {
        const int low = nibble(block[4 + j / 2], j % 2), high = block[2 + j / 4] >> j % 4 * 2 & 3;
        const float scale = d * (float)((low | high << 4) - 32);
        for (int i = 0; i < 32; i++)
            out[32 * j + i] = scale * (float)nonlinear[nibble_of_32(block + 8 + 16 * j, i)];
    }
}

/* --------------------------------------------------------------------------------------------------------------- table */

static const struct {
    uint32_t code;
    tr_blocks blocks;
} types[] = {
    {2, {"Q4_0", SMALL, 18, read_q4_0}},      {3, {"Q4_1", SMALL, 20, read_q4_1}},
    {6, {"Q5_0", SMALL, 22, read_q5_0}},      {7, {"Q5_1", SMALL, 24, read_q5_1}},
    {8, {"Q8_0", SMALL, 34, read_q8_0}},      {10, {"Q2_K", LARGE, 84, read_q2_k}},
    {11, {"Q3_K", LARGE, 110, read_q3_k}},    {12, {"Q4_K", LARGE, 144, read_q4_k}},
    {13, {"Q5_K", LARGE, 176, read_q5_k}},    {14, {"Q6_K", LARGE, 210, read_q6_k}},
    {20, {"IQ4_NL", SMALL, 18, read_iq4_nl}}, {23, {"IQ4_XS", LARGE, 136, read_iq4_xs}},
};

const tr_blocks *tr_gguf_blocks(uint32_t code)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == code)
            return &types[i].blocks;
    return NULL;
}
