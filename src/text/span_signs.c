#include "text/span_scan.h"
#include "tokenizer/scripts.h"

/* --------------------------------------------------------------------------------------------------------------- classes */

/* Signs that are no punctuation, not of ASCII: → ● ™ ° ×; and 【】. Not ℃ and ㎡, which other languages write in letters,
 * nor the signs of single scripts. */
static bool is_symbol(int32_t c)
{
    static const tr_char_range symbols[] = {
        {0xa6, 0xa7},       {0xa9, 0xa9},       {0xac, 0xac},      {0xae, 0xae},     {0xb0, 0xb1},     {0xb6, 0xb6},
        {0xd7, 0xd7},       {0xf7, 0xf7},       {0x2020, 0x2022},  {0x203b, 0x203b}, {0x2044, 0x2044}, {0x2052, 0x2052},
        {0x207a, 0x207c},   {0x208a, 0x208c},   {0x2100, 0x2101},  {0x2104, 0x2106}, {0x2108, 0x2108}, {0x2114, 0x2114},
        {0x2116, 0x2118},   {0x211e, 0x2123},   {0x2125, 0x2125},  {0x2127, 0x2127}, {0x2129, 0x2129}, {0x212e, 0x212e},
        {0x213a, 0x213b},   {0x2140, 0x2144},   {0x214a, 0x214d},  {0x214f, 0x214f}, {0x218a, 0x2307}, {0x230c, 0x2328},
        {0x232b, 0x244a},   {0x249c, 0x24e9},   {0x2500, 0x2767},  {0x2794, 0x27c4}, {0x27c7, 0x27e5}, {0x27f0, 0x2982},
        {0x2999, 0x29d7},   {0x29dc, 0x29fb},   {0x29fe, 0x2bff},  {0x2e50, 0x2e51}, {0x2ff0, 0x2ffb}, {0x3004, 0x3004},
        {0x3010, 0x3013},   {0x3016, 0x3017},   {0x3020, 0x3020},  {0x3036, 0x3037}, {0x303e, 0x303f}, {0x3190, 0x3191},
        {0x3196, 0x319f},   {0x31c0, 0x31e3},   {0x322a, 0x3247},  {0x3250, 0x3250}, {0x327f, 0x327f}, {0x328a, 0x32b0},
        {0x32c0, 0x32ff},   {0xfe62, 0xfe62},   {0xfe64, 0xfe66},  {0xff0b, 0xff0b}, {0xff1c, 0xff1e}, {0xff5c, 0xff5c},
        {0xff5e, 0xff5e},   {0xffe2, 0xffe2},   {0xffe4, 0xffe4},  {0xffe8, 0xffee}, {0xfffc, 0xfffd}, {0x1d300, 0x1d356},
        {0x1f000, 0x1f0f5}, {0x1f10d, 0x1f3fa}, {0x1f400, 0x1fbca}};
    return c >= 0x80 && !(c >= 0x3400 && c <= 0x9fff) && TR_IN(c, symbols);
}

/* Not of ASCII. */
static bool is_currency_sign(int32_t c)
{
    static const tr_char_range signs[] = {
        {0xa2, 0xa5},     {0x58f, 0x58f},   {0x60b, 0x60b},   {0x7fe, 0x7ff},   {0x9f2, 0x9f3},   {0x9fb, 0x9fb},
        {0xaf1, 0xaf1},   {0xbf9, 0xbf9},   {0xe3f, 0xe3f},   {0x17db, 0x17db}, {0x20a0, 0x20c0}, {0xa838, 0xa838},
        {0xfdfc, 0xfdfc}, {0xfe69, 0xfe69}, {0xff04, 0xff04}, {0xffe0, 0xffe1}, {0xffe5, 0xffe6}};
    return c >= 0x80 && !(c >= 0x3400 && c <= 0x9fff) && TR_IN(c, signs);
}

/* An emoji, or a part of one, in every context. */
static bool is_pictograph(int32_t c)
{
    static const tr_char_range pictographs[] = {
        {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x23f0, 0x23f0},   {0x23f3, 0x23f3},   {0x25fd, 0x25fe},
        {0x2614, 0x2615},   {0x2648, 0x2653},   {0x267f, 0x267f},   {0x2693, 0x2693},   {0x26a1, 0x26a1},
        {0x26aa, 0x26ab},   {0x26bd, 0x26be},   {0x26c4, 0x26c5},   {0x26ce, 0x26ce},   {0x26d4, 0x26d4},
        {0x26ea, 0x26ea},   {0x26f2, 0x26f3},   {0x26f5, 0x26f5},   {0x26fa, 0x26fa},   {0x26fd, 0x26fd},
        {0x2705, 0x2705},   {0x270a, 0x270b},   {0x2728, 0x2728},   {0x274c, 0x274c},   {0x274e, 0x274e},
        {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},   {0x27b0, 0x27b0},   {0x27bf, 0x27bf},
        {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2b55, 0x2b55},   {0x1f000, 0x1f0f5}, {0x1f10d, 0x1f10f},
        {0x1f12f, 0x1f12f}, {0x1f16c, 0x1f171}, {0x1f17e, 0x1f17f}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a},
        {0x1f1ad, 0x1f1ff}, {0x1f201, 0x1f202}, {0x1f21a, 0x1f21a}, {0x1f22f, 0x1f22f}, {0x1f232, 0x1f23a},
        {0x1f250, 0x1f53d}, {0x1f546, 0x1f64f}, {0x1f680, 0x1f6fc}, {0x1f774, 0x1f77f}, {0x1f7d5, 0x1f7f0},
        {0x1f8b0, 0x1f8b1}, {0x1f90c, 0x1f93a}, {0x1f93c, 0x1f945}, {0x1f947, 0x1faf8}, {0x1fc00, 0x1fffd}};
    return c > 0xff && !(c >= 0x2c00 && c <= 0xffff) && TR_IN(c, pictographs);
}

/* An emoji before U+FE0F, which does not follow other characters of these blocks: ❤ ™ ©. */
static bool is_text_pictograph(int32_t c)
{
    static const tr_char_range pictographs[] = {{0xa9, 0xa9},     {0xae, 0xae},     {0x203c, 0x203c}, {0x2049, 0x2049},
                                                {0x2122, 0x2122}, {0x2139, 0x2139}, {0x2194, 0x21aa}, {0x2300, 0x27bf},
                                                {0x2934, 0x2935}, {0x2b05, 0x2b55}, {0x3030, 0x3030}, {0x303d, 0x303d},
                                                {0x3297, 0x3299}};
    return TR_IN(c, pictographs);
}

/* ------------------------------------------------------------------------------------------------------------------- spans
 */

static int32_t peek(const tr_scan *s, size_t i, size_t *length)
{
    return tr_character(s->text, s->size, i, length);
}

/* The end of one emoji at text[i] with all that belongs to it: modifiers, variation selectors, joiners. */
size_t tr_scan_emoji(const tr_scan *s, size_t i)
{
    enum {
        SELECTOR = 0xfe0f,
        TEXT_SELECTOR = 0xfe0e,
        JOINER = 0x200d,
        KEYCAP = 0x20e3,
        FLAG = 0x1f1e6,
        LAST_FLAG = 0x1f1ff
    };
    size_t length, next, more;
    int32_t c = peek(s, i, &length);
    size_t end = i + length;
    if (c < 0x80) { /* 1️⃣ */
        if (!tr_is_ascii_digit((char)c) && c != '#' && c != '*')
            return i;
        if (peek(s, end, &next) == SELECTOR && peek(s, end + next, &more) == KEYCAP)
            return end + next + more;
        return i;
    }
    if (c >= FLAG && c <= LAST_FLAG) {
        const int32_t second = peek(s, end, &next);
        return second >= FLAG && second <= LAST_FLAG ? end + next : end;
    }
    for (;;) {
        const int32_t after = peek(s, end, &next);
        if (!is_pictograph(c) && !(is_text_pictograph(c) && after == SELECTOR))
            return i;
        while (end < s->size) {
            const int32_t part = peek(s, end, &next);
            if (part != SELECTOR && part != TEXT_SELECTOR && part != KEYCAP && !(part >= 0x1f3fb && part <= 0x1f3ff) &&
                !(part >= 0xe0020 && part <= 0xe007f))
                break;
            end += next;
        }
        if (peek(s, end, &next) != JOINER)
            return end;
        c = peek(s, end + next, &more);
        if (!is_pictograph(c) && !is_text_pictograph(c))
            return end;
        end += next + more;
        if (!is_pictograph(c) && peek(s, end, &next) != SELECTOR)
            return end; /* ♂ without its selector */
    }
}

/* The end of the name that an emoji begins in a sentence of another script, as in a brand's name. emoji: where it ends. */
size_t tr_scan_name_after(const tr_scan *s, size_t i, size_t emoji)
{
    size_t end = emoji + (tr_scan_at(s, emoji) == ' ');
    while (i && s->text[i - 1] == ' ')
        i--;
    size_t length;
    if (!i || !tr_is_any_letter(peek(s, tr_character_before(s->text, i), &length)) || (unsigned char)s->text[i - 1] < 0x80 ||
        !tr_is_ascii_capital(tr_scan_at(s, end)))
        return emoji;
    while (tr_is_identifier(tr_scan_at(s, end)) || tr_scan_at(s, end) == '-')
        end++;
    return end;
}

bool tr_has_number_unit(const char *text, size_t size, size_t at)
{
    static const char *const units[] = {"万", "亿", "千", "百", "萬", "億", "多", "余"};
    at += at < size && text[at] == ' ';
    for (size_t k = 0; k < sizeof units / sizeof *units; k++)
        if (size - at >= 3 && memcmp(text + at, units[k], 3) == 0)
            return true;
    return false;
}

/* A sign, with the ASCII letters and digits that it is glued to: 25°C, 3×4, Name™; and ¥1,299. */
size_t tr_scan_symbol(const tr_scan *s, size_t i, tr_span_kind *kind)
{
    size_t length;
    const int32_t c = peek(s, i, &length);
    size_t end = i + length;
    if (is_currency_sign(c)) {
        while (tr_is_ascii_digit(tr_scan_at(s, end)) ||
               ((tr_scan_at(s, end) == '.' || tr_scan_at(s, end) == ',') && tr_is_ascii_digit(tr_scan_at(s, end + 1))))
            end++;
        return end > i + length && !tr_has_number_unit(s->text, s->size, end) ? end : i;
    }
    if (!is_symbol(c))
        return i;
    while (tr_is_identifier(tr_scan_at(s, end)))
        end++;
    if (tr_scan_at(s, end) && strchr("./:@\\-", tr_scan_at(s, end)) && tr_scan_at(s, end + 1) > ' ')
        end = i + length; /* →https://, →v2.3 */
    const bool glued = end > i + length || (i && tr_is_identifier(s->text[i - 1]));
    *kind = glued ? TR_SPAN_WORD : TR_SPAN_MARK;
    return end;
}
