#include "import/pytorch/pickle.h"

#include <string.h>

/* Opcodes of Python's pickletools.py that torch.save makes use of, in protocols 2 to 5. */
enum opcode {
    OP_MARK = '(',
    OP_STOP = '.',
    OP_NONE = 'N',
    OP_NEWTRUE = 0x88,
    OP_NEWFALSE = 0x89,
    OP_BININT = 'J',
    OP_BININT1 = 'K',
    OP_BININT2 = 'M',
    OP_LONG1 = 0x8a,
    OP_LONG4 = 0x8b,
    OP_BINFLOAT = 'G',
    OP_BINSTRING = 'T',
    OP_SHORT_BINSTRING = 'U',
    OP_BINUNICODE = 'X',
    OP_SHORT_BINUNICODE = 0x8c,
    OP_BINUNICODE8 = 0x8d,
    OP_EMPTY_TUPLE = ')',
    OP_TUPLE = 't',
    OP_TUPLE1 = 0x85,
    OP_TUPLE2 = 0x86,
    OP_TUPLE3 = 0x87,
    OP_EMPTY_LIST = ']',
    OP_APPEND = 'a',
    OP_APPENDS = 'e',
    OP_EMPTY_DICT = '}',
    OP_SETITEM = 's',
    OP_SETITEMS = 'u',
    OP_GLOBAL = 'c',
    OP_STACK_GLOBAL = 0x93,
    OP_REDUCE = 'R',
    OP_BUILD = 'b',
    OP_BINPERSID = 'Q',
    OP_BINGET = 'h',
    OP_LONG_BINGET = 'j',
    OP_BINPUT = 'q',
    OP_LONG_BINPUT = 'r',
    OP_MEMOIZE = 0x94,
    OP_PROTO = 0x80,
    OP_FRAME = 0x95,
};

/* Number of rows in a table, and the row at an index. */
#define COUNT_OF(table, row)      ((table)->size / sizeof(row))
#define ROW_AT(table, row, place) (&((row *)(void *)(table)->data)[place])

/* A list or dict: indices of its first and last pair, each + 1; 0: it is empty. */
typedef struct chain {
    size_t first, last;
} chain;

/* After the first failure nothing has an effect. */
typedef struct machine {
    const unsigned char *data, *at, *end;
    bool limited; /* the data continues after end */
    tr_pickle *pickle;
    tr_buffer stack, memo; /* of tr_pickle_value */
    bool stopped;
    tr_status status;
    tr_error *error;
} machine;

/* -------------------------------------------------------------------------------------------------------------- access */

const tr_pickle_value *tr_pickle_items(const tr_pickle *pickle, const tr_pickle_value *tuple)
{
    return tuple->kind == TR_PICKLE_TUPLE && tuple->size ? ROW_AT(&pickle->items, tr_pickle_value, tuple->as.index) : NULL;
}

const tr_pickle_pair *tr_pickle_next(const tr_pickle *pickle, const tr_pickle_value *of, const tr_pickle_pair *before)
{
    if (of->kind != TR_PICKLE_LIST && of->kind != TR_PICKLE_DICT)
        return NULL;
    const size_t place = before ? before->next : ROW_AT(&pickle->chains, chain, of->as.index)->first;
    return place ? ROW_AT(&pickle->pairs, tr_pickle_pair, place - 1) : NULL;
}

const tr_pickle_value *tr_pickle_find(const tr_pickle *pickle, const tr_pickle_value *dict, const char *name)
{
    const tr_pickle_value *found = NULL;
    for (const tr_pickle_pair *pair = NULL; (pair = tr_pickle_next(pickle, dict, pair));)
        if (tr_pickle_is_text(&pair->key, name))
            found = &pair->value;
    return found;
}

const tr_pickle_storage *tr_pickle_storages(const tr_pickle *pickle, size_t *count)
{
    *count = COUNT_OF(&pickle->storages, tr_pickle_storage);
    return *count ? ROW_AT(&pickle->storages, tr_pickle_storage, 0) : NULL;
}

const tr_pickle_tensor *tr_pickle_tensors(const tr_pickle *pickle, size_t *count)
{
    *count = COUNT_OF(&pickle->tensors, tr_pickle_tensor);
    return *count ? ROW_AT(&pickle->tensors, tr_pickle_tensor, 0) : NULL;
}

bool tr_pickle_is_text(const tr_pickle_value *value, const char *text)
{
    return value->kind == TR_PICKLE_TEXT && value->size == strlen(text) && memcmp(value->as.text, text, value->size) == 0;
}

void tr_pickle_free(tr_pickle *pickle)
{
    tr_buffer_free(&pickle->items);
    tr_buffer_free(&pickle->pairs);
    tr_buffer_free(&pickle->chains);
    tr_buffer_free(&pickle->storages);
    tr_buffer_free(&pickle->tensors);
    *pickle = (tr_pickle){0};
}

static const tr_pickle_value none = {.kind = TR_PICKLE_NONE};

static void fail_damaged(machine *m, const char *why)
{
    if (m->status == TR_OK)
        m->status = tr_fail(m->error, TR_ERROR_FORMAT, "pickle, byte %zu: %s", (size_t)(m->at - m->data), why);
}

/* -------------------------------------------------------------------------------------------------------------- tables */

/* Adds a row to a table of at most max rows. */
static void add_row(machine *m, tr_buffer *table, const void *row, size_t size, size_t max)
{
    if (m->status != TR_OK)
        return;
    if (table->size / size >= max)
        fail_damaged(m, "holds more than the weights of a network would");
    else if (!tr_buffer_append(table, row, size))
        m->status = tr_fail(m->error, TR_ERROR_MEMORY, "pickle: out of memory");
}

static void push_value(machine *m, tr_pickle_value value)
{
    add_row(m, &m->stack, &value, sizeof value, TR_PICKLE_STACK);
}

static size_t height(const machine *m)
{
    return COUNT_OF(&m->stack, tr_pickle_value);
}

static tr_pickle_value *stack_at(const machine *m, size_t place)
{
    return ROW_AT(&m->stack, tr_pickle_value, place);
}

static void cut_stack(machine *m, size_t to)
{
    m->stack.size = to * sizeof(tr_pickle_value);
}

static tr_pickle_value top(machine *m)
{
    if (m->status == TR_OK && height(m) && stack_at(m, height(m) - 1)->kind != TR_PICKLE_MARK)
        return *stack_at(m, height(m) - 1);
    fail_damaged(m, "needs a value on the stack, but there is none");
    return none;
}

static tr_pickle_value pop_value(machine *m)
{
    const tr_pickle_value value = top(m);
    if (m->status == TR_OK)
        cut_stack(m, height(m) - 1);
    return value;
}

/* The index after the topmost mark. */
static size_t after_mark(machine *m)
{
    for (size_t i = height(m); i > 0; i--)
        if (stack_at(m, i - 1)->kind == TR_PICKLE_MARK)
            return i;
    fail_damaged(m, "needs a MARK, but there is none");
    return height(m);
}

/* ------------------------------------------------------------------------------------------------------------- reading */

static const unsigned char *take_bytes(machine *m, uint64_t size)
{
    if (m->status == TR_OK && size > (uint64_t)(m->end - m->at))
        fail_damaged(m, m->limited ? "is longer than that of any weights" : "ends in the middle: truncated or damaged");
    if (m->status != TR_OK)
        return NULL;
    const unsigned char *bytes = m->at;
    m->at += size;
    return bytes;
}

/* Little-endian. */
static uint64_t take_number(machine *m, int size)
{
    const unsigned char *bytes = take_bytes(m, (uint64_t)size);
    uint64_t value = 0;
    for (int i = size - 1; bytes && i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

static void push_kind(machine *m, tr_pickle_kind kind, int64_t integer)
{
    push_value(m, (tr_pickle_value){.kind = kind, .as.integer = integer});
}

static void push_text(machine *m, uint64_t size)
{
    const unsigned char *bytes = take_bytes(m, size);
    if (bytes)
        push_value(m, (tr_pickle_value){.kind = TR_PICKLE_TEXT, .size = (uint32_t)size, .as.text = (const char *)bytes});
}

/* A whole number of any size, in two's complement. */
static void push_long(machine *m, uint64_t size)
{
    const unsigned char *bytes = take_bytes(m, size);
    if (!bytes)
        return;
    if (size > sizeof(int64_t)) {
        push_value(m, (tr_pickle_value){.kind = TR_PICKLE_LONG, .size = (uint32_t)size, .as.text = (const char *)bytes});
        return;
    }
    uint64_t value = size && bytes[size - 1] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = (size_t)size; i > 0; i--)
        value = value << 8 | bytes[i - 1];
    push_kind(m, TR_PICKLE_INT, (int64_t)value);
}

/* ---------------------------------------------------------------------------------------------------------- containers */

/* Replaces the stack from index to on by a tuple of the values from index first on. */
static void make_tuple(machine *m, size_t first, size_t to)
{
    if (m->status != TR_OK)
        return;
    const tr_pickle_value tuple = {.kind = TR_PICKLE_TUPLE,
                                   .size = (uint32_t)(height(m) - first),
                                   .as.index = COUNT_OF(&m->pickle->items, tr_pickle_value)};
    for (size_t i = first; i < height(m); i++) {
        if (stack_at(m, i)->kind == TR_PICKLE_MARK)
            fail_damaged(m, "makes a tuple of a MARK");
        add_row(m, &m->pickle->items, stack_at(m, i), sizeof(tr_pickle_value), TR_PICKLE_ITEMS);
    }
    cut_stack(m, to);
    push_value(m, tuple);
}

static void make_short_tuple(machine *m, size_t size)
{
    if (height(m) < size)
        fail_damaged(m, "needs a value on the stack, but there is none");
    else
        make_tuple(m, height(m) - size, height(m) - size);
}

static void make_long_tuple(machine *m)
{
    const size_t first = after_mark(m);
    make_tuple(m, first, first ? first - 1 : 0);
}

static void push_container(machine *m, tr_pickle_kind kind)
{
    const chain empty = {0, 0};
    const size_t place = COUNT_OF(&m->pickle->chains, chain);
    add_row(m, &m->pickle->chains, &empty, sizeof empty, TR_PICKLE_CHAINS);
    push_value(m, (tr_pickle_value){.kind = kind, .as.index = place});
}

static void add_pair(machine *m, tr_pickle_value to, tr_pickle_kind kind, tr_pickle_value key, tr_pickle_value value)
{
    const tr_pickle_pair pair = {key, value, 0};
    if (m->status == TR_OK && to.kind != kind)
        fail_damaged(m, "adds an element to a value that is not a list or dict");
    add_row(m, &m->pickle->pairs, &pair, sizeof pair, TR_PICKLE_PAIRS);
    if (m->status != TR_OK)
        return;
    chain *c = ROW_AT(&m->pickle->chains, chain, to.as.index);
    const size_t place = COUNT_OF(&m->pickle->pairs, tr_pickle_pair);
    if (c->last)
        ROW_AT(&m->pickle->pairs, tr_pickle_pair, c->last - 1)->next = place;
    else
        c->first = place;
    c->last = place;
}

/* Adds all values after the mark to the list or dict below it; step: values for each element. */
static void add_marked(machine *m, tr_pickle_kind kind, size_t step)
{
    const size_t first = after_mark(m), last = height(m);
    if (m->status == TR_OK && (first < 2 || (last - first) % step))
        fail_damaged(m, "adds part of an element, or has nothing to add to");
    for (size_t i = first; m->status == TR_OK && i < last; i += step)
        add_pair(m, *stack_at(m, first - 2), kind, step == 2 ? *stack_at(m, i) : none, *stack_at(m, i + step - 1));
    if (m->status == TR_OK)
        cut_stack(m, first - 1);
}

static void append_item(machine *m)
{
    const tr_pickle_value value = pop_value(m);
    add_pair(m, top(m), TR_PICKLE_LIST, none, value);
}

static void set_item(machine *m)
{
    const tr_pickle_value value = pop_value(m), key = pop_value(m);
    add_pair(m, top(m), TR_PICKLE_DICT, key, value);
}

/* ----------------------------------------------------------------------------------------- globals of torch.save */

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

static void push_global(machine *m, tr_pickle_value module, tr_pickle_value name)
{
    enum { SHOWN = 80 };
    if (m->status != TR_OK)
        return;
    if (module.kind != TR_PICKLE_TEXT || name.kind != TR_PICKLE_TEXT) {
        fail_damaged(m, "names a function by a value that is not a string");
        return;
    }
    for (int i = 0; i < FUNCTIONS; i++)
        if (tr_pickle_is_text(&module, functions[i].module) && tr_pickle_is_text(&name, functions[i].name)) {
            push_value(m, (tr_pickle_value){.kind = TR_PICKLE_GLOBAL, .as.index = functions[i].global});
            return;
        }
    for (int i = 0; i < TYPES && tr_pickle_is_text(&module, "torch"); i++)
        if (tr_pickle_is_text(&name, types[i].storage)) {
            push_value(m, (tr_pickle_value){.kind = TR_PICKLE_GLOBAL, .as.index = GLOBALS_BEFORE_TYPES + (size_t)i});
            return;
        }
    m->status = tr_fail(m->error, TR_ERROR_UNSUPPORTED, "refers to %.*s.%.*s: not weights, refused",
                        module.size < SHOWN ? (int)module.size : SHOWN, module.as.text,
                        name.size < SHOWN ? (int)name.size : SHOWN, name.as.text);
}

/* ('storage', torch.FloatStorage, key, device, elements) and, in the old format, None. */
static void push_storage(machine *m)
{
    const tr_pickle_value id = pop_value(m);
    const tr_pickle_value *part = tr_pickle_items(m->pickle, &id);
    if (m->status != TR_OK)
        return;
    if (id.kind != TR_PICKLE_TUPLE || id.size < 5 || id.size > 6 || !tr_pickle_is_text(&part[0], "storage") ||
        part[1].kind != TR_PICKLE_GLOBAL || part[1].as.index < GLOBALS_BEFORE_TYPES || part[2].kind != TR_PICKLE_TEXT ||
        part[4].kind != TR_PICKLE_INT || part[4].as.integer < 0 || (id.size == 6 && part[5].kind != TR_PICKLE_NONE)) {
        fail_damaged(m, "describes a storage in another way than torch.save does");
        return;
    }
    const tr_pickle_storage storage = {part[2].as.text, part[2].size, (uint64_t)part[4].as.integer,
                                       &types[part[1].as.index - GLOBALS_BEFORE_TYPES]};
    const size_t place = COUNT_OF(&m->pickle->storages, tr_pickle_storage);
    add_row(m, &m->pickle->storages, &storage, sizeof storage, TR_PICKLE_STORAGES);
    push_value(m, (tr_pickle_value){.kind = TR_PICKLE_STORAGE, .as.index = place});
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

/* (storage, offset, sizes, strides, and arguments that only training needs) */
static void push_tensor(machine *m, const tr_pickle_value *arguments)
{
    const tr_pickle_value *argument = tr_pickle_items(m->pickle, arguments);
    tr_pickle_tensor tensor = {0};
    if (arguments->size < 4 || argument[0].kind != TR_PICKLE_STORAGE || argument[1].kind != TR_PICKLE_INT ||
        argument[1].as.integer < 0 || argument[2].kind != TR_PICKLE_TUPLE || argument[3].kind != TR_PICKLE_TUPLE ||
        argument[2].size != argument[3].size || !read_sizes(m, &argument[2], tensor.shape) ||
        !read_sizes(m, &argument[3], tensor.stride)) {
        fail_damaged(m, "describes a tensor in another way than torch.save does");
        return;
    }
    tensor.storage = argument[0].as.index;
    tensor.offset = (uint64_t)argument[1].as.integer;
    tensor.rank = argument[2].size;
    const size_t place = COUNT_OF(&m->pickle->tensors, tr_pickle_tensor);
    add_row(m, &m->pickle->tensors, &tensor, sizeof tensor, TR_PICKLE_TENSORS);
    push_value(m, (tr_pickle_value){.kind = TR_PICKLE_TENSOR, .as.index = place});
}

static void call_global(machine *m)
{
    const tr_pickle_value arguments = pop_value(m), function = pop_value(m);
    if (m->status == TR_OK && (function.kind != TR_PICKLE_GLOBAL || arguments.kind != TR_PICKLE_TUPLE))
        fail_damaged(m, "calls a value that is not a function");
    if (m->status != TR_OK)
        return;
    if (function.as.index == REBUILD_TENSOR)
        push_tensor(m, &arguments);
    else if (function.as.index == ORDERED_DICT && arguments.size == 0)
        push_container(m, TR_PICKLE_DICT);
    else if (function.as.index == REBUILD_PARAMETER && arguments.size && /* (tensor, arguments for training) */
             tr_pickle_items(m->pickle, &arguments)->kind == TR_PICKLE_TENSOR)
        push_value(m, *tr_pickle_items(m->pickle, &arguments));
    else
        fail_damaged(m, "calls a function in another way than torch.save does");
}

/* ---------------------------------------------------------------------------------------------------------------- memo */

static void put_memo(machine *m, uint64_t index)
{
    static const tr_pickle_value unset = {.kind = TR_PICKLE_MARK};
    const tr_pickle_value value = top(m);
    if (index >= TR_PICKLE_MEMO)
        fail_damaged(m, "stores more than the weights of a network need in its memo");
    while (m->status == TR_OK && COUNT_OF(&m->memo, tr_pickle_value) <= index)
        add_row(m, &m->memo, &unset, sizeof unset, TR_PICKLE_MEMO);
    if (m->status == TR_OK)
        *ROW_AT(&m->memo, tr_pickle_value, index) = value;
}

static void get_memo(machine *m, uint64_t index)
{
    if (index >= COUNT_OF(&m->memo, tr_pickle_value) || ROW_AT(&m->memo, tr_pickle_value, index)->kind == TR_PICKLE_MARK)
        fail_damaged(m, "refers to a memo entry that was not stored");
    else
        push_value(m, *ROW_AT(&m->memo, tr_pickle_value, index));
}

/* ------------------------------------------------------------------------------------------------------------- machine */

static tr_pickle_value take_line(machine *m)
{
    const unsigned char *end = m->at < m->end ? memchr(m->at, '\n', (size_t)(m->end - m->at)) : NULL;
    const size_t size = (size_t)((end ? end : m->end) - m->at);
    const unsigned char *text = take_bytes(m, (uint64_t)size + 1);
    return (tr_pickle_value){.kind = TR_PICKLE_TEXT, .size = (uint32_t)size, .as.text = (const char *)text};
}

static void find_global(machine *m)
{
    const tr_pickle_value module = take_line(m), name = take_line(m);
    push_global(m, module, name);
}

static void find_global_on_stack(machine *m)
{
    const tr_pickle_value name = pop_value(m), module = pop_value(m);
    push_global(m, module, name);
}

/* Drops the attributes of an OrderedDict (_metadata: versions of modules). */
static void drop_attributes(machine *m)
{
    pop_value(m);
    if (top(m).kind != TR_PICKLE_DICT)
        fail_damaged(m, "sets attributes of a value that is not an OrderedDict");
}

static void unknown_opcode(machine *m, unsigned opcode)
{
    m->status = tr_fail(m->error, TR_ERROR_UNSUPPORTED,
                        "pickle, byte %zu: opcode 0x%02x is not one that torch.save uses for tensors",
                        (size_t)(m->at - m->data) - 1, opcode);
}

static void run_container_opcode(machine *m, unsigned opcode)
{
    switch (opcode) {
    case OP_EMPTY_TUPLE: make_short_tuple(m, 0); break;
    case OP_TUPLE1: make_short_tuple(m, 1); break;
    case OP_TUPLE2: make_short_tuple(m, 2); break;
    case OP_TUPLE3: make_short_tuple(m, 3); break;
    case OP_TUPLE: make_long_tuple(m); break;
    case OP_EMPTY_LIST: push_container(m, TR_PICKLE_LIST); break;
    case OP_APPEND: append_item(m); break;
    case OP_APPENDS: add_marked(m, TR_PICKLE_LIST, 1); break;
    case OP_EMPTY_DICT: push_container(m, TR_PICKLE_DICT); break;
    case OP_SETITEM: set_item(m); break;
    case OP_SETITEMS: add_marked(m, TR_PICKLE_DICT, 2); break;
    case OP_GLOBAL: find_global(m); break;
    case OP_STACK_GLOBAL: find_global_on_stack(m); break;
    case OP_REDUCE: call_global(m); break;
    case OP_BUILD: drop_attributes(m); break;
    case OP_BINPERSID: push_storage(m); break;
    case OP_BINGET: get_memo(m, take_number(m, 1)); break;
    case OP_LONG_BINGET: get_memo(m, take_number(m, 4)); break;
    case OP_BINPUT: put_memo(m, take_number(m, 1)); break;
    case OP_LONG_BINPUT: put_memo(m, take_number(m, 4)); break;
    case OP_MEMOIZE: put_memo(m, COUNT_OF(&m->memo, tr_pickle_value)); break;
    default: unknown_opcode(m, opcode);
    }
}

static void run_opcode(machine *m, unsigned opcode)
{
    switch (opcode) {
    case OP_FRAME: take_number(m, 8); break;
    case OP_MARK: push_kind(m, TR_PICKLE_MARK, 0); break;
    case OP_NONE: push_kind(m, TR_PICKLE_NONE, 0); break;
    case OP_NEWTRUE: push_kind(m, TR_PICKLE_BOOL, 1); break;
    case OP_NEWFALSE: push_kind(m, TR_PICKLE_BOOL, 0); break;
    case OP_BININT: push_long(m, 4); break;
    case OP_BININT1: push_kind(m, TR_PICKLE_INT, (int64_t)take_number(m, 1)); break;
    case OP_BININT2: push_kind(m, TR_PICKLE_INT, (int64_t)take_number(m, 2)); break;
    case OP_LONG1: push_long(m, take_number(m, 1)); break;
    case OP_LONG4: push_long(m, take_number(m, 4)); break;
    case OP_BINFLOAT: push_kind(m, TR_PICKLE_FLOAT, (int64_t)take_number(m, 8)); break;
    case OP_BINSTRING: push_text(m, take_number(m, 4)); break;
    case OP_SHORT_BINSTRING: push_text(m, take_number(m, 1)); break;
    case OP_BINUNICODE: push_text(m, take_number(m, 4)); break;
    case OP_SHORT_BINUNICODE: push_text(m, take_number(m, 1)); break;
    case OP_BINUNICODE8: push_text(m, take_number(m, 8)); break;
    case OP_STOP:
        m->pickle->root = pop_value(m);
        m->stopped = true;
        break;
    default: run_container_opcode(m, opcode);
    }
}

static void run_machine(machine *m)
{
    if (take_number(m, 1) != OP_PROTO || m->status != TR_OK) {
        fail_damaged(m, "is not a pickle");
        return;
    }
    const unsigned protocol = (unsigned)take_number(m, 1);
    if (m->status == TR_OK && (protocol < 2 || protocol > 5))
        m->status = tr_fail(m->error, TR_ERROR_UNSUPPORTED, "pickle of protocol %u, only 2 to 5 are read", protocol);
    while (m->status == TR_OK && !m->stopped) {
        const unsigned opcode = (unsigned)take_number(m, 1);
        if (m->status == TR_OK)
            run_opcode(m, opcode);
    }
}

tr_status tr_pickle_read(const void *data, size_t size, tr_pickle *pickle, tr_error *error)
{
    const size_t most = size < TR_PICKLE_SIZE ? size : TR_PICKLE_SIZE;
    *pickle = (tr_pickle){0};
    machine m = {.data = data, .at = data, .pickle = pickle, .error = error};
    m.end = m.at + most;
    m.limited = most < size;
    run_machine(&m);
    pickle->size = (size_t)(m.at - m.data);
    tr_buffer_free(&m.stack);
    tr_buffer_free(&m.memo);
    if (m.status != TR_OK)
        tr_pickle_free(pickle);
    return m.status;
}
