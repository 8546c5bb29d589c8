#include "text/tags.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer/scripts.h"
#include "util/utf8.h"

enum {
    MOST_PAIRS = TR_CHUNK_SPANS,
    OPEN_TAGS = 64, /* tags that are open at a time; the outermost are forgotten */
    ROOT = -1,
};

/* A pair with which no token is aligned goes around the word that has the largest share of attention for its words, at least
 * this. */
static const float LEAST_SHARE = 0.1F;

/* Whether two tags are those of one element. */
static bool is_pair(const char *text, const tr_kept_span *open, const tr_kept_span *close)
{
    const char *a = text + open->begin, *b = text + close->begin;
    if (*a != '<')
        return *a == *b || ((*a == '[' || *a == '!') && *b == ']');
    if (*b != '<')
        return false;
    size_t i = 0; /* of the names after < and </ */
    while (tr_is_identifier(a[1 + i]) && (a[1 + i] | 0x20) == (b[2 + i] | 0x20))
        i++;
    return !tr_is_identifier(a[1 + i]) && !tr_is_identifier(b[2 + i]);
}

/* A tag that is open, and the spans before it that cut a sentence. */
typedef struct open_tag {
    tr_kept_span *span;
    size_t cuts;
} open_tag;

/* Looks at what stands around a mark: whether it is inside a sentence, or something else. */
static void look_around(const char *text, size_t size, tr_kept_span *span)
{
    size_t length;
    const int32_t own = tr_character(text, size, span->begin, &length);
    if (tr_bracket_closer(own) || (tr_is_closer(own) && !tr_is_quote_opener(own))) {
        span->kind = tr_bracket_closer(own) ? TR_SPAN_OPEN : TR_SPAN_CLOSE;
        return;
    }
    span->inside = false;
    if (own < 0x80 || !span->begin || span->end >= size)
        return;
    const int32_t before = tr_character(text, size, tr_character_before(text, span->begin), &length);
    const int32_t after = tr_character(text, size, span->end, &length);
    if ((tr_bracket_closer(before) || tr_is_quote_opener(before)) && tr_is_closer(after))
        span->kind = TR_SPAN_WORD;
    span->inside = !tr_is_space(before) && !tr_is_space(after);
}

void tr_tags_pair(const char *text, size_t size, tr_kept_span *spans, size_t count)
{
    open_tag open[OPEN_TAGS];
    size_t depth = 0, cuts = 0;
    for (size_t i = 0; i < count; i++) {
        tr_kept_span *span = &spans[i];
        size_t k = depth;
        span->partner = SIZE_MAX;
        if (span->kind == TR_SPAN_MARK)
            look_around(text, size, span);
        cuts += (span->kind == TR_SPAN_MARK && !span->inside) || span->kind == TR_SPAN_EMPTY;
        if (span->kind == TR_SPAN_OPEN) {
            if (depth == OPEN_TAGS)
                memmove(open, open + 1, --depth * sizeof *open);
            open[depth++] = (open_tag){span, cuts};
        } else if (span->kind == TR_SPAN_CLOSE) {
            while (k && !is_pair(text, open[k - 1].span, span))
                k--;
            const bool whole = k && k == depth && open[k - 1].cuts == cuts; /* all inside it are pairs and words */
            if (whole) {
                span->partner = open[k - 1].span->begin;
                open[k - 1].span->partner = span->begin;
            } else {
                cuts++;
            }
            depth = k ? k - 1 : depth;
        }
    }
}

/* ---------------------------------------------------------------------------------------------------------- placing */

/* A word of the translation: tokens first .. last (exclusive), which no tag divides. */
typedef struct word {
    int first, last;
    int inside; /* the innermost pair around it, or ROOT */
} word;

typedef struct pair {
    int open, close;   /* uses; close -1: open is a mark, which stands without words */
    int parent;        /* the pair around it, or ROOT */
    size_t begin, end; /* bytes of the text between the tags */
    bool marked;       /* the last of them is a mark, as 。 */
    int first, last;   /* words first .. last (exclusive); equal: it stands before word first */
} pair;

/* A token of the translation. */
typedef struct token {
    int source;   /* the source token with the greatest weight; -1: none has any */
    float weight; /* that weight */
    float total;  /* the weights of all source tokens */
    float share;  /* for the pair that is being placed: the weights of the source tokens between its tags */
} token;

typedef struct placing {
    const tr_text_chunk *chunk;
    const tr_tagged *t;
    token *tokens; /* [target_count] */
    word *words;   /* [word_count] */
    int word_count;
    pair pairs[MOST_PAIRS];
    int pair_count;
    tr_use_place tags[TR_CHUNK_SPANS]; /* in the order of the translation */
    int tag_count;
} placing;

/* Whether the character at a byte of a text ends a sentence or a part of one. */
static bool is_mark(const char *text, size_t size, size_t at)
{
    size_t length;
    const int32_t c = tr_character(text, size, at, &length);
    return tr_is_clause_mark(c) || tr_is_strong_mark(c) || tr_is_full_stop(c) || tr_is_bang(c);
}

/* Pairs in the order of their tags that open. */
static void list_pairs(placing *p, const char *text)
{
    const tr_stand_in_use *uses = tr_uses_of(p->chunk);
    int inside = ROOT;
    for (int i = 0; i < p->chunk->use_count; i++) {
        const tr_kept_span *span = &uses[i].span;
        if (span->kind == TR_SPAN_OPEN && p->pair_count < MOST_PAIRS) {
            p->pairs[p->pair_count] = (pair){.open = i, .close = -1, .parent = inside, .begin = span->end};
            inside = p->pair_count++;
        } else if (span->kind == TR_SPAN_MARK && p->pair_count < MOST_PAIRS) {
            p->pairs[p->pair_count++] =
                (pair){.open = i, .close = -1, .parent = inside, .begin = span->begin, .end = span->begin};
        } else if (span->kind == TR_SPAN_CLOSE && inside != ROOT) {
            p->pairs[inside].close = i;
            p->pairs[inside].end = span->begin;
            p->pairs[inside].marked = is_mark(text, span->end, tr_character_before(text, span->begin));
            inside = p->pairs[inside].parent;
        }
    }
}

/* Whether a letter or digit of a language that separates words. */
static bool is_word_character(int32_t c)
{
    return (c >= '0' && c <= '9') || c == '\'' || c == '_' || (tr_is_any_letter(c) && !tr_is_cjk(c));
}

/* Whether byte `at` of the translation lies inside a word or a stand-in. */
static bool is_inside_word(const tr_tagged *t, const tr_use_place *places, int count, size_t at)
{
    size_t length;
    for (int i = 0; i < count; i++)
        if (at > places[i].begin && at < places[i].end)
            return true;
    if (!at || at >= t->size)
        return false;
    return is_word_character(tr_character(t->translation, t->size, at, &length)) &&
           is_word_character(tr_character(t->translation, t->size, tr_character_before(t->translation, at), &length));
}

static void list_words(placing *p, const tr_use_place *places, int count)
{
    const tr_tagged *t = p->t;
    for (int i = 0; i < (int)t->target_count; i++) {
        word *last = p->word_count ? &p->words[p->word_count - 1] : NULL;
        if (last && (t->target[i].begin == t->target[i].end || is_inside_word(t, places, count, t->target[i].begin)))
            last->last = i + 1;
        else
            p->words[p->word_count++] = (word){i, i + 1, ROOT};
    }
}

static bool is_link(const tr_tagged *t, const tr_link *link)
{
    return link->target >= 0 && (size_t)link->target < t->target_count && link->source >= 0 &&
           (size_t)link->source < t->source_count;
}

static void list_sources(placing *p)
{
    const tr_alignment *a = p->t->alignment;
    for (size_t i = 0; i < p->t->target_count; i++)
        p->tokens[i].source = -1;
    for (size_t i = 0; i < a->count; i++) {
        const tr_link *link = &a->links[i];
        if (!is_link(p->t, link))
            continue;
        token *target = &p->tokens[link->target];
        target->total += link->weight;
        if (target->source < 0 || link->weight > target->weight) {
            target->source = link->source;
            target->weight = link->weight;
        }
    }
}

/* Whether a part of a source token lies between a pair's tags. */
static bool is_between(const placing *p, int source, const pair *of)
{
    const tr_span *bytes = &p->t->source[source];
    return bytes->begin < of->end && (bytes->end > of->begin || bytes->begin == of->begin);
}

/* Sets the tokens' shares for a pair. */
static void find_shares(placing *p, const pair *of)
{
    const tr_alignment *a = p->t->alignment;
    for (size_t i = 0; i < p->t->target_count; i++)
        p->tokens[i].share = 0;
    for (size_t i = 0; i < a->count; i++)
        if (is_link(p->t, &a->links[i]) && is_between(p, a->links[i].source, of))
            p->tokens[a->links[i].target].share += a->links[i].weight;
}

/* Tokens of a word that are aligned with the source between a pair's tags, less those that are aligned with other tokens. */
static int rate_word(const placing *p, const word *w, const pair *of)
{
    int value = 0;
    for (int i = w->first; i < w->last; i++)
        if (p->tokens[i].source >= 0)
            value += is_between(p, p->tokens[i].source, of) ? 1 : -1;
    return value;
}

/* The largest share of the weights of a word's tokens. */
static float share_of(const placing *p, const word *w)
{
    float most = 0;
    for (int i = w->first; i < w->last; i++) {
        const float share = p->tokens[i].total > 0 ? p->tokens[i].share / p->tokens[i].total : 0;
        most = share > most ? share : most;
    }
    return most;
}

/* The pair around a word that lies directly in a pair around both; that pair: there is none. */
static int inner_pair(const placing *p, int index, int around)
{
    int inside = p->words[index].inside;
    while (inside != around && p->pairs[inside].parent != around)
        inside = p->pairs[inside].parent;
    return inside;
}

/* The word before which a pair stands that has none of its own: after those that are aligned with the source before it. */
static int find_point(const placing *p, const pair *of)
{
    const int from = of->parent == ROOT ? 0 : p->pairs[of->parent].first;
    const int to = of->parent == ROOT ? p->word_count : p->pairs[of->parent].last;
    int point = from;
    size_t nearest = 0;
    for (int i = from; i < to; i++)
        for (int k = p->words[i].first; k < p->words[i].last; k++) {
            const size_t end = p->tokens[k].source < 0 ? 0 : p->t->source[p->tokens[k].source].end;
            if (end && end <= of->begin && end >= nearest) {
                nearest = end;
                point = i + 1;
            }
        }
    while (point > from && point < to && inner_pair(p, point, of->parent) != of->parent &&
           inner_pair(p, point - 1, of->parent) == inner_pair(p, point, of->parent))
        point++; /* not inside another pair */
    return point;
}

/* The run of words with the greatest value (Kadane), of those that lie directly in the pair's parent. */
static void find_run(const placing *p, pair *of)
{
    int best = 0, sum = 0, first = 0;
    for (int i = 0; i < p->word_count; i++) {
        if (p->words[i].inside != of->parent) {
            sum = 0;
            continue;
        }
        if (sum <= 0) {
            sum = 0;
            first = i;
        }
        sum += rate_word(p, &p->words[i], of);
        if (sum > best) {
            best = sum;
            of->first = first;
            of->last = i + 1;
        }
    }
}

/* The word with the largest share, if it is worth it. */
static void find_likely_word(const placing *p, pair *of)
{
    float best = LEAST_SHARE;
    for (int i = 0; i < p->word_count; i++) {
        const float share = p->words[i].inside == of->parent ? share_of(p, &p->words[i]) : 0;
        if (share > best) {
            best = share;
            of->first = i;
            of->last = i + 1;
        }
    }
}

static bool is_mark_word(const placing *p, int index)
{
    return is_mark(p->t->translation, p->t->size, p->t->target[p->words[index].first].begin);
}

static void place_pair(placing *p, int index)
{
    pair *of = &p->pairs[index];
    of->first = of->last = -1;
    if (of->close >= 0)
        find_run(p, of);
    while (!of->marked && of->last > of->first && is_mark_word(p, of->last - 1))
        of->last--;
    if (of->first == of->last)
        of->first = of->last = -1;
    if (of->first < 0 && of->close >= 0) {
        find_shares(p, of);
        find_likely_word(p, of);
    }
    if (of->first < 0)
        of->first = of->last = find_point(p, of);
    for (int i = of->first; i < of->last; i++)
        p->words[i].inside = index;
}

static size_t end_of_word(const placing *p, int index)
{
    return index < 0 ? 0 : p->t->target[p->words[index].last - 1].end;
}

/* Pairs without words come before one that begins at the same word. */
static int order_of(const pair *q)
{
    return 2 * q->first + (q->first != q->last);
}

/* Appends a tag, at a byte of the translation or after the tags before it. */
static void add_tag(placing *p, size_t at, int use)
{
    const size_t least = p->tag_count ? p->tags[p->tag_count - 1].begin : 0;
    at = at < least ? least : at;
    p->tags[p->tag_count++] = (tr_use_place){at, at, use};
}

/* Appends the tags of the pairs that lie directly in another, in the order of the translation. The depth of the recursion is
 * that of the pairs. */
static void write_pairs(placing *p, int parent)
{
    int written = -1;
    for (;;) {
        int next = -1;
        for (int i = 0; i < p->pair_count; i++) {
            const int order = order_of(&p->pairs[i]), before = written < 0 ? INT_MIN : order_of(&p->pairs[written]);
            if (p->pairs[i].parent == parent && (order > before || (order == before && i > written)) &&
                (next < 0 || order < order_of(&p->pairs[next])))
                next = i;
        }
        if (next < 0)
            return;
        const pair *q = &p->pairs[next];
        const bool empty = q->first == q->last;
        const size_t begin = empty ? end_of_word(p, q->first - 1) : p->t->target[p->words[q->first].first].begin;
        add_tag(p, begin, q->open);
        write_pairs(p, next);
        if (q->close >= 0)
            add_tag(p, empty ? begin : end_of_word(p, q->last - 1), q->close);
        written = next;
    }
}

/* Puts the tags among the stand-ins. */
static void merge_places(const placing *p, tr_use_place *places, int *count)
{
    tr_use_place all[2 * TR_CHUNK_SPANS];
    int made = 0, k = 0;
    for (int i = 0; i < p->tag_count; i++) {
        while (k < *count && places[k].begin < p->tags[i].begin)
            all[made++] = places[k++];
        all[made++] = p->tags[i];
    }
    while (k < *count)
        all[made++] = places[k++];
    for (int i = 0; i < made; i++)
        places[i] = all[i];
    *count = made;
}

tr_status tr_tags_place(const tr_text_chunk *chunk, const char *text, const tr_tagged *tagged, tr_use_place *places,
                        int *count, tr_error *error)
{
    placing p = {.chunk = chunk, .t = tagged};
    p.words = calloc(tagged->target_count + 1, sizeof *p.words);
    p.tokens = calloc(tagged->target_count + 1, sizeof *p.tokens);
    const bool good = p.words && p.tokens;
    if (good) {
        list_pairs(&p, text);
        list_words(&p, places, *count);
        list_sources(&p);
        for (int i = 0; i < p.pair_count; i++)
            place_pair(&p, i);
        write_pairs(&p, ROOT);
        merge_places(&p, places, count);
    }
    free(p.words);
    free(p.tokens);
    return good ? TR_OK : tr_fail_memory(error, "tags");
}
