/* Builds a file in memory. Running out of memory is remembered, and reported once, at the end. */
#ifndef TR_VIEW_WRITER_H
#define TR_VIEW_WRITER_H

#include "view/view.h"

typedef struct tr_view_writer {
    tr_buffer *out;
    bool failed; /* out of memory; later text is missing */
} tr_view_writer;

void tr_view_put(tr_view_writer *w, const void *data, size_t size);
void tr_view_print(tr_view_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Text for HTML and XML, between tags or in a quoted attribute. */
void tr_view_put_markup(tr_view_writer *w, tr_view_text text);
/* A JSON string with its quotes, which is also JavaScript and may stand in a <script>: no "<", ">" or "&" in it. */
void tr_view_put_json(tr_view_writer *w, tr_view_text text);

/* Checks shapes and size; name as in tr_view_fits. */
tr_status tr_view_check(const tr_view *view, uint64_t max_weights, const char *name, tr_error *error);

/* The result of a function of view.h: if the writer failed, restores the size of out and reports it. */
tr_status tr_view_done(tr_view_writer *w, size_t size, tr_error *error);

#endif
