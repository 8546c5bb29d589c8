/* libFuzzer target, compiled for each document format (TR_FORMAT): a document. What can be read can be written: with its own
 * texts it has the same units again, and with others it can be read. */
#include <stdlib.h>
#include <string.h>

#include "document/document.h"
#ifdef TR_PART
#include <zip.h>

#include "import/zip.h"
#endif

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void expect(bool good)
{
    if (!good)
        __builtin_trap();
}

static void append(tr_buffer *buffer, const void *data, size_t size)
{
    expect(tr_buffer_append(buffer, data, size));
}

static tr_buffer text_of(const tr_document *document, size_t unit)
{
    tr_buffer text = {0};
    append(&text, "", 0);
    expect(tr_document_text(document, unit, &text, NULL) == TR_OK);
    return text;
}

typedef struct translating {
    const tr_document *document;
    bool changes;
    tr_buffer text;
} translating;

/* The text itself; or, if it changes, with marks lost, doubled and across others. */
static tr_status next(void *argument, size_t unit, tr_document_translation *translation, tr_error *error)
{
    static const char *const insertions[] = {"<x1>", "</x1>",   "{x2}", "a",  "&<>\"'", "天",
                                             "\n",   "*_`[](#", "]]>",  "--", "\\"};
    translating *t = argument;
    (void)error;
    tr_buffer_free(&t->text);
    t->text = text_of(t->document, unit);
    for (size_t i = 0; t->changes && i < 4; i++) {
        const char *insertion = insertions[(unit * 7 + i * 3 + t->text.size) % (sizeof insertions / sizeof *insertions)];
        append(&t->text, insertion, strlen(insertion));
    }
    *translation = (tr_document_translation){t->text.data, t->text.size, (unsigned)(unit & 1) << 7};
    return TR_OK;
}

static tr_status keep(void *argument, const void *data, size_t size, tr_error *error)
{
    (void)error;
    append(argument, data, size);
    return TR_OK;
}

static tr_buffer written(const tr_document *document, bool changes)
{
    translating t = {document, changes, {0}};
    tr_buffer out = {0};
    append(&out, "", 0);
    expect(tr_document_write(document, &(tr_document_source){next, &t}, &(tr_document_sink){keep, &out}, NULL) == TR_OK);
    tr_buffer_free(&t.text);
    return out;
}

static void expect_same_units(const tr_document *a, const tr_document *b)
{
    expect(tr_document_count(a) == tr_document_count(b));
    for (size_t i = 0; i < tr_document_count(a); i++) {
        tr_buffer x = text_of(a, i), y = text_of(b, i);
        expect(x.size == y.size && memcmp(x.data, y.data, x.size) == 0);
        tr_buffer_free(&x);
        tr_buffer_free(&y);
    }
}

static void check_document(const unsigned char *data, size_t size)
{
    const unsigned bits = size ? data[size - 1] : 0; /* the document's last byte chooses settings as well */
    tr_document_settings settings = {.format = TR_FORMAT,
                                     .source_language = bits & 1 ? "zh" : NULL,
                                     .target_language = bits & 1 ? "en" : NULL,
                                     .paragraphs = bits & 2,
                                     .keys = bits & 4 ? "a,b.*" : NULL,
                                     .columns = bits & 8 ? "1,3-4" : NULL,
                                     .line_width = bits & 16 ? 20 : 0,
                                     .rewrite = true};
    tr_document *document, *again;
    if (tr_document_read("fuzz", (const char *)data, size, &settings, &document, NULL) != TR_OK)
        return;
    tr_buffer same = written(document, false), changed = written(document, true);
    expect(tr_document_read("same", same.data, same.size, &settings, &again, NULL) == TR_OK);
    expect_same_units(document, again);
    tr_document_close(again);
    expect(tr_document_read("changed", changed.data, changed.size, &settings, &again, NULL) == TR_OK);
    tr_document_close(again);
    tr_document_close(document);

    settings.bilingual = true;
    expect(tr_document_read("fuzz", (const char *)data, size, &settings, &document, NULL) == TR_OK);
    tr_buffer both = written(document, true);
    expect(tr_document_read("both", both.data, both.size, &settings, &again, NULL) == TR_OK);
    tr_document_close(again);
    tr_document_close(document);
    settings.pairs = bits & 2 ? "tmx" : "tsv";
    expect(tr_document_read("fuzz", (const char *)data, size, &settings, &document, NULL) == TR_OK);
    tr_buffer pairs = written(document, true);
    tr_document_close(document);
    tr_buffer_free(&pairs);
    tr_buffer_free(&same);
    tr_buffer_free(&changed);
    tr_buffer_free(&both);
}

/* Formats in archives: what is no archive is the part with the text of one, so that fuzzing reaches the XML in it. */
static void check_input(const unsigned char *data, size_t size)
{
#ifdef TR_PART
    static const char *const names[] = {TR_PART, "ppt/presentation.xml", "xl/workbook.xml"};
    const zip_fileinfo info = {0};
    tr_buffer archive = {0};
    tr_zip_output output;
    if (size < 2 || memcmp(data, "PK", 2) != 0) {
        zipFile zip = tr_zip_create(&output, &archive);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            expect(zipOpenNewFileInZip(zip, names[i], &info, NULL, 0, NULL, 0, NULL, 0, 0) == ZIP_OK);
            expect(i || zipWriteInFileInZip(zip, data, (unsigned)size) == ZIP_OK);
            expect(zipCloseFileInZip(zip) == ZIP_OK);
        }
        expect(zipClose(zip, size & 1 ? "1" : "0") == ZIP_OK); /* the last byte, which chooses settings */
        check_document((const unsigned char *)archive.data, archive.size);
        tr_buffer_free(&archive);
        return;
    }
#endif
    check_document(data, size);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    check_input(data, size);
    return 0;
}
