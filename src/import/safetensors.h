/* The safetensors container (github.com/huggingface/safetensors): a u64 header size, a JSON header, the data. */
#ifndef TR_IMPORT_SAFETENSORS_H
#define TR_IMPORT_SAFETENSORS_H

#include "model/weights.h"

/* Adds the tensors of one file that renaming knows to weights, which may hold those of other files. They must be F32, F16 or
 * BF16, and point into data at any address: old writers did not pad the header. On failure weights keeps the tensors
 * added before. */
tr_status tr_safetensors_read(const void *data, size_t size, tr_tensor_rename *renaming, tr_weights *weights,
                              tr_error *error);

#endif
