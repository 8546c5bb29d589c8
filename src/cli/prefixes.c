#include "cli/prefixes.h"

#include "cli/cli.h"
#include "util/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Copies the fields behind each line's first TAB, NUL-terminated; offsets are pointers later, when they do not move. */
static bool copy_fields(cli_prefixes *p, const cli_line *lines, size_t count, size_t *offsets)
{
    for (size_t i = 0; i < count; i++) {
        const cli_line *line = &lines[i];
        const char *tab = line->size ? memchr(line->text, '\t', line->size) : NULL;
        const size_t size = tab ? (size_t)(tab - line->text) : line->size;
        p->own[i] = (cli_line){line->text, size, line->carriage_return};
        offsets[i] = SIZE_MAX;
        if (!tab || size + 1 == line->size)
            continue;
        offsets[i] = p->memory.size;
        if (!tr_utf8_clean(tab + 1, line->size - size - 1, &p->memory) || !tr_buffer_append(&p->memory, "", 1))
            return false;
    }
    return true;
}

static bool split_lines(cli_prefixes *p, const cli_line *lines, size_t count)
{
    size_t *offsets = malloc((count + 1) * sizeof *offsets);
    p->own = malloc((count + 1) * sizeof *p->own);
    const bool good = offsets && p->own && copy_fields(p, lines, count, offsets);
    for (size_t i = 0; good && i < count; i++)
        p->texts[i] = offsets[i] == SIZE_MAX ? NULL : p->memory.data + offsets[i];
    p->lines = p->own;
    free(offsets);
    return good;
}

int cli_prefixes_make(cli_prefixes *prefixes, const cli_settings *settings, const cli_line *lines, size_t count)
{
    *prefixes = (cli_prefixes){.lines = lines};
    if (!settings->prefix && !settings->tsv)
        return CLI_DONE;
    prefixes->texts = malloc((count + 1) * sizeof *prefixes->texts);
    if (!prefixes->texts)
        return cli_fail_memory();
    for (size_t i = 0; i < count; i++)
        prefixes->texts[i] = settings->prefix;
    return !settings->tsv || split_lines(prefixes, lines, count) ? CLI_DONE : cli_fail_memory();
}

void cli_prefixes_free(cli_prefixes *prefixes)
{
    free(prefixes->texts);
    free(prefixes->own);
    tr_buffer_free(&prefixes->memory);
}
