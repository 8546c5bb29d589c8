#include "import/letters.h"

#include <stddef.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>

bool tr_is_digit(int32_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_ascii(int32_t c)
{
    return c < 0x80;
}

bool tr_is_decimal(int32_t c)
{
    return is_ascii(c) ? tr_is_digit(c) : u_charType(c) == U_DECIMAL_DIGIT_NUMBER;
}

/* True for characters that sacremoses's lists of letters, numbers and currencies can contain. */
static bool is_listed(int32_t c)
{
    enum { BEYOND = 0x10000, UNICODE = 7 };
    UVersionInfo age;
    UErrorCode problem = U_ZERO_ERROR;
    if (c < 0 || c >= BEYOND)
        return false;
    u_charAge(c, age);
    return age[0] <= UNICODE && uscript_getScript(c, &problem) != USCRIPT_HAN;
}

bool tr_is_number(int32_t c)
{
    return is_ascii(c) ? tr_is_digit(c) : (U_GET_GC_MASK(c) & U_GC_N_MASK) && is_listed(c);
}

bool tr_is_letter(int32_t c)
{
    enum { SYLLABLE_FIRST = 0xac00, SYLLABLE_LAST = 0xd7a3, DOTTED_CIRCLE = 0x25cc };
    if (is_ascii(c))
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c >= SYLLABLE_FIRST && c <= SYLLABLE_LAST)
        return false;
    return c == DOTTED_CIRCLE || (u_hasBinaryProperty(c, UCHAR_ALPHABETIC) && is_listed(c));
}

/* ICU's combining class tells viramas (9) and nuktas (7), but sacremoses's list lacks some, and has three more. */
static bool is_sign(int32_t c)
{
    enum { NUKTA = 7, VIRAMA = 9, GUJARATI_SIGN = 0xafd };
    static const struct {
        int32_t first, last;
    } absent[] = {{0x0c3c, 0x0c3c}, {0x0e3a, 0x0e3a}, {0x0f84, 0x0f84}, {0x1037, 0x1037}, {0x103a, 0x103a},
                  {0x1715, 0x17d2}, {0x1a60, 0x1b44}, {0x1baa, 0x1baa}, {0x1be6, 0x1bf3}, {0x2d7f, 0x2d7f},
                  {0xa806, 0xa806}, {0xa82c, 0xa82c}, {0xa9b3, 0xa9c0}, {0xabed, 0xabed}};
    const int class = u_getCombiningClass(c);
    if (c >= GUJARATI_SIGN && c <= GUJARATI_SIGN + 2)
        return true;
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (c >= absent[i].first && c <= absent[i].last)
            return false;
    return class == VIRAMA || class == NUKTA;
}

bool tr_is_letter_or_sign(int32_t c)
{
    return tr_is_letter(c) || (!is_ascii(c) && is_sign(c));
}

bool tr_is_word_character(int32_t c)
{
    return tr_is_letter_or_sign(c) || (is_ascii(c) ? tr_is_digit(c) : tr_is_decimal(c) && is_listed(c));
}

bool tr_is_lowercase(int32_t c)
{
    enum { GEORGIAN_FIRST = 0x10d0, GEORGIAN_LAST = 0x10ff }; /* small only since Unicode 11 added capitals */
    if (is_ascii(c))
        return c >= 'a' && c <= 'z';
    return u_hasBinaryProperty(c, UCHAR_LOWERCASE) && (c < GEORGIAN_FIRST || c > GEORGIAN_LAST);
}

bool tr_is_currency(int32_t c)
{
    return is_ascii(c) ? c == '$' : u_charType(c) == U_CURRENCY_SYMBOL && is_listed(c);
}

bool tr_is_han(int32_t c)
{
    return !is_ascii(c) && uscript_hasScript(c, USCRIPT_HAN);
}

bool tr_is_hangul(int32_t c)
{
    return !is_ascii(c) && uscript_hasScript(c, USCRIPT_HANGUL);
}

bool tr_is_japanese(int32_t c)
{
    return !is_ascii(c) &&
           (tr_is_han(c) || uscript_hasScript(c, USCRIPT_HIRAGANA) || uscript_hasScript(c, USCRIPT_KATAKANA));
}

/* Blocks: Hangul Jamo; CJK Radicals to Yi; Phags-pa; Hangul; compatibility ideographs and forms; halfwidth forms; Tangut;
 * kana supplements; Nushu; the second plane. */
bool tr_is_east_asian(int32_t c)
{
    static const struct {
        int32_t first, last;
    } blocks[] = {{0x1100, 0x11ff},   {0x2e80, 0xa4cf},   {0xa840, 0xa87f},  {0xac00, 0xd7af},
                  {0xf900, 0xfaff},   {0xfe30, 0xfe4f},   {0xff65, 0xffdc},  {0x17000, 0x18aff},
                  {0x1b000, 0x1b12f}, {0x1b170, 0x1b2ff}, {0x20000, 0x2ffff}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (c <= blocks[i].last)
            return c >= blocks[i].first;
    return false;
}
