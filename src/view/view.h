/* Attention to look at: one self-contained page, a picture for print, or arrays for numpy. Plain data in, bytes out: nothing
 * here knows of the network. */
#ifndef TR_VIEW_VIEW_H
#define TR_VIEW_VIEW_H

#include "util/buffer.h"
#include "util/error.h"

typedef struct tr_view_text {
    const char *data; /* any bytes: what is no UTF-8, and control characters, are shown as U+FFFD */
    size_t size;
} tr_view_text;

typedef struct tr_view {
    tr_view_text model; /* its name */
    tr_view_text text, translation;
    const tr_view_text *source; /* [source_count]: what the encoder reads, marks included */
    const tr_view_text *target; /* [target_count]: what the decoder makes, step by step, the end mark included */
    const tr_view_text *inputs; /* [target_count]: what it reads at these steps: the start mark, and what it made before */
    size_t source_count, target_count;
    const float *log_probabilities; /* [target_count], of target; NULL: unknown */
    const int32_t *alignment;       /* [target_count]: the source token that each target token belongs to, -1 none; NULL:
                                       unknown */
    /* A row's weights are from 0 to 1 and add up to 1. */
    tr_attention_map encoder; /* [.., source_count, source_count] */
    tr_attention_map decoder; /* [.., target_count, target_count]: targets, inputs */
    tr_attention_map cross;   /* [.., target_count, source_count] */
} tr_view;

/* Weights that each of the forms holds at most, all three maps together; more is refused (TR_ERROR_UNSUPPORTED). */
enum { TR_VIEW_PAGE_MOST = 32 << 20, TR_VIEW_SVG_MOST = 4 << 20, TR_VIEW_NPZ_MOST = 256 << 20 };

/* Each appends a whole file to out. TR_ERROR_ARGUMENT: a map's shape is not that of the tokens. TR_ERROR_UNSUPPORTED: there
 * is more than the form holds; the message says what would do. TR_ERROR_MEMORY. On failure out holds what it held. */
tr_status tr_view_page(const tr_view *view, tr_buffer *out, tr_error *error); /* HTML; needs no network, works from a file */
tr_status tr_view_svg(const tr_view *view, tr_buffer *out, tr_error *error);  /* all maps and their averages on one sheet */
/* numpy.load reads it: encoder, decoder, cross (float32 [layers, heads, rows, columns]), source_tokens, target_tokens,
 * decoder_tokens (what the decoder reads) and, where they are known, log_probabilities and alignment. */
tr_status tr_view_npz(const tr_view *view, tr_buffer *out, tr_error *error);

/* Whether so many weights fit into a form, before anybody computes them: what the three functions above check as well.
 * name: of the form, for the message, as "the page". */
tr_status tr_view_fits(const tr_view *view, uint64_t most, const char *name, tr_error *error);

#endif
