/* The output projection cut to the tokens that can come at all. */
#include "model/bind.h"
#include "model/gather.h"

#include <string.h>

/* What stands for what, both ways. */
static void bind_tables(tr_binder *b)
{
    tr_network *n = b->network;
    const tr_config *c = &n->config;
    int32_t *tokens = tr_bind_memory(b, (size_t)c->allowed_count * sizeof *tokens);
    int32_t *outputs = tr_bind_memory(b, (size_t)c->target_vocabulary * sizeof *outputs);
    if (!tokens || !outputs)
        return;
    memcpy(tokens, c->allowed, (size_t)c->allowed_count * sizeof *tokens);
    memset(outputs, -1, (size_t)c->target_vocabulary * sizeof *outputs);
    for (int o = 0; o < c->allowed_count; o++)
        outputs[tokens[o]] = o;
    n->output_tokens = tokens;
    n->token_outputs = outputs;
}

void tr_bind_allowed(tr_binder *b)
{
    tr_matrix *m = &b->network->output.weight;
    const tr_matrix all = *m;
    const int count = b->network->config.allowed_count;
    const bool int8 = all.type == TR_TYPE_I8;
    tr_gathered to = {.data = tr_bind_memory(b, tr_matrix_bytes(&all, count)),
                      .scale = int8 ? tr_bind_memory(b, (size_t)count * sizeof *to.scale) : NULL,
                      .colsum = int8 ? tr_bind_memory(b, (size_t)count * sizeof *to.colsum) : NULL};
    bind_tables(b);
    if (b->status != TR_OK)
        return;
    tr_gather_outputs(&all, b->network->output_tokens, 0, count, &to);
    m->outputs = count;
    m->data = to.data;
    m->scale = to.scale;
    m->colsum = to.colsum;
}
