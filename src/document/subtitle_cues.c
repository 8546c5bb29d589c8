/* Subtitles: a translation is divided over the cues of its unit, and broken into lines. */
#include "document/subtitles.h"

#include <string.h>

#include "document/bytes.h"
#include "document/formats.h"

enum {
    LATIN_WIDTH = 42, /* columns of a line */
    CJK_WIDTH = 36,   /* of Chinese or Japanese characters, each of which has two */
};

/* ------------------------------------------------------------------------------------------------------ text of WebVTT */

typedef struct entity {
    const char *name, *text;
} entity;

static const entity entities[] = {
    {"&amp;", "&"},
    {"&lt;", "<"},
    {"&gt;", ">"},
    {"&nbsp;", "\xC2\xA0"},
    {"&quot;", "\""},
    {"&apos;", "'"},
    {"&#39;", "'"},
    {"&lrm;", "\xE2\x80\x8E"},
    {"&rlm;", "\xE2\x80\x8F"},
};

bool tr_subtitles_decode_vtt(const tr_document *d, const tr_unit *unit, uint32_t begin, uint32_t end, tr_buffer *text)
{
    (void)unit;
    while (begin < end) {
        const char *at = d->data + begin, *ampersand = memchr(at, '&', end - begin), *found = "&";
        const uint32_t plain = ampersand ? (uint32_t)(ampersand - at) : end - begin;
        size_t size = 1;
        if (!tr_buffer_append(text, at, plain))
            return false;
        begin += plain;
        for (size_t i = 0; ampersand && i < sizeof entities / sizeof *entities; i++) {
            const size_t length = strlen(entities[i].name);
            if (tr_starts_with(ampersand, end - begin, entities[i].name)) {
                found = entities[i].text;
                size = length;
            }
        }
        if (ampersand && !tr_buffer_string(text, found))
            return false;
        begin += ampersand ? (uint32_t)size : 0;
    }
    return true;
}

/* Appends a character. --> never stands in a text. */
static bool encode_character(bool vtt, const char *text, size_t size, tr_buffer *out)
{
    if (vtt && (*text == '&' || *text == '<' || *text == '>'))
        return tr_buffer_string(out, *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : "&gt;");
    if (*text == '>' && out->size >= 2 && memcmp(out->data + out->size - 2, "--", 2) == 0)
        return tr_buffer_string(out, " >");
    return tr_buffer_append(out, text, size);
}

/* ------------------------------------------------------------------------------------------- translations as tokens */

/* What no line break divides: a word with its punctuation, or a Chinese character. */
typedef struct token {
    size_t begin, end; /* bytes of layout.out, with the marks at its words */
    uint32_t width;    /* columns */
    uint32_t weight;   /* columns without spaces */
    bool space;        /* before it, unless a line begins */
    bool pause;        /* it ends with punctuation */
} token;

typedef struct placed_mark {
    size_t at; /* in layout.out */
    const tr_piece *piece;
} placed_mark;

typedef struct layout {
    const tr_document *document;
    const tr_unit *unit;
    bool vtt;
    bool exact;                   /* the translation is the text: read again, the document must have the same units */
    tr_buffer out, tokens, marks; /* bytes; of token; of placed_mark */
    tr_buffer waiting;            /* of const tr_piece *: marks that come before the next word */
    size_t opened;                /* of these: opening marks whose partner has not come */
    bool space;                   /* comes before it */
    int32_t last;                 /* character */
    uint64_t weight, cjk;         /* of all tokens; of Chinese and Japanese characters */
} layout;

static token *last_token(const layout *l)
{
    return l->tokens.size ? (token *)(void *)(l->tokens.data + l->tokens.size) - 1 : NULL;
}

static bool begin_token(layout *l)
{
    const token next = {.begin = l->out.size, .end = l->out.size, .space = l->space};
    l->space = false;
    return tr_buffer_append(&l->tokens, &next, sizeof next);
}

static bool place_mark(layout *l, const tr_piece *piece)
{
    const placed_mark placed = {l->out.size, piece};
    const bool good = tr_buffer_append(&l->marks, &placed, sizeof placed) && tr_render_piece(l->document, piece, &l->out);
    last_token(l)->end = l->out.size;
    return good;
}

static bool place_waiting(layout *l)
{
    const tr_piece *const *pieces = (const tr_piece *const *)(const void *)l->waiting.data;
    bool good = true;
    for (size_t i = 0; i < l->waiting.size / sizeof *pieces && good; i++)
        good = place_mark(l, pieces[i]);
    tr_buffer_clear(&l->waiting);
    l->opened = 0;
    return good;
}

/* Places what waits, with the space before it, in the token of the word before. */
static bool end_token(layout *l)
{
    if (!l->tokens.size)
        return begin_token(l) && place_waiting(l);
    last_token(l)->width += l->space;
    const bool good = tr_buffer_string(&l->out, l->space ? " " : "") && place_waiting(l);
    l->space = false;
    return good;
}

/* A closing mark stands after the word before it, the others before the word after them. */
static bool add_mark(layout *l, const tr_piece *piece)
{
    if (piece->kind == TR_PIECE_OPEN)
        l->opened++;
    if (piece->kind == TR_PIECE_CLOSE && !l->opened) /* its partner is placed */
        return end_token(l) && place_mark(l, piece);
    if (piece->kind == TR_PIECE_CLOSE)
        l->opened--;
    return tr_buffer_append(&l->waiting, &piece, sizeof(const tr_piece *));
}

static bool add_space(layout *l)
{
    if (l->waiting.size && !l->space && !end_token(l))
        return false;
    l->space = l->tokens.size != 0;
    return true;
}

static bool forbids_break_after(int32_t c)
{
    return tr_bracket_closer(c) || tr_is_quote_opener(c);
}

static bool forbids_break_before(int32_t c)
{
    return tr_is_closer(c) || tr_is_clause_mark(c) || tr_is_full_stop(c) || tr_is_bang(c) || tr_is_strong_mark(c) ||
           tr_is_ellipsis(c) || c == 0x3005 || c == 0x30fb || c == 0x30fc || c == 0xff5e || c == 0xff05;
}

/* Whether c begins a token after l->last. A line or cue never begins with a dash, which would be dialogue. */
static bool begins_token(const layout *l, int32_t c)
{
    const token *current = last_token(l);
    if (!current)
        return true;
    const bool cjk = tr_is_cjk(l->last) && tr_is_cjk(c);
    if (l->space)
        return current->weight && !tr_is_subtitle_dash(c) && !(cjk && l->exact);
    return cjk && current->weight && (l->exact || (!forbids_break_before(c) && !forbids_break_after(l->last)));
}

static bool add_character(layout *l, const char *text, int32_t c, size_t size)
{
    if (tr_is_ascii_space(*text))
        return add_space(l);
    /* Like a reader that walks back to the character before a line break: a stray byte belongs to the word before it. */
    const bool stray = c == -1 && ((unsigned char)*text & 0xc0) == 0x80 && !l->space;
    if (begins_token(l, c)) {
        if (!begin_token(l))
            return false;
    } else if (l->space) {
        l->space = false;
        last_token(l)->width++;
        if (!tr_buffer_string(&l->out, " "))
            return false;
    }
    if (!place_waiting(l) || !encode_character(l->vtt, text, size, &l->out))
        return false;
    token *current = last_token(l);
    const bool cjk = tr_is_cjk(c), wide = cjk && !(c >= 0xff61 && c <= 0xffdc);
    current->end = l->out.size;
    current->width += 1 + wide;
    current->weight += 1 + wide;
    current->pause = tr_is_clause_mark(c) || tr_ends_subtitle(c);
    l->weight += 1 + wide;
    l->cjk += cjk ? 1 + wide : 0;
    if (!stray)
        l->last = c;
    return true;
}

/* Makes tokens of a translation. */
static bool lay_out(layout *l, const tr_rendering *r)
{
    bool good = true;
    for (size_t i = 0; i < r->count && good; i++) {
        const tr_part *part = &r->parts[i];
        if (part->kind != TR_PIECE_TEXT)
            good = add_mark(l, part->piece);
        for (size_t at = 0, length; part->kind == TR_PIECE_TEXT && at < part->size && good; at += length) {
            const int32_t c = tr_utf8_decode(part->text + at, part->size - at, &length);
            good = add_character(l, part->text + at, c, length);
        }
    }
    return good && (!l->waiting.size || end_token(l));
}

/* ---------------------------------------------------------------------------------------------------------- rendering */

/* Sets the weight of each cue's text: the columns without spaces. *count: the number of cues. */
static bool weigh_cues(const layout *l, uint64_t weights[TR_MAX_JOINED_CUES], size_t *count)
{
    const tr_piece *pieces = tr_unit_pieces(l->document, l->unit);
    tr_buffer text = {0};
    bool good = true;
    *count = 1;
    memset(weights, 0, TR_MAX_JOINED_CUES * sizeof *weights);
    for (uint32_t i = 0; i < l->unit->count && good; i++) {
        const tr_piece *piece = &pieces[i];
        if (piece->kind == TR_PIECE_SKIP)
            ++*count;
        if (piece->kind != TR_PIECE_TEXT)
            continue;
        tr_buffer_clear(&text);
        good = l->vtt ? tr_subtitles_decode_vtt(l->document, l->unit, piece->begin, piece->end, &text)
                      : tr_render_piece(l->document, piece, &text);
        for (size_t at = 0, length; at < text.size && good; at += length) {
            const int32_t c = tr_utf8_decode(text.data + at, text.size - at, &length);
            const bool wide = tr_is_cjk(c) && !(c >= 0xff61 && c <= 0xffdc);
            weights[*count - 1] += tr_is_ascii_space(text.data[at]) ? 0 : 1 + wide;
        }
    }
    tr_buffer_free(&text);
    return good;
}

/* Divides the tokens over cues in proportion to the weights of their source texts, rather after punctuation: cue i gets
 * tokens ends[i - 1] .. ends[i]. Fewer tokens than cues come more than once, so that no cue is empty. */
static void divide_tokens(const layout *l, const uint64_t *weights, size_t count, size_t *begins, size_t *ends)
{
    const token *tokens = (const token *)(const void *)l->tokens.data;
    const size_t token_count = l->tokens.size / sizeof *tokens;
    uint64_t sum = 0, before = 0, at = 0;
    for (size_t i = 0; i < count; i++)
        sum += weights[i];
    const uint64_t bonus = l->exact ? 0 : l->weight / count / 4;
    for (size_t i = 0, next = 0; i < count; i++) {
        before += weights[i];
        if (token_count < count || i + 1 == count) {
            begins[i] = token_count < count ? i * token_count / count : next;
            ends[i] = token_count < count ? begins[i] + 1 : token_count;
            continue;
        }
        const uint64_t ideal = l->weight * before / sum;
        uint64_t best = UINT64_MAX, best_at = at;
        begins[i] = next;
        for (size_t t = next; t < token_count - (count - 1 - i); t++) {
            at += tokens[t].weight;
            const uint64_t far = at > ideal ? at - ideal : ideal - at, cost = far + (tokens[t].pause ? 0 : bonus);
            if (cost < best) {
                best = cost;
                best_at = at;
                next = t + 1;
            }
            if (at > ideal && far > best)
                break;
        }
        ends[i] = next;
        at = best_at;
    }
}

/* The number of lines of tokens from .. to that have at most width columns, but for longer tokens. */
static size_t count_lines(const token *tokens, size_t from, size_t to, uint64_t width)
{
    size_t lines = 1;
    uint64_t used = tokens[from].width;
    for (size_t t = from + 1; t < to; t++) {
        used += tokens[t].width + tokens[t].space;
        if (used > width) {
            used = tokens[t].width;
            lines++;
        }
    }
    return lines;
}

/* The least width with which there are no more lines than with `width`: they are of like length. */
static uint64_t balanced_width(const token *tokens, size_t from, size_t to, uint64_t width)
{
    const size_t lines = count_lines(tokens, from, to, width);
    uint64_t low = 1;
    while (low < width) {
        const uint64_t middle = (low + width) / 2;
        if (count_lines(tokens, from, to, middle) > lines)
            low = middle + 1;
        else
            width = middle;
    }
    return width;
}

/* Appends the marks that are open before token `from`, as closed: in turn around. */
static bool append_open_marks(const layout *l, size_t place, bool closing, tr_buffer *out)
{
    const placed_mark *marks = (const placed_mark *)(const void *)l->marks.data;
    const tr_piece *pieces = tr_unit_pieces(l->document, l->unit);
    tr_buffer open = {0}; /* of const tr_piece * */
    bool good = true;
    for (size_t i = 0; i < l->marks.size / sizeof *marks && marks[i].at < place && good; i++) {
        if (marks[i].piece->kind == TR_PIECE_OPEN)
            good = tr_buffer_append(&open, &marks[i].piece, sizeof(const tr_piece *));
        else if (marks[i].piece->kind == TR_PIECE_CLOSE)
            open.size -= sizeof(const tr_piece *);
    }
    const tr_piece *const *opened = (const tr_piece *const *)(const void *)open.data;
    const size_t count = open.size / sizeof *opened;
    for (size_t i = 0; i < count && good; i++)
        good = tr_render_piece(l->document, closing ? &pieces[opened[count - 1 - i]->partner] : opened[i], out);
    tr_buffer_free(&open);
    return good;
}

/* Appends tokens from .. to as the lines of a cue. Marks that are open where it begins or ends are opened and closed. */
static bool append_lines(const layout *l, size_t from, size_t to, const char *line_break, tr_buffer *out)
{
    const token *tokens = (const token *)(const void *)l->tokens.data;
    const int own = l->document->settings.line_width;
    const uint64_t most = own > 0 ? (uint64_t)own : l->cjk * 2 > l->weight ? CJK_WIDTH : LATIN_WIDTH;
    const uint64_t width = balanced_width(tokens, from, to, most);
    uint64_t used = 0;
    bool good = append_open_marks(l, tokens[from].begin, false, out);
    for (size_t t = from; t < to && good; t++) {
        const uint64_t more = tokens[t].width + tokens[t].space;
        if (t > from && used + more > width) {
            good = tr_buffer_string(out, line_break);
            used = tokens[t].width;
        } else {
            good = tr_buffer_string(out, t > from && tokens[t].space ? " " : "");
            used += t > from ? more : tokens[t].width;
        }
        good = good && tr_buffer_append(out, l->out.data + tokens[t].begin, tokens[t].end - tokens[t].begin);
    }
    return good && append_open_marks(l, tokens[to - 1].end, true, out);
}

/* Appends the unit's cues. With bilingual, each has the lines of the source above those of the translation. */
static bool append_cues(const layout *l, tr_buffer *out)
{
    const tr_document *d = l->document;
    const tr_unit *unit = l->unit;
    const tr_piece *piece = tr_unit_pieces(d, unit);
    const uint32_t dash = unit->style & TR_DASH_BYTES;
    const char *line_break = tr_line_break(d, unit->end);
    uint64_t weights[TR_MAX_JOINED_CUES];
    size_t begins[TR_MAX_JOINED_CUES], ends[TR_MAX_JOINED_CUES], count;
    bool good = weigh_cues(l, weights, &count);
    if (good)
        divide_tokens(l, weights, count, begins, ends);
    uint32_t begin = unit->begin;
    for (size_t i = 0; i < count && good; i++) {
        while (piece < tr_unit_pieces(d, unit) + unit->count && piece->kind != TR_PIECE_SKIP)
            piece++;
        const uint32_t end = i + 1 < count ? piece->begin : unit->end;
        if (d->settings.bilingual)
            good = tr_buffer_append(out, d->data + begin, end - begin) && tr_buffer_string(out, line_break) &&
                   tr_buffer_append(out, d->data + unit->begin - dash, dash);
        good = good && append_lines(l, begins[i], ends[i], line_break, out);
        if (i + 1 < count) {
            good = good && tr_render_piece(d, piece, out);
            begin = piece++->end;
        }
    }
    return good;
}

tr_status tr_subtitles_render(const tr_document *d, const tr_rendering *r, tr_buffer *out, tr_error *error)
{
    layout l = {.document = d, .unit = r->unit, .vtt = d->format == &tr_format_vtt};
    l.exact = r->translation.size == r->size && memcmp(r->translation.text, r->text, r->size) == 0;
    bool good = r->same || lay_out(&l, r);
    if (r->same || (good && !l.weight)) /* nothing to say: the cue is not empty */
        good = tr_buffer_append(out, d->data + r->unit->begin, r->unit->end - r->unit->begin);
    else
        good = good && append_cues(&l, out);
    tr_buffer_free(&l.out);
    tr_buffer_free(&l.tokens);
    tr_buffer_free(&l.marks);
    tr_buffer_free(&l.waiting);
    return good ? TR_OK : tr_fail_memory(error, d->name);
}
