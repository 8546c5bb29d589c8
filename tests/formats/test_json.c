/* JSON that is built is complete or NULL; errors of reading are reported; and tr_path_look has three results. */
#define _GNU_SOURCE
#include "fixture.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/directory.h"
#include "import/yaml.h"

/* ------------------------------------------------------------------------------------------------------------ building */

static void expect_text(json_t *value, const char *wanted)
{
    tr_buffer text = {0};
    assert_true(tr_json_print(value, JSON_COMPACT, &text));
    assert_string_equal(text.data, wanted);
    tr_buffer_free(&text);
}

static void test_whole(void **state)
{
    (void)state;
    json_t *list = tr_json_append(tr_json_append(json_array(), json_integer(1)), json_true());
    expect_text(tr_json_set(tr_json_set(json_object(), "list", list), "text", json_string("a\"b")),
                "{\"list\":[1,true],\"text\":\"a\\\"b\"}");
}

/* If a value cannot be made, its container is freed, up to the outermost: as after a failed allocation. */
static void test_parts(void **state)
{
    (void)state;
    json_t *kept = json_array();
    assert_null(tr_json_append(json_array(), NULL));
    assert_null(tr_json_append(NULL, json_string("freed")));
    assert_null(tr_json_set(json_object(), "key", NULL));
    assert_null(tr_json_set(NULL, "key", json_string("freed")));
    assert_null(tr_json_set(json_object(), "\xff", json_string("freed"))); /* no UTF-8 */
    assert_null(tr_json_append(json_integer(1), json_string("freed")));    /* no list */
    assert_null(tr_json_set(json_object(), "deep", tr_json_append(json_array(), tr_json_append(json_array(), NULL))));
    assert_null(tr_json_append(json_incref(kept), tr_json_set(json_object(), "key", NULL)));
    assert_int_equal(kept->refcount, 1);
    assert_int_equal(json_array_size(kept), 0);
    json_decref(kept);
}

static void test_print(void **state)
{
    (void)state;
    tr_buffer text = {0};
    assert_false(tr_json_print(NULL, 0, &text));
    assert_true(tr_buffer_string(&text, "before "));
    assert_false(tr_json_print(NULL, 0, &text));
    json_t *inner = json_array(), *circle = tr_json_append(json_array(), json_incref(inner));
    inner = tr_json_append(inner, json_incref(circle)); /* jansson finds that once it has begun to print */
    assert_false(tr_json_print(json_incref(circle), 0, &text));
    assert_string_equal(text.data, "before ");
    assert_int_equal(text.size, 7);
    json_array_clear(inner);
    json_decref(inner);
    assert_true(tr_json_print(circle, 0, &text));
    assert_string_equal(text.data, "before [[]]");
    tr_buffer_free(&text);
}

/* ------------------------------------------------------------------------------------------------------------- reading */

/* Like tr_file_open() of an empty file. */
static void test_empty(void **state)
{
    (void)state;
    json_t *root;
    tr_error error;
    assert_int_equal(tr_yaml_parse(NULL, 0, "vocab.yml", &root, &error), TR_ERROR_FORMAT);
    assert_string_equal(error.message, "vocab.yml: is empty");
    assert_null(root);
    assert_int_equal(tr_yaml_parse("# nothing\n", 10, "vocab.yml", &root, &error), TR_ERROR_FORMAT);
    assert_string_equal(error.message, "vocab.yml: is not a YAML mapping");
    assert_int_equal(tr_json_parse(NULL, 0, "config.json", &root, &error), TR_ERROR_FORMAT);
    assert_string_equal(error.message, "config.json: is empty");
    assert_null(root);
}

/* ------------------------------------------------------------------------------------------------------------- looking */

static void expect_place(const char *path, tr_path_kind wanted)
{
    tr_path_kind place;
    tr_error error = {0};
    if (tr_path_look(path, &place, &error) != TR_OK)
        fail_msg("%s", error.message);
    assert_int_equal(place, wanted);
}

static void test_places(void **state)
{
    (void)state;
    char folder[] = "/tmp/translate-test-XXXXXX", name[NAME_MAX + 2];
    tr_path_kind place;
    tr_error error;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = 0;
    FILE *file_there = fopen("file", "w");
    assert_non_null(file_there);
    fclose(file_there);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(symlink("circle", "circle"), 0);
    assert_int_equal(symlink("nothing", "dangling"), 0);
    assert_int_equal(symlink("pipe", "link"), 0);
    expect_place(folder, TR_PATH_DIRECTORY);
    expect_place("file", TR_PATH_FILE);
    expect_place("file/inside", TR_PATH_NOTHING);
    expect_place("link", TR_PATH_OTHER);
    expect_place("nothing", TR_PATH_NOTHING);
    expect_place("dangling", TR_PATH_NOTHING);
    expect_place(name, TR_PATH_NOTHING);
    assert_int_equal(tr_path_look("circle", &place, &error), TR_ERROR_IO);
    assert_string_equal(error.message, "circle: Too many levels of symbolic links");

    /* tr_directory_find returns the first path that exists; an error before it is a failure, later paths are ignored. */
    static const char *const names[] = {"nothing", "pipe", "circle"}, *const circle[] = {"nothing", "circle", "pipe"};
    tr_package package = {0};
    const tr_directory d = {folder, TR_LOAD_MAP, &package, &error};
    const char *found;
    tr_file file;
    assert_int_equal(tr_directory_find(&d, names, 3, &found), TR_OK);
    assert_ptr_equal(found, names[1]);
    assert_int_equal(tr_directory_find(&d, names, 1, &found), TR_OK);
    assert_null(found);
    assert_int_equal(tr_directory_find(&d, circle, 3, &found), TR_ERROR_IO);
    assert_null(found);
    assert_int_equal(tr_directory_open(&d, "pipe", &file), TR_OK); /* returns at once */
    assert_null(file.data);
    assert_int_equal(tr_directory_open(&d, "circle", &file), TR_ERROR_IO);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(names[i]);
    unlink("file");
    unlink("dangling");
    unlink("link");
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    if (geteuid() == 0 && (setgid(65534) || setuid(65534))) /* it makes links and removes them */
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole), cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_print), cmocka_unit_test(test_empty),
                                       cmocka_unit_test(test_places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
