/* From lines to their translations, as the options ask for them: text or tokens, plain or JSON. */
#ifndef TR_CLI_TRANSLATOR_H
#define TR_CLI_TRANSLATOR_H

#include "cli/lines.h"
#include "cli/output.h"
#include "cli/route.h"

/* Counts of the whole run. */
typedef struct cli_totals {
    uint64_t lines;
    uint64_t sentences, source_tokens, target_tokens; /* computed, of the last model */
    uint64_t repeated;                                /* texts that were translated before, and not computed again */
    double seconds;                                   /* inside the library */
    uint64_t passed;                                  /* lines that stayed as they are */
    bool translated;                                  /* a text has tokens */
    uint64_t numbers;                                 /* texts with TR_FLAG_NUMBER */
    char first_number[80];                            /* the begin of the first */
    bool warned_utf8, warned_cut;
} cli_totals;

typedef struct cli_translator {
    const cli_settings *settings;
    const cli_route *route;
    tr_translate_options options; /* for each model, without languages and prefixes */
    cli_output *output;           /* where translations are written; NULL: they stay in rendered */
    bool units;                   /* lines are units of a document, written by cli_document_line */
    tr_buffer *kept;              /* where they are appended, in place of the output; or NULL */
    int model;                    /* index of the model at work */
    cli_totals totals;
    tr_buffer rendered; /* lines to write */
} cli_translator;

/* Translates lines and writes their translations, in order and as soon as they are known. The first line is number
 * totals.lines + 1 of the run; lines are counted as they are written. break_lines: a translation may itself hold line breaks
 * (that of TEXT arguments does). Prints a message on failure, except for an interrupt. */
int cli_translate_lines(cli_translator *translator, const cli_line *lines, size_t count, bool break_lines);

#endif
