/* Sentence splitting as a table: texts with a | at each place where they must be split. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "util/utf8.h"
#include "text/sentences.h"

static const char *const cases[] = {
    /* Chinese marks */
    "今天天气很好",
    "今天天气很好。",
    "今天天气很好。|我们去公园吧。",
    "今天天气很好！|我们去公园吧？|好的。",
    "你好。| 我是小明。",
    "你好。|\u3000\u3000我是小明。",
    "真的吗？！|我不信。",
    "真的吗？？？|我不信！！！|算了。",
    "第一，他很高；第二，他很快。|第三：他很聪明。",
    "北京、上海、广州，都是大城市。",
    "价格是3.14元。|很便宜。",
    "下降了5.6%。|上升了1,234.5点！",
    "他用Python 3.11。|我用C。",
    "半角句号｡|也算。",
    "今天很好.|明天也很好.",
    "你来吗?|我不去!|好吧.",
    "OK!|我知道了。",
    "你好！～|我是小明。",
    "你好~我是小明。",
    "你好！~|我是小明。",
    "什么？——他不明白。",
    "“什么？”——他不明白。",
    "快跑！，他喊道。",
    "Windows 11发布了。|下载地址在microsoft.com。",
    "网址是https://example.com/a?b=c.d&e=1!2。|请访问。",
    "请访问www.baidu.com。|谢谢。",
    "发邮件到a.b@example.com.cn。|谢谢！",
    "打开main.c和test.h。|编译。",
    "用Node.js写的。|很快。",
    "1.今天天气很好。|2.明天也很好。",
    "1. 今天天气很好。| 2. 明天也很好。",
    "一. 今天天气很好。|二. 明天也很好。",
    "十二. 附录",
    "一、今天。|二、明天。",
    "（一）今天。|（二）明天。",
    "。",
    "。。。",
    "！？",
    "我。。。|我不知道。",
    /* Chinese ellipses */
    "我……我不知道。",
    "我……|\n我不知道。",
    "他走了……。|后来他回来了。",
    "等等……！|他来了。",
    "他走了…… |后来他又回来了。",
    "他走了...后来他又回来了。",
    "……",
    "省略……",
    /* Chinese quotes and brackets */
    "“今天很好。|明天也很好。”|大家都同意。",
    "“你好！”他说。",
    "“走吧！”小明笑着说。|我们走了。",
    "“你是谁？”|大家都很奇怪。",
    "他说：“你好。”|然后走了。",
    "他说：“你好。”，然后走了。",
    "他喊着“加油！”的口号。",
    "“加油！”和“努力！”是口号。",
    "「你好。」|「再见。」",
    "『你好。』」|好。",
    "‘你好。’|再见。",
    "他说：\"你好。\"|然后走了。",
    "\"你好。|再见。\"|他走了。",
    "他（真的吗？）走了。",
    "他走了（真的吗？）。|她没走。",
    "他走了。|（真的吗？）|她没走。",
    "（他走了。她没走。）|我也没走。",
    "他(今年三岁。很可爱。)走了。",
    "《你好，李焕英！》是一部电影。|很好看。",
    "我看了《谁的青春不迷茫？》和《你好！》。",
    "【快讯！】|今天股市上涨。",
    "【快讯】今天股市上涨。|明天呢？",
    "他说（小声地。",
    "他说）好。|走。",
    "〈他来了？〉也是书名。",
    "他说“好。”",
    "“好。”。|他走了。",
    /* Japanese and others */
    "今日は天気がいいです。|公園に行きましょう。",
    "「はい。」と言った。|そして帰った。",
    "Привет. |Как дела?",
    "См. рис. с котом.",
    /* English marks */
    "Hello",
    "Hello.",
    "Hello. |How are you?",
    "Hello.  |How are you? |Fine!",
    "Hello.How are you?",
    "Hello!How are you?",
    "What?! |No way.",
    "What!!! |No way.",
    "It works. |3 people came.",
    "Really? yes, really.",
    "he left. she stayed.",
    "I like it. |iPhone is nice.",
    "Stop! |iPhone sales fell.",
    "Hi ! |How are you ?",
    "A; b: c, d.",
    "He left. |- Why?",
    "He left. |— Why?",
    "Price: $5. |€6 is more.",
    "He paid. |$5 was enough.",
    "x = a. = b",
    /* English quotes and brackets */
    "He said \"Hi.\" |Then he left.",
    "\"Really?\" he asked.",
    "\"Really?\" |He left.",
    "He said, 'Go.' |We went.",
    "“Go!” |We went.",
    "“Go!” he cried.",
    "He left. |\"Why?\" she asked.",
    "\"Go. |Now!\" |He went.",
    "He left. |“Why?” |Nobody knew.",
    "(He left. She stayed.) |Then it rained.",
    "He (really?) left.",
    "He left (why?). |She stayed.",
    "He left. |(See below.) |She stayed.",
    "He left. (see below)",
    "It's a dog. |It isn't a cat's toy.",
    "'Tis true. |'Twas a lie.",
    "The end.[1] |Next one.[12][3] |Last.",
    "The end.) |Next.",
    "The dogs' bowl. |The cat.",
    /* English ellipses */
    "Wait... |What?",
    "Wait... what?",
    "Wait…what?",
    "Wait… |What?",
    "... and then.",
    "And . . . then.",
    /* Numbers */
    "Pi is 3.14. |E is 2.72.",
    "It is 1,000.50 dollars. |Cheap.",
    "Version 1.2.3 is out. |Get it.",
    "Only .5 percent.",
    "It costs $3. |We paid.",
    "In 2019. |What a year!",
    "At 10.30 we left.",
    "IP 127.0.0.1. |Port 80.",
    /* Enumerations */
    "1. First. |Second.",
    "1) First. |2) Second.",
    "2.1. Methods. |We did.",
    "a. Apple. |Pear.",
    "(a). Apple.",
    "(1). Apple.",
    "IV. Results. |They are good.",
    "Line one.\n|2. Line two.",
    /* Abbreviations */
    "Mr. Smith left. |Mrs. Smith stayed.",
    "Dr. Who met Prof. Xavier. |They talked.",
    "See e.g. The Times. |It is a paper.",
    "Fruit, i.e. Apples. |Good.",
    "Cats vs. Dogs. |A film.",
    "No. 5 is alive. |No. |He is not.",
    "See Fig. 3 and p. 12. |Then stop.",
    "Was it no. 7? |No.",
    "Apples, pears, etc. |The rest is gone.",
    "Apples, pears, etc. Dogs too.",
    "Acme Inc. Chairman Bob left. |He did.",
    "He works at Acme Inc. |He likes it.",
    "He lives in the U.S. |He likes it.",
    "The U.S. Army came. |It left.",
    "The U.K. Government fell.",
    "At 5 p.m. Eastern time. |OK.",
    "At 5 p.m. |The show starts.",
    "At 5 a.m. he left.",
    "She has a Ph.D. |She is clever.",
    "A Ph.D. Student.",
    "J. K. Rowling wrote it. |I read it.",
    "George W. Bush spoke. |They listened.",
    "J. R. R. Tolkien et al. |They wrote.",
    "So am I. |He is too.",
    "As did I. |Nobody saw.",
    "St. Louis is nice. |He lives on Main St. |It is long.",
    "On Jan. 5 it snowed. |On Feb. Sixth too.",
    "Sammy Davis Jr. Sang. |He did.",
    "Caf\u00e9. |Then home.",
    "Gen. Lee and Col. Mustard. |In the hall.",
    "It took approx. Five.",
    "J. I. Smith came.",
    /* Addresses and files */
    "Visit example.com. |Then leave.",
    "Visit http://example.com/a.b?c=d! |Then leave.",
    "See (https://example.com/x.html). |Then leave.",
    "Open foo.txt and bar.tar.gz. |Then close.",
    "Use .NET. |Or ASP.NET Core.",
    "Mail a.b@c.org. |Thanks.",
    "Yahoo! is old. |Yahoo! |It was.",
    /* Line breaks and white space */
    "a\n|b",
    "a\r\n|b",
    "a\r|b",
    "a\n\n\n|b",
    "He is\n|gone.",
    "今天\n|天气\n|很好",
    "  Hello.  |Bye.  ",
    "\n\n Hello. \n|\t Bye.\r\n",
    "姓名：|\t王小明|\t北京。|\t好！",
    "a\u2028|b\u2029|c",
    "a\u00a0b\u3000c",
    "\ufeff你好。|再见。",
    "你好。 \u3000 |再见。",
    /* Mixed */
    "我住在U.S.很久了。|好。",
    "他是Mr. Wang。|她是Mrs. Li。",
    "他说OK. |然后走了。",
    "这是ABC公司. |他们很好。",
    "I love 中国。|It is big.",
    "I love 中国. |It is big.",
    "He said “你好。” |Then left.",
};

/* The text without its bars, and the parts between the bars, trimmed. */
static bool case_holds(const char *marked)
{
    const size_t length = strlen(marked);
    char *text = malloc(length + 1);
    size_t starts[64], ends[64], count = 0, size = 0, from = 0;
    for (size_t i = 0; i <= length; i++) {
        if (marked[i] && marked[i] != '|') {
            text[size++] = marked[i];
            continue;
        }
        const size_t first = tr_skip_space(text, size, from), last = tr_trim_space(text, first, size);
        if (last > first) {
            assert_true(count < 64);
            starts[count] = first;
            ends[count++] = last;
        }
        from = size;
    }
    text[size] = 0;
    tr_sentences sentences = {.text = text, .size = size};
    tr_span span;
    size_t found = 0;
    bool good = true;
    char got[4096] = "";
    while (tr_sentences_next(&sentences, &span)) {
        good = good && found < count && span.begin == starts[found] && span.end == ends[found];
        snprintf(got + strlen(got), sizeof got - strlen(got), "%.*s|", (int)(span.end - span.begin), text + span.begin);
        found++;
    }
    free(text);
    if (!good || found != count)
        print_error("expected: %s\n   found: %s\n", marked, got);
    return good && found == count;
}

static void table(void **state)
{
    (void)state;
    const size_t count = sizeof cases / sizeof *cases;
    assert_true(count >= 120);
    size_t failures = 0;
    for (size_t i = 0; i < count; i++)
        failures += !case_holds(cases[i]);
    assert_int_equal(failures, 0);
}

static void blank_texts_have_no_sentences(void **state)
{
    (void)state;
    static const char *const blank[] = {"", " ", "\n", "\r\n", " \t\u3000\u00a0\n", "\ufeff", "\u200b"};
    for (size_t i = 0; i < sizeof blank / sizeof *blank; i++) {
        tr_sentences sentences = {.text = blank[i], .size = strlen(blank[i])};
        tr_span span;
        assert_false(tr_sentences_next(&sentences, &span));
    }
}

/* For any text: spans ascend, are not empty, and only white space lies between them. */
static void check_cover(const char *text, size_t size)
{
    tr_sentences sentences = {.text = text, .size = size};
    tr_span span;
    size_t end = 0;
    while (tr_sentences_next(&sentences, &span)) {
        assert_true(span.begin >= end && span.begin < span.end && span.end <= size);
        assert_int_equal(tr_skip_space(text, span.begin, end), span.begin);
        end = span.end;
    }
    assert_int_equal(tr_skip_space(text, size, end), size);
}

static void random_texts_are_covered(void **state)
{
    (void)state;
    static const char *const parts[] = {"。", "！",      ".",    "?",  "…", "\"",     "'", "”",  "“",  "(", ")",
                                        "（", "）",      "《",   "》", " ", "\n",     "A", "b",  "中", "1", "[",
                                        "]",  "http://", "www.", "Mr", "I", "\u3000", ",", "，", "的"};
    uint32_t random = 1;
    for (int round = 0; round < 20000; round++) {
        char text[256] = "";
        for (int i = 0; i < 20; i++) {
            random = random * 1664525 + 1013904223;
            strcat(text, parts[(random >> 16) % (sizeof parts / sizeof *parts)]);
        }
        check_cover(text, strlen(text));
    }
}

/* Half a megabyte of any text takes a fraction of a second. */
static void time_is_linear(void **state)
{
    (void)state;
    static const char *const units[] = {"a",   "中",   " ",    ".",  "。",  "(",  "（",   "\"",  "'",   "a. ",
                                        "a.b", ". b ", "Mr. ", "(.", "“。", "[1", "www.", "...", "? a", "。”"};
    const size_t size = 1 << 19;
    char *text = malloc(size + 16);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t unit = strlen(units[i]);
        size_t n = 0;
        for (; n + unit <= size; n += unit)
            memcpy(text + n, units[i], unit);
        const clock_t start = clock();
        check_cover(text, n);
        assert_true((clock() - start) / CLOCKS_PER_SEC <
                    10); /* generous: sanitizers, busy machines; quadratic takes hours */
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),
        cmocka_unit_test(blank_texts_have_no_sentences),
        cmocka_unit_test(random_texts_are_covered),
        cmocka_unit_test(time_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
