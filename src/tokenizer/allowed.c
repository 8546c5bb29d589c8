#include "tokenizer/allowed.h"

#include "util/utf8.h"

#include <string.h>

enum { SPACE_PIECE = 3, BYTE_PIECE = 6 };

/* -------------------------------------------------------------------------------------------------------------- scripts */

tr_scripts tr_allowed_scripts(const char *code)
{
    const tr_scripts scripts = tr_scripts_of_language(code);
    return scripts ? scripts | tr_script_bit(TR_LATIN) : 0;
}

tr_scripts tr_scripts_parse(const char *names)
{
    tr_scripts scripts = 0;
    for (const char *at = names;; at++) {
        char name[32];
        const size_t size = strcspn(at, ",");
        if (size >= sizeof name)
            return 0;
        memcpy(name, at, size);
        name[size] = 0;
        const tr_scripts named = tr_scripts_named(name);
        if (!named)
            return 0;
        scripts |= named;
        at += size;
        if (!*at)
            return scripts;
    }
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

bool tr_scripts_spell(tr_scripts scripts, const char *piece, size_t size)
{
    const tr_piece inner = bare(piece, size);
    const bool single = is_single(inner);
    for (size_t i = 0, length; i < inner.size; i += length) {
        const int32_t c = tr_utf8_decode(inner.data + i, inner.size - i, &length);
        const tr_script script = tr_script_of(c);
        const bool symbol = single && script == TR_GREEK;
        if (script > TR_COMMON && !symbol && !(scripts & tr_script_bit(script)))
            return false;
    }
    return true;
}

/* "<0x4F>" */
static bool is_byte(tr_piece piece)
{
    return piece.size == BYTE_PIECE && memcmp(piece.data, "<0x", 3) == 0 && piece.data[BYTE_PIECE - 1] == '>';
}

void tr_allow_scripts(const tr_vocabulary *vocabulary, tr_scripts scripts, bool *marks)
{
    for (size_t id = 0; id < vocabulary->size; id++) {
        const tr_piece piece = vocabulary->pieces[id];
        marks[id] |= piece.data && (is_byte(piece) || tr_scripts_spell(scripts, piece.data, piece.size));
    }
}

void tr_allow_characters(const tr_vocabulary *vocabulary, tr_scripts scripts, bool *marks)
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
        const tr_script script = tr_script_of(tr_utf8_decode(text + i, size - i, &length));
        census->letters[script] += script > TR_COMMON;
    }
}

tr_scripts tr_scripts_of_census(const tr_script_census *census)
{
    enum { SHARE = 100 };
    tr_scripts scripts = 0;
    uint64_t all = 0;
    for (int script = 0; script < TR_SCRIPTS; script++)
        all += census->letters[script];
    for (int script = 0; script < TR_SCRIPTS; script++)
        if (census->letters[script] && census->letters[script] >= all / SHARE)
            scripts |= tr_script_bit(script);
    return scripts;
}
