#define _GNU_SOURCE
#include "text/capitals.h"

#include <string.h>

#include "text/span_scan.h"

/* The end of a word of ASCII capitals at text[at], with apostrophes; at: there is none. */
static size_t skip_capitals(const char *text, size_t end, size_t at)
{
    size_t k = at;
    while (k < end && (tr_is_ascii_capital(text[k]) || (text[k] == '\'' && k > at)))
        k++;
    const bool glued = k < end && (tr_is_identifier(text[k]) || (unsigned char)text[k] >= 0xc0);
    return glued ? at : k;
}

/* Whether an ASCII character is none of words and identifiers. */
static bool is_mark(char c)
{
    return !tr_is_identifier(c) && (unsigned char)c < 0x80;
}

/* Whether a list, in which each word has a space on both sides, has a word. */
static bool is_listed(const char *list, const char *word, size_t size)
{
    const char *found = memmem(list, strlen(list), word, size);
    return found && found[-1] == ' ' && found[size] == ' ';
}

/* Whether a word is hardly an abbreviation where it stands alone or before a colon, as on signs and buttons, and a short one
 * in a row, too. */
static bool is_sign(const char *word, size_t size)
{
    static const char short_words[] =
        " AM ARE BACK BOYS BUSY CALL CAN COLD COPY DO DONE DOWN EASY EDIT EXIT FAST FIRE FOOD FOR FREE FULL HE "
        "HELP HOME HOT I IS KEEP LEFT LESS LOST LOVE ME MEN MENU MORE MY NEED NEW NEXT NO NOT OFF ON OPEN OUT "
        "PAID PARK PASS PLAY PULL PUSH RENT ROOM SALE SAVE SEND SHE SLOW SOLD STOP TAXI THAT THIS TOYS UNDO WAIT "
        "WE WET WILL YES YOU ";
    static const char abbreviations[] = " ASEAN COVID INTERPOL UNCTAD UNESCO UNICEF ";
    if (size <= 4)
        return is_listed(short_words, word, size);
    for (size_t i = 0; i < size; i++)
        if (strchr("AEIOUY", word[i]))
            return !is_listed(abbreviations, word, size);
    return false;
}

static size_t skip_marks(const char *text, size_t end, size_t at)
{
    while (at < end && is_mark(text[at]))
        at++;
    return at;
}

/* The end of such a word at the beginning of text[begin .. end), which has nothing else but marks, or a colon after the
 * word; begin: there is none. label: with a colon only. */
static size_t skip_sign(const char *text, size_t begin, size_t end, bool label)
{
    const size_t word = skip_marks(text, end, begin), after = skip_capitals(text, end, word);
    if (after == word || !is_sign(text + word, after - word))
        return begin;
    return (after < end && text[after] == ':') || (!label && skip_marks(text, end, after) == end) ? after : begin;
}

/* The end of a row of words in capitals from text[at] on; at: there is none. *sure: it is none of abbreviations, as it has
 * two words, one of which is common or has five letters at least, or four, one of two letters at most. */
static size_t skip_capital_row(const char *text, size_t end, size_t at, bool *sure)
{
    size_t words = 0, longest = 0, shortest = SIZE_MAX, row = at;
    bool common = false;
    for (size_t begin = at; begin < end;) {
        const size_t word = skip_capitals(text, end, begin);
        if (word == begin)
            break;
        words++;
        common = common || (word - begin <= 4 && is_sign(text + begin, word - begin));
        longest = word - begin > longest ? word - begin : longest;
        shortest = word - begin < shortest ? word - begin : shortest;
        row = begin = word;
        while (begin < end && strchr(",.:;!?\"-", text[begin]))
            begin++;
        if (begin == end || text[begin] != ' ')
            break;
        while (begin < end && (text[begin] == ' ' || text[begin] == '"' || text[begin] == '-'))
            begin++;
    }
    *sure = (words >= 2 && (longest >= 5 || common)) || (words >= 4 && shortest <= 2);
    return row;
}

static bool begins_word(const char *text, size_t begin, size_t at)
{
    return at == begin || is_mark(text[at - 1]);
}

/* Where a row of words in capitals begins in text[begin .. end); end: there is none. *row: its end. label: a word alone is
 * none, as more follows. */
static size_t find_capital_row(const char *text, size_t begin, size_t end, bool label, size_t *row)
{
    if ((*row = skip_sign(text, begin, end, label)) > begin)
        return begin;
    for (size_t at = begin; at<end; at = *row> at ? *row : at + 1) {
        bool sure = false;
        *row = begins_word(text, begin, at) ? skip_capital_row(text, end, at, &sure) : at;
        if (sure)
            return at;
    }
    return *row = end;
}

bool tr_is_in_capitals(const tr_protection *protection, const char *text, const tr_kept_span *spans, size_t count,
                       size_t begin, size_t end)
{
    const tr_scripts cased =
        tr_script_bit(TR_LATIN) | tr_script_bit(TR_GREEK) | tr_script_bit(TR_CYRILLIC) | tr_script_bit(TR_ARMENIAN);
    size_t at = begin, row;
    if (!protection || !(protection->source & tr_script_bit(TR_LATIN)) || !protection->target || protection->target & cased)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (spans[i].begin > at && find_capital_row(text, at, spans[i].begin, true, &row) < spans[i].begin)
            return true;
        at = spans[i].end;
    }
    return at < end && find_capital_row(text, at, end, count > 0, &row) < end;
}

/* Words that keep their capital in small letters. */
static bool is_capitalised(const char *word, size_t size)
{
    static const char names[] =
        " I MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY SUNDAY JANUARY FEBRUARY MARCH APRIL JUNE "
        "JULY AUGUST SEPTEMBER OCTOBER NOVEMBER DECEMBER CHRISTMAS ";
    return is_listed(names, word, size);
}

bool tr_append_small(const char *text, size_t begin, size_t end, bool first, tr_buffer *out)
{
    const size_t from = out->size;
    size_t row;
    if (!tr_buffer_append(out, text + begin, end - begin))
        return false;
    for (size_t at = begin; (at = find_capital_row(text, at, end, false, &row)) < end; at = row)
        for (size_t i = at; i < row; i++) {
            size_t word = i;
            while (word < row && tr_is_ascii_capital(text[word]))
                word++;
            if (word == i)
                continue;
            const bool sentence = first && i == begin && skip_sign(text, begin, end, false) == begin;
            const bool kept = sentence || is_capitalised(text + i, word - i);
            for (size_t k = i + kept; k < word; k++)
                out->data[from + (k - begin)] = (char)(text[k] | 0x20);
            i = word - 1;
        }
    return true;
}
