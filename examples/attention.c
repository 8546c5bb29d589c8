/* The four steps of multi-head attention, on "You are welcome" padded to four words; docs/attention.md explains them.
 * Embeddings and weights are random here; a trained model has its own. tr_attention_multi_head_forward() does all steps in
 * one call. */
#include <stdint.h>
#include <stdio.h>
#include <translate/attention.h>

enum { WORDS = 4, D_MODEL = 8, HEADS = 2, HEAD_SIZE = D_MODEL / HEADS, SIZE = WORDS * D_MODEL };

static void fill_random(uint32_t seed, int count, float *x) /* x [count]: numbers between -1 and 1 */
{
    for (int i = 0; i < count; i++)
        x[i] = (float)((seed = seed * 1664525 + 1013904223) >> 8) / (1 << 23) - 1;
}

static void project(const float *x, uint32_t seed, float *y) /* y = x W^T, W [D_MODEL, D_MODEL] random */
{
    float weight[D_MODEL][D_MODEL];
    fill_random(seed, D_MODEL * D_MODEL, weight[0]);
    for (int i = 0; i < SIZE; i++) {
        y[i] = 0;
        for (int c = 0; c < D_MODEL; c++)
            y[i] += x[i / D_MODEL * D_MODEL + c] * weight[i % D_MODEL][c];
    }
}

static void print_weights(const float *weights) /* [HEADS, WORDS, WORDS] */
{
    static const char *const words[WORDS] = {"You", "are", "welcome", "PAD"};
    for (int i = 0; i < HEADS * WORDS; i++) {
        if (i % WORDS == 0)
            printf("\nhead %d   %9s%9s%9s%9s\n", i / WORDS + 1, words[0], words[1], words[2], words[3]);
        printf("%8s ", words[i % WORDS]);
        for (int j = 0; j < WORDS; j++)
            printf("%9.3f", weights[i * WORDS + j]);
        putchar('\n');
    }
}

int main(void)
{
    float x[SIZE], q[SIZE], k[SIZE], v[SIZE], q_heads[SIZE], k_heads[SIZE], v_heads[SIZE], attended[SIZE], out[SIZE];
    float weights[HEADS * WORDS * WORDS];
    const tr_element f32 = TR_ELEMENT_F32;
    tr_error error;

    /* 1. Project the words, [batch 1, WORDS, D_MODEL], to queries, keys and values. */
    fill_random(1, SIZE, x);
    project(x, 2, q);
    project(x, 3, k);
    project(x, 4, v);

    /* 2. Split these into heads, [1, HEADS, WORDS, HEAD_SIZE]. */
    if (tr_attention_split_heads(f32, 1, WORDS, D_MODEL, HEADS, q, q_heads, &error) ||
        tr_attention_split_heads(f32, 1, WORDS, D_MODEL, HEADS, k, k_heads, &error) ||
        tr_attention_split_heads(f32, 1, WORDS, D_MODEL, HEADS, v, v_heads, &error))
        return fprintf(stderr, "%s\n", error.message), 1;

    /* 3. For each head, softmax(q k^T / sqrt(HEAD_SIZE)) v over the keys that the mask allows: the first three words. */
    const tr_attention_shape shape = {
        .batch = 1, .heads = HEADS, .queries = WORDS, .keys = WORDS, .d_k = HEAD_SIZE, .d_v = HEAD_SIZE};
    const int64_t length = 3;
    const tr_attention_mask mask = {.lengths = &length};
    if (tr_attention_forward(&shape, NULL, &mask, f32, q_heads, k_heads, v_heads, attended, weights, &error))
        return fprintf(stderr, "%s\n", error.message), 1;

    /* 4. Join the heads: [1, WORDS, D_MODEL] again. */
    if (tr_attention_join_heads(f32, 1, WORDS, D_MODEL, HEADS, attended, out, &error))
        return fprintf(stderr, "%s\n", error.message), 1;

    printf("x [1, %d, %d]  heads [1, %d, %d, %d]  weights [1, %d, %d, %d]  out [1, %d, %d]\n", WORDS, D_MODEL, HEADS, WORDS,
           HEAD_SIZE, HEADS, WORDS, WORDS, WORDS, D_MODEL);
    print_weights(weights);
    return 0;
}
