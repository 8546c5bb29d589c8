#include "import/bpe.h"

#include <stdlib.h>
#include <string.h>

#include "util/strmap.h"
#include "util/utf8.h"

/* Two symbols, and the one that they become. */
typedef struct merge {
    int32_t left, right, result;
    int32_t rank; /* the line, from 0; -1: an empty slot */
} merge;

struct tr_bpe {
    bool end_apart;    /* version 0.1: "</w>" is a symbol of its own, else part of a word's last character */
    char *text;        /* the symbols */
    tr_strmap symbols; /* to their numbers */
    int32_t symbol_count;
    merge *merges; /* [mask + 1], by a hash of the pair */
    size_t mask, count;
};

static const char word_end[] = "</w>", version_mark[] = "#version:";
enum { WORD_END = sizeof word_end - 1, VERSION_MARK = sizeof version_mark - 1, LARGEST = 1 << 28 /* bytes of a file */ };

/* -------------------------------------------------------------------------------------------------------------- merges */

static size_t slot_of(const tr_bpe *b, int32_t left, int32_t right)
{
    const uint64_t hash = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9e3779b97f4a7c15u;
    size_t slot = (size_t)(hash >> 32) & b->mask;
    while (b->merges[slot].rank >= 0 && (b->merges[slot].left != left || b->merges[slot].right != right))
        slot = (slot + 1) & b->mask;
    return slot;
}

/* NULL: the pair is not merged. */
static const merge *find_merge(const tr_bpe *b, int32_t left, int32_t right)
{
    if (left < 0 || right < 0)
        return NULL;
    const merge *const m = &b->merges[slot_of(b, left, right)];
    return m->rank >= 0 ? m : NULL;
}

/* The number of a symbol, which it gets if it is new; -1: out of memory. */
static int32_t add_symbol(tr_bpe *b, const char *symbol, size_t size)
{
    const int32_t number = tr_strmap_add(&b->symbols, symbol, size, b->symbol_count);
    b->symbol_count += number == b->symbol_count;
    return number;
}

/* The first of two equal pairs counts. pair: both symbols concatenated; it must outlive the table. */
static bool add_merge(tr_bpe *b, const char *pair, size_t left_size, size_t size)
{
    const int32_t left = add_symbol(b, pair, left_size), right = add_symbol(b, pair + left_size, size - left_size),
                  result = add_symbol(b, pair, size);
    if (left < 0 || right < 0 || result < 0)
        return false;
    merge *const m = &b->merges[slot_of(b, left, right)];
    if (m->rank < 0)
        *m = (merge){left, right, result, (int32_t)b->count++};
    return true;
}

/* ------------------------------------------------------------------------------------------------------------- reading */

typedef struct reading {
    const char *at, *end;
    size_t line; /* from 1 */
} reading;

static bool is_end(char c)
{
    return c == '\n' || c == '\r';
}

/* The next line without white space at both ends; false: there is none. */
static bool next_line(reading *r, const char **line, size_t *size)
{
    if (r->at == r->end)
        return false;
    const char *from = r->at, *to = r->at;
    while (to < r->end && !is_end(*to))
        to++;
    r->at = to + (to < r->end);
    if (to < r->end && *to == '\r' && r->at < r->end && *r->at == '\n')
        r->at++;
    while (from < to && *from == ' ')
        from++;
    while (to > from && to[-1] == ' ')
        to--;
    r->line++;
    *line = from;
    *size = (size_t)(to - from);
    return true;
}

static bool ends_in(const char *line, size_t size, const char *end)
{
    const size_t length = strlen(end);
    return size >= length && memcmp(line + size - length, end, length) == 0;
}

/* The version in a first line "#version: 0.2"; trailing ".0" are ignored. */
static tr_status read_version(tr_bpe *b, const char *line, size_t size, tr_error *error)
{
    const size_t whole = size;
    while (ends_in(line, size, ".0"))
        size -= 2;
    b->end_apart = ends_in(line, size, " 0.1");
    if (b->end_apart || ends_in(line, size, " 0.2"))
        return TR_OK;
    return tr_fail(error, TR_ERROR_UNSUPPORTED, "line 1: %.*s: is not a known version, which are 0.1 and 0.2",
                   (int)(whole < 60 ? whole : 60), line);
}

static bool is_blank(const reading *r)
{
    const char *at = r->at;
    while (at < r->end && is_end(*at))
        at++;
    return at == r->end;
}

/* Copies the pair in a line to where the symbols lie, and adds it; while codes are only checked, it does not. */
static tr_status read_pair(tr_bpe *b, const reading *r, const char *line, size_t size, char **text, tr_error *error)
{
    const char *const space = memchr(line, ' ', size);
    const size_t left = space ? (size_t)(space - line) : 0, right = space ? size - left - 1 : 0;
    if (!left || !right || memchr(space + 1, ' ', right))
        return tr_fail(error, TR_ERROR_FORMAT, "line %zu: must be two symbols with a space between them", r->line);
    char *const pair = *text;
    if (!pair)
        return TR_OK;
    memcpy(pair, line, left);
    memcpy(pair + left, space + 1, right);
    *text += left + right;
    return add_merge(b, pair, left, left + right) ? TR_OK : tr_fail(error, TR_ERROR_MEMORY, "out of memory");
}

static tr_status read_pairs(tr_bpe *b, reading *r, tr_error *error)
{
    const char *line;
    char *text = b->text;
    size_t size;
    if (is_blank(r))
        return tr_fail(error, TR_ERROR_FORMAT, "hold no pairs of symbols");
    while (!is_blank(r) && next_line(r, &line, &size)) {
        const tr_status status = read_pair(b, r, line, size, &text, error);
        if (status != TR_OK)
            return status;
    }
    return TR_OK;
}

static tr_status read_codes(tr_bpe *b, const char *codes, size_t size, tr_error *error)
{
    reading r = {codes, codes + size, 0};
    const char *line;
    size_t length;
    b->end_apart = true;
    if (size > LARGEST)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "are larger than %d MB", LARGEST >> 20);
    if (!tr_utf8_valid(codes, size))
        return tr_fail(error, TR_ERROR_FORMAT, "are not UTF-8 text");
    if (size >= VERSION_MARK && memcmp(codes, version_mark, VERSION_MARK) == 0) {
        next_line(&r, &line, &length);
        const tr_status status = read_version(b, line, length, error);
        if (status != TR_OK)
            return status;
    }
    return read_pairs(b, &r, error);
}

static const char what[] = "BPE codes";

tr_status tr_bpe_check(const char *codes, size_t size, tr_error *error)
{
    tr_bpe b = {0};
    return tr_fail_in(error, read_codes(&b, codes, size, error), what);
}

/* Memory for all that so many bytes can hold: a pair takes four. */
static bool reserve(tr_bpe *b, size_t size)
{
    const size_t most = size / 4 + 1;
    size_t slots = 4;
    while (slots < 2 * most)
        slots *= 2;
    b->text = malloc(size + 1);
    b->merges = malloc(slots * sizeof *b->merges);
    if (!b->text || !b->merges || !tr_strmap_init(&b->symbols, most))
        return false;
    b->mask = slots - 1;
    for (size_t i = 0; i < slots; i++)
        b->merges[i].rank = -1;
    return true;
}

tr_status tr_bpe_create(const char *codes, size_t size, tr_bpe **bpe, tr_error *error)
{
    *bpe = NULL;
    tr_bpe *const b = calloc(1, sizeof *b);
    if (!b || size > LARGEST || !reserve(b, size)) {
        tr_bpe_destroy(b);
        return tr_fail(error, TR_ERROR_MEMORY, "%s: out of memory", what);
    }
    const tr_status status = tr_fail_in(error, read_codes(b, codes, size, error), what);
    if (status == TR_OK)
        *bpe = b;
    else
        tr_bpe_destroy(b);
    return status;
}

void tr_bpe_destroy(tr_bpe *bpe)
{
    if (!bpe)
        return;
    tr_strmap_free(&bpe->symbols);
    free(bpe->merges);
    free(bpe->text);
    free(bpe);
}

/* ------------------------------------------------------------------------------------------------------------- cutting */

/* A symbol of a word, in a list. */
typedef struct node {
    int32_t symbol;         /* -1: one that no merge knows */
    int32_t end;            /* in bytes of the word */
    int32_t previous, next; /* -1: none */
} node;

/* A candidate for merging; it is checked again before it is merged. */
typedef struct chance {
    int32_t rank, at;
} chance;

typedef struct cutting {
    const tr_bpe *bpe;
    node *nodes;
    chance *heap, *round; /* the chances by rank and place; those of one rank */
    size_t heap_size;
} cutting;

static bool is_before(chance a, chance b)
{
    return a.rank < b.rank || (a.rank == b.rank && a.at < b.at);
}

static void push(cutting *c, chance new)
{
    size_t at = c->heap_size++;
    for (; at > 0 && is_before(new, c->heap[(at - 1) / 2]); at = (at - 1) / 2)
        c->heap[at] = c->heap[(at - 1) / 2];
    c->heap[at] = new;
}

static chance pop(cutting *c)
{
    const chance first = c->heap[0], last = c->heap[--c->heap_size];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < c->heap_size; at = child) {
        if (child + 1 < c->heap_size && is_before(c->heap[child + 1], c->heap[child]))
            child++;
        if (!is_before(c->heap[child], last))
            break;
        c->heap[at] = c->heap[child];
    }
    c->heap[at] = last;
    return first;
}

/* at may be -1. */
static const merge *merge_at(const cutting *c, int32_t at)
{
    if (at < 0 || c->nodes[at].next < 0)
        return NULL;
    return find_merge(c->bpe, c->nodes[at].symbol, c->nodes[c->nodes[at].next].symbol);
}

static void push_at(cutting *c, int32_t at)
{
    const merge *const m = merge_at(c, at);
    if (m)
        push(c, (chance){m->rank, at});
}

static void join(cutting *c, int32_t at, int32_t result)
{
    node *const left = &c->nodes[at], *const right = &c->nodes[left->next];
    left->symbol = result;
    left->end = right->end;
    left->next = right->next;
    right->symbol = -1;
    right->next = -1;
    if (left->next >= 0)
        c->nodes[left->next].previous = at;
}

/* Merges all occurrences of a pair, from left to right. */
static void merge_round(cutting *c)
{
    const int32_t rank = c->heap[0].rank;
    size_t count = 0, done = 0;
    while (c->heap_size && c->heap[0].rank == rank)
        c->round[count++] = pop(c);
    for (size_t i = 0; i < count; i++) {
        const int32_t at = c->round[i].at;
        const merge *const m = merge_at(c, at);
        if (!m || m->rank != rank)
            continue;
        join(c, at, m->result);
        c->round[done++].at = at;
    }
    for (size_t i = 0; i < done; i++) {
        const int32_t at = c->round[i].at, previous = c->nodes[at].previous;
        push_at(c, at);
        if (i == 0 || previous != c->round[i - 1].at) /* that pair is there already */
            push_at(c, previous);
    }
}

static int32_t symbol_of(const tr_bpe *b, const char *text, size_t size)
{
    return tr_strmap_find(&b->symbols, text, size);
}

/* The symbol of a word's last character. */
static int32_t last_symbol(const tr_bpe *b, const char *text, size_t size)
{
    char joined[4 + WORD_END];
    memcpy(joined, text, size);
    memcpy(joined + size, word_end, WORD_END);
    return symbol_of(b, joined, size + WORD_END);
}

/* The list of a word's characters; how many nodes it has. */
static int32_t list_characters(const tr_bpe *b, const char *word, size_t size, node *nodes)
{
    int32_t count = 0;
    for (size_t i = 0, length; i < size; i += length, count++) {
        tr_utf8_decode(word + i, size - i, &length);
        const bool last = i + length == size && !b->end_apart;
        nodes[count] = (node){last ? last_symbol(b, word + i, length) : symbol_of(b, word + i, length),
                              (int32_t)(i + length), count - 1, count + 1};
    }
    if (b->end_apart) {
        nodes[count] = (node){symbol_of(b, word_end, WORD_END), (int32_t)size, count - 1, -1};
        count++;
    }
    nodes[count - 1].next = -1;
    return count;
}

/* A node of "</w>" alone has no characters and is not a piece. */
static bool write_ends(const node *nodes, tr_ids *ends)
{
    int32_t last_end = 0;
    for (int32_t at = 0; at >= 0; at = nodes[at].next) {
        if (nodes[at].end > last_end && !tr_ids_append(ends, &nodes[at].end, 1))
            return false;
        last_end = nodes[at].end;
    }
    return true;
}

bool tr_bpe_cut(const tr_bpe *bpe, const char *word, size_t size, tr_ids *ends)
{
    if (size > INT32_MAX / 8)
        return false;
    /* at most a node a byte, and the end; merges are fewer than nodes, and each takes a chance and adds two */
    const size_t most = size + 1;
    cutting c = {.bpe = bpe, .nodes = malloc(most * (sizeof *c.nodes + 4 * sizeof *c.heap))};
    if (!c.nodes)
        return false;
    c.heap = (chance *)(c.nodes + most);
    c.round = c.heap + 2 * most;
    const int32_t count = list_characters(bpe, word, size, c.nodes);
    for (int32_t i = 0; i < count; i++)
        push_at(&c, i);
    while (c.heap_size)
        merge_round(&c);
    const bool done = write_ends(c.nodes, ends);
    free(c.nodes);
    return done;
}
