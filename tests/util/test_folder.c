/* Folders, locks, files that are written in parts, other programs. */
#define _GNU_SOURCE
#include "util/file.h"
#include "util/folder.h"
#include "util/partial_file.h"
#include "util/process.h"

#include "../scratch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* -1: it is no file. */
static int64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
}

static tr_path_kind place_of(const char *path)
{
    tr_path_kind place;
    assert_int_equal(tr_path_look(path, &place, NULL), TR_OK);
    return place;
}

static void put(const char *path, const char *text)
{
    tr_partial_file part;
    assert_int_equal(tr_partial_file_open(&part, path, NULL), TR_OK);
    assert_int_equal(tr_partial_file_append(&part, text, strlen(text), NULL), TR_OK);
    assert_int_equal(tr_partial_file_finish(&part, NULL), TR_OK);
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
    tr_folder folder;
    assert_int_equal(tr_folder_open(&folder, in_base("a"), &error), TR_OK);
    assert_int_equal(tr_folder_make(in_base("a/empty"), &error), TR_OK);
    tr_folder_sum sum;
    assert_int_equal(tr_folder_measure(&folder, &sum, &error), TR_OK);
    assert_int_equal(sum.bytes, 8);
    assert_int_equal(sum.count, 3);
    tr_folder_close(&folder);
    assert_true(tr_folder_space(in_base("none/at/all"), &space) && space > 0);
    assert_true(tr_folder_space("none-relative", &space));
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    assert_int_equal(tr_path_join(joined, base, longest, &error), TR_ERROR_IO);
    assert_int_equal(tr_folder_make(longest, &error), TR_ERROR_IO);
}

static tr_folder open_base(void)
{
    tr_folder folder;
    assert_int_equal(tr_folder_open(&folder, base, NULL), TR_OK);
    assert_true(folder.descriptor >= 0);
    return folder;
}

/* Folders are opened component by component, and no link is followed. */
static void test_enter(void **state)
{
    (void)state;
    tr_error error;
    tr_folder top = open_base(), inner;
    char longest[300];
    assert_int_equal(tr_folder_enter(&inner, &top, "e/f/g", false, &error), TR_OK);
    assert_int_equal(inner.descriptor, -1);
    assert_int_equal(tr_folder_enter(&inner, &top, "e/f/g", true, &error), TR_OK);
    assert_true(inner.descriptor >= 0);
    assert_string_equal(inner.path, in_base("e/f/g"));
    tr_folder_close(&inner);
    tr_folder_close(&inner);
    put(in_base("e/file"), "x");
    assert_int_equal(tr_folder_enter(&inner, &top, "e/file", false, &error), TR_OK);
    assert_int_equal(inner.descriptor, -1);
    assert_int_equal(tr_folder_enter(&inner, &top, "e/file", true, &error), TR_ERROR_IO);
    assert_int_equal(symlink("f", in_base("e/link")), 0);
    assert_int_equal(symlink("nowhere", in_base("e/dangling")), 0);
    for (int make = 0; make < 2; make++) {
        assert_int_equal(tr_folder_enter(&inner, &top, "e/link", make, &error), TR_ERROR_UNSUPPORTED);
        assert_non_null(strstr(error.message, "e/link: is a symbolic link"));
        assert_int_equal(tr_folder_enter(&inner, &top, "e/link/g", make, &error), TR_ERROR_UNSUPPORTED);
        assert_int_equal(tr_folder_enter(&inner, &top, "e/dangling", make, &error), TR_ERROR_UNSUPPORTED);
        assert_int_equal(inner.descriptor, -1);
    }
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    assert_int_equal(tr_folder_enter(&inner, &top, longest, false, &error), TR_ERROR_IO);
    assert_int_equal(tr_folder_open(&inner, in_base("none"), &error), TR_OK);
    assert_int_equal(inner.descriptor, -1);
    assert_int_equal(tr_folder_open(&inner, in_base("e/link"), &error), TR_OK); /* the top may be a link */
    tr_folder_close(&inner);
    tr_folder_close(&top);
}

/* The target of a link stays. */
static void test_unlink(void **state)
{
    (void)state;
    tr_error error;
    tr_folder top = open_base();
    tr_folder_sum removed = {0};
    assert_int_equal(tr_folder_make(in_base("other"), &error), TR_OK);
    put(in_base("other/precious"), "x");
    assert_int_equal(tr_folder_make(in_base("r/s/t"), &error), TR_OK);
    put(in_base("r/s/file"), "12345");
    assert_int_equal(symlink(in_base("other"), in_base("r/s/link")), 0);
    assert_int_equal(symlink(in_base("other/precious"), in_base("r/s/second")), 0);
    tr_folder_drop_empty(in_base("r"));
    assert_int_equal(place_of(in_base("r")), TR_PATH_DIRECTORY);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(tr_folder_unlink(&top, "r/s/link/precious", &removed, &error), TR_OK);
        assert_int_equal(tr_folder_unlink(&top, "r/s/t", &removed, &error), TR_OK); /* a folder */
        assert_int_equal(tr_folder_unlink(&top, "r/none/file", &removed, &error), TR_OK);
        assert_int_equal(tr_folder_unlink(&top, "r/s/file", &removed, &error), TR_OK);
        assert_int_equal(tr_folder_unlink(&top, "r/s/second", &removed, &error), TR_OK);
        assert_int_equal(removed.count, 2);
        assert_int_equal(removed.bytes, 5);
    }
    assert_int_not_equal(place_of(in_base("other/precious")), TR_PATH_NOTHING);
    assert_int_equal(place_of(in_base("r/s/t")), TR_PATH_DIRECTORY);
    tr_folder_prune(&top, "r/s/t");
    assert_int_equal(place_of(in_base("r/s/t")), TR_PATH_NOTHING);
    assert_int_not_equal(place_of(in_base("r/s/link")), TR_PATH_NOTHING);
    assert_int_equal(tr_folder_unlink(&top, "r/s/link", &removed, &error), TR_OK);
    tr_folder_prune(&top, "r/s");
    assert_int_equal(place_of(in_base("r")), TR_PATH_NOTHING);
    assert_int_not_equal(place_of(in_base("other/precious")), TR_PATH_NOTHING);
    tr_folder_prune(&top, "");
    tr_folder_close(&top);
    assert_int_equal(place_of(base), TR_PATH_DIRECTORY);
    assert_int_equal(tr_folder_make(in_base("empty"), &error), TR_OK);
    tr_folder_drop_empty(in_base("empty"));
    assert_int_equal(place_of(in_base("empty")), TR_PATH_NOTHING);
}

/* Links are no files of the folder, and an error is not taken for a missing file. */
static void test_files_inside(void **state)
{
    (void)state;
    static const char *const none[] = {"i/none", "none/f", "i/f/x", "i/link", "i/out/precious", "i/fifo", "i/s", "i"};
    char longest[300];
    tr_error error;
    tr_buffer content;
    uint64_t size;
    bool found;
    tr_folder top = open_base();
    assert_int_equal(tr_folder_make(in_base("i/s"), &error), TR_OK);
    assert_int_equal(tr_folder_make(in_base("outside"), &error), TR_OK);
    put(in_base("outside/precious"), "x");
    put(in_base("i/f"), "12345");
    put(in_base("i/s/f"), "");
    assert_int_equal(mkfifo(in_base("i/fifo"), 0600), 0);
    assert_int_equal(symlink("f", in_base("i/link")), 0);
    assert_int_equal(symlink("../outside", in_base("i/out")), 0);
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    for (size_t i = 0; i <= sizeof none / sizeof *none; i++) {
        const char *name = i < sizeof none / sizeof *none ? none[i] : longest;
        found = true;
        assert_int_equal(tr_folder_size(&top, name, &size, &found, &error), TR_OK);
        assert_false(found || size);
        found = true;
        assert_int_equal(tr_folder_read(&top, name, &content, &found, &error), TR_OK);
        assert_false(found || content.data);
    }
    assert_int_equal(tr_folder_size(&top, "i/f", &size, &found, &error), TR_OK);
    assert_true(found && size == 5);
    assert_int_equal(tr_folder_read(&top, "i/f", &content, &found, &error), TR_OK);
    assert_true(found && content.size == 5);
    assert_string_equal(content.data, "12345");
    tr_buffer_free(&content);
    assert_int_equal(tr_folder_read(&top, "i/s/f", &content, &found, &error), TR_OK);
    assert_true(found && content.size == 0);
    tr_buffer_free(&content);

    assert_int_equal(tr_folder_rename(&top, "i/f", "i/link", &error), TR_OK); /* the link is removed */
    assert_int_equal(size_of(in_base("i/link")), 5);
    assert_int_equal(tr_folder_rename(&top, "i/f", "i/link", &error), TR_ERROR_IO);
    assert_non_null(strstr(error.message, "/i/link: cannot write: No such file"));
    assert_int_equal(tr_folder_rename(&top, "none/f", "none/g", &error), TR_ERROR_IO);
    assert_int_equal(tr_folder_rename(&top, "i/out/precious", "i/out/y", &error), TR_ERROR_UNSUPPORTED);
    assert_int_equal(size_of(in_base("outside/precious")), 1);

    assert_int_equal(chmod(in_base("i/link"), 0), 0);
    assert_int_equal(tr_folder_read(&top, "i/link", &content, &found, &error), TR_ERROR_IO);
    tr_buffer_free(&content);
    assert_int_equal(chmod(in_base("i/s"), 0400), 0);
    assert_int_equal(tr_folder_size(&top, "i/s/f", &size, &found, &error), TR_ERROR_IO);
    assert_non_null(strstr(error.message, "/i/s/f: cannot be looked at: Permission denied"));
    assert_int_equal(tr_folder_read(&top, "i/s/f", &content, &found, &error), TR_ERROR_IO);
    assert_int_equal(chmod(in_base("i/s"), 0700), 0);
    tr_folder_close(&top);
}

/* Only regular files are opened, and opening does not block. */
static void test_regular(void **state)
{
    (void)state;
    int descriptor;
    tr_file file;
    tr_error error;
    bool found = true;
    put(in_base("f"), "abc");
    assert_int_equal(mkfifo(in_base("fifo"), 0600), 0);
    assert_int_equal(symlink("f", in_base("f.link")), 0);
    for (int load = TR_LOAD_MAP; load <= TR_LOAD_COPY; load++) {
        assert_int_equal(tr_file_open(in_base("fifo"), (tr_load)load, &file, &error), TR_ERROR_IO);
        assert_non_null(strstr(error.message, "fifo: is not a regular file"));
        assert_int_equal(tr_file_open("/dev/null", (tr_load)load, &file, &error), TR_ERROR_IO);
        assert_int_equal(tr_file_open(base, (tr_load)load, &file, &error), TR_ERROR_IO);
        assert_non_null(strstr(error.message, ": is a directory"));
        assert_int_equal(tr_file_open(in_base("f.link"), (tr_load)load, &file, &error), TR_OK);
        tr_file_close(&file);
    }
    assert_int_equal(tr_file_find(in_base("none"), TR_LOAD_COPY, &file, &found, &error), TR_OK);
    assert_false(found);
    assert_int_equal(tr_file_find(in_base("f/none"), TR_LOAD_COPY, &file, &found, &error), TR_OK);
    assert_false(found);
    assert_int_equal(tr_file_find(in_base("fifo"), TR_LOAD_COPY, &file, &found, &error), TR_ERROR_IO);
    assert_int_equal(tr_open_regular(&descriptor, AT_FDCWD, in_base("f.link"), O_RDONLY | O_NOFOLLOW, 0, &error),
                     TR_ERROR_IO);
    assert_non_null(strstr(error.message, "is a symbolic link"));
    assert_int_equal(tr_open_regular(&descriptor, AT_FDCWD, in_base("fifo"), O_WRONLY, 0, &error), TR_ERROR_IO);
    assert_int_equal(tr_open_regular(&descriptor, AT_FDCWD, in_base("fifo"), O_RDWR, 0, &error), TR_ERROR_IO);
    assert_int_equal(link(in_base("f"), in_base("f.hard")), 0);
    assert_int_equal(tr_open_regular(&descriptor, AT_FDCWD, in_base("f.hard"), O_WRONLY, 0, &error), TR_ERROR_IO);
    assert_non_null(strstr(error.message, "hard link"));
    assert_int_equal(tr_open_regular(&descriptor, AT_FDCWD, in_base("f.hard"), O_RDONLY, 0, &error), TR_OK);
    close(descriptor);
    assert_int_equal(size_of(in_base("f")), 3);
}

static void write_output(const char *path, const char *text)
{
    tr_output output;
    tr_error error;
    if (tr_output_open(&output, path, &error) || tr_output_write(&output, text, strlen(text), &error) ||
        tr_output_commit(&output, &error))
        fail_msg("%s", error.message);
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return (unsigned)st.st_mode;
}

/* A file keeps its permissions, and others cannot read it before it has them; links stay, and their target is written. */
static void test_output(void **state)
{
    (void)state;
    static const unsigned modes[] = {0600, 0640, 0400, 0604, 0755, 04711};
    tr_output output;
    tr_error error;
    char path[TR_PATH];
    const mode_t before = umask(027);
    snprintf(path, sizeof path, "%s", in_base("o"));
    write_output(path, "new");
    assert_int_equal(mode_of(path) & 07777, 0640);
    umask(0);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(path, (mode_t)modes[i]), 0);
        assert_int_equal(tr_output_open(&output, path, &error), TR_OK);
        assert_int_equal(mode_of(output.temporary) & 07777, 0600);
        assert_int_equal(tr_output_commit(&output, &error), TR_OK);
        assert_int_equal(mode_of(path) & 07777, modes[i] & 0777); /* the set-user-ID bit is not kept */
    }
    umask(before);
    assert_int_equal(mkdir(in_base("l"), 0700), 0);
    assert_int_equal(symlink("l/second", in_base("first")), 0);
    assert_int_equal(symlink("../third", in_base("l/second")), 0);
    for (int there = 0; there < 2; there++) { /* dangling, then not */
        write_output(in_base("first"), there ? "longer" : "text");
        assert_true(S_ISLNK(mode_of(in_base("first"))) && S_ISLNK(mode_of(in_base("l/second"))));
        assert_int_equal(size_of(in_base("third")), (there ? 6 : 4));
    }
    assert_int_equal(symlink("circle", in_base("circle")), 0);
    assert_int_equal(symlink("l", in_base("folder")), 0);
    assert_int_equal(tr_output_open(&output, in_base("circle"), &error), TR_ERROR_IO);
    assert_int_equal(tr_output_open(&output, in_base("folder"), &error), TR_ERROR_IO);
    assert_int_equal(tr_output_open(&output, "/dev/null", &error), TR_ERROR_IO);
    assert_int_equal(tr_output_open(&output, in_base("none/o"), &error), TR_ERROR_IO);
    assert_int_equal(tr_output_open_own(&output, in_base("first"), 0640, &error), TR_OK);
    assert_int_equal(tr_output_commit(&output, &error), TR_OK);
    assert_true(S_ISREG(mode_of(in_base("first"))));
    assert_int_equal(size_of(in_base("third")), 6);
    /* If another file is in place of the temporary one, it is not renamed. */
    assert_int_equal(tr_output_open(&output, path, &error), TR_OK);
    assert_int_equal(unlink(output.temporary), 0);
    put(output.temporary, "other");
    assert_int_equal(tr_output_commit(&output, &error), TR_ERROR_IO);
    assert_int_equal(size_of(path), 0);
}

static void test_part(void **state)
{
    (void)state;
    tr_partial_file part;
    tr_error error;
    char path[TR_PATH];
    snprintf(path, sizeof path, "%s", in_base("x.part"));
    put(path, "first,");
    assert_int_equal(tr_partial_file_open(&part, path, &error), TR_OK);
    assert_int_equal(part.size, 6);
    assert_int_equal(tr_partial_file_append(&part, "second", 6, &error), TR_OK);
    tr_partial_file_close(&part);
    tr_partial_file_close(&part);
    assert_int_equal(size_of(path), 12);
    assert_int_equal(tr_partial_file_open(&part, path, &error), TR_OK);
    assert_int_equal(tr_partial_file_clear(&part, &error), TR_OK);
    assert_int_equal(tr_partial_file_append(&part, "new", 3, &error), TR_OK);
    assert_int_equal(tr_partial_file_finish(&part, &error), TR_OK);
    assert_int_equal(rename(path, in_base("x")), 0);
    assert_int_equal(symlink(in_base("x"), path), 0); /* a link is refused */
    assert_int_equal(tr_partial_file_open(&part, path, &error), TR_ERROR_IO);
    assert_int_equal(tr_partial_file_open(&part, base, &error), TR_ERROR_IO);
    assert_int_equal(size_of(base), -1);
    assert_int_equal(size_of(in_base("none")), -1);
    assert_int_equal(tr_partial_file_open(&part, "/dev/null", &error), TR_ERROR_IO);
    assert_int_equal(mkfifo(in_base("p.part"), 0600), 0);
    assert_int_equal(tr_partial_file_open(&part, in_base("p.part"), &error), TR_ERROR_IO);
    put(in_base("precious"), "x");
    assert_int_equal(link(in_base("precious"), in_base("h.part")), 0);
    assert_int_equal(tr_partial_file_open(&part, in_base("h.part"), &error), TR_ERROR_IO);
}

static void test_lock(void **state)
{
    (void)state;
    tr_lock first, second;
    tr_error error;
    bool taken;
    tr_folder top = open_base();
    assert_int_equal(tr_lock_try(&first, &top, "lock", &taken, &error), TR_OK);
    assert_true(taken);
    assert_int_equal(tr_lock_try(&second, &top, "lock", &taken, &error), TR_OK);
    assert_false(taken);
    tr_lock_release(&first);
    assert_int_equal(place_of(in_base("lock")), TR_PATH_NOTHING);
    assert_int_equal(tr_lock_try(&second, &top, "lock", &taken, &error), TR_OK);
    assert_true(taken);
    tr_lock_release(&second);
    tr_lock_release(&second);
    put(in_base("lock"), ""); /* left by a process that was killed */
    assert_int_equal(tr_lock_try(&first, &top, "lock", &taken, &error), TR_OK);
    assert_true(taken);
    tr_lock_release(&first);
    assert_int_equal(tr_lock_try(&first, &top, "none/lock", &taken, &error), TR_ERROR_IO);
    assert_int_equal(symlink("elsewhere", in_base("lock")), 0);
    assert_int_equal(tr_lock_try(&first, &top, "lock", &taken, &error), TR_ERROR_IO);
    assert_int_equal(place_of(in_base("elsewhere")), TR_PATH_NOTHING);
    assert_int_equal(mkfifo(in_base("lock2"), 0600), 0);
    assert_int_equal(tr_lock_try(&first, &top, "lock2", &taken, &error), TR_ERROR_IO);
    tr_folder_close(&top);
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

/* Returns the exit status of a child process that runs the script. */
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
    /* A signal to the waiting process is passed on; it keeps running to return the status. */
    assert_int_equal(run_apart("trap 'kill $!; exit 5' TERM; sleep 5 & kill -TERM $PPID; wait"), 5);
    assert_int_equal(run_apart("trap 'kill $!; exit 6' INT; sleep 5 & kill -INT $PPID; wait"), 6);
    assert_int_equal(tr_process_run(in_base("none"), arguments, &status, &error), TR_ERROR_IO);
    assert_true(tr_file_runs("/bin/sh"));
    assert_false(tr_file_runs(in_base("none")));
    assert_true(tr_program_folder(folder, sizeof folder));
    assert_int_equal(place_of(folder), TR_PATH_DIRECTORY);
    assert_false(tr_program_folder(folder, 2));
}

/* The tests remove and link files without root's rights, which they do not need. */
static int drop_rights(void **state)
{
    (void)state;
    return geteuid() == 0 ? setegid(65534) || seteuid(65534) : 0;
}

static int regain_rights(void **state)
{
    (void)state;
    return getuid() == 0 ? seteuid(0) || setegid(0) : 0;
}

static int make_base(void **state)
{
    return drop_rights(state) || !mkdtemp(base) || regain_rights(state) ? -1 : 0;
}

static int remove_base(void **state)
{
    return drop_rights(state) || remove_tree(base) || regain_rights(state) ? -1 : 0;
}

#define UNPRIVILEGED(test) cmocka_unit_test_setup_teardown(test, drop_rights, regain_rights)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNPRIVILEGED(test_folders), UNPRIVILEGED(test_enter),        UNPRIVILEGED(test_unlink),
        UNPRIVILEGED(test_regular), UNPRIVILEGED(test_output),       UNPRIVILEGED(test_part),
        UNPRIVILEGED(test_lock),    UNPRIVILEGED(test_files_inside), cmocka_unit_test(test_process),
    };
    return cmocka_run_group_tests(tests, make_base, remove_base);
}
