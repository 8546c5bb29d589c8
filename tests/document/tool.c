/* document-tool FORMAT list|write [NAME=VALUE...] < IN > OUT: units and documents without a model, for tests by scripts.
 *
 * list   prints the text of each unit in a line, with \n and \\ for line breaks and backslashes.
 * write  writes the document with translations from lines=FILE, which are written in the same way; without it, with each
 *        unit's own text, written anew.
 *
 * NAME: columns, keys, source, target, bilingual=1, paragraphs=1, width=N, content=N. */
#include "document/document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct lines {
    const tr_document *document;
    FILE *file; /* NULL: own texts */
    tr_buffer text;
} lines;

static tr_status next_line(void *argument, size_t unit, tr_document_translation *translation, tr_error *error)
{
    lines *l = argument;
    tr_status status = TR_OK;
    tr_buffer_clear(&l->text);
    if (!l->file)
        status = tr_document_text(l->document, unit, &l->text, error);
    for (int c; l->file && (c = getc(l->file)) != EOF && c != '\n';) {
        if (c == '\\')
            c = getc(l->file) == 'n' ? '\n' : '\\';
        if (!tr_buffer_append(&l->text, &(char){(char)c}, 1))
            status = tr_fail_memory(error, "tool");
    }
    *translation = (tr_document_translation){l->text.data, l->text.size, 0};
    return status;
}

static tr_status print(void *argument, const void *data, size_t size, tr_error *error)
{
    (void)argument;
    return fwrite(data, 1, size, stdout) == size ? TR_OK : tr_fail(error, TR_ERROR_IO, "standard output");
}

static tr_status list(const tr_document *document, tr_error *error)
{
    tr_status status = TR_OK;
    for (size_t i = 0; i < tr_document_count(document) && status == TR_OK; i++) {
        tr_buffer text = {0};
        status = tr_document_text(document, i, &text, error);
        for (size_t k = 0; k < text.size; k++)
            if (text.data[k] == '\n' || text.data[k] == '\\')
                fputs(text.data[k] == '\n' ? "\\n" : "\\\\", stdout);
            else
                putchar(text.data[k]);
        putchar('\n');
        tr_buffer_free(&text);
    }
    return status;
}

static bool read_all(FILE *file, tr_buffer *data)
{
    char block[1 << 16];
    size_t size;
    while ((size = fread(block, 1, sizeof block, file)) > 0)
        if (!tr_buffer_append(data, block, size))
            return false;
    return tr_buffer_append(data, "", 0);
}

int main(int argc, char **argv)
{
    tr_document_settings settings = {.format = argc > 2 ? argv[1] : NULL, .rewrite = true};
    tr_buffer data = {0};
    tr_document *document;
    tr_error error;
    lines l = {0};
    for (int i = 3; i < argc; i++) {
        const char *value = strchr(argv[i], '=') ? strchr(argv[i], '=') + 1 : "";
        const size_t size = (size_t)(value - argv[i]);
        if (strncmp(argv[i], "columns=", size) == 0)
            settings.columns = value;
        else if (strncmp(argv[i], "keys=", size) == 0)
            settings.keys = value;
        else if (strncmp(argv[i], "source=", size) == 0)
            settings.source_language = value;
        else if (strncmp(argv[i], "target=", size) == 0)
            settings.target_language = value;
        else if (strncmp(argv[i], "bilingual=", size) == 0)
            settings.bilingual = *value == '1';
        else if (strncmp(argv[i], "paragraphs=", size) == 0)
            settings.paragraphs = *value == '1';
        else if (strncmp(argv[i], "width=", size) == 0)
            settings.line_width = atoi(value);
        else if (strncmp(argv[i], "content=", size) == 0)
            settings.max_content = strtoull(value, NULL, 10);
        else if (strncmp(argv[i], "lines=", size) == 0)
            l.file = fopen(value, "r");
    }
    if (argc < 3 || !read_all(stdin, &data))
        return 2;
    tr_status status = tr_document_read("input", data.data, data.size, &settings, &document, &error);
    if (status == TR_OK && strcmp(argv[2], "list") == 0)
        status = list(document, &error);
    if (status == TR_OK && strcmp(argv[2], "write") == 0) {
        l.document = document;
        status = tr_document_write(document, &(tr_document_source){next_line, &l}, &(tr_document_sink){print, NULL}, &error);
    }
    if (status != TR_OK)
        fprintf(stderr, "%s\n", error.message);
    tr_document_close(document);
    tr_buffer_free(&l.text);
    tr_buffer_free(&data);
    if (l.file)
        fclose(l.file);
    return status == TR_OK ? 0 : 1;
}
