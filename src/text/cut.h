/* Cutting a sentence that is too long: at clause marks, else at white space, else between characters, else between
 * tokens. */
#ifndef TR_TEXT_CUT_H
#define TR_TEXT_CUT_H

#include "text/plan.h"

/* Appends the chunks of text[span) to plan: one, or several pieces if it has more tokens than encoder->limit. Nothing but
 * white space at cuts is left out. Time is linear in the size but for a small factor. */
tr_status tr_cut_sentence(tr_plan *plan, const tr_source_template *encoder, const char *text, tr_span span, tr_error *error);

/* The best place to cut text[span) near its byte ideal, at most reach bytes away, on a character boundary within the span;
 * span.last if the span is a single character. */
size_t tr_cut_place(const char *text, tr_span span, size_t ideal, size_t reach);

#endif
