/* Scripts of letters, beside those of libunistring, and of languages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <unictype.h>

#include "tokenizer/scripts.h"

enum { CODES = 0x110000 };

static bool is_a(int32_t c, uint32_t mask)
{
    return uc_is_general_category_withtable((ucs4_t)c, mask);
}

/* Unicode's name of a code point's script; "" for those of several scripts, or of none. */
static const char *script_name(int32_t c)
{
    const uc_script_t *script = uc_script((ucs4_t)c);
    return !script || strcmp(script->name, "Common") == 0 || strcmp(script->name, "Inherited") == 0 ? "" : script->name;
}

static void letters_have_the_scripts_of_unicode(void **unused)
{
    (void)unused;
    for (int32_t c = 0; c < CODES; c++) {
        const tr_script script = tr_script_of(c);
        if (!is_a(c, UC_CATEGORY_MASK_L))
            continue;
        const tr_scripts named = tr_scripts_named(script_name(c));
        /* beyond U+FFFF, newer versions of Unicode have letters that the table does not have */
        if (script > TR_OTHER_SCRIPT ? named != tr_script_bit(script) : named != 0 && c < 0x10000)
            fail_msg("U+%04X, %s, has script %d", (unsigned)c, script_name(c), script);
        if (c < 0x3000 && !tr_is_any_letter(c)) /* beyond, newer versions of Unicode have more */
            fail_msg("U+%04X is no letter", (unsigned)c);
    }
}

static void digits_marks_and_symbols_are_no_letters(void **unused)
{
    (void)unused;
    for (int32_t c = 0; c < 0x10000; c++)
        if (is_a(c, UC_CATEGORY_MASK_Nd | UC_CATEGORY_MASK_P | UC_CATEGORY_MASK_Sm | UC_CATEGORY_MASK_Sc) &&
            tr_is_any_letter(c))
            fail_msg("U+%04X is a letter", (unsigned)c);
    assert_false(tr_is_any_letter(-1));
    assert_false(tr_is_any_letter(0x10ffff));
}

static void languages_have_their_scripts(void **unused)
{
    static const struct {
        const char *code;
        tr_script scripts[4];
    } cases[] = {{"zh", {TR_HAN, TR_BOPOMOFO}},
                 {"cmn", {TR_HAN, TR_BOPOMOFO}},
                 {"zh-TW", {TR_HAN}},
                 {"zho_Hans", {TR_HAN}},
                 {"ja", {TR_HAN, TR_HIRAGANA, TR_KATAKANA}},
                 {"jpn_Jpan", {TR_HAN, TR_HIRAGANA, TR_KATAKANA}},
                 {"kor_Hang", {TR_HANGUL}},
                 {"ko", {TR_HANGUL, TR_HAN}},
                 {"sr", {TR_CYRILLIC, TR_LATIN}},
                 {"sr-Latn", {TR_LATIN}},
                 {"yi", {TR_HEBREW}},
                 {"en_XX", {TR_LATIN}},
                 {"nob", {TR_LATIN}},
                 {"ceb", {TR_LATIN}},
                 {"div", {TR_THAANA}},
                 {"fub", {TR_NO_LETTER}},
                 {"mul", {TR_NO_LETTER}},
                 {"", {TR_NO_LETTER}}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tr_scripts expected = 0;
        for (int k = 0; k < 4 && cases[i].scripts[k] != TR_NO_LETTER; k++)
            expected |= tr_script_bit(cases[i].scripts[k]);
        if (tr_scripts_of_language(cases[i].code) != expected)
            fail_msg("%s", cases[i].code);
    }
}

static void texts_have_letters_of_scripts(void **unused)
{
    (void)unused;
    assert_true(tr_has_letter_of(tr_script_bit(TR_HAN), "A股 1", 6));
    assert_false(tr_has_letter_of(tr_script_bit(TR_HAN), "Ab, 12 ①", 10));
    assert_false(tr_has_letter_of(tr_script_bit(TR_DEVANAGARI), "१२३।", 12));
    assert_true(tr_has_letter_of(0, "1 я", 4));
    assert_false(tr_has_letter_of(0, "1 + 2", 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_have_the_scripts_of_unicode),
        cmocka_unit_test(digits_marks_and_symbols_are_no_letters),
        cmocka_unit_test(languages_have_their_scripts),
        cmocka_unit_test(texts_have_letters_of_scripts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
