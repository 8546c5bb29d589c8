/* Reports of translate bench: keys and values, JSON, or a row of a table. */
#include "cli/bench.h"
#include "cli/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct column {
    const char *key;   /* in the report; also the column's name in CSV */
    const char *title; /* in Markdown; NULL: a part of the column before */
    bool number;       /* aligned to the right */
} column;

static const column columns[] = {
    {"cpu_name", "CPU", false},
    {"cpu", "kernels", false},
    {"model", "model", false},
    {"compute", "compute", false},
    {"threads", "threads", true},
    {"batch_size", "batch", true},
    {"beam", "beam", true},
    {"tokens_per_second", "tokens/s", true},
    {"tokens_per_second_deviation", NULL, true},
    {"sentences_per_second", "sentences/s", true},
    {"load_ms", "load ms", true},
    {"peak_rss_mb", "peak MB", true},
    {"version", "version", false},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

void bench_table_begin(bench_form form)
{
    if (form == BENCH_CSV)
        for (int i = 0; i < COLUMNS; i++)
            printf("%s%s", columns[i].key, i + 1 < COLUMNS ? "," : "\n");
    if (form != BENCH_MARKDOWN)
        return;
    for (int i = 0; i < COLUMNS; i++)
        if (columns[i].title)
            printf("| %s ", columns[i].title);
    printf("|\n");
    for (int i = 0; i < COLUMNS; i++)
        if (columns[i].title)
            printf("|%s", columns[i].number ? "--:" : "---");
    printf("|\n");
}

/* text, with `before` before each character of `special`. */
static bool append_escaped(const char *text, const char *special, const char *before, tr_buffer *out)
{
    bool good = true;
    while (good && *text) {
        const size_t plain = strcspn(text, special);
        good = tr_buffer_append(out, text, plain);
        text += plain;
        if (good && *text)
            good = tr_buffer_string(out, before) && tr_buffer_append(out, text++, 1);
    }
    return good;
}

/* A field of CSV (RFC 4180), or a cell of a table of GitHub's Markdown, which shows the model by the last part of its path.
 */
static bool append_text(bench_form form, const column *c, const char *text, tr_buffer *out)
{
    const char *slash = strrchr(text, '/');
    if (form == BENCH_MARKDOWN)
        return append_escaped(strcmp(c->key, "model") == 0 && slash && slash[1] ? slash + 1 : text, "|", "\\", out);
    if (!text[strcspn(text, ",\"\r\n")])
        return tr_buffer_string(out, text);
    return tr_buffer_string(out, "\"") && append_escaped(text, "\"", "\"", out) && tr_buffer_string(out, "\"");
}

static bool append_cell(bench_form form, const column *c, const json_t *report, tr_buffer *out)
{
    const json_t *value = json_object_get(report, c->key);
    char number[64];
    if (json_is_string(value))
        return append_text(form, c, json_string_value(value), out);
    if (json_is_integer(value))
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        snprintf(number, sizeof number, "%.1f", json_real_value(value));
    return tr_buffer_string(out, number);
}

static int print_row(bench_form form, const json_t *report)
{
    tr_buffer row = {0};
    bool good = true;
    for (int i = 0; i < COLUMNS && good; i++) {
        const char *between = form == BENCH_CSV ? (i ? "," : "") : !columns[i].title ? " ± " : i ? " | " : "| ";
        good = tr_buffer_string(&row, between) && append_cell(form, &columns[i], report, &row);
    }
    good = good && tr_buffer_string(&row, form == BENCH_MARKDOWN ? " |" : "") && tr_buffer_append(&row, "", 1);
    if (good)
        cli_print("%s\n", row.data);
    tr_buffer_free(&row);
    return good ? CLI_DONE : cli_fail_memory();
}

static void print_values(json_t *report)
{
    const char *key;
    json_t *value;
    json_object_foreach(report, key, value)
    {
        printf("%-30s", key);
        if (json_is_string(value))
            cli_print("%s\n", json_string_value(value));
        else if (json_is_integer(value))
            printf("%" JSON_INTEGER_FORMAT "\n", json_integer_value(value));
        else
            printf("%.*f\n", json_real_value(value) < 10 ? 4 : 1, json_real_value(value));
    }
}

int bench_table_add(bench_form form, json_t *report)
{
    int status = CLI_DONE;
    if (form == BENCH_JSONL)
        return cli_print_json(report, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!report)
        return cli_fail_memory();
    if (form == BENCH_VALUES)
        print_values(report);
    else
        status = print_row(form, report);
    json_decref(report);
    return status;
}
