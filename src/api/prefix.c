#include "api/prefix.h"

#include <stdlib.h>
#include <string.h>

#include "api/model.h"

enum { SHOWN = 64 }; /* bytes of a prefix in a message */

/* The unknown token, as the target vocabulary has it; -1: it has none. */
static int32_t unknown_id(const tr_model *model)
{
    size_t size;
    const char *piece = tr_source_piece(model, model->package.config.unk_id, &size);
    return piece ? tr_target_id(model, piece, size) : -1;
}

tr_status tr_prefix_encode(const tr_model *model, const char *prefix, int most, tr_ids *ids, tr_error *error)
{
    const size_t size = strlen(prefix);
    const int shown = (int)(size < SHOWN ? size : SHOWN);
    const int32_t unknown = unknown_id(model);
    tr_tokens tokens;
    tr_status status = tr_tokenize_target(model, prefix, size, &tokens, error);
    if (status == TR_OK && tokens.count > (size_t)most)
        status = tr_fail(error, TR_ERROR_ARGUMENT, "prefix '%.*s': has %zu tokens, but a translation has %d at most", shown,
                         prefix, tokens.count, most);
    for (size_t i = 0; status == TR_OK && i < tokens.count; i++)
        if (tokens.ids[i] == unknown)
            status = tr_fail(error, TR_ERROR_ARGUMENT,
                             "prefix '%.*s': the model's target vocabulary cannot spell it; leave out what is foreign to it",
                             shown, prefix);
    if (status == TR_OK && !tr_ids_append(ids, tokens.ids, tokens.count))
        status = tr_fail(error, TR_ERROR_MEMORY, "prefix: out of memory");
    tr_tokens_free(&tokens);
    return status;
}
