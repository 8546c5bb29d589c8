/* The cache of translations: what it keeps, what it drops, and how much memory it takes for that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "serve/cache.h"

enum { SMALL = 16 << 10, LARGE = 4 << 20 };

static void add(cache *c, const char *key, const char *value)
{
    cache_add(c, key, strlen(key), value, strlen(value));
}

static const char *find(cache *c, const char *key)
{
    static char text[64];
    size_t size;
    const void *value = cache_find(c, key, strlen(key), &size);
    if (!value)
        return NULL;
    snprintf(text, sizeof text, "%.*s", (int)size, (const char *)value);
    return text;
}

static void test_values_are_found_by_their_keys(void **unused)
{
    (void)unused;
    cache *c = cache_create(SMALL);
    size_t size = 1;
    assert_non_null(c);
    assert_null(cache_find(c, "a", 1, &size));
    assert_int_equal(size, 0);
    add(c, "a", "one");
    add(c, "ab", "two");
    add(c, "", "empty key");
    cache_add(c, "a\0b", 3, "\0", 1);
    assert_string_equal(find(c, "a"), "one");
    assert_string_equal(find(c, "ab"), "two");
    assert_string_equal(find(c, ""), "empty key");
    assert_null(find(c, "b"));
    assert_memory_equal(cache_find(c, "a\0b", 3, &size), "\0", 1);
    assert_int_equal(size, 1);
    assert_int_equal(cache_count(c), 4);
    add(c, "c", "");
    assert_non_null(cache_find(c, "c", 1, &size));
    assert_int_equal(size, 0);
    cache_free(c);
    cache_free(NULL);
}

static void test_a_new_value_replaces_the_old_one(void **unused)
{
    (void)unused;
    cache *c = cache_create(SMALL);
    add(c, "a", "one");
    const size_t bytes = cache_bytes(c);
    add(c, "a", "two");
    assert_string_equal(find(c, "a"), "two");
    assert_int_equal(cache_count(c), 1);
    assert_int_equal(cache_bytes(c), bytes);
    /* also with a part of the old one */
    size_t size;
    const char *old = cache_find(c, "a", 1, &size);
    cache_add(c, "a", 1, old + 1, size - 1);
    assert_string_equal(find(c, "a"), "wo");
    cache_free(c);
}

static void test_what_does_not_fit_drops_only_its_older_value(void **unused)
{
    (void)unused;
    static char large[SMALL];
    cache *c = cache_create(SMALL);
    add(c, "a", "one");
    add(c, "b", "two");
    cache_add(c, "a", 1, large, sizeof large);
    assert_null(find(c, "a"));
    assert_string_equal(find(c, "b"), "two");
    cache_add(c, large, sizeof large, "x", 1);
    assert_string_equal(find(c, "b"), "two");
    assert_int_equal(cache_count(c), 1);
    cache_free(c);
    c = cache_create(1); /* too small for anything */
    add(c, "a", "one");
    assert_int_equal(cache_count(c), 0);
    cache_free(c);
}

static void test_the_least_recently_used_is_dropped(void **unused)
{
    (void)unused;
    char key[16];
    cache *c = cache_create(SMALL);
    add(c, "used", "x");
    add(c, "unused", "x");
    for (int i = 0; i < SMALL / 32; i++) {
        snprintf(key, sizeof key, "more %d", i);
        add(c, key, "x");
        assert_string_equal(find(c, "used"), "x");
        assert_string_equal(find(c, key), "x");
    }
    assert_null(find(c, "unused"));
    assert_null(find(c, "more 0"));
    cache_free(c);
}

/* The newest values are there, all others are not. */
static void test_bytes_stay_below_the_limit(void **unused)
{
    (void)unused;
    static char value[4096];
    cache *c = cache_create(LARGE);
    const size_t empty = cache_bytes(c);
    size_t most = 0;
    for (unsigned i = 0; i < 40000; i++) {
        const unsigned key = i * 2654435761u;
        const size_t size = i % 97 == 0 ? sizeof value : i % 61;
        memset(value, (int)i, size);
        cache_add(c, &key, sizeof key, value, size);
        assert_true(cache_bytes(c) <= LARGE);
        assert_true(cache_bytes(c) >= empty + cache_count(c) * sizeof key);
        most = cache_count(c) > most ? cache_count(c) : most;
    }
    assert_true(most > 10000 && most < 40000);
    size_t found = 0, size;
    for (unsigned i = 0; i < 40000; i++) {
        const unsigned key = i * 2654435761u;
        const unsigned char *data = cache_find(c, &key, sizeof key, &size);
        found += data != NULL;
        assert_true(!data || size == (i % 97 == 0 ? sizeof value : i % 61));
        assert_true(!data || !size || data[size - 1] == (unsigned char)i);
        assert_int_equal(data != NULL, i >= 40000 - cache_count(c));
    }
    assert_int_equal(found, cache_count(c));
    cache_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_found_by_their_keys),
        cmocka_unit_test(test_a_new_value_replaces_the_old_one),
        cmocka_unit_test(test_what_does_not_fit_drops_only_its_older_value),
        cmocka_unit_test(test_the_least_recently_used_is_dropped),
        cmocka_unit_test(test_bytes_stay_below_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
