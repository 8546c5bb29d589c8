#define _GNU_SOURCE
#include "serve/file_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "document/formats.h"
#include "util/utf8.h"

enum { MAX_NAME = 160 }; /* bytes; file systems take 255, with the language and escapes */

/* What some file system or shell gives a meaning. */
static bool is_special(char c)
{
    return strchr("/\\:*?\"<>|", c) != NULL;
}

char *file_name_clean(const char *name)
{
    tr_buffer b = {0};
    if (!tr_utf8_clean(name ? name : "", name ? strlen(name) : 0, &b)) {
        tr_buffer_free(&b);
        return NULL;
    }
    tr_utf8_make_printable(b.data);
    for (char *c = b.data; *c; c++)
        if (is_special(*c))
            *c = '_';
    const char *rest = b.data;
    if (strlen(rest) > MAX_NAME) /* the end tells the format */
        rest += strlen(rest) - MAX_NAME;
    while (((unsigned char)*rest & 0xC0) == 0x80 || *rest == '.' || *rest == ' ')
        rest++;
    char *const clean = strdup(*rest ? rest : "document");
    tr_buffer_free(&b);
    return clean;
}

char *file_name_translated(const char *name, const char *language)
{
    const char *const dot = strrchr(name, '.');
    const int base = dot ? (int)(dot - name) : (int)strlen(name);
    char *result;
    return asprintf(&result, "%.*s.%s%s", base, name, language, dot ? dot : "") < 0 ? NULL : result;
}

const char *file_name_type(const char *name)
{
    static const struct {
        const char *end, *type;
    } types[] = {
        {".csv", "text/csv; charset=utf-8"},
        {".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
        {".epub", "application/epub+zip"},
        {".htm", "text/html; charset=utf-8"},
        {".html", "text/html; charset=utf-8"},
        {".json", "application/json"},
        {".md", "text/markdown; charset=utf-8"},
        {".odp", "application/vnd.oasis.opendocument.presentation"},
        {".ods", "application/vnd.oasis.opendocument.spreadsheet"},
        {".odt", "application/vnd.oasis.opendocument.text"},
        {".pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
        {".srt", "application/x-subrip"},
        {".tsv", "text/tab-separated-values; charset=utf-8"},
        {".txt", "text/plain; charset=utf-8"},
        {".vtt", "text/vtt; charset=utf-8"},
        {".xhtml", "application/xhtml+xml"},
        {".xlf", "application/xliff+xml"},
        {".xliff", "application/xliff+xml"},
        {".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
        {".xml", "application/xml"},
        {".yaml", "application/yaml"},
        {".yml", "application/yaml"},
    };
    const char *const dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof *types; i++)
        if (strcasecmp(dot, types[i].end) == 0)
            return types[i].type;
    return "application/octet-stream";
}

bool file_name_escape(const char *name, tr_buffer *out)
{
    bool good = true;
    for (const char *c = name; *c && good; c++) {
        char escape[4];
        snprintf(escape, sizeof escape, "%%%02X", (unsigned char)*c);
        const bool plain = tr_is_ascii_word(*c) || strchr("-._~", *c);
        good = plain ? tr_buffer_append(out, c, 1) : tr_buffer_string(out, escape);
    }
    return good;
}

/* RFC 6266: a name in ASCII for old programs, and the name itself. */
bool file_name_disposition(const char *name, tr_buffer *out)
{
    bool good = tr_buffer_string(out, "attachment; filename=\"");
    for (const char *c = name; *c && good; c++) {
        const bool plain = tr_is_ascii_word(*c) || strchr("-._ ()", *c);
        good = tr_buffer_append(out, plain ? c : "_", 1);
    }
    return good && tr_buffer_string(out, "\"; filename*=UTF-8''") && file_name_escape(name, out);
}

#define EXTENSIONS(name, extensions, traits) extensions
json_t *file_name_endings(void)
{
    static const char all[] = TR_DOCUMENT_FORMATS(EXTENSIONS);
    json_t *const list = json_array();
    const char *from = all;
    for (size_t size; list && *(from += strspn(from, " ")); from += size) {
        char end[24] = ".";
        size = strcspn(from, " ");
        memcpy(end + 1, from, size < sizeof end - 1 ? size : sizeof end - 2);
        if (json_array_append_new(list, json_string(end)) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}
