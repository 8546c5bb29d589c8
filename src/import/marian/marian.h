/* Readers of the parts of native Marian models: the two containers, the settings inside them, weights and vocabularies.
 * Facts: marian-nmt/marian-dev, src/common/{binary,io}.cpp, src/models/transformer.h (names of parameters, order of
 * operations), src/data/default_vocab.cpp; docs/formats.md has the table of names. */
#ifndef TR_IMPORT_MARIAN_H
#define TR_IMPORT_MARIAN_H

#include "import/json.h"
#include "formats/package.h"

/* ----------------------------------------------------------------------------------------------- containers: the items */

/* Marian's type codes: class << 8 | bytes of an element. Others are not supported. */
typedef enum tr_marian_type {
    TR_MARIAN_I8 = 0x0101,
    TR_MARIAN_I32 = 0x0104,
    TR_MARIAN_F16 = 0x0402,
    TR_MARIAN_F32 = 0x0404,
    TR_MARIAN_INTGEMM8 = 0x4101, /* browsermt: the bytes of the transpose, then the multiplier as f32 */
} tr_marian_type;

typedef struct tr_marian_item {
    const char *name;
    uint64_t type; /* a tr_marian_type or an unsupported code */
    int rank;      /* 1 .. TR_MAX_RANK */
    int64_t shape[TR_MAX_RANK];
    const unsigned char *data; /* at any address */
    size_t bytes;              /* at least product(shape) elements; there may be padding */
} tr_marian_item;

typedef struct tr_marian_items {
    tr_marian_item *items;
    size_t count, capacity;
    tr_strmap index;
    void **blocks; /* memory that items point into */
    size_t block_count;
} tr_marian_items;

#define TR_MARIAN_SETTINGS "special:model.yml"

/* True if a file begins like Marian's .bin. */
bool tr_marian_bin_recognise(const void *data, size_t size);

/* Fill zeroed items, whose data points into file or into items->blocks. Free items also on failure. */
tr_status tr_marian_bin_read(tr_bytes file, tr_marian_items *items, tr_error *error);
tr_status tr_npz_read(tr_bytes file, tr_marian_items *items, tr_error *error);

/* For readers of containers. add checks rank, shape and bytes and that the name is new; name and data must outlive items.
 * keep takes ownership of a block, also on failure. */
tr_status tr_marian_items_add(tr_marian_items *items, const tr_marian_item *item, tr_error *error) TR_CHECKED;
tr_status tr_marian_items_keep(tr_marian_items *items, void *block, tr_error *error) TR_CHECKED;
const tr_marian_item *tr_marian_find(const tr_marian_items *items, const char *name); /* NULL if absent */
void tr_marian_items_free(tr_marian_items *items);

/* -------------------------------------------------------------------------------------------------- settings, weights */

/* Settings of the weights that tr_config does not have. */
typedef struct tr_marian_layout {
    bool shared_source; /* one embedding for source and target */
    bool tied_output;   /* the output projection is the target embedding */
    bool no_output_bias;
    int decoder_layer[TR_MAX_LAYERS]; /* number of the layer whose parameters each layer uses, from 1 on */
} tr_marian_layout;

/* Fills config, without token ids, and layout from special:model.yml. TR_ERROR_UNSUPPORTED names a setting that is not
 * supported. */
tr_status tr_marian_config(const json_t *yml, const tr_marian_items *items, tr_config *config, tr_marian_layout *layout,
                           tr_error *error);

/* Adds all tensors of the network under our names; matrices stored as [inputs, outputs] are marked as transposed. Fails if
 * an item is left over. */
tr_status tr_marian_weights(const tr_marian_items *items, const tr_config *config, const tr_marian_layout *layout,
                            tr_weights *weights, tr_error *error);

/* Adds a matrix of type TR_MARIAN_INTGEMM8 as panels. Its shape is [outputs, inputs] for an embedding, else [inputs,
 * outputs]. alpha: scale that activations are quantised with; 0: each row has its own. */
tr_status tr_marian_int8(const tr_marian_item *item, bool embedding, float alpha, const char *name, tr_weights *weights,
                         tr_error *error);
/* Reads the number in an item NAME_QuantMultA. */
tr_status tr_marian_alpha(const tr_marian_item *item, float *alpha, tr_error *error);

typedef struct tr_marian_specials {
    int eos_id, unk_id;
} tr_marian_specials;

/* Reads a vocabulary file, YAML or JSON {token: id} or a token a line, of rows ids. Messages begin with name. */
tr_status tr_marian_vocabulary(tr_bytes file, const char *name, int rows, tr_vocabulary *vocabulary,
                               tr_marian_specials *specials, tr_error *error);

#endif
