#define _GNU_SOURCE
#include "cli/encoding.h"

#include <dlfcn.h>
#include <errno.h>
#include <iconv.h>
#include <string.h>
#include <strings.h>

#include "cli/config.h"
#include "util/utf8.h"

void cli_decoder_free(cli_decoder *decoder)
{
    if (decoder->converts)
        iconv_close((iconv_t)decoder->converter);
    tr_buffer_free(&decoder->raw);
    decoder->converts = false;
}

/* --------------------------------------------------------------------------------------------------------- what is no text
 */

static const struct {
    const char *magic;
    size_t size, offset;
    const char *what; /* is, and what to do */
} binaries[] = {
    {"%PDF-1.", 7, 0, "is a PDF document: turn it into text first (pdftotext)"},
    {"%PDF-2.", 7, 0, "is a PDF document: turn it into text first (pdftotext)"},
    {"PK\x03\x04", 4, 0, "is a ZIP archive, or an office document: --format tells which (docx, pptx, xlsx, odt, epub)"},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8, 0, "is an old office document (doc, xls, ppt): save it as text first"},
    {"{\\rtf1", 6, 0, "is an RTF document: save it as text first"},
    {"\x89PNG\r\n\x1a\n", 8, 0, "is a PNG picture, not text"},
    {"\xff\xd8\xff", 3, 0, "is a JPEG picture, not text"},
    {"GIF87a", 6, 0, "is a GIF picture, not text"},
    {"GIF89a", 6, 0, "is a GIF picture, not text"},
    {"WEBP", 4, 8, "is a WebP picture, not text"},
    {"\x1f\x8b\x08", 3, 0, "is compressed: gzip -dc FILE | translate"},
    {"\xfd"
     "7zXZ",
     6, 0, "is compressed: xz -dc FILE | translate"},
    {"\x28\xb5\x2f\xfd", 4, 0, "is compressed: zstd -dc FILE | translate"},
    {"1AY&SY", 6, 4, "is compressed: bzip2 -dc FILE | translate"},
    {"7z\xbc\xaf\x27\x1c", 6, 0, "is a 7z archive: unpack it first"},
    {"Rar!\x1a\x07", 6, 0, "is a RAR archive: unpack it first"},
    {"GGUF\x02\0\0\0", 8, 0, "is a model, not text: give it with -m"},
    {"GGUF\x03\0\0\0", 8, 0, "is a model, not text: give it with -m"},
    {"SQLite format 3", 16, 0, "is a database, not text"},
    {"\x7f"
     "ELF",
     4, 0, "is a program, not text"},
};

/* What a beginning of bytes that are no text is; NULL: they may be text. */
static const char *binary_kind(const char *bytes, size_t size)
{
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
        if (size >= binaries[i].offset + binaries[i].size &&
            memcmp(bytes + binaries[i].offset, binaries[i].magic, binaries[i].size) == 0)
            return binaries[i].what;
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- recognising */

#if TR_STATIC
/* A static program loads no library. */
static bool guess(const char *bytes, size_t size, char *name, size_t room)
{
    (void)bytes, (void)size, (void)name, (void)room;
    return false;
}
#else
/* libuchardet guesses the encoding of a text. It is loaded when it is needed, if it is there. */
static bool guess(const char *bytes, size_t size, char *name, size_t room)
{
    void *library = dlopen("libuchardet.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
    void *(*create)(void) = (void *(*)(void))dlsym(library, "uchardet_new");
    int (*handle)(void *, const char *, size_t) =
        (int (*)(void *, const char *, size_t))dlsym(library, "uchardet_handle_data");
    void (*finish)(void *) = (void (*)(void *))dlsym(library, "uchardet_data_end");
    const char *(*charset)(void *) = (const char *(*)(void *))dlsym(library, "uchardet_get_charset");
    void (*destroy)(void *) = (void (*)(void *))dlsym(library, "uchardet_delete");
    bool found = false;
    if (create && handle && finish && charset && destroy) {
        void *detector = create();
        if (detector && handle(detector, bytes, size) == 0) {
            finish(detector);
            const char *is = charset(detector);
            found = is && *is && strlen(is) < room;
            if (found)
                strcpy(name, is);
        }
        if (detector)
            destroy(detector);
    }
    dlclose(library);
    return found;
}
#endif

/* Whether bytes are a text in an encoding, but for an incomplete character at their end. */
static bool is_valid_in(const char *encoding, const char *bytes, size_t size)
{
    iconv_t converter = iconv_open("UTF-8", encoding);
    char text[4096], *in = (char *)(uintptr_t)bytes;
    size_t left = size;
    bool valid = converter != (iconv_t)-1;
    while (valid && left) {
        char *out = text;
        size_t room = sizeof text;
        if (iconv(converter, &in, &left, &out, &room) == (size_t)-1 && errno != E2BIG) {
            valid = errno == EINVAL;
            break;
        }
    }
    if (converter != (iconv_t)-1)
        iconv_close(converter);
    return valid;
}

/* Characters of several bytes, and invalid parts, of what may be UTF-8. An incomplete character at the end counts as
 * neither. */
static void count_utf8(const char *bytes, size_t size, size_t *valid, size_t *invalid)
{
    size_t length;
    *valid = *invalid = 0;
    for (size_t at = 0; at < size; at += length) {
        const int32_t c = tr_utf8_decode(bytes + at, size - at, &length);
        *valid += c >= 0x80;
        *invalid += c < 0 && (size - at > 3 || at + length < size);
    }
}

/* Zeros at every other byte, and beside every line end: UTF-16 without a mark of its byte order. */
static const char *utf16_kind(const char *bytes, size_t size)
{
    size_t zeros[2] = {0, 0}, ends[2] = {0, 0}; /* line ends without a zero after or before them */
    for (size_t i = 0; i < size; i++) {
        zeros[i & 1] += !bytes[i];
        if (bytes[i] == '\n' && (i & 1 ? bytes[i - 1] : i + 1 < size ? bytes[i + 1] : 0))
            ends[i & 1]++;
    }
    const size_t least = size / 100 + 1;
    if (zeros[1] >= least && !zeros[0] && !ends[0])
        return "UTF-16LE";
    return zeros[0] >= least && !zeros[1] && !ends[1] ? "UTF-16BE" : NULL;
}

static bool is_chinese(const char *name)
{
    return strcasecmp(name, "GB2312") == 0 || strcasecmp(name, "GBK") == 0 || strcasecmp(name, "GB18030") == 0;
}

/* The encoding of bytes that are not ASCII alone; NULL: UTF-8, or at least nothing else. name: memory for it. */
static const char *recognise(const char *bytes, size_t size, char *name, size_t room)
{
    size_t valid, invalid;
    count_utf8(bytes, size, &valid, &invalid);
    if (valid && !invalid) /* a NUL or two do not make UTF-16 of it */
        return NULL;
    const char *wide = utf16_kind(bytes, size);
    if (wide)
        return wide;
    if (valid >= 2 * invalid)
        return NULL;
    if (guess(bytes, size, name, room) && strcasecmp(name, "UTF-8") != 0 && !is_chinese(name) &&
        strncasecmp(name, "WINDOWS-125", 11) != 0 && strncasecmp(name, "ISO-8859", 8) != 0 && is_valid_in(name, bytes, size))
        return name;
    return is_valid_in("GB18030", bytes, size) ? "GB18030" : NULL;
}

/* ----------------------------------------------------------------------------------------------------------- converting */

static int open_converter(cli_decoder *d, const char *encoding)
{
    const char *name = is_chinese(encoding) ? "GB18030" : encoding;
    iconv_t converter = iconv_open("UTF-8", name);
    if (converter == (iconv_t)-1)
        return cli_fail("--encoding %s: not known; iconv -l lists the encodings", encoding);
    d->converter = (void *)converter;
    d->converts = d->known = true;
    return CLI_DONE;
}

/* Byte order marks. Returns the bytes of a mark, and sets *encoding if it is not that of UTF-8. */
static size_t read_mark(const char *bytes, size_t size, const char **encoding)
{
    static const struct {
        const char *mark;
        size_t size;
        const char *encoding;
    } marks[] = {{"\xef\xbb\xbf", 3, NULL},   {"\xff\xfe\0\0", 4, "UTF-32LE"}, {"\0\0\xfe\xff", 4, "UTF-32BE"},
                 {"\xff\xfe", 2, "UTF-16LE"}, {"\xfe\xff", 2, "UTF-16BE"},     {"\x84\x31\x95\x33", 4, "GB18030"}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (size >= marks[i].size && memcmp(bytes, marks[i].mark, marks[i].size) == 0) {
            *encoding = marks[i].encoding;
            return marks[i].size;
        }
    return 0;
}

/* The first bytes of an input: what they are. *skipped: bytes that are no text. */
static int begin_input(cli_decoder *d, const char *bytes, size_t size, size_t *skipped)
{
    const char *wanted = d->settings->encoding, *kind = binary_kind(bytes, size), *marked = NULL;
    if (kind)
        return cli_fail("%s: %s", d->name, kind);
    *skipped = read_mark(bytes, size, &marked);
    d->marked = *skipped && !marked;
    d->begun = true;
    if (wanted && strcasecmp(wanted, "auto") != 0) {
        if (strcasecmp(wanted, "UTF-8") != 0 && strcasecmp(wanted, "UTF8") != 0)
            return open_converter(d, marked && strncasecmp(marked, wanted, strlen(wanted)) == 0 ? marked : wanted);
        d->known = true;
        return CLI_DONE;
    }
    d->known = *skipped > 0;
    return marked ? open_converter(d, marked) : CLI_DONE;
}

/* While nothing but ASCII has come: what the first other bytes are. */
static int look(cli_decoder *d, const char *bytes, size_t size)
{
    char name[64];
    size_t first = 0;
    while (first < size && bytes[first] && (unsigned char)bytes[first] < 0x80)
        first++;
    if (first == size)
        return CLI_DONE;
    const char *encoding = recognise(bytes, size, name, sizeof name);
    d->known = true;
    if (!encoding)
        return CLI_DONE;
    cli_warn(d->settings, "%s: read as %s; --encoding names another", d->name, encoding);
    return open_converter(d, encoding);
}

static int convert(cli_decoder *d, const char *bytes, size_t size, bool at_end, tr_buffer *out)
{
    if (size && !tr_buffer_append(&d->raw, bytes, size))
        return cli_fail_memory();
    char *in = d->raw.data;
    size_t left = d->raw.size;
    while (left) {
        if (!tr_buffer_reserve(out, left * 4 + 16))
            return cli_fail_memory();
        char *to = out->data + out->size;
        size_t room = left * 4 + 16;
        const size_t before = room;
        const size_t result = iconv((iconv_t)d->converter, &in, &left, &to, &room);
        out->size += before - room;
        if (result != (size_t)-1 || errno == E2BIG)
            continue;
        if (errno == EINVAL && !at_end)
            break;
        if (!tr_buffer_append(out, "\xff", 1)) /* becomes U+FFFD, with a warning */
            return cli_fail_memory();
        in++;
        left--;
    }
    if (left)
        memmove(d->raw.data, in, left);
    d->raw.size = left;
    return CLI_DONE;
}

int cli_decoder_take(cli_decoder *d, const char **text, size_t *size, bool at_end, tr_buffer *out)
{
    size_t skipped = 0;
    int status = CLI_DONE;
    if (!d->begun && *size)
        status = begin_input(d, *text, *size, &skipped);
    *text += skipped;
    *size -= skipped;
    if (!status && !d->known)
        status = look(d, *text, *size);
    if (status || !d->converts)
        return status;
    tr_buffer_clear(out);
    status = convert(d, *text, *size, at_end, out);
    *text = out->data;
    *size = out->size;
    return status;
}
