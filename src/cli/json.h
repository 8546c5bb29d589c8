/* JSON output. What reads JSON is in import/json.h; writing needs no library. */
#ifndef TR_CLI_JSON_H
#define TR_CLI_JSON_H

#include "cli/cli.h"
#include "cli/lines.h"
#include "util/buffer.h"

/* A value that is being written. Start with out and good = true; good turns false if memory runs out. */
typedef struct cli_json {
    tr_buffer *out;
    bool good;
    bool comma; /* the next value follows another one */
} cli_json;

/* Each function writes a value: in an object under its key, in a list or alone with key NULL. */
void cli_json_open(cli_json *json, const char *key, char bracket);                  /* '{' or '[' */
void cli_json_close(cli_json *json, char bracket);                                  /* '}' or ']' */
void cli_json_text(cli_json *json, const char *key, const char *text, size_t size); /* cleaned by tr_utf8_clean */
void cli_json_string(cli_json *json, const char *key, const char *string); /* null if it is NULL or not valid UTF-8 */
void cli_json_whole(cli_json *json, const char *key, int64_t number);
void cli_json_real(cli_json *json, const char *key, double number); /* null if it is not finite */
void cli_json_flag(cli_json *json, const char *key, bool flag);

/* Links as [[S, T], ...], spans as [[begin, end], ...], and tokens as pieces. */
void cli_json_links(cli_json *json, const char *key, const tr_alignment *alignment);
void cli_json_spans(cli_json *json, const char *key, const tr_span *spans, size_t count);
void cli_json_pieces(cli_json *json, const char *key, const tr_model *model, bool target, const tr_tokens *tokens);

/* Prints the value on standard output with a newline, and frees it. */
int cli_json_print(cli_json *json);

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

#endif
