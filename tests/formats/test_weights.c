/* Half-precision conversion against arithmetic on all values; the tensor table; the checks of the config. */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float to_f32(tr_type type, uint16_t half)
{
    const tr_tensor tensor = {.type = type, .rank = 1, .shape = {1}, .data = &half, .bytes = 2};
    float x;
    tr_tensor_to_f32(&tensor, 0, 1, &x);
    return x;
}

static uint16_t from_f32(tr_type type, float x)
{
    uint16_t half;
    tr_from_f32(type, &x, 1, &half);
    return half;
}

/* The definition: (-1)^s 2^(e - 15) 1.m, without the hidden bit and with exponent -14 where e is 0. */
static double f16_value(uint16_t half)
{
    const int exponent = half >> 10 & 31, mantissa = half & 1023;
    const double magnitude = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return half & 0x8000 ? -magnitude : magnitude;
}

static void test_f16_to_f32(void **state)
{
    (void)state;
    for (unsigned h = 0; h < 65536; h++) {
        const float x = to_f32(TR_TYPE_F16, (uint16_t)h);
        if ((h & 0x7fff) > 0x7c00)
            assert_true(isnan(x));
        else if ((h & 0x7fff) == 0x7c00)
            assert_true(isinf(x));
        else
            assert_true((double)x == f16_value((uint16_t)h));
        assert_int_equal(!!signbit(x), h >> 15);
    }
}

/* Every value is converted back to itself, every midpoint to the even neighbour, and values beside it to the nearer one. */
static void test_f16_rounding(void **state)
{
    (void)state;
    for (unsigned h = 0; h < 0x7c00; h++) {
        const float low = to_f32(TR_TYPE_F16, (uint16_t)h);
        const float high = h == 0x7bff ? 65536 : to_f32(TR_TYPE_F16, (uint16_t)(h + 1));
        const float middle = low + (high - low) / 2;
        assert_int_equal(from_f32(TR_TYPE_F16, low), h);
        assert_int_equal(from_f32(TR_TYPE_F16, -low), h | 0x8000);
        assert_int_equal(from_f32(TR_TYPE_F16, middle), h + (h & 1));
        assert_int_equal(from_f32(TR_TYPE_F16, nextafterf(middle, 0)), h);
        assert_int_equal(from_f32(TR_TYPE_F16, nextafterf(middle, INFINITY)), h + 1);
        assert_int_equal(from_f32(TR_TYPE_F16, -nextafterf(middle, INFINITY)), (h + 1) | 0x8000);
    }
    assert_int_equal(from_f32(TR_TYPE_F16, 1e30f), 0x7c00);
    assert_int_equal(from_f32(TR_TYPE_F16, -INFINITY), 0xfc00);
    assert_int_equal(from_f32(TR_TYPE_F16, 1e-40f), 0);
    assert_true((from_f32(TR_TYPE_F16, NAN) & 0x7fff) > 0x7c00);
}

static void test_bf16(void **state)
{
    (void)state;
    static const uint32_t low_parts[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    for (uint32_t h = 0; h < 65536; h++)
        for (size_t i = 0; i < sizeof low_parts / sizeof *low_parts; i++) {
            const uint32_t bits = h << 16 | low_parts[i];
            float x;
            memcpy(&x, &bits, sizeof x);
            const uint16_t half = from_f32(TR_TYPE_BF16, x);
            if (isnan(x))
                assert_true(isnan(to_f32(TR_TYPE_BF16, half)) && half >> 15 == h >> 15);
            else
                assert_int_equal(half, h + (low_parts[i] > 0x8000 || (low_parts[i] == 0x8000 && (h & 1))));
            if (!low_parts[i] && !isnan(x))
                assert_true(to_f32(TR_TYPE_BF16, half) == x);
        }
}

static void test_subrange(void **state)
{
    (void)state;
    const float values[] = {1, -2, 3.5f, 0};
    uint16_t halves[4];
    float back[4] = {0};
    tr_from_f32(TR_TYPE_F16, values, 4, halves);
    const tr_tensor tensor = {.type = TR_TYPE_F16, .rank = 1, .shape = {4}, .data = halves, .bytes = sizeof halves};
    tr_tensor_to_f32(&tensor, 1, 2, back);
    assert_true(back[0] == -2 && back[1] == 3.5f && back[2] == 0);
    assert_int_equal(tr_tensor_elements(&tensor), 4);
}

static void refuse_tensor(tr_weights *weights, const tr_tensor *tensor, const char *needle)
{
    tr_error error;
    assert_int_equal(tr_weights_add(weights, tensor, &error), TR_ERROR_FORMAT);
    assert_non_null(strstr(error.message, needle));
}

static void test_table(void **state)
{
    (void)state;
    tr_weights weights = {0};
    float *data = malloc(6 * sizeof *data);
    tr_tensor tensor = {"first", TR_TYPE_F32, 2, {2, 3}, data, 24, true, NULL, false, false, NULL};
    assert_null(tr_weights_find(&weights, "first"));
    assert_int_equal(tr_weights_add(&weights, &tensor, NULL), TR_OK);
    assert_ptr_equal(tr_weights_find(&weights, "first")->data, data);
    assert_null(tr_weights_find(&weights, "firs"));
    tensor.owned = false;
    refuse_tensor(&weights, &tensor, "first: is there twice");
    strcpy(tensor.name, "second");
    tensor.bytes = 23;
    refuse_tensor(&weights, &tensor, "23");
    tensor.shape[0] = tensor.shape[1] = (int64_t)1 << 32; /* the product is 0 in 64 bits */
    tensor.bytes = 0;
    refuse_tensor(&weights, &tensor, "second");
    tensor.rank = 5;
    refuse_tensor(&weights, &tensor, "5 dimensions");
    tensor.rank = 1;
    tensor.shape[0] = -1;
    refuse_tensor(&weights, &tensor, "negative");
    memset(tensor.name, 'x', sizeof tensor.name);
    refuse_tensor(&weights, &tensor, "too long");
    for (int i = 0; i < 300; i++) { /* the table grows */
        tensor = (tr_tensor){.rank = 1, .shape = {0}};
        tensor.name[0] = (char)('a' + i % 26);
        tensor.name[1] = (char)('a' + i / 26);
        assert_int_equal(tr_weights_add(&weights, &tensor, NULL), TR_OK);
    }
    assert_int_equal(weights.count, 301);
    assert_non_null(tr_weights_find(&weights, "ba"));
    tr_weights_free(&weights);
}

static tr_config sound_config(void)
{
    tr_config c = tr_config_default();
    c.d_model = 8, c.encoder_layers = c.decoder_layers = 1, c.encoder_heads = c.decoder_heads = 2;
    c.encoder_ffn = c.decoder_ffn = 4, c.source_vocabulary = 10, c.target_vocabulary = 12, c.max_positions = 5;
    c.activation = TR_ACTIVATION_RELU, c.start_id = 11, c.eos_id = 0;
    return c;
}

#define REFUSE(field, wrong)                                                                                                \
    do {                                                                                                                    \
        tr_config c = sound_config();                                                                                       \
        tr_error error;                                                                                                     \
        c.field = wrong;                                                                                                    \
        assert_int_equal(tr_config_check(&c, &error), TR_ERROR_FORMAT);                                                     \
        assert_non_null(strstr(error.message, #field));                                                                     \
    } while (0)

static void test_config(void **state)
{
    (void)state;
    tr_config sound = sound_config();
    assert_int_equal(tr_config_check(&sound, NULL), TR_OK);
    REFUSE(d_model, 0);
    REFUSE(d_model, 9); /* names the heads, too */
    REFUSE(encoder_heads, 3);
    REFUSE(decoder_heads, 16);
    REFUSE(decoder_heads, 0);
    REFUSE(encoder_layers, -1);
    REFUSE(decoder_layers, 100000);
    REFUSE(encoder_ffn, 0);
    REFUSE(source_vocabulary, 1 << 30);
    REFUSE(max_positions, 0);
    REFUSE(position_offset, -1);
    REFUSE(start_id, -1);
    REFUSE(start_id, 12);
    REFUSE(eos_id, 10); /* inside the target vocabulary, but not the source one */
    REFUSE(pad_id, 12);
    REFUSE(unk_id, 10);
    REFUSE(forced_first_id, 12);
    REFUSE(forced_last_id, -2);
    REFUSE(forbidden_count, TR_MAX_FORBIDDEN + 1);
    REFUSE(embedding_scale, NAN);
    REFUSE(embedding_scale, INFINITY);
    REFUSE(layer_norm_epsilon, NAN);
    REFUSE(layer_norm_epsilon, -1);
    REFUSE(activation, TR_ACTIVATION_NONE);
    REFUSE(positions, (tr_positions)7);
    REFUSE(activation, TR_ACTIVATION_SIGMOID);
    REFUSE(encoder_ffn_depth, 0);
    REFUSE(decoder_ffn_depth, TR_MAX_FFN_DEPTH + 1);
    REFUSE(mixer, (tr_decoder_mixer)3);
    REFUSE(post_norm, true); /* without pre_norm */
    REFUSE(unnormalised_kv, true);
    sound.forbidden[sound.forbidden_count++] = 12;
    assert_int_equal(tr_config_check(&sound, NULL), TR_ERROR_FORMAT);
}

/* A transposed matrix reads as the plain one, whichever rows are read. */
static void test_turned(void **state)
{
    (void)state;
    enum { ROWS = 37, COLUMNS = 21, ALL = ROWS * COLUMNS };
    float straight[ALL], transposed[ALL], out[ALL];
    uint16_t halves[ALL];
    for (int o = 0; o < ROWS; o++)
        for (int i = 0; i < COLUMNS; i++)
            straight[o * COLUMNS + i] = transposed[i * ROWS + o] = (float)(o * COLUMNS + i);
    tr_from_f32(TR_TYPE_F16, transposed, ALL, halves);
    tr_tensor t = {.name = "t",
                   .rank = 2,
                   .shape = {ROWS, COLUMNS},
                   .data = transposed,
                   .bytes = sizeof transposed,
                   .transposed = true};
    for (int half = 0; half < 2; half++) {
        for (size_t first = 0; first < ALL; first += 13)
            for (size_t count = 0; first + count <= ALL; count += count < 45 ? 1 : 61) {
                memset(out, 0xff, sizeof out);
                tr_tensor_to_f32(&t, first, count, out);
                assert_memory_equal(out, straight + first, count * sizeof *out);
                const unsigned char *next = (const unsigned char *)(out + count);
                assert_true(first + count == ALL || *next == 0xff);
            }
        t.type = TR_TYPE_F16, t.data = halves, t.bytes = sizeof halves;
    }
    tr_weights weights = {0};
    t.type = TR_TYPE_I8, t.bytes = ALL;
    assert_int_equal(tr_weights_add(&weights, &t, NULL), TR_ERROR_FORMAT);
    tr_weights_free(&weights);
}

static void test_names(void **state)
{
    (void)state;
    for (int a = TR_ACTIVATION_RELU; a <= TR_ACTIVATION_SWISH; a++) {
        tr_activation back;
        assert_true(tr_activation_parse(tr_activation_name((tr_activation)a), &back) && (int)back == a);
    }
    tr_activation activation;
    assert_true(tr_activation_parse("silu", &activation) && activation == TR_ACTIVATION_SWISH);
    assert_false(tr_activation_parse("mish", &activation));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f16_to_f32), cmocka_unit_test(test_f16_rounding), cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_subrange),   cmocka_unit_test(test_table),        cmocka_unit_test(test_config),
        cmocka_unit_test(test_names),      cmocka_unit_test(test_turned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
