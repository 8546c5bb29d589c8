/* clang-format off */
/* Attention as functions: every kind that the textbooks teach, on the kernels that the models run on.
 *
 *     const tr_attention_shape shape = {.batch = 1, .heads = 8, .queries = 60, .keys = 60, .key_size = 64, .value_size =
 * 64}; tr_error error; if (tr_attention_forward(&shape, NULL, NULL, TR_ELEMENT_F32, q, k, v, out, NULL, &error))
 *         fprintf(stderr, "%s\n", error.message);
 *
 * examples/attention.c is a whole program; docs/attention.md has the formulas beside the lines of code.
 *
 * Conventions
 *   Shapes     Tensors are dense and row-major, the last index runs fastest. Sizes are int64_t and checked: zero, negative
 * and overflowing ones are TR_ERROR_ARGUMENT, and the message names the field. Heads      Of head h, query i and key j,
 * s[i,j] = scale q[i]·k[j] + additive[i,j] + prior[i,j],  w[i,:] = softmax(s[i,:])  over the keys that i may attend to,
 * out[i] = sum over j of w[i,j] v[j]   (Vaswani et al., 2017, eq. 1). Masked     A query that may attend to no key has
 * weights of zero and a result of zero, not NaN. (Implementations that add -1e9 rows       to what is masked yield the mean
 * of all values there, those that add -inf yield NaN.) What is masked has no influence whatever it holds, NaN and infinity
 * included. NaN        goes to the rows that saw it: one in a query to that query's row, one in a key or value to the rows
 * that may attend to that key. Results    are float, whatever the inputs' element is; sums are taken in float. Sameness   No
 * bit of a result depends on threads, on the tile, or on other heads and batches. It depends on the CPU's kernel level only
 * between those with and without fused multiply-add. Buffers    What is written must overlap nothing else that the call
 * reads or writes: TR_ERROR_ARGUMENT. Any alignment that the element needs will do. Threads    Functions may be called from
 * any number of threads at once. Each call shares its work among its own threads (OpenMP). Memory     grows with the length,
 * not with its square, and is freed before the call returns.
 */
#ifndef TRANSLATE_ATTENTION_H
#define TRANSLATE_ATTENTION_H

#include <translate/translate.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------------------------------------------- what goes in */

typedef enum tr_element {
    TR_ELEMENT_F32,
    TR_ELEMENT_BF16, /* the upper half of a float, uint16_t; widened where it is read */
} tr_element;

typedef struct tr_attention_shape {
    int64_t batch, heads;
    int64_t queries, keys; /* lengths; there are as many values as keys */
    int64_t d_k, d_v;      /* of a head: of its queries and keys, and of its values and results; 1 .. 1024 */
} tr_attention_shape;

/* Which keys a query may attend to, and what is added to its scores. Everything that is given applies at once. Of a batch b,
 * head h, query i and key j the element is  at[b stride[0] + h stride[1] + i stride[2] + j];  a stride of 0 shares it. All
 * NULL or zero: every query attends to every key. */
typedef struct tr_attention_mask {
    const bool *allowed; /* true: may attend; or NULL */
    int64_t allowed_stride[3];
    const float *additive; /* added to scores, -inf forbids; or NULL */
    int64_t additive_stride[3];
    const float *prior; /* added as well, such as a bias by distance or by syntax; -inf forbids; or NULL */
    int64_t prior_stride[3];
    const int64_t *lengths; /* keys that count, the first ones, 0 .. keys: [batch], or with lengths_by_query
                               [batch, queries]; or NULL */
    bool lengths_by_query;
    bool causal;      /* query i attends to keys up to position + i alone */
    int64_t position; /* of query 0 among the keys, >= 0, for causal and for kinds that go by distance: 0 where queries and
                         keys begin together, as PyTorch's is_causal has it; keys - queries where they end together */
} tr_attention_mask;

typedef enum tr_attention_kind {
    /* All keys, in tiles with running maxima: the matrix of scores is never stored (Milakov and Gimelshein, 2018; Dao et
     * al., 2022). */
    TR_ATTENTION_EXACT,
    /* Keys at most window positions away: |position + i - j| <= window  (Luong et al., 2015, section 3.2; Beltagy et al.,
       2020). */
    TR_ATTENTION_LOCAL,
    /* Queries and keys in blocks of block positions (the last may be shorter). Of query block a, at (position + i) / block,
     * and key block c are seen:  |a - c| <= local_blocks,  and random_blocks others drawn without repetition for each head
     * and query block from seed, of those that are not global as a whole. The first global_tokens positions see all keys and
     * are seen by all queries (Zaheer et al., 2020: BigBird). */
    TR_ATTENTION_BLOCK_SPARSE,
    /* No softmax:  w[i,j] = f(q[i])·f(k[j]) / sum over j of the same,  f(x) = elu(x) + 1 = x > 0 ? x + 1 : e^x,  so that
     * out[i] = f(q[i]) (sum of f(k[j]) v[j]^T) / (f(q[i])·sum of f(k[j])),  in time linear in the length (Katharopoulos et
     * al., 2020, eq. 4 to 7). There is no scale. Causal runs over the keys in order. A mask must be the same for all queries
     * (stride[2] 0), and nothing can be added to scores. */
    TR_ATTENTION_LINEAR,
    /* rank summaries in place of keys:  out = softmax(scale q (E k)^T) F v,  E and F [rank, keys] (Wang et al., 2020:
     * Linformer, eq. 7); or, with pool, the means of pool keys and of pool values each (memory-compressed attention: Liu et
     * al., 2018, section 4.2.3, with means for its convolution). Masked keys count as zero in E k and F v, and are left out
     * of means; a mean of nothing is not attended to. Masks must be the same for all queries, nothing can be added to
     * scores, causal is not possible. */
    TR_ATTENTION_LOW_RANK,
} tr_attention_kind;

typedef struct tr_attention_options {
    tr_attention_kind kind;
    float scale;                                               /* of scores; default 0: 1 / sqrt(key_size) */
    int64_t window;                                            /* LOCAL: >= 0 */
    int64_t block, local_blocks, random_blocks, global_tokens; /* BLOCK_SPARSE: >= 1, and >= 0 */
    uint64_t seed;
    int64_t rank;                                   /* LOW_RANK: rows of the projections, >= 1; 0 with pool */
    const float *key_projection, *value_projection; /* [rank, keys]; both, and may be the same */
    int64_t pool;                                   /* LOW_RANK: keys in a mean, >= 1; 0 with rank */
    int threads;                                    /* 1 .. 1024; default 0: the usable cores */
    int64_t tile;    /* queries in a unit of work; default 0: as suits the CPU. Changes no result */
    const char *cpu; /* kernel level; default NULL: $TRANSLATE_CPU, else the best that this CPU has */
} tr_attention_options;

/* ------------------------------------------------------------------------------------------------- attention itself */

/* out[batch, heads, queries, value_size] of q [batch, heads, queries, key_size], k [batch, heads, keys, key_size] and
 * v [batch, heads, keys, value_size], all of element. options NULL: exact; mask NULL: none.
 * weights: NULL, or [batch, heads, queries, tr_attention_columns(...)] that receive the softmax's results, zero where a
 * query does not attend; asking for them costs time and space in proportion to queries times keys. */
TR_API tr_status tr_attention_forward(const tr_attention_shape *shape, const tr_attention_options *options,
                                      const tr_attention_mask *mask, tr_element element, const void *q, const void *k,
                                      const void *v, float *out, float *weights, tr_error *error);

/* Columns of the weights: keys, but with LOW_RANK rank or ceil(keys / pool). 0 if shape or options are not valid. */
TR_API int64_t tr_attention_columns(const tr_attention_shape *shape, const tr_attention_options *options);

/* Bytes of working memory that tr_attention_forward takes besides its arguments. */
TR_API tr_status tr_attention_memory(const tr_attention_shape *shape, const tr_attention_options *options,
                                     const tr_attention_mask *mask, int64_t *bytes, tr_error *error);

/* Which keys a head's queries see by the kind alone, without masks: allowed [queries, keys]. EXACT, LINEAR and LOW_RANK:
 * all. */
TR_API tr_status tr_attention_pattern(const tr_attention_shape *shape, const tr_attention_options *options, int64_t position,
                                      int64_t head, bool *allowed, tr_error *error);

/* --------------------------------------------------------------------------------------------------- the steps alone */

/* out[batch, heads, length, d_model / heads] of x [batch, length, d_model]: what [batch heads, length, d_model / heads] is,
 * too. d_model that heads do not divide is TR_ERROR_ARGUMENT. */
TR_API tr_status tr_attention_split_heads(tr_element element, int64_t batch, int64_t length, int64_t d_model, int64_t heads,
                                          const void *x, void *out, tr_error *error);
/* The way back: out[batch, length, d_model] of x [batch, heads, length, d_model / heads]. */
TR_API tr_status tr_attention_join_heads(tr_element element, int64_t batch, int64_t length, int64_t d_model, int64_t heads,
                                         const void *x, void *out, tr_error *error);

/* weights[batch, heads, queries, keys] = softmax(scores + additive + prior) over the keys that mask allows. weights may be
 * scores. Sizes of a head in shape are not looked at. */
TR_API tr_status tr_attention_masked_softmax(const tr_attention_shape *shape, const tr_attention_mask *mask,
                                             const float *scores, float *weights, tr_error *error);

/* ------------------------------------------------------------------------------------------- multi-head attention */

/* Weights of y = W x + b are [outputs, inputs], as PyTorch's Linear has them; biases are [outputs], NULL: none. */
typedef struct tr_attention_multi_head {
    int64_t query_width, key_width, value_width; /* of what goes in */
    int64_t d_model;                             /* of what comes out; num_heads divide it, at most 1024 for each head */
    int64_t num_heads;
    tr_element element;                      /* of weights and biases */
    const void *query_weight, *query_bias;   /* [num_hiddens, query_size] */
    const void *key_weight, *key_bias;       /* [num_hiddens, key_size] */
    const void *value_weight, *value_bias;   /* [num_hiddens, value_size] */
    const void *output_weight, *output_bias; /* [num_hiddens, num_hiddens] */
} tr_attention_multi_head;

/* out[batch, queries, num_hiddens] = Wo join(attention(split(Wq q), split(Wk k), split(Wv v))), of q [batch, queries,
 * query_size], k [batch, keys, key_size], v [batch, keys, value_size] (Vaswani et al., 2017, section 3.2.2). What mask
 * forbids for head h it forbids for the h-th part of the projections. weights: NULL, or [batch, num_heads, queries,
 * columns]. */
TR_API tr_status tr_attention_multi_head_forward(const tr_attention_multi_head *layer, const tr_attention_options *options,
                                                 const tr_attention_mask *mask, int64_t batch, int64_t queries, int64_t keys,
                                                 tr_element element, const void *q, const void *k, const void *v, float *out,
                                                 float *weights, tr_error *error);

#ifdef __cplusplus
}
#endif

#endif
