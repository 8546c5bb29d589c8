/* Markdown: from md4c's calls, which tell the places of text but not of marks, to runs of bytes.
 *
 * Between two texts stand only marks and line breaks. md4c tells which ones, in order, and each can be read by itself. A
 * block where this does not lead exactly from text to text is left as it is. */
#include "document/markdown.h"

#include <md4c.h>
#include <stdlib.h>
#include <string.h>

enum { EVENT_TEXT, EVENT_NUL, EVENT_HTML, EVENT_CODE, EVENT_SOFT_BREAK, EVENT_HARD_BREAK, EVENT_ENTER, EVENT_LEAVE };
enum { NO_MARKS = 255, MAX_LABEL = 999 };

typedef struct event {
    uint32_t begin, end; /* EVENT_TEXT, EVENT_HTML, EVENT_CODE */
    uint8_t what, span;
} event;

typedef struct scanner {
    const char *text; /* [size] the document */
    uint32_t size;
    tr_markdown_mask mask; /* what md4c reads */
    const tr_markdown_reader *reader;
    tr_buffer events; /* of event, for the block that is read */
    tr_buffer items;  /* of tr_markdown_item */
    uint32_t at;      /* what is before is read */
    uint32_t task;    /* the end of the box of the last task */
    uint64_t calls;
    uint8_t kind; /* a tr_markdown_kind, or NO_MARKS */
    bool in_paragraph;
    bool hidden; /* the block has text that md4c does not see, one end of a formula without the other: it stays */
    tr_status status;
    tr_error *error;
} scanner;

static bool is_newline(char c)
{
    return c == '\n' || c == '\r';
}

static const event *events_of(const scanner *s, size_t *count)
{
    *count = s->events.size / sizeof(event);
    return (const event *)(const void *)s->events.data;
}

static bool add_item(scanner *s, tr_piece_kind kind, tr_markdown_tag tag, uint32_t begin, uint32_t end)
{
    const tr_markdown_item item = {begin, end, (uint8_t)kind, (uint8_t)tag};
    if (begin == end)
        return true;
    if (tr_buffer_append(&s->items, &item, sizeof item))
        return true;
    s->status = tr_fail_memory(s->error, "markdown");
    return false;
}

/* ------------------------------------------------------------------------------------------------------ where a block is */

/* Whether text[at] is a | that divides cells. */
static bool divides_cells(const scanner *s, uint32_t at)
{
    uint32_t begin = at;
    while (s->text[at] == '|' && begin && s->text[begin - 1] == '\\')
        begin--;
    return s->text[at] == '|' && (at - begin) % 2 == 0;
}

/* Where the words begin in the line that has text[at], which is in a block. */
static uint32_t content_begin(const scanner *s, uint32_t at)
{
    uint32_t begin = at;
    while (begin > s->at && !is_newline(s->text[begin - 1]))
        begin--;
    for (uint32_t cell = at; s->kind == TR_MARKDOWN_CELL && cell > begin; cell--) {
        if (!divides_cells(s, cell - 1))
            continue;
        while (cell < at && tr_markdown_is_blank(s->text[cell]))
            cell++;
        return cell;
    }
    for (uint32_t next = begin;; begin = next) {
        begin = tr_markdown_skip_prefix(s->text, begin, at);
        next = tr_markdown_skip_list_sign(s->text, s->size, begin);
        if (next == begin || next > at)
            break;
    }
    if (s->task > begin && s->task < at)
        begin = tr_markdown_skip_prefix(s->text, s->task, at);
    if (s->kind == TR_MARKDOWN_HEADING && s->text[begin] == '#') {
        while (begin < at && s->text[begin] == '#')
            begin++;
        begin = tr_markdown_skip_prefix(s->text, begin, at);
    }
    return begin;
}

/* --------------------------------------------------------------------------------------------------------- reading marks */

static uint32_t run_end(const scanner *s, uint32_t at)
{
    const char c = s->text[at];
    while (at < s->size && s->text[at] == c)
        at++;
    return at;
}

/* White space in a link, with a line break and what stands before the next line. */
static uint32_t skip_link_space(const scanner *s, uint32_t at, uint32_t end)
{
    while (at < end && (tr_markdown_is_blank(s->text[at]) || is_newline(s->text[at])))
        if (is_newline(s->text[at++]))
            at = tr_markdown_skip_prefix(s->text, at, end);
    return at;
}

/* The end of a link's address at text[at]; 0: there is none. */
static uint32_t address_end(const scanner *s, uint32_t at, uint32_t end)
{
    uint32_t depth = 0;
    if (at < end && s->text[at] == '<') {
        while (++at < end && s->text[at] != '>' && !is_newline(s->text[at]))
            at += s->text[at] == '\\' && at + 1 < end;
        return at < end && s->text[at] == '>' ? at + 1 : 0;
    }
    for (; at < end; at++) {
        const char c = s->text[at];
        if (c == '\\' && at + 1 < end && tr_markdown_is_mark(s->text[at + 1]))
            at++;
        else if (c == '(')
            depth++;
        else if ((c == ')' && !depth--) || (unsigned char)c <= ' ' || c == 127)
            break;
    }
    return at;
}

/* The end of a link's title at text[at]; at: there is none. */
static uint32_t title_end(const scanner *s, uint32_t at, uint32_t end)
{
    const char open = at < end ? s->text[at] : 0, close = open == '(' ? ')' : open;
    if (open != '"' && open != '\'' && open != '(')
        return at;
    for (uint32_t i = at + 1; i < end; i++) {
        if (s->text[i] == close)
            return i + 1;
        i += s->text[i] == '\\';
    }
    return at;
}

/* The end of "](address "title")" or "][label]" or "]" at text[at]; 0: it is none. */
static uint32_t link_end(const scanner *s, uint32_t at, uint32_t end)
{
    if (at >= end || s->text[at] != ']')
        return 0;
    at++;
    if (at < end && s->text[at] == '(') {
        uint32_t i = skip_link_space(s, at + 1, end);
        i = address_end(s, i, end);
        const uint32_t space = i ? skip_link_space(s, i, end) : end;
        i = space > i ? title_end(s, space, end) : space;
        i = skip_link_space(s, i, end);
        if (i < end && s->text[i] == ')')
            return i + 1;
    } else if (at < end && s->text[at] == '[') {
        for (uint32_t i = at + 1; i < end && i - at <= MAX_LABEL + 1 && s->text[i] != '['; i++) {
            if (s->text[i] == ']')
                return i + 1;
            i += s->text[i] == '\\';
        }
    }
    return at;
}

/* The end of the tag or comment at text[at]; 0: it is none. md4c has found it to be one. */
static uint32_t html_end(const scanner *s, uint32_t at)
{
    const char *text = s->text + at;
    const size_t size = s->size - at;
    if (size >= 4 && memcmp(text, "<!--", 4) == 0)
        return tr_markdown_comment_end(s->text, s->size, at);
    if (size >= 9 && memcmp(text, "<![CDATA[", 9) == 0)
        return tr_markdown_find(s->text, s->size, at + 9, "]]>");
    if (size >= 2 && text[1] == '?')
        return tr_markdown_find(s->text, s->size, at + 2, "?>");
    if (size < 2 || text[0] != '<')
        return 0;
    char quote = 0;
    for (uint32_t i = at + 1; i < s->size; i++) {
        const char c = s->text[i];
        if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '>')
            return i + 1;
        else if ((c == '"' || c == '\'') && text[1] != '!')
            quote = c;
    }
    return 0;
}

static tr_markdown_tag span_tag(uint8_t span)
{
    switch ((MD_SPANTYPE)span) {
    case MD_SPAN_EM: return TR_MARKDOWN_EM;
    case MD_SPAN_STRONG: return TR_MARKDOWN_STRONG;
    case MD_SPAN_DEL: return TR_MARKDOWN_DELETED;
    case MD_SPAN_IMG: return TR_MARKDOWN_IMAGE;
    case MD_SPAN_CODE: return TR_MARKDOWN_CODE;
    default: return TR_MARKDOWN_LINK;
    }
}

/* The end of the mark at text[at] that opens or closes; 0: it is none. end: of where it can be. */
static uint32_t mark_end(const scanner *s, uint32_t at, uint32_t end, tr_markdown_tag tag, bool opens)
{
    if (at >= s->size)
        return 0;
    const char c = s->text[at];
    switch (tag) {
    case TR_MARKDOWN_EM: return c == '*' || c == '_' ? at + 1 : 0;
    case TR_MARKDOWN_STRONG: return (c == '*' || c == '_') && at + 1 < s->size && s->text[at + 1] == c ? at + 2 : 0;
    case TR_MARKDOWN_DELETED: return c == '~' ? run_end(s, at) : 0;
    case TR_MARKDOWN_IMAGE:
        if (opens)
            return c == '!' && at + 1 < s->size && s->text[at + 1] == '[' ? at + 2 : 0;
        return link_end(s, at, end);
    default:
        if (opens)
            return c == '[' ? at + 1 : 0;
        return link_end(s, at, end);
    }
}

/* -------------------------------------------------------------------------------------------------- from events to items */

/* The end of the code at text[at], whose words begin at `words`: a run of as many backquotes. 0: it is none. */
static uint32_t code_end(const scanner *s, uint32_t at, uint32_t words)
{
    if (at >= s->size || s->text[at] != '`')
        return 0;
    const uint32_t length = run_end(s, at) - at;
    if (words < at + length)
        return 0; /* text[at] is inside the code, which begins in a line above */
    for (uint32_t i = at + length; i < s->size; i++) {
        if (s->text[i] != '`')
            continue;
        const uint32_t end = run_end(s, i);
        if (end - i == length)
            return end;
        i = end - 1;
    }
    return 0;
}

/* Reads code or a <...> link that event number i begins at text[*at], as one word. */
static bool read_word(scanner *s, const event *events, size_t count, size_t *i, uint32_t *at)
{
    const uint8_t span = events[*i].span;
    const bool code = span == MD_SPAN_CODE;
    uint32_t words = UINT32_MAX;
    for (; *i < count && (events[*i].what != EVENT_LEAVE || events[*i].span != span); ++*i)
        if (events[*i].what == EVENT_CODE && words == UINT32_MAX)
            words = events[*i].begin;
    const uint32_t end = code ? code_end(s, *at, words) : tr_markdown_find(s->text, s->size, *at, ">");
    if (!end || *i == count || !add_item(s, TR_PIECE_WORD, code ? TR_MARKDOWN_CODE : TR_MARKDOWN_HTML, *at, end))
        return false;
    *at = end;
    return true;
}

static bool read_text(scanner *s, const event *e, uint32_t *at)
{
    if (e->end <= *at)
        return true;
    const bool escaped = e->begin == *at + 1 && s->text[*at] == '\\';
    if (e->begin > *at && !escaped)
        return false;
    const uint32_t begin = *at;
    *at = e->end;
    return add_item(s, TR_PIECE_TEXT, TR_MARKDOWN_TEXT, begin, *at);
}

static bool read_html(scanner *s, const event *e, uint32_t *at)
{
    if (e->begin > *at)
        return e->end <= *at;
    while (*at < e->end) {
        const uint32_t end = html_end(s, *at);
        if (!end || !add_item(s, TR_PIECE_EMPTY, TR_MARKDOWN_HTML, *at, end))
            return false;
        *at = end;
    }
    return true;
}

/* limit: where the next text begins. */
static bool read_break(scanner *s, bool hard, uint32_t limit, uint32_t *at)
{
    uint32_t i = *at;
    while (i < s->size && tr_markdown_is_blank(s->text[i]))
        i++;
    i += hard && i < s->size && s->text[i] == '\\';
    if (i >= s->size || !is_newline(s->text[i]))
        return false;
    i += s->text[i] == '\r' && i + 1 < s->size && s->text[i + 1] == '\n' ? 2 : 1;
    const uint32_t end = tr_markdown_skip_prefix(s->text, i, s->size), begin = *at;
    if (end > limit)
        return false; /* > is text */
    *at = end;
    if (hard)
        return add_item(s, TR_PIECE_EMPTY, TR_MARKDOWN_BREAK, begin, end);
    return add_item(s, TR_PIECE_TEXT, TR_MARKDOWN_LINE, begin, end);
}

/* Reads one event at text[*at]. limit: where the next text begins. False: it is not there. */
static bool read_event(scanner *s, const event *events, size_t count, size_t *i, uint32_t limit, uint32_t *at)
{
    const event *e = &events[*i];
    switch (e->what) {
    case EVENT_TEXT: return read_text(s, e, at);
    case EVENT_HTML: return read_html(s, e, at);
    case EVENT_NUL:
        if (*at >= s->size || s->text[*at])
            return false;
        ++*at;
        return add_item(s, TR_PIECE_TEXT, TR_MARKDOWN_TEXT, *at - 1, *at);
    case EVENT_SOFT_BREAK:
    case EVENT_HARD_BREAK: return read_break(s, e->what == EVENT_HARD_BREAK, limit, at);
    default: break;
    }
    const bool opens = e->what == EVENT_ENTER;
    if (opens && (e->span == MD_SPAN_CODE || (e->span == MD_SPAN_A && *at < s->size && s->text[*at] == '<')))
        return read_word(s, events, count, i, at);
    const tr_markdown_tag tag = span_tag(e->span);
    const uint32_t begin = *at, end = mark_end(s, begin, limit, tag, opens);
    if (!end)
        return false;
    *at = end;
    return add_item(s, opens ? TR_PIECE_OPEN : TR_PIECE_CLOSE, tag, begin, end);
}

static bool has_place(const event *e)
{
    return e->what == EVENT_TEXT || e->what == EVENT_HTML;
}

/* Makes items of the events of a block; false: their places cannot be found. */
static bool read_events(scanner *s)
{
    size_t count, first = 0;
    const event *events = events_of(s, &count);
    for (; first < count && !has_place(&events[first]) && events[first].what != EVENT_CODE; first++)
        if (events[first].what == EVENT_LEAVE && events[first].span == MD_SPAN_CODE)
            return false; /* code without words is a line break: the block begins in a line above the first words */
    if (first == count)
        return false;
    uint32_t at = events[first].begin;
    if (first)
        at = content_begin(s, at);
    else if (at > s->at && s->text[at - 1] == '\\' && events[0].what == EVENT_TEXT)
        at--;
    size_t next = 0;
    tr_buffer_clear(&s->items);
    for (size_t i = 0; i < count; i++) {
        while (next < count && (next <= i || !has_place(&events[next])))
            next++;
        if (!read_event(s, events, count, &i, next < count ? events[next].begin : s->size, &at))
            return false;
        s->at = at;
    }
    return true;
}

/* ----------------------------------------------------------------------------------------------- what md4c does not know */

/* Divides a run of text at what is no text. first: it begins the block. */
static bool split_bare(scanner *s, uint32_t begin, uint32_t end, bool first)
{
    uint32_t from = begin;
    for (uint32_t at = begin; at < end;) {
        if (s->text[at] == '\\' && at + 1 < end && tr_markdown_is_mark(s->text[at + 1])) {
            at += 2;
            continue;
        }
        const uint32_t stop = (uint32_t)tr_markdown_bare_end(s->text, begin, end, at);
        /* [!NOTE] and the definition of a footnote stand at the beginning of the block. */
        if (stop == at || (s->text[at] == '[' && !first && (s->text[at + 1] == '!'))) {
            at++;
            continue;
        }
        const bool word = tr_is_ascii_word(s->text[at]) || s->text[at] == '$' || s->text[at] == ':';
        if (!add_item(s, TR_PIECE_TEXT, TR_MARKDOWN_TEXT, from, at) ||
            !add_item(s, word ? TR_PIECE_WORD : TR_PIECE_EMPTY, TR_MARKDOWN_BARE, at, stop))
            return false;
        from = at = stop;
    }
    return add_item(s, TR_PIECE_TEXT, TR_MARKDOWN_TEXT, from, end);
}

/* Whether a line break stays one: before the definition of a footnote, and after [!NOTE]. */
static bool keeps_break(const scanner *s, const tr_markdown_item *items, size_t count, size_t i)
{
    const tr_markdown_item *next = &items[i + 1];
    if (i + 1 < count && next->tag == TR_MARKDOWN_TEXT && next->end - next->begin > 3 && s->text[next->begin] == '[') {
        const uint32_t end = (uint32_t)tr_markdown_bare_end(s->text, next->begin, next->end, next->begin);
        return end > next->begin && s->text[end - 1] == ':';
    }
    return false;
}

/* Joins and divides texts; finds line breaks that stay. */
static bool refine_text(scanner *s)
{
    tr_buffer before = s->items;
    const tr_markdown_item *items = (const tr_markdown_item *)(const void *)before.data;
    const size_t count = before.size / sizeof *items;
    bool good = true, first = true, note = false;
    s->items = (tr_buffer){0};
    for (size_t i = 0; i < count && good; i++) {
        const tr_markdown_item *item = &items[i];
        if (item->tag == TR_MARKDOWN_TEXT) {
            uint32_t end = item->end;
            for (; i + 1 < count && items[i + 1].tag == TR_MARKDOWN_TEXT; i++)
                end = items[i + 1].end;
            note |= first && end - item->begin > 2 && memcmp(s->text + item->begin, "[!", 2) == 0 &&
                    tr_markdown_bare_end(s->text, item->begin, end, item->begin) > item->begin;
            good = split_bare(s, item->begin, end, first);
        } else if (item->tag == TR_MARKDOWN_LINE && (note || keeps_break(s, items, count, i))) {
            good = add_item(s, TR_PIECE_EMPTY, TR_MARKDOWN_BREAK, item->begin, item->end);
            note = false;
        } else {
            good = add_item(s, (tr_piece_kind)item->kind, (tr_markdown_tag)item->tag, item->begin, item->end);
        }
        first = false;
    }
    tr_buffer_free(&before);
    return good;
}

/* ------------------------------------------------------------------------------------------------------------- HTML tags */

/* The name of a tag: [*size] at the pointer. */
static const char *tag_name(const scanner *s, const tr_markdown_item *item, size_t *size)
{
    const bool closes = s->text[item->begin + 1] == '/';
    const size_t begin = item->begin + 1 + closes;
    for (*size = 0; begin + *size < item->end && tr_is_ascii_word(s->text[begin + *size]);)
        ++*size;
    return s->text + begin;
}

static bool same_name(const scanner *s, const tr_markdown_item *a, const tr_markdown_item *b)
{
    size_t x, y;
    const char *p = tag_name(s, a, &x), *q = tag_name(s, b, &y);
    for (size_t i = 0; i < x && x == y; i++)
        if ((p[i] | 0x20) != (q[i] | 0x20))
            return false;
    return x == y && x;
}

/* Whether what is between two such tags is not for readers. */
static bool is_literal(const scanner *s, const tr_markdown_item *item)
{
    static const char *const names[] = {"code", "kbd", "samp", "var", "svg", "math", "script", "style", "pre", "textarea"};
    size_t size;
    const char *name = tag_name(s, item, &size);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == size && memcmp(name, names[i], size) == 0)
            return true;
    return false;
}

/* Makes pairs of tags that nest, among themselves and with other marks; <code>x</code> becomes a word. */
static bool pair_tags(scanner *s)
{
    tr_markdown_item *items = (tr_markdown_item *)(void *)s->items.data;
    const size_t count = s->items.size / sizeof *items;
    uint32_t *open = malloc((count + 1) * sizeof *open), depth = 0;
    if (!open) {
        s->status = tr_fail_memory(s->error, "markdown");
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        tr_markdown_item *item = &items[i];
        if (item->kind == TR_PIECE_OPEN) {
            open[depth++] = i;
        } else if (item->kind == TR_PIECE_CLOSE) {
            while (depth && items[open[depth - 1]].kind != TR_PIECE_OPEN)
                depth--;
            depth -= depth > 0;
        } else if (item->tag == TR_MARKDOWN_HTML && item->kind == TR_PIECE_EMPTY && s->text[item->begin + 1] != '/') {
            if (tr_is_ascii_letter(s->text[item->begin + 1]) && s->text[item->end - 2] != '/')
                open[depth++] = i;
        } else if (item->tag == TR_MARKDOWN_HTML && item->kind == TR_PIECE_EMPTY && depth) {
            tr_markdown_item *begin = &items[open[depth - 1]];
            if (begin->kind == TR_PIECE_OPEN || !same_name(s, begin, item))
                continue;
            depth--;
            if (is_literal(s, begin)) {
                begin->kind = TR_PIECE_WORD;
                begin->end = item->end;
            } else {
                begin->kind = TR_PIECE_OPEN;
                item->kind = TR_PIECE_CLOSE;
            }
        }
    }
    free(open);
    size_t to = 0;
    for (size_t i = 0; i < count; i++)
        if (!to || items[i].begin >= items[to - 1].end)
            items[to++] = items[i];
    s->items.size = to * sizeof *items;
    return true;
}

/* ---------------------------------------------------------------------------------------------------------- md4c's calls */

/* What was made the item of a list for md4c is the definition of a footnote. */
static void restore_footnote(scanner *s)
{
    tr_markdown_item *first = (tr_markdown_item *)(void *)s->items.data;
    if (first->begin > 1 && memcmp(s->text + first->begin - 2, "[^", 2) == 0)
        first->begin -= 2;
}

/* Ends a block. */
static int end_block(scanner *s)
{
    const bool tight = s->kind == TR_MARKDOWN_PARAGRAPH && !s->in_paragraph;
    const bool good = !s->hidden && s->events.size && s->kind != NO_MARKS && read_events(s) && s->items.size;
    if (good)
        restore_footnote(s);
    if (good && refine_text(s) && pair_tags(s)) {
        const tr_markdown_block block = {(tr_markdown_kind)s->kind, tight,
                                         (const tr_markdown_item *)(const void *)s->items.data,
                                         s->items.size / sizeof(tr_markdown_item)};
        s->status = s->reader->block(s->reader->argument, &block, s->error);
    }
    tr_buffer_clear(&s->events);
    s->hidden = false;
    return s->status == TR_OK ? 0 : -1;
}

/* A row has as many cells as the table's head, even if they are not there. */
static int count_call(scanner *s)
{
    if (++s->calls / 16 > (uint64_t)s->size + 64 && s->status == TR_OK)
        s->status = tr_fail(s->error, TR_ERROR_FORMAT, "its tables have far more cells than the text has");
    return s->status == TR_OK ? 0 : -1;
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *argument)
{
    scanner *s = argument;
    if (count_call(s) || end_block(s))
        return -1;
    s->in_paragraph = type == MD_BLOCK_P;
    s->kind = type == MD_BLOCK_TH || type == MD_BLOCK_TD       ? TR_MARKDOWN_CELL
              : type == MD_BLOCK_H                             ? TR_MARKDOWN_HEADING
              : type == MD_BLOCK_CODE || type == MD_BLOCK_HTML ? NO_MARKS
                                                               : TR_MARKDOWN_PARAGRAPH;
    if (type == MD_BLOCK_LI && ((const MD_BLOCK_LI_DETAIL *)detail)->is_task)
        s->task = tr_markdown_place_of(&s->mask, ((const MD_BLOCK_LI_DETAIL *)detail)->task_mark_offset) + 2;
    return 0;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *argument)
{
    scanner *s = argument;
    (void)type;
    (void)detail;
    if (count_call(s) || end_block(s))
        return -1;
    s->kind = TR_MARKDOWN_PARAGRAPH;
    s->in_paragraph = false;
    return 0;
}

static int add_event(scanner *s, uint8_t what, uint8_t span, const char *text, size_t size)
{
    event e = {0, 0, what, span};
    if (count_call(s))
        return -1;
    if (s->kind == NO_MARKS)
        return 0;
    if (text) {
        e.begin = tr_markdown_place_of(&s->mask, (size_t)(text - s->mask.text.data));
        e.end = tr_markdown_place_of(&s->mask, (size_t)(text - s->mask.text.data) + size);
        s->hidden |= (*text == '<' || *text == '?') && s->text[e.begin] == '$';
    }
    if (!tr_buffer_append(&s->events, &e, sizeof e))
        s->status = tr_fail_memory(s->error, "markdown");
    return s->status == TR_OK ? 0 : -1;
}

static int enter_span(MD_SPANTYPE type, void *detail, void *argument)
{
    (void)detail;
    return add_event(argument, EVENT_ENTER, (uint8_t)type, NULL, 0);
}

static int leave_span(MD_SPANTYPE type, void *detail, void *argument)
{
    (void)detail;
    return add_event(argument, EVENT_LEAVE, (uint8_t)type, NULL, 0);
}

static int add_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE size, void *argument)
{
    const scanner *s = argument;
    const uintptr_t begin = (uintptr_t)s->mask.text.data;
    const bool inside = (uintptr_t)text >= begin && (uintptr_t)text < begin + s->mask.text.size;
    switch (type) {
    case MD_TEXT_NULLCHAR: return add_event(argument, EVENT_NUL, 0, NULL, 0);
    case MD_TEXT_BR: return add_event(argument, EVENT_HARD_BREAK, 0, NULL, 0);
    case MD_TEXT_SOFTBR: return add_event(argument, EVENT_SOFT_BREAK, 0, NULL, 0);
    case MD_TEXT_CODE: return inside ? add_event(argument, EVENT_CODE, 0, text, size) : 0;
    case MD_TEXT_HTML: return inside ? add_event(argument, EVENT_HTML, 0, text, size) : 0;
    default: return inside ? add_event(argument, EVENT_TEXT, 0, text, size) : 0;
    }
}

tr_status tr_markdown_scan(const char *text, size_t size, const tr_markdown_reader *reader, tr_error *error)
{
    const MD_PARSER parser = {0,           MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS,
                              enter_block, leave_block,
                              enter_span,  leave_span,
                              add_text,    NULL,
                              NULL};
    scanner s = {.text = text, .size = (uint32_t)size, .reader = reader, .kind = TR_MARKDOWN_PARAGRAPH, .error = error};
    if (!size)
        return TR_OK;
    if (!tr_markdown_mask_text(text, s.size, &s.mask) ||
        (md_parse(s.mask.text.data, (MD_SIZE)s.mask.text.size, &parser, &s) != 0 && s.status == TR_OK))
        s.status = tr_fail_memory(error, "markdown");
    tr_buffer_free(&s.mask.text);
    tr_buffer_free(&s.mask.added);
    tr_buffer_free(&s.events);
    tr_buffer_free(&s.items);
    return s.status;
}
