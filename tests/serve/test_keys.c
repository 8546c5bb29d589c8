/* Keys and limits: files of keys, who may go on, and how much. */
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

#include "serve/keys.h"
#include "util/clock.h"
#include "util/file.h"

static char path[] = "/tmp/translate-test-XXXXXX";
static cli_settings settings;
static const server test_server = {.settings = &settings};
static const route closed = {.path = "/closed"}, open_route = {.path = "/open", .flags = ROUTE_OPEN},
                   free_route = {.path = "/free", .flags = ROUTE_FREE};

/* The last answer, and warnings. */
static unsigned status, warnings;
static char message[256], retry_after[16];
static const char *address = "192.0.2.1";

const char *request_address(const request *r)
{
    (void)r;
    return address;
}

void answer_header(request *r, const char *name, const char *value)
{
    (void)r;
    assert_string_equal(name, "Retry-After");
    snprintf(retry_after, sizeof retry_after, "%s", value);
}

void answer_error(request *r, unsigned code, const char *format, ...)
{
    va_list arguments;
    (void)r;
    assert_int_equal(status, 0); /* one answer */
    status = code;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
}

void cli_warn(const cli_settings *unused, const char *format, ...)
{
    (void)unused, (void)format;
    warnings++;
}

/* 0: it may go on; else the status of the answer. */
static unsigned allow(keys *k, const route *to, const char *key)
{
    request r = {.route = to, .key = key};
    status = 0;
    *retry_after = 0;
    const bool may = keys_allow(k, &r);
    assert_int_equal(may, status == 0);
    assert_int_equal(*retry_after != 0, status == 429);
    return status;
}

static unsigned take(keys *k, const char *key, size_t characters)
{
    request r = {.route = &closed, .key = key};
    status = 0;
    *retry_after = 0;
    const bool may = keys_take(k, &r, characters);
    assert_int_equal(may, status == 0);
    assert_int_equal(*retry_after != 0, status == 429);
    return status;
}

static uint64_t used(keys *k, const char *key)
{
    const request r = {.route = &closed, .key = key};
    return keys_characters(k, &r);
}

static void write_keys(const char *text, size_t size)
{
    tr_error error;
    assert_int_equal(tr_file_write_own(path, 0600, text, size, &error), TR_OK);
}

static keys *make_keys(const char *text)
{
    tr_error error = {0};
    settings = (cli_settings){.api_keys = text ? path : NULL};
    if (text)
        write_keys(text, strlen(text));
    keys *k = keys_create(&test_server, &error);
    assert_non_null(k);
    return k;
}

static void test_without_keys_everybody_may_go_on(void **unused)
{
    (void)unused;
    keys *k = make_keys(NULL);
    assert_false(keys_required(k));
    for (int i = 0; i < 100; i++) {
        assert_int_equal(allow(k, &closed, NULL), 0);
        assert_int_equal(allow(k, &closed, "any"), 0);
        assert_int_equal(take(k, NULL, 1000000), 0);
    }
    assert_int_equal(keys_reload(k, NULL), TR_OK);
    keys_free(k);
    keys_free(NULL);
}

static void test_a_key_must_be_one_of_the_file(void **unused)
{
    (void)unused;
    keys *k = make_keys("# keys\n\nfirst-key\n  second 10\t20 \r\n#third\nlast");
    assert_true(keys_required(k));
    assert_int_equal(allow(k, &closed, "first-key"), 0);
    assert_int_equal(allow(k, &closed, "second"), 0);
    assert_int_equal(allow(k, &closed, "last"), 0);
    static const char *const wrong[] = {"", "first", "first-key ", "first-keyx", "FIRST-KEY", "#third", "third", "10", "#"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(allow(k, &closed, wrong[i]), 403);
        assert_int_equal(allow(k, &free_route, wrong[i]), 403);
        assert_int_equal(allow(k, &open_route, wrong[i]), 0);
    }
    assert_string_equal(message, "API key: is not valid");
    assert_int_equal(allow(k, &closed, NULL), 403);
    assert_string_equal(message, "API key: is missing; send 'Authorization: Bearer KEY', or api_key");
    assert_int_equal(allow(k, &open_route, NULL), 0);
    keys_free(k);
}

static void test_bad_files_are_refused_without_showing_keys(void **unused)
{
    (void)unused;
    char text[400], expected[400], many[80000] = "";
    memset(text, 'k', sizeof text - 1);
    text[sizeof text - 1] = 0;
    size_t end = 0;
    for (int i = 0; i <= 10000; i++)
        end += (size_t)snprintf(many + end, sizeof many - end, "%d\n", i);
    const struct {
        const char *text, *why;
    } bad[] = {
        {"", ": has no keys"},
        {"# none\n \n", ": has no keys"},
        {"a\nb x\n", ":2: after the key there are two numbers: requests and characters per minute"},
        {"b -1", ":1: after the key there are two numbers: requests and characters per minute"},
        {"b 1 1.5", ":1: after the key there are two numbers: requests and characters per minute"},
        {"b 1000000001", ":1: after the key there are two numbers: requests and characters per minute"},
        {"\nb 1 2 3", ":2: has more than a key and two numbers"},
        {"a\nb\na 5", ": has a key twice"},
        {"s\xc3\xa9", ":1: the key has a character that is not printable ASCII"},
        {"a\x7f", ":1: the key has a character that is not printable ASCII"},
        {text, ":1: the key is longer than 256 characters"},
        {many, ":10001: there are more than 10000 keys"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tr_error error = {0};
        settings = (cli_settings){.api_keys = path};
        write_keys(bad[i].text, strlen(bad[i].text));
        assert_null(keys_create(&test_server, &error));
        snprintf(expected, sizeof expected, "%s%s", path, bad[i].why);
        assert_string_equal(error.message, expected);
    }
    write_keys("a\0b", 3);
    assert_null(keys_create(&test_server, NULL));
    unlink(path);
    tr_error error = {0};
    assert_null(keys_create(&test_server, &error));
    assert_int_equal(error.status, TR_ERROR_IO);
}

static void test_a_file_that_others_can_read_is_warned_of(void **unused)
{
    (void)unused;
    warnings = 0;
    keys *k = make_keys("a");
    assert_int_equal(warnings, 0);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(keys_reload(k, NULL), TR_OK);
    assert_int_equal(warnings, 1);
    keys_free(k);
    unlink(path);
}

static void test_a_new_file_counts_after_a_reload(void **unused)
{
    (void)unused;
    keys *k = make_keys("old 2\nboth 2");
    assert_int_equal(allow(k, &closed, "both"), 0);
    assert_int_equal(allow(k, &closed, "both"), 0);
    write_keys("new\nboth 2\n", 11);
    assert_int_equal(allow(k, &closed, "new"), 403);
    assert_int_equal(keys_reload(k, NULL), TR_OK);
    assert_int_equal(allow(k, &closed, "new"), 0);
    assert_int_equal(allow(k, &closed, "old"), 403);
    assert_int_equal(allow(k, &closed, "both"), 429); /* what was used stays counted */
    write_keys("a b", 3);
    assert_int_equal(keys_reload(k, NULL), TR_ERROR_FORMAT);
    assert_int_equal(allow(k, &closed, "new"), 0); /* the old ones stay */
    assert_int_equal(allow(k, &closed, "a"), 403);
    keys_free(k);
}

static unsigned allowed_at(keys *k, const char *from, int requests)
{
    unsigned allowed = 0;
    address = from;
    for (int i = 0; i < requests; i++)
        allowed += allow(k, &closed, NULL) == 0;
    address = "192.0.2.1";
    return allowed;
}

static void test_addresses_have_a_rate_each(void **unused)
{
    (void)unused;
    keys *k = make_keys(NULL);
    settings.rate_limit = 3;
    assert_int_equal(allowed_at(k, "192.0.2.1", 5), 3);
    assert_string_equal(message, "too many requests: more than 3 in a minute; try again in 20 s");
    assert_string_equal(retry_after, "20");
    assert_int_equal(allow(k, &free_route, NULL), 0);
    assert_int_equal(allow(k, &closed, "any"), 429);
    assert_int_equal(allowed_at(k, "192.0.2.2", 5), 3);
    assert_int_equal(allowed_at(k, "::ffff:192.0.2.2", 5), 0); /* the same one */
    assert_int_equal(allowed_at(k, "::ffff:192.0.2.3", 5), 3);
    assert_int_equal(allowed_at(k, "2001:db8:1:2::1", 2), 2);
    assert_int_equal(allowed_at(k, "2001:db8:1:2:3:4:5:6", 2), 1); /* the same site */
    assert_int_equal(allowed_at(k, "2001:db8:1:3::1", 5), 3);
    assert_int_equal(allowed_at(k, "fe80::1%eth0", 5), 3);
    assert_int_equal(allowed_at(k, "fe80::1", 5), 0);
    assert_int_equal(allowed_at(k, "", 2), 2); /* what is no address: all one */
    char text[200];
    memset(text, '1', sizeof text - 1);
    text[sizeof text - 1] = 0;
    assert_int_equal(allowed_at(k, text, 5), 1);
    keys_free(k);
}

/* Many addresses push out those that were not seen for the longest time, and no others. */
static void test_the_newest_addresses_are_remembered(void **unused)
{
    (void)unused;
    char text[64];
    keys *k = make_keys(NULL);
    settings.rate_limit = 1;
    assert_int_equal(allowed_at(k, "192.0.2.1", 2), 1);
    for (unsigned i = 0; i < 20000; i++) {
        snprintf(text, sizeof text, "10.0.%u.%u", i / 256, i % 256);
        assert_int_equal(allowed_at(k, text, 1), 1);
    }
    assert_int_equal(allowed_at(k, "192.0.2.1", 2), 1);
    for (unsigned i = 18000; i < 20000; i++) {
        snprintf(text, sizeof text, "10.0.%u.%u", i / 256, i % 256);
        assert_int_equal(allowed_at(k, text, 1), 0);
    }
    keys_free(k);
}

static void test_keys_have_a_rate_each_and_guessing_has_one(void **unused)
{
    (void)unused;
    keys *k = make_keys("own 5\nusual\nalso-usual 0");
    unsigned allowed[3] = {0};
    settings.rate_limit = 2;
    for (int i = 0; i < 8; i++) {
        allowed[0] += allow(k, &closed, "own") == 0;
        allowed[1] += allow(k, &closed, "usual") == 0;
        allowed[2] += allow(k, &closed, "also-usual") == 0;
    }
    assert_int_equal(allowed[0], 5);
    assert_int_equal(allowed[1], 2);
    assert_int_equal(allowed[2], 2);
    assert_int_equal(allow(k, &closed, "guess 1"), 403);
    assert_int_equal(allow(k, &free_route, "guess 2"), 403);
    assert_int_equal(allow(k, &closed, "guess 3"), 429);
    assert_int_equal(allow(k, &free_route, "own"), 0);
    keys_free(k);
}

static void test_use_flows_out(void **unused)
{
    (void)unused;
    keys *k = make_keys(NULL);
    settings.rate_limit = 600; /* one in 100 ms */
    int allowed = 0;
    while (allow(k, &closed, NULL) == 0 && allowed < 10000)
        allowed++;
    assert_true(allowed >= 600 && allowed < 10000);
    assert_string_equal(retry_after, "1");
    tr_sleep(120);
    assert_int_equal(allow(k, &closed, NULL), 0);
    keys_free(k);
}

static void test_characters_have_limits(void **unused)
{
    (void)unused;
    keys *k = make_keys("small 0 100\nlarge 0 1000\nany");
    settings.char_limit = 500;
    assert_int_equal(take(k, "any", 500), 0);
    assert_int_equal(take(k, "any", 500), 0);
    assert_int_equal(take(k, "any", 501), 400);
    assert_string_equal(message, "text: has 501 characters, more than the limit of 500");
    assert_int_equal(take(k, "any", SIZE_MAX), 400);
    assert_int_equal(take(k, "small", 0), 0);
    assert_int_equal(take(k, "small", 60), 0);
    assert_int_equal(take(k, "small", 60), 429);
    assert_string_equal(message, "too many characters: more than 100 in a minute; try again in 12 s");
    assert_int_equal(take(k, "small", 40), 0);
    assert_int_equal(take(k, "large", 500), 0);
    assert_int_equal(take(k, "large", 500), 0);
    assert_int_equal(take(k, "large", 10), 429);
    keys_free(k);
    /* more than a minute's characters pass when nothing is used, and are paid for afterwards */
    k = make_keys("small 0 100");
    assert_int_equal(take(k, "small", 300), 0);
    assert_int_equal(take(k, "small", 1), 429);
    assert_string_equal(retry_after, "121");
    keys_free(k);
}

static void test_characters_are_counted(void **unused)
{
    (void)unused;
    keys *k = make_keys(NULL);
    assert_int_equal(used(k, NULL), 0);
    assert_int_equal(take(k, NULL, 10), 0);
    assert_int_equal(take(k, "any", 20), 0);
    assert_int_equal(used(k, NULL), 30);
    assert_int_equal(used(k, "any"), 30);
    keys_free(k);
    k = make_keys("a\nb\nc 0 5");
    settings.char_limit = 50;
    assert_int_equal(take(k, "a", 10), 0);
    assert_int_equal(take(k, "a", 11), 0);
    assert_int_equal(take(k, "b", 51), 400);
    assert_int_equal(take(k, "c", 5), 0);
    assert_int_equal(take(k, "c", 5), 429);
    write_keys("d\nc\nb\na", 7);
    assert_int_equal(keys_reload(k, NULL), TR_OK);
    assert_int_equal(used(k, "a"), 21);
    assert_int_equal(used(k, "b"), 0);
    assert_int_equal(used(k, "c"), 5);
    assert_int_equal(used(k, "d"), 0);
    keys_free(k);
}

static int choose_path(void **unused)
{
    (void)unused;
    const int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int remove_path(void **unused)
{
    (void)unused;
    unlink(path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_keys_everybody_may_go_on),
        cmocka_unit_test(test_a_key_must_be_one_of_the_file),
        cmocka_unit_test(test_bad_files_are_refused_without_showing_keys),
        cmocka_unit_test(test_a_file_that_others_can_read_is_warned_of),
        cmocka_unit_test(test_a_new_file_counts_after_a_reload),
        cmocka_unit_test(test_addresses_have_a_rate_each),
        cmocka_unit_test(test_the_newest_addresses_are_remembered),
        cmocka_unit_test(test_keys_have_a_rate_each_and_guessing_has_one),
        cmocka_unit_test(test_use_flows_out),
        cmocka_unit_test(test_characters_have_limits),
        cmocka_unit_test(test_characters_are_counted),
    };
    return cmocka_run_group_tests(tests, choose_path, remove_path);
}
