/* Reading paragraphs of runs: the events of a paragraph become items, and these the pieces of its units. */
#include "document/runs.h"

#include <stdlib.h>
#include <string.h>

#include "util/strmap.h"

/* What an open element is. */
typedef enum frame_kind {
    OTHER, /* not in a paragraph, or in a picture */
    PARAGRAPH,
    MARK,
    INSIDE,
    HEAD,
    RUN,
    FORMAT,
    FORMAT_PART,
    TEXT,
    ATOM,    /* an empty mark, in which there may be paragraphs */
    SKIPPED, /* an empty mark, in which nothing matters */
    BREAK,
    NOTHING,
} frame_kind;

typedef struct frame {
    frame_kind kind;
    uint32_t begin;
    uint32_t close;      /* MARK: where the end of its inside begins; 0: it has none */
    uint32_t run, outer; /* PARAGRAPH: the reader's before it */
    size_t first;        /* PARAGRAPH: the reader's before it; RUN: its first item */
    size_t units;        /* PARAGRAPH: bytes of those before it */
    size_t paragraphs;   /* ATOM: the number of paragraphs before it */
    uint8_t field;       /* ATOM */
} frame;

enum { BARRIER = 100 }; /* a kind of item beside those of pieces: divides units */

/* The parts of a field: code and, for some, a result, which is text. */
enum { NO_FIELD, FIELD_BEGIN, FIELD_SEPARATE, FIELD_END, FIELD_RESULT };

typedef struct item {
    uint32_t begin, end;
    uint32_t run;               /* that it is in; TR_RUNS_NONE */
    uint32_t element, text_end; /* TEXT, WORD: the element with the text */
    uint32_t partner;           /* OPEN, CLOSE */
    uint32_t words_before;      /* items with words before it */
    uint8_t kind;               /* a tr_piece_kind, or BARRIER */
    uint8_t field;
    bool has_words;
} item;

typedef struct place {
    uint32_t begin, end;
} place;

typedef struct reader {
    tr_document *document;
    const tr_runs_names *names;
    tr_runs *state;
    tr_buffer frames;    /* of frame */
    tr_buffer items;     /* of item */
    tr_buffer stack;     /* of uint32_t: items */
    size_t first;        /* the first item of the paragraph */
    int depth;           /* 1 in a paragraph, 2 in one in a picture of one */
    tr_buffer inner;     /* of place: units that are in marks of others */
    uint32_t run, outer; /* the open run, and the one around the paragraph */
    tr_strmap formats;   /* by their keys */
    tr_buffer keys;      /* of char *: the keys */
    tr_buffer key;       /* of the format that is being read */
    int format_depth;    /* of its element */
    size_t paragraphs;   /* so far */
    tr_buffer text;      /* memory */
    tr_buffer weights;   /* of uint64_t: characters in each format, of the unit that is added */
} reader;

static tr_status no_memory(const reader *r, tr_error *error)
{
    return tr_fail_memory(error, r->document->name);
}

static tr_run *run_at(const reader *r, uint32_t index)
{
    return (tr_run *)(void *)r->state->runs.data + index;
}

static frame *top_frame(const reader *r)
{
    return r->frames.size ? (frame *)(void *)(r->frames.data + r->frames.size) - 1 : NULL;
}

static item *items_of(const reader *r, size_t *count)
{
    *count = r->items.size / sizeof(item);
    return (item *)(void *)r->items.data;
}

/* The items of the paragraph that is read, without those of the paragraphs around it. */
static item *own_items(const reader *r, size_t *count)
{
    item *items = items_of(r, count);
    *count -= r->first;
    return r->first ? items + r->first : items;
}

/* --------------------------------------------------------------------------------------------------------- small helpers */

static bool is_named(const char *names, const char *local)
{
    return tr_runs_has(names, local, strlen(local));
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

tr_status tr_runs_change(tr_document *d, size_t begin, size_t end, const char *text, tr_error *error)
{
    tr_runs *state = d->state;
    const tr_edit edit = {(uint32_t)begin, (uint32_t)end, state->changed.size, strlen(text)};
    if (!tr_buffer_string(&state->changed, text) || !tr_buffer_append(&state->changes, &edit, sizeof edit))
        return tr_fail_memory(error, d->name);
    return TR_OK;
}

/* --------------------------------------------------------------------------------------------------------------- formats */

/* Appends what of a tag in a format matters for how text looks. */
static bool append_key(reader *r, const tr_xml_event *start, bool is_root)
{
    static const char ignored[] = " hint lang altLang dirty err noProof smtClean ";
    const size_t before = r->key.size;
    size_t at = start->begin, count = 0;
    tr_xml_attribute_place attribute;
    if (is_root)
        r->format_depth = start->depth;
    const char depth = (char)(start->depth - r->format_depth);
    if (!is_root && (!tr_buffer_append(&r->key, &depth, 1) || !tr_buffer_string(&r->key, start->local)))
        return false;
    while (tr_runs_next_attribute(r->document, &at, start->end, &attribute)) {
        if (tr_runs_has(ignored, attribute.name, attribute.name_size))
            continue;
        count++;
        if (!tr_buffer_string(&r->key, " ") || !tr_buffer_append(&r->key, attribute.name, attribute.name_size) ||
            !tr_buffer_string(&r->key, "=") ||
            !tr_buffer_append(&r->key, r->document->data + attribute.begin, attribute.end - attribute.begin))
            return false;
    }
    /* Fonts of which only the hint differs are the same. */
    if (!count && strcmp(start->local, "rFonts") == 0)
        r->key.size = before;
    return true;
}

/* The number of the format with this key; TR_RUNS_NONE: out of memory. */
static uint32_t number_format(reader *r, const char *key, size_t size)
{
    const int32_t known = tr_strmap_find(&r->formats, key, size);
    if (known >= 0)
        return (uint32_t)known;
    const size_t count = r->keys.size / sizeof(char *);
    char *copy = tr_copy_bytes(key, size);
    if (!copy)
        return TR_RUNS_NONE;
    if (!tr_buffer_append(&r->keys, &copy, sizeof copy)) {
        free(copy);
        return TR_RUNS_NONE;
    }
    const uint64_t weight = 0;
    if (tr_strmap_add(&r->formats, copy, size, (int32_t)count) < 0 || !tr_buffer_append(&r->weights, &weight, sizeof weight))
        return TR_RUNS_NONE;
    return (uint32_t)count;
}

static tr_status end_format(reader *r, const tr_xml_event *event, tr_error *error)
{
    size_t count;
    const item *items = items_of(r, &count);
    tr_run *run = run_at(r, r->run);
    if (count && items[count - 1].run == r->run)
        return TR_OK; /* in the wrong place: the format begins a run */
    run->head_end = (uint32_t)event->end;
    run->format = number_format(r, r->key.data, r->key.size);
    return run->format == TR_RUNS_NONE ? no_memory(r, error) : TR_OK;
}

/* ------------------------------------------------------------------------------------------------------- items to pieces */

/* Decodes text into r->text. */
static bool decode_text(reader *r, uint32_t begin, uint32_t end)
{
    static const tr_unit plain = {0};
    tr_buffer_clear(&r->text);
    return tr_xml_decode(r->document, &plain, begin, end, &r->text);
}

static tr_status find_words(reader *r, item *it, tr_error *error)
{
    it->has_words = it->kind == TR_PIECE_WORD;
    if (it->kind != TR_PIECE_TEXT)
        return TR_OK;
    if (!decode_text(r, it->begin, it->end))
        return no_memory(r, error);
    for (size_t i = 0; i < r->text.size && !it->has_words; i++)
        it->has_words = !is_space(r->text.data[i]);
    return TR_OK;
}

/* Finds the size of the white space at an end of a text, which may be written as a reference; 0: there is none. */
static tr_status find_space(reader *r, const item *it, bool back, uint32_t *size, tr_error *error)
{
    const char *data = r->document->data;
    uint32_t begin = it->begin, end = it->end;
    *size = 0;
    if (it->kind != TR_PIECE_TEXT || begin == end)
        return TR_OK;
    if (is_space(data[back ? end - 1 : begin])) {
        *size = 1;
        return TR_OK;
    }
    if (back) {
        for (begin = end - 1; begin > it->begin && data[begin] != '&';)
            begin--;
    } else {
        const char *last = memchr(data + begin, ';', end - begin);
        end = last ? (uint32_t)(last - data) + 1 : begin;
    }
    if (begin == end || data[begin] != '&' || data[end - 1] != ';')
        return TR_OK;
    if (!decode_text(r, begin, end))
        return no_memory(r, error);
    if (r->text.size == 1 && is_space(r->text.data[0]))
        *size = end - begin;
    return TR_OK;
}

/* Leaves out the white space at both ends of a unit. */
static tr_status strip_space(reader *r, item *first, item *last, tr_error *error)
{
    tr_status status;
    uint32_t size;
    do {
        status = find_space(r, first, false, &size, error);
        first->begin += size;
    } while (size);
    if (status != TR_OK)
        return status;
    do {
        status = find_space(r, last, true, &size, error);
        last->end -= size;
    } while (size);
    return status;
}

/* A field of code only becomes one empty mark, one with a result a pair around it. What is not whole divides units. */
static tr_status join_fields(reader *r, tr_error *error)
{
    size_t count, size = 0;
    item *items = own_items(r, &count);
    tr_buffer_clear(&r->stack);
    for (size_t i = 0; i < count; i++) {
        item it = items[i];
        if (it.field && it.run != TR_RUNS_NONE) {
            it.kind = BARRIER;
            it.field = NO_FIELD;
        }
        if (it.field == FIELD_BEGIN) {
            const uint32_t at = (uint32_t)size;
            if (!tr_buffer_append(&r->stack, &at, sizeof at))
                return no_memory(r, error);
        } else if (it.field) {
            uint32_t *top = r->stack.size ? (uint32_t *)(void *)(r->stack.data + r->stack.size) - 1 : NULL;
            item *begin = top ? &items[*top] : NULL;
            size_t k = size;
            while (begin && k > *top + 1U && items[k - 1].kind == TR_PIECE_EMPTY && !items[k - 1].field)
                k--;
            const bool is_code = begin && begin->field == FIELD_BEGIN && k == *top + 1U;
            const bool is_result = begin && begin->field == FIELD_RESULT && it.field == FIELD_END;
            if (is_code) {
                begin->end = it.end;
                begin->kind = it.field == FIELD_END ? TR_PIECE_EMPTY : TR_PIECE_OPEN;
                begin->field = it.field == FIELD_END ? NO_FIELD : FIELD_RESULT;
                size = k;
            } else {
                if (begin && !is_result)
                    begin->kind = BARRIER;
                it.kind = is_result ? TR_PIECE_CLOSE : BARRIER;
                it.field = FIELD_RESULT;
            }
            if (begin && (!is_code || it.field == FIELD_END))
                r->stack.size -= sizeof *top;
            if (is_code)
                continue;
        }
        items[size++] = it;
    }
    for (size_t i = 0; i < r->stack.size / sizeof(uint32_t); i++) {
        item *begin = &items[((uint32_t *)(void *)r->stack.data)[i]];
        if (begin->field == FIELD_BEGIN)
            begin->kind = BARRIER;
    }
    r->items.size = (r->first + size) * sizeof(item);
    return TR_OK;
}

static void raise_barriers(reader *r, item *items)
{
    const uint32_t *stack = (const uint32_t *)(const void *)r->stack.data;
    for (size_t i = 0; i < r->stack.size / sizeof *stack; i++)
        items[stack[i]].kind = BARRIER;
    tr_buffer_clear(&r->stack);
}

/* Finds the words, and the partners of marks. A mark with one end, or with a barrier in it, is a barrier: units never cut a
 * pair. */
static tr_status pair_items(reader *r, tr_error *error)
{
    size_t count;
    item *items = own_items(r, &count);
    uint32_t words = 0;
    tr_buffer_clear(&r->stack);
    for (size_t i = 0; i < count; i++) {
        item *it = &items[i];
        it->words_before = words;
        if (find_words(r, it, error) != TR_OK)
            return TR_ERROR_MEMORY;
        words += it->has_words;
        const uint32_t *top = r->stack.size ? (uint32_t *)(void *)(r->stack.data + r->stack.size) - 1 : NULL;
        if (it->kind == TR_PIECE_OPEN) {
            const uint32_t at = (uint32_t)i;
            if (!tr_buffer_append(&r->stack, &at, sizeof at))
                return no_memory(r, error);
        } else if (it->kind == TR_PIECE_CLOSE && top && items[*top].field == it->field) {
            it->partner = *top;
            items[*top].partner = (uint32_t)i;
            r->stack.size -= sizeof *top;
        } else if (it->kind == TR_PIECE_CLOSE || it->kind == BARRIER) {
            it->kind = BARRIER;
            raise_barriers(r, items);
        }
    }
    raise_barriers(r, items);
    return TR_OK;
}

/* Whether a mark or text has no words, if it is a mark with all that is in it; *next: the item after it. */
static bool is_blank(const item *items, size_t i, size_t *next)
{
    const item *it = &items[i];
    const size_t last = it->kind == TR_PIECE_OPEN ? it->partner : i;
    *next = last + 1;
    return it->kind == TR_PIECE_OPEN ? items[last].words_before == it->words_before : !it->has_words;
}

/* Leaves out what stands before the first and after the last words, and marks around all of them: they stay where they are.
 * False: there are no words. */
static bool strip_items(const item *items, size_t *from, size_t *to)
{
    size_t next;
    for (;;) {
        while (*from < *to && is_blank(items, *from, &next))
            *from = next;
        if (*from >= *to)
            return false;
        for (;;) {
            const item *last = &items[*to - 1];
            const size_t begin = last->kind == TR_PIECE_CLOSE ? last->partner : *to - 1;
            if (!is_blank(items, begin, &next))
                break;
            *to = begin;
        }
        if (items[*from].kind != TR_PIECE_OPEN || items[*from].partner != *to - 1)
            return true;
        ++*from;
        --*to;
    }
}

/* The run whose format most of the text has. */
static tr_status choose_base(reader *r, const item *items, size_t count, uint32_t *base, tr_error *error)
{
    uint64_t *weights = (uint64_t *)(void *)r->weights.data, most = 0;
    *base = TR_RUNS_NONE;
    for (size_t i = 0; i < count; i++) {
        if (items[i].kind != TR_PIECE_TEXT)
            continue;
        if (!decode_text(r, items[i].begin, items[i].end))
            return no_memory(r, error);
        for (size_t k = 0; k < r->text.size; k++)
            weights[run_at(r, items[i].run)->format] +=
                !is_space(r->text.data[k]) && ((unsigned char)r->text.data[k] & 0xC0) != 0x80;
    }
    for (size_t i = 0; i < count; i++) {
        if (items[i].kind != TR_PIECE_TEXT && items[i].kind != TR_PIECE_WORD)
            continue;
        uint64_t *weight = &weights[run_at(r, items[i].run)->format];
        if (*base == TR_RUNS_NONE || *weight > most)
            *base = items[i].run;
        most = *weight > most ? *weight : most;
    }
    for (size_t i = 0; i < count; i++)
        if (items[i].run != TR_RUNS_NONE)
            weights[run_at(r, items[i].run)->format] = 0;
    return TR_OK;
}

static bool is_in_run(const item *it)
{
    return it->run != TR_RUNS_NONE;
}

static uint32_t format_of(const reader *r, const item *it)
{
    return is_in_run(it) ? run_at(r, it->run)->format : TR_RUNS_NONE;
}

/* Adds pieces of items, with pairs of marks for runs whose format is not that of the run `base`. */
static tr_status add_pieces(reader *r, const item *items, size_t count, uint32_t base, tr_error *error)
{
    tr_document *d = r->document;
    uint32_t open = TR_RUNS_NONE, last = TR_RUNS_NONE; /* first and last run of the pair that is open */
    tr_status status = TR_OK;
    for (size_t i = 0, next = 0; i < count && status == TR_OK; i++) {
        /* An empty mark between two runs of a pair is in the pair. */
        if (next < i)
            next = i;
        while (next < count && items[next].kind == TR_PIECE_EMPTY && !is_in_run(&items[next]))
            next++;
        const uint32_t format = next < count ? format_of(r, &items[next]) : TR_RUNS_NONE;
        if (open != TR_RUNS_NONE && run_at(r, open)->format != format) {
            status = tr_unit_piece(d, TR_PIECE_CLOSE, run_at(r, last)->close_begin, run_at(r, last)->end, error);
            open = TR_RUNS_NONE;
        }
        if (status == TR_OK && open == TR_RUNS_NONE && next == i && format != TR_RUNS_NONE &&
            format != run_at(r, base)->format) {
            open = items[i].run;
            status = tr_unit_piece(d, TR_PIECE_OPEN, run_at(r, open)->begin, run_at(r, open)->head_end, error);
        }
        if (is_in_run(&items[i]))
            last = items[i].run;
        if (status == TR_OK)
            status = tr_unit_piece(d, (tr_piece_kind)items[i].kind, items[i].begin, items[i].end, error);
    }
    if (status == TR_OK && open != TR_RUNS_NONE)
        status = tr_unit_piece(d, TR_PIECE_CLOSE, run_at(r, last)->close_begin, run_at(r, last)->end, error);
    return status;
}

/* Adds the unit of items from .. to; those around them tell whether it has the whole of its first and last run. */
static tr_status add_unit(reader *r, item *items, size_t from, size_t to, size_t count, tr_error *error)
{
    tr_document *d = r->document;
    const bool has_runs = *r->names->texts;
    if (!strip_items(items, &from, &to))
        return TR_OK;
    item *first = &items[from], *last = &items[to - 1];
    tr_status status = strip_space(r, first, last, error);
    if (status != TR_OK)
        return status;
    uint32_t begin = first->begin, end = last->end;
    if (is_in_run(first)) {
        const tr_run *run = run_at(r, first->run);
        const bool whole = !from || items[from - 1].run != first->run;
        begin = whole ? run->begin : first->element;
    }
    if (is_in_run(last)) {
        const tr_run *run = run_at(r, last->run);
        const bool whole = to == count || items[to].run != last->run;
        end = whole ? run->end : last->text_end;
    }
    uint32_t base = r->names->style;
    if (has_runs)
        status = choose_base(r, items + from, to - from, &base, error);
    if (status == TR_OK)
        status = tr_unit_begin(d, base, error);
    if (status == TR_OK)
        status = add_pieces(r, items + from, to - from, base, error);
    if (status == TR_OK)
        tr_unit_end_at(d, begin, end);
    if (status == TR_OK && r->depth > 1 && !tr_buffer_append(&r->inner, &(place){begin, end}, sizeof(place)))
        status = no_memory(r, error);
    return status;
}

/* The items so far become units. */
static tr_status flush_items(reader *r, tr_error *error)
{
    size_t count;
    tr_status status = join_fields(r, error);
    if (status == TR_OK)
        status = pair_items(r, error);
    item *items = own_items(r, &count);
    for (size_t from = 0; from < count && status == TR_OK;) {
        size_t to = from;
        while (to < count && items[to].kind != BARRIER)
            to++;
        status = add_unit(r, items, from, to, count, error);
        from = to + 1;
    }
    r->items.size = r->first * sizeof(item);
    return status;
}

/* ------------------------------------------------------------------------------------------------------- events to items */

static tr_status add_item(reader *r, int kind, size_t begin, size_t end, tr_error *error)
{
    const item it = {.begin = (uint32_t)begin, .end = (uint32_t)end, .run = r->run, .kind = (uint8_t)kind};
    return tr_buffer_append(&r->items, &it, sizeof it) ? TR_OK : no_memory(r, error);
}

static tr_status add_text(reader *r, int kind, const tr_xml_event *event, tr_error *error)
{
    size_t count;
    const frame *in = top_frame(r);
    item *items = items_of(r, &count), *last = count ? &items[count - 1] : NULL;
    if (!in || (*r->names->texts ? in->kind != TEXT : in->kind != PARAGRAPH && in->kind != MARK && in->kind != INSIDE))
        return TR_OK;
    if (last && kind == TR_PIECE_TEXT && last->kind == kind && last->end == event->begin) {
        last->end = (uint32_t)event->end;
        return TR_OK;
    }
    const tr_status status = add_item(r, kind, event->begin, event->end, error);
    if (status == TR_OK)
        ((item *)(void *)(r->items.data + r->items.size) - 1)->element = in->begin;
    return status;
}

static tr_status begin_run(reader *r, uint32_t begin, uint32_t head_end, tr_error *error)
{
    const tr_run run = {.begin = begin, .head_end = head_end, .outer = r->outer};
    r->run = (uint32_t)(r->state->runs.size / sizeof run);
    if (r->run > TR_RUNS_MASK)
        return tr_document_fail(r->document, begin, error, "there are too many runs");
    return tr_buffer_append(&r->state->runs, &run, sizeof run) ? TR_OK : no_memory(r, error);
}

/* A run without text is one empty mark. */
static void end_run(reader *r, const frame *f, uint32_t close_begin, uint32_t end)
{
    size_t count, i;
    item *items = items_of(r, &count);
    tr_run *run = run_at(r, r->run);
    uint8_t field = NO_FIELD;
    int kind = TR_PIECE_EMPTY;
    run->close_begin = close_begin;
    run->end = end;
    r->run = TR_RUNS_NONE;
    for (i = f->first; i < count && items[i].kind == TR_PIECE_EMPTY; i++) {
        if (field && items[i].field)
            kind = BARRIER;
        field = items[i].field ? items[i].field : field;
    }
    if (i < count || i == f->first)
        return;
    items[f->first] = (item){.begin = run->begin, .end = end, .run = TR_RUNS_NONE, .kind = (uint8_t)kind, .field = field};
    if (kind == BARRIER)
        items[f->first].field = NO_FIELD;
    r->items.size = (f->first + 1) * sizeof(item);
}

/* The mark that has just begun becomes longer. If it is not the last item, units end there. */
static tr_status extend_mark(reader *r, const frame *mark, const tr_xml_event *event, size_t begin, tr_error *error)
{
    size_t count;
    item *items = items_of(r, &count), *last = count ? &items[count - 1] : NULL;
    if (mark->close || !last || last->kind != TR_PIECE_OPEN || last->begin != mark->begin)
        return add_item(r, BARRIER, begin, event->end, error);
    last->end = (uint32_t)event->end;
    return TR_OK;
}

static frame_kind classify_in_paragraph(const tr_runs_names *n, frame_kind in, const char *local)
{
    if (in == MARK && is_named(n->insides, local))
        return INSIDE;
    if (in == MARK && is_named(n->heads, local))
        return HEAD;
    if (in == RUN && is_named(n->formats, local))
        return FORMAT;
    if (is_named(n->texts, local))
        return TEXT;
    if (is_named(n->breaks, local))
        return BREAK;
    if (is_named(n->dropped, local))
        return NOTHING;
    if (is_named(n->skipped, local))
        return SKIPPED;
    if (in != RUN && is_named(n->runs, local))
        return RUN;
    if (in != RUN && is_named(n->marks, local))
        return MARK;
    return ATOM;
}

static frame_kind classify(const tr_runs_names *n, const frame *in, const char *local)
{
    switch (in ? in->kind : OTHER) {
    case OTHER:
    case ATOM: return is_named(n->paragraphs, local) ? PARAGRAPH : is_named(n->skipped, local) ? NOTHING : OTHER;
    case PARAGRAPH:
    case MARK:
    case INSIDE:
    case RUN: return classify_in_paragraph(n, in->kind, local);
    case FORMAT:
    case FORMAT_PART: return is_named(" lang noProof ", local) ? NOTHING : FORMAT_PART;
    default: return NOTHING;
    }
}

static uint8_t field_of(const reader *r, const tr_xml_event *event)
{
    static const char *const types[] = {"begin", "separate", "end"};
    tr_xml_attribute_place type;
    if (strcmp(event->local, "fldChar") != 0 || !tr_runs_attribute_of(r->document, event, "fldCharType", &type))
        return NO_FIELD;
    for (size_t i = 0; i < 3; i++)
        if (type.end - type.begin == strlen(types[i]) &&
            memcmp(r->document->data + type.begin, types[i], type.end - type.begin) == 0)
            return (uint8_t)(FIELD_BEGIN + i);
    return NO_FIELD;
}

static tr_status start_element(reader *r, const tr_xml_event *event, tr_error *error)
{
    const frame *in = top_frame(r);
    frame f = {.kind = classify(r->names, in, event->local), .begin = (uint32_t)event->begin, .paragraphs = r->paragraphs};
    tr_status status = r->names->change ? r->names->change(r->document, event, error) : TR_OK;
    if (status == TR_OK)
        switch (f.kind) {
        case PARAGRAPH:
            f.run = r->run;
            f.outer = r->outer;
            f.first = r->first;
            f.units = r->document->units.size;
            r->first = r->items.size / sizeof(item);
            r->paragraphs++;
            r->depth++;
            r->outer = r->run == TR_RUNS_NONE ? r->outer : r->run;
            r->run = TR_RUNS_NONE;
            break;
        case MARK:
            if (event->empty)
                f.kind = ATOM;
            else
                status = add_item(r, TR_PIECE_OPEN, event->begin, event->end, error);
            break;
        case INSIDE: status = extend_mark(r, in, event, event->begin, error); break;
        case RUN:
            f.first = r->items.size / sizeof(item);
            status = begin_run(r, f.begin, (uint32_t)event->end, error);
            break;
        case FORMAT:
        case FORMAT_PART:
            if (f.kind == FORMAT)
                tr_buffer_clear(&r->key);
            if (!tr_buffer_append(&r->key, "", 0) || !append_key(r, event, f.kind == FORMAT))
                status = no_memory(r, error);
            break;
        case TEXT:
            if (r->run == TR_RUNS_NONE) {
                f.first = SIZE_MAX; /* a text that is a run of its own, and a unit */
                status = add_item(r, BARRIER, f.begin, f.begin, error);
                if (status == TR_OK)
                    status = begin_run(r, f.begin, f.begin, error);
            }
            if (status == TR_OK && !run_at(r, r->run)->text)
                run_at(r, r->run)->text = f.begin;
            break;
        case ATOM: f.field = field_of(r, event); break;
        default: break;
        }
    if (status == TR_OK && !tr_buffer_append(&r->frames, &f, sizeof f))
        status = no_memory(r, error);
    return status;
}

static tr_status end_text(reader *r, const frame *f, uint32_t end, tr_error *error)
{
    size_t count;
    item *items = items_of(r, &count);
    for (size_t i = count; i > 0 && items[i - 1].run == r->run && items[i - 1].element == f->begin; i--)
        items[i - 1].text_end = end;
    if (f->first != SIZE_MAX)
        return TR_OK;
    run_at(r, r->run)->close_begin = run_at(r, r->run)->end = end;
    r->run = TR_RUNS_NONE;
    return add_item(r, BARRIER, end, end, error);
}

static int compare_changes(const void *a, const void *b)
{
    const tr_edit *x = a, *y = b;
    return x->begin != y->begin ? (x->begin > y->begin) - (x->begin < y->begin) : (x->text > y->text) - (x->text < y->text);
}

/* Adds the source of a paragraph before it. */
static tr_status add_source(reader *r, const frame *f, uint32_t end, tr_error *error)
{
    tr_document *d = r->document;
    if (!d->settings.bilingual || !r->names->copy || r->depth > 1 || d->units.size == f->units)
        return TR_OK;
    const tr_status status = r->names->copy(d, f->begin, end, &r->text, error);
    return status == TR_OK && r->text.size ? tr_runs_change(d, f->begin, f->begin, r->text.data, error) : status;
}

static tr_status end_element(reader *r, const tr_xml_event *event, tr_error *error)
{
    const frame f = *top_frame(r);
    tr_status status = TR_OK;
    r->frames.size -= sizeof f;
    frame *in = top_frame(r);
    switch (f.kind) {
    case PARAGRAPH:
        status = flush_items(r, error);
        if (status == TR_OK)
            status = add_source(r, &f, (uint32_t)event->end, error);
        r->run = f.run;
        r->outer = f.outer;
        r->first = f.first;
        r->depth--;
        break;
    case MARK: status = add_item(r, TR_PIECE_CLOSE, f.close ? f.close : event->begin, event->end, error); break;
    case INSIDE: in->close = (uint32_t)event->begin; break;
    case HEAD: status = extend_mark(r, in, event, f.begin, error); break;
    case RUN: end_run(r, &f, (uint32_t)event->begin, (uint32_t)event->end); break;
    case FORMAT: status = end_format(r, event, error); break;
    case TEXT: status = end_text(r, &f, (uint32_t)event->end, error); break;
    case ATOM:
    case SKIPPED: /* one place may be inside another, but not in a third */
        status = add_item(r, f.paragraphs == r->paragraphs || r->depth == 1 ? TR_PIECE_EMPTY : BARRIER, f.begin, event->end,
                          error);
        if (status == TR_OK)
            ((item *)(void *)(r->items.data + r->items.size) - 1)->field = f.field;
        break;
    case BREAK: status = add_item(r, BARRIER, f.begin, event->end, error); break;
    default: break;
    }
    return status;
}

static tr_status handle_event(void *argument, const tr_xml_event *event, tr_error *error)
{
    switch (event->kind) {
    case TR_XML_START: return start_element(argument, event, error);
    case TR_XML_END: return end_element(argument, event, error);
    case TR_XML_TEXT:
    case TR_XML_CDATA: return add_text(argument, TR_PIECE_TEXT, event, error);
    case TR_XML_ENTITY: return add_text(argument, TR_PIECE_WORD, event, error);
    case TR_XML_OTHER: break;
    }
    return TR_OK;
}

/* Changes are edits, but in places that are inside others. */
static tr_status add_edits(const reader *r, tr_error *error)
{
    if (r->document->settings.bilingual && r->state->changes.size)
        qsort(r->state->changes.data, r->state->changes.size / sizeof(tr_edit), sizeof(tr_edit), compare_changes);
    const tr_edit *changes = (const tr_edit *)(const void *)r->state->changes.data;
    const place *inner = (const place *)(const void *)r->inner.data;
    const size_t count = r->inner.size / sizeof *inner;
    tr_status status = TR_OK;
    for (size_t i = 0, k = 0; i < r->state->changes.size / sizeof *changes && status == TR_OK; i++) {
        while (k < count && inner[k].end <= changes[i].begin)
            k++;
        if (k == count || inner[k].begin > changes[i].begin)
            status = tr_edit_add(r->document, changes[i].begin, changes[i].end, r->state->changed.data + changes[i].text,
                                 changes[i].size, error);
    }
    return status;
}

void tr_runs_close(void *argument)
{
    tr_runs *state = argument;
    tr_buffer_free(&state->runs);
    tr_buffer_free(&state->changes);
    tr_buffer_free(&state->changed);
    free(state);
}

tr_status tr_runs_read(tr_document *d, const tr_runs_names *names, tr_error *error)
{
    reader r = {.document = d, .names = names, .run = TR_RUNS_NONE, .outer = TR_RUNS_NONE};
    d->state = r.state = calloc(1, sizeof *r.state);
    if (!d->state || !tr_strmap_init(&r.formats, 64))
        return no_memory(&r, error);
    r.state->names = names;
    tr_status status = number_format(&r, "", 0) == 0 ? TR_OK : no_memory(&r, error);
    if (status == TR_OK)
        status = tr_xml_read(d, handle_event, &r, error);
    if (status == TR_OK)
        status = add_edits(&r, error);
    char **keys = (char **)(void *)r.keys.data;
    for (size_t i = 0; i < r.keys.size / sizeof *keys; i++)
        free(keys[i]);
    tr_strmap_free(&r.formats);
    tr_buffer_free(&r.keys);
    tr_buffer_free(&r.key);
    tr_buffer_free(&r.text);
    tr_buffer_free(&r.weights);
    tr_buffer_free(&r.frames);
    tr_buffer_free(&r.items);
    tr_buffer_free(&r.stack);
    tr_buffer_free(&r.inner);
    return status;
}
