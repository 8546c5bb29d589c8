#include "formats/stored.h"

#include <stdlib.h>
#include <string.h>

#include "formats/gguf_keys.h"
#include "model/pack.h"

enum { CHUNK = 1 << 16 }; /* elements converted at a time */

/* ---------------------------------------------------------------------------------------------------------------- list */

static tr_stored spm_tensor(const char *name, tr_bytes bytes)
{
    tr_stored stored = {
        .tensor = {.type = TR_TYPE_I8, .rank = 1, .shape = {(int64_t)bytes.size}, .data = bytes.data, .bytes = bytes.size}};
    memcpy(stored.tensor.name, name, strlen(name));
    return stored;
}

static tr_stored floats(const tr_tensor *from, tr_type type)
{
    tr_stored stored = {*from, from->type == type ? TR_STORED_COPY : TR_STORED_CONVERT, from};
    stored.tensor.type = type;
    stored.tensor.bytes = (size_t)tr_tensor_elements(from) * tr_type_size(type);
    return stored;
}

static tr_status list_packed(const tr_tensor *from, tr_stored_each *each, void *argument, tr_error *error)
{
    const int64_t outputs = from->shape[0], inputs = from->shape[1];
    const int64_t panels = outputs / TR_PANEL + !!(outputs % TR_PANEL), groups = inputs / 4 + !!(inputs % 4);
    if (inputs > TR_I8_INPUTS || outputs > INT32_MAX - TR_PANEL)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "tensor %s: is [%lld, %lld], too large for int8: use f32, f16 or bf16",
                       from->name, (long long)outputs, (long long)inputs);
    tr_stored parts[] = {
        {{.type = TR_TYPE_I8, .rank = 3, .shape = {panels, groups, TR_LINE}}, TR_STORED_PACK, from},
        {{.type = TR_TYPE_F32, .rank = 1, .shape = {outputs}}, TR_STORED_SCALE, from},
        {{.type = TR_TYPE_I32, .rank = 1, .shape = {outputs}}, TR_STORED_COLSUM, from},
    };
    static const char *const suffixes[] = {TR_PACKED_PANELS, TR_PACKED_SCALE, TR_PACKED_COLSUM};
    tr_status status = TR_OK;
    for (int i = 0; status == TR_OK && i < 3; i++) {
        tr_tensor *t = &parts[i].tensor;
        t->bytes = (size_t)tr_tensor_elements(t) * tr_type_size(t->type);
        if (!tr_packed_name(t->name, from->name, suffixes[i]))
            return tr_fail(error, TR_ERROR_UNSUPPORTED, "tensor %s: its name is too long to be stored in int8", from->name);
        status = each(argument, &parts[i], error);
    }
    return status;
}

static tr_status list_unpacked(const tr_store *store, const tr_tensor *panels, const char *name, tr_stored_each *each,
                               void *argument, tr_error *error)
{
    tr_matrix m;
    const tr_status status = tr_packed_matrix(store->package, panels, &m, error);
    if (status != TR_OK)
        return status;
    tr_stored stored = {{.type = store->type, .rank = 2, .shape = {m.outputs, m.inputs}}, TR_STORED_UNPACK, panels};
    stored.tensor.bytes = (size_t)m.outputs * (size_t)m.inputs * tr_type_size(store->type);
    memcpy(stored.tensor.name, name, strlen(name));
    return each(argument, &stored, error);
}

/* Matrices get the type asked for; vectors and position tables, which are added, stay exact. */
static tr_status list_tensor(const tr_store *store, const tr_tensor *t, tr_stored_each *each, void *argument,
                             tr_error *error)
{
    char name[TR_TENSOR_NAME] = "";
    const bool matrix = tr_is_matrix(t), floating = t->type <= TR_TYPE_BF16;
    if (store->type == TR_TYPE_I8 && matrix)
        return list_packed(t, each, argument, error);
    if (store->type != TR_TYPE_I8) {
        const tr_packed_part part = tr_packed_part_of(&store->package->weights, t, name);
        if (part == TR_PACKED_BESIDE)
            return TR_OK;
        if (part == TR_PACKED_MATRIX)
            return list_unpacked(store, t, name, each, argument, error);
    }
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
        const tr_stored stored = spm_tensor(TR_TENSOR_SOURCE_SPM, *source);
        status = each(argument, &stored, error);
    }
    if (status == TR_OK && differs) {
        const tr_stored stored = spm_tensor(TR_TENSOR_TARGET_SPM, *target);
        status = each(argument, &stored, error);
    }
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
    }
    free(wide);
    free(narrow);
    return status;
}

/* --------------------------------------------------------------------------------------------------------------- int8 */

static tr_status unpack(tr_store *store, const tr_stored *stored, tr_error *error)
{
    tr_matrix m;
    tr_status status = tr_packed_matrix(store->package, stored->from, &m, error);
    if (status != TR_OK)
        return status;
    const size_t inputs = (size_t)m.inputs;
    float *wide = malloc(inputs * sizeof *wide);
    void *narrow = malloc(inputs * sizeof *wide);
    status = wide && narrow ? TR_OK : out_of_memory(stored, error);
    for (int o = 0; status == TR_OK && o < m.outputs; o++) {
        tr_unpack_output(&m, o, wide);
        status = send_floats(store, stored, wide, narrow, inputs, error);
    }
    free(wide);
    free(narrow);
    return status;
}

static tr_status pack_panels(tr_store *store, const tr_stored *stored, float *rows, void *panel, tr_error *error)
{
    const size_t outputs = (size_t)stored->from->shape[0], inputs = (size_t)stored->from->shape[1];
    tr_status status = TR_OK;
    for (size_t o = 0; status == TR_OK && o < outputs; o += TR_PANEL) {
        const size_t n = outputs - o < TR_PANEL ? outputs - o : TR_PANEL;
        tr_tensor_to_f32(stored->from, o * inputs, n * inputs, rows);
        if (!tr_pack_panel(rows, (int)n, (int)inputs, panel, store->scale + o, store->colsum + o))
            return tr_fail(error, TR_ERROR_NUMERIC,
                           "tensor %s: holds a weight that is no finite number: int8 has none for it", stored->from->name);
        status = store->sink(store->argument, panel, tr_panel_bytes((int)inputs), error);
    }
    return status;
}

static tr_status pack(tr_store *store, const tr_stored *stored, tr_error *error)
{
    const size_t outputs = (size_t)stored->from->shape[0], inputs = (size_t)stored->from->shape[1];
    if (outputs == 0 || inputs == 0)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: is empty", stored->from->name);
    tr_store_free(store);
    store->scale = malloc(outputs * sizeof *store->scale);
    store->colsum = malloc(outputs * sizeof *store->colsum);
    float *rows = malloc((outputs < TR_PANEL ? outputs : TR_PANEL) * inputs * sizeof *rows);
    void *panel = malloc(tr_panel_bytes((int)inputs));
    tr_status status = store->scale && store->colsum && rows && panel ? pack_panels(store, stored, rows, panel, error)
                                                                      : out_of_memory(stored, error);
    free(rows);
    free(panel);
    return status;
}

tr_status tr_store_write(tr_store *store, const tr_stored *stored, tr_error *error)
{
    const tr_tensor *t = &stored->tensor;
    switch (stored->kind) {
    case TR_STORED_COPY: return store->sink(store->argument, t->data, t->bytes, error);
    case TR_STORED_CONVERT: return convert(store, stored, error);
    case TR_STORED_PACK: return pack(store, stored, error);
    case TR_STORED_SCALE: return store->sink(store->argument, store->scale, t->bytes, error);
    case TR_STORED_COLSUM: return store->sink(store->argument, store->colsum, t->bytes, error);
    case TR_STORED_UNPACK: return unpack(store, stored, error);
    }
    return TR_OK;
}

void tr_store_free(tr_store *store)
{
    free(store->scale);
    free(store->colsum);
    store->scale = NULL;
    store->colsum = NULL;
}
