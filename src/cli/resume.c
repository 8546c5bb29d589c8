#define _GNU_SOURCE
#include "cli/resume.h"

#include "cli/cli.h"
#include "cli/option_table.h"
#include "cli/signals.h"
#include "formats/xxh64.h"
#include "api/model.h"
#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION "version of translate: " /* begins each description */

enum { BLOCK = 1 << 18 };

/* ------------------------------------------------------------------------------------------------------------- content */

/* A file's bytes from a place on. */
static int hash_open(int descriptor, off_t from, const char *name, uint64_t *size, uint64_t *result)
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
    const int status = hash_open(descriptor, 0, path, size, result);
    close(descriptor);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ describing */

/* What would end a line, or look like what stands for it, becomes \xHH. */
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
    const int status = hash_open(reader->descriptor, reader->file_start, reader->name, &size, &hash);
    if (status)
        return status;
    return tr_buffer_string(lines, "input: ") && add_content(lines, size, hash) && tr_buffer_string(lines, "\n")
               ? CLI_DONE
               : cli_fail_memory();
}

/* One of the words that an option's values are, before FILE. */
static bool is_word(const cli_option *o, const char *value)
{
    const size_t size = strlen(value);
    if (strcmp(value, "FILE") == 0) /* stands for a name; this is one */
        return false;
    for (const char *word = o->value; *word; word += strcspn(word, "|") + (word[strcspn(word, "|")] == '|'))
        if (strcspn(word, "|") == size && memcmp(word, value, size) == 0)
            return true;
    return false;
}

static int add_option_text(const cli_option *o, const char *value, tr_buffer *lines)
{
    uint64_t size, hash;
    if (!strstr(o->value, "FILE") || is_word(o, value))
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

static bool add_choice(const cli_option *o, int index, tr_buffer *lines)
{
    const char *word = o->value;
    for (int i = 0; i < index; i++)
        word += strcspn(word, "|") + 1;
    return tr_buffer_append(lines, word, strcspn(word, "|"));
}

static size_t size_of(const cli_option *o)
{
    switch (o->kind) {
    case KIND_FLAG: return sizeof(bool);
    case KIND_TEXT: return sizeof(char *);
    case KIND_LIST: return sizeof(cli_list);
    case KIND_NUMBER:
    case KIND_CHOICE: return sizeof(int);
    case KIND_WHOLE: return sizeof(uint64_t);
    case KIND_REAL: return sizeof(float);
    case KIND_EXPAND:
    case KIND_LATER: break;
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
    case KIND_EXPAND:
    case KIND_LATER: break;
    }
    return good ? CLI_DONE : cli_fail_memory();
}

/* Those that have another value than the default, and matter. */
static int describe_options(const cli_settings *settings, tr_buffer *lines)
{
    const cli_settings defaults = cli_default_settings(settings->command);
    int status = CLI_DONE;
    for (int i = 0; !status && i < cli_option_count; i++) {
        const cli_option *o = &cli_options[i];
        const void *field = (const char *)settings + o->offset;
        const bool matters = (o->commands & settings->command->bit) && !(o->commands & CLI_NEUTRAL);
        if (!matters || memcmp(field, (const char *)&defaults + o->offset, size_of(o)) == 0)
            continue;
        status = add_format(lines, "--%s: ", o->name) ? add_value(o, field, lines) : cli_fail_memory();
        if (!status && !tr_buffer_string(lines, "\n"))
            status = cli_fail_memory();
    }
    return status;
}

/* A GGUF file holds the checksum of its content; else all files that the model was read from are read again, but for the
 * shortlist of an option, which has a line of its own. */
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
    /* A directory is named after its place, which does not matter. */
    const char *name = model->package.has_checksum ? info.name : "";
    /* With bf16 the sums differ where the CPU multiplies it itself; else all CPUs give the same bits. */
    const char *cpu = strcmp(info.compute, "bf16") == 0 ? info.cpu : "";
    return tr_buffer_string(lines, key) && tr_buffer_string(lines, ": ") && add_text(lines, name) &&
                   add_format(lines, "%s%" PRIu64 " bytes, checksum %016" PRIx64, *name ? ", " : "", info.file_size, hash) &&
                   tr_buffer_string(lines, *cpu ? ", on " : "") && tr_buffer_string(lines, cpu)
               ? CLI_DONE
               : cli_fail_memory();
}

static int describe_link(const cli_settings *settings, const cli_link *link, const char *key, tr_buffer *lines)
{
    int status = describe_model(settings, link->model.model, key, lines);
    if (!status && link->source && !(tr_buffer_string(lines, ", from ") && add_text(lines, link->source)))
        status = cli_fail_memory();
    if (!status && link->target && !(tr_buffer_string(lines, ", to ") && add_text(lines, link->target)))
        status = cli_fail_memory();
    if (!status && !tr_buffer_string(lines, "\n"))
        status = cli_fail_memory();
    for (int i = 0; !status && i < link->model.other_count; i++) {
        char member[48];
        snprintf(member, sizeof member, "model %d of the ensemble", i + 2);
        status = describe_model(settings, link->model.others[i], member, lines);
        if (!status && !add_format(lines, ", weight %.9g\n", (double)link->model.weights[i + 1]))
            status = cli_fail_memory();
    }
    return status;
}

int cli_resume_describe(const cli_settings *settings, const cli_reader *reader, const cli_chain *chain, tr_buffer *lines)
{
    int status = add_format(lines, VERSION "%s\n", tr_version()) ? CLI_DONE : cli_fail_memory();
    if (!status)
        status = describe_input(reader, lines);
    if (!status)
        status = describe_options(settings, lines);
    for (int i = 0; !status && i < chain->count; i++)
        status = describe_link(settings, &chain->links[i], i ? "second model" : "model", lines);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- comparing */

/* A line of a description; the key ends before ": ". */
typedef struct line {
    const char *key, *value;
    int key_size, value_size;
} line;

/* Takes the line that *text begins with. False: there is none. */
static bool next_line(const char **text, const char *end, line *l)
{
    const char *newline = *text < end ? memchr(*text, '\n', (size_t)(end - *text)) : NULL;
    const char *colon = newline ? memmem(*text, (size_t)(newline - *text), ": ", 2) : NULL;
    if (!colon)
        return false;
    *l = (line){*text, colon + 2, (int)(colon - *text), (int)(newline - colon - 2)};
    *text = newline + 1;
    return true;
}

/* The line of that key; value_size -1: there is none, the option had its default. */
static line find_line(const tr_buffer *lines, const line *like)
{
    const char *text = lines->data, *end = text + lines->size;
    line l;
    while (next_line(&text, end, &l))
        if (l.key_size == like->key_size && memcmp(l.key, like->key, (size_t)l.key_size) == 0)
            return l;
    return (line){like->key, "", like->key_size, -1};
}

static bool same_value(const line *a, const line *b)
{
    return a->value_size == b->value_size && memcmp(a->value, b->value, a->value_size > 0 ? (size_t)a->value_size : 0) == 0;
}

static int fail_line(const char *part, const line *before, const line *now)
{
    enum { LONGEST = 120 };
    const line *const both[] = {before, now};
    const bool option = *now->key == '-';
    char shown[2][LONGEST + 1], way[2 * LONGEST];
    for (int i = 0; i < 2; i++)
        snprintf(shown[i], sizeof shown[i], "%.*s", both[i]->value_size < 0 ? LONGEST : both[i]->value_size,
                 both[i]->value_size >= 0 ? both[i]->value
                 : option                 ? "the default"
                                          : "none");
    if (!option)
        snprintf(way, sizeof way, "continue with the same");
    else if (before->value_size < 0)
        snprintf(way, sizeof way, "leave %.*s out", now->key_size, now->key);
    else
        snprintf(way, sizeof way, "give %.*s as before", now->key_size, now->key);
    return cli_fail("%s: was made with another %.*s (%s, now %s); %s, or delete it to start from the beginning", part,
                    now->key_size, now->key, shown[0], shown[1], way);
}

/* Reports the first line of a that b has otherwise, or not. */
static int compare(const tr_buffer *a, const tr_buffer *b, bool a_is_now, const char *part)
{
    const char *text = a->data, *end = text + a->size;
    line l;
    while (next_line(&text, end, &l)) {
        const line other = find_line(b, &l);
        if (!same_value(&l, &other))
            return a_is_now ? fail_line(part, &other, &l) : fail_line(part, &l, &other);
    }
    return CLI_DONE;
}

bool cli_resume_is_description(const tr_buffer *lines)
{
    return lines->size > strlen(VERSION) && memcmp(lines->data, VERSION, strlen(VERSION)) == 0 &&
           lines->data[lines->size - 1] == '\n';
}

int cli_resume_compare(const tr_buffer *before, const tr_buffer *now, const char *part)
{
    const int status = compare(now, before, true, part);
    return status ? status : compare(before, now, false, part);
}
