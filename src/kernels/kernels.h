/* The arithmetic of the engine: one table of function pointers (tr_kernels) for each CPU level, and the arguments of its
 * functions.
 *
 * Bits: all levels give the same bits. A sum of floats has 16 lanes that are added in the order given in vec16.h, no sum is
 * split between threads, a multiply-add rounds once, and sums of int8 products are exact. Two exceptions: products with F32,
 * F16 and BF16 weights at a level that is not `fused` (it also rounds after the multiplication), and products with a matrix
 * whose bf16_activations is set at a level with `bf16_pairs`. A row's result depends on that row only: not on other rows, on
 * the share of the outputs, or on the number of threads.
 *
 * Tensors are row-major. Strides count elements from one row to the next, unless a comment says bytes. Any address that the
 * element type allows will do, unless a comment says otherwise.
 *
 * What a function writes must not overlap what it reads, unless a comment says "may be".
 *
 * Functions keep no state: any number of threads may call them at once, each with its own outputs. */
#ifndef TR_KERNELS_KERNELS_H
#define TR_KERNELS_KERNELS_H

#include "util/numbers.h"

/* Outputs of a panel of weights; positions of a block of keys and values. */
enum { TR_PANEL = 16, TR_BLOCK = 32 };

/* n rounded up to a multiple of 16: panels of outputs and head sizes are padded to this. */
static inline int tr_pad16(int n)
{
    return (n + 15) & ~15;
}

/* ------------------------------------------------------------------------------------------------------ matrix product */

/* A matrix w [outputs, inputs].
 *
 * F32, F16, BF16: row-major; F16 and BF16 are widened to f32 as they are read.
 * I8: w[o, i] = scale[o] data[o, i], integers from -127 to 127, in panels of 16 outputs, inputs interleaved by 4 (k4n16):
 *     data[o, i] is byte ((o / 16) groups + i / 4) 64 + (o % 16) 4 + i % 4, where groups = ceil(inputs / 4).
 *     Bytes of outputs or inputs that do not exist are 0. */
typedef struct tr_matrix {
    tr_type type;
    int outputs, inputs;
    const void *data;
    const float *scale;    /* I8: [outputs] */
    const int32_t *colsum; /* I8: [outputs], sum over i of data[o, i] */
    /* BF16: a level with bf16_pairs may round the activations to BF16. */
    bool bf16_activations;
    /* I8: adds 127 colsum[o] to the sum before it is scaled and takes scale 127 colsum[o] off the bias, with Marian's
     * rounding: its engines have unsigned activations, and results must round as theirs do. */
    bool marian_u8_compat;
    float act_scale; /* I8: the factor that quantises the activations (tr_quantise.act_scale); 0: each row has its own */
} tr_matrix;

enum { TR_LINE = 64 };           /* bytes of one group of 4 inputs of a panel */
enum { TR_I8_INPUTS = 1 << 16 }; /* maximum inputs of an I8 matrix: a sum of so many products fits 32 bits */

/* Bytes of a panel of an I8 matrix. */
static inline size_t tr_panel_bytes(int inputs)
{
    return (size_t)((inputs + 3) / 4) * TR_LINE;
}

/* Bytes of an I8 matrix. */
static inline size_t tr_i8_bytes(int outputs, int inputs)
{
    return (size_t)(tr_pad16(outputs) / TR_PANEL) * tr_panel_bytes(inputs);
}

/* Activations quantised to int8, for products with I8 weights: q = round(127 x / max|x|), ties to even, and the row's scale
 * max|x| / 127. A NaN or infinity in a row makes its scale NaN or infinite. Each level stores the integers in its own way;
 * only the level that wrote them can read them. */
typedef struct tr_quantised {
    void *rows;    /* 64-byte aligned */
    size_t stride; /* bytes from row to row: a multiple of 64, at least tr_quantised_bytes(width) */
    float *scale;  /* [rows] */
} tr_quantised;

/* Bytes of a quantised row at any level. An odd number of cache lines, so that rows spread over the sets of the cache. */
static inline size_t tr_quantised_bytes(int width)
{
    return 2 * (((size_t)width + 63) & ~(size_t)63) + 64;
}

/* A running argmax of logits. The lowest id wins a tie. */
typedef struct tr_best {
    float value;
    int32_t id; /* -1: none yet */
    bool nan;   /* a NaN was seen */
} tr_best;

/* y[r, o] = act(sum over i of w[o, i] x[r, i] + bias[o]) gate[r, o] + residual[r, o]   for r < rows, o in the call's share.
 * With best, best[r] is updated with the argmax of row r over the share, and y is not written. */
typedef struct tr_matmul {
    const tr_matrix *weight; /* [outputs, inputs] */
    const float *bias;       /* [outputs] or NULL */
    int rows;
    const float *x; /* [rows, inputs]; with I8 weights q is read instead */
    size_t x_stride;
    const tr_quantised *q; /* I8: the quantised rows */
    tr_activation activation;
    const float *gate;     /* [rows, outputs] with y_stride, or NULL; may be y */
    const float *residual; /* [rows, outputs] or NULL; may be y */
    size_t residual_stride;
    float *y; /* [rows, outputs] */
    size_t y_stride;
    tr_best *best; /* [rows] or NULL */
} tr_matmul;

/* Floats of scratch memory that each thread needs for a matmul. */
static inline size_t tr_matmul_scratch(int inputs)
{
    return (size_t)TR_PANEL * (size_t)tr_pad16(inputs);
}

/* y[r, c] = sum over p < n of a[r, p] b[p, c], in the order of p; with add, y is added to. Where tr_matmul reads weights
 * [outputs, inputs], this reads b [inputs, outputs]. */
typedef struct tr_gemm_nn {
    int rows, n, width;
    const float *a; /* [rows, n] */
    size_t a_stride;
    const float *b; /* [n, width] */
    size_t b_stride;
    bool add;
    float *y; /* [rows, width] */
    size_t y_stride;
} tr_gemm_nn;

/* Quantises rows x [rows, width] (tr_quantised). With act_scale, q = round(x act_scale), clipped to -127 .. 127, and the
 * scale of each row is 1 / act_scale. */
typedef struct tr_quantise {
    int rows, width;
    const float *x;
    size_t x_stride;
    const tr_quantised *q; /* written */
    float act_scale;       /* 0: 127 / max|x| */
    bool shared_scale;     /* max|x| is taken over all rows */
} tr_quantise;

/* ---------------------------------------------------------------------------------------------------------- screening */

/* A coarse copy of an output projection, for the argmax of few rows, where reading the weights takes most of the time. The
 * copy bounds each logit from both sides, and only those that can be the greatest are computed exactly:
 *     |w[o]·x - scale[o] coarse[o]·x| <= radius[o] |x|
 * by Cauchy and Schwarz, with radius[o] >= |w[o] - scale[o] coarse[o]| plus a bound on rounding.
 *
 * Of F32, F16, BF16: coarse is int8 [outputs, inputs], row-major.
 * Of I8: coarse has 4 bits a weight, indices of tr_screen_levels, in panels of 16 outputs, inputs interleaved by 8 (k8n16):
 *     a line of 64 bytes has 8 inputs of 16 outputs, inputs 0 .. 3 in the low and 4 .. 7 in the high nibbles of bytes
 *     4 o .. 4 o + 3. Nibbles of inputs that do not exist have any value. The last line of a panel holds scale[16] and
 *     radius[16] in BF16, zero for outputs that do not exist. Here w and x are the quantised integers. */
typedef struct tr_screen {
    const tr_matrix *exact; /* [outputs, inputs] */
    const void *coarse;
    const float *scale, *radius; /* [outputs]; I8: NULL, they are in the panels */
    const int8_t *rows;          /* I8: the integers of exact once more, row-major [outputs, inputs], or NULL */
} tr_screen;

/* Lloyd-Max quantisation levels for a normal distribution (Lloyd, 1982; Max, 1960), rounded to integers small enough that
 * four products of int8 with a level plus TR_SCREEN_MAX fit 16 bits. */
enum { TR_SCREEN_LEVELS = 16, TR_SCREEN_MAX = 29 };
static const int8_t tr_screen_levels[TR_SCREEN_LEVELS] = {
    -TR_SCREEN_MAX, -22, -17, -13, -10, -7, -4, -1, 1, 4, 7, 10, 13, 17, 22, TR_SCREEN_MAX};

/* I8: lines of 64 bytes of a panel of the coarse copy. */
static inline int tr_screen_lines(int inputs)
{
    return (inputs + 7) / 8 + 1;
}

/* I8: bytes of the coarse copy. */
static inline size_t tr_screen_bytes(int outputs, int inputs)
{
    return (size_t)(tr_pad16(outputs) / TR_PANEL) * (size_t)tr_screen_lines(inputs) * TR_LINE;
}

enum { TR_SCREEN_ROWS = 3, TR_SCREEN_I8_ROWS = 2 }; /* maximum rows for which screening is faster than the whole product */

/* Maximum rows that a screen serves; 0 if screen is NULL. */
static inline int tr_screen_rows(const tr_screen *screen)
{
    return !screen ? 0 : screen->exact->type == TR_TYPE_I8 ? TR_SCREEN_I8_ROWS : TR_SCREEN_ROWS;
}

/* The argmax of logits, the same bits as a matmul with best, in two steps: screen_bounds for each share of the outputs;
 * then, with the greatest lower_bound of all shares, screened_best. */
typedef struct tr_screened {
    const tr_screen *screen;
    const float *bias; /* [outputs] */
    float slack;       /* bound on the rounding of logit plus bias: 2^-22 times the greatest finite |bias| */
    int rows;          /* at most tr_screen_rows(screen) */
    const float *x;    /* [rows, inputs] */
    size_t x_stride;
    const tr_quantised *q;      /* I8: the same rows quantised */
    float *upper_bounds;        /* [rows, outputs]: written by screen_bounds, read by screened_best */
    size_t upper_bounds_stride; /* a multiple of 16, at least outputs */
    float *lower_bound;         /* [rows]: written by screen_bounds for its share; screened_best reads the greatest of all */
    tr_best *best;              /* [rows] */
} tr_screened;

/* ---------------------------------------------------------------------------------------------------------- attention */

/* Softmax attention of single queries, for decoding (Vaswani et al., 2017, eq. 1; running maximum: Milakov and Gimelshein,
 * 2018):
 *     out[i, h] = sum over p < n of softmax(scale q[i, h]·k[h, p] + bias[p]) v[h, p],   n = length + i causal
 * Keys and values are in blocks of 32 positions. Block b has head h's keys [32, pad16(head_size)] at
 * blocks[b] + key_offset + h head_offset and its values, of the same shape, at blocks[b] + value_offset + h head_offset.
 * Both are F32 or F16, padded with zeros; the offsets count floats (4 bytes) for both types. */
typedef struct tr_attn_decode {
    int heads, queries, head_size;
    int length;                 /* positions that query 0 attends to, >= 1 */
    int causal;                 /* 1: each query attends to one position more than the one before; 0: all to the same */
    float scale;                /* 1 / sqrt(head_size) */
    const float *q;             /* [queries, heads, head_size] */
    size_t q_stride;            /* floats from query to query */
    tr_type type;               /* of keys and values */
    const float *const *blocks; /* [ceil(n of the last query / 32)] */
    size_t key_offset, value_offset, head_offset; /* floats */
    const float *prefetch;                        /* keys of the block that the next call reads first, or NULL */
    const float *bias;                            /* of head 0 and query 0: [length]; or NULL */
    ptrdiff_t bias_step, bias_head;               /* floats from query to query and from head to head */
    float *out;                                   /* [queries, heads, head_size] */
    size_t out_stride;                            /* floats from query to query */
    float *weights; /* NULL, or [heads, queries, length] to receive the softmax; with only_head [queries, length] */
    size_t weights_stride, weights_head; /* floats from query to query and from head to head */
    int only_head;                       /* the head whose weights are wanted; -1: all */
} tr_attn_decode;

/* Some of the keys of one block. */
typedef struct tr_attn_part {
    int block;
    uint32_t positions; /* bit j: key j of the block counts */
} tr_attn_part;

enum { TR_ATTN_ALL = 1 << 30 }; /* as back and on: no limit. Greater than every position and length */

/* Softmax attention of many queries of one head, for prefill and encoders, in tiles with a running maximum (Dao et al.,
 * 2022). Query i has the position p = position + i among the keys. It attends to the keys j for which all of these hold:
 *     p - back <= j <= p + on,  0 <= j < (limits ? limits[i] : keys),  j is in parts,  bias[i, j] is not -inf
 * Keys and values that a query does not attend to have no influence, even NaN; a query that attends to none has a result of
 * zero. K is stored transposed: block b has keys [pad16(head_size), 32] at blocks[b] + key_offset and values
 * [32, pad16(value_size)] at blocks[b] + value_offset (tr_attn_pack writes both). */
typedef struct tr_attn_prefill {
    int queries, keys, head_size, value_size;
    float scale;
    const float *q; /* [queries, head_size] */
    size_t q_stride;
    const float *const *blocks;      /* [ceil(keys / 32)] */
    size_t key_offset, value_offset; /* floats */
    int position, back, on;
    const int32_t *limits;     /* [queries], each at most keys; or NULL */
    const tr_attn_part *parts; /* [part_count] by ascending block, each block once; NULL: all keys */
    int part_count;
    const float *bias;     /* [queries, keys], added to the scores; or NULL */
    ptrdiff_t bias_step;   /* floats from query to query; 0: all share one row */
    const bool *nonfinite; /* [ceil(keys / 32)]: a value of the block is NaN or infinite; NULL: none is */
    float *out;            /* [queries, value_size] */
    size_t out_stride;
    float *weights; /* NULL, or [queries, keys]: receives the softmax where the query attends; the rest is not written */
    size_t weights_stride;
} tr_attn_prefill;

/* Copies n <= 32 keys and values into a block for tr_attn_prefill. Columns of values from value_size on become zero.
 * Positions from n on, and rows of packed_keys from head_size on, are not written. */
typedef struct tr_attn_pack {
    int n, head_size, value_size;
    tr_type from;                    /* of keys and values: F32 or BF16 */
    const void *keys, *values;       /* [n, head_size], [n, value_size] */
    size_t key_stride, value_stride; /* elements */
    float *packed_keys;              /* [pad16(head_size), 32]: keys transposed */
    float *packed_values;            /* [32, pad16(value_size)] */
} tr_attn_pack;

/* Writes the key and the value of one position of one head into its block (tr_attn_decode). */
typedef struct tr_kv_store {
    int head_size;
    int position;             /* in the block: 0 .. 31 */
    const float *key, *value; /* [head_size] */
    tr_type type;             /* of keys and values: F32, or F16, clipped to +-65504 */
    void *keys, *values;      /* [32, pad16(head_size)] */
} tr_kv_store;

/* ---------------------------------------------------------------------------------------------------------------- rows */

/* LayerNorm (Ba et al., 2016) of each row: y = gamma (x - mean) / sqrt(variance + epsilon) + beta. Without beta, RMSNorm
 * (Zhang and Sennrich, 2019): y = gamma x / sqrt(mean of x^2 + epsilon). With q, y is also quantised, each row by itself. */
typedef struct tr_layernorm {
    int rows, width;
    float epsilon;
    const float *gamma, *beta; /* [width]; beta may be NULL */
    const float *x;            /* [rows, width] */
    size_t x_stride;
    float *y; /* [rows, width]; may be x */
    size_t y_stride;
    const tr_quantised *q; /* written, or NULL */
} tr_layernorm;

/* A step of a Simpler Simple Recurrent Unit (Kim et al., 2019, eq. 4), element by element:
 *     state = forget state + (1 - forget) x,   out = max(0, state) */
typedef struct tr_ssru_step {
    int width;
    const float *x, *forget; /* [width]; forget is between 0 and 1 */
    float *state;            /* [width], updated in place */
    float *out;              /* [width]; may be x or forget */
} tr_ssru_step;

/* Partial log-sum-exp: the maximum of some numbers, and the sum of e^(x - max) over them. Of no numbers, or of -inf only,
 * max is -inf and sum is 0. A NaN makes sum NaN. */
typedef struct tr_exp_sum {
    float max, sum;
} tr_exp_sum;

/* The `capacity` greatest numbers seen so far, in descending order; of equal ones the lower id first. -inf is left out. */
typedef struct tr_top {
    int capacity, count;
    bool nan;      /* a NaN was seen */
    float *values; /* [capacity] */
    int32_t *ids;  /* [capacity] */
} tr_top;

/* --------------------------------------------------------------------------------------------------------------- table */

/* A share [begin, end) of the outputs, where a function takes one: begin is a multiple of 16, and end is too, unless it is
 * the number of outputs. scratch: tr_matmul_scratch(inputs) floats of the calling thread. */
typedef struct tr_kernels {
    const char *level; /* as in TRANSLATE_CPU: "avx2" */
    bool fused;        /* multiply-adds of products with F32, F16 and BF16 weights round once */
    bool bf16_pairs;   /* products of BF16 with BF16, if bf16_activations of the matrix allows */

    void (*matmul)(const tr_matmul *op, int begin, int end, float *scratch);
    void (*gemm_nn)(const tr_gemm_nn *op);
    void (*quantise)(const tr_quantise *op);

    /* Writes the int8 copy [outputs, inputs], scale and radius of outputs [begin, end) of an F32, F16 or BF16 matrix. */
    void (*screen_build)(const tr_matrix *exact, int8_t *coarse, float *scale, float *radius, int begin, int end);
    /* Writes one panel of the 4-bit copy of an I8 matrix, tr_screen_lines(inputs) lines, of the outputs from begin on. */
    void (*screen_pack)(const tr_matrix *exact, int begin, void *panel);
    void (*screen_bounds)(const tr_screened *op, int begin, int end, float *scratch);
    void (*screened_best)(const tr_screened *op, int begin, int end, float *scratch);

    void (*attn_decode)(const tr_attn_decode *op);
    void (*attn_prefill)(const tr_attn_prefill *op);
    bool (*attn_pack)(const tr_attn_pack *op); /* returns whether a value is NaN or infinite */
    void (*kv_store)(const tr_kv_store *op);

    void (*layernorm)(const tr_layernorm *op);
    /* out[width] = scale table[index] + add; out and add are [table->inputs], add may be NULL or out */
    void (*embed_row)(float *out, const tr_matrix *table, int index, float scale, const float *add);
    void (*ssru_step)(const tr_ssru_step *op);
    /* Average attention (Zhang et al., 2018): mean = (count mean + x) / (count + 1), where mean is that of count rows. */
    void (*aan_step)(float *mean, const float *x, int count, int width);
    /* y = a + b, each [width]; y may be a or b */
    void (*add)(float *y, const float *a, const float *b, int width);
    /* y[n] = x > 0 ? x + 1 : e^x, which is elu(x) + 1; y may be x */
    void (*elu_plus_1)(float *y, const float *x, int n);
    /* y[n] = softmax of x[n]; -inf becomes 0, and all -inf become all 0; y may be x */
    void (*softmax)(float *y, const float *x, int n);
    tr_exp_sum (*exp_sum)(const float *x, int n);
    /* Adds x[n], whose ids are first, first + 1, ..., all greater than ids added before. */
    void (*top)(tr_top *top, const float *x, int n, int32_t first);

    /* Measures the CPU: does multiply-adds in registers only, with weights of the type, some hundreds or thousands for each
     * of `turns`, and returns how many. */
    double (*peak)(tr_type type, int64_t turns);
    /* Measures memory: reads it in order with the widest loads. ahead: prefetch distance in bytes; 0: none. */
    void (*read_memory)(const void *memory, size_t bytes, size_t ahead);
} tr_kernels;

#endif
