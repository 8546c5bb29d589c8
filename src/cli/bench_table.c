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
    {"commit", "commit", false},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void add_value(bench_report *report, bench_value value)
{
    if (report->count < (int)(sizeof report->values / sizeof *report->values))
        report->values[report->count++] = value;
}

void bench_add_text(bench_report *report, const char *key, const char *text)
{
    add_value(report, (bench_value){.key = key, .text = text});
}

void bench_add_whole(bench_report *report, const char *key, uint64_t number)
{
    add_value(report, (bench_value){.key = key, .number = (double)number, .whole = true});
}

void bench_add_real(bench_report *report, const char *key, double number)
{
    add_value(report, (bench_value){.key = key, .number = number});
}

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

static const bench_value *find_value(const bench_report *report, const char *key)
{
    for (int i = 0; i < report->count; i++)
        if (strcmp(report->values[i].key, key) == 0)
            return &report->values[i];
    return NULL;
}

static bool append_cell(bench_form form, const column *c, const bench_report *report, tr_buffer *out)
{
    const bench_value *value = find_value(report, c->key);
    char number[64];
    if (!value)
        return true;
    if (value->text)
        return append_text(form, c, value->text, out);
    snprintf(number, sizeof number, "%.*f", value->whole ? 0 : 1, value->number);
    return tr_buffer_string(out, number);
}

static int print_row(bench_form form, const bench_report *report)
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

static void print_values(const bench_report *report)
{
    for (const bench_value *v = report->values; v < report->values + report->count; v++) {
        printf("%-30s", v->key);
        if (v->text)
            cli_print("%s\n", v->text);
        else
            printf("%.*f\n", v->whole ? 0 : v->number < 10 ? 4 : 1, v->number);
    }
}

static int print_json(const bench_report *report)
{
    tr_buffer out = {0};
    cli_json j = {&out, true, false};
    cli_json_open(&j, NULL, '{');
    for (const bench_value *v = report->values; v < report->values + report->count; v++)
        if (v->text)
            cli_json_string(&j, v->key, v->text);
        else if (v->whole)
            cli_json_whole(&j, v->key, (int64_t)v->number);
        else
            cli_json_real(&j, v->key, v->number);
    cli_json_close(&j, '}');
    return cli_json_print(&j);
}

int bench_table_add(bench_form form, const bench_report *report)
{
    if (form == BENCH_JSONL)
        return print_json(report);
    if (form != BENCH_VALUES)
        return print_row(form, report);
    print_values(report);
    return CLI_DONE;
}
