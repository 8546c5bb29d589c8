#include "formats/stored.h"

#include <stdlib.h>
#include <string.h>

#include "formats/gguf/keys.h"
#include "model/pack.h"
#include "util/utf8.h"

enum { CHUNK = 1 << 16 }; /* elements converted at a time */

/* ---------------------------------------------------------------------------------------------------------------- list */

/* Something besides weights. */
static tr_stored vector_of(const char *name, tr_type type, const void *data, size_t bytes)
{
    tr_stored stored = {.tensor = {.type = type, .rank = 1, .data = data, .bytes = bytes}};
    stored.tensor.shape[0] = (int64_t)(bytes / tr_type_size(type));
    memcpy(stored.tensor.name, name, strlen(name));
    return stored;
}

static tr_status list_shortlist(const tr_shortlist *s, tr_stored_each *each, void *argument, tr_error *error)
{
    if (!s->offsets)
        return TR_OK;
    const size_t count = (size_t)s->sources + 1, words = (size_t)s->offsets[s->sources];
    const tr_stored lists[] = {
        vector_of(TR_TENSOR_SHORTLIST_OFFSETS, TR_TYPE_I32, s->offsets, count * sizeof *s->offsets),
        vector_of(TR_TENSOR_SHORTLIST_WORDS, TR_TYPE_I32, s->words, words * sizeof *s->words),
    };
    const tr_status status = each(argument, &lists[0], error);
    return status == TR_OK ? each(argument, &lists[1], error) : status;
}

static tr_status list_allowed(const tr_config *config, tr_stored_each *each, void *argument, tr_error *error)
{
    if (!config->allowed)
        return TR_OK;
    const tr_stored ids =
        vector_of(TR_TENSOR_ALLOWED, TR_TYPE_I32, config->allowed, (size_t)config->allowed_count * sizeof *config->allowed);
    return each(argument, &ids, error);
}

static tr_stored floats(const tr_tensor *from, tr_type type)
{
    const bool as_it_is = from->type == type && !from->turned && (!from->origin || type > TR_TYPE_BF16);
    tr_stored stored = {*from, as_it_is ? TR_STORED_COPY : TR_STORED_CONVERT, from, TR_FACTORS};
    stored.tensor.type = type;
    stored.tensor.turned = false;
    stored.tensor.bytes = (size_t)tr_tensor_elements(from) * tr_type_size(type);
    return stored;
}

/* How a packed matrix lies in the file, and in which order. */
static const struct {
    const char *suffix;
    tr_type type;
    tr_stored_kind kind;
    tr_factor factor;
} packed_parts[] = {
    {TR_PACKED_PANELS, TR_TYPE_I8, TR_STORED_PACK, TR_FACTORS},
    {TR_PACKED_SCALE, TR_TYPE_F32, TR_STORED_FACTOR, TR_FACTOR_SCALE},
    {TR_PACKED_COLSUM, TR_TYPE_I32, TR_STORED_FACTOR, TR_FACTOR_COLSUM},
    {TR_SCREEN_PANELS, TR_TYPE_I8, TR_STORED_SCREEN, TR_FACTORS},
};

enum { PARTS = sizeof packed_parts / sizeof *packed_parts, PARTS_UNSCREENED = PARTS - 1 };

static void set_shape(tr_tensor *t, tr_stored_kind kind, int64_t outputs, int64_t inputs)
{
    t->shape[0] = outputs;
    t->rank = 1;
    if (kind != TR_STORED_FACTOR) {
        t->shape[0] = outputs / TR_PANEL + !!(outputs % TR_PANEL);
        t->shape[1] = kind == TR_STORED_SCREEN ? tr_screen_lines((int)inputs) : (inputs + 3) / 4;
        t->shape[2] = TR_LINE;
        t->rank = 3;
    }
    t->bytes = (size_t)tr_tensor_elements(t) * tr_type_size(t->type);
}

static tr_status list_packed(const tr_store *store, const tr_tensor *from, tr_stored_each *each, void *argument,
                             tr_error *error)
{
    const int64_t outputs = from->shape[0], inputs = from->shape[1];
    tr_status status = TR_OK;
    if (outputs == 0 || inputs == 0)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: is empty", from->name);
    if (inputs > TR_I8_INPUTS || outputs > INT32_MAX - TR_PANEL)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "tensor %s: is [%lld, %lld], too large for int8: use f32, f16 or bf16",
                       from->name, (long long)outputs, (long long)inputs);
    const bool screened =
        outputs * inputs >= TR_SCREEN_I8_BYTES && strcmp(from->name, tr_weights_output(&store->package->weights)) == 0;
    for (int i = 0; status == TR_OK && i < (screened ? PARTS : PARTS_UNSCREENED); i++) {
        tr_stored part = {{.type = packed_parts[i].type}, packed_parts[i].kind, from, packed_parts[i].factor};
        set_shape(&part.tensor, part.kind, outputs, inputs);
        if (!tr_packed_name(part.tensor.name, from->name, packed_parts[i].suffix))
            return tr_fail(error, TR_ERROR_UNSUPPORTED, "tensor %s: its name is too long to be stored in int8", from->name);
        status = each(argument, &part, error);
    }
    return status;
}

/* Panels are stored as they are; those of a large output matrix that came without a screen get one. */
static tr_status list_panels(const tr_store *store, const tr_tensor *panels, const char *name, tr_stored_each *each,
                             void *argument, tr_error *error)
{
    const tr_stored copy = floats(panels, panels->type);
    const tr_weights *weights = &store->package->weights;
    tr_matrix m;
    tr_status status = each(argument, &copy, error);
    if (status != TR_OK || panels->bytes < TR_SCREEN_I8_BYTES || strcmp(name, tr_weights_output(weights)) != 0 ||
        tr_weights_part(weights, name, TR_SCREEN_PANELS))
        return status;
    tr_stored screen = {{.type = TR_TYPE_I8}, TR_STORED_SCREEN, panels, TR_FACTORS};
    status = tr_packed_matrix(store->package, panels, &m, error);
    if (status != TR_OK)
        return status;
    set_shape(&screen.tensor, TR_STORED_SCREEN, m.outputs, m.inputs);
    return tr_packed_name(screen.tensor.name, name, TR_SCREEN_PANELS) ? each(argument, &screen, error) : TR_OK;
}

static tr_status list_unpacked(const tr_store *store, const tr_tensor *panels, const char *name, tr_stored_each *each,
                               void *argument, tr_error *error)
{
    tr_matrix m;
    const tr_status status = tr_packed_matrix(store->package, panels, &m, error);
    if (status != TR_OK)
        return status;
    tr_stored stored = {
        {.type = store->type, .rank = 2, .shape = {m.outputs, m.inputs}}, TR_STORED_UNPACK, panels, TR_FACTORS};
    stored.tensor.bytes = (size_t)m.outputs * (size_t)m.inputs * tr_type_size(store->type);
    memcpy(stored.tensor.name, name, strlen(name));
    return each(argument, &stored, error);
}

/* Matrices get the type asked for; vectors and position tables, which are added, stay exact. */
static tr_status list_tensor(const tr_store *store, const tr_tensor *t, tr_stored_each *each, void *argument,
                             tr_error *error)
{
    char name[TR_TENSOR_NAME] = "";
    const bool matrix = tr_is_matrix(t), floating = tr_type_is_real(t->type);
    if (store->type == TR_TYPE_I8 && matrix)
        return list_packed(store, t, each, argument, error);
    const tr_packed_part part = tr_packed_part_of(&store->package->weights, t, name);
    if (part == TR_PACKED_MATRIX)
        return store->type == TR_TYPE_I8 ? list_panels(store, t, name, each, argument, error)
                                         : list_unpacked(store, t, name, each, argument, error);
    if (part == TR_PACKED_BESIDE && (store->type != TR_TYPE_I8 || tr_ends_with(t->name, TR_PACKED_ROWS)))
        return TR_OK;
    const tr_stored stored = floats(t, matrix ? store->type : floating ? TR_TYPE_F32 : t->type);
    return each(argument, &stored, error);
}

tr_status tr_store_list(const tr_store *store, tr_stored_each *each, void *argument, tr_error *error)
{
    const tr_package *package = store->package;
    tr_status status = TR_OK;
    const tr_bytes *source = &package->source_spm, *target = &package->target_spm;
    const bool differs = target->data && (!source->data || source->size != target->size ||
                                          memcmp(source->data, target->data, source->size) != 0);
    if (source->data) {
        const tr_stored stored = vector_of(TR_TENSOR_SOURCE_SPM, TR_TYPE_I8, source->data, source->size);
        status = each(argument, &stored, error);
    }
    if (status == TR_OK && differs) {
        const tr_stored stored = vector_of(TR_TENSOR_TARGET_SPM, TR_TYPE_I8, target->data, target->size);
        status = each(argument, &stored, error);
    }
    if (status == TR_OK && package->source_bpe.data) {
        const tr_stored stored =
            vector_of(TR_TENSOR_SOURCE_BPE, TR_TYPE_I8, package->source_bpe.data, package->source_bpe.size);
        status = each(argument, &stored, error);
    }
    if (status == TR_OK)
        status = list_shortlist(&package->shortlist, each, argument, error);
    if (status == TR_OK)
        status = list_allowed(&package->config, each, argument, error);
    for (size_t i = 0; status == TR_OK && i < package->weights.count; i++)
        status = list_tensor(store, package->weights.tensors[i], each, argument, error);
    return status;
}

/* -------------------------------------------------------------------------------------------------------------- floats */

/* Rounding to half precision must not make infinities of large weights. */
static bool overflows(const float *in, const uint16_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((out[i] & 0x7fff) == 0x7c00 && in[i] - in[i] == 0)
            return true;
    return false;
}

static tr_status send_floats(tr_store *store, const tr_stored *stored, const float *wide, void *narrow, size_t count,
                             tr_error *error)
{
    const tr_type type = stored->tensor.type;
    tr_from_f32(type, wide, count, narrow);
    if (type == TR_TYPE_F16 && overflows(wide, narrow, count))
        return tr_fail(error, TR_ERROR_NUMERIC, "tensor %s: holds a weight too large for f16: use bf16 or f32",
                       stored->tensor.name);
    return store->sink(store->argument, narrow, count * tr_type_size(type), error);
}

static tr_status out_of_memory(const tr_stored *stored, tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "tensor %s: out of memory", stored->tensor.name);
}

/* Whole panels at a time, where it is panels. */
static tr_status copy(tr_store *store, const tr_stored *stored, tr_error *error)
{
    const tr_tensor *t = &stored->tensor;
    const size_t elements = (size_t)tr_tensor_elements(t), element = tr_type_size(t->type);
    const size_t panel = t->rank == 3 ? (size_t)(t->shape[1] * t->shape[2]) : 1;
    const size_t part = panel < CHUNK ? CHUNK / panel * panel : panel;
    unsigned char *made = t->origin ? malloc(part * element) : NULL;
    tr_status status = t->origin && !made ? out_of_memory(stored, error) : TR_OK;
    for (size_t first = 0; status == TR_OK && first < elements; first += part) {
        const size_t count = elements - first < part ? elements - first : part;
        if (made)
            tr_tensor_copy(t, first, count, made);
        status = store->sink(store->argument, made ? made : (const unsigned char *)t->data + first * element,
                             count * element, error);
        tr_tensor_passed(t, first, first + count);
    }
    free(made);
    return status;
}

static tr_status convert(tr_store *store, const tr_stored *stored, tr_error *error)
{
    const uint64_t elements = tr_tensor_elements(stored->from);
    float *wide = malloc(CHUNK * sizeof *wide);
    void *narrow = malloc(CHUNK * sizeof *wide);
    tr_status status = wide && narrow ? TR_OK : out_of_memory(stored, error);
    for (uint64_t first = 0; status == TR_OK && first < elements; first += CHUNK) {
        const size_t count = elements - first < CHUNK ? (size_t)(elements - first) : CHUNK;
        tr_tensor_to_f32(stored->from, (size_t)first, count, wide);
        status = send_floats(store, stored, wide, narrow, count, error);
        tr_tensor_passed(stored->from, (size_t)first, (size_t)first + count);
    }
    free(wide);
    free(narrow);
    return status;
}

/* --------------------------------------------------------------------------------------------------------------- int8 */

/* Outputs [first, first + 16) of a matrix in panels as a matrix in memory, for packing and unpacking. */
static tr_matrix take_panel(const tr_tensor *panels, const tr_matrix *m, int first, void *memory)
{
    const size_t bytes = tr_panel_bytes(m->inputs), at = (size_t)(first / TR_PANEL) * bytes;
    const int outputs = m->outputs - first < TR_PANEL ? m->outputs - first : TR_PANEL;
    tr_tensor_copy(panels, at, bytes, memory);
    tr_tensor_passed(panels, at, at + bytes);
    return (tr_matrix){
        .type = TR_TYPE_I8, .outputs = outputs, .inputs = m->inputs, .data = memory, .scale = m->scale + first};
}

static tr_status unpack(tr_store *store, const tr_stored *stored, tr_error *error)
{
    tr_matrix m;
    tr_status status = tr_packed_matrix(store->package, stored->from, &m, error);
    if (status != TR_OK)
        return status;
    const size_t inputs = (size_t)m.inputs;
    float *wide = malloc(inputs * sizeof *wide);
    void *narrow = malloc(inputs * sizeof *wide), *panel = malloc(tr_panel_bytes(m.inputs));
    status = wide && narrow && panel ? TR_OK : out_of_memory(stored, error);
    for (int first = 0; status == TR_OK && first < m.outputs; first += TR_PANEL) {
        const tr_matrix outputs = take_panel(stored->from, &m, first, panel);
        for (int o = 0; status == TR_OK && o < outputs.outputs; o++) {
            tr_unpack_output(&outputs, o, wide);
            status = send_floats(store, stored, wide, narrow, inputs, error);
        }
    }
    free(wide);
    free(narrow);
    free(panel);
    return status;
}

/* What packing needs at hand: rows of floats, their panel, and its 4-bit copy. */
typedef struct workspace {
    float *rows;
    void *panel, *coarse;
} workspace;

/* Makes panel number o / 16 anew for the screen: packing is cheap, and so nothing large is kept. */
static tr_status pack_panel(tr_store *store, const tr_stored *stored, const workspace *w, size_t o, tr_error *error)
{
    const size_t outputs = (size_t)stored->from->shape[0], inputs = (size_t)stored->from->shape[1];
    const size_t n = outputs - o < TR_PANEL ? outputs - o : TR_PANEL;
    float *scale = (float *)store->factors[TR_FACTOR_SCALE] + o;
    int32_t *colsum = (int32_t *)store->factors[TR_FACTOR_COLSUM] + o;
    tr_tensor_to_f32(stored->from, o * inputs, n * inputs, w->rows);
    if (!tr_pack_panel(w->rows, (int)n, (int)inputs, w->panel, scale, colsum))
        return tr_fail(error, TR_ERROR_NUMERIC, "tensor %s: holds a weight that is no finite number: int8 has none for it",
                       stored->from->name);
    tr_tensor_passed(stored->from, o * inputs, (o + n) * inputs);
    if (stored->kind == TR_STORED_PACK)
        return store->sink(store->argument, w->panel, tr_panel_bytes((int)inputs), error);
    const tr_matrix packed = {TR_TYPE_I8, (int)n, (int)inputs, w->panel, scale, colsum, false, false, 0};
    store->kernels->screen_pack(&packed, 0, w->coarse);
    return store->sink(store->argument, w->coarse, (size_t)tr_screen_lines((int)inputs) * TR_LINE, error);
}

/* The 4-bit copy of panels that are there. */
static tr_status screen_panels(tr_store *store, const tr_stored *stored, tr_error *error)
{
    tr_matrix m;
    tr_status status = tr_packed_matrix(store->package, stored->from, &m, error);
    if (status != TR_OK)
        return status;
    const size_t bytes = (size_t)tr_screen_lines(m.inputs) * TR_LINE;
    void *coarse = malloc(bytes), *panel = malloc(tr_panel_bytes(m.inputs));
    status = coarse && panel ? TR_OK : out_of_memory(stored, error);
    for (int o = 0; status == TR_OK && o < m.outputs; o += TR_PANEL) {
        const tr_matrix outputs = take_panel(stored->from, &m, o, panel);
        store->kernels->screen_pack(&outputs, 0, coarse);
        status = store->sink(store->argument, coarse, bytes, error);
    }
    free(coarse);
    free(panel);
    return status;
}

static bool make_factors(tr_store *store, size_t outputs)
{
    bool made = true;
    tr_store_free(store);
    for (int i = 0; i < TR_FACTORS; i++)
        made = (store->factors[i] = calloc(outputs, sizeof(float))) && made;
    return made;
}

static tr_status pack(tr_store *store, const tr_stored *stored, tr_error *error)
{
    const size_t outputs = (size_t)stored->from->shape[0], inputs = (size_t)stored->from->shape[1];
    const workspace w = {malloc((outputs < TR_PANEL ? outputs : TR_PANEL) * inputs * sizeof *w.rows),
                         malloc(tr_panel_bytes((int)inputs)), malloc((size_t)tr_screen_lines((int)inputs) * TR_LINE)};
    const bool ready = make_factors(store, outputs) && w.rows && w.panel && w.coarse;
    tr_status status = ready ? TR_OK : out_of_memory(stored, error);
    for (size_t o = 0; status == TR_OK && o < outputs; o += TR_PANEL)
        status = pack_panel(store, stored, &w, o, error);
    free(w.rows);
    free(w.panel);
    free(w.coarse);
    return status;
}

tr_status tr_store_write(tr_store *store, const tr_stored *stored, tr_error *error)
{
    const tr_tensor *t = &stored->tensor;
    switch (stored->kind) {
    case TR_STORED_COPY: return copy(store, stored, error);
    case TR_STORED_CONVERT: return convert(store, stored, error);
    case TR_STORED_SCREEN:
        if (stored->from->type == TR_TYPE_I8)
            return screen_panels(store, stored, error);
        return pack(store, stored, error);
    case TR_STORED_PACK: return pack(store, stored, error);
    case TR_STORED_FACTOR: return store->sink(store->argument, store->factors[stored->factor], t->bytes, error);
    case TR_STORED_UNPACK: return unpack(store, stored, error);
    }
    return TR_OK;
}

void tr_store_free(tr_store *store)
{
    for (int i = 0; i < TR_FACTORS; i++) {
        free(store->factors[i]);
        store->factors[i] = NULL;
    }
}
