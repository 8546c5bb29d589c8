#include "cli/prefixes.h"

#include "cli/cli.h"
#include "util/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Copies the field after each line's first TAB to memory, NUL-terminated; offsets[i]: where it begins, SIZE_MAX: there is
 * none. Offsets become pointers later, when memory no longer moves. */
static bool copy_fields(cli_prefixes *p, const cli_line *lines, size_t count, size_t *offsets)
{
    for (size_t i = 0; i < count; i++) {
        const cli_line *line = &lines[i];
        const char *tab = line->size ? memchr(line->text, '\t', line->size) : NULL;
        const size_t size = tab ? (size_t)(tab - line->text) : line->size;
        p->bare_lines[i] = (cli_line){line->text, size, line->carriage_return};
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
    p->bare_lines = malloc((count + 1) * sizeof *p->bare_lines);
    const bool good = offsets && p->bare_lines && copy_fields(p, lines, count, offsets);
    for (size_t i = 0; good && i < count; i++)
        p->texts[i] = offsets[i] == SIZE_MAX ? NULL : p->memory.data + offsets[i];
    free(offsets);
    return good;
}

int cli_prefixes_make(cli_prefixes *prefixes, const cli_settings *settings, const cli_line *lines, size_t count)
{
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
    free(prefixes->bare_lines);
    tr_buffer_free(&prefixes->memory);
}
