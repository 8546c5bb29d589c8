/* libFuzzer target: a model in numpy's .npz from memory, up to tensors and the first and last number of each. Seeds: the
 * model.npz files of tests/marian/fixtures. */
#include "fuzz_marian.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_model(data, size, tr_npz_read);
}
