#include <inttypes.h>
#include <string.h>

#include "attention/check.h"
#include "attention/phases.h"

/* Copies between [batch, length, heads, size] and [batch, heads, length, size]. */
typedef struct move {
    int64_t length, heads;
    size_t size; /* bytes of a head's part of a row */
    const char *from;
    char *to;
    bool joins; /* false: splits */
} move;

/* Unit: a position of a batch. */
static void move_position(const void *work, int thread, int64_t unit)
{
    const move *m = work;
    const int64_t batch = unit / m->length, i = unit % m->length;
    (void)thread;
    for (int64_t h = 0; h < m->heads; h++) {
        const size_t apart = (size_t)((batch * m->heads + h) * m->length + i) * m->size;
        const size_t together = (size_t)(unit * m->heads + h) * m->size;
        memcpy(m->to + (m->joins ? together : apart), m->from + (m->joins ? apart : together), m->size);
    }
}

static tr_status check_arguments(tr_element element, int64_t batch, int64_t length, int64_t d_model, int64_t heads,
                                 const void *x, const void *out, tr_error *error)
{
    const tr_size sizes[] = {{"batch", batch, TR_LENGTH_MAX},
                             {"length", length, TR_LENGTH_MAX},
                             {"d_model", d_model, TR_LENGTH_MAX},
                             {"heads", heads, TR_LENGTH_MAX}};
    tr_status status = tr_check_element(element, error);
    if (status == TR_OK)
        status = tr_check_sizes(sizes, sizeof sizes / sizeof *sizes, error);
    if (status == TR_OK && d_model % heads)
        status =
            tr_fail(error, TR_ERROR_ARGUMENT, "d_model: %" PRId64 " is not divisible by %" PRId64 " heads", d_model, heads);
    if (status == TR_OK)
        status =
            tr_check_product("batch, length, d_model", (const int64_t[]){batch, length, d_model}, 3, sizeof(float), error);
    if (status == TR_OK)
        status = tr_check_pointer("x", x, error);
    if (status == TR_OK)
        status = tr_check_pointer("out", out, error);
    if (status != TR_OK)
        return status;
    const uint64_t count = (uint64_t)(batch * length * d_model);
    tr_tensors tensors = {0};
    tr_tensors_add(&tensors, "out", out, count, tr_element_size(element), true);
    tr_tensors_add(&tensors, "x", x, count, tr_element_size(element), false);
    return tr_tensors_check(&tensors, error);
}

static tr_status move_heads(tr_element element, int64_t batch, int64_t length, int64_t d_model, int64_t heads, const void *x,
                            void *out, bool joins, tr_error *error)
{
    const tr_status status = check_arguments(element, batch, length, d_model, heads, x, out, error);
    if (status != TR_OK)
        return status;
    const move m = {length, heads, (size_t)(d_model / heads) * tr_element_size(element), x, out, joins};
    tr_phases phases = {0};
    tr_phases_add(&phases, batch * length, move_position, &m);
    return tr_phases_run(&phases, tr_phases_threads(0, (double)batch * (double)length * (double)d_model, batch * length),
                         TR_THREADS_OPENMP, error);
}

tr_status tr_attention_split_heads(tr_element element, int64_t batch, int64_t length, int64_t d_model, int64_t heads,
                                   const void *x, void *out, tr_error *error)
{
    return move_heads(element, batch, length, d_model, heads, x, out, false, error);
}

tr_status tr_attention_join_heads(tr_element element, int64_t batch, int64_t length, int64_t d_model, int64_t heads,
                                  const void *x, void *out, tr_error *error)
{
    return move_heads(element, batch, length, d_model, heads, x, out, true, error);
}
