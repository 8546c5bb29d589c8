#include "formats/peek_tokens.h"

#include <string.h>

#include "util/utf8.h"

enum { TOKEN = TR_LANGUAGE + 4 }; /* bytes of the longest token of a language: ">>", its code, "<<" */

/* The token at text, that begins with open and ends with close; its size, 0 if there is none. */
static size_t token_at(const char *text, const char *end, const char *open, const char *close)
{
    const size_t before = strlen(open), behind = strlen(close);
    const size_t most = (size_t)(end - text) < TOKEN ? (size_t)(end - text) : TOKEN;
    if (most < before || memcmp(text, open, before) != 0)
        return 0;
    for (size_t i = before + 1; i + behind <= most; i++)
        if (memcmp(text + i, close, behind) == 0)
            return i + behind;
    return 0;
}

/* Not a part of a longer token: in JSON and YAML, quotation marks, white space or a colon are around it; in a SentencePiece
 * model, its size is before it. */
static bool is_whole(const char *token, size_t size, const char *begin, const char *end, bool pieces)
{
    if (pieces)
        return token > begin && (unsigned char)token[-1] == size;
    return (token == begin || memchr("\"'\n ", token[-1], 4)) &&
           (token + size == end || memchr("\"':\r\n ", token[size], 6));
}

tr_status tr_peek_tokens(const tr_directory *d, const char *file, const char *open, const char *close)
{
    const bool pieces = tr_ends_with(file, ".spm") || tr_ends_with(file, ".model");
    tr_bytes bytes;
    tr_status status = tr_package_file(d->package, d->path, file, TR_LOAD_MAP, &bytes, d->error);
    if (status != TR_OK)
        return status;
    const char *begin = bytes.data, *end = bytes.size ? begin + bytes.size : begin;
    for (const char *p = begin; status == TR_OK && p < end && (p = memchr(p, open[0], (size_t)(end - p))); p++) {
        const size_t size = token_at(p, end, open, close);
        if (size && is_whole(p, size, begin, end, pieces))
            status = tr_languages_add_target(&d->package->languages, open, p, size, 0, d->error);
    }
    tr_package_close_last(d->package);
    return tr_directory_in(d, status);
}
