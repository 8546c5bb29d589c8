/* Units of paragraphs of runs: items become pieces. */
#include "document/runs_reader.h"

#include <string.h>

/* The items of the paragraph that is read, without those of the paragraphs around it. */
static tr_runs_item *own_items(const tr_runs_reader *r, size_t *count)
{
    tr_runs_item *items = tr_runs_items(r, count);
    *count -= r->first;
    return r->first ? items + r->first : items;
}

/* ------------------------------------------------------------------------------------------------------------------ text */

/* Decodes text into r->text. */
static bool decode_text(tr_runs_reader *r, uint32_t begin, uint32_t end)
{
    static const tr_unit plain = {0};
    tr_buffer_clear(&r->text);
    return tr_xml_decode(r->document, &plain, begin, end, &r->text);
}

static tr_status find_words(tr_runs_reader *r, tr_runs_item *it, tr_error *error)
{
    it->has_words = it->kind == TR_PIECE_WORD;
    if (it->kind != TR_PIECE_TEXT)
        return TR_OK;
    if (!decode_text(r, it->begin, it->end))
        return tr_runs_no_memory(r, error);
    for (size_t i = 0; i < r->text.size && !it->has_words; i++)
        it->has_words = !tr_is_ascii_space(r->text.data[i]);
    return TR_OK;
}

/* Finds the size of the white space at an end of a text, which may be written as a reference; 0: there is none. */
static tr_status find_space(tr_runs_reader *r, const tr_runs_item *it, bool back, uint32_t *size, tr_error *error)
{
    const char *data = r->document->data;
    uint32_t begin = it->begin, end = it->end;
    *size = 0;
    if (it->kind != TR_PIECE_TEXT || begin == end)
        return TR_OK;
    if (tr_is_ascii_space(data[back ? end - 1 : begin])) {
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
        return tr_runs_no_memory(r, error);
    if (r->text.size == 1 && tr_is_ascii_space(r->text.data[0]))
        *size = end - begin;
    return TR_OK;
}

/* Leaves out the white space at both ends of a unit. */
static tr_status strip_space(tr_runs_reader *r, tr_runs_item *first, tr_runs_item *last, tr_error *error)
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

/* ------------------------------------------------------------------------------------------------------ fields and pairs */

/* A field of code only becomes one empty mark, one with a result a pair around it. What is not whole divides units. */
static tr_status join_fields(tr_runs_reader *r, tr_error *error)
{
    size_t count, size = 0;
    tr_runs_item *items = own_items(r, &count);
    tr_buffer_clear(&r->stack);
    for (size_t i = 0; i < count; i++) {
        tr_runs_item it = items[i];
        if (it.field && it.run != TR_RUNS_NONE) {
            it.kind = TR_RUNS_BARRIER;
            it.field = TR_RUNS_NO_FIELD;
        }
        if (it.field == TR_RUNS_FIELD_BEGIN) {
            const uint32_t at = (uint32_t)size;
            if (!tr_buffer_append(&r->stack, &at, sizeof at))
                return tr_runs_no_memory(r, error);
        } else if (it.field) {
            uint32_t *top = r->stack.size ? (uint32_t *)(void *)(r->stack.data + r->stack.size) - 1 : NULL;
            tr_runs_item *begin = top ? &items[*top] : NULL;
            size_t k = size;
            while (begin && k > *top + 1U && items[k - 1].kind == TR_PIECE_EMPTY && !items[k - 1].field)
                k--;
            const bool is_code = begin && begin->field == TR_RUNS_FIELD_BEGIN && k == *top + 1U;
            const bool is_result = begin && begin->field == TR_RUNS_FIELD_RESULT && it.field == TR_RUNS_FIELD_END;
            if (is_code) {
                begin->end = it.end;
                begin->kind = it.field == TR_RUNS_FIELD_END ? TR_PIECE_EMPTY : TR_PIECE_OPEN;
                begin->field = it.field == TR_RUNS_FIELD_END ? TR_RUNS_NO_FIELD : TR_RUNS_FIELD_RESULT;
                size = k;
            } else {
                if (begin && !is_result)
                    begin->kind = TR_RUNS_BARRIER;
                it.kind = is_result ? TR_PIECE_CLOSE : TR_RUNS_BARRIER;
                it.field = TR_RUNS_FIELD_RESULT;
            }
            if (begin && (!is_code || it.field == TR_RUNS_FIELD_END))
                r->stack.size -= sizeof *top;
            if (is_code)
                continue;
        }
        items[size++] = it;
    }
    for (size_t i = 0; i < r->stack.size / sizeof(uint32_t); i++) {
        tr_runs_item *begin = &items[((uint32_t *)(void *)r->stack.data)[i]];
        if (begin->field == TR_RUNS_FIELD_BEGIN)
            begin->kind = TR_RUNS_BARRIER;
    }
    r->items.size = (r->first + size) * sizeof(tr_runs_item);
    return TR_OK;
}

static void raise_barriers(tr_runs_reader *r, tr_runs_item *items)
{
    const uint32_t *stack = (const uint32_t *)(const void *)r->stack.data;
    for (size_t i = 0; i < r->stack.size / sizeof *stack; i++)
        items[stack[i]].kind = TR_RUNS_BARRIER;
    tr_buffer_clear(&r->stack);
}

/* Finds the words, and the partners of marks. A mark with one end, or with a barrier in it, is a barrier: units never cut a
 * pair. */
static tr_status pair_items(tr_runs_reader *r, tr_error *error)
{
    size_t count;
    tr_runs_item *items = own_items(r, &count);
    uint32_t words = 0;
    tr_buffer_clear(&r->stack);
    for (size_t i = 0; i < count; i++) {
        tr_runs_item *it = &items[i];
        it->words_before = words;
        if (find_words(r, it, error) != TR_OK)
            return TR_ERROR_MEMORY;
        words += it->has_words;
        const uint32_t *top = r->stack.size ? (uint32_t *)(void *)(r->stack.data + r->stack.size) - 1 : NULL;
        if (it->kind == TR_PIECE_OPEN) {
            const uint32_t at = (uint32_t)i;
            if (!tr_buffer_append(&r->stack, &at, sizeof at))
                return tr_runs_no_memory(r, error);
        } else if (it->kind == TR_PIECE_CLOSE && top && items[*top].field == it->field) {
            it->partner = *top;
            items[*top].partner = (uint32_t)i;
            r->stack.size -= sizeof *top;
        } else if (it->kind == TR_PIECE_CLOSE || it->kind == TR_RUNS_BARRIER) {
            it->kind = TR_RUNS_BARRIER;
            raise_barriers(r, items);
        }
    }
    raise_barriers(r, items);
    return TR_OK;
}

/* ----------------------------------------------------------------------------------------------------------------- units */

/* Whether a mark or text has no words, if it is a mark with all that is in it; *next: the item after it. */
static bool is_blank(const tr_runs_item *items, size_t i, size_t *next)
{
    const tr_runs_item *it = &items[i];
    const size_t last = it->kind == TR_PIECE_OPEN ? it->partner : i;
    *next = last + 1;
    return it->kind == TR_PIECE_OPEN ? items[last].words_before == it->words_before : !it->has_words;
}

/* Leaves out what stands before the first and after the last words, and marks around all of them: they stay where they are.
 * False: there are no words. */
static bool strip_items(const tr_runs_item *items, size_t *from, size_t *to)
{
    size_t next;
    for (;;) {
        while (*from < *to && is_blank(items, *from, &next))
            *from = next;
        if (*from >= *to)
            return false;
        for (;;) {
            const tr_runs_item *last = &items[*to - 1];
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
static tr_status choose_base(tr_runs_reader *r, const tr_runs_item *items, size_t count, uint32_t *base, tr_error *error)
{
    uint64_t *weights = (uint64_t *)(void *)r->weights.data, most = 0;
    *base = TR_RUNS_NONE;
    for (size_t i = 0; i < count; i++) {
        if (items[i].kind != TR_PIECE_TEXT)
            continue;
        if (!decode_text(r, items[i].begin, items[i].end))
            return tr_runs_no_memory(r, error);
        for (size_t k = 0; k < r->text.size; k++)
            weights[tr_runs_at(r, items[i].run)->format] +=
                !tr_is_ascii_space(r->text.data[k]) && ((unsigned char)r->text.data[k] & 0xC0) != 0x80;
    }
    for (size_t i = 0; i < count; i++) {
        if (items[i].kind != TR_PIECE_TEXT && items[i].kind != TR_PIECE_WORD)
            continue;
        uint64_t *weight = &weights[tr_runs_at(r, items[i].run)->format];
        if (*base == TR_RUNS_NONE || *weight > most)
            *base = items[i].run;
        most = *weight > most ? *weight : most;
    }
    for (size_t i = 0; i < count; i++)
        if (items[i].run != TR_RUNS_NONE)
            weights[tr_runs_at(r, items[i].run)->format] = 0;
    return TR_OK;
}

static bool is_in_run(const tr_runs_item *it)
{
    return it->run != TR_RUNS_NONE;
}

static uint32_t format_of(const tr_runs_reader *r, const tr_runs_item *it)
{
    return is_in_run(it) ? tr_runs_at(r, it->run)->format : TR_RUNS_NONE;
}

/* Adds pieces of items, with pairs of marks for runs whose format is not that of the run `base`. */
static tr_status add_pieces(tr_runs_reader *r, const tr_runs_item *items, size_t count, uint32_t base, tr_error *error)
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
        if (open != TR_RUNS_NONE && tr_runs_at(r, open)->format != format) {
            status = tr_unit_piece(d, TR_PIECE_CLOSE, tr_runs_at(r, last)->close_begin, tr_runs_at(r, last)->end, error);
            open = TR_RUNS_NONE;
        }
        if (status == TR_OK && open == TR_RUNS_NONE && next == i && format != TR_RUNS_NONE &&
            format != tr_runs_at(r, base)->format) {
            open = items[i].run;
            status = tr_unit_piece(d, TR_PIECE_OPEN, tr_runs_at(r, open)->begin, tr_runs_at(r, open)->head_end, error);
        }
        if (is_in_run(&items[i]))
            last = items[i].run;
        if (status == TR_OK)
            status = tr_unit_piece(d, (tr_piece_kind)items[i].kind, items[i].begin, items[i].end, error);
    }
    if (status == TR_OK && open != TR_RUNS_NONE)
        status = tr_unit_piece(d, TR_PIECE_CLOSE, tr_runs_at(r, last)->close_begin, tr_runs_at(r, last)->end, error);
    return status;
}

/* Adds the unit of items from .. to; those around them tell whether it has the whole of its first and last run. */
static tr_status add_unit(tr_runs_reader *r, tr_runs_item *items, size_t from, size_t to, size_t count, tr_error *error)
{
    tr_document *d = r->document;
    const bool has_runs = *r->names->texts;
    if (!strip_items(items, &from, &to))
        return TR_OK;
    tr_runs_item *first = &items[from], *last = &items[to - 1];
    tr_status status = strip_space(r, first, last, error);
    if (status != TR_OK)
        return status;
    uint32_t begin = first->begin, end = last->end;
    if (is_in_run(first)) {
        const tr_run *run = tr_runs_at(r, first->run);
        const bool whole = !from || items[from - 1].run != first->run;
        begin = whole ? run->begin : first->element;
    }
    if (is_in_run(last)) {
        const tr_run *run = tr_runs_at(r, last->run);
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
    if (status == TR_OK && r->depth > 1 && !tr_buffer_append(&r->inner, &(tr_runs_place){begin, end}, sizeof(tr_runs_place)))
        status = tr_runs_no_memory(r, error);
    return status;
}

tr_status tr_runs_add_units(tr_runs_reader *r, tr_error *error)
{
    size_t count;
    tr_status status = join_fields(r, error);
    if (status == TR_OK)
        status = pair_items(r, error);
    tr_runs_item *items = own_items(r, &count);
    for (size_t from = 0; from < count && status == TR_OK;) {
        size_t to = from;
        while (to < count && items[to].kind != TR_RUNS_BARRIER)
            to++;
        status = add_unit(r, items, from, to, count, error);
        from = to + 1;
    }
    r->items.size = r->first * sizeof(tr_runs_item);
    return status;
}
