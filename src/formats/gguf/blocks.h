/* ggml's quantised block types. Layouts: ggml-org/ggml, src/ggml-common.h and the
 * dequantize_row functions of src/ggml-quants.c; bit-exact. */
#ifndef TR_FORMATS_GGUF_BLOCKS_H
#define TR_FORMATS_GGUF_BLOCKS_H

#include "model/weights.h"

const tr_blocks *tr_gguf_blocks(uint32_t code); /* code: ggml_type; NULL: not supported */

#endif
