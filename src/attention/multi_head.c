#include "attention/multi_head.h"

#include <inttypes.h>

#include "attention/buffers.h"
#include "attention/check.h"

/* What a call of multi-head attention works on. */
typedef struct plan {
    const tr_attention_multi_head *layer;
    tr_call call;
    int threads;
    tr_kind_work work;
    tr_product query, key, value, output;
    tr_product_rooms rooms;
    float *joined; /* [batch, queries, num_hiddens] */
} plan;

/* ---------------------------------------------------------------------------------------------------------- arguments */

static tr_status check_sizes(const tr_attention_multi_head *layer, tr_error *error)
{
    const tr_size sizes[] = {{"query_size", layer->query_width, TR_LENGTH_MOST},
                             {"key_size", layer->key_width, TR_LENGTH_MOST},
                             {"value_size", layer->value_width, TR_LENGTH_MOST},
                             {"num_hiddens", layer->d_model, TR_LENGTH_MOST},
                             {"num_heads", layer->num_heads, TR_LENGTH_MOST}};
    tr_status status = tr_check_sizes(sizes, sizeof sizes / sizeof *sizes, error);
    if (status == TR_OK && layer->d_model % layer->num_heads)
        status = tr_fail(error, TR_ERROR_ARGUMENT, "num_hiddens: %" PRId64 " is not divisible by %" PRId64 " num_heads",
                         layer->d_model, layer->num_heads);
    if (status == TR_OK && layer->d_model / layer->num_heads > TR_HEAD_MOST)
        status =
            tr_fail(error, TR_ERROR_ARGUMENT, "num_hiddens: %" PRId64 " is more than %d for each of %" PRId64 " num_heads",
                    layer->d_model, TR_HEAD_MOST, layer->num_heads);
    return status == TR_OK ? tr_check_element(layer->element, error) : status;
}

static tr_status check_layer(const tr_attention_multi_head *layer, tr_error *error)
{
    tr_status status = tr_check_pointer("layer", layer, error);
    if (status == TR_OK)
        status = check_sizes(layer, error);
    if (status != TR_OK)
        return status;
    const struct {
        const char *name;
        const void *weight;
        int64_t inputs;
    } weights[] = {{"query_weight", layer->query_weight, layer->query_width},
                   {"key_weight", layer->key_weight, layer->key_width},
                   {"value_weight", layer->value_weight, layer->value_width},
                   {"output_weight", layer->output_weight, layer->d_model}};
    for (int i = 0; status == TR_OK && i < 4; i++) {
        status = tr_check_pointer(weights[i].name, weights[i].weight, error);
        if (status == TR_OK)
            status = tr_check_product(weights[i].name, (const int64_t[]){layer->d_model, weights[i].inputs}, 2,
                                      sizeof(float), error);
    }
    return status;
}

/* A tensor that goes in: [batch, length, size]. */
static tr_status check_input(const char *name, const void *data, int64_t batch, int64_t length, int64_t size,
                             tr_error *error)
{
    const tr_status status = tr_check_pointer(name, data, error);
    return status == TR_OK ? tr_check_product(name, (const int64_t[]){batch, length, size}, 3, sizeof(float), error)
                           : status;
}

static void add_layer(tr_buffers *buffers, const tr_attention_multi_head *layer)
{
    const size_t size = tr_element_size(layer->element);
    const uint64_t n = (uint64_t)layer->d_model;
    tr_buffers_add(buffers, "query_weight", layer->query_weight, n * (uint64_t)layer->query_width, size, false);
    tr_buffers_add(buffers, "key_weight", layer->key_weight, n * (uint64_t)layer->key_width, size, false);
    tr_buffers_add(buffers, "value_weight", layer->value_weight, n * (uint64_t)layer->value_width, size, false);
    tr_buffers_add(buffers, "output_weight", layer->output_weight, n * n, size, false);
    tr_buffers_add(buffers, "query_bias", layer->query_bias, n, size, false);
    tr_buffers_add(buffers, "key_bias", layer->key_bias, n, size, false);
    tr_buffers_add(buffers, "value_bias", layer->value_bias, n, size, false);
    tr_buffers_add(buffers, "output_bias", layer->output_bias, n, size, false);
}

static tr_status check_overlap(const plan *p, int64_t batch, tr_element element, const void *q, const void *k, const void *v,
                               const float *out, tr_error *error)
{
    const tr_call *call = &p->call;
    const tr_attention_multi_head *layer = p->layer;
    const size_t size = tr_element_size(element);
    const uint64_t queries = (uint64_t)(batch * call->queries), keys = (uint64_t)(batch * call->keys);
    tr_buffers buffers = {0};
    tr_buffers_add(&buffers, "out", out, queries * (uint64_t)layer->d_model, sizeof(float), true);
    tr_buffers_add(&buffers, "weights", call->weights,
                   (uint64_t)call->pairs * (uint64_t)call->queries * (uint64_t)call->columns, sizeof(float), true);
    tr_buffers_add(&buffers, "q", q, queries * (uint64_t)layer->query_width, size, false);
    tr_buffers_add(&buffers, "k", k, keys * (uint64_t)layer->key_width, size, false);
    tr_buffers_add(&buffers, "v", v, keys * (uint64_t)layer->value_width, size, false);
    add_layer(&buffers, layer);
    tr_buffers_add_call(&buffers, call);
    return tr_buffers_check(&buffers, error);
}

static tr_status check_tensors(plan *p, int64_t batch, tr_element element, const void *q, const void *k, const void *v,
                               const float *out, float *weights, tr_error *error)
{
    tr_call *call = &p->call;
    tr_status status = tr_check_element(element, error);
    if (status == TR_OK)
        status = check_input("q", q, batch, call->queries, p->layer->query_width, error);
    if (status == TR_OK)
        status = check_input("k", k, batch, call->keys, p->layer->key_width, error);
    if (status == TR_OK)
        status = check_input("v", v, batch, call->keys, p->layer->value_width, error);
    if (status == TR_OK)
        status = check_input("out", out, batch, call->queries, p->layer->d_model, error);
    if (status == TR_OK)
        status = tr_check_projections(call, error);
    if (status == TR_OK && weights)
        status = tr_check_product("weights", (const int64_t[]){call->pairs, call->queries, call->columns}, 3, sizeof(float),
                                  error);
    call->weights = weights;
    if (status == TR_OK)
        status = check_overlap(p, batch, element, q, k, v, out, error);
    return status == TR_OK ? tr_check_lengths(call, error) : status;
}

/* ------------------------------------------------------------------------------------------------------------- layout */

static tr_product product_of(const tr_attention_multi_head *layer, const void *weight, const void *bias, int64_t inputs,
                             tr_element element, const void *x, int64_t rows)
{
    const tr_type type = layer->element == TR_ELEMENT_BF16 ? TR_TYPE_BF16 : TR_TYPE_F32;
    return (tr_product){.weight = {.type = type, .outputs = (int)layer->d_model, .inputs = (int)inputs, .data = weight},
                        .bias = bias,
                        .bias_element = layer->element,
                        .x = {element, x, {.row = (size_t)inputs}},
                        .rows = rows};
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void lay_out(void *memory, tr_room *room)
{
    plan *p = memory;
    const tr_attention_multi_head *layer = p->layer;
    const size_t row = (size_t)layer->d_model * sizeof(float);
    p->query.y = tr_room_take(room, (uint64_t)p->query.rows, row);
    p->key.y = tr_room_take(room, (uint64_t)p->key.rows, row);
    p->value.y = tr_room_take(room, (uint64_t)p->value.rows, row);
    p->joined = tr_room_take(room, (uint64_t)p->query.rows, row);
    const int64_t inputs = larger(larger(layer->query_width, layer->d_model), larger(layer->key_width, layer->value_width));
    tr_products_lay_out(&p->rooms, (int)inputs, p->threads, room);
    tr_kind_lay_out(&p->work, &p->call, p->threads, room);
}

/* Heads as they lie side by side in [batch, length, num_hiddens]: nothing is split or joined. */
static tr_rows heads_in(const tr_call *call, const float *data, int length)
{
    const size_t row = (size_t)call->heads * (size_t)call->key_size;
    return (tr_rows){TR_ELEMENT_F32, data, {(size_t)length * row, (size_t)call->key_size, row}};
}

static void connect(plan *p)
{
    tr_call *call = &p->call;
    call->q = heads_in(call, p->query.y, call->queries);
    call->k = heads_in(call, p->key.y, call->keys);
    call->v = heads_in(call, p->value.y, call->keys);
    call->out = p->joined;
    call->out_strides = call->q.strides;
    p->output.x.data = p->joined;
}

/* --------------------------------------------------------------------------------------------------------------- work */

static void project_inputs(const void *work, int thread, int64_t unit)
{
    const plan *p = work;
    const tr_product *products[] = {&p->query, &p->key, &p->value};
    int i = 0;
    while (unit >= tr_product_units(products[i]))
        unit -= tr_product_units(products[i++]);
    tr_product_run(p->call.kernels, products[i], &p->rooms, thread, unit);
}

static void project_output(const void *work, int thread, int64_t unit)
{
    const plan *p = work;
    tr_product_run(p->call.kernels, &p->output, &p->rooms, thread, unit);
}

static tr_status run(plan *p, tr_error *error)
{
    tr_room room;
    tr_status status = tr_room_make(&room, lay_out, p, error);
    if (status != TR_OK)
        return status;
    connect(p);
    tr_phases phases = {0};
    const int64_t units = tr_product_units(&p->query) + tr_product_units(&p->key) + tr_product_units(&p->value);
    tr_phases_add(&phases, units, project_inputs, p);
    tr_kind_phases(&p->work, &p->call, &phases);
    tr_phases_add(&phases, tr_product_units(&p->output), project_output, p);
    status = tr_phases_run(&phases, p->threads, error);
    tr_room_free(&room);
    return status;
}

static double products_work(const plan *p)
{
    const tr_product *products[] = {&p->query, &p->key, &p->value, &p->output};
    double work = 0;
    for (int i = 0; i < 4; i++)
        work += (double)products[i]->rows * products[i]->weight.inputs * products[i]->weight.outputs;
    return work;
}

tr_status tr_attention_multi_head_forward(const tr_attention_multi_head *layer, const tr_attention_options *options,
                                          const tr_attention_mask *mask, int64_t batch, int64_t queries, int64_t keys,
                                          tr_element element, const void *q, const void *k, const void *v, float *out,
                                          float *weights, tr_error *error)
{
    plan p = {.layer = layer};
    tr_status status = check_layer(layer, error);
    if (status != TR_OK)
        return status;
    const int64_t size = layer->d_model / layer->num_heads;
    const tr_attention_shape shape = {batch, layer->num_heads, queries, keys, size, size};
    status = tr_check_call(&p.call, &shape, options, mask, error);
    if (status == TR_OK)
        status = check_tensors(&p, batch, element, q, k, v, out, weights, error);
    if (status != TR_OK)
        return status;
    p.query = product_of(layer, layer->query_weight, layer->query_bias, layer->query_width, element, q, batch * queries);
    p.key = product_of(layer, layer->key_weight, layer->key_bias, layer->key_width, element, k, batch * keys);
    p.value = product_of(layer, layer->value_weight, layer->value_bias, layer->value_width, element, v, batch * keys);
    p.output =
        product_of(layer, layer->output_weight, layer->output_bias, layer->d_model, TR_ELEMENT_F32, NULL, batch * queries);
    p.output.y = out;
    p.threads = tr_call_threads(&p.call, tr_call_work(&p.call) + products_work(&p));
    return run(&p, error);
}
