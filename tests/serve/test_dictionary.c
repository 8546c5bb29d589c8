/* Dictionaries of glossaries: what entries mean, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "serve/dictionary.h"

static dictionary *read_over(const dictionary *before, entries_format format, const char *entries)
{
    dictionary *made;
    tr_error error;
    const tr_status status = dictionary_read("ZH", "en-US", format, entries, strlen(entries), before, &made, &error);
    if (status != TR_OK)
        fail_msg("%s: %s", entries, error.message);
    return made;
}

static void expect(entries_format format, const char *entries, size_t count, const char *tsv)
{
    dictionary *const d = read_over(NULL, format, entries);
    assert_string_equal(d->tsv.data, tsv);
    assert_int_equal(d->entries, count);
    assert_non_null(d->glossary);
    assert_true(d->bytes > d->tsv.size);
    dictionary_release(d);
}

static void expect_error(entries_format format, const char *entries, size_t size, const char *message)
{
    dictionary *made = (dictionary *)entries;
    tr_error error;
    assert_int_equal(dictionary_read("zh", "en", format, entries, size, NULL, &made, &error), TR_ERROR_FORMAT);
    assert_string_equal(error.message, message);
    assert_null(made);
}

static void entries_come_as_tsv(void **state)
{
    (void)state;
    expect(ENTRIES_TSV, "乙\tB\n甲\tA", 2, "乙\tB\n甲\tA");
    expect(ENTRIES_TSV, "\n  甲 \t A b \r\n\n", 1, "甲\tA b");
    expect(ENTRIES_TSV, "\"a\"\tb,c", 1, "\"a\"\tb,c");
    expect(ENTRIES_TSV, "# a\tb", 1, "# a\tb");
    expect(ENTRIES_TSV, "\xef\xbb\xbf甲\tA", 1, "甲\tA");
}

static void entries_come_as_csv(void **state)
{
    (void)state;
    expect(ENTRIES_CSV, "甲,A\r\n\"乙, \"\"b\"\"\",\"B\"\n", 2, "乙, \"b\"\tB\n甲\tA");
    expect(ENTRIES_CSV, "\xef\xbb\xbf\"甲\",A", 1, "甲\tA");
}

static void rows_of_other_languages_are_skipped(void **state)
{
    (void)state;
    expect(ENTRIES_CSV, "甲,A,zh,en\nrot,red,de,en\n乙,B,ZH-HANS,en-GB", 2, "乙\tB\n甲\tA");
    expect_error(ENTRIES_CSV, "rot,red,de,en", 13, "entries: none");
}

static void sources_that_differ_in_capitals_are_two(void **state)
{
    (void)state;
    expect(ENTRIES_TSV, "Hello\tA\nhello\tB", 2, "Hello\tA\nhello\tB");
}

static void new_entries_take_the_place_of_old_ones(void **state)
{
    dictionary *const old = read_over(NULL, ENTRIES_TSV, "a\t1\nb\t2");
    dictionary *const d = read_over(old, ENTRIES_CSV, "c,3\nb,4");
    (void)state;
    assert_string_equal(d->tsv.data, "a\t1\nb\t4\nc\t3");
    assert_string_equal(old->tsv.data, "a\t1\nb\t2");
    assert_int_equal(d->entries, 3);
    dictionary_release(old);
    dictionary_release(d);
}

static void damage_is_refused_with_its_line(void **state)
{
    char *const large = malloc(DICTIONARY_BYTES + 1);
    (void)state;
    expect_error(ENTRIES_TSV, "a\tb\nc", 5, "entries: line 2: is not SOURCE TAB TARGET");
    expect_error(ENTRIES_TSV, "a\tb\tc", 5, "entries: line 1: is not SOURCE TAB TARGET");
    expect_error(ENTRIES_TSV, "a\tb\tc\td\te", 9, "entries: line 1: too many fields");
    expect_error(ENTRIES_TSV, "\n\tb", 3, "entries: line 2: a term is empty");
    expect_error(ENTRIES_TSV, "a\t ", 3, "entries: line 1: a term is empty");
    expect_error(ENTRIES_TSV, "a\tb\rc", 5, "entries: line 1: a term has a control character");
    expect_error(ENTRIES_TSV,
                 "a\tb\xc2\x85"
                 "c",
                 6, "entries: line 1: a term has a control character");
    expect_error(ENTRIES_TSV, "a\tb\na\tc", 7, "entries: line 2: its source has a line before");
    expect_error(ENTRIES_TSV, "a\tb\na\tb", 7, "entries: line 2: its source has a line before");
    expect_error(ENTRIES_TSV, "a\t\xff", 3, "entries: not valid UTF-8");
    expect_error(ENTRIES_TSV, "a\tb\0c", 5, "entries: not valid UTF-8");
    expect_error(ENTRIES_TSV, "", 0, "entries: none");
    expect_error(ENTRIES_CSV, "a", 1, "entries: line 1: has neither two nor four fields");
    expect_error(ENTRIES_CSV, "a,b,c", 5, "entries: line 1: has neither two nor four fields");
    expect_error(ENTRIES_CSV, "a,b,c,d,e", 9, "entries: line 1: too many fields");
    expect_error(ENTRIES_CSV, "a,\"b", 4, "entries: line 1: a quote does not close");
    expect_error(ENTRIES_CSV, "\"", 1, "entries: line 1: a quote does not close");
    expect_error(ENTRIES_CSV, "a,\"b\tc\"", 7, "entries: line 1: a term has a control character");
    memset(large, 'a', DICTIONARY_BYTES + 1);
    expect_error(ENTRIES_TSV, large, DICTIONARY_BYTES + 1, "entries: more than 10 MiB");
    large[DICTIONARY_TERM + 1] = '\t';
    expect_error(ENTRIES_TSV, large, DICTIONARY_TERM + 3, "entries: line 1: a term is longer than 1024 bytes");
    free(large);
}

static void what_needs_too_much_memory_is_refused(void **state)
{
    enum { TERMS = 400000 };
    char *const entries = malloc(TERMS * 16), *at = entries;
    dictionary *made;
    tr_error error;
    (void)state;
    for (int i = 0; i < TERMS; i++)
        at += sprintf(at, "%d\tx\n", i);
    assert_int_equal(dictionary_read("zh", "en", ENTRIES_TSV, entries, (size_t)(at - entries), NULL, &made, &error),
                     TR_ERROR_UNSUPPORTED);
    assert_null(made);
    free(entries);
}

static void a_pair_is_known_in_any_spelling(void **state)
{
    dictionary *const d = read_over(NULL, ENTRIES_TSV, "a\tb"), *other = d;
    tr_error error;
    (void)state;
    assert_string_equal(d->source, "zh");
    assert_string_equal(d->target, "en");
    assert_true(dictionary_fits(d, "zh-Hans", "EN-GB"));
    assert_true(dictionary_fits(d, "ZH-HANT", "en"));
    assert_false(dictionary_fits(d, "en", "zh"));
    assert_false(dictionary_fits(d, NULL, "en"));
    assert_false(dictionary_fits(d, "auto", "en"));
    dictionary_release(d);
    assert_int_equal(dictionary_read("?", "en", ENTRIES_TSV, "a\tb", 3, NULL, &other, &error), TR_ERROR_ARGUMENT);
    assert_string_equal(error.message, "source_lang: not a language");
    assert_null(other);
    assert_int_equal(dictionary_read("zh", "auto", ENTRIES_TSV, "a\tb", 3, NULL, &other, &error), TR_ERROR_ARGUMENT);
    assert_string_equal(error.message, "target_lang: not a language");
}

static void holders_share_one(void **state)
{
    dictionary *const d = read_over(NULL, ENTRIES_TSV, "a\tb");
    (void)state;
    assert_ptr_equal(dictionary_hold(d), d);
    dictionary_release(d);
    assert_string_equal(d->tsv.data, "a\tb");
    dictionary_release(d);
    dictionary_release(NULL);
}

static void terms_of_requests_are_counted_together(void **state)
{
    static const char terms[] = "a\tb\nc\td";
    char lines[TERMS_BYTES];
    dictionary *made[64] = {NULL}, *other;
    size_t sum = 0, count = 0;
    tr_error error;
    (void)state;
    assert_int_equal(dictionary_parse(terms, sizeof terms - 1, &sum, &made[0], &error), TR_OK);
    assert_true(sum > 0 && sum == made[0]->bytes);
    assert_true(dictionary_fits(made[0], NULL, "en"));
    dictionary_release(dictionary_hold(made[0]));
    assert_int_equal(sum, made[0]->bytes);
    dictionary_release(made[0]);
    assert_int_equal(sum, 0);
    assert_int_equal(dictionary_parse("a", 1, &sum, &other, &error), TR_ERROR_FORMAT);
    assert_null(other);
    assert_int_equal(sum, 0);
    for (size_t i = 0; i < sizeof lines; i++)
        lines[i] = "a\tb\n"[i % 4];
    while (count < 64 && dictionary_parse(lines, sizeof lines, &sum, &made[count], &error) == TR_OK)
        count++;
    assert_int_equal(error.status, TR_ERROR_FULL);
    assert_true(sum <= DICTIONARIES_BYTES && count > 1 && count < 64);
    while (count)
        dictionary_release(made[--count]);
    assert_int_equal(sum, 0);
}

static void lines_without_terms_count_nothing(void **state)
{
    char lines[TERMS_BYTES];
    dictionary *term, *blank, *comments;
    size_t sum = 0;
    tr_error error;
    (void)state;
    assert_int_equal(dictionary_parse("a\tb", 3, &sum, &term, &error), TR_OK);
    for (size_t i = 0; i < sizeof lines; i++)
        lines[i] = " \r\n\n"[i % 4];
    assert_int_equal(dictionary_parse(lines, sizeof lines, &sum, &blank, &error), TR_OK);
    for (size_t i = 0; i < sizeof lines; i++)
        lines[i] = "# \t\n"[i % 4];
    assert_int_equal(dictionary_parse(lines, sizeof lines, &sum, &comments, &error), TR_OK);
    assert_true(blank->bytes < term->bytes && comments->bytes < term->bytes);
    dictionary_release(term);
    dictionary_release(blank);
    dictionary_release(comments);
    assert_int_equal(sum, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_come_as_tsv),
        cmocka_unit_test(entries_come_as_csv),
        cmocka_unit_test(rows_of_other_languages_are_skipped),
        cmocka_unit_test(sources_that_differ_in_capitals_are_two),
        cmocka_unit_test(new_entries_take_the_place_of_old_ones),
        cmocka_unit_test(damage_is_refused_with_its_line),
        cmocka_unit_test(what_needs_too_much_memory_is_refused),
        cmocka_unit_test(a_pair_is_known_in_any_spelling),
        cmocka_unit_test(holders_share_one),
        cmocka_unit_test(terms_of_requests_are_counted_together),
        cmocka_unit_test(lines_without_terms_count_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
