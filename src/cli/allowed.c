#define _GNU_SOURCE
#include "cli/allowed.h"

#include "cli/lines.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "api/model.h"
#include "tokenizer/allowed.h"
#include "util/utf8.h"

#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------------------------------------------------------- by text */

/* Reading a text, to find its tokens and scripts. */
typedef struct survey {
    const tr_tokenizer *tokenizer;
    bool *marks;
    tr_script_census census;
    tr_buffer clean;
    tr_ids ids;
    uint64_t tokens;
} survey;

static int add_line(survey *s, const cli_line *line)
{
    tr_error error;
    s->clean.size = s->ids.size = 0;
    if (!tr_utf8_clean(line->text, line->size, &s->clean))
        return cli_fail_memory();
    if (tr_tokenizer_encode(s->tokenizer, s->clean.data, s->clean.size, &s->ids, &error))
        return cli_fail_error(&error);
    for (size_t i = 0; i < s->ids.size; i++)
        s->marks[s->ids.data[i]] = true;
    s->tokens += s->ids.size;
    tr_script_count(&s->census, s->clean.data, s->clean.size);
    return CLI_DONE;
}

static int add_lines(const cli_settings *settings, survey *s, cli_reader *reader)
{
    enum { LINES = 1024, BYTES = 1 << 18 };
    const cli_line *lines;
    size_t count = 1;
    int status = CLI_DONE;
    if (!settings->quiet && reader->file_size)
        cli_progress_start(&(cli_progress){.total = reader->file_size}, CLI_UNIT_NONE);
    while (!status && count && !(status = cli_reader_next(reader, LINES, BYTES, &lines, &count))) {
        for (size_t i = 0; !status && i < count; i++)
            if (lines[i].size)
                status = add_line(s, &lines[i]);
        cli_progress_update(&(cli_progress){.done = reader->consumed, .total = reader->file_size});
    }
    cli_progress_stop();
    return status;
}

/* Marks the tokens of the file's text, and every single character of the scripts that it is written in. */
static int mark_text(const cli_settings *settings, const tr_package *package, const char *path, bool *marks)
{
    tr_tokenizer *tokenizer;
    tr_error error;
    cli_reader reader;
    if (tr_target_tokenizer(package, &tokenizer, &error))
        return cli_fail_error(&error);
    if (!tokenizer)
        return cli_fail("--allowed text: the model has no tokenizer for its target");
    survey s = {.tokenizer = tokenizer, .marks = marks};
    int status = cli_reader_open(&reader, settings, path);
    if (!status) {
        status = add_lines(settings, &s, &reader);
        cli_reader_close(&reader);
    }
    if (!status && !s.tokens)
        status = cli_fail("%s: holds no text to take tokens from", path);
    const tr_scripts scripts = tr_scripts_of_census(&s.census);
    if (!status)
        tr_allow_characters(package->target, scripts, marks);
    tr_buffer_free(&s.clean);
    tr_ids_free(&s.ids);
    tr_tokenizer_destroy(tokenizer);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ by script */

static int mark_scripts(const cli_settings *settings, const tr_package *package, const char *names, bool *marks)
{
    if (*names && !tr_scripts_parse(names))
        return cli_usage(settings,
                         "--allowed script: %s: is not a list of ISO 15924 script names, such as Latn or Hani,Latn", names);
    if (!*names && (!*package->target_language || package->languages.count))
        return cli_fail("--allowed script: the target language of the model is unknown; name the script, as in script:Latn");
    const tr_scripts scripts = *names ? tr_scripts_parse(names) : tr_allowed_scripts(package->target_language);
    if (!scripts)
        return cli_fail("--allowed script: the script of %s is unknown; name it, as in script:Latn",
                        package->target_language);
    tr_allow_scripts(package->target, scripts, marks);
    return CLI_DONE;
}

/* ---------------------------------------------------------------------------------------------------------------- list */

static void mark_id(const tr_package *package, bool *marks, int32_t id)
{
    if (id >= 0 && id < package->config.target_vocabulary)
        marks[id] = true;
}

/* Marks special tokens, and those that the configuration forces. */
static void mark_special(const tr_package *package, bool *marks)
{
    const tr_config *c = &package->config;
    const int32_t ids[] = {c->start_id, c->eos_id, c->pad_id, c->target_unk_id, c->forced_first_id, c->forced_last_id};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        mark_id(package, marks, ids[i]);
    for (size_t i = 0; i < package->special.size; i++)
        mark_id(package, marks, package->special.data[i]);
}

static int list_marked(tr_package *package, const bool *marks, int32_t **ids)
{
    tr_config *c = &package->config;
    int count = 0;
    *ids = malloc((size_t)c->target_vocabulary * sizeof **ids);
    if (!*ids)
        return cli_fail_memory();
    for (int32_t id = 0; id < c->target_vocabulary; id++)
        if (marks[id])
            (*ids)[count++] = id;
    c->allowed = count < c->target_vocabulary ? *ids : NULL;
    c->allowed_count = c->allowed ? count : 0;
    return CLI_DONE;
}

static int mark_allowed(const cli_settings *settings, const tr_package *package, bool *marks)
{
    const char *how = settings->allowed;
    if (strncmp(how, "text:", 5) == 0 && how[5])
        return mark_text(settings, package, how + 5, marks);
    if (strcmp(how, "script") == 0 || (strncmp(how, "script:", 7) == 0 && how[7]))
        return mark_scripts(settings, package, how[6] ? how + 7 : "", marks);
    return cli_usage(settings, "--allowed %s: must be off, script, script:NAMES or text:FILE", how);
}

int cli_allow_tokens(const cli_settings *settings, tr_package *package, int32_t **ids)
{
    tr_config *c = &package->config;
    *ids = NULL;
    if (!settings->allowed)
        return CLI_DONE;
    c->allowed = NULL;
    c->allowed_count = 0;
    if (strcmp(settings->allowed, "off") == 0)
        return CLI_DONE;
    if (!package->target->size)
        return cli_fail("--allowed: the model has no vocabulary to choose from");
    const size_t size =
        package->target->size > (size_t)c->target_vocabulary ? package->target->size : (size_t)c->target_vocabulary;
    bool *marks = calloc(size, sizeof *marks);
    int status = marks ? mark_allowed(settings, package, marks) : cli_fail_memory();
    if (!status) {
        mark_special(package, marks);
        status = list_marked(package, marks, ids);
    }
    free(marks);
    if (!status && !c->allowed)
        cli_warn(settings, "--allowed %s: allows all tokens, so no list is stored", settings->allowed);
    else if (!status && settings->verbose)
        cli_note("%d of %d target tokens are allowed", c->allowed_count, c->target_vocabulary);
    return status;
}
