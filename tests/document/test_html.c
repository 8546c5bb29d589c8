#include "check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* document, units, document in capitals; NULL: not looked at */
typedef const char *const test_case[3];

static void check_cases(test_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_document("html", cases[i][0], cases[i][1], cases[i][2]);
}
#define CHECK_CASES(cases) check_cases(cases, sizeof(cases) / sizeof *(cases))

static void blocks_are_units(void **state)
{
    (void)state;
    static test_case cases[] = {
        {"", "", ""},
        {"<p></p>", "", "<p></p>"},
        {"one", "one\n", "ONE"},
        {"<!DOCTYPE html>\n<title>a title</title>\n<h1>head</h1>\n<p>one\n two</p>tail", "a title\nhead\none two\ntail\n",
         "<!DOCTYPE html>\n<title>A TITLE</title>\n<h1>HEAD</h1>\n<p>ONE TWO</p>TAIL"},
        {"<ul><li>a<li>b<ul><li>c</ul>d</ul>", "a\nb\nc\nd\n", "<ul><li>A<li>B<ul><li>C</ul>D</ul>"},
        {"<dl><dt>a<dd>b</dl><table><caption>c</caption><tr><th>d<td>e<p>f</table>", "a\nb\nc\nd\ne\nf\n",
         "<dl><dt>A<dd>B</dl><table><caption>C</caption><tr><th>D<td>E<p>F</table>"},
        {"<div>a<p>b</p>c</div>", "a\nb\nc\n", "<div>A<p>B</p>C</div>"},
        {"<p>Space<br>please?<BR/>x</p>", "Space\nplease?\nx\n", "<p>SPACE<br>PLEASE?<BR/>X</p>"},
        {"<select><option>a<option>b</select><button>c</button><label>d <input> e</label>", "a\nb\nc\nd <x2></x2>e\n",
         "<select><option>A<option>B</select><button>C</button><label>D <input> E</label>"},
        {"<details><summary>a</summary>b</details><figure><img><figcaption>c</figcaption></figure>", "a\nb\nc\n", NULL},
        {"<p>今天天气\n很好\nabc</p>", "今天天气很好 abc\n", "<p>今天天气很好 ABC</p>"},
        {"<x-card>a</x-card><x-card>b</x-card>", "a\nb\n", "<x-card>A</x-card><x-card>B</x-card>"},
        {"<noscript><p>a</noscript><center>b</center>", "a\nb\n", NULL},
    };
    CHECK_CASES(cases);
}

static void inline_tags_are_marks(void **state)
{
    (void)state;
    static test_case cases[] = {
        {"<p>a <b>b</b>, c</p>", "a <x2>b</x2>, c\n", "<p>A <b>B</b>, C</p>"},
        {"<P><B>Spa</B>ce</P>", "<x1>Spa</x1>ce\n", "<P><B>SPA</B>CE</P>"},
        {"un<u>der</u>line", "un<x2>der</x2>line\n", "UN<u>DER</u>LINE"},
        {"<p><b>all</b></p>", "all\n", "<p><b>ALL</b></p>"},
        {"<p><a><i> all </i></a> </p>", "all\n", "<p><a><i> ALL </i></a> </p>"},
        {"<p>a <i>b <b>c</b></i> d</p>", "a <x2>b <x4>c</x4></x2> d\n", "<p>A <i>B <b>C</b></i> D</p>"},
        {"<p>hello <img id=1><span><u></u><b></b><img id=2>world</span></p>",
         "hello <x2></x2><x3><x4></x4><x6></x6><x8></x8>world</x3>\n",
         "<p>HELLO <img id=1><span><u></u><b></b><img id=2>WORLD</span></p>"},
        {"hello <u></u>", "hello\n", "HELLO <u></u>"},
        {"<p>hello <br></p>", "hello\n", "<p>HELLO <br></p>"},
        {"foo <!-- <ignore> me -->bar", "foo <x2></x2>bar\n", "FOO <!-- <ignore> me -->BAR"},
        {"hello <script>alert(\"<foo>\");</script>world", "hello <x2></x2>world\n",
         "HELLO <script>alert(\"<foo>\");</script>WORLD"},
        {"hel<wbr>lo", "hello\n", "HELLO"},
        {"<p>a <svg><text>b</text><path/></svg> c <math><mi>x</mi></math>d</p>", "a <x2></x2>c <x4></x4>d\n",
         "<p>A <svg><text>b</text><path/></svg> C <math><mi>x</mi></math>D</p>"},
        {"a <video><p>b</p></video> c <iframe>d</iframe> e", "a <x2></x2>c <x4></x4>e\n",
         "A <video><p>b</p></video> C <iframe>d</iframe> E"},
        {"<p><ruby>汉<rp>(</rp><rt>han</rt></ruby>字", "<x1>汉<x3></x3><x4></x4></x1>字\n", NULL},
        {"<o:p>a</o:p> b", "<x1>a</x1> b\n", "<o:p>A</o:p> B"},
        {"a <img> b", "a <x2></x2>b\n", "A <img> B"},
        /* an element that goes on after the unit */
        {"<a><h2>a</h2>b</a> c <a>d<p>e</p></a>", "a\nb\nc\nd\ne\n", "<a><h2>A</h2>B</a> C <a>D<p>E</p></a>"},
    };
    CHECK_CASES(cases);
}

static void code_stays(void **state)
{
    (void)state;
    static test_case cases[] = {
        {"<p>run <code>a <b>b</b></code> now</p>", "run {x2} now\n", "<p>RUN <code>a <b>b</b></code> NOW</p>"},
        {"foo <var><var>nested</var></var> bar", "foo {x2} bar\n", "FOO <var><var>nested</var></var> BAR"},
        {"foo <var>&amp;</var> bar", "foo {x2} bar\n", "FOO <var>&amp;</var> BAR"},
        {"<p>a <span translate=no>b</span> c <i class=\"x notranslate\">d</i></p>", "a {x2} c {x4}\n",
         "<p>A <span translate=no>b</span> C <i class=\"x notranslate\">d</i></p>"},
        {"<div translate=no>a <p>b</p><p translate=yes>c</p></div>d", "c\nd\n",
         "<div translate=no>a <p>b</p><p translate=yes>C</p></div>D"},
        {"a <span translate=no>b <i translate=yes>c</i> d</span> e", "a\nc\ne\n",
         "A <span translate=no>b <i translate=yes>C</i> d</span> E"},
        {"<pre>a <b title=b>c</b></pre>d<textarea>e</textarea><style>f</style><template>g</template>", "d\n",
         "<pre>a <b title=b>c</b></pre>D<textarea>e</textarea><style>f</style><template>g</template>"},
        {"<code>a</code>", "", "<code>a</code>"},
        {"<p>x <code>a<p>b", "x\n", NULL},
    };
    CHECK_CASES(cases);
}

static void attributes_are_units(void **state)
{
    (void)state;
    static test_case cases[] = {
        {"<p>see <img alt=\"a &quot;b&quot;\" title='it&#39;s'> and <a title=x>y</a></p>",
         "a \"b\"\nit's\nx\nsee <x2></x2>and <x4>y</x4>\n",
         "<p>SEE <img alt=\"A &quot;B&quot;\" title='IT&#39;S'> AND <a title=\"X\">Y</a></p>"},
        {"<img alt=one><p><img alt=two></p><p>a<img alt=three></p>", "one\ntwo\na\nthree\n",
         "<img alt=\"ONE\"><p><img alt=\"TWO\"></p><p>A<img alt=\"THREE\"></p>"},
        {"<input type=text value=a placeholder=b><input type=SUBMIT value=c aria-label=d>", "b\nc\nd\n",
         "<input type=text value=a placeholder=\"B\"><input type=SUBMIT value=\"C\" aria-label=\"D\">"},
        {"<meta name=Description content=a><meta name=robots content=b><meta property=og:title content='c'>", "a\nc\n",
         "<meta name=Description content=\"A\"><meta name=robots content=b><meta property=og:title content='C'>"},
        {"<link title=a><optgroup label=b><option label=c>d", "b\nc\nd\n", NULL},
        {"<img alt=\"\" title><img alt=a alt=b>", "a\n", "<img alt=\"\" title><img alt=\"A\" alt=b>"},
        {"<code title=a>b</code> c", "a\n{x1} c\n", NULL},
        {"a <code title=b>c</code> d", "b\na {x2} d\n", "A <code title=\"B\">c</code> D"},
        {"a <i translate=no title=b>c</i>", "a {x2}\n", NULL},
        {"<a title='a\n b'>c</a>", "a\\n b\nc\n", "<a title='A\n B'>C</a>"},
        {"<img alt=a&amp;b>", "a&b\n", "<img alt=\"A&amp;B\">"},
        {"<img alt=a\"b>", "", NULL},
        {"<img alt=a&nbsp;>", "a\n", "<img alt=\"A\">"},
        {"<img title=\"a&nbsp;b &not=c&copy\">", "a\u00A0b &not=c©\n", "<img title=\"A&nbsp;B &amp;NOT=C©\">"},
    };
    CHECK_CASES(cases);
}

static void entities_are_characters(void **state)
{
    (void)state;
    static test_case cases[] = {
        {"This is &lt;with&gt; named &amp; entities", "This is <with> named & entities\n",
         "THIS IS &lt;WITH&gt; NAMED &amp; ENTITIES"},
        {"&nbsp;&nbsp;a&nbsp;b&emsp;", "a\u00A0b\n", "&nbsp;&nbsp;A&nbsp;B&emsp;"},
        {"&nbspa &nbsp&#32b &#x20g&nbsp", "a \u00A0 b g\n", NULL},
        {"&#160;a&#160;b", "a\u00A0b\n", "&#160;A&#160;B"},
        {"\u00A0a\u00A0b", "a\u00A0b\n", "\u00A0A\u00A0B"},
        {"<p>&nbsp;</p><p>　&#12288;&#32;</p>", "", "<p>&nbsp;</p><p>　&#12288;&#32;</p>"},
        {"<p>　　中文　</p>", "中文\n", "<p>　　中文　</p>"},
        {"&notit; &copy &#x4e2d;&#25991; &hellip; &fjlig; &nosuch;", "¬it; © 中文 … fj &nosuch;\n",
         "¬IT; © 中文 … FJ &amp;NOSUCH;"},
        {"a < b > c", "a < b > c\n", "A &lt; B &gt; C"},
        {"a\x03 &#3; &#x81; &#4294967040;b", "", NULL},
        {"a\x03 &#3; &#x81;b &#0000000000065;",
         "a\uFFFD \x03 \xC2\x81"
         "b A\n",
         "A\uFFFD &#3; &#129;B A"},
        {"<title>a &amp; <b>b</b></title>", "a & <b>b</b>\n", "<title>A &amp; &lt;B&gt;B&lt;/B&gt;</title>"},
        {"a &lt;x1&gt; <b>b</b>", "a <x1> <y2>b</y2>\n", "A &lt;x1&gt; <b>B</b>"},
        {"<b>&#32;a</b>&#13;c", "<x1> a</x1> c\n", "<b> A</b> C"},
    };
    CHECK_CASES(cases);
}

static void broken_documents_are_read_as_by_browsers(void **state)
{
    (void)state;
    static test_case cases[] = {
        {"<p>one <i>two<p>three</i> four", "one <x2></x2>two\nthree\nfour\n", "<p>ONE <i>TWO<p>THREE</i> FOUR"},
        {"<p>a <b>b <i>c</b> d</i> e", "a <x2>b <x4></x4>c</x2> d\ne\n", "<p>A <b>B <i>C</b> D</i> E"},
        {"a</x> b", "a b\n", "A B"},
        {"a<body class=x>b", "a\nb\n", "A<body class=x>B"},
        {"<table>a<tr>b<td>c<b>d</table>e", "a\nb\nc<x2></x2>d\ne\n", "<table>A<tr>B<td>C<b>D</table>E"},
        {"<p>a</p></p>b</div>c", "a\nbc\n", "<p>A</p></p>BC"},
        {"a <b", "a\n", "A <b"},
        {"<!-- a", "", "<!-- a"},
        {"a<isindex prompt=b>c", "a\nc\n", "A<isindex prompt=b>C"},
        {"<svg><p>a</svg>b", NULL, NULL},
        {"<frameset><frame></frameset><noframes>a</noframes>", "", NULL},
        {"a\xFF"
         "b",
         "a\xEF\xBF\xBD"
         "b\n",
         "A\xEF\xBF\xBD"
         "B"},
        {"<plaintext>a</plaintext>", "", NULL},
    };
    CHECK_CASES(cases);
    static const char nul[] = "a\0b<p title='c\0d'>e";
    char *units = check_units(nul, sizeof nul - 1, &(tr_document_settings){.format = "html"});
    assert_string_equal(units, "c\xEF\xBF\xBD"
                               "d\ne\n");
    free(units);
}

static void xhtml_stays_well_formed(void **state)
{
    (void)state;
    static test_case cases[] = {
        {"<?xml version=\"1.0\"?><html><head><title/><script src=\"a\"/></head><body><p>a<a id=\"b\"/>c <b/> "
         "d</p></body></html>",
         "a<x2></x2>c <x4></x4>d\n",
         "<?xml version=\"1.0\"?><html><head><title/><script src=\"a\"/></head><body><p>A<a id=\"b\"/>C <b/> "
         "D</p></body></html>"},
        {"<html xmlns=\"http://www.w3.org/1999/xhtml\"><p>a <svg><g/><path/></svg>b<![CDATA[ <p>c</p> > "
         "]]></p><div/>d</html>",
         "a <x2></x2>b\nd\n", NULL},
        {"<?xml version='1.0'?><title><![CDATA[a < b]]></title>c", "c\n", NULL},
        {"<?xml version='1.0'?><svg><p/>a<title/>b<title/>", "a\n", NULL},
        {"<?xml version='1.0'?><p>a <code/>b<img alt=\"c\"/>d</p>", "c\na {x2}b<x4></x4>d\n",
         "<?xml version='1.0'?><p>A <code/>B<img alt=\"C\"/>D</p>"},
        {"<?xml version='1.0'?><p>a <b>c<div>d</div>e</b> <i>f</i></p>", "a\nc\nd\ne\nf\n",
         "<?xml version='1.0'?><p>A <b>C<div>D</div>E</b> <i>F</i></p>"},
        {"<?xml version='1.0'?><p>a</p><p/>b<br></br>c", "a\nb\nc\n", NULL},
        /* not XHTML: the element is open */
        {"<p>a<b/>c</p>", "a<x2></x2>c\n", "<p>A<b/>C</p>"},
    };
    CHECK_CASES(cases);
}

static void written_as(const char *document, const tr_document_settings *settings, const char *expected)
{
    char *written = check_written(document, strlen(document), settings, check_upper, NULL);
    assert_string_equal(written, expected);
    free(written);
}

static void languages_and_encodings_become_others(void **state)
{
    (void)state;
    const tr_document_settings both = {.format = "html", .source_language = "zh", .target_language = "en"};
    const tr_document_settings target = {.format = "html", .target_language = "en-GB"};
    written_as("<html lang=zh-CN xml:lang='zh'><p lang=\"zh-Hant\">a</p><p lang=fr>b</p>c <b lang=zh title=d>e</b>", &both,
               "<html lang=\"en\" xml:lang='en'><p lang=\"en\">A</p><p lang=fr>B</p>C <b lang=\"en\" title=\"D\">E</b>");
    written_as("<html lang=\"zh\"><p lang=zh translate=no>a</p>", &target,
               "<html lang=\"en-GB\"><p lang=zh translate=no>a</p>");
    written_as("<html lang=zh>", &(tr_document_settings){.format = "html"}, "<html lang=zh>");
    written_as("<meta charset=GBK><meta http-equiv=Content-Type content='text/html; charset=gb2312'>", &target,
               "<meta charset=utf-8><meta http-equiv=Content-Type content='text/html; charset=utf-8'>");
    written_as("<meta charset=UTF-8>", &target, "<meta charset=UTF-8>");
    written_as("<?xml version='1.0' encoding='Big5'?><p>a</p>", &target, "<?xml version='1.0' encoding='utf-8'?><p>A</p>");
}

static void a_translation_stands_below_its_source(void **state)
{
    (void)state;
    const tr_document_settings settings = {.format = "html", .bilingual = true};
    written_as("<title>a</title><p>b <b>c</b><img alt=d> <i id=e>f</i></p><option>g</option><p>1</p>", &settings,
               "<title>A</title><p>b <b>c</b><img alt=\"D\"> <i id=e>f</i><br>B <b>C</b> F</p><option>G</option><p>1</p>");
    written_as("<?xml version='1.0'?><p>a</p>", &settings, "<?xml version='1.0'?><p>a<br/>A</p>");
}

static void to_other_place(const char *text, size_t size, tr_buffer *out)
{
    (void)text;
    (void)size;
    assert_true(tr_buffer_string(out, "it <x2></x2>is there"));
}

static void pictures_keep_white_space(void **state)
{
    (void)state;
    static const char document[] = "<p>a <img> b</p><p>a<img> b</p>";
    char *written =
        check_written(document, strlen(document), &(tr_document_settings){.format = "html"}, to_other_place, NULL);
    assert_string_equal(written, "<p>it <img> is there</p><p>it <img>is there</p>");
    free(written);
}

static void deep_and_huge_documents_are_refused(void **state)
{
    (void)state;
    enum { COUNT = 1000000 };
    const tr_document_settings settings = {.format = "html"};
    tr_buffer text = {0};
    for (size_t i = 0; i < COUNT; i++)
        assert_true(tr_buffer_string(&text, i % 10 ? "<div>" : "<div>\n"));
    assert_string_equal(check_failure(text.data, text.size, &settings),
                        "test: line 101, column 46: elements lie more than 1000 deep in each other");
    tr_buffer_clear(&text);
    for (size_t i = 0; i < 20000; i++)
        assert_true(tr_buffer_string(&text, "<p>a<li>b<td>c"));
    assert_string_equal(check_failure(text.data, text.size, &settings), "");
    tr_buffer_clear(&text);
    assert_true(tr_buffer_string(&text, "<div>"));
    for (size_t i = 0; i < 900; i++) {
        char tag[32];
        snprintf(tag, sizeof tag, "<font size=%zu>", i);
        assert_true(tr_buffer_string(&text, tag));
    }
    assert_true(tr_buffer_string(&text, "</div>"));
    for (size_t i = 0; i < 1000; i++)
        assert_true(tr_buffer_string(&text, "<p>a"));
    assert_string_equal(check_failure(text.data, text.size, &settings),
                        "test: its elements that are not closed need too much memory");
    assert_string_equal(check_failure("<p>a", 4, &(tr_document_settings){.format = "html", .max_content = 3}),
                        "test: 4 bytes of content; at most 3, unless max_content is larger");
    tr_buffer_free(&text);
}

static void check_max_text(const char *text, uint64_t size)
{
    char message[64];
    snprintf(message, sizeof message, "test: more than %d bytes of text", (int)size - 1);
    tr_document_settings settings = {.format = "html", .max_text = size};
    assert_string_equal(check_failure(text, strlen(text), &settings), "");
    settings.max_text--;
    assert_string_equal(check_failure(text, strlen(text), &settings), message);
}

static void much_text_is_refused(void **state)
{
    (void)state;
    check_max_text("<p>ab <i>c</i> d <img alt=e>f", 9);
    check_max_text("<pre>  abcd  </pre><p>a", 4); /* before the document is read */
}

static void hostile_documents_take_linear_time(void **state)
{
    (void)state;
    enum { COUNT = 200000 }; /* some minutes if each looked at all after it */
    static const char *const tags[] = {"<script>", "<title>", "<textarea>"};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        tr_buffer text = {0};
        assert_true(tr_buffer_string(&text, tags[i]));
        for (size_t k = 0; k < COUNT; k++)
            assert_true(tr_buffer_string(&text, "</a"));
        assert_string_equal(check_failure(text.data, text.size, &(tr_document_settings){.format = "html"}), "");
        tr_buffer_free(&text);
    }
    check_document("html", "<script></a</scriptx></script/x>a</script>b", "ab\n", "<script></a</scriptx></script/x>AB");
}

static void properties_hold(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a",
                                         "b c",
                                         " ",
                                         "天",
                                         "\n",
                                         "&nbsp;",
                                         "&lt;",
                                         "<p>",
                                         "</p>",
                                         "<b>",
                                         "</b>",
                                         "<i>",
                                         "</i>",
                                         "<div>",
                                         "</div>",
                                         "<br>",
                                         "<img alt=\"x\">",
                                         "<img>",
                                         "<table>",
                                         "<td>",
                                         "</table>",
                                         "<code>k</code>",
                                         "<a title='t'>",
                                         "</a>",
                                         "<!-- c -->",
                                         "<span translate=no>n</span>",
                                         "<li>",
                                         "</x>",
                                         "<title>",
                                         "</title>",
                                         "<svg>",
                                         "</svg>",
                                         "<select><option>",
                                         "</select>"};
    char text[1024];
    for (unsigned seed = 0; seed < 3000; seed++) {
        uint32_t random = seed * 2654435761U;
        size_t size = 0;
        for (int i = 0; i < 24; i++) {
            random = random * 1664525 + 1013904223;
            const char *piece = pieces[(random >> 16) % (sizeof pieces / sizeof *pieces)];
            memcpy(text + size, piece, strlen(piece));
            size += strlen(piece);
        }
        check_properties(text, size, &(tr_document_settings){.format = "html"}, check_upper);
    }
}

static void links_of_a_menu_are_units(void **state)
{
    (void)state;
    check_document("html", "<p><a href=1>one</a><a href=2>two</a> <a href=3>three</a></p>", "one\ntwo\nthree\n",
                   "<p><a href=1>ONE</a><a href=2>TWO</a> <a href=3>THREE</a></p>");
    check_document("html", "<p>see <a>a</a> <a>b</a></p>", "see <x2>a</x2> <x5>b</x5>\n", NULL);
    check_document("html", "<p><a>a</a> and <a>b</a></p>", "<x1>a</x1> and <x5>b</x5>\n", NULL);
}

static void many_attributes_are_refused(void **state)
{
    (void)state;
    enum { COUNT = 40000 };
    tr_buffer page = {0};
    assert_true(tr_buffer_string(&page, "<p class='a b c' "));
    for (int i = 0; i < COUNT; i++) {
        char attribute[16];
        snprintf(attribute, sizeof attribute, "a%d=x ", i);
        assert_true(tr_buffer_string(&page, attribute));
    }
    assert_true(tr_buffer_string(&page, ">a</p>"));
    assert_string_equal(check_failure(page.data, page.size, &(tr_document_settings){.format = "html"}),
                        "test: line 1, column 1: a tag has more than 1000 attributes");
    tr_buffer_free(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_of_a_menu_are_units),
        cmocka_unit_test(many_attributes_are_refused),
        cmocka_unit_test(blocks_are_units),
        cmocka_unit_test(inline_tags_are_marks),
        cmocka_unit_test(code_stays),
        cmocka_unit_test(attributes_are_units),
        cmocka_unit_test(entities_are_characters),
        cmocka_unit_test(broken_documents_are_read_as_by_browsers),
        cmocka_unit_test(xhtml_stays_well_formed),
        cmocka_unit_test(languages_and_encodings_become_others),
        cmocka_unit_test(a_translation_stands_below_its_source),
        cmocka_unit_test(pictures_keep_white_space),
        cmocka_unit_test(deep_and_huge_documents_are_refused),
        cmocka_unit_test(much_text_is_refused),
        cmocka_unit_test(hostile_documents_take_linear_time),
        cmocka_unit_test(properties_hold),
    };
    return cmocka_run_group_tests_name("HTML documents", tests, NULL, NULL);
}
