/* Attention as functions: all kinds that textbooks teach, on the same kernels as the models.
 *
 *     const tr_attention_shape shape = {.batch = 1, .heads = 8, .queries = 60, .keys = 60, .d_k = 64, .d_v = 64};
 *     tr_error error;
 *     if (tr_attention_forward(&shape, NULL, NULL, TR_ELEMENT_F32, q, k, v, out, NULL, &error) != TR_OK)
 *         fprintf(stderr, "%s\n", error.message);
 *
 * examples/attention.c is a complete program. docs/attention.md explains each kind, with its formulas.
 *
 * Formula. For head h, query i and key j:
 *     s[i,j] = scale q[i]·k[j] + additive[i,j] + prior[i,j]
 *     w[i,:] = softmax of s[i,:] over the keys that query i may attend to
 *     out[i] = sum over j of w[i,j] v[j]                                            (Vaswani et al., 2017, eq. 1)
 *
 * Shapes. Tensors are dense and row-major: the last index is contiguous. Sizes are checked: a zero, negative or overflowing
 * size is TR_ERROR_ARGUMENT, and the message names the field.
 *
 * Masked keys. A key that a query may not attend to has no influence on it, even if it is NaN or infinite. A query that may
 * attend to no key has weights of 0 and a result of 0, not NaN.
 *
 * NaN. A NaN in a query makes that query's result NaN; a NaN in a key or value makes the results of all queries NaN that may
 * attend to it.
 *
 * Precision. Results and sums are float, whatever the element type of the inputs. No bit of a result depends on the number
 * of threads, on the tile, or on other heads and batch items. Between kernel levels of the CPU results differ only if one
 * has fused multiply-add and the other has not.
 *
 * Memory. The caller owns all buffers. What a function writes must not overlap anything else that it reads or writes
 * (TR_ERROR_ARGUMENT), unless a comment says "may be". Buffers may have any alignment that their element type allows.
 * Working memory grows with the length, not with its square, and is freed before the call returns.
 *
 * Threads. Any number of threads may call these functions at the same time. A call divides its work among threads of its
 * own; see tr_attention_options.backend.
 *
 * Growth. The structs of this header are final. Options and masks have room for further fields: reserved must be zero.
 *
 * Errors. Functions return TR_OK, or a failure and, if error is not NULL, a message "WHAT: WHY" in *error:
 *     TR_ERROR_ARGUMENT   an argument is not valid; nothing was written
 *     TR_ERROR_MEMORY     not enough memory, or fewer threads than requested
 */
#ifndef TRANSLATE_ATTENTION_H
#define TRANSLATE_ATTENTION_H

#include <translate/translate.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------------------------------------------------- arguments */

/* The element type of inputs and weights. */
typedef enum tr_element {
    TR_ELEMENT_F32,
    /* uint16_t, the upper half of a float; widened when it is read. */
    TR_ELEMENT_BF16,
} tr_element;

typedef struct tr_attention_shape {
    int64_t batch, heads;
    /* Lengths. There are as many values as keys. */
    int64_t queries, keys;
    /* Sizes of one head, 1 .. 1024: d_k of queries and keys, d_v of values and results. */
    int64_t d_k, d_v;
} tr_attention_shape;

/* Which keys a query may attend to, and what is added to its scores. All fields that are set apply together; a zeroed struct
 * lets every query attend to every key.
 *
 * The element for batch item b, head h, query i and key j is at[b stride[0] + h stride[1] + i stride[2] + j]. A stride of 0
 * shares elements; strides must not be negative. */
typedef struct tr_attention_mask {
    /* True: query i may attend to key j. NULL: all. */
    const bool *allowed;
    int64_t allowed_stride[3];
    /* Added to the scores; -inf forbids. NULL: nothing. */
    const float *additive;
    int64_t additive_stride[3];
    /* Added to the scores as well, such as a bias by distance; -inf forbids. NULL: nothing. */
    const float *prior;
    int64_t prior_stride[3];
    /* Only the first lengths[b] keys count, 0 .. keys: [batch], or with lengths_by_query [batch, queries]. NULL: all. */
    const int64_t *lengths;
    bool lengths_by_query;
    /* Query i attends to keys up to position + i. */
    bool causal;
    /* The position of query 0 among the keys, >= 0, for causal and for kinds that depend on distance. 0: queries and keys
     * begin together, as with PyTorch's is_causal. keys - queries: they end together. */
    int64_t position;
    uint64_t reserved[8];
} tr_attention_mask;

typedef enum tr_attention_kind {
    /* All keys, in tiles with running maxima: the matrix of scores is never stored (Milakov and Gimelshein, 2018; Dao et
     * al., 2022). */
    TR_ATTENTION_EXACT,

    /* Keys at a distance of at most `window`: |position + i - j| <= window (Luong et al., 2015, section 3.2; Beltagy et al.,
     * 2020). */
    TR_ATTENTION_LOCAL,

    /* BigBird (Zaheer et al., 2020). Queries and keys form blocks of `block` positions; the last block may be shorter. A
     * query in block a = (position + i) / block attends to keys of block c if |a - c| <= local_blocks, or if c is one of the
     * random_blocks blocks drawn for its head and its block. The first global_tokens positions attend to all keys, and all
     * queries attend to them. Random blocks are drawn without repetition from `seed`, among the blocks that are neither
     * local nor entirely global. */
    TR_ATTENTION_BLOCK_SPARSE,

    /* Linear attention (Katharopoulos et al., 2020, eq. 4 to 7), which has no softmax and no scale:
     *     f(x) = elu(x) + 1 = x > 0 ? x + 1 : e^x
     *     w[i,j] = f(q[i])·f(k[j]) / sum over j of f(q[i])·f(k[j])
     *     out[i] = f(q[i]) (sum over j of f(k[j])^T v[j]) / (f(q[i])·sum over j of f(k[j]))
     * Time is linear in the length. The mask must be the same for all queries (allowed_stride[2] 0, no lengths_by_query),
     * but may be causal; additive and prior are not allowed. */
    TR_ATTENTION_LINEAR,

    /* Fewer rows in place of the keys and values. With rank (Linformer: Wang et al., 2020, eq. 7):
     *     out = softmax(scale Q (E K)^T) (F V),   E = key_projection, F = value_projection
     * With pool: means of `pool` consecutive keys and values (memory-compressed attention: Liu et al., 2018, section 4.2.3,
     * with means in place of its convolution). Masked keys count as zero in E K and F V and are left out of means; a mean of
     * no keys is not attended to. The mask must be the same for all queries; causal, additive and prior are not allowed. */
    TR_ATTENTION_LOW_RANK,
} tr_attention_kind;

/* A zeroed struct means exact attention with defaults. Fields of other kinds are ignored. */
typedef struct tr_attention_options {
    tr_attention_kind kind;
    /* Factor of the scores. 0: 1 / sqrt(d_k). */
    float scale;
    /* LOCAL: >= 0. */
    int64_t window;
    /* BLOCK_SPARSE: block >= 1, the others >= 0. */
    int64_t block, local_blocks, random_blocks, global_tokens;
    uint64_t seed;
    /* LOW_RANK: rows of the projections, >= 1; 0 with pool. */
    int64_t rank;
    /* LOW_RANK with rank: [rank, keys]; may be the same. */
    const float *key_projection, *value_projection;
    /* LOW_RANK: keys in a mean, >= 1; 0 with rank. */
    int64_t pool;
    /* 1 .. 1024. 0: the usable cores, or one if there is little work. */
    int threads;
    /* Queries in a unit of work. 0: chosen by the library. Changes no result. */
    int64_t tile;
    /* The kernel level. NULL: $TRANSLATE_CPU, or the best that this CPU has. */
    const char *cpu;
    /* "openmp" or NULL: the OpenMP runtime's threads, which are there for the next call; "posix": threads that the call
     * starts and ends, as contexts have them, which survive a fork. Functions without options take OpenMP's. */
    const char *backend;
    uint64_t reserved[8];
} tr_attention_options;

/* ----------------------------------------------------------------------------------------------------------- attention */

/* Computes attention.
 *     q        [batch, heads, queries, d_k], of type element
 *     k        [batch, heads, keys, d_k]
 *     v        [batch, heads, keys, d_v]
 *     out      [batch, heads, queries, d_v]
 *     weights  NULL, or [batch, heads, queries, tr_attention_columns()]: receives the softmax, 0 where a query does not
 *              attend. This takes time and memory in proportion to queries times keys.
 * options may be NULL (exact attention), mask may be NULL (no mask). */
TR_API tr_status tr_attention_forward(const tr_attention_shape *shape, const tr_attention_options *options,
                                      const tr_attention_mask *mask, tr_element element, const void *q, const void *k,
                                      const void *v, float *out, float *weights, tr_error *error);

/* Returns the columns of the weights: keys, or for LOW_RANK rank or ceil(keys / pool). 0 if an argument is not valid. */
TR_API int64_t tr_attention_columns(const tr_attention_shape *shape, const tr_attention_options *options);

/* Sets *bytes to the working memory that tr_attention_forward allocates for such a call. What mask points to is not read. */
TR_API tr_status tr_attention_memory(const tr_attention_shape *shape, const tr_attention_options *options,
                                     const tr_attention_mask *mask, int64_t *bytes, tr_error *error);

/* Writes to allowed [queries, keys] which keys the queries of a head attend to by the kind alone, without masks. For EXACT,
 * LINEAR and LOW_RANK these are all keys. position: see tr_attention_mask. */
TR_API tr_status tr_attention_pattern(const tr_attention_shape *shape, const tr_attention_options *options, int64_t position,
                                      int64_t head, bool *allowed, tr_error *error);

/* -------------------------------------------------------------------------------------------------------- single steps */

/* Splits heads: copies x [batch, length, d_model] to out [batch, heads, length, d_model / heads]. TR_ERROR_ARGUMENT if
 * d_model is not divisible by heads. */
TR_API tr_status tr_attention_split_heads(tr_element element, int64_t batch, int64_t length, int64_t d_model, int64_t heads,
                                          const void *x, void *out, tr_error *error);

/* The inverse: copies x [batch, heads, length, d_model / heads] to out [batch, length, d_model]. */
TR_API tr_status tr_attention_join_heads(tr_element element, int64_t batch, int64_t length, int64_t d_model, int64_t heads,
                                         const void *x, void *out, tr_error *error);

/* Computes weights = softmax(scores + additive + prior) over the keys that mask allows; both are [batch, heads, queries,
 * keys]. weights may be scores. shape->d_k and shape->d_v are ignored. */
TR_API tr_status tr_attention_masked_softmax(const tr_attention_shape *shape, const tr_attention_mask *mask,
                                             const float *scores, float *weights, tr_error *error);

/* ------------------------------------------------------------------------------------------------ multi-head attention */

/* The four linear layers y = W x + b. Weights are [outputs, inputs], as in PyTorch's Linear; biases are [outputs], or NULL
 * for none. The caller owns them. */
typedef struct tr_attention_multi_head {
    /* Sizes of the rows of q, k and v. */
    int64_t query_width, key_width, value_width;
    /* Size of the rows of out; divisible by num_heads, at most 1024 for each head. */
    int64_t d_model;
    int64_t num_heads;
    /* Of weights and biases. */
    tr_element element;
    /* [d_model, query_width], [d_model] */
    const void *query_weight, *query_bias;
    /* [d_model, key_width], [d_model] */
    const void *key_weight, *key_bias;
    /* [d_model, value_width], [d_model] */
    const void *value_weight, *value_bias;
    /* [d_model, d_model], [d_model] */
    const void *output_weight, *output_bias;
} tr_attention_multi_head;

/* Computes multi-head attention (Vaswani et al., 2017, section 3.2.2):
 *     out = Wo join(attention(split(Wq q), split(Wk k), split(Wv v)))
 *     q        [batch, queries, query_width], of type element
 *     k        [batch, keys, key_width]
 *     v        [batch, keys, value_width]
 *     out      [batch, queries, d_model]
 *     weights  NULL, or [batch, num_heads, queries, columns]: see tr_attention_forward
 * mask and options apply to each of the num_heads heads as in tr_attention_forward, with d_k = d_v = d_model / num_heads. */
TR_API tr_status tr_attention_multi_head_forward(const tr_attention_multi_head *layer, const tr_attention_options *options,
                                                 const tr_attention_mask *mask, int64_t batch, int64_t queries, int64_t keys,
                                                 tr_element element, const void *q, const void *k, const void *v, float *out,
                                                 float *weights, tr_error *error);

#ifdef __cplusplus
}
#endif

#endif
