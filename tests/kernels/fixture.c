#include "fixture.h"

#include "../emulated.h"
#include "kernels/dispatch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/pack.h"
#include "model/weights.h"
#include "util/arena.h"

extern const tr_kernels tr_kernels_evexvnni; /* level_avxvnni.c compiled for AVX-512 VNNI's instructions */

static uint32_t state = 1;

static uint32_t random_bits(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

int random_int(int low, int high)
{
    return low + (int)(random_bits() % (uint32_t)(high - low + 1));
}

float *random_floats(size_t n, float scale)
{
    float *f = aligned_alloc(64, (n * sizeof *f + 127) & ~(size_t)63);
    assert_non_null(f);
    for (size_t i = 0; i < n; i++)
        f[i] = scale * ((float)(random_bits() >> 8) * 0x1p-23f - 1);
    return f;
}

/* As in networks: large matrices are in huge pages. */
static void *weight_memory(size_t bytes)
{
    const size_t alignment = bytes < (size_t)2 << 20 ? 64 : (size_t)2 << 20;
    void *memory = aligned_alloc(alignment, (bytes + 64 + alignment - 1) & ~(alignment - 1));
    assert_non_null(memory);
    if (alignment > 64)
        tr_huge_pages(memory, bytes);
    return memory;
}

void *as_type(tr_type type, const float *f, size_t n)
{
    void *out = weight_memory(n * tr_type_size(type));
    tr_from_f32(type, f, n, out);
    return out;
}

void expect_same(const tr_kernels *level, const char *what, const float *got, const float *wanted, size_t n, float tolerance)
{
    for (size_t i = 0; i < n; i++)
        if (tolerance > 0 ? !(fabsf(got[i] - wanted[i]) <= tolerance) : memcmp(&got[i], &wanted[i], sizeof *got) != 0)
            fail_msg("%s, %s: element %zu is %.9g, not %.9g", level->level, what, i, got[i], wanted[i]);
}

static void pack_weights(product *p)
{
    const tr_matrix *m = &p->matrix;
    p->stored = weight_memory(tr_i8_bytes(m->outputs, m->inputs));
    p->scale = random_floats((size_t)m->outputs, 1);
    p->colsum = calloc((size_t)m->outputs, sizeof *p->colsum);
    for (int o = 0; o < m->outputs; o += TR_PANEL)
        assert_true(tr_pack_panel(p->weights + (size_t)o * (size_t)m->inputs, m->outputs - o < 16 ? m->outputs - o : 16,
                                  m->inputs, (char *)p->stored + (size_t)(o / 16) * tr_panel_bytes(m->inputs), p->scale + o,
                                  p->colsum + o));
}

void store_weights(product *p, tr_type type)
{
    tr_matrix *m = &p->matrix;
    free(p->stored), free(p->scale), free(p->colsum);
    p->scale = NULL;
    p->colsum = NULL;
    if (type == TR_TYPE_I8)
        pack_weights(p);
    else
        p->stored = as_type(type, p->weights, (size_t)m->outputs * (size_t)m->inputs);
    *m = (tr_matrix){type, m->outputs, m->inputs, p->stored, p->scale, p->colsum, type == TR_TYPE_BF16, false, 0};
}

tr_quantised make_quantised(int rows, int width)
{
    const size_t stride = tr_quantised_bytes(width);
    return (tr_quantised){aligned_alloc(64, (size_t)rows * stride), stride, random_floats((size_t)rows, 1)};
}

void multiply(const tr_kernels *level, const tr_matmul *op, int first, int last, float *scratch)
{
    if (op->weight->type != TR_TYPE_I8) {
        level->matmul(op, first, last, scratch);
        return;
    }
    const tr_quantised q = make_quantised(op->rows, op->weight->inputs);
    tr_matmul with = *op;
    level->quantise(&(tr_quantise){op->rows, op->weight->inputs, op->x, op->x_stride, &q, op->weight->act_scale, false});
    with.x = NULL;
    with.q = &q;
    level->matmul(&with, first, last, scratch);
    free(q.rows), free(q.scale);
}

product make_product(int rows, int inputs, int outputs, tr_type type, bool bias, bool residual, int gap)
{
    product p = {0};
    const size_t stride = (size_t)outputs + 3;
    p.weights = random_floats((size_t)outputs * (size_t)inputs, 1);
    p.matrix = (tr_matrix){.outputs = outputs, .inputs = inputs};
    store_weights(&p, type);
    p.x = random_floats((size_t)rows * (size_t)(inputs + gap), 1);
    p.bias = random_floats((size_t)outputs, 1);
    p.residual = random_floats((size_t)rows * stride, 1);
    p.y = random_floats((size_t)rows * stride, 1);
    p.scratch = random_floats(tr_matmul_scratch(inputs), 1);
    p.op = (tr_matmul){.weight = NULL,
                       .bias = bias ? p.bias : NULL,
                       .rows = rows,
                       .x = p.x,
                       .x_stride = (size_t)(inputs + gap),
                       .residual = residual ? p.residual : NULL,
                       .residual_stride = stride,
                       .y = p.y,
                       .y_stride = stride};
    return p;
}

void free_product(product *p)
{
    free(p->weights), free(p->stored), free(p->x), free(p->bias), free(p->residual), free(p->y), free(p->scratch);
    free(p->scale), free(p->colsum);
}

/* The levels of this CPU, and those that exist only in this test. */
static int all_levels(const tr_kernels *levels[TR_LEVELS + 2])
{
    int count = tr_kernels_available(levels);
    levels[count++] = &tr_kernels_reference;
#if defined(TR_TEST_EVEXVNNI)
    for (int i = 0; i < count; i++)
        if (strcmp(levels[i]->level, "avx512vnni") == 0) {
            levels[count++] = &tr_kernels_evexvnni;
            break;
        }
#endif
    return count;
}

int integer_of(const tr_matrix *m, int o, int i)
{
    const int8_t *data = m->data;
    return data[(size_t)(o / 16) * tr_panel_bytes(m->inputs) + (size_t)(i / 4 * 64 + o % 16 * 4 + i % 4)];
}

double weight_of(const tr_matrix *m, int o, int i)
{
    return (double)m->scale[o] * integer_of(m, o, i);
}

void each_level(void (*check)(const tr_kernels *level))
{
    const tr_kernels *levels[TR_LEVELS + 2];
    const int count = all_levels(levels);
#ifdef __x86_64__
    const int first = is_emulated(); /* portable is slow there, and tested without the emulator */
#else
    const int first = 0;
#endif
    for (int i = first; i < count; i++)
        check(levels[i]);
}
