/* Sources beside their translations, in place of the document: for proof-readers (TSV) and translation memories (TMX). */
#include "document/marks.h"
#include "document/pairs.h"
#include "document/xml_reader.h"

#include <string.h>

typedef struct pair_writer {
    const tr_document_source *source;
    const tr_document_sink *sink;
    bool tmx;
    size_t unit; /* the number of the next one */
    tr_marked_text marked;
    tr_buffer parts, plain, line, clean;
} pair_writer;

/* Appends a word that is not translated as it is in the document, without tags. */
static bool append_word(const tr_document *d, const tr_piece *piece, tr_buffer *plain)
{
    const char *at = d->data + piece->begin, *end = d->data + piece->end;
    while (at < end) {
        const char *tag = memchr(at, '<', (size_t)(end - at)), *tag_end = tag ? memchr(tag, '>', (size_t)(end - tag)) : NULL;
        if (!tag_end)
            return tr_buffer_append(plain, at, (size_t)(end - at));
        if (!tr_buffer_append(plain, at, (size_t)(tag - at)))
            return false;
        at = tag_end + 1;
    }
    return true;
}

/* Sets w->plain to a text without marks. */
static bool make_plain(pair_writer *w, const tr_document *d, const tr_unit *unit, const char *text, size_t size)
{
    bool good = tr_unit_parts(d, unit, &w->marked, text, size, &w->parts);
    const tr_part *parts = (const tr_part *)w->parts.data;
    tr_buffer_clear(&w->plain);
    for (size_t i = 0; good && i < w->parts.size / sizeof *parts; i++) {
        if (parts[i].kind == TR_PIECE_TEXT)
            good = tr_buffer_append(&w->plain, parts[i].text, parts[i].size);
        else if (parts[i].kind == TR_PIECE_WORD)
            good = append_word(d, parts[i].piece, &w->plain);
    }
    return good && tr_buffer_append(&w->plain, "", 0);
}

/* A field of TSV is on one line. */
static bool append_field(tr_buffer *line, const tr_buffer *text)
{
    const size_t begin = line->size;
    if (!tr_buffer_append(line, text->data, text->size))
        return false;
    for (size_t i = begin; i < line->size; i++)
        if (strchr("\t\n\r", line->data[i]))
            line->data[i] = ' ';
    return true;
}

static bool append_segment(tr_buffer *line, const char *language, const tr_buffer *text)
{
    return tr_buffer_string(line, "<tuv xml:lang=\"") && tr_xml_encode_value(language, strlen(language), line) &&
           tr_buffer_string(line, "\"><seg>") && tr_xml_encode_value(text->data, text->size, line) &&
           tr_buffer_string(line, "</seg></tuv>");
}

/* "und" is the code of an unknown language. */
static const char *language_or_unknown(const char *language)
{
    return language ? language : "und";
}

static bool append_side(pair_writer *w, const tr_document *d, bool target)
{
    if (!w->tmx)
        return append_field(&w->line, &w->plain) && tr_buffer_string(&w->line, target ? "\n" : "\t");
    return (target || tr_buffer_string(&w->line, "<tu>")) &&
           append_segment(&w->line, language_or_unknown(target ? d->settings.target_language : d->settings.source_language),
                          &w->plain) &&
           (!target || tr_buffer_string(&w->line, "</tu>\n"));
}

static tr_status write_units(pair_writer *w, const tr_document *d, tr_error *error)
{
    const tr_unit *units = (const tr_unit *)d->units.data;
    const tr_member *members = (const tr_member *)(const void *)d->members.data;
    tr_status status = TR_OK;
    for (size_t i = 0; status == TR_OK && i < d->units.size / sizeof *units; i++) {
        tr_document_translation translation;
        status = w->source->next(w->source->argument, w->unit++, &translation, error);
        if (status != TR_OK)
            return status;
        tr_buffer_clear(&w->line);
        if (!tr_unit_marked_text(d, &units[i], &w->marked))
            return tr_fail_memory(error, d->name);
        if (translation.size == w->marked.text.size && memcmp(translation.text, w->marked.text.data, translation.size) == 0)
            continue; /* it is no translation */
        if (!tr_translation_clean(&translation, &w->clean) ||
            !make_plain(w, d, &units[i], w->marked.text.data, w->marked.text.size) || !append_side(w, d, false) ||
            !make_plain(w, d, &units[i], translation.text, translation.size) || !append_side(w, d, true))
            return tr_fail_memory(error, d->name);
        status = w->sink->write(w->sink->argument, w->line.data, w->line.size, error);
    }
    for (size_t i = 0; status == TR_OK && i < d->members.size / sizeof *members; i++)
        status = write_units(w, members[i].document, error);
    return status;
}

static tr_status write_head(pair_writer *w, const tr_document *d, tr_error *error)
{
    tr_buffer_clear(&w->line);
    const char *source = language_or_unknown(d->settings.source_language);
    if (!tr_buffer_string(&w->line, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<tmx version=\"1.4\">\n"
                                    "<header creationtool=\"translate\" creationtoolversion=\"" TR_BUILD
                                    "\" segtype=\"block\" o-tmf=\"translate\" adminlang=\"en\" datatype=\"plaintext\" "
                                    "srclang=\"") ||
        !tr_xml_encode_value(source, strlen(source), &w->line) || !tr_buffer_string(&w->line, "\"/>\n<body>\n"))
        return tr_fail_memory(error, d->name);
    return w->sink->write(w->sink->argument, w->line.data, w->line.size, error);
}

tr_status tr_document_write_pairs(const tr_document *document, const tr_document_source *source,
                                  const tr_document_sink *sink, tr_error *error)
{
    static const char tail[] = "</body>\n</tmx>\n";
    pair_writer w = {.source = source, .sink = sink, .tmx = strcmp(document->settings.pairs, "tmx") == 0};
    tr_status status = w.tmx ? write_head(&w, document, error) : TR_OK;
    if (status == TR_OK)
        status = write_units(&w, document, error);
    if (status == TR_OK && w.tmx)
        status = sink->write(sink->argument, tail, sizeof tail - 1, error);
    tr_marked_text_free(&w.marked);
    tr_buffer_free(&w.parts);
    tr_buffer_free(&w.plain);
    tr_buffer_free(&w.line);
    tr_buffer_free(&w.clean);
    return status;
}
