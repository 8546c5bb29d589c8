/* The arithmetic, as one table of function pointers per CPU level. All levels give the same bits: every sum runs over 16
 * lanes in the order of vec16.h, nothing is split along the inputs, multiply-adds round once, and sums of int8 products are
 * exact. Two exceptions: products with f32, f16 and bf16 weights where a level says that it is not fused (it rounds between
 * multiplication and addition there and differs in the last bits), and products with a matrix that lets x be rounded to bf16
 * where a level says that it multiplies pairs of that. A row's result depends on nothing but that row: not on the other
 * rows, the share of the work, or the number of threads. */
#ifndef TR_KERNELS_KERNELS_H
#define TR_KERNELS_KERNELS_H

#include "kernels/types.h"

/* Outputs come in panels of 16, attention positions in blocks of 32, head sizes are padded to multiples of 16. */
enum { TR_PANEL = 16, TR_BLOCK = 32 };

static inline int tr_pad16(int n)
{
    return (n + 15) & ~15;
}

/* A matrix [outputs, inputs]. F32, F16 and BF16 lie row-major: one output's weights together; halves are widened to f32 as
 * they are read. I8 lies in panels of 16 outputs with the inputs interleaved by 4 (k4n16), data[((o / 16) groups + i / 4) 64
 * + (o % 16) 4 + i % 4],  groups = ceil(inputs / 4), zero where there is no output or input; a weight is scale[o] times the
 * integer, which is never -128. */
typedef struct tr_matrix {
    tr_type type;
    int outputs, inputs;
    const void *data;
    const float *scale;    /* I8: [outputs] */
    const int32_t *colsum; /* I8: [outputs], the sum of an output's integers */
    bool bf16_activations; /* BF16: a level that multiplies BF16 with BF16 may round the other side to it */
    bool marian_u8_compat; /* I8: sums are scaled, and rounded, with 127 colsum added that the bias takes off again: so do
                     Marian's engines, whose inputs are unsigned, and an input near .5 is rounded the same way */
    float act_scale; /* I8: what the rows that it multiplies are quantised with (see tr_quantise); 0: they have their own */
} tr_matrix;

enum { TR_LINE = 64 };           /* bytes of a panel's 4 inputs of 16 outputs */
enum { TR_I8_INPUTS = 1 << 16 }; /* inputs of an int8 matrix at most: sums cannot overflow 32 bits */

static inline size_t tr_panel_bytes(int inputs)
{
    return (size_t)((inputs + 3) / 4) * TR_LINE;
}

static inline size_t tr_i8_bytes(int outputs, int inputs)
{
    return (size_t)(tr_pad16(outputs) / TR_PANEL) * tr_panel_bytes(inputs);
}

/* Rows as products with int8 weights read them: round(x 127 / max|x|) and the scale max|x| / 127, ties to even (NaN and
 * infinity make the scale NaN or infinite, and with it all that comes of the row). How integers are stored is the level's
 * own affair: tr_quantised_bytes is enough for each, rows begin at multiples of 64 bytes. */
typedef struct tr_quantised {
    void *rows;
    size_t stride; /* bytes from row to row: a multiple of 64, at least tr_quantised_bytes */
    float *scale;  /* [rows] */
} tr_quantised;

static inline size_t tr_quantised_bytes(int width)
{
    return 2 * (((size_t)width + 63) & ~(size_t)63) + 64; /* an odd number of lines: rows spread over the cache's sets */
}

/* A running argmax over logits; id -1: none yet. The lowest id wins a tie. */
typedef struct tr_best {
    float value;
    int32_t id;
    bool nan; /* a NaN was seen */
} tr_best;

/* y[r, o] = activation(sum over i of w[o, i] x[r, i] + bias[o]) gate[r, o] + residual[r, o],  r < rows, o in the caller's
 * share of the outputs. Or, with best: the argmax over that share, and no y. */
typedef struct tr_matmul {
    const tr_matrix *weight;
    const float *bias; /* [outputs] or NULL */
    int rows;
    const float *x;        /* [rows, inputs]; with I8 weights q is read instead */
    size_t x_stride;       /* floats from row to row */
    const tr_quantised *q; /* the rows quantised by the same level */
    tr_activation activation;
    const float
        *gate; /* [rows, outputs] or NULL: activation(...) times it, in place of adding; as far apart as y, may be y */
    const float *residual; /* [rows, outputs] or NULL; may be y itself */
    size_t residual_stride;
    float *y; /* [rows, outputs] */
    size_t y_stride;
    tr_best *best; /* [rows] or NULL */
} tr_matmul;

/* A coarse copy of a matrix, by which the few outputs are found that can be the greatest, and the bounds that prove it:
 *     |w[o]·x - scale[o] coarse[o]·x| <= radius[o] |x|
 * by the inequality of Cauchy and Schwarz, radius[o] >= |w[o] - scale[o] coarse[o]| plus what rounding can add. For few
 * rows, where reading is all that counts. Of F32, F16 and BF16 the copy is int8 by rows: a quarter of f32. Of I8 it is 4
 * bits in panels (k8n16): numbers of tr_screen_levels, 8 inputs of 16 outputs in a line of 64 bytes, inputs 0 to 3 in the
 * low and 4 to 7 in the high nibbles of bytes 4 o .. 4 o + 3, anything where there is no input. A line behind them holds
 * scale[16] and radius[16] in BF16, zero where there is no output. There w and x are what was quantised. */
typedef struct tr_screen {
    const tr_matrix *exact; /* [outputs, inputs] */
    const void *coarse;
    const float *scale, *radius; /* [outputs]; I8: NULL, they are in the panels */
    const int8_t *rows;          /* I8: [outputs, inputs], the integers of exact, at any address; or NULL */
} tr_screen;

/* Levels that leave out least of what is distributed normally (Lloyd, 1982, and Max, 1960), near enough, in whole numbers of
 * which, raised above zero, the products of four with int8 fit 16 bits. */
enum { TR_SCREEN_LEVELS = 16, TR_SCREEN_MOST = 29 };
static const int8_t tr_screen_levels[TR_SCREEN_LEVELS] = {
    -TR_SCREEN_MOST, -22, -17, -13, -10, -7, -4, -1, 1, 4, 7, 10, 13, 17, 22, TR_SCREEN_MOST};

static inline int tr_screen_lines(int inputs) /* of a panel, I8 */
{
    return (inputs + 7) / 8 + 1;
}

static inline size_t tr_screen_bytes(int outputs, int inputs) /* I8 */
{
    return (size_t)(tr_pad16(outputs) / TR_PANEL) * (size_t)tr_screen_lines(inputs) * TR_LINE;
}

enum { TR_SCREEN_ROWS = 3, TR_SCREEN_I8_ROWS = 2 }; /* rows up to which screening pays */

static inline int tr_screen_rows(const tr_screen *screen) /* that it serves; 0: there is none */
{
    return !screen ? 0 : screen->exact->type == TR_TYPE_I8 ? TR_SCREEN_I8_ROWS : TR_SCREEN_ROWS;
}

/* The argmax over a share of the outputs, the same bits as matmul with best would find, for few rows: first the bounds of
 * each share, then, with the greatest lower bound of all shares, what can be the greatest. */
typedef struct tr_screened {
    const tr_screen *screen;
    const float *bias; /* [outputs] */
    float slack;       /* what rounding can add to a logit besides: 2^-22 of the greatest finite |bias| */
    int rows;
    const float *x; /* [rows, inputs] */
    size_t x_stride;
    const tr_quantised *q;      /* I8: the same rows */
    float *upper_bounds;        /* [rows, upper_stride]: working memory */
    size_t upper_bounds_stride; /* >= outputs, a multiple of 16 */
    float *lower_bound; /* [rows]: the greatest lower bound; screen_bounds writes its share's, screened_best reads that of
                           all */
    tr_best *best;      /* [rows] */
} tr_screened;

/* Floats of scratch that a matmul with this many inputs needs, for each thread that computes. */
static inline size_t tr_matmul_scratch(int inputs)
{
    return (size_t)TR_PANEL * (size_t)tr_pad16(inputs);
}

/* Softmax attention of heads of single queries over keys and values that lie in blocks of 32 positions (Vaswani et al.,
 * 2017, eq. 1; running maxima as in Milakov and Gimelshein, 2018): out = sum over p < length of softmax(scale q·k[p] +
 * bias[p]) v[p]. Block b holds head h's keys [32, pad16(head_size)] at blocks[b] + key_offset + h head_offset and its values
 * of the same shape at blocks[b] + value_offset + h head_offset, both F32 or F16; the offsets count floats in any case. */
typedef struct tr_attn_decode {
    int heads, queries, head_size, length; /* length >= 1: positions that the first query attends to */
    int causal;                            /* how many more each next one: 0, or 1 for tokens that see those before them */
    float scale;                           /* 1/sqrt(head_size) */
    const float *q;                        /* [queries, heads, head_size] */
    size_t q_stride;                       /* of queries */
    tr_type type;                          /* of keys and values */
    const float *const *blocks;            /* [ceil(of the last query's length / 32)] */
    size_t key_offset, value_offset, head_offset; /* floats */
    const float *prefetch; /* the keys of the block that is read next, by whoever calls next, to be fetched; or NULL */
    const float *bias;     /* [length] for the first head and query, or NULL */
    ptrdiff_t bias_step, bias_head; /* where those of the next query and the next head begin, in floats */
    float *out;                     /* [queries, heads, head_size] */
    size_t out_stride;
    float *weights;                      /* out: the softmax's results, [heads, queries, length]; NULL: nobody asks */
    size_t weights_stride, weights_head; /* of queries and of heads */
    int only_head;                       /* weights are [queries, length], of this head; -1: those of all are wanted */
} tr_attn_decode;

/* The same of many queries of one head (tiles with running maxima, as in Dao et al., 2022). Block b holds keys across,
 * [pad16(head_size), 32], at blocks[b] + key_offset, and values [32, pad16(value_size)] at blocks[b] + value_offset: see
 * attend_pack. Query i, at position + i among the keys, attends to keys position + i - back .. position +
 * i + on of 0 .. keys - 1, less those from limits[i] on, those that parts leave out, and those where bias is -inf. What it
 * does not attend to has no influence, be it NaN; without anything to attend to its results are zero. */
typedef struct tr_attn_part {
    int block;
    uint32_t positions; /* of the block, bit by bit: those that count */
} tr_attn_part;

enum { TR_ATTN_ALL = 1 << 30 }; /* back, on: no limit. Positions and lengths are at most that */

typedef struct tr_attn_prefill {
    int queries, keys, head_size, value_size;
    float scale;
    const float *q; /* [queries, head_size] */
    size_t q_stride;
    const float *const *blocks;      /* [ceil(keys / 32)] */
    size_t key_offset, value_offset; /* floats */
    int position, back, on;
    const int32_t *limits;     /* [queries]; NULL: keys for all */
    const tr_attn_part *parts; /* [part_count] in the order of blocks, each once; NULL: all */
    int part_count;
    const float *bias;   /* [queries, keys], added to scores; or NULL */
    ptrdiff_t bias_step; /* where those of the next query begin, in floats */
    const bool *wild;    /* [ceil(keys / 32)] values there are not all finite; NULL: they are */
    float *out;          /* [queries, value_size] */
    size_t out_stride;
    float *weights; /* out: the softmax's results, [queries, keys], where the query attends; what else is there is left.
                       NULL: nobody asks */
    size_t weights_stride;
} tr_attn_prefill;

/* Makes a block of n <= 32 rows of keys and of values: see tr_attn_prefill. Columns of values from value_size on become
 * zero, positions from n on, which nobody attends to, and keys from head_size on are left as they are. */
typedef struct tr_attn_pack {
    int n, head_size, value_size;
    tr_type from;                    /* of keys and values: F32 or BF16 */
    const void *keys, *values;       /* [n, head_size], [n, value_size] */
    size_t key_stride, value_stride; /* elements */
    float *packed_keys, *packed_values;
} tr_attn_pack;

/* y[r, c] = sum over p < n of a[r, p] b[p, c], added to what y holds if add; rows of b lie one after the other, in memory
 * order: where the matrix product reads [outputs, inputs], this reads [inputs, outputs]. In the order of p. */
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

/* See tr_quantised. With alpha every number becomes round(x alpha), cut to -127 .. 127, and the scale is 1 / alpha. */
typedef struct tr_quantise {
    int rows, width;
    const float *x; /* [rows, width] */
    size_t x_stride;
    const tr_quantised *q; /* out */
    float act_scale;       /* 0: 127 / max|x| */
    bool shared_scale;     /* max|x| is that of all rows */
} tr_quantise;

/* y = gamma (x - mean) / sqrt(variance + epsilon) + beta (Ba et al., 2016), for each of rows; y may be x. Without beta:
 * y = gamma x / sqrt(mean of squares + epsilon) (RMSNorm: Zhang and Sennrich, 2019). With q, also y quantised. */
typedef struct tr_layernorm {
    int rows, width;
    float epsilon;
    const float *gamma, *beta; /* [width] */
    const float *x;            /* [rows, width] */
    size_t x_stride;
    float *y;
    size_t y_stride;
    const tr_quantised *q; /* out, or NULL */
} tr_layernorm;

/* Puts one position's key and value of one head into their block (see tr_attn_decode); position is that inside the block. */
typedef struct tr_kv_store {
    int head_size, position;
    const float *key, *value; /* [head_size] */
    tr_type type;             /* of keys and values: F32, or F16, in which they are cut to 65504 */
    void *keys, *values;      /* the head's [32, pad16(head_size)] */
} tr_kv_store;

/* A step of a Simpler Simple Recurrent Unit (Kim et al., 2019, eq. 4), element by element:
 *     state = forget state + (1 - forget) x,   out = max(0, state) */
typedef struct tr_ssru_step {
    int width;
    const float *x, *forget; /* [width]; forget: between 0 and 1 */
    float *state, *out;      /* [width] */
} tr_ssru_step;

/* Part of a log-sum-exp: max, the greatest of some numbers, and the sum of e^(x - max) over them. Of nothing, or of -inf
 * alone, max is -inf and sum 0; a NaN makes sum NaN. */
typedef struct tr_exp_sum {
    float max, sum;
} tr_exp_sum;

/* The greatest of the numbers seen so far, greatest first, of equal ones the lower id first. -inf is never among them. */
typedef struct tr_top {
    int capacity, count;
    bool nan;      /* a NaN was seen */
    float *values; /* [most] */
    int32_t *ids;  /* [most] */
} tr_top;

typedef struct tr_kernels {
    const char *level; /* "avx2": a name of TRANSLATE_CPU */
    bool fused;        /* f32 products round once a multiply-add, too */
    bool bf16_pairs;   /* multiplies BF16 with BF16: see rounds_x */
    /* Outputs [first, last): first is a multiple of 16, last too unless it is the end. scratch: tr_matmul_scratch floats. */
    void (*matmul)(const tr_matmul *op, int first, int last, float *scratch);
    /* Fills the int8 copy, scale and radius of rows [first, last) of an F32, F16 or BF16 matrix. */
    void (*screen_build)(const tr_matrix *exact, int8_t *coarse, float *scale, float *radius, int first, int last);
    /* Writes the panel of the 4-bit copy, tr_screen_lines(inputs) lines, of an I8 matrix's outputs from first on, a multiple
     * of 16. */
    void (*screen_pack)(const tr_matrix *exact, int first, void *panel);
    void (*screen_bounds)(const tr_screened *op, int first, int last, float *scratch);
    void (*screened_best)(const tr_screened *op, int first, int last, float *scratch);
    void (*attn_decode)(const tr_attn_decode *op);
    void (*attn_prefill)(const tr_attn_prefill *op);
    bool (*attn_pack)(const tr_attn_pack *op); /* true: some value is not finite */
    void (*gemm_nn)(const tr_gemm_nn *op);
    /* y[n] = x > 0 ? x + 1 : e^x, which is elu(x) + 1; y may be x */
    void (*elu_plus_1)(float *y, const float *x, int n);
    /* y[n] = softmax of x over those that are not -inf, which become 0; of nothing but these: all 0. y may be x */
    void (*softmax)(float *y, const float *x, int n);
    void (*quantise)(const tr_quantise *op);
    void (*layernorm)(const tr_layernorm *op);
    /* out[width] = scale * row index of table + add[width]; add may be NULL */
    void (*embed_row)(float *out, const tr_matrix *table, int index, float scale, const float *add);
    void (*kv_store)(const tr_kv_store *op);
    void (*ssru_step)(const tr_ssru_step *op);
    /* mean[width] = (mean before + x) / (before + 1): one more x in the mean of before */
    void (*aan_step)(float *mean, const float *x, int before, int width);
    /* y[width] = a + b */
    void (*add)(float *y, const float *a, const float *b, int width);

    tr_exp_sum (*exp_sum)(const float *x, int n);
    /* Adds x[0..n), whose ids are first, first + 1, ...: higher ones than any before. */
    void (*top)(tr_top *top, const float *x, int n, int32_t first);

    /* For measuring what the CPU can do at this level: computes nothing but multiply-adds with weights of type, out of
     * registers, and returns how many they were, some hundreds or thousands for each of turns. */
    double (*peak)(tr_type type, int64_t turns);
    /* Reads memory in order with the widest loads, and fetches lines ahead (bytes; 0: leaves that to the CPU). */
    void (*read_memory)(const void *memory, size_t bytes, size_t ahead);
} tr_kernels;

#endif
