/* Marian's containers, and ways to change them. Every failure ends the running test. */
#ifndef MARIAN_FILES_H
#define MARIAN_FILES_H

#include "../formats/torch_writer.h"

/* status must equal wanted; the message of an error must be one line that contains needle. */
void expect_message(const tr_error *error, tr_status status, tr_status wanted, const char *needle);

/* Test cases of one text each, and the function that reads them. */
typedef struct text_case {
    const char *text;
    tr_status wanted;
    const char *needle;
} text_case;

void refuse_each(void (*refuse)(const char *text, tr_status wanted, const char *needle), const text_case *cases,
                 size_t count);

/* -------------------------------------------------------------------------------------------------------- .bin container */

/* Offsets in the header of an item. */
enum { NAME_LENGTH = 0, TYPE = 8, RANK = 16, DATA_LENGTH = 24 };

typedef struct model_file {
    unsigned char *data; /* to be freed */
    size_t size;
} model_file;

model_file load(const char *fixture, const char *name);
size_t header_of(size_t item);
uint64_t u64_at(const model_file *m, size_t at);
void put_u64(model_file *m, size_t at, uint64_t value);

/* ------------------------------------------------------------------------------------------------------------------ .npz */

#define NPY(type, order, shape) "{'descr': '" type "', 'fortran_order': " order ", 'shape': " shape ", }\n"

/* An .npy file with this header and this number of zero bytes. */
void add_npy(zip_writer *w, const char *name, int version, const char *header, size_t bytes, bool deflate);

#endif
