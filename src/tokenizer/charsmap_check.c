#include "tokenizer/charsmap_check.h"

#include <stdlib.h>
#include <string.h>

/* Layout: u32 size of the trie in bytes; the trie's units, u32 each, little-endian; the replacements.
 *
 * The trie is darts-clone's. Unit q holds a label (the byte that leads to it), a base B(q) = q ^ offset, and a flag "a key
 * ends here", in which case unit B(q) holds the key's value. The child of q under byte c is unit p = B(q) ^ c, if p's label
 * is c. So a unit p belongs to exactly one base, p ^ label, whoever its parents are (they share children: it is an
 * automaton rather than a tree). Units with the top bit set are values and children of nothing. */

/* The library collects the keys that are prefixes of a text in an array of this size, and reads past its end beyond it. */
enum { MOST_MATCHES = 32, BLOCK = 256 };

typedef struct trie {
    const unsigned char *units;
    uint32_t count;
    const unsigned char *texts;
    size_t texts_size;
} trie;

static uint32_t load_unit(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t unit_at(const trie *t, uint32_t i)
{
    return load_unit(t->units + 4 * (size_t)i);
}

static bool is_value(uint32_t unit)
{
    return unit >> 31;
}

static bool ends_key(uint32_t unit)
{
    return unit >> 8 & 1;
}

static uint32_t base_of(uint32_t position, uint32_t unit)
{
    return position ^ (unit >> 10) << ((unit & 0x200) >> 6);
}

/* No replacement, not even one that a value in the middle of it would cut out, grows a text too much. */
static tr_status check_replacements(const trie *t, tr_error *error)
{
    const unsigned char *const end = t->texts + t->texts_size;
    if (t->texts_size == 0 || end[-1])
        return tr_fail(error, TR_ERROR_FORMAT, "charsmap: the replacements do not end with a NUL");
    for (const unsigned char *at = t->texts; at < end; at++) {
        const unsigned char *const start = at;
        at = memchr(at, 0, (size_t)(end - at));
        size_t grown = (size_t)(at - start);
        if (grown <= TR_CHARSMAP_GROWTH / 3)
            continue;
        for (const unsigned char *c = start; c < at; c++)
            grown += *c == ' ' ? 2 : 0;
        if (grown > TR_CHARSMAP_GROWTH)
            return tr_fail(error, TR_ERROR_FORMAT, "charsmap: the replacement at byte %zu is longer than %d bytes",
                           (size_t)(start - t->texts), TR_CHARSMAP_GROWTH);
    }
    return TR_OK;
}

/* For the walk: members of each base in lists, and what is known of a base. Arrays of count elements. */
typedef struct walk {
    uint32_t *first, *next; /* 1 + position of a unit; 0 ends the list. first moves on as members are done */
    uint32_t *stack;        /* bases between the root and here */
    uint8_t *state;         /* NEW, OPEN (on the stack) or DONE */
    uint8_t *matches;       /* most keys that end on one way down from here */
} walk;

enum { NEW, OPEN, DONE };

/* Every unit that can have children, reachable or not, has all 256 possible ones inside the array, and its key's value
 * inside the replacements. Fills the lists of members. */
static tr_status check_units(const trie *t, const walk *w, tr_error *error)
{
    for (uint32_t i = 0; i < t->count; i++) {
        const uint32_t unit = unit_at(t, i);
        if (is_value(unit) && i > 0) /* the root's top bit is not looked at */
            continue;
        const uint32_t base = base_of(i, unit), own = i ^ (unit & 0xff);
        if ((base | (BLOCK - 1)) >= t->count)
            return tr_fail(error, TR_ERROR_FORMAT, "charsmap: trie unit %u leads outside the %u units", i, t->count);
        if (!is_value(unit)) {
            w->next[i] = w->first[own];
            w->first[own] = i + 1;
        }
        if (!ends_key(unit))
            continue;
        const uint32_t value = unit_at(t, base) & 0x7fffffff;
        if (value >= t->texts_size)
            return tr_fail(error, TR_ERROR_FORMAT, "charsmap: a replacement lies at byte %u of %zu", value, t->texts_size);
    }
    return TR_OK;
}

/* Most keys that are prefixes of one text: the longest way through the automaton, depth first without recursion. */
static tr_status walk_from(const trie *t, const walk *w, uint32_t root, tr_error *error)
{
    size_t depth = 0;
    w->stack[depth++] = root;
    w->state[root] = OPEN;
    while (depth) {
        const uint32_t base = w->stack[depth - 1], member = w->first[base];
        if (!member) {
            w->state[base] = DONE;
            depth--;
            continue;
        }
        const uint32_t unit = unit_at(t, member - 1), below = base_of(member - 1, unit);
        if (w->state[below] == NEW && w->first[below]) {
            w->state[below] = OPEN;
            w->stack[depth++] = below;
            continue;
        }
        if (w->state[below] == OPEN)
            return tr_fail(error, TR_ERROR_FORMAT, "charsmap: the trie runs in a circle at unit %u", member - 1);
        const uint8_t matches = (uint8_t)(w->matches[below] + ends_key(unit));
        if (matches > MOST_MATCHES)
            return tr_fail(error, TR_ERROR_FORMAT, "charsmap: more than %d rules begin alike", MOST_MATCHES);
        if (matches > w->matches[base])
            w->matches[base] = matches;
        w->first[base] = w->next[member - 1];
    }
    return TR_OK;
}

static tr_status check_trie(const trie *t, tr_error *error)
{
    const size_t n = t->count;
    uint32_t *const memory = calloc(n, 3 * sizeof *memory + 2);
    if (!memory)
        return tr_fail(error, TR_ERROR_MEMORY, "charsmap: out of memory");
    walk w = {.first = memory, .next = memory + n, .stack = memory + 2 * n};
    w.state = (uint8_t *)(memory + 3 * n);
    w.matches = w.state + n;
    tr_status status = check_units(t, &w, error);
    if (status == TR_OK)
        status = walk_from(t, &w, base_of(0, unit_at(t, 0)), error);
    free(memory);
    return status;
}

tr_status tr_charsmap_check(const unsigned char *charsmap, size_t size, tr_error *error)
{
    if (size == 0) /* no rule: text stays as it is */
        return TR_OK;
    const size_t trie_size = size < 4 ? 0 : load_unit(charsmap);
    if (size < 4 || trie_size > size - 4)
        return tr_fail(error, TR_ERROR_FORMAT, "charsmap: a trie of %zu bytes in a field of %zu", trie_size, size);
    /* Blocks of 256 units, so that a base and any byte stay inside one. The limit is that of a unit's offset. */
    if (trie_size == 0 || trie_size % (4 * BLOCK) || trie_size > (size_t)1 << 31)
        return tr_fail(error, TR_ERROR_FORMAT, "charsmap: a trie cannot have %zu bytes", trie_size);
    const trie t = {charsmap + 4, (uint32_t)(trie_size / 4), charsmap + 4 + trie_size, size - 4 - trie_size};
    const tr_status status = check_replacements(&t, error);
    return status == TR_OK ? check_trie(&t, error) : status;
}
