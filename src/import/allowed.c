#include "import/allowed.h"

#include "util/utf8.h"

#include <string.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>

enum { SPACE_PIECE = 3, BYTE_PIECE = 6 };

/* -------------------------------------------------------------------------------------------------------------- scripts */

static bool add_script(tr_scripts *scripts, int code)
{
    for (int i = 0; i < scripts->count; i++)
        if (scripts->codes[i] == code)
            return true;
    if (scripts->count == TR_MAX_SCRIPTS)
        return false;
    scripts->codes[scripts->count++] = code;
    return true;
}

/* Writing systems that are no character's own script. */
static bool add_system(tr_scripts *scripts, int code)
{
    switch (code) {
    case USCRIPT_SIMPLIFIED_HAN:
    case USCRIPT_TRADITIONAL_HAN: return add_script(scripts, USCRIPT_HAN);
    case USCRIPT_JAPANESE:
        return add_script(scripts, USCRIPT_HAN) && add_script(scripts, USCRIPT_HIRAGANA) &&
               add_script(scripts, USCRIPT_KATAKANA);
    case USCRIPT_KOREAN: return add_script(scripts, USCRIPT_HANGUL) && add_script(scripts, USCRIPT_HAN);
    default: return code > USCRIPT_INHERITED && add_script(scripts, code);
    }
}

/* ICU has names of scripts and of languages in one table: "Cyrl" and "ru" are Cyrillic. */
static bool add_named(tr_scripts *scripts, const char *name)
{
    UScriptCode codes[TR_MAX_SCRIPTS];
    UErrorCode problem = U_ZERO_ERROR;
    const int count = uscript_getCode(name, codes, TR_MAX_SCRIPTS, &problem);
    /* a default of the machine's own language is no answer */
    bool known = U_SUCCESS(problem) && problem != U_USING_DEFAULT_WARNING && count > 0;
    for (int i = 0; known && i < count; i++)
        known = add_system(scripts, codes[i]);
    return known;
}

bool tr_scripts_of_language(const char *code, tr_scripts *scripts)
{
    char name[32];
    const size_t size = strlen(code);
    *scripts = (tr_scripts){0};
    if (size == 0 || size >= sizeof name)
        return false;
    for (size_t i = 0; i <= size; i++)
        name[i] = code[i] == '-' ? '_' : code[i];
    return add_named(scripts, name) && add_script(scripts, USCRIPT_LATIN);
}

bool tr_scripts_parse(const char *names, tr_scripts *scripts)
{
    *scripts = (tr_scripts){0};
    for (const char *at = names;; at++) {
        char name[32];
        const size_t size = strcspn(at, ",");
        if (size < 3 || size >= sizeof name) /* two letters are a language */
            return false;
        memcpy(name, at, size);
        name[size] = 0;
        if (u_getPropertyValueEnum(UCHAR_SCRIPT, name) == UCHAR_INVALID_CODE || !add_named(scripts, name))
            return false;
        at += size;
        if (!*at)
            return true;
    }
}

/* Common, inherited and unassigned characters belong to no script. */
static bool has_script(int32_t c)
{
    UErrorCode problem = U_ZERO_ERROR;
    const UScriptCode script = uscript_getScript(c, &problem);
    return script > USCRIPT_INHERITED && script != USCRIPT_UNKNOWN;
}

static bool is_of(const tr_scripts *scripts, int32_t c)
{
    for (int i = 0; i < scripts->count; i++)
        if (uscript_hasScript(c, (UScriptCode)scripts->codes[i]))
            return true;
    return false;
}

/* --------------------------------------------------------------------------------------------------------------- pieces */

/* A piece without a leading "▁" or a trailing "@@". */
static tr_piece bare(const char *piece, size_t size)
{
    if (size > SPACE_PIECE && memcmp(piece, "\xe2\x96\x81", SPACE_PIECE) == 0)
        piece += SPACE_PIECE, size -= SPACE_PIECE;
    if (size > 2 && memcmp(piece + size - 2, "@@", 2) == 0)
        size -= 2;
    return (tr_piece){piece, (uint32_t)size};
}

static bool is_single(tr_piece piece)
{
    size_t length;
    return piece.size && tr_utf8_decode(piece.data, piece.size, &length) >= 0 && length == piece.size;
}

bool tr_scripts_spell(const tr_scripts *scripts, const char *piece, size_t size)
{
    const tr_piece inner = bare(piece, size);
    const bool single = is_single(inner);
    for (size_t i = 0, length; i < inner.size; i += length) {
        const int32_t c = tr_utf8_decode(inner.data + i, inner.size - i, &length);
        const bool symbol = single && uscript_hasScript(c, USCRIPT_GREEK);
        if (c >= 0 && !symbol && has_script(c) && !is_of(scripts, c))
            return false;
    }
    return true;
}

/* "<0x4F>" */
static bool is_byte(tr_piece piece)
{
    return piece.size == BYTE_PIECE && memcmp(piece.data, "<0x", 3) == 0 && piece.data[BYTE_PIECE - 1] == '>';
}

void tr_allow_scripts(const tr_vocabulary *vocabulary, const tr_scripts *scripts, bool *marks)
{
    for (size_t id = 0; id < vocabulary->size; id++) {
        const tr_piece piece = vocabulary->pieces[id];
        marks[id] |= piece.data && (is_byte(piece) || tr_scripts_spell(scripts, piece.data, piece.size));
    }
}

void tr_allow_characters(const tr_vocabulary *vocabulary, const tr_scripts *scripts, bool *marks)
{
    for (size_t id = 0; id < vocabulary->size; id++) {
        const tr_piece piece = vocabulary->pieces[id];
        marks[id] |= piece.data && (is_byte(piece) || (is_single(bare(piece.data, piece.size)) &&
                                                       tr_scripts_spell(scripts, piece.data, piece.size)));
    }
}

/* --------------------------------------------------------------------------------------------------------------- census */

void tr_script_count(tr_script_census *census, const char *text, size_t size)
{
    for (size_t i = 0, length; i < size; i += length) {
        UErrorCode problem = U_ZERO_ERROR;
        const int32_t c = tr_utf8_decode(text + i, size - i, &length);
        if (c >= 0 && has_script(c))
            census->letters[uscript_getScript(c, &problem) % (int)(sizeof census->letters / sizeof *census->letters)]++;
    }
}

tr_scripts tr_scripts_of_census(const tr_script_census *census)
{
    enum { SHARE = 100, CODES = sizeof census->letters / sizeof *census->letters };
    tr_scripts scripts = {0};
    uint64_t all = 0;
    for (int code = 0; code < CODES; code++)
        all += census->letters[code];
    for (int code = 0; code < CODES; code++)
        if (census->letters[code] && census->letters[code] >= all / SHARE && !add_script(&scripts, code))
            break;
    return scripts;
}
