#include "check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void blocks_are_units(void **state)
{
    (void)state;
    check_document("markdown", "", "", "");
    check_document("markdown",
                   "# one #\n\ntwo\n===\n\n- a\n- [x] b\n\n> c\n> d\n\n```\ncode\n```\n\n    code\n\n<p>\nhtml\n</p>\n",
                   "one\ntwo\na\nb\nc d\n",
                   "# ONE #\n\nTWO\n===\n\n- A\n- [x] B\n\n> C D\n\n```\ncode\n```\n\n    code\n\n<p>\nhtml\n</p>\n");
    check_document("markdown", "---\ntitle: a\n---\n\nb\r\nc\r\n", "b c\n", "---\ntitle: a\n---\n\nB C\r\n");
    check_document("markdown", "| a | b |\n|-|:-|\n| c<br>d | `e\\|f` g\\|h |\n", "a\nb\nc\nd\n{x1} g|h\n",
                   "| A | B |\n|-|:-|\n| C<br>D | `e\\|f` G\\|H |\n");
    check_document("markdown", "今天\n天气\nvery\ngood  \nnext\\\nlast", "今天天气 very good\nnext\nlast\n",
                   "今天天气 VERY GOOD  \nNEXT\\\nLAST");
}

static void marks_are_told_apart(void **state)
{
    (void)state;
    check_document("markdown", "see **a*b*c** and ***x***", "see <x2>a<x4>b</x4>c</x2> and <x10><x11>x</x11></x10>\n",
                   "SEE **A*B*C** AND ***X***");
    check_document("markdown", "[a](b)[c](<d e> 'f') g", "<x1>a</x1><x4>c</x4> g\n", "[A](b)[C](<d e> 'f') G");
    check_document("markdown", "[a] [b][] [c][a] d\n\n[a]: x\n[b]: y\n", "<x1>a</x1> <x5>b</x5> <x9>c</x9> d\n",
                   "[A][a] [B][b] [C][a] D\n\n[a]: x\n[b]: y\n");
    check_document("markdown", "[words]\n\n[words]: x", "words\n", "[WORDS][words]\n\n[words]: x");
    check_document("markdown", "[![a](b)](c) ![d](e)\n", "a\nd\n", "[![A](b)](c) ![D](e)\n");
    check_document("markdown", "press <kbd>x</kbd>, <b>y</b> &lt;z&gt; <https://a.b> https://c.d/e_f. `g`",
                   "press {x2}, <x4>y</x4> <z> {x8} {x10}. {x12}\n",
                   "PRESS <kbd>x</kbd>, <b>Y</b> \\<Z> <https://a.b> https://c.d/e_f. `g`");
    check_document("markdown", "> [!NOTE]\n> a $x_1*y$ b[^1] :tada:\n\n[^1]: c d\n[^2]: e\n",
                   "a {x2} b<x4></x4> {x6}\nc d\ne\n", "> [!NOTE]\n> A $x_1*y$ B[^1] :tada:\n\n[^1]: C D\n[^2]: E\n");
    check_document("markdown", "a\n[^1]: *b*\n  c\n[^2]: d\n\n    e\n", "a\n<x1>b</x1> c\nd\ne\n",
                   "A\n[^1]: *B* C\n[^2]: D\n\n    E\n");
    check_document("markdown", "$$\nx\n$$\n\na\n\n$$\ny\n$$\n", "a\n", "$$\nx\n$$\n\nA\n\n$$\ny\n$$\n");
}

/* Code has its place, though it is no text: what comes first in its block, and what is before the words of another cell. */
static void code_may_come_first(void **state)
{
    (void)state;
    check_document("markdown", "`git\nadd` a\n\n> *`b\n> c`* d\n", "{x1} a\n<x1>{x2}</x1> d\n",
                   "`git\nadd` A\n\n> *`b\n> c`* D\n");
    check_document("markdown", "|`a`|`b`|**c**|\n|-|-|-|\n| `d` | `e` f | *g* |\n", "c\n{x1} f\ng\n",
                   "|`a`|`b`|**C**|\n|-|-|-|\n| `d` | `e` F | *G* |\n");
    check_document("markdown", "`\n``a` b\n\n*c* ``d``\n", "<x1>c</x1> {x5}\n", "`\n``a` b\n\n*C* ``d``\n");
}

static void entities_are_characters(void **state)
{
    (void)state;
    check_document("markdown", "a &amp; &AMP; &semi; &copy; &fjlig; &#x4e2d; &#128; &#0;",
                   "a & & ; © fj 中 \xC2\x80 \uFFFD\n", NULL);
    check_document("markdown", "a &notit; &shyx; &ampx; &nosuch; &copy &;", "a &notit; &shyx; &ampx; &nosuch; &copy &;\n",
                   NULL);
    check_document("markdown", "a&#32;b&Tab;c&NewLine;d&#1;e", "a<x2></x2>b<x4></x4>c<x6></x6>d<x8></x8>e\n",
                   "A&#32;B&Tab;C&NewLine;D&#1;E");
}

static const char *replacement;

static void replace(const char *text, size_t size, tr_buffer *out)
{
    (void)text;
    (void)size;
    assert_true(tr_buffer_string(out, replacement));
}

static void assert_translated(const char *document, const char *translation, const char *expected)
{
    const tr_document_settings settings = {.format = "markdown"};
    replacement = translation;
    char *written = check_written(document, strlen(document), &settings, replace, NULL);
    assert_string_equal(written, expected);
    free(written);
}

static void text_is_escaped_where_it_acts(void **state)
{
    (void)state;
    static const char *const plain[] = {
        "snake_case 2 * 3 C# a-b 1. x", "a [b] (c)", "5 < 6 & 7 > 3", "10~20", "a | b", "$5", "喵~ 喵~"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_translated("x", plain[i], plain[i]);
    assert_translated("x [y](z)", "<x2>a [b]</x2>", "[a [b]](z)");
    assert_translated("x", "1. a", "1\\. a");
    assert_translated("x", "- a", "\\- a");
    assert_translated("x", "# a", "\\# a");
    assert_translated("x", "---", "\\---");
    assert_translated("x", "> a", "\\> a");
    assert_translated("x", "a *b* _c_ ~d~ ~e~", "a \\*b\\* \\_c\\_ \\~d\\~ \\~e\\~");
    assert_translated("x", "`a` <b> &lt; [c](d)", "\\`a\\` \\<b> &amp;lt; [c\\](d)");
    assert_translated("x", "  a\n  b ", "a b");
    assert_translated("# x", "a #", "# a \\#");
    assert_translated("- x", "[ ] a", "- \\[ ] a");
    assert_translated("x  \ny", "===", "\\===  \n\\===");
    assert_translated("|x|\n|---|", "a|b", "|a\\|b|\n|---|");
    assert_translated("x", "", "x"); /* nothing cannot be a paragraph */
}

static void emphasis_survives_its_neighbours(void **state)
{
    (void)state;
    assert_translated("a **b** c", "<x2>注意：</x2>请", "**注意**：请");
    assert_translated("a **b** c", "字<x2>“引”</x2>字", "字“**引**”字");
    assert_translated("a **b** c", "x<x2> y </x2>z", "x **y** z");
    assert_translated("a **b** c", "x y", "x y **&#8203;**");
    assert_translated("a _b_ c", "x<x2>y</x2>z", "x*y*z");
    assert_translated("a *b* **c** d", "<x2>a</x2><x6>b</x6>", "*a***b**");
    assert_translated("a [b](c) d", "!<x2>x]</x2>", "\\![x\\]](c)");
}

static void bilingual_documents_have_both(void **state)
{
    (void)state;
    static const char document[] = "# a\n\n> b\n\n- c\n- d\n\n|e|\n|-|\n\nf\n===\n\n![g](h)\n";
    const tr_document_settings settings = {.format = "markdown", .bilingual = true};
    char *written = check_written(document, strlen(document), &settings, check_upper, NULL);
    assert_string_equal(written,
                        "# a\n\n# A\n\n> b\n>\n> B\n\n- c<br>\n  C\n- d<br>\n  D\n\n|e<br>E|\n|-|\n\nf\n===\n\nF\n===\n\n"
                        "![g / G](h)\n");
    free(written);
}

static void cells_without_words_are_none(void **state)
{
    (void)state;
    check_document("markdown", "> - |![](a)|*b*|\n>   |-|-|\n>   |[](x\\|y) | `c` d |\n>   ||[e](f)|\n", "b\n{x1} d\ne\n",
                   "> - |![](a)|*B*|\n>   |-|-|\n>   |[](x\\|y) | `c` D |\n>   ||[E](f)|\n");
    check_document("markdown", "*a*|![](b)|*c*|d\n-|-|-|-\n![](e)|*f\\|*|\\\\|*g*\n", "a\nc\nd\nf|\n\\\\\ng\n",
                   "*A*|![](b)|*C*|D\n-|-|-|-\n![](e)|*F\\|*|\\\\|*G*\n");
}

static void rows_of_dashes_are_cells(void **state)
{
    (void)state;
    check_document("markdown", "|a|b|\n|-|--|\n|c|d|\n|:---|----:|\n|e|f|\n", "a\nb\nc\nd\n:---\n----:\ne\nf\n",
                   "|A|B|\n|-|--|\n|C|D|\n|:---|----:|\n|E|F|\n");
}

/* Documents that are written with their own texts, which are the same units again. */
static void own_texts_stay(void **state)
{
    (void)state;
    static const struct {
        const char *document, *written;
    } cases[] = {
        /* Rows of dashes that are longer for md4c: the places after the first cell. */
        {"|\n|-\n-||-", "|\n|-\n-||-"},
        {"|a|b|c|\n|-|-|-|\n|-||-|\n", "|a|b|c|\n|-|-|-|\n|-||-|\n"},
        /* A row without | before its first cell begins as a block does. */
        {"|a\n|-\n\\- b\n", "|a\n|-\n\\- b\n"},
        {"|a\n|-\n\\*\n", "|a\n|-\n\\*\n"},
        /* Marks without partners in one unit would be partners of those in another. */
        {"*****x**c**\\\n**", "*****x**c**\\\n\\*\\*"},
        {"***b*c*<br> **?*\n", "***b*c*<br> **?*\n"},
        {"~'\\\nb ~l~m~\n", "~'\\\nb ~l~m~\n"},
        {"[][]\\\n]()[[](]()\n", "\\[\\]\\[\\]\\\n\\]()[\\[\\](]()\n"},
        {"|a|b|\n|-|-|\n[][]|]()\n", "|a|b|\n|-|-|\n\\[\\]\\[\\]|\\]()\n"},
        /* Lines that were two are one, in which $$ has a partner. */
        {"$$m<br>a\n$$\n", "\\$$m<br>a \\$\\$\n"},
        {"$$\n~<br>$$", "\\$\\$ ~<br>\\$\\$"},
        /* The first line of a formula is none of a table. */
        {"|\n|-\n$$\n$$\n", "|\n|-\n$$\n$$\n"},
        /* A row of dashes that the written lines would make a table's. */
        {"a|b\nc|d  \n|-|-|\n", "a|b c|d  \n\\|-|-|\n"},
        /* Code across lines, which does not end at the backquotes of another block. */
        {"`\r`a\n>*b*``", "`\r`a\n>*b*\\`\\`"},
        /* The definition of a footnote that becomes one line. */
        {"a\n[^b]:*c\nd\n[^e]:*\n", "a\n[^b]:\\*c d\n[^e]:\\*\n"},
        /* Such with an underline, or a row of dashes that the written lines would make a table's. */
        {"[^_]: ![](a)\n    -\n", "[^_]: ![](a)\n    -\n"},
        {"[^a]: |b| c\n``d\n    |---|\n``\n", "[^a]: |b| c\n``d\n    |---|\n``\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tr_document_settings settings = {.format = "markdown", .rewrite = true};
        const size_t size = strlen(cases[i].document);
        char *written = check_written(cases[i].document, size, &settings, check_same, NULL);
        assert_string_equal(written, cases[i].written);
        char *units = check_units(cases[i].document, size, &settings);
        char *again = check_units(written, strlen(written), &settings);
        assert_string_equal(again, units);
        free(written);
        free(units);
        free(again);
    }
}

/* A row of dashes has no NUL. */
static void nul_is_no_dash(void **state)
{
    (void)state;
    char *units = check_units("|\n-|\n-|\0\0", 9, &(tr_document_settings){.format = "markdown"});
    assert_string_equal(units, "-\n");
    free(units);
}

static void hostile_documents_fail(void **state)
{
    (void)state;
    const tr_document_settings small = {.format = "markdown", .max_content = 4};
    assert_string_equal(check_failure("12345", 5, &small),
                        "test: 5 bytes of content; at most 4, unless max_content is larger");
    enum { COLUMNS = 3000 };
    tr_buffer table = {0};
    for (int i = 0; i < COLUMNS; i++)
        assert_true(tr_buffer_string(&table, "|a"));
    assert_true(tr_buffer_string(&table, "|\n"));
    for (int i = 0; i < COLUMNS; i++)
        assert_true(tr_buffer_string(&table, "|---"));
    assert_true(tr_buffer_string(&table, "|\n"));
    for (int i = 0; i < COLUMNS; i++)
        assert_true(tr_buffer_string(&table, "b\n"));
    assert_string_equal(check_failure(table.data, table.size, &(tr_document_settings){.format = "markdown"}),
                        "test: its tables have far more cells than the text has");
    tr_buffer_free(&table);
}

static void hostile_documents_take_linear_time(void **state)
{
    (void)state;
    static const struct {
        const char *run, *translation;
    } cases[] = {{"*b*_c_", "a"}, {"<b></b>", "a"}, {"<img>", "a"}, {"&#104;ttp://(", NULL}};
    enum { COUNT = 8000 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tr_buffer text = {0}, translation = {0};
        assert_true(tr_buffer_string(&text, "a "));
        for (size_t k = 0; k < COUNT; k++)
            assert_true(tr_buffer_string(&text, cases[i].run) && tr_buffer_string(&translation, "(http://"));
        assert_true(tr_buffer_string(&text, " c"));
        replacement = cases[i].translation ? cases[i].translation : translation.data;
        free(check_written(text.data, text.size, &(tr_document_settings){.format = "markdown"}, replace, NULL));
        tr_buffer_free(&text);
        tr_buffer_free(&translation);
    }
}

static void properties_hold(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a",       "b c",  " ",      "\n",      "\n\n", "\r\n",   "> ",      "- ",
                                         "天",      "*a*,", "**b** ", "`c`",     "1. ",  "[d](e)", "![f](g)", "|",
                                         "|---|\n", "# ",   "~~h~~",  "<b>",     "</b>", "&amp;",  "\\*",     "<!-- x -->",
                                         "  \n",    "\\\n", "_i_ ",   "www.j.k", "[^1]", "$l$"};
    char text[512];
    for (unsigned seed = 0; seed < 3000; seed++) {
        uint32_t random = seed * 2654435761U;
        size_t size = 0;
        for (int i = 0; i < 16; i++) {
            random = random * 1664525 + 1013904223;
            const char *piece = pieces[(random >> 16) % (sizeof pieces / sizeof *pieces)];
            memcpy(text + size, piece, strlen(piece));
            size += strlen(piece);
        }
        check_properties(text, size, &(tr_document_settings){.format = "markdown"}, check_upper);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_units),
        cmocka_unit_test(marks_are_told_apart),
        cmocka_unit_test(code_may_come_first),
        cmocka_unit_test(entities_are_characters),
        cmocka_unit_test(text_is_escaped_where_it_acts),
        cmocka_unit_test(emphasis_survives_its_neighbours),
        cmocka_unit_test(bilingual_documents_have_both),
        cmocka_unit_test(cells_without_words_are_none),
        cmocka_unit_test(rows_of_dashes_are_cells),
        cmocka_unit_test(own_texts_stay),
        cmocka_unit_test(nul_is_no_dash),
        cmocka_unit_test(hostile_documents_fail),
        cmocka_unit_test(hostile_documents_take_linear_time),
        cmocka_unit_test(properties_hold),
    };
    return cmocka_run_group_tests_name("Markdown documents", tests, NULL, NULL);
}
