#include "check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void elements_with_text_are_paragraphs(void **state)
{
    (void)state;
    check_document("xml", "<a/>", "", "<a/>");
    check_document("xml", "<a>\n <b>one</b>\n <b> two\n words </b><c d='x'/>\n</a>\n", "one\ntwo words\n",
                   "<a>\n <b>ONE</b>\n <b> TWO WORDS </b><c d='x'/>\n</a>\n");
    check_document("xml", "<a>今天<b>天气</b>很<c/>好</a>", "今天<x2>天气</x2>很<x6></x6>好\n", NULL);
    check_document("xml", "<p>one <b><i>two</i></b> three<br/></p>", "one <x2><x3>two</x3></x2> three\n",
                   "<p>ONE <b><i>TWO</i></b> THREE<br/></p>");
    check_document("xml", "<p><b>one</b><i>two</i></p>", "one\ntwo\n", "<p><b>ONE</b><i>TWO</i></p>");
    check_document("xml", "<p><b>one</b>, two</p>", "<x1>one</x1>, two\n", "<p><b>ONE</b>, TWO</p>");
}

static void lists_divide_paragraphs(void **state)
{
    (void)state;
    check_document("xml", "<li>one <ul>\n<li>two</li>\n<li>three <b>four</b></li>\n</ul> five</li>",
                   "one\ntwo\nthree <x2>four</x2>\nfive\n",
                   "<li>ONE <ul>\n<li>TWO</li>\n<li>THREE <b>FOUR</b></li>\n</ul> FIVE</li>");
    check_document("xml", "<li>one <b>x <ul>\n<li>two</li>\n</ul></b></li>", "one <x2>x <x4><x5>two</x5> </x4></x2>\n",
                   NULL);
}

static void references_and_sections_are_text(void **state)
{
    (void)state;
    check_document("xml", "<a>x &lt; &#x4e2d;&#65; &amp;&apos;&quot;></a>", "x < 中A &'\">\n",
                   "<a>X &lt; 中A &amp;'\"&gt;</a>");
    check_document("xml", "<a> <![CDATA[ a <b> & c ]]> </a>", "a <b> & c\n", "<a> <![CDATA[ A <B> & C ]]> </a>");
    check_document("xml", "<a>a <![CDATA[<b>]]>&lt;</a>", "a <x2><b></x2><\n", "<a>A <![CDATA[<B>]]>&lt;</a>");
    check_document("xml", "<a><!--c--><![CDATA[a]]><![CDATA[]]></a>", "a\n", "<a><!--c--><![CDATA[A]]><![CDATA[]]></a>");
    check_document("xml", "<a>&#32;a&#10;b<b/>&#32;</a>", "a<x2></x2>b\n", "<a>&#32;A&#10;B<b/>&#32;</a>");
    check_document("xml", "<!DOCTYPE a [<!ENTITY p 'x'>]>\n<a>the &p; works</a>", "the {x2} works\n",
                   "<!DOCTYPE a [<!ENTITY p 'x'>]>\n<a>THE &p; WORKS</a>");
    check_document("xml", "<a>b<!-- c --> d<?e f?> g</a><!-- h -->", "b<x2></x2> d<x4></x4> g\n",
                   "<a>B<!-- c --> D<?e f?> G</a><!-- h -->");
}

static void white_space_is_kept_where_it_is_preserved(void **state)
{
    (void)state;
    check_document("xml", "<a>b\r\n c</a>", "b c\n", "<a>B C</a>");
    check_document("xml", "<a xml:space=\"preserve\"><d> b\r\n  c </d><e xml:space='default'>f\ng</e></a>", "b\\n  c\nf g\n",
                   "<a xml:space=\"preserve\"><d> B\n  C </d><e xml:space='default'>F G</e></a>");
}

static void what_is_not_to_be_translated_stays(void **state)
{
    (void)state;
    check_document("xml", "<a translate='no'>b<c>d</c><e translate='yes'>f</e></a>", "f\n", NULL);
    check_document("xml", "<a>run <code its:translate=\"no\">ls <b>-l</b></code> now</a>", "run {x2} now\n",
                   "<a>RUN <code its:translate=\"no\">ls <b>-l</b></code> NOW</a>");
    check_document("xml", "<svg:svg><style>a</style><text>b<tspan>c</tspan></text></svg:svg>", "b<x2>c</x2>\n", NULL);
}

static void languages_become_the_target(void **state)
{
    (void)state;
    static const char document[] = "<?xml version='1.0' encoding='GB2312'?><a xml:lang='ZH-CN'><b xml:lang=\"zho\">"
                                   "<c>d</c></b><c xml:lang=\"zh\">x</c></a>";
    const tr_document_settings settings = {.format = "xml", .source_language = "zh", .target_language = "en"};
    char *written = check_written(document, strlen(document), &settings, check_upper, NULL);
    assert_string_equal(written, "<?xml version='1.0' encoding='UTF-8'?><a xml:lang='en'><b xml:lang=\"zho\">"
                                 "<c>D</c></b><c xml:lang=\"en\">X</c></a>");
    free(written);

    static const char feed[] = "<rss><channel><language> zh-cn </language><dc:language>zh-CN text</dc:language>"
                               "<language translate='no'>zh</language><x>zh</x><language>fr</language></channel></rss>";
    char *units = check_units(feed, strlen(feed), &settings);
    assert_string_equal(units, "zh-CN text\nzh\nfr\n");
    free(units);
    written = check_written(feed, strlen(feed), &settings, check_upper, NULL);
    assert_string_equal(written, "<rss><channel><language> en </language><dc:language>ZH-CN TEXT</dc:language>"
                                 "<language translate='no'>zh</language><x>ZH</x><language>FR</language></channel></rss>");
    free(written);
}

static void resources_of_dotnet(void **state)
{
    (void)state;
    check_document("xml",
                   "<root><resheader name=\"version\"><value>2.0</value></resheader>"
                   "<data name=\"Hello\" xml:space=\"preserve\"><value>say  hi</value><comment>note</comment></data>"
                   "<data name=\"Icon\" type=\"System.Drawing.Icon\"><value>AAA=</value></data>"
                   "<data name=\"&gt;&gt;a.Name\"><value>a</value></data></root>",
                   "say  hi\n", NULL);
}

static void resources_of_android(void **state)
{
    (void)state;
    static const struct {
        const char *source, *text, *upper;
    } cases[] = {
        {"don\\'t \\\"x\\\"", "don't \"x\"\n", "DON\\'T \\\"X\\\""},
        {"\"it's  here\"", "it's here\n", "\"IT\\'S HERE\""},
        {"a\\nb\n   c\\\\", "a\\nb c\\\\\n", "A\\nB C\\\\"},
        {"\\u4e2d\\ud83d\\ude00\\u12 \\@x", "中😀u12 @x\n", "中😀U12 @X"},
        {"\\@x", "@x\n", "\\@X"},
        {"\\u0020a  b\\u0020", " a b \n", "\\u0020A B\\u0020"},
        {"Hi <xliff:g id=\"n\">%1$s</xliff:g>, <b>you</b>", "Hi {x2}, <x4>you</x4>\n",
         "HI <xliff:g id=\"n\">%1$s</xliff:g>, <b>YOU</b>"},
        {"&quot;a&quot; b&#34;", "a<x2></x2> b\n", "&quot;A&quot; B&#34;"},
        {"a\\&quot;b", "a\"b\n", "A\\\"B"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char document[200], upper[200];
        snprintf(document, sizeof document, "<resources><string name=\"a\">%s</string></resources>", cases[i].source);
        snprintf(upper, sizeof upper, "<resources><string name=\"a\">%s</string></resources>", cases[i].upper);
        check_document("xml", document, cases[i].text, upper);
    }
    check_document("xml",
                   "<resources><color name=\"c\">#fff</color><string name=\"k\" translatable=\"false\">key</string>"
                   "<string-array name=\"d\"><item>one</item></string-array><style name=\"s\"><item>@x/y</item></style>"
                   "</resources>",
                   "one\n", NULL);
}

static void errors_name_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *document, *message;
    } cases[] = {
        {"", "test: line 1, column 1: no element found"},
        {"<a>\n  <b>天</c>\n</a>", "test: line 2, column 9: mismatched tag"},
        {"<a>&nbsp;</a>", "test: line 1, column 4: undefined entity"},
        {"<a>\xFF</a>", "test: line 1, column 4: is not valid UTF-8"},
        {"<a b='1' b='2'/>", "test: line 1, column 10: duplicate attribute"},
        {"<a/>x", "test: line 1, column 5: junk after document element"},
        {"<!DOCTYPE a [<!ENTITY b '&c;'><!ENTITY c '&b;'>]><a d='&b;'/>",
         "test: line 1, column 50: recursive entity reference"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(
            check_failure(cases[i].document, strlen(cases[i].document), &(tr_document_settings){.format = "xml"}),
            cases[i].message);
}

static void depth_and_entities_are_limited(void **state)
{
    (void)state;
    enum { LEVELS = 1000000 };
    const tr_document_settings settings = {.format = "xml"};
    tr_buffer deep = {0}, bomb = {0};
    for (int i = 0; i < LEVELS; i++)
        assert_true(tr_buffer_string(&deep, "<a>"));
    assert_string_equal(check_failure(deep.data, deep.size, &settings),
                        "test: line 1, column 3001: elements are nested more than 1000 deep");
    assert_true(tr_buffer_string(&bomb, "<!DOCTYPE a [<!ENTITY e0 '0123456789'>"));
    for (char c = '1'; c <= '9'; c++) {
        char line[128];
        snprintf(line, sizeof line, "<!ENTITY e%c '&e%c;&e%c;&e%c;&e%c;&e%c;&e%c;&e%c;&e%c;&e%c;&e%c;'>", c, c - 1, c - 1,
                 c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1, c - 1);
        assert_true(tr_buffer_string(&bomb, line));
    }
    const size_t size = bomb.size;
    assert_true(tr_buffer_string(&bomb, "]><a>x &e9; y</a>"));
    char *units = check_units(bomb.data, bomb.size, &settings);
    assert_string_equal(units, "x {x2} y\n");
    free(units);
    bomb.size = size;
    assert_true(tr_buffer_string(&bomb, "]><a b='&e9;'/>"));
    assert_non_null(strstr(check_failure(bomb.data, bomb.size, &settings), "limit on input amplification"));
    tr_buffer_free(&deep);
    tr_buffer_free(&bomb);
}

/* Places are right wherever expat gets its next bytes. */
static void tokens_may_be_longer_than_a_chunk(void **state)
{
    (void)state;
    tr_buffer document = {0};
    assert_true(tr_buffer_string(&document, "<a>one<!--"));
    for (int i = 0; i < 300000; i++)
        assert_true(tr_buffer_string(&document, "comment "));
    assert_true(tr_buffer_string(&document, "-->two"));
    for (int i = 0; i < 30000; i++)
        assert_true(tr_buffer_string(&document, "<b c='&amp;'>&lt;\r\n</b>"));
    assert_true(tr_buffer_string(&document, "</a>"));
    check_properties(document.data, document.size, &(tr_document_settings){.format = "xml"}, check_upper);
    tr_buffer_free(&document);
}

/* A random document: elements, text and all else of a paragraph. */
static void append_random(tr_buffer *out, uint64_t *random, const char *root)
{
    static const char *const tags[] = {"b", "c", "string", "item", "d"};
    static const char *const attributes[] = {
        "", "", "", " translate=\"no\"", " xml:space='preserve'", " xml:lang=\"zh\"", " translatable='true'"};
    static const char *const pieces[] = {"a",        " ",         "\n",   "天",   "b c",   "&lt;", "&#32;",
                                         "&#10;",    "<![CDATA[", "<x1>", "{x2}", "\"",    "\\",   "'",
                                         "<!-- -->", "&e;",       "]",    "\r\n", "<?p?>", "u0041"};
    int open[16], depth = 0;
    assert_true(tr_buffer_string(out, "<!DOCTYPE a [<!ENTITY e 'x'>]><") && tr_buffer_string(out, root) &&
                tr_buffer_string(out, ">"));
    for (int i = 0; i < 30; i++) {
        *random = *random * 6364136223846793005U + 1442695040888963407U;
        const unsigned r = (unsigned)(*random >> 33);
        const char *piece = pieces[r / 8 % (sizeof pieces / sizeof *pieces)];
        char tag[100];
        if (r % 8 == 0 && depth < 16) {
            open[depth] = (int)(r / 8 % 5);
            snprintf(tag, sizeof tag, "<%s%s>", tags[open[depth++]], attributes[r / 64 % 7]);
            piece = tag;
        } else if (r % 8 == 1 && depth) {
            snprintf(tag, sizeof tag, "</%s>", tags[open[--depth]]);
            piece = tag;
        } else if (r % 8 == 2) {
            piece = "<e/>";
        } else if (strcmp(piece, "<![CDATA[") == 0) {
            snprintf(tag, sizeof tag, "<![CDATA[%s]]>",
                     r / 512 % 4 == 0   ? ""
                     : r / 512 % 4 == 1 ? " "
                     : r / 512 % 4 == 2 ? " a&b "
                                        : "\\n<\"");
            piece = tag;
        } else if (strcmp(piece, "<x1>") == 0) {
            piece = "&lt;x1>";
        }
        assert_true(tr_buffer_string(out, piece));
    }
    while (depth--)
        assert_true(tr_buffer_string(out, "</") && tr_buffer_string(out, tags[open[depth]]) && tr_buffer_string(out, ">"));
    assert_true(tr_buffer_string(out, "</") && tr_buffer_string(out, root) && tr_buffer_string(out, ">"));
}

static void properties_hold(void **state)
{
    (void)state;
    uint64_t random = 1;
    tr_buffer document = {0};
    for (int i = 0; i < 4000; i++) {
        tr_buffer_clear(&document);
        append_random(&document, &random, i % 3 ? "a" : "resources");
        check_properties(document.data, document.size, &(tr_document_settings){.format = "xml"}, check_upper);
    }
    tr_buffer_free(&document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_with_text_are_paragraphs),
        cmocka_unit_test(lists_divide_paragraphs),
        cmocka_unit_test(references_and_sections_are_text),
        cmocka_unit_test(white_space_is_kept_where_it_is_preserved),
        cmocka_unit_test(what_is_not_to_be_translated_stays),
        cmocka_unit_test(languages_become_the_target),
        cmocka_unit_test(resources_of_dotnet),
        cmocka_unit_test(resources_of_android),
        cmocka_unit_test(errors_name_their_place),
        cmocka_unit_test(depth_and_entities_are_limited),
        cmocka_unit_test(tokens_may_be_longer_than_a_chunk),
        cmocka_unit_test(properties_hold),
    };
    return cmocka_run_group_tests_name("XML documents", tests, NULL, NULL);
}
