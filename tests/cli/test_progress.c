/* When the progress bar tells the time left, and which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/progress.h"

static double left_of(uint64_t first, uint64_t done, double elapsed)
{
    const cli_progress from = {.done = first, .total = 1000}, now = {.done = done, .total = 1000};
    double left;
    return cli_progress_left(&from, &now, elapsed, &left) ? left : -1;
}

static void too_early_is_not_told(void **state)
{
    (void)state;
    assert_true(left_of(0, 0, 100) == -1);   /* nothing is done */
    assert_true(left_of(0, 1, 0.1) == -1);   /* would claim 1:39 */
    assert_true(left_of(0, 500, 0.9) == -1); /* less than a second */
    assert_true(left_of(0, 19, 9.9) == -1);  /* less than 2 % */
    assert_true(left_of(900, 901, 5) == -1); /* of what was left when the run began */
    assert_true(left_of(500, 400, 20) == -1);
    assert_true(left_of(0, 1001, 20) == -1);
}

static void rest_at_the_speed_so_far(void **state)
{
    (void)state;
    assert_true(left_of(0, 20, 1) == 49);
    assert_true(left_of(0, 500, 1) == 1);
    assert_true(left_of(0, 1, 10) == 9990); /* a long job: not only after 2 % */
    assert_true(left_of(900, 950, 3) == 3); /* 900 were done before this run */
    assert_true(left_of(0, 1000, 7) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(too_early_is_not_told), cmocka_unit_test(rest_at_the_speed_so_far)};
    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
