#include "cli/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/results.h"
#include "util/utf8.h"

/* --------------------------------------------------------------------------------------------------------------- values */

static void put(cli_json *j, const char *text, size_t size)
{
    j->good = j->good && tr_buffer_append(j->out, text, size);
}

/* Writes a character as JSON escapes it; beyond ASCII all that is not printable has four hexadecimal digits. */
static void put_escaped(cli_json *j, int32_t c)
{
    static const char known[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
    const char *at = c < 0x7f ? strchr(known, c) : NULL;
    char escaped[8] = {'\\', at ? letters[at - known] : 'u'};
    put(j, escaped, at ? 2 : (size_t)snprintf(escaped, sizeof escaped, "\\u%04X", (unsigned)c));
}

/* text is valid UTF-8 without NUL. Nothing that would control a terminal is written raw. */
static void put_string(cli_json *j, const char *text, size_t size)
{
    put(j, "\"", 1);
    size_t plain = 0; /* text[plain..at) is written as it is */
    for (size_t at = 0, length; at < size; at += length) {
        const int32_t c = tr_utf8_decode(text + at, size - at, &length);
        if (tr_utf8_is_printable(c) && c != '"' && c != '\\')
            continue;
        put(j, text + plain, at - plain);
        put_escaped(j, c);
        plain = at + length;
    }
    put(j, text + plain, size - plain);
    put(j, "\"", 1);
}

static void begin(cli_json *j, const char *key)
{
    put(j, ",", j->comma);
    j->comma = true;
    if (!key)
        return;
    put_string(j, key, strlen(key));
    put(j, ":", 1);
}

void cli_json_open(cli_json *j, const char *key, char bracket)
{
    begin(j, key);
    put(j, &bracket, 1);
    j->comma = false;
}

void cli_json_close(cli_json *j, char bracket)
{
    put(j, &bracket, 1);
    j->comma = true;
}

void cli_json_text(cli_json *j, const char *key, const char *text, size_t size)
{
    tr_buffer clean = {0};
    begin(j, key);
    if (tr_utf8_valid(text, size)) {
        put_string(j, text, size);
        return;
    }
    j->good = tr_utf8_clean(text, size, &clean) && j->good;
    put_string(j, clean.data, clean.size);
    tr_buffer_free(&clean);
}

void cli_json_string(cli_json *j, const char *key, const char *string)
{
    begin(j, key);
    if (string && tr_utf8_valid(string, strlen(string)))
        put_string(j, string, strlen(string));
    else
        put(j, "null", 4);
}

void cli_json_whole(cli_json *j, const char *key, int64_t number)
{
    char digits[24];
    begin(j, key);
    put(j, digits, (size_t)snprintf(digits, sizeof digits, "%" PRId64, number));
}

/* Nine digits distinguish all floats. A whole number gets a ".0", so that readers take it for a real one. */
void cli_json_real(cli_json *j, const char *key, double number)
{
    char digits[40];
    begin(j, key);
    if (!isfinite(number)) {
        put(j, "null", 4);
        return;
    }
    put(j, digits, (size_t)snprintf(digits, sizeof digits, "%.9g", number));
    if (!strpbrk(digits, ".e"))
        put(j, ".0", 2);
}

void cli_json_flag(cli_json *j, const char *key, bool flag)
{
    begin(j, key);
    put(j, flag ? "true" : "false", flag ? 4 : 5);
}

int cli_json_print(cli_json *j)
{
    put(j, "\n", 1);
    if (j->good)
        fwrite(j->out->data, 1, j->out->size, stdout);
    tr_buffer_free(j->out);
    return j->good ? CLI_DONE : cli_fail_memory();
}

/* ------------------------------------------------------------------------------------------------------- tokens and links
 */

static void put_pair(cli_json *j, size_t first, size_t second)
{
    cli_json_open(j, NULL, '[');
    cli_json_whole(j, NULL, (int64_t)first);
    cli_json_whole(j, NULL, (int64_t)second);
    cli_json_close(j, ']');
}

void cli_json_links(cli_json *j, const char *key, const tr_alignment *alignment)
{
    cli_json_open(j, key, '[');
    for (size_t i = 0; i < alignment->count; i++)
        put_pair(j, (size_t)alignment->links[i].source, (size_t)alignment->links[i].target);
    cli_json_close(j, ']');
}

void cli_json_spans(cli_json *j, const char *key, const tr_span *spans, size_t count)
{
    cli_json_open(j, key, '[');
    for (size_t i = 0; i < count; i++)
        put_pair(j, spans[i].begin, spans[i].end);
    cli_json_close(j, ']');
}

void cli_json_pieces(cli_json *j, const char *key, const tr_model *model, bool target, const tr_tokens *tokens)
{
    cli_json_open(j, key, '[');
    for (size_t i = 0; i < tokens->count; i++) {
        size_t size = 0;
        const char *piece =
            target ? tr_target_piece(model, tokens->ids[i], &size) : tr_source_piece(model, tokens->ids[i], &size);
        const bool shown = piece && tr_utf8_valid(piece, size);
        cli_json_text(j, NULL, shown ? piece : "<unk>", shown ? size : 5);
    }
    cli_json_close(j, ']');
}

/* --------------------------------------------------------------------------------------------------------- translations */

static void put_flags(cli_json *j, unsigned flags)
{
    cli_json_open(j, "flags", '[');
    for (size_t i = 0; i < TR_FLAG_NAMES; i++)
        if (flags & tr_flag_names[i].flag)
            cli_json_string(j, NULL, tr_flag_names[i].name);
    cli_json_close(j, ']');
}

static void put_scores(cli_json *j, const cli_translation *t)
{
    cli_json_real(j, "mean", t->result->mean_log_probability);
    cli_json_real(j, "minimum", t->result->min_log_probability);
    cli_json_open(j, "token_scores", '[');
    for (size_t i = 0; i < t->result->scored_count; i++) {
        const tr_scored_token *token = &t->result->scored[i];
        size_t size = 0;
        const char *piece = tr_target_piece(t->target_model, token->id, &size);
        cli_json_open(j, NULL, '[');
        cli_json_text(j, NULL, piece, size);
        cli_json_real(j, NULL, token->log_probability);
        cli_json_close(j, ']');
    }
    cli_json_close(j, ']');
}

/* The keys are those of translate score, except that "tokens" is a number here. spans NULL: with --tokens. */
static void put_alignment(cli_json *j, const tr_model *model, const tr_tokens *target, const tr_span *spans,
                          const tr_alignment *alignment)
{
    cli_json_pieces(j, "target_tokens", model, true, target);
    cli_json_links(j, "alignment", alignment);
    if (spans)
        cli_json_spans(j, "spans", spans, target->count);
}

static void put_hypotheses(cli_json *j, const cli_translation *t, bool alignment)
{
    cli_json_open(j, "hypotheses", '[');
    for (size_t i = 0; i < t->result->hypothesis_count; i++) {
        const tr_translation *h = &t->result->hypotheses[i];
        cli_json_open(j, NULL, '{');
        cli_json_text(j, "text", h->text, h->size);
        cli_json_real(j, "score", h->score);
        cli_json_real(j, "log_probability", h->log_probability);
        cli_json_whole(j, "tokens", h->tokens);
        if (alignment)
            put_alignment(j, t->target_model, &h->target, h->target_spans, &h->alignment);
        cli_json_close(j, '}');
    }
    cli_json_close(j, ']');
}

bool cli_json_translation(const cli_settings *s, const cli_translation *t, tr_buffer *out)
{
    const tr_result *r = t->result;
    cli_json json = {out, true, false}, *j = &json;
    cli_json_open(j, NULL, '{');
    cli_json_whole(j, "line", (int64_t)t->number);
    cli_json_text(j, "source", t->line->text, t->line->size);
    if (t->pivot)
        cli_json_text(j, "pivot", t->pivot->text, t->pivot->size);
    cli_json_text(j, "text", r->text, r->size);
    if (s->scores)
        cli_json_real(j, "score", t->score);
    cli_json_whole(j, "tokens", r->target_tokens);
    if (s->scores)
        put_scores(j, t);
    if (s->alignment) {
        cli_json_pieces(j, "source_tokens", t->source_model, false, &r->source);
        if (r->source_spans)
            cli_json_spans(j, "source_spans", r->source_spans, r->source.count);
        put_alignment(j, t->target_model, &r->target, r->target_spans, &r->alignment);
    }
    if (s->search.n_best > 1)
        put_hypotheses(j, t, s->alignment);
    put_flags(j, t->flags);
    cli_json_close(j, '}');
    put(j, "\n", 1);
    return j->good;
}
