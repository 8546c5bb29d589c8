/* Lines in, translations out, in the form that the options ask for: the library's two ways (text and tokens) and the two
 * ways of writing a line (plain and JSON). */
#ifndef TR_CLI_ANSWERS_H
#define TR_CLI_ANSWERS_H

#include "cli/chain.h"
#include "cli/lines.h"
#include "util/buffer.h"

/* Counted over the whole run. */
typedef struct cli_totals {
    uint64_t lines;
    uint64_t sentences, source_tokens, target_tokens; /* of the last model */
    double seconds;                                   /* inside the library */
    bool warned_utf8, warned_cut;
} cli_totals;

/* Takes what is to be printed for some lines, as soon as it is known; several times a call, in order. Returns CLI_DONE, or
 * another status to end the call with. It may run on a thread of the library, one call at a time. */
typedef int cli_writer(void *argument, const char *data, size_t size);

typedef struct cli_translator {
    const cli_settings *settings;
    const cli_chain *chain;
    tr_translate_options options; /* for each of its models, but for the languages */
    int link;                     /* the model that is at work */
    cli_totals totals;
    tr_buffer rendered;
} cli_translator;

/* Translates lines and writes what is to be printed for them. The first is line number totals.lines + 1 of the run, and they
 * are counted as they are written. break_lines: a translation may itself hold line breaks (TEXT arguments do).
 * CLI_FAILED without a message: interrupted. */
int cli_translate_lines(cli_translator *translator, const cli_line *lines, size_t count, bool break_lines, cli_writer *write,
                        void *argument);
void cli_translator_free(cli_translator *translator);

#endif
