/* One line's translation as it is printed: plain text, perhaps with fields behind it, a list of the best, or JSON. */
#ifndef TR_CLI_RENDER_H
#define TR_CLI_RENDER_H

#include "cli/cli.h"
#include "cli/lines.h"
#include "formats/json.h"

/* One line's translation, whichever way it was made. */
typedef struct cli_answer {
    const tr_result *result; /* of the last model; its text and those of hypotheses may be tokens */
    const tr_result *pivot;  /* what the last model had for its text; NULL: the line itself */
    unsigned flags;          /* of all models */
    float score;             /* of all models */
    const tr_model *model;   /* whose tokens the result has */
    const tr_model *first;   /* whose source tokens alignments have */
} cli_answer;

typedef struct cli_form {
    bool json, scores, alignment;
    bool n_best;      /* a line for each hypothesis */
    bool break_lines; /* the text may hold line breaks */
} cli_form;

/* Appends what is to be printed for a line. False: memory is short. */
bool cli_render(const cli_form *form, const cli_line *line, uint64_t number, const cli_answer *answer,
                tr_buffer *out) TR_CHECKED;

/* Prints a value, which it takes, and a line's end on standard output. NULL: memory is short, which is said. */
int cli_print_json(json_t *value, size_t flags);

/* A model may emit any byte; one line must stay one line. */
void cli_keep_one_line(char *text, size_t size);
/* A text, or a part of one, as the form has it: where there are fields, without line breaks and TABs. */
void cli_fit(const cli_form *form, char *text, size_t size);

#endif
