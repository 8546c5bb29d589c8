/* UTF-8 (RFC 3629), and small questions about text. */
#ifndef TR_UTIL_UTF8_H
#define TR_UTIL_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the first character of text, size > 0: returns its code point and sets *length to its bytes. Of invalid text,
 * returns -1 and sets *length to the maximal invalid part (Unicode 15, section 3.9: the bytes that one U+FFFD replaces). */
int32_t tr_utf8_decode(const char *text, size_t size, size_t *length);
/* Writes a code point and returns its number of bytes. */
size_t tr_utf8_encode(uint32_t code, char out[4]);

/* The number of bytes at the beginning of text that are valid UTF-8 without NUL. tr_utf8_clean (util/buffer.h) repairs the
 * rest. */
size_t tr_utf8_valid_prefix(const char *text, size_t size);
/* Whether text is valid UTF-8 without NUL. */
bool tr_utf8_valid(const char *text, size_t size);

/* Whether a code point neither controls a terminal nor misleads a reader: no control character, no invisible character that
 * changes the direction of writing, no line separator, and not -1, an invalid part. */
bool tr_utf8_is_printable(int32_t code);
/* Replaces by '?' in place all that is not printable. The string may become shorter. */
void tr_utf8_make_printable(char *text);

/* Whether text ends with `end`, or is the same. */
bool tr_ends_with(const char *text, const char *end);
/* Whether c is a lower-case ASCII letter. */
bool tr_is_small_letter(char c);

/* Other ASCII characters; a byte of a longer character is none. */
static inline bool tr_is_ascii_digit(int32_t c)
{
    return c >= '0' && c <= '9';
}

static inline bool tr_is_ascii_capital(int32_t c)
{
    return c >= 'A' && c <= 'Z';
}

static inline bool tr_is_ascii_letter(int32_t c)
{
    return (c >= 'a' && c <= 'z') || tr_is_ascii_capital(c);
}

static inline bool tr_is_ascii_word(int32_t c) /* a letter or digit */
{
    return tr_is_ascii_letter(c) || tr_is_ascii_digit(c);
}

static inline bool tr_is_identifier(int32_t c) /* a character of an identifier */
{
    return tr_is_ascii_word(c) || c == '_';
}

static inline bool tr_is_ascii_space(int32_t c) /* as HTML has it: a vertical tab is none */
{
    return c == ' ' || (c >= '\t' && c <= '\r' && c != '\v');
}

/* ------------------------------------------------------------------------------------------------- classes of characters */

typedef struct tr_char_range {
    int32_t first, last;
} tr_char_range;

/* Whether c is in one of count ranges, which are in ascending order. */
bool tr_in_ranges(int32_t c, const tr_char_range *ranges, size_t count);
#define TR_IN(c, ranges) tr_in_ranges(c, ranges, sizeof(ranges) / sizeof *(ranges))

/* Classes of characters that decide where a text may be split. Small tables: they know Chinese, Japanese and the scripts
 * with capital letters. */
bool tr_is_space(int32_t c); /* white space of any width, line breaks too, zero-width space and byte order mark */
bool tr_is_line_break(int32_t c);
bool tr_is_cjk(int32_t c);         /* Han, kana, hangul, their punctuation, full-width forms */
bool tr_is_lower(int32_t c);       /* lower-case Latin, Greek, Cyrillic */
bool tr_is_full_stop(int32_t c);   /* one mark of those that may be something else: 3.14, Mr. */
bool tr_is_bang(int32_t c);        /* ASCII and other exclamation and question marks that white space must follow */
bool tr_is_strong_mark(int32_t c); /* 。！？: the end of a sentence whatever follows */
bool tr_is_ellipsis(int32_t c);
bool tr_is_clause_mark(int32_t c);    /* ，、；：, and their ASCII kin */
bool tr_is_closer(int32_t c);         /* closing quotes and brackets, but not the ambiguous ASCII quotes */
int32_t tr_bracket_closer(int32_t c); /* the closing partner of an opening bracket, else 0 */
bool tr_is_quote_opener(int32_t c);   /* “ and its like */

/* The character at text[at..size) of valid UTF-8, and its bytes; 0 and 0 at the end. */
int32_t tr_character(const char *text, size_t size, size_t at, size_t *length);

/* Where the character that ends before text[at] starts; at > 0. */
size_t tr_character_before(const char *text, size_t at);

size_t tr_skip_space(const char *text, size_t size, size_t at); /* the first byte from at on that is no white space */
size_t tr_trim_space(const char *text, size_t from, size_t to); /* the end of text[from..to) without trailing space */
bool tr_is_white(int32_t c);                                    /* white space in Python: str.split(), \s */

#endif
