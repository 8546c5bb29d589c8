/* When a translation loops: the same one to twenty tokens at least three times, and at least twelve tokens; or at most eight
 * different ones in thirty-two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "decoding/stopping.h"

enum { LONGEST = 256 };

/* Each letter stands for a token. */
static int tokens_of(const char *letters, int32_t *tokens)
{
    const int count = (int)strlen(letters);
    for (int i = 0; i < count; i++)
        tokens[i] = letters[i];
    return count;
}

static bool is_looping(const char *letters)
{
    int32_t tokens[LONGEST];
    return tr_is_looping(tokens, tokens_of(letters, tokens));
}

static int first_loop_end(const char *letters)
{
    int32_t tokens[LONGEST];
    return tr_first_loop_end(tokens, tokens_of(letters, tokens));
}

static void test_loops(void **unused)
{
    (void)unused;
    static const char *const loops[] = {
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
        "xyzabacbdaecfbdgehafcbadgehbcafdabc", /* eight different ones in thirty-two, without the first three */
    };
    static const char *const no_loops[] = {
        "",
        "a",
        "aaaaaaaaaaa",   /* eleven */
        "aaaaaaaaaaaab", /* it went on after the loop */
        "baaaaaaaaaaa",
        "ababababab",
        "abcdabcdabc",
        "abcdeabcdeabcd",
        "abcdefghabcdefghabcdefg",
        "abcdefghijklmnopqrstuabcdefghijklmnopqrstuabcdefghijklmnopqrstu", /* twenty-one */
        "abacbdaecfbdgehafcbadgehbcafdab",                                 /* thirty-one */
        "abacbdaecfbdgehafcbadgehbcafdabi",                                /* nine different */
        "thequickbrownfoxjumpsoverthelazydog",
        "abcabdabcabdabcab", /* six, not yet three times */
    };
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        if (!is_looping(loops[i]))
            fail_msg("%s is a loop", loops[i]);
    for (size_t i = 0; i < sizeof no_loops / sizeof *no_loops; i++)
        if (is_looping(no_loops[i]))
            fail_msg("%s is not a loop", no_loops[i]);
    assert_true(is_looping("abcabdabcabdabcabd"));
}

static void expect_left(const char *letters, int left)
{
    int32_t tokens[LONGEST];
    const int found = tr_length_before_loop(tokens, tokens_of(letters, tokens));
    if (found != left)
        fail_msg("%s: %d tokens are left, not %d", letters, found, left);
}

/* What remains without the loop: its first occurrence stays. */
static void test_length_before_loop(void **unused)
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

static void test_first_loop_end(void **unused)
{
    (void)unused;
    assert_int_equal(first_loop_end(""), 0);
    assert_int_equal(first_loop_end("thequickbrownfoxjumpsoverthelazydog"), 0);
    assert_int_equal(first_loop_end("thequickbrownaaaaaaaaaaaafox"), 25);
    assert_int_equal(first_loop_end("abababababababab"), 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loops), cmocka_unit_test(test_length_before_loop),
                                       cmocka_unit_test(test_first_loop_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
