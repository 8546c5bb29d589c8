/* Protected spans come out exactly once and unchanged: of 400 sentences with the default model, of random texts with any
 * search, and with models that copy nothing. */
#define _GNU_SOURCE
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../linear.h"
#include "../opening.h"
#include "../sanitized.h"
#include "api/text_call.h"
#include "api/options.h"
#include "text/capitals.h"
#include "text/protect.h"

enum { STEP = SANITIZED ? 16 : 1 }; /* of the sentences every 16th, and less of everything */
enum { MOST_LINES = 512, MOST_SPANS = 12 };

typedef struct span_line {
    char *text;
    const char *spans[MOST_SPANS];
    int count;
} span_line;

static span_line lines[MOST_LINES];
static const char *texts[MOST_LINES];
static size_t line_count;

/* SENTENCE TAB SPAN TAB SPAN ...; lines with # are comments. */
static void read_lines(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    assert_non_null(file);
    line_count = 0;
    for (int number = 0; getline(&line, &capacity, file) > 0 && line_count < MOST_LINES;) {
        span_line *l = &lines[line_count];
        if (strncmp(line, "# ", 2) == 0 || number++ % STEP)
            continue;
        line[strcspn(line, "\n")] = 0;
        *l = (span_line){.text = strdup(line)};
        for (char *at = strchr(l->text, '\t'); at && l->count < MOST_SPANS; at = strchr(at, '\t')) {
            *at++ = 0;
            l->spans[l->count++] = at;
        }
        texts[line_count++] = l->text;
    }
    free(line);
    fclose(file);
}

static void free_lines(void)
{
    for (size_t i = 0; i < line_count; i++)
        free(lines[i].text);
}

static int count_in(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

static bool keeps(const span_line *l, const char *translation)
{
    for (int i = 0; i < l->count; i++)
        if (count_in(translation, l->spans[i]) != count_in(l->text, l->spans[i])) {
            print_message("%s -> %s: %s\n", l->text, translation, l->spans[i]);
            return false;
        }
    return true;
}

static tr_result *translate(tr_context *context, const tr_translate_options *options)
{
    tr_result *results;
    tr_error error;
    if (tr_translate_texts(context, texts, NULL, line_count, options, &results, &error))
        fail_msg("%s", error.message);
    return results;
}

static void expect_kept(tr_context *context, const tr_translate_options *options)
{
    tr_result *results = translate(context, options);
    size_t lost = 0;
    for (size_t i = 0; i < line_count; i++) {
        lost += !keeps(&lines[i], results[i].text);
        for (size_t h = 0; h < results[i].hypothesis_count; h++)
            lost += !keeps(&lines[i], results[i].hypotheses[h].text);
    }
    tr_result_array_free(results, line_count);
    assert_int_equal(lost, 0);
}

/* ---------------------------------------------------------------------------------------------------------- what is found
 */

/* Words that stand for something else, and ordinary text that looks like it. */
static void spans_are_found(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"他说#1号和#2号都好。", "#1|#2"},
        {"北京#上海，很大", "#上海"},
        {"感谢@小明和@小红的帮助", "@小明|@小红"},
        {"在#302里找到了#夏日#。", "#302|#夏日#"},
        {"root@db01的db02", "root@db01|db02"},
        {"00:1A:2B:3C:4D:5E和2001:db8::1", "00:1A:2B:3C:4D:5E|2001:db8::1"},
        {"2025-06-01T12:00:00Z", "2025-06-01T12:00:00Z"},
        {"2025-06-01 23:59:59。", "2025-06-01 23:59:59"},
        {"Thu, 26 Nov 2026 10:00:00 GMT", "Thu, 26 Nov 2026 10:00:00 GMT"},
        {"于Tue, 3 Nov 2026 10:00:00 +0800，", "Tue, 3 Nov 2026 10:00:00 +0800"},
        {"Thu, 26 Nov 2026 10:00:00 in Rome, 10:00:00 was, 10:00:00 please", "2026 10"},
        {"气温25.5 °C，-3°C和78 °F。", "25.5 °C|-3°C|78 °F"},
        {"1,000 °C or so...25°C", "1,000 °C|so...25°C"},
        {"%d%%，%s%%和%d", "%d%%|%s%%|%d"},
        {"C:\\Program Files\\a目录", "C:\\Program Files\\a"},
        {"~/Documents/毕业论文.docx，", "~/Documents/毕业论文.docx"},
        {"*.log和*100#", "*.log|*100#"},
        {"C#、1#楼和[[id]]", "C#|1#|[[id]]"},
        {"x=3，y=-2", "x=3|y=-2"},
        {"{苹果、香蕉}和{n, plural, other {# 项}}", "{n, plural, other {# 项}}"},
        {"€1200万和€12", "€12"},
        {"→https://a.b/c?d和→v2.3.1", "→|https://a.b/c?d|→|v2.3.1"},
        {"%dMB，%skm，%discount", "%d|%s"},
        {"话题#高考加油#很热", "#高考加油#"},
        {"请打开example.com:8080看看。", "example.com:8080"},
        {"请访问192.168.1.1:8080/x。", "192.168.1.1:8080/x"},
        {"型号ModelName:GT-9000X。", "GT-9000X"},
        {"localhost:3000和14:30", "localhost:3000"},
        {"C:\\Tools\\bin", "C:\\Tools\\bin"},
        {"%{count}个，%d个", "%{count}|%d"},
        {"| a | b |", "|||||"},
        {"# 标题", "#"},
        {"- 项目", "-"},
        {"> 引文", ">"},
        {"5 - 3 > 1", ""},
        {"**粗**和~~删~~", "**|**|~~|~~"},
        {"2**3等于8", ""},
        {"[字](http://a.b/c_(d)) [1]", "[|](http://a.b/c_(d))"},
        {"![图](a.png \"t\")", "![|](a.png \"t\")"},
        {"[字] (x)", ""},
        {"第3.2节，U.S.和e.g.", ""},
        {"价格3.14，1,000元", ""},
    };
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i][0];
        tr_buffer spans = {0};
        tr_error error;
        char found[256] = "";
        assert_int_equal(tr_spans_find(text, strlen(text), &spans, &error), TR_OK);
        const tr_kept_span *s = (const tr_kept_span *)(const void *)spans.data;
        for (size_t k = 0; k < spans.size / sizeof *s; k++)
            snprintf(found + strlen(found), sizeof found - strlen(found), "%s%.*s", k ? "|" : "",
                     (int)(s[k].end - s[k].begin), text + s[k].begin);
        if (strcmp(found, cases[i][1])) {
            print_message("%s: %s, not %s\n", text, found, cases[i][1]);
            wrong++;
        }
        tr_buffer_free(&spans);
    }
    assert_int_equal(wrong, 0);
}

/* ------------------------------------------------------------------------------------------------------- the default model
 */

static void sentences_keep_their_spans(void **state)
{
    (void)state;
    tr_model *model = open_model(TR_DEFAULT_MODEL);
    tr_context *context = open_context(model, 2, 32);
    const tr_translate_options options = tr_translate_default_options();
    read_lines(TR_LINES "/spans.tsv");
    assert_int_equal(line_count, 400 / STEP);
    expect_kept(context, &options);
    tr_translate_options off = options;
    off.protect = false;
    tr_result *results = translate(context, &off);
    size_t lost = 0;
    for (size_t i = 0; i < line_count; i++)
        for (int k = 0; k < lines[i].count; k++)
            lost += count_in(results[i].text, lines[i].spans[k]) != count_in(lines[i].text, lines[i].spans[k]);
    print_message("%zu spans lost without protection\n", lost);
    assert_true(lost > 100 / STEP); /* the test would notice */
    tr_result_array_free(results, line_count);
    free_lines();
    tr_context_destroy(context);
    tr_model_close(model);
}

/* To English and back. */
static void the_way_back_keeps_them(void **state)
{
    (void)state;
    tr_model *models[2] = {open_model(TR_DEFAULT_MODEL), open_model(TR_INTO_CHINESE_MODEL)};
    tr_context *there = open_context(models[0], 2, 32), *back = open_context(models[1], 2, 32);
    const tr_translate_options options = tr_translate_default_options();
    read_lines(TR_LINES "/spans.tsv");
    assert_int_equal(line_count, 400 / STEP);
    tr_result *english = translate(there, &options);
    for (size_t i = 0; i < line_count; i++)
        texts[i] = english[i].text;
    expect_kept(back, &options);
    tr_result_array_free(english, line_count);
    free_lines();
    tr_context_destroy(there);
    tr_context_destroy(back);
    for (int i = 0; i < 2; i++)
        tr_model_close(models[i]);
}

/* Chinese words in English, items, signs and the marks and spaces beside them, tabs, and English in capitals, which the
 * network sees in small letters. */
static void english_becomes_chinese(void **state)
{
    static const char *const beginnings[][2] = {{"1. Milk\n2. Bread", "1. 牛奶\n2. 面包"},
                                                {"(3) Milk", "(3) 牛奶"},
                                                {"b) Milk", "b) 牛奶"},
                                                {"- Milk", "- 牛奶"},
                                                {"Thanks! 👍, goodbye.", "谢谢！👍，再见"},
                                                {"Thanks 👍...", "谢谢👍..."},
                                                {"Thanks 👍?!", "谢谢👍？！"},
                                                {"| Milk | Bread |", "| 牛奶 | 面包 |"},
                                                {"Milk\tBread", "牛奶\t面包"}};
    static const char *const han[][2] = {
        {"Please send it to 王小明 before Friday.", "王小明"}, {"What does 马马虎虎 mean?", "马马虎虎"},
        {"The 小笼包 at this place are great!", "小笼包"},     {"He lives in Beijing (北京).", "（北京）"},
        {"The exam is on 2024年6月7日.", "2024年6月7日"},      {"I like 卡尔·马克思 very much.", "卡尔·马克思"}};
    static const char *const capitals[][2] = {
        {"THE WEATHER IS NICE TODAY.", "The weather is nice today."},
        {"I KNOW THAT I AM LATE", "I know that I am late"},
        {"Error: FILE NOT FOUND", "Error: file not found"},
        {"WE MEET ON MONDAY", "We meet on Monday"},
        {"WARNING", "warning"},
        {"EXIT!", "exit!"},
        {"(CLOSED)", "(closed)"},
        {"FOR SALE", "For sale"},
        {"MONDAY", "Monday"},
        {"NOTICE: the lift is closed today.", "notice: the lift is closed today."},
        {"PLEASE READ {title} BEFORE YOU LEAVE", "Please read {title} before you leave"}};
    static const char *const others[] = {"USB AND HDMI",
                                         "USB, HDMI, VGA and DVI",
                                         "JPG/PNG/GIF/TIFF",
                                         "UNESCO",
                                         "NASA",
                                         "HTTPS",
                                         "IT",
                                         "US",
                                         "COVID-19",
                                         "ABCDE 12345",
                                         "Read the README file.",
                                         "WARNING signs",
                                         "HTTP GET POST PUT",
                                         "MY_FILE_NAME A2FILE",
                                         "ÜBER ALLES"};
    (void)state;
    tr_model *model = open_model(TR_INTO_CHINESE_MODEL);
    tr_context *context = open_context(model, 1, 8);
    tr_translate_options options = tr_translate_default_options();
    tr_result *results;
    tr_error error;
    for (size_t i = 0; i < sizeof han / sizeof *han; i++) {
        assert_int_equal(tr_translate_texts(context, &han[i][0], NULL, 1, &options, &results, &error), TR_OK);
        assert_int_equal(count_in(results->text, han[i][1]), 1);
        tr_result_array_free(results, 1);
    }
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        assert_int_equal(tr_translate_texts(context, beginnings[i], NULL, 1, &options, &results, &error), TR_OK);
        if (strncmp(results->text, beginnings[i][1], strlen(beginnings[i][1])))
            fail_msg("%s: %s", beginnings[i][0], results->text);
        tr_result_array_free(results, 1);
    }
    options.align = true;
    for (size_t i = 0; i < sizeof capitals / sizeof *capitals; i++) {
        assert_int_equal(tr_translate_texts(context, capitals[i], NULL, 2, &options, &results, &error), TR_OK);
        assert_string_equal(results[0].text, results[1].text);
        assert_int_equal(results[0].source.count, results[1].source.count);
        assert_memory_equal(results[0].source_spans, results[1].source_spans,
                            results[0].source.count * sizeof *results[0].source_spans);
        tr_result_array_free(results, 2);
    }
    const tr_protection into = {.source = tr_script_bit(TR_LATIN), .target = tr_script_bit(TR_HAN)};
    const tr_protection german = {.source = tr_script_bit(TR_LATIN), .target = tr_script_bit(TR_LATIN)};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(tr_is_in_capitals(&into, others[i], NULL, 0, 0, strlen(others[i])));
    static const char *const short_words[] = {"I LOVE YOU", "CALL ME!", "NO ENTRY", "DON'T GO"};
    for (size_t i = 0; i < sizeof short_words / sizeof *short_words; i++)
        assert_true(tr_is_in_capitals(&into, short_words[i], NULL, 0, 0, strlen(short_words[i])));
    assert_false(tr_is_in_capitals(&into, "NATO AND EU", NULL, 0, 0, 11));
    assert_true(tr_is_in_capitals(&into, capitals[0][0], NULL, 0, 0, strlen(capitals[0][0])));
    assert_false(tr_is_in_capitals(&german, capitals[0][0], NULL, 0, 0, strlen(capitals[0][0])));
    tr_context_destroy(context);
    tr_model_close(model);
}

/* How many of the sentences are cut into pieces between their spans at last. */
static void few_sentences_become_pieces(void **state)
{
    (void)state;
    tr_model *model = open_model(TR_DEFAULT_MODEL);
    tr_context *context = open_context(model, 1, 32);
    tr_text_call call = {.context = context, .plans = context->plans, .texts = texts};
    tr_error error;
    read_lines(TR_LINES "/spans.tsv");
    call.count = line_count;
    assert_int_equal(tr_translate_options_resolve(&context->config, NULL, &call.options, &error), TR_OK);
    assert_int_equal(tr_context_languages(context, NULL, NULL, true, &call.pair, &error), TR_OK);
    assert_int_equal(tr_text_call_prepare(&call, NULL, &error), TR_OK);
    size_t pieces = 0, again = 0;
    for (bool more = true; more;) {
        assert_int_equal(tr_scheduler_run(context->scheduler, &call.job, &error), TR_OK);
        assert_int_equal(tr_text_call_next_round(&call, &more, &error), TR_OK);
        again += call.attempt == 1 ? call.round->count : 0;
        pieces += call.attempt == TR_ATTEMPTS - 1 ? call.round->count : 0;
    }
    print_message("%zu sentences translated again, %zu in pieces\n", again, pieces);
    assert_true(pieces * 100 <= line_count * 15);
    tr_result_array_free(call.results, line_count);
    tr_text_call_free(&call);
    free_lines();
    tr_context_destroy(context);
    tr_model_close(model);
}

static void every_search_keeps_them(void **state)
{
    (void)state;
    tr_model *model = open_model(TR_SMALL_MODEL);
    tr_context *one = open_context(model, 1, 1), *many = open_context(model, 3, 8);
    size_t kept = 0;
    read_lines(TR_LINES "/spans.tsv");
    for (size_t i = 0; i < line_count; i++) { /* some; 『 is in this model's vocabulary: it is translated */
        if (i % 3 || strstr(lines[i].text, "『")) {
            free(lines[i].text);
            continue;
        }
        lines[kept] = lines[i];
        texts[kept++] = lines[i].text;
    }
    line_count = kept;
    for (int kind = 0; kind < 5; kind++) {
        tr_translate_options o = tr_translate_default_options();
        o.search.beam = kind == 1 || kind == 2 ? 4 : 1;
        o.search.n_best = kind == 2 ? 4 : kind > 2 ? 3 : 1;
        o.search.sample = kind == 3;
        o.search.alternatives = kind == 4;
        o.align = kind == 0;
        o.scores = kind == 1;
        expect_kept(one, &o);
        expect_kept(many, &o);
        tr_result *a = translate(one, &o), *b = translate(many, &o);
        for (size_t i = 0; i < line_count; i++)
            assert_string_equal(a[i].text, b[i].text);
        tr_result_array_free(a, line_count);
        tr_result_array_free(b, line_count);
    }
    free_lines();
    tr_context_destroy(one);
    tr_context_destroy(many);
    tr_model_close(model);
}

#ifdef TR_TESTS /* models of other formats */

/* ------------------------------------------------------------------------------------------------- models that copy nothing
 */

/* Returns whether it is a model of texts. */
static bool try_model(const char *path)
{
    tr_model *model;
    tr_error error;
    bool tried = false;
    if (tr_open_model(path, NULL, &model, &error)) /* of another format */
        return false;
    tr_model_info info;
    tr_model_get_info(model, &info);
    tr_context *context = open_context(model, 2, 16);
    tr_translate_options o = tr_translate_default_options();
    tr_result *results;
    o.max_length = 40;
    if (info.languages > 0) {
        o.source_language = tr_model_language(model, 0);
        o.target_language = tr_model_language(model, 1);
    }
    if (info.has_tokenizer && tr_translate_texts(context, texts, NULL, 1, &o, &results, &error) == TR_OK) {
        tr_result_array_free(results, 1);
        expect_kept(context, &o);
        tried = true;
    }
    tr_context_destroy(context);
    tr_model_close(model);
    return tried;
}

static void fixtures_keep_them(void **state)
{
    (void)state;
    static const char *const patterns[] = {
        "/reference/fixtures/*/model", "/languages/fixtures/*/model", "/bergamot/fixtures/*",   "/marian/fixtures/spm*",
        "/argos/fixtures/*",           "/ensemble/fixtures/?",        "/ctranslate2/fixtures/*"};
    read_lines(TR_LINES "/spans.tsv");
    size_t kept = 0;
    int tried = 0;
    const size_t step = getenv("TR_ALL_SPANS") ? 1 : 16;
    for (size_t i = 0; i < line_count; i++) {        /* some of each kind, or, by hand, all */
        if (i % step || strstr(lines[i].text, "『")) /* some vocabularies have 『』, which are translated then */
            free(lines[i].text);
        else
            lines[kept++] = lines[i];
    }
    line_count = kept;
    for (size_t i = 0; i < kept; i++)
        texts[i] = lines[i].text;
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        char pattern[1024];
        glob_t found;
        snprintf(pattern, sizeof pattern, "%s%s", TR_TESTS, patterns[p]);
        assert_int_equal(glob(pattern, 0, NULL, &found), 0);
        for (size_t i = 0; i < found.gl_pathc; i++)
            tried += try_model(found.gl_pathv[i]);
        globfree(&found);
    }
    print_message("%d models\n", tried);
    assert_true(tried >= 12);
    free_lines();
}

#endif

/* ------------------------------------------------------------------------------------------------------------ random texts
 */

static uint32_t draw(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Words and spans in random order, each span once. */
static void make_random_lines(uint32_t seed, size_t count)
{
    static const char *const words[] = {"请",     "打开", "文件", "今天", "他说", "，", "。", "价格是",
                                        "明天见", "我们", "的",   "在",   "！",   " ",  "和", "问题"};
    static const char *const forms[] = {"https://a%u.example.com/x?y=%u",
                                        "user%u@example%u.org",
                                        "/usr/lib/a%u/b%u.so",
                                        "`code%u %u`",
                                        "{name%u_%u}",
                                        "%%(key%u_%u)s",
                                        "#A%u-%u",
                                        "<i id=\"%u-%u\">",
                                        "${V%u_%u}",
                                        "ID_%u_%u"};
    line_count = count;
    for (size_t i = 0; i < count; i++) {
        char text[2048] = "";
        span_line *l = &lines[i];
        *l = (span_line){.count = 0};
        char *spans[MOST_SPANS];
        const unsigned parts = 1 + draw(&seed) % 20;
        for (unsigned k = 0; k < parts; k++) {
            if (draw(&seed) % 3 || l->count == MOST_SPANS) {
                strcat(text, words[draw(&seed) % (sizeof words / sizeof *words)]);
                continue;
            }
            char *span;
            assert_true(asprintf(&span, forms[draw(&seed) % (sizeof forms / sizeof *forms)], (unsigned)i, k + 100) > 0);
            strcat(text, " ");
            strcat(text, span);
            strcat(text, " ");
            spans[l->count++] = span;
        }
        /* one block: the text and its spans */
        size_t size = strlen(text) + 1;
        for (int k = 0; k < l->count; k++)
            size += strlen(spans[k]) + 1;
        char *at = l->text = malloc(size);
        assert_non_null(at);
        at = stpcpy(at, text) + 1;
        for (int k = 0; k < l->count; k++) {
            l->spans[k] = at;
            at = stpcpy(at, spans[k]) + 1;
            free(spans[k]);
        }
        texts[i] = l->text;
    }
}

static void random_texts_keep_them(void **state)
{
    (void)state;
    tr_model *model = open_model(TR_SMALL_MODEL);
    tr_context *one = open_context(model, 1, 4), *many = open_context(model, 3, 16);
    for (uint32_t seed = 1; seed <= (STEP > 1 ? 1 : 3); seed++) {
        tr_translate_options o = tr_translate_default_options();
        make_random_lines(seed, 60);
        o.split = seed == 3 ? TR_SPLIT_NEVER : TR_SPLIT_AUTO;
        expect_kept(one, &o);
        o.search.beam = o.search.n_best = 3;
        expect_kept(many, &o);
        free_lines();
    }
    tr_context_destroy(one);
    tr_context_destroy(many);
    tr_model_close(model);
}

/* ------------------------------------------------------------------------------------------------------------------ streams
 */

typedef struct heard {
    tr_buffer text[MOST_LINES][8];
    int last[MOST_LINES][8];
} heard;

static int hear(void *argument, const tr_token_event *event)
{
    heard *h = argument;
    if (event->sentence >= 8 || h->last[event->text][event->sentence])
        return -1;
    h->last[event->text][event->sentence] = event->last;
    return event->size && !tr_buffer_append(&h->text[event->text][event->sentence], event->bytes, event->size) ? -1 : 0;
}

/* Streams the lines, and frees them. */
static void stream_lines(tr_context *context)
{
    tr_translate_options o = tr_translate_default_options();
    heard *h = calloc(1, sizeof *h);
    assert_non_null(h);
    o.loop_guard = false;
    tr_result *quiet = translate(context, &o);
    o.on_token = hear;
    o.on_token_argument = h;
    o.use_cache = false;
    tr_result *results = translate(context, &o);
    size_t streamed = 0, total = 0;
    for (size_t i = 0; i < line_count; i++) {
        tr_buffer all = {0};
        for (int s = 0; s < 8; s++) {
            assert_true(!h->text[i][s].size || tr_buffer_append(&all, h->text[i][s].data, h->text[i][s].size));
            tr_buffer_free(&h->text[i][s]);
        }
        assert_string_equal(results[i].text, quiet[i].text);
        assert_true(all.size <= results[i].size);
        assert_memory_equal(all.size ? all.data : "", results[i].text, all.size);
        streamed += all.size;
        total += results[i].size;
        tr_buffer_free(&all);
    }
    assert_true(streamed * 10 > total * 8); /* what follows the last sentence comes with the results */
    free(h);
    tr_result_array_free(quiet, line_count);
    tr_result_array_free(results, line_count);
    free_lines();
}

static void streams_have_the_same_text(void **state)
{
    (void)state;
    tr_model *model = open_model(TR_SMALL_MODEL);
    tr_context *context = open_context(model, 2, 8);
    read_lines(TR_LINES "/spans.tsv");
    for (; line_count > 200; line_count--)
        free(lines[line_count - 1].text);
    stream_lines(context);
    for (uint32_t seed = 11; seed < 14; seed++) {
        make_random_lines(seed, 60);
        stream_lines(context);
    }
    tr_context_destroy(context);
    tr_model_close(model);
}

/* A queue gives the same, tokens included. */
static void queues_have_the_same_text(void **state)
{
    (void)state;
    tr_model *model = open_model(TR_SMALL_MODEL);
    tr_context *context = open_context(model, 1, 32);
    tr_options options = tr_default_options();
    tr_queue *queue;
    tr_ticket ticket;
    tr_error error;
    tr_event *event;
    read_lines(TR_LINES "/spans.tsv");
    tr_result *wanted = translate(context, NULL);
    options.context.threads = 3;
    assert_int_equal(tr_queue_create(model, &options, &queue, &error), TR_OK);
    for (int round = 0; round < 2; round++) {
        size_t results = 0;
        options.submit.tokens = round == 1;
        assert_int_equal(tr_queue_submit(queue, texts, NULL, line_count, &options, &ticket, &error), TR_OK);
        while ((event = tr_queue_wait(queue, ticket, -1))) {
            const tr_results *found = tr_event_results(event);
            assert_int_equal(tr_event_status(event), TR_OK);
            if (found)
                assert_string_equal(tr_results_text(found, 0, NULL), wanted[tr_event_text(event)].text);
            results += found != NULL;
            tr_event_free(event);
        }
        assert_int_equal(results, line_count);
    }
    tr_queue_destroy(queue);
    tr_result_array_free(wanted, line_count);
    free_lines();
    tr_context_destroy(context);
    tr_model_close(model);
}

static void what_is_not_the_source_language_passes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *result;
        unsigned flags;
    } cases[] = {
        {"Hello, how are you?", "Hello, how are you?", TR_FLAG_PASSED_THROUGH},
        {"00:00:01,000 --> 00:00:03,500", "00:00:01,000 --> 00:00:03,500", TR_FLAG_PASSED_THROUGH},
        {"| --- | :-: |", "| --- | :-: |", TR_FLAG_PASSED_THROUGH},
        {"  <br/>  ", "  <br/>  ", TR_FLAG_PASSED_THROUGH},
        {"👍🏻", "👍🏻", TR_FLAG_PASSED_THROUGH},
        {"", "", 0},
        {" \n ", " \n ", 0},
        {"12.5%", "12.5%", TR_FLAG_PASSED_THROUGH},
    };
    tr_model *model = open_model(TR_SMALL_MODEL);
    tr_context *context = open_context(model, 1, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tr_result *results;
        tr_error error;
        assert_int_equal(tr_translate_texts(context, &cases[i].text, NULL, 1, NULL, &results, &error), TR_OK);
        assert_string_equal(results[0].text, cases[i].result);
        assert_int_equal(results[0].flags, cases[i].flags);
        tr_result_array_free(results, 1);
    }
    tr_context_destroy(context);
    tr_model_close(model);
}

/* --------------------------------------------------------------------------------------------------------- large input */

static double scan_seconds(const char *part, size_t count)
{
    const size_t each = strlen(part), size = each * count + 6;
    char *text = malloc(size + 1);
    tr_buffer spans = {0};
    tr_error error;
    assert_non_null(text);
    char *at = stpcpy(text, "你好");
    for (size_t k = 0; k < count; k++)
        at = stpcpy(at, part);
    const double begin = seconds_now();
    assert_int_equal(tr_spans_find(text, size, &spans, &error), TR_OK);
    const double took = seconds_now() - begin;
    tr_buffer_free(&spans);
    free(text);
    return took;
}

static void scanning_is_linear(void **state)
{
    (void)state;
    static const char *const parts[] = {"{",    "}",       "`",   "` ",  "<a \"", "<x \" =\"", "<a ",         "<!--", "<b>",
                                        "</b>", "%(",      "%",   "#",   "# ",    "@",         "&",           "[",    "[a](",
                                        "**",   "**a ",    "~~",  "1 ",  "1-",    "1:",        "a:",          "a.b:", "\\n",
                                        "://",  "http://", "|",   "| ",  "- ",    "😀",         "👍🏻‍", "🇨",    "‍",
                                        "+1 ",  "a@b.",    "../", "___", "中#",   "#中",       "(",           "!["};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        print_message("%s ", parts[i]);
        const size_t count = 40000 / STEP;
        expect_linear(scan_seconds(parts[i], count), scan_seconds(parts[i], 8 * count), 8);
    }
    print_message("\n");
}

static double digit_seconds(const char *part, size_t count)
{
    const size_t each = strlen(part);
    char *text = malloc(each * count + 1), *at = text;
    const tr_protection chinese = {.from = TR_FIGURES_CHINESE, .to = TR_FIGURES_ENGLISH};
    tr_plan plan = {0};
    tr_error error;
    assert_non_null(text);
    for (size_t k = 0; k < count; k++)
        at = stpcpy(at, part);
    const double begin = seconds_now();
    assert_int_equal(tr_add_language_spans(&plan, &chinese, text, 0, each * count, false, &error), TR_OK);
    const double took = seconds_now() - begin;
    tr_plan_free(&plan);
    free(text);
    return took;
}

static void digits_are_linear(void **state)
{
    (void)state;
    static const char *const parts[] = {"一", "〇", "万", "叁", "１", "．", "〇万", "一中", "中"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const size_t count = 20000 / STEP;
        expect_linear(digit_seconds(parts[i], count), digit_seconds(parts[i], 8 * count), 8);
    }
}

static void large_input_is_translated(void **state)
{
    (void)state;
    tr_model *model = open_model(TR_SMALL_MODEL);
    tr_context *context = open_context(model, 2, 32);
    static const char *const repeated[] = {"{a}", "<b>", "`", "<a \"", "😀",     "%s ",
                                           "#",   "@",   "{", "&amp;", "中{x}", "<b>中</b>"};
    for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++) {
        const size_t each = strlen(repeated[i]), count = 10000;
        char *text = malloc(each * count + 16);
        assert_non_null(text);
        char *at = stpcpy(text, "你好");
        for (size_t k = 0; k < count; k++)
            at = stpcpy(at, repeated[i]);
        tr_result *results;
        tr_error error;
        const char *one = text;
        tr_translate_options o = tr_translate_default_options();
        o.max_length = 4;
        if (tr_translate_texts(context, &one, NULL, 1, &o, &results, &error))
            fail_msg("%s", error.message);
        if (i < 1 || i == 4)
            assert_int_equal(count_in(results[0].text, repeated[i]), count);
        if (i == 11)
            assert_int_equal(count_in(results[0].text, "<b>"), count);
        tr_result_array_free(results, 1);
        free(text);
    }
    /* a span of a megabyte */
    enum { LARGE = 1 << 20 };
    char *text = malloc(LARGE + 64);
    assert_non_null(text);
    char *at = stpcpy(text, "请看`");
    memset(at, 'x', LARGE);
    strcpy(at + LARGE, "`这里。");
    tr_result *results;
    tr_error error;
    const char *one = text;
    assert_int_equal(tr_translate_texts(context, &one, NULL, 1, NULL, &results, &error), TR_OK);
    assert_true(results[0].size > LARGE);
    tr_result_array_free(results, 1);
    free(text);
    tr_context_destroy(context);
    tr_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_are_found),
        cmocka_unit_test(sentences_keep_their_spans),
        cmocka_unit_test(the_way_back_keeps_them),
        cmocka_unit_test(english_becomes_chinese),
        cmocka_unit_test(few_sentences_become_pieces),
        cmocka_unit_test(every_search_keeps_them),
#ifdef TR_TESTS
        cmocka_unit_test(fixtures_keep_them),
#endif
        cmocka_unit_test(random_texts_keep_them),
        cmocka_unit_test(streams_have_the_same_text),
        cmocka_unit_test(queues_have_the_same_text),
        cmocka_unit_test(what_is_not_the_source_language_passes),
        cmocka_unit_test(scanning_is_linear),
        cmocka_unit_test(digits_are_linear),
        cmocka_unit_test(large_input_is_translated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
