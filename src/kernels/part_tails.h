/* Loads the first n lanes of a part, the others are 0, by way of memory: for CPUs without masked loads of these types.
 * Include this after the part's own functions. */
/* Not formatted by clang-format: one line per function, so that levels can be compared. */
/* clang-format off */

TR_INLINE part part_load_i8_n(const int8_t *p, int n)
{
    int8_t q[LANES] = {0};
    if (n > 0)
        memcpy(q, p, (size_t)(n < LANES ? n : LANES));
    return part_load_i8(q);
}

TR_INLINE part part_load_f16_n(const uint16_t *p, int n)
{
    uint16_t h[LANES] = {0};
    if (n > 0)
        memcpy(h, p, (size_t)(n < LANES ? n : LANES) * sizeof *p);
    return part_load_f16(h);
}

TR_INLINE part part_load_bf16_n(const uint16_t *p, int n)
{
    uint16_t h[LANES] = {0};
    if (n > 0)
        memcpy(h, p, (size_t)(n < LANES ? n : LANES) * sizeof *p);
    return part_load_bf16(h);
}
