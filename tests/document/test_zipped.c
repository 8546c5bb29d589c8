/* Documents that are zip archives: office formats and e-books. */
#include "check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include <cmocka.h>

#include "import/zip.h"

/* An entry of an archive. */
typedef struct entry {
    const char *name, *content;
} entry;

static tr_buffer make_archive(const entry *entries, size_t count)
{
    const zip_fileinfo info = {.tmz_date = {.tm_mday = 6, .tm_mon = 4, .tm_year = 2024, .tm_hour = 7}};
    tr_buffer out = {0};
    tr_zip_output output;
    zipFile zip = tr_zip_create(&output, &out);
    for (size_t i = 0; i < count; i++) {
        const int method = strcmp(entries[i].name, "mimetype") == 0 ? 0 : Z_DEFLATED;
        assert_int_equal(zipOpenNewFileInZip(zip, entries[i].name, &info, NULL, 0, NULL, 0, NULL, method, 9), ZIP_OK);
        assert_int_equal(zipWriteInFileInZip(zip, entries[i].content, (unsigned)strlen(entries[i].content)), ZIP_OK);
        assert_int_equal(zipCloseFileInZip(zip), ZIP_OK);
    }
    assert_int_equal(zipClose(zip, NULL), ZIP_OK);
    return out;
}

/* The contents of an entry, with a NUL; for free(). */
static char *entry_of(const char *data, size_t size, const char *name)
{
    tr_zip *zip;
    assert_int_equal(tr_zip_open(data, size, &zip, NULL), TR_OK);
    const tr_zip_entry *found = tr_zip_find(zip, name);
    assert_non_null(found);
    char *text = calloc(1, found->size + 1);
    if (found->data)
        memcpy(text, found->data, found->size);
    else
        assert_int_equal(tr_zip_inflate_to(zip, found, text, NULL), TR_OK);
    tr_zip_close(zip);
    return text;
}

/* What a format puts around the content of the part in question. */
typedef struct shell {
    const char *format, *part, *before, *after, *other; /* other: an entry that must be there; NULL */
} shell;

static const shell word = {"docx", "word/document.xml", "<w:document xmlns:w='w'><w:body>", "</w:body></w:document>", NULL};
static const shell slides = {"pptx", "ppt/slides/slide1.xml", "<p:sld xmlns:p='p' xmlns:a='a'>", "</p:sld>",
                             "ppt/presentation.xml"};
static const shell strings = {"xlsx", "xl/sharedStrings.xml", "<sst>", "</sst>", "xl/workbook.xml"};
static const shell open_text = {"odt", "content.xml", "<o:d xmlns:text='t' xmlns:o='o'>", "</o:d>", NULL};

static tr_buffer make_document(const shell *s, const char *content)
{
    const size_t size = strlen(s->before) + strlen(content) + strlen(s->after) + 1;
    char *part = malloc(size);
    snprintf(part, size, "%s%s%s", s->before, content, s->after);
    const entry entries[] = {{"mimetype", "something"}, {s->part, part}, {s->other ? s->other : "extra", "<x/>"}};
    tr_buffer archive = make_archive(entries, 3);
    free(part);
    return archive;
}

/* Units are as listed, and with check_upper the content becomes `upper`. */
static void check_content(const shell *s, const char *target, const char *content, const char *units, const char *upper)
{
    const tr_document_settings settings = {.format = s->format, .target_language = target};
    tr_buffer archive = make_document(s, content);
    size_t size;
    char *found = check_units(archive.data, archive.size, &settings);
    assert_string_equal(found, units);
    char *written = check_written(archive.data, archive.size, &settings, check_upper, &size);
    char *part = entry_of(written, size, s->part);
    const size_t before = strlen(s->before), after = strlen(s->after);
    assert_true(strlen(part) >= before + after);
    part[strlen(part) - after] = 0;
    assert_string_equal(part + before, upper);
    free(found);
    free(written);
    free(part);
    tr_buffer_free(&archive);
}

#define T(text) "<w:t xml:space=\"preserve\">" text "</w:t>"
#define R(text) "<w:r>" T(text) "</w:r>"
#define B(text) "<w:r><w:rPr><w:b/></w:rPr>" T(text) "</w:r>"

static void runs_of_one_format_are_joined(void **state)
{
    (void)state;
    check_content(&word, NULL, "<w:p><w:r><w:t>one</w:t></w:r></w:p>", "one\n", "<w:p>" R("ONE") "</w:p>");
    check_content(&word, NULL,
                  "<w:p>" R("a") "<w:proofErr/><w:r w:rsidR='1'><w:rPr><w:lang w:val='x'/></w:rPr>" T("b") "</w:r></w:p>",
                  "ab\n", "<w:p>" R("AB") "</w:p>");
    check_content(&word, NULL, "<w:p>" R("long ") B("b") B("c") R(" end") "</w:p>", "long <x2>bc</x2> end\n",
                  "<w:p>" R("LONG ") B("BC") R(" END") "</w:p>");
    check_content(&word, NULL, "<w:p>" B("note:") R(" the longer text") "</w:p>", "<x1>note:</x1> the longer text\n",
                  "<w:p>" B("NOTE:") R(" THE LONGER TEXT") "</w:p>");
    /* Most of the text is what has most characters, not bytes. */
    check_content(&word, NULL, "<w:p>" R("letters ") B("天气好") "</w:p>", "letters <x2>天气好</x2>\n",
                  "<w:p>" R("LETTERS ") B("天气好") "</w:p>");
    /* A hint alone is no format. */
    check_content(&word, "en", "<w:p>" R("ab") "<w:r><w:rPr><w:rFonts w:hint='eastAsia'/></w:rPr>" T("c") "</w:r></w:p>",
                  "abc\n", "<w:p>" R("ABC") "</w:p>");
    /* Marks between runs of one format are in its pair. */
    check_content(&word, NULL, "<w:p>" R("long ") B("b") "<w:bookmarkStart/>" B("c") "</w:p>", "long <x2>b<x4></x4>c</x2>\n",
                  "<w:p>" R("LONG ") B("B") "<w:bookmarkStart/>" B("C") "</w:p>");
}

static void white_space_and_marks_around_words_stay(void **state)
{
    (void)state;
    check_content(&word, NULL,
                  "<w:p><w:pPr/><w:bookmarkStart/><w:r><w:tab/><w:t>  a </w:t></w:r><w:r><w:drawing/></w:r></w:p>", "a\n",
                  "<w:p><w:pPr/><w:bookmarkStart/><w:r><w:tab/>" T("  A ") "</w:r><w:r><w:drawing/></w:r></w:p>");
    check_content(&word, NULL, "<w:p><w:r><w:t> </w:t></w:r><w:r><w:tab/></w:r></w:p>", "",
                  "<w:p><w:r><w:t> </w:t></w:r><w:r><w:tab/></w:r></w:p>");
}

static void tabs_and_breaks_divide(void **state)
{
    (void)state;
    check_content(&word, NULL, "<w:p><w:r><w:rPr><w:i/></w:rPr>" T("a") "<w:tab/>" T("b") "<w:br/></w:r>" R("c") "</w:p>",
                  "a\nb\nc\n", "<w:p><w:r><w:rPr><w:i/></w:rPr>" T("A") "<w:tab/>" T("B") "<w:br/></w:r>" R("C") "</w:p>");
    /* A link with a tab is in two units, which have no part of it. */
    check_content(
        &word, NULL, "<w:p>" R("x") "<w:hyperlink>" R("a") "<w:r><w:tab/></w:r>" R("b") "</w:hyperlink>" R("y") "</w:p>",
        "x\na\nb\ny\n", "<w:p>" R("X") "<w:hyperlink>" R("A") "<w:r><w:tab/></w:r>" R("B") "</w:hyperlink>" R("Y") "</w:p>");
}

#define FIELD(type) "<w:r><w:fldChar w:fldCharType=\"" type "\"/></w:r>"
#define CODE        FIELD("begin") "<w:r><w:instrText> REF a </w:instrText></w:r>"

static void fields_links_and_controls_are_marks(void **state)
{
    (void)state;
    check_content(&word, NULL, "<w:p>" R("see ") CODE FIELD("separate") R("two") FIELD("end") R("!") "</w:p>",
                  "see <x2>two</x2>!\n", "<w:p>" R("SEE ") CODE FIELD("separate") R("TWO") FIELD("end") R("!") "</w:p>");
    check_content(&word, NULL, "<w:p>" R("see ") CODE FIELD("end") R("!") "</w:p>", "see <x2></x2>!\n",
                  "<w:p>" R("SEE ") CODE FIELD("end") R("!") "</w:p>");
    /* One that goes on in another paragraph divides. */
    check_content(&word, NULL, "<w:p>" R("a") CODE FIELD("separate") R("b") "</w:p><w:p>" FIELD("end") R("c") "</w:p>",
                  "a\nb\nc\n", "<w:p>" R("A") CODE FIELD("separate") R("B") "</w:p><w:p>" FIELD("end") R("C") "</w:p>");
    check_content(&word, NULL,
                  "<w:p>" R("a") "<w:sdt><w:sdtPr><w:t>no</w:t></w:sdtPr><w:sdtContent>" R("b") "</w:sdtContent></w:sdt>" R(
                      "c") "</w:p>",
                  "a<x2>b</x2>c\n",
                  "<w:p>" R("A") "<w:sdt><w:sdtPr><w:t>no</w:t></w:sdtPr><w:sdtContent>" R("B") "</w:sdtContent></w:sdt>" R(
                      "C") "</w:p>");
    check_content(
        &word, NULL,
        "<w:p><w:ins>" R("a") "</w:ins><w:del><w:r><w:delText>b</w:delText><w:t>b</w:t></w:r></w:del>" R("c") "</w:p>",
        "<x1>a</x1><x4></x4>c\n",
        "<w:p><w:ins>" R("A") "</w:ins><w:del><w:r><w:delText>b</w:delText><w:t>b</w:t></w:r></w:del>" R("C") "</w:p>");
}

#define BOX(inside) "<w:r><w:pict><w:txbxContent><w:p>" inside "</w:p></w:txbxContent></w:pict></w:r>"

static void text_in_pictures_is_in_units_of_its_own(void **state)
{
    (void)state;
    check_content(&word, NULL, "<w:p>" R("a") BOX(R("in") B("x")) R("b") "</w:p>", "in<x2>x</x2>\na<x2></x2>b\n",
                  "<w:p>" R("A") BOX(R("IN") B("X")) R("B") "</w:p>");
    check_content(&word, NULL, "<w:p>" R("a") BOX(R("b") BOX(R("c")) R("d")) R("e") "</w:p>", "b\nc\nd\na<x2></x2>e\n",
                  "<w:p>" R("A") BOX(R("B") BOX(R("C")) R("D")) R("E") "</w:p>");
}

static void languages_become_the_targets(void **state)
{
    (void)state;
    static const char run[] =
        "<w:p><w:r><w:rPr><w:rFonts w:hint='eastAsia'/><w:lang w:val='zh' w:eastAsia='zh-CN'/></w:rPr>" T(
            "a") "</w:r></w:p>";
    check_content(&word, "en", run, "a\n",
                  "<w:p><w:r><w:rPr><w:rFonts w:hint='default'/><w:lang w:val='en-US' w:eastAsia='zh-CN'/></w:rPr>" T(
                      "A") "</w:r></w:p>");
    check_content(&word, "zh", run, "a\n",
                  "<w:p><w:r><w:rPr><w:rFonts w:hint='eastAsia'/><w:lang w:val='zh' w:eastAsia='zh-CN'/></w:rPr>" T(
                      "A") "</w:r></w:p>");
    check_content(&slides, "de",
                  "<a:p><a:r><a:rPr lang=\"zh-CN\" b=\"1\"/><a:t>a</a:t></a:r><a:endParaRPr lang=\"zh-CN\"/></a:p>", "a\n",
                  "<a:p><a:r><a:rPr lang=\"de-DE\" b=\"1\"/><a:t>A</a:t></a:r><a:endParaRPr lang=\"de-DE\"/></a:p>");
    check_content(&open_text, "en",
                  "<style:text-properties fo:language=\"zh\" fo:country=\"CN\" style:language-asian=\"zh\"/>", "",
                  "<style:text-properties fo:language=\"en\" fo:country=\"US\" style:language-asian=\"zh\"/>");
}

static void slides_have_no_space_attribute(void **state)
{
    (void)state;
    check_content(
        &slides, NULL,
        "<a:p><a:r><a:t>a </a:t></a:r><a:br/><a:r><a:rPr dirty='0'/><a:t>b</a:t></a:r><a:fld><a:t>1</a:t></a:fld></a:p>",
        "a\nb\n",
        "<a:p><a:r><a:t>A </a:t></a:r><a:br/><a:r><a:rPr dirty='0'/><a:t>B</a:t></a:r><a:fld><a:t>1</a:t></a:fld></a:p>");
}

static void strings_of_sheets_are_units(void **state)
{
    (void)state;
    check_content(&strings, NULL,
                  "<si><t>a&amp;b</t><rPh><t>x</t></rPh></si><si/><si><r><t>long</t></r><r><rPr><b/></rPr><t>b</t></r></si>",
                  "a&b\nlong<x2>b</x2>\n",
                  "<si><t xml:space=\"preserve\">A&amp;B</t><rPh><t>x</t></rPh></si><si/>"
                  "<si><r><t xml:space=\"preserve\">LONG</t></r><r><rPr><b/></rPr><t xml:space=\"preserve\">B</t></r></si>");
    check_content(&strings, NULL, "<x:si xmlns:x='x'><x:t>a</x:t></x:si>", "a\n",
                  "<x:si xmlns:x='x'><x:t xml:space=\"preserve\">A</x:t></x:si>");
}

static void headers_of_tables_stay(void **state)
{
    (void)state;
    const tr_document_settings settings = {.format = "xlsx"};
    const entry entries[] = {
        {"xl/workbook.xml", "<workbook/>"},
        {"xl/sharedStrings.xml",
         "<sst><si><t>two\nlines</t></si><si><t>other</t></si><si><r><t> na</t></r><r><rPr/><t>me</t></r></si></sst>"},
        {"xl/worksheets/sheet1.xml", "<c t='inlineStr'><is><t>in</t></is></c>"},
        {"xl/tables/table1.xml", "<table><tableColumn name='name'/><tableColumn name='two_x000a_lines'/></table>"},
    };
    tr_buffer archive = make_archive(entries, 4);
    char *units = check_units(archive.data, archive.size, &settings);
    assert_string_equal(units, "other\nin\n");
    free(units);
    tr_buffer_free(&archive);
}

static void texts_of_formulas_stay(void **state)
{
    (void)state;
    const tr_document_settings settings = {.format = "xlsx"};
    const entry entries[] = {
        {"xl/workbook.xml", "<workbook/>"},
        {"xl/sharedStrings.xml",
         "<sst><si><t>in stock</t></si><si><t>\"so\"</t></si><si><t>gone</t></si><si><t>other</t></si>"
         "<si><t>a,b</t></si><si><t>b</t></si></sst>"},
        {"xl/worksheets/sheet1.xml", "<s><c><f>IF(A1=&quot;in stock&quot;,\"\"\"so\"\"\",\"a,b\")</f></c>"
                                     "<formula1>\"gone, here\"</formula1><c t='inlineStr'><is><t>here</t></is></c></s>"},
    };
    tr_buffer archive = make_archive(entries, 3);
    char *units = check_units(archive.data, archive.size, &settings);
    assert_string_equal(units, "other\nb\n");
    free(units);
    tr_buffer_free(&archive);
}

static void spans_notes_and_frames_of_opendocument(void **state)
{
    (void)state;
    check_content(&open_text, NULL, "<text:p> a <text:span>b</text:span>\nx<text:s/>c<text:tab/>d</text:p>",
                  "a <x2>b</x2> x<x6></x6>c\nd\n", "<text:p> A <text:span>B</text:span> X<text:s/>C<text:tab/>D</text:p>");
    check_content(&open_text, NULL, "<text:p>a<text:note><text:p>n</text:p></text:note>b</text:p>", "n\na<x2></x2>b\n",
                  "<text:p>A<text:note><text:p>N</text:p></text:note>B</text:p>");
}

/* --------------------------------------------------------------------------------------------------------------- archives
 */

static const entry book[] = {
    {"mimetype", "application/epub+zip"},
    {"META-INF/container.xml", "<container><rootfiles><rootfile full-path='O E/c.opf'/></rootfiles></container>"},
    {"O E/c.opf", "<package><metadata><dc:title xmlns:dc='d'>title</dc:title><dc:language xmlns:dc='d'>zh</dc:language>"
                  "</metadata><manifest><item href='../t/a%20b.xhtml' media-type='application/xhtml+xml'/>"
                  "<item href='../t/a%20b.xhtml' media-type='application/xhtml+xml'/>"
                  "<item href='./toc.ncx' media-type='application/x-dtbncx+xml'/>"
                  "<item href='gone.xhtml' media-type='application/xhtml+xml'/></manifest></package>"},
    {"O E/toc.ncx", "<ncx><docAuthor><text>me</text></docAuthor><navLabel><text>entry</text></navLabel></ncx>"},
    {"t/a b.xhtml",
     "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>page</title></head><body><p>a <b>b</b></p></body></html>"},
    {"t/not listed.xhtml", "<html><body><p>not read</p></body></html>"},
};

/* A copy of the source has its text and style only. */
static void the_source_stands_above_its_translation(void **state)
{
    (void)state;
    const tr_document_settings settings = {.format = "docx", .bilingual = true};
    static const char translated[] = "<w:p w:id='1'><w:pPr><w:pStyle w:val='a'/><w:numPr/></w:pPr><w:bookmarkStart/>" B(
        "A") "<w:del>" R("x") "</w:del>"
                              "<w:r><w:br w:type='page'/></w:r><w:r><w:tab/>" T("B") "</w:r>" BOX(R("C")) "</w:p><w:p/>";
    static const char copy[] = "<w:p><w:pPr><w:pStyle w:val='a'/></w:pPr>" B("a") "<w:r><w:tab/>" T("b") "</w:r></w:p>";
    tr_buffer archive = make_document(
        &word, "<w:p w:id='1'><w:pPr><w:pStyle w:val='a'/><w:numPr/></w:pPr><w:bookmarkStart/>" B("a") "<w:del>" R(
                   "x") "</w:del><w:r><w:br w:type='page'/></w:r><w:r><w:tab/>" T("b") "</w:r>" BOX(R("c")) "</w:p><w:p/>");
    size_t size;
    char *written = check_written(archive.data, archive.size, &settings, check_upper, &size);
    char *part = entry_of(written, size, word.part);
    const char *content = part + strlen(word.before);
    assert_memory_equal(content, copy, strlen(copy));
    assert_memory_equal(content + strlen(copy), translated, strlen(translated));
    free(written);
    free(part);
    tr_buffer_free(&archive);
}

/* What has no translation of its own stands once: white space, and text that is the same in both languages. */
static void what_stays_the_same_stands_once(void **state)
{
    (void)state;
    const tr_document_settings settings = {.format = "docx", .bilingual = true, .target_language = "en"};
    static const char same[] = "<w:p>" R(" ") "</w:p><w:p>" R("OK 12") "</w:p>";
    static const char lang[] = "<w:p><w:r><w:rPr><w:lang w:val='zh'/></w:rPr>" T("1") "</w:r></w:p>";
    static const char tabs[] = "<w:p>" R("1") "<w:r><w:tab/></w:r>" R("a") BOX(R("2")) "</w:p>";
    static const char box[] = "<w:p>" R("3") BOX(R("c")) "</w:p>";
    char content[2000];
    snprintf(content, sizeof content, "<w:p>%s</w:p>%s%s%s%s<w:p>%s</w:p>", R("b"), same, lang, tabs, box, R("d"));
    tr_buffer archive = make_document(&word, content);
    size_t size;
    char *written = check_written(archive.data, archive.size, &settings, check_upper, &size);
    char *part = entry_of(written, size, word.part);
    part[strlen(part) - strlen(word.after)] = 0;
    snprintf(content, sizeof content, "<w:p>%s</w:p><w:p>%s</w:p>%s%s%s%s%s<w:p>%s</w:p><w:p>%s</w:p>", R("b"), R("B"), same,
             "<w:p><w:r><w:rPr><w:lang w:val='en-US'/></w:rPr>" T("1") "</w:r></w:p>",
             "<w:p>" R("1") "<w:r><w:tab/></w:r>" R("a") "</w:p>",
             "<w:p>" R("1") "<w:r><w:tab/></w:r>" R("A") BOX(R("2")) "</w:p>", "<w:p>" R("3") BOX(R("C")) "</w:p>", R("d"),
             R("D"));
    assert_string_equal(part + strlen(word.before), content);
    free(written);
    free(part);
    tr_buffer_free(&archive);
}

static void books_are_their_packages_documents(void **state)
{
    (void)state;
    const tr_document_settings settings = {.format = "epub", .target_language = "en"};
    tr_buffer archive = make_archive(book, sizeof book / sizeof *book);
    size_t size;
    char *units = check_units(archive.data, archive.size, &settings);
    assert_string_equal(units, "title\npage\na <x2>b</x2>\nentry\n");
    char *written = check_written(archive.data, archive.size, &settings, check_upper, &size);
    char *package = entry_of(written, size, "O E/c.opf"), *contents = entry_of(written, size, "O E/toc.ncx");
    assert_non_null(strstr(package, ">TITLE</dc:title><dc:language xmlns:dc='d'>en</dc:language>"));
    assert_non_null(strstr(contents, "<docAuthor><text>me</text></docAuthor><navLabel><text>ENTRY</text>"));
    assert_memory_equal(written + 30, "mimetypeapplication/epub+zip", 28);
    free(units);
    free(written);
    free(package);
    free(contents);
    tr_buffer_free(&archive);
}

/* Entries keep their order, and those without change every byte. */
static void archives_keep_what_is_not_translated(void **state)
{
    (void)state;
    const tr_document_settings settings = {.format = "docx"};
    const entry entries[] = {{"mimetype", "stored"},
                             {"word/media/a.png", "a picture, a picture, a picture"},
                             {"word/document.xml", "<d><w:p>" R("text") "</w:p></d>"},
                             {"word/header1.xml", "<h/>"},
                             {"last", ""}};
    tr_buffer archive = make_archive(entries, 5);
    size_t size;
    char *same = check_written(archive.data, archive.size, &settings, check_same, &size);
    assert_int_equal(size, archive.size);
    assert_memory_equal(same, archive.data, size);
    char *written = check_written(archive.data, archive.size, &settings, check_upper, &size);
    tr_zip *zip, *source;
    size_t count, source_count;
    assert_int_equal(tr_zip_open(written, size, &zip, NULL), TR_OK);
    assert_int_equal(tr_zip_open(archive.data, archive.size, &source, NULL), TR_OK);
    const tr_zip_entry *list = tr_zip_entries(zip, &count), *source_list = tr_zip_entries(source, &source_count);
    assert_int_equal(count, source_count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(list[i].name, source_list[i].name);
    /* Up to the part that changes, the bytes are the same. */
    size_t at = 0;
    while (memcmp(archive.data + at, "word/document.xml", 17) != 0)
        at++;
    assert_true(at > 100);
    assert_memory_equal(written, archive.data, at - 30);
    tr_zip_close(zip);
    tr_zip_close(source);
    free(same);
    free(written);
    tr_buffer_free(&archive);
}

static void check_error(const char *format, const entry *entries, size_t count, const char *message)
{
    tr_buffer archive = make_archive(entries, count);
    assert_string_equal(check_failure(archive.data, archive.size, &(tr_document_settings){.format = format}), message);
    tr_buffer_free(&archive);
}

static void errors_say_what_is_missing(void **state)
{
    (void)state;
    static const char old[] = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1 and so on";
    tr_document_settings settings = {.format = "docx"};
    assert_string_equal(check_failure("text", 4, &settings),
                        "test: is not a zip archive, or truncated: its directory is missing");
    assert_string_equal(
        check_failure(old, sizeof old - 1, &settings),
        "test: is a document of Office 97 to 2003, or has a password; save it anew in the format of Office 2007");
    const entry other = {"other", "x"}, broken = {"word/document.xml", "<w:p>\n<w:r></w:p>"};
    check_error("docx", &other, 1, "test: has no word/document.xml: is it a Word document?");
    check_error("pptx", &other, 1, "test: has no ppt/presentation.xml: is it a PowerPoint presentation?");
    check_error("xlsx", &other, 1, "test: has no xl/workbook.xml: is it an Excel workbook?");
    check_error("odt", &other, 1, "test: has no content.xml: is it an OpenDocument file?");
    check_error("epub", &other, 1, "test: has no META-INF/container.xml: is it an e-book?");
    check_error("docx", &broken, 1, "test: word/document.xml: line 2, column 8: mismatched tag");
    check_error("epub", (entry[]){{"META-INF/container.xml", "<c/>"}}, 1,
                "test: META-INF/container.xml names no package document");
    check_error("epub", (entry[]){{"META-INF/container.xml", "<rootfile full-path='a'/>"}}, 1,
                "test: has no a, which META-INF/container.xml names");
    check_error("docx", (entry[]){{"word/document.xml", "<d/>"}, {"word/document.xml", "<d/>"}}, 2,
                "test: entry word/document.xml: is there twice");

    tr_buffer archive = make_document(&word, "<w:p>" R("text") "</w:p>");
    settings.max_content = 100;
    assert_string_equal(check_failure(archive.data, archive.size, &settings),
                        "test: 112 bytes of content; at most 100, unless max_content is larger");
    settings.max_content = 112;
    assert_string_equal(check_failure(archive.data, archive.size, &settings), "");
    for (size_t size = 0; size < archive.size; size++)
        assert_string_not_equal(check_failure(archive.data, size, &settings), "");
    tr_buffer_free(&archive);
}

/* A part, or an entry that could not be copied, that is said to be encrypted; a part with more bytes than it can have. */
static void false_claims_are_refused(void **state)
{
    (void)state;
    const tr_document_settings settings = {.format = "docx"};
    static const entry entries[] = {{"word/document.xml", "<d/>"}};
    tr_buffer more = make_archive((entry[]){{"word/document.xml", "<d/>"}, {"other", "x"}}, 2);
    more.data[more.size - 22 - 46 - strlen("other") + 8] |= 1;
    assert_string_equal(check_failure(more.data, more.size, &settings),
                        "test: entry other: is encrypted, or compressed in another way than deflate");
    tr_buffer_free(&more);
    tr_buffer archive = make_archive(entries, 1);
    char *directory = archive.data + archive.size - 22 - 46 - strlen(entries[0].name);
    assert_memory_equal(directory, "PK\1\2", 4);
    directory[8] |= 1;
    archive.data[6] |= 1;
    assert_string_equal(check_failure(archive.data, archive.size, &settings),
                        "test: entry word/document.xml: is encrypted, or compressed in another way than deflate");
    directory[8] &= ~1;
    archive.data[6] &= ~1;
    directory[26] = archive.data[24] = 1;
    assert_string_equal(check_failure(archive.data, archive.size, &settings),
                        "test: entry word/document.xml: claims 65540 bytes, more than its 6 can hold");
    const tr_document_settings unlimited = {.format = "docx", .max_content = UINT64_MAX};
    memset(directory + 24, 0xFF, 4);
    memset(archive.data + 22, 0xFF, 4);
    assert_string_equal(check_failure(archive.data, archive.size, &unlimited),
                        "test: entry word/document.xml: has 4 GiB or more");
    tr_buffer_free(&archive);
}

/* ------------------------------------------------------------------------------------------------------------- properties
 */

/* Appends random well-formed content: elements of these names, some with what is in `texts` in place of them. */
static void append_random(tr_buffer *out, const char *const *names, size_t name_count, uint32_t *random, int depth)
{
    static const char *const texts[] = {"a",  " b ",      "天气",  "&amp;", "&#32;", "<![CDATA[ c ]]>",
                                        "\n", "<!-- -->", "&#10;", "d e"};
    for (int i = 0; i < 4; i++) {
        *random = *random * 1664525 + 1013904223;
        const uint32_t choice = *random >> 16;
        const char *piece = names[choice % name_count];
        if (choice / 64 % 3 == 0 || depth == 0) {
            assert_true(tr_buffer_string(out, texts[choice % (sizeof texts / sizeof *texts)]));
            continue;
        }
        assert_true(tr_buffer_string(out, "<") && tr_buffer_string(out, piece));
        if (choice / 256 % 8 == 0 && !strchr(piece, '>')) {
            assert_true(tr_buffer_string(out, "/>"));
            continue;
        }
        assert_true(tr_buffer_string(out, ">"));
        const bool is_text = strcmp(piece, "t") == 0 || strcmp(piece, "w:t") == 0;
        append_random(out, names, name_count, random, is_text ? 0 : depth - 1);
        assert_true(tr_buffer_string(out, "</") && tr_buffer_append(out, piece, strcspn(piece, " >")) &&
                    tr_buffer_string(out, ">"));
    }
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        count++;
    return count;
}

/* Written anew the document has the same units; in capitals it has those in capitals, and each mark as often as before. What
 * stays the same has no copy. */
static void check_random(const shell *s, const char *const *names, size_t name_count, const char *const *marks,
                         uint32_t seed)
{
    const tr_document_settings settings = {.format = s->format, .target_language = seed & 1 ? "en" : NULL, .rewrite = true};
    uint32_t random = seed * 2654435761U;
    tr_buffer content = {0}, upper = {0};
    append_random(&content, names, name_count, &random, 6);
    tr_buffer archive = make_document(s, content.data);
    size_t size;
    char *units = check_units(archive.data, archive.size, &settings);
    char *same = check_written(archive.data, archive.size, &settings, check_same, &size);
    char *again = check_units(same, size, &settings);
    if (strcmp(units, again) != 0) {
        char *part = entry_of(same, size, s->part);
        fail_msg("seed %u:\n%s\n%s\n%s\n%s", seed, content.data, part, units, again);
    }
    char *written = check_written(archive.data, archive.size, &settings, check_upper, &size);
    char *translated = check_units(written, size, &settings), *part = entry_of(written, size, s->part);
    check_upper(units, strlen(units), &upper);
    assert_true(tr_buffer_append(&upper, "", 0));
    for (char *at = upper.data; (at = strstr(at, "\\N")) != NULL;) /* a line break in the list of units */
        at[1] = 'n';
    assert_string_equal(translated, upper.data);
    const tr_document_settings bilingual = {.format = s->format, .bilingual = true};
    char *once = check_written(archive.data, archive.size, &bilingual, check_same, &size);
    assert_int_equal(size, archive.size);
    assert_memory_equal(once, archive.data, size);
    free(once);
    for (; *marks; marks++)
        if (count_of(content.data, *marks) != count_of(part, *marks))
            fail_msg("seed %u: %s:\n%s\n%s", seed, *marks, content.data, part);
    free(units);
    free(same);
    free(again);
    free(written);
    free(translated);
    free(part);
    tr_buffer_free(&content);
    tr_buffer_free(&upper);
    tr_buffer_free(&archive);
}

static void properties_hold(void **state)
{
    (void)state;
    static const char *const word_names[] = {"w:p",
                                             "w:r",
                                             "w:r",
                                             "w:t",
                                             "w:t",
                                             "w:r><w:rPr><w:b/></w:rPr",
                                             "w:r><w:rPr><w:i/><w:lang w:val='zh'/></w:rPr",
                                             "w:tab",
                                             "w:hyperlink",
                                             "w:sdt",
                                             "w:sdtContent",
                                             "w:sdtPr",
                                             "w:p",
                                             "w:drawing",
                                             "w:del",
                                             "w:x",
                                             "w:fldChar w:fldCharType='begin'",
                                             "w:fldChar w:fldCharType='separate'",
                                             "w:fldChar w:fldCharType='end'"};
    static const char *const word_marks[] = {"<w:hyperlink", "</w:hyperlink", "<w:sdt>",    "</w:sdt>", "<w:drawing",
                                             "<w:del",       "<w:x",          "<w:fldChar", NULL};
    static const char *const text_names[] = {"text:p", "text:p", "text:span", "text:a", "text:note", "text:tab", "text:s"};
    static const char *const text_marks[] = {"<text:span", "</text:span", "<text:a", "<text:note", "<text:s", NULL};
    static const char *const string_names[] = {"si", "r", "t", "r><rPr><b/></rPr", "rPh"};
    static const char *const string_marks[] = {"<rPh", NULL};
    for (uint32_t seed = 0; seed < 120; seed++) {
        check_random(&word, word_names, sizeof word_names / sizeof *word_names, word_marks, seed);
        check_random(&open_text, text_names, sizeof text_names / sizeof *text_names, text_marks, seed);
        check_random(&strings, string_names, sizeof string_names / sizeof *string_names, string_marks, seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_one_format_are_joined),
        cmocka_unit_test(white_space_and_marks_around_words_stay),
        cmocka_unit_test(tabs_and_breaks_divide),
        cmocka_unit_test(fields_links_and_controls_are_marks),
        cmocka_unit_test(text_in_pictures_is_in_units_of_its_own),
        cmocka_unit_test(languages_become_the_targets),
        cmocka_unit_test(slides_have_no_space_attribute),
        cmocka_unit_test(strings_of_sheets_are_units),
        cmocka_unit_test(headers_of_tables_stay),
        cmocka_unit_test(texts_of_formulas_stay),
        cmocka_unit_test(spans_notes_and_frames_of_opendocument),
        cmocka_unit_test(the_source_stands_above_its_translation),
        cmocka_unit_test(what_stays_the_same_stands_once),
        cmocka_unit_test(books_are_their_packages_documents),
        cmocka_unit_test(archives_keep_what_is_not_translated),
        cmocka_unit_test(errors_say_what_is_missing),
        cmocka_unit_test(false_claims_are_refused),
        cmocka_unit_test(properties_hold),
    };
    return cmocka_run_group_tests_name("documents in archives", tests, NULL, NULL);
}
