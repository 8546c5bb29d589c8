/* When a translation runs in a circle: the same one to twenty tokens at least three times, and at least twelve tokens; or
 * eight different ones in thirty-two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "decoding/loops.h"

enum { LONGEST = 256 };

/* A letter is a token. */
static int tokens_of(const char *letters, int32_t *tokens)
{
    const int count = (int)strlen(letters);
    for (int i = 0; i < count; i++)
        tokens[i] = letters[i];
    return count;
}

static bool runs(const char *letters)
{
    int32_t tokens[LONGEST];
    return tr_is_looping(tokens, tokens_of(letters, tokens));
}

static int first(const char *letters)
{
    int32_t tokens[LONGEST];
    return tr_first_loop_end(tokens, tokens_of(letters, tokens));
}

static void test_circles(void **unused)
{
    (void)unused;
    static const char *const circles[] = {
        "aaaaaaaaaaaa",
        "xyzaaaaaaaaaaaa",
        "abababababab",
        "xbabababababa",
        "abcabcabcabc",
        "abcdabcdabcd",
        "qabcdabcdabcd",
        "abcdeabcdeabcde",
        "zeabcdeabcdeabcd",
        "abcdefgabcdefgabcdefg",
        "abcdefghabcdefghabcdefgh",
        "xyzabcdefghijkabcdefghijkabcdefghijk",
        "abcdefghijklmnopqrstabcdefghijklmnopqrstabcdefghijklmnopqrst", /* twenty */
        "xyzabacbdaecfbdgehafcbadgehbcafdabc",                          /* eight of thirty-two, but for the first three */
    };
    static const char *const others[] = {
        "",
        "a",
        "aaaaaaaaaaa",   /* eleven */
        "aaaaaaaaaaaab", /* it went on */
        "baaaaaaaaaaa",
        "ababababab",
        "abcdabcdabc",
        "abcdeabcdeabcd",
        "abcdefghabcdefghabcdefg",
        "abcdefghijklmnopqrstuabcdefghijklmnopqrstuabcdefghijklmnopqrstu", /* twenty-one */
        "abacbdaecfbdgehafcbadgehbcafdab",                                 /* thirty-one */
        "abacbdaecfbdgehafcbadgehbcafdabi",                                /* nine kinds */
        "thequickbrownfoxjumpsoverthelazydog",
        "abcabdabcabdabcab", /* six, not yet three times */
    };
    for (size_t i = 0; i < sizeof circles / sizeof *circles; i++)
        if (!runs(circles[i]))
            fail_msg("%s is a circle", circles[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (runs(others[i]))
            fail_msg("%s is none", others[i]);
    assert_true(runs("abcabdabcabdabcabd"));
}

static void expect_left(const char *letters, int left)
{
    int32_t tokens[LONGEST];
    const int found = tr_length_before_loop(tokens, tokens_of(letters, tokens));
    if (found != left)
        fail_msg("%s: %d tokens are left, not %d", letters, found, left);
}

/* What is left when a circle is cut off: what is repeated stays once. */
static void test_what_is_left(void **unused)
{
    (void)unused;
    expect_left("", 0);
    expect_left("abc", 3);
    expect_left("aaaaaaaaaaaa", 1);
    expect_left("xyaaaaaaaaaaaaaaa", 3);
    expect_left("xyabcabcabcabcab", 5);                    /* it began with abc */
    expect_left("xbcabcabcabcabcab", 4);                   /* and here with bca */
    expect_left("xyzabacbdaecfbdgehafcbadgehbcafdabc", 5); /* xyzab, then a again */
}

static void test_anywhere(void **unused)
{
    (void)unused;
    assert_int_equal(first(""), 0);
    assert_int_equal(first("thequickbrownfoxjumpsoverthelazydog"), 0);
    assert_int_equal(first("thequickbrownaaaaaaaaaaaafox"), 25);
    assert_int_equal(first("abababababababab"), 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_circles), cmocka_unit_test(test_what_is_left),
                                       cmocka_unit_test(test_anywhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
