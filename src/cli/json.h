/* What several subcommands print as JSON: translations, tokens, alignments. */
#ifndef TR_CLI_JSON_H
#define TR_CLI_JSON_H

#include "cli/cli.h"
#include "cli/lines.h"
#include "import/json.h"

/* The translation of a line. */
typedef struct cli_translation {
    const cli_line *line;
    uint64_t number;              /* of the line, from 1 */
    const tr_result *result;      /* with --tokens its texts are tokens */
    const tr_result *pivot;       /* of the first of two models, translated by result; else NULL */
    unsigned flags;               /* of all models */
    float score;                  /* sum over all models */
    const tr_model *source_model; /* the model of the result's source tokens */
    const tr_model *target_model; /* the model of its target tokens */
} cli_translation;

/* Appends the JSON object of a line's translation, and a newline. False: out of memory. */
bool cli_json_translation(const cli_settings *settings, const cli_translation *translation, tr_buffer *out) TR_CHECKED;

/* Links as [[S, T], ...], spans as [[begin, end], ...], and tokens as pieces. NULL: out of memory. */
json_t *cli_json_links(const tr_alignment *alignment) TR_CHECKED;
json_t *cli_json_spans(const tr_span *spans, size_t count) TR_CHECKED;
json_t *cli_json_pieces(const tr_model *model, bool target, const tr_tokens *tokens) TR_CHECKED;

/* Prints value and a newline on standard output, and releases value. value NULL: reports that memory is short. */
int cli_print_json(json_t *value, size_t flags);

#endif
