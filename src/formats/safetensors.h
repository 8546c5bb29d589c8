/* The safetensors container (github.com/huggingface/safetensors): a u64 header size, a JSON header, the data. */
#ifndef TR_FORMATS_SAFETENSORS_H
#define TR_FORMATS_SAFETENSORS_H

#include "model/weights.h"

/* Adds the wanted tensors of one file to weights, which may hold those of other files (shards) already. They point into
 * data, at any address: old writers did not pad the header. Wanted tensors are F32, F16 or BF16.
 * On failure weights keeps what was added before. */
tr_status tr_safetensors_read(const void *data, size_t size, tr_tensor_rename *renaming, tr_weights *weights,
                              tr_error *error);

#endif
