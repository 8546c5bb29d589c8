/* The machine that a pickle is a program for: between pickle.c, its opcodes, and pickle_torch.c, what they refer to. */
#ifndef TR_FORMATS_PICKLE_MACHINE_H
#define TR_FORMATS_PICKLE_MACHINE_H

#include "formats/pytorch/pickle.h"

/* Rows of a table, and the row at a place. */
#define TR_PICKLE_COUNT(table, row)     ((table)->size / sizeof(row))
#define TR_PICKLE_AT(table, row, place) (&((row *)(void *)(table)->data)[place])

/* A list or dict: places of its first and last pair, each + 1; 0: it is empty. */
typedef struct tr_pickle_chain {
    size_t first, last;
} tr_pickle_chain;

/* The first failure sticks; what follows it has no effect. */
typedef struct tr_pickle_machine {
    const unsigned char *data, *at, *end;
    bool limited; /* there is more behind end */
    tr_pickle *pickle;
    tr_buffer stack, memo; /* of tr_pickle_value */
    bool stopped;
    tr_status status;
    tr_error *error;
} tr_pickle_machine;

void tr_pickle_damaged(tr_pickle_machine *m, const char *why);
/* Adds a row to a table that may have most of them. */
void tr_pickle_add_row(tr_pickle_machine *m, tr_buffer *table, const void *row, size_t size, size_t most);
void tr_pickle_push(tr_pickle_machine *m, tr_pickle_value value);
tr_pickle_value tr_pickle_pop(tr_pickle_machine *m);
void tr_pickle_push_container(tr_pickle_machine *m, tr_pickle_kind kind);

/* Pushes the function or class MODULE.NAME, if it is one of those known. */
void tr_pickle_push_global(tr_pickle_machine *m, tr_pickle_value module, tr_pickle_value name);
/* Replaces a persistent id by the storage that it describes. */
void tr_pickle_push_storage(tr_pickle_machine *m);
/* Replaces a function and a tuple of arguments by the result. */
void tr_pickle_call(tr_pickle_machine *m);

#endif
