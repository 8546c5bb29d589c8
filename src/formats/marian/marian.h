/* The parts of native Marian models, from memory: the two containers, the settings inside them, weights and vocabularies.
 * Facts: marian-nmt/marian-dev, src/common/{binary,io}.cpp, src/models/transformer.h (names of parameters, order of
 * operations), src/data/default_vocab.cpp; docs/formats.md has the table of names. */
#ifndef TR_FORMATS_MARIAN_H
#define TR_FORMATS_MARIAN_H

#include "formats/json.h"
#include "formats/package.h"

/* ----------------------------------------------------------------------------------------------- containers: the items */

/* Marian's codes of types: a class, << 8, and the size of an element. There are others, which no reader here knows. */
typedef enum tr_marian_type {
    TR_MARIAN_I8 = 0x0101,
    TR_MARIAN_I32 = 0x0104,
    TR_MARIAN_F16 = 0x0402,
    TR_MARIAN_F32 = 0x0404,
    TR_MARIAN_INTGEMM8 = 0x4101, /* browsermt's: bytes of the transpose, then the multiplier as f32 */
} tr_marian_type;

typedef struct tr_marian_item {
    const char *name;
    uint64_t type; /* a tr_marian_type, or another */
    int rank;      /* 1 .. TR_MAX_RANK */
    int64_t shape[TR_MAX_RANK];
    const unsigned char *data; /* at any address */
    size_t bytes;              /* at least product(shape) elements of the size that type tells: there may be padding */
} tr_marian_item;

typedef struct tr_marian_items {
    tr_marian_item *items;
    size_t count, capacity;
    tr_strmap index;
    void **blocks; /* memory that items point into */
    size_t block_count;
} tr_marian_items;

#define TR_MARIAN_SETTINGS "special:model.yml"

/* Whether a file begins as Marian's .bin does. */
bool tr_marian_bin_recognise(const void *data, size_t size);

/* Zeroed items are filled with what points into file or into their own blocks. They are to be freed in any case. */
tr_status tr_marian_bin_read(tr_bytes file, tr_marian_items *items, tr_error *error);
tr_status tr_npz_read(tr_bytes file, tr_marian_items *items, tr_error *error);

/* For the containers. add checks rank, shape and bytes, and that the name is new; what it points to must stay. keep takes a
 * block, also on failure. */
tr_status tr_marian_items_add(tr_marian_items *items, const tr_marian_item *item, tr_error *error) TR_CHECKED;
tr_status tr_marian_items_keep(tr_marian_items *items, void *block, tr_error *error) TR_CHECKED;
const tr_marian_item *tr_marian_find(const tr_marian_items *items, const char *name); /* NULL if absent */
void tr_marian_items_free(tr_marian_items *items);

/* ------------------------------------------------------------------------------------------------------ what they mean */

/* What the settings say besides the network's shape. */
typedef struct tr_marian_layout {
    bool shared_source; /* one embedding for both sides */
    bool tied_output;   /* the output projection is the target embedding */
    bool no_output_bias;
    int decoder_layer[TR_MAX_LAYERS]; /* whose parameters each has, from 1 on */
} tr_marian_layout;

/* Shape and settings of the network from special:model.yml, all but token ids. TR_ERROR_UNSUPPORTED names what this program
 * cannot compute. */
tr_status tr_marian_config(const json_t *yml, const tr_marian_items *items, tr_config *config, tr_marian_layout *layout,
                           tr_error *error);

/* Adds all of the network's tensors, under our names; matrices that lie [inputs, outputs] are marked as turned. Items that
 * nobody asked for are refused by name. */
tr_status tr_marian_weights(const tr_marian_items *items, const tr_config *config, const tr_marian_layout *layout,
                            tr_weights *weights, tr_error *error);

/* A matrix of type TR_MARIAN_INTGEMM8 in panels: an embedding, [outputs, inputs], or another, whose shape says [inputs,
 * outputs]. alpha: what the rows that it meets are quantised with, 0 if each sentence has its own. */
tr_status tr_marian_int8(const tr_marian_item *item, bool embedding, float alpha, const char *name, tr_weights *weights,
                         tr_error *error);
/* The number of an item NAME_QuantMultA. */
tr_status tr_marian_alpha(const tr_marian_item *item, float *alpha, tr_error *error);

/* A vocabulary file of Marian's, YAML or JSON {token: id} or a token a line, of rows ids; and its two special ids. name
 * begins messages. */
typedef struct tr_marian_specials {
    int end, unknown;
} tr_marian_specials;
tr_status tr_marian_vocabulary(tr_bytes file, const char *name, int rows, tr_vocabulary *vocabulary,
                               tr_marian_specials *specials, tr_error *error);

#endif
