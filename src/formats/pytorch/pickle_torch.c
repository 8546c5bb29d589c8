/* What the pickles of torch.save refer to: OrderedDict, storages, and the functions that put tensors together. */
#include "formats/pytorch/pickle_machine.h"

#include <string.h>

typedef tr_pickle_machine machine;

enum global { ORDERED_DICT, REBUILD_TENSOR, REBUILD_PARAMETER, GLOBALS_BEFORE_TYPES };

static const struct {
    const char *module, *name;
    enum global global;
} functions[] = {
    {"collections", "OrderedDict", ORDERED_DICT},
    {"torch._utils", "_rebuild_tensor", REBUILD_TENSOR},
    {"torch._utils", "_rebuild_tensor_v2", REBUILD_TENSOR},
    {"torch._utils", "_rebuild_parameter", REBUILD_PARAMETER},
    {"torch._utils", "_rebuild_parameter_with_state", REBUILD_PARAMETER},
};

static const tr_torch_type types[] = {
    {"FloatStorage", "F32", 4, true, TR_TYPE_F32},      {"HalfStorage", "F16", 2, true, TR_TYPE_F16},
    {"BFloat16Storage", "BF16", 2, true, TR_TYPE_BF16}, {"DoubleStorage", "F64", 8, false, TR_TYPE_F32},
    {"LongStorage", "I64", 8, false, TR_TYPE_F32},      {"IntStorage", "I32", 4, false, TR_TYPE_F32},
    {"ShortStorage", "I16", 2, false, TR_TYPE_F32},     {"CharStorage", "I8", 1, false, TR_TYPE_F32},
    {"ByteStorage", "U8", 1, false, TR_TYPE_F32},       {"BoolStorage", "BOOL", 1, false, TR_TYPE_F32},
};

enum { FUNCTIONS = sizeof functions / sizeof *functions, TYPES = sizeof types / sizeof *types };

bool tr_pickle_is_text(const tr_pickle_value *value, const char *text)
{
    return value->kind == TR_PICKLE_TEXT && value->size == strlen(text) && memcmp(value->as.text, text, value->size) == 0;
}

void tr_pickle_push_global(machine *m, tr_pickle_value module, tr_pickle_value name)
{
    enum { SHOWN = 80 };
    if (m->status != TR_OK)
        return;
    if (module.kind != TR_PICKLE_TEXT || name.kind != TR_PICKLE_TEXT) {
        tr_pickle_damaged(m, "names a function by something that is no text");
        return;
    }
    for (int i = 0; i < FUNCTIONS; i++)
        if (tr_pickle_is_text(&module, functions[i].module) && tr_pickle_is_text(&name, functions[i].name)) {
            tr_pickle_push(m, (tr_pickle_value){.kind = TR_PICKLE_GLOBAL, .as.place = functions[i].global});
            return;
        }
    for (int i = 0; i < TYPES && tr_pickle_is_text(&module, "torch"); i++)
        if (tr_pickle_is_text(&name, types[i].storage)) {
            tr_pickle_push(m, (tr_pickle_value){.kind = TR_PICKLE_GLOBAL, .as.place = GLOBALS_BEFORE_TYPES + (size_t)i});
            return;
        }
    m->status = tr_fail(m->error, TR_ERROR_UNSUPPORTED, "refers to %.*s.%.*s: not weights, refused",
                        module.size < SHOWN ? (int)module.size : SHOWN, module.as.text,
                        name.size < SHOWN ? (int)name.size : SHOWN, name.as.text);
}

/* ('storage', torch.FloatStorage, key, device, elements) and, in the old format, None. */
void tr_pickle_push_storage(machine *m)
{
    const tr_pickle_value id = tr_pickle_pop(m);
    const tr_pickle_value *part = tr_pickle_items(m->pickle, &id);
    if (m->status != TR_OK)
        return;
    if (id.kind != TR_PICKLE_TUPLE || id.size < 5 || id.size > 6 || !tr_pickle_is_text(&part[0], "storage") ||
        part[1].kind != TR_PICKLE_GLOBAL || part[1].as.place < GLOBALS_BEFORE_TYPES || part[2].kind != TR_PICKLE_TEXT ||
        part[4].kind != TR_PICKLE_INT || part[4].as.integer < 0 || (id.size == 6 && part[5].kind != TR_PICKLE_NONE)) {
        tr_pickle_damaged(m, "describes a storage in another way than torch.save does");
        return;
    }
    const tr_pickle_storage storage = {part[2].as.text, part[2].size, (uint64_t)part[4].as.integer,
                                       &types[part[1].as.place - GLOBALS_BEFORE_TYPES]};
    const size_t place = TR_PICKLE_COUNT(&m->pickle->storages, tr_pickle_storage);
    tr_pickle_add_row(m, &m->pickle->storages, &storage, sizeof storage, TR_PICKLE_STORAGES);
    tr_pickle_push(m, (tr_pickle_value){.kind = TR_PICKLE_STORAGE, .as.place = place});
}

/* Sizes or strides of a tensor. */
static bool read_sizes(const machine *m, const tr_pickle_value *tuple, int64_t sizes[TR_MAX_RANK])
{
    const tr_pickle_value *item = tr_pickle_items(m->pickle, tuple);
    for (uint32_t i = 0; i < tuple->size; i++) {
        if (item[i].kind != TR_PICKLE_INT || item[i].as.integer < 0)
            return false;
        if (i < TR_MAX_RANK)
            sizes[i] = item[i].as.integer;
    }
    return true;
}

/* (storage, offset, sizes, strides, and what matters for training only) */
static void push_tensor(machine *m, const tr_pickle_value *arguments)
{
    const tr_pickle_value *argument = tr_pickle_items(m->pickle, arguments);
    tr_pickle_tensor tensor = {0};
    if (arguments->size < 4 || argument[0].kind != TR_PICKLE_STORAGE || argument[1].kind != TR_PICKLE_INT ||
        argument[1].as.integer < 0 || argument[2].kind != TR_PICKLE_TUPLE || argument[3].kind != TR_PICKLE_TUPLE ||
        argument[2].size != argument[3].size || !read_sizes(m, &argument[2], tensor.shape) ||
        !read_sizes(m, &argument[3], tensor.stride)) {
        tr_pickle_damaged(m, "describes a tensor in another way than torch.save does");
        return;
    }
    tensor.storage = argument[0].as.place;
    tensor.offset = (uint64_t)argument[1].as.integer;
    tensor.rank = argument[2].size;
    const size_t place = TR_PICKLE_COUNT(&m->pickle->tensors, tr_pickle_tensor);
    tr_pickle_add_row(m, &m->pickle->tensors, &tensor, sizeof tensor, TR_PICKLE_TENSORS);
    tr_pickle_push(m, (tr_pickle_value){.kind = TR_PICKLE_TENSOR, .as.place = place});
}

void tr_pickle_call(machine *m)
{
    const tr_pickle_value arguments = tr_pickle_pop(m), function = tr_pickle_pop(m);
    if (m->status == TR_OK && (function.kind != TR_PICKLE_GLOBAL || arguments.kind != TR_PICKLE_TUPLE))
        tr_pickle_damaged(m, "calls what is no function");
    if (m->status != TR_OK)
        return;
    if (function.as.place == REBUILD_TENSOR)
        push_tensor(m, &arguments);
    else if (function.as.place == ORDERED_DICT && arguments.size == 0)
        tr_pickle_push_container(m, TR_PICKLE_DICT);
    else if (function.as.place == REBUILD_PARAMETER && arguments.size && /* (tensor, what matters for training) */
             tr_pickle_items(m->pickle, &arguments)->kind == TR_PICKLE_TENSOR)
        tr_pickle_push(m, *tr_pickle_items(m->pickle, &arguments));
    else
        tr_pickle_damaged(m, "calls a function in another way than torch.save does");
}
