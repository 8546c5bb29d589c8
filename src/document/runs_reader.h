/* What reading paragraphs of runs has in memory: runs.c makes items of events, runs_units.c units of items. */
#ifndef TR_DOCUMENT_RUNS_READER_H
#define TR_DOCUMENT_RUNS_READER_H

#include "document/runs.h"
#include "util/strmap.h"

enum { TR_RUNS_BARRIER = 100 }; /* a kind of item beside those of pieces: divides units */

/* The parts of a field: code and, for some, a result, which is text. */
enum { TR_RUNS_NO_FIELD, TR_RUNS_FIELD_BEGIN, TR_RUNS_FIELD_SEPARATE, TR_RUNS_FIELD_END, TR_RUNS_FIELD_RESULT };

typedef struct tr_runs_item {
    uint32_t begin, end;
    uint32_t run;               /* that it is in; TR_RUNS_NONE */
    uint32_t element, text_end; /* TEXT, WORD: the element with the text */
    uint32_t partner;           /* OPEN, CLOSE */
    uint32_t words_before;      /* items with words before it */
    uint8_t kind;               /* a tr_piece_kind, or TR_RUNS_BARRIER */
    uint8_t field;
    bool has_words;
} tr_runs_item;

typedef struct tr_runs_place {
    uint32_t begin, end;
} tr_runs_place;

typedef struct tr_runs_reader {
    tr_document *document;
    const tr_runs_names *names;
    tr_runs *state;
    tr_buffer frames;    /* of frame */
    tr_buffer items;     /* of tr_runs_item */
    tr_buffer stack;     /* of uint32_t: items */
    size_t first;        /* the first item of the paragraph */
    int depth;           /* 1 in a paragraph, 2 in one in a picture of one */
    tr_buffer inner;     /* of tr_runs_place: units that are in marks of others */
    uint32_t run, outer; /* the open run, and the one around the paragraph */
    tr_strmap formats;   /* by their keys */
    tr_buffer keys;      /* of char *: the keys */
    tr_buffer key;       /* of the format that is being read */
    int format_depth;    /* of its element */
    size_t paragraphs;   /* so far */
    tr_buffer text;      /* memory */
    tr_buffer weights;   /* of uint64_t: characters in each format, of the unit that is added */
} tr_runs_reader;

static inline tr_status tr_runs_no_memory(const tr_runs_reader *r, tr_error *error)
{
    return tr_fail_memory(error, r->document->name);
}

static inline tr_run *tr_runs_at(const tr_runs_reader *r, uint32_t index)
{
    return (tr_run *)(void *)r->state->runs.data + index;
}

static inline tr_runs_item *tr_runs_items(const tr_runs_reader *r, size_t *count)
{
    *count = r->items.size / sizeof(tr_runs_item);
    return (tr_runs_item *)(void *)r->items.data;
}

/* The items of the paragraph that ends become units. */
tr_status tr_runs_add_units(tr_runs_reader *reader, tr_error *error);

#endif
