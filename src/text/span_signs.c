#include "text/span_scan.h"

#include "text/language_letters.h"

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
        if (!tr_is_pictograph(c) && !(tr_is_text_pictograph(c) && after == SELECTOR))
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
        if (!tr_is_pictograph(c) && !tr_is_text_pictograph(c))
            return end;
        end += next + more;
        if (!tr_is_pictograph(c) && peek(s, end, &next) != SELECTOR)
            return end; /* ♂ without its selector */
    }
}

/* The end of the name that an emoji begins in a sentence of another script, as in a brand's name. emoji: where it ends. */
size_t tr_scan_name_after(const tr_scan *s, size_t i, size_t emoji)
{
    size_t end = emoji + (tr_scan_at(s, emoji) == ' ');
    while (i && s->text[i - 1] == ' ')
        i--;
    if (!i || (unsigned char)s->text[i - 1] < 0x80 || !tr_is_ascii_capital(tr_scan_at(s, end)))
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
    if (tr_is_currency_sign(c)) {
        while (tr_is_ascii_digit(tr_scan_at(s, end)) ||
               ((tr_scan_at(s, end) == '.' || tr_scan_at(s, end) == ',') && tr_is_ascii_digit(tr_scan_at(s, end + 1))))
            end++;
        return end > i + length && !tr_has_number_unit(s->text, s->size, end) ? end : i;
    }
    if (!tr_is_symbol(c))
        return i;
    while (tr_is_identifier(tr_scan_at(s, end)))
        end++;
    if (tr_scan_at(s, end) && strchr("./:@\\-", tr_scan_at(s, end)) && tr_scan_at(s, end + 1) > ' ')
        end = i + length; /* →https://, →v2.3 */
    const bool glued = end > i + length || (i && tr_is_identifier(s->text[i - 1]));
    *kind = glued ? TR_SPAN_WORD : TR_SPAN_MARK;
    return end;
}
