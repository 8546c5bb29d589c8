/* When a translation runs in a circle: the same one to eight tokens at least three times, and at least twelve tokens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "decoding/decoding.h"

/* A letter is a token. */
static bool runs(const char *letters)
{
    int32_t tokens[256];
    const int count = (int)strlen(letters);
    for (int i = 0; i < count; i++)
        tokens[i] = letters[i];
    return tr_runs_in_circle(tokens, count);
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
        "abcdefghiabcdefghiabcdefghi", /* nine */
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_circles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
