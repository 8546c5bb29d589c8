#include "import/letters.h"

#include <stddef.h>
#include <unictype.h>

#include "tokenizer/scripts.h"

bool tr_is_digit(int32_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_ascii(int32_t c)
{
    return c < 0x80;
}

/* Whether c has one of the general categories of mask. */
static bool has_category(int32_t c, uint32_t mask)
{
    return c >= 0 && uc_is_general_category_withtable((ucs4_t)c, mask);
}

bool tr_is_decimal(int32_t c)
{
    return is_ascii(c) ? tr_is_digit(c) : has_category(c, UC_CATEGORY_MASK_Nd);
}

/* True for characters that sacremoses's lists of letters, numbers and currencies can contain. */
static bool is_listed(int32_t c)
{
    enum { BEYOND = 0x10000 };
    /* of Unicode 8 to 15 */
    static const tr_char_range newer[] = {
        {0x560, 0x560},   {0x588, 0x588},   {0x5ef, 0x5ef},   {0x7fe, 0x7ff},   {0x860, 0x88e},   {0x8b3, 0x8e3},
        {0x9fc, 0x9fc},   {0xaf9, 0xafc},   {0xc04, 0xc04},   {0xc5a, 0xc5d},   {0xc80, 0xc80},   {0xcdd, 0xcdd},
        {0xcf3, 0xd00},   {0xd04, 0xd04},   {0xd54, 0xd56},   {0xd58, 0xd5f},   {0xd76, 0xd78},   {0xd81, 0xd81},
        {0xe86, 0xe86},   {0xe89, 0xe89},   {0xe8c, 0xe8c},   {0xe8e, 0xe93},   {0xe98, 0xe98},   {0xea0, 0xea0},
        {0xea8, 0xea9},   {0xeac, 0xeac},   {0x13f5, 0x13fd}, {0x170d, 0x170d}, {0x171f, 0x171f}, {0x1878, 0x1878},
        {0x1abf, 0x1ace}, {0x1b4c, 0x1b4c}, {0x1c80, 0x1cbf}, {0x1cfa, 0x1cfa}, {0x20be, 0x20c0}, {0x2c2f, 0x2c2f},
        {0x2c5f, 0x2c5f}, {0x312e, 0x312f}, {0x31bb, 0x31bf}, {0xa69e, 0xa69e}, {0xa78f, 0xa78f}, {0xa7ae, 0xa7af},
        {0xa7b2, 0xa7f6}, {0xa8c5, 0xa8c5}, {0xa8fd, 0xa8ff}, {0xab60, 0xab63}, {0xab66, 0xabbf}};
    return c >= 0 && c < BEYOND && tr_script_of(c) != TR_HAN && !TR_IN(c, newer);
}

bool tr_is_number(int32_t c)
{
    return is_ascii(c) ? tr_is_digit(c) : has_category(c, UC_CATEGORY_MASK_N) && is_listed(c);
}

bool tr_is_letter(int32_t c)
{
    enum { SYLLABLE_FIRST = 0xac00, SYLLABLE_LAST = 0xd7a3, DOTTED_CIRCLE = 0x25cc };
    if (is_ascii(c))
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c >= SYLLABLE_FIRST && c <= SYLLABLE_LAST)
        return false;
    return c == DOTTED_CIRCLE || (is_listed(c) && uc_is_property_alphabetic((ucs4_t)c));
}

/* The combining class tells viramas (9) and nuktas (7), but sacremoses's list lacks some, and has three more. */
static bool is_sign(int32_t c)
{
    enum { NUKTA = 7, VIRAMA = 9, GUJARATI_SIGN = 0xafd };
    static const tr_char_range absent[] = {{0x0c3c, 0x0c3c}, {0x0e3a, 0x0e3a}, {0x0f84, 0x0f84}, {0x1037, 0x1037},
                                           {0x103a, 0x103a}, {0x1715, 0x17d2}, {0x1a60, 0x1b44}, {0x1baa, 0x1baa},
                                           {0x1be6, 0x1bf3}, {0x2d7f, 0x2d7f}, {0xa806, 0xa806}, {0xa82c, 0xa82c},
                                           {0xa9b3, 0xa9c0}, {0xabed, 0xabed}};
    if (c >= GUJARATI_SIGN && c <= GUJARATI_SIGN + 2)
        return true;
    if (c < 0 || TR_IN(c, absent))
        return false;
    const int class = uc_combining_class((ucs4_t)c);
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
    return uc_is_property_lowercase((ucs4_t)c) && (c < GEORGIAN_FIRST || c > GEORGIAN_LAST);
}

bool tr_is_currency(int32_t c)
{
    return is_ascii(c) ? c == '$' : has_category(c, UC_CATEGORY_MASK_Sc) && is_listed(c);
}

/* Punctuation of Chinese, Japanese and Korean (property Script_Extensions). */
static bool is_east_asian_mark(int32_t c)
{
    static const tr_char_range marks[] = {{0x3001, 0x3003}, {0x3008, 0x3011}, {0x3013, 0x301f}, {0x3030, 0x3030},
                                          {0x3037, 0x3037}, {0x30fb, 0x30fb}, {0xfe45, 0xfe46}, {0xff61, 0xff65}};
    return TR_IN(c, marks);
}

bool tr_is_han(int32_t c)
{
    static const tr_char_range marks[] = {
        {0x2e80, 0x2fd5}, {0x3006, 0x3006}, {0x302a, 0x302d},   {0x303c, 0x303f},   {0x3190, 0x319f},  {0x31c0, 0x31e3},
        {0x3220, 0x3247}, {0x3280, 0x32b0}, {0x32c0, 0x32cb},   {0x32ff, 0x32ff},   {0x3358, 0x3370},  {0x337b, 0x337f},
        {0x33e0, 0x33fe}, {0xa700, 0xa707}, {0x16fe2, 0x16fe2}, {0x1d360, 0x1d371}, {0x1f250, 0x1f251}};
    return tr_script_of(c) == TR_HAN || (c >= marks[0].first && (is_east_asian_mark(c) || TR_IN(c, marks)));
}

bool tr_is_hangul(int32_t c)
{
    static const tr_char_range marks[] = {{0x302e, 0x302f}, {0x3200, 0x321e}, {0x3260, 0x327e}};
    return tr_script_of(c) == TR_HANGUL || is_east_asian_mark(c) || TR_IN(c, marks);
}

static bool is_kana(int32_t c)
{
    static const tr_char_range marks[] = {{0x3031, 0x3035}, {0x3099, 0x309c}, {0x30a0, 0x30a0},
                                          {0x30fc, 0x30fc}, {0x32d0, 0x32fe}, {0x3300, 0x3357},
                                          {0xff70, 0xff70}, {0xff9e, 0xff9f}, {0x1f200, 0x1f200}};
    const tr_script script = tr_script_of(c);
    return script == TR_HIRAGANA || script == TR_KATAKANA || TR_IN(c, marks);
}

bool tr_is_japanese(int32_t c)
{
    return tr_is_han(c) || is_kana(c);
}

/* Blocks: Hangul Jamo; CJK Radicals to Yi; Phags-pa; Hangul; compatibility ideographs and forms; halfwidth forms; Tangut;
 * kana supplements; Nushu; the second plane. */
bool tr_is_east_asian(int32_t c)
{
    static const tr_char_range blocks[] = {{0x1100, 0x11ff},   {0x2e80, 0xa4cf},   {0xa840, 0xa87f},  {0xac00, 0xd7af},
                                           {0xf900, 0xfaff},   {0xfe30, 0xfe4f},   {0xff65, 0xffdc},  {0x17000, 0x18aff},
                                           {0x1b000, 0x1b12f}, {0x1b170, 0x1b2ff}, {0x20000, 0x2ffff}};
    return TR_IN(c, blocks);
}
