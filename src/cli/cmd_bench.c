/* translate bench: how fast a model runs, from token numbers to token numbers. */
#include "cli/lines.h"
#include "cli/output.h"
#include "cli/pieces.h"
#include "util/team.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is translated where no file is named: sixteen lines of everyday length, repeated. */
static const char *const built_in[] = {
    "今天天气很好，我们一起去公园散步吧。",
    "请问最近的地铁站怎么走？",
    "他每天早上六点起床，先跑步，再吃早饭。",
    "这本书讲述了一个小村庄在五十年里的变化。",
    "会议改到下周三下午两点，请大家提前准备好材料。",
    "我妹妹在大学里学习计算机，明年就要毕业了。",
    "如果明天下雨，比赛就推迟到星期天。",
    "医生说他需要多休息，少喝咖啡。",
    "这家饭馆的菜又便宜又好吃，所以总是有很多人排队。",
    "科学家发现，这种植物能在非常干燥的环境里生长。",
    "火车晚点了四十分钟，我们没有赶上最后一班公共汽车。",
    "新政策从一月一日起实行，小企业可以少交一部分税。",
    "她打开窗户，看见院子里落满了金黄的树叶。",
    "你能不能帮我把这个箱子搬到三楼？",
    "软件更新以后，手机的电池用得比以前快。",
    "老师鼓励学生多提问题，因为好奇心是学习的开始。",
};

enum { BUILT_IN = sizeof built_in / sizeof *built_in, REPEATS = 8, CHUNK = 1 << 20 };

typedef struct bench {
    const cli_settings *settings;
    cli_model model;
    tr_buffer text; /* all lines, one behind the other */
    size_t *ends;   /* [lines]: where each ends in text */
    size_t lines, capacity;
    tr_tokens *sources; /* [lines] */
    uint64_t source_tokens, target_tokens;
    double *seconds, *seconds_text; /* [rounds] */
} bench;

/* -------------------------------------------------------------------------------------------------------------- lines */

static int add_line(bench *b, const char *text, size_t size)
{
    if (b->lines == b->capacity) {
        const size_t capacity = b->capacity ? b->capacity * 2 : 256;
        size_t *ends = realloc(b->ends, capacity * sizeof *ends);
        if (!ends)
            return cli_fail_memory();
        b->ends = ends;
        b->capacity = capacity;
    }
    if (!tr_buffer_append(&b->text, text, size))
        return cli_fail_memory();
    b->ends[b->lines++] = b->text.size;
    return CLI_DONE;
}

static bool blank(const cli_line *line)
{
    size_t i = 0;
    while (i < line->size && (line->text[i] == ' ' || line->text[i] == '\t'))
        i++;
    return i == line->size;
}

static int read_lines(bench *b)
{
    cli_reader reader;
    int status = cli_reader_open(&reader, b->settings->input);
    for (size_t count = 1; !status && count;) {
        const cli_line *lines;
        status = cli_reader_next(&reader, CHUNK, CHUNK, &lines, &count);
        for (size_t i = 0; !status && i < count; i++)
            if (!blank(&lines[i]))
                status = add_line(b, lines[i].text, lines[i].size);
    }
    cli_reader_close(&reader);
    return status;
}

static int collect_lines(bench *b)
{
    int status = CLI_DONE;
    if (b->settings->input)
        status = read_lines(b);
    for (int i = 0; !status && !b->settings->input && i < BUILT_IN * REPEATS; i++)
        status = add_line(b, built_in[i % BUILT_IN], strlen(built_in[i % BUILT_IN]));
    if (!status && !b->lines)
        return cli_fail("%s: has no lines to translate", b->settings->input);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- passes */

static int tokenize_line(bench *b, size_t i)
{
    const size_t begin = i ? b->ends[i - 1] : 0, size = b->ends[i] - begin;
    tr_error error;
    if (!b->settings->tokens)
        return tr_tokenize(b->model.model, b->text.data + begin, size, &b->sources[i], &error) ? cli_fail_error(&error)
                                                                                               : CLI_DONE;
    tr_ids ids = {0};
    const int status = cli_parse_pieces(&b->model, CLI_SOURCE, b->text.data + begin, size, i + 1, &ids);
    b->sources[i] = (tr_tokens){ids.data, ids.size};
    return status;
}

static void free_sources(bench *b)
{
    for (size_t i = 0; b->sources && i < b->lines; i++)
        if (b->settings->tokens)
            free(b->sources[i].ids);
        else
            tr_tokens_free(&b->sources[i]);
    if (b->sources)
        memset(b->sources, 0, b->lines * sizeof *b->sources);
}

/* Lines beyond the model's length lose their end: it is speed that counts here. */
static int tokenize_all(bench *b, double *seconds, bool first)
{
    const size_t longest = (size_t)b->model.info.max_source_length - 1; /* without the end mark */
    size_t cut = 0;
    int status = CLI_DONE;
    free_sources(b);
    b->source_tokens = 0;
    const double start = cli_seconds();
    for (size_t i = 0; !status && i < b->lines; i++)
        status = tokenize_line(b, i);
    *seconds = cli_seconds() - start;
    for (size_t i = 0; !status && i < b->lines; i++) {
        cut += b->sources[i].count > longest;
        b->sources[i].count = b->sources[i].count > longest ? longest : b->sources[i].count;
        b->source_tokens += b->sources[i].count;
    }
    if (cut && first)
        cli_warn(b->settings, "%zu lines are longer than the model takes, their ends are left out", cut);
    return status;
}

static int translate_all(bench *b, double *seconds)
{
    tr_translate_options options = tr_translate_default_options();
    tr_tokens *outputs;
    tr_error error;
    options.max_length = b->settings->max_length;
    if (b->settings->fixed_length)
        options.max_length = options.min_length = b->settings->fixed_length;
    const double start = cli_seconds();
    if (tr_translate_tokens(b->model.context, b->sources, b->lines, &options, &outputs, &error))
        return cli_fail_error(&error);
    *seconds = cli_seconds() - start;
    b->target_tokens = 0;
    for (size_t i = 0; i < b->lines; i++)
        b->target_tokens += outputs[i].count;
    tr_tokens_array_free(outputs, b->lines);
    return CLI_DONE;
}

static int all_passes(bench *b)
{
    double ignored;
    int status = tokenize_all(b, &ignored, true);
    if (!status)
        status = translate_all(b, &ignored);
    for (int round = 0; !status && round < b->settings->rounds; round++) {
        status = tokenize_all(b, &b->seconds_text[round], false);
        if (!status)
            status = translate_all(b, &b->seconds[round]);
        if (!status && b->settings->verbose)
            cli_note("pass %d: %.3f s, %.1f tokens/s", round + 1, b->seconds[round],
                     (double)b->target_tokens / b->seconds[round]);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- report */

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static int print_json(const json_t *report)
{
    json_dumpf(report, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    return CLI_DONE;
}

static int print_table(const json_t *report)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)report, key, value)
    {
        printf("%-22s", key);
        if (json_is_string(value))
            puts(json_string_value(value));
        else if (json_is_integer(value))
            printf("%" JSON_INTEGER_FORMAT "\n", json_integer_value(value));
        else
            printf("%.*f\n", json_real_value(value) < 10 ? 4 : 1, json_real_value(value));
    }
    return CLI_DONE;
}

static int report(bench *b)
{
    const cli_settings *s = b->settings;
    const double seconds = median(b->seconds, s->rounds), seconds_text = median(b->seconds_text, s->rounds);
    const double per_second = seconds > 0 ? 1 / seconds : 0;
    json_t *object = json_pack("{s:f, s:f, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:i, s:i, s:s, s:s, s:i, s:i, s:s, s:s}",
                               "tokens_per_second", (double)b->target_tokens * per_second, "sentences_per_second",
                               (double)b->lines * per_second, "sentences", (json_int_t)b->lines, "source_tokens",
                               (json_int_t)b->source_tokens, "target_tokens", (json_int_t)b->target_tokens, "seconds",
                               seconds, "seconds_text", seconds_text, "load_ms", b->model.load_seconds * 1e3, "peak_rss_mb",
                               cli_peak_megabytes(), "threads", s->threads ? s->threads : tr_usable_cores(), "batch_size",
                               s->batch_size, "compute", b->model.info.compute, "cpu", b->model.info.cpu, "fixed_length",
                               s->fixed_length, "rounds", s->rounds, "model", b->model.path, "version", tr_version());
    if (!object)
        return cli_fail("%s: its name is not UTF-8", b->model.path);
    const int status = s->json ? print_json(object) : print_table(object);
    json_decref(object);
    return status;
}

static int check(const bench *b)
{
    const tr_model_info *info = &b->model.info;
    if (!b->settings->tokens && !info->has_tokenizer)
        return cli_fail("%s: the model has no tokenizer; give lines of tokens, with --tokens -i FILE", b->model.path);
    if (b->settings->fixed_length > info->max_target_length)
        return cli_usage(b->settings, "--fixed-length %d: the model goes to %d", b->settings->fixed_length,
                         info->max_target_length);
    return CLI_DONE;
}

static int measure(bench *b)
{
    int status = collect_lines(b);
    if (!status)
        status = cli_model_open(&b->model, b->settings, true);
    if (!status)
        status = check(b);
    if (status)
        return status;
    const size_t rounds = (size_t)b->settings->rounds;
    b->sources = calloc(b->lines, sizeof *b->sources);
    b->seconds = calloc(rounds, sizeof *b->seconds);
    b->seconds_text = calloc(rounds, sizeof *b->seconds_text);
    status = b->sources && b->seconds && b->seconds_text ? all_passes(b) : cli_fail_memory();
    return status ? status : report(b);
}

int cli_bench(const cli_settings *settings)
{
    if (settings->tokens && !settings->input)
        return cli_usage(settings, "--tokens: needs --input FILE with lines of tokens");
    bench b = {.settings = settings};
    const int status = measure(&b);
    free_sources(&b);
    free(b.sources);
    free(b.seconds);
    free(b.seconds_text);
    free(b.ends);
    tr_buffer_free(&b.text);
    cli_model_close(&b.model);
    return status;
}
