/* Which pieces consist of letters of a language's scripts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tokenizer/allowed.h"

static void expect_spelled(tr_scripts scripts, const char *piece, bool expected)
{
    if (tr_scripts_spell(scripts, piece, strlen(piece)) != expected)
        fail_msg("%s is %s spelled", piece, expected ? "not" : "wrongly");
}

static void latin_leaves_out_han(void **unused)
{
    (void)unused;
    static const char *const kept[] = {"▁the", "ing", "é", "▁2019", "。",  "，", "▁", "—", "3.5",   "㎡",
                                       "%",    "@@",  "β", "▁μ",    "É@@", "①",  "😀", "€", "naïve", "▁O’"};
    static const char *const left[] = {"的", "▁中国", "々", "ひ", "カ", "한", "Я", "αβ", "A股", "〇", "한국"};
    const tr_scripts scripts = tr_allowed_scripts("en");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        expect_spelled(scripts, kept[i], true);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        expect_spelled(scripts, left[i], false);
}

static void languages_have_their_scripts(void **unused)
{
    static const struct {
        const char *code, *spelled, *other;
    } cases[] = {{"zh", "中国", "ひ"},   {"zh-Hant", "國", "한"}, {"ja", "ひカ漢ー", "한"}, {"ko", "한국", "ひ"},
                 {"ru", "Я", "中"},      {"sr", "Ђ", "中"},       {"uzb_Cyrl", "Ў", "中"},  {"ar", "سلام", "中"},
                 {"el", "αβγ", "中"},    {"hi", "नमस्ते", "中"},    {"de", "Straße", "я"},    {"eng", "the", "я"},
                 {"zho_Hans", "国", "я"}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tr_scripts scripts = tr_allowed_scripts(cases[i].code);
        if (!scripts)
            fail_msg("%s: unknown", cases[i].code);
        expect_spelled(scripts, cases[i].spelled, true);
        expect_spelled(scripts, "▁Latin", true);
        expect_spelled(scripts, cases[i].other, false);
    }
    static const char *const unknown[] = {"", "xx", "ROMANCE", "mul", "a-very-long-code-that-is-no-language-at-all"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        if (tr_allowed_scripts(unknown[i]))
            fail_msg("%s: known", unknown[i]);
}

static void names_are_read(void **unused)
{
    static const char *const wrong[] = {"", "Foo", "Latn,", ",Latn", "Latn,,Hani", "en", "Zyyy", "zh", "Latn;Hani"};
    (void)unused;
    expect_spelled(tr_scripts_parse("Hani"), "国", true);
    expect_spelled(tr_scripts_parse("Hani"), "Latin", false);
    expect_spelled(tr_scripts_parse("Hani,Latin,Hani"), "Latin", true);
    expect_spelled(tr_scripts_parse("Jpan"), "ひカ漢", true);
    expect_spelled(tr_scripts_parse("canadian_aboriginal"), "ᐃᓄᒃ", true);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (tr_scripts_parse(wrong[i]))
            fail_msg("%s: taken for scripts", wrong[i]);
}

static const char *const pieces[] = {"</s>", "的", "▁the", "<0x4F>", "▁a", "Я", "a@@", "▁中", "1", "▁и", "ing", NULL, "▁"};

enum { PIECES = sizeof pieces / sizeof *pieces };

static tr_vocabulary make_vocabulary(void)
{
    tr_vocabulary vocabulary;
    tr_error error;
    tr_piece *list = calloc(PIECES, sizeof *list);
    assert_non_null(list);
    for (size_t i = 0; i < PIECES; i++)
        list[i] = (tr_piece){pieces[i], pieces[i] ? (uint32_t)strlen(pieces[i]) : 0};
    assert_int_equal(tr_vocabulary_init(&vocabulary, list, PIECES, NULL, &error), TR_OK);
    return vocabulary;
}

static void expect_marks(const bool *marks, const char *expected)
{
    for (size_t i = 0; i < PIECES; i++)
        if (marks[i] != (expected[i] == '+'))
            fail_msg("piece %zu is %s", i, marks[i] ? "marked" : "not marked");
}

static void pieces_are_marked(void **unused)
{
    (void)unused;
    tr_vocabulary vocabulary = make_vocabulary();
    bool marks[PIECES] = {false}, characters[PIECES] = {false};
    tr_allow_scripts(&vocabulary, tr_allowed_scripts("ru"), marks);
    expect_marks(marks, "+-+++++-+++-+");
    tr_allow_characters(&vocabulary, tr_scripts_parse("Cyrl"), characters);
    expect_marks(characters, "---+-+--++--+");
    tr_vocabulary_free(&vocabulary);
}

/* A script counts with one letter in a hundred, not with one in a thousand. */
static void scripts_of_a_text(void **unused)
{
    (void)unused;
    tr_script_census census = {0};
    for (int i = 0; i < 100; i++)
        tr_script_count(&census, "abcdefghi, 1 ", 13);
    tr_script_count(&census, "中", 3);
    for (int i = 0; i < 5; i++)
        tr_script_count(&census, "Яя", 4);
    const tr_scripts scripts = tr_scripts_of_census(&census);
    expect_spelled(scripts, "Яa", true);
    expect_spelled(scripts, "中", false);
    const tr_script_census nothing = {0};
    assert_int_equal(tr_scripts_of_census(&nothing), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latin_leaves_out_han), cmocka_unit_test(languages_have_their_scripts),
        cmocka_unit_test(names_are_read),       cmocka_unit_test(pieces_are_marked),
        cmocka_unit_test(scripts_of_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
