#include "text/language_letters.h"

#include <ctype.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include "util/utf8.h"

/* Common languages by script, as ISO 639 codes of two and three letters. ICU knows the others. */
static const struct {
    UScriptCode scripts[TR_LETTER_SCRIPTS]; /* USCRIPT_COMMON ends them */
    const char *languages;
} table[] = {
    {{USCRIPT_HAN, USCRIPT_BOPOMOFO}, " zh zho chi cmn yue wuu lzh zht nan hak gan "},
    {{USCRIPT_HAN, USCRIPT_HIRAGANA, USCRIPT_KATAKANA}, " ja jpn "},
    {{USCRIPT_HANGUL, USCRIPT_HAN}, " ko kor "},
    {{USCRIPT_CYRILLIC},
     " ru rus uk ukr be bel bg bul mk mkd mac kk kaz ky kir tt tat ba bak tg tgk mn mon cv chv ce che os oss "},
    {{USCRIPT_CYRILLIC, USCRIPT_LATIN}, " sr srp "},
    {{USCRIPT_GREEK}, " el ell gre "},
    {{USCRIPT_ARABIC}, " ar ara arb arz apc fa fas per pes prs ur urd ps pus sd snd ug uig ckb ary acm "},
    {{USCRIPT_HEBREW}, " he heb iw yi yid "},
    {{USCRIPT_DEVANAGARI}, " hi hin mr mar ne nep npi sa san bho mai awa "},
    {{USCRIPT_BENGALI}, " bn ben as asm "},
    {{USCRIPT_GURMUKHI, USCRIPT_ARABIC}, " pa pan "},
    {{USCRIPT_GUJARATI}, " gu guj "},
    {{USCRIPT_ORIYA}, " or ory ori "},
    {{USCRIPT_TAMIL}, " ta tam "},
    {{USCRIPT_TELUGU}, " te tel "},
    {{USCRIPT_KANNADA}, " kn kan "},
    {{USCRIPT_MALAYALAM}, " ml mal "},
    {{USCRIPT_SINHALA}, " si sin "},
    {{USCRIPT_THAI}, " th tha "},
    {{USCRIPT_LAO}, " lo lao "},
    {{USCRIPT_KHMER}, " km khm "},
    {{USCRIPT_MYANMAR}, " my mya bur shn "},
    {{USCRIPT_GEORGIAN}, " ka kat geo "},
    {{USCRIPT_ARMENIAN}, " hy hye arm "},
    {{USCRIPT_ETHIOPIC}, " am amh ti tir "},
    {{USCRIPT_TIBETAN}, " bo bod tib dz dzo "},
    {{USCRIPT_LATIN},
     " en eng fr fra fre de deu ger es spa pt por it ita nl nld dut sv swe no nor nb nob nn nno da dan fi fin et est lv "
     "lav lt lit pl pol cs ces cze sk slk slo sl slv hr hrv bs bos hu hun ro ron rum tr tur vi vie id ind ms msa may zsm "
     "tl tgl fil ca cat gl glg eu eus baq ga gle cy cym wel is isl ice mt mlt sq sqi alb af afr sw swa eo epo la lat oc oci "
     "lb ltz ast ceb jv jav su sun ht hat so som ha hau yo yor ig ibo zu zul xh xho mg mlg gd gla br bre fy fry "},
};

/* The script that a code names after its language: "zho_Hans", "sr-Latn". */
static UScriptCode named_script(const char *code)
{
    const char *at = strpbrk(code, "-_");
    char name[5] = {0};
    for (; at; at = strpbrk(at + 1, "-_")) {
        size_t length = strcspn(at + 1, "-_.@");
        if (length == 4) {
            memcpy(name, at + 1, 4);
            /* these are systems of writing, of which characters have no property */
            if (strncmp(name, "Han", 3) == 0)
                return USCRIPT_HAN;
            const int value = u_getPropertyValueEnum(UCHAR_SCRIPT, name);
            if (value > USCRIPT_INHERITED && value != USCRIPT_JAPANESE && value != USCRIPT_KOREAN)
                return (UScriptCode)value;
        }
    }
    return USCRIPT_INVALID_CODE;
}

tr_letters tr_letters_of_language(const char *code)
{
    tr_letters found = {.count = 0};
    const size_t length = strcspn(code, "-_.@");
    const UScriptCode named = named_script(code);
    char word[6] = " ";
    if (named != USCRIPT_INVALID_CODE) {
        found.codes[found.count++] = named;
        return found;
    }
    if (length < 2 || length > 3)
        return found;
    for (size_t i = 0; i < length; i++)
        word[i + 1] = (char)tolower((unsigned char)code[i]);
    word[length + 1] = ' ';
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strstr(table[i].languages, word)) {
            while (found.count < TR_LETTER_SCRIPTS && table[i].scripts[found.count] != USCRIPT_COMMON) {
                found.codes[found.count] = table[i].scripts[found.count];
                found.count++;
            }
            return found;
        }
    UErrorCode problem = U_ZERO_ERROR;
    UScriptCode codes[TR_LETTER_SCRIPTS];
    const int known = uscript_getCode(code, codes, TR_LETTER_SCRIPTS, &problem);
    for (int i = 0; U_SUCCESS(problem) && problem != U_USING_DEFAULT_WARNING && i < known; i++)
        found.codes[found.count++] = codes[i];
    return found;
}

bool tr_is_any_letter(int32_t c)
{
    return c < 0x80 ? tr_is_ascii_letter(c) : u_isUAlphabetic(c);
}

bool tr_letters_have(const tr_letters *letters, int32_t c)
{
    UErrorCode problem = U_ZERO_ERROR;
    if (!tr_is_any_letter(c))
        return false;
    const UScriptCode script = c < 0x80 ? USCRIPT_LATIN : uscript_getScript(c, &problem);
    for (int i = 0; i < letters->count; i++)
        if (letters->codes[i] == (int)script)
            return true;
    return !letters->count;
}

bool tr_letters_in(const tr_letters *letters, const char *text, size_t size)
{
    size_t length;
    for (size_t at = 0; at < size; at += length)
        if (tr_letters_have(letters, tr_character(text, size, at, &length)))
            return true;
    return false;
}

bool tr_is_symbol(int32_t c)
{
    enum { SECTION = 0xa7, PARAGRAPH = 0xb6, DAGGER = 0x2020, BULLET = 0x2022, REFERENCE = 0x203b };
    /* ℃ and ㎡ are written in letters in other languages */
    if (c < 0x80 || c == 0x2103 || c == 0x2109 || (c >= 0x3300 && c <= 0x33ff))
        return false;
    const int8_t kind = u_charType(c);
    const bool bracket = (c >= 0x3010 && c <= 0x3011) || (c >= 0x3016 && c <= 0x3017); /* 【】〖〗 */
    return kind == U_OTHER_SYMBOL || kind == U_MATH_SYMBOL || c == SECTION || c == PARAGRAPH || c == REFERENCE || bracket ||
           (c >= DAGGER && c <= BULLET);
}

bool tr_is_currency_sign(int32_t c)
{
    return c >= 0x80 && u_charType(c) == U_CURRENCY_SYMBOL;
}

bool tr_is_pictograph(int32_t c)
{
    return c > 0xff && (u_hasBinaryProperty(c, UCHAR_EMOJI_PRESENTATION) || u_hasBinaryProperty(c, UCHAR_EMOJI_MODIFIER) ||
                        (c >= 0x1f000 && u_hasBinaryProperty(c, UCHAR_EXTENDED_PICTOGRAPHIC)));
}

bool tr_is_text_pictograph(int32_t c)
{
    return c >= 0xa9 && u_hasBinaryProperty(c, UCHAR_EXTENDED_PICTOGRAPHIC);
}
