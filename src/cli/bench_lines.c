/* The lines that translate bench translates. */
#include "cli/bench.h"

#include "cli/lines.h"
#include "cli/pieces.h"
#include "util/clock.h"

#include <stdlib.h>
#include <string.h>

/* The default lines: sixteen of everyday length, repeated. */
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

static int add_line(bench_lines *l, const char *text, size_t size)
{
    if (l->count == l->capacity) {
        const size_t capacity = l->capacity ? l->capacity * 2 : 256;
        size_t *ends = realloc(l->ends, capacity * sizeof *ends);
        if (!ends)
            return cli_fail_memory();
        l->ends = ends;
        l->capacity = capacity;
    }
    if (!tr_buffer_append(&l->text, text, size))
        return cli_fail_memory();
    l->ends[l->count++] = l->text.size;
    return CLI_DONE;
}

static bool is_blank(const cli_line *line)
{
    size_t i = 0;
    while (i < line->size && (line->text[i] == ' ' || line->text[i] == '\t'))
        i++;
    return i == line->size;
}

static int read_lines(bench_lines *l, const cli_settings *settings, const char *input)
{
    cli_reader reader;
    int status = cli_reader_open(&reader, settings, input);
    for (size_t count = 1; !status && count;) {
        const cli_line *lines;
        status = cli_reader_next(&reader, CHUNK, CHUNK, &lines, &count);
        for (size_t i = 0; !status && i < count; i++)
            if (!is_blank(&lines[i]))
                status = add_line(l, lines[i].text, lines[i].size);
    }
    cli_reader_close(&reader);
    return status;
}

int bench_lines_collect(bench_lines *lines, const cli_settings *settings)
{
    int status = CLI_DONE;
    lines->tokens = settings->tokens;
    if (settings->input)
        status = read_lines(lines, settings, settings->input);
    for (int i = 0; !status && !settings->input && i < BUILT_IN * REPEATS; i++)
        status = add_line(lines, built_in[i % BUILT_IN], strlen(built_in[i % BUILT_IN]));
    if (!status && !lines->count)
        return cli_fail("%s: has no lines to translate", settings->input);
    if (!status && !(lines->sources = calloc(lines->count, sizeof *lines->sources)))
        return cli_fail_memory();
    return status;
}

static int tokenize_line(bench_lines *l, const cli_model *model, size_t i)
{
    const size_t begin = i ? l->ends[i - 1] : 0, size = l->ends[i] - begin;
    tr_error error;
    if (!l->tokens)
        return tr_source_tokens(model->model, l->text.data + begin, size, &l->sources[i], &error) ? cli_fail_error(&error)
                                                                                                  : CLI_DONE;
    tr_ids ids = {0};
    const int status = cli_parse_pieces(model, CLI_SOURCE, l->text.data + begin, size, i + 1, &ids);
    l->sources[i] = (tr_tokens){ids.data, ids.size};
    return status;
}

static void free_sources(bench_lines *l)
{
    for (size_t i = 0; l->sources && i < l->count; i++)
        if (l->tokens)
            free(l->sources[i].ids);
        else
            tr_tokens_free(&l->sources[i]);
    if (l->sources)
        memset(l->sources, 0, l->count * sizeof *l->sources);
}

/* Longer lines than the model takes lose their ends, since only speed matters here. */
int bench_lines_tokenize(bench_lines *lines, const cli_settings *settings, const cli_model *model, double *seconds,
                         bool warn)
{
    const size_t longest = (size_t)model->info.max_source_length - 1; /* without EOS */
    size_t cut = 0;
    int status = CLI_DONE;
    free_sources(lines);
    lines->source_tokens = 0;
    const double start = tr_seconds();
    for (size_t i = 0; !status && i < lines->count; i++)
        status = tokenize_line(lines, model, i);
    *seconds = tr_seconds() - start;
    for (size_t i = 0; !status && i < lines->count; i++) {
        cut += lines->sources[i].count > longest;
        lines->sources[i].count = lines->sources[i].count > longest ? longest : lines->sources[i].count;
        lines->source_tokens += lines->sources[i].count;
    }
    if (cut && warn)
        cli_warn(settings, "%zu lines are longer than the model takes, their ends are ignored", cut);
    return status;
}

void bench_lines_free(bench_lines *lines)
{
    free_sources(lines);
    free(lines->sources);
    free(lines->ends);
    tr_buffer_free(&lines->text);
}
