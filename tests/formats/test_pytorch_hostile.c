/* Hostile files: pickles that call functions, archives that become large, sizes that overflow. Each must be refused in one
 * line, within a second and 50 MB. */
#include "torch_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/pytorch/pickle.h"
#include "import/zip.h"

#define PROTO      "\x80\x02"
#define BYTES(s)   s, sizeof(s) - 1
#define BEGIN_DICT PROTO "}("

/* An archive of this pickle and a storage "0" of so many zeros. */
static void make_archive(zip_writer *w, const void *pickle, size_t size, size_t storage)
{
    void *zeros = calloc(1, storage + 1);
    assert_non_null(zeros);
    zip_add(w, BYTES("a/data.pkl"), pickle, size, (zip_claims){0});
    zip_add(w, BYTES("a/data/0"), zeros, storage, (zip_claims){0});
    zip_finish(w);
    free(zeros);
}

/* The pickle in both forms of file. */
static void expect_pickle_refused(const void *pickle, size_t size, tr_status status, const char *needle)
{
    static const char before[] = PROTO "\x8a\nl\xfc\x9c"
                                       "F\xf9 j\xa8P\x19." PROTO "M\xe9\x03." PROTO "}.";
    zip_writer w = {0};
    make_archive(&w, pickle, size, 64);
    expect_refused(w.file.data, w.file.size, status, needle);
    zip_free(&w);
    tr_buffer legacy = {0};
    pickle_bytes(&legacy, before, sizeof before - 1);
    pickle_bytes(&legacy, pickle, size);
    pickle_bytes(&legacy, BYTES(PROTO "]."));
    expect_refused(legacy.data, legacy.size, status, needle);
    tr_buffer_free(&legacy);
}

static tensor_claims good_tensor(void)
{
    return (tensor_claims){"FloatStorage", "0", 16, 0, 2, {4, 4}, {4, 1}};
}

/* A state dict of one tensor "t". */
static void begin_dict(tr_buffer *p)
{
    pickle_bytes(p, BYTES(BEGIN_DICT));
}

static void add_tensor(tr_buffer *p, const char *name, const tensor_claims *t)
{
    pickle_text(p, name);
    pickle_tensor(p, t, false);
}

static void make_pickle(tr_buffer *p, const tensor_claims *t)
{
    begin_dict(p);
    add_tensor(p, "t", t);
    pickle_bytes(p, BYTES("u."));
}

/* ------------------------------------------------------------------------------------------------------------- pickles */

static void test_calls(void **state)
{
    (void)state;
    static const struct {
        const char *pickle;
        size_t size;
        const char *needle;
        tr_status status;
    } cases[] = {
        {BYTES(PROTO "cos\nsystem\nX\5\0\0\0false\x85R."), "refers to os.system: not weights, refused",
         TR_ERROR_UNSUPPORTED},
        {BYTES(PROTO "cbuiltins\neval\nX\1\0\0\0"
                     "1\x85R."),
         "refers to builtins.eval: not weights", TR_ERROR_UNSUPPORTED},
        {BYTES("\x80\x04\x95\x1a\0\0\0\0\0\0\0\x8c\5posix\x94\x8c\6system\x94\x93\x94\x8c\5false\x94\x85\x94R\x94."),
         "refers to posix.system: not weights", TR_ERROR_UNSUPPORTED},
        {BYTES(BEGIN_DICT "X\1\0\0\0tc__builtin__\nexec\n)Ru."), "__builtin__.exec", TR_ERROR_UNSUPPORTED},
        {BYTES(PROTO "ctorch\nload\n)R."), "refers to torch.load", TR_ERROR_UNSUPPORTED},
        {BYTES(PROTO "ctorch.FloatStorage\n\n)R."), "refers to torch.FloatStorage.: ", TR_ERROR_UNSUPPORTED},
        {BYTES(PROTO "ctorch._utils\n_rebuild_tensor_v3\n)R."), "_rebuild_tensor_v3", TR_ERROR_UNSUPPORTED},
        {BYTES(PROTO "c__torch__.Model\nx\n)\x81."), "refers to __torch__.Model.x", TR_ERROR_UNSUPPORTED},
        {BYTES(PROTO "ca\x1b[31m\nb\n)R."), "refers to a?[31m.b: ", TR_ERROR_UNSUPPORTED},
        {BYTES(PROTO "ccollections\nOrderedDict\n)\x81."), "opcode 0x81", TR_ERROR_UNSUPPORTED},
        {BYTES(PROTO "(ios\nsystem\n."), "opcode 0x69", TR_ERROR_UNSUPPORTED},
        {BYTES(PROTO "\x82\1."), "opcode 0x82", TR_ERROR_UNSUPPORTED},
        {BYTES(PROTO "Pid\n."), "opcode 0x50", TR_ERROR_UNSUPPORTED},
        {BYTES(PROTO "K\1K\1\x93."), "by a value that is not a string", TR_ERROR_FORMAT},
        {BYTES(PROTO "K\1)R."), "calls a value that is not a function", TR_ERROR_FORMAT},
        {BYTES(PROTO "ctorch\nFloatStorage\n)R."), "in another way", TR_ERROR_FORMAT},
        {BYTES(PROTO "ccollections\nOrderedDict\nK\1\x85R."), "in another way", TR_ERROR_FORMAT},
        {BYTES(PROTO "ctorch._utils\n_rebuild_parameter\nK\1\x85R."), "in another way", TR_ERROR_FORMAT},
        {BYTES(PROTO "ctorch._utils\n_rebuild_tensor_v2\n)R."), "describes a tensor", TR_ERROR_FORMAT},
        {BYTES(PROTO "K\1Q."), "describes a storage", TR_ERROR_FORMAT},
        {BYTES(PROTO "(X\6\0\0\0moduleNNNNtQ."), "describes a storage", TR_ERROR_FORMAT},
        {BYTES(PROTO "K\1K\2b."), "sets attributes", TR_ERROR_FORMAT},
        {BYTES(PROTO "K\1K\2a."), "is not a list", TR_ERROR_FORMAT},
        {BYTES(PROTO "]K\1K\2s."), "is not a list", TR_ERROR_FORMAT},
        {BYTES(PROTO "(K\1u."), "part of an element", TR_ERROR_FORMAT},
        {BYTES(PROTO "}(K\1u."), "part of an element", TR_ERROR_FORMAT},
        {BYTES(PROTO "K\1t."), "needs a MARK", TR_ERROR_FORMAT},
        {BYTES(PROTO "(\x85."), "a tuple of a MARK", TR_ERROR_FORMAT},
        {BYTES(PROTO "(."), "needs a value", TR_ERROR_FORMAT},
        {BYTES(PROTO "."), "needs a value", TR_ERROR_FORMAT},
        {BYTES(PROTO "h\1."), "was not stored", TR_ERROR_FORMAT},
        {BYTES(PROTO "K\1r\xff\xff\xff\xff."), "need in its memo", TR_ERROR_FORMAT},
        {BYTES(PROTO "j\xff\xff\xff\xff."), "was not stored", TR_ERROR_FORMAT},
        {BYTES(PROTO "K\1."), "no dictionary of tensors", TR_ERROR_FORMAT},
        {BYTES(PROTO "}."), "no dictionary of tensors", TR_ERROR_FORMAT},
        {BYTES("\x80\6}."), "pickle of protocol 6", TR_ERROR_UNSUPPORTED},
        {BYTES("}."), "is not a pickle", TR_ERROR_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_pickle_refused(cases[i].pickle, cases[i].size, cases[i].status, cases[i].needle);
    /* These opcodes give the length of a text that is not there: before the archive's storages, or at the end of a
     * pickle. */
    static const char *const long_texts[] = {"X\xff\xff\xff\x7f", "T\xff\xff\xff\xff",
                                             "\x8d\xff\xff\xff\xff\xff\xff\xff\xff", "\x8b\xff\xff\xff\xff", "\x8a\xff"};
    for (size_t i = 0; i < sizeof long_texts / sizeof *long_texts; i++) {
        tr_buffer p = {0};
        pickle_bytes(&p, BYTES(PROTO));
        pickle_bytes(&p, long_texts[i], i == 2 ? 9 : strlen(long_texts[i]));
        expect_pickle_refused(p.data, p.size, TR_ERROR_FORMAT, "truncated or damaged");
        tr_buffer_free(&p);
    }
}

static void repeat(tr_buffer *p, const char *bytes, size_t size, size_t times)
{
    for (size_t i = 0; i < times; i++)
        pickle_bytes(p, bytes, size);
}

/* Short pickles that would make large objects. */
static void test_bombs(void **state)
{
    (void)state;
    enum { MANY = 4000000 };
    static const struct {
        const char *before, *repeated, *needle;
        size_t times;
        tr_status status;
    } cases[] = {
        {"N", "q\2h\2h\2\x86", "no dictionary of tensors", 1000, TR_ERROR_FORMAT}, /* (t, t), 2^1000 leaves */
        {"N", "\x85", "more than the weights", MANY, TR_ERROR_FORMAT},             /* ((((...)))) */
        {"", "N", "more than the weights", MANY, TR_ERROR_FORMAT},
        {"", "(", "more than the weights", MANY, TR_ERROR_FORMAT},
        {"", "]", "more than the weights", MANY, TR_ERROR_FORMAT},
        {"]", "Na", "more than the weights", MANY, TR_ERROR_FORMAT},
        {"]q\1h\1", "h\1a", "no dictionary", 1000, TR_ERROR_FORMAT}, /* a list that contains itself */
        {"N", "\x94", "more than the weights", MANY, TR_ERROR_FORMAT},
        {"", "K\1K\2K\3\x87", "more than the weights", MANY / 4, TR_ERROR_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tr_buffer p = {0};
        pickle_bytes(&p, BYTES(PROTO));
        pickle_bytes(&p, cases[i].before, strlen(cases[i].before));
        repeat(&p, cases[i].repeated, strlen(cases[i].repeated), cases[i].times);
        pickle_bytes(&p, ".", 1);
        expect_pickle_refused(p.data, p.size, cases[i].status, cases[i].needle);
        tr_buffer_free(&p);
    }
    tr_buffer p = {0}; /* a text as long as everything that is read */
    pickle_bytes(&p, BYTES(PROTO "X\0\0\0\1"));
    repeat(&p, "aaaaaaaaaaaaaaaa", 16, 1 << 20);
    expect_pickle_refused(p.data, p.size, TR_ERROR_FORMAT, "longer than that of any weights");
    tr_buffer_free(&p);
}

/* ------------------------------------------------------------------------------------------------------------- tensors */

static void expect_tensor_refused(const tensor_claims *t, tr_status status, const char *needle)
{
    tr_buffer p = {0};
    zip_writer w = {0};
    make_pickle(&p, t);
    make_archive(&w, p.data, p.size, 64);
    expect_refused(w.file.data, w.file.size, status, needle);
    zip_free(&w);
    tr_buffer_free(&p);
}

static void test_tensors(void **state)
{
    (void)state;
    static const struct {
        tensor_claims claims;
        const char *needle;
        tr_status status;
    } cases[] = {
        {{"FloatStorage", "1", 16, 0, 1, {16}, {1}}, "tensor t: entry a/data/1: is missing", TR_ERROR_FORMAT},
        {{"FloatStorage", "../0", 16, 0, 1, {16}, {1}}, "is missing", TR_ERROR_FORMAT},
        {{"FloatStorage", "0", 17, 0, 1, {16}, {1}}, "its storage should have 17 elements", TR_ERROR_FORMAT},
        {{"FloatStorage", "0", INT64_MAX, 0, 1, {16}, {1}}, "its storage should have", TR_ERROR_FORMAT},
        {{"FloatStorage", "0", INT64_MAX / 2 + 1, 0, 1, {16}, {1}}, "its storage should have", TR_ERROR_FORMAT},
        {{"FloatStorage", "0", -1, 0, 1, {16}, {1}}, "describes a storage", TR_ERROR_FORMAT},
        {{"FloatStorage", "0", 16, 1, 1, {16}, {1}}, "reaches beyond", TR_ERROR_FORMAT},
        {{"FloatStorage", "0", 16, INT64_MAX, 1, {16}, {1}}, "reaches beyond", TR_ERROR_FORMAT},
        {{"FloatStorage", "0", 16, -1, 1, {16}, {1}}, "describes a tensor", TR_ERROR_FORMAT},
        {{"FloatStorage", "0", 16, 16, 1, {1}, {1}}, "reaches beyond", TR_ERROR_FORMAT},
        {{"FloatStorage", "0", 8, 0, 1, {16}, {1}}, "reaches beyond", TR_ERROR_FORMAT},
        {{"FloatStorage", "0", 16, 0, 1, {17}, {1}}, "reaches beyond", TR_ERROR_FORMAT},
        {{"FloatStorage", "0", 16, 0, 2, {INT64_MAX, 4}, {4, 1}}, "reaches beyond", TR_ERROR_FORMAT},
        {{"FloatStorage", "0", 16, 0, 2, {4, 4}, {INT64_MAX, 1}}, "reaches beyond", TR_ERROR_FORMAT},
        {{"FloatStorage", "0", 16, 0, 4, {1LL << 32, 1LL << 32, 1LL << 32, 1LL << 32}, {0, 0, 0, 0}},
         "reaches beyond",
         TR_ERROR_FORMAT},
        {{"FloatStorage", "0", 16, 0, 2, {1LL << 40, 1}, {0, 1}}, "reaches beyond", TR_ERROR_FORMAT},
        {{"FloatStorage", "0", 16, 0, 2, {4, -4}, {4, 1}}, "describes a tensor", TR_ERROR_FORMAT},
        {{"FloatStorage", "0", 16, 0, 2, {4, 4}, {4, -1}}, "describes a tensor", TR_ERROR_FORMAT},
        {{"FloatStorage", "0", 16, 0, 0, {0}, {0}}, "has 0 dimensions", TR_ERROR_FORMAT},
        {{"FloatStorage", "0", 16, 0, 5, {1, 1, 1, 4, 4}, {1, 1, 1, 4, 1}}, "has 5 dimensions", TR_ERROR_FORMAT},
        {{"LongStorage", "0", 8, 0, 1, {8}, {1}}, "tensor t: type I64 is not supported", TR_ERROR_UNSUPPORTED},
        {{"DoubleStorage", "0", 8, 0, 1, {8}, {1}}, "type F64 is not supported", TR_ERROR_UNSUPPORTED},
        {{"QInt8Storage", "0", 8, 0, 1, {8}, {1}}, "refers to torch.QInt8Storage", TR_ERROR_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_tensor_refused(&cases[i].claims, cases[i].status, cases[i].needle);
    const tensor_claims none = {"FloatStorage", "0", 16, 3, 2, {0, INT64_MAX}, {INT64_MAX, 1}};
    tr_buffer p = {0};
    zip_writer w = {0};
    make_pickle(&p, &none); /* empty: nothing is out of range */
    make_archive(&w, p.data, p.size, 64);
    expect_accepted(w.file.data, w.file.size, 1);
    zip_free(&w);
    tr_buffer_free(&p);
}

/* Elements of transposed tensors are copied, but not more of them than a file of that size can have. */
static void test_copies(void **state)
{
    (void)state;
    enum { SIDE = 512, MANY = 1000 };
    tensor_claims t = {"FloatStorage", "0", (int64_t)SIDE * SIDE, 0, 2, {SIDE, SIDE}, {1, SIDE}};
    tr_buffer p = {0};
    zip_writer w = {0};
    begin_dict(&p);
    for (int i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        add_tensor(&p, name, &t);
    }
    pickle_bytes(&p, BYTES("u."));
    make_archive(&w, p.data, p.size, (size_t)SIDE * SIDE * 4);
    expect_refused(w.file.data, w.file.size, TR_ERROR_FORMAT, "overlaps other tensors");
    zip_free(&w);
    tr_buffer_free(&p);
    begin_dict(&p);
    t = good_tensor();
    add_tensor(&p, "t", &t);
    add_tensor(&p, "t", &t);
    pickle_bytes(&p, BYTES("u."));
    make_archive(&w, p.data, p.size, 64);
    expect_refused(w.file.data, w.file.size, TR_ERROR_FORMAT, "tensor t: is there twice");
    zip_free(&w);
    tr_buffer_free(&p);
}

/* ------------------------------------------------------------------------------------------------------------ archives */

typedef struct archive_case {
    zip_claims pickle, storage;
    size_t bytes; /* of the storage */
    const char *needle;
    tr_status status;
} archive_case;

/* The sizes in an archive's headers are checked. */
static void test_archives(void **state)
{
    (void)state;
    static const archive_case cases[] = {
        {{0}, {.deflate = true}, 64, NULL, TR_OK},
        {{.deflate = true}, {0}, 64, NULL, TR_OK},
        {{0}, {.deflate = true, .size = 100000000}, 64, "claims 100000000 bytes", TR_ERROR_FORMAT},
        {{0}, {.deflate = true, .size = 1ULL << 62}, 64, "claims", TR_ERROR_FORMAT},
        {{0}, {.deflate = true, .size = 65}, 64, "truncated or damaged there", TR_ERROR_FORMAT},
        {{0}, {.deflate = true, .wrong_checksum = true}, 64, "truncated or damaged there", TR_ERROR_FORMAT},
        {{0}, {.deflate = true, .packed = 1000000}, 64, "truncated or damaged there", TR_ERROR_FORMAT},
        {{0}, {.deflate = true, .packed = 1ULL << 63}, 64, "truncated or damaged there", TR_ERROR_FORMAT},
        {{0}, {.deflate = true}, 150000000, "more than 8 times the archive's size", TR_ERROR_FORMAT},
        {{0}, {.size = 32}, 64, "truncated or damaged there", TR_ERROR_FORMAT},
        {{0}, {.size = 1ULL << 63, .packed = 1ULL << 63}, 64, "truncated or damaged there", TR_ERROR_FORMAT},
        {{0}, {.size = UINT64_MAX, .packed = UINT64_MAX}, 64, "truncated or damaged there", TR_ERROR_FORMAT},
        {{0}, {.method = 12}, 64, "compressed in another way", TR_ERROR_UNSUPPORTED},
        {{0}, {.method = 99, .flags = 1}, 64, "is encrypted", TR_ERROR_UNSUPPORTED},
        {{0}, {.flags = 1}, 64, "is encrypted", TR_ERROR_UNSUPPORTED},
        {{0}, {.offset = 0x7fffffff}, 64, "truncated or damaged there", TR_ERROR_FORMAT},
        {{0}, {.offset = 4}, 64, "truncated or damaged there", TR_ERROR_FORMAT},
        {{0}, {0}, 63, "its storage should have 16 elements, the file has 63 bytes", TR_ERROR_FORMAT},
        {{0}, {0}, 0, "its storage should have 16 elements, the file has 0 bytes", TR_ERROR_FORMAT},
    };
    const tensor_claims t = good_tensor();
    tr_buffer p = {0};
    make_pickle(&p, &t);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        zip_writer w = {0};
        void *zeros = calloc(1, cases[i].bytes + 1);
        assert_non_null(zeros);
        zip_add(&w, BYTES("x y/data.pkl"), p.data, p.size, cases[i].pickle);
        zip_add(&w, BYTES("x y/data/0"), zeros, cases[i].bytes, cases[i].storage);
        zip_finish(&w);
        free(zeros);
        if (cases[i].needle)
            expect_refused(w.file.data, w.file.size, cases[i].status, cases[i].needle);
        else
            expect_accepted(w.file.data, w.file.size, 1);
        zip_free(&w);
    }
    tr_buffer_free(&p);
}

/* A pickle that is inflated to 100 MB. */
static void test_pickle_bomb(void **state)
{
    (void)state;
    enum { SIZE = 100000000 };
    zip_writer w = {0};
    void *zeros = calloc(1, SIZE);
    assert_non_null(zeros);
    zip_add(&w, BYTES("a/data.pkl"), zeros, SIZE, (zip_claims){.deflate = true});
    zip_finish(&w);
    free(zeros);
    expect_refused(w.file.data, w.file.size, TR_ERROR_FORMAT, "longer than that of any weights");
    zip_free(&w);
}

static void test_entries(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t size;
        zip_claims claims;
        const char *needle;
        tr_status status;
    } cases[] = {
        {BYTES("a/data/0"), {0}, "entry a/data/0: is there twice", TR_ERROR_FORMAT},
        {BYTES("a/data/1"), {.same_place = true}, " overlap", TR_ERROR_FORMAT},
        {BYTES("b/data.pkl"), {0}, "several data.pkl", TR_ERROR_FORMAT},
        {BYTES("a/data\0/1"), {0}, "holds a NUL", TR_ERROR_FORMAT},
        {BYTES("a/byteorder"), {0}, "is not \"little\"", TR_ERROR_UNSUPPORTED},
        {BYTES("a/\x1b[2J"), {0}, NULL, TR_OK},
        {BYTES("data.pkl"), {0}, NULL, TR_OK},
        {BYTES("a/b/data.pkl"), {0}, NULL, TR_OK},
    };
    const tensor_claims t = good_tensor();
    const char zeros[64] = {0};
    tr_buffer p = {0};
    make_pickle(&p, &t);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        zip_writer w = {0};
        zip_add(&w, BYTES("a/data.pkl"), p.data, p.size, (zip_claims){0});
        zip_add(&w, BYTES("a/data/0"), zeros, sizeof zeros, (zip_claims){0});
        zip_add(&w, cases[i].name, cases[i].size, zeros, sizeof zeros, cases[i].claims);
        zip_finish(&w);
        if (cases[i].needle)
            expect_refused(w.file.data, w.file.size, cases[i].status, cases[i].needle);
        else
            expect_accepted(w.file.data, w.file.size, 1);
        zip_free(&w);
    }
    char name[300];
    zip_writer w = {0};
    memset(name, 'a', sizeof name);
    zip_add(&w, name, sizeof name, zeros, sizeof zeros, (zip_claims){0});
    zip_finish(&w);
    expect_refused(w.file.data, w.file.size, TR_ERROR_FORMAT, "name is too long");
    zip_free(&w);
    zip_add(&w, BYTES("model.npy"), zeros, sizeof zeros, (zip_claims){0});
    zip_finish(&w);
    expect_refused(w.file.data, w.file.size, TR_ERROR_UNSUPPORTED, "is not an archive of torch.save");
    zip_free(&w);
    tr_buffer_free(&p);
}

static void test_many_entries(void **state)
{
    (void)state;
    zip_writer w = {0};
    for (int i = 0; i <= TR_ZIP_ENTRIES; i++) {
        char name[16];
        const int size = snprintf(name, sizeof name, "%d", i);
        zip_add(&w, name, (size_t)size, "", 0, (zip_claims){0});
    }
    zip_finish(&w);
    expect_refused(w.file.data, w.file.size, TR_ERROR_UNSUPPORTED, "more than 65536 entries");
    zip_free(&w);
}

/* -------------------------------------------------------------------------------------------------------- the old format */

typedef struct legacy_claims {
    const char *version, *machine, *keys; /* pickles */
    size_t version_size, machine_size, keys_size;
    uint64_t count;
    size_t bytes; /* of the storage */
} legacy_claims;

static void make_legacy(tr_buffer *file, const legacy_claims *c)
{
    static const char magic[] = PROTO "\x8a\nl\xfc\x9c"
                                      "F\xf9 j\xa8P\x19.";
    const tensor_claims t = good_tensor();
    pickle_bytes(file, magic, sizeof magic - 1);
    pickle_bytes(file, c->version, c->version_size);
    pickle_bytes(file, c->machine, c->machine_size);
    begin_dict(file);
    pickle_text(file, "t");
    pickle_tensor(file, &t, true);
    pickle_bytes(file, BYTES("u."));
    pickle_bytes(file, c->keys, c->keys_size);
    for (int i = 0; i < 8; i++) {
        const char byte = (char)(c->count >> 8 * i);
        pickle_bytes(file, &byte, 1);
    }
    for (size_t i = 0; i < c->bytes; i++)
        pickle_bytes(file, "", 1);
}

#define VERSION(s) .version = s, .version_size = sizeof(s) - 1
#define MACHINE(s) .machine = s, .machine_size = sizeof(s) - 1
#define KEYS(s)    .keys = s, .keys_size = sizeof(s) - 1
#define KEY        "X\1\0\0\0000"
#define GOOD       VERSION(PROTO "M\xe9\x03."), MACHINE(PROTO "}X\x0d\0\0\0little_endian\x88s."), KEYS(PROTO "]" KEY "a.")

static void test_legacy(void **state)
{
    (void)state;
    static const struct {
        legacy_claims claims;
        const char *needle;
        tr_status status;
    } cases[] = {
        {{GOOD, .count = 16, .bytes = 64}, NULL, TR_OK},
        {{GOOD, .count = 16, .bytes = 63}, "storage 0: should have 16 elements, of which the file has 15", TR_ERROR_FORMAT},
        {{GOOD, .count = 1ULL << 62, .bytes = 64}, "storage 0: should have", TR_ERROR_FORMAT},
        {{GOOD, .count = UINT64_MAX, .bytes = 64}, "storage 0: should have", TR_ERROR_FORMAT},
        {{GOOD, .count = 15, .bytes = 64}, "its storage should have 16 elements, the file has 60 bytes", TR_ERROR_FORMAT},
        {{VERSION(PROTO "M\xea\x03."), MACHINE(PROTO "}."), KEYS(PROTO "]."), 16, 64},
         "a version of torch.save",
         TR_ERROR_UNSUPPORTED},
        {{VERSION(PROTO "M\xe9\x03."), MACHINE(PROTO "}X\x0d\0\0\0little_endian\x89s."), KEYS(PROTO "]."), 16, 64},
         "big-endian",
         TR_ERROR_UNSUPPORTED},
        {{VERSION(PROTO "M\xe9\x03."), MACHINE(PROTO "cos\nsystem\n."), KEYS(PROTO "]."), 16, 64},
         "refers to os.system",
         TR_ERROR_UNSUPPORTED},
        {{VERSION(PROTO "M\xe9\x03."), MACHINE(PROTO "}."), KEYS(PROTO "]."), 16, 64},
         "storage 0: is missing",
         TR_ERROR_FORMAT},
        {{VERSION(PROTO "M\xe9\x03."), MACHINE(PROTO "}."), KEYS(PROTO "]X\1\0\0\0001a."), 16, 64},
         "storage 1: belongs to no tensor",
         TR_ERROR_FORMAT},
        {{VERSION(PROTO "M\xe9\x03."), MACHINE(PROTO "}."), KEYS(PROTO "]K\1a."), 16, 64},
         "belongs to no tensor",
         TR_ERROR_FORMAT},
        {{VERSION(PROTO "M\xe9\x03."), MACHINE(PROTO "}."), KEYS(PROTO "](X\1\0\0\0000X\1\0\0\0000e."), 0, 8},
         "storage 0: is there twice",
         TR_ERROR_FORMAT},
        {{VERSION(PROTO "M\xe9\x03."), MACHINE(PROTO "}."), KEYS(PROTO "](X\1\0\0\0000X\1\0\0\0000e."), 16, 64},
         "the file is truncated",
         TR_ERROR_FORMAT},
        {{VERSION(PROTO "M\xe9\x03."), MACHINE(PROTO "}."), KEYS("XX"), 16, 64}, "list of storages: ", TR_ERROR_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tr_buffer file = {0};
        make_legacy(&file, &cases[i].claims);
        if (cases[i].needle)
            expect_refused(file.data, file.size, cases[i].status, cases[i].needle);
        else
            expect_accepted(file.data, file.size, 1);
        tr_buffer_free(&file);
    }
    expect_refused("", 0, TR_ERROR_FORMAT, "is not a file of torch.save");
    expect_refused(BYTES(PROTO "}."), TR_ERROR_FORMAT, "is not a file of torch.save");
    expect_refused(BYTES("PK\3\4"), TR_ERROR_FORMAT, "is not a zip archive");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),   cmocka_unit_test(test_bombs),        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_copies),  cmocka_unit_test(test_archives),     cmocka_unit_test(test_pickle_bomb),
        cmocka_unit_test(test_entries), cmocka_unit_test(test_many_entries), cmocka_unit_test(test_legacy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
