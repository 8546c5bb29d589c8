/* What a translation must read and compute, from the shapes of the network and the lengths of the sentences. */
#include "cli/bench.h"

#include <stdlib.h>

/* The work of a group of matrices. */
typedef struct matrix_load {
    double bytes;             /* to read all of them once */
    double macs[BENCH_TYPES]; /* for one row */
    bench_work *order;        /* collects their memory in the order of reading; NULL: not needed */
    bool complete;
} matrix_load;

static void add_memory(matrix_load *l, const void *data, size_t bytes)
{
    bench_work *w = l->order;
    l->bytes += (double)bytes;
    if (!w || !data)
        return;
    if (w->step_count == w->step_capacity) {
        const size_t capacity = w->step_capacity ? 2 * w->step_capacity : 64;
        bench_span *step = realloc(w->step, capacity * sizeof *step);
        if (!step) {
            l->complete = false;
            return;
        }
        w->step = step;
        w->step_capacity = capacity;
    }
    w->step[w->step_count++] = (bench_span){data, bytes};
}

static void add_vector(matrix_load *l, const void *data, int n)
{
    if (data)
        add_memory(l, data, (size_t)n * sizeof(float));
}

static void add_linear(matrix_load *l, const tr_linear *linear)
{
    const tr_matrix *m = &linear->weight;
    if (!m->data) /* there is no such product */
        return;
    add_memory(l, m->data,
               m->type == TR_TYPE_I8 ? tr_i8_bytes(m->outputs, m->inputs)
                                     : (size_t)m->outputs * (size_t)m->inputs * tr_type_size(m->type));
    add_vector(l, m->scale, m->outputs);
    add_vector(l, m->colsum, m->outputs);
    add_vector(l, linear->bias, m->outputs);
    l->macs[m->type] += (double)m->outputs * m->inputs;
}

static void add_feedforward(matrix_load *l, const tr_feedforward *f)
{
    add_linear(l, &f->up);
    if (f->kind == TR_FFN_GATED)
        add_linear(l, &f->gate);
    for (int i = 0; i < f->middles; i++)
        add_linear(l, &f->middle[i]);
    add_linear(l, &f->down);
}

/* What one row reads in a layer. The keys and values of cross-attention are computed with the source. */
static void add_layer(matrix_load *l, const tr_layer *layer)
{
    for (int i = 0; i < layer->count; i++) {
        const tr_sublayer *s = &layer->sublayers[i];
        switch (s->kind) {
        case TR_SUBLAYER_SELF_ATTENTION:
            add_linear(l, &s->attention.query), add_linear(l, &s->attention.key), add_linear(l, &s->attention.value);
            add_linear(l, &s->attention.output);
            break;
        case TR_SUBLAYER_CROSS_ATTENTION: add_linear(l, &s->attention.query), add_linear(l, &s->attention.output); break;
        case TR_SUBLAYER_SSRU:
            add_linear(l, &s->ssru.input), add_linear(l, &s->ssru.forget), add_linear(l, &s->ssru.output);
            break;
        case TR_SUBLAYER_AAN:
            add_feedforward(l, &s->aan.ffn);
            add_linear(l, &s->aan.gate_input), add_linear(l, &s->aan.gate_mean);
            break;
        case TR_SUBLAYER_FEED_FORWARD: add_feedforward(l, &s->feedforward); break;
        }
    }
}

/* A row of the encoder, and of the projections to all decoder layers' keys and values. */
static matrix_load encoder_load(const tr_network *n)
{
    matrix_load l = {.complete = true};
    for (int i = 0; i < n->config.encoder_layers; i++)
        add_layer(&l, &n->encoder[i]);
    for (int i = 0; i < n->config.decoder_layers; i++)
        for (int s = 0; s < n->decoder[i].count; s++)
            if (n->decoder[i].sublayers[s].kind == TR_SUBLAYER_CROSS_ATTENTION) {
                add_linear(&l, &n->decoder[i].sublayers[s].attention.key);
                add_linear(&l, &n->decoder[i].sublayers[s].attention.value);
            }
    return l;
}

/* The output projection; for few rows its coarse copy is read instead, where there is one (see tr_screen): 4 bits a weight
 * of an int8 matrix, else a byte. The few outputs that are then computed exactly do not count. */
static void add_output(matrix_load *l, const tr_network *n, double rows, bool screened)
{
    const tr_matrix *m = &n->output.weight;
    const bool int8 = m->type == TR_TYPE_I8;
    if (!screened || rows > tr_screen_rows(n->screen)) {
        add_linear(l, &n->output);
        return;
    }
    add_memory(l, n->screen->coarse, int8 ? tr_screen_bytes(m->outputs, m->inputs) : (size_t)m->outputs * (size_t)m->inputs);
    if (!int8) {
        add_vector(l, n->screen->scale, m->outputs);
        add_vector(l, n->screen->radius, m->outputs);
    }
    add_vector(l, n->output.bias, m->outputs);
    l->macs[int8 ? TR_TYPE_I8 : TR_TYPE_F32] += (double)m->outputs * m->inputs; /* the other copies are widened to floats */
}

/* A row of the decoder and of the output projection; cross-attention's keys and values are there already. */
static matrix_load decoder_load(const tr_network *n, double rows, bool screened, bench_work *order)
{
    matrix_load l = {.order = order, .complete = true};
    for (int i = 0; i < n->config.decoder_layers; i++)
        add_layer(&l, &n->decoder[i]);
    add_output(&l, n, rows, screened);
    return l;
}

static double sum(const double macs[BENCH_TYPES])
{
    double total = 0;
    for (int t = 0; t < BENCH_TYPES; t++)
        total += macs[t];
    return total;
}

/* Bytes. A pass reads, in all its groups of threads together,
 *     steps x (decoder layers + output matrix)           weights: once a step, however many sentences are in it
 *   + turns x (encoder layers + cross projections)       weights: once a turn of the encoder
 *   + (self + cross positions) x a position's keys and values in all decoder layers.
 * Multiply-adds:
 *     rows x (decoder layers + output matrix)            a row is a token of a hypothesis, including EOS
 *   + source positions x (encoder layers + cross projections)
 *   + positions attended to, in each layer, x 2 widths   q·k and the weighted sum of values; in f32, whatever the weights
 * are Embedding, LayerNorm, softmax and activations are left out: they are none of these. */
bool bench_work_make(bench_work *work, const tr_network *network, const bench_pass *pass)
{
    const tr_config *c = &network->config;
    const tr_profile *p = &pass->counts;
    *work = (bench_work){.step_rows = (double)p->rows / (double)p->steps};
    const matrix_load encoder = encoder_load(network),
                      decoder = decoder_load(network, work->step_rows, p->screened > 0, work);
    const tr_kv_shape shape = tr_decoder_kv_shape(network);
    const double position_bytes = (double)shape.layers * shape.heads * 2 * (double)shape.row_bytes;
    const double cache_bytes = (double)(p->self_positions + p->cross_positions) * position_bytes;
    const double decoder_width = tr_config_heads_width(c, c->decoder_heads);
    const double encoder_width = tr_config_heads_width(c, c->encoder_heads);
    const double decoder_attention =
        (double)(p->self_positions + p->cross_positions) * c->decoder_layers * 2 * decoder_width;
    const double encoder_attention = (double)p->encoder_pairs * c->encoder_layers * 2 * encoder_width;
    const double rows = (double)p->rows, positions = (double)p->source_rows;

    work->bytes = (double)p->steps * decoder.bytes + (double)p->encoder_batches * encoder.bytes + cache_bytes;
    work->step_bytes = decoder.bytes + cache_bytes / (double)p->steps;
    for (int t = 0; t < BENCH_TYPES; t++)
        work->macs[t] = rows * decoder.macs[t] + positions * encoder.macs[t];
    work->macs[TR_TYPE_F32] += decoder_attention + encoder_attention;
    work->target_macs = sum(decoder.macs) + decoder_attention / rows;
    work->source_macs = sum(encoder.macs) + encoder_attention / positions;
    return decoder.complete;
}

void bench_work_free(bench_work *work)
{
    free(work->step);
    *work = (bench_work){0};
}
