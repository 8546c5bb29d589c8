#include <inttypes.h>

#include "attention/check.h"
#include "attention/forward.h"
#include "util/numbers.h"

/* ----------------------------------------------------------------------------------------------------------- products */

/* y = W x + b: [rows, outputs] */
typedef struct product {
    tr_matrix weight;
    const void *bias;
    tr_element bias_element;
    tr_rows x; /* contiguous rows */
    int64_t rows;
    float *y;
} product;

typedef struct product_buffers {
    tr_thread_buffers scratch; /* of matmul */
    tr_thread_buffers widened; /* float [ROWS, inputs] */
    tr_thread_buffers bias;    /* float [OUTPUTS] */
} product_buffers;

enum { ROWS = 96, OUTPUTS = 256 }; /* of a unit of work */

static void add_product_buffers(product_buffers *buffers, int max_inputs, int threads, tr_layout *layout)
{
    buffers->scratch = tr_layout_add_per_thread(layout, threads, tr_matmul_scratch(max_inputs), sizeof(float));
    buffers->widened = tr_layout_add_per_thread(layout, threads, ROWS * (uint64_t)max_inputs, sizeof(float));
    buffers->bias = tr_layout_add_per_thread(layout, threads, OUTPUTS, sizeof(float));
}

static int64_t output_parts(const product *p)
{
    return (p->weight.outputs - 1) / OUTPUTS + 1;
}

static int64_t product_units(const product *p)
{
    return ((p->rows - 1) / ROWS + 1) * output_parts(p);
}

/* Returns biases as floats: all of them if they are F32, else those of outputs first .. last - 1, widened. */
static const float *widen_bias(const tr_kernels *kernels, const product *p, float *memory, int first, int last)
{
    const tr_rows one = {p->bias_element, p->bias, {0}};
    const char *from = p->bias;
    if (!p->bias || p->bias_element == TR_ELEMENT_F32)
        return p->bias;
    tr_widen(kernels, &one, from + (size_t)first * tr_element_size(p->bias_element), 1, last - first, memory, 0);
    return memory;
}

static void product_block(const tr_kernels *kernels, const product *p, const product_buffers *buffers, int thread,
                          int64_t unit)
{
    const int64_t parts = output_parts(p), row = unit / parts * ROWS;
    const int rows = p->rows - row < ROWS ? (int)(p->rows - row) : ROWS;
    const int first = (int)(unit % parts) * OUTPUTS, left = p->weight.outputs - first,
              outputs = left < OUTPUTS ? left : OUTPUTS;
    const size_t inputs = (size_t)p->weight.inputs, all = (size_t)p->weight.outputs;
    const void *x = (const char *)p->x.data + (size_t)row * inputs * tr_element_size(p->x.element);
    if (p->x.element != TR_ELEMENT_F32) {
        float *widened = tr_thread_buffer(&buffers->widened, thread);
        tr_widen(kernels, &p->x, x, rows, p->weight.inputs, widened, inputs);
        x = widened;
    }
    tr_matrix weight = p->weight; /* of these outputs only, numbered from 0 */
    weight.data = (const char *)weight.data + (size_t)first * inputs * tr_type_size(weight.type);
    weight.outputs = outputs;
    const float *bias = widen_bias(kernels, p, tr_thread_buffer(&buffers->bias, thread), first, first + outputs);
    kernels->matmul(&(tr_matmul){.weight = &weight,
                                 .bias = bias && p->bias_element == TR_ELEMENT_F32 ? bias + first : bias,
                                 .rows = rows,
                                 .x = x,
                                 .x_stride = inputs,
                                 .activation = TR_ACTIVATION_NONE,
                                 .y = p->y + (size_t)row * all + first,
                                 .y_stride = all},
                    0, outputs, tr_thread_buffer(&buffers->scratch, thread));
}

/* A call of multi-head attention. */
typedef struct plan {
    const tr_attention_multi_head *layer;
    tr_call call;
    int threads;
    tr_kind_work work;
    product query, key, value, output;
    product_buffers buffers;
    float *joined; /* [batch, queries, d_model] */
} plan;

/* ---------------------------------------------------------------------------------------------------------- arguments */

static tr_status check_sizes(const tr_attention_multi_head *layer, tr_error *error)
{
    const tr_size sizes[] = {{"query_width", layer->query_width, TR_LENGTH_MAX},
                             {"key_width", layer->key_width, TR_LENGTH_MAX},
                             {"value_width", layer->value_width, TR_LENGTH_MAX},
                             {"d_model", layer->d_model, TR_LENGTH_MAX},
                             {"num_heads", layer->num_heads, TR_LENGTH_MAX}};
    tr_status status = tr_check_sizes(sizes, sizeof sizes / sizeof *sizes, error);
    if (status == TR_OK && layer->d_model % layer->num_heads)
        status = tr_fail(error, TR_ERROR_ARGUMENT, "d_model: %" PRId64 " is not divisible by %" PRId64 " num_heads",
                         layer->d_model, layer->num_heads);
    if (status == TR_OK && layer->d_model / layer->num_heads > TR_HEAD_MAX)
        status = tr_fail(error, TR_ERROR_ARGUMENT, "d_model: %" PRId64 " is more than %d for each of %" PRId64 " num_heads",
                         layer->d_model, TR_HEAD_MAX, layer->num_heads);
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

/* Checks an input tensor [batch, length, size]. */
static tr_status check_input(const char *name, const void *data, int64_t batch, int64_t length, int64_t size,
                             tr_error *error)
{
    const tr_status status = tr_check_pointer(name, data, error);
    return status == TR_OK ? tr_check_product(name, (const int64_t[]){batch, length, size}, 3, sizeof(float), error)
                           : status;
}

static void add_layer(tr_tensors *tensors, const tr_attention_multi_head *layer)
{
    const size_t size = tr_element_size(layer->element);
    const uint64_t n = (uint64_t)layer->d_model;
    tr_tensors_add(tensors, "query_weight", layer->query_weight, n * (uint64_t)layer->query_width, size, false);
    tr_tensors_add(tensors, "key_weight", layer->key_weight, n * (uint64_t)layer->key_width, size, false);
    tr_tensors_add(tensors, "value_weight", layer->value_weight, n * (uint64_t)layer->value_width, size, false);
    tr_tensors_add(tensors, "output_weight", layer->output_weight, n * n, size, false);
    tr_tensors_add(tensors, "query_bias", layer->query_bias, n, size, false);
    tr_tensors_add(tensors, "key_bias", layer->key_bias, n, size, false);
    tr_tensors_add(tensors, "value_bias", layer->value_bias, n, size, false);
    tr_tensors_add(tensors, "output_bias", layer->output_bias, n, size, false);
}

static tr_status check_overlap(const plan *p, int64_t batch, tr_element element, const void *q, const void *k, const void *v,
                               const float *out, tr_error *error)
{
    const tr_call *call = &p->call;
    const tr_attention_multi_head *layer = p->layer;
    const size_t size = tr_element_size(element);
    const uint64_t queries = (uint64_t)(batch * call->queries), keys = (uint64_t)(batch * call->keys);
    tr_tensors tensors = {0};
    tr_tensors_add(&tensors, "out", out, queries * (uint64_t)layer->d_model, sizeof(float), true);
    tr_tensors_add(&tensors, "weights", call->weights,
                   (uint64_t)call->pairs * (uint64_t)call->queries * (uint64_t)call->columns, sizeof(float), true);
    tr_tensors_add(&tensors, "q", q, queries * (uint64_t)layer->query_width, size, false);
    tr_tensors_add(&tensors, "k", k, keys * (uint64_t)layer->key_width, size, false);
    tr_tensors_add(&tensors, "v", v, keys * (uint64_t)layer->value_width, size, false);
    add_layer(&tensors, layer);
    tr_tensors_add_call(&tensors, call);
    return tr_tensors_check(&tensors, error);
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

static product product_of(const tr_attention_multi_head *layer, const void *weight, const void *bias, int64_t inputs,
                          tr_element element, const void *x, int64_t rows)
{
    const tr_type type = layer->element == TR_ELEMENT_BF16 ? TR_TYPE_BF16 : TR_TYPE_F32;
    return (product){.weight = {.type = type, .outputs = (int)layer->d_model, .inputs = (int)inputs, .data = weight},
                     .bias = bias,
                     .bias_element = layer->element,
                     .x = {element, x, {.row = (size_t)inputs}},
                     .rows = rows};
}

static void add_buffers(void *memory, tr_layout *layout)
{
    plan *p = memory;
    const tr_attention_multi_head *layer = p->layer;
    const size_t row = (size_t)layer->d_model * sizeof(float);
    p->query.y = tr_layout_add(layout, (uint64_t)p->query.rows, row);
    p->key.y = tr_layout_add(layout, (uint64_t)p->key.rows, row);
    p->value.y = tr_layout_add(layout, (uint64_t)p->value.rows, row);
    p->joined = tr_layout_add(layout, (uint64_t)p->query.rows, row);
    const int64_t inputs =
        tr_max_int64(tr_max_int64(layer->query_width, layer->d_model), tr_max_int64(layer->key_width, layer->value_width));
    add_product_buffers(&p->buffers, (int)inputs, p->threads, layout);
    tr_kind_add_buffers(&p->work, &p->call, p->threads, layout);
}

/* The heads of data [batch, length, d_model], read in place by strides: nothing is copied to split or join them. */
static tr_rows heads_in(const tr_call *call, const float *data, int length)
{
    const size_t row = (size_t)call->heads * (size_t)call->d_k;
    return (tr_rows){TR_ELEMENT_F32, data, {(size_t)length * row, (size_t)call->d_k, row}};
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
    const product *products[] = {&p->query, &p->key, &p->value};
    int i = 0;
    while (unit >= product_units(products[i]))
        unit -= product_units(products[i++]);
    product_block(p->call.kernels, products[i], &p->buffers, thread, unit);
}

static void project_output(const void *work, int thread, int64_t unit)
{
    const plan *p = work;
    product_block(p->call.kernels, &p->output, &p->buffers, thread, unit);
}

static tr_status run_plan(plan *p, tr_error *error)
{
    tr_layout layout;
    tr_status status = tr_layout_allocate(&layout, add_buffers, p, error);
    if (status != TR_OK)
        return status;
    connect(p);
    tr_phases phases = {0};
    const int64_t units = product_units(&p->query) + product_units(&p->key) + product_units(&p->value);
    tr_phases_add(&phases, units, project_inputs, p);
    tr_kind_phases(&p->work, &p->call, &phases);
    tr_phases_add(&phases, product_units(&p->output), project_output, p);
    status = tr_phases_run(&phases, p->threads, p->call.backend, error);
    tr_layout_free(&layout);
    return status;
}

static double products_work(const plan *p)
{
    const product *products[] = {&p->query, &p->key, &p->value, &p->output};
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
    return run_plan(&p, error);
}
