#include "cli/render.h"

#include "util/utf8.h"

#include <jansson.h>
#include <string.h>

static int append_to_buffer(const char *data, size_t size, void *buffer)
{
    return tr_buffer_append(buffer, data, size) ? 0 : -1;
}

static json_t *json_flags(unsigned flags)
{
    static const struct {
        unsigned flag;
        const char *name;
    } names[] = {{TR_FLAG_CUT, "cut"}, {TR_FLAG_INVALID_UTF8, "invalid_utf8"}, {TR_FLAG_MAX_LENGTH, "max_length"}};
    json_t *array = json_array();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (flags & names[i].flag)
            json_array_append_new(array, json_string(names[i].name));
    return array;
}

bool cli_render_json(const cli_line *line, uint64_t number, const cli_answer *a, tr_buffer *out)
{
    tr_buffer source = {0};
    bool good = tr_utf8_clean(line->text, line->size, &source);
    json_t *object = json_object();
    if (good && object)
        good = json_object_set_new(object, "line", json_integer((json_int_t)number)) == 0 &&
               json_object_set_new(object, "source", json_stringn(source.data ? source.data : "", source.size)) == 0 &&
               (!a->pivot || json_object_set_new(object, "pivot", json_stringn(a->pivot->text, a->pivot->size)) == 0) &&
               json_object_set_new(object, "text", json_stringn(a->text, a->size)) == 0 &&
               json_object_set_new(object, "tokens", json_integer(a->target_tokens)) == 0 &&
               json_object_set_new(object, "flags", json_flags(a->flags)) == 0 &&
               json_dump_callback(object, append_to_buffer, out, JSON_COMPACT) == 0 && tr_buffer_append(out, "\n", 1);
    json_decref(object);
    tr_buffer_free(&source);
    return good && object;
}

void cli_keep_one_line(char *text, size_t size)
{
    for (char *p = text; (p = memchr(p, '\n', (size_t)(text + size - p)));)
        *p++ = ' ';
}

bool cli_render_plain(const cli_line *line, const cli_answer *a, bool break_lines, tr_buffer *out)
{
    const size_t at = out->size;
    if (!tr_buffer_append(out, a->text, a->size))
        return false;
    if (!break_lines)
        cli_keep_one_line(out->data + at, out->size - at);
    return tr_buffer_append(out, line->carriage_return ? "\r\n" : "\n", 1 + (size_t)line->carriage_return);
}
