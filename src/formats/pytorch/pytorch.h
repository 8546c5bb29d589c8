/* Weights as torch.save writes them: a zip archive with a pickle and the storages, or, before torch 1.6, one pickle behind
 * the other and the storages behind those. */
#ifndef TR_FORMATS_PYTORCH_H
#define TR_FORMATS_PYTORCH_H

#include "model/weights.h"

/* Whether data is one of them, by its first bytes. */
bool tr_is_pytorch(const void *data, size_t size);

/* Adds the wanted tensors of one file to weights, like tr_safetensors_read. They point into data, at any
 * address; into memory of the table's where the file has them deflated, or in another order than theirs. The state dict is
 * the file's root, or what stands there under state_dict, model_state_dict or model. */
tr_status tr_pytorch_read(const void *data, size_t size, tr_tensor_rename *renaming, tr_weights *weights, tr_error *error);

#endif
