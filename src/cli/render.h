/* One line's translation as it is printed: plain text, or JSON. */
#ifndef TR_CLI_RENDER_H
#define TR_CLI_RENDER_H

#include "cli/cli.h"
#include "cli/lines.h"
#include "util/buffer.h"

/* One line's translation, whichever way it was made. */
typedef struct cli_answer {
    const char *text;
    size_t size;
    const tr_result *pivot; /* what the last model had for its text; NULL: the line itself */
    int sentences, source_tokens, target_tokens;
    unsigned flags;
} cli_answer;

/* break_lines: the text may hold line breaks. False: memory is short. */
bool cli_render_plain(const cli_line *line, const cli_answer *answer, bool break_lines, tr_buffer *out);
bool cli_render_json(const cli_line *line, uint64_t number, const cli_answer *answer, tr_buffer *out);

/* A model may emit any byte; one line must stay one line. */
void cli_keep_one_line(char *text, size_t size);

#endif
