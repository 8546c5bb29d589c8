/* Folders, locks, files that arrive piece by piece, other programs. */
#define _GNU_SOURCE
#include "util/file.h"
#include "util/folder.h"
#include "util/part.h"
#include "util/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char base[] = "/tmp/translate-test-XXXXXX";

static const char *in_base(const char *name)
{
    static char paths[4][TR_PATH];
    static int next;
    char *path = paths[next++ % 4];
    assert_int_equal(tr_path_join(path, base, name, NULL), TR_OK);
    return path;
}

static void put(const char *path, const char *text)
{
    tr_part part;
    assert_int_equal(tr_part_open(&part, path, NULL), TR_OK);
    assert_int_equal(tr_part_append(&part, text, strlen(text), NULL), TR_OK);
    assert_int_equal(tr_part_finish(&part, NULL), TR_OK);
}

static void test_folders(void **state)
{
    (void)state;
    tr_folder_names names;
    tr_error error;
    uint64_t space;
    char longest[TR_PATH], joined[TR_PATH];
    assert_int_equal(tr_folder_make(in_base("a//b/c"), &error), TR_OK);
    assert_int_equal(tr_folder_make(in_base("a/b/c/"), &error), TR_OK);
    assert_int_equal(tr_folder_make_above(in_base("a/d/file"), &error), TR_OK);
    put(in_base("a/b/one"), "12345");
    put(in_base("a/b/c/two"), "123");
    assert_int_equal(tr_folder_make(in_base("a/b/one"), &error), TR_ERROR_IO);
    assert_int_equal(tr_folder_make(in_base("a/b/one/x"), &error), TR_ERROR_IO);
    assert_int_equal(tr_folder_list(in_base("a/b"), &names, &error), TR_OK);
    assert_int_equal(names.count, 2);
    assert_string_equal(names.names[0], "c");
    assert_string_equal(names.names[1], "one");
    tr_folder_names_free(&names);
    assert_int_equal(tr_folder_list(in_base("none"), &names, &error), TR_OK);
    assert_int_equal(names.count, 0);
    assert_int_equal(tr_folder_list(in_base("a/b/one"), &names, &error), TR_ERROR_IO);
    tr_folder_names_free(&names);
    assert_int_equal(tr_folder_bytes(in_base("a")), 8);
    assert_true(tr_folder_space(in_base("none/at/all"), &space) && space > 0);
    assert_true(tr_folder_space("none-relative", &space));
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    assert_int_equal(tr_path_join(joined, base, longest, &error), TR_ERROR_IO);
    assert_int_equal(tr_folder_make(longest, &error), TR_ERROR_IO);
}

/* What a link leads to stays. */
static void test_remove(void **state)
{
    (void)state;
    tr_error error;
    assert_int_equal(tr_folder_make(in_base("other"), &error), TR_OK);
    put(in_base("other/precious"), "x");
    assert_int_equal(tr_folder_make(in_base("r/s/t"), &error), TR_OK);
    put(in_base("r/s/file"), "x");
    assert_int_equal(symlink(in_base("other"), in_base("r/s/link")), 0);
    tr_folder_drop_empty(in_base("r"));
    assert_true(tr_is_directory(in_base("r")));
    assert_int_equal(tr_folder_remove(in_base("r"), &error), TR_OK);
    assert_false(tr_file_exists(in_base("r")));
    assert_true(tr_file_exists(in_base("other/precious")));
    assert_int_equal(tr_folder_remove(in_base("none"), &error), TR_OK);
    assert_int_equal(tr_folder_make(in_base("empty"), &error), TR_OK);
    tr_folder_drop_empty(in_base("empty"));
    assert_false(tr_file_exists(in_base("empty")));
}

static void test_part(void **state)
{
    (void)state;
    tr_part part;
    tr_error error;
    uint64_t size;
    char path[TR_PATH];
    snprintf(path, sizeof path, "%s", in_base("x.part"));
    put(path, "first,");
    assert_int_equal(tr_part_open(&part, path, &error), TR_OK);
    assert_int_equal(part.size, 6);
    assert_int_equal(tr_part_append(&part, "second", 6, &error), TR_OK);
    tr_part_close(&part);
    tr_part_close(&part);
    assert_true(tr_file_size(path, &size) && size == 12);
    assert_int_equal(tr_part_open(&part, path, &error), TR_OK);
    assert_int_equal(tr_part_clear(&part, &error), TR_OK);
    assert_int_equal(tr_part_append(&part, "new", 3, &error), TR_OK);
    assert_int_equal(tr_part_finish(&part, &error), TR_OK);
    assert_int_equal(tr_file_rename(path, in_base("x"), &error), TR_OK);
    assert_true(tr_file_size(in_base("x"), &size) && size == 3);
    assert_int_equal(tr_file_rename(path, in_base("x"), &error), TR_ERROR_IO);
    assert_int_equal(symlink(in_base("x"), path), 0); /* whose file would that be? */
    assert_int_equal(tr_part_open(&part, path, &error), TR_ERROR_IO);
    assert_int_equal(tr_part_open(&part, base, &error), TR_ERROR_IO);
    assert_false(tr_file_size(base, &size));
    assert_int_equal(tr_part_open(&part, "/dev/null", &error), TR_ERROR_IO);
}

static void test_lock(void **state)
{
    (void)state;
    tr_lock first, second;
    tr_error error;
    bool taken;
    char path[TR_PATH];
    snprintf(path, sizeof path, "%s", in_base("lock"));
    assert_int_equal(tr_lock_try(&first, path, &taken, &error), TR_OK);
    assert_true(taken);
    assert_int_equal(tr_lock_try(&second, path, &taken, &error), TR_OK);
    assert_false(taken);
    tr_lock_release(&first);
    assert_false(tr_file_exists(path));
    assert_int_equal(tr_lock_try(&second, path, &taken, &error), TR_OK);
    assert_true(taken);
    tr_lock_release(&second);
    tr_lock_release(&second);
    put(path, ""); /* left by a process that was killed */
    assert_int_equal(tr_lock_try(&first, path, &taken, &error), TR_OK);
    assert_true(taken);
    tr_lock_release(&first);
    assert_int_equal(tr_lock_try(&first, in_base("none/lock"), &taken, &error), TR_ERROR_IO);
}

static int run_shell(const char *script)
{
    char shell[] = "sh", option[] = "-c", text[256];
    char *arguments[] = {shell, option, text, NULL};
    int status = -1;
    tr_error error;
    snprintf(text, sizeof text, "%s", script);
    assert_int_equal(tr_process_run("/bin/sh", arguments, &status, &error), TR_OK);
    return status;
}

/* Returns the status of a process of its own that runs the script. */
static int run_apart(const char *script)
{
    int status;
    const pid_t child = fork();
    if (child == 0)
        _exit(run_shell(script));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_process(void **state)
{
    (void)state;
    char name[] = "none", *arguments[] = {name, NULL}, folder[TR_PATH];
    int status;
    tr_error error;
    assert_int_equal(run_shell("exit 0"), 0);
    assert_int_equal(run_shell("exit 7"), 7);
    assert_int_equal(run_shell("kill -9 $$"), 128 + 9);
    /* A signal to the waiting process alone is passed on, and it outlives it to tell the status. */
    assert_int_equal(run_apart("trap 'kill $!; exit 5' TERM; sleep 5 & kill -TERM $PPID; wait"), 5);
    assert_int_equal(run_apart("trap 'kill $!; exit 6' INT; sleep 5 & kill -INT $PPID; wait"), 6);
    assert_int_equal(tr_process_run(in_base("none"), arguments, &status, &error), TR_ERROR_IO);
    assert_true(tr_file_runs("/bin/sh"));
    assert_false(tr_file_runs(in_base("none")));
    assert_true(tr_program_folder(folder, sizeof folder) && tr_is_directory(folder));
    assert_false(tr_program_folder(folder, 2));
}

static int make_base(void **state)
{
    (void)state;
    return mkdtemp(base) ? 0 : -1;
}

static int remove_base(void **state)
{
    (void)state;
    return tr_folder_remove(base, NULL) == TR_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folders), cmocka_unit_test(test_remove),  cmocka_unit_test(test_part),
        cmocka_unit_test(test_lock),    cmocka_unit_test(test_process),
    };
    return cmocka_run_group_tests(tests, make_base, remove_base);
}
