#include "check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What stands in <body> or <unit> becomes the other, with these units. */
static void check_body(int version, const char *body, const char *units, const char *upper)
{
    static const char *const before[] = {"<xliff version=\"1.2\"><file>\n", "<xliff version=\"2.1\"><file>\n"};
    static const char *const edited[] = {"<xliff version=\"1.2\"><file target-language=\"en\">\n",
                                         "<xliff version=\"2.1\" trgLang=\"en\"><file>\n"};
    static const char after[] = "\n</file></xliff>\n";
    const tr_document_settings settings = {.format = "xliff", .target_language = "en"};
    char source[2000], expected[2000];
    const int size = snprintf(source, sizeof source, "%s%s%s", before[version - 1], body, after);
    snprintf(expected, sizeof expected, "%s%s%s", edited[version - 1], upper, after);
    char *found = check_units(source, (size_t)size, &settings);
    assert_string_equal(found, units);
    char *written = check_written(source, (size_t)size, &settings, check_upper, NULL);
    assert_string_equal(written, expected);
    free(found);
    free(written);
}

#define STATE "state=\"translated\" state-qualifier=\"mt-suggestion\""

static void missing_and_empty_targets_are_written(void **state)
{
    (void)state;
    check_body(1, "  <trans-unit id='1'>\r\n    <source>one &lt; two</source>\r\n    <note>n</note></trans-unit>",
               "one < two\n",
               "  <trans-unit id='1'>\r\n    <source>one &lt; two</source>\r\n    <target xml:lang=\"en\" " STATE
               ">ONE &lt; TWO</target>\r\n    <note>n</note></trans-unit>");
    check_body(1, "<trans-unit><source>a</source><target/></trans-unit>", "a\n",
               "<trans-unit><source>a</source><target " STATE ">A</target></trans-unit>");
    check_body(1, "<trans-unit><source>a</source><target x='y' state='new'> </target></trans-unit>", "a\n",
               "<trans-unit><source>a</source><target x='y' state='translated' state-qualifier=\"mt-suggestion\">A</target>"
               "</trans-unit>");
    check_body(1, "<n:trans-unit><n:source>a</n:source><n:seg-source>a</n:seg-source></n:trans-unit>", "a\n",
               "<n:trans-unit><n:source>a</n:source><n:seg-source>a</n:seg-source><n:target xml:lang=\"en\" " STATE
               ">A</n:target></n:trans-unit>");
    check_body(2, "<unit><segment>\n  <source>a</source>\n</segment></unit>", "a\n",
               "<unit><segment state=\"translated\">\n  <source>a</source>\n  <target>A</target>\n</segment></unit>");
    check_body(
        2,
        "<unit><segment id='s' subState = \"x:y\" state=\"initial\"><source>a</source> <target>b</target></segment></unit>",
        "a\n", "<unit><segment id='s' state=\"translated\"><source>a</source> <target>A</target></segment></unit>");
}

static void finished_targets_stay(void **state)
{
    (void)state;
    static const char *const finished1[] = {
        "<trans-unit><source>a</source><target>b</target></trans-unit>",
        "<trans-unit><source>a</source><target state='needs-review-translation'>b</target></trans-unit>",
        "<trans-unit approved='yes'><source>a</source><target state='new'>b</target></trans-unit>",
        "<trans-unit translate='no'><source>a</source></trans-unit>",
        "<group translate='no'><trans-unit><source>a</source></trans-unit></group>",
        "<trans-unit><source/></trans-unit><trans-unit><source> </source><target/></trans-unit>",
        "<trans-unit><alt-trans><source>a</source><target/></alt-trans></trans-unit>",
    };
    static const char *const finished2[] = {
        "<unit><segment state='final'><source>a</source><target>b</target></segment></unit>",
        "<unit><segment><source>a</source><target>b</target></segment></unit>",
        "<unit translate='no'><segment><source>a</source></segment></unit>",
        "<unit><ignorable><source>a</source></ignorable></unit>",
    };
    for (size_t i = 0; i < sizeof finished1 / sizeof *finished1; i++)
        check_body(1, finished1[i], "", finished1[i]);
    for (size_t i = 0; i < sizeof finished2 / sizeof *finished2; i++)
        check_body(2, finished2[i], "", finished2[i]);
}

static void check_inline(int version, const char *source, const char *units, const char *target)
{
    char body[800], upper[1600];
    if (version == 1) {
        snprintf(body, sizeof body, "<trans-unit><source>%s</source></trans-unit>", source);
        snprintf(upper, sizeof upper,
                 "<trans-unit><source>%s</source><target xml:lang=\"en\" " STATE ">%s</target></trans-unit>", source,
                 target);
    } else {
        snprintf(body, sizeof body, "<unit><segment><source>%s</source></segment></unit>", source);
        snprintf(upper, sizeof upper,
                 "<unit><segment state=\"translated\"><source>%s</source><target>%s</target></segment></unit>", source,
                 target);
    }
    check_body(version, body, units, upper);
}

static void inline_elements_are_marks(void **state)
{
    (void)state;
    check_inline(1, "a <g id='1'>b<x id='2'/></g> c", "a <x2>b{x4}</x2> c\n", "A <g id='1'>B<x id='2'/></g> C");
    check_inline(1, "<g id='1'> a</g>", "a\n", "<g id='1'> A</g>");
    check_inline(1, "a<bpt id='1'>&lt;b></bpt>b<ept id='1'>&lt;/b></ept>", "a<x2>b</x2>\n",
                 "A<bpt id='1'>&lt;b></bpt>B<ept id='1'>&lt;/b></ept>");
    check_inline(1, "a<bpt id='1'/>b<bpt id='2'/>c<ept id='1'/>d<ept id='2'/>e", "a<x2></x2>b<x4>c<x6></x6>d</x4>e\n",
                 "A<bpt id='1'/>B<bpt id='2'/>C<ept id='1'/>D<ept id='2'/>E");
    check_inline(1, "a<g id='0'>b<bx id='1' rid='7'/>c</g>d<ex id='2' rid='7'/>e", "a<x2>b<x4></x4>c</x2>d<x8></x8>e\n",
                 "A<g id='0'>B<bx id='1' rid='7'/>C</g>D<ex id='2' rid='7'/>E");
    check_inline(
        1, "a <ph id='1'>%s <sub>b</sub></ph> <x id='INTERPOLATION'/> <x id='9' equiv-text='&lt;br>'/>c <it id='8'>%d</it>d",
        "a {x2} {x3} <x4></x4>c <x6></x6>d\n",
        "A <ph id='1'>%s <sub>b</sub></ph> <x id='INTERPOLATION'/> <x id='9' equiv-text='&lt;br>'/>C <it id='8'>%d</it>D");
    check_inline(1, "你好，<x id='name'/>！", "你好，{x2}！\n", "你好，<x id='name'/>！");
    check_inline(1,
                 "<x id='LINE_BREAK' ctype='lb'/>a<x id='1' ctype='image'/>b<ph id='2'>&lt;br/></ph>c<x id='CLOSE_LINK'/>",
                 "a<x2></x2>b<x4></x4>c\n",
                 "<x id='LINE_BREAK' ctype='lb'/>A<x id='1' ctype='image'/>B<ph id='2'>&lt;br/></ph>C<x id='CLOSE_LINK'/>");
    check_inline(2, "a<ph id='1'/>b<ph id='2' type='fmt' subType='xlf:lb'/>c", "a{x2}b<x4></x4>c\n",
                 "A<ph id='1'/>B<ph id='2' type='fmt' subType='xlf:lb'/>C");
    check_inline(1, "a <mrk mtype='protected'>b</mrk> <mrk mtype='term'>c</mrk>", "a {x2} <x3>c</x3>\n",
                 "A <mrk mtype='protected'>b</mrk> <mrk mtype='term'>C</mrk>");
    check_inline(1, "a<: id='1'/>b", "a<x2></x2>b\n", "A<: id='1'/>B");
    check_inline(1, "a<![CDATA[ <b>]]>&#65;", "a <b>A\n", "A &lt;B&gt;A");
    check_inline(2,
                 "a <pc id='1'>b</pc> <ph id='2' disp='{n}'/> <sc id='3'/>c<ec startRef='3'/><mrk id='4' "
                 "translate='no'>d</mrk><cp hex='1'/>e",
                 "a <x2>b</x2> {x5} <x6>c</x6>{x9}<x10></x10>e\n",
                 "A <pc id='1'>B</pc> <ph id='2' disp='{n}'/> <sc id='3'/>C<ec startRef='3'/><mrk id='4' "
                 "translate='no'>d</mrk><cp hex='1'/>E");
}

static void the_target_language_is_set(void **state)
{
    (void)state;
    static const char document[] = "<xliff><file target-language='zh'/><file target-language=\"en-GB\"></file></xliff>";
    const tr_document_settings settings = {.format = "xliff", .target_language = "en"};
    char *written = check_written(document, strlen(document), &settings, check_same, NULL);
    assert_string_equal(written, "<xliff><file target-language='en'/><file target-language=\"en-GB\"></file></xliff>");
    free(written);
}

static tr_status next_doubtful(void *argument, size_t unit, tr_document_translation *translation, tr_error *error)
{
    (void)argument;
    (void)error;
    *translation = (tr_document_translation){"b", 1, unit ? TR_FLAG_DOUBTFUL : 0};
    return TR_OK;
}

static tr_status keep(void *argument, const void *data, size_t size, tr_error *error)
{
    (void)error;
    return tr_buffer_append(argument, data, size) ? TR_OK : TR_ERROR_MEMORY;
}

static void doubtful_translations_need_review(void **state)
{
    (void)state;
    static const char document[] =
        "<xliff><trans-unit><source>a</source></trans-unit>"
        "<trans-unit><source>a</source></trans-unit><segment><source>a</source></segment></xliff>";
    tr_document *d = check_read(document, strlen(document), &(tr_document_settings){.format = "xliff"});
    tr_buffer out = {0};
    tr_error error = {0};
    assert_int_equal(
        tr_document_write(d, &(tr_document_source){next_doubtful, NULL}, &(tr_document_sink){keep, &out}, &error), TR_OK);
    assert_string_equal(out.data, "<xliff><trans-unit><source>a</source><target " STATE ">b</target></trans-unit>"
                                  "<trans-unit><source>a</source><target state=\"needs-review-translation\" "
                                  "state-qualifier=\"mt-suggestion\">b</target></trans-unit>"
                                  "<segment state=\"initial\"><source>a</source><target>b</target></segment></xliff>");
    tr_buffer_free(&out);
    tr_document_close(d);
}

static void errors_name_their_place(void **state)
{
    (void)state;
    const tr_document_settings settings = {.format = "xliff"};
    assert_string_equal(check_failure("\n<html/>", 8, &settings),
                        "test: line 2, column 1: the root element is html, not xliff");
    assert_string_equal(check_failure("<xliff>\n<file>\n</xliff>", 23, &settings), "test: line 3, column 3: mismatched tag");
}

static void append(tr_buffer *out, const char *text)
{
    assert_true(tr_buffer_string(out, text));
}

static unsigned next_random(uint64_t *random, unsigned count)
{
    *random = *random * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(*random >> 33) % count;
}

/* Content that is written as it stands: no two spaces, no sections. */
static void append_content(tr_buffer *out, uint64_t *random)
{
    static const char *const pieces[] = {"a",
                                         "b c",
                                         "天",
                                         "&lt;",
                                         "&amp;",
                                         "<x id='1'/>",
                                         "<ph id='2'>%s</ph>",
                                         "<bpt id='1'>[</bpt>",
                                         "<ept id='1'>]</ept>",
                                         "<sc id='2'/>",
                                         "<ec startRef='2'/>",
                                         "<mrk mtype='protected'>x</mrk>",
                                         "<bx id='3'/>",
                                         "<ex id='3'/>",
                                         "&lt;x1&gt;",
                                         "{x2}"};
    static const char *const marks[] = {"g", "mrk", "pc"};
    unsigned open[8];
    int depth = 0;
    append(out, "t");
    for (int i = 0; i < 12; i++) {
        const unsigned r = next_random(random, 8);
        if (r == 0 && depth < 8) {
            open[depth] = next_random(random, 3);
            append(out, "<");
            append(out, marks[open[depth++]]);
            append(out, " id='4'>");
        } else if (r == 1 && depth) {
            append(out, "</");
            append(out, marks[open[--depth]]);
            append(out, ">");
        } else {
            append(out, pieces[next_random(random, sizeof pieces / sizeof *pieces)]);
        }
    }
    while (depth) {
        append(out, "</");
        append(out, marks[open[--depth]]);
        append(out, ">");
    }
    append(out, "t");
}

/* A unit's own text gives a target that is the source; written once more the document stays as it is; then it has no units
 * but with rewrite, which are the same. */
static void properties_hold(void **state)
{
    (void)state;
    static const char *const targets[] = {"", "<target/>", " <target state=\"new\">x</target>", "\n  <target>y</target>"};
    const tr_document_settings rewrite = {.format = "xliff", .target_language = "en", .rewrite = true};
    const tr_document_settings plain = {.format = "xliff", .target_language = "en"};
    uint64_t random = 1;
    for (int i = 0; i < 3000; i++) {
        tr_buffer document = {0}, contents = {0};
        append(&document, "<xliff version='1.2'><file>");
        append(&contents, "");
        for (int k = 0; k < 3; k++) {
            const bool segment = next_random(&random, 2);
            append(&document, segment ? "<segment>" : "<trans-unit id='1'>");
            append(&document, "\n <source>");
            const size_t from = document.size;
            append_content(&document, &random);
            append(&contents, ">");
            assert_true(tr_buffer_append(&contents, document.data + from, document.size - from));
            append(&contents, "</target>\n");
            append(&document, "</source>");
            append(&document, targets[next_random(&random, 4)]);
            append(&document, segment ? "</segment>" : "</trans-unit>");
        }
        append(&document, "</file></xliff>");
        size_t size;
        char *written = check_written(document.data, document.size, &rewrite, check_same, &size);
        char *at = written, *line = contents.data;
        for (char *end; (end = strchr(line, '\n')) != NULL && end > line; line = end + 1) {
            *end = 0;
            at = strstr(at, line);
            if (!at)
                fail_msg("%s\nis not in\n%s", line, written);
        }
        char *again = check_written(written, size, &rewrite, check_same, NULL);
        assert_string_equal(written, again);
        char *units = check_units(document.data, document.size, &rewrite), *same = check_units(written, size, &rewrite);
        assert_string_equal(units, same);
        char *none = check_units(written, size, &plain);
        assert_string_equal(none, "");
        free(written);
        free(again);
        free(units);
        free(same);
        free(none);
        tr_buffer_free(&document);
        tr_buffer_free(&contents);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_and_empty_targets_are_written),
        cmocka_unit_test(finished_targets_stay),
        cmocka_unit_test(inline_elements_are_marks),
        cmocka_unit_test(the_target_language_is_set),
        cmocka_unit_test(doubtful_translations_need_review),
        cmocka_unit_test(errors_name_their_place),
        cmocka_unit_test(properties_hold),
    };
    return cmocka_run_group_tests_name("XLIFF documents", tests, NULL, NULL);
}
