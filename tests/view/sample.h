/* Attention that looks like a model's, of any size, the same in every run. */
#ifndef TR_TESTS_VIEW_SAMPLE_H
#define TR_TESTS_VIEW_SAMPLE_H

#include "view/view.h"

/* A text of this number of source and target tokens (EOS included), and maps of layers by heads. Free with sample_free.
 * Exits if memory is exhausted. */
tr_view sample_make(int sources, int targets, int layers, int heads);
tr_view sample_make_hostile(int sources, int targets, int layers, int heads); /* with hostile texts and tokens */
void sample_free(tr_view *view);

#endif
