/* Binding weights to a network: tensors that do not fit the settings are refused by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "formats/open.h"
#include "kernels/dispatch.h"
#include "model/transformer.h"

static tr_package package;
static const tr_kernels *kernels;

static int open_package(void **unused)
{
    (void)unused;
    tr_error error;
    if (tr_kernels_select(NULL, &kernels, &error))
        return -1;
    return tr_package_open(TR_DIRECTORY, TR_LOAD_MAP, &package, &error) ? -1 : 0;
}

static int close_package(void **unused)
{
    (void)unused;
    tr_package_close(&package);
    return 0;
}

static void refuse(const tr_config *config, tr_status status, const char *says)
{
    tr_network *network;
    tr_error error = {0};
    assert_int_equal(tr_network_create(config, &package.weights, TR_COMPUTE_AUTO, kernels, &network, &error), status);
    assert_null(network);
    if (!strstr(error.message, says))
        fail_msg("\"%s\" does not say \"%s\"", error.message, says);
    assert_int_equal(tr_network_create(config, &package.weights, TR_COMPUTE_AUTO, kernels, &network, NULL), status);
}

static void test_sound(void **unused)
{
    (void)unused;
    tr_network *network;
    tr_error error;
    for (tr_compute compute = TR_COMPUTE_AUTO; compute <= TR_COMPUTE_BF16; compute++) {
        assert_int_equal(tr_network_create(&package.config, &package.weights, compute, kernels, &network, &error), TR_OK);
        const tr_type wanted[] = {TR_TYPE_F32, TR_TYPE_F32, TR_TYPE_F16, TR_TYPE_BF16};
        assert_int_equal(network->type, wanted[compute]);
        assert_true(network->parameters > 0);
        tr_network_destroy(network);
    }
    tr_network_destroy(NULL);
}

static void test_misfits(void **unused)
{
    (void)unused;
    tr_config c = package.config;
    c.encoder_layers++;
    refuse(&c, TR_ERROR_FORMAT, "enc.blk.1.attn_q.weight: is missing");
    c = package.config;
    c.decoder_ffn++;
    refuse(&c, TR_ERROR_FORMAT, "dec.blk.0.ffn_up.weight: its shape is [");
    c = package.config;
    c.final_norm = true;
    refuse(&c, TR_ERROR_FORMAT, "enc.output_norm.weight: is missing");
    c = package.config;
    c.positions = TR_POSITIONS_LEARNED;
    refuse(&c, TR_ERROR_FORMAT, "enc.position_embd.weight: is missing");
    c = package.config;
    c.encoder_heads = c.d_model + 1;
    refuse(&c, TR_ERROR_FORMAT, "heads");
}

/* A number in a file alone must not allocate memory. */
static void test_claimed_positions(void **unused)
{
    (void)unused;
    tr_config c = package.config;
    c.max_positions = TR_MAX_POSITIONS;
    refuse(&c, TR_ERROR_UNSUPPORTED, "max_positions");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound),
        cmocka_unit_test(test_misfits),
        cmocka_unit_test(test_claimed_positions),
    };
    return cmocka_run_group_tests(tests, open_package, close_package);
}
