/* Alignments from the weights of cross-attention. */
#ifndef TR_RUN_ALIGN_H
#define TR_RUN_ALIGN_H

#include "model/config.h"
#include "model/state.h"
#include "util/error.h"

/* Checks options, and sets what TR_ALIGN_AUTO stands for: layer is then a layer, head a head or TR_ALIGN_MEAN.
 * TR_ERROR_ARGUMENT names what is out of range. */
tr_status tr_align_resolve(const tr_config *config, tr_align_options *options, tr_error *error);

/* Which of a pair's rows and columns are text. */
typedef struct tr_align_span {
    int first_source, sources; /* columns first_source .. first_source + sources - 1 */
    int first_target, targets; /* rows of target tokens first_target .. targets - 1 */
} tr_align_span;

/* Links of source columns, counted from first_source, and target rows, counted from 0: see tr_align_options. weights: of one
 * layer, [heads, rows, columns] with strides as in watch; the mean of its heads is taken. */
tr_status tr_align(const tr_attention_capture *capture, int heads, const tr_align_span *span, float threshold,
                   tr_alignment *alignment, tr_error *error);

/* Sorts as tr_alignment says. */
void tr_links_sort(tr_link *links, size_t count);

#endif
