/* Weights as torch.save writes them: a zip archive with a pickle and the storages, or, before torch 1.6, several pickles
 * followed by the storages. */
#ifndef TR_IMPORT_PYTORCH_H
#define TR_IMPORT_PYTORCH_H

#include "model/weights.h"

/* True if data begins like one of the two. */
bool tr_is_pytorch(const void *data, size_t size);

/* Adds the tensors of one file that renaming knows to weights, as tr_safetensors_read does. They point into data at any
 * address, or into memory that weights owns if they are deflated or not contiguous. The state dict is the file's root, or
 * the root's state_dict, model_state_dict or model. */
tr_status tr_pytorch_read(const void *data, size_t size, tr_tensor_rename *renaming, tr_weights *weights, tr_error *error);

#endif
