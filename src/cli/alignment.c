#include "cli/alignment.h"

#include "cli/cli.h"

#include <stdio.h>

/* -------------------------------------------------------------------------------------------------------------- options */

int cli_alignment_check(const cli_settings *s)
{
    const char *name = s->alignment_layer           ? "--alignment-layer"
                       : s->alignment_head          ? "--alignment-head"
                       : s->alignment_threshold < 1 ? "--alignment-threshold"
                                                    : NULL;
    return name && !s->alignment ? cli_usage(s, "%s: needs --alignment", name) : CLI_DONE;
}

int cli_alignment_options(const cli_settings *s, const cli_model *model, tr_align_options *options)
{
    options->layer = s->alignment_layer ? s->alignment_layer - 1 : TR_ALIGN_AUTO;
    options->head = s->alignment_head ? s->alignment_head - 1 : TR_ALIGN_AUTO;
    options->threshold = s->alignment_threshold;
    if (s->alignment_layer > model->info.decoder_layers)
        return cli_fail("--alignment-layer %d: %s has %d", s->alignment_layer, model->path, model->info.decoder_layers);
    if (s->alignment_head > model->info.decoder_heads)
        return cli_fail("--alignment-head %d: %s has %d", s->alignment_head, model->path, model->info.decoder_heads);
    return CLI_DONE;
}

/* ------------------------------------------------------------------------------------------------------------- printing */

bool cli_append_links(const tr_alignment *alignment, tr_buffer *out)
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

json_t *cli_json_links(const tr_alignment *alignment)
{
    json_t *array = json_array();
    for (size_t i = 0; i < alignment->count; i++)
        array = tr_json_append(array, json_pack("[i,i]", (int)alignment->links[i].source, (int)alignment->links[i].target));
    return array;
}

json_t *cli_json_spans(const tr_span *spans, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        array = tr_json_append(array, json_pack("[I,I]", (json_int_t)spans[i].begin, (json_int_t)spans[i].end));
    return array;
}

json_t *cli_json_pieces(const tr_model *model, bool target, const tr_tokens *tokens)
{
    json_t *array = json_array();
    for (size_t i = 0; i < tokens->count; i++) {
        size_t size = 0;
        const char *piece =
            target ? tr_target_piece(model, tokens->ids[i], &size) : tr_source_piece(model, tokens->ids[i], &size);
        array = tr_json_append(array, tr_json_text(piece ? piece : "<unk>", piece ? size : 5, "<unk>"));
    }
    return array;
}
