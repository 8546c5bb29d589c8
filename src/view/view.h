/* Attention weights as a self-contained page, a picture for print, or arrays for numpy. Plain data in, bytes out:
 * independent of the network. */
#ifndef TR_VIEW_VIEW_H
#define TR_VIEW_VIEW_H

#include "util/buffer.h"
#include "util/error.h"

typedef struct tr_view_text {
    const char *data; /* any bytes: invalid UTF-8 and control characters are shown as U+FFFD */
    size_t size;
} tr_view_text;

typedef struct tr_view {
    tr_view_text model; /* its name */
    tr_view_text text, translation;
    const tr_view_text *source; /* [source_count] input of the encoder, with special tokens */
    const tr_view_text *target; /* [target_count] output of each step of the decoder, with EOS */
    const tr_view_text *inputs; /* [target_count] input of each step: the start token, then the targets */
    size_t source_count, target_count;
    const float *log_probabilities; /* [target_count], of target; NULL: unknown */
    const int32_t *alignment;       /* [target_count] the source token of each target token, -1: none; NULL: unknown */
    /* A row's weights are from 0 to 1 and add up to 1. */
    tr_attention_map encoder; /* [.., source_count, source_count] */
    tr_attention_map decoder; /* [.., target_count, target_count]: targets, inputs */
    tr_attention_map cross;   /* [.., target_count, source_count] */
} tr_view;

/* Maximum number of weights of each form, all three maps together; more is refused (TR_ERROR_UNSUPPORTED). */
enum { TR_VIEW_MAX_PAGE = 32 << 20, TR_VIEW_MAX_SVG = 4 << 20, TR_VIEW_MAX_NPZ = 256 << 20 };

/* Each appends a whole file to out. TR_ERROR_ARGUMENT: a map's shape does not fit the tokens. TR_ERROR_UNSUPPORTED: more
 * weights than the form takes; the message names an alternative. TR_ERROR_MEMORY. On failure out is unchanged. */
tr_status tr_view_page(const tr_view *view, tr_buffer *out, tr_error *error); /* HTML; needs no network, works from a file */
tr_status tr_view_svg(const tr_view *view, tr_buffer *out, tr_error *error);  /* all maps and their averages on one sheet */
/* numpy.load reads it: encoder, decoder, cross (float32 [layers, heads, rows, columns]), source_tokens, target_tokens,
 * decoder_tokens (inputs) and, if they are known, log_probabilities and alignment. */
tr_status tr_view_npz(const tr_view *view, tr_buffer *out, tr_error *error);

/* Checks, before the weights are computed, that a form can hold them; the three functions above check it, too. name: of the
 * form, for the message, such as "the page". */
tr_status tr_view_fits(const tr_view *view, uint64_t max_weights, const char *name, tr_error *error);

#endif
