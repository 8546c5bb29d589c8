/* Subtitles, SRT and WebVTT: the text of cues. Cues without the end of a sentence are one unit with those that follow; the
 * translation is divided over the same cues, whose times stay. Lines are broken anew at a width. Lines that begin with a
 * dash are spoken by somebody else: units of their own. */
#include "document/subtitles.h"

#include <string.h>

#include "document/bytes.h"
#include "document/formats.h"

enum {
    MAX_GAP = 1000,    /* ms between two cues of a unit */
    MIN_SENTENCES = 4, /* one cue of so many has to end a sentence: else the document leaves out full stops */
    MAX_OPEN = 16,     /* open marks that are looked at for the partner of a closing one */
};

/* What is known of a cue's text. */
enum { ENDS_SENTENCE = 1, HAS_DIALOGUE = 2, STANDS_ALONE = 4, HAS_WORDS = 8 };

typedef struct cue {
    uint32_t begin, end;  /* of its text; the line of times ends with a line break before it */
    uint32_t start, stop; /* ms */
    uint32_t voice;       /* place of the first <v ...>; 0: none */
    uint32_t flags;
} cue;

typedef struct reader {
    tr_document *document;
    bool vtt;
    tr_buffer cues;   /* of cue */
    tr_buffer pieces; /* of tr_piece: those of a text */
} reader;

/* -------------------------------------------------------------------------------------------------------------- lines */

typedef struct line {
    size_t begin, end, next; /* without its line break; the line after it */
} line;

static line line_at(const tr_document *d, size_t begin)
{
    const char *newline = begin < d->size ? memchr(d->data + begin, '\n', d->size - begin) : NULL;
    const size_t end = newline ? (size_t)(newline - d->data) : d->size;
    return (line){begin, end - (end > begin && d->data[end - 1] == '\r'), newline ? end + 1 : d->size};
}

/* Whether a line ends a cue. In WebVTT it does so only if it is empty. */
static bool is_blank(const reader *r, const line *l)
{
    size_t at = l->begin;
    while (!r->vtt && at < l->end && tr_is_ascii_space(r->document->data[at]))
        at++;
    return at == l->end;
}

static bool has_arrow(const tr_document *d, const line *l)
{
    const char *text = d->data + l->begin;
    for (size_t left = l->end - l->begin; left >= 3; left--, text++)
        if (memcmp(text, "-->", 3) == 0)
            return true;
    return false;
}

static bool is_number(const tr_document *d, const line *l)
{
    size_t at = l->begin;
    while (at < l->end && (tr_is_ascii_digit(d->data[at]) || tr_is_ascii_space(d->data[at])))
        at++;
    return at == l->end;
}

static void skip_space(const tr_document *d, size_t *at, size_t end)
{
    while (*at < end && tr_is_ascii_space(d->data[*at]))
        ++*at;
}

/* Reads 01:02:03,004 or 02:03.004. */
static bool read_time(const tr_document *d, size_t *at, size_t end, uint32_t *ms)
{
    uint32_t groups[4] = {0}, count = 0;
    size_t digits = 0;
    for (; *at < end; ++*at) {
        const char c = d->data[*at];
        if (tr_is_ascii_digit(c) && digits < 3) {
            groups[count] = groups[count] * 10 + (uint32_t)(c - '0');
            digits++;
        } else if (c == ':' && digits && count < 2) {
            count++;
            digits = 0;
        } else {
            break;
        }
    }
    if (!count || !digits)
        return false;
    const uint32_t hours = count == 2 ? groups[0] : 0, minutes = groups[count - 1], seconds = groups[count];
    uint32_t fraction = 0;
    if (*at < end && (d->data[*at] == ',' || d->data[*at] == '.')) {
        uint32_t unit = 100;
        for (digits = 0, ++*at; *at < end && tr_is_ascii_digit(d->data[*at]) && digits < 3; ++*at, digits++, unit /= 10)
            fraction += unit * (uint32_t)(d->data[*at] - '0');
    }
    *ms = ((hours * 60 + minutes) * 60 + seconds) * 1000 + fraction;
    return digits && minutes < 60 && seconds < 60;
}

/* Reads a line of times; what follows them stays. */
static tr_status read_times(const tr_document *d, const line *l, cue *c, tr_error *error)
{
    size_t at = l->begin;
    skip_space(d, &at, l->end);
    bool good = read_time(d, &at, l->end, &c->start);
    if (good) {
        skip_space(d, &at, l->end);
        good = tr_starts_with(d->data + at, l->end - at, "-->");
    }
    if (good) {
        at += 3;
        skip_space(d, &at, l->end);
        good = read_time(d, &at, l->end, &c->stop) && (at == l->end || tr_is_ascii_space(d->data[at]));
    }
    return good ? TR_OK : tr_document_fail(d, at, error, "the times are wrong; 00:01:02.345 --> 00:01:04.500 is expected");
}

/* The line after a block: the blank one that ends it. *end: of its last line. */
static tr_status skip_block(const reader *r, size_t at, size_t *end, size_t *next, tr_error *error)
{
    *end = *next = at;
    while (*next < r->document->size) {
        const line l = line_at(r->document, *next);
        if (is_blank(r, &l))
            break;
        if (has_arrow(r->document, &l))
            return tr_document_fail(r->document, l.begin, error,
                                    "--> in the text of a cue: a blank line is missing before it");
        *end = l.end;
        *next = l.next;
    }
    return TR_OK;
}

static bool begins_with(const tr_document *d, const line *l, const char *word)
{
    const size_t size = strlen(word);
    return tr_starts_with(d->data + l->begin, l->end - l->begin, word) &&
           (l->end - l->begin == size || d->data[l->begin + size] == ' ' || d->data[l->begin + size] == '\t');
}

/* A block without times: a comment, or, in SRT, what follows a blank line in a cue's text. */
static tr_status read_other(reader *r, const line *first, size_t *next, tr_error *error)
{
    const tr_document *d = r->document;
    const line second = line_at(d, first->next);
    cue *last = r->cues.size ? (cue *)(void *)(r->cues.data + r->cues.size) - 1 : NULL;
    size_t end;
    const bool alone = second.begin >= d->size || is_blank(r, &second);
    if (r->vtt ? begins_with(d, first, "NOTE") || begins_with(d, first, "STYLE") || begins_with(d, first, "REGION")
               : is_number(d, first) && alone)
        return skip_block(r, first->begin, &end, next, error);
    uint32_t ms;
    size_t at = first->begin;
    const bool times = read_time(d, &at, first->end, &ms);
    if (r->vtt || !last || is_number(d, first) || times)
        return tr_document_fail(d, is_number(d, first) ? second.begin : first->begin, error,
                                "a line of times is expected, such as 00:01:02.345 --> 00:01:04.500");
    const tr_status status = skip_block(r, first->begin, &end, next, error);
    last->end = (uint32_t)end;
    return status;
}

static tr_status read_cue(reader *r, const line *times, size_t *next, tr_error *error)
{
    cue c = {.begin = (uint32_t)times->next};
    size_t end = 0;
    tr_status status = read_times(r->document, times, &c, error);
    if (status == TR_OK)
        status = skip_block(r, times->next, &end, next, error);
    c.end = (uint32_t)end;
    if (status == TR_OK && !tr_buffer_append(&r->cues, &c, sizeof c))
        return tr_fail_memory(error, r->document->name);
    return status;
}

static tr_status read_cues(reader *r, tr_error *error)
{
    const tr_document *d = r->document;
    size_t at = tr_document_begin(d);
    line first = line_at(d, at);
    if (r->vtt && !begins_with(d, &first, "WEBVTT"))
        return tr_document_fail(d, at, error, "WEBVTT is expected");
    size_t end;
    tr_status status = r->vtt ? skip_block(r, at, &end, &at, error) : TR_OK;
    while (at < d->size && status == TR_OK) {
        first = line_at(d, at);
        const line second = line_at(d, first.next);
        if (is_blank(r, &first))
            at = first.next;
        else if (has_arrow(d, &first))
            status = read_cue(r, &first, &at, error);
        else if (has_arrow(d, &second))
            status = read_cue(r, &second, &at, error);
        else
            status = read_other(r, &first, &at, error);
    }
    return status;
}

/* -------------------------------------------------------------------------------------------------------------- marks */

/* The end of the mark at data[at], or `at`: <b>, </b>, <00:01.000>, {\an8}. */
static size_t mark_end(const tr_document *d, size_t at, size_t end)
{
    const char open = d->data[at], close = open == '<' ? '>' : '}';
    size_t i = at + 1;
    if (open == '<') {
        i += i < end && d->data[i] == '/';
        if (i >= end || !tr_is_ascii_word(d->data[i]))
            return at;
    } else if (open != '{' || i >= end || d->data[i] != '\\') {
        return at;
    }
    const bool time = tr_is_ascii_digit(d->data[i]);
    while (i < end && d->data[i] != open && d->data[i] != close) {
        if (time && !tr_is_ascii_digit(d->data[i]) && d->data[i] != ':' && d->data[i] != '.')
            return at;
        i++;
    }
    return i < end && d->data[i] == close ? i + 1 : at;
}

static tr_piece_kind mark_kind(const tr_document *d, size_t at)
{
    const char *text = d->data + at;
    if (text[0] == '{' || tr_is_ascii_digit(text[1]) || memcmp(text, "<br", 3) == 0)
        return TR_PIECE_EMPTY;
    return text[1] == '/' ? TR_PIECE_CLOSE : TR_PIECE_OPEN;
}

static bool same_name(const tr_document *d, const tr_piece *open, size_t close)
{
    size_t i = open->begin + 1, k = close + 2;
    while (tr_is_ascii_word(d->data[i]) && d->data[i] == d->data[k]) {
        i++;
        k++;
    }
    return !tr_is_ascii_word(d->data[i]) && !tr_is_ascii_word(d->data[k]);
}

/* Finds the partner of the closing mark `index` among the open ones, the last of which is *open; each one's partner is the
 * one around it. Those in between become empty. */
static void close_mark(const reader *r, uint32_t index, uint32_t *open)
{
    tr_piece *pieces = (tr_piece *)(void *)r->pieces.data;
    uint32_t found = *open;
    for (int i = 0; found != UINT32_MAX && !same_name(r->document, &pieces[found], pieces[index].begin); i++)
        found = i < MAX_OPEN ? pieces[found].partner : UINT32_MAX;
    if (found == UINT32_MAX) {
        pieces[index].kind = TR_PIECE_EMPTY;
        return;
    }
    while (*open != found) {
        tr_piece *piece = &pieces[*open];
        *open = piece->partner;
        piece->kind = TR_PIECE_EMPTY;
        piece->partner = UINT32_MAX;
    }
    *open = pieces[found].partner;
    pieces[found].partner = index;
    pieces[index].partner = found;
}

static bool append_piece(reader *r, tr_piece_kind kind, size_t begin, size_t end)
{
    const tr_piece piece = {(uint32_t)begin, (uint32_t)end, UINT32_MAX, (uint8_t)kind};
    return begin == end || tr_buffer_append(&r->pieces, &piece, sizeof piece);
}

/* Makes SKIP of white space between marks that stands for nothing (TR_UNIT_COLLAPSES): written anew it is not there, and
 * marks are numbered by pieces. */
static void skip_nothing(const reader *r)
{
    const tr_document *d = r->document;
    tr_piece *pieces = (tr_piece *)(void *)r->pieces.data;
    const size_t count = r->pieces.size / sizeof *pieces;
    tr_piece *waiting = NULL; /* white space that stands for nothing if a Chinese character follows */
    bool cjk = false, space = false, newline = false;
    for (tr_piece *piece = pieces; piece < pieces + count; piece++) {
        size_t at = piece->begin, last = piece->end, length;
        if (piece->kind != TR_PIECE_TEXT)
            continue;
        for (; at < piece->end && tr_is_ascii_space(d->data[at]); at++)
            newline |= d->data[at] == '\n';
        if (at == piece->end) {
            if (space)
                piece->kind = TR_PIECE_SKIP;
            else
                waiting = piece;
            space = true;
            continue;
        }
        if (waiting && cjk && newline && tr_is_cjk(tr_character(d->data, piece->end, at, &length)))
            waiting->kind = TR_PIECE_SKIP;
        waiting = NULL;
        newline = false;
        for (; tr_is_ascii_space(d->data[last - 1]); last--)
            newline |= d->data[last - 1] == '\n';
        space = last < piece->end;
        cjk = tr_is_cjk(tr_character(d->data, last, tr_character_before(d->data, last), &length));
    }
}

/* Fills r->pieces with those of a text. Marks have partners in it, or are empty. */
static bool scan_pieces(reader *r, size_t begin, size_t end)
{
    const tr_document *d = r->document;
    uint32_t open = UINT32_MAX;
    tr_buffer_clear(&r->pieces);
    for (size_t at = begin; at < end;) {
        const size_t next = mark_end(d, at, end);
        if (next == at) {
            at++;
            continue;
        }
        const tr_piece_kind kind = mark_kind(d, at);
        if (!append_piece(r, TR_PIECE_TEXT, begin, at) || !append_piece(r, kind, at, next))
            return false;
        const uint32_t index = (uint32_t)(r->pieces.size / sizeof(tr_piece)) - 1;
        if (kind == TR_PIECE_OPEN) {
            ((tr_piece *)(void *)r->pieces.data)[index].partner = open;
            open = index;
        } else if (kind == TR_PIECE_CLOSE) {
            close_mark(r, index, &open);
        }
        begin = at = next;
    }
    while (open != UINT32_MAX) {
        tr_piece *piece = (tr_piece *)(void *)r->pieces.data + open;
        open = piece->partner;
        piece->kind = TR_PIECE_EMPTY;
        piece->partner = UINT32_MAX;
    }
    if (!append_piece(r, TR_PIECE_TEXT, begin, end))
        return false;
    skip_nothing(r);
    return true;
}

/* --------------------------------------------------------------------------------------------------- which cues are joined
 */

/* The size of a dash with its space at data[at], the first character of a line; 0: it is none. */
static size_t dash_size(const tr_document *d, size_t at, size_t end)
{
    size_t length, next;
    if (!tr_is_subtitle_dash(tr_character(d->data, end, at, &length)))
        return 0;
    const int32_t c = tr_character(d->data, end, at + length, &next);
    if (tr_is_ascii_space(c))
        return length + 1;
    return d->data[at] == '-' && next && !tr_is_subtitle_dash(c) && !tr_is_ascii_digit(c) ? length : 0;
}

/* Sets what is known of a cue. */
static void look_at(const tr_document *d, cue *c)
{
    bool line_begins = true;
    int32_t last = 0;
    size_t length;
    for (size_t at = c->begin; at < c->end; at += length) {
        const size_t mark = mark_end(d, at, c->end);
        length = mark - at;
        if (mark > at) {
            if (d->data[at + 1] == 'v' && !tr_is_ascii_word(d->data[at + 2]) && !c->voice)
                c->voice = (uint32_t)at;
            if (tr_is_ascii_digit(d->data[at + 1]))
                c->flags |= STANDS_ALONE; /* its times are those of the cue */
            continue;
        }
        const int32_t code = tr_character(d->data, c->end, at, &length);
        if (tr_is_ascii_space(d->data[at])) {
            line_begins |= code == '\n';
            continue;
        }
        if (line_begins && dash_size(d, at, c->end))
            c->flags |= HAS_DIALOGUE;
        if (!last && (tr_is_subtitle_dash(code) || tr_is_note(code) || code == '[' || tr_bracket_closer(code)))
            c->flags |= STANDS_ALONE;
        line_begins = false;
        last = code;
        c->flags |= HAS_WORDS;
    }
    if (tr_ends_subtitle(last))
        c->flags |= ENDS_SENTENCE;
}

static bool same_voice(const tr_document *d, const cue *a, const cue *b)
{
    if (!a->voice || !b->voice)
        return a->voice == b->voice;
    const size_t size = mark_end(d, a->voice, a->end) - a->voice;
    return b->end - b->voice >= size && memcmp(d->data + a->voice, d->data + b->voice, size) == 0;
}

/* Whether b goes on with the sentence of a, the cue before it. */
static bool goes_on(const tr_document *d, const cue *a, const cue *b)
{
    if ((a->flags & ENDS_SENTENCE) || ((a->flags | b->flags) & (STANDS_ALONE | HAS_DIALOGUE)) ||
        !(a->flags & b->flags & HAS_WORDS) || b->start < a->start || (b->start > a->stop && b->start - a->stop > MAX_GAP))
        return false;
    return same_voice(d, a, b);
}

/* -------------------------------------------------------------------------------------------------------------- units */

/* The pieces from .. to of r->pieces without the marks, the white space and the dash around all words, which stay where they
 * are. dash: what is left out is a dash, too; it becomes its size, or 0 if other things follow it. */
typedef struct core {
    uint32_t from, to;
    uint32_t first, last; /* the pieces with words: found once, and the first again if all it had was a dash */
    size_t dash;
} core;

static bool has_no_words(const reader *r, const tr_piece *piece)
{
    size_t at = piece->begin;
    if (piece->kind != TR_PIECE_TEXT)
        return true;
    while (at < piece->end && tr_is_ascii_space(r->document->data[at]))
        at++;
    return at == piece->end;
}

/* The first piece from .. to with words; `to`: there is none. */
static uint32_t find_words(const reader *r, uint32_t from, uint32_t to)
{
    const tr_piece *pieces = (const tr_piece *)(const void *)r->pieces.data;
    while (from < to && has_no_words(r, &pieces[from]))
        from++;
    return from;
}

/* Leaves out a pair of marks without words at one of the ends; false: there is none. */
static bool skip_pair(const reader *r, core *c)
{
    const tr_piece *pieces = (const tr_piece *)(const void *)r->pieces.data;
    if (c->first < c->from)
        c->first = find_words(r, c->from, c->to);
    if (pieces[c->from].kind == TR_PIECE_OPEN && pieces[c->from].partner < c->first) {
        c->from = pieces[c->from].partner + 1;
        c->dash = 0;
        return true;
    }
    if (pieces[c->to - 1].kind != TR_PIECE_CLOSE || pieces[c->to - 1].partner <= c->last)
        return false;
    c->to = pieces[c->to - 1].partner;
    return true;
}

/* Leaves out one thing; false: there is none. */
static bool shorten_core(const reader *r, core *c, bool *dashed)
{
    const tr_document *d = r->document;
    tr_piece *first = (tr_piece *)(void *)r->pieces.data + c->from, *last = (tr_piece *)(void *)r->pieces.data + c->to - 1;
    const bool text = first->kind == TR_PIECE_TEXT;
    if (text && tr_is_ascii_space(d->data[first->begin])) {
        c->dash += c->dash != 0;
        c->from += ++first->begin == first->end;
    } else if (text && *dashed) {
        c->dash = dash_size(d, first->begin, first->end);
        first->begin += (uint32_t)c->dash;
        c->from += first->begin == first->end;
        *dashed = false;
    } else if (last->kind == TR_PIECE_TEXT && tr_is_ascii_space(d->data[last->end - 1])) {
        c->to -= --last->end == last->begin;
    } else if (first->kind == TR_PIECE_EMPTY || first->kind == TR_PIECE_SKIP) {
        c->from++;
        c->dash = 0;
    } else if (last->kind == TR_PIECE_EMPTY || last->kind == TR_PIECE_SKIP) {
        c->to--;
    } else if (first->kind == TR_PIECE_OPEN && first->partner == c->to - 1) {
        c->from++;
        c->to--;
        c->dash = 0;
    } else {
        return skip_pair(r, c);
    }
    return true;
}

/* Leaves out white space that only marks divide from the end of the core. */
static void trim_core(const reader *r, const core *c)
{
    const tr_document *d = r->document;
    tr_piece *pieces = (tr_piece *)(void *)r->pieces.data;
    for (uint32_t i = c->to; i > c->from; i--) {
        tr_piece *piece = &pieces[i - 1];
        if (piece->kind != TR_PIECE_TEXT)
            continue;
        while (piece->end > piece->begin && tr_is_ascii_space(d->data[piece->end - 1]))
            piece->end--;
        if (piece->end > piece->begin)
            break;
        piece->kind = TR_PIECE_SKIP;
    }
    for (uint32_t i = c->from; i < c->to; i++) {
        tr_piece *piece = &pieces[i];
        if (piece->kind != TR_PIECE_TEXT)
            continue;
        while (piece->begin < piece->end && tr_is_ascii_space(d->data[piece->begin]))
            piece->begin++;
        if (piece->begin < piece->end)
            break;
        piece->kind = TR_PIECE_SKIP;
    }
}

/* Whether a blank line stands before the core: its first line would be taken for the number of a cue if it became one. */
static bool follows_blank_line(const reader *r, size_t at, const core *c)
{
    const size_t end = ((const tr_piece *)(const void *)r->pieces.data)[c->from].begin;
    bool blank = false;
    for (; at < end; at++) {
        const char byte = r->document->data[at];
        if (byte == '\n' && blank)
            return true;
        blank = byte == '\n' || (blank && tr_is_ascii_space(byte));
    }
    return false;
}

/* Whether the core ends with a line that is a number, after a blank line, and its translation will stand below: it would be
 * taken for the number of a cue. */
static bool would_end_with_number(const reader *r, size_t begin, const core *c)
{
    const char *data = r->document->data;
    if (r->vtt || !r->document->settings.bilingual)
        return false;
    size_t at = ((const tr_piece *)(const void *)r->pieces.data)[c->to - 1].end;
    while (at > begin && data[at - 1] != '\n' && (tr_is_ascii_digit(data[at - 1]) || tr_is_ascii_space(data[at - 1])))
        at--;
    if (at == begin || data[at - 1] != '\n')
        return false;
    for (at--; at > begin && data[at - 1] != '\n' && tr_is_ascii_space(data[at - 1]);)
        at--;
    return at == begin || data[at - 1] == '\n';
}

/* Scans the text begin .. end and finds its core, which is empty if it has no words. */
static bool scan_core(reader *r, size_t begin, size_t end, bool dashed, core *found)
{
    if (!scan_pieces(r, begin, end))
        return false;
    const tr_piece *pieces = (const tr_piece *)(const void *)r->pieces.data;
    const uint32_t count = (uint32_t)(r->pieces.size / sizeof *pieces);
    *found = (core){.to = count, .first = find_words(r, 0, count), .last = count};
    while (found->last && has_no_words(r, &pieces[--found->last]))
        ;
    while (found->from < found->to && shorten_core(r, found, &dashed))
        ;
    trim_core(r, found);
    if (found->from < found->to && (follows_blank_line(r, begin, found) || would_end_with_number(r, begin, found)))
        found->to = found->from;
    return true;
}

static tr_status add_core(reader *r, const core *c, tr_error *error)
{
    const tr_piece *pieces = (const tr_piece *)(const void *)r->pieces.data;
    tr_status status = TR_OK;
    for (uint32_t i = c->from; i < c->to && status == TR_OK; i++)
        if (pieces[i].kind != TR_PIECE_SKIP)
            status = tr_unit_piece(r->document, (tr_piece_kind)pieces[i].kind, pieces[i].begin, pieces[i].end, error);
    return status;
}

/* Where the first line after the one at data[at] is that begins with a dash, or `end`. */
static size_t next_dialogue(const tr_document *d, size_t at, size_t end)
{
    size_t line_begin = at, length;
    bool begins = false; /* the line, and it is not the first */
    for (; at < end; at += length) {
        const size_t mark = mark_end(d, at, end);
        length = mark > at ? mark - at : 1;
        if (d->data[at] == '\n') {
            line_begin = at + 1;
            begins = true;
        } else if (mark == at && !tr_is_ascii_space(d->data[at])) {
            if (begins && dash_size(d, at, end))
                return line_begin;
            begins = false;
        }
    }
    return end;
}

static tr_status add_dialogue(reader *r, const cue *c, tr_error *error)
{
    tr_document *d = r->document;
    tr_status status = TR_OK;
    for (size_t at = c->begin, next; at < c->end && status == TR_OK; at = next) {
        core part;
        next = next_dialogue(d, at, c->end);
        if (!scan_core(r, at, next, true, &part))
            return tr_fail_memory(error, d->name);
        if (part.from == part.to)
            continue;
        status = tr_unit_begin(d, TR_UNIT_COLLAPSES | (part.dash <= TR_DASH_BYTES ? (uint32_t)part.dash : 0), error);
        if (status == TR_OK)
            status = add_core(r, &part, error);
        if (status == TR_OK)
            tr_unit_end(d);
    }
    return status;
}

/* Adds the unit that begins with cue i, and sets *next to the cue after it. Between the texts of two cues is a SKIP. */
static tr_status add_joined(reader *r, size_t i, bool joins, size_t *next, tr_error *error)
{
    tr_document *d = r->document;
    const cue *cues = (const cue *)(const void *)r->cues.data;
    const size_t count = r->cues.size / sizeof *cues;
    tr_status status = tr_unit_begin(d, TR_UNIT_COLLAPSES, error);
    size_t end = 0;
    for (*next = i; *next < count && status == TR_OK; ++*next) {
        core part;
        const cue *c = &cues[*next];
        if (*next > i && (!joins || *next - i == TR_MAX_JOINED_CUES || !goes_on(d, c - 1, c)))
            break;
        if (!scan_core(r, c->begin, c->end, false, &part))
            return tr_fail_memory(error, d->name);
        if (part.from == part.to)
            continue;
        const tr_piece *pieces = (const tr_piece *)(const void *)r->pieces.data;
        if (end) { /* the line break after the times divides the words of two cues */
            status = tr_unit_piece(d, TR_PIECE_TEXT, c->begin - 1, c->begin, error);
            if (status == TR_OK)
                status = tr_unit_piece(d, TR_PIECE_SKIP, end, pieces[part.from].begin, error);
        }
        if (status == TR_OK)
            status = add_core(r, &part, error);
        end = pieces[part.to - 1].end;
    }
    if (status == TR_OK)
        tr_unit_end(d);
    return status;
}

static tr_status add_units(reader *r, tr_error *error)
{
    cue *cues = (cue *)(void *)r->cues.data;
    const size_t count = r->cues.size / sizeof *cues;
    size_t with_words = 0, with_ends = 0;
    tr_status status = TR_OK;
    for (size_t i = 0; i < count; i++) {
        look_at(r->document, &cues[i]);
        with_words += (cues[i].flags & HAS_WORDS) != 0;
        with_ends += (cues[i].flags & ENDS_SENTENCE) != 0;
    }
    for (size_t i = 0, next; i < count && status == TR_OK; i = next) {
        next = i + 1;
        if (cues[i].flags & HAS_DIALOGUE)
            status = add_dialogue(r, &cues[i], error);
        else if (cues[i].flags & HAS_WORDS)
            status = add_joined(r, i, with_ends * MIN_SENTENCES >= with_words, &next, error);
    }
    return status;
}

static tr_status read_subtitles(tr_document *d, bool vtt, tr_error *error)
{
    reader r = {.document = d, .vtt = vtt};
    tr_status status = read_cues(&r, error);
    if (status == TR_OK)
        status = add_units(&r, error);
    tr_buffer_free(&r.cues);
    tr_buffer_free(&r.pieces);
    return status;
}

static tr_status read_srt(tr_document *d, tr_error *error)
{
    return read_subtitles(d, false, error);
}

static tr_status read_vtt(tr_document *d, tr_error *error)
{
    return read_subtitles(d, true, error);
}

const tr_document_format tr_format_srt = {
    .read = read_srt,
    .render = tr_subtitles_render,
};

const tr_document_format tr_format_vtt = {
    .read = read_vtt,
    .decode = tr_subtitles_decode_vtt,
    .render = tr_subtitles_render,
};
