/* Damaged files of llama.cpp's converter: each is refused with one line that names the fault, and nothing outside the file
 * is read (sanitizers would report that). */
#include "../formats/gguf_damage.h"

#include <stdlib.h>
#include <string.h>

#ifdef TR_EMULATED
enum { FLIPS = 300, STEP = 997 };
#else
enum { FLIPS = 8000, STEP = 61 };
#endif

typedef struct file {
    unsigned char *data;
    size_t size;
} file;

static file load(const char *name)
{
    file f;
    f.data = read_fixture(".", name, &f.size);
    return f;
}

static const damage damages[] = {
    {"general.architecture", 12, "t6", 2, TR_ERROR_UNSUPPORTED, "nor a t5 (architecture t6)"},
    {"t5.embedding_lengt", 0, "x", 1, TR_ERROR_FORMAT, "key t5.embedding_length: is missing"},
    {"t5.embedding_length", 4, "\0\0\0\200", 4, TR_ERROR_FORMAT, "key t5.embedding_length: is not a whole number"},
    {"t5.embedding_length", 4, "\0\0\0\0", 4, TR_ERROR_FORMAT, "d_model"},
    {"t5.embedding_length", 4, "\101", 1, TR_ERROR_FORMAT, "token_embd.weight: must be ["},
    {"t5.block_count", 4, "\377\377\377", 3, TR_ERROR_FORMAT, "encoder_layers"},
    {"t5.attention.head_count", 4, "\0\0\0\0", 4, TR_ERROR_FORMAT, "heads"},
    {"t5.attention.value_length", 4, "\1", 1, TR_ERROR_UNSUPPORTED,
     "value_length: is not the same as t5.attention.key_length"},
    {"t5.attention.layer_norm_rms_epsilon", 4, "\0\0\300\377", 4, TR_ERROR_FORMAT, "layer_norm_epsilon"},
    {"t5.attention.relative_buckets_count", 4, "\0\0\0\0", 4, TR_ERROR_FORMAT, "relative_buckets"},
    {"t5.decoder_start_token_id", 4, "\0\1\0\0", 4, TR_ERROR_FORMAT, "start_id"},
    {"tokenizer.ggml.eos_token_id", 4, "\377\377\377\177", 4, TR_ERROR_FORMAT, "eos_id"},
    {"tokenizer.ggml.mode", 13, "x5", 2, TR_ERROR_UNSUPPORTED, "tokenizer.ggml.model: x5 is not supported, only t5"},
    {"tokenizer.ggml.scores", 4, "\5", 1, TR_ERROR_FORMAT, "tokenizer.ggml.scores: is not an array of the right type"},
    {"tokenizer.ggml.scores", 8, "\0\0\0\0\0\0\0\20", 8, TR_ERROR_FORMAT, "tokenizer.ggml.scores: reaches beyond the end"},
    {"tokenizer.ggml.scores", 16, "\0\0\300\177", 4, TR_ERROR_FORMAT, "piece 0: its score is not finite"},
    {"tokenizer.ggml.tokens", 8, "\0\0\0\0\0\0\0\20", 8, TR_ERROR_FORMAT, "tokenizer.ggml.tokens: reaches beyond the end"},
    {"tokenizer.ggml.tokens", 16, "\0\0\0\0\0\0\0\20", 8, TR_ERROR_FORMAT, "tokenizer.ggml.tokens: reaches beyond the end"},
    {"tokenizer.ggml.tokens", 24, "\377", 1, TR_ERROR_FORMAT, "piece 0: not valid UTF-8"},
    {"tokenizer.ggml.token_type", 16, "\7", 1, TR_ERROR_FORMAT, "token 0 is empty, too long or of an unknown type"},
    {"tokenizer.ggml.token_type", 16, "\6", 1, TR_ERROR_FORMAT, "no byte piece by its text"},
    {"tokenizer.ggml.token_type", 16, "\3", 1, TR_ERROR_FORMAT, "no unknown piece"},
    {"tokenizer.ggml.token_type", 20, "\2", 1, TR_ERROR_FORMAT, "a second unknown piece"},
    {"tokenizer.ggml.add_space_prefix", 0, "\4", 1, TR_ERROR_FORMAT, NULL},
    {"tokenizer.ggml.precompiled_charsmap", 16, "\377\377\377\177", 4, TR_ERROR_FORMAT, "charsmap: a trie of"},
    {"tokenizer.ggml.precompiled_charsmap", 16, "\0\0\0\0", 4, TR_ERROR_FORMAT, "charsmap"},
    {"tokenizer.ggml.precompiled_charsmap", 4, "\7", 1, TR_ERROR_FORMAT, "precompiled_charsmap: is not an array of bytes"},
    {"token_embd.weight", 20, "\20", 1, TR_ERROR_UNSUPPORTED,
     "token_embd.weight: type IQ2_XXS is not supported, only F32, F16, BF16, I8, I32, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0"},
    {"token_embd.weight", 20, "\50", 1, TR_ERROR_UNSUPPORTED, "type NVFP4 is not supported"},
    {"token_embd.weight", 20, "\377", 1, TR_ERROR_UNSUPPORTED, "type 255 is unknown"},
    {"token_embd.weight", 20, "\14", 1, TR_ERROR_FORMAT,
     "token_embd.weight: its rows of 64 elements are not whole blocks of Q4_K"},
    {"token_embd.weight", 4, "\41", 1, TR_ERROR_FORMAT,
     "token_embd.weight: its rows of 33 elements are not whole blocks of Q8_0"},
    {"token_embd.weight", 12, "\0\0\0\0\0\0\0\20", 8, TR_ERROR_FORMAT,
     "token_embd.weight: its size is 0 or more than the file"},
    {"token_embd.weight", 24, "\0\0\0\0\1", 5, TR_ERROR_FORMAT, "token_embd.weight: lies outside the file"},
    {"dec.blk.0.attn_rel_b.weigh", 0, "x", 1, TR_ERROR_FORMAT, NULL},
};

static void test_damage(void **state)
{
    (void)state;
    const file f = load("madlad-q8_0.gguf");
    check_damage(f.data, f.size, damages, sizeof damages / sizeof *damages);
    free(f.data);
}

/* Removes the last 8 elements of 4 bytes from an array: 32 bytes, the alignment of the tensors. */
static void shorten(file *f, const char *key)
{
    enum { TAKEN = 8, BYTES = 32 };
    unsigned char *count = after_text(f->data, f->size, key) + 8;
    assert_true(count[0] > TAKEN && count[1] == 0);
    unsigned char *end = count + 8 + 4 * count[0];
    memmove(end - BYTES, end, (size_t)(f->data + f->size - end));
    f->size -= BYTES;
    count[0] -= TAKEN;
}

static void test_lengths(void **state)
{
    (void)state;
    static const char *const lists[] = {"tokenizer.ggml.scores", "tokenizer.ggml.token_type"};
    static const char *const needles[] = {"120 tokens, 112 scores and 120 types", "120 tokens, 120 scores and 112 types"};
    for (int i = 0; i < 2; i++) {
        file f = load("madlad-q8_0.gguf");
        shorten(&f, lists[i]);
        expect_refused_copy(f.data, f.size, TR_ERROR_FORMAT, needles[i]);
        free(f.data);
    }
}

/* Invalid normalisation rules: each byte of them inverted in turn. */
static void test_charsmap(void **state)
{
    (void)state;
    file f = load("madlad-q8_0.gguf");
    unsigned char *rules = after_text(f.data, f.size, "tokenizer.ggml.precompiled_charsmap") + 16;
    const size_t size = rules[-8] | (size_t)rules[-7] << 8;
    int refused = 0;
    tr_error error;
    for (size_t i = 0; i < size; i++) {
        rules[i] ^= 0xff;
        refused += read_copy(f.data, f.size, &error) != TR_OK;
        rules[i] ^= 0xff;
    }
    assert_true(refused > 4);
    free(f.data);
}

/* Relative positions of each layer are refused, not ignored. */
static void test_umt5(void **state)
{
    (void)state;
    file f = load("t5-small-blocks.gguf");
    assert_non_null(find_text(f.data, f.size, "enc.blk.1.attn_")); /* there is a second layer */
    find_text(f.data, f.size, "enc.blk.0.attn_rel_b.weight")[8] = '1';
    expect_refused_copy(f.data, f.size, TR_ERROR_UNSUPPORTED,
                        "enc.blk.1.attn_rel_b.weight: relative positions of each layer's own (UMT5)");
    free(f.data);
}

static void test_truncated(void **state)
{
    (void)state;
    file f = load("t5-large-blocks.gguf");
    tr_error error;
    for (size_t length = 0; length < f.size - 32; length += length < 20000 ? STEP : 100 * STEP)
        assert_int_equal(read_copy(f.data, length, &error), TR_ERROR_FORMAT);
    free(f.data);
}

/* Flips bits of everything but the weights. All weights of an accepted model must be readable. */
static void test_bit_flips(void **state)
{
    (void)state;
    file f = load("madlad-q8_0.gguf");
    const size_t header = (size_t)(after_text(f.data, f.size, "enc.output_norm.weight") - f.data);
    assert_true(flip_bits(f.data, f.size, header, FLIPS) > FLIPS / 20);
    free(f.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damage), cmocka_unit_test(test_lengths),   cmocka_unit_test(test_charsmap),
        cmocka_unit_test(test_umt5),   cmocka_unit_test(test_truncated), cmocka_unit_test(test_bit_flips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
