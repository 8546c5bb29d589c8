/* What reading and writing of subtitles share. */
#ifndef TR_DOCUMENT_SUBTITLES_H
#define TR_DOCUMENT_SUBTITLES_H

#include "document/format.h"

enum {
    TR_MAX_JOINED_CUES = 8, /* of a unit; between their texts is a SKIP */
    TR_DASH_BYTES = 0xff,   /* tr_unit.style: size of the dash before a unit, with its space */
};

/* The functions of the formats: tr_document_format. */
bool tr_subtitles_decode_vtt(const tr_document *document, const tr_unit *unit, uint32_t begin, uint32_t end,
                             tr_buffer *text);
tr_status tr_subtitles_render(const tr_document *document, const tr_rendering *rendering, tr_buffer *out, tr_error *error);

/* Characters. */
static inline bool tr_is_subtitle_dash(int32_t c)
{
    return c == '-' || (c >= 0x2010 && c <= 0x2015) || c == 0x2212;
}

static inline bool tr_is_note(int32_t c)
{
    return c >= 0x2669 && c <= 0x266c;
}

static inline bool tr_ends_subtitle(int32_t c)
{
    return tr_is_full_stop(c) || tr_is_bang(c) || tr_is_strong_mark(c) || tr_is_ellipsis(c) || tr_is_closer(c) ||
           tr_is_note(c) || c == '"' || c == '\'' || c == 0x61f || c == 0x6d4 || c == 0x964;
}

#endif
