/* The block types of ggml that model files are quantised to. Layouts: ggml-org/ggml, src/ggml-common.h and the
 * dequantize_row functions of src/ggml-quants.c; the same numbers to the last bit. */
#ifndef TR_FORMATS_GGUF_BLOCKS_H
#define TR_FORMATS_GGUF_BLOCKS_H

#include "model/weights.h"

const tr_blocks *tr_gguf_blocks(uint32_t code); /* ggml_type; NULL: none that is read */

#endif
