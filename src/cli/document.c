#define _GNU_SOURCE
#include "cli/document.h"

#include "cli/signals.h"
#include "tokenizer/language_codes.h"
#include "util/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------------------------- options */

/* An option whose input or output is lines, whatever the name of the input says. */
static const char *needs_lines(const cli_settings *s)
{
    return s->json                      ? "--json"
           : s->stream                  ? "--stream"
           : s->scores                  ? "--scores"
           : s->alignment               ? "--alignment"
           : s->prefix                  ? "--prefix"
           : s->search.n_best > 1       ? "--n-best"
           : s->search.alternatives     ? "--alternatives"
           : s->protect == false        ? "--protect off"
           : s->split == TR_SPLIT_NEVER ? "--split never"
           : s->tokens                  ? "--tokens"
           : s->tsv                     ? "--tsv"
                                        : NULL;
}

/* --format: a format's name, or the end of a file's name. */
static const char *named_format(const char *name)
{
    char path[32];
    for (size_t i = 0; tr_document_format_name(i); i++)
        if (strcmp(tr_document_format_name(i), name) == 0)
            return tr_document_format_name(i);
    snprintf(path, sizeof path, ".%s", name);
    return strlen(name) + 2 < sizeof path ? tr_document_find_format(path) : NULL;
}

const char *cli_document_format(const cli_settings *s)
{
    const bool file = s->input && strcmp(s->input, "-") != 0 && !s->tokens && !s->tsv; /* which say what the input is */
    const char *format = s->format ? named_format(s->format) : file ? tr_document_find_format(s->input) : NULL;
    const bool units = s->paragraphs || s->bilingual; /* what plain lines have not */
    return format && (units || strcmp(format, "text") != 0) ? format : units ? "text" : NULL;
}

/* "tsv" or "tmx": --bilingual with the name of an output that is no document of this format. */
static const char *output_pairs(const cli_settings *s, const char *format)
{
    const bool beside = s->bilingual && s->output;
    return !beside                                                         ? NULL
           : tr_ends_with(s->output, ".tmx")                               ? "tmx"
           : tr_ends_with(s->output, ".tsv") && strcmp(format, "tsv") != 0 ? "tsv"
                                                                           : NULL;
}

static int refuse_format(const cli_settings *s)
{
    char list[256] = "";
    for (size_t i = 0; tr_document_format_name(i); i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? " " : "", tr_document_format_name(i));
    return cli_usage(s, "--format %s: is none of %s (a JSON object for each line of output: --json)", s->format, list);
}

/* The output's name says another format. */
static int check_output(const cli_settings *s, const char *format)
{
    const char *output = s->output ? tr_document_find_format(s->output) : NULL;
    if (s->output && tr_ends_with(s->output, ".pdf"))
        output = "pdf";
    if (s->output && tr_ends_with(s->output, ".tmx"))
        output = "tmx";
    if (!output || s->format || strcmp(output, format) == 0 || output_pairs(s, format))
        return CLI_DONE;
    if (strcmp(output, "tmx") == 0)
        return cli_usage(s, "--output %s: needs --bilingual", s->output);
    return cli_usage(s, "--output %s: the translation of a document of format %s is one as well; name it so", s->output,
                     format);
}

/* Options that only some formats follow. */
static int check_own_options(const cli_settings *s, const char *format)
{
    const unsigned traits = tr_document_traits(format);
    const struct {
        bool given;
        unsigned trait;
        const char *option, *formats;
    } own[] = {{s->columns != NULL, TR_DOCUMENT_COLUMNS, "columns", "csv tsv"},
               {s->keys != NULL, TR_DOCUMENT_KEYS, "keys", "json yaml"},
               {s->line_width > 0, TR_DOCUMENT_WIDTH, "line-width", "srt vtt"},
               {s->bilingual && !(format && output_pairs(s, format)), TR_DOCUMENT_BILINGUAL, "bilingual",
                "docx epub html markdown srt text vtt; for others -o FILE.tmx or FILE.tsv"}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i].given && !(traits & own[i].trait))
            return cli_usage(s, "--%s: only for documents of these formats: %s", own[i].option, own[i].formats);
    return CLI_DONE;
}

static int check_one(const cli_settings *s)
{
    if (s->format && !named_format(s->format))
        return refuse_format(s);
    const char *format = cli_document_format(s), *lines = needs_lines(s);
    if (format && lines)
        return cli_usage(s, "%s: not with documents (%s); --format text reads lines", lines, format);
    const int status = check_own_options(s, format);
    return status || !format ? status : check_output(s, format);
}

int cli_document_check(const cli_settings *s)
{
    int status = s->output_dir ? CLI_DONE : check_one(s);
    for (int i = 0; !status && s->output_dir && i < s->argument_count; i++) {
        cli_settings own = *s;
        own.input = s->arguments[i];
        status = check_one(&own);
    }
    return status;
}

bool cli_document_doubts(const char *format)
{
    return tr_document_traits(format) & TR_DOCUMENT_DOUBTS;
}

/* ------------------------------------------------------------------------------------------------------------- opening */

/* A code of a model as documents write it: zh-Hans for zho_Hans, en for eng_Latn. */
static const char *document_language(const char *code, char out[16])
{
    char base[4], script[5];
    if (!code || !*code || !tr_language_base(code, base))
        return NULL;
    tr_language_script(code, script);
    snprintf(out, 16, "%s", base);
    if (strcmp(base, "zh") == 0 && *script)
        snprintf(out, 16, "%s-%s", base, strcmp(script, "hant") == 0 ? "Hant" : "Hans");
    return out;
}

int cli_document_open(cli_document *d, const cli_settings *settings, cli_reader *reader, tr_buffer *text, const char *source,
                      const char *target)
{
    const char *format = cli_document_format(settings), *data = text->data ? text->data : "";
    const char *name = settings->argument_count && !settings->output_dir ? "TEXT" : reader->name;
    const unsigned traits = tr_document_traits(format);
    const uint64_t content = settings->max_content ? (uint64_t)settings->max_content << 20 : TR_DOCUMENT_CONTENT;
    const uint64_t limit = traits & TR_DOCUMENT_LIMITED && content < UINT32_MAX ? content : UINT32_MAX - 1;
    size_t size = text->size;
    tr_error error;
    *d = (cli_document){.settings = settings, .name = name, .decoder = &reader->decoder};
    if (reader->descriptor >= 0 && cli_reader_all(reader, traits & TR_DOCUMENT_ZIPPED, limit, &data, &size))
        return CLI_FAILED;
    const tr_document_settings how = {.format = format,
                                      .source_language = document_language(source, d->languages[0]),
                                      .target_language = document_language(target, d->languages[1]),
                                      .columns = settings->columns,
                                      .keys = settings->keys,
                                      .bilingual = settings->bilingual,
                                      .pairs = output_pairs(settings, format),
                                      .paragraphs = settings->paragraphs,
                                      .line_width = settings->line_width,
                                      .max_content = content};
    if (tr_document_load(&d->module, &d->handle, &error))
        return cli_fail("%s (--format text reads lines)", error.message);
    if (d->module->read(name, data, size, &how, &d->document, &error))
        return strcmp(name, "TEXT") == 0 && strcmp(format, "json") == 0
                   ? cli_fail("%s (a JSON object for each line of output: --json)", error.message)
                   : cli_fail_error(&error);
    d->count = d->module->count(d->document);
    return CLI_DONE;
}

void cli_document_close(cli_document *d)
{
    if (d->document)
        d->module->close(d->document);
    tr_document_unload(d->handle);
    tr_buffer_free(&d->texts);
    free(d->lines);
    *d = (cli_document){0};
}

/* --------------------------------------------------------------------------------------------------------------- lines */

static bool add_line(cli_document *d, size_t count, size_t size)
{
    if (count == d->capacity) {
        const size_t capacity = d->capacity ? d->capacity * 2 : 64;
        cli_line *lines = realloc(d->lines, capacity * sizeof *lines);
        if (!lines)
            return false;
        d->lines = lines;
        d->capacity = capacity;
    }
    d->lines[count] = (cli_line){NULL, size, false};
    return true;
}

int cli_document_next(cli_document *d, size_t max_lines, size_t max_bytes, const cli_line **lines, size_t *count)
{
    size_t n = 0;
    tr_buffer_clear(&d->texts);
    for (; n < max_lines && d->next < d->count && d->texts.size < max_bytes; n++, d->next++) {
        const size_t begin = d->texts.size;
        tr_error error;
        if (d->module->text(d->document, d->next, &d->texts, &error))
            return cli_fail_error(&error);
        if (!add_line(d, n, d->texts.size - begin))
            return cli_fail_memory();
    }
    const char *text = d->texts.data;
    for (size_t i = 0; i < n; i++) {
        d->lines[i].text = text;
        text += d->lines[i].size;
    }
    *lines = d->lines;
    *count = n;
    return CLI_DONE;
}

static bool append_escaped(const char *text, size_t size, tr_buffer *out)
{
    bool good = true;
    for (size_t i = 0; i < size && good;) {
        size_t end = i;
        while (end < size && text[end] != '\n' && text[end] != '\\')
            end++;
        good = tr_buffer_append(out, text + i, end - i) &&
               (end == size || tr_buffer_string(out, text[end] == '\n' ? "\\n" : "\\\\"));
        i = end + 1;
    }
    return good;
}

bool cli_document_line(unsigned flags, const char *before, const char *text, size_t size, tr_buffer *out)
{
    char number[16];
    snprintf(number, sizeof number, "%x ", flags);
    return tr_buffer_string(out, number) && append_escaped(before, strlen(before), out) && append_escaped(text, size, out) &&
           tr_buffer_append(out, "\n", 1);
}

/* ------------------------------------------------------------------------------------------------------------- writing */

/* The lines of all units, read one after the other. */
typedef struct unit_lines {
    const char *name;
    FILE *file;
    char *line;
    size_t capacity;
} unit_lines;

static tr_status next_line(void *argument, size_t unit, tr_document_translation *translation, tr_error *error)
{
    unit_lines *l = argument;
    const ssize_t size = getline(&l->line, &l->capacity, l->file);
    char *end, *to;
    (void)unit;
    if (cli_interrupted())
        return tr_fail(error, TR_ERROR_CANCELLED, "interrupted");
    if (size < 0 && !feof(l->file))
        return tr_fail(error, errno == ENOMEM ? TR_ERROR_MEMORY : TR_ERROR_IO, "%s: cannot be read again: %s", l->name,
                       strerror(errno));
    if (size <= 0 || l->line[size - 1] != '\n')
        return tr_fail(error, TR_ERROR_IO, "%s: has fewer lines than the document has texts", l->name);
    translation->flags = (unsigned)strtoul(l->line, &end, 16);
    translation->text = to = end + (*end == ' ');
    for (const char *from = to; *from != '\n'; to++) {
        const bool escaped = from[0] == '\\' && from[1] != '\n';
        *to = escaped && from[1] == 'n' ? '\n' : from[escaped];
        from += 1 + escaped;
    }
    translation->size = (size_t)(to - translation->text);
    return TR_OK;
}

static tr_status write_target(void *argument, const void *data, size_t size, tr_error *error)
{
    return tr_output_write(argument, data, size, error);
}

static tr_status write_stream(void *argument, const void *data, size_t size, tr_error *error)
{
    if (cli_output_write(argument, data, size))
        return tr_fail(error, TR_ERROR_CANCELLED, "not written"); /* there was a message */
    return TR_OK;
}

static tr_status write_all(cli_document *d, unit_lines *lines, const tr_document_sink *sink, tr_error *error)
{
    const tr_document_source source = {next_line, lines};
    tr_status status = TR_OK;
    if (d->decoder->marked)
        status = sink->write(sink->argument, "\xef\xbb\xbf", 3, error);
    return status == TR_OK ? d->module->write(d->document, &source, sink, error) : status;
}

/* To the file that replaces an older one. */
static tr_status write_file(cli_document *d, unit_lines *lines, cli_output *output, tr_error *error)
{
    tr_output file;
    tr_status status = tr_output_open(&file, output->name, error);
    if (status != TR_OK)
        return status;
    status = write_all(d, lines, &(tr_document_sink){write_target, &file}, error);
    if (status == TR_OK)
        return tr_output_commit(&file, error);
    tr_output_abort(&file);
    return status;
}

int cli_document_finish(cli_document *d, cli_output *output, const tr_buffer *kept)
{
    unit_lines lines = {.name = output->part ? output->part : output->name};
    tr_error error = {0};
    const int copy = output->part ? dup(output->descriptor) : -1;
    lines.file =
        output->part ? fdopen(copy, "r") : fmemopen(kept->size ? kept->data : " ", kept->size ? kept->size : 1, "r");
    if (!lines.file)
        return cli_fail_memory();
    rewind(lines.file);
    const tr_status status = output->part ? write_file(d, &lines, output, &error)
                                          : write_all(d, &lines, &(tr_document_sink){write_stream, output}, &error);
    free(lines.line);
    fclose(lines.file);
    if (status == TR_ERROR_CANCELLED)
        return CLI_FAILED;
    if (status != TR_OK)
        return cli_fail_error(&error);
    return cli_output_drop_part(output);
}
