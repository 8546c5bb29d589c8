/* The safetensors container (github.com/huggingface/safetensors): a u64 header size, a JSON header, the data. */
#ifndef TR_FORMATS_SAFETENSORS_H
#define TR_FORMATS_SAFETENSORS_H

#include "model/weights.h"

/* Translates a tensor's name in the file to ours; leaves out empty for a tensor that is not wanted. */
typedef void tr_tensor_rename(const char *name, char out[TR_TENSOR_NAME]);

/* Adds the wanted tensors of one file to weights, which may hold those of other files (shards) already. They point into
 * data; one that is not aligned to its elements is copied. Wanted tensors are F32, F16 or BF16.
 * On failure weights keeps what was added before. */
tr_status tr_safetensors_read(const void *data, size_t size, tr_tensor_rename *rename, tr_weights *weights, tr_error *error);

#endif
