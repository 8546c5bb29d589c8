/* Buffers, maps, UTF-8, arena, files and error messages. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "util/arena.h"
#include "util/base64.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/siphash.h"
#include "util/strmap.h"
#include "util/utf8.h"

static void test_errors(void **unused)
{
    (void)unused;
    tr_error error;
    assert_int_equal(tr_fail(&error, TR_ERROR_FORMAT, "%s: is\nbroken\x7f", "file"), TR_ERROR_FORMAT);
    assert_string_equal(error.message, "file: is?broken?");
    assert_int_equal(tr_fail_in(&error, error.status, "dir"), TR_ERROR_FORMAT);
    assert_string_equal(error.message, "dir: file: is?broken?");
    assert_int_equal(tr_fail_in(NULL, TR_ERROR_IO, "dir"), TR_ERROR_IO);
    assert_int_equal(tr_fail_in(&error, TR_OK, "dir"), TR_OK);
    assert_int_equal(tr_fail(NULL, TR_ERROR_IO, "x"), TR_ERROR_IO);
    /* control characters of terminals, invalid characters, and valid ones */
    tr_fail(&error, TR_ERROR_FORMAT, "a\xc2\x9b\xe2\x80\xae\xff\xe4\xbb: \xe4\xbb\x8a\xc3\xa9");
    assert_string_equal(error.message, "a????: \xe4\xbb\x8a\xc3\xa9");
    char long_text[2 * TR_MESSAGE_SIZE];
    memset(long_text, 'a', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    tr_fail(&error, TR_ERROR_IO, "%s", long_text);
    assert_int_equal(strlen(error.message), TR_MESSAGE_SIZE - 1);
    tr_fail(&error, TR_ERROR_IO, "%.510s\xc3\xa9", long_text); /* only half of the last character fits */
    assert_string_equal(error.message + TR_MESSAGE_SIZE - 3, "a?");
    for (int s = TR_OK; s <= TR_ERROR_CANCELLED; s++)
        assert_string_not_equal(tr_status_name((tr_status)s), "unknown");
}

static void test_printable(void **unused)
{
    (void)unused;
    static const char *const pairs[][2] = {
        {"", ""},
        {"今天 café\xc2\xa0\U0001f600", "今天 café\xc2\xa0\U0001f600"},
        {"a\tb\nc\x1b[31m\x7f", "a?b?c?[31m?"},
        {"\xc2\x80\xc2\x9b"
         "31m\xc2\x9f",
         "??31m?"},                                  /* C1: U+009B is ESC [ */
        {"\u061c\u200e\u200f|\u200d", "???|\u200d"}, /* directions; what joins emoji stays */
        {"\u202a\u202b\u202c\u202d\u202e|\u2066\u2067\u2068\u2069|\u2065", "?????|????|\u2065"},
        {"\u2028\u2029|\u2027\u202f", "??|\u2027\u202f"},
        {"\xff|\xe4\xbb|\xc0\x80|\xed\xa0\x80|\xe4", "?|?|??|???|?"}, /* no UTF-8 */
        {"\x9b"
         "1m",
         "?1m"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", pairs[i][0]);
        tr_utf8_make_printable(text);
        assert_string_equal(text, pairs[i][1]);
    }
    tr_error error;
    tr_fail(&error, TR_ERROR_IO, "%s: cannot be read", "a\u202etxt.exe\xc2\x9b");
    assert_string_equal(error.message, "a?txt.exe?: cannot be read");
}

static void test_base64(void **unused)
{
    (void)unused;
    static const char *const pairs[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) { /* RFC 4648, section 10 */
        tr_buffer out = {0};
        assert_true(tr_base64_encode(pairs[i][0], strlen(pairs[i][0]), &out));
        assert_int_equal(out.size, strlen(pairs[i][1]));
        assert_memory_equal(out.data, pairs[i][1], out.size);
        tr_buffer_free(&out);
    }
    unsigned char bytes[256];
    for (int i = 0; i < 256; i++)
        bytes[i] = (unsigned char)(i * 73 + 1);
    tr_buffer text = {0}, back = {0};
    bool valid = false;
    assert_true(tr_base64_encode(bytes, sizeof bytes, &text) && tr_base64_decode(text.data, text.size, &back, &valid));
    assert_true(valid);
    assert_int_equal(back.size, sizeof bytes);
    assert_memory_equal(back.data, bytes, sizeof bytes);
    static const char *const wrong[] = {"Zg=", "Zg", "Z===", "Zm9v!A==", "Zg==Zg=="};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_true(tr_base64_decode(wrong[i], strlen(wrong[i]), &back, &valid));
        assert_false(valid);
    }
    tr_buffer_free(&text);
    tr_buffer_free(&back);
}

static void test_buffers(void **unused)
{
    (void)unused;
    tr_buffer b = {0};
    for (int i = 0; i < 1000; i++)
        assert_true(tr_buffer_string(&b, "abc"));
    assert_int_equal(b.size, 3000);
    assert_int_equal(strlen(b.data), 3000);
    assert_false(tr_buffer_reserve(&b, SIZE_MAX - 10));
    assert_false(tr_buffer_reserve(&b, SIZE_MAX / 2));
    assert_int_equal(b.size, 3000);
    tr_buffer_clear(&b);
    assert_string_equal(b.data, "");
    assert_true(tr_buffer_append(&b, NULL, 0));
    tr_buffer_free(&b);
    tr_ids ids = {0};
    for (int32_t i = 0; i < 1000; i++)
        assert_true(tr_ids_append(&ids, &i, 1));
    assert_int_equal(ids.data[999], 999);
    tr_ids_free(&ids);
}

static void test_map(void **unused)
{
    (void)unused;
    enum { N = 20000 };
    static char keys[N][12];
    tr_strmap map;
    assert_true(tr_strmap_init(&map, 0));
    for (int i = 0; i < N; i++) {
        snprintf(keys[i], sizeof keys[i], "%x", i * 7919);
        assert_int_equal(tr_strmap_add(&map, keys[i], strlen(keys[i]), i), i);
    }
    assert_int_equal(tr_strmap_add(&map, "0", 1, 5), 0); /* there already */
    for (int i = 0; i < N; i++)
        assert_int_equal(tr_strmap_find(&map, keys[i], strlen(keys[i])), i);
    assert_int_equal(tr_strmap_find(&map, "none", 4), -1);
    assert_int_equal(tr_strmap_find(&map, "", 0), -1);
    assert_int_equal(tr_strmap_add(&map, "", 0, 7), 7);
    assert_int_equal(tr_strmap_find(&map, "", 0), 7);
    tr_strmap_free(&map);
    assert_int_equal(tr_strmap_find(&map, "x", 1), -1);
}

/* Every code point is encoded and decoded; others are refused. */
/* Some of the authors' test vectors, https://github.com/veorq/SipHash, vectors.h. */
static void test_siphash(void **unused)
{
    (void)unused;
    tr_siphash_key key = {{0x0706050403020100, 0x0f0e0d0c0b0a0908}}, other;
    unsigned char data[63];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)i;
    assert_int_equal(tr_siphash(&key, data, 0), 0x726fdb47dd0e0e31);
    assert_int_equal(tr_siphash(&key, data, 1), 0x74f839c593dc67fd);
    assert_int_equal(tr_siphash(&key, data, 15), 0xa129ca6149be45e5);
    assert_int_equal(tr_siphash(&key, data, 63), 0x958a324ceb064572);
    assert_true(tr_siphash_choose(&key) && tr_siphash_choose(&other));
    assert_memory_not_equal(&key, &other, sizeof key);
}

static void test_utf8_codes(void **unused)
{
    (void)unused;
    char bytes[4];
    size_t length;
    for (uint32_t code = 1; code < 0x110000; code++) {
        if (code >= 0xd800 && code < 0xe000)
            continue;
        const size_t n = tr_utf8_encode(code, bytes);
        if (tr_utf8_decode(bytes, n, &length) != (int32_t)code || length != n || !tr_utf8_valid(bytes, n) ||
            (n > 1 && tr_utf8_valid(bytes, n - 1)))
            fail_msg("U+%04X", code);
    }
    static const char *const bad[] = {"\x80",         "\xc0\x80",         "\xc1\xbf",         "\xe0\x9f\xbf",
                                      "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
                                      "\xff",         "\xe4\xbd",         "\xe4\xbdz",        "\xf0\x9f\x98"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(tr_utf8_valid(bad[i], strlen(bad[i])));
    assert_false(tr_utf8_valid("a\0b", 3));
    assert_false(tr_utf8_valid("abcdefgh\0ijklmnop", 17));
    assert_true(tr_utf8_valid("", 0));
}

static void test_utf8_clean(void **unused)
{
    (void)unused;
    /* one U+FFFD for each maximal invalid part: the Unicode standard's own example (table 3-8) and others */
    static const struct {
        const char *in;
        size_t size;
        const char *out;
    } cases[] = {
        {"a\xf1\x80\x80\xe1\x80\xc2"
         "b\x80"
         "c\x80\xbf"
         "d",
         13, "a???b?c??d"},
        {"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82"
         "A",
         9, "????????A"},
        {"a\0b", 3, "a?b"},
        {"\xe4\xbd\xa0\xe5", 4, "\xe4\xbd\xa0?"},
        {"plain", 5, "plain"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tr_buffer out = {0}, wanted = {0};
        for (const char *c = cases[i].out; *c; c++)
            assert_true(*c == '?' ? tr_buffer_append(&wanted, "\xef\xbf\xbd", 3) : tr_buffer_append(&wanted, c, 1));
        assert_true(tr_utf8_clean(cases[i].in, cases[i].size, &out));
        assert_int_equal(out.size, wanted.size);
        assert_memory_equal(out.data, wanted.data, out.size);
        tr_buffer_free(&out), tr_buffer_free(&wanted);
    }
}

static void test_arena(void **unused)
{
    (void)unused;
    tr_arena arena;
    tr_error error;
    assert_int_equal(tr_arena_init(&arena, 1 << 20, &error), TR_OK);
    unsigned char *a = tr_arena_alloc(&arena, 1), *b = tr_arena_alloc(&arena, 100);
    assert_int_equal(b - a, 64);
    assert_int_equal((uintptr_t)b % 64, 0);
    assert_null(tr_arena_alloc(&arena, 1 << 20));
    assert_null(tr_arena_alloc(&arena, SIZE_MAX));
    assert_non_null(tr_arena_alloc(&arena, (1 << 20) - 192));
    assert_null(tr_arena_alloc(&arena, 1));
    tr_arena_rewind(&arena, 0);
    assert_ptr_equal(tr_arena_alloc(&arena, 1 << 20), a);
    tr_arena_free(&arena);
    assert_int_equal(tr_arena_init(&arena, SIZE_MAX / 2, &error), TR_ERROR_MEMORY);
    tr_arena_free(&arena);
}

static char folder[] = "/tmp/translate-test-XXXXXX";

static const char *in_folder(char path[128], const char *name)
{
    snprintf(path, 128, "%s/%s", folder, name);
    return path;
}

static void test_output(void **unused)
{
    (void)unused;
    char path[128];
    tr_error error;
    tr_output output;
    tr_file file;
    in_folder(path, "out");
    assert_int_equal(tr_output_open(&output, path, &error), TR_OK);
    static char large[600000];
    memset(large, 'x', sizeof large);
    assert_int_equal(tr_output_write(&output, "head", 4, &error), TR_OK);
    assert_int_equal(tr_output_write(&output, large, sizeof large, &error), TR_OK);
    assert_int_equal(tr_output_patch(&output, 0, "HE", 2, &error), TR_OK);
    assert_int_not_equal(access(path, F_OK), 0); /* not before it is complete */
    assert_int_equal(tr_output_commit(&output, &error), TR_OK);
    for (tr_load load = TR_LOAD_MAP; load <= TR_LOAD_COPY; load++) {
        assert_int_equal(tr_file_open(path, load, &file, &error), TR_OK);
        assert_int_equal(file.size, 4 + sizeof large);
        assert_memory_equal(file.data, "HEad", 4);
        assert_memory_equal(file.data + 4, large, sizeof large);
        tr_pages_populate(file.data, file.size);
        tr_pages_drop(file.data, file.size / 2);
        tr_file_close(&file);
    }
    assert_int_equal(tr_output_open(&output, path, &error), TR_OK);
    tr_output_abort(&output); /* leaves the old file */
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
    assert_int_equal(rmdir(folder), 0); /* nothing else is left */
    assert_int_equal(mkdir(folder, 0700), 0);
}

static void test_bad_files(void **unused)
{
    (void)unused;
    char path[128];
    tr_error error;
    tr_file file;
    tr_output output;
    assert_int_equal(tr_file_open(in_folder(path, "none"), TR_LOAD_MAP, &file, &error), TR_ERROR_IO);
    assert_non_null(strstr(error.message, path));
    assert_int_equal(tr_file_open(folder, TR_LOAD_MAP, &file, &error), TR_ERROR_IO);
    assert_non_null(strstr(error.message, "directory"));
    assert_int_equal(tr_file_open("/dev/null", TR_LOAD_COPY, &file, &error), TR_ERROR_IO);
    assert_int_equal(tr_output_open(&output, in_folder(path, "none/out"), &error), TR_ERROR_IO);
    FILE *f = fopen(in_folder(path, "empty"), "w");
    fclose(f);
    assert_int_equal(tr_file_open(path, TR_LOAD_MAP, &file, &error), TR_OK);
    assert_null(file.data);
    assert_int_equal(file.size, 0);
    tr_file_close(&file);
    unlink(path);
}

static int make_folder(void **unused)
{
    (void)unused;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **unused)
{
    (void)unused;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),     cmocka_unit_test(test_printable), cmocka_unit_test(test_base64),
        cmocka_unit_test(test_buffers),    cmocka_unit_test(test_map),       cmocka_unit_test(test_utf8_codes),
        cmocka_unit_test(test_utf8_clean), cmocka_unit_test(test_arena),     cmocka_unit_test(test_output),
        cmocka_unit_test(test_bad_files),  cmocka_unit_test(test_siphash),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
