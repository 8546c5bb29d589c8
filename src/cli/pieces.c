#include "cli/pieces.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/model.h"

enum { SHOWN = 64 }; /* bytes of a bad token in a message */

/* The next token in text[*at..size), or false at the end. */
static bool next_token(const char *text, size_t size, size_t *at, const char **token, size_t *length)
{
    while (*at < size && text[*at] == ' ')
        ++*at;
    *token = text + *at;
    while (*at < size && text[*at] != ' ')
        ++*at;
    *length = (size_t)(text + *at - *token);
    return *length > 0;
}

static int bad_token(const cli_model *model, const char *token, size_t length, uint64_t line, const char *why)
{
    char where[32] = "";
    if (line)
        snprintf(where, sizeof where, "line %" PRIu64 ": ", line);
    return cli_fail("%s'%.*s': %s of %s", where, (int)(length < SHOWN ? length : SHOWN), token, why, model->path);
}

int cli_parse_pieces(const cli_model *model, cli_side side, const char *text, size_t size, uint64_t line, tr_ids *ids)
{
    const char *token;
    size_t length, at = 0;
    while (next_token(text, size, &at, &token, &length)) {
        int32_t id =
            side == CLI_SOURCE ? tr_source_id(model->model, token, length) : tr_target_id(model->model, token, length);
        if (id < 0)
            id = side == CLI_SOURCE ? model->info.unk_id : model->model->package.config.target_unk_id;
        if (id < 0)
            return bad_token(model, token, length, line, "is not in the vocabulary");
        if (!tr_ids_append(ids, &id, 1))
            return cli_fail_memory();
    }
    return CLI_DONE;
}

int cli_parse_ids(const cli_model *model, cli_side side, const char *text, size_t size, uint64_t line, tr_ids *ids)
{
    const int32_t limit = side == CLI_SOURCE ? model->info.source_vocabulary : model->info.target_vocabulary;
    const char *token;
    size_t length, at = 0;
    while (next_token(text, size, &at, &token, &length)) {
        int64_t id = 0;
        for (size_t i = 0; i < length && id >= 0; i++)
            id = token[i] >= '0' && token[i] <= '9' && id < limit ? id * 10 + (token[i] - '0') : -1;
        if (id < 0 || id >= limit)
            return bad_token(model, token, length, line, "is not a token number");
        const int32_t narrow = (int32_t)id;
        if (!tr_ids_append(ids, &narrow, 1))
            return cli_fail_memory();
    }
    return CLI_DONE;
}

bool cli_print_pieces(const cli_model *model, cli_side side, const int32_t *ids, size_t count, tr_buffer *out)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = 0;
        const char *piece =
            side == CLI_SOURCE ? tr_source_piece(model->model, ids[i], &size) : tr_target_piece(model->model, ids[i], &size);
        if (!piece) { /* the matrix has more rows than the vocabulary */
            piece = "<unk>";
            size = 5;
        }
        if ((i && !tr_buffer_append(out, " ", 1)) || !tr_buffer_append(out, piece, size))
            return false;
    }
    return true;
}

bool cli_print_ids(const int32_t *ids, size_t count, tr_buffer *out)
{
    char number[16];
    for (size_t i = 0; i < count; i++) {
        const int size = snprintf(number, sizeof number, "%s%" PRId32, i ? " " : "", ids[i]);
        if (!tr_buffer_append(out, number, (size_t)size))
            return false;
    }
    return true;
}

bool cli_print_links(const tr_alignment *alignment, tr_buffer *out)
{
    char text[32];
    for (size_t i = 0; i < alignment->count; i++) {
        const tr_link *link = &alignment->links[i];
        const int size = snprintf(text, sizeof text, "%s%d-%d", i ? " " : "", (int)link->source, (int)link->target);
        if (!tr_buffer_append(out, text, (size_t)size))
            return false;
    }
    return true;
}
