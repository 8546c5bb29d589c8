#define _GNU_SOURCE
#include "cli/resume.h"

#include "cli/cli.h"
#include "cli/option_table.h"
#include "cli/signals.h"
#include "formats/xxh64.h"
#include "api/model.h"
#include "util/file.h"
#include "util/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION "version of translate: " /* begins every description */

enum { BLOCK = 1 << 18, MAX_DESCRIPTION = 1 << 20, READ_SIZE = 1 << 16 }; /* bytes */

/* ------------------------------------------------------------------------------------------------------------- content */

/* Hashes a file's bytes from an offset on. */
static int hash_descriptor(int descriptor, off_t from, const char *name, uint64_t *size, uint64_t *result)
{
    tr_xxh64 hash;
    ssize_t n = 1;
    char *block = malloc(BLOCK);
    int status = block ? CLI_DONE : cli_fail_memory();
    tr_xxh64_init(&hash);
    while (!status && n) {
        n = pread(descriptor, block, BLOCK, from + (off_t)hash.size);
        if (cli_interrupted())
            status = CLI_FAILED;
        else if (n < 0 && errno != EINTR)
            status = cli_fail("%s: cannot read: %s", name, strerror(errno));
        else if (n > 0)
            tr_xxh64_add(&hash, block, (size_t)n);
    }
    free(block);
    *size = hash.size;
    *result = tr_xxh64_result(&hash);
    return status;
}

static int hash_path(const char *path, uint64_t *size, uint64_t *result)
{
    int descriptor;
    tr_error error;
    if (tr_open_regular(&descriptor, AT_FDCWD, path, O_RDONLY, 0, &error))
        return cli_fail_error(&error);
    const int status = hash_descriptor(descriptor, 0, path, size, result);
    close(descriptor);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ describing */

/* Writes control characters and backslashes as \xHH, so that a value stays on its line. */
static bool add_text(tr_buffer *lines, const char *text)
{
    char code[5];
    bool good = true;
    for (; good && *text; text++) {
        const unsigned char c = (unsigned char)*text;
        const bool plain = c >= 0x20 && c != 0x7f && c != '\\';
        snprintf(code, sizeof code, "\\x%02x", c);
        good = plain ? tr_buffer_append(lines, text, 1) : tr_buffer_string(lines, code);
    }
    return good;
}

static bool add_format(tr_buffer *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool add_format(tr_buffer *lines, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return tr_buffer_string(lines, text);
}

static bool add_content(tr_buffer *lines, uint64_t size, uint64_t hash)
{
    return add_format(lines, "%" PRIu64 " bytes, xxh64 %016" PRIx64, size, hash);
}

static int describe_input(const cli_reader *reader, tr_buffer *lines)
{
    struct stat st;
    uint64_t size, hash;
    if (fstat(reader->descriptor, &st) < 0)
        return cli_fail("%s: %s", reader->name, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return tr_buffer_string(lines, "input: a stream\n") ? CLI_DONE : cli_fail_memory();
    const int status = hash_descriptor(reader->descriptor, reader->file_start, reader->name, &size, &hash);
    if (status)
        return status;
    return tr_buffer_string(lines, "input: ") && add_content(lines, size, hash) && tr_buffer_string(lines, "\n")
               ? CLI_DONE
               : cli_fail_memory();
}

/* Whether value is a word that stands in place of FILE. */
static bool is_word(const cli_option *o, const char *value)
{
    for (const cli_choice *c = o->choices; c && c->word; c++)
        if (strcmp(c->word, value) == 0)
            return true;
    return false;
}

static int add_option_text(const cli_option *o, const char *value, tr_buffer *lines)
{
    uint64_t size, hash;
    if (!tr_ends_with(o->value, "FILE") || is_word(o, value))
        return add_text(lines, value) ? CLI_DONE : cli_fail_memory();
    const int status = hash_path(value, &size, &hash);
    return status || add_content(lines, size, hash) ? status : cli_fail_memory();
}

static int add_list(const cli_option *o, const cli_list *list, tr_buffer *lines)
{
    int status = CLI_DONE;
    for (int i = 0; !status && i < list->count; i++) {
        status = i && !tr_buffer_string(lines, ", ") ? cli_fail_memory() : CLI_DONE;
        if (!status)
            status = add_option_text(o, list->values[i], lines);
    }
    return status;
}

static bool add_choice(const cli_option *o, int value, tr_buffer *lines)
{
    const cli_choice *c = o->choices;
    while (c->word && c->value != value)
        c++;
    return tr_buffer_string(lines, c->word ? c->word : "");
}

static size_t field_size(const cli_option *o)
{
    switch (o->kind) {
    case KIND_FLAG: return sizeof(bool);
    case KIND_TEXT: return sizeof(char *);
    case KIND_LIST: return sizeof(cli_list);
    case KIND_NUMBER:
    case KIND_CHOICE: return sizeof(int);
    case KIND_WHOLE: return sizeof(uint64_t);
    case KIND_REAL: return sizeof(float);
    case KIND_SERIES: return sizeof(cli_numbers);
    case KIND_EXPAND: break;
    }
    return 0;
}

static int add_value(const cli_option *o, const void *field, tr_buffer *lines)
{
    bool good = true;
    switch (o->kind) {
    case KIND_TEXT: return add_option_text(o, *(const char *const *)field, lines);
    case KIND_LIST: return add_list(o, field, lines);
    case KIND_FLAG: good = tr_buffer_string(lines, "on"); break;
    case KIND_NUMBER: good = add_format(lines, "%d", *(const int *)field); break;
    case KIND_CHOICE: good = add_choice(o, *(const int *)field, lines); break;
    case KIND_WHOLE: good = add_format(lines, "%" PRIu64, *(const uint64_t *)field); break;
    case KIND_REAL: good = add_format(lines, "%.9g", (double)*(const float *)field); break;
    case KIND_SERIES: /* bench alone has such options */
    case KIND_EXPAND: break;
    }
    return good ? CLI_DONE : cli_fail_memory();
}

/* Options that change the output and do not have their default value. */
static int describe_options(const cli_settings *settings, tr_buffer *lines)
{
    cli_settings defaults = cli_default_settings(settings->command);
    defaults.search.beam = 1; /* what --beam auto has become */
    int status = CLI_DONE;
    for (int i = 0; !status && i < cli_option_count; i++) {
        const cli_option *o = &cli_options[i];
        const void *field = (const char *)settings + o->offset;
        const bool relevant = (o->commands & settings->command->bit) && !(o->commands & CLI_NEUTRAL);
        if (!relevant || memcmp(field, (const char *)&defaults + o->offset, field_size(o)) == 0)
            continue;
        status = add_format(lines, "--%s: ", o->name) ? add_value(o, field, lines) : cli_fail_memory();
        if (!status && !tr_buffer_string(lines, "\n"))
            status = cli_fail_memory();
    }
    return status;
}

/* A GGUF file holds the checksum of its content. For others, all files of the model are read again, except --shortlist,
 * which has its own line. */
static int hash_model(const tr_package *package, const char *shortlist, uint64_t *result)
{
    tr_xxh64 all;
    int status = CLI_DONE;
    *result = package->checksum;
    if (package->has_checksum)
        return CLI_DONE;
    tr_xxh64_init(&all);
    const char *file = package->read.data, *end = file + package->read.size;
    for (; !status && file < end; file += strlen(file) + 1) {
        uint64_t content[2]; /* size, hash */
        if (shortlist && strcmp(file, shortlist) == 0)
            continue;
        status = hash_path(file, &content[0], &content[1]);
        if (!status)
            tr_xxh64_add(&all, content, sizeof content);
    }
    *result = tr_xxh64_result(&all);
    return status;
}

static int describe_model(const cli_settings *settings, const tr_model *model, const char *key, tr_buffer *lines)
{
    tr_model_info info;
    uint64_t hash;
    const int status = hash_model(&model->package, settings->shortlist, &hash);
    if (status)
        return status;
    tr_model_get_info(model, &info);
    /* The name of a directory is its path, which does not matter. */
    const char *name = model->package.has_checksum ? info.name : "";
    /* All CPUs give the same bits, except that bf16 sums differ on those that multiply bf16 themselves. */
    const char *cpu = strcmp(info.compute, "bf16") == 0 ? info.cpu : "";
    return tr_buffer_string(lines, key) && tr_buffer_string(lines, ": ") && add_text(lines, name) &&
                   add_format(lines, "%s%" PRIu64 " bytes, checksum %016" PRIx64, *name ? ", " : "", info.file_size, hash) &&
                   tr_buffer_string(lines, *cpu ? ", on " : "") && tr_buffer_string(lines, cpu)
               ? CLI_DONE
               : cli_fail_memory();
}

/* The model, its languages and its ensemble. */
static int describe_step(const cli_settings *settings, const cli_model *step, const char *key, tr_buffer *lines)
{
    int status = describe_model(settings, step->model, key, lines);
    if (!status && step->source && !(tr_buffer_string(lines, ", from ") && add_text(lines, step->source)))
        status = cli_fail_memory();
    if (!status && step->target && !(tr_buffer_string(lines, ", to ") && add_text(lines, step->target)))
        status = cli_fail_memory();
    if (!status && !tr_buffer_string(lines, "\n"))
        status = cli_fail_memory();
    for (int i = 0; !status && i < step->other_count; i++) {
        char member[48];
        snprintf(member, sizeof member, "model %d of the ensemble", i + 2);
        status = describe_model(settings, step->others[i], member, lines);
        if (!status && !add_format(lines, ", weight %.9g\n", (double)step->weights[i + 1]))
            status = cli_fail_memory();
    }
    return status;
}

int cli_resume_describe(const cli_settings *settings, const cli_reader *reader, const char *document, const cli_route *route,
                        tr_buffer *lines)
{
    int status = add_format(lines, VERSION "%s\n", tr_version()) ? CLI_DONE : cli_fail_memory();
    if (!status)
        status = describe_input(reader, lines);
    if (!status && document &&
        !(tr_buffer_string(lines, "document: ") && tr_buffer_string(lines, document) && tr_buffer_string(lines, "\n")))
        status = cli_fail_memory();
    if (!status && route->count && route->models[0].reverse) { /* before --beam, which depends on it */
        status = describe_model(settings, route->models[0].reverse, "--rerank", lines);
        if (!status && !tr_buffer_string(lines, "\n"))
            status = cli_fail_memory();
    }
    if (!status)
        status = describe_options(settings, lines);
    for (int i = 0; !status && i < route->count; i++)
        status = describe_step(settings, &route->models[i], i ? "second model" : "model", lines);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- comparing */

/* A line "KEY: VALUE" of a description. */
typedef struct entry {
    const char *key, *value;
    int key_size, value_size; /* value_size -1: the description has no such line */
} entry;

/* Parses the line at *text, and moves *text after it. False: there is none. */
static bool next_entry(const char **text, const char *end, entry *l)
{
    const char *newline = *text < end ? memchr(*text, '\n', (size_t)(end - *text)) : NULL;
    const char *colon = newline ? memmem(*text, (size_t)(newline - *text), ": ", 2) : NULL;
    if (!colon)
        return false;
    *l = (entry){*text, colon + 2, (int)(colon - *text), (int)(newline - colon - 2)};
    *text = newline + 1;
    return true;
}

/* Finds the line with the same key. An option without a line has its default. */
static entry find_entry(const tr_buffer *lines, const entry *like)
{
    const char *text = lines->data, *end = text + lines->size;
    entry l;
    while (next_entry(&text, end, &l))
        if (l.key_size == like->key_size && memcmp(l.key, like->key, (size_t)l.key_size) == 0)
            return l;
    return (entry){like->key, "", like->key_size, -1};
}

static bool same_value(const entry *a, const entry *b)
{
    return a->value_size == b->value_size && memcmp(a->value, b->value, a->value_size > 0 ? (size_t)a->value_size : 0) == 0;
}

static int fail_difference(const char *part, const entry *before, const entry *now)
{
    enum { MAX_SHOWN = 120 };
    const entry *const both[] = {before, now};
    const bool option = *now->key == '-';
    char shown[2][MAX_SHOWN + 1], way[2 * MAX_SHOWN];
    for (int i = 0; i < 2; i++)
        snprintf(shown[i], sizeof shown[i], "%.*s", both[i]->value_size < 0 ? MAX_SHOWN : both[i]->value_size,
                 both[i]->value_size >= 0 ? both[i]->value
                 : option                 ? "the default"
                                          : "none");
    if (!option)
        snprintf(way, sizeof way, "continue with the same");
    else if (before->value_size < 0)
        snprintf(way, sizeof way, "omit %.*s", now->key_size, now->key);
    else
        snprintf(way, sizeof way, "give %.*s as before", now->key_size, now->key);
    return cli_fail("%s: was made with another %.*s (%s, now %s); %s, or delete it to start from the beginning", part,
                    now->key_size, now->key, shown[0], shown[1], way);
}

/* Reports the first line of a whose value differs in b. */
static int compare_descriptions(const tr_buffer *a, const tr_buffer *b, bool a_is_now, const char *part)
{
    const char *text = a->data, *end = text + a->size;
    entry l;
    while (next_entry(&text, end, &l)) {
        const entry other = find_entry(b, &l);
        if (!same_value(&l, &other))
            return a_is_now ? fail_difference(part, &other, &l) : fail_difference(part, &l, &other);
    }
    return CLI_DONE;
}

static bool is_description(const tr_buffer *lines)
{
    return lines->size > strlen(VERSION) && memcmp(lines->data, VERSION, strlen(VERSION)) == 0 &&
           lines->data[lines->size - 1] == '\n';
}

/* ------------------------------------------------------------------------------------------------------------ the file */

/* Reads the file, which stays open. *found false: there is none. */
static int read_run(cli_run_file *file, tr_buffer *run, bool *found)
{
    struct stat st;
    tr_error error;
    ssize_t n = 1;
    *found = lstat(file->path, &st) == 0 || errno != ENOENT;
    if (!*found)
        return CLI_DONE;
    if (tr_open_regular(&file->descriptor, AT_FDCWD, file->path, O_RDONLY | O_NOFOLLOW, 0, &error))
        return cli_fail_error(&error);
    while (n && run->size < MAX_DESCRIPTION) {
        if (!tr_buffer_reserve(run, READ_SIZE))
            return cli_fail_memory();
        n = read(file->descriptor, run->data + run->size, READ_SIZE);
        if (n < 0 && errno != EINTR)
            return cli_fail("%s: cannot read: %s", file->path, strerror(errno));
        run->size += n > 0 ? (size_t)n : 0;
    }
    return CLI_DONE;
}

static void close_run(cli_run_file *file)
{
    if (file->descriptor > STDERR_FILENO)
        close(file->descriptor);
    file->descriptor = -1;
}

void cli_run_file_close(cli_run_file *file)
{
    close_run(file);
    free(file->path);
    file->path = NULL;
}

void cli_run_file_remove(cli_run_file *file)
{
    bool ours;
    if (file->descriptor > STDERR_FILENO && (tr_file_is_named(file->descriptor, file->path, &ours, NULL) != TR_OK || ours))
        unlink(file->path);
    close_run(file);
}

int cli_run_file_check(cli_run_file *file, const tr_buffer *run, const char *part)
{
    bool found;
    tr_buffer before = {0};
    int status = read_run(file, &before, &found);
    if (!status && !found)
        status = cli_fail("%s: its description %s is missing; delete it to start from the beginning", part, file->path);
    if (!status && !is_description(&before))
        status = cli_fail("%s: is damaged, or not of this program; delete it and %s to start from the beginning", file->path,
                          part);
    if (!status)
        status = compare_descriptions(run, &before, true, part);
    if (!status)
        status = compare_descriptions(&before, run, false, part);
    tr_buffer_free(&before);
    return status;
}

/* Refuses to replace a file of another kind. */
static int check_replaceable(cli_run_file *file)
{
    bool found;
    tr_buffer before = {0};
    int status = read_run(file, &before, &found);
    if (!status && found && !is_description(&before))
        status = cli_fail("%s: is a file of another kind, and the output needs that name: move it, or give another --output",
                          file->path);
    close_run(file);
    tr_buffer_free(&before);
    return status;
}

int cli_run_file_write(cli_run_file *file, const tr_buffer *run, unsigned mode)
{
    tr_error error;
    const int status = check_replaceable(file);
    if (status)
        return status;
    if (tr_file_write_own(file->path, mode, run->data, run->size, &error))
        return cli_fail_error(&error);
    if (tr_open_regular(&file->descriptor, AT_FDCWD, file->path, O_RDONLY | O_NOFOLLOW, 0, &error)) {
        unlink(file->path);
        return cli_fail_error(&error);
    }
    return CLI_DONE;
}
