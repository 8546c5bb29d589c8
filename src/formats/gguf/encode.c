#include "formats/gguf/encode.h"

#include <stdlib.h>
#include <string.h>

#include "formats/gguf/keys.h"
#include "model/pack.h"
#include "util/utf8.h"

enum { CHUNK = 1 << 16 }; /* elements converted at a time */

/* ---------------------------------------------------------------------------------------------------------------- list */

static tr_status append_tensor(tr_file_tensors *list, const tr_file_tensor *t, tr_error *error)
{
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 256;
        tr_file_tensor *items = realloc(list->items, capacity * sizeof *items);
        if (!items)
            return tr_fail(error, TR_ERROR_MEMORY, "list of tensors: out of memory");
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = *t;
    return TR_OK;
}

void tr_file_tensors_free(tr_file_tensors *list)
{
    free(list->items);
    *list = (tr_file_tensors){0};
}

/* Appends an array that is no weight; without data there is none. */
static tr_status append_array(tr_file_tensors *list, const char *name, tr_type type, const void *data, size_t bytes,
                              tr_error *error)
{
    tr_file_tensor t = {.tensor = {.type = type, .rank = 1, .data = data, .bytes = bytes}};
    if (!data)
        return TR_OK;
    t.tensor.shape[0] = (int64_t)(bytes / tr_type_size(type));
    memcpy(t.tensor.name, name, strlen(name));
    return append_tensor(list, &t, error);
}

static tr_status list_tokenizers(const tr_package *package, tr_file_tensors *list, tr_error *error)
{
    const tr_bytes *source = &package->source_spm, *target = &package->target_spm, *bpe = &package->source_bpe;
    const bool same = source->data && source->size == target->size && memcmp(source->data, target->data, source->size) == 0;
    tr_status status = append_array(list, TR_TENSOR_SOURCE_SPM, TR_TYPE_I8, source->data, source->size, error);
    if (status == TR_OK && !same)
        status = append_array(list, TR_TENSOR_TARGET_SPM, TR_TYPE_I8, target->data, target->size, error);
    if (status == TR_OK)
        status = append_array(list, TR_TENSOR_SOURCE_BPE, TR_TYPE_I8, bpe->data, bpe->size, error);
    return status == TR_OK ? append_array(list, TR_TENSOR_TRADITIONAL, TR_TYPE_I8, package->traditional.data,
                                          package->traditional.size, error)
                           : status;
}

static tr_status list_token_lists(const tr_package *package, tr_file_tensors *list, tr_error *error)
{
    const tr_shortlist *s = &package->shortlist;
    const tr_config *c = &package->config;
    tr_status status = TR_OK;
    if (s->offsets)
        status = append_array(list, TR_TENSOR_SHORTLIST_OFFSETS, TR_TYPE_I32, s->offsets,
                              ((size_t)s->sources + 1) * sizeof *s->offsets, error);
    if (status == TR_OK && s->offsets)
        status = append_array(list, TR_TENSOR_SHORTLIST_WORDS, TR_TYPE_I32, s->words,
                              (size_t)s->offsets[s->sources] * sizeof *s->words, error);
    if (status == TR_OK)
        status = append_array(list, TR_TENSOR_ALLOWED, TR_TYPE_I32, c->allowed,
                              (size_t)c->allowed_count * sizeof *c->allowed, error);
    return status;
}

/* A tensor stored as it is or as another type of the same shape. */
static tr_file_tensor copy_or_convert(const tr_tensor *from, tr_type type)
{
    const bool unchanged = from->type == type && !from->transposed && (!from->origin || type > TR_TYPE_BF16);
    tr_file_tensor t = {*from, unchanged ? TR_ENCODING_COPY : TR_ENCODING_CONVERT, from, TR_PACKED_VECTORS};
    t.tensor.type = type;
    t.tensor.transposed = false;
    t.tensor.bytes = (size_t)tr_tensor_elements(from) * tr_type_size(type);
    return t;
}

/* The tensors of a packed matrix, in the order of the file. */
static const struct {
    const char *suffix;
    tr_type type;
    tr_encoding encoding;
    tr_packed_vector vector;
} packed_parts[] = {
    {TR_PACKED_PANELS, TR_TYPE_I8, TR_ENCODING_PACK, TR_PACKED_VECTORS},
    {TR_PACKED_SCALE, TR_TYPE_F32, TR_ENCODING_VECTOR, TR_PACKED_VECTOR_SCALE},
    {TR_PACKED_COLSUM, TR_TYPE_I32, TR_ENCODING_VECTOR, TR_PACKED_VECTOR_COLSUM},
    {TR_SCREEN_PANELS, TR_TYPE_I8, TR_ENCODING_SCREEN, TR_PACKED_VECTORS},
};

enum { PARTS = sizeof packed_parts / sizeof *packed_parts, PARTS_UNSCREENED = PARTS - 1 };

static void set_shape(tr_tensor *t, tr_encoding encoding, int64_t outputs, int64_t inputs)
{
    t->shape[0] = outputs;
    t->rank = 1;
    if (encoding != TR_ENCODING_VECTOR) {
        t->shape[0] = outputs / TR_PANEL + !!(outputs % TR_PANEL);
        t->shape[1] = encoding == TR_ENCODING_SCREEN ? tr_screen_lines((int)inputs) : (inputs + 3) / 4;
        t->shape[2] = TR_LINE;
        t->rank = 3;
    }
    t->bytes = (size_t)tr_tensor_elements(t) * tr_type_size(t->type);
}

static tr_status list_packed(const tr_encoder *encoder, const tr_tensor *from, tr_file_tensors *list, tr_error *error)
{
    const int64_t outputs = from->shape[0], inputs = from->shape[1];
    tr_status status = TR_OK;
    if (outputs == 0 || inputs == 0)
        return tr_fail(error, TR_ERROR_FORMAT, "tensor %s: is empty", from->name);
    if (inputs > TR_I8_INPUTS || outputs > INT32_MAX - TR_PANEL)
        return tr_fail(error, TR_ERROR_UNSUPPORTED, "tensor %s: is [%lld, %lld], too large for int8: use f32, f16 or bf16",
                       from->name, (long long)outputs, (long long)inputs);
    const bool screened =
        outputs * inputs >= TR_SCREEN_I8_BYTES && strcmp(from->name, tr_weights_output(&encoder->package->weights)) == 0;
    for (int i = 0; status == TR_OK && i < (screened ? PARTS : PARTS_UNSCREENED); i++) {
        tr_file_tensor part = {{.type = packed_parts[i].type}, packed_parts[i].encoding, from, packed_parts[i].vector};
        set_shape(&part.tensor, part.encoding, outputs, inputs);
        if (!tr_packed_name(part.tensor.name, from->name, packed_parts[i].suffix))
            return tr_fail(error, TR_ERROR_UNSUPPORTED, "tensor %s: its name is too long to be stored in int8", from->name);
        status = append_tensor(list, &part, error);
    }
    return status;
}

/* Panels are copied. A large output matrix without a 4-bit copy gets one. */
static tr_status list_panels(const tr_encoder *encoder, const tr_tensor *panels, const char *name, tr_file_tensors *list,
                             tr_error *error)
{
    const tr_file_tensor copy = copy_or_convert(panels, panels->type);
    const tr_weights *weights = &encoder->package->weights;
    tr_matrix m;
    tr_status status = append_tensor(list, &copy, error);
    if (status != TR_OK || panels->bytes < TR_SCREEN_I8_BYTES || strcmp(name, tr_weights_output(weights)) != 0 ||
        tr_weights_part(weights, name, TR_SCREEN_PANELS))
        return status;
    tr_file_tensor screen = {{.type = TR_TYPE_I8}, TR_ENCODING_SCREEN, panels, TR_PACKED_VECTORS};
    status = tr_packed_matrix(&encoder->package->weights, &encoder->package->config, panels, &m, error);
    if (status != TR_OK)
        return status;
    set_shape(&screen.tensor, TR_ENCODING_SCREEN, m.outputs, m.inputs);
    return tr_packed_name(screen.tensor.name, name, TR_SCREEN_PANELS) ? append_tensor(list, &screen, error) : TR_OK;
}

static tr_status list_unpacked(const tr_encoder *encoder, const tr_tensor *panels, const char *name, tr_file_tensors *list,
                               tr_error *error)
{
    tr_matrix m;
    const tr_status status = tr_packed_matrix(&encoder->package->weights, &encoder->package->config, panels, &m, error);
    if (status != TR_OK)
        return status;
    tr_file_tensor t = {
        {.type = encoder->type, .rank = 2, .shape = {m.outputs, m.inputs}}, TR_ENCODING_UNPACK, panels, TR_PACKED_VECTORS};
    t.tensor.bytes = (size_t)m.outputs * (size_t)m.inputs * tr_type_size(encoder->type);
    memcpy(t.tensor.name, name, strlen(name));
    return append_tensor(list, &t, error);
}

/* Matrices are stored as encoder->type; vectors and tables of positions, which are added, stay exact. */
static tr_status list_tensor(const tr_encoder *encoder, const tr_tensor *from, tr_file_tensors *list, tr_error *error)
{
    char name[TR_TENSOR_NAME] = "";
    const bool matrix = tr_is_matrix(from), floating = tr_type_is_real(from->type);
    if (encoder->type == TR_TYPE_I8 && matrix)
        return list_packed(encoder, from, list, error);
    const tr_packed_part part = tr_packed_part_of(&encoder->package->weights, from, name);
    if (part == TR_PACKED_MATRIX)
        return encoder->type == TR_TYPE_I8 ? list_panels(encoder, from, name, list, error)
                                           : list_unpacked(encoder, from, name, list, error);
    if (part == TR_PACKED_BESIDE && (encoder->type != TR_TYPE_I8 || tr_ends_with(from->name, TR_PACKED_ROWS)))
        return TR_OK;
    const tr_file_tensor t = copy_or_convert(from, matrix ? encoder->type : floating ? TR_TYPE_F32 : from->type);
    return append_tensor(list, &t, error);
}

tr_status tr_encoder_list(const tr_encoder *encoder, tr_file_tensors *list, tr_error *error)
{
    const tr_weights *weights = &encoder->package->weights;
    *list = (tr_file_tensors){0};
    tr_status status = list_tokenizers(encoder->package, list, error);
    if (status == TR_OK)
        status = list_token_lists(encoder->package, list, error);
    for (size_t i = 0; status == TR_OK && i < weights->count; i++)
        status = list_tensor(encoder, weights->tensors[i], list, error);
    return status;
}

/* -------------------------------------------------------------------------------------------------------------- floats */

/* True if rounding to half precision turned a finite weight into an infinity. */
static bool overflowed(const float *in, const uint16_t *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((out[i] & 0x7fff) == 0x7c00 && in[i] - in[i] == 0)
            return true;
    return false;
}

static tr_status send_floats(tr_encoder *encoder, const tr_file_tensor *t, const float *wide, void *narrow, size_t count,
                             tr_error *error)
{
    const tr_type type = t->tensor.type;
    tr_from_f32(type, wide, count, narrow);
    if (type == TR_TYPE_F16 && overflowed(wide, narrow, count))
        return tr_fail(error, TR_ERROR_NUMERIC, "tensor %s: holds a weight too large for f16: use bf16 or f32",
                       t->tensor.name);
    return encoder->sink(encoder->argument, narrow, count * tr_type_size(type), error);
}

static tr_status fail_memory(const tr_file_tensor *t, tr_error *error)
{
    return tr_fail(error, TR_ERROR_MEMORY, "tensor %s: out of memory", t->tensor.name);
}

/* Copies in chunks; those of panels hold whole panels. */
static tr_status write_copy(tr_encoder *encoder, const tr_file_tensor *file_tensor, tr_error *error)
{
    const tr_tensor *t = &file_tensor->tensor;
    const size_t elements = (size_t)tr_tensor_elements(t), element = tr_type_size(t->type);
    const size_t panel = t->rank == 3 ? (size_t)(t->shape[1] * t->shape[2]) : 1;
    const size_t chunk = panel < CHUNK ? CHUNK / panel * panel : panel;
    unsigned char *made = t->origin ? malloc(chunk * element) : NULL;
    tr_status status = t->origin && !made ? fail_memory(file_tensor, error) : TR_OK;
    for (size_t first = 0; status == TR_OK && first < elements; first += chunk) {
        const size_t count = elements - first < chunk ? elements - first : chunk;
        if (made)
            tr_tensor_copy(t, first, count, made);
        status = encoder->sink(encoder->argument, made ? made : (const unsigned char *)t->data + first * element,
                               count * element, error);
        tr_tensor_passed(t, first, first + count);
    }
    free(made);
    return status;
}

static tr_status write_converted(tr_encoder *encoder, const tr_file_tensor *t, tr_error *error)
{
    const uint64_t elements = tr_tensor_elements(t->from);
    float *wide = malloc(CHUNK * sizeof *wide);
    void *narrow = malloc(CHUNK * sizeof *wide);
    tr_status status = wide && narrow ? TR_OK : fail_memory(t, error);
    for (uint64_t first = 0; status == TR_OK && first < elements; first += CHUNK) {
        const size_t count = elements - first < CHUNK ? (size_t)(elements - first) : CHUNK;
        tr_tensor_to_f32(t->from, (size_t)first, count, wide);
        status = send_floats(encoder, t, wide, narrow, count, error);
        tr_tensor_passed(t->from, (size_t)first, (size_t)first + count);
    }
    free(wide);
    free(narrow);
    return status;
}

/* --------------------------------------------------------------------------------------------------------------- int8 */

/* Copies outputs first to first + 15 of a matrix in panels to memory and returns them as a matrix. */
static tr_matrix copy_panel(const tr_tensor *panels, const tr_matrix *m, int first, void *memory)
{
    const size_t bytes = tr_panel_bytes(m->inputs), at = (size_t)(first / TR_PANEL) * bytes;
    const int outputs = m->outputs - first < TR_PANEL ? m->outputs - first : TR_PANEL;
    tr_tensor_copy(panels, at, bytes, memory);
    tr_tensor_passed(panels, at, at + bytes);
    return (tr_matrix){
        .type = TR_TYPE_I8, .outputs = outputs, .inputs = m->inputs, .data = memory, .scale = m->scale + first};
}

static tr_status write_unpacked(tr_encoder *encoder, const tr_file_tensor *t, tr_error *error)
{
    tr_matrix m;
    tr_status status = tr_packed_matrix(&encoder->package->weights, &encoder->package->config, t->from, &m, error);
    if (status != TR_OK)
        return status;
    const size_t inputs = (size_t)m.inputs;
    float *wide = malloc(inputs * sizeof *wide);
    void *narrow = malloc(inputs * sizeof *wide), *panel = malloc(tr_panel_bytes(m.inputs));
    status = wide && narrow && panel ? TR_OK : fail_memory(t, error);
    for (int first = 0; status == TR_OK && first < m.outputs; first += TR_PANEL) {
        const tr_matrix outputs = copy_panel(t->from, &m, first, panel);
        for (int o = 0; status == TR_OK && o < outputs.outputs; o++) {
            tr_unpack_output(&outputs, o, wide);
            status = send_floats(encoder, t, wide, narrow, inputs, error);
        }
    }
    free(wide);
    free(narrow);
    free(panel);
    return status;
}

/* Memory for packing 16 outputs. */
typedef struct panel_workspace {
    float *rows; /* [16, inputs] */
    void *panel;
    void *coarse; /* 4-bit copy of the panel */
} panel_workspace;

/* Packs outputs o to o + 15. The panels are computed a second time for the 4-bit copy, which saves memory. */
static tr_status write_packed_panel(tr_encoder *encoder, const tr_file_tensor *t, const panel_workspace *w, size_t o,
                                    tr_error *error)
{
    const size_t outputs = (size_t)t->from->shape[0], inputs = (size_t)t->from->shape[1];
    const size_t n = outputs - o < TR_PANEL ? outputs - o : TR_PANEL;
    float *scale = (float *)encoder->vectors[TR_PACKED_VECTOR_SCALE] + o;
    int32_t *colsum = (int32_t *)encoder->vectors[TR_PACKED_VECTOR_COLSUM] + o;
    tr_tensor_to_f32(t->from, o * inputs, n * inputs, w->rows);
    if (!tr_pack_panel(w->rows, (int)n, (int)inputs, w->panel, scale, colsum))
        return tr_fail(error, TR_ERROR_NUMERIC, "tensor %s: holds a weight that is not finite, which int8 cannot store",
                       t->from->name);
    tr_tensor_passed(t->from, o * inputs, (o + n) * inputs);
    if (t->encoding == TR_ENCODING_PACK)
        return encoder->sink(encoder->argument, w->panel, tr_panel_bytes((int)inputs), error);
    const tr_matrix packed = {TR_TYPE_I8, (int)n, (int)inputs, w->panel, scale, colsum, false, false, 0};
    encoder->kernels->screen_pack(&packed, 0, w->coarse);
    return encoder->sink(encoder->argument, w->coarse, (size_t)tr_screen_lines((int)inputs) * TR_LINE, error);
}

/* Writes the 4-bit copy of a matrix that is already packed. */
static tr_status write_screen(tr_encoder *encoder, const tr_file_tensor *t, tr_error *error)
{
    tr_matrix m;
    tr_status status = tr_packed_matrix(&encoder->package->weights, &encoder->package->config, t->from, &m, error);
    if (status != TR_OK)
        return status;
    const size_t bytes = (size_t)tr_screen_lines(m.inputs) * TR_LINE;
    void *coarse = malloc(bytes), *panel = malloc(tr_panel_bytes(m.inputs));
    status = coarse && panel ? TR_OK : fail_memory(t, error);
    for (int o = 0; status == TR_OK && o < m.outputs; o += TR_PANEL) {
        const tr_matrix outputs = copy_panel(t->from, &m, o, panel);
        encoder->kernels->screen_pack(&outputs, 0, coarse);
        status = encoder->sink(encoder->argument, coarse, bytes, error);
    }
    free(coarse);
    free(panel);
    return status;
}

static bool allocate_vectors(tr_encoder *encoder, size_t outputs)
{
    bool made = true;
    tr_encoder_free(encoder);
    for (int i = 0; i < TR_PACKED_VECTORS; i++)
        made = (encoder->vectors[i] = calloc(outputs, sizeof(float))) && made;
    return made;
}

static tr_status write_packed(tr_encoder *encoder, const tr_file_tensor *t, tr_error *error)
{
    const size_t outputs = (size_t)t->from->shape[0], inputs = (size_t)t->from->shape[1];
    const panel_workspace w = {malloc((outputs < TR_PANEL ? outputs : TR_PANEL) * inputs * sizeof *w.rows),
                               malloc(tr_panel_bytes((int)inputs)), malloc((size_t)tr_screen_lines((int)inputs) * TR_LINE)};
    const bool ready = allocate_vectors(encoder, outputs) && w.rows && w.panel && w.coarse;
    tr_status status = ready ? TR_OK : fail_memory(t, error);
    for (size_t o = 0; status == TR_OK && o < outputs; o += TR_PANEL)
        status = write_packed_panel(encoder, t, &w, o, error);
    free(w.rows);
    free(w.panel);
    free(w.coarse);
    return status;
}

tr_status tr_encoder_write(tr_encoder *encoder, const tr_file_tensor *t, tr_error *error)
{
    switch (t->encoding) {
    case TR_ENCODING_COPY: return write_copy(encoder, t, error);
    case TR_ENCODING_CONVERT: return write_converted(encoder, t, error);
    case TR_ENCODING_SCREEN:
        if (t->from->type == TR_TYPE_I8)
            return write_screen(encoder, t, error);
        return write_packed(encoder, t, error);
    case TR_ENCODING_PACK: return write_packed(encoder, t, error);
    case TR_ENCODING_VECTOR: return encoder->sink(encoder->argument, encoder->vectors[t->vector], t->tensor.bytes, error);
    case TR_ENCODING_UNPACK: return write_unpacked(encoder, t, error);
    }
    return TR_OK;
}

void tr_encoder_free(tr_encoder *encoder)
{
    for (int i = 0; i < TR_PACKED_VECTORS; i++) {
        free(encoder->vectors[i]);
        encoder->vectors[i] = NULL;
    }
}
